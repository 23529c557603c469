"""Sensors against what bodies feel."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from asset_stages import ENVS, Stage, arm_cfg, cube_cfg, host, make

import tensorphys
import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")


def contact_cfg(name: str = "Cube", **options: object) -> ta.ContactSensorCfg:
    return ta.ContactSensorCfg(prim_path=f"{ENVS}/{name}", **options)


def test_a_stack_is_told_apart_by_filters() -> None:
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1)).cubes("Top", at=(0, 0, 0.3), mass=2.0)
    filters = ["/World/ground", f"{ENVS}/Cube"]
    cfg = contact_cfg(
        "(Cube|Top)", filter_prim_paths_expr=filters, track_contact_points=True, track_pose=True
    )
    scene, sensor = make(stage, cfg)
    scene.step(60)
    data = sensor.data
    assert sensor.body_names == ["Cube", "Top"]
    np.testing.assert_allclose(host(data.net_normal_forces_w)[:, :, 2], [[9.81, 19.62]] * 2, rtol=1e-3)
    matrix = host(data.normal_force_matrix_w)
    np.testing.assert_allclose(matrix[:, 0, 0, 2], 29.43, rtol=1e-3)
    np.testing.assert_allclose(matrix[:, 1, 1, 2], 19.62, rtol=1e-3)
    np.testing.assert_array_equal(matrix[:, 1, 0], 0.0)
    points = host(data.contact_pos_w)
    np.testing.assert_allclose(points[:, 1, 1], [[0, 0, 0.2], [2, 0, 0.2]], atol=2e-3)
    assert np.isnan(points[:, 1, 0]).all()
    np.testing.assert_allclose(host(data.pos_w)[:, 1, 2], 0.3, atol=2e-3)
    np.testing.assert_allclose(host(data.force_matrix_w), matrix, atol=1e-3)
    np.testing.assert_allclose(host(data.net_forces_w), host(data.net_normal_forces_w), atol=1e-3)
    for name in ("friction_force_matrix_w", "net_friction_forces_w", "friction_forces_w"):
        assert getattr(data, name) is None, name
    for name in ("net_normal_forces_w", "net_forces_w", "force_matrix_w", "net_friction_forces_w"):
        assert getattr(data, f"{name}_history") is None, name


def test_friction_holds_a_cube_on_tilted_ground() -> None:
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1))
    # One contact point has room: forces are whole all the same.
    filtered = contact_cfg(
        filter_prim_paths_expr=["/World/ground"],
        track_friction_forces=True,
        track_contact_points=True,
        max_contact_data_count_per_prim=1,
        history_length=2,
    )
    scene, cube, sensor, alone, plain = make(
        stage, cube_cfg(), filtered, contact_cfg(track_friction_forces=True), contact_cfg()
    )
    scene.view.set_gravity((2.0, 0, -9.6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tensorphys.ContactDataOverflowWarning)
        scene.step(100)
        data = sensor.data
    friction, normal, total = [[-2, 0, 0]] * 2, [[0, 0, 9.6]] * 2, [[-2, 0, 9.6]] * 2
    for name, expected in (("friction_", friction), ("normal_", normal), ("", total)):
        net = host(getattr(data, f"net_{name}forces_w"))[:, 0]
        np.testing.assert_allclose(net, expected, atol=0.1, rtol=0.01, err_msg=name)
        matrix = host(getattr(data, f"{name}force_matrix_w"))[:, 0, 0]
        np.testing.assert_allclose(matrix, net, atol=1e-5, err_msg=name)
        for kept, now in ((f"net_{name}forces_w_history", net), (f"{name}force_matrix_w_history", matrix)):
            history = host(getattr(data, kept))
            np.testing.assert_array_equal(history[:, 0].reshape(2, 3), now, err_msg=kept)
            np.testing.assert_allclose(history[:, 1].reshape(2, 3), now, atol=0.1, err_msg=kept)
    np.testing.assert_allclose(host(data.net_friction_forces_w)[:, 0], friction, atol=0.02)
    assert np.abs(host(data.net_friction_forces_w)[:, 0, 2]).max() < 1e-4
    assert np.abs(host(data.net_normal_forces_w)[:, 0, :2]).max() < 1e-4
    assert data.friction_forces_w is data.net_friction_forces_w
    # Without filters, and totals where friction is not shown apart.
    np.testing.assert_array_equal(host(alone.data.net_friction_forces_w), host(data.net_friction_forces_w))
    assert alone.data.friction_force_matrix_w is None
    np.testing.assert_array_equal(host(plain.data.net_forces_w), host(data.net_forces_w))
    assert plain.data.net_friction_forces_w is None
    assert np.abs(host(cube.data.root_lin_vel_w)).max() < 1e-3
    sensor.reset()
    for name in ("net_forces_w", "friction_force_matrix_w", "force_matrix_w_history"):
        assert not host(getattr(sensor.data, name)).any()


def test_forces_and_points_are_those_of_each_body_of_a_sensor() -> None:
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1)).cubes("Cuba", at=(0.6, 0, 0.1), mass=3.0)
    cfg = contact_cfg(
        "(Cube|Cuba)",
        filter_prim_paths_expr=["/World/ground"],
        track_friction_forces=True,
        track_contact_points=True,
    )
    scene, sensor = make(stage, cfg)
    scene.view.set_gravity((1.0, 0, -9.81))
    scene.step(80)
    data, masses = sensor.data, np.array([[1.0, 3.0]] * 2)
    assert sensor.body_names == ["Cube", "Cuba"]
    np.testing.assert_allclose(host(data.net_normal_forces_w)[..., 2], 9.81 * masses, rtol=1e-2)
    np.testing.assert_allclose(host(data.friction_force_matrix_w)[:, :, 0, 0], -masses, rtol=2e-2)
    points = host(data.contact_pos_w)[:, :, 0]
    np.testing.assert_allclose(points[..., 0], [[0, 0.6], [2, 2.6]], atol=0.02)


def test_a_history_keeps_what_each_period_measured() -> None:
    stage = Stage(1, ground=True).cubes(at=(0, 0, 0.1))
    scene, cube, sensor = make(stage, cube_cfg(), contact_cfg(history_length=3, update_period=0.03))
    scene.step(30)
    before = host(sensor.data.net_forces_w_history)[0, :, 0, 2]
    np.testing.assert_allclose(before, 9.81, rtol=2e-2)
    cube.permanent_wrench_composer.set_forces_and_torques_index(
        forces=np.full((1, 1, 3), [0, 0, -5.0], np.float32)
    )
    scene.step(2)
    np.testing.assert_array_equal(host(sensor.data.net_forces_w_history)[0, :, 0, 2], before)
    scene.step(4)
    history = host(sensor.data.net_forces_w_history)[0, :, 0, 2]
    np.testing.assert_allclose(history, [14.81, 14.81, 9.81], rtol=2e-2)


def test_times_in_the_air_and_in_contact() -> None:
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1))
    scene, cube, sensor = make(stage, cube_cfg(), contact_cfg(track_air_time=True, force_threshold=1.0))
    scene.step(20)
    np.testing.assert_allclose(host(sensor.data.current_contact_time), 0.2, atol=1e-4)
    start = host(cube.data.root_pose_w)
    up = start.copy()
    up[1, 2] = 1.0
    cube.write_root_pose_to_sim_index(root_pose=up)
    cube.write_root_velocity_to_sim_index(root_velocity=np.zeros((2, 6), np.float32))
    scene.step()
    assert host(sensor.compute_first_air(0.01)).tolist() == [[False], [True]]
    scene.step()
    assert host(sensor.compute_first_air(0.01)).tolist() == [[False], [False]]
    np.testing.assert_allclose(host(sensor.data.last_contact_time), [[0], [0.21]], atol=1e-4)
    landed = []
    for _ in range(60):
        scene.step()
        landed.append(bool(host(sensor.compute_first_contact(0.01))[1, 0]))
    assert sum(landed) == 1
    ticks = landed.index(True)
    np.testing.assert_allclose(host(sensor.data.last_air_time)[1, 0], 0.01 * (ticks + 3), atol=1e-3)
    # From 0.9 m, in 0.43 s.
    assert abs(0.01 * (ticks + 3) - np.sqrt(2 * 0.9 / 9.81)) < 0.03
    sensor.reset(env_ids=[1])
    assert host(sensor.data.current_contact_time)[1, 0] == 0.0
    assert host(sensor.data.current_contact_time)[0, 0] > 0.5


def test_first_contacts_are_found_however_old_the_clock_is() -> None:
    scene, _cube, sensor = make(
        Stage(1, ground=True).cubes(at=(0, 0, 0.5)), cube_cfg(), contact_cfg(track_air_time=True)
    )
    scene.step()
    sensor.data.current_air_time.warp.fill_(5000.0)
    first = []
    for _ in range(60):
        scene.step()
        first.append(bool(host(sensor.compute_first_contact(0.01))[0, 0]))
    assert sum(first) == 1


def test_histories_have_the_latest_first_and_a_loss_of_contact_is_seen_late() -> None:
    stage = Stage(1, ground=True).cubes(at=(0, 0, 0.1))
    scene, cube, kept, lazy = make(stage, cube_cfg(), contact_cfg(history_length=3), contact_cfg())
    scene.step(30)
    cube.write_root_pose_to_sim_index(root_pose=np.array([[0, 0, 3, 0, 0, 0, 1]], np.float32))
    scene.step()
    history = host(kept.data.net_forces_w_history)[0, :, 0, 2]
    np.testing.assert_allclose(history, [0, 9.81, 9.81], rtol=1e-2)
    scene.step(5)
    assert np.abs(host(lazy.data.net_forces_w)).max() < 0.1


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"track_contact_points": True}, "track_contact_points"),
        ({"max_contact_data_count_per_prim": 0}, "max_contact_data_count_per_prim"),
        ({"history_length": -1}, "history_length"),
    ],
)
def test_contact_configurations_that_cannot_be(options: dict, field: str) -> None:
    with pytest.raises(ta.ConfigurationError, match=field), ta.AssetScene(Stage(1).usd):
        ta.ContactSensor(contact_cfg(**options))


def imu_cfg(**options: object) -> ta.ImuCfg:
    return ta.ImuCfg(prim_path=f"{ENVS}/Cube", **options)


def test_inertial_measurements_at_rest_and_in_free_fall() -> None:
    scene, cube, imu = make(Stage(2, ground=True).cubes(at=(0, 0, 0.1)), cube_cfg(), imu_cfg())
    scene.step(40)
    np.testing.assert_allclose(host(imu.data.lin_acc_b), [[0, 0, 9.81]] * 2, atol=1e-2)
    np.testing.assert_allclose(host(imu.data.ang_vel_b), 0.0, atol=1e-3)
    cube.write_root_pose_to_sim_index(root_pose=np.array([[0, 0, 9, 0, 0, 0, 1]], np.float32), env_ids=[1])
    scene.step(3)
    np.testing.assert_allclose(host(imu.data.lin_acc_b), [[0, 0, 9.81], [0, 0, 0]], atol=1e-2)


def test_inertial_measurements_of_a_force_and_of_a_spin_off_centre() -> None:
    scene, cube, imu, outside = make(
        Stage(1, gravity=0.0).cubes(com=(0.1, 0, 0)),
        cube_cfg(),
        imu_cfg(),
        imu_cfg(offset=ta.ImuCfg.OffsetCfg(pos=(0.6, 0, 0), rot=(0, 0, np.sqrt(0.5), np.sqrt(0.5)))),
    )
    cube.write_root_com_velocity_to_sim_index(root_velocity=np.array([[1, 2, 3, 0, 0, 2.0]], np.float32))
    scene.step(2)
    # Setting a velocity is no acceleration; what is left is centripetal: w² r towards the centre of mass.
    np.testing.assert_allclose(host(imu.data.lin_acc_b)[0], [0.4, 0, 0], atol=1e-3)
    np.testing.assert_allclose(host(outside.data.lin_acc_b)[0], [0, 2.0, 0], atol=1e-3)
    np.testing.assert_allclose(host(outside.data.ang_vel_b)[0], [0, 0, 2.0], atol=1e-5)
    force = np.full((1, 1, 3), [0, 0, 3.0], np.float32)
    cube.permanent_wrench_composer.add_forces_and_torques_index(forces=force)
    scene.step()
    np.testing.assert_allclose(host(imu.data.lin_acc_b)[0, 2], 3.0, rtol=1e-4)
    imu.reset()
    cube.reset()
    scene.step()
    np.testing.assert_allclose(host(imu.data.lin_acc_b)[0, 2], 0.0, atol=1e-4)


def test_a_period_holds_measurements() -> None:
    scene, cube, imu = make(Stage(1).cubes(), cube_cfg(), imu_cfg(update_period=0.03))
    spin = np.zeros((1, 6), np.float32)
    seen = []
    for step in range(7):
        spin[0, 5] = step
        cube.write_root_velocity_to_sim_index(root_velocity=spin)
        scene.step()
        seen.append(round(float(host(imu.data.ang_vel_b)[0, 2])))
    assert seen == [0, 0, 2, 2, 2, 5, 5]


def test_frames_relative_to_the_base() -> None:
    offset = ta.ImuCfg.OffsetCfg(pos=(0.25, 0, 0))
    cfg = ta.FrameTransformerCfg(
        prim_path=f"{ENVS}/Robot/base",
        source_frame_offset=ta.ImuCfg.OffsetCfg(pos=(0, 0, 0.5)),
        target_frames=[
            ta.FrameTransformerCfg.FrameCfg(prim_path=f"{ENVS}/Robot/.*_lower"),
            ta.FrameTransformerCfg.FrameCfg(
                prim_path=f"{ENVS}/Robot/left_upper", name="elbow", offset=offset
            ),
        ],
    )
    scene, arm, frames = make(Stage(3).arms(fixed=False), arm_cfg(), cfg)
    turn = np.tile([0, 0, 0, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], (3, 1)).astype(np.float32)
    arm.write_root_pose_to_sim_index(root_pose=turn)
    scene.step(20)
    data = frames.data
    assert data.target_frame_names == ["left_lower", "right_lower", "elbow"]
    assert frames.find_bodies(".*_lower")[0] == [0, 1]
    places = [arm.body_names.index(name) for name in ("left_lower", "right_lower")]
    np.testing.assert_allclose(
        host(data.target_pos_w)[:, :2], host(arm.data.body_pos_w)[:, places], atol=1e-6
    )
    source = host(data.source_pose_w)
    arm_w = host(data.target_pos_w)[:, 2] - source[:, :3]
    q = source[:, 3:] * [-1, -1, -1, 1]
    t = 2 * np.cross(q[:, :3], arm_w)
    local = arm_w + q[:, 3:] * t + np.cross(q[:, :3], t)
    np.testing.assert_allclose(host(data.target_pos_source)[:, 2], local, atol=1e-5)
    base = host(arm.data.root_pos_w)
    np.testing.assert_allclose(np.linalg.norm(source[:, :3] - base, axis=1), 0.5, atol=1e-5)


def test_frames_on_bodies_of_one_name_are_kept_apart() -> None:
    stage = Stage(2).arms("Robot").arms("Twin")
    frame = ta.FrameTransformerCfg.FrameCfg
    cfg = ta.FrameTransformerCfg(
        prim_path=f"{ENVS}/Twin/left_upper",
        target_frames=[
            frame(prim_path=f"{ENVS}/Twin/left_lower", name="twin"),
            frame(prim_path=f"{ENVS}/Robot/left_lower", name="robot"),
            frame(prim_path=f"{ENVS}/Twin/left_lower"),
            frame(prim_path=f"{ENVS}/Robot/left_lower"),
        ],
    )
    twin_cfg = ta.ArticulationCfg(prim_path=f"{ENVS}/Twin")
    scene, robot, twin, frames = make(stage, arm_cfg(), twin_cfg, cfg)
    robot.write_joint_position_to_sim_index(position=np.full((2, 4), 0.4, np.float32))
    scene.step(3)
    place = robot.body_names.index("left_lower")
    poses = [host(each.data.body_link_pose_w)[:, place] for each in (twin, robot)]
    assert np.abs(poses[0] - poses[1]).max() > 0.05
    found = host(frames.data.target_pose_w)
    assert frames.data.target_frame_names == ["twin", "robot", "left_lower", "left_lower"]
    for row, pose in enumerate(poses * 2):
        np.testing.assert_allclose(found[:, row], pose, atol=1e-6)
    source = host(twin.data.body_link_pose_w)[:, twin.body_names.index("left_upper")]
    np.testing.assert_allclose(host(frames.data.source_pose_w), source, atol=1e-6)


def test_bodies_that_are_not_there_are_named() -> None:
    with pytest.raises(ta.PrimError, match="Nothing"):
        make(Stage(1).cubes(), contact_cfg("Nothing"))
    with pytest.raises(ta.PrimError, match="one body, found 2"):
        make(Stage(1).cubes().cubes("Cuba", at=(0, 0, 2)), ta.ImuCfg(prim_path=f"{ENVS}/Cub.*"))
