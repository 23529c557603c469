"""Closed loops, mimic joints and tendons of articulations, against closed forms, at default settings."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tensorphys_dynamics import ArticulationType, Control, JointModel, ModelError, Solver, State, build_model
from tensorphys_dynamics._reference import Tree
from tensorphys_dynamics.testing import History, link_energies, link_energy, model_of, run_steps
from tensorphys_spatial import transform_point

UNIT = np.array([0.0, 0, 0, 0, 0, 0, 1])
HINGE_Y = np.array([1, 1, 1, 1, 0, 1])


def tree(parent, rest, *, mass, com, inertia, rotational=True, axis=(0.0, 1.0, 0.0)):
    """A fixed base and links with one degree of freedom each."""
    links, poses = len(parent), np.tile(UNIT, (len(parent), 1))
    poses[:, :3] = rest
    return Tree(
        fixed_base=True,
        parent=np.array(parent, np.int32),
        rest_pose=poses,
        dof_link=np.arange(1, links, dtype=np.int32),
        dof_rotational=np.full(links - 1, rotational),
        dof_axis=np.tile(np.array(axis), (links - 1, 1)),
        dof_anchor=np.zeros((links - 1, 3)),
        armature=np.zeros(links - 1),
        mass=np.array(mass, float),
        com=np.array(com, float),
        inertia=np.array(inertia, float),
    )


def loop(model, link0, link1, point0, point1):
    frame0, frame1 = UNIT.copy(), UNIT.copy()
    frame0[:3], frame1[:3] = point0, point1
    joint = {"link0": [link0], "link1": [link1], "frame0": [frame0], "frame1": [frame1], "locked": [HINGE_Y]}
    return JointModel(model, joint=joint)


def closure(pose, link0, link1, point0, point1):
    place = pose.astype(float)
    return np.linalg.norm(
        transform_point(place[link0], np.array(point0)) - transform_point(place[link1], np.array(point1))
    )


def test_a_parallelogram_swings_with_its_closed_form(device):
    """Two cranks of 0.5 m and a coupler of 1 m: θ'' = −g/L (m + M) / (2m/3 + M) sin θ, the coupler level."""
    rod, bar = np.diag([1 / 48, 1 / 48, 0.001]), np.diag([0.001, 1 / 12, 1 / 12])
    robot = tree(
        [-1, 0, 0, 1],
        [(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, -0.5)],
        mass=[1, 1, 1, 1],
        com=[(0, 0, 0), (0, 0, -0.25), (0, 0, -0.25), (0.5, 0, 0)],
        inertia=[np.eye(3), rod, rod, bar],
    )
    model, state, control = model_of(robot, device)
    joints = loop(model, 2, 3, (0, 0, -0.5), (1, 0, 0))
    lean = 0.6
    state.set_initial(root_pose=[UNIT], dof_position=[lean, lean, -lean])
    solver = Solver(model, state, control, joints=joints, time_step=1 / 60)
    solver.update_kinematics()
    rate = 9.81 / 0.5 * 2.0 / (2.0 / 3.0 + 1.0)
    times = np.arange(1, 301) / 60
    exact = solve_ivp(
        lambda t, y: [y[1], -rate * np.sin(y[0])], (0, 5), [lean, 0.0], rtol=1e-10, atol=1e-10, t_eval=times
    ).y[0]
    energy = sum(link_energy(model, state))
    rows = run_steps(solver, 300, (state.link_pose, state.link_velocity, state.dof_position))
    gaps = [closure(pose, 2, 3, (0, 0, -0.5), (1, 0, 0)) for pose, *_ in rows]
    angles = np.array([row[2] for row in rows])
    energies = sum(link_energies(model, rows))
    assert max(gaps) < 5e-6
    np.testing.assert_allclose(angles[:, 1], angles[:, 0], atol=1e-5)
    np.testing.assert_allclose(angles[:, 2], -angles[:, 0], atol=1e-5)
    swing = 9.81 * 2.0 * 0.5 * (1 - np.cos(lean))
    assert np.abs(energies - energy).max() < 2e-3 * swing
    assert np.abs(angles[:, 0] - exact).max() < 1e-3


def test_a_crank_drives_a_rocker_where_the_circles_meet(device):
    """Grashof four-bar: ground 1, crank 0.3, coupler 0.9, rocker 0.6, with a driven crank over full turns."""
    ground, crank, coupler, rocker = 1.0, 0.3, 0.9, 0.6
    robot = tree(
        [-1, 0, 1, 0],
        [(0, 0, 0), (0, 0, 0), (crank, 0, 0), (ground, 0, 0)],
        mass=[1, 0.3, 0.9, 0.6],
        com=[(0, 0, 0), (crank / 2, 0, 0), (coupler / 2, 0, 0), (rocker / 2, 0, 0)],
        inertia=[np.eye(3), np.eye(3) * 0.003, np.eye(3) * 0.06, np.eye(3) * 0.02],
    )
    drive = {"drive_type": [1, 0, 0], "stiffness": [0.0] * 3, "damping": [50.0, 0, 0]}
    model, state, control = model_of(robot, device, **drive)
    joints = loop(model, 2, 3, (coupler, 0, 0), (rocker, 0, 0))

    def rocker_angle(theta):
        x, z = crank * np.cos(theta) - ground, crank * np.sin(theta)
        apart = np.hypot(x, z)
        bend = np.arccos((rocker**2 + apart**2 - coupler**2) / (2 * rocker * apart))
        return np.arctan2(z, x) - bend

    start = rocker_angle(0.7)
    tip = np.array([ground + rocker * np.cos(start), rocker * np.sin(start)])
    pin = crank * np.array([np.cos(0.7), np.sin(0.7)])
    along = np.arctan2(*(tip - pin)[::-1])
    state.set_initial(root_pose=[UNIT], dof_position=[-0.7, 0.7 - along, -start])
    control.velocity_target.assign(np.array([-4.0, 0, 0], np.float32))
    solver = Solver(model, state, control, joints=joints, time_step=1 / 60)
    solver.update_kinematics()
    for pose, position in run_steps(solver, 300, (state.link_pose, state.dof_position)):
        q = -position.astype(float)
        assert closure(pose, 2, 3, (coupler, 0, 0), (rocker, 0, 0)) < 1e-4
        miss = (q[2] - rocker_angle(q[0]) + np.pi) % (2 * np.pi) - np.pi
        assert abs(miss) < 1e-3
    assert q[0] > 0.7 + 4 * np.pi


def delta_robot(device):
    """Three driven arms of 0.2 m at a base of radius 0.1, six rods of 0.5 m, a platform of radius 0.05."""
    base, arm, rod, tip, half = 0.1, 0.2, 0.5, 0.05, 0.04
    spin = [2 * np.pi * k / 3 for k in range(3)]
    none = np.zeros(0, np.int32)
    arms = ArticulationType(True, np.array([-1, 0, 0, 0]), np.array([1, 2, 3]), np.ones(3, bool))
    body = ArticulationType(False, np.array([-1]), none, np.zeros(0, bool))
    rest = np.tile(UNIT, (11, 1))
    for k, angle in enumerate(spin):
        radial = np.array([np.cos(angle), np.sin(angle), 0])
        rest[1 + k] = [*(base * radial), 0, 0, np.sin(angle / 2), np.cos(angle / 2)]
    mass = np.array([1.0] + [0.2] * 3 + [0.05] * 6 + [0.5])
    inertia = [np.eye(3)] + [np.eye(3) * 1e-3] * 3 + [np.diag([1e-5, 1e-3, 1e-3])] * 6 + [np.eye(3) * 1e-3]
    model = build_model(
        types=[arms, body],
        articulation_type=[0] + [1] * 7,
        articulation_environment=[0] * 8,
        environment_count=1,
        link={
            "rest_pose": rest,
            "mass": mass,
            "inertia": np.array(inertia),
            "com": np.array([[0, 0, 0]] + [[arm / 2, 0, 0]] * 3 + [[0, 0, 0]] * 7),
        },
        dof={
            "axis": np.tile([0.0, 1.0, 0.0], (3, 1)),
            "drive_type": [1] * 3,
            "stiffness": [400.0] * 3,
            "damping": [20.0] * 3,
        },
        device=device,
    )
    state, control = State(model), Control(model)

    def platform(q):
        """Where the three spheres about the shifted elbows meet, below."""
        centres = []
        for k, angle in enumerate(spin):
            radial = np.array([np.cos(angle), np.sin(angle), 0])
            centres.append((base + arm * np.cos(q[k]) - tip) * radial - [0, 0, arm * np.sin(q[k])])
        a, b, c = centres
        x = (b - a) / np.linalg.norm(b - a)
        along = x @ (c - a)
        y = (c - a - along * x) / np.linalg.norm(c - a - along * x)
        d, e = np.linalg.norm(b - a), y @ (c - a)
        u = d / 2
        v = (along**2 + e**2 - 2 * along * u) / (2 * e)
        lower = np.cross(x, y)
        lower *= -np.sign(lower[2]) * np.sqrt(rod**2 - u * u - v * v)
        return a + u * x + v * y + lower

    q = np.full(3, 0.3)
    centre = platform(q)
    pose, joint = [UNIT], {name: [] for name in ("link0", "link1", "frame0", "frame1")}
    for k, angle in enumerate(spin):
        radial, across = (
            np.array([np.cos(angle), np.sin(angle), 0]),
            np.array([-np.sin(angle), np.cos(angle), 0]),
        )
        for side in (-half, half):
            link = len(pose) + 3
            elbow = (base + arm * np.cos(q[k])) * radial - [0, 0, arm * np.sin(q[k])] + side * across
            hand = centre + tip * radial + side * across
            x = (hand - elbow) / rod
            turn = np.cross([1, 0, 0], x)
            quaternion = np.append(turn, 1 + x[0])
            pose.append(np.append((elbow + hand) / 2, quaternion / np.linalg.norm(quaternion)))
            joint["link0"] += [1 + k, link]
            joint["link1"] += [link, 10]
            joint["frame0"] += [[arm, side, 0, 0, 0, 0, 1], [rod / 2, 0, 0, 0, 0, 0, 1]]
            joint["frame1"] += [[-rod / 2, 0, 0, 0, 0, 0, 1], [*(tip * radial + side * across), 0, 0, 0, 1]]
    pose.append(np.append(centre, UNIT[3:]))
    joints = JointModel(model, joint={**joint, "locked": np.tile([1, 1, 1, 0, 0, 0], (12, 1))})
    velocity = np.zeros(model.velocity_count)
    state.set_initial(root_pose=pose, dof_position=q, velocity=velocity)
    return model, state, control, joints, platform


def test_a_delta_robot_carries_its_platform_where_the_spheres_meet(device):
    model, state, control, joints, platform = delta_robot(device)
    solver = Solver(model, state, control, joints=joints, time_step=1 / 60)
    solver.update_kinematics()
    history = History((state.link_pose, state.dof_position), 240)
    for step in range(240):
        target = 0.3 + 0.25 * np.sin(3.0 * step / 60 + np.array([0.0, 1.0, 2.0])) * min(step / 30, 1)
        control.position_target.assign(target.astype(np.float32))
        solver.step()
        history.keep()
    for pose, position in history.read():
        place, q = pose[10].astype(float), position.astype(float)
        assert np.linalg.norm(place[:3] - platform(q)) < 1e-4 * 0.7
        assert np.abs(place[3:6]).max() < 2e-3
    assert np.abs(state.dof_position.numpy() - 0.3).max() > 0.05


def sliders(device, count=2, mass=(1.0, 2.0), **dof):
    """Bodies that slide along X, each on its own rail."""
    robot = tree(
        [-1] + [0] * count,
        [(0, k, 0) for k in range(count + 1)],
        mass=[1.0, *mass],
        com=np.zeros((count + 1, 3)),
        inertia=[np.eye(3)] * (count + 1),
        rotational=False,
        axis=(1.0, 0.0, 0.0),
    )
    return model_of(robot, device, gravity=(0, 0, 0), **dof)


def run(model, state, control, joints, steps, *, position=None, velocity=None, force=None, dt=1 / 60):
    """Positions and velocities after each step."""
    state.set_initial(root_pose=[UNIT], dof_position=position, velocity=velocity)
    solver = Solver(model, state, control, joints=joints, time_step=dt)
    assert solver.path == ("fused" if joints.mimic_count == joints.block_count else "generic")
    solver.update_kinematics()
    if force is not None:
        control.actuation.assign(np.asarray(force, np.float32))
    rows = run_steps(solver, steps, (state.dof_position, state.velocity))
    return np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], float)


def test_a_rigid_mimic_follows_exactly_and_shares_the_load(device):
    """q0 + 2 q1 + 0.1 = 0: the pair accelerates with the inertia m0 · 4 + m1 along q1."""
    model, state, control = sliders(device)
    joints = JointModel(model, mimic={"dof": [0], "reference": [1], "gearing": [2.0], "offset": [0.1]})
    q, v = run(model, state, control, joints, 60, position=[-0.1, 0.0], force=[0.0, 3.0])
    assert np.abs(q[:, 0] + 2 * q[:, 1] + 0.1).max() < 1e-6
    assert np.abs(v[:, 0] + 2 * v[:, 1]).max() < 1e-6
    assert q[-1, 1] == pytest.approx(0.5 * 3.0 / 6.0, rel=1e-5)


def test_a_mimic_that_starts_apart_comes_together_without_energy(device):
    model, state, control = sliders(device)
    joints = JointModel(model, mimic={"dof": [0], "reference": [1], "gearing": [-1.0]})
    q, v = run(model, state, control, joints, 60, position=[0.3, 0.0])
    assert abs(q[-1, 0] - q[-1, 1]) < 1e-6
    assert q[-1, 0] == pytest.approx(0.1, abs=1e-6)
    assert np.abs(v).max() < 1e-6


def test_a_soft_mimic_is_the_damped_oscillator_that_is_asked_for(device):
    """The error e = q0 + 0.5 q1 obeys e'' + 2 ζ ω e' + ω² e = 0, solved implicitly over substeps."""
    model, state, control = sliders(device)
    soft = {"natural_frequency": [6.0], "damping_ratio": [0.2]}
    joints = JointModel(model, mimic={"dof": [0], "reference": [1], "gearing": [0.5], **soft})
    q, _ = run(model, state, control, joints, 480, position=[0.2, 0.0], dt=1 / 240)
    error = q[:, 0] + 0.5 * q[:, 1]
    x, v, h, implicit = 0.2, 0.0, 1 / 960, []
    for _ in range(480):
        for _ in range(4):
            v = (v - h * 36.0 * x) / (1 + h * (h * 36.0 + 2.4))
            x += h * v
        implicit.append(x)
    np.testing.assert_allclose(error, implicit, atol=2e-6)
    t = np.arange(1, 481) / 240
    damped = 6.0 * np.sqrt(1 - 0.04)
    exact = 0.2 * np.exp(-1.2 * t) * (np.cos(damped * t) + 1.2 / damped * np.sin(damped * t))
    np.testing.assert_allclose(error, exact, atol=2e-3)


def test_a_mimic_follows_a_driven_joint_under_gravity(device):
    """A finger that hangs on nothing but its mimic holds where the driven one is."""
    robot = tree(
        [-1, 0, 0],
        [(0, 0, 0), (0, 0.1, 0), (0, -0.1, 0)],
        mass=[1, 0.5, 0.5],
        com=[(0, 0, 0), (0.1, 0, 0), (0.1, 0, 0)],
        inertia=[np.eye(3)] + [np.eye(3) * 1e-3] * 2,
    )
    drive = {"drive_type": [1, 0], "stiffness": [80.0, 0], "damping": [8.0, 0]}
    model, state, control = model_of(robot, device, **drive)
    joints = JointModel(model, mimic={"dof": [1], "reference": [0], "gearing": [-1.0]})
    control.position_target.assign(np.array([-0.5, 0.0], np.float32))
    q, v = run(model, state, control, joints, 180)
    held = q[-1, 0]
    assert np.abs(q[:, 0] - q[:, 1]).max() < 1e-6
    assert np.abs(v[-1]).max() < 1e-5
    assert 80.0 * (-0.5 - held) + 2 * 0.5 * 9.81 * 0.1 * np.cos(held) == pytest.approx(0.0, abs=1e-3)


def test_a_fixed_tendon_finds_its_equilibrium_and_swings_with_its_frequency(device):
    """ℓ = 2 q0 − q1 + 0.3 under k and a force on q0: ℓ̈ = (4/m0 + 1/m1) tension, and a passive spring on q1."""
    model, state, control = sliders(device, passive_stiffness=[0.0, 30.0], passive_damping=[0.0, 6.0])
    axis = {"tendon": [0, 0], "dof": [0, 1], "gearing": [2.0, -1.0], "force_coefficient": [2.0, -1.0]}
    tendon = {"stiffness": [50.0], "damping": [5.0], "rest_length": [0.1], "offset": [0.3]}
    joints = JointModel(model, fixed_tendon=tendon, fixed_tendon_axis=axis)
    q, v = run(model, state, control, joints, 900, force=[4.0, 0.0])
    length = 2 * q[-1, 0] - q[-1, 1] + 0.3
    tension = 50.0 * (length - 0.1)
    assert 4.0 - 2 * tension == pytest.approx(0.0, abs=1e-3)
    assert -30.0 * q[-1, 1] + tension == pytest.approx(0.0, abs=1e-3)
    assert np.abs(v[-1]).max() < 1e-4
    model, state, control = sliders(device)
    joints = JointModel(model, fixed_tendon={"stiffness": [50.0]}, fixed_tendon_axis=axis)
    q, _ = run(model, state, control, joints, 960, position=[0.1, 0.0], dt=1 / 960)
    length = 2 * q[:, 0] - q[:, 1]
    rate = np.sqrt(50.0 * (4.0 / 1.0 + 1.0 / 2.0))
    crossings = np.flatnonzero(np.diff(np.sign(length)))
    period = 2 * np.diff(crossings).mean() / 960
    assert period == pytest.approx(2 * np.pi / rate, rel=5e-3)


def test_a_fixed_tendon_pulls_by_its_force_coefficients(device):
    """Length factors and force factors that differ: q1 is measured, q0 is pulled."""
    model, state, control = sliders(device, passive_stiffness=[20.0, 40.0], passive_damping=[8.0, 12.0])
    axis = {"tendon": [0, 0], "dof": [0, 1], "gearing": [0.5, 1.0], "force_coefficient": [1.0, 0.25]}
    joints = JointModel(model, fixed_tendon={"stiffness": [10.0]}, fixed_tendon_axis=axis)
    q, _ = run(model, state, control, joints, 900, force=[0.0, 2.0])
    tension = 10.0 * (0.5 * q[-1, 0] + q[-1, 1])
    assert -20.0 * q[-1, 0] - tension == pytest.approx(0.0, abs=1e-3)
    assert 2.0 - 40.0 * q[-1, 1] - 0.25 * tension == pytest.approx(0.0, abs=1e-3)


def test_limits_of_a_fixed_tendon_are_springs_beyond_them(device):
    model, state, control = sliders(device, count=1, mass=(1.0,), passive_damping=[2.0])
    limits = {"limit_stiffness": [500.0], "lower": [-0.2], "upper": [0.3]}
    axis = {"tendon": [0], "dof": [0], "gearing": [1.0], "force_coefficient": [1.0]}
    for force, expected in ((10.0, 0.3 + 10.0 / 500.0), (-5.0, -0.2 - 5.0 / 500.0)):
        joints = JointModel(model, fixed_tendon=limits, fixed_tendon_axis=axis)
        q, _ = run(model, state, control, joints, 600, position=[0.0], force=[force])
        assert q[-1, 0] == pytest.approx(expected, abs=1e-4)
        free = np.arange(np.argmax(np.abs(q[:, 0]) > 0.15))
        rate = np.abs(force) / 2.0 * (1 - np.exp(-2.0 * (free + 1) / 60))
        distance = np.abs(force) / 2.0 * (free + 1) / 60 - rate / 2.0
        np.testing.assert_allclose(np.abs(q[free, 0]), distance, atol=0.01)


def test_hard_limits_dead_band_and_bound_of_a_fixed_tendon(device):
    axis = {"tendon": [0], "dof": [0]}
    model, state, control = sliders(device, count=1, mass=(1.0,), passive_damping=[4.0])
    tendon = {"stiffness": [100.0], "dead_band": [0.1], "rest_length": [0.2]}
    joints = JointModel(model, fixed_tendon=tendon, fixed_tendon_axis=axis)
    for force, expected in ((3.0, 0.33), (-3.0, 0.17)):
        q, _ = run(model, state, control, joints, 900, position=[0.25], force=[force])
        assert q[-1, 0] == pytest.approx(expected, abs=1e-4)
    joints = JointModel(model, fixed_tendon={"hard_limits": [1], "upper": [0.4]}, fixed_tendon_axis=axis)
    q, v = run(model, state, control, joints, 300, position=[0.0], force=[6.0])
    assert q.max() < 0.4 + 1e-6
    assert q[-1, 0] == pytest.approx(0.4, abs=1e-6)
    assert abs(v[-1, 0]) < 1e-6
    tendon = {"stiffness": [100.0], "max_force": [2.0]}
    joints = JointModel(model, fixed_tendon=tendon, fixed_tendon_axis=axis)
    _, v = run(model, state, control, joints, 600, position=[0.0], force=[6.0])
    assert v[-1, 0] == pytest.approx((6.0 - 2.0) / 4.0, rel=1e-4)


def test_written_tendon_properties_act_at_the_next_step(device):
    model, state, control = sliders(device, count=1, mass=(1.0,))
    axis = {"tendon": [0], "dof": [0]}
    joints = JointModel(model, fixed_tendon={"stiffness": [0.0]}, fixed_tendon_axis=axis)
    state.set_initial(root_pose=[UNIT], dof_position=[0.1])
    solver = Solver(model, state, control, joints=joints)
    solver.update_kinematics()
    solver.step()
    assert state.velocity.numpy()[0] == 0.0
    joints.fixed_tendon_stiffness.fill_(10.0)
    solver.step()
    assert state.velocity.numpy()[0] == pytest.approx(-1.0 / 60, rel=0.05)
    before = state.velocity.numpy()[0]
    joints.fixed_tendon_enabled.fill_(0)
    solver.step()
    assert state.velocity.numpy()[0] == pytest.approx(before, rel=1e-5)


def test_a_spatial_tendon_pulls_along_its_pieces(device):
    """A root on the base, a via point and a leaf on a slider: the length is that of the pieces."""
    robot = tree(
        [-1, 0, 0],
        [(0, 0, 0), (1, 0, 0), (2, 0, 0)],
        mass=[1.0, 1.0, 2.0],
        com=np.zeros((3, 3)),
        inertia=[np.eye(3)] * 3,
        rotational=False,
        axis=(0.0, 0.0, 1.0),
    )
    passive = {"passive_stiffness": [40.0, 60.0], "passive_damping": [10.0, 15.0]}
    model, state, control = model_of(robot, device, gravity=(0, 0, 0), **passive)
    attachment = {
        "tendon": [0, 0, 0],
        "link": [0, 1, 2],
        "parent": [-1, 0, 1],
        "position": [(0, 0, 0.5), (0, 0, 0), (0, 0.4, 0)],
        "gearing": [1.0, 1.0, 1.0],
        "leaf": [0, 0, 1],
        "rest_length": [0.0, 0.0, 1.5],
    }
    tendon = {"stiffness": [80.0], "damping": [2.0], "offset": [0.1]}
    joints = JointModel(model, spatial_tendon=tendon, attachment=attachment)
    q, v = run(model, state, control, joints, 600)
    a, b, c = np.array([0, 0, 0.5]), np.array([1, 0, q[-1, 0]]), np.array([2, 0.4, q[-1, 1]])
    first, second = np.linalg.norm(b - a), np.linalg.norm(c - b)
    tension = 80.0 * (first + second + 0.1 - 1.5)
    assert tension > 10.0
    pull = tension * ((a - b)[2] / first + (c - b)[2] / second)
    assert pull - 40.0 * q[-1, 0] == pytest.approx(0.0, abs=2e-3)
    assert tension * (b - c)[2] / second - 60.0 * q[-1, 1] == pytest.approx(0.0, abs=2e-3)
    assert np.abs(v[-1]).max() < 1e-4


def test_couplings_over_two_articulations_are_refused(device):
    robot = tree([-1, 0], [(0, 0, 0)] * 2, mass=[1, 1], com=np.zeros((2, 3)), inertia=[np.eye(3)] * 2)
    kind = ArticulationType(True, robot.parent, robot.dof_link, robot.dof_rotational)
    model = build_model(
        types=[kind],
        articulation_type=[0, 0],
        articulation_environment=[0, 0],
        environment_count=1,
        link={"mass": np.ones(4), "inertia": np.tile(np.eye(3), (4, 1, 1))},
        dof={"axis": np.tile([0.0, 1.0, 0.0], (2, 1))},
        device=device,
    )
    with pytest.raises(ModelError, match="two articulations"):
        JointModel(model, mimic={"dof": [0], "reference": [1]})
