"""Contact views in known situations: weights, friction, buffers that are too small, bodies that rest for long."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorphys

G = 9.81


def _run(sim: Any, steps: int, dt: float) -> None:
    for _ in range(steps):
        sim.step(dt)


def test_boxes_at_rest_read_their_weight(stages: SimpleNamespace, arrays: Any) -> None:
    """32 environments by two patterns; friction and neighbours do not matter."""
    stage = stages.Author.new()
    stage.ground()
    stage.environments(32, lambda path, _: stage.solid(f"{path}/box", (0, 0, 0.15), "cube", 0.3))
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_rigid_contact_view(["/envs/env[0-9]/box", "/envs/env[1-3][0-9]/box"])
    assert view.sensor_paths == [f"/envs/env{k}/box" for k in range(32)]
    _run(sim, 60, stages.DT)
    for _ in range(20):
        sim.step(stages.DT)
        net = arrays.host(view.get_net_contact_forces(stages.DT))
        np.testing.assert_allclose(net, np.tile([0, 0, G], (32, 1)), atol=1e-2)


def test_an_articulation_on_a_box(stages: SimpleNamespace, arrays: Any) -> None:
    """Links are sensors and filters; what the robot exerts on the box is what the box exerts on the robot."""
    count = 3

    def fill(path: str, _: int) -> None:
        stage.solid(f"{path}/box", (0, 0, 0.25), "cube", 0.5)
        stage.xform(f"{path}/crab", (0, 0, 0.6))
        torso = f"{path}/crab/torso"
        stage.body(torso, mass=2.0, inertia=(0.02, 0.02, 0.02))
        stage.collider(f"{torso}/Col", "cube", 0.2)
        stage.articulation(torso)
        for name, side in (("left", 1), ("right", -1)):
            arm = f"{path}/crab/{name}_arm"
            stage.body(arm, (0, 0.25 * side, 0), mass=0.3, inertia=(0.002, 0.002, 0.002))
            stage.collider(f"{arm}/Col", "cube", 0.1)
            stage.joint(
                f"{path}/crab/joints/{name}", "revolute", torso, arm,
                at0=(0, 0.15 * side, 0), at1=(0, -0.1 * side, 0), drive={"stiffness": 20.0, "damping": 1.0},
            )  # fmt: skip

    stage = stages.Author.new()
    stage.ground()
    stage.environments(count, fill)
    sim = stages.view(arrays, stage, environments="/envs/*")
    links = sim.create_rigid_contact_view("/envs/*/crab/*")
    articulation = sim.create_articulation_view("/envs/*/crab/torso")
    assert links.sensor_count == 3 * count
    indices = articulation.shared_metatype.link_indices
    assert [indices[name] for name in links.sensor_names] == [0, 1, 2] * count
    torso = sim.create_rigid_contact_view("/envs/*/crab/torso", ["/envs/*/box"], 16 * count)
    box = sim.create_rigid_contact_view("/envs/*/box", ["/envs/*/crab/torso", "/World/Ground"], 16 * count)
    _run(sim, 120, stages.DT)
    dt = stages.DT
    matrix = arrays.host(box.get_contact_force_matrix(dt))
    np.testing.assert_array_equal(arrays.host(torso.get_contact_force_matrix(dt))[:, 0], -matrix[:, 0])
    np.testing.assert_allclose(matrix[:, 0], np.tile([0, 0, -2.6 * G], (count, 1)), atol=0.05)
    np.testing.assert_allclose(matrix[:, 1, 2], 3.6 * G, rtol=2e-3)
    np.testing.assert_allclose(arrays.host(box.get_net_contact_forces(dt))[:, 2], G, rtol=1e-2)
    net = arrays.host(links.get_net_contact_forces(dt)).reshape(count, 3, 3)
    np.testing.assert_allclose(net[:, 0, 2], 2.6 * G, rtol=2e-3)
    assert not net[:, 1:].any()


def test_force_matrix_of_a_ball_over_a_box(stages: SimpleNamespace, arrays: Any) -> None:
    """The ball hovers, then rests on the box; then something pushes the box against its friction."""
    count, dt = 4, stages.DT

    def fill(path: str, _: int) -> None:
        stage.solid(f"{path}/box", (0, 0, 0.5), "cube", 1.0)
        stage.solid(f"{path}/ball", (0, 0, 1.5), "sphere", 0.25)

    stage = stages.Author.new()
    stage.ground()
    stage.environments(count, fill)
    sim = stages.view(arrays, stage, environments="/envs/*")
    balls = sim.create_rigid_contact_view("/envs/*/ball", ["/envs/*/box"], 4 * count)
    boxes = sim.create_rigid_contact_view("/envs/*/box", ["/World/Ground", "/envs/*/ball"], 16 * count)
    assert boxes.filter_paths == [["/World/Ground", f"/envs/env{k}/ball"] for k in range(count)]
    bodies = sim.create_rigid_body_view("/envs/*/ball")
    bodies.set_disable_gravities(arrays.cpu.make(np.ones((count, 1)), np.uint8), None)
    _run(sim, 60, dt)
    assert not arrays.host(balls.get_net_contact_forces(dt)).any()
    up = np.tile([0, 0, G], (count, 1))
    np.testing.assert_allclose(arrays.host(boxes.get_net_contact_forces(dt)), up, atol=1e-2)
    bodies.set_disable_gravities(arrays.cpu.make(np.zeros((count, 1)), np.uint8), None)
    poses = arrays.host(bodies.get_transforms())
    poses[:, 2] = 1.25
    bodies.set_transforms(arrays.make(poses), None)
    _run(sim, 60, dt)
    np.testing.assert_allclose(arrays.host(balls.get_contact_force_matrix(dt))[:, 0], up, atol=1e-2)
    matrix = arrays.host(boxes.get_contact_force_matrix(dt))
    np.testing.assert_allclose(matrix[:, 0], 2 * up, atol=2e-2)
    np.testing.assert_allclose(matrix[:, 1], -up, atol=1e-2)
    pushed = sim.create_rigid_body_view("/envs/*/box")
    force = arrays.make(np.tile([5.0, 0, 0], (count, 1)))
    for _ in range(30):
        pushed.apply_forces(force, None)
        sim.step(dt)
    friction, point, number, start = (arrays.host(each) for each in boxes.get_friction_data(dt))
    origin = sim.simulation.environment_origin
    for k in range(count):
        rows = slice(int(start[k, 0]), int(start[k, 0] + number[k, 0]))
        np.testing.assert_allclose(friction[rows].sum(axis=0), [-5.0, 0, 0], atol=0.05)
        np.testing.assert_allclose(point[rows].mean(axis=0), origin[k], atol=2e-2)
        assert np.ptp(point[rows, 0]) == pytest.approx(1.0, abs=1e-3)


def test_raw_data_names_what_is_touched(stages: SimpleNamespace, arrays: Any) -> None:
    count, dt = 2, stages.DT

    def fill(path: str, _: int) -> None:
        stage.solid(f"{path}/lower", (0, 0, 0.2), "cube", 0.4)
        stage.solid(f"{path}/upper", (0, 0, 0.6), "cube", 0.4)

    stage = stages.Author.new()
    stage.ground()
    stage.environments(count, fill)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_rigid_contact_view("/envs/*/*", max_contact_data_count=64)
    _run(sim, 60, dt)
    data = view.get_raw_contact_data(dt)
    paths = view.get_other_actor_paths_from_ids(data[-1])
    force, point, normal, separation, number, start, other = (arrays.host(each) for each in data)
    np.testing.assert_array_equal(number, [8, 4] * count)
    np.testing.assert_array_equal(start, [0, 8, 12, 20])
    assert other[:24].all()
    assert not other[24:].any()
    assert not any(paths[24:])
    for k, path in enumerate(view.sensor_paths):
        rows = slice(int(start[k]), int(start[k] + number[k]))
        pushes = force[rows] * normal[rows]
        np.testing.assert_allclose(pushes.sum(axis=0), [0, 0, G], atol=2e-2)
        root, _, name = path.rpartition("/")
        touched = {"lower": {f"{root}/upper", "/World/Ground"}, "upper": {f"{root}/lower"}}[name]
        assert set(paths[rows]) == touched
        for push, place, with_what in zip(pushes, point[rows], paths[rows], strict=True):
            assert (push[2] > 0) == (with_what != f"{root}/upper")
            assert place[2] == pytest.approx(0.0 if with_what == "/World/Ground" else 0.4, abs=2e-3)
        assert (np.abs(separation[rows]) < 1e-3).all()


# Reported by users of other engines.


def test_stacked_cubes(stages: SimpleNamespace) -> None:
    """Neither swapped nor of the wrong sign [IsaacLab 1238, 2193, 697]."""
    stage = stages.Author.new()
    stage.ground()
    stage.solid("/World/Bottom", (0, 0, 0.5), "cube", 1.0, 1000.0)
    stage.solid("/World/Top", (0, 0, 1.4), "cube", 0.8, 512.0)
    sim = stages.view("numpy", stage)
    view = sim.create_rigid_contact_view(
        ["/World/Top", "/World/Bottom"],
        [["/World/Bottom", "/World/Ground"], ["/World/Top", "/World/Ground"]],
    )
    _run(sim, 120, stages.DT)
    net, matrix = view.get_net_contact_forces(stages.DT), view.get_contact_force_matrix(stages.DT)
    np.testing.assert_allclose(net[:, 2], [5022.72, 9810.0], rtol=5e-3)
    np.testing.assert_allclose(matrix[:, :, 2], [[5022.72, 0.0], [-5022.72, 14832.72]], rtol=5e-3)
    assert np.abs(matrix[:, :, :2]).max() < 5e-3 * 5022.72


@pytest.mark.parametrize("substeps", [1, 4, 8])
def test_impulse_over_the_whole_step_divided_by_dt(stages: SimpleNamespace, substeps: int) -> None:
    """The argument is a divisor and nothing else, however many substeps [IsaacLab 364, OmniIsaacGymEnvs 107]."""
    stage = stages.Author.new()
    stage.ground()
    stage.solid("/World/Box", (0, 0, 0.15), "cube", 0.3, substeps=substeps)
    sim = stages.view("numpy", stage)
    assert sim.simulation.substeps == substeps
    view = sim.create_rigid_contact_view("/World/Box", ["/World/Ground"], 8)
    _run(sim, 60, stages.DT)
    np.testing.assert_allclose(view.get_net_contact_forces(stages.DT), [[0, 0, G]], atol=0.005 * G)
    np.testing.assert_allclose(view.get_net_contact_forces(1.0), [[0, 0, 0.1635]], atol=0.005 * 0.1635)
    np.testing.assert_allclose(view.get_contact_force_matrix(1.0)[0], [[0, 0, 0.1635]], atol=0.005 * 0.1635)
    assert np.abs(view.get_contact_data(0.5)[0]).sum() == pytest.approx(0.327, rel=5e-3)


def _tower(stages: SimpleNamespace, **options: Any) -> Any:
    stage = stages.Author.new()
    stage.ground()
    for k in range(12):
        stage.solid(f"/World/C{k:02d}", (0, 0, 0.05 + 0.1 * k), "cube", 0.1)
    sim = stages.view("numpy", stage, **options)
    below = ["/World/Ground", *(f"/World/C{k:02d}" for k in range(11))]
    sensors = [f"/World/C{k:02d}" for k in range(12)]
    return sim, sensors, [[path] for path in below]


def test_a_buffer_that_is_too_small_says_what_is_needed(stages: SimpleNamespace) -> None:
    """Counts stay inside, forces stay right [newton 3702, PhysX PR 357]."""
    sim, sensors, below = _tower(stages)
    small = sim.create_rigid_contact_view(sensors, below, 6)
    large = sim.create_rigid_contact_view(sensors, below, 10000)
    _run(sim, 30, stages.DT)
    full = large.get_contact_data(stages.DT)
    assert (full[4] >= 3).all()
    needed = int(full[4].sum())
    for get in (small.get_contact_data, small.get_friction_data):
        with pytest.warns(tensorphys.ContactDataOverflowWarning, match=f"is 6, needed are {needed}"):
            data = get(stages.DT)
        small._told = 0
        count, start = data[-2:]
        assert (start + count <= 6).all()
        assert count.sum() == 6
        np.testing.assert_array_equal(count[:3, 0], [4, 2, 0])
    with pytest.warns(tensorphys.ContactDataOverflowWarning, match="/World/C00 and 11 other sensors"):
        raw = small.get_raw_contact_data(stages.DT)
    assert (raw[5] + raw[4] <= 6).all()
    data = small.get_contact_data(stages.DT)
    for one, whole in zip(data[:4], full[:4], strict=True):
        np.testing.assert_array_equal(one, whole[:6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            small.get_contact_data(stages.DT)  # told once
    # Forces are right whatever fits the buffers.
    for view in (small, large):
        assert view.get_net_contact_forces(stages.DT)[0, 2] == pytest.approx(G, rel=0.02)
        assert view.get_contact_force_matrix(stages.DT)[0, 0, 2] == pytest.approx(12 * G, rel=0.02)


def test_a_buffer_that_is_too_small_by_policy_and_convention(stages: SimpleNamespace) -> None:
    sim, sensors, below = _tower(stages, on_overflow="raise")
    view = sim.create_rigid_contact_view(sensors, below, 4)
    _run(sim, 10, stages.DT)
    for _ in range(2):
        with pytest.raises(tensorphys.ContactDataOverflowError, match="is 4, needed are"):
            view.get_contact_data(stages.DT)
    assert view.check()
    sim, sensors, below = _tower(stages, conventions="runtime")
    view = sim.create_rigid_contact_view(sensors, below, 6)
    _run(sim, 60, stages.DT)
    with pytest.warns(tensorphys.ContactDataOverflowWarning):
        data = view.get_contact_data(stages.DT)
    assert (data[4] == 4).all()
    np.testing.assert_array_equal(data[5][:, 0], 4 * np.arange(12))
    assert data[0][:6].all()


def test_contacts_persist_when_bodies_rest(stages: SimpleNamespace) -> None:
    """Twenty seconds at rest, one body authored asleep [BEHAVIOR-1K PR 1977]."""
    stage = stages.Author.new()
    stage.ground()
    stage.solid("/World/Awake", (0, 0, 0.15), "cube", 0.3)
    stage.solid("/World/Asleep", (2, 0, 0.15), "cube", 0.3, asleep=True)
    stage.stage.GetPrimAtPath("/World/Awake").AddAppliedSchema("PhysxRigidBodyAPI")  # with its threshold
    sim = stages.view("numpy", stage)
    view = sim.create_rigid_contact_view(["/World/Awake", "/World/Asleep"], [["/World/Ground"]] * 2, 32)
    bodies = sim.create_rigid_body_view(["/World/Awake", "/World/Asleep"])
    _run(sim, 1200, stages.DT)
    np.testing.assert_allclose(view.get_net_contact_forces(stages.DT), [[0, 0, G]] * 2, atol=0.005 * G)
    assert (view.get_contact_data(stages.DT)[4] >= 3).all()
    assert bodies.get_sleep_states().all()
    drift = bodies.get_transforms()[:, :2] - [[0, 0], [2, 0]]
    assert np.abs(drift).max() < 1e-4


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("other", ["cube", "sphere"])
def test_normals_points_and_depth(stages: SimpleNamespace, swapped: bool, other: str) -> None:
    """From shape 1 to shape 0, in stage order; forces act on the sensor [coal 144, 614, mujoco 1136, fcl 384]."""
    stage = stages.Author.new(gravity=0.0)
    solids = [("A", (0, 0, 0), "cube", 2.0), ("B", (1.9999 if other == "cube" else 1.9, 0, 0), other, 2.0)]
    solids[1] = (*solids[1][:3], 2.0 if other == "cube" else 1.0)
    for name, position, kind, size in reversed(solids) if swapped else solids:
        velocity = (-0.5 * (name == "B"), 0, 0)
        stage.solid(f"/World/{name}", position, kind, size, velocity=velocity)
    sim = stages.view("numpy", stage)
    view = sim.create_rigid_contact_view(["/World/A", "/World/B"], [["/World/B"], ["/World/A"]], 16)
    sim.step(1e-4)
    force, point, normal, separation, count, _ = view.get_contact_data(1e-4)
    expected = 4 if other == "cube" else 1
    np.testing.assert_array_equal(count[:, 0], [expected, expected])
    used = slice(0, 2 * expected)
    np.testing.assert_allclose(
        normal[used], np.tile([1.0 if swapped else -1.0, 0, 0], (2 * expected, 1)), atol=1e-6
    )
    depth = 1e-4 if other == "cube" else 0.1
    np.testing.assert_allclose(-separation[used], depth, atol=1e-5)
    # B is pushed away from A.
    pushes = (force * normal)[used, 0].reshape(2, expected).sum(axis=1)
    assert pushes[0] < 0.0 < pushes[1]
    assert pushes[0] == -pushes[1]
    x = point[used, 0]
    assert ((x > 0.9998 - (other == "sphere") * 0.1) & (x < 1.0002)).all()
    if other == "cube":
        np.testing.assert_allclose(np.ptp(point[:4, 1:], axis=0), [2.0, 2.0], atol=1e-3)


def test_no_contacts_of_bodies_that_only_come_near(stages: SimpleNamespace) -> None:
    """Touching, far, and one millimetre apart [Genesis 2008, 1760, ManiSkill 423]."""
    stage = stages.Author.new(gravity=0.0)
    for k, distance in enumerate((0.199, 10.0, 0.201)):
        stage.xform(f"/World/env_{k}", (0, 3.0 * k, 0))
        stage.solid(f"/World/env_{k}/Ball0", (0, 0, 1), "sphere", 0.1, velocity=(0.5 * (k == 0), 0, 0))
        stage.solid(f"/World/env_{k}/Ball1", (distance, 0, 1), "sphere", 0.1)
    sim = stages.view("numpy", stage, environments="/World/env_*")
    view = sim.create_rigid_contact_view("/World/env_*/Ball0", ["/World/env_*/Ball1"], 64)
    sim.step(stages.DT)
    matrix = view.get_contact_force_matrix(stages.DT)
    assert matrix.shape == (3, 1, 3)
    assert matrix[0, 0, 0] < -1.0
    assert not matrix[1:].any()
    force, point, normal, _, count, start = view.get_contact_data(stages.DT)
    np.testing.assert_array_equal(count[:, 0], [1, 0, 0])
    np.testing.assert_array_equal(start[:, 0], [0, 1, 1])
    np.testing.assert_allclose(force[0] * normal[0], matrix[0, 0], rtol=1e-6)
    assert not any(each[1:].any() for each in (force, point, normal))


@pytest.mark.parametrize("worlds", [1, 3])
def test_a_pile_presses_with_its_weight(stages: SimpleNamespace, worlds: int) -> None:
    """Boxes and balls dropped into a corner: one second of forces, averaged, after five."""

    def fill(path: str, number: int) -> None:
        rng = np.random.default_rng(number)
        for k in range(8):
            place = rng.uniform(-0.12, 0.12, 2)
            kind, size = ("cube", 0.2) if k % 2 else ("sphere", 0.11)
            stage.solid(f"{path}/body{k}", (*place, 0.15 + 0.28 * k), kind, size, 0.5 + 0.1 * k)
        for k, (x, y) in enumerate(((0.8, 0), (-0.8, 0), (0, 0.8), (0, -0.8))):
            stage.collider(f"{path}/wall{k}", "cube", 1.0, (x, y, 0.5))

    stage = stages.Author.new()
    stage.ground()
    stage.environments(worlds, fill, spacing=4.0)
    sim = stages.view("numpy", stage, environments="/envs/*")
    fixed = [["/World/Ground", *(f"/envs/env{e}/wall{k}" for k in range(4))] for e in range(worlds)]
    bodies = sim.create_rigid_contact_view([f"/envs/env{e}/body*" for e in range(worlds)], fixed, 1000)
    static = sim.create_rigid_contact_view(["/World/Ground", "/envs/*/wall*"])
    weight = G * sum(0.5 + 0.1 * k for k in range(8))
    _run(sim, 300, stages.DT)
    internal, outer = np.zeros(3), np.zeros((worlds, 3))
    for _ in range(60):
        sim.step(stages.DT)
        net = bodies.get_net_contact_forces(stages.DT).sum(axis=0)
        internal += (net + static.get_net_contact_forces(stages.DT).sum(axis=0)) / 60
        outer += bodies.get_contact_force_matrix(stages.DT).reshape(worlds, -1, 3).sum(axis=1) / 60
        friction, _, count, start = bodies.get_friction_data(stages.DT)
        first = start.reshape(worlds, -1)[:, 0]
        for world, rows in enumerate(np.split(friction[: int(count.sum())], first[1:])):
            outer[world] += rows.sum(axis=0) / 60
    # What the bodies exert on one another cancels.
    np.testing.assert_allclose(internal, 0.0, atol=1e-5 * weight)
    np.testing.assert_allclose(outer[:, 2], weight, rtol=1e-3)
    np.testing.assert_allclose(outer[:, :2], 0.0, atol=1e-3 * weight)
