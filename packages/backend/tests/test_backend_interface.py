"""The interface against the list of members that callers use, with their parameters."""

from __future__ import annotations

import inspect

import pytest

from tensorphys_backend import PhysicsBackend, TensorPhysBackend

ABSTRACT = {
    "add_ground_plane": "prim_path, visible=True, color=None",
    "create_physics_context": "physics_dt, rendering_dt, device",
    "stop_step_callbacks": "",
    "start_step_callbacks": "pre_step_fn, post_step_fn, joint_break_fn",
    "apply_engine_settings": "gravity, enable_ccd, use_gpu_dynamics, gpu_pairs_capacity, gpu_aggr_pairs_capacity, "
    "gpu_max_particle_contacts, gpu_max_rigid_contact_count, gpu_max_rigid_patch_count",
    "get_physics_context": "",
    "is_playing": "",
    "is_stopped": "",
    "get_physics_dt": "",
    "get_rendering_dt": "",
    "set_simulation_dt": "physics_dt=None, rendering_dt=None",
    "get_device": "",
    "set_device": "device",
    "play": "",
    "pause": "",
    "stop": "",
    "render": "",
    "step": "render",
    "step_physics_once": "current_time",
    "refresh_physics_sim_view": "",
    "invalidate_physics_sim_view": "",
    "flush_changes": "",
    "sync_to_render_layer": "",
    "set_dof_position_targets": "view, data, indices, cast=False",
    "set_dof_velocity_targets": "view, data, indices, cast=False",
    "set_dof_actuation_forces": "view, data, indices, cast=False",
    "get_world_transform_with_scale": "prim_path",
    "get_local_transform_with_scale": "prim_path",
    "create_articulation_view": "prim_path",
    "create_rigid_body_view": "prim_path",
    "is_asleep": "prim_path",
    "wake": "prim_path",
    "sleep": "prim_path",
    "apply_force_at_pos": "prim_path, force, pos",
    "apply_torque": "prim_path, torque",
    "raycast_closest": "*args, **kwargs",
    "raycast_all": "*args, **kwargs",
    "overlap_sphere": "*args, **kwargs",
    "overlap_box": "*args, **kwargs",
    "overlap_mesh": "*args, **kwargs",
    "overlap_shape": "*args, **kwargs",
    "overlap_sphere_any": "radius, pos",
    "get_cloth_particle_positions": "prim_path, idxs=None",
    "set_cloth_particle_positions": "prim_path, positions, idxs=None",
    "get_cloth_particle_velocities": "prim_path",
    "set_cloth_particle_velocities": "prim_path, velocities",
    "get_cloth_stiffness": "prim_path",
    "set_cloth_stiffness": "prim_path, bend=None, damping=None, shear=None, stretch=None",
    "is_joint_break_event": "event",
    "decode_joint_break_event": "event",
}
DEFAULTS = {
    "create_app": "",
    "assert_clean_start": "",
    "before_clear": "",
    "after_clear": "",
    "finalize": "",
    "in_warmup": "",
    "enable_extensions": "",
    "before_play": "sim",
    "apply_rigid_body_schemas": "prim",
    "apply_collision_schemas": "prim",
    "configure_collision_approximation": "prim, approximation_type",
    "apply_joint_schemas": "prim",
    "apply_articulation_schemas": "prim, self_collisions=False",
    "strip_articulation_schemas": "prim",
    "enable_contact_reporting": "prim",
    "contact_reporting_enabled": "prim, visual_only",
    "get_collision_api": "prim",
    "is_mimic_joint": "prim",
    "raycast_closest_batch": "origins, dirs, distances",
}
PROPERTIES = {
    "stage",
    "current_time",
    "current_time_step_index",
    "initial_physics_dt",
    "initial_rendering_dt",
    "physics_sim_view",
}


def parameters(function: object) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return ", ".join(str(p) for p in plain if p.name not in ("self", "cls"))


def test_abstract_members_are_those_of_the_interface() -> None:
    assert PhysicsBackend.__abstractmethods__ == ABSTRACT.keys() | PROPERTIES


def test_no_member_is_missing_or_added() -> None:
    public = {name for name in dir(PhysicsBackend) if not name.startswith("_")}
    assert public == ABSTRACT.keys() | DEFAULTS.keys() | PROPERTIES


@pytest.mark.parametrize(("name", "expected"), [*ABSTRACT.items(), *DEFAULTS.items()])
def test_parameters_have_these_names_and_defaults(name: str, expected: str) -> None:
    assert parameters(getattr(PhysicsBackend, name)) == expected
    if "*args" in expected:
        return
    ours = inspect.signature(getattr(TensorPhysBackend, name)).parameters
    assert [p for p in ours if p != "self"] == [p.split("=")[0] for p in expected.split(", ") if p]


def test_arguments_of_queries_have_the_names_that_callers_use() -> None:
    assert parameters(TensorPhysBackend.raycast_closest) == "origin, dir, distance, bothSides=False"
    assert parameters(TensorPhysBackend.raycast_all) == "origin, dir, distance, reportFn, bothSides=False"
    assert parameters(TensorPhysBackend.overlap_sphere) == "radius, pos, reportFn, anyHit=False"
    assert parameters(TensorPhysBackend.overlap_box) == "halfExtent, pos, rot, reportFn, anyHit=False"
    assert parameters(TensorPhysBackend.overlap_mesh) == "meshPath0, meshPath1, reportFn, anyHit=False"
    assert parameters(TensorPhysBackend.overlap_shape) == "meshPath0, meshPath1, reportFn, anyHit=False"


def test_an_application_is_asked_for_by_name() -> None:
    with pytest.raises(NotImplementedError, match="create_app"):
        PhysicsBackend.create_app()


def test_implementation_is_complete() -> None:
    assert not TensorPhysBackend.__abstractmethods__
