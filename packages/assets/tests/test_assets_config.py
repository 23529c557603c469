"""Configurations, names, and the table of the interface."""

from __future__ import annotations

import pytest

import tensorphys_assets as ta
from tensorphys_assets.config import MISSING, Config
from tensorphys_assets.names import match_names, match_values
from tensorphys_assets.ordering import depth_first, make_order
from tensorphys_assets.scene import glob_of


def test_defaults_are_copied_into_each_object() -> None:
    first, second = ta.ArticulationCfg(prim_path="/a"), ta.ArticulationCfg(prim_path="/b")
    first.init_state.joint_pos["x"] = 1.0
    assert second.init_state.joint_pos == {".*": 0.0}
    assert ta.ArticulationCfg(prim_path="/a") == ta.ArticulationCfg(prim_path="/a")
    assert first != second


def test_subclasses_change_defaults_without_a_decorator() -> None:
    class MyRobot(ta.ArticulationCfg):
        prim_path = "/World/envs/env_.*/Robot"
        speed: float = 2.0

    cfg = MyRobot(soft_joint_pos_limit_factor=0.9)
    assert (cfg.prim_path, cfg.speed, cfg.soft_joint_pos_limit_factor) == (
        "/World/envs/env_.*/Robot",
        2.0,
        0.9,
    )
    assert cfg.replace(speed=3.0).speed == 3.0
    assert cfg.to_dict()["init_state"]["pos"] == (0.0, 0.0, 0.0)
    assert "speed=2.0" in repr(cfg)
    copied = cfg.copy()
    copied.init_state.pos = (1.0, 0, 0)
    assert cfg.init_state.pos == (0.0, 0.0, 0.0)


def test_unknown_and_missing_fields_are_named() -> None:
    with pytest.raises(ta.ConfigurationError, match="'stifness'"):
        ta.ImplicitActuatorCfg(stifness=1.0)
    cfg = ta.ImplicitActuatorCfg(joint_names_expr=[".*"])
    with pytest.raises(ta.ConfigurationError, match="stiffness, damping"):
        cfg.validate()
    outer = ta.ArticulationCfg(prim_path="/a", actuators={"legs": cfg})
    with pytest.raises(ta.ConfigurationError, match="ImplicitActuatorCfg"):
        outer.validate()
    assert repr(MISSING) == "MISSING"


def test_every_configuration_has_the_fields_of_isaac_lab() -> None:
    fields = {
        ta.RigidObjectCfg: "prim_path spawn init_state collision_group debug_vis disable_shape_checks",
        ta.ArticulationCfg: "articulation_root_prim_path soft_joint_pos_limit_factor joint_ordering body_ordering actuators "
        "actuator_value_resolution_debug_print",
        ta.RigidObjectCollectionCfg: "class_type rigid_objects",
        ta.DeformableObjectCfg: "visualizer_cfg",
        ta.DCMotorCfg: "joint_names_expr actuator_effort_limit actuator_velocity_limit joint_effort_limit "
        "joint_velocity_limit stiffness damping armature friction dynamic_friction viscous_friction saturation_effort",
        ta.DelayedPDActuatorCfg: "min_delay max_delay",
        ta.RemotizedPDActuatorCfg: "joint_parameter_lookup",
        ta.ActuatorNetMLPCfg: "network_file pos_scale vel_scale torque_scale input_order input_idx",
        ta.ContactSensorCfg: "track_pose track_contact_points track_friction_forces max_contact_data_count_per_prim "
        "track_air_time force_threshold history_length filter_prim_paths_expr",
    }
    for cls, names in fields.items():
        assert set(names.split()) <= set(cls.field_names())
        assert issubclass(cls, Config)


def test_names_are_matched_wholly_and_once() -> None:
    names = ["hip_l", "hip_r", "knee_l"]
    assert match_names("hip_.*", names) == ([0, 1], ["hip_l", "hip_r"])
    assert match_names(["knee_.*", "hip_r"], names, preserve_order=True) == ([2, 1], ["knee_l", "hip_r"])
    assert match_values({"hip_.*": 1, "knee_l": 2}, names) == ([0, 1, 2], names, [1, 1, 2])
    for keys in ("hip", ["hip_.*", ".*_l"], "["):
        with pytest.raises(ta.ConfigurationError):
            match_names(keys, names)


def test_expressions_become_patterns() -> None:
    assert glob_of("/World/envs/env_.*/Robot/.*_foot") == "/World/envs/env_*/Robot/*_foot"
    assert glob_of("/World/envs/env_[^/]*/Robot") == "/World/envs/env_*/Robot"


def test_trees_depth_first() -> None:
    names = ["base", "a", "b", "aa", "ba", "ab"]
    assert depth_first(names, ["", "base", "base", "a", "b", "a"]) == ["base", "a", "aa", "ab", "b", "ba"]


def test_orders_are_permutations_of_names() -> None:
    order = make_order(["b", "c", "a"], ["a", "b", "c"], [], "joint")
    assert order is not None
    assert (order.user_to_backend_indices, order.backend_to_user_indices) == ((1, 2, 0), (2, 0, 1))
    assert order.user_to_backend.numpy().tolist() == [1, 2, 0]
    assert order.backend_to_user.numpy().tolist() == [2, 0, 1]
    assert order.columns(2).numpy().tolist() == [0, 1, 3, 4, 2]
    assert make_order(["a", "b"], ["a", "b"], [], "joint") is None
    assert make_order("PhysX", ["a", "b"], ["b", "a"], "joint") is None
    depth = make_order("MJWARP", ["a", "b"], ["b", "a"], "joint")
    assert depth is not None
    assert depth.user_names == ("b", "a")
    for wanted, error, match in (
        (["a"], ta.ConfigurationError, r"Missing=\['b'\], extra=\[\]"),
        (["a", "a"], ta.ConfigurationError, "Duplicate requested joint names"),
        ("robot_schema", ta.ConfigurationError, "expected 'physx', 'mjwarp' or a list"),
        (["a", 1], TypeError, "element 1 must be str"),
        ({"a", "b"}, TypeError, "list or tuple"),
    ):
        with pytest.raises(error, match=match):
            make_order(wanted, ["a", "b"], ["b", "a"], "joint")


def test_missing_members_are_listed() -> None:
    class Empty:
        pass

    missing = ta.missing_members({"RigidObject": Empty})
    assert len(missing["RigidObject"]) == len(ta.interface()["RigidObject"])
