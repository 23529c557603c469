"""Forces on random articulations add up: contacts with friction, joints, gravity and what is applied make m a of each link.

The wrench of a joint is what is missing for the motion of its subtree, so what tests it is a floating root, where no joint is:
nothing may be missing there. All values are means over the substeps of a step.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tensorphys_dynamics import ArticulationType, Control, JointModel, Solver, State, StepLoads, build_model
from tensorphys_dynamics.testing import (
    History,
    SpheresOnPlane,
    model_of,
    random_ball_tree,
    random_state,
    random_tree,
)
from tensorphys_spatial import quaternion_rotate

DT = 1.0 / 60.0
DOWN = np.array([0.0, 0.0, -9.81])
SEEDS = st.integers(0, 2**20)


def random_actuators(rng, dofs, *, limits=True):
    """Drives of all kinds, springs, dampers, friction and limits."""

    def some(values, share):
        return values * (rng.random(dofs) < share)

    friction = some(rng.uniform(0.0, 1.0, dofs), 0.4)
    columns = {
        "drive_type": rng.integers(0, 3, dofs),
        "stiffness": rng.uniform(0.0, 50.0, dofs),
        "damping": rng.uniform(0.0, 2.0, dofs),
        "max_force": np.where(rng.random(dofs) < 0.5, rng.uniform(1.0, 20.0, dofs), np.inf),
        "passive_stiffness": some(rng.uniform(0.0, 5.0, dofs), 0.3),
        "passive_damping": some(rng.uniform(0.0, 0.3, dofs), 0.3),
        "static_friction": friction,
        "dynamic_friction": 0.7 * friction,
    }
    return columns | ({"lower": np.full(dofs, -1.6), "upper": np.full(dofs, 1.6)} if limits else {})


def random_spheres(rng, model, links):
    """Two spheres a link over the ground."""
    return SpheresOnPlane(
        model,
        link=np.repeat(np.arange(links), 2),
        center=rng.normal(size=(2 * links, 3)) * 0.15,
        radius=rng.uniform(0.03, 0.1, 2 * links),
        friction=0.5,
        restitution=float(rng.choice([0.0, 0.5])),
    )


def step(solver, loads, contacts):
    contacts.collide(solver.state.link_pose)
    loads.keep_start()
    solver.step()
    loads.evaluate()


def history_of(solver, loads, contacts, *others):
    """Poses, accelerations, wrenches, contacts, and other arrays after up to 40 steps."""
    arrays = (solver.state.link_pose, loads.link_acceleration, loads.joint_wrench)
    return History((*arrays, contacts.count, contacts.body0, solver.contact_impulse, *others), 40)


def contact_forces(count, body, impulse, links):
    """Mean force on each link by all its contacts."""
    result = np.zeros((links, 3))
    np.add.at(result, body[: count[0]], impulse[: count[0]].astype(float) / DT)
    return result


@pytest.mark.parametrize("path", ["generic", "fused"])
@given(seed=SEEDS)
@example(seed=1609)  # joints that meet their limits in flight
@example(seed=6607)
@settings(deadline=None, max_examples=20)
def test_forces_on_any_tree_add_up(device, path, seed):
    """A tree that is thrown onto the ground, driven, rubbed and pushed."""
    rng = np.random.default_rng(seed)
    links = int(rng.integers(1, 9))
    with_balls = path == "generic" and rng.random() < 0.3
    tree = (random_ball_tree if with_balls else random_tree)(seed, links, fixed_base=False)
    model, state, control = model_of(
        tree, device, **random_actuators(rng, len(tree.dof_link), limits=not with_balls)
    )
    contacts = random_spheres(rng, model, links)
    root, q, v = random_state(seed, tree)
    root[:3] = 0.0, 0.0, 0.4
    v[:3] -= 0.0, 0.0, 2.0
    v[3:6] *= 2.0
    state.set_initial(root_pose=root[None], velocity=v, dof_position=q)
    solver = Solver(model, state, control, contacts, time_step=DT, path=path)
    assert solver.path == path
    loads = StepLoads(solver)
    solver.update_kinematics()
    push = np.zeros((links, 3), np.float32)
    touching, changes = 0, []
    end = state.link_pose.numpy().copy()
    history = history_of(solver, loads, contacts)
    for number in range(40):
        changed = number % 10 == 7
        if changed:
            push = (rng.normal(size=(links, 3)) * 3.0).astype(np.float32)
        control.link_force.assign(push)
        changes.append((changed, push))
        step(solver, loads, contacts)
        history.keep()
    for (changed, push), (pose, *motion, count, body, impulse) in zip(changes, history.read(), strict=True):
        start, end = end, pose
        contact = contact_forces(count, body, impulse, links)
        touching += contact.any()
        acceleration, wrench = (array.astype(float)[:, :3] for array in motion)
        terms = (contact, wrench[1:], tree.mass[:, None] * acceleration, tree.mass.sum() * DOWN)
        largest = max(np.abs(term).max(initial=0.0) for term in terms)
        assert np.abs(wrench[0]).max() < 1e-4 * largest
        held = at_the_middle(wrench, start, end)
        given_on = np.zeros((links, 3))
        np.add.at(given_on, tree.parent[1:], held[1:])
        total = contact + held - given_on + tree.mass[:, None] * DOWN + push
        if not changed:  # a kick that straddles the change of a push has its mean
            assert np.abs(tree.mass[:, None] * acceleration - total).max() < 1e-4 * largest
    assert touching


@pytest.mark.parametrize("path", ["generic", "fused"])
def test_a_limit_met_in_flight_changes_no_momentum(device, path):
    """A joint that falls into its limit while nothing touches the ground: p grows by m g h in every step, to 1e-5 of m |v|,
    and L about the centre of mass stays."""
    met = 0
    for seed in range(12):
        tree = random_tree(seed, 3, fixed_base=False)
        dofs = len(tree.dof_link)
        if dofs == 0:
            continue
        model, state, control = model_of(tree, device, lower=np.full(dofs, -1.6), upper=np.full(dofs, 1.6))
        root, q, v = random_state(seed, tree)
        rng = np.random.default_rng(seed)
        state.set_initial(
            root_pose=root[None], velocity=np.append(v[:6], rng.uniform(2.0, 8.0, dofs)), dof_position=0.8 * q
        )
        solver = Solver(model, state, control, time_step=DT, path=path)
        solver.update_kinematics()
        history = History((state.link_pose, state.link_velocity, state.dof_limit_force), 41)
        history.keep()
        for _ in range(40):
            solver.step()
            history.keep()
        rows = history.read()
        p, spin = zip(*(momenta(tree, pose, velocity) for pose, velocity, _ in rows), strict=True)
        largest = max(np.abs(tree.mass[:, None] * velocity[:, :3]).max() for _, velocity, _ in rows)
        assert np.abs(np.diff(p, axis=0) - tree.mass.sum() * DOWN * DT).max() < 1e-5 * largest
        assert np.abs(np.array(spin) - spin[0]).max() < 1e-4 * np.abs(spin).max()
        met += sum(bool(force.any()) for _, _, force in rows)
    assert met > 5


def momenta(tree, pose, velocity):
    """Linear momentum, and angular momentum about the common centre of mass."""
    pose, velocity, mass = pose.astype(float), velocity.astype(float), tree.mass[:, None]
    place = pose[:, :3] + quaternion_rotate(pose[:, 3:], tree.com)
    linear = mass * velocity[:, :3]
    arm = place - (mass * place).sum(0) / mass.sum()
    turned = quaternion_rotate(pose[:, 3:] * [-1, -1, -1, 1], velocity[:, 3:])
    own = quaternion_rotate(pose[:, 3:], np.einsum("kij,kj->ki", tree.inertia, turned))
    return linear.sum(0), (np.cross(arm, linear) + own).sum(0)


def at_the_middle(force, start, end):
    """Forces of joints in the directions of their mean; given are those that turned with the link to the end of the step."""
    first, last = start[:, 3:].astype(float), end[:, 3:].astype(float)
    middle = last + np.where((first * last).sum(1, keepdims=True) < 0.0, -1.0, 1.0) * first
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    return quaternion_rotate(middle, quaternion_rotate(last * [-1, -1, -1, 1], force))


def two_trees(seed, device):
    """Two floating trees of one environment."""
    trees = [random_tree(seed + k, 3, fixed_base=False) for k in range(2)]
    kinds = [ArticulationType(False, t.parent, t.dof_link, t.dof_rotational) for t in trees]
    rng = np.random.default_rng(seed)
    dofs = sum(len(t.dof_link) for t in trees)

    def joined(name):
        return np.concatenate([getattr(t, name) for t in trees])

    model = build_model(
        types=kinds,
        articulation_type=[0, 1],
        articulation_environment=[0, 0],
        environment_count=1,
        link={name: joined(name) for name in ("rest_pose", "mass", "com", "inertia")},
        dof={
            "axis": joined("dof_axis"),
            "anchor": joined("dof_anchor"),
            "armature": joined("armature"),
            **random_actuators(rng, dofs),
        },
        device=device,
    )
    return trees, model


@given(seed=SEEDS)
@settings(deadline=None, max_examples=20)
def test_forces_on_jointed_trees_add_up(device, seed):
    """Two trees on a spherical joint with a tendon between them, mimic joints and fixed tendons inside, on the ground."""
    rng = np.random.default_rng(seed)
    trees, model = two_trees(seed, device)
    state, control = State(model), Control(model)
    states = [random_state(seed + k, tree) for k, tree in enumerate(trees)]
    roots = np.array([r for r, _, _ in states])
    roots[:, :3] = [[0.0, 0.0, 0.4], [0.5, 0.0, 0.4]]
    q = np.concatenate([p for _, p, _ in states])
    state.set_initial(root_pose=roots, velocity=0.5 * np.concatenate([v for *_, v in states]), dof_position=q)
    Solver(model, state, control).update_kinematics()
    # frame 1 of the joint is where frame 0 is at the start
    place = state.link_pose.numpy()[[1, 4]].astype(float)
    back = place[1, 3:] * [-1, -1, -1, 1]
    frame1 = np.array([*quaternion_rotate(back, place[0, :3] - place[1, :3]), 0.0, 0.0, 0.0, 1.0])
    joint = {"link0": [1], "link1": [4], "frame1": [frame1], "locked": [[1, 1, 1, 0, 0, 0]]}
    own = [k for k, tree in enumerate(trees) if len(tree.dof_link) > 1]
    first = np.array([0, len(trees[0].dof_link)])[own]
    mimic = {"dof": first, "reference": first + 1, "offset": -q[first] - q[first + 1]} if own else None
    tendons = {"stiffness": np.full(len(own), 30.0), "damping": np.full(len(own), 1.0)} if own else None
    axes = {"tendon": np.repeat(np.arange(len(own)), 2), "dof": np.stack((first, first + 1), 1).ravel()}
    joints = JointModel(
        model,
        joint=joint,
        mimic=mimic,
        fixed_tendon=tendons,
        fixed_tendon_axis=axes if own else None,
        spatial_tendon={"stiffness": [60.0], "damping": [2.0]},
        attachment={
            "tendon": [0, 0],
            "link": [2, 5],
            "parent": [-1, 0],
            "leaf": [0, 1],
            "rest_length": [0.0, 0.3],
        },
    )
    contacts = random_spheres(rng, model, 6)
    solver = Solver(model, state, control, contacts, joints=joints, time_step=DT)
    loads = StepLoads(solver)
    solver.update_kinematics()
    masses = np.concatenate([tree.mass for tree in trees])
    pulled, touching = 0, 0
    history = history_of(solver, loads, contacts, joints.joint_impulse)
    for _ in range(40):
        step(solver, loads, contacts)
        history.keep()
    for _, *motion, count, body, impulse, joint_impulse in history.read():
        contact = contact_forces(count, body, impulse, 6)
        acceleration, wrench = (array.astype(float)[:, :3] for array in motion)
        pull = joint_impulse[0, :3] / DT
        touching += contact.any()
        pulled += np.abs(pull).max() > 1.0
        inside = np.delete(wrench, [0, 3], axis=0)
        largest = max(np.abs(x).max() for x in (contact, inside, pull, masses[:, None] * acceleration))
        # no joint of a tree is at a root
        assert np.abs(wrench[[0, 3]]).max() < 1e-4 * largest
        # from outside: of all there is, gravity and the ground alone
        missing = masses @ acceleration - contact.sum(0) - masses.sum() * DOWN
        assert np.abs(missing).max() < 1e-3 * largest
    assert pulled > 20
    assert touching
