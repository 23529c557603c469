"""Impacts at one point that do not pass through the centre of mass, against the impulse that solves them exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorphys_engine import Simulation
from tensorphys_scene import Bodies, Materials, Scene, Settings, Shapes, ShapeType, Template

RADIUS = 0.1
COM = np.array([0.15, 0.05, 0.1])
MASS = 2.0
INERTIA = np.diag([0.02, 0.03, 0.025])
UNIT = [0.0, 0.0, 0.0, 1.0]


def table(kind: Any, **columns: Any) -> Any:
    return kind(**columns)


def impact_scene(friction: float, restitution: float, others: int) -> Scene:
    """A ball about to hit the ground at 2 m/s, its mass beside it; others fall far away."""
    count = 1 + others
    paths = tuple(f"/body{i}" for i in range(count))
    template = Template(
        prims=("", *(path + end for path in paths for end in ("", "/geometry")), "/material"),
        bodies=table(
            Bodies,
            path=paths,
            mass=[MASS] * count,
            com=[COM] * count,
            inertia=[INERTIA] * count,
            pose=[[5.0 * i, 0, RADIUS + 1e-3 + 50.0 * (i > 0), *UNIT] for i in range(count)],
            linear_velocity=[[0.3, 0, -2.0]] * count,
        ),
        shapes=table(
            Shapes,
            path=tuple(f"{path}/geometry" for path in paths),
            body=np.arange(count),
            type=[int(ShapeType.SPHERE)] * count,
            size=[[RADIUS, 0, 0]] * count,
            material=[0] * count,
        ),
        materials=table(
            Materials,
            path=("/material",),
            static_friction=[friction],
            dynamic_friction=[friction],
            restitution=[restitution],
        ),
    )
    ground = Template(
        prims=("", "/World", "/World/ground", "/World/material"),
        shapes=table(Shapes, path=("/World/ground",), body=[-1], type=[int(ShapeType.PLANE)], material=[0]),
        materials=table(
            Materials,
            path=("/World/material",),
            static_friction=[friction],
            dynamic_friction=[friction],
            restitution=[restitution],
        ),
    )
    settings = Settings(steps_per_second=1000.0, gravity=(0.0, 0.0, 0.0))
    return Scene(templates=(template,), shared=ground, settings=settings)


def leaving_velocity(device: str, friction: float, restitution: float, others: int) -> np.ndarray[Any, Any]:
    simulation = Simulation(impact_scene(friction, restitution, others), device=device)
    assert simulation.solver.path == ("generic" if others else "fused")
    for _ in range(4):
        simulation.step()
    velocity = np.array(simulation.state.link_velocity.numpy())
    if others:
        np.testing.assert_allclose(velocity[1], [0.3, 0, -2, 0, 0, 0], atol=1e-6)
    return velocity[0]


ARM = np.array([0.0, 0.0, -RADIUS]) - COM
BEFORE = np.array([0.3, 0.0, -2.0])


@pytest.mark.parametrize("friction", [0.0, 5.0])
@pytest.mark.parametrize(("restitution", "others"), [(0.0, 0), (0.5, 0), (0.0, 1)])
def test_an_impact_beside_the_centre_of_mass(
    device: str, friction: float, restitution: float, others: int
) -> None:
    """Without friction, and with friction that sticks: v⁺ = −e v⁻ along the normal, the impulse solves 3 equations."""
    cross = np.array([[0, -ARM[2], ARM[1]], [ARM[2], 0, -ARM[0]], [-ARM[1], ARM[0], 0]])
    response = np.eye(3) / MASS + cross @ np.linalg.inv(INERTIA) @ cross.T
    wanted = np.array([0.0, 0.0, -restitution * BEFORE[2]]) - BEFORE
    if friction:
        impulse = np.linalg.solve(response, wanted)
        assert np.hypot(*impulse[:2]) < friction * impulse[2]
    else:
        impulse = np.array([0.0, 0.0, wanted[2] / response[2, 2]])
    expected = np.concatenate((BEFORE + impulse / MASS, np.linalg.solve(INERTIA, np.cross(ARM, impulse))))
    # the body turns on during the steps after the impact, which its asymmetric inertia feels
    velocity = leaving_velocity(device, friction, restitution, others)
    np.testing.assert_allclose(velocity, expected, atol=0.04 * np.abs(expected).max())


@pytest.mark.parametrize("friction", [0.0, 0.5, 5.0])
def test_where_several_bodies_move_a_rebound_with_friction_gains_no_energy(
    device: str, friction: float
) -> None:
    """Pairs rebound along their normals before friction acts: the point leaves at most at e v."""
    velocity = leaving_velocity(device, friction, 0.5, 1)
    point = velocity[:3] + np.cross(velocity[3:], ARM)
    assert -0.05 < point[2] < 0.5 * 2.0 * 1.05
    energy = 0.5 * MASS * velocity[:3] @ velocity[:3] + 0.5 * velocity[3:] @ INERTIA @ velocity[3:]
    assert energy < 0.5 * MASS * BEFORE @ BEFORE
