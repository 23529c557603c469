"""Chains and trees of a hundred links and more against the float64 twin, and by the energy that they keep."""

from dataclasses import replace

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics import Quantities, Solver
from tensorphys_dynamics._reference import Tree, dynamics, energy
from tensorphys_dynamics.fused import supports
from tensorphys_dynamics.testing import model_of, random_ball_tree, random_state, random_tree, run_steps

DT = 1.0 / 240.0
ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])
GRAVITY = np.array([0.0, 0.0, -9.81])
LENGTH = 0.2


def chain(links, *, balls=False, fixed_base=True):
    """Rods of 0.2 m and 1 kg, each hinged at the end of the one before about axes that alternate, or on a ball joint."""
    per = 3 if balls else 1
    rest = np.tile(ORIGIN, (links, 1))
    rest[1:, 0] = LENGTH
    count = links - 1
    axes = np.tile(np.eye(3), (count, 1)) if balls else np.tile(np.eye(3)[[1, 2]], (count, 1))[:count]
    return Tree(
        fixed_base=fixed_base,
        parent=np.arange(-1, count, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.repeat(np.arange(1, links, dtype=np.int32), per),
        dof_rotational=np.ones(per * count, bool),
        dof_axis=axes,
        dof_anchor=np.zeros((per * count, 3)),
        armature=np.zeros(per * count),
        mass=np.ones(links),
        com=np.tile([LENGTH / 2, 0.0, 0.0], (links, 1)),
        inertia=np.tile(np.diag([0.1, 1 / 12, 1 / 12]) * LENGTH**2, (links, 1, 1)),
        balls=per * np.arange(count if balls else 0, dtype=np.int32),
    )


def hanging(tree, seed=0):
    """Positions of a chain that hangs almost straight down, bent a little everywhere."""
    q = 0.03 * np.random.default_rng(seed).normal(size=len(tree.dof_link))
    q[1 if len(tree.balls) else 0] += np.pi / 2
    return q


CHAINS = pytest.mark.parametrize(
    ("links", "options"),
    [(34, {}), (121, {}), (121, {"fixed_base": False}), (101, {"balls": True})],
    ids=["34", "121", "121-free", "101-balls"],
)


@CHAINS
def test_forward_dynamics_equal_the_twin(device, links, options):
    tree = chain(links, **options)
    q = hanging(tree)
    v = 0.1 * np.random.default_rng(1).normal(size=tree.velocity_count)
    model, state, control = model_of(tree, device, gravity=tuple(GRAVITY))
    state.set_initial(root_pose=[ORIGIN], velocity=v, dof_position=q)
    Solver(model, state, control).update_kinematics()
    d = dynamics(tree, ORIGIN, q, v, GRAVITY)
    quantities = Quantities(model, state)
    ours = quantities.forward_dynamics(wp.zeros(len(v), dtype=wp.float32, device=device)).numpy()
    exact = np.linalg.solve(d.mass_matrix, -d.bias)
    assert np.abs(ours - exact).max() < 5e-3 * np.abs(exact).max()
    residual = np.linalg.norm(d.mass_matrix @ ours + d.bias)
    assert residual < 1e-6 * np.linalg.norm(d.mass_matrix, 2) * np.linalg.norm(ours)
    assert np.abs(quantities.mass_matrix().numpy()[0] - d.mass_matrix).max() < 1e-5 * d.mass_matrix.max()
    gravity = quantities.gravity_compensation().numpy()
    assert np.abs(gravity + d.gravity_force).max() < 1e-5 * np.abs(d.gravity_force).max()


@pytest.mark.parametrize("kind", [random_tree, random_ball_tree])
@pytest.mark.parametrize("fixed_base", [True, False])
def test_trees_of_150_links_equal_the_twin(device, kind, fixed_base):
    tree = kind(5, 150, fixed_base=fixed_base)
    root, q, v = random_state(5, tree)
    v *= 0.2
    model, state, control = model_of(tree, device, gravity=tuple(GRAVITY))
    state.set_initial(root_pose=[root], velocity=v, dof_position=q)
    Solver(model, state, control).update_kinematics()
    d = dynamics(tree, root, q, v, GRAVITY)
    quantities = Quantities(model, state)
    np.testing.assert_allclose(state.link_pose.numpy()[:, :3], d.pose[:, :3], atol=1e-4)
    ours = quantities.forward_dynamics(wp.zeros(len(v), dtype=wp.float32, device=device)).numpy()
    exact = np.linalg.solve(d.mass_matrix, -d.bias)
    assert np.abs(ours - exact).max() < 5e-3 * np.abs(exact).max()
    coriolis = d.bias + d.gravity_force
    assert np.abs(quantities.coriolis_compensation().numpy() - coriolis).max() < 1e-4 * np.abs(coriolis).max()


@pytest.mark.parametrize("balls", [False, True])
def test_a_hanging_chain_swings_with_its_energy(device, balls):
    tree = chain(101, balls=balls)
    model, state, control = model_of(tree, device, gravity=tuple(GRAVITY))
    solver = Solver(model, state, control, time_step=DT)
    assert solver.path == "generic"
    q = hanging(tree)
    state.set_initial(root_pose=[ORIGIN], velocity=np.zeros(model.velocity_count), dof_position=q)
    solver.update_kinematics()
    start = energy(tree, ORIGIN, q, np.zeros(model.velocity_count), GRAVITY)
    lowest = energy(tree, ORIGIN, np.eye(len(q))[1 if balls else 0] * np.pi / 2, np.zeros(len(q)), GRAVITY)
    moving = 0.0
    # one lane of a card takes a second a step; the CPU swings on
    steps = 60 if device == "cpu" else 10
    for row in run_steps(solver, steps, (state.dof_position, state.velocity), every=steps // 3):
        q, v = (a.astype(float) for a in row)
        assert abs(energy(tree, ORIGIN, q, v, GRAVITY) - start) < 0.01 * (start - lowest)
        moving = max(moving, np.abs(v).max())
    assert moving > 0.1


def test_drives_and_friction_hold_a_long_chain(device):
    tree = replace(chain(61), armature=np.full(60, 0.01))
    count = len(tree.dof_link)
    q = np.zeros(count)
    for columns in (
        {"drive_type": np.ones(count), "stiffness": np.full(count, 4e6), "damping": np.full(count, 4e5)},
        {"static_friction": np.full(count, 1e5), "dynamic_friction": np.full(count, 1e5)},
    ):
        model, state, control = model_of(tree, device, gravity=tuple(GRAVITY), **columns)
        state.set_initial(root_pose=[ORIGIN], velocity=np.zeros(count), dof_position=q)
        solver = Solver(model, state, control, time_step=DT)
        solver.update_kinematics()
        # the drives settle within 0.1 s
        settled = 300 if device == "cpu" else 150
        run_steps(solver, settled if "stiffness" in columns else 90, ())
        # the weight bends the chain by its torque over the stiffness
        sag = -np.cumsum((np.arange(count) + 0.5) * LENGTH * 9.81)[::-1] / 4e6
        expected = np.where(tree.dof_axis[:, 1] == 1.0, -sag, 0.0) if "stiffness" in columns else q
        np.testing.assert_allclose(state.dof_position.numpy(), expected, atol=2e-5)
        assert np.abs(state.velocity.numpy()).max() < 1e-3


def test_the_fused_path_refuses_long_chains_by_name(device):
    model, _, _ = model_of(chain(34), device)
    assert "chain of 33 velocities" in (supports(model) or "")
    model, _, _ = model_of(chain(33), device)
    assert supports(model) is None
