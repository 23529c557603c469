"""Friction of joints and performance envelopes of actuators against closed forms, on both paths."""

from types import SimpleNamespace

import numpy as np
import pytest

from tensorphys_dynamics import Solver, StepLoads
from tensorphys_dynamics._reference import Tree, dynamics
from tensorphys_dynamics.testing import History, SpheresOnPlane, model_of, random_tree

DT = 1.0 / 240.0
H = DT / 4
ORIGIN = np.array([0.0, 0, 0, 0, 0, 0, 1])
GRAVITY = np.array([0.0, 0.0, -9.81])

pytestmark = pytest.mark.parametrize("path", ["generic", "fused"])


def rods(count, *, rotational=True, axis=(0.0, 1.0, 0.0), mass=1.0, fixed_base=True):
    """A base and rods of 1 m, jointed end to end, level at q = 0."""
    links = count + 1
    rest = np.zeros((links, 7))
    rest[:, 6] = 1.0
    rest[1:, 0] = 1.0
    return Tree(
        fixed_base=fixed_base,
        parent=np.arange(-1, count, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.arange(1, links, dtype=np.int32),
        dof_rotational=np.full(count, rotational),
        dof_axis=np.tile(np.array(axis), (count, 1)),
        dof_anchor=np.zeros((count, 3)),
        armature=np.zeros(count),
        mass=np.full(links, mass),
        com=np.tile([0.5, 0.0, 0.0], (links, 1)),
        inertia=np.tile(mass * np.diag([0.01, 1 / 12, 1 / 12]), (links, 1, 1)),
    )


def slider(mass=2.0):
    """A body of 2 kg that slides along x."""
    return rods(1, rotational=False, axis=(1.0, 0.0, 0.0), mass=mass)


def run(tree, device, path, steps, *, q=None, v=None, gravity=GRAVITY, inputs=None, each=None, **dof):
    """Positions, velocities and forces of friction after each step, the start first."""
    model, state, control = model_of(tree, device, gravity=tuple(gravity), **dof)
    q = np.zeros(model.dof_count) if q is None else q
    v = np.zeros(model.velocity_count) if v is None else v
    state.set_initial(dof_position=q, velocity=v)
    for name, values in (inputs or {}).items():
        getattr(control, name).assign(np.asarray(values, np.float32))
    solver = Solver(model, state, control, time_step=DT, path=path)
    solver.update_kinematics()
    rows = [(np.asarray(q, float), np.asarray(v, float), np.zeros(model.dof_count))]
    history = History((state.dof_position, state.velocity, state.dof_friction_force), steps)
    for step in range(steps):
        if each is not None:
            each(step, control)
        solver.step()
        history.keep()
    rows += [tuple(a.astype(float) for a in row) for row in history.read()]
    return SimpleNamespace(
        q=np.array([r[0] for r in rows]),
        v=np.array([r[1] for r in rows]),
        force=np.array([r[2] for r in rows]),
        state=state,
        model=model,
        solver=solver,
    )


def test_static_friction_holds_a_rod_without_creep(device, path):
    result = run(rods(1), device, path, 480, static_friction=[5.0], dynamic_friction=[1.0])
    assert np.abs(result.v).max() < 1e-5
    assert np.abs(result.q).max() < 1e-6
    np.testing.assert_allclose(result.force[1:, 0], -9.81 * 0.5, rtol=1e-5)


def test_joints_that_hold_each_other_up_do_not_creep(device, path):
    count = 6
    q = np.linspace(-0.4, 0.5, count)
    friction = {"static_friction": [300.0] * count, "dynamic_friction": [200.0] * count}
    result = run(rods(count), device, path, 480, q=q, **friction)
    assert np.abs(result.v).max() < 1e-5
    needed = dynamics(rods(count), ORIGIN, q, np.zeros(count), GRAVITY).bias
    np.testing.assert_allclose(result.force[-1], needed, rtol=1e-4)


def test_a_held_joint_leaves_the_others_their_motion(device, path):
    # the first rod is held level, so the second swings as a pendulum by itself
    result = run(rods(2), device, path, 240, static_friction=[60.0, 0.0])
    alone = run(rods(1), device, path, 240)
    assert np.abs(result.q[:, 0]).max() == 0.0
    assert np.abs(result.q[:, 1] - alone.q[:, 0]).max() < 1e-4


def test_friction_lets_go_at_its_static_bound_and_then_slides(device, path):
    # a force that rises by 1 N/s on a slider with 3 N of static and 2 N of sliding friction
    def ramp(step, control):
        control.actuation.assign(np.array([(step + 1) * DT], np.float32))

    tree, steps = slider(), 960
    columns = {"static_friction": [3.0], "dynamic_friction": [2.0]}
    result = run(tree, device, path, steps, each=ramp, **columns)
    t = np.arange(steps + 1) * DT
    assert np.abs(result.v[t < 2.99]).max() < 1e-5
    late = np.maximum(t - 3.0, 0.0)
    assert np.abs(result.v[:, 0] - (late + 0.5 * late**2) / 2.0).max() < 0.01
    np.testing.assert_allclose(result.force[t > 3.05, 0], -2.0, rtol=1e-5)


def test_a_sliding_joint_stops_where_the_closed_form_says(device, path):
    columns = {"static_friction": [100.0], "dynamic_friction": [2.0]}
    result = run(slider(), device, path, 480, v=[1.5], **columns)
    t = np.arange(481) * DT
    exact = np.maximum(1.5 - t, 0.0)
    # static friction of 100 N must not stop a body that still slides
    assert np.abs(result.v[:, 0] - exact).max() < 2e-3
    assert result.q[-1, 0] == pytest.approx(1.5**2 / 2, rel=2e-3)
    assert np.abs(result.v[-100:]).max() < 1e-5


def test_coulomb_and_viscous_friction_decay_as_the_closed_form(device, path):
    mass, coulomb, viscous, start = 2.0, 1.0, 3.0, 2.0
    columns = {"static_friction": [coulomb], "dynamic_friction": [coulomb], "viscous_friction": [viscous]}
    result = run(slider(mass), device, path, 480, v=[start], **columns)
    t = np.arange(481) * DT
    rest = coulomb / viscous
    exact = np.maximum((start + rest) * np.exp(-viscous * t / mass) - rest, 0.0)
    assert np.abs(result.v[:, 0] - exact).max() < 5e-3
    assert np.abs(result.v[t > 1.4]).max() < 1e-5


def test_viscous_friction_alone_is_damping(device, path):
    damped = run(rods(2), device, path, 240, passive_damping=[0.5, 0.2])
    viscous = run(rods(2), device, path, 240, viscous_friction=[0.5, 0.2])
    assert np.abs(damped.q - viscous.q).max() < 1e-5


@pytest.mark.parametrize(("coefficient", "holds"), [(0.34, True), (0.32, False)])
def test_the_coefficient_bounds_friction_by_the_load_of_the_joint(device, path, coefficient, holds):
    # a level rod needs m g / 2 of torque, and its joint transmits the force m g and that torque: 1/3 is enough
    result = run(rods(1), device, path, 240, friction_coefficient=[coefficient])
    if holds:
        assert np.abs(result.v).max() < 1e-5
    else:
        assert result.q[-1, 0] > 0.05


def test_the_coefficient_counts_only_without_the_other_model(device, path):
    both = {"friction_coefficient": [10.0], "static_friction": [0.5], "dynamic_friction": [0.5]}
    result = run(rods(1), device, path, 24, **both)
    only = run(rods(1), device, path, 24, static_friction=[0.5], dynamic_friction=[0.5])
    np.testing.assert_array_equal(result.q, only.q)


@pytest.mark.parametrize("columns", [{"static_friction": [5.0]}, {"friction_coefficient": [1.0]}])
def test_the_joint_wrench_holds_what_friction_gives(device, path, columns):
    model, state, control = model_of(rods(1), device, **columns)
    solver = Solver(model, state, control, time_step=DT, path=path)
    solver.update_kinematics()
    loads = StepLoads(solver)
    for _ in range(3):
        loads.keep_start()
        solver.step()
    loads.evaluate()
    # rotations about y that are positive lower the rod: friction turns it the other way
    assert loads.joint_force.numpy()[0] == pytest.approx(-9.81 * 0.5, rel=1e-4)
    assert loads.joint_wrench.numpy()[1][2] == pytest.approx(9.81, rel=1e-4)


def test_friction_against_a_drive_leaves_an_error_within_its_bound(device, path):
    columns = {"drive_type": [1], "stiffness": [100.0], "damping": [20.0]}
    columns |= {"static_friction": [3.0], "dynamic_friction": [3.0]}
    result = run(slider(), device, path, 960, inputs={"position_target": [1.0]}, **columns)
    assert abs(result.q[-1, 0] - 1.0) <= 0.03 + 1e-4
    assert np.abs(result.v[-1]).max() < 1e-5
    assert result.force[-1, 0] == pytest.approx(-100.0 * (1.0 - result.q[-1, 0]), abs=1e-3)


def test_friction_keeps_the_momentum_of_a_free_chain(device, path):
    tree = rods(2, fixed_base=False, axis=(0.0, 0.6, 0.8))
    v = np.array([0.3, -0.2, 0.1, 0.5, -0.4, 0.3, 3.0, -2.0])
    columns = {"static_friction": [0.5] * 2, "dynamic_friction": [0.3] * 2}
    result = run(tree, device, path, 720, v=v, gravity=np.zeros(3), **columns)
    momenta = []
    for root, q, velocity in (
        (ORIGIN, result.q[0], v),
        (result.state.root_pose.numpy()[0].astype(float), result.q[-1], result.v[-1]),
    ):
        d = dynamics(tree, root, q, velocity, np.zeros(3))
        p = (d.mass_matrix @ velocity)[:6]
        momenta.append(np.concatenate((p[:3], p[3:] + np.cross(d.origin, p[:3]))))
    for part in (slice(0, 3), slice(3, 6)):
        scale = np.linalg.norm(momenta[0][part])
        assert np.abs(momenta[1][part] - momenta[0][part]).max() < 2e-5 * scale
    assert np.abs(result.v[-1][6:]).max() < 1e-5  # it turns as one body in the end


def test_a_limit_and_friction_share_the_load(device, path):
    # level rod, pressed against its upper limit by gravity and more by an actuation; friction takes what it can
    columns = {"upper": [0.0], "static_friction": [2.0], "dynamic_friction": [2.0]}
    result = run(rods(1), device, path, 240, q=[-1e-3], inputs={"actuation": [3.0]}, **columns)
    assert result.q.max() < 1e-5
    assert np.abs(result.v[-1]).max() < 1e-5
    limit = result.state.dof_limit_force.numpy()[0]
    assert limit + result.force[-1, 0] == pytest.approx(-(9.81 * 0.5 + 3.0), rel=1e-3)


def test_a_contact_pulls_a_held_joint_loose(device, path):
    # a rod that friction holds level sinks with its base onto a ball that turns it up; friction resists as it slides
    tree = rods(1)
    model, state, control = model_of(tree, device, static_friction=[20.0], dynamic_friction=[20.0])
    contacts = SpheresOnPlane(model, link=[1], center=[[0.5, 0.0, 0.0]], radius=[0.1], friction=0.0)
    state.set_initial(root_pose=[[0.0, 0.0, 0.15, 0, 0, 0, 1]])
    state.root_velocity.assign(np.array([[0.0, 0.0, -0.2, 0.0, 0.0, 0.0]], np.float32))
    solver = Solver(model, state, control, contacts, time_step=DT, path=path)
    solver.update_kinematics()
    for _ in range(120):
        contacts.collide(state.link_pose)
        solver.step()
    # the base has come 0.1 m down, the middle of the rod 0.05 m: it is turned by about 0.1 rad
    assert state.dof_position.numpy()[0] == pytest.approx(-0.1, abs=0.02)
    assert state.dof_friction_force.numpy()[0] == pytest.approx(20.0, rel=1e-4)
    # the force at 0.5 m gives the torques of weight and friction
    assert solver.contact_impulse.numpy()[0, 2] / DT == pytest.approx((20.0 + 4.905) / 0.5, rel=0.02)


def test_friction_of_any_tree_rests_in_the_end(device, path):
    tree = random_tree(5, 8, fixed_base=True)
    count = len(tree.dof_link)
    v = np.random.default_rng(0).normal(size=count) * 2
    columns = {"static_friction": [30.0] * count, "dynamic_friction": [25.0] * count}
    result = run(tree, device, path, 960, v=v, gravity=0.1 * GRAVITY, **columns)
    assert np.abs(result.v[-240:]).max() < 1e-5
    assert np.abs(result.q[-1] - result.q[-240]).max() < 1e-6


ENVELOPE = {"drive_type": [1], "damping": [1e4], "envelope": [1], "max_force": [10.0]}
T = np.arange(481) * DT


def driven(device, path, *, v=None, inputs=None, **columns):
    """Velocities of 2 kg that a drive without a bound of its own takes along."""
    inputs = {"velocity_target": [100.0]} if inputs is None else inputs
    return run(slider(), device, path, 480, v=v, gravity=np.zeros(3), inputs=inputs, **columns).v[:, 0]


def test_resistance_lowers_the_force_with_the_speed(device, path):
    speed = driven(device, path, **(ENVELOPE | {"velocity_resistance": [2.0]}))
    assert np.abs(speed - 5.0 * (1.0 - np.exp(-T))).max() < 2e-3


@pytest.mark.parametrize("driven_by", ["drive", "actuation"])
def test_gradient_and_largest_speed_bound_the_force(device, path, driven_by):
    columns = ENVELOPE | {"max_actuator_velocity": [3.0], "speed_effort_gradient": [0.1]}
    inputs = None
    if driven_by == "actuation":
        inputs = {"actuation": [50.0]}
        columns |= {"drive_type": [0]}
    speed = driven(device, path, inputs=inputs, **columns)
    # 10 N up to 2 m/s, then (3 m/s − v) / 0.1
    exact = np.where(T < 0.4, 5.0 * T, 3.0 - np.exp(-(T - 0.4) * 5.0))
    assert np.abs(speed - exact).max() < 2e-3


def test_the_largest_speed_alone_cuts_the_force_off(device, path):
    speed = driven(device, path, **(ENVELOPE | {"max_actuator_velocity": [3.0]}))
    assert np.abs(speed - np.minimum(5.0 * T, 3.0)).max() < 1e-3
    faster = driven(device, path, v=[5.0], **(ENVELOPE | {"max_actuator_velocity": [3.0]}))
    assert faster[-1] == pytest.approx(5.0, abs=1e-5)  # above it the actuator neither drives nor brakes


def test_without_an_envelope_its_values_do_nothing(device, path):
    columns = {"drive_type": [1], "damping": [1e4], "max_force": [10.0]}
    unread = {"max_actuator_velocity": [0.1], "speed_effort_gradient": [5.0], "velocity_resistance": [9.0]}
    np.testing.assert_array_equal(driven(device, path, **columns), driven(device, path, **(columns | unread)))


def test_the_speed_of_a_joint_is_bounded(device, path):
    result = run(slider(), device, path, 240, inputs={"actuation": [20.0]}, max_velocity=[1.5])
    assert result.v.max() == pytest.approx(1.5, rel=1e-6)


def test_armature_is_inertia(device, path):
    tree = rods(1)
    tree.armature[:] = 0.5
    result = run(tree, device, path, 10)
    assert result.v[-1, 0] == pytest.approx(9.81 * 0.5 / (1 / 3 + 0.5) * 10 * DT, rel=1e-2)
