"""Handles of single prims, edits while playing, sleep, transforms, schemas and misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tensorphys import InvalidViewError
from tensorphys_backend import (
    ForeignEventError,
    JointBreakEvent,
    NoContextError,
    NotPlayingError,
    PrimPathError,
    QueryError,
    StaleHandleError,
    TensorPhysBackend,
    TimeStepError,
    decode_path,
    encode_path,
)
from tensorphys_backend.testing import add_arm, add_box, empty_stage, room_stage

BOX = "/World/scene_0/box/base_link"
CRATE = "/World/scene_0/crate/base_link"
LONG = "/World/scene_0/long_arm"
DT = 1.0 / 120.0


def playing(stage: Usd.Stage | None = None, gravity: float | None = None) -> TensorPhysBackend:
    backend = TensorPhysBackend(stage=room_stage() if stage is None else stage, frontend="numpy")
    backend.create_physics_context(DT, 2 * DT, "cpu")
    if gravity is not None:
        backend.apply_engine_settings(gravity, False, False, 1, 1, 1, 1, 1)
    backend.add_ground_plane("/World/ground_plane")
    backend.play()
    return backend


def steps(backend: TensorPhysBackend, count: int) -> None:
    for _ in range(count):
        backend.step(render=False)


def test_articulation_handle_reads_and_writes() -> None:
    backend = playing()
    arm = backend.create_articulation_view(LONG)
    arm.initialize(backend.physics_sim_view)
    assert arm.is_valid() and arm.is_physics_handle_valid() and arm.has_dof_metadata
    assert (arm.num_dof, arm.joint_count) == (2, 2)
    assert arm.joint_names == ["joint_1", "joint_2"] and arm.joint_dof_counts == [1, 1]
    assert arm.joint_dof_offsets == [0, 1] and arm.get_dof_is_rotational() == [True, True]
    assert arm.dof_path(1) == f"{LONG}/link_1/joint_2"
    assert arm.dof_index_of_path(f"{LONG}/link_1/joint_2") == 1
    arm.set_joint_positions([[0.2, -0.3]])
    arm.set_joint_position_targets([[0.5]], joint_indices=[1])
    assert np.allclose(arm.get_joint_positions(), [[0.2, -0.3]])
    assert np.allclose(arm.get_joint_position_targets(), [[0.0, 0.5]])
    arm.set_gains(kps=[[7.0]], joint_indices=[0])
    kps, kds = arm.get_gains()
    # The drives are authored in 1 and 0.1 a degree.
    assert np.allclose(kps, [[7.0, 180.0 / np.pi]], rtol=1e-5) and np.allclose(kds, 18.0 / np.pi, rtol=1e-5)
    assert np.allclose(arm.get_joint_limits(), [[[-np.pi / 2, np.pi / 2]] * 2], atol=1e-6)
    matrix = arm.get_mass_matrices()
    assert matrix.shape == (1, 2, 2) and np.allclose(matrix[0], matrix[0].T) and matrix[0, 0, 0] > 0.0
    # Weights of the rods at their levers; links are 1/2 kg and 1/3 kg, 0.2 m from their joints.
    q1, q12 = 0.2, -0.1
    second = 9.81 / 3 * 0.2 * np.sin(q12)
    first = 9.81 / 2 * 0.2 * np.sin(q1) + 9.81 / 3 * 0.4 * np.sin(q1) + second
    assert np.allclose(np.abs(arm.get_generalized_gravity_forces()), np.abs([[first, second]]), rtol=1e-4)
    with pytest.raises(IndexError, match="0 to 1"):
        arm.get_joint_positions(joint_indices=[2])


def test_quaternions_of_handles_are_w_first() -> None:
    backend = playing(gravity=0.0)
    body = backend.create_rigid_body_view(BOX)
    half = np.sqrt(0.5)
    body.set_world_poses(positions=[[1.0, 2.0, 3.0]], orientations=[[half, 0.0, 0.0, half]])
    pose = backend.physics_sim_view.create_rigid_body_view(BOX).get_transforms()
    assert np.allclose(pose, [[1.0, 2.0, 3.0, 0.0, 0.0, half, half]])
    assert np.allclose(body.get_world_poses()[1], [[half, 0.0, 0.0, half]])
    assert np.allclose(body.get_coms()[1], [[[1.0, 0.0, 0.0, 0.0]]]) and body.get_coms()[0].shape == (1, 1, 3)
    live = backend.get_world_transform_with_scale(BOX)
    assert np.allclose(live.Transform(Gf.Vec3d(1, 0, 0)), (1.0, 3.0, 3.0))


def test_transforms_carry_scale_and_follow_the_body() -> None:
    backend = playing()
    steps(backend, 5)
    child = backend.get_world_transform_with_scale(f"{BOX}/collision")
    height = backend.create_rigid_body_view(BOX).get_world_poses()[0][0, 2]
    assert np.allclose(child.Transform(Gf.Vec3d(1, 1, 1)), (0.1, 0.1, height + 0.1), atol=1e-6)
    assert np.allclose(backend.get_local_transform_with_scale(f"{BOX}/collision").GetRow(0), (0.1, 0, 0, 0))
    # What renderers see is the same, over what is authored, until the stop.
    backend.sync_to_render_layer()
    seen = UsdGeom.XformCache().GetLocalToWorldTransform(backend.stage.GetPrimAtPath(f"{BOX}/collision"))
    assert np.allclose(np.array(seen), np.array(child)) and height < 0.995
    assert not backend.live.changes.pending
    backend.stop()
    seen = UsdGeom.XformCache().GetLocalToWorldTransform(backend.stage.GetPrimAtPath(BOX))
    assert seen.ExtractTranslation()[2] == 1.0


def test_masses_and_gravity_of_one_body() -> None:
    backend = playing()
    body = backend.create_rigid_body_view(BOX)
    body.set_masses([4.0])
    assert body.get_masses() == pytest.approx([4.0])
    body.disable_gravities()
    steps(backend, 4)
    assert np.allclose(body.get_linear_velocities(), 0.0)
    body.enable_gravities()
    steps(backend, 1)
    assert body.get_linear_velocities()[0, 2] == pytest.approx(-9.81 * DT, rel=1e-4)


def test_sleep_and_wake() -> None:
    stage = room_stage()
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    backend.apply_rigid_body_schemas(stage.GetPrimAtPath(CRATE))
    backend.create_physics_context(DT, DT, "cpu")
    backend.add_ground_plane("/World/ground_plane")
    backend.play()
    assert not backend.is_asleep(CRATE)
    steps(backend, 90)
    assert backend.is_asleep(CRATE)
    backend.wake(CRATE)
    assert not backend.is_asleep(CRATE)
    backend.sleep(BOX)
    start = backend.create_rigid_body_view(BOX).get_world_poses()[0]
    steps(backend, 3)
    assert backend.is_asleep(BOX)
    assert np.array_equal(backend.create_rigid_body_view(BOX).get_world_poses()[0], start)
    backend.apply_force_at_pos(BOX, (1.0, 0.0, 0.0), (0.0, 0.0, 0.9))
    steps(backend, 1)
    assert not backend.is_asleep(BOX)


def test_body_that_is_moved_on_the_stage_moves_without_a_rebuild() -> None:
    backend = playing()
    view = backend.physics_sim_view.create_rigid_body_view(BOX)
    steps(backend, 2)
    speed = view.get_velocities().copy()
    UsdGeom.XformCommonAPI(backend.stage.GetPrimAtPath("/World/scene_0/box/base_link")).SetTranslate(
        (5, 5, 5)
    )
    backend.flush_changes()
    assert view.check() and np.allclose(view.get_transforms()[0, :3], 5.0)
    assert np.allclose(view.get_velocities(), speed, atol=1e-6)
    # A stop goes back to what is authored by then.
    backend.stop()
    backend.play()
    assert np.allclose(backend.create_rigid_body_view(BOX).get_world_poses()[0], 5.0)


def test_attributes_are_patched_without_a_rebuild() -> None:
    backend = playing()
    view = backend.physics_sim_view.create_rigid_body_view([BOX, CRATE])
    backend.create_rigid_body_view(CRATE).set_masses([7.0])
    UsdPhysics.MassAPI(backend.stage.GetPrimAtPath(BOX)).GetMassAttr().Set(3.0)
    joint = backend.stage.GetPrimAtPath(f"{LONG}/link_0/joint_1")
    UsdPhysics.DriveAPI(joint, "angular").GetStiffnessAttr().Set(np.pi / 90.0)
    backend.flush_changes()
    assert view.check()
    # What was set at run time stays.
    assert np.allclose(view.get_masses()[:, 0], [3.0, 7.0])
    kps, _ = backend.create_articulation_view(LONG).get_gains()
    assert np.allclose(kps, [[2.0, 180.0 / np.pi]], rtol=1e-5)


def test_what_stays_keeps_its_state_through_a_rebuild() -> None:
    backend, twin = playing(), playing()
    for each in (backend, twin):
        arm = each.create_articulation_view(LONG)
        arm.set_joint_positions([[0.4, 0.2]])
        arm.set_joint_position_targets([[0.1, -0.2]])
        arm.set_gains(kps=[[5.0, 6.0]])
        steps(each, 10)
    add_arm(backend.stage, "/World/scene_0/third_arm", (4.0, 2.0, 2.0), 3)
    old = backend.create_articulation_view(LONG)
    assert old.get_joint_positions().shape == (1, 2)
    backend.flush_changes()
    with pytest.raises(StaleHandleError, match="initialize"):
        old.get_joint_positions()
    for each in (backend, twin):
        steps(each, 10)
    handles = [each.create_articulation_view(LONG) for each in (backend, twin)]
    states = [np.concatenate([h.get_joint_positions(), h.get_joint_velocities()]) for h in handles]
    assert np.allclose(*states, atol=2e-5)
    assert np.allclose(handles[0].get_gains()[0], [[5.0, 6.0]])
    assert backend.create_articulation_view("/World/scene_0/third_arm").num_dof == 3
    view = backend.refresh_physics_sim_view().create_articulation_view("/World/scene_0/*_arm")
    assert view.get_dof_positions().shape == (3, 3)


def test_deactivated_and_removed_prims_are_gone() -> None:
    backend = playing()
    crate = backend.create_rigid_body_view(CRATE)
    crate.get_masses()
    backend.stage.GetPrimAtPath("/World/scene_0/crate").SetActive(False)
    assert not crate.is_physics_handle_valid()
    with pytest.raises(StaleHandleError, match="crate"):
        crate.get_masses()
    backend.flush_changes()
    assert not backend.overlap_sphere_any(0.01, (1.0, 0.0, 0.1))
    backend.stage.GetPrimAtPath("/World/scene_0/crate").SetActive(True)
    backend.flush_changes()
    assert backend.overlap_sphere_any(0.01, (1.0, 0.0, 0.1))
    with pytest.raises(PrimPathError, match="nothing_here"):
        backend.is_asleep("/World/nothing_here")


def test_visual_edits_change_nothing() -> None:
    backend = playing()
    generation, builds = backend.view_generation, backend.live.build_count
    UsdGeom.Sphere.Define(backend.stage, "/World/marker").GetRadiusAttr().Set(2.0)
    UsdGeom.Imageable(backend.stage.GetPrimAtPath(BOX)).MakeInvisible()
    steps(backend, 1)
    assert (backend.view_generation, backend.live.build_count) == (generation, builds)


def test_a_second_play_does_not_build_again() -> None:
    backend = playing()
    builds = backend.live.build_count
    for _ in range(20):
        backend.create_rigid_body_view(BOX).set_linear_velocities([[1.0, 0.0, 0.0]])
        steps(backend, 2)
        view = backend.physics_sim_view.create_rigid_body_view(BOX)
        backend.stop()
        assert not view.check()
        backend.play()
    assert backend.live.build_count == builds
    assert np.allclose(backend.create_rigid_body_view(BOX).get_world_poses()[0], [[0.0, 0.0, 1.0]])


def test_colliders_ask_for_overlaps_by_encoded_paths() -> None:
    stage = room_stage()
    add_box(stage, "/World/scene_0/near/base_link", (0.15, 0.0, 1.0))
    backend = playing(stage)
    first, second = encode_path(f"{BOX}/collision")
    assert decode_path(stage, first, second) == f"{BOX}/collision"
    found: list[str] = []
    count = backend.overlap_shape(first, second, lambda hit: found.append(hit.rigid_body) or True)
    assert count == 2 and set(found) == {BOX, "/World/scene_0/near/base_link"}
    with pytest.raises(PrimPathError):
        backend.overlap_mesh(1, 2, lambda hit: True)
    with pytest.raises(QueryError, match="without a type"):
        backend.overlap_mesh(*encode_path("/World/scene_0"), lambda hit: True)
    with pytest.raises(QueryError, match="PLANE"):
        backend.overlap_mesh("/World/ground_plane/collisionPlane", 0, lambda hit: True)


@pytest.mark.parametrize(
    ("schema", "place", "hits"),
    [
        # Axis X, radius 0.05, height 0.4: the end is 0.2 from the middle along X alone.
        (UsdGeom.Cylinder, (0.299, 0.0, 1.0), 1),
        (UsdGeom.Cylinder, (0.301, 0.0, 1.0), 0),
        (UsdGeom.Cylinder, (0.0, 0.149, 1.0), 1),
        (UsdGeom.Cylinder, (0.0, 0.151, 1.0), 0),
        # A capsule ends with a half sphere, a cone with a point at +X.
        (UsdGeom.Capsule, (0.349, 0.0, 1.0), 1),
        (UsdGeom.Capsule, (0.351, 0.0, 1.0), 0),
        (UsdGeom.Cone, (-0.299, 0.0, 1.0), 1),
        (UsdGeom.Cone, (-0.299, 0.11, 1.0), 0),
        (UsdGeom.Cone, (0.299, 0.14, 1.0), 1),
    ],
)
def test_round_shapes_that_are_no_colliders_ask_for_overlaps(schema: Any, place: Any, hits: int) -> None:
    stage = room_stage()
    shape = schema.Define(stage, "/World/probe")
    shape.CreateAxisAttr("X")
    shape.CreateRadiusAttr(0.025)
    shape.CreateHeightAttr(0.2)
    UsdGeom.XformCommonAPI(shape).SetTranslate(place)
    UsdGeom.XformCommonAPI(shape).SetScale((2.0, 2.0, 2.0))
    backend = playing(stage)
    assert backend.overlap_shape(*encode_path("/World/probe"), lambda hit: True) == hits


def test_ten_thousand_rays_in_one_call_agree_with_the_plane_and_boxes() -> None:
    backend = playing()
    rng = np.random.default_rng(0)
    places = rng.uniform((-4.0, -1.5, 6.0), (2.5, 1.5, 6.0), (10_000, 3))
    hits = backend.raycast_closest_batch(places, [(0.0, 0.0, -1.0)] * 10_000, [50.0] * 10_000)
    heights = np.zeros(10_000)
    for (x, y), top in (((0.0, 0.0), 1.1), ((1.0, 0.0), 0.2)):
        inside = (np.abs(places[:, 0] - x) < 0.1) & (np.abs(places[:, 1] - y) < 0.1)
        heights[inside] = top
    assert np.allclose([hit["distance"] for hit in hits], 6.0 - heights, atol=1e-5)


@pytest.mark.parametrize("steps_given", [(0.0, 0.1), (0.01, 0.015), (0.02, 0.01), (float("nan"), 0.1)])
def test_steps_that_do_not_fit_are_refused(steps_given: tuple[float, float]) -> None:
    with pytest.raises(TimeStepError, match="dt"):
        TensorPhysBackend(stage=empty_stage(), frontend="numpy").create_physics_context(*steps_given, "cpu")


def test_misuse_is_named() -> None:
    backend = TensorPhysBackend(stage=room_stage(), frontend="numpy")
    with pytest.raises(NoContextError, match="create_physics_context"):
        backend.play()
    backend.create_physics_context(DT, DT, "cpu")
    calls: list[Any] = [
        lambda: backend.raycast_closest((0, 0, 0), (0, 0, 1), 1.0),
        lambda: backend.physics_sim_view,
        lambda: backend.apply_torque(BOX, (0, 0, 1)),
        lambda: backend.create_articulation_view(LONG).get_joint_positions(),
        lambda: backend.step_physics_once(0.0),
        lambda: backend.get_cloth_particle_positions("/World/cloth"),
    ]
    for call in calls:
        with pytest.raises(NotPlayingError, match="play"):
            call()
    # Before the simulation plays, the pose is that of the stage.
    assert np.allclose(backend.create_rigid_body_view(BOX).get_world_poses()[0], [[0.0, 0.0, 1.0]])
    backend.play()
    with pytest.raises(QueryError, match="zero"):
        backend.raycast_closest((0, 0, 0), (0, 0, 0), 1.0)
    with pytest.raises(QueryError, match="radius"):
        backend.overlap_sphere_any(-1.0, (0, 0, 0))
    foreign = JointBreakEvent("/World/joint", 1, (0, 0, 0), (0, 0, 0), source=object())
    assert not backend.is_joint_break_event(foreign)
    with pytest.raises(ForeignEventError, match="not delivered"):
        backend.decode_joint_break_event(foreign)
    view = backend.physics_sim_view.create_articulation_view(LONG)
    backend.refresh_physics_sim_view()
    with pytest.raises(StaleHandleError, match="stale"):
        backend.set_dof_position_targets(view, np.zeros((1, 2)), np.zeros(1), cast=True)
    with pytest.raises(InvalidViewError):
        view.get_dof_positions()


def test_application_and_schemas() -> None:
    application = TensorPhysBackend.create_app()
    application.update()
    application.close()
    with pytest.raises(RuntimeError, match="closed"):
        application.update()
    stage = room_stage()
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    collider, joint = stage.GetPrimAtPath(f"{BOX}/collision"), stage.GetPrimAtPath(f"{LONG}/link_0/joint_1")
    api = backend.get_collision_api(collider)
    assert api is not None and backend.get_collision_api(joint) is None
    api.CreateContactOffsetAttr(0.05)
    assert api.GetContactOffsetAttr().Get() == pytest.approx(0.05) and not api.GetRestOffsetAttr()
    assert not backend.is_mimic_joint(joint)
    joint.AddAppliedSchema("PhysxMimicJointAPI:rotY")
    assert backend.is_mimic_joint(joint)
    root = stage.GetPrimAtPath(LONG)
    backend.apply_articulation_schemas(root, self_collisions=True)
    assert root.GetAttribute("physxArticulation:enabledSelfCollisions").Get() is True
    backend.strip_articulation_schemas(root)
    assert not root.GetAttribute("physxArticulation:enabledSelfCollisions")
    with pytest.raises(ValueError, match="approximation"):
        backend.configure_collision_approximation(collider, "guesswork")
    assert backend.contact_reporting_enabled(root, visual_only=False)
    assert not backend.contact_reporting_enabled(root, visual_only=True)
