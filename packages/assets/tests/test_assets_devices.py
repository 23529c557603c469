"""The same on every device: writers, actuators, wrenches, sensors, dynamics and deformables, with arrays of Warp."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from asset_stages import ENVS, Stage, arm_cfg, cube_cfg, host, make, pair_cfg, pair_stage, soft_cfg, to

import tensorphys_assets as ta


def on(device: str, values: object, dtype: object = np.float32) -> wp.array:
    return to("warp", values, device, dtype)


def test_articulations(device: str) -> None:
    motor = ta.DelayedPDActuatorCfg(joint_names_expr=[".*"], stiffness=30.0, damping=3.0, max_delay=2)
    cfg = arm_cfg(actuators={"all": motor}, joint_ordering="mjwarp", body_ordering="mjwarp")
    scene, arm = make(Stage(3).arms(), cfg, device=device)
    data = arm.data
    start = np.linspace(-0.4, 0.4, 12).reshape(3, 4)
    arm.write_joint_position_to_sim_index(
        position=on(device, start[[2, 0]]), env_ids=on(device, [2, 0], np.int32)
    )
    mask = on(device, [False, True, False], np.bool_)
    arm.write_joint_state_to_sim_mask(
        position=on(device, start), velocity=on(device, 0 * start), env_mask=mask
    )
    np.testing.assert_allclose(host(data.joint_pos), start, atol=1e-7)
    arm.set_masses_index(masses=on(device, [[3.0]]), body_ids=[1], env_ids=[2])
    arm.write_joint_armature_to_sim_mask(armature=0.01, env_mask=mask)
    assert host(data.body_mass)[2, 1] == 3.0
    np.testing.assert_allclose(host(data.joint_armature)[:, 0], [0, 0.01, 0], atol=1e-7)
    limits = on(device, np.tile(np.array([-0.2, 0.2]), (1, 4, 1)))
    arm.write_joint_position_limit_to_sim_index(limits=limits, env_ids=[0])
    np.testing.assert_allclose(host(data.soft_joint_pos_limits)[0], [[-0.2, 0.2]] * 4, rtol=1e-6)
    arm.actuators.target_command.set_position_mask(value=on(device, 0.5 * start), env_mask=mask)
    force = on(device, np.ones((3, 5, 3)))
    arm.permanent_wrench_composer.add_forces_and_torques_index(forces=force, is_global=True)
    scene.step(5)
    arm.reset(env_mask=mask)
    scene.step(5)
    velocity = np.einsum("nbrc,nc->nbr", host(data.body_link_jacobian_w), host(data.joint_vel))
    np.testing.assert_allclose(velocity, host(data.body_link_vel_w)[:, 1:], atol=1e-4)
    np.linalg.cholesky(host(data.mass_matrix))
    assert np.isfinite(host(data.joint_acc)).all()
    assert host(data.gravity_compensation_forces).shape == (3, 4)
    assert str(data.joint_pos.device) == device


def test_bodies_and_sensors(device: str) -> None:
    contacts = ta.ContactSensorCfg(
        prim_path=f"{ENVS}/Cube",
        filter_prim_paths_expr=["/World/ground"],
        track_air_time=True,
        track_pose=True,
        track_contact_points=True,
        track_friction_forces=True,
        history_length=2,
    )
    imu = ta.ImuCfg(prim_path=f"{ENVS}/Cube")
    frames = ta.FrameTransformerCfg(
        prim_path=f"{ENVS}/Cube",
        target_frames=[ta.FrameTransformerCfg.FrameCfg(prim_path=f"{ENVS}/Cube", name="same")],
    )
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1))
    scene, cube, sensor, inertial, transformer = make(stage, cube_cfg(), contacts, imu, frames, device=device)
    scene.step(30)
    np.testing.assert_allclose(host(sensor.data.net_forces_w_history)[:, :, 0, 2], 9.81, rtol=1e-2)
    np.testing.assert_allclose(host(sensor.data.current_contact_time), 0.3, atol=1e-4)
    np.testing.assert_allclose(host(sensor.data.contact_pos_w)[:, 0, 0, 2], 0.0, atol=2e-3)
    np.testing.assert_allclose(host(inertial.data.lin_acc_b), [[0, 0, 9.81]] * 2, atol=2e-2)
    np.testing.assert_allclose(host(transformer.data.target_pos_source), 0.0, atol=1e-6)
    pose = host(cube.data.root_com_pose_w)
    pose[:, 2] = 3.0
    cube.write_root_com_pose_to_sim_index(root_pose=on(device, pose))
    cube.reset()
    sensor.reset()
    assert not host(sensor.data.current_contact_time).any()
    np.testing.assert_allclose(host(cube.data.root_link_pose_w), pose, atol=1e-6)


def test_collections(device: str) -> None:
    _, pair = make(pair_stage(2), pair_cfg(), device=device)
    velocities = np.arange(24, dtype=np.float32).reshape(2, 2, 6)
    mask = on(device, [False, True], np.bool_)
    pair.write_body_link_velocity_to_sim_mask(body_velocities=on(device, velocities), body_mask=mask)
    expected = np.zeros_like(velocities)
    expected[:, 1] = velocities[:, 1]
    pair.data.invalidate_all()
    np.testing.assert_allclose(host(pair.data.body_link_vel_w), expected, atol=1e-5)
    pair.set_masses_index(masses=on(device, [[4.0], [5.0]]), body_ids=[0])
    np.testing.assert_array_equal(host(pair.data.body_mass), [[4, 2], [5, 2]])


def test_deformables(device: str) -> None:
    scene, soft = make(Stage(2).softs(), soft_cfg(), device=device)
    start = host(soft.data.nodal_pos_w)
    mask = on(device, [True, False], np.bool_)
    soft.write_nodal_pos_to_sim_mask(on(device, start + 1.0), env_mask=mask)
    scene.step(3)
    moved = host(soft.data.root_pos_w) - start.mean(axis=1)
    np.testing.assert_allclose(moved[:, :2], [[1, 1], [0, 0]], atol=1e-4)


@pytest.mark.parametrize(
    "names", [("root_pose_w", "joint_pos", "body_vel_w", "joint_stiffness", "body_com_pos_b")]
)
def test_arrays_lie_on_the_device(device: str, names: tuple[str, ...]) -> None:
    _, arm = make(Stage(1).arms(), arm_cfg(), device=device)
    assert {str(getattr(arm.data, name).device) for name in names} == {device}
