"""Wrenches: frames, sums, and what they do to bodies."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from asset_stages import Stage, arm_cfg, cube_cfg, here, host, make, pair_cfg, pair_stage, to

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")

WEIGHT = np.array([0, 0, 9.81], np.float32)


def turned(angle: float) -> np.ndarray:
    """Pose at 1 m, turned about x."""
    return np.array([[0, 0, 1, np.sin(angle / 2), 0, 0, np.cos(angle / 2)]], np.float32)


@pytest.fixture
def cube() -> ta.RigidObject:
    return make(Stage(2).cubes(com=(0.1, 0, 0)), cube_cfg())[1]


def test_local_and_global_forces_are_summed_in_link_axes(cube: ta.RigidObject, library: str) -> None:
    cube.write_root_pose_to_sim_index(root_pose=turned(np.pi / 2), env_ids=[0])
    composer = cube.permanent_wrench_composer
    assert not composer.active
    composer.add_forces_and_torques_index(forces=to(library, np.full((2, 1, 3), [0, 0, 2.0])), is_global=True)
    composer.add_forces_and_torques_index(
        forces=to(library, [[[1.0, 0, 0]]]), torques=to(library, [[[0, 0, 3.0]]]), env_ids=[0]
    )
    assert composer.active
    # The axis y of the turned cube points up.
    np.testing.assert_allclose(host(composer.out_force_b)[:, 0], [[1, 2, 0], [0, 0, 2]], atol=1e-6)
    np.testing.assert_allclose(host(composer.out_torque_b)[:, 0], [[0, 0, 3], [0, 0, 0]], atol=1e-6)


def test_positions_give_torques_about_the_centre_of_mass(cube: ta.RigidObject) -> None:
    composer = cube.instantaneous_wrench_composer
    force = np.full((2, 1, 3), [0, 0, 4.0], np.float32)
    points = host(cube.data.body_com_pos_w) + np.array([0, 0.5, 0], np.float32)
    composer.add_forces_and_torques_index(forces=force, positions=points, is_global=True)
    np.testing.assert_allclose(host(composer.out_torque_b)[:, 0], [[2, 0, 0]] * 2, atol=1e-5)
    offsets = np.full((2, 1, 3), [0, 0.5, 0], np.float32)
    composer.set_forces_and_torques_index(forces=force, positions=offsets)
    np.testing.assert_allclose(host(composer.out_torque_b)[:, 0], [[2, 0, 0]] * 2, atol=1e-6)
    composer.add_forces_and_torques_index(forces=force, positions=offsets)
    np.testing.assert_allclose(host(composer.out_torque_b)[:, 0], [[4, 0, 0]] * 2, rtol=1e-6, atol=1e-7)


def test_masks_and_resets(cube: ta.RigidObject) -> None:
    composer = cube.permanent_wrench_composer
    mask = wp.array([False, True], dtype=wp.bool, device=here())
    composer.set_forces_and_torques_mask(forces=np.ones((2, 1, 3), np.float32), env_mask=mask)
    np.testing.assert_array_equal(host(composer.local_force_b)[:, 0], [[0, 0, 0], [1, 1, 1]])
    cube.reset(env_ids=[1])
    assert composer.active
    assert not host(composer.out_force_b).any()
    cube.reset()
    assert not composer.active
    with pytest.warns(DeprecationWarning, match="out_force_b"):
        composer.composed_force  # noqa: B018
    with pytest.raises(ta.ConfigurationError, match="positions"):
        composer.add_forces_and_torques_index(positions=np.ones((2, 1, 3), np.float32))


def test_world_wrenches_at_the_centre_of_mass_need_no_poses(cube: ta.RigidObject) -> None:
    composer = ta.WrenchComposer(cube, supports_world_at_com=True)
    force = np.full((2, 1, 3), WEIGHT, np.float32)
    composer.add_forces_and_torques_index(forces=force, is_global=True)
    values, _, is_global = composer.get_forces_and_torques()
    assert is_global
    np.testing.assert_array_equal(values.numpy(), force)
    composer.add_forces_and_torques_index(forces=force)
    assert not composer.get_forces_and_torques()[2]
    other = ta.WrenchComposer(cube)
    other.add_raw_buffers_from(composer)
    np.testing.assert_allclose(host(other.out_force_b), 2 * force, rtol=1e-6)


@pytest.mark.parametrize("is_global", [True, False])
def test_cubes_that_are_carried_hover_and_others_fall(is_global: bool) -> None:
    scene, cube = make(Stage(4).cubes(com=(0.05, 0, 0)), cube_cfg())
    start = host(cube.data.root_pose_w)
    force = np.tile(WEIGHT, (2, 1, 1))
    for _ in range(3):
        cube.write_root_pose_to_sim_index(root_pose=start)
        cube.write_root_velocity_to_sim_index(root_velocity=np.zeros((4, 6), np.float32))
        cube.reset()
        cube.permanent_wrench_composer.set_forces_and_torques_index(
            forces=force, env_ids=[0, 2], is_global=is_global
        )
        scene.step(5)
    height = host(cube.data.root_pos_w)[:, 2]
    np.testing.assert_allclose(height[[0, 2]], 1.0, atol=1e-5)
    assert (height[[1, 3]] < 0.99).all()


def test_an_instantaneous_wrench_acts_for_one_step_beside_the_permanent_one() -> None:
    scene, cube = make(Stage(1, gravity=0.0).cubes(), cube_cfg())
    cube.permanent_wrench_composer.add_forces_and_torques_index(
        forces=np.full((1, 1, 3), [1.0, 0, 0], np.float32)
    )
    cube.instantaneous_wrench_composer.add_forces_and_torques_index(
        forces=np.full((1, 1, 3), [0, 2.0, 0], np.float32),
        torques=np.full((1, 1, 3), [0, 0, 0.01], np.float32),
    )
    scene.step(3)
    np.testing.assert_allclose(
        host(cube.data.root_com_vel_w)[0], [0.03, 0.02, 0, 0, 0, 0.015], rtol=1e-3, atol=1e-6
    )


def test_a_force_in_the_world_keeps_its_direction_and_a_local_one_turns() -> None:
    scene, pair = make(pair_stage(1, gravity=0.0), pair_cfg())
    spin = np.zeros((1, 2, 6), np.float32)
    spin[..., 5] = np.pi / 0.5
    pair.write_body_velocity_to_sim_index(body_velocities=spin)
    composer = pair.permanent_wrench_composer
    composer.add_forces_and_torques_index(
        forces=np.array([[[1.0, 0, 0]]], np.float32), body_ids=[0], is_global=True
    )
    composer.add_forces_and_torques_index(forces=np.array([[[1.0, 0, 0]]], np.float32), body_ids=[1])
    scene.step(50)
    velocity = host(pair.data.body_com_vel_w)[0]
    np.testing.assert_allclose(velocity[0, :3], [0.5, 0, 0], atol=1e-4)
    # Half a turn at constant rate: the mean of the direction is 2 / pi to the left.
    np.testing.assert_allclose(velocity[1, :3], [0, 0.5 * 0.5 * 2 / np.pi, 0], atol=2e-2)


def test_wrenches_on_links_in_the_order_of_users() -> None:
    scene, arm = make(Stage(2, gravity=0.0).arms(fixed=False), arm_cfg(body_ordering="mjwarp"))
    left = arm.find_bodies("left_lower")[0]
    force = np.full((1, 1, 3), [0, 5.0, 0], np.float32)
    arm.permanent_wrench_composer.add_forces_and_torques_index(forces=force, body_ids=left, env_ids=[1])
    scene.step()
    mass, acceleration = host(arm.data.body_mass), host(arm.data.body_com_acc_w)
    total = (mass[..., None] * acceleration[..., :3]).sum(axis=1)
    np.testing.assert_allclose(total, [[0, 0, 0], [0, 5, 0]], atol=1e-3)
    assert np.abs(host(arm.data.root_ang_vel_w)[1, 2]) > 1e-3


def test_the_deprecated_setter_replaces_what_was_there() -> None:
    _, cube = make(Stage(1).cubes(), cube_cfg())
    zeros = np.zeros((1, 1, 3), np.float32)
    for force in (zeros + 1.0, zeros + 2.0):
        with pytest.warns(DeprecationWarning, match="is deprecated"):
            cube.set_external_force_and_torque(force, zeros)
    np.testing.assert_array_equal(host(cube.permanent_wrench_composer.out_force_b), zeros + 2.0)
