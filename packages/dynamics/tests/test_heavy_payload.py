"""Heavy loads on light chains, where the mass matrix has a condition of 1e7 and more: float32 must bear them."""

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics import ModelError, Quantities, Solver
from tensorphys_dynamics._reference import Tree, dynamics, energy
from tensorphys_dynamics.testing import model_of, run_steps

ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])
GRAVITY = np.array([0.0, 0.0, -9.81])
LENGTH, ROD, LOAD, LOAD_INERTIA = 0.2, 0.01, 100.0, 0.1


def loaded_chain(*, load=LOAD, fixed_base=True):
    """A base and five rods that hang from it; the last one carries the load at its end."""
    links = 6
    rest = np.zeros((links, 7))
    rest[:, 6] = 1.0
    rest[2:, 2] = -LENGTH
    mass = np.full(links, ROD)
    com = np.tile([0.0, 0.0, -LENGTH / 2], (links, 1))
    bar = ROD * LENGTH**2 / 12
    inertia = np.tile(np.diag([bar, bar, 1e-6]), (links, 1, 1))
    centre = (load * -LENGTH + ROD * -LENGTH / 2) / (load + ROD)
    across = load * (LENGTH + centre) ** 2 + ROD * (LENGTH / 2 + centre) ** 2 + bar
    mass[5], com[5] = load + ROD, [0.0, 0.0, centre]
    inertia[5] = LOAD_INERTIA * np.eye(3) + across * np.diag([1, 1, 0])
    count = links - 1
    return Tree(
        fixed_base=fixed_base,
        parent=np.arange(-1, links - 1, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.arange(1, links, dtype=np.int32),
        dof_rotational=np.ones(count, bool),
        dof_axis=np.tile([0.0, 1.0, 0.0], (count, 1)),
        dof_anchor=np.zeros((count, 3)),
        armature=np.zeros(count),
        mass=mass,
        com=com,
        inertia=inertia,
    )


def swing(tree, device, path, q, *, dt=1 / 120, steps=600):
    """Joint positions and velocities after each step, the start first."""
    model, state, control = model_of(tree, device)
    state.set_initial(dof_position=q)
    solver = Solver(model, state, control, time_step=dt, path=path)
    solver.update_kinematics()
    rows = [(np.asarray(q, float), np.zeros(model.velocity_count))]
    for position, velocity in run_steps(solver, steps, (state.dof_position, state.velocity)):
        rows.append((position.astype(float), velocity.astype(float)))
    return rows


@pytest.mark.parametrize("path", ["generic", "fused"])
def test_loaded_chain_swings_like_a_pendulum_of_its_length(device, path):
    tree = loaded_chain()
    assert np.linalg.cond(dynamics(tree, ORIGIN, np.zeros(5), np.zeros(5), GRAVITY).mass_matrix) > 1e7
    amplitude = np.radians(10.0)
    rows = swing(tree, device, path, [amplitude, 0, 0, 0, 0])
    q = np.array([r[0] for r in rows])
    assert np.degrees(np.abs(q[:, 1:]).max()) < 0.15  # the links stay in line
    whole = q.sum(1)
    rising = np.flatnonzero((whole[:-1] < 0) & (whole[1:] >= 0))
    times = (rising + whole[rising] / (whole[rising] - whole[rising + 1])) / 120
    length = 5 * LENGTH
    inertia = LOAD * length**2 + LOAD_INERTIA + 5 * ROD * length**2 / 3
    weight = LOAD * length + 5 * ROD * length / 2
    period = 2 * np.pi * np.sqrt(inertia / (9.81 * weight)) * (1 + amplitude**2 / 16)
    assert np.diff(times).mean() == pytest.approx(period, rel=1e-3)
    energies = [energy(tree, ORIGIN, *r, GRAVITY) for r in rows]
    swung = 9.81 * weight * (1 - np.cos(amplitude))
    assert np.ptp(energies) < 0.05 * swung


@pytest.mark.parametrize("path", ["generic", "fused"])
def test_loaded_chain_rests_where_it_hangs(device, path):
    q = np.array([r[0] for r in swing(loaded_chain(), device, path, [1e-4, 0, 0, 0, 0])])
    assert np.abs(q).max() < 1e-3


def thrown(load, seed, device, path="auto"):
    """A solver of a chain that no base holds, with its light links up front."""
    rng = np.random.default_rng(seed)
    model, state, control = model_of(loaded_chain(load=load, fixed_base=False), device)
    speeds = np.concatenate((np.zeros(6), rng.normal(size=5)))
    state.set_initial(dof_position=rng.uniform(-0.6, 0.6, 5), velocity=speeds)
    solver = Solver(model, state, control, time_step=1 / 60, path=path)
    solver.update_kinematics()
    return solver


@pytest.mark.parametrize(
    ("load", "path"), [(1.0, "generic"), (1.0, "fused"), (1e3, "generic"), (1e5, "generic"), (1e7, "generic")]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_thrown_chain_falls_with_its_load(device, path, load, seed):
    # 1e7 kg on rods of 10 g: factors in float64, and a momentum that takes no error of the place of the load for a spin
    solver = thrown(load, seed, device, path)
    tree, state = loaded_chain(load=load, fixed_base=False), solver.state

    def look():
        q, v = state.dof_position.numpy().astype(float), state.velocity.numpy().astype(float)
        d = dynamics(tree, state.root_pose.numpy()[0].astype(float), q, v, GRAVITY)
        p = (d.mass_matrix @ v)[:6] / tree.mass.sum()
        return tree.mass @ d.com / tree.mass.sum(), p[:3], d.velocity

    centre, speed, links = look()
    # between each link and the load
    start = np.linalg.norm(links[:, :3] - links[-1, :3], axis=1).max()
    steps = 240
    for _ in range(steps):
        solver.step()
    t = steps / 60
    now, falling, links = look()
    np.testing.assert_allclose(now, centre + speed * t + 0.5 * GRAVITY * t**2, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(falling, speed + GRAVITY * t, rtol=1e-5, atol=1e-4)
    # what the rods had among themselves they still have, and no more
    assert np.linalg.norm(links[:, :3] - links[-1, :3], axis=1).max() < 3 * start
    assert not state.diverged.numpy().any()


def test_the_fused_path_refuses_light_links_that_carry_heavy_ones(device):
    assert thrown(1.0, 0, device).path == "fused"
    assert thrown(1e3, 0, device).path == "generic"
    with pytest.raises(ModelError, match="light links of a floating base"):
        thrown(1e3, 0, device, "fused")


@pytest.mark.parametrize("path", ["generic", "fused"])
def test_what_diverges_stands_still_and_says_so(device, path):
    model, state, control = model_of(loaded_chain(load=1.0, fixed_base=False), device, copies=2)
    solver = Solver(model, state, control, time_step=1 / 60, path=path)
    solver.update_kinematics()
    force = np.zeros((12, 3), np.float32)
    force[3] = 3e38
    control.link_force.assign(force)
    before = state.link_pose.numpy()
    solver.step()
    np.testing.assert_array_equal(state.diverged.numpy(), [1, 0])
    np.testing.assert_allclose(state.link_pose.numpy()[:6], before[:6], atol=1e-6)
    for _ in range(5):
        solver.step()
    assert np.isfinite(state.link_pose.numpy()).all() and np.isfinite(state.link_velocity.numpy()).all()
    # the rest fell, and so does what diverged from then on
    assert state.velocity.numpy()[13] == pytest.approx(-9.81 * 6 / 60, rel=1e-3)
    assert state.velocity.numpy()[2] < 0.0
    state.fresh.fill_(1)
    solver.update_kinematics()
    assert not state.diverged.numpy().any()


@pytest.mark.parametrize("path", ["generic", "fused"])
@pytest.mark.parametrize("load", [1.0, 1e3, 1e5])
def test_a_chain_that_whips_leaves_numbers(device, path, load):
    # rods of 10 g between a falling load and the base turn faster than substeps can follow
    tree = loaded_chain(load=load)
    model, state, control = model_of(tree, device)
    state.set_initial(dof_position=[0.4, -0.3, 0.2, 0.5, -0.6])
    solver = Solver(model, state, control, time_step=1 / 60, path=path)
    solver.update_kinematics()
    for _ in range(240):
        solver.step()
    assert np.isfinite(state.link_pose.numpy()).all()
    assert np.isfinite(state.velocity.numpy()).all()


def test_forward_dynamics_has_a_small_residual(device):
    tree = loaded_chain()
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = rng.uniform(-1, 1, 5), rng.normal(size=5)
        force = rng.normal(size=5) * 10
        model, state, control = model_of(tree, device)
        state.set_initial(dof_position=q, velocity=v)
        Solver(model, state, control).update_kinematics()
        quantities = Quantities(model, state)
        acceleration = (
            quantities.forward_dynamics(wp.array(force, dtype=wp.float32, device=device))
            .numpy()
            .astype(float)
        )
        d = dynamics(tree, ORIGIN, q.astype(np.float32), v.astype(np.float32), GRAVITY)
        reached = d.mass_matrix @ acceleration
        scale = np.linalg.norm(d.mass_matrix, 2) * np.linalg.norm(acceleration)
        scale += np.linalg.norm(d.bias) + np.linalg.norm(force)
        assert np.linalg.norm(reached + d.bias - force) < 1e-4 * scale
