"""Links as ends of constraints of others: velocity, response, impulses, loads."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_dynamics import LinkEnds, ModelError, Solver, StepLoads
from tensorphys_dynamics.testing import bodies_model, model_of, random_state, random_tree


class _Push:
    """Gives constant impulses in each substep, in two sweeps, the first without them."""

    def __init__(self, solver) -> None:
        self.ends = LinkEnds(solver)
        self.impulse = np.zeros((solver.model.link_count, 6), np.float32)
        self.change = None

    def begin(self) -> None:
        self.ends.begin()

    def exchange(self, sweep) -> None:
        self.ends.observe()
        self.ends.impulse.zero_()
        self.ends.sweep(sweep)
        free = self.ends.velocity.numpy().copy()
        self.ends.impulse.assign(self.impulse)
        self.ends.sweep(sweep)
        self.change = self.ends.velocity.numpy() - free
        self.ends.keep()


@pytest.mark.parametrize("fixed_base", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_response_is_what_impulses_do(seed, fixed_base, device):
    tree = random_tree(seed, 6, fixed_base=fixed_base)
    model, state, control = model_of(tree, device)
    root, q, v = random_state(seed, tree)
    state.set_initial(root_pose=root[None], dof_position=q, velocity=v)
    solver = Solver(model, state, control, substeps=1, time_step=1e-3, path="generic")
    solver.update_kinematics()
    push = _Push(solver)
    rng = np.random.default_rng(seed)
    link = model.link_count - 1
    push.impulse[link] = rng.normal(size=6) * 0.1
    solver.step(push)
    response = push.ends.response.numpy()[link]
    wanted = response @ push.impulse[link]
    np.testing.assert_allclose(push.change[link], wanted, atol=2e-5 * (1.0 + np.abs(wanted).max()))
    np.testing.assert_allclose(response, response.T, atol=1e-6 * np.abs(response).max())


def test_momentum_is_what_was_given(device):
    model, state, control = bodies_model([2.0, 0.5], [np.eye(3) * 0.01] * 2, device, gravity=(0.0, 0.0, 0.0))
    solver = Solver(model, state, control, substeps=4, time_step=0.01, path="generic")
    push = _Push(solver)
    loads = StepLoads(solver, ends=push.ends)
    solver.update_kinematics()
    push.impulse[0] = (0.1, 0.0, -0.2, 0.0, 1e-3, 0.0)
    loads.keep_start()
    solver.step(push)
    velocity = state.link_velocity.numpy()
    np.testing.assert_allclose(velocity[0, :3], 4 * push.impulse[0, :3] / 2.0, rtol=1e-5)
    np.testing.assert_allclose(velocity[0, 3:], 4 * push.impulse[0, 3:] / 0.01, rtol=1e-4)
    assert not velocity[1].any()
    np.testing.assert_allclose(push.ends.total.numpy()[0], 4 * push.impulse[0], rtol=1e-6)
    loads.evaluate()
    # a free body has no joint: all of its acceleration comes from what it was given
    np.testing.assert_allclose(loads.joint_wrench.numpy()[0, :3], 0.0, atol=2e-3)
    np.testing.assert_allclose(loads.link_acceleration.numpy()[0, :3], velocity[0, :3] / 0.01, rtol=1e-4)


def test_not_finite_impulses_are_none(device):
    model, state, control = bodies_model([1.0], [np.eye(3) * 0.01], device)
    solver = Solver(model, state, control, time_step=0.01, path="generic")
    push = _Push(solver)
    push.impulse[0, 1] = np.nan
    solver.update_kinematics()
    solver.step(push)
    assert np.isfinite(state.root_pose.numpy()).all()


def test_fused_path_refuses_by_name(device):
    model, state, control = bodies_model([1.0], [np.eye(3) * 0.01], device)
    solver = Solver(model, state, control, path="fused")
    with pytest.raises(ModelError, match="path='generic'"):
        LinkEnds(solver)
