"""Writers: what is chosen is written, what is not stays, what does not fit is refused by name."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import warp as wp
from asset_stages import Stage, arm_cfg, cube_cfg, here, host, make, pair_cfg, pair_stage, to

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")


@pytest.fixture(scope="module")
def arm(everywhere: None) -> ta.Articulation:
    return make(Stage(4).arms(), arm_cfg())[1]


def test_index_writers_take_all_libraries_and_kinds_of_indices(arm: ta.Articulation, library: str) -> None:
    choices = [
        None,
        [1, 3],
        slice(1, 4, 2),
        to(library, [3, 1], dtype=np.int32),
        to(library, [1, 3], dtype=np.int64),
    ]
    for ids in choices:
        arm.write_joint_position_to_sim_index(position=to(library, np.zeros((4, 4))))
        count = 4 if ids is None else 2
        values = 0.1 * np.arange(1, 2 * count + 1, dtype=np.float32).reshape(count, 2)
        arm.write_joint_position_to_sim_index(position=to(library, values), joint_ids=[0, 2], env_ids=ids)
        rows = list(range(4)) if ids is None else ([3, 1] if ids is choices[3] else [1, 3])
        expected = np.zeros((4, 4), np.float32)
        expected[np.ix_(rows, [0, 2])] = values
        np.testing.assert_array_equal(host(arm.data.joint_pos), expected)
        np.testing.assert_array_equal(arm.root_view.get_dof_positions().numpy(), expected)


def test_mask_writers_take_full_payloads(arm: ta.Articulation, library: str) -> None:
    arm.write_joint_velocity_to_sim_index(velocity=to(library, np.zeros((4, 4))))
    envs, joints = np.array([0, 1, 1, 0], bool), np.array([1, 0, 0, 1], bool)
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    arm.write_joint_velocity_to_sim_mask(
        velocity=to(library, values),
        joint_mask=to(library, joints, dtype=np.bool_),
        env_mask=to(library, envs, dtype=np.bool_),
    )
    expected = np.where(envs[:, None] & joints, values, 0.0)
    np.testing.assert_array_equal(host(arm.data.joint_vel), expected)
    np.testing.assert_array_equal(arm.root_view.get_dof_velocities().numpy(), expected)


def test_strided_indices_keep_their_own_length(arm: ta.Articulation) -> None:
    base = wp.array([0, 9, 2, 9], dtype=wp.int32, device=here())
    arm.write_joint_stiffness_to_sim_index(stiffness=0.0)
    arm.write_joint_stiffness_to_sim_index(stiffness=7.0, env_ids=base[::2])
    np.testing.assert_array_equal(host(arm.data.joint_stiffness)[:, 0], [7, 0, 7, 0])


def test_masks_choose_without_touching_other_environments() -> None:
    scene, cube = make(Stage(3, ground=True).cubes(at=(0, 0, 0.1)), cube_cfg())
    scene.step(60)
    before = scene.simulation.save_state()
    pose = wp.array(
        np.tile([0, 0, 5, 0, 0, 0, 1], (3, 1)).astype(np.float32), dtype=wp.transformf, device=here()
    )
    mask = wp.array([False, True, False], dtype=wp.bool, device=here())
    scene.step(5)
    alone = host(cube.data.root_link_pose_w)
    scene.simulation.load_state(before)
    cube.data.invalidate_all()
    cube.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
    scene.step(5)
    moved = host(cube.data.root_link_pose_w)
    np.testing.assert_array_equal(moved[[0, 2]], alone[[0, 2]])
    assert moved[1, 2] > 4.9


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("write_joint_position_to_sim_index", {"position": np.zeros((4, 3), np.float32)}, AssertionError),
        ("write_joint_position_to_sim_index", {"position": np.zeros((4, 4), np.float64)}, AssertionError),
        (
            "write_joint_position_to_sim_index",
            {"position": np.zeros((1, 4), np.float32), "env_ids": [4]},
            IndexError,
        ),
        (
            "write_joint_position_to_sim_index",
            {"position": np.zeros((1, 4), np.float32), "env_ids": [0.5]},
            TypeError,
        ),
        ("write_joint_position_to_sim_index", {"values": 1}, TypeError),
        ("write_joint_position_to_sim_index", {}, TypeError),
        ("write_joint_position_limit_to_sim_index", {"limits": 1.0}, ValueError),
        ("set_masses_index", {"masses": 1.0}, ValueError),
        ("write_root_pose_to_sim_mask", {"root_pose": np.zeros((2, 7), np.float32)}, AssertionError),
    ],
)
def test_what_does_not_fit_is_refused(
    arm: ta.Articulation, method: str, arguments: dict, error: type
) -> None:
    before = host(arm.data.joint_pos)
    with pytest.raises(error):
        getattr(arm, method)(**arguments)
    np.testing.assert_array_equal(host(arm.data.joint_pos), before)


def test_what_the_engine_refuses_is_not_kept(arm: ta.Articulation) -> None:
    before = host(arm.data.body_mass)
    masses = np.full((4, 5), -1.0, np.float32)
    with pytest.raises(ValueError, match="set_masses"):
        arm.set_masses_index(masses=masses)
    np.testing.assert_array_equal(host(arm.data.body_mass), before)


@pytest.mark.parametrize(
    ("method", "payload", "getter", "name"),
    [
        ("write_joint_stiffness_to_sim", "stiffness", "get_dof_stiffnesses", "joint_stiffness"),
        ("write_joint_damping_to_sim", "damping", "get_dof_dampings", "joint_damping"),
        ("write_joint_armature_to_sim", "armature", "get_dof_armatures", "joint_armature"),
        ("write_joint_velocity_limit_to_sim", "limits", "get_dof_max_velocities", "joint_vel_limits"),
        ("write_joint_effort_limit_to_sim", "limits", "get_dof_max_forces", "joint_effort_limits"),
    ],
)
def test_properties_of_joints_reach_the_engine(
    arm: ta.Articulation, method: str, payload: str, getter: str, name: str
) -> None:
    full = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    getattr(arm, f"{method}_index")(**{payload: full})
    getattr(arm, f"{method}_index")(**{payload: 0.5}, joint_ids=[1], env_ids=[2])
    mask = wp.array([True, False, False, False], dtype=wp.bool, device=here())
    getattr(arm, f"{method}_mask")(**{payload: 100.0}, env_mask=mask)
    full[2, 1], full[0] = 0.5, 100.0
    np.testing.assert_array_equal(host(getattr(arm.data, name)), full)
    np.testing.assert_array_equal(getattr(arm.root_view, getter)().numpy(), full)


def test_frictions_are_columns_of_one_property(arm: ta.Articulation) -> None:
    arm.write_joint_friction_coefficient_to_sim_index(
        joint_friction_coeff=0.3, joint_dynamic_friction_coeff=0.2, joint_viscous_friction_coeff=0.1
    )
    arm.write_joint_viscous_friction_coefficient_to_sim_index(joint_viscous_friction_coeff=0.05, env_ids=[0])
    engine = arm.root_view.get_dof_friction_properties().numpy()
    np.testing.assert_allclose(engine[1, 0], [0.3, 0.2, 0.1], rtol=1e-6)
    np.testing.assert_allclose(engine[0, 0], [0.3, 0.2, 0.05], rtol=1e-6)
    np.testing.assert_allclose(host(arm.data.joint_friction), 0.3, rtol=1e-6)
    np.testing.assert_allclose(
        host(arm.data.joint_viscous_friction_coeff)[:, 0], [0.05, 0.1, 0.1, 0.1], rtol=1e-6
    )


def test_limits_clamp_defaults_and_move_soft_limits(caplog: pytest.LogCaptureFixture) -> None:
    cfg = arm_cfg(soft_joint_pos_limit_factor=0.5)
    cfg.init_state.joint_pos = {".*_shoulder": 1.0, ".*_elbow": -0.5}
    _, arm = make(Stage(2).arms(), cfg)
    np.testing.assert_array_equal(host(arm.data.default_joint_pos)[0], [1.0, 1.0, -0.5, -0.5])
    np.testing.assert_allclose(host(arm.data.soft_joint_pos_limits)[0, 0], [-np.pi / 3, np.pi / 3], rtol=1e-6)
    limits = np.tile(np.array([-0.4, 0.8], np.float32), (1, 4, 1))
    for warn, level in ((True, logging.WARNING), (False, logging.INFO)):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="tensorphys.assets"):
            arm.write_joint_position_limit_to_sim_index(limits=limits, env_ids=[1], warn_limit_violation=warn)
            arm.data.default_joint_pos.warp.assign(np.tile([1.0, 1.0, -0.5, -0.5], (2, 1)).astype(np.float32))
        assert [record.levelno for record in caplog.records] == [level]
    arm.write_joint_position_limit_to_sim_index(limits=limits, env_ids=[1])
    np.testing.assert_allclose(host(arm.data.default_joint_pos), [[1, 1, -0.5, -0.5], [0.8, 0.8, -0.4, -0.4]])
    np.testing.assert_allclose(host(arm.data.soft_joint_pos_limits)[1, 0], [-0.1, 0.5], atol=1e-6)
    np.testing.assert_allclose(arm.root_view.get_dof_limits().numpy()[1, 0], [-0.4, 0.8])


@pytest.mark.parametrize("field", ["joint_pos", "joint_vel"])
def test_defaults_beyond_limits_are_refused(field: str) -> None:
    stage = Stage(1).arms()
    cfg = arm_cfg()
    setattr(cfg.init_state, field, {"left_elbow": 3.0})
    if field == "joint_vel":
        cfg.actuators = {}
        for joint in ("left_elbow",):
            prim = stage.usd.GetPrimAtPath(f"/World/envs/env_0/Robot/{joint}")
            prim.AddAppliedSchema("PhysxJointAPI")
            from pxr import Sdf

            prim.CreateAttribute("physxJoint:maxJointVelocity", Sdf.ValueTypeNames.Float).Set(57.0)
    with pytest.raises(ta.ConfigurationError, match=f"{field} of 'left_elbow'"):
        make(stage, cfg)


def test_turned_principal_axes_turn_the_inertia() -> None:
    _, arm = make(Stage(2).arms(), arm_cfg())
    before = host(arm.data.body_inertia).reshape(2, 5, 3, 3)
    coms = host(arm.data.body_com_pose_b)
    half = np.sqrt(0.5)
    coms[1, 1, 3:] = (0, 0, half, half)
    arm.set_coms_index(coms=coms[1:, 1:2], env_ids=[1], body_ids=[1])
    after = host(arm.data.body_inertia).reshape(2, 5, 3, 3)
    np.testing.assert_allclose(np.diag(after[1, 1]), np.diag(before[1, 1])[[1, 0, 2]], rtol=1e-5)
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1, 2:], before[1, 2:])
    arm.set_coms_index(coms=np.full((1, 1, 3), 0.02, np.float32), env_ids=[0], body_ids=[2])
    np.testing.assert_allclose(arm.root_view.get_coms().numpy()[0, 2, :3], 0.02)


def test_tendon_properties_wait_until_they_are_written() -> None:
    scene, arm = make(Stage(2).arms().tendons(), arm_cfg())
    view = arm.root_view
    assert (arm.num_fixed_tendons, arm.num_spatial_tendons) == (2, 1)
    assert arm.fixed_tendon_names == ["left_shoulder", "right_shoulder"]
    assert arm.find_fixed_tendons("right_.*") == ([1], ["right_shoulder"])
    assert arm.find_spatial_tendons("base")[0] == [0]
    arm.set_fixed_tendon_stiffness_index(stiffness=50.0, fixed_tendon_ids=[1], env_ids=[0])
    arm.set_fixed_tendon_position_limit_index(limit=np.tile(np.array([-0.2, 0.4], np.float32), (2, 2, 1)))
    arm.set_spatial_tendon_damping_index(damping=3.0)
    np.testing.assert_array_equal(view.get_fixed_tendon_stiffnesses().numpy(), 20.0)
    np.testing.assert_array_equal(view.get_spatial_tendon_dampings().numpy(), 0.0)
    scene.step()
    kept = [[20, 50], [20, 20]]
    np.testing.assert_array_equal(host(arm.data.fixed_tendon_stiffness), kept)
    arm.write_fixed_tendon_properties_to_sim_index(env_ids=[0])
    np.testing.assert_array_equal(view.get_fixed_tendon_stiffnesses().numpy(), kept)
    limits = view.get_fixed_tendon_limits().numpy()
    np.testing.assert_allclose(limits[0], [[-0.2, 0.4]] * 2, rtol=1e-6)
    assert limits[1, 0, 0] < -1e30
    arm.write_spatial_tendon_properties_to_sim_mask()
    np.testing.assert_array_equal(view.get_spatial_tendon_dampings().numpy(), 3.0)


def test_fixed_tendon_targets_are_offsets_of_the_next_step() -> None:
    _scene, arm = make(Stage(2).arms().tendons(), arm_cfg())
    view = arm.root_view
    target = wp.array(np.full((1, 1), 0.7, np.float32), dtype=wp.float32, device=here())
    arm.set_fixed_tendon_position_target_index(target=target, fixed_tendon_ids=[1], env_ids=[0])
    arm.write_data_to_sim()
    expected = np.full((2, 2), 0.05, np.float32)
    expected[0, 1] = 0.1 - 0.7
    np.testing.assert_allclose(view.get_fixed_tendon_offsets().numpy(), expected, atol=1e-6)


def test_collections_write_single_objects() -> None:
    _, pair = make(pair_stage(3), pair_cfg())
    masses = np.full((2, 1), 9.0, np.float32)
    pair.set_masses_index(masses=masses, body_ids=[0], env_ids=[0, 2])
    np.testing.assert_array_equal(pair.root_view.get_masses().numpy().reshape(3, 2), [[9, 2], [1, 2], [9, 2]])
    mask = wp.array([False, True], dtype=wp.bool, device=here())
    velocities = np.ones((3, 2, 6), np.float32)
    pair.write_body_velocity_to_sim_mask(body_velocities=velocities, body_mask=mask)
    engine = pair.root_view.get_velocities().numpy().reshape(3, 2, 6)
    np.testing.assert_array_equal(engine[:, 1], 1.0)
    np.testing.assert_array_equal(engine[:, 0], 0.0)


def test_finders() -> None:
    _, arm = make(Stage(1).arms(), arm_cfg())
    assert arm.find_joints(".*_elbow") == ([2, 3], ["left_elbow", "right_elbow"])
    assert arm.find_joints(["right_.*", "left_elbow"], preserve_order=True)[0] == [1, 3, 2]
    assert arm.find_joints("left_elbow", joint_subset=["right_elbow", "left_elbow"]) == ([1], ["left_elbow"])
    proxy, _ = arm.find_joints("left_elbow", joint_subset=["right_elbow", "left_elbow"], as_proxy=True)
    assert host(proxy).tolist() == [2]
    assert arm.find_joints("left_elbow", as_proxy=True)[0] is proxy
    assert arm.find_bodies("left_.*")[0] == [1, 3]
    arm.write_joint_stiffness_to_sim_index(stiffness=4.0, joint_ids=proxy)
    assert host(arm.data.joint_stiffness)[0].tolist() == [0, 0, 4, 0]
    for bad in ("nothing", "(", ["left_elbow", ".*_elbow"]):
        with pytest.raises(ta.ConfigurationError):
            arm.find_joints(bad)
    with pytest.raises(TypeError, match="ProxyArray"):
        arm.write_joint_stiffness_to_sim_index(stiffness=4.0, joint_ids=arm.data.joint_pos)
