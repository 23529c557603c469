"""Motion of single joints against closed forms, through the views."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

COUNT = 12
KINDS = ["linear", "angular"]


def _rig(
    stages: SimpleNamespace, arrays: Any, kind: str, drive: dict[str, Any] | None = None
) -> SimpleNamespace:
    """A cart on a fixed rail, or a bar on a fixed hinge, in each environment; no gravity."""

    def fill(path: str, number: int) -> None:
        root = f"{path}/rig"
        stage.xform(root)
        stage.articulation(root)
        stage.body(f"{root}/base")
        stage.body(f"{root}/mover", mass=1.0, inertia=(0.02, 0.02, 0.02))
        place = (20.0 * number, 0, 0)
        stage.joint(f"{root}/tie", "fixed", None, f"{root}/base", at0=place)
        joint = "prismatic" if kind == "linear" else "revolute"
        stage.joint(f"{root}/joint", joint, f"{root}/base", f"{root}/mover", axis="Y", drive=drive)

    stage = stages.Author.new(gravity=0.0)
    stage.xform("/envs")
    for number in range(COUNT):
        stage.xform(f"/envs/env{number}", (20.0 * number, 0, 0))
        fill(f"/envs/env{number}", number)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_articulation_view("/envs/*/rig")
    return SimpleNamespace(sim=sim, view=view, host=arrays.host, make=arrays.make, dt=stages.DT)


def _column(rig: SimpleNamespace, values: Any) -> Any:
    return rig.make(np.asarray(values, np.float32).reshape(COUNT, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_positions_stay(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    """Behaviours 30 and 35."""
    rig = _rig(stages, arrays, kind)
    wanted = np.linspace(-1.5, 1.5, COUNT, dtype=np.float32)[:, None]
    rig.view.set_dof_positions(_column(rig, wanted), None)
    rig.sim.step(rig.dt)
    np.testing.assert_allclose(rig.host(rig.view.get_dof_positions()), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_stay(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    """Behaviours 31 and 36."""
    rig = _rig(stages, arrays, kind)
    wanted = np.linspace(-2, 2, COUNT, dtype=np.float32)[:, None]
    rig.view.set_dof_velocities(_column(rig, wanted), None)
    for _ in range(10):
        rig.sim.step(rig.dt)
    np.testing.assert_allclose(rig.host(rig.view.get_dof_velocities()), wanted, rtol=1e-5)
    np.testing.assert_allclose(rig.host(rig.view.get_dof_positions()), 10 * rig.dt * wanted, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_actuation_forces_close_a_loop(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    """Behaviours 32 and 37: the user's own proportional and derivative control, force by force."""
    rig = _rig(stages, arrays, kind)
    view = rig.view
    inertia = 1.0 if kind == "linear" else 0.02
    k, d = 100.0 * inertia, 20.0 * inertia  # critically damped at 10 rad/s
    start = np.linspace(-2.5, 2.5, COUNT, dtype=np.float32)[:, None]
    view.set_dof_positions(_column(rig, start), None)
    for _ in range(100):
        q, v = rig.host(view.get_dof_positions()), rig.host(view.get_dof_velocities())
        force = -k * q - d * v
        view.set_dof_actuation_forces(_column(rig, force), None)
        np.testing.assert_allclose(rig.host(view.get_dof_actuation_forces()), force, rtol=1e-6)
        rig.sim.step(rig.dt)
    assert np.abs(rig.host(view.get_dof_positions())).max() < 0.01
    assert np.abs(rig.host(view.get_dof_velocities())).max() < 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_actuation_forces_persist(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    """Set once, the force acts in each step, and clearing external forces does not touch it."""
    rig = _rig(stages, arrays, kind)
    inertia = 1.0 if kind == "linear" else 0.02
    force = np.linspace(-1, 1, COUNT, dtype=np.float32)[:, None] * inertia
    rig.view.set_dof_actuation_forces(_column(rig, force), None)
    for _ in range(60):
        rig.sim.clear_forces()
        rig.sim.step(rig.dt)
    np.testing.assert_allclose(rig.host(rig.view.get_dof_velocities()), force / inertia, rtol=1e-4)
    np.testing.assert_allclose(rig.host(rig.view.get_dof_positions()), force / inertia / 2, rtol=2e-2)


@pytest.mark.parametrize(
    ("kind", "drive"),
    [
        ("linear", {"type": "force", "stiffness": 2000.0, "damping": 250.0, "maxForce": 4000.0}),
        ("angular", {"type": "force", "stiffness": 1000.0, "damping": 80.0}),
    ],
)
def test_position_targets(stages: SimpleNamespace, arrays: Any, kind: str, drive: dict[str, Any]) -> None:
    """Behaviours 33 and 38; gains of the hinge are per degree on the stage."""
    rig = _rig(stages, arrays, kind, drive)
    wanted = np.linspace(-2.5, 2.5, COUNT, dtype=np.float32)[:, None]
    rig.view.set_dof_position_targets(_column(rig, wanted), None)
    for _ in range(60):
        rig.sim.step(rig.dt)
    np.testing.assert_allclose(rig.host(rig.view.get_dof_positions()), wanted, atol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_velocity_targets(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    """Behaviours 34 and 39."""
    rig = _rig(stages, arrays, kind, {"type": "force", "damping": 500.0})
    wanted = np.linspace(-2, 2, COUNT, dtype=np.float32)[:, None]
    rig.view.set_dof_velocity_targets(_column(rig, wanted), None)
    for _ in range(20):
        rig.sim.step(rig.dt)
    np.testing.assert_allclose(rig.host(rig.view.get_dof_velocities()), wanted, atol=1e-2)
