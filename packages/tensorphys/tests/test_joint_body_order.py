"""Two cart-poles, equal but for the order of the bodies of their joints: q is body 1 relative to body 0 in both."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def pair(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    def fill(path: str, number: int) -> None:
        stage.cart_pole(
            f"{path}/cartpole",
            cart={
                "limits": (-3.0, 5.0),
                "state": (1.0, 2.0),
                "drive": {"type": "force", "stiffness": 3.0, "damping": 1.0, "targetPosition": 0.5, "targetVelocity": 0.25},
            },
            pole={
                "limits": (-170.0, 100.0),
                "state": (30.0, 40.0),
                "drive": {"type": "force", "stiffness": 0.01, "targetPosition": 20.0, "targetVelocity": -10.0},
            },
            flipped=number == 1,
        )  # fmt: skip

    stage = stages.Author.new(gravity=0.0)
    stage.environments(2, fill, spacing=10.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_articulation_view("/envs/*/cartpole")
    return SimpleNamespace(sim=sim, view=view, arrays=arrays, dt=stages.DT)


def test_the_copies_differ_only_in_body_order(pair: SimpleNamespace) -> None:
    first, second = pair.view.get_metatype(0), pair.view.get_metatype(1)
    assert first.link_names == second.link_names == ["rail", "cart", "pole"]
    assert (first.joint_flipped, second.joint_flipped) == ([False, False], [True, True])
    assert not pair.view.is_homogeneous


@pytest.mark.parametrize(
    ("name", "authored"),
    [
        ("dof_positions", [1.0, np.radians(30)]),
        ("dof_velocities", [2.0, np.radians(40)]),
        ("dof_position_targets", [0.5, np.radians(20)]),
        ("dof_velocity_targets", [0.25, np.radians(-10)]),
        ("dof_limits", [[-3.0, 5.0], np.radians([-170, 100])]),
    ],
)
def test_values_agree(pair: SimpleNamespace, name: str, authored: Any) -> None:
    """Behaviours 7 to 11: authored values, after five steps, and after a set."""
    get, host = getattr(pair.view, f"get_{name}"), pair.arrays.host
    np.testing.assert_allclose(host(get()), [authored, authored], rtol=1e-6)
    for _ in range(5):
        pair.sim.step(pair.dt)
    now = host(get())
    np.testing.assert_allclose(now[0], now[1], rtol=1e-4, atol=1e-6)
    if name == "dof_positions":
        assert abs(now[0, 0] - 1.0) > 0.05
    own = pair.arrays.cpu if name == "dof_limits" else pair.arrays
    getattr(pair.view, f"set_{name}")(own.make(now + 0.1), own.rows([0, 1]))
    np.testing.assert_allclose(host(get()), now + 0.1, rtol=1e-6)


def test_actuation_forces_agree(pair: SimpleNamespace) -> None:
    """Behaviour 12: equal forces along q give equal motion in q, and mirrored motion in space."""
    view, host = pair.view, pair.arrays.host
    for name in ("stiffnesses", "dampings"):
        getattr(view, f"set_dof_{name}")(pair.arrays.cpu.make(np.zeros((2, 2))), None)
    for name in ("positions", "velocities"):
        getattr(view, f"set_dof_{name}")(pair.arrays.make(np.zeros((2, 2))), None)
    forces = pair.arrays.make([[3.0, 0.2]] * 2)
    view.set_dof_actuation_forces(forces, None)
    for _ in range(30):
        pair.sim.step(pair.dt)
    np.testing.assert_array_equal(host(view.get_dof_actuation_forces()), host(forces))
    q, v = host(view.get_dof_positions()), host(view.get_dof_velocities())
    assert q[0].min() > 0.02
    np.testing.assert_allclose(q[0], q[1], rtol=1e-5)
    np.testing.assert_allclose(v[0], v[1], rtol=1e-5)
    links = host(view.get_link_transforms())[:, :, :3]
    links[1, :, 0] -= 10.0
    np.testing.assert_allclose(links[0] * [1, -1, 1], links[1], atol=1e-5)


def test_compensation_agrees(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 12: what holds the weight, and what cancels velocity products, is the same along q; the pole leans and turns."""
    stage = stages.Author.new(gravity=10.0)
    motion = {"cart": {"state": (0.5, 1.5)}, "pole": {"state": (40.0, 90.0)}}
    stage.environments(
        2,
        lambda path, number: stage.cart_pole(f"{path}/cartpole", flipped=number == 1, **motion),
        spacing=10.0,
    )
    sim = stages.view(arrays, stage, environments="/envs/*")
    view, host = sim.create_articulation_view("/envs/*/cartpole"), arrays.host
    gravity = host(view.get_gravity_compensation_forces())
    coriolis = host(view.get_coriolis_and_centrifugal_compensation_forces())
    for values in (gravity, coriolis):
        np.testing.assert_allclose(values[0], values[1], rtol=1e-5, atol=1e-5 * np.abs(values).max())
    # the pole tips over: its weight needs a torque against it, its turn a force along the rail
    assert abs(gravity[0, 1]) > 0.5
    assert abs(coriolis[0, 0]) > 0.1


def test_limits_hold_the_same_ends(pair: SimpleNamespace) -> None:
    """A force towards the upper limit stops both at the upper limit."""
    view, host = pair.view, pair.arrays.host
    for name in ("stiffnesses", "dampings"):
        getattr(view, f"set_dof_{name}")(pair.arrays.cpu.make(np.zeros((2, 2))), None)
    view.set_dof_actuation_forces(pair.arrays.make([[40.0, 0.0]] * 2), None)
    for _ in range(120):
        pair.sim.step(pair.dt)
    np.testing.assert_allclose(host(view.get_dof_positions())[:, 0], [5.0, 5.0], atol=2e-3)
