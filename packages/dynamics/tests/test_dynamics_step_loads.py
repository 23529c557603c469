"""Loads of a step: accelerations, joint wrenches and that forces add up, on both paths."""

import numpy as np
import pytest

from tensorphys_dynamics import Solver, StepLoads
from tensorphys_dynamics import _reference as twin
from tensorphys_dynamics._reference import Tree, dynamics
from tensorphys_dynamics.testing import (
    History,
    SpheresOnPlane,
    model_of,
    random_state,
    random_tree,
    run_steps,
)

DT = 1.0 / 120.0
PATHS = pytest.mark.parametrize("path", ["generic", "fused"])


def chain(links, *, fixed_base=True, armature=0.0, axis=(0.0, 1.0, 0.0)):
    """Rods of 1 kg and 0.5 m along x, one behind the other."""
    rest = np.zeros((links, 7))
    rest[:, 6] = 1.0
    rest[2 if fixed_base else 1 :, 0] = 0.5
    dofs = links - 1
    return Tree(
        fixed_base=fixed_base,
        parent=np.arange(-1, links - 1, dtype=np.int32),
        rest_pose=rest,
        dof_link=np.arange(1, links, dtype=np.int32),
        dof_rotational=np.ones(dofs, bool),
        dof_axis=np.tile(axis, (dofs, 1)),
        dof_anchor=np.zeros((dofs, 3)),
        armature=np.full(dofs, armature),
        mass=np.ones(links),
        com=np.tile([0.25, 0.0, 0.0], (links, 1)),
        inertia=np.tile(np.diag([0.001, 0.02, 0.02]), (links, 1, 1)),
    )


def step(solver, loads, contacts=None):
    if contacts is not None:
        contacts.collide(solver.state.link_pose)
    loads.keep_start()
    solver.step()
    loads.evaluate()


@PATHS
def test_a_drive_holds_an_arm(device, path):
    tree = chain(3)
    gains = {"drive_type": [1, 1], "stiffness": [1e5, 1e5], "damping": [1e3, 1e3]}
    model, state, control = model_of(tree, device, **gains)
    solver = Solver(model, state, control, time_step=DT, path=path)
    loads = StepLoads(solver)
    solver.update_kinematics()
    loads.evaluate()
    assert not loads.joint_wrench.numpy().any(), "no step was made"
    for _ in range(120):
        step(solver, loads)
    wrench = loads.joint_wrench.numpy()
    com = np.array([0.25, 0, 0])
    # the second rod weighs 1 kg, its joint is 0.25 m from its centre: torque −y times 2.4525
    np.testing.assert_allclose(wrench[2, :3], (0, 0, 9.81), atol=1e-3)
    at_joint = wrench[2, 3:] + np.cross(com, wrench[2, :3])
    np.testing.assert_allclose(at_joint, (0, -0.25 * 9.81, 0), atol=3e-3)
    np.testing.assert_allclose(wrench[1, :3], (0, 0, 2 * 9.81), atol=1e-3)
    np.testing.assert_allclose(wrench[0, :3], (0, 0, 3 * 9.81), atol=1e-3)
    np.testing.assert_allclose(loads.joint_force.numpy(), (-(0.25 + 0.75) * 9.81, -0.25 * 9.81), rtol=2e-3)
    np.testing.assert_allclose(loads.link_acceleration.numpy(), 0.0, atol=1e-3)


@PATHS
def test_the_wrench_of_a_swinging_arm_is_that_of_its_motion(device, path):
    """A long swing: the wrenches of the step are those of inverse dynamics at its middle; the joint gives what
    actuates it less what its armature takes."""
    tree = chain(4, armature=0.05)
    model, state, control = model_of(tree, device)
    state.set_initial(dof_position=[0.3, -0.7, 0.9], velocity=[1.0, -2.0, 1.5])
    control.actuation.assign(np.array([2.0, 1.0, -0.5], np.float32))
    solver = Solver(model, state, control, time_step=1e-3, path=path)
    loads = StepLoads(solver)
    solver.update_kinematics()
    after = state.velocity.numpy().copy()
    arrays = (state.velocity, loads.joint_force)
    for row in run_steps(solver, 50, arrays, step=lambda: step(solver, loads)):
        before, (after, force) = after, row
        expected = np.array([2.0, 1.0, -0.5]) - 0.05 * (after - before) / 1e-3
        np.testing.assert_allclose(force, expected, atol=0.01)
    acceleration = loads.link_acceleration.numpy()
    root = np.array([0, 0, 0, 0, 0, 0, 1.0])
    q, v = state.dof_position.numpy().astype(float), state.velocity.numpy().astype(float)
    gravity = np.array([0, 0, -9.81])
    ours = dynamics(tree, root, q, v, gravity)
    zero = np.zeros((4, 3))
    tau = np.array([2.0, 1.0, -0.5]) - ours.bias
    rates = np.linalg.solve(ours.mass_matrix, tau)
    # half a step of 1 ms lies between the mean and the end
    np.testing.assert_allclose(acceleration, twin.link_accelerations(ours, rates), atol=0.3)
    wrench = twin.joint_wrenches(tree, ours, rates, gravity, zero, zero)
    np.testing.assert_allclose(loads.joint_wrench.numpy(), wrench, atol=0.01 * np.abs(wrench).max())


@PATHS
def test_nothing_holds_what_falls(device, path):
    tree = random_tree(3, 6, fixed_base=False)
    model, state, control = model_of(tree, device)
    root, q, _ = random_state(3, tree)
    state.set_initial(root_pose=root[None], dof_position=q)
    solver = Solver(model, state, control, time_step=DT, path=path)
    loads = StepLoads(solver)
    solver.update_kinematics()
    for _ in range(5):
        step(solver, loads)
    acceleration = loads.link_acceleration.numpy()
    np.testing.assert_allclose(acceleration, np.tile([0, 0, -9.81, 0, 0, 0], (6, 1)), atol=5e-3)
    np.testing.assert_allclose(loads.joint_wrench.numpy(), 0.0, atol=0.03)


def forces_missing(acceleration, wrench, impulse, tree, push):
    """Over a step: forces on all links less what their masses took, what the root's joint got, and the largest force."""
    impulse, acceleration = impulse / DT, acceleration[:, :3]
    weight = tree.mass.sum() * np.array([0, 0, -9.81])
    missing = tree.mass @ acceleration - impulse.sum(0) - push.sum(0) - weight
    largest = max(np.abs(x).max(initial=0.0) for x in (impulse, weight, acceleration, wrench[1:, :3]))
    return missing, wrench[0, :3], largest


@PATHS
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_forces_on_a_falling_and_sliding_chain_add_up(device, path, seed):
    """The root of a floating base has no joint: contacts, gravity and what is applied make all of its motion, also while
    the chain turns fast under contacts, hits its limits, and its joints rub or are driven."""
    links = 5
    tree = chain(links, fixed_base=False, axis=(0.0, 0.6, 0.8))
    model, state, control = model_of(
        tree,
        device,
        passive_damping=[0.05, 0.0, 0.0, 0.0],
        lower=[-3.0, -0.5, -0.6, -3.0],
        upper=[3.0, 0.5, 0.6, 3.0],
        drive_type=[0, 1, 0, 0],
        stiffness=[0.0, 5.0, 0.0, 0.0],
        damping=[0.0, 0.2, 0.0, 0.0],
        static_friction=[0.0, 0.0, 0.0, 0.3],
        dynamic_friction=[0.0, 0.0, 0.0, 0.2],
    )
    contacts = SpheresOnPlane(
        model,
        link=np.repeat(np.arange(links), 2),
        center=np.tile([[0.0, 0, 0], [0.5, 0, 0]], (links, 1)),
        radius=np.full(2 * links, 0.05),
        friction=0.4,
        restitution=0.5,
    )
    rng = np.random.default_rng(seed)
    state.set_initial(
        root_pose=[[0, 0, 0.3, 0, 0, 0, 1]],
        velocity=[1.0, 0.3, 0, 0.1, 0.2, *rng.normal(size=5)],
        dof_position=[0.3, -0.4, 0.5, 0.2],
    )
    solver = Solver(model, state, control, contacts, time_step=DT, path=path)
    loads = StepLoads(solver)
    solver.update_kinematics()
    push = np.zeros((links, 3), np.float32)
    start = state.link_velocity.numpy().copy()
    synced, pushes = state.root_synced.numpy()[0], []
    arrays = (state.link_velocity, state.velocity, state.root_synced, contacts.count, solver.contact_impulse)
    history = History((*arrays, loads.link_acceleration, loads.joint_wrench), 120)
    total, size, turning, fast, touching, switches = 0.0, 0.0, 0.0, 0, 0, 0
    for number in range(120):
        changed = number % 20 == 10
        if changed:
            push = rng.normal(size=(links, 3)).astype(np.float32)
        control.link_force.assign(push)
        pushes.append((changed, push))
        step(solver, loads, contacts)
        history.keep()
    for number, ((changed, push), row) in enumerate(zip(pushes, history.read(), strict=True)):
        moving, velocity, now, count, impulse, acceleration, wrench = row
        switches += number > 0 and now[0] != synced
        synced = now[0]
        missing, root, largest = forces_missing(acceleration, wrench, impulse[: count[0]], tree, push)
        assert np.abs(root).max() < 1e-4 * largest
        if not changed:
            # the same from outside; the kick that straddles a change of what is applied has its mean
            assert np.abs(missing).max() < 1e-4 * largest
        turning = max(turning, np.abs(moving[:, 3:]).max())
        fast += np.abs(velocity[6:]).max() > 2.0
        touching += impulse.any()
        total = total + DT * acceleration
        size = size + DT * np.abs(acceleration)
    assert fast > 20
    assert touching > 50
    assert switches > 1
    # accelerations of the kicks against the reported velocities, which turn with the links between two kicks: that is of
    # first order in the angle of the substeps beside an impact
    difference = np.abs(total - (moving - start))
    for part in (slice(0, 3), slice(3, 6)):
        assert difference[:, part].max() < 2 * DT / solver.substeps * turning * size[:, part].max()


@PATHS
def test_free_joints_give_no_torque_about_their_axes(device, path):
    """A fixed chain that swings onto the ground and its limits: what its joints give along their free axes is what
    actuates them, and nothing at the two that are free."""
    tree = chain(4)
    model, state, control = model_of(
        tree, device, lower=[-9.0, -0.4, -9.0], upper=[9.0, 0.4, 9.0], passive_damping=[0.3, 0.0, 0.0]
    )
    contacts = SpheresOnPlane(
        model, link=[3], center=[[0.5, 0, 0]], radius=[0.05], friction=0.6, restitution=0.3
    )
    state.set_initial(
        root_pose=[[0, 0, 0.9, 0, 0, 0, 1]], velocity=[2.0, 1.0, -3.0], dof_position=[0.2, 0.3, -0.2]
    )
    solver = Solver(model, state, control, contacts, time_step=DT, path=path)
    loads = StepLoads(solver)
    solver.update_kinematics()
    touched, bent = 0, 0
    after = state.velocity.numpy().copy()
    arrays = (state.velocity, loads.joint_force, loads.joint_wrench, solver.contact_impulse)
    for row in run_steps(solver, 240, arrays, step=lambda: step(solver, loads, contacts)):
        before, (after, force, wrench, impulse) = after, row
        wrench = np.abs(wrench)
        touched += impulse.any()
        bent += np.abs(force[1]) > 1.0
        # levers turn within the step that forces are means of
        scale = max(wrench[:, :3].max(), wrench[:, 3:].max())
        assert np.abs(force[2]) < 0.01 * scale
        least, most = sorted((-0.3 * before[0], -0.3 * after[0]))
        assert least - 0.01 * scale < force[0] < most + 0.01 * scale
    assert touched > 20
    assert bent > 1


@PATHS
def test_contacts_carry_what_rests(device, path):
    """A chain that lies on the ground: the joints carry nothing, each link is held by its own contacts."""
    tree = chain(3, fixed_base=False)
    model, state, control = model_of(tree, device)
    contacts = SpheresOnPlane(
        model,
        link=np.repeat(np.arange(3), 2),
        center=np.tile([[0.0, 0.02, 0], [0.5, -0.02, 0]], (3, 1)),
        radius=np.full(6, 0.05),
    )
    state.set_initial(root_pose=[[0, 0, 0.05, 0, 0, 0, 1]])
    solver = Solver(model, state, control, contacts, time_step=DT, path=path)
    loads = StepLoads(solver)
    solver.update_kinematics()
    control_force = np.zeros((3, 3), np.float32)
    control_force[1] = (0.0, 0.0, -5.0)
    for _ in range(120):
        control.link_force.assign(control_force)
        step(solver, loads, contacts)
    impulse = solver.contact_impulse.numpy()[: contacts.count.numpy()[0]] / DT
    np.testing.assert_allclose(impulse.sum(0), (0, 0, 3 * 9.81 + 5.0), atol=0.02)
    wrench = loads.joint_wrench.numpy()
    own = np.zeros((3, 3))
    np.add.at(own, contacts.body0.numpy()[: len(impulse)], impulse)
    # force balance of each link: contacts, gravity, what is applied, joint above, joints below
    below = np.zeros((3, 3))
    below[:2] = wrench[1:, :3]
    total = own + wrench[:, :3] - below + control_force + (0, 0, -9.81)
    np.testing.assert_allclose(total, loads.link_acceleration.numpy()[:, :3], atol=0.02)
    np.testing.assert_allclose(wrench[0], 0.0, atol=0.02)


def test_a_written_state_has_no_loads(device):
    tree = chain(3)
    model, state, control = model_of(tree, device, copies=2)
    solver = Solver(model, state, control, time_step=DT)
    loads = StepLoads(solver)
    solver.update_kinematics()
    step(solver, loads)
    assert np.abs(loads.link_acceleration.numpy()).max() > 1.0
    state.fresh.assign(np.array([0, 1], np.int32))
    solver.update_kinematics()
    loads.evaluate()
    acceleration = loads.link_acceleration.numpy()
    assert acceleration[:3].any()
    assert not acceleration[3:].any()
    assert not loads.joint_wrench.numpy()[3:].any()
    assert not loads.joint_force.numpy()[2:].any()
    loads.forget()
    loads.evaluate()
    assert not loads.link_acceleration.numpy().any()
