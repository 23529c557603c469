"""Friction and performance envelopes of joints through the views, as the known suite of the tensor API has them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Sdf

COUNT, LENGTH, MASS = 4, 0.9, 1.5
EVEN = np.arange(COUNT) % 2 == 0


@pytest.fixture
def pendulums(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    """Links of 1.5 kg on hinges about Y, level at q = 0, held at 0.5 rad."""

    def fill(path: str, number: int) -> None:
        stage.xform(f"{path}/arm")
        stage.articulation(f"{path}/arm")
        stage.body(f"{path}/arm/base", (0, 0, 3), mass=1.0)
        across = MASS * LENGTH**2 / 12
        stage.body(f"{path}/arm/link", (LENGTH / 2, 0, 3), mass=MASS, inertia=(0.001, across, across))
        place = (10.0 * (number % 2), 10.0 * (number // 2), 3.0)
        stage.joint(f"{path}/arm/weld", "fixed", None, f"{path}/arm/base", at0=place)
        stage.joint(
            f"{path}/arm/hinge", "revolute", f"{path}/arm/base", f"{path}/arm/link",
            axis="Y", at1=(-LENGTH / 2, 0, 0), drive={"type": "force", "maxForce": 1e6},
        )  # fmt: skip
        prim = stage.stage.GetPrimAtPath(f"{path}/arm/hinge")
        name = "physxDrivePerformanceEnvelope:angular:maxActuatorVelocity"
        prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(1e7)

    stage = stages.Author.new(gravity=10.0)
    stage.environments(COUNT, fill, spacing=10.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_articulation_view("/envs/*/arm")
    view.set_dof_positions(arrays.make(np.full((COUNT, 1), 0.5)), None)
    return SimpleNamespace(sim=sim, view=view, arrays=arrays, dt=stages.DT)


def _after(world: SimpleNamespace, steps: int, *properties: tuple[float, float, float]) -> np.ndarray:
    """Angles of even and odd rows, after steps with friction of their own."""
    values = np.where(EVEN[:, None], properties[0], properties[-1]).astype(np.float32)[:, None, :]
    world.view.set_dof_friction_properties(world.arrays.cpu.make(values), None)
    for _ in range(steps):
        world.sim.step(world.dt)
    angles = world.arrays.host(world.view.get_dof_positions())[:, 0]
    np.testing.assert_allclose(angles[EVEN], angles[0], atol=1e-6)
    np.testing.assert_allclose(angles[~EVEN], angles[1], atol=1e-6)
    return angles[:2]


def test_static_friction_holds(pendulums: SimpleNamespace) -> None:
    angles = _after(pendulums, 60, (100.0, 0.7, 0.6))
    np.testing.assert_allclose(angles, 0.5, atol=1e-6)
    speeds = pendulums.arrays.host(pendulums.view.get_dof_velocities())
    assert np.abs(speeds).max() < 1e-5
    held = pendulums.arrays.host(pendulums.view.get_dof_projected_joint_forces())
    np.testing.assert_allclose(held[:, 0], -MASS * 10.0 * LENGTH / 2 * np.cos(0.5), rtol=1e-4)


@pytest.mark.parametrize(
    ("more", "less"), [((3.0, 3.0, 0.0), (3.0, 0.1, 0.0)), ((0.5, 0.5, 50.0), (0.5, 0.5, 0.5))]
)
def test_more_friction_stays_higher(pendulums: SimpleNamespace, more: Any, less: Any) -> None:
    angles = _after(pendulums, 15, more, less)
    assert 0.5 < angles[0] < angles[1] - 0.02  # a positive angle is lower


@pytest.mark.parametrize(
    ("column", "tight", "loose"), [(0, 1e15, 2.0), (1, 0.1, 1e9), (2, 1e3, 2.0), ("max force", 1e-5, 1.0)]
)
def test_a_tighter_envelope_is_slower(
    pendulums: SimpleNamespace, column: int | str, tight: float, loose: float
) -> None:
    world, arrays = pendulums, pendulums.arrays
    world.view.set_disable_gravities(arrays.cpu.make(np.ones((COUNT, 2)), np.uint8), None)
    world.view.set_dof_dampings(arrays.cpu.make(np.full((COUNT, 1), 1e9)), None)
    forces = np.full((COUNT, 1), 2.0)
    envelope = np.tile(np.array([0.0, 1e9, 0.0], np.float32), (COUNT, 1, 1))
    if column == "max force":
        forces[:, 0] = np.where(EVEN, tight, loose)
    else:
        envelope[:, 0, column] = np.where(EVEN, tight, loose)
    world.view.set_dof_max_forces(arrays.cpu.make(forces), None)
    world.view.set_dof_drive_model_properties(arrays.cpu.make(envelope), None)
    world.view.set_dof_velocity_targets(arrays.make(np.full((COUNT, 1), 0.5)), None)
    for _ in range(30):
        world.sim.step(world.dt)
    speeds = arrays.host(world.view.get_dof_velocities())[:, 0]
    assert speeds[0] < speeds[1] - 0.01
    np.testing.assert_allclose(speeds[EVEN], speeds[0], atol=1e-6)
    assert speeds[1] == pytest.approx(0.5, rel=1e-3)
