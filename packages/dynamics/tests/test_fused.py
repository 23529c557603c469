"""The fused path against the generic one, and against itself."""

from dataclasses import replace

import numpy as np
import pytest
import warp as wp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tensorphys_dynamics import ArticulationType, ModelError, Solver, build_model, fused
from tensorphys_dynamics.state import Control, State
from tensorphys_dynamics.testing import SpheresOnPlane, model_of, random_state, random_tree, robots
from tensorphys_dynamics.testing.two_paths import differences_of_single_steps, random_columns, rough_columns

# Largest difference of the two paths after a step with contacts, over the largest value. An impact repeats its passes and
# carries rounding further than a quiet step: the generic path against itself, moved by one rounding, differs by 9e-4 in
# the scenes here. On an H200 1.05e-3 was measured.
BOUND = {"cpu": 1e-3, "cuda:0": 2e-3}


def scene(tree, device, path, *, seed=0, copies=2, spheres=0, columns=None, damping=0.0, reach=0.05):
    """A solver with its contacts; the same for every path."""
    rng = np.random.default_rng(seed)
    count = len(tree.dof_link)
    model, state, control = model_of(tree, device, copies=copies, **(columns or {}))
    model.link_linear_damping.fill_(damping)
    starts = [random_state(seed * 10 + i, tree) for i in range(copies)]
    for root, _, _ in starts:
        root[2] = 0.3
    state.set_initial(
        root_pose=np.array([s[0] for s in starts]),
        dof_position=np.concatenate([s[1] for s in starts]),
        velocity=np.concatenate([s[2] for s in starts]),
    )
    if tree.fixed_base:  # a base that somebody moves
        state.root_velocity.assign(rng.normal(size=(copies, 6)).astype(np.float32) * 0.1)
    for name, size in (("position_target", count), ("velocity_target", count), ("actuation", count)):
        if count:
            getattr(control, name).assign(np.tile(rng.normal(size=size) * 0.5, copies).astype(np.float32))
    contacts = None
    if spheres:
        contacts = SpheresOnPlane(
            model,
            link=rng.integers(0, len(tree.parent), spheres),
            center=rng.normal(size=(spheres, 3)) * 0.1,
            radius=np.full(spheres, 0.15),
            reach=reach,
            restitution=0.3,
        )
    solver = Solver(model, state, control, contacts, path=path, velocity_passes=2, time_step=1 / 60)
    solver.update_kinematics()
    return solver


def group_source(monkeypatch):
    """Make the CPU run the source of CUDA, with groups of one lane and little room for contacts."""
    choose = fused.choose_size_class

    def one_lane(*given, cuda):
        size = choose(*given, cuda=True)
        return replace(size, lanes=1, pool=min(size.pool, 256))

    monkeypatch.setattr(fused, "choose_size_class", one_lane)


@pytest.mark.parametrize("links", [4, 9])
@pytest.mark.parametrize("fixed_base", [True, False])
@pytest.mark.parametrize("spheres", [0, 12])
def test_steps_equal_the_generic_path(device, links, fixed_base, spheres):
    for seed in (1, 3):
        tree = random_tree(seed, links, fixed_base=fixed_base)
        columns = random_columns(np.random.default_rng(seed), len(tree.dof_link))
        pair = [
            scene(tree, device, path, seed=seed, spheres=spheres, columns=columns)
            for path in ("generic", "fused")
        ]
        errors = differences_of_single_steps(*pair, 12)
        assert pair[1].launch_count == 1
        # whether passes repeat turns on a bound: rounding may decide it otherwise
        assert max(errors) < (BOUND[device] if spheres else 2e-5)
        assert np.median(errors) < (1e-4 if spheres else 1e-5)


@pytest.mark.parametrize("source", ["own", "group"])
@pytest.mark.parametrize("fixed_base", [True, False])
@pytest.mark.parametrize("spheres", [0, 8])
def test_friction_and_envelopes_equal_the_generic_path(device, fixed_base, spheres, source, monkeypatch):
    if source == "group":
        if device != "cpu":
            pytest.skip("CUDA runs that source anyway")
        group_source(monkeypatch)
    errors = []
    for seed in (1, 2, 3, 4):
        tree = random_tree(seed, 7, fixed_base=fixed_base)
        columns = rough_columns(np.random.default_rng(seed), len(tree.dof_link))
        pair = [
            scene(tree, device, path, seed=seed, spheres=spheres, columns=columns)
            for path in ("generic", "fused")
        ]
        errors += differences_of_single_steps(*pair, 20)
        assert np.abs(pair[0].state.dof_friction_force.numpy()).max() > 0.1
    # whether a joint rests turns on a bound, and so does the corner of an envelope under contact load: rounding
    # may decide it otherwise (one rounding of a velocity moves the generic path by as much)
    assert np.median(errors) < (2e-5 if spheres else 1e-5)
    assert np.quantile(errors, 0.9) < (BOUND[device] if spheres else 2e-5)


@pytest.mark.parametrize("fixed_base", [True, False])
def test_the_source_for_groups_of_lanes_equals_the_generic_path(fixed_base, monkeypatch):
    group_source(monkeypatch)
    tree = random_tree(3, 5, fixed_base=fixed_base)
    columns = random_columns(np.random.default_rng(3), len(tree.dof_link))
    pair = [scene(tree, "cpu", path, seed=3, spheres=12, columns=columns) for path in ("generic", "fused")]
    assert max(differences_of_single_steps(*pair, 12)) < 3e-4


@given(
    seed=st.integers(0, 10_000),
    links=st.integers(3, 6),
    fixed_base=st.booleans(),
    damping=st.sampled_from([0, 0.5]),
)
@settings(max_examples=12)
def test_random_trees_equal_the_generic_path(seed, links, fixed_base, damping):
    tree = random_tree(seed, links, fixed_base=fixed_base)
    assume(fixed_base is False or len(tree.dof_link) > 0)
    columns = random_columns(np.random.default_rng(seed), len(tree.dof_link))
    pair = [
        scene(tree, "cpu", path, seed=seed, columns=columns, damping=damping) for path in ("generic", "fused")
    ]
    assert max(differences_of_single_steps(*pair, 3)) < 2e-5


@pytest.mark.parametrize("name", ["humanoid", "ant", "arm", "cartpole"])
def test_robots_equal_the_generic_path_and_stay_sound(device, name):
    robot = getattr(robots, name)()
    solvers = []
    for path in ("generic", "fused"):
        model, state, control = model_of(robot.tree, device, copies=2, **robot.dof)
        contacts = None
        if robot.sphere_link:
            shapes = {"link": robot.sphere_link, "center": robot.sphere_center, "radius": robot.sphere_radius}
            contacts = SpheresOnPlane(model, **shapes)
        root = np.tile([0.0, 0.0, robot.height, 0.0, 0.0, 0.0, 1.0], (2, 1))
        q = np.linspace(-0.2, 0.3, model.dof_count)
        state.set_initial(root_pose=root, dof_position=q)
        solver = Solver(model, state, control, contacts, path=path, time_step=1 / 60)
        solver.update_kinematics()
        solvers.append(solver)
    errors = differences_of_single_steps(*solvers, 60)
    # whether passes repeat in an impact turns on a bound: rounding may decide it otherwise, and the passes carry
    # rounding further than the one of a quiet step; one unit in the last place of a velocity does the same
    assert max(errors) < 5e-3
    assert np.quantile(errors, 0.9) < BOUND[device]
    assert np.median(errors) < 2e-5
    if name in ("humanoid", "ant"):
        assert (solvers[1].contact_normal_impulse.numpy() > 0.0).sum() > 2


class SelfContact:
    """One contact between two links of one articulation and one of a link with the world, both touching."""

    def __init__(self, model, link0, link1):
        device, copies = model.device, model.environment_count
        links = model.link_count // copies
        per = [(link0, link1), (link1, -1)]
        flat = [(a + e * links, b + e * links if b >= 0 else -1) for e in range(copies) for a, b in per]
        ints = lambda v: wp.array(np.asarray(v, np.int32), dtype=wp.int32, device=device)  # noqa: E731
        self.slot_start, self.count = ints(2 * np.arange(copies + 1)), ints([2] * copies)
        self.environment = ints(np.repeat(np.arange(copies), 2))
        self.body0, self.body1 = ints([a for a, _ in flat]), ints([b for _, b in flat])
        self.key = wp.array(np.tile([3, 8], copies).astype(np.int64), dtype=wp.int64, device=device)
        self.anchor0 = wp.full(2 * copies, wp.vec3(0.05, 0.02, -0.03), dtype=wp.vec3, device=device)
        self.anchor1 = wp.zeros(2 * copies, dtype=wp.vec3, device=device)
        self.normal = wp.zeros(2 * copies, dtype=wp.vec3, device=device)
        self.rest_distance = wp.zeros(2 * copies, dtype=wp.float32, device=device)
        for name in ("static_friction", "dynamic_friction"):
            setattr(self, name, wp.full(2 * copies, 0.6, dtype=wp.float32, device=device))
        self.restitution = wp.full(2 * copies, 0.2, dtype=wp.float32, device=device)

    def collide(self, link_pose):
        """Touch where anchor 0 stands now, with a normal that depends on the pose alone."""
        pose = link_pose.numpy()

        def carry(t, p):
            q, v = t[3:], np.asarray(p)
            turned = v + 2 * q[3] * np.cross(q[:3], v) + 2 * np.cross(q[:3], np.cross(q[:3], v))
            return t[:3] + turned

        anchors, normals = [], []
        for a, b, p in zip(self.body0.numpy(), self.body1.numpy(), self.anchor0.numpy(), strict=True):
            point = carry(pose[a], p)
            n = np.cos(np.array([1.0, 2.0, 3.0]) + point)
            n /= np.linalg.norm(n)
            point = point + 1e-3 * n  # a little inside
            if b >= 0:
                q = pose[b][3:] * [-1, -1, -1, 1]
                point = carry(np.concatenate(([0, 0, 0], q)), point - pose[b][:3])
            anchors.append(point)
            normals.append(n)
        self.anchor1.assign(np.array(anchors, np.float32))
        self.normal.assign(np.array(normals, np.float32))


@pytest.mark.parametrize(("source", "fixed_base"), [("own", True), ("own", False), ("group", False)])
def test_contacts_between_links_of_one_articulation_equal_the_generic_path(
    device, fixed_base, source, monkeypatch
):
    if source == "group":
        if device != "cpu":
            pytest.skip("CUDA runs that source anyway")
        group_source(monkeypatch)
    robot = robots.ant()
    tree = replace(robot.tree, fixed_base=fixed_base)
    solvers = []
    for path in ("generic", "fused"):
        solver = scene(tree, device, path, seed=2)
        contacts = SelfContact(solver.model, 2, 6)
        solvers.append(Solver(solver.model, solver.state, solver.control, contacts, path=path))
    loads: list[int] = []
    errors = differences_of_single_steps(*solvers, 10, loads)
    assert max(errors) < 1e-4
    assert loads and max(loads) > 0


def test_bits_repeat_and_do_not_depend_on_neighbours(device):
    robot = robots.ant()

    def run(copies):
        model, state, control = model_of(robot.tree, device, copies=copies, **robot.dof)
        shapes = {"link": robot.sphere_link, "center": robot.sphere_center, "radius": robot.sphere_radius}
        contacts = SpheresOnPlane(model, **shapes)
        root = np.tile([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0], (copies, 1))
        q = np.tile(np.linspace(-0.2, 0.3, 8), (copies, 1))
        q[:-1] += np.arange(copies - 1)[:, None] * 0.01 + 0.05  # only the last one is the same
        state.set_initial(root_pose=root, dof_position=q.ravel())
        solver = Solver(model, state, control, contacts, path="fused")
        solver.update_kinematics()
        for _ in range(30):
            contacts.collide(state.link_pose)
            solver.step()
        return state.velocity.numpy()[-14:], state.link_pose.numpy()[-9:]

    alone = run(1)
    for copies in (1, 5):
        again = run(copies)
        assert all(np.array_equal(a, b) for a, b in zip(alone, again, strict=True))


def test_more_contacts_than_fast_memory_holds(device):
    tree = random_tree(3, 4, fixed_base=False)
    pair = [scene(tree, device, path, seed=5, spheres=90, reach=9.0) for path in ("generic", "fused")]
    errors = differences_of_single_steps(*pair, 4)
    assert pair[1].contacts.count.numpy().max() > fused.LOCAL_CONTACTS
    assert max(errors) < 1e-3


def test_a_graph_replays_the_step_bit_for_bit(device):
    tree = random_tree(1, 5, fixed_base=False)
    direct, recorded = (scene(tree, device, "fused") for _ in range(2))
    direct.step()
    recorded.step()
    with wp.ScopedCapture(device=device) as capture:
        recorded.step()
    wp.capture_launch(capture.graph)
    direct.step()
    assert np.array_equal(direct.state.velocity.numpy(), recorded.state.velocity.numpy())


def two_in_one_environment():
    kind = ArticulationType(
        fixed_base=False, parent=[-1], dof_link=np.zeros(0, np.int32), dof_rotational=np.zeros(0, bool)
    )
    return build_model(
        types=[kind],
        articulation_type=[0, 0],
        articulation_environment=[0, 0],
        environment_count=1,
        link={"mass": np.ones(2), "inertia": np.tile(np.eye(3), (2, 1, 1))},
        dof={},
        device="cpu",
    )


def test_what_does_not_fit_takes_the_generic_path_and_says_why():
    model = two_in_one_environment()
    state, control = State(model), Control(model)
    assert "exactly one articulation" in fused.supports(model)
    assert Solver(model, state, control).path == "generic"
    with pytest.raises(ModelError, match="exactly one articulation"):
        Solver(model, state, control, path="fused")
    with pytest.raises(ModelError, match="'auto', 'generic' or 'fused'"):
        Solver(model, state, control, path="quick")
