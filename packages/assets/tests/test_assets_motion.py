"""What is read agrees with closed forms, and each frame with the others."""

from __future__ import annotations

import numpy as np
import pytest
from asset_stages import Stage, arm_cfg, cube_cfg, host, make, pair_cfg, pair_stage
from pxr import Sdf, UsdGeom, UsdPhysics

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")

RNG = np.random.default_rng(5)


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors turned by quaternions xyzw."""
    u, w = q[..., :3], q[..., 3:]
    return v + 2.0 * np.cross(u, np.cross(u, v) + w * v)


def random_poses(count: int) -> np.ndarray:
    q = RNG.normal(size=(count, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return np.concatenate((RNG.uniform(-1, 1, (count, 3)), q), axis=1).astype(np.float32)


def test_frames_of_a_spinning_cube_with_its_mass_off_centre() -> None:
    scene, cube = make(Stage(2, gravity=0.0).cubes(com=(0.1, 0, 0)), cube_cfg())
    spin = np.tile([0, 0, 0, 0, 0, 2.0], (2, 1)).astype(np.float32)
    cube.write_root_com_velocity_to_sim_index(root_velocity=spin)
    scene.step(30)
    data = cube.data
    pose, com = host(data.root_link_pose_w), host(data.root_com_pose_w)
    arm = rotate(pose[:, 3:], np.array([[0.1, 0, 0]]))
    np.testing.assert_allclose(com[:, :3], pose[:, :3] + arm, atol=1e-6)
    # The centre of mass stays where it was; the origin goes round it.
    np.testing.assert_allclose(com[:, :3] - [[0.1, 0, 1], [2.1, 0, 1]], 0.0, atol=1e-5)
    link = host(data.root_link_vel_w)
    np.testing.assert_allclose(link[:, :3], np.cross([[0, 0, 2.0]], -arm), atol=1e-4)
    np.testing.assert_array_equal(link[:, 3:], host(data.root_com_vel_w)[:, 3:])
    angle = 0.3 * 2.0
    np.testing.assert_allclose(host(data.heading_w), angle, atol=1e-4)
    np.testing.assert_allclose(host(data.root_link_lin_vel_b), [[0, -0.2, 0]] * 2, atol=1e-4)
    np.testing.assert_allclose(host(data.root_com_lin_vel_b), 0.0, atol=1e-5)
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        state = host(data.root_link_state_w)
    np.testing.assert_array_equal(state, np.concatenate((pose, link), axis=1))


@pytest.mark.parametrize("frame", ["root", "link", "com"])
def test_state_written_in_a_frame_is_read_there_and_fits_in_the_others(frame: str) -> None:
    _, cube = make(Stage(3).cubes(com=(0.1, 0.02, -0.03)), cube_cfg())
    middle = "" if frame == "root" else f"{frame}_"
    poses = random_poses(3)
    velocities = RNG.normal(size=(3, 6)).astype(np.float32)
    getattr(cube, f"write_root_{middle}pose_to_sim_index")(root_pose=poses)
    getattr(cube, f"write_root_{middle}velocity_to_sim_index")(root_velocity=velocities)
    for _ in range(2):
        data = cube.data
        pose = host(data.root_com_pose_w if frame == "com" else data.root_link_pose_w)
        velocity = host(data.root_link_vel_w if frame == "link" else data.root_com_vel_w)
        np.testing.assert_allclose(pose, poses, atol=1e-5)
        np.testing.assert_allclose(velocity, velocities, atol=1e-5)
        link, com = host(data.root_link_pose_w), host(data.root_com_pose_w)
        arm = rotate(link[:, 3:], np.array([[0.1, 0.02, -0.03]]))
        np.testing.assert_allclose(com[:, :3], link[:, :3] + arm, atol=1e-5)
        v_link, v_com = host(data.root_link_vel_w), host(data.root_com_vel_w)
        np.testing.assert_allclose(v_com[:, :3], v_link[:, :3] + np.cross(v_link[:, 3:], arm), atol=1e-5)
        # The engine has the same: read everything from there.
        data.invalidate_all()


def test_free_fall_and_direction_of_gravity() -> None:
    scene, cube = make(Stage(2).cubes(), cube_cfg())
    scene.step(3)
    np.testing.assert_allclose(host(cube.data.body_acc_w)[:, 0], [[0, 0, -9.81, 0, 0, 0]] * 2, atol=1e-4)
    np.testing.assert_array_equal(host(cube.data.GRAVITY_VEC_W), [[0, 0, -1]] * 2)
    gravity = np.array([[0, 0, -9.81], [3.0, 0, 0]], np.float32)
    scene.simulation.set_gravity(gravity)
    scene.step()
    np.testing.assert_array_equal(host(cube.data.GRAVITY_VEC_W), [[0, 0, -1], [1, 0, 0]])
    np.testing.assert_array_equal(host(cube.data.projected_gravity_b), [[0, 0, -1], [1, 0, 0]])
    scene.view.set_gravity((0, 0, 0))
    scene.step()
    np.testing.assert_array_equal(host(cube.data.GRAVITY_VEC_W), 0.0)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("order", [None, "mjwarp"])
def test_jacobians_and_masses_agree_with_velocities(fixed: bool, order: str | None) -> None:
    cfg = arm_cfg(joint_ordering=order, body_ordering=order)
    _, arm = make(Stage(2).arms(fixed=fixed), cfg)
    arm.write_joint_position_to_sim_index(position=RNG.uniform(-0.5, 0.5, (2, 4)).astype(np.float32))
    arm.write_joint_velocity_to_sim_index(velocity=RNG.normal(size=(2, 4)).astype(np.float32))
    if not fixed:
        arm.write_root_pose_to_sim_index(root_pose=random_poses(2))
        arm.write_root_velocity_to_sim_index(root_velocity=RNG.normal(size=(2, 6)).astype(np.float32))
    data = arm.data
    qd = host(data.joint_vel)
    if not fixed:
        qd = np.concatenate((host(data.root_com_vel_w), qd), axis=1)
    first = int(fixed)
    for jacobian, velocity in (
        (data.body_com_jacobian_w, data.body_com_vel_w),
        (data.body_link_jacobian_w, data.body_link_vel_w),
    ):
        seen = np.einsum("nbrc,nc->nbr", host(jacobian), qd)
        np.testing.assert_allclose(seen, host(velocity)[:, first:], atol=2e-5)
    mass, inertia = host(data.body_mass), host(data.body_inertia).reshape(2, 5, 3, 3)
    v = host(data.body_com_vel_w)
    q = host(data.body_link_quat_w)
    local = rotate(np.concatenate((-q[..., :3], q[..., 3:]), axis=-1), v[..., 3:])
    energy = 0.5 * (mass * (v[..., :3] ** 2).sum(-1)).sum(1)
    energy += 0.5 * np.einsum("nbi,nbij,nbj->n", local, inertia, local)
    kinetic = 0.5 * np.einsum("ni,nij,nj->n", qd, host(data.mass_matrix), qd)
    np.testing.assert_allclose(kinetic, energy, rtol=1e-5)
    down = np.einsum("nbrc,nb->ncr", host(data.body_com_jacobian_w)[:, :, :3], mass[:, first:])
    np.testing.assert_allclose(host(data.gravity_compensation_forces), 9.81 * down[..., 2], atol=1e-4)


def test_gravity_compensation_holds_an_arm_still() -> None:
    cfg = arm_cfg(
        actuators={"all": ta.IdealPDActuatorCfg(joint_names_expr=[".*"], stiffness=0.0, damping=0.0)}
    )
    scene, arm = make(Stage(2).arms(), cfg)
    start = np.tile([0.4, -0.3, 0.2, 0.5], (2, 1)).astype(np.float32)
    arm.write_joint_position_to_sim_index(position=start)
    for _ in range(50):
        arm.actuators.target_command.set_effort_index(value=arm.data.gravity_compensation_forces)
        scene.step()
    assert np.abs(host(arm.data.joint_pos) - start).max() < 5e-3
    scene.step(20)
    arm.actuators.target_command.set_effort_index(value=0.0)
    scene.step(50)
    assert np.abs(host(arm.data.joint_pos) - start).max() > 0.1


def test_joint_acceleration_is_that_of_the_last_step_and_a_write_is_none() -> None:
    scene, arm = make(Stage(2).arms(), arm_cfg())
    scene.step()
    before = host(arm.data.joint_vel)
    scene.step()
    np.testing.assert_allclose(
        host(arm.data.joint_acc), (host(arm.data.joint_vel) - before) / 0.01, rtol=1e-4
    )
    arm.write_joint_velocity_to_sim_index(velocity=np.full((1, 4), 5.0, np.float32), env_ids=[1])
    assert not host(arm.data.joint_acc)[1].any()
    assert host(arm.data.joint_acc)[0].any()
    scene.step()
    assert np.abs(host(arm.data.joint_acc)[1]).max() < 200.0


def test_orders_of_users_reach_the_engine_and_come_back() -> None:
    cfg = arm_cfg(joint_ordering="mjwarp", body_ordering="mjwarp")
    _scene, arm = make(Stage(2).arms(drive=False), cfg)
    _, plain = make(Stage(2).arms(drive=False), arm_cfg())
    assert arm.joint_names == ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"]
    assert arm.body_names == ["base", "left_upper", "left_lower", "right_upper", "right_lower"]
    assert arm.backend_joint_names == plain.joint_names
    assert plain.joint_ordering is None
    assert not plain.data.has_body_ordering
    assert arm.map_joint_ids_to_backend([0, 1]) == [0, 2]
    assert arm.map_body_ids_to_backend(slice(1, 3)) == [1, 3]
    assert plain.map_joint_ids_to_backend(slice(0, 2)) == slice(0, 2)
    values = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]], np.float32)
    arm.write_joint_position_to_sim_index(position=values)
    plain.write_joint_position_to_sim_index(position=values[:, [0, 2, 1, 3]])
    engine = arm.root_view.get_dof_positions().numpy()
    np.testing.assert_array_equal(engine, values[:, [0, 2, 1, 3]])
    np.testing.assert_array_equal(host(arm.data.joint_pos), values)
    np.testing.assert_array_equal(host(arm.data.body_pos_w), host(plain.data.body_pos_w)[:, [0, 1, 3, 2, 4]])
    masses = np.arange(1, 11, dtype=np.float32).reshape(2, 5)
    arm.set_masses_index(masses=masses)
    np.testing.assert_array_equal(arm.root_view.get_masses().numpy(), masses[:, [0, 1, 3, 2, 4]])
    arm.write_joint_armature_to_sim_index(armature=0.3, joint_ids=[1])
    np.testing.assert_allclose(arm.root_view.get_dof_armatures().numpy()[0], [0, 0, 0.3, 0], atol=1e-7)


@pytest.mark.parametrize(
    "order", [["a"], ["left_elbow"] * 4, "breadth"], ids=["unknown", "repeated", "convention"]
)
def test_orders_that_are_none_are_refused(order: object) -> None:
    with pytest.raises(ta.ConfigurationError, match="joint_ordering"):
        make(Stage(1).arms(), arm_cfg(joint_ordering=order))


LINKS = ("right_lower", "left_upper", "right_upper", "base", "left_lower")
JOINTS = ("right_elbow", "left_shoulder", "right_shoulder", "left_elbow")


def author_orders(stage: Stage, links: tuple[str, ...], joints: tuple[str, ...]) -> None:
    for root in stage.paths("Robot"):
        prim = stage.usd.GetPrimAtPath(root)
        for name, targets in (("robotLinks", links), ("robotJoints", joints)):
            relationship = prim.CreateRelationship(f"isaac:physics:{name}")
            relationship.SetTargets([f"{root}/{target}" for target in targets])


def test_authored_orders_of_a_robot() -> None:
    stage = Stage(2).arms(fixed=False)
    for root in stage.paths("Robot"):
        # A site is no link; the arms are a robot within the robot; a prim is called otherwise than its joint.
        stage.xform(f"{root}/site")
        arms = stage.xform(f"{root}/arms")
        arms.CreateRelationship("isaac:physics:robotJoints").SetTargets(
            [f"{root}/{name}" for name in ("alias", *JOINTS[1:])]
        )
        alias = stage.xform(f"{root}/alias")
        alias.CreateAttribute("isaac:nameOverride", Sdf.ValueTypeNames.String).Set(JOINTS[0])
    author_orders(stage, (LINKS[0], "site", *LINKS[1:]), ("arms", "site"))
    scene, arm, plain = make(
        stage, arm_cfg(joint_ordering="robot_schema", body_ordering="Robot_Schema"), arm_cfg()
    )
    assert arm.joint_names == list(JOINTS)
    assert arm.body_names == list(LINKS)
    values = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]], np.float32)
    arm.write_joint_position_to_sim_index(position=values)
    scene.step()
    places = [plain.body_names.index(name) for name in LINKS]
    np.testing.assert_array_equal(host(arm.data.body_pos_w), host(plain.data.body_pos_w)[:, places])
    places = [plain.joint_names.index(name) for name in JOINTS]
    np.testing.assert_array_equal(host(arm.data.joint_pos), host(plain.data.joint_pos)[:, places])
    np.testing.assert_allclose(host(arm.data.joint_pos), values, atol=0.02)


@pytest.mark.parametrize(
    ("joints", "match"),
    [
        ((), "has targets of isaac:physics:robotJoints"),
        (JOINTS[:3], r"lack \['left_elbow'\]"),
        ((*JOINTS, "nothing"), "no prim of the stage"),
    ],
)
def test_authored_orders_that_are_none_are_refused(joints: tuple[str, ...], match: str) -> None:
    stage = Stage(1).arms()
    author_orders(stage, LINKS, joints)
    with pytest.raises(ta.ConfigurationError, match=match):
        make(stage, arm_cfg(joint_ordering="robot_schema"))


def test_shapes_are_counted_by_body_in_both_orders() -> None:
    stage = Stage(2).arms()
    for root in stage.paths("Robot"):
        for path in (f"{root}/left_upper/a", f"{root}/left_upper/b", f"{root}/right_lower/a"):
            UsdPhysics.CollisionAPI.Apply(UsdGeom.Sphere.Define(stage.usd, path).GetPrim())
    _, arm = make(stage, arm_cfg(body_ordering="mjwarp"))
    expected = {"base": 0, "left_upper": 2, "left_lower": 0, "right_upper": 0, "right_lower": 1}
    assert arm.num_shapes_per_body == [expected[name] for name in arm.body_names]
    assert arm.backend_num_shapes_per_body == [expected[name] for name in arm.backend_body_names]
    with pytest.warns(DeprecationWarning, match="use root_view"):
        assert arm.root_physx_view is arm.root_view


def test_objects_of_a_collection_stand_by_instance() -> None:
    _scene, pair = make(pair_stage(3), pair_cfg())
    assert pair.body_names == ["a", "b"]
    np.testing.assert_allclose(host(pair.data.body_pos_w)[:, :, 0], [[0, 0.5], [2, 2.5], [4, 4.5]])
    np.testing.assert_allclose(host(pair.data.body_com_pos_w)[:, 0, 0], [0.1, 2.1, 4.1], atol=1e-6)
    np.testing.assert_array_equal(host(pair.data.body_mass), [[1, 2]] * 3)
    poses = host(pair.data.body_pose_w)
    poses[1, 1, :3] = (9, 9, 9)
    pair.write_body_pose_to_sim_index(body_poses=poses[1:2, 1:2], env_ids=[1], body_ids=[1])
    np.testing.assert_array_equal(pair.root_view.get_transforms().numpy().reshape(3, 2, 7), poses)
    velocities = RNG.normal(size=(3, 2, 6)).astype(np.float32)
    pair.write_body_link_velocity_to_sim_index(body_velocities=velocities)
    pair.data.invalidate_all()
    np.testing.assert_allclose(host(pair.data.body_link_vel_w), velocities, atol=1e-5)
    flat = pair.reshape_data_to_view_2d(poses)
    np.testing.assert_array_equal(flat, pair.root_view.get_transforms().numpy())
