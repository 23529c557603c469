"""Actuator models against their formulas, and what reaches the engine."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from asset_stages import Stage, arm_cfg, host, make, to

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")

ALL = [".*"]


def build(count: int = 2, **groups: ta.ActuatorBaseCfg) -> tuple[ta.AssetScene, ta.Articulation]:
    return make(Stage(count).arms(), arm_cfg(actuators=groups))


def test_implicit_gains_and_limits_reach_the_engine() -> None:
    cfg = ta.ImplicitActuatorCfg(
        joint_names_expr=ALL,
        stiffness={".*_shoulder": 30.0, ".*_elbow": 10.0},
        damping=2.0,
        armature=0.02,
        friction=0.3,
        dynamic_friction=0.2,
        viscous_friction=0.1,
        joint_effort_limit=40.0,
        joint_velocity_limit=9.0,
    )
    _, arm = build(all=cfg)
    view = arm.root_view
    np.testing.assert_array_equal(view.get_dof_stiffnesses().numpy(), [[30, 30, 10, 10]] * 2)
    np.testing.assert_array_equal(view.get_dof_dampings().numpy(), 2.0)
    np.testing.assert_array_equal(view.get_dof_max_forces().numpy(), 40.0)
    np.testing.assert_array_equal(view.get_dof_max_velocities().numpy(), 9.0)
    np.testing.assert_allclose(view.get_dof_armatures().numpy(), 0.02)
    np.testing.assert_allclose(view.get_dof_friction_properties().numpy()[0, 0], [0.3, 0.2, 0.1], rtol=1e-6)
    np.testing.assert_array_equal(host(arm.data.soft_joint_vel_limits), 9.0)
    assert arm.actuators.has_implicit_actuators


def test_values_of_none_keep_what_the_stage_says() -> None:
    cfg = ta.ImplicitActuatorCfg(joint_names_expr=ALL, stiffness=None, damping=None)
    stage = Stage(1).arms()
    from pxr import UsdPhysics

    drive = UsdPhysics.DriveAPI(stage.usd.GetPrimAtPath("/World/envs/env_0/Robot/left_elbow"), "angular")
    drive.GetStiffnessAttr().Set(np.pi / 180.0 * 3.0)
    _, arm = make(stage, arm_cfg(actuators={"all": cfg}))
    # N m per degree in the stage.
    np.testing.assert_allclose(host(arm.data.joint_stiffness)[0], [0, 0, 3, 0], rtol=1e-5)
    np.testing.assert_allclose(host(arm.data.joint_effort_limits), 100.0)


def test_implicit_actuators_reach_their_targets_and_estimate_their_efforts() -> None:
    scene, arm = build(all=ta.ImplicitActuatorCfg(joint_names_expr=ALL, stiffness=400.0, damping=40.0))
    target = np.array([[0.5, -0.3, 0.2, 0.4], [0.1, 0.2, -0.3, -0.4]], np.float32)
    arm.actuators.target_command.set_position_index(value=target)
    scene.step(200)
    assert np.abs(host(arm.data.joint_pos) - target).max() < 0.1
    effort = 400.0 * (target - host(arm.data.joint_pos)) - 40.0 * host(arm.data.joint_vel)
    arm.actuators.compute(0.01)
    np.testing.assert_allclose(host(arm.actuators.computed_effort), effort, atol=1e-3)
    np.testing.assert_allclose(effort, host(arm.data.gravity_compensation_forces), atol=0.05)
    with pytest.warns(DeprecationWarning, match="applied_effort"):
        assert arm.data.applied_torque is arm.actuators.applied_effort
    with pytest.warns(DeprecationWarning, match="target_command"):
        arm.set_joint_position_target(target + 1.0)
    np.testing.assert_array_equal(host(arm.actuators.target_command.position), target + 1.0)


def test_explicit_actuators_leave_no_gain_in_the_engine_and_send_efforts() -> None:
    cfg = ta.IdealPDActuatorCfg(joint_names_expr=ALL, stiffness=20.0, damping=1.0, actuator_effort_limit=3.0)
    _scene, arm = build(all=cfg)
    assert not arm.root_view.get_dof_stiffnesses().numpy().any()
    position = np.array([[0.1, -0.1, 0.2, 0.0]] * 2, np.float32)
    velocity = np.array([[1.0, 0.5, -0.5, 0.0]] * 2, np.float32)
    arm.write_joint_state_to_sim_index(position=position, velocity=velocity)
    commands = arm.actuators.target_command
    commands.set_position_index(value=np.full((2, 4), 0.15, np.float32))
    commands.set_velocity_index(value=0.2)
    commands.set_effort_index(value=np.full((2, 1), 0.5, np.float32), joint_ids=[0])
    arm.write_data_to_sim()
    effort = 20.0 * (0.15 - position) + (0.2 - velocity) + [0.5, 0, 0, 0]
    np.testing.assert_allclose(host(arm.actuators.computed_effort), effort, atol=1e-5)
    np.testing.assert_allclose(host(arm.actuators.applied_effort), np.clip(effort, -3, 3), atol=1e-5)
    np.testing.assert_allclose(
        arm.root_view.get_dof_actuation_forces().numpy(), np.clip(effort, -3, 3), atol=1e-5
    )


@pytest.mark.parametrize("effort", [-30.0, -8.0, 0.0, 8.0, 30.0])
@pytest.mark.parametrize("speed", [-24.0, -12.0, -6.0, 0.0, 6.0, 12.0, 24.0])
def test_motor_in_its_four_quadrants(motor: ta.Articulation, effort: float, speed: float) -> None:
    motor.write_joint_velocity_to_sim_index(velocity=np.full((1, 4), speed, np.float32))
    motor.actuators.target_command.set_effort_index(value=effort)
    motor.actuators.compute(0.01)
    stall, limit, fastest = np.array([20.0, 20.0, 15.0, 15.0]), 10.0, 10.0
    # Beyond the corner, where the line meets the limit, the motor brakes with the limit and no more.
    upper = np.clip(stall * (1 - speed / fastest), -limit, limit)
    lower = np.clip(stall * (-1 - speed / fastest), -limit, limit)
    expected = np.minimum(np.maximum(effort, lower), upper)
    np.testing.assert_allclose(host(motor.actuators.applied_effort)[0], expected, rtol=1e-5)


@pytest.fixture(scope="module")
def motor(everywhere: None) -> ta.Articulation:
    cfg = ta.DCMotorCfg(
        joint_names_expr=ALL,
        stiffness=0.0,
        damping=0.0,
        actuator_effort_limit=10.0,
        actuator_velocity_limit=10.0,
        saturation_effort={".*_shoulder": 20.0, ".*_elbow": 15.0},
    )
    return build(1, all=cfg)[1]


def test_delays_are_drawn_at_resets_and_older_commands_come_out() -> None:
    cfg = ta.DelayedPDActuatorCfg(joint_names_expr=ALL, stiffness=0.0, damping=0.0, min_delay=1, max_delay=4)
    _, arm = build(16, all=cfg)
    group = arm.actuators["all"]
    lags = host(group.time_lags)
    assert set(lags.tolist()) <= {1, 2, 3, 4}
    assert len(set(lags.tolist())) > 1
    for step in range(10):
        arm.actuators.target_command.set_effort_index(value=float(step))
        arm.actuators.compute(0.01)
        expected = step - np.minimum(lags, step)
        np.testing.assert_array_equal(host(arm.actuators.applied_effort)[:, 0], expected)
    arm.reset(env_ids=[3, 5])
    again = host(group.time_lags)
    np.testing.assert_array_equal(np.delete(again, [3, 5]), np.delete(lags, [3, 5]))
    arm.actuators.target_command.set_effort_index(value=100.0)
    arm.actuators.compute(0.01)
    # A row that was reset knows no earlier command.
    np.testing.assert_array_equal(host(arm.actuators.applied_effort)[[3, 5], 0], 100.0)
    assert host(arm.actuators.applied_effort)[0, 0] == 10 - lags[0]


def test_a_table_limits_efforts_by_the_position() -> None:
    cfg = ta.RemotizedPDActuatorCfg(
        joint_names_expr=ALL,
        stiffness=0.0,
        damping=0.0,
        joint_parameter_lookup=[[-1.0, 1.0, 2.0], [0.0, 1.0, 6.0], [1.0, 1.0, 4.0]],
    )
    _, arm = build(1, all=cfg)
    arm.write_joint_position_to_sim_index(position=np.array([[-0.5, 0.5, -1.5, 1.2]], np.float32))
    arm.actuators.target_command.set_effort_index(value=-100.0)
    arm.actuators.compute(0.01)
    np.testing.assert_allclose(host(arm.actuators.applied_effort)[0], [-4, -5, -2, -4], rtol=1e-5)


def test_groups_that_overlap_or_match_nothing_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    def pd(expression: str) -> ta.IdealPDActuatorCfg:
        return ta.IdealPDActuatorCfg(joint_names_expr=[expression], stiffness=1.0, damping=0.0)

    with pytest.raises(ta.ConfigurationError, match=r"left_elbow.*'a' and 'b'"):
        build(1, a=pd(".*_elbow"), b=pd("left_.*"))
    with pytest.raises(ta.ConfigurationError, match=r"actuators\['a'\]"):
        build(1, a=pd("wheel"))
    with caplog.at_level(logging.WARNING, logger="tensorphys.assets"):
        _, arm = build(1, a=pd(".*_elbow"))
    assert "left_shoulder, right_shoulder" in caplog.text
    assert list(arm.actuators) == ["a"]
    assert arm.actuators["a"].joint_names == ["left_elbow", "right_elbow"]


def test_a_drive_that_the_stage_lacks_is_named(caplog: pytest.LogCaptureFixture) -> None:
    cfg = ta.ImplicitActuatorCfg(joint_names_expr=ALL, stiffness=1.0, damping=0.0)
    with caplog.at_level(logging.WARNING, logger="tensorphys.assets"):
        make(Stage(1).arms(drive=False), arm_cfg(actuators={"all": cfg}))
    assert "no drive to left_shoulder" in caplog.text


def test_old_names_of_limits_still_count() -> None:
    cfg = ta.ImplicitActuatorCfg(joint_names_expr=ALL, stiffness=1.0, damping=0.0, effort_limit_sim=11.0)
    with pytest.warns(DeprecationWarning, match="joint_effort_limit"):
        _, arm = build(1, all=cfg)
    np.testing.assert_array_equal(host(arm.data.joint_effort_limits), 11.0)
    cfg = ta.ImplicitActuatorCfg(
        joint_names_expr=ALL, stiffness=1.0, damping=0.0, effort_limit=7.0, effort_limit_sim=70.0
    )
    with pytest.warns(DeprecationWarning, match="joint_effort_limit"):
        _, arm = build(1, all=cfg)
    np.testing.assert_array_equal(host(arm.actuators["all"].actuator_effort_limit), 7.0)
    np.testing.assert_array_equal(host(arm.actuators["all"].joint_effort_limit), 70.0)


def test_a_group_shows_what_holds_for_its_joints() -> None:
    elbows = ta.IdealPDActuatorCfg(
        joint_names_expr=[".*_elbow"],
        stiffness=50.0,
        damping=1.0,
        armature=0.02,
        friction=0.3,
        dynamic_friction=0.2,
        viscous_friction=0.1,
        actuator_effort_limit=4.0,
        joint_effort_limit=40.0,
        joint_velocity_limit=9.0,
    )
    shoulders = ta.ImplicitActuatorCfg(joint_names_expr=[".*_shoulder"], stiffness=9.0, damping=0.0)
    _, arm = build(elbows=elbows, shoulders=shoulders)
    group = arm.actuators["elbows"]
    target = np.array([[0.0, 0.0, 0.02, -0.5], [0.0, 0.0, 0.04, 0.5]], np.float32)
    arm.actuators.target_command.set_position_index(value=target)
    applied = group.applied_effort
    arm.actuators.compute(0.01)
    assert group.applied_effort is applied
    np.testing.assert_allclose(host(group.computed_effort), 50.0 * target[:, 2:], rtol=1e-6)
    np.testing.assert_allclose(host(applied), np.clip(50.0 * target[:, 2:], -4.0, 4.0), rtol=1e-6)
    for name, value in (
        ("actuator_effort_limit", 4.0),
        ("joint_effort_limit", 40.0),
        ("joint_velocity_limit", 9.0),
        ("armature", 0.02),
        ("friction", 0.3),
        ("dynamic_friction", 0.2),
        ("viscous_friction", 0.1),
    ):
        np.testing.assert_allclose(host(getattr(group, name)), np.full((2, 2), value), rtol=1e-6)
    with pytest.warns(DeprecationWarning, match="use actuator_effort_limit"):
        assert group.effort_limit is group.actuator_effort_limit


def test_gains_of_models_are_written_by_joint() -> None:
    elbows = ta.IdealPDActuatorCfg(joint_names_expr=[".*_elbow"], stiffness=50.0, damping=1.0)
    shoulders = ta.ImplicitActuatorCfg(joint_names_expr=[".*_shoulder"], stiffness=9.0, damping=3.0)
    _, arm = build(elbows=elbows, shoulders=shoulders)
    names = arm.joint_names
    ids = [names.index("right_elbow"), names.index("left_shoulder")]
    with pytest.warns(DeprecationWarning, match="write_actuator_stiffness_to_sim"):
        arm.write_actuator_stiffness_to_sim(stiffness=to("warp", [[70.0, 11.0]]), env_ids=[1], joint_ids=ids)
    with pytest.warns(DeprecationWarning, match="write_actuator_damping_to_sim"):
        arm.write_actuator_damping_to_sim(damping=to("warp", [[7.0, 5.0]]), env_ids=[1], joint_ids=ids)
    np.testing.assert_array_equal(host(arm.actuators["elbows"].stiffness), [[50, 50], [50, 70]])
    np.testing.assert_array_equal(host(arm.actuators["elbows"].damping), [[1, 1], [1, 7]])
    np.testing.assert_array_equal(host(arm.actuators["shoulders"].stiffness), [[9, 9], [11, 9]])
    # Drives belong to the implicit group alone.
    drives = arm.root_view.get_dof_stiffnesses().numpy()
    np.testing.assert_array_equal(drives[1, ids], [0.0, 11.0])
    np.testing.assert_array_equal(arm.root_view.get_dof_dampings().numpy()[1, ids], [0.0, 5.0])
    np.testing.assert_array_equal(drives[0, ids], [0.0, 9.0])
