"""Joints between bodies, against closed forms, conservation laws and reduced coordinates, at default settings."""

import numpy as np
import pytest
import warp as wp
from scipy.integrate import solve_ivp

from tensorphys_dynamics import (
    ArticulationType,
    Control,
    JointModel,
    ModelError,
    Solver,
    State,
    StepLoads,
    build_model,
)
from tensorphys_dynamics._reference import Tree
from tensorphys_dynamics.testing import bodies_model, link_energies, link_energy, model_of, run_steps
from tensorphys_spatial import transform_point

UNIT = np.array([0.0, 0, 0, 0, 0, 0, 1])
POINT = np.array([1, 1, 1, 0, 0, 0])
HINGE_Y = np.array([1, 1, 1, 1, 0, 1])
ROD = np.diag([0.01, 1 / 12, 1 / 12])


def frames(*points):
    result = np.tile(UNIT, (len(points), 1))
    result[:, :3] = points
    return result


def turned(angle, axis):
    return [*(np.sin(angle / 2) * np.asarray(axis, float)), np.cos(angle / 2)]


def start(model, state, control, joints, pose, velocity=None, **settings):
    state.set_initial(root_pose=pose, velocity=velocity)
    solver = Solver(model, state, control, joints=joints, **settings)
    solver.update_kinematics()
    return solver


def hinged_rods(count, device, *, copies=1, side=True, locked=HINGE_Y, **columns):
    """Rods of 1 m and 1 kg, hinged end to end, the first to the world's origin, lying along X."""
    model, state, control = bodies_model(np.ones(count), np.tile(ROD, (count, 1, 1)), device, copies=copies)
    link1 = np.arange(count * copies)
    link0 = np.where(link1 % count == 0, -1, link1 - 1)
    frame0 = frames(*([(0, 0, 0)] + [(0.5, 0, 0)] * (count - 1)) * copies)
    frame1 = frames(*[(-0.5, 0, 0)] * (count * copies))
    joints = JointModel(
        model,
        joint={
            "link0": link0,
            "link1": link1,
            "frame0": frame0,
            "frame1": frame1,
            "locked": np.tile(locked, (len(link1), 1)),
            **columns,
        },
    )
    pose = frames(*[(0.5 + k, 0, 0) for k in range(count)] * copies)
    return model, state, control, joints, pose


def test_a_hinged_rod_swings_as_the_pendulum_that_it_is(device):
    model, state, control, joints, pose = hinged_rods(1, device)
    solver = start(model, state, control, joints, pose, time_step=1 / 240)
    inertia = 1 / 12 + 0.25
    exact = solve_ivp(
        lambda t, y: [y[1], 9.81 * 0.5 * np.cos(y[0]) / inertia],
        (0, 2),
        [0.0, 0.0],
        rtol=1e-10,
        atol=1e-10,
        t_eval=np.arange(1, 481) / 240,
    ).y
    before = sum(link_energy(model, state))
    gap, angle = [], []
    rows = run_steps(solver, 480, (state.link_pose, state.link_velocity))
    for pose, _ in rows:
        place = pose.astype(float)
        gap.append(np.linalg.norm(transform_point(place, np.array([[-0.5, 0, 0]]))))
        angle.append(np.arctan2(-place[0, 2], place[0, 0]))
    assert max(gap) < 2e-6
    assert np.abs(sum(link_energies(model, rows)) - before).max() < 1e-4 * 4.905
    assert np.abs(np.unwrap(angle) - exact[0]).max() < 1e-5


def test_rods_on_joints_move_as_the_same_rods_in_reduced_coordinates(device):
    model, state, control, joints, pose = hinged_rods(3, device)
    solver = start(model, state, control, joints, pose, time_step=1 / 240)
    rest = frames((0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0))
    tree = Tree(
        fixed_base=True,
        parent=np.arange(-1, 3, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.arange(1, 4, dtype=np.int32),
        dof_rotational=np.ones(3, bool),
        dof_axis=np.tile([0.0, 1.0, 0.0], (3, 1)),
        dof_anchor=np.zeros((3, 3)),
        armature=np.zeros(3),
        mass=np.ones(4),
        com=np.tile([0.5, 0.0, 0.0], (4, 1)),
        inertia=np.tile(ROD, (4, 1, 1)),
    )
    _, other, _ = twin = model_of(tree, device)
    reference = Solver(*twin, time_step=1 / 240)
    reference.update_kinematics()
    for _ in range(120):
        solver.step()
        reference.step()
    tips = transform_point(state.link_pose.numpy().astype(float), np.tile([-0.5, 0, 0], (3, 1)))
    np.testing.assert_allclose(tips, other.link_pose.numpy()[1:, :3], atol=2e-4)
    rates = other.link_velocity.numpy()[1:, 3:]
    np.testing.assert_allclose(state.link_velocity.numpy()[:, 3:], rates, atol=2e-3 * np.abs(rates).max())


def test_fifty_bodies_carry_a_hundred_times_their_mass_at_60_hz(device):
    count, length = 50, 0.2
    mass = np.append(np.ones(count), 100.0)
    inertia = np.tile(np.diag([0.004, 0.004, 0.001]), (count + 1, 1, 1))
    inertia[-1] *= 100.0
    model, state, control = bodies_model(mass, inertia, device)
    end = np.arange(count + 1)
    frame0, frame1 = frames(*[(0, 0, -length / 2)] * (count + 1)), frames(*[(0, 0, length / 2)] * (count + 1))
    frame0[0, :3] = 0.0
    locked = np.tile(POINT, (count + 1, 1))
    joints = JointModel(
        model, joint={"link0": end - 1, "link1": end, "frame0": frame0, "frame1": frame1, "locked": locked}
    )
    pose = frames(*[(0, 0, -length * (k + 0.5)) for k in range(count + 1)])
    solver = start(model, state, control, joints, pose, velocity=np.tile([0.2, 0, 0, 0, 0, 0], count + 1))
    stretch = []
    for (pose,) in run_steps(solver, 300 if device == "cpu" else 60, (state.link_pose,)):
        place = pose.astype(float)
        upper, lower = transform_point(place, frame1[:, :3]), transform_point(place, -frame1[:, :3])
        gaps = np.linalg.norm(upper[1:] - lower[:-1], axis=1).sum() + np.linalg.norm(upper[0])
        stretch.append(gaps / (length * count))
    assert max(stretch) < 1e-3
    assert np.abs(joints.joint_impulse.numpy()[0, :3] * 60).max() == pytest.approx(150 * 9.81, rel=0.05)


def test_jointed_bodies_keep_their_momenta(device):
    rng = np.random.default_rng(3)
    count = 5
    mass = rng.uniform(0.5, 2.0, count)
    inertia = np.array([m * np.diag([0.02, 0.03, 0.04]) for m in mass])
    model, state, control = bodies_model(mass, inertia, device, gravity=(0, 0, 0))
    link1 = np.arange(1, count)
    joints = JointModel(
        model,
        joint={
            "link0": link1 - 1,
            "link1": link1,
            "frame0": frames(*[(0.3, 0, 0)] * (count - 1)),
            "frame1": frames(*[(-0.3, 0, 0)] * (count - 1)),
            "locked": np.tile(POINT, (count - 1, 1)),
        },
    )
    pose = frames(*[(0.6 * k, 0, 0) for k in range(count)])
    rate = np.array([0.3, 0.5, -1.0])
    velocity = np.zeros((count, 6))
    velocity[:, 3:] = rate
    velocity[:, :3] = np.cross(rate, pose[:, :3]) + [0.2, 0.1, 0.0]
    solver = start(model, state, control, joints, pose, velocity=velocity.ravel(), time_step=1 / 240)

    def momenta():
        place = state.link_pose.numpy().astype(float)
        v = state.link_velocity.numpy().astype(float)
        turn = [transform_point(np.append(np.zeros(3), q), np.eye(3)).T for q in place[:, 3:]]
        spin = [r @ i @ r.T @ w for r, i, w in zip(turn, inertia, v[:, 3:], strict=True)]
        p = mass[:, None] * v[:, :3]
        return p.sum(axis=0), (np.cross(place[:, :3], p) + spin).sum(axis=0)

    linear, angular = momenta()
    energy = sum(link_energy(model, state))
    for _ in range(720):
        solver.step()
    assert np.abs(momenta()[0] - linear).max() < 1e-5 * np.abs(linear).max()
    assert np.abs(momenta()[1] - angular).max() < 1e-5 * np.abs(angular).max()
    assert sum(link_energy(model, state)) == pytest.approx(energy, rel=2e-3)


@pytest.mark.parametrize("locked", [np.ones(6), np.array([1, 1, 1, 0, 1, 1]), np.array([0, 1, 1, 1, 1, 1])])
def test_locked_axes_hold_a_body_and_free_ones_let_it_go(device, locked):
    """Fixed, revolute about X, and prismatic along X joint under a load across all axes."""
    model, state, control = bodies_model([1.0], [np.eye(3) * 0.01], device, com=[[0.3, 0.0, 0.0]])
    turn = [0.0, 0.0, np.sin(0.3), np.cos(0.3)]
    frame = np.array([[0.1, 0.2, 0.3, *turn]])
    joints = JointModel(
        model, joint={"link0": [-1], "link1": [0], "frame0": frame, "frame1": frame, "locked": [locked]}
    )
    solver = start(model, state, control, joints, frames((0, 0, 0)))
    for _ in range(60):
        control.link_force.assign(np.array([[3.0, -2.0, 1.0]], np.float32))
        control.link_torque.assign(np.array([[0.1, 0.4, -0.3]], np.float32))
        solver.step()
    place = state.link_pose.numpy()[0]
    moved = transform_point(np.array([[0.0, 0, 0, *turn]]) * [1, 1, 1, -1, -1, -1, 1], place[None, :3])[0]
    if locked.all():
        np.testing.assert_allclose(place, UNIT, atol=2e-5)
    elif locked[0] == 0:
        np.testing.assert_allclose(moved[1:], 0.0, atol=2e-5)
        force = 3.0 * np.cos(0.6) - 2.0 * np.sin(0.6)
        assert moved[0] == pytest.approx(0.5 * force, rel=0.02)
        np.testing.assert_allclose(place[3:], [0, 0, 0, 1], atol=2e-5)
    else:
        pivot = transform_point(place[None].astype(float), frame[:, :3])[0]
        np.testing.assert_allclose(pivot, frame[0, :3], atol=5e-5)
        axis = transform_point(
            place[None].astype(float) * [0, 0, 0, 1, 1, 1, 1], [[np.cos(0.6), np.sin(0.6), 0]]
        )
        np.testing.assert_allclose(axis[0], [np.cos(0.6), np.sin(0.6), 0.0], atol=5e-5)
        assert np.abs(place[3:6]).max() > 0.1


@pytest.mark.parametrize("locked", [(3,), (4,), (5,)])
def test_two_free_rotations_are_those_of_two_hinges(device, locked):
    """A cardan joint keeps the angle between its two axes."""
    free = [k for k in (0, 1, 2) if k + 3 not in locked]
    model, state, control = bodies_model([1.0], [np.diag([0.01, 0.02, 0.03])], device)
    axes = np.ones(6)
    axes[[3 + k for k in free]] = 0
    joints = JointModel(
        model, joint={"link0": [-1], "link1": [0], "frame1": frames((0.2, 0.1, 0.3)), "locked": [axes]}
    )
    solver = start(model, state, control, joints, frames((-0.2, -0.1, -0.3)), time_step=1 / 240)
    largest = 0.0
    for (pose,) in run_steps(solver, 240, (state.link_pose,)):
        place = pose.astype(float)
        first = np.eye(3)[free[0]]
        second = transform_point(place * [0, 0, 0, 1, 1, 1, 1], np.eye(3)[free[1]][None])[0]
        largest = max(largest, abs(first @ second))
        assert np.linalg.norm(transform_point(place, np.array([[0.2, 0.1, 0.3]]))) < 1e-4
    assert largest < 1e-4
    assert np.abs(place[0, 3:6]).max() > 0.1


def test_a_rope_lets_a_ball_fall_and_then_swing(device):
    model, state, control = bodies_model([2.0], [np.eye(3) * 0.01], device)
    rope = {"locked": [np.zeros(6)], "max_distance": [1.0]}
    joints = JointModel(model, joint={"link0": [-1], "link1": [0], **rope})
    solver = start(model, state, control, joints, frames((0.6, 0, 0)))
    distance = []
    for step, (pose,) in enumerate(run_steps(solver, 240, (state.link_pose,))):
        distance.append(np.linalg.norm(pose[0, :3]))
        if step == 17:
            assert pose[0, 2] == pytest.approx(-0.5 * 9.81 * 0.09, rel=1e-3)
    assert max(distance) < 1.002
    assert distance[-1] > 0.99
    pull = joints.joint_impulse.numpy()[0, :3] * 60
    place = state.link_pose.numpy()[0, :3]
    assert np.dot(pull, place) < -0.9 * np.linalg.norm(pull) * np.linalg.norm(place)


def test_a_distance_spring_hangs_where_it_carries_the_weight(device):
    model, state, control = bodies_model([1.0], [np.eye(3) * 0.01], device)
    spring = {"distance_stiffness": [200.0], "distance_damping": [10.0], "max_distance": [0.5]}
    joints = JointModel(model, joint={"link0": [-1], "link1": [0], "locked": [np.zeros(6)], **spring})
    solver = start(model, state, control, joints, frames((0, 0, -0.5)))
    for _ in range(300):
        solver.step()
    assert state.link_pose.numpy()[0, 2] == pytest.approx(-0.5 - 9.81 / 200.0, abs=1e-5)


def test_limits_and_drives_of_a_joint(device):
    """A hinge driven against its limit: it stops there, and the bound of the drive is kept."""
    lower, upper = np.full((1, 6), -np.inf), np.full((1, 6), np.inf)
    upper[0, 4] = 0.8
    drive = {name: np.zeros((1, 6)) for name in ("drive_type", "stiffness", "damping", "position_target")}
    drive["drive_type"][0, 4], drive["stiffness"][0, 4], drive["damping"][0, 4] = 1, 50.0, 8.0
    drive["position_target"][0, 4] = 0.5
    limits = {"lower": lower, "upper": upper, "max_force": np.full((1, 6), 20.0)}
    model, state, control, joints, pose = hinged_rods(1, device, **limits, **drive)
    solver = start(model, state, control, joints, pose)

    def angle():
        q = state.link_pose.numpy()[0]
        return 2.0 * np.arctan2(q[4], q[6])

    for _ in range(240):
        solver.step()
    found = angle()
    assert 50.0 * (0.5 - found) + 9.81 * 0.5 * np.cos(found) == pytest.approx(0.0, abs=1e-3)
    target = joints.axis_position_target.numpy()
    target[4] = 3.0
    joints.axis_position_target.assign(target)
    for _ in range(240):
        solver.step()
    assert angle() == pytest.approx(0.8, abs=1e-5)
    torque = joints.joint_impulse.numpy()[0, 4] * 60
    assert torque == pytest.approx(-9.81 * 0.5 * np.cos(0.8), rel=1e-3)


def test_an_acceleration_drive_moves_as_its_closed_form(device):
    drive = {name: np.zeros((1, 6)) for name in ("drive_type", "stiffness", "damping", "position_target")}
    drive["drive_type"][0, 0], drive["stiffness"][0, 0], drive["damping"][0, 0] = 2, 40.0, 6.0
    drive["position_target"][0, 0] = 0.3
    model, state, control = bodies_model([7.0], [np.eye(3)], device, gravity=(0, 0, 0))
    slide = np.array([[0, 1, 1, 1, 1, 1]])
    joints = JointModel(model, joint={"link0": [-1], "link1": [0], "locked": slide, **drive})
    solver = start(model, state, control, joints, frames((0, 0, 0)), time_step=1 / 60)
    x, v, h = 0.0, 0.0, 1 / 240
    for (pose,) in run_steps(solver, 60, (state.link_pose,)):
        for _ in range(4):
            v = (v + h * 40.0 * (0.3 - x)) / (1 + h * (h * 40.0 + 6.0))
            x += h * v
        assert pose[0, 0] == pytest.approx(x, abs=3e-6)


def test_a_cone_holds_the_swing_of_a_spherical_joint(device):
    upper = np.full((1, 6), np.inf)
    upper[0, 4:] = 0.4
    columns = {"lower": -upper, "upper": upper, "cone": [1]}
    model, state, control, joints, pose = hinged_rods(1, device, locked=POINT, **columns)
    solver = start(model, state, control, joints, pose, velocity=[0, 0.3, 0, 0, 0, 0.6])
    tilt = []
    for (pose,) in run_steps(solver, 180, (state.link_pose,)):
        x = transform_point(pose.astype(float) * [0, 0, 0, 1, 1, 1, 1], np.eye(3)[:1])[0]
        tilt.append(np.arccos(min(x[0], 1.0)))
    assert max(tilt) < 0.405
    assert tilt[-1] > 0.39


def test_joints_break_at_their_bounds_and_let_go(device):
    model, state, control, joints, pose = hinged_rods(
        2, device, copies=2, locked=np.ones(6), break_force=[1e3, 1e3, 1e3, 9.0], break_torque=[1e3] * 4
    )
    solver = start(model, state, control, joints, pose)
    for _ in range(30):
        solver.step()
    assert joints.joint_broken.numpy().tolist() == [0, 0, 0, 1]
    load = joints.joint_break_load.numpy()[3]
    np.testing.assert_allclose(load, [0, 0, 9.81, 0, -4.905, 0], atol=1e-2)
    assert joints.joint_break_time.numpy()[3] == pytest.approx(2 / 240)
    place = state.link_pose.numpy()
    assert abs(place[1, 2]) < 1e-4
    assert place[3, 2] == pytest.approx(-0.5 * 9.81 * (0.5 - 2 / 240) ** 2, rel=0.02)
    assert not joints.joint_impulse.numpy()[3].any()


def test_gears_turn_opposite_over_full_turns(device):
    """ratio · θ0 + θ1 = 0 for three turns of the slower wheel, and a torque that is shared."""
    model, state, control = bodies_model(
        [1.0, 1.0], [np.eye(3) * 0.02, np.eye(3) * 0.01], device, gravity=(0, 0, 0)
    )
    joint = {
        "link0": [-1, -1],
        "link1": [0, 1],
        "frame0": frames((0, 0, 0), (1, 0, 0)),
        "locked": np.tile([1, 1, 1, 1, 1, 0], (2, 1)),
    }
    gear = {"joint0": [0], "joint1": [1], "axis0": [5], "axis1": [5], "factor0": [2.0], "factor1": [1.0]}
    joints = JointModel(model, joint=joint, gear=gear)
    solver = start(model, state, control, joints, frames((0, 0, 0), (1, 0, 0)))
    for _ in range(120):
        control.link_torque.assign(np.array([[0, 0, 0.6], [0, 0, 0]], np.float32))
        solver.step()
    angle = joints.rows.joint_angle.numpy()
    rate = state.link_velocity.numpy()[:, 5]
    assert abs(2.0 * angle[0] + angle[1]) < 1e-4
    assert rate[0] == pytest.approx(0.6 / (0.02 + 4 * 0.01) * 2.0, rel=1e-2)
    assert abs(angle[1]) > 6 * np.pi


def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(device):
    columns = {"lower": np.full((3, 6), -0.3), "upper": np.full((3, 6), 0.3)}

    def make():
        return hinged_rods(3, device, locked=POINT, **columns)

    model, state, control, joints, pose = make()
    solver = start(model, state, control, joints, pose)
    for _ in range(20):
        solver.step()
    kept = state.copy()
    arrays = {name: wp.clone(array) for name, array in joints.state_arrays().items()}
    for _ in range(20):
        solver.step()
    expected = state.link_pose.numpy().copy()
    model, state, control, joints, pose = make()
    solver = start(model, state, control, joints, pose)
    state.assign(kept)
    for name, array in joints.state_arrays().items():
        wp.copy(array, arrays[name])
    for _ in range(20):
        solver.step()
    np.testing.assert_array_equal(state.link_pose.numpy(), expected)


def test_an_environment_depends_neither_on_its_index_nor_on_the_count(device):
    results = []
    for copies in (1, 3):
        model, state, control, joints, pose = hinged_rods(4, device, copies=copies, locked=POINT)
        solver = start(model, state, control, joints, pose)
        for _ in range(30):
            solver.step()
        results.append(state.link_pose.numpy().reshape(copies, 4, 7))
    for copy in results[1]:
        np.testing.assert_array_equal(copy, results[0][0])


def test_a_recorded_step_equals_a_launched_one(device):
    results = []
    for recorded in (False, True):
        model, state, control, joints, pose = hinged_rods(3, device, locked=POINT)
        solver = start(model, state, control, joints, pose)
        if recorded:
            with wp.ScopedCapture(device=device) as capture:
                solver.step()
            state.set_initial(root_pose=pose, velocity=np.zeros(model.velocity_count))
            solver.update_kinematics()
        for _ in range(10):
            if recorded:
                wp.capture_launch(capture.graph)
            else:
                solver.step()
        results.append(state.link_pose.numpy())
    np.testing.assert_array_equal(results[0], results[1])


def test_loads_of_a_step_add_up_with_joints_outside_of_trees(device):
    """Free bodies on joints: their joints give all that weight and motion ask for, and nothing is left over."""
    model, state, control, joints, pose = hinged_rods(3, device)
    solver = start(model, state, control, joints, pose, time_step=1 / 240)
    loads = StepLoads(solver)
    for _ in range(60):
        loads.keep_start()
        solver.step()
    loads.evaluate()
    left = loads.joint_wrench.numpy()
    pull = joints.joint_impulse.numpy() * 240
    largest = np.abs(pull).max()
    assert largest > 15.0
    np.testing.assert_allclose(left, 0.0, atol=1e-3 * largest)
    acceleration = loads.link_acceleration.numpy()[:, :3]
    net = pull[:, :3] - np.append(pull[1:, :3], np.zeros((1, 3)), axis=0) + [0, 0, -9.81]
    np.testing.assert_allclose(acceleration, net, atol=1e-3 * largest)


def test_a_body_follows_the_moved_root_that_it_is_joined_to(device):
    """A prescribed root that moves and turns carries a body on a fixed joint along, at its velocity."""
    none = np.zeros(0, np.int32)
    kinds = [
        ArticulationType(fixed, np.array([-1], np.int32), none, np.zeros(0, bool)) for fixed in (True, False)
    ]
    model = build_model(
        types=kinds,
        articulation_type=[0, 1],
        articulation_environment=[0, 0],
        environment_count=1,
        link={"mass": [1.0, 2.0], "inertia": [np.eye(3), np.eye(3) * 0.1]},
        dof={},
        device=device,
    )
    state, control = State(model), Control(model)
    joints = JointModel(model, joint={"link0": [0], "link1": [1], "frame0": frames((0.5, 0, 0))})
    solver = start(model, state, control, joints, frames((0, 0, 0), (0.5, 0, 0)), time_step=1 / 240)
    state.root_velocity.assign(np.array([[0.3, 0, 0, 0, 0, 1.5]] * 2, np.float32))
    for _ in range(240):
        solver.step()
    place = state.link_pose.numpy().astype(float)
    assert place[0, 0] == pytest.approx(0.3, abs=1e-4)
    np.testing.assert_allclose(
        place[1, :3] - place[0, :3], [0.5 * np.cos(1.5), 0.5 * np.sin(1.5), 0], atol=1e-4
    )
    np.testing.assert_allclose(place[1, 3:], place[0, 3:], atol=1e-4)
    velocity = state.link_velocity.numpy()[1]
    expected = [0.3 - 0.75 * np.sin(1.5), 0.75 * np.cos(1.5), 0, 0, 0, 1.5]
    np.testing.assert_allclose(velocity, expected, atol=5e-3)


def test_a_soft_limit_is_a_spring_beyond_it(device):
    upper = np.full((1, 6), np.inf)
    upper[0, 4] = 0.4
    stiffness = np.zeros((1, 6))
    stiffness[0, 4] = 60.0
    damping = np.zeros((1, 6))
    damping[0, 4] = 6.0
    limits = {"upper": upper, "limit_stiffness": stiffness, "limit_damping": damping}
    model, state, control, joints, pose = hinged_rods(1, device, **limits)
    solver = start(model, state, control, joints, pose)
    for _ in range(300):
        solver.step()
    q = state.link_pose.numpy()[0]
    found = 2 * np.arctan2(q[4], q[6])
    assert found > 0.45
    assert 60.0 * (found - 0.4) == pytest.approx(9.81 * 0.5 * np.cos(found), rel=1e-3)


def test_wrong_joints_are_refused_by_name(device):
    model, _, _ = bodies_model([1.0, 1.0], [np.eye(3)] * 2, device, copies=2)
    with pytest.raises(ModelError, match="two environments"):
        JointModel(model, joint={"link0": [0], "link1": [2]})
    with pytest.raises(ModelError, match="world to the world"):
        JointModel(model, joint={"link0": [-1], "link1": [-1]})
    with pytest.raises(ModelError, match="sorted by environment"):
        JointModel(model, joint={"link0": [2, 0], "link1": [3, 1]})
    with pytest.raises(ModelError, match="unknown joint columns"):
        JointModel(model, joint={"link0": [0], "link1": [1], "spring": [1.0]})
    with pytest.raises(ModelError, match="'link1' is required"):
        JointModel(model, joint={"link0": [0]})
