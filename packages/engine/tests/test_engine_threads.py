"""A nut on its bolt, both signed distance fields: it rests where there is friction, and screws down where there is none."""

from __future__ import annotations

import numpy as np

from tensorphys_contact.testing.threads import bolt_mesh, nut_mesh
from tensorphys_engine import Simulation
from tensorphys_scene import (
    Bodies,
    Environments,
    Materials,
    Mesh,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    Template,
)

PITCH, RADIUS, DEPTH, CLEARANCE = 2e-3, 8e-3, 1.0825e-3, 0.1e-3  # M16


def screw(friction: float) -> Simulation:
    """An M16 nut on a fixed bolt under gravity.

    The two have different numbers of facets: with equal ones they would lock into each other like keys.
    """
    thread = {"pitch": PITCH, "depth": DEPTH, "count": 2}
    bolt = bolt_mesh(major_radius=RADIUS, turns=6, around=96, **thread)
    nut = nut_mesh(major_radius=RADIUS + CLEARANCE, outer_radius=12e-3, turns=2, around=80, **thread)
    mass = 0.02
    inertia = 0.5 * mass * (RADIUS**2 + 12e-3**2)
    template = Template(
        bodies=Bodies(
            path=("/nut",),
            pose=[[0.0, 0.0, 3 * PITCH, 0.0, 0.0, 0.0, 1.0]],
            mass=[mass],
            inertia=[np.eye(3) * inertia],
            com=[[0.0, 0.0, 1.5 * PITCH]],
        ),
        shapes=Shapes(
            path=("/bolt", "/nut/s"),
            body=[-1, 0],
            type=[int(ShapeType.SDF)] * 2,
            size=[[1.0] * 3] * 2,
            mesh=[0, 1],
            material=[0, 0],
            contact_offset=[5e-5] * 2,
            sdf_resolution=[128, 128],
        ),
        materials=Materials(path=("/m",), static_friction=[friction], dynamic_friction=[friction]),
        meshes=tuple(Mesh(points, triangles.astype(np.int32)) for points, triangles in (bolt, nut)),
    )
    return Simulation(
        Scene(
            settings=Settings(gravity=(0.0, 0.0, -9.81)),
            templates=(template,),
            environments=Environments(path=("",), template=np.zeros(1, np.int32)),
        )
    )


def run(simulation: Simulation, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Height, turn about the axis and number of contacts after each step."""
    rows = []
    for _ in range(steps):
        simulation.step(1.0 / 240.0)
        pose = simulation.state.root_pose.numpy()[0]
        turn = 2.0 * np.arctan2(pose[5], pose[6])
        rows.append([pose[2], turn, simulation.contacts.count.numpy()[0]])
    height, turn, count = np.array(rows).T
    return height, np.unwrap(turn), count


def test_a_nut_rests_and_screws() -> None:
    height, turn, count = run(screw(0.5), 60)
    assert np.ptp(height[30:]) < 1e-6
    assert np.ptp(turn[30:]) < 1e-4
    assert count.min() >= 32

    height, turn, count = run(screw(0.0), 96)
    # 2.4 rad were it a smooth thread: the facets of nut and bolt take up most of what it gains
    assert turn[-1] < -0.7
    assert count.min() >= 32
    # After it has settled into the clearance it follows the helix.
    settled = slice(24, None)
    lag = height[settled] - PITCH * turn[settled] / (2.0 * np.pi)
    # The facets of both are 6e-6 deep along the axis, the rest is how deep the threads sink into each other.
    assert np.ptp(lag) < 1.2e-5
    assert height[-1] < height[0] - 0.2e-3
