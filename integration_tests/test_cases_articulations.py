"""Real-world cases of articulations, from their stages."""

import math
import pathlib

import numpy as np
import pytest

DT = 1.0 / 240.0
FOLDERS = [
    pathlib.Path(__file__).parent / "data" / "cases",
    pathlib.Path(__file__).parents[1] / "packages" / "usd" / "tests" / "data" / "cases",
]


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


def leaves(paths):
    return [path.rpartition("/")[2] for path in paths]


def test_040_exchanged_bodies_move_alike(host, measure, device, give):
    view = opened("040", device)
    arms = {name: view.create_articulation_view(f"/World/{name}") for name in ("ArmA", "ArmB")}
    for arm in arms.values():
        assert leaves(arm.link_paths[0]) == ["base", "link1", "link2"]
        assert arm.max_dofs == 2
    lift = host(arms["ArmB"].get_root_transforms())[0, :3] - host(arms["ArmA"].get_root_transforms())[0, :3]
    np.testing.assert_allclose(np.abs(lift), [0, 0, 3], atol=1e-6)
    for _ in range(240):
        view.step(DT)
        poses = [host(arm.get_link_transforms())[0, :, :3] for arm in arms.values()]
        measure("040: links of both arms apart", np.abs(poses[1] - lift - poses[0]).max(), 1e-4, "m")
    q = [host(arm.get_dof_positions())[0] for arm in arms.values()]
    np.testing.assert_allclose(q[1], q[0] * [1, -1], atol=1e-4)
    for arm, sign in zip(arms.values(), (1, -1), strict=True):
        arm.set_dof_positions(give([[0, sign * math.radians(30)]]), None)
        root, pose = host(arm.get_root_transforms())[0, :3], host(arm.get_link_transforms())[0, 2]
        angle = 2 * math.atan2(pose[5], pose[6])
        com = pose[:3] + 0.5 * np.array([math.cos(angle), math.sin(angle), 0])
        np.testing.assert_allclose(com - root, [1.433013, 0.25, 0], atol=1e-5)


def test_041_fixed_bases_stay(host, device):
    view = opened("041", device)
    half = math.sqrt(0.5)
    expected = {"A": ([1, 2, 0.5], [1, 2.5, 0.5]), "B": ([4, 2, 0.5], [4, 2.5, 0.5])}
    arms = {name: view.create_articulation_view(f"/World/{name}") for name in "ABC"}
    start = {name: host(arm.get_root_transforms())[0] for name, arm in arms.items()}
    for name, (root, link) in expected.items():
        np.testing.assert_allclose(start[name], [*root, 0, 0, half, half], atol=1e-5)
        np.testing.assert_allclose(host(arms[name].get_link_transforms())[0, 1, :3], link, atol=1e-5)
    run(view, 100)
    for name, arm in arms.items():
        assert arm.get_metatype(0).fixed_base
        assert arm.max_dofs == 1
        np.testing.assert_allclose(host(arm.get_root_transforms())[0], start[name], atol=1e-5)
        assert np.isfinite(host(arm.get_link_transforms())).all()


def test_043_two_roots_are_one_articulation(host, measure, device, give):
    view = opened("043", device)
    robot = view.create_articulation_view("/World/Robot/Arm")
    assert (robot.count, robot.max_links, robot.max_dofs) == (1, 5, 3)
    everything = view.create_articulation_view("/World/Robot/*")
    assert set(everything.prim_paths) == set(robot.prim_paths)
    bodies = view.create_rigid_body_view(["/World/Robot/Arm/l2", "/World/Robot/Gripper/l0"])
    spin = host(robot.get_root_velocities())
    spin[:, 3:] = [0, 0, 1]
    robot.set_root_velocities(give(spin), None)
    start = host(bodies.get_transforms())[:, :3]
    assert np.linalg.norm(start[1] - start[0]) == pytest.approx(0.3, abs=1e-6)
    for _ in range(480):
        view.step(DT)
        places = host(bodies.get_transforms())[:, :3]
        measure("043: weld, change of length", abs(np.linalg.norm(places[1] - places[0]) - 0.3), 2e-3, "m")


def test_044_closed_loop(host, measure, device, give):
    view = opened("044", device)
    loop = view.create_articulation_view("/World/FourBar")
    assert (loop.max_links, loop.max_dofs) == (4, 3)
    names = loop.shared_metatype.dof_names
    angles = {"a": 5.0, "b": 5.0, "c": -5.0}
    loop.set_dof_positions(give([[math.radians(angles[name]) for name in names]]), None)
    row = loop.shared_metatype.link_indices
    swing = []
    for _ in range(1200):
        view.step(DT)
        poses = host(loop.get_link_transforms())[0]
        ends = []
        for name, point in (("crankB", (0, 0, -0.5)), ("coupler", (1, 0, 0))):
            pose = poses[row[name]]
            t = 2 * math.atan2(pose[4], pose[6])
            ends.append(
                pose[:3]
                + np.array(
                    [
                        math.cos(t) * point[0] + math.sin(t) * point[2],
                        0,
                        -math.sin(t) * point[0] + math.cos(t) * point[2],
                    ]
                )
            )
        measure("044: closure of the loop", np.linalg.norm(ends[0] - ends[1]), 1e-3, "m")
        tilt = 2 * math.degrees(np.linalg.norm(poses[row["coupler"], 3:6]))
        measure("044: tilt of the coupler", tilt, 0.1, "degree")
        swing.append(host(loop.get_dof_positions())[0, names.index("a")])
    q = np.array(swing)
    before = np.flatnonzero((q[:-1] > 0) & (q[1:] <= 0))
    crossing = DT * (before + 1 + q[before] / (q[before] - q[before + 1]))
    measure("044: period, relative error", abs(np.diff(crossing).mean() / 1.2949 - 1), 0.02)


def test_046_breadth_first_everywhere(host, device):
    view = opened("046", device)
    dog = view.create_articulation_view("/World/Dog")
    legs = ("LF", "LH", "RF", "RH")
    kind = dog.shared_metatype
    assert kind.dof_names == [f"{leg}_{joint}" for joint in ("HFE", "KFE") for leg in legs]
    assert kind.link_names == ["torso", *(f"{leg}_{part}" for part in ("THIGH", "SHANK") for leg in legs)]
    jacobian = host(dog.get_jacobians())[0]
    # a joint moves the links below it: thigh and shank of its leg, or the shank alone
    moved = np.abs(jacobian[:, :, 6:]).max(axis=1) > 1e-6
    for number, name in enumerate(kind.dof_names):
        leg, joint = name.split("_")
        below = {f"{leg}_SHANK"} | ({f"{leg}_THIGH"} if joint == "HFE" else set())
        assert {kind.link_names[k] for k in np.flatnonzero(moved[:, number])} == below
    mass = host(dog.get_generalized_mass_matrices())[0, 6:, 6:]
    coupled = np.abs(mass) > 1e-9
    np.testing.assert_array_equal(coupled, np.tile(np.eye(4, dtype=bool), (2, 2)))


def test_047_units_of_drives(host, device):
    view = opened("047", device)
    root = view.create_articulation_view("/World/R")
    for name, values in (
        ("stiffnesses", [22918.312, 400]),
        ("dampings", [4583.662, 80]),
        ("max_forces", [87, 20]),
        ("limits", [[-math.pi / 2, math.pi / 4], [0, 0.04]]),
        ("position_targets", [0.5235988, 0.02]),
    ):
        found = host(getattr(root, f"get_dof_{name}")())[0]
        np.testing.assert_allclose(found, values, rtol=1e-5)
    np.testing.assert_allclose(host(root.get_dof_max_velocities())[0, 0], 1.7453293, rtol=1e-5)


def test_050_jacobians(host, device, give):
    view = opened("050", device)
    link2 = np.zeros((6, 2))
    link2[0], link2[1], link2[5] = (-0.9829629, -0.4829629), (0.9954349, 0.1294095), (1, 1)
    for path, shape in (("/World/Fixed", (1, 2, 6, 2)), ("/World/Floating/base", (1, 3, 6, 8))):
        arm = view.create_articulation_view(path)
        arm.set_dof_positions(give([np.radians([30, 45])]), None)
        arm.set_dof_velocities(give([[1, 2]]), None)
        jacobian = host(arm.get_jacobians())
        assert jacobian.shape == shape
        np.testing.assert_allclose(jacobian[0, -1, :, -2:], link2, atol=1e-5)
        root = host(arm.get_root_velocities())[0] if shape[3] == 8 else []
        np.testing.assert_allclose(
            jacobian[0] @ [*root, 1, 2], host(arm.get_link_velocities())[0][-shape[1] :], atol=1e-5
        )
    np.testing.assert_allclose(jacobian[0, 2, :3, :3], np.eye(3), atol=1e-6)
    np.testing.assert_allclose(jacobian[0, 2, :3, 5], [-0.982963, 0.995435, 0], atol=1e-5)


def test_051_mass_matrix_and_compensation(host, measure, device, give):
    view = opened("051", device)
    arm = view.create_articulation_view("/World/Fixed")
    arm.set_dof_positions(give([[0, math.pi / 2]]), None)
    arm.set_dof_velocities(give([[1, 2]]), None)
    mass = host(arm.get_generalized_mass_matrices())[0]
    np.testing.assert_allclose(mass, [[2, 1 / 3], [1 / 3, 1 / 3]], atol=1e-4)
    np.testing.assert_allclose(host(arm.get_gravity_compensation_forces())[0], [19.62, 0], atol=1e-3)
    coriolis = host(arm.get_coriolis_and_centrifugal_compensation_forces())[0]
    np.testing.assert_allclose(coriolis, [-4, 0.5], atol=1e-3)
    arm.set_dof_velocities(give([[0, 0]]), None)
    arm.set_dof_actuation_forces(arm.get_gravity_compensation_forces(), None)
    run(view, 240)
    measure(
        "051: drift under compensation",
        np.abs(host(arm.get_dof_positions())[0] - (0, math.pi / 2)).max(),
        1e-3,
        "rad",
    )


def test_053_heavy_payload_hangs(host, measure, device):
    view = opened("053", device)
    chain = view.create_articulation_view("/World/Chain")
    run(view, 600, 1 / 120)
    measure("053 a: joints", np.abs(host(chain.get_dof_positions())).max(), 1e-3, "rad")
    force = np.linalg.norm(host(chain.get_link_incoming_joint_force())[0, 1, :3])
    measure("053 a: force of the first joint, relative error", abs(force / 981.49 - 1), 0.01)


def test_053_heavy_payload_swings(host, measure, device, give):
    view = opened("053", device)
    chain = view.create_articulation_view("/World/Chain")
    chain.set_dof_positions(give([[math.radians(10), 0, 0, 0, 0]]), None)
    masses = host(chain.get_masses())[0]

    def energy():
        poses = host(chain.get_link_transforms())[0]
        coms = host(chain.get_coms())[0, :, :3]
        x, y, z, s = poses[:, 3:].T
        height = (
            poses[:, 2]
            + 2 * (x * z - y * s) * coms[:, 0]
            + 2 * (y * z + x * s) * coms[:, 1]
            + (1 - 2 * (x * x + y * y)) * coms[:, 2]
        )
        v = host(chain.get_link_velocities())[0]
        inertia = host(chain.get_inertias())[0].reshape(-1, 3, 3)[:, 1, 1]
        return 0.5 * masses @ (v[:, :3] ** 2).sum(1) + 0.5 * inertia @ v[:, 4] ** 2 + 9.81 * masses @ height

    start, lowest = energy(), None
    angle = []
    for _ in range(600):
        view.step(1 / 120)
        q = host(chain.get_dof_positions())[0]
        assert np.isfinite(q).all()
        angle.append(q[0])
        measure("053 b: links out of line", math.degrees(np.abs(q[1:]).max()), 1.0, "degree")
        lowest = energy()
    q = np.array(angle)
    # the swing is back at its start side where its speed turns
    back = [k for k in range(1, len(q) - 1) if q[k] > q[k - 1] and q[k] >= q[k + 1] and q[k] > 0.1]
    measure("053 b: first return, relative error", abs((back[0] + 1) / 120 / 2.011 - 1), 0.02)
    swing = 9.81 * masses.sum() * (1 - math.cos(math.radians(10)))
    measure("053 b: energy lost in 5 s, relative", abs(lowest - start) / swing, 0.05)


def test_056_kinematic_base(host, measure, device, give):
    view = opened("056", device)
    cabinet = view.create_articulation_view("/World/Cab")
    assert cabinet.get_metatype(0).fixed_base
    force = np.zeros((1, 2, 3), np.float32)
    force[0, 1, 0] = 1.0
    place = np.zeros((1, 2, 3), np.float32)
    for _ in range(120):
        cabinet.apply_forces_and_torques_at_position(give(force), None, give(place), None, False)
        view.step(DT)
    links = host(cabinet.get_link_transforms())[0]
    np.testing.assert_allclose(links[0, :3], [0, 0, 0.5], atol=1e-6)
    measure("056: height of the drawer, error", abs(links[1, 2] - 0.5), 1e-3, "m")
    measure("056: way of the drawer, relative error", abs((links[1, 0] - 0.35) / 0.125 - 1), 0.02)


@pytest.mark.parametrize("name", ["RobotX", "RobotB/Pelvis"])
def test_057_roots_of_floating_chains(name, host, device, give):
    view = opened("057", device)
    chain = view.create_articulation_view(f"/World/{name}")
    links = leaves(chain.link_paths[0])
    assert set(links) == {"Pelvis", "Torso", "Spine", "Chest", "Head"}
    assert chain.max_dofs == 4
    if name != "RobotX":
        assert links == ["Pelvis", "Torso", "Spine", "Chest", "Head"]
    root = view.create_rigid_body_view(chain.link_paths[0][0])
    np.testing.assert_array_equal(host(root.get_transforms()), host(chain.get_root_transforms()))
    before = host(chain.get_link_transforms())[0]
    pose = host(chain.get_root_transforms())
    pose[0, :3] += [3, -2, 1]
    chain.set_root_transforms(give(pose), None)
    moved = host(chain.get_link_transforms())[0]
    np.testing.assert_allclose(moved[:, :3] - before[:, :3], np.tile([3, -2, 1], (5, 1)), atol=1e-5)
    np.testing.assert_allclose(moved[:, 3:], before[:, 3:], atol=1e-6)


@pytest.mark.parametrize("first", [None, "jacobians", "link_transforms", "gravity_compensation_forces"])
def test_081_links_after_a_state_write(first, host, device, give):
    view = opened("081", device)
    arm = view.create_articulation_view("/World/Fixed")
    arm.set_dof_positions(give([[math.pi / 2, 0]]), None)
    arm.set_dof_velocities(give([[1, 0]]), None)
    if first:
        getattr(arm, f"get_{first}")()
    pose, twist = host(arm.get_link_transforms())[0, 2], host(arm.get_link_velocities())[0, 2]
    np.testing.assert_allclose(pose[:3], [0, 1, 0], atol=1e-5)
    angle = 2 * math.atan2(pose[5], pose[6])
    com = pose[:3] + 0.5 * np.array([math.cos(angle), math.sin(angle), 0])
    np.testing.assert_allclose(com, [0, 1.5, 0], atol=1e-5)
    np.testing.assert_allclose(twist, [-1.5, 0, 0, 0, 0, 1], atol=1e-5)
    np.testing.assert_allclose(host(arm.get_dof_positions())[0], np.float32([math.pi / 2, 0]))
    np.testing.assert_array_equal(host(arm.get_dof_velocities())[0], [1, 0])
    floating = view.create_articulation_view("/World/Floating/base")
    before, q = host(floating.get_link_transforms())[0], host(floating.get_dof_positions())
    root = host(floating.get_root_transforms())
    root[0, :3] = [5, 0, 0]
    shift = root[0, :3] - before[0, :3]
    floating.set_root_transforms(give(root), None)
    np.testing.assert_allclose(
        host(floating.get_link_transforms())[0, :, :3] - before[:, :3], np.tile(shift, (3, 1)), atol=1e-5
    )
    np.testing.assert_array_equal(host(floating.get_dof_positions()), q)


def test_090_held_lever(host, measure, device):
    view = opened("090", device)
    lever = view.create_articulation_view("/World/R")
    run(view, 720)
    wrench = host(lever.get_link_incoming_joint_force())[0, 1]
    measure("090: wrench of the joint, error", np.abs(wrench - [0, 0, 19.62, 0, -9.81, 0]).max(), 0.0981, "N")
    effort = host(lever.get_dof_projected_joint_forces())[0, 0]
    measure("090: effort of the drive, relative error", abs(effort / -9.81 - 1), 0.01)
