"""Laws that hold for any values: who wins among rows, and that nothing is stale whatever the order of writes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

BODIES = 4


@pytest.fixture(scope="module")
def balls(author: Any, open_view: Any) -> Any:
    stage = author.new(gravity=0.0)
    for i in range(BODIES):
        stage.body(f"/World/ball{i}", (i, 0, 0))
    return open_view("numpy", stage)


@given(data=st.data())
def test_the_row_that_is_named_last_wins(balls: Any, data: st.DataObject) -> None:
    """Against a loop over the indices, for views with repeated rows and indices in any order."""
    objects = data.draw(
        st.lists(st.integers(0, BODIES - 1), min_size=1, max_size=8), label="body of each row"
    )
    view = balls.create_rigid_body_view([f"/World/ball{i}" for i in objects])
    indices = data.draw(st.lists(st.integers(0, len(objects) - 1), max_size=8), label="indices")
    everything = balls.create_rigid_body_view("/World/ball*")
    start = np.zeros((BODIES, 7), np.float32)
    start[:, 0], start[:, 6] = np.arange(BODIES), 1.0
    everything.set_transforms(start, None)
    everything.set_masses(np.ones((BODIES, 1)), None)
    poses = np.zeros((len(objects), 7), np.float32)
    poses[:, 1], poses[:, 6] = 1.0 + np.arange(len(objects)), 1.0
    view.set_transforms(poses, indices)
    view.set_masses(2.0 + np.arange(len(objects)), indices)
    expected, masses = start.copy(), np.ones(BODIES)
    for row in indices:
        expected[objects[row]] = poses[row]
        masses[objects[row]] = 2.0 + row
    np.testing.assert_array_equal(everything.get_transforms(), expected)
    np.testing.assert_array_equal(everything.get_masses()[:, 0], masses)
    np.testing.assert_array_equal(view.get_transforms(), expected[objects])


@pytest.fixture(scope="module")
def pair(author: Any, open_view: Any) -> SimpleNamespace:
    """A cart-pole and its copy with the bodies of both joints the other way round."""
    stage = author.new(gravity=0.0)
    stage.environments(
        2, lambda path, number: stage.cart_pole(f"{path}/cp", flipped=number == 1), spacing=10.0
    )
    sim = open_view("numpy", stage, environments="/envs/*")
    sim.set_subspace_roots("/envs/*")
    return SimpleNamespace(
        view=sim.create_articulation_view("/envs/*/cp"),
        pole=sim.create_rigid_body_view("/envs/*/cp/pole"),
        sim=sim,
    )


NUMBER = st.floats(-3.0, 3.0, width=32)


@given(
    q=st.tuples(NUMBER, NUMBER),
    v=st.tuples(NUMBER, NUMBER),
    com=st.floats(-0.5, 0.5, width=32),
    order=st.permutations(["positions", "velocities", "coms"]),
    step=st.booleans(),
)
def test_links_are_never_stale(
    pair: SimpleNamespace, q: Any, v: Any, com: float, order: list[str], step: bool
) -> None:
    """Closed form of the pole's pose and velocity, after writes in any order, with or without a step before."""
    if step:
        pair.sim.step(1 / 60)
    coms = pair.view.get_coms().copy()
    coms[:, 2, :3] = [0, 0, com]
    for name in order:
        if name == "coms":
            pair.view.set_coms(coms, None)
        else:
            values = np.array([q if name == "positions" else v] * 2, np.float32)
            getattr(pair.view, f"set_dof_{name}")(values, None)
    for row, sign in enumerate((1.0, -1.0)):
        # Body 1 relative to body 0: with the bodies exchanged, the same q moves the cart and the pole the other way.
        y, angle, speed, spin = (sign * value for value in (*q, *v))
        arm = np.array([0.0, -np.sin(angle), np.cos(angle)])
        pose, velocity = pair.pole.get_transforms()[row], pair.pole.get_velocities()[row]
        np.testing.assert_allclose(pose[:3], np.array([0, y, 2]) + 0.5 * arm, atol=2e-6)
        np.testing.assert_allclose(
            np.abs(pose[3:]), np.abs([np.sin(angle / 2), 0, 0, np.cos(angle / 2)]), atol=1e-6
        )
        turning = np.cross([spin, 0, 0], (0.5 + com) * arm)
        np.testing.assert_allclose(velocity[:3], np.array([0, speed, 0]) + turning, atol=1e-5)
        np.testing.assert_allclose(velocity[3:], [spin, 0, 0], atol=1e-6)
    np.testing.assert_array_equal(pair.view.get_link_transforms()[:, 2], pair.pole.get_transforms())
    np.testing.assert_array_equal(pair.view.get_link_velocities()[:, 2], pair.pole.get_velocities())
