"""Limits that several joints hit at once, and bodies on which the applied forces change."""

import numpy as np
import pytest

from tensorphys_dynamics import Solver
from tensorphys_dynamics._reference import Tree, dynamics
from tensorphys_dynamics.testing import History, model_of, run_steps

DT = 1.0 / 240.0
ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])

pytestmark = pytest.mark.parametrize("path", ["generic", "fused"])


def rods(links, *, fixed_base, axis=(0.0, 1.0, 0.0), com=0.5):
    """Rods of 1 m and 1 kg, jointed end to end; the root is the first."""
    rest = np.zeros((links, 7))
    rest[:, 6] = 1.0
    rest[1:, 0] = 1.0
    return Tree(
        fixed_base=fixed_base,
        parent=np.arange(-1, links - 1, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.arange(1, links, dtype=np.int32),
        dof_rotational=np.ones(links - 1, bool),
        dof_axis=np.tile(np.array(axis), (links - 1, 1)),
        dof_anchor=np.zeros((links - 1, 3)),
        armature=np.zeros(links - 1),
        mass=np.ones(links),
        com=np.tile([com, 0.0, 0.0], (links, 1)),
        inertia=np.tile(np.diag([0.01, 1 / 12, 1 / 12]), (links, 1, 1)),
    )


@pytest.mark.parametrize(("joints", "bound"), [(2, 1e-5), (3, 1e-4)])
def test_limits_hit_at_once_hold(device, path, joints, bound):
    """Swinging chains whose limits are struck by several joints in one substep, and throw others to theirs."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model, state, control = model_of(
            rods(joints + 1, fixed_base=True), device, lower=[-0.7] * joints, upper=[0.7] * joints
        )
        state.set_initial(dof_position=rng.uniform(-0.6, 0.6, joints), velocity=rng.normal(size=joints) * 4)
        solver = Solver(model, state, control, time_step=DT, path=path)
        solver.update_kinematics()
        both = 0
        for position, force in run_steps(solver, 480, (state.dof_position, state.dof_limit_force)):
            assert np.abs(position).max() < 0.7 + bound
            both += (force != 0.0).sum() > 1
        assert both > 10


def arrays_of(state):
    return state.root_pose, state.dof_position, state.velocity


def spin_about_the_centre(tree, row):
    """Angular momentum about the centre of mass of the whole."""
    root, q, v = (a.astype(float) for a in (row[0][0], *row[1:]))
    d = dynamics(tree, root, q, v, np.zeros(3))
    p = (d.mass_matrix @ v)[:6]
    centre = (tree.mass[:, None] * d.com).sum(0) / tree.mass.sum()
    return p[3:] + np.cross(d.origin - centre, p[:3])


@pytest.mark.parametrize("turning", [0.0, 5.0])
def test_forces_that_change_leave_a_flying_body_its_spin(device, path, turning):
    tree = rods(1, fixed_base=False, com=0.0)
    model, state, control = model_of(tree, device)
    state.set_initial(velocity=[1.0, 2.0, 3.0, turning, 0.8 * turning, 1.2 * turning])
    solver = Solver(model, state, control, time_step=DT, path=path)
    solver.update_kinematics()
    rng = np.random.default_rng(0)
    start = spin_about_the_centre(tree, [a.numpy() for a in arrays_of(state)])
    history = History(arrays_of(state), 240)
    for _ in range(240):
        force = rng.normal(size=(1, 3)) * 200 * (rng.random() < 0.3)
        control.link_force.assign(force.astype(np.float32))
        solver.step()
        history.keep()
    for row in history.read():
        # 1 kg at speeds up to 10 m/s
        assert np.abs(spin_about_the_centre(tree, row) - start).max() < 1e-5


def test_forces_that_change_leave_a_flying_chain_its_spin(device, path):
    tree = rods(3, fixed_base=False, axis=(0.0, 0.6, 0.8))
    model, state, control = model_of(tree, device)
    state.set_initial(velocity=[1.0, 2.0, 3.0, 1.0, 0.5, 0.3, 0.4, -0.5])
    solver = Solver(model, state, control, time_step=DT, path=path)
    solver.update_kinematics()
    rng = np.random.default_rng(0)
    start = spin_about_the_centre(tree, [a.numpy() for a in arrays_of(state)])
    history = History(arrays_of(state), 240)
    for _ in range(240):
        force = rng.normal(size=3) * 20 * (rng.random() < 0.3)
        control.link_force.assign(np.tile(force, (3, 1)).astype(np.float32))
        solver.step()
        history.keep()
    for row in history.read():
        assert np.abs(spin_about_the_centre(tree, row) - start).max() < 2e-4 * np.linalg.norm(start)
