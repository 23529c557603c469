"""What is applied for some steps gives its impulse exactly once, and what compensates gravity moves nothing."""

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics import ModelError, Quantities, Solver
from tensorphys_dynamics._reference import dynamics
from tensorphys_dynamics.testing import model_of, random_state, random_tree, robots

DT = 1.0 / 60.0
STILL = (0.0, 0.0, 0.0)


def momenta(tree, state):
    """Momentum, and angular momentum about the environment's origin."""
    root, q, v = (a.numpy().astype(float) for a in (state.root_pose, state.dof_position, state.velocity))
    d = dynamics(tree, root[0], q, v, np.zeros(3))
    p = (d.mass_matrix @ v)[:6]
    return p[:3], p[3:] + np.cross(d.origin, p[:3])


@pytest.mark.parametrize("path", ["generic", "fused"])
@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_load_that_leaves_has_given_its_impulse(device, path, steps, seed):
    # one link, then chains and trees that turn
    tree = random_tree(seed, 1 + 2 * seed, fixed_base=False)
    root, q, v = random_state(seed, tree)
    model, state, control = model_of(tree, device, gravity=STILL)
    state.set_initial(root_pose=root[None], velocity=0.3 * v, dof_position=q)
    solver = Solver(model, state, control, time_step=DT, path=path)
    solver.update_kinematics()
    for _ in range(3):
        solver.step()
    before = momenta(tree, state)
    rng = np.random.default_rng(seed)
    links = len(tree.parent)
    force, torque = np.zeros((links, 3), np.float32), np.zeros((links, 3), np.float32)
    force[-1], torque[links // 2] = rng.normal(size=3) * 5, rng.normal(size=3)
    turned = np.zeros(3)
    for _ in range(steps):
        control.link_force.assign(force)
        control.link_torque.assign(torque)
        # where the force acts, by Simpson's rule over the step
        places = []
        for half in range(2):
            pose = state.link_pose.numpy()[-1].astype(float)
            places.append(centre_of(tree, pose))
            if half == 0:
                speed = state.link_velocity.numpy()[-1, :3].astype(float)
                solver.step()
        middle = (places[0] + places[1]) / 2 + DT / 8 * (
            speed - state.link_velocity.numpy()[-1, :3].astype(float)
        )
        turned += DT * np.cross((places[0] + 4 * middle + places[1]) / 6, force[-1])
    for wait in range(4):
        now = momenta(tree, state)
        np.testing.assert_allclose(
            now[0] - before[0], steps * DT * force[-1], rtol=0, atol=3e-6 * scale(before[0], steps * DT * 5)
        )
        gained = steps * DT * torque[links // 2] + turned
        # the lever is that of the substeps: second order in them
        np.testing.assert_allclose(
            now[1] - before[1], gained, rtol=0, atol=2e-4 * scale(before[1], np.linalg.norm(gained))
        )
        if wait < 3:
            solver.step()


def centre_of(tree, pose):
    from tensorphys_dynamics._reference import rotation

    return pose[:3] + rotation(pose[3:] / np.linalg.norm(pose[3:])) @ tree.com[-1]


def scale(before, given):
    return max(np.linalg.norm(before), given)


@pytest.mark.parametrize("path", ["generic", "fused"])
@pytest.mark.parametrize("robot", ["arm", "tree"])
def test_gravity_compensation_moves_no_joint(device, path, robot):
    # the torques are those that the step takes off: not one bit changes; the compiler of CUDA may contract the two
    # kernels differently, and 50 N m that round apart turn a wrist by 0.4 mrad
    tree = robots.arm().tree if robot == "arm" else random_tree(5, 12, fixed_base=True)
    model, state, control = model_of(tree, device, copies=3)
    rng = np.random.default_rng(1)
    start = rng.uniform(-1.0, 1.0, model.dof_count)
    roots = np.concatenate((rng.normal(size=(3, 3)), rng.normal(size=(3, 4))), axis=1)
    roots[:, 3:] /= np.linalg.norm(roots[:, 3:], axis=1, keepdims=True)
    state.set_initial(root_pose=roots, dof_position=start)
    solver = Solver(model, state, control, time_step=DT, path=path)
    solver.update_kinematics()
    quantities = Quantities(model, state, solver=solver)
    for _ in range(180):
        wp.copy(control.actuation, quantities.gravity_compensation())
        solver.step()
    atol = 0.0 if device == "cpu" else 5e-4
    np.testing.assert_allclose(state.dof_position.numpy(), start.astype(np.float32), rtol=0.0, atol=atol)
    apart = Quantities(model, state).gravity_compensation().numpy()
    held = quantities.gravity_compensation().numpy()
    np.testing.assert_allclose(held, apart, rtol=0, atol=3e-6 * np.abs(apart).max())
    free = quantities.free_base_gravity_compensation().numpy()
    np.testing.assert_allclose(free, held, rtol=0, atol=3e-6 * np.abs(apart).max())


def test_gravity_compensation_of_chosen_moving_and_pushed_ones(device):
    """What moves and is pushed is compensated as at rest, and rows that are not chosen stay zero."""
    tree = random_tree(2, 6, fixed_base=False)
    model, state, control = model_of(tree, device, copies=3)
    root, q, v = random_state(2, tree)
    state.set_initial(root_pose=np.tile(root, (3, 1)), velocity=np.tile(v, 3), dof_position=np.tile(q, 3))
    solver = Solver(model, state, control, time_step=DT, path="fused")
    solver.update_kinematics()
    control.link_force.assign(np.ones((model.link_count, 3), np.float32))
    held = Quantities(model, state, [2, 0], solver=solver).gravity_compensation().numpy().reshape(3, -1)
    apart = Quantities(model, state).gravity_compensation().numpy().reshape(3, -1)
    assert not held[1].any()
    np.testing.assert_allclose(held[[0, 2]], apart[[0, 2]], rtol=0, atol=3e-6 * np.abs(apart).max())
    with pytest.raises(ModelError, match="another state"):
        Quantities(model, state.copy(), solver=solver)
