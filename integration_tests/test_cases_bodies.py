"""Real-world cases of rigid bodies, array frontends and the tensor API, from their stages."""

import pathlib

import numpy as np
import pytest

DT = 1.0 / 240.0
FOLDERS = [
    pathlib.Path(__file__).parent / "data" / "cases",
    pathlib.Path(__file__).parents[1] / "packages" / "usd" / "tests" / "data" / "cases",
]
INDICES = {
    "int64": np.array([2, 0], np.int64),
    "int32": np.array([2, 0], np.int32),
    "uint32": np.array([2, 0], np.uint32),
    "list": [2, 0],
}


def opened(number, device="cpu"):
    import tensorphys

    path = next(path for folder in FOLDERS for path in folder.glob(f"{number}_*.usda"))
    frontend = "numpy" if device == "cpu" else "warp"
    return tensorphys.create_simulation_view(frontend, stage=path, device=device)


@pytest.fixture
def give(device):
    """Array of the frontend that `opened` takes."""

    def make(values, dtype=np.float32, on=device):
        values = np.asarray(values, dtype)
        if device == "cpu":
            return values
        import warp as wp

        return wp.array(values, dtype=wp.dtype_from_numpy(values.dtype), device=on)

    return make


def run(view, steps, dt=DT):
    for _ in range(steps):
        view.step(dt)


@pytest.mark.parametrize("kind", list(INDICES))
def test_025_index_types(kind, host):
    bodies = opened("025").create_rigid_body_view("/World/B*")
    start = host(bodies.get_transforms())
    data = start.copy()
    data[:, 2] = [5, 6, 7]
    bodies.set_transforms(data, INDICES[kind])
    np.testing.assert_array_equal(host(bodies.get_transforms())[:, 2], [5, start[1, 2], 7])


def test_025_masks_are_refused(host):
    bodies = opened("025").create_rigid_body_view("/World/B*")
    for bad in (np.array([True, False, True]), np.array([2.0, 0.0])):
        with pytest.raises(TypeError):
            bodies.set_transforms(bodies.get_transforms(), bad)


def test_026_layouts_and_precisions(host):
    rng = np.random.default_rng(7)
    big = np.zeros((3, 13), np.float32)
    big[:, 3:6] = rng.uniform(-5, 5, (3, 3))
    big[:, 6:10] = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    wanted = np.ascontiguousarray(big[:, 3:10])
    layouts = (big[:, 3:10], np.asfortranarray(wanted), wanted.astype(np.float64), big.T[3:10].T)
    view = opened("026")
    bodies = view.create_rigid_body_view("/World/B*")
    for data in layouts:
        bodies.set_transforms(np.tile([0, 0, 0, 0, 0, 0, 1], (3, 1)), None)
        bodies.set_transforms(data, None)
        np.testing.assert_allclose(host(bodies.get_transforms()), wanted, atol=1e-6)
    buffer = bodies.get_transforms()
    buffer[...] = 0
    np.testing.assert_allclose(host(bodies.get_transforms()), wanted, atol=1e-6)


def test_030_torque_free_top(host, measure, device):
    """Euler's equations of inertia (0.1, 0.2, 0.3) about the middle axis, integrated in float64."""
    inertia, h = np.array([0.1, 0.2, 0.3]), DT / 10

    def rate(w):
        return -np.cross(w, inertia * w) / inertia

    w, flip, expected = np.array([0.01, 5.0, 0.01]), None, {}
    for step in range(7200):
        a = rate(w)
        b = rate(w + 0.5 * h * a)
        c = rate(w + 0.5 * h * b)
        following = w + h / 6 * (a + 2 * b + 2 * c + rate(w + h * c))
        if flip is None and w[1] > 0 >= following[1]:
            flip = (step + 1) * h
        w = following
        expected[step + 1] = w
    view = opened("030", device)
    bodies = view.create_rigid_body_view(["/World/Top", "/World/TopRot"])
    found = None
    for step in range(1, 721):
        view.step(DT)
        poses, twists = host(bodies.get_transforms()), host(bodies.get_velocities())
        x, y, z, s = poses[0, 3:]
        turn = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * s), 2 * (x * z + y * s)],
                [2 * (x * y + z * s), 1 - 2 * (x * x + z * z), 2 * (y * z - x * s)],
                [2 * (x * z - y * s), 2 * (y * z + x * s), 1 - 2 * (x * x + y * y)],
            ]
        )
        body = turn.T @ twists[0, 3:]
        momentum = turn @ (inertia * body)
        measure("030: angular momentum, error", np.abs(momentum - (0.001, 1.0, 0.003)).max(), 0.01)
        measure("030: energy, relative error", abs(0.5 * inertia @ body**2 / 2.50002 - 1), 0.01)
        if found is None and body[1] <= 0:
            found = step * DT
        if step == 240:
            measure("030: body rate after 1 s, error", np.abs(body - expected[2400]).max(), 0.15, "rad/s")
        np.testing.assert_allclose(poses[1] - poses[0], [2, 0, 0, 0, 0, 0, 0], atol=1e-3)
        np.testing.assert_allclose(twists[1], twists[0], atol=1e-3)
    measure("030: first flip, relative error", abs(found / flip - 1), 0.08)


@pytest.mark.filterwarnings(
    "ignore:shapes that collide as convex hulls"
)  # where no decomposition is installed
def test_031_mass_of_meshes(host, device, give):
    view = opened("031", device)
    bodies = view.create_rigid_body_view(["/World/A", "/World/B"])
    np.testing.assert_allclose(host(bodies.get_masses())[:, 0], [1000, 3000], rtol=1e-4)
    np.testing.assert_allclose(
        host(bodies.get_coms())[:, :3], [[0.5, 0.5, 0.5], [5 / 6, 5 / 6, 0.5]], atol=1e-5
    )
    inertias = host(bodies.get_inertias()).reshape(2, 3, 3)
    np.testing.assert_allclose(inertias[0], np.eye(3) * 1000 / 6, rtol=1e-4, atol=0.02)
    second = [[3500 / 3, 1000 / 3, 0], [1000 / 3, 3500 / 3, 0], [0, 0, 5500 / 3]]
    np.testing.assert_allclose(inertias[1], second, rtol=1e-4, atol=0.05)


def test_034_bodies_without_sound_inertia_fall(host, measure, device, give):
    view = opened("034", device)
    bodies = view.create_rigid_body_view("/World/*")
    names = [path.rpartition("/")[2] for path in bodies.prim_paths]
    assert sorted(names) == ["A", "B", "C", "D", "E"]
    masses = dict(zip(names, host(bodies.get_masses())[:, 0], strict=True))
    assert (masses["A"], masses["B"], masses["D"]) == (2.0, 1.0, 3.0)
    inertias = host(bodies.get_inertias()).reshape(-1, 3, 3)
    np.testing.assert_allclose(inertias[names.index("D")], np.eye(3) * 0.02, rtol=1e-5, atol=1e-7)
    assert (np.linalg.eigvalsh(inertias) > 0).all()
    start = host(bodies.get_transforms())[:, 2]
    spin = np.zeros((5, 6), np.float32)
    spin[:, 5] = 1.0
    bodies.set_velocities(give(spin), None)
    run(view, 240)
    assert np.isfinite(host(bodies.get_transforms())).all()
    fallen = start - host(bodies.get_transforms())[:, 2]
    measure("034: fall of 1 s, relative error", np.abs(fallen / 4.905 - 1).max(), 0.01)


def test_036_sliding_box_stays_flat(host, measure, device):
    view = opened("036", device)
    box = view.create_rigid_body_view("/World/Box")
    start = host(box.get_transforms())[0]
    if not host(box.get_velocities()).any():
        pytest.fail("the box is authored with a speed of 6 m/s")
    stopped, dt = None, 0.005
    for step in range(1, 281):
        view.step(dt)
        pose, speed = host(box.get_transforms())[0], host(box.get_velocities())[0]
        measure("036: height of the centre, error", abs(pose[2] - 0.05), 1e-3, "m")
        angle = 2 * np.degrees(np.linalg.norm(pose[3:6]))
        measure("036: tilt or yaw", angle, 0.5, "degree")
        if step == 100:
            measure("036: speed after 0.5 s, relative error", abs(speed[0] / 3.5475 - 1), 0.02)
        if stopped is None and speed[0] < 1e-3:
            stopped = step * dt
    measure("036: time to stop, relative error", abs(stopped / 1.2232 - 1), 0.03)
    measure("036: way to stop, relative error", abs((pose[0] - start[0]) / 3.6697 - 1), 0.03)


def test_080_quaternions_are_real_last(host, device, give):
    import tensorphys

    bodies = opened("080", device).create_rigid_body_view(["/World/Yaw", "/World/Roll"])
    rotations = host(bodies.get_transforms())[:, 3:]
    half = np.sqrt(0.5)
    np.testing.assert_allclose(rotations, [[0, 0, half, half], [0.25881905, 0, 0, 0.96592583]], atol=1e-6)
    for given, kept in (
        ([0, 0, 0, 1], [0, 0, 0, 1]),
        ([1, 0, 0, 0], [1, 0, 0, 0]),
        ([0, 0, 0, 2], [0, 0, 0, 1]),
    ):
        bodies.set_transforms(give([[0, 0, 1, *given]] * 2), None)
        np.testing.assert_allclose(host(bodies.get_transforms())[:, 3:], [kept] * 2, atol=1e-7)

    def refuse():
        bodies.set_transforms(give([[0, 0, 1, 0, 0, 0, 0]] * 2), None)
        bodies.check()  # what the host cannot see of device arrays is told here

    with pytest.raises(tensorphys.DataError):
        refuse()


def test_082_velocity_of_the_centre_of_mass(host, measure, device, give):
    view = opened("082", device)
    rod = view.create_rigid_body_view("/World/Rod")
    rod.set_velocities(give([[0, 1, 0, 0, 0, 2]]), None)
    np.testing.assert_array_equal(host(rod.get_velocities())[0], [0, 1, 0, 0, 0, 2])
    steps = 380
    run(view, steps, np.pi / 2 / steps)
    pose = host(rod.get_transforms())[0]
    measure("082: origin after half a turn, error", np.abs(pose[:3] - (1.0, np.pi / 2, 0)).max(), 0.01, "m")
    np.testing.assert_allclose(np.abs(pose[3:]), [0, 0, 1, 0], atol=1e-3)
    run(view, steps, np.pi / 2 / steps)
    pose = host(rod.get_transforms())[0]
    measure("082: origin after a turn, error", np.abs(pose[:3] - (0, np.pi, 0)).max(), 0.01, "m")


def test_083_rows_are_the_bodies_of_their_paths(host, measure, device, give):
    view = opened("083", device)
    bodies = view.create_rigid_body_view(["/World/envs/*/Cube", "/World/envs/*/Ball"])
    assert bodies.prim_paths == [f"/World/envs/env_{i}/{name}" for name in ("Cube", "Ball") for i in range(3)]
    force = np.zeros((6, 3), np.float32)
    force[:, 0] = np.arange(6) + 1
    for _ in range(240):
        bodies.apply_forces(give(force), None)
        view.step(DT)
    speeds = [host(view.create_rigid_body_view(path).get_velocities())[0, 0] for path in bodies.prim_paths]
    measure("083: speed of each row, error", np.abs(speeds - (np.arange(6) + 1.0)).max(), 1e-3, "m/s")


def test_088_gravity_switched_off(host, measure, device, give):
    view = opened("088", device)
    bodies = view.create_rigid_body_view(["/World/A", "/World/B", "/World/C"])
    bodies.set_disable_gravities(give([[1], [0], [1]], np.uint8, "cpu"), None)
    np.testing.assert_array_equal(host(bodies.get_disable_gravities())[:, 0], [1, 0, 1])
    start = host(bodies.get_transforms())[:, 2]
    run(view, 120)
    fallen = start - host(bodies.get_transforms())[:, 2]
    measure("088: bodies without gravity, way", np.abs(fallen[[0, 2]]).max(), 1e-6, "m")
    measure("088: fall of 0.5 s, relative error", abs(fallen[1] / 1.22625 - 1), 0.01)
    bodies.set_disable_gravities(give([[0], [0], [0]], np.uint8, "cpu"), give([0], np.int32, "cpu"))
    run(view, 120)
    after = start - host(bodies.get_transforms())[:, 2]
    measure("088: fall when switched on again, relative error", abs(after[0] / 1.22625 - 1), 0.01)
    assert abs(after[2]) < 1e-6


def test_091_partial_reset(host, measure, device, give):
    view = opened("091", device)
    bodies = view.create_rigid_body_view("/World/S*")
    start = host(bodies.get_transforms())
    run(view, 120)
    rows = give([1, 6], np.int32)
    bodies.set_transforms(give(start), rows)
    bodies.set_velocities(give(np.zeros((8, 6))), rows)
    run(view, 120)
    height, speed = host(bodies.get_transforms())[:, 2], host(bodies.get_velocities())[:, 2]
    expected = np.where(np.isin(np.arange(8), [1, 6]), 1.22625, 4.905)
    measure("091: fall, relative error", np.abs((5 - height) / expected - 1).max(), 0.01)
    np.testing.assert_allclose(speed, np.where(expected < 2, -4.905, -9.81), rtol=1e-3)
