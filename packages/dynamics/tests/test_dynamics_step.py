"""Whole steps against closed forms, conservation laws and an independent integration, at default settings."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tensorphys_dynamics import Solver
from tensorphys_dynamics._reference import Tree, dynamics, energy
from tensorphys_dynamics.testing import (
    History,
    SpheresOnPlane,
    model_of,
    random_state,
    random_tree,
    run_steps,
)

DT = 1.0 / 240.0
ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])
GRAVITY = np.array([0.0, 0.0, -9.81])


def chain(links, *, fixed_base=True, rotational=True, axis=(0.0, 1.0, 0.0)):
    """Rods of 1 m and 1 kg, jointed end to end; the root is the first."""
    rest = np.zeros((links, 7))
    rest[:, 6] = 1.0
    rest[1:, 0] = 1.0
    return Tree(
        fixed_base=fixed_base,
        parent=np.arange(-1, links - 1, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.arange(1, links, dtype=np.int32),
        dof_rotational=np.full(links - 1, rotational),
        dof_axis=np.tile(np.array(axis), (links - 1, 1)),
        dof_anchor=np.zeros((links - 1, 3)),
        armature=np.zeros(links - 1),
        mass=np.ones(links),
        com=np.tile([0.5, 0.0, 0.0], (links, 1)),
        inertia=np.tile(np.diag([0.01, 1 / 12, 1 / 12]), (links, 1, 1)),
    )


def simulate(
    tree,
    device,
    steps,
    *,
    root=ORIGIN,
    q=None,
    v=None,
    gravity=GRAVITY,
    targets=None,
    every=1,
    path="auto",
    **dof,
):
    """Root poses, joint positions and velocities after each `every`-th step, the start first."""
    model, state, control = model_of(tree, device, gravity=tuple(gravity), **dof)
    q = np.zeros(model.dof_count) if q is None else q
    v = np.zeros(model.velocity_count) if v is None else v
    state.set_initial(root_pose=[root], velocity=v, dof_position=q)
    if targets is not None:
        control.position_target.assign(np.asarray(targets[0], np.float32))
        control.velocity_target.assign(np.asarray(targets[1], np.float32))
    solver = Solver(model, state, control, time_step=DT, path=path)
    solver.update_kinematics()
    rows = [(root, np.asarray(q, float), np.asarray(v, float))]
    for pose, *others in run_steps(
        solver, steps, (state.root_pose, state.dof_position, state.velocity), every=every
    ):
        rows.append((pose[0].astype(float), *(a.astype(float) for a in others)))
    return rows


def test_free_fall_and_projectile_are_exact(device):
    v = np.array([1.0, -2.0, 3.0, 0.0, 0.0, 0.0])
    rows = simulate(chain(1, fixed_base=False), device, 240, v=v)
    for step in (1, 60, 240):
        t = step * DT
        path = v[:3] * t + 0.5 * GRAVITY * t * t
        np.testing.assert_allclose(rows[step][0][:3], path, atol=2e-5)
        np.testing.assert_allclose(rows[step][2][:3], v[:3] + GRAVITY * t, atol=2e-5)


def test_spinning_body_keeps_its_angular_momentum_and_flips(device):
    tree = chain(1, fixed_base=False)
    tree.inertia[0] = np.diag([0.02, 0.1, 0.3])
    v = np.array([0.0, 0, 0, 0.01, 5.0, 0.03])
    rows = simulate(tree, device, 720 * 4, v=v, gravity=np.zeros(3))
    momenta, body_rates, energies = [], [], []
    for root, q, v in rows:
        d = dynamics(tree, root, q, v, np.zeros(3))
        momenta.append((d.mass_matrix @ v)[3:])
        energies.append(0.5 * v @ d.mass_matrix @ v)
        x, y, z, w = root[3:]
        axis_y = np.array([2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)])
        body_rates.append(axis_y @ v[3:])
    momenta = np.array(momenta)
    drift = np.abs(momenta - momenta[0]).max(1) / np.linalg.norm(momenta[0])
    assert drift[:721].max() < 1e-5
    assert drift.max() < 4e-5
    assert np.abs(np.array(energies) / energies[0] - 1).max() < 1e-3
    assert min(body_rates) < -4.9  # the intermediate axis flips


def test_pendulum_period(device):
    tree = chain(2)
    amplitude = 0.1
    rows = simulate(tree, device, 1200, q=[np.pi / 2 - amplitude], armature=[0.0])
    angle = np.array([r[1][0] for r in rows]) - np.pi / 2
    rising = np.flatnonzero((angle[:-1] < 0) & (angle[1:] >= 0))
    times = (rising + angle[rising] / (angle[rising] - angle[rising + 1])) * DT
    period = np.diff(times).mean()
    # physical pendulum: I about the pivot 1/3, lever 1/2, with the amplitude's first correction
    exact = 2 * np.pi * np.sqrt((1 / 12 + 0.25) / (9.81 * 0.5)) * (1 + amplitude**2 / 16)
    assert period == pytest.approx(exact, rel=2e-4)


def test_double_pendulum_follows_an_independent_integration(device):
    tree = chain(3)
    rows = simulate(tree, device, 120)

    def rates(_, y):
        d = dynamics(tree, ORIGIN, y[:2], y[2:], GRAVITY)
        return np.concatenate((y[2:], np.linalg.solve(d.mass_matrix, -d.bias)))

    exact = solve_ivp(rates, (0, 0.5), np.zeros(4), rtol=1e-10, atol=1e-10, t_eval=np.linspace(0, 0.5, 121)).y
    ours = np.array([r[1] for r in rows]).T
    assert np.abs(ours - exact[:2]).max() < 5e-5


def energies_of_two_rods(positions, velocities):
    """Energy of two rods of 1 m and 1 kg that hang from each other [J], level where they stand at zero, shapes [times, 2]."""
    angle, rate = np.cumsum(positions, axis=1), np.cumsum(velocities, axis=1)
    end = np.stack((np.cos(angle), -np.sin(angle)), axis=-1)
    way = rate[..., None] * np.stack((-np.sin(angle), -np.cos(angle)), axis=-1)
    place = np.stack((0.5 * end[:, 0], end[:, 0] + 0.5 * end[:, 1]), axis=1)
    speed = np.stack((0.5 * way[:, 0], way[:, 0] + 0.5 * way[:, 1]), axis=1)
    kinetic = 0.5 * (speed**2).sum(axis=(1, 2)) + 0.5 / 12.0 * (rate**2).sum(axis=1)
    return kinetic + 9.81 * place[..., 1].sum(axis=1)


def test_double_pendulum_keeps_its_energy(device):
    tree = chain(3)
    rows = simulate(tree, device, 240 * 60)
    energies = energies_of_two_rods(np.array([r[1] for r in rows]), np.array([r[2] for r in rows]))
    some = [energy(tree, *r, GRAVITY) for r in rows[::1000]]
    np.testing.assert_allclose(energies[::1000] - energies[0], np.array(some) - some[0], atol=1e-9)
    assert np.abs(energies - energies[0]).max() < 5e-3 * 14.7


@pytest.mark.parametrize(
    ("tree", "seed", "bound"),
    [
        pytest.param(chain(3, fixed_base=False, axis=(0.0, 0.6, 0.8)), 7, 1e-5, id="three-links"),
        # inertias of links differ by a hundred here, and rounding grows with that in float32 sums
        *(
            pytest.param(random_tree(seed, 4, fixed_base=False), seed, 2e-5, id=f"random-{seed}")
            for seed in range(3)
        ),
    ],
)
@pytest.mark.parametrize("path", ["generic", "fused"])
def test_free_chain_keeps_its_momenta(device, path, tree, seed, bound):
    if path == "fused" and device != "cpu" and bound > 1e-5:
        bound *= 2.0  # float32 with the divisions and roots of the hardware; the generic path sums momenta in float64
    root, q, v = random_state(seed, tree)
    rows = simulate(tree, device, 720, root=root, q=q, v=v, gravity=np.zeros(3), every=60, path=path)
    # angular momentum about the origin, and that about the centre of mass
    momenta, spins = [], []
    for r in rows:
        d = dynamics(tree, *r, np.zeros(3))
        p = (d.mass_matrix @ r[2])[:6]
        momenta.append(np.concatenate((p[:3], p[3:] + np.cross(d.origin, p[:3]))))
        arm = tree.mass @ d.com / tree.mass.sum() - d.origin
        spins.append(p[3:] - np.cross(arm, p[:3]))
    momenta, spins = np.array(momenta), np.array(spins)
    for kept in (momenta[:, :3], momenta[:, 3:], spins):
        assert np.abs(kept - kept[0]).max() < bound * np.linalg.norm(kept[0])


def drive_closed_form(mass, k, d, target, speed, max_force, kind, steps):
    """Positions of one degree of freedom under the implicit drive, substep by substep."""
    h, q, v = DT / 4, 0.0, 0.0
    response = 1.0 / mass
    positions = [q]
    for _ in range(steps):
        for _ in range(4):
            a = h * (h * k + d)
            x = 1.0 / (1.0 + a * (response if kind == 1 else 1.0))
            impulse = x * (h * k * (target - q) + h * d * speed) - x * a * v
            if kind == 2:
                impulse /= response
            v += response * np.clip(impulse, -max_force * h, max_force * h)
            q += h * v
        positions.append(q)
    return np.array(positions)


@pytest.mark.parametrize(
    ("k", "d", "max_force", "kind"),
    [
        (100.0, 10.0, np.inf, 1),
        (1e4, 100.0, np.inf, 1),
        (1e6, 1e3, np.inf, 1),
        (100.0, 10.0, 20.0, 1),
        (1e4, 100.0, 50.0, 1),
        (100.0, 20.0, np.inf, 2),
        (0.0, 500.0, np.inf, 1),
    ],
)
def test_drive_step_response_equals_the_closed_form(device, k, d, max_force, kind):
    tree = chain(2, rotational=False, axis=(1.0, 0.0, 0.0))
    tree.mass[:] = 2.0
    target, speed = (1.0, 0.0) if k else (0.0, 1.0)
    columns = {"drive_type": [kind], "stiffness": [k], "damping": [d], "max_force": [max_force]}
    rows = simulate(tree, device, 240, gravity=np.zeros(3), targets=([target], [speed]), **columns)
    exact = drive_closed_form(2.0, k, d, target, speed, max_force, kind, 240)
    assert np.abs(np.array([r[1][0] for r in rows]) - exact).max() < 2e-5


@pytest.mark.parametrize("path", ["generic", "fused"])
def test_a_drive_without_gains_is_none(device, path):
    # effort control: the energy of a swing is kept as without a drive, also where gains go between two steps
    tree = chain(3)
    columns = {"drive_type": [1, 2], "stiffness": [0.0, 0.0], "damping": [0.0, 0.0]}
    driven = simulate(tree, device, 240, path=path, **columns)
    free = simulate(tree, device, 240, path=path)
    for a, b in zip(driven, free, strict=True):
        np.testing.assert_allclose(a[1], b[1], atol=1e-5)
    energies = [energy(tree, *r, GRAVITY) for r in driven]
    assert np.ptp(energies) < 5e-3 * 14.7


def test_driven_arm_rests_under_gravity(device):
    k, d = 1000.0, 50.0
    columns = {"drive_type": [1] * 3, "stiffness": [k] * 3, "damping": [d] * 3}
    tree = chain(4)
    rows = simulate(tree, device, 1200, every=1200, **columns)
    q, v = rows[-1][1], rows[-1][2]
    held = dynamics(tree, ORIGIN, q, np.zeros(3), GRAVITY).bias
    np.testing.assert_allclose(-k * q, held, rtol=1e-3, atol=1e-2)
    assert np.abs(v).max() < 1e-4


def test_drive_force_stays_bounded_when_something_holds_the_joint(device):
    # a slider pushed against its limit by a drive that wants to be far behind it: the limit bears the bound alone
    tree = chain(2, rotational=False, axis=(1.0, 0.0, 0.0))
    columns = {"drive_type": [1], "stiffness": [1e4], "damping": [100.0], "max_force": [20.0], "upper": [0.1]}
    model, state, control = model_of(tree, device, gravity=(0.0, 0.0, 0.0), **columns)
    control.position_target.assign(np.array([1.0], np.float32))
    solver = Solver(model, state, control, time_step=DT)
    solver.update_kinematics()
    for _ in range(240):
        solver.step()
    assert state.dof_position.numpy()[0] == pytest.approx(0.1, abs=1e-5)
    assert state.dof_limit_force.numpy()[0] == pytest.approx(-20.0, rel=1e-3)


def test_limit_stops_without_rebound(device):
    tree = chain(2)
    rows = simulate(tree, device, 480, upper=[0.5])
    q = np.array([r[1][0] for r in rows])
    assert q.max() < 0.5 + 1e-5
    assert q[-1] == pytest.approx(0.5, abs=1e-5)
    assert abs(rows[-1][2][0]) < 1e-4


def test_applied_force_gives_its_impulse_once(device):
    tree = chain(1, fixed_base=False)
    model, state, control = model_of(tree, device, gravity=(0.0, 0.0, 0.0))
    solver = Solver(model, state, control, time_step=DT)
    solver.update_kinematics()
    solver.step()
    control.link_force.assign(np.array([[0.0, 0.0, 12.0]], np.float32))
    for _ in range(3):
        solver.step()
    assert state.velocity.numpy()[2] == pytest.approx(12.0 * DT, rel=1e-6)
    assert control.link_force.numpy().max() == 0.0


def test_actuation_persists(device):
    tree = chain(2, rotational=False, axis=(1.0, 0.0, 0.0))
    model, state, control = model_of(tree, device, gravity=(0.0, 0.0, 0.0))
    solver = Solver(model, state, control, time_step=DT)
    solver.update_kinematics()
    control.actuation.assign(np.array([3.0], np.float32))
    for _ in range(240):
        solver.step()
    assert state.velocity.numpy()[0] == pytest.approx(3.0, rel=1e-5)
    assert state.dof_position.numpy()[0] == pytest.approx(1.5, rel=1e-5)


def ball(device, *, height, restitution=0.0, friction=0.5, velocity=None):
    tree = chain(1, fixed_base=False)
    tree.com[:] = 0.0
    tree.inertia[0] = 0.4 * 0.1**2 * np.eye(3)
    model, state, control = model_of(tree, device)
    contacts = SpheresOnPlane(
        model, link=[0], center=[[0, 0, 0]], radius=[0.1], friction=friction, restitution=restitution
    )
    state.set_initial(
        root_pose=[[0, 0, height, 0, 0, 0, 1]], velocity=np.zeros(6) if velocity is None else velocity
    )
    solver = Solver(model, state, control, contacts, time_step=DT)
    solver.update_kinematics()
    return state, solver, contacts


def test_restitution(device):
    state, solver, contacts = ball(device, height=1.1, restitution=0.8)
    history = History((state.velocity,), 180)
    for _ in range(180):
        contacts.collide(state.link_pose)
        solver.step()
        history.keep()
    speeds = [velocity[2] for (velocity,) in history.read()]
    impact = int(np.argmin(speeds))
    after = max(speeds[impact : impact + 4])
    assert after / -speeds[impact] == pytest.approx(0.8, abs=0.01)


def test_resting_ball_bears_its_weight_and_a_thrown_one_starts_to_roll(device):
    state, solver, contacts = ball(device, height=0.1, velocity=np.array([1.0, 0, 0, 0, 0, 0]))
    for _ in range(480):
        contacts.collide(state.link_pose)
        solver.step()
    v = state.velocity.numpy()
    # sliding friction stops when v = ω r, at 5/7 of the speed
    assert v[0] == pytest.approx(5 / 7, rel=2e-3)
    assert v[4] == pytest.approx(v[0] / 0.1, rel=1e-3)
    assert solver.contact_impulse.numpy()[0, 2] == pytest.approx(9.81 * DT, rel=1e-4)
    assert state.root_pose.numpy()[0, 2] == pytest.approx(0.1, abs=1e-4)


def test_step_repeats_bit_for_bit_and_does_not_depend_on_the_neighbours(device):
    tree = random_tree(3, 6, fixed_base=False)
    root, q, v = random_state(3, tree)

    def run(copies, index):
        model, state, control = model_of(tree, device, copies=copies)
        rng = np.random.default_rng(0)
        roots, qs, vs = (
            np.tile(x, (copies, 1)) + rng.normal(size=(copies, len(x))) * 0.1 for x in (root, q, v)
        )
        roots[index], qs[index], vs[index] = root, q, v
        roots[:, 3:] /= np.linalg.norm(roots[:, 3:], axis=1, keepdims=True)
        state.set_initial(root_pose=roots, velocity=vs.ravel(), dof_position=qs.ravel())
        contacts = SpheresOnPlane(model, link=[0, 3], center=np.zeros((2, 3)), radius=[0.2, 0.2])
        solver = Solver(model, state, control, contacts, time_step=DT)
        solver.update_kinematics()
        for _ in range(240):
            contacts.collide(state.link_pose)
            solver.step()
        links = len(tree.parent)
        return state.link_pose.numpy()[index * links : (index + 1) * links]

    alone = run(1, 0)
    np.testing.assert_array_equal(run(1, 0), alone)
    np.testing.assert_array_equal(run(5, 3), alone)


def test_saved_state_resumes_bit_for_bit(device):
    state, solver, contacts = ball(device, height=0.4, velocity=np.array([0.3, 0, 0, 0, 2.0, 0]))

    def advance(steps):
        for _ in range(steps):
            contacts.collide(state.link_pose)
            solver.step()
        return state.link_pose.numpy().copy()

    advance(100)
    saved = state.copy()
    warm = {name: array.numpy().copy() for name, array in solver.warm_start().items()}
    first = advance(50)
    state.assign(saved)
    for name, array in solver.warm_start().items():
        array.assign(warm[name])
    np.testing.assert_array_equal(advance(50), first)
