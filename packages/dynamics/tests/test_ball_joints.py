"""Ball joints against closed forms, an independent integration, MuJoCo, and against themselves with bodies swapped."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from tensorphys_dynamics import ArticulationType, ModelError, Solver, TopologyError
from tensorphys_dynamics._reference import Tree, dynamics, energy, exponential, logarithm, multiply, rotation
from tensorphys_dynamics.fused import supports
from tensorphys_dynamics.testing import model_of, random_ball_tree, random_state, run_steps

DT = 1.0 / 240.0
ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])
GRAVITY = np.array([0.0, 0.0, -9.81])


def ball_chain(links, *, fixed_base=True, inertia=(0.01, 1 / 12, 1 / 12), com=0.5):
    """Bodies of 1 kg on ball joints, 1 m apart along X, the root first; the first joint is at the origin."""
    rest = np.zeros((links, 7))
    rest[:, 6] = 1.0
    rest[2:, 0] = 1.0
    joints = links - 1
    return Tree(
        fixed_base=fixed_base,
        parent=np.arange(-1, joints, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.repeat(np.arange(1, links, dtype=np.int32), 3),
        dof_rotational=np.ones(3 * joints, bool),
        dof_axis=np.tile(np.eye(3), (joints, 1)),
        dof_anchor=np.zeros((3 * joints, 3)),
        armature=np.zeros(3 * joints),
        mass=np.ones(links),
        com=np.tile([com, 0.0, 0.0], (links, 1)),
        inertia=np.tile(np.diag(inertia), (links, 1, 1)),
        balls=3 * np.arange(joints, dtype=np.int32),
    )


def swapped(tree, q, v):
    """The same bodies and motion with body 0 and body 1 of all ball joints exchanged."""
    v = v.copy()
    root = len(v) - len(q)
    for first in tree.balls:
        at = slice(root + first, root + first + 3)
        v[at] = -rotation(exponential(q[first : first + 3])) @ v[at]
    return replace(tree, dof_axis=-tree.dof_axis), -q, v


def start(tree, device, *, root=ORIGIN, q=None, v=None, gravity=GRAVITY, target=None, dt=DT, **dof):
    """Solver and state of a tree."""
    model, state, control = model_of(tree, device, gravity=tuple(gravity), **dof)
    q = np.zeros(model.dof_count) if q is None else np.asarray(q, float)
    v = np.zeros(model.velocity_count) if v is None else np.asarray(v, float)
    state.set_initial(root_pose=[root], velocity=v, dof_position=q)
    if target is not None:
        control.position_target.assign(np.asarray(target, np.float32))
    solver = Solver(model, state, control, time_step=dt)
    solver.update_kinematics()
    return solver, state


def arrays_of(state):
    return state.dof_position, state.velocity, state.link_pose


def observed(state):
    return tuple(array.numpy().astype(float).copy() for array in arrays_of(state))


def simulate(tree, device, steps, *, every=1, **options):
    """Positions, velocities and link poses at the start and after each `every`-th step."""
    solver, state = start(tree, device, **options)
    rows = [observed(state)]
    for row in run_steps(solver, steps, arrays_of(state), every=every):
        rows.append(tuple(array.astype(float) for array in row))
    return rows


def tilt(pose):
    """Angle of the X axis of a link against that of the environment [rad]."""
    axis = rotation(pose[3:])[:, 0]
    return np.arctan2(np.linalg.norm(axis[1:]), axis[0])


def test_double_pendulum_follows_an_independent_integration(device):
    tree = ball_chain(3)
    q = np.array([0.3, 0.2, 1.0, 0.1, -0.5, 0.4])
    v = np.array([2.0, 1.0, 2.0, 1.0, 0.5, -1.0])
    rows = simulate(tree, device, 120, q=q, v=v)

    def rates(_, y):
        turns = y[:8].reshape(2, 4)
        vectors = np.concatenate([logarithm(turn / np.linalg.norm(turn)) for turn in turns])
        d = dynamics(tree, ORIGIN, vectors, y[8:], GRAVITY)
        spins = [0.5 * multiply(turn, [*y[8 + 3 * k : 11 + 3 * k], 0.0]) for k, turn in enumerate(turns)]
        return np.concatenate((*spins, np.linalg.solve(d.mass_matrix, -d.bias)))

    y = np.concatenate((exponential(q[:3]), exponential(q[3:]), v))
    exact = solve_ivp(rates, (0, 0.5), y, rtol=1e-10, atol=1e-10, t_eval=np.linspace(0, 0.5, 121)).y.T
    for (positions, velocities, _), truth in zip(rows, exact, strict=True):
        for k in range(2):
            turn = truth[4 * k : 4 * k + 4]
            between = multiply(exponential(positions[3 * k : 3 * k + 3]) * [-1, -1, -1, 1], turn)
            assert np.linalg.norm(logarithm(between / np.linalg.norm(between))) < 5e-5
        np.testing.assert_allclose(velocities, truth[8:], atol=1e-3)


def test_double_pendulum_keeps_its_energy_through_half_turns(device):
    tree = ball_chain(3)
    q, v = np.array([0.3, 0.2, 1.0, 0.1, -0.5, 0.4]), np.array([0.0, 1.0, 2.0, 1.0, 0.5, -1.0])
    rows = simulate(tree, device, 2400, q=q, v=v, every=4)
    energies = np.array([energy(tree, ORIGIN, *row[:2], GRAVITY) for row in rows])
    assert np.abs(energies - energies[0]).max() < 1.5e-3 * 14.7
    angles = np.array([[np.linalg.norm(row[0][k : k + 3]) for k in (0, 3)] for row in rows])
    assert angles.max() > 3.1
    assert angles.max() < np.pi + 0.0101


@pytest.mark.parametrize("seed", range(4))
def test_free_chain_keeps_its_momenta(device, seed):
    tree = ball_chain(3, fixed_base=False) if seed == 0 else random_ball_tree(seed, 4, fixed_base=False)
    root, q, v = random_state(seed + 7, tree)
    solver, state = start(tree, device, root=root, q=q, v=v, gravity=np.zeros(3))
    arrays = (state.root_pose, state.dof_position, state.velocity)
    momenta = []
    for row in [tuple(a.numpy() for a in arrays), *run_steps(solver, 720, arrays, every=60)]:
        pose, q, v = (a.astype(float) for a in (row[0][0], *row[1:]))
        d = dynamics(tree, pose, q, v, np.zeros(3))
        p = (d.mass_matrix @ v)[:6]
        momenta.append(np.concatenate((p[:3], p[3:] + np.cross(d.origin, p[:3]))))
    momenta = np.array(momenta)
    for part in (slice(0, 3), slice(3, 6)):
        change = np.abs(momenta[:, part] - momenta[0, part]).max()
        assert change < (1e-5 if seed == 0 else 2e-5) * np.linalg.norm(momenta[0, part])


@pytest.mark.parametrize("flipped", [False, True])
def test_conical_pendulum_turns_at_its_rate(device, flipped):
    """A body that turns about the vertical as a whole, its axis at a steady angle from straight down."""
    tree = ball_chain(2)
    across, along = 1 / 12 + 0.25, 0.01
    angle = 0.7
    rate = np.sqrt(9.81 * 0.5 / ((across - along) * np.cos(angle)))
    q = np.array([0.0, np.pi / 2 - angle, 0.0])  # the axis is X, down is −Z
    v = rotation(exponential(q)).T @ [0.0, 0.0, rate]
    if flipped:
        tree, q, v = swapped(tree, q, v)
    rows = simulate(tree, device, 480, q=q, v=v)
    axes = np.array([rotation(row[2][1, 3:])[:, 0] for row in rows])
    np.testing.assert_allclose(np.arccos(-axes[:, 2]), angle, atol=2e-4)
    turned = np.unwrap(np.arctan2(axes[:, 1], axes[:, 0]))
    np.testing.assert_allclose(turned, rate * DT * np.arange(481), atol=1e-3)


@pytest.mark.parametrize("flipped", [False, True])
def test_heavy_top_precesses_at_its_rate(device, flipped):
    """Steady precession Ω of a top with spin s about its axis: I Ω² cos θ − A s Ω + m g l = 0 [Goldstein, §5.7]."""
    tree = ball_chain(2, inertia=(0.02, 0.012, 0.012), com=0.1)
    across, along, weight = 0.012 + 0.01, 0.02, 9.81 * 0.1
    angle, spin = 0.5, 60.0
    slow = (along * spin - np.sqrt((along * spin) ** 2 - 4 * across * np.cos(angle) * weight)) / (
        2 * across * np.cos(angle)
    )
    assert slow == pytest.approx(weight / (along * spin), rel=0.02)
    q = np.array([0.0, -(np.pi / 2 - angle), 0.0])  # the axis X points up, `angle` from Z
    axis = rotation(exponential(q))[:, 0]
    omega = np.array([0.0, 0.0, slow]) + (spin - slow * axis[2]) * axis
    v = rotation(exponential(q)).T @ omega
    if flipped:
        tree, q, v = swapped(tree, q, v)
    rows = simulate(tree, device, 960, q=q, v=v)
    axes = np.array([rotation(row[2][1, 3:])[:, 0] for row in rows])
    np.testing.assert_allclose(np.arccos(axes[:, 2]), angle, atol=2e-3)
    turned = np.unwrap(np.arctan2(axes[:, 1], axes[:, 0]))
    assert turned[-1] == pytest.approx(slow * 960 * DT, rel=2e-3)


@pytest.mark.parametrize("fixed_base", [True, False])
def test_exchanged_bodies_move_alike(device, fixed_base):
    tree = ball_chain(4, fixed_base=fixed_base)
    tree.com[0] = [-0.3, 0.1, 0.0]
    _, q, v = random_state(3, tree)
    rows = simulate(tree, device, 60, q=q, v=v)
    other, q, v = swapped(tree, q, v)
    exchanged = simulate(other, device, 60, q=q, v=v)
    for row, twin in zip(rows, exchanged, strict=True):
        np.testing.assert_allclose(row[2][:, :3], twin[2][:, :3], atol=5e-5)
        for k in range(3):
            first = exponential(row[0][3 * k : 3 * k + 3])
            second = exponential(twin[0][3 * k : 3 * k + 3])
            assert abs(multiply(first, second)[3]) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("angle", [0.0, 1e-4, 1.0, 3.0, np.pi - 1e-4, np.pi])
def test_positions_that_are_set_are_those_that_are_read(device, angle):
    axis = np.array([0.48, -0.6, 0.64])
    solver, state = start(ball_chain(2), device, q=angle * axis, gravity=np.zeros(3))
    np.testing.assert_allclose(state.dof_position.numpy(), angle * axis, rtol=1e-7)
    for _ in range(3):
        solver.step()
    np.testing.assert_allclose(state.dof_position.numpy(), angle * axis, atol=2e-6)
    found = rotation(state.link_pose.numpy()[1, 3:].astype(float))
    np.testing.assert_allclose(found, Rotation.from_rotvec(angle * axis).as_matrix(), atol=1e-6)


def test_a_long_vector_is_read_as_the_shorter_way_round(device):
    axis = np.array([0.48, -0.6, 0.64])
    solver, state = start(ball_chain(2), device, q=5.0 * axis, gravity=np.zeros(3))
    solver.step()
    np.testing.assert_allclose(state.dof_position.numpy(), (5.0 - 2 * np.pi) * axis, atol=2e-6)


def test_a_copied_state_goes_on_alike(device):
    tree = ball_chain(3)
    solver, state = start(tree, device, q=[0.3, 0.2, 1.0, 0.1, -0.5, 3.0], v=[1, 2, 3, 4, 5, 6])
    for _ in range(10):
        solver.step()
    saved = state.copy()
    for _ in range(10):
        solver.step()
    first = observed(state)
    state.assign(saved)
    for _ in range(10):
        solver.step()
    for mine, again in zip(first, observed(state), strict=True):
        assert np.array_equal(mine, again)


def drive_columns(count, stiffness, damping, kind=1, max_force=3e38):
    """Columns of drives."""
    return {
        "drive_type": np.full(count, kind),
        "stiffness": np.broadcast_to(np.asarray(stiffness, float), (count,)),
        "damping": np.full(count, damping),
        "max_force": np.full(count, max_force),
    }


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("length", [0.5, 2.8, 3.1])
def test_drive_of_a_round_body_goes_straight_to_its_target(device, kind, length):
    """About one axis the implicit spring has its closed form, whatever the axis and the attitude it starts from."""
    inertia = 0.05
    tree = ball_chain(2, inertia=(inertia, inertia, inertia), com=0.0)
    at, axis = np.array([0.4, -0.9, 0.3]), np.array([0.48, -0.6, 0.64])
    target = Rotation.from_rotvec(at) * Rotation.from_rotvec(length * axis)
    stiffness, damping = (5.0, 0.4) if kind == 1 else (100.0, 8.0)
    rows = simulate(
        tree,
        device,
        100,
        q=at,
        target=target.as_rotvec(),
        gravity=np.zeros(3),
        **drive_columns(3, stiffness, damping, kind),
    )
    response = 1.0 / inertia if kind == 1 else 1.0
    h, q, v = DT / 4, 0.0, 0.0
    for step, row in enumerate(rows):
        expected = Rotation.from_rotvec(at) * Rotation.from_rotvec(q * axis)
        assert (expected.inv() * Rotation.from_rotvec(row[0])).magnitude() < 1e-5 * length + 2e-6
        np.testing.assert_allclose(row[1], v * axis, atol=2e-4)
        for _ in range(4 * (step >= 0)):
            v = (v + h * response * stiffness * (length - q)) / (
                1.0 + h * (h * stiffness + damping) * response
            )
            q += h * v


def test_stiff_drives_hold_any_target(device):
    """A stiff spring is solved in one substep, also where the rates of the rotation vector are far from velocities."""
    target = np.array([2.2, -1.1, 1.3])
    tree = ball_chain(2)
    rows = simulate(tree, device, 240, target=target, **drive_columns(3, 2.0e4, 2.0e2))
    left = Rotation.from_rotvec(rows[-1][0]).inv() * Rotation.from_rotvec(target)
    # what is left holds the weight
    torque = np.cross(rotation(exponential(rows[-1][0]))[:, 0] * 0.5, -GRAVITY)
    expected = rotation(exponential(rows[-1][0])).T @ torque / 2.0e4
    np.testing.assert_allclose(left.as_rotvec(), expected, atol=2e-6)
    assert np.abs(rows[-1][1]).max() < 1e-4


def test_springs_of_the_swing_hold_a_spinning_top_upright(device):
    """The twist has no spring: its target does not count, and the swing is held whatever it turned."""
    tree = ball_chain(2, inertia=(0.02, 0.012, 0.012), com=0.1)
    columns = drive_columns(3, [0.0, 8.0, 8.0], 0.0)
    columns["damping"] = np.array([0.0, 0.5, 0.5])
    rows = simulate(tree, device, 480, q=[0.0, 0.4, 0.0], v=[10.0, 0.0, 0.0], gravity=np.zeros(3), **columns)
    angles = np.array([tilt(row[2][1]) for row in rows])
    assert angles[-1] < 1e-3
    assert np.all(angles[::48][1:] < angles[::48][:-1] + 1e-6)
    assert rows[-1][1][0] == pytest.approx(10.0, rel=1e-3)


def test_bounded_drives_exert_their_bound(device):
    inertia = 0.05
    tree = ball_chain(2, inertia=(inertia, inertia, inertia), com=0.0)
    rows = simulate(
        tree, device, 40, target=[0.0, 2.0, 0.0], gravity=np.zeros(3), **drive_columns(3, 50.0, 0.0, 1, 0.2)
    )
    np.testing.assert_allclose([row[1][1] for row in rows], 0.2 / inertia * DT * np.arange(41), rtol=1e-4)


def unlimited(**bounds):
    """Limits of three degrees of freedom by place, free where none is given."""
    lower, upper = np.full(3, -3.4e38), np.full(3, 3.4e38)
    for name, value in bounds.items():
        (lower if name[0] == "l" else upper)[int(name[1])] = value
    return {"lower": lower, "upper": upper}


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_limits_bound_their_component_without_overshoot(device, place, flipped):
    tree = ball_chain(2)
    q, v = np.array([0.3, -0.4, 0.2]), np.array([1.0, -1.5, 2.0])
    v[place] = 3.0
    if flipped:
        tree, q, v = swapped(tree, q, v)
    bounds = unlimited(**{f"l{place}": -0.7, f"u{place}": 0.7})
    rows = simulate(tree, device, 480, q=q, v=v, **bounds)
    values = np.array([row[0][place] for row in rows])
    assert np.abs(values).max() < 0.7 + 1e-3
    assert np.abs(values).max() > 0.7 - 1e-4
    energies = [energy(tree, ORIGIN, *row[:2], GRAVITY) for row in rows]
    assert max(energies) < energies[0] + 0.02


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("cone", [(0.5, 0.5), (0.3, 0.9), (0.6, 3.4e38)])
def test_a_cone_bounds_the_swing_and_leaves_the_twist(device, cone, flipped):
    tree = ball_chain(2, inertia=(0.02, 0.03, 0.03), com=0.3)
    spin = 20.0
    q, v = np.zeros(3), np.array([spin, 1.0, 1.5])
    if flipped:
        tree, q, v = swapped(tree, q, v)
    limits = {"lower": [-3.4e38, -cone[0], -cone[1]], "upper": [3.4e38, *cone], "cone": [0, 1, 0]}
    rows = simulate(tree, device, 720, q=q, v=v, gravity=[3.0, 4.0, -6.0], **limits)
    reach = []
    for row in rows:
        # X of frame 1 in frame 0
        turn = rotation(exponential(row[0]))
        swing = np.cross([1.0, 0.0, 0.0], turn[:, 0])
        size = np.linalg.norm(swing)
        vector = swing / max(size, 1e-12) * np.arctan2(size, turn[0, 0])
        reach.append(np.hypot(vector[1] / cone[0], vector[2] / cone[1]))
    assert 1.0 - 1e-3 < max(reach) < 1.0 + 5e-4 / cone[0]
    if not flipped and cone[0] == cone[1]:  # nothing acts about the axis of a round body
        np.testing.assert_allclose([row[1][0] for row in rows], spin, rtol=2e-3)


def test_a_joint_outside_of_its_limit_returns(device):
    bounds = unlimited(u1=0.2)
    rows = simulate(
        ball_chain(2), device, 240, q=[0.5, 0.6, 0.1], gravity=np.zeros(3), armature=np.zeros(3), **bounds
    )
    values = [row[0][1] for row in rows]
    assert values[-1] == pytest.approx(0.2, abs=1e-3)
    assert np.abs(rows[-1][1]).max() < 0.05


def test_friction_holds_each_axis(device):
    tree = ball_chain(2)
    friction = {"static_friction": np.full(3, 10.0), "dynamic_friction": np.full(3, 10.0)}
    rows = simulate(tree, device, 120, q=[0.3, 0.4, 0.2], **friction)
    np.testing.assert_allclose(rows[-1][0], [0.3, 0.4, 0.2], atol=1e-6)
    assert np.abs(rows[-1][1]).max() == 0.0


@pytest.mark.parametrize("first", [True, False])
def test_translations_stand_before_the_ball_or_after_it(device, first):
    """A carriage that carries a ball, and a ball that carries a carriage: momentum and energy are kept."""
    tree = ball_chain(2, fixed_base=False)
    at = 0 if first else 3
    tree = replace(
        tree,
        dof_link=np.insert(tree.dof_link, at, 1),
        dof_rotational=np.insert(tree.dof_rotational, at, False),
        dof_axis=np.insert(tree.dof_axis, at, [0.0, 0.0, 1.0], axis=0),
        dof_anchor=np.insert(tree.dof_anchor, at, np.zeros(3), axis=0),
        armature=np.zeros(4),
        balls=np.array([1 if first else 0], np.int32),
    )
    root, q, v = random_state(4, tree)
    rows = simulate(tree, device, 240, root=root, q=q, v=v, gravity=np.zeros(3), every=40)
    kinetic, momenta = [], []
    for row in rows:
        d = dynamics(tree, row[2][0], *row[:2], np.zeros(3))
        np.testing.assert_allclose(d.pose[1, :3], row[2][1, :3], atol=1e-5)
        kinetic.append(0.5 * row[1] @ d.mass_matrix @ row[1])
        momenta.append((d.mass_matrix @ row[1])[:3])
    np.testing.assert_allclose(kinetic, kinetic[0], rtol=2e-4)
    np.testing.assert_allclose(momenta, momenta[0:1] * len(momenta), atol=1e-5 * np.linalg.norm(momenta[0]))


@pytest.mark.peers
def test_trajectory_equals_mujoco(device):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option integrator="RK4" timestep="0.0005" gravity="0 0 -9.81"/><worldbody>
        <body><joint type="ball"/><inertial pos=".5 0 0" mass="1" diaginertia=".01 .0833333333 .0833333333"/>
          <body pos="1 0 0"><joint type="ball"/>
            <inertial pos=".5 0 0" mass="1" diaginertia=".01 .0833333333 .0833333333"/>
            <body pos="1 0 0"><joint type="hinge" axis="0 .6 .8"/>
              <inertial pos=".5 0 0" mass="1" diaginertia=".01 .0833333333 .0833333333"/></body>
        </body></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    q, v = np.array([0.3, 0.2, 1.0, 0.1, -0.5, 0.4, 0.7]), np.array([2.0, 1.0, 2.0, 1.0, 0.5, -1.0, 3.0])
    for k in range(2):
        data.qpos[4 * k : 4 * k + 4] = exponential(q[3 * k : 3 * k + 3])[[3, 0, 1, 2]]
    data.qpos[8], data.qvel[:] = q[6], v
    tree = ball_chain(4)
    keep = np.arange(7)
    axis = tree.dof_axis[keep].copy()
    axis[6] = [0.0, 0.6, 0.8]
    tree = replace(
        tree,
        dof_link=tree.dof_link[keep],
        dof_rotational=tree.dof_rotational[keep],
        dof_axis=axis,
        dof_anchor=tree.dof_anchor[keep],
        armature=np.zeros(7),
        balls=tree.balls[:2],
    )
    rows = simulate(tree, device, 120, q=q, v=v)
    for _ in range(1000):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(rows[-1][2][1:, :3], data.xpos[1:], atol=1e-4)
    np.testing.assert_allclose(rows[-1][1], data.qvel, atol=2e-3)


def test_the_fused_path_refuses_them_by_name(device):
    model, state, control = model_of(ball_chain(2), device)
    assert supports(model) == "the articulation has ball joints"
    assert Solver(model, state, control).path == "generic"
    with pytest.raises(ModelError, match="ball joints"):
        Solver(model, state, control, path="fused")


@pytest.mark.parametrize("balls", [[1], [0, 2], [-1], [3]])
def test_a_ball_joint_has_three_rotations_of_one_link(balls):
    with pytest.raises(TopologyError, match="ball joint"):
        ArticulationType(True, [-1, 0, 1], [1, 1, 1, 2, 2], [True] * 5, balls)


def test_axes_of_a_ball_joint_are_at_right_angles(device):
    tree = ball_chain(2)
    tree.dof_axis[1] = [0.6, 0.8, 0.0]
    with pytest.raises(ModelError, match="right angles"):
        model_of(tree, device)
