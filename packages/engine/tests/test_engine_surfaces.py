"""Springs, belts, patches, loads and held axes of a scene, from its tables to the motion, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorphys_dynamics.testing import History
from tensorphys_engine import Simulation
from tensorphys_scene import (
    Bodies,
    BodyForces,
    CombineMode,
    Materials,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    Template,
    replicate,
)

G = 9.81
HALF = 0.1
UNIT = [0.0, 0.0, 0.0, 1.0]
DT = 1.0 / 240.0


def boxes(
    positions: list[list[float]],
    *,
    body: dict[str, Any] | None = None,
    shape: dict[str, Any] | None = None,
    material: dict[str, Any] | None = None,
    forces: BodyForces | None = None,
    ball: bool = False,
    copies: int = 1,
    gravity: float = G,
    ground_material: dict[str, Any] | None = None,
) -> Scene:
    """Boxes of 1 kg and 0.2 m, or balls as wide, above the ground; columns of bodies and shapes hold for all."""
    count = len(positions)
    every = {name: [value] * count for name, value in (body or {}).items()}
    inertia = np.eye(3) * (0.004 if ball else 0.04 / 6)
    template = Template(
        prims=("", *(f"/body{i}{end}" for i in range(count) for end in ("", "/shape")), "/material"),
        bodies=Bodies(
            path=tuple(f"/body{i}" for i in range(count)),
            **({"mass": [1.0] * count, "inertia": [inertia] * count} | every),
            pose=[[*p, *UNIT] for p in positions],
        ),
        shapes=Shapes(
            path=tuple(f"/body{i}/shape" for i in range(count)),
            body=list(range(count)),
            type=[int(ShapeType.SPHERE if ball else ShapeType.BOX)] * count,
            size=[[HALF, 0.0, 0.0] if ball else [HALF] * 3] * count,
            material=[0] * count,
            **{name: [value] * count for name, value in (shape or {}).items()},
        ),
        materials=Materials(
            path=("/material",), **{name: [value] for name, value in (material or {}).items()}
        ),
        body_forces=BodyForces() if forces is None else forces,
    )
    ground = Template(
        prims=("", "/ground", "/ground_material"),
        shapes=Shapes(path=("/ground",), body=[-1], type=[int(ShapeType.PLANE)], material=[0]),
        materials=Materials(
            path=("/ground_material",), **{name: [value] for name, value in (ground_material or {}).items()}
        ),
    )
    settings = Settings(steps_per_second=240.0, gravity=[0.0, 0.0, -gravity])
    return replicate(Scene(templates=(template,), shared=ground, settings=settings), copies, spacing=5.0)


def height(simulation: Simulation, body: int = 0) -> float:
    return float(simulation.state.link_pose.numpy()[body, 2])


def velocity(simulation: Simulation, body: int = 0) -> np.ndarray:
    return simulation.state.link_velocity.numpy()[body].astype(float)


@pytest.mark.parametrize("copies", [1, 3])
def test_a_box_sinks_into_compliant_ground(device: str, copies: int) -> None:
    """m g / (4 k), one spring a corner; alone in its environment it takes the fused path."""
    stiffness = 5000.0
    scene = boxes(
        [[0, 0, HALF]],
        copies=copies,
        ground_material={"compliant_stiffness": stiffness, "compliant_damping": 70.0},
    )
    simulation = Simulation(scene, device=device)
    assert simulation.solver.path == "fused"
    for _ in range(240):
        simulation.step()
    for body in range(copies):
        assert abs(HALF - height(simulation, body) - G / (4 * stiffness)) < 1e-6
    assert np.abs(velocity(simulation)).max() < 1e-5
    assert not [text for _, text in simulation.findings if "compliant" in text]


def test_a_compliant_stack(device: str) -> None:
    """Two boxes on springs of 2 k and k: each contact carries what stands above it, on the path of touching bodies."""
    k = 4000.0
    scene = boxes(
        [[0, 0, HALF], [0, 0, 3 * HALF]],
        material={
            "compliant_stiffness": k,
            "compliant_damping": 120.0,
            "restitution_combine": int(CombineMode.AVERAGE),
        },
        ground_material={"compliant_stiffness": 3 * k, "compliant_damping": 120.0},
    )
    simulation = Simulation(scene, device=device)
    for _ in range(400):
        simulation.step()
    below = 2 * G / (4 * 2 * k)
    assert abs(HALF - height(simulation) - below) < 0.01 * below
    above = below + G / (4 * k)
    assert abs(3 * HALF - height(simulation, 1) - above) < 0.01 * above


@pytest.mark.parametrize("square", [0.01, 1.0, 100.0])
def test_undamped_springs_add_no_energy(device: str, square: float) -> None:
    """A leaning box falls onto springs of (h ω)² up to 100, a second one onto it."""
    k = square / (DT / 4) ** 2 / 4
    scene = boxes(
        [[0, 0, 0.12], [0.02, 0, 0.34]],
        material={"compliant_stiffness": k},
        ground_material={"compliant_stiffness": k},
    )
    simulation = Simulation(scene, device=device, sleeping=False)
    pose = simulation.state.root_pose.numpy()
    pose[0, 3:] = np.array([0.05, 0.03, 0.0, 1.0]) / np.linalg.norm([0.05, 0.03, 0.0, 1.0])
    simulation.state.root_pose.assign(pose)
    simulation.state.fresh.fill_(1)
    simulation.refresh()
    start = G * (0.12 + 0.34)
    history = History((simulation.state.link_pose, simulation.state.link_velocity), 300)
    for _ in range(300):
        simulation.step()
        history.keep()
    for pose, velocity in history.read():
        height_sum, speed = pose[:, 2].sum(), velocity.astype(float)
        moving = 0.5 * (speed[:, :3] ** 2).sum() + 0.5 * 0.04 / 6 * (speed[:, 3:] ** 2).sum()
        assert G * height_sum + moving < 1.001 * start


def test_springs_per_mass(device: str) -> None:
    """A ball sinks by g / k, whatever its mass."""
    for mass in (0.2, 5.0):
        scene = boxes(
            [[0, 0, HALF]],
            ball=True,
            body={"mass": mass, "inertia": np.eye(3) * 0.004 * mass},
            material={
                "compliant_stiffness": 800.0,
                "compliant_damping": 50.0,
                "compliant_acceleration": True,
            },
        )
        simulation = Simulation(scene, device=device)
        for _ in range(240):
            simulation.step()
        assert abs(HALF - height(simulation) - G / 800.0) < 1e-5


def test_a_ball_spins_down(device: str) -> None:
    """ω falls by μ m g r / I a second."""
    radius, friction = 0.015, 0.5
    scene = boxes(
        [[0, 0, HALF]],
        ball=True,
        body={"angular_velocity": [0.0, 0.0, 20.0]},
        shape={"min_torsional_patch_radius": radius},
        material={"static_friction": friction, "dynamic_friction": friction},
        ground_material={"static_friction": friction, "dynamic_friction": friction},
    )
    simulation = Simulation(scene, device=device)
    assert simulation.solver.path == "generic"
    for _ in range(20):
        simulation.step()
    before = velocity(simulation)[5]
    for _ in range(40):
        simulation.step()
    rate = (before - velocity(simulation)[5]) / (40 * DT)
    assert abs(rate * 0.004 / (friction * G * radius) - 1.0) < 1e-3


def belt_scene(**belt: Any) -> Scene:
    """A box on a kinematic belt; both have the friction 0.3 of their material."""
    scene = boxes(
        [[0, 0, 0.0], [0, 0, 2 * HALF]],
        material={"static_friction": 0.3, "dynamic_friction": 0.3},
    )
    template = scene.templates[0]
    columns = {name: [value, np.zeros_like(value)] for name, value in belt.items()}
    bodies = Bodies(
        path=template.bodies.path,
        mass=template.bodies.mass,
        inertia=template.bodies.inertia,
        pose=template.bodies.pose,
        kinematic=[True, False],
        **columns,
    )
    shapes = Shapes(
        path=template.shapes.path,
        body=template.shapes.body,
        type=template.shapes.type,
        size=[[5.0, 5.0, HALF], [HALF] * 3],
        material=template.shapes.material,
    )
    fresh = Template(prims=template.prims, bodies=bodies, shapes=shapes, materials=template.materials)
    return replicate(Scene(templates=(fresh,), settings=scene.settings), 1)


def test_a_box_on_a_conveyor_belt(device: str) -> None:
    """It gains μ g until it has the speed of the belt, and keeps that."""
    simulation = Simulation(belt_scene(surface_velocity=np.array([0.0, 1.5, 0.0])), device=device)
    box = 1
    for _ in range(10):
        simulation.step()
    before = velocity(simulation, box)[1]
    for _ in range(60):
        simulation.step()
    assert abs((velocity(simulation, box)[1] - before) / (60 * DT) / (0.3 * G) - 1.0) < 5e-3
    start = simulation.state.link_pose.numpy()[:, :3].copy()
    for _ in range(240):
        simulation.step()
    assert np.abs(velocity(simulation, box) - [0.0, 1.5, 0.0, 0.0, 0.0, 0.0]).max() < 2e-3
    assert abs(height(simulation, box) - 2 * HALF) < 1e-4
    moved = simulation.state.link_pose.numpy()[:, :3] - start
    assert np.abs(moved[0]).max() == 0.0 and moved[box, 1] > 1.4


def test_a_belt_that_turns(device: str) -> None:
    """A box at the middle of a turntable surface ends up with its rate of turn."""
    simulation = Simulation(belt_scene(surface_angular_velocity=np.array([0.0, 0.0, 1.0])), device=device)
    for _ in range(480):
        simulation.step()
    assert abs(velocity(simulation, 1)[5] - 1.0) < 0.02


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("acceleration", [False, True])
@pytest.mark.parametrize("world", [False, True])
def test_constant_loads(device: str, copies: int, acceleration: bool, world: bool) -> None:
    """Force and torque in world or body axes, of a body turned by 90° about z; at its origin and beside it."""
    mass, inertia = 2.0, 0.01
    turned = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    forces = BodyForces(
        path=("/body0",),
        body=[0],
        force=[[3.0, 0.0, 0.0]],
        torque=[[0.0, 0.0, 0.02]],
        position=[[0.05, 0.0, 0.0]],
        acceleration=[acceleration],
        world=[world],
    )
    scene = boxes(
        [[0, 0, 5.0]],
        body={"mass": mass, "inertia": np.eye(3) * inertia},
        forces=forces,
        gravity=0.0,
        copies=copies,
    )
    simulation = Simulation(scene, device=device)
    pose = simulation.state.root_pose.numpy()
    pose[:, 3:] = turned
    simulation.state.root_pose.assign(pose)
    simulation.state.fresh.fill_(1)
    simulation.refresh()
    simulation.step()
    simulation.step()
    # the point beside the origin, 0.05 along the turned x axis, is at +y; the load turns with the body unless world
    force = np.array([3.0, 0.0, 0.0] if world else [0.0, 3.0, 0.0]) * (mass if acceleration else 1.0)
    torque = 0.02 * (inertia if acceleration else 1.0) + np.cross([0.0, 0.05, 0.0], force)[2]
    for body in range(copies):
        found = velocity(simulation, body)
        np.testing.assert_allclose(found[:3], force / mass * 2 * DT, rtol=2e-3, atol=2e-5)
        assert abs(found[5] / (torque / inertia * 2 * DT) - 1.0) < 2e-3


def test_loads_switched_off_and_loads_on_what_never_moves(device: str) -> None:
    forces = BodyForces(
        path=("/body0", "/body1"), body=[0, 1], force=[[1.0, 0.0, 0.0]] * 2, enabled=[False, True]
    )
    scene = boxes([[0, 0, 5.0], [2, 0, 5.0]], body={"kinematic": True}, forces=forces, gravity=0.0)
    simulation = Simulation(scene, device=device)
    simulation.step()
    assert np.abs(simulation.state.link_velocity.numpy()).max() == 0.0


def test_forces_that_bodies_keep(device: str) -> None:
    """A force given once acts in every step, beside a constant load, until it is taken away."""
    forces = BodyForces(path=("/body0",), body=[0], force=[[0.0, 1.0, 0.0]], world=[True])
    scene = boxes([[0, 0, 5.0], [2, 0, 5.0]], body={"retain_forces": True}, forces=forces, gravity=0.0)
    simulation = Simulation(scene, device=device)
    simulation.control.link_force.fill_((2.0, 0.0, 0.0))
    for _ in range(24):
        simulation.step()
    np.testing.assert_allclose(velocity(simulation)[:3], [0.2, 0.1, 0.0], atol=1e-5)
    np.testing.assert_allclose(velocity(simulation, 1)[:3], [0.2, 0.0, 0.0], atol=1e-5)
    saved = simulation.save_state()
    simulation.control.link_force.zero_()
    for _ in range(24):
        simulation.step()
    assert abs(velocity(simulation, 1)[0] - 0.2) < 2e-3
    simulation.load_state(saved)
    for _ in range(24):
        simulation.step()
    np.testing.assert_allclose(velocity(simulation)[:3], [0.4, 0.2, 0.0], atol=1e-5)


def test_what_a_scene_cannot_have_is_told(device: str) -> None:
    scene = boxes(
        [[0, 0, 5.0]],
        body={"gyroscopic": False, "locked_axes": 0b100100, "cfm_scale": 0.1, "max_contact_impulse": 1e6},
        material={"rolling_friction": 0.1},
    )
    simulation = Simulation(scene, device=device)
    told = dict(simulation.findings)
    assert set(told) == {"/World/envs/env_0/body0", "/World/envs/env_0/material"}
    assert "mixing" in told["/World/envs/env_0/body0"] and "rolling" in told["/World/envs/env_0/material"]
    for _ in range(10):
        simulation.step()
    assert velocity(simulation)[2] == 0.0
