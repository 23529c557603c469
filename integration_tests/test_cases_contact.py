"""Real-world cases of contacts, from their stages; case 119 is in ``test_field_contacts.py``."""

import pathlib

import numpy as np
import pytest

DT = 1.0 / 240.0
G = 9.81
FOLDERS = [
    pathlib.Path(__file__).parent / "data" / "cases",
    pathlib.Path(__file__).parents[1] / "packages" / "usd" / "tests" / "data" / "cases",
]


def opened(number, device, **options):
    import tensorphys

    path = next(path for folder in FOLDERS for path in folder.glob(f"{number}_*.usda"))
    frontend = "numpy" if device == "cpu" else "warp"
    return tensorphys.create_simulation_view(frontend, stage=path, device=device, **options)


def run(view, seconds, dt=DT):
    for _ in range(round(seconds / dt)):
        view.step(dt)


def test_060_stacked_cubes(device, host, measure):
    view = opened("060", device)
    contacts = view.create_rigid_contact_view(
        ["/World/Top", "/World/Bottom"],
        [["/World/Bottom", "/World/Ground"], ["/World/Top", "/World/Ground"]],
    )
    run(view, 2.0)
    net = host(contacts.get_net_contact_forces(DT))
    matrix = host(contacts.get_contact_force_matrix(DT))
    expected = np.array([[5022.72, 0.0], [-5022.72, 14832.72]])
    measure("060: net forces", np.abs(net[:, 2] / [5022.72, 9810.0] - 1).max(), 0.005)
    measure("060: matrix of forces", np.abs(matrix[..., 2] - expected).max() / 5022.72, 0.005)
    measure("060: sideways", max(np.abs(net[:, :2]).max(), np.abs(matrix[..., :2]).max()) / 5022.72, 0.005)


def test_061_force_and_impulse(device, host, measure):
    dt = 1.0 / 60.0
    view = opened("061", device)
    contacts = view.create_rigid_contact_view("/World/Box")
    run(view, 1.0, dt)
    for divisor, value in ((dt, G), (1.0, 0.1635)):
        force = host(contacts.get_net_contact_forces(divisor))
        measure(f"061: divided by {divisor:.3g}", np.abs(force - [[0, 0, value]]).max() / value, 0.005)


def test_063_a_small_report(device, host, measure):
    import tensorphys

    view = opened("063", device)
    bodies = [f"/World/C{k:02d}" for k in range(12)]
    below = [[path] for path in ("/World/Ground", *bodies[:-1])]
    small = view.create_rigid_contact_view(bodies, below, 4)
    large = view.create_rigid_contact_view(bodies, below, 10000)
    run(view, 1.0)
    full = [host(array) for array in large.get_contact_data(DT)]
    assert (full[4] >= 3).all()
    with pytest.warns(tensorphys.ContactDataOverflowWarning, match=f"is 4, needed are {int(full[4].sum())}"):
        data = [host(array) for array in small.get_contact_data(DT)]
    assert (data[5] + data[4] <= 4).all()
    assert all(np.isfinite(array).all() for array in data)
    for name, contacts in (("small", small), ("large", large)):
        net = host(contacts.get_net_contact_forces(DT))
        ground = host(contacts.get_contact_force_matrix(DT))[0, 0]
        measure(f"063: {name} report, net force", abs(net[0, 2] / G - 1), 0.02)
        measure(f"063: {name} report, force on the ground", abs(ground[2] / (12 * G) - 1), 0.02)


def test_065_inclined_planes(device, host, measure):
    view = opened("065", device)
    bodies = view.create_rigid_body_view(["/World/BStick", "/World/BSlide"])
    contacts = view.create_rigid_contact_view(["/World/BStick"], [["/World/SStick"]], 16)
    start = host(bodies.get_transforms())[:, :3]
    run(view, 1.0)
    after = host(bodies.get_transforms())[:, :3]
    measure("065: 20 degrees, speed", np.linalg.norm(host(bodies.get_velocities())[0, :3]), 1e-3, "m/s")
    measure("065: 30 degrees, way of 1 s", abs(np.linalg.norm(after - start, axis=1)[1] / 0.3286 - 1), 0.03)
    run(view, 2.0)
    later = host(bodies.get_transforms())[:, :3]
    measure("065: 20 degrees, way of 2 s", np.linalg.norm(later - after, axis=1)[0], 1e-3, "m")
    force = host(contacts.get_contact_force_matrix(DT))[0, 0]
    friction = host(contacts.get_friction_data(DT)[0]).sum(axis=0)
    angle = np.deg2rad(20.0)
    up, along = np.array([np.sin(angle), 0, np.cos(angle)]), np.array([-np.cos(angle), 0, np.sin(angle)])
    measure("065: normal force", abs(force @ up / 9.2184 - 1), 0.01)
    measure("065: friction up the slope", abs(friction @ along / 3.3552 - 1), 0.01)


def test_067_contacts_of_bodies_asleep(device, host, measure):
    dt = 1.0 / 60.0
    view = opened("067", device)
    paths = ["/World/Awake", "/World/Asleep"]
    bodies = view.create_rigid_body_view(paths)
    contacts = view.create_rigid_contact_view(paths, [["/World/Ground"]] * 2, 32)
    run(view, 20.0, dt)
    force = host(contacts.get_net_contact_forces(dt))
    measure("067: force after 20 s", np.abs(force - [0, 0, G]).max() / G, 0.005)
    assert (host(contacts.get_contact_data(dt)[4]) >= 3).all()
    drift = np.abs(host(bodies.get_transforms())[:, :2] - [[0, 0], [2, 0]]).max()
    measure("067: drift in 20 s", drift, 1e-4, "m")


@pytest.mark.parametrize(
    ("first", "second", "depth", "direction", "count"),
    [
        ("box", ("box", 1.9999, 0), 1e-4, (-1, 0, 0), 4),
        (("box", 1.9999, 0), "box", 1e-4, (1, 0, 0), 4),
        ("box", ("ball", 1.9, 0), 0.1, (-1, 0, 0), 1),
        (("ball", 1.9, 0), "box", 0.1, (1, 0, 0), 1),
        ("box", ("box", 2.01, 0), -0.01, (-1, 0, 0), 4),
        ("small", ("small", 0, 0.98), 0.02, (0, 0, -1), 1),
        ("box", ("capsule", 1.9, 0), 0.1, (-1, 0, 0), 2),
    ],
)
def test_069_normals_and_manifolds(first, second, depth, direction, count, device):
    """The normal points from shape 1 to shape 0 for all pairs; swapping the shapes flips it."""
    import warp as wp

    import tensorphys_contact as tc

    sizes = {"box": (1, 1, 1), "ball": (1, 0, 0), "small": (0.5, 0, 0), "capsule": (1, 0.5, 0)}
    kinds = {
        "box": tc.ShapeType.BOX,
        "ball": tc.ShapeType.SPHERE,
        "small": tc.ShapeType.SPHERE,
        "capsule": tc.ShapeType.CAPSULE,
    }
    rows = [entry if isinstance(entry, tuple) else (entry, 0, 0) for entry in (first, second)]
    model = tc.build_model(
        shape_type=[kinds[name] for name, _x, _z in rows],
        shape_size=[sizes[name] for name, _x, _z in rows],
        shape_body=[0, 1],
        shape_environment=[0, 0],
        environment_count=1,
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]] * 2,
        contact_offset=np.full(2, 0.01),
        rest_offset=np.zeros(2),
        shape_material=np.zeros(2, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        pairs=[[0, 1]],
        device=device,
    )
    contacts = tc.create_contacts(model)
    poses = np.array([[x, 0, z, 0, 0, 0, 1] for _name, x, z in rows], np.float32)
    tc.collide(model, wp.array(poses, dtype=wp.transform, device=device), contacts)
    assert int(contacts.count.numpy()[0]) == count
    np.testing.assert_allclose(contacts.separation.numpy()[:count], -depth, atol=1e-5)
    np.testing.assert_allclose(contacts.normal.numpy()[:count], np.tile(direction, (count, 1)), atol=1e-6)
    if count == 4:
        points = contacts.anchor0.numpy()[:4] + poses[0, :3]
        assert ((points[:, 0] >= 0.9998) & (points[:, 0] <= 1.0101)).all()
        np.testing.assert_allclose(np.ptp(points[:, 1:], axis=0), [2.0, 2.0], atol=1e-5)


def test_071_small_box_on_very_large_boxes(device, host, measure, author):
    from pxr import Gf, UsdGeom, UsdPhysics

    heights = []
    for size in (1, 10, 25, 50, 100):
        stage = author()
        fixed = stage.cube("/World/Fixed", 2.0)
        UsdGeom.Xformable(fixed).AddTranslateOp().Set(Gf.Vec3d(0, 0, 0.25))
        UsdGeom.Xformable(fixed).AddScaleOp().Set(Gf.Vec3f(size, size, 0.25))
        stage.xform("/World/Free", (0, 0, 0.6))
        free = stage.stage.GetPrimAtPath("/World/Free")
        UsdPhysics.RigidBodyAPI.Apply(free)
        UsdPhysics.MassAPI.Apply(free).CreateMassAttr(10.0)
        stage.cube("/World/Free/shape", 0.2)
        view = stage.view(device)
        bodies = view.create_rigid_body_view("/World/Free")
        contacts = view.create_rigid_contact_view("/World/Free", ["/World/Fixed"], 16)
        run(view, 3.0, 0.002)
        place = host(bodies.get_transforms())[0, :3]
        heights.append(place[2])
        assert int(host(contacts.get_contact_data(0.002)[4]).sum()) >= 3
        force = host(contacts.get_contact_force_matrix(0.002))[0, 0, 2]
        measure(f"071: half size {size}, height", abs(place[2] - 0.6), 1e-3, "m")
        measure(f"071: half size {size}, force", abs(force / 98.1 - 1), 0.01)
        measure(f"071: half size {size}, drift", np.abs(place[:2]).max(), 1e-3, "m")
    measure("071: spread of heights", np.ptp(heights), 2e-4, "m")


def test_074_collisions_of_jointed_bodies(device, host, measure):
    view = opened("074", device)
    pairs = [("A0", "A1"), ("B0", "B1"), ("C0", "Wall")]
    contacts = view.create_rigid_contact_view(
        [f"/World/{a}" for a, _b in pairs], [[f"/World/{b}"] for _a, b in pairs], 32
    )
    bodies = view.create_rigid_body_view(["/World/A0", "/World/A1"])
    before = host(bodies.get_transforms())
    pushed = np.zeros(3)
    for _ in range(60):
        view.step(DT)
        matrix = host(contacts.get_contact_force_matrix(DT))
        pushed = np.maximum(pushed, np.abs(matrix[:, 0]).max(axis=1))
    assert pushed[0] == 0.0
    # An overlap across a joint or beside one cannot open: its contacts are there, with their depth or a force.
    data = [host(array) for array in contacts.get_contact_data(DT)]
    for row in (1, 2):
        first, count = int(data[5][row, 0]), int(data[4][row, 0])
        assert pushed[row] > 0.0 or (count and data[3][first : first + count].min() < -0.01)
    assert int(data[4][0, 0]) == 0
    measure("074: filtered bodies, way", np.abs(host(bodies.get_transforms()) - before).max(), 1e-6, "m")
    measure("074: filtered bodies, rate", np.abs(host(bodies.get_velocities())[:, 3:]).max(), 1e-4, "rad/s")


def test_076_no_contacts_from_afar(device, host):
    view = opened("076", device, environments="/World/env_*")
    contacts = view.create_rigid_contact_view("/World/env_*/Ball0", ["/World/env_*/Ball1"], 64)
    view.step(DT)
    matrix = host(contacts.get_contact_force_matrix(DT))
    assert matrix.shape == (3, 1, 3)
    assert np.abs(matrix[0]).max() > 0.0
    assert not matrix[1:].any()
    force, _point, normal, _separation, count, start = (host(a) for a in contacts.get_contact_data(DT))
    assert count[0, 0] >= 1
    assert not count[1:].any()
    for row in range(3):
        used = slice(int(start[row, 0]), int(start[row, 0] + count[row, 0]))
        np.testing.assert_allclose((force[used] * normal[used]).sum(axis=0), matrix[row, 0], atol=1e-5)
