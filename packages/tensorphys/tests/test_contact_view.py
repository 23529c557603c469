"""Contact views: what they are of, their arrays, and laws that hold in any motion."""

import logging
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import warp as wp

import tensorphys
from tensorphys.contact_fields import CONTACT_ARRAYS, CONTACT_GETTERS
from tensorphys.contact_pairs import pair_contacts
from tensorphys.contact_reports import ContactReports
from tensorphys.contact_sensors import number_sensors
from tensorphys.core import Core
from tensorphys_arrays import get_frontend
from tensorphys_engine import Simulation
from tensorphys_scene import Bodies, Scene, Shapes, ShapeType, Template, replicate

ROOM = 256


def _pile(stages: SimpleNamespace, environments: int = 1, seed: int = 3) -> Any:
    """A floor that all share and, in each environment, three boxes and a ball thrown together."""
    stage = stages.Author.new()
    stage.ground("/World/Ground")
    rng = np.random.default_rng(seed)

    def fill(path: str, number: int) -> None:
        for k in range(3):
            position = (0.05 * k, 0.03 * number, 0.17 + 0.33 * k)
            velocity = rng.uniform(-0.5, 0.5, 3)
            stage.solid(f"{path}/box{k}", position, "cube", 0.3, 1.0 + k, velocity=velocity)
        stage.solid(f"{path}/ball", (0.33, 0, 0.16), "sphere", 0.15, velocity=(-1, 0, 0))

    return stage.environments(environments, fill, spacing=3.0)


def _host(arrays: Any, values: Any) -> list[np.ndarray]:
    return [arrays.host(value).astype(np.float64) for value in values]


def test_sensors_and_filters_by_pattern(stages: SimpleNamespace) -> None:
    sim = stages.view("numpy", _pile(stages, 3), environments="/envs/*")
    view = sim.create_rigid_contact_view("/envs/*/box[0-1]", ["/World/Ground", "/envs/*/box[1-2]"], 9)
    assert isinstance(view, tensorphys.RigidContactView)
    assert (view.sensor_count, view.filter_count, view.max_contact_data_count) == (6, 2, 9)
    assert view.sensor_paths == [f"/envs/env{e}/box{b}" for e in range(3) for b in range(2)]
    assert view.sensor_names == ["box0", "box1"] * 3
    assert view.filter_paths == [["/World/Ground", f"/envs/env{e}/box{b}"] for e in range(3) for b in (1, 2)]
    assert view.filter_names == [["Ground", "box1"], ["Ground", "box2"]] * 3
    assert view.check()
    lists = sim.create_rigid_contact_view(
        ["/envs/env0/box0", "/envs/env1/ball/Col"],
        [["/envs/env0/box1/Col", "/envs/env0/box2"], ["/World/Ground", "/envs/env1/box0"]],
    )
    assert lists.sensor_paths == ["/envs/env0/box0", "/envs/env1/ball/Col"]
    assert lists.filter_paths == [
        ["/envs/env0/box1/Col", "/envs/env0/box2"],
        ["/World/Ground", "/envs/env1/box0"],
    ]
    plain = sim.create_rigid_contact_view("/envs/*/ball", filter_patterns=[], max_contact_data_count=0)
    assert (plain.sensor_count, plain.filter_count, plain.filter_paths) == (3, 0, [[], [], []])
    sim.invalidate()
    assert not view.check()
    with pytest.raises(tensorphys.InvalidViewError, match="get_net_contact_forces"):
        view.get_net_contact_forces(stages.DT)


@pytest.mark.parametrize("getter", list(CONTACT_GETTERS))
def test_arrays_have_the_shapes_of_the_table_and_stay_the_same(
    stages: SimpleNamespace, arrays: Any, getter: str
) -> None:
    sim = stages.view(arrays, _pile(stages, 2), environments="/envs/*")
    view = sim.create_rigid_contact_view("/envs/*/box*", ["/World/Ground"], ROOM)
    get = getattr(view, f"get_{getter}")

    def listed() -> tuple[Any, ...]:
        result = get(stages.DT)
        return result if isinstance(result, tuple) else (result,)

    first = listed()
    names = CONTACT_GETTERS[getter]
    assert len(first) == len(names)
    unsigned = {"uint32": "int32", "uint64": "int64"} if arrays.name == "torch" else {}
    for name, array in zip(names, first, strict=True):
        field = CONTACT_ARRAYS[name]
        assert tuple(array.shape) == field.shape(6, 1, ROOM)
        host = arrays.host(array)
        assert host.dtype == np.dtype(unsigned.get(field.dtype, field.dtype))
        assert not host.any()  # no step yet
    for _ in range(20):
        sim.step(stages.DT)
    assert all(a is b for a, b in zip(first, listed(), strict=True))
    assert all(
        arrays.host(array).any() for name, array in zip(names, first, strict=True) if "start" not in name
    )


def test_contact_and_friction_data_share_counts_and_starts(stages: SimpleNamespace) -> None:
    sim = stages.view("numpy", _pile(stages))
    view = sim.create_rigid_contact_view("/envs/env0/box0", ["/World/Ground"], 8)
    assert view.get_contact_data(1.0)[4] is view.get_friction_data(1.0)[2]
    assert view.get_contact_data(1.0)[5] is view.get_friction_data(1.0)[3]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_laws_in_motion(stages: SimpleNamespace, arrays: Any, seed: int) -> None:
    """Slices add up to the matrix, pairs are opposite, rows add up to the net force; so do raw data."""
    sim = stages.view(arrays, _pile(stages, 2, seed), environments="/envs/*")
    names = ["box0", "box1", "box2", "ball"]
    sensors = [f"/envs/env{e}/{name}" for e in range(2) for name in names]
    filters = [
        [*(f"/envs/env{e}/{name}" for name in names), "/World/Ground"] for e in range(2) for _ in names
    ]
    view = sim.create_rigid_contact_view(sensors, filters, ROOM)
    seen = 0.0
    for _ in range(8):
        for _ in range(5):
            sim.step(stages.DT)
        (net,) = _host(arrays, [view.get_net_contact_forces(stages.DT)])
        (matrix,) = _host(arrays, [view.get_contact_force_matrix(stages.DT)])
        force, point, normal, separation, count, start = _host(arrays, view.get_contact_data(stages.DT))
        scale = max(np.abs(matrix).max(), 1.0)
        seen = max(seen, scale)
        count, start = count.astype(int), start.astype(int)
        flat = count.reshape(-1)
        np.testing.assert_array_equal(start.reshape(-1), np.cumsum(flat) - flat)
        for cell in np.ndindex(count.shape):
            rows = slice(start[cell], start[cell] + count[cell])
            total = (force[rows] * normal[rows]).sum(axis=0)
            np.testing.assert_allclose(total, matrix[cell], atol=1e-5 * scale)
            assert (separation[rows] < 0.06).all()
        used = int(flat.sum())
        np.testing.assert_allclose(np.linalg.norm(normal[:used], axis=1), 1.0, atol=1e-5)
        for array in (force, point, normal, separation):
            assert not array[used:].any()
        for e in range(2):
            pairs = matrix[4 * e : 4 * e + 4, :4]
            np.testing.assert_allclose(pairs, -pairs.swapaxes(0, 1), atol=1e-6 * scale)
            assert (count[4 * e : 4 * e + 4, :4] == count[4 * e : 4 * e + 4, :4].T).all()
        np.testing.assert_allclose(matrix.sum(axis=1), net, atol=1e-5 * scale)
        friction = _host(arrays, view.get_friction_data(stages.DT))[0]
        (rubs,) = _host(arrays, [view.get_friction_contact_force_matrix(stages.DT)])
        for cell in np.ndindex(count.shape):
            rows = slice(start[cell], start[cell] + count[cell])
            np.testing.assert_allclose(friction[rows].sum(axis=0), rubs[cell], atol=1e-5 * scale)
        (net_friction,) = _host(arrays, [view.get_net_friction_contact_forces(stages.DT)])
        np.testing.assert_allclose(rubs.sum(axis=1), net_friction, atol=1e-5 * scale)
        raw = _host(arrays, view.get_raw_contact_data(stages.DT))
        np.testing.assert_array_equal(raw[4], count.sum(axis=1))
        for sensor, (first, number) in enumerate(zip(raw[5].astype(int), raw[4].astype(int), strict=True)):
            rows = slice(first, first + number)
            np.testing.assert_allclose(
                (raw[0][rows] * raw[2][rows]).sum(axis=0), net[sensor], atol=1e-5 * scale
            )
    assert seen > 20.0


def test_forces_explain_the_motion(stages: SimpleNamespace) -> None:
    """Contact forces with friction are what changes the momentum of each body beside gravity."""
    sim = stages.view("numpy", _pile(stages))
    bodies = [f"/envs/env0/{name}" for name in ("box0", "box1", "box2", "ball")]
    view = sim.create_rigid_contact_view(bodies, [[*bodies, "/World/Ground"]] * 4, ROOM)
    rigid = sim.create_rigid_body_view(bodies)
    mass = rigid.get_masses()
    for step in range(30):
        before = rigid.get_velocities()[:, :3].copy()
        sim.step(stages.DT)
        change = mass * (rigid.get_velocities()[:, :3] - before) / stages.DT
        friction, _, count, start = view.get_friction_data(stages.DT)
        total = view.get_net_contact_forces(stages.DT).astype(np.float64)
        for sensor in range(4):
            first, last = int(start[sensor, 0]), int(start[sensor, -1] + count[sensor, -1])
            total[sensor] += friction[first:last].sum(axis=0)
        total[:, 2] -= 9.81 * mass[:, 0]
        # The solver's midpoint scheme leaves half a substep of gravity out where a body is first touched.
        bound = 2e-3 * max(np.abs(change).max(), 10.0) + 9.81 * mass / 8
        assert (np.abs(total - change) < bound).all(), step


def test_colliders_of_one_body_are_sensors_and_filters_of_their_own(stages: SimpleNamespace) -> None:
    stage = stages.Author.new()
    stage.ground()
    stage.solid("/World/Table", (0, 0, 0.1), "cube", 0.2, 4.0)
    stage.collider("/World/Table/Right", "cube", 0.2, (0.6, 0, 0))
    stage.solid("/World/Load", (0.6, 0, 0.25), "cube", 0.1, 1.0)
    sim = stages.view("numpy", stage)
    view = sim.create_rigid_contact_view(
        ["/World/Table", "/World/Table/Col", "/World/Table/Right", "/World/Ground", "/World/Load"],
        [["/World/Ground", "/World/Load/Col"]] * 3
        + [["/World/Table/Right", "/World/Table"], ["/World/Table/Right", "/World/Table/Col"]],
        ROOM,
    )
    for _ in range(120):
        sim.step(stages.DT)
    matrix, net = (
        view.get_contact_force_matrix(stages.DT)[..., 2],
        view.get_net_contact_forces(stages.DT)[:, 2],
    )
    weight = 9.81 * 5.0
    assert matrix[0, 0] == pytest.approx(weight, rel=1e-3)
    assert matrix[1, 0] + matrix[2, 0] == pytest.approx(matrix[0, 0], rel=1e-6)
    assert matrix[2, 0] > matrix[1, 0] > 5.0
    np.testing.assert_allclose(matrix[:3, 1], [-9.81, 0.0, -9.81], rtol=2e-3)
    np.testing.assert_allclose(net, [9.81 * 4, matrix[1, 0], matrix[2].sum(), -weight, 9.81], rtol=2e-3)
    np.testing.assert_allclose(matrix[3], [-matrix[2, 0], -matrix[0, 0]], rtol=1e-6)
    np.testing.assert_allclose(matrix[4], [9.81, 0.0], rtol=2e-3)
    counts = view.get_contact_data(stages.DT)[4]
    np.testing.assert_array_equal(counts[:, 0], [8, 4, 4, 4, 4])
    np.testing.assert_array_equal(counts[:, 1], [4, 0, 4, 8, 0])


def test_a_shared_ground_feels_all_environments(stages: SimpleNamespace, device: str) -> None:
    stage = stages.Author.new()
    stage.ground()
    stage.environments(5, lambda path, k: stage.solid(f"{path}/box", (0, 0, 0.1), "cube", 0.2, 1.0 + k))
    sim = stages.view(stages.Arrays("warp", device), stage, environments="/envs/*")
    boxes = [f"/envs/env{e}/box" for e in range(5)]
    view = sim.create_rigid_contact_view(["/World/Ground", "/envs/env2/box"], [boxes, boxes], 64)
    for _ in range(60):
        sim.step(stages.DT)
    mass = np.arange(1.0, 6.0)
    net = view.get_net_contact_forces(stages.DT).numpy()
    np.testing.assert_allclose(net[:, 2], [-9.81 * mass.sum(), 9.81 * 3], rtol=1e-3)
    matrix = view.get_contact_force_matrix(stages.DT).numpy()
    np.testing.assert_allclose(matrix[0, :, 2], -9.81 * mass, rtol=1e-3)
    assert not matrix[1].any()
    force, point, _, _, count, start = [each.numpy() for each in view.get_contact_data(stages.DT)]
    np.testing.assert_array_equal(count, [[4] * 5, [0] * 5])
    assert (force[:20] < 0).all()
    # Points are in the world, not in the frame of each environment.
    origin = sim.simulation.environment_origin
    for e in range(5):
        middle = point[start[0, e] : start[0, e] + 4].mean(axis=0)
        np.testing.assert_allclose(middle, origin[e], atol=1e-3)


@pytest.mark.parametrize("environments", [1, 3])
def test_both_ways_of_indexing_agree_bit_for_bit(
    stages: SimpleNamespace, device: str, environments: int
) -> None:
    """A stable sort of all contacts gives what one thread an environment does."""
    stage = _pile(stages, environments)
    sim = stages.view(stages.Arrays("warp", device), stage, environments="/envs/*")
    core = sim._core
    sensors = ["/envs/*/box*", "/envs/*/ball/Col", "/World/Ground"]
    filters = [["/World/Ground", "/envs/env0/box0"]] * 3
    pairs = pair_contacts(core, sensors, filters, "raise")
    assert pairs is not None
    numbers = number_sensors(
        core.catalog, pairs, sim.simulation.contact_model.shape_body.numpy(), core.device
    )
    reports = [ContactReports(core, numbers, ROOM, each) for each in ("environment", "sorted")]
    for _ in range(4):
        for _ in range(6):
            sim.step(stages.DT)
        for getter in CONTACT_GETTERS:
            one, other = ([a.numpy().copy() for a in each.get(getter, stages.DT)] for each in reports)
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=getter)
    assert one[0].any()


def test_views_follow_contacts_that_have_grown(stages: SimpleNamespace) -> None:
    box = Template(
        prims=("", "/box", "/box/c"),
        bodies=Bodies(path=("/box",), mass=[1.0], inertia=[np.eye(3) * 0.01], pose=[[0, 0, 0.6, 0, 0, 0, 1]]),
        shapes=Shapes(path=("/box/c",), body=[0], type=[int(ShapeType.BOX)], size=[[0.1, 0.1, 0.1]]),
    )
    floor = Template(
        prims=("", "/floor"), shapes=Shapes(path=("/floor",), body=[-1], type=[int(ShapeType.PLANE)])
    )
    scene = replicate(Scene(templates=(box,), shared=floor), 3)
    simulation = Simulation(scene, contact_budget=1)
    sim = tensorphys.SimulationView(Core(simulation, get_frontend("numpy"), conventions="documentation"))
    view = sim.create_rigid_contact_view("/World/envs/*/box", ["/floor"], 12)
    net = view.get_net_contact_forces(stages.DT)
    before = simulation.contacts
    for _ in range(90):
        sim.step(stages.DT)
    assert simulation.contacts is not before
    assert view.get_net_contact_forces(stages.DT) is net
    np.testing.assert_allclose(net, [[0, 0, 9.81]] * 3, atol=1e-2)
    assert view.get_contact_data(stages.DT)[4].tolist() == [[4], [4], [4]]


def test_reset_and_load_forget_contacts(stages: SimpleNamespace) -> None:
    sim = stages.view("numpy", _pile(stages))
    view = sim.create_rigid_contact_view("/envs/env0/box0", ["/World/Ground"], 64)
    for _ in range(10):
        sim.step(stages.DT)
    assert view.get_net_contact_forces(stages.DT)[0, 2] > 0.0
    sim.simulation.reset()
    assert not view.get_net_contact_forces(stages.DT).any()
    assert view.get_contact_data(stages.DT)[4].tolist() == [[0]]


def test_a_replayed_loop_equals_direct_calls(stages: SimpleNamespace, device: str) -> None:
    def run(captured: bool) -> list[np.ndarray]:
        sim = stages.view(stages.Arrays("warp", device), _pile(stages, 2), environments="/envs/*")
        view = sim.create_rigid_contact_view("/envs/*/box*", ["/World/Ground"], ROOM)
        results: list[Any] = []

        def loop() -> None:
            sim.step(stages.DT)
            results.clear()
            for getter in CONTACT_GETTERS:
                got = getattr(view, f"get_{getter}")(stages.DT)
                results.extend(got if isinstance(got, tuple) else (got,))

        loop()
        if captured:
            with wp.ScopedCapture(device=device) as capture:
                loop()
        for _ in range(19):
            if captured:
                wp.capture_launch(capture.graph)
            else:
                loop()
        return [each.numpy().copy() for each in results]

    direct, replayed = run(False), run(True)
    assert direct[0].any()
    for one, other in zip(direct, replayed, strict=True):
        np.testing.assert_array_equal(one, other)


def test_many_explicit_paths_are_fast() -> None:
    """16 boxes, each against 4096 balls by their paths."""
    boxes, balls = ([f"/World/{name}_{i}" for i in range(n)] for name, n in (("Box", 16), ("Ball", 4096)))
    paths = tuple(boxes + balls)
    pose = np.zeros((len(paths), 7))
    pose[:, 0], pose[:, 6] = np.arange(len(paths)), 1.0
    # The balls have no colliders: all pairs of them would take the time.
    template = Template(
        prims=("", "/World", *paths),
        bodies=Bodies(
            path=paths, mass=np.ones(len(paths)), inertia=np.tile(np.eye(3), (len(paths), 1, 1)), pose=pose
        ),
        shapes=Shapes(
            path=tuple(f"{path}/Col" for path in boxes), body=np.arange(16),
            type=np.full(16, int(ShapeType.BOX)), size=np.full((16, 3), 0.1),
        ),
    )  # fmt: skip
    sim = tensorphys.create_simulation_view("numpy", scene=Scene(templates=(template,)), device="cpu")
    start = time.process_time()
    view = sim.create_rigid_contact_view(boxes, [balls] * 16, 100)
    assert time.process_time() - start < 1.0
    assert view.sensor_paths == boxes
    assert view.filter_paths == [balls] * 16
    assert (view.sensor_count, view.filter_count) == (16, 4096)


# What cannot be.


@pytest.fixture
def sim(stages: SimpleNamespace) -> Any:
    return stages.view("numpy", _pile(stages, 2), environments="/envs/*")


def test_getters_without_what_they_need(sim: Any) -> None:
    bare = sim.create_rigid_contact_view("/envs/*/ball")
    for name in ("contact_force_matrix", "contact_data", "friction_data"):
        with pytest.raises(tensorphys.ViewError, match="no filters"):
            getattr(bare, f"get_{name}")(0.01)
    with pytest.raises(tensorphys.ViewError, match="max_contact_data_count"):
        bare.get_raw_contact_data(0.01)
    roomless = sim.create_rigid_contact_view("/envs/*/ball", ["/World/Ground"])
    for name in ("contact_data", "friction_data"):
        with pytest.raises(tensorphys.ViewError, match="max_contact_data_count"):
            getattr(roomless, f"get_{name}")(0.01)
    for dt in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(tensorphys.ViewError, match="dt must be a positive"):
            bare.get_net_contact_forces(dt)
    with pytest.raises(tensorphys.ViewError, match="max_contact_data_count"):
        sim.create_rigid_contact_view("/envs/*/ball", [], -1)


@pytest.mark.parametrize(
    ("pattern", "filters", "error", "text"),
    [
        ("/envs/*/cup", [], tensorphys.NoMatchError, "cup"),
        ("envs/*", [], tensorphys.PatternError, "envs"),
        ("/envs/*", [], tensorphys.NotSuitableError, "rigid body or a collider"),
        ("/envs/*/ball", ["/World/Wall"], tensorphys.NoMatchError, "Wall"),
        ("/envs/*/ball", ["/World"], tensorphys.NotSuitableError, "/World"),
        ("/envs/*/ball", ["/envs/*/box*"], tensorphys.PairingError, "matches 6 paths for 2 sensors"),
        ("/envs/*/ball", [["/World/Ground"]], tensorphys.PairingError, "flat list"),
        (["/envs/*/ball"], ["/World/Ground"], tensorphys.PairingError, "one list of filter patterns for each"),
        (["/envs/*/ball"], [["/World/Ground"]] * 2, tensorphys.PairingError, "1 sensor patterns"),
        (
            ["/envs/*/ball", "/envs/*/box0"], [["/World/Ground"], []], tensorphys.PairingError, "same number",
        ),
    ],
)  # fmt: skip
def test_patterns_that_do_not_fit(
    sim: Any, caplog: pytest.LogCaptureFixture, pattern: Any, filters: Any, error: type, text: str
) -> None:
    with pytest.raises(error, match=text):
        sim.create_rigid_contact_view(pattern, filters)
    # As the known implementation does: logged, with an empty column or no backend.
    with caplog.at_level(logging.WARNING):
        view = sim.create_rigid_contact_view(pattern, filters, on_no_match="empty")
    assert text in caplog.text
    if pattern == "/envs/*/ball" and isinstance(filters[0], str):
        assert view.filter_paths == [[""], [""]]
        sim.step(0.01)
        assert not view.get_contact_force_matrix(0.01).any()
    else:
        assert view._backend is None
        assert (view.sensor_count, view.filter_count, view.sensor_paths, view.check()) == (0, 0, [], False)
        with pytest.raises(tensorphys.ViewError, match="matched nothing"):
            view.get_net_contact_forces(0.01)


def test_prims_that_are_no_sensors_are_left_out_with_a_warning(
    sim: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Filters are paired with what the pattern matched, before anything is left out."""
    view = sim.create_rigid_contact_view("/World/*", ["/World/Ground"])
    assert view.sensor_paths == ["/World/Ground"]
    with caplog.at_level(logging.WARNING):
        view = sim.create_rigid_contact_view(["/envs/env0", "/envs/env0/ball"], [["/World/Ground"]] * 2)
    assert view.sensor_paths == ["/envs/env0/ball"]
    assert view.filter_paths == [["/World/Ground"]]
    assert "1 matched prims are no contact sensors: /envs/env0" in caplog.text


def test_numbers_of_other_actors(sim: Any) -> None:
    view = sim.create_rigid_contact_view("/envs/*/ball", [], 32)
    assert view.get_other_actor_paths_from_ids(np.zeros(2, np.uint64)) == ["", ""]
    with pytest.raises(tensorphys.DataError, match="100000"):
        view.get_other_actor_paths_from_ids([100000])
