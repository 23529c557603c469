"""Members of handles and views against closed forms, and what the engine does with settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdPhysics

from tensorphys_backend import TensorPhysBackend
from tensorphys_backend.testing import add_arm, add_box, empty_stage, room_stage

DT = 1.0 / 120.0
LONG, SHORT = "/World/scene_0/long_arm", "/World/scene_0/short_arm"
BOX, CRATE = "/World/scene_0/box/base_link", "/World/scene_0/crate/base_link"
GROUND = "/World/ground_plane/collisionPlane"
# The rod of the short arm about its joint: 0.5 kg, 0.06 x 0.06 x 0.3 m, its middle 0.2 m from the joint.
ROD_MASS, LEVER = 0.5, 0.2
ROD_INERTIA = ROD_MASS * ((0.03**2 + 0.15**2) / 3.0 + LEVER**2)


def playing(stage: Usd.Stage | None = None, gravity: float = 0.0, ccd: bool = False) -> TensorPhysBackend:
    backend = TensorPhysBackend(stage=room_stage() if stage is None else stage, frontend="numpy")
    backend.create_physics_context(DT, DT, "cpu")
    backend.apply_engine_settings(gravity, ccd, False, 1, 1, 1, 1, 1)
    backend.add_ground_plane("/World/ground_plane")
    backend.play()
    return backend


def steps(backend: TensorPhysBackend, count: int) -> None:
    for _ in range(count):
        backend.step(render=False)


def loose_arm(backend: TensorPhysBackend) -> Any:
    arm = backend.create_articulation_view(SHORT)
    arm.set_gains(kps=[[0.0]], kds=[[0.0]])
    return arm


def test_efforts_turn_the_joint_until_they_are_set_again() -> None:
    backend = playing()
    arm = loose_arm(backend)
    arm.set_joint_efforts([[0.1]])
    assert np.allclose(arm.get_joint_efforts(), [[0.1]])
    steps(backend, 3)
    assert arm.get_joint_velocities()[0, 0] == pytest.approx(3 * DT * 0.1 / ROD_INERTIA, rel=1e-3)
    arm.set_joint_velocities([[0.0]])
    arm.set_joint_efforts([[0.0]])
    steps(backend, 1)
    assert abs(arm.get_joint_velocities()[0, 0]) < 1e-6


def test_largest_effort_and_speed_bound_the_drive() -> None:
    backend = playing()
    arm = backend.create_articulation_view(SHORT)
    arm.set_gains(kps=[[1000.0]], kds=[[10.0]])
    arm.set_max_efforts([[0.05]])
    arm.set_joint_position_targets([[1.0]])
    steps(backend, 1)
    assert arm.get_max_efforts() == pytest.approx(0.05)
    assert arm.get_joint_velocities()[0, 0] == pytest.approx(DT * 0.05 / ROD_INERTIA, rel=1e-3)
    arm.set_max_efforts([[100.0]])
    arm.set_max_joint_velocities([[0.5]])
    steps(backend, 5)
    assert arm.get_joint_max_velocities() == pytest.approx(0.5)
    assert 0.4 < arm.get_joint_velocities()[0, 0] < 0.5 + 1e-4


def test_velocity_targets_and_limits_hold() -> None:
    backend = playing()
    arm = backend.create_articulation_view(SHORT)
    arm.set_gains(kps=[[0.0]], kds=[[50.0]])
    arm.set_joint_velocity_targets([[0.8]])
    arm.set_joint_limits([[[-0.1, 0.05]]])
    assert np.allclose(arm.get_joint_limits(), [[[-0.1, 0.05]]])
    steps(backend, 3)
    assert arm.get_joint_velocities()[0, 0] == pytest.approx(0.8, rel=1e-2)
    steps(backend, 30)
    assert arm.get_joint_positions()[0, 0] == pytest.approx(0.05, abs=2e-3)
    actions = arm.get_applied_actions()
    assert np.allclose(actions.joint_velocities, 0.8) and np.allclose(actions.joint_positions, 0.0)
    assert np.allclose(actions.joint_efforts, 0.0)


def test_friction_and_armature_of_joints_are_read_and_written() -> None:
    backend = playing()
    arm = loose_arm(backend)
    arm.set_friction_coefficients([[0.3]])
    arm.set_armatures([[ROD_INERTIA]])
    assert arm.get_friction_coefficients() == pytest.approx(0.3)
    assert arm.get_armatures() == pytest.approx(ROD_INERTIA)
    arm.set_friction_coefficients([[0.0]])
    arm.set_joint_efforts([[0.1]])
    steps(backend, 1)
    assert arm.get_joint_velocities()[0, 0] == pytest.approx(DT * 0.1 / (2.0 * ROD_INERTIA), rel=1e-3)


def test_measured_efforts_are_what_holds_the_arm() -> None:
    backend = playing(gravity=9.81)
    arm = backend.create_articulation_view(SHORT)
    arm.set_gains(kps=[[2000.0]], kds=[[40.0]])
    arm.set_joint_positions([[0.5]])
    arm.set_joint_position_targets([[0.5]])
    steps(backend, 120)
    angle = float(arm.get_joint_positions()[0, 0])
    weight = ROD_MASS * 9.81 * LEVER * np.sin(angle)
    assert abs(arm.get_measured_joint_efforts()[0, 0]) == pytest.approx(abs(weight), rel=1e-2)
    assert abs(arm.get_generalized_gravity_forces()[0, 0]) == pytest.approx(abs(weight), rel=1e-3)
    # What the view says counteracts gravity does so.
    arm.set_gains(kps=[[0.0]], kds=[[0.0]])
    arm.set_joint_velocities([[0.0]])
    for _ in range(10):
        arm.set_joint_efforts(arm.get_generalized_gravity_forces())
        steps(backend, 1)
    assert abs(arm.get_joint_velocities()[0, 0]) < 2e-3


def test_coriolis_forces_and_jacobians_follow_from_mass_matrix_and_motion() -> None:
    backend = playing()
    arm = backend.create_articulation_view(LONG)
    angles, speeds = np.array([0.3, -0.7]), np.array([1.5, -2.0])

    def matrix(at: Any) -> Any:
        arm.set_joint_positions(at[None])
        return arm.get_mass_matrices()[0].astype(float)

    step = 0.02
    slopes = []
    for axis in range(2):
        offset = step * np.eye(2)[axis]
        near, far = (matrix(angles + k * offset) - matrix(angles - k * offset) for k in (1, 2))
        slopes.append((8.0 * near - far) / (12.0 * step))
    # c = Ṁ q̇ − ½ ∂(q̇ᵀ M q̇)/∂q
    turning = sum(speed * slope for speed, slope in zip(speeds, slopes, strict=True))
    expected = turning @ speeds - 0.5 * np.array([speeds @ slope @ speeds for slope in slopes])
    arm.set_joint_positions(angles[None])
    arm.set_joint_velocities(speeds[None])
    given = arm.get_coriolis_and_centrifugal_forces()
    assert np.allclose(given, expected[None], rtol=2e-3, atol=1e-5) and np.abs(expected).min() > 1e-2
    jacobian = arm.get_jacobians()
    links = backend.physics_sim_view.create_articulation_view(LONG).get_link_velocities()
    moving = jacobian.reshape(-1, 6, 2) @ speeds
    assert np.allclose(moving, links[0, -len(moving) :], atol=1e-5)


@pytest.mark.parametrize("path", [LONG, f"{LONG}/link_0", f"{LONG}/link_1/joint_2"])
def test_a_fixed_arm_is_found_by_entity_root_link_and_joint_and_can_be_put_elsewhere(path: str) -> None:
    backend = playing()
    arm = backend.create_articulation_view(path)
    arm.initialize(backend.physics_sim_view)
    assert arm.num_dof == 2 and arm.is_physics_handle_valid()
    arm.set_world_poses(positions=[[4.0, 5.0, 6.0]], orientations=[[np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]])
    place, turn = arm.get_world_poses()
    assert np.allclose(place, [[4.0, 5.0, 6.0]]) and np.allclose(turn, [[np.sqrt(0.5), 0, 0, np.sqrt(0.5)]])
    hand = backend.get_world_transform_with_scale(f"{LONG}/link_2").ExtractTranslation()
    assert np.allclose(hand, (4.0, 5.0, 6.0 - 2 * 0.4), atol=1e-5)


def test_a_floating_articulation_has_velocities_of_its_root() -> None:
    stage = empty_stage()
    add_arm(stage, "/World/swimmer", (0.0, 0.0, 3.0), 2)
    stage.RemovePrim("/World/swimmer/link_0/base_joint")
    backend = playing(stage)
    arm = backend.create_articulation_view("/World/swimmer/link_0")
    arm.set_velocities([[0.5, 0.0, 0.0, 0.0, 0.0, 0.0]])
    assert np.allclose(arm.get_velocities(), [[0.5, 0, 0, 0, 0, 0]])
    steps(backend, 12)
    assert arm.get_world_poses()[0][0, 0] == pytest.approx(12 * DT * 0.5, rel=1e-3)
    assert arm.get_mass_matrices().shape == (1, 8, 8)
    # Six of the root come first; the whole mass is moved.
    assert arm.get_mass_matrices()[0, 0, 0] == pytest.approx(1.0 + 1.0 / 2.0 + 1.0 / 3.0, rel=1e-5)


def test_mass_properties_of_a_body() -> None:
    stage = empty_stage()
    prim = add_box(stage, "/World/box", (0.0, 0.0, 2.0))
    prim.RemoveProperty("physics:mass")
    backend = playing(stage)
    body = backend.create_rigid_body_view("/World/box")
    body.initialize(backend.physics_sim_view)
    assert body._physics_view.check()
    body.set_densities([500.0])
    backend.flush_changes()
    assert body.get_densities() == pytest.approx([500.0])
    assert body.get_masses() == pytest.approx([500.0 * 0.2**3], rel=1e-5)
    body.set_coms(positions=[[[0.05, 0.0, 0.0]]])
    assert np.allclose(body.get_coms()[0], [[[0.05, 0.0, 0.0]]])
    assert np.allclose(body.get_world_poses()[0], [[0.0, 0.0, 2.0]])
    # A force through the new centre does not turn it.
    backend.apply_force_at_pos("/World/box", (0.0, 0.0, 8.0), (0.05, 0.0, 2.0))
    steps(backend, 1)
    assert np.allclose(body.get_angular_velocities(), 0.0, atol=1e-6)
    assert body.get_linear_velocities()[0, 2] == pytest.approx(8.0 / 4.0 * DT, rel=1e-4)
    body.set_angular_velocities([[0.0, 0.0, 3.0]])
    body.set_linear_velocities([[0.0, 1.0, 0.0]])
    assert np.allclose(body.get_angular_velocities(), [[0.0, 0.0, 3.0]])
    assert np.allclose(body.get_linear_velocities(), [[0.0, 1.0, 0.0]])


def test_different_arms_share_a_view_that_is_padded_with_zeros() -> None:
    stage = room_stage()
    add_arm(stage, "/World/scene_0/third_arm", (4.0, 2.0, 2.0), 3)
    backend = playing(stage, gravity=9.81)
    factory = backend.physics_sim_view
    arms = factory.create_articulation_view([SHORT, LONG, "/World/scene_0/third_arm"])
    assert list(arms.prim_paths) == [SHORT, LONG, "/World/scene_0/third_arm"]
    assert [len(paths) for paths in arms.link_paths] == [2, 3, 4]
    rows = np.arange(3, dtype=np.uint32)
    blank = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)
    ones = np.where(blank, 0.0, 0.1).astype(np.float32)
    backend.set_dof_position_targets(arms, ones, rows)
    backend.set_dof_velocity_targets(arms, 2.0 * ones, rows)
    backend.set_dof_actuation_forces(arms, 3.0 * ones, rows)
    # One row alone is written where the others are not named.
    backend.set_dof_actuation_forces(arms, 9.0 * ones, rows[1:2])
    assert np.array_equal(arms.get_dof_position_targets(), ones)
    assert np.allclose(arms.get_dof_velocity_targets(), 2.0 * ones)
    assert np.allclose(arms.get_dof_actuation_forces(), ones * [[3.0], [9.0], [3.0]])
    steps(backend, 5)
    names = ("dof_positions", "dof_velocities", "dof_projected_joint_forces")
    names += ("gravity_compensation_forces", "coriolis_and_centrifugal_compensation_forces")
    for name in names:
        values = getattr(arms, f"get_{name}")()
        assert values.shape == (3, 3) and not values[blank].any() and values[~blank].any(), name
    assert arms.get_root_transforms().shape == (3, 7) and arms.get_root_velocities().shape == (3, 6)
    assert arms.get_link_transforms().shape == (3, 4, 7) and arms.get_link_velocities().shape == (3, 4, 6)
    with pytest.raises(Exception, match="expected"):
        backend.set_dof_position_targets(arms, ones[:, :2], rows)


def test_matrices_of_different_articulations_are_those_of_each_padded_with_zeros() -> None:
    stage = room_stage()
    add_arm(stage, "/World/scene_0/swimmer", (4.0, 2.0, 2.0), 1)
    stage.RemovePrim("/World/scene_0/swimmer/link_0/base_joint")
    backend = playing(stage)
    rng = np.random.default_rng(2)
    for paths, floats in (([LONG, SHORT], False), ([SHORT, "/World/scene_0/swimmer", LONG, SHORT], True)):
        mixed = backend.physics_sim_view.create_articulation_view(paths)
        mixed.set_dof_positions(
            rng.uniform(-0.5, 0.5, (len(paths), 2)).astype(np.float32), np.arange(len(paths))
        )
        root = 6 * floats
        assert mixed.jacobian_shape == ((3 if floats else 2) * 6, 2 + root)
        assert mixed.generalized_mass_matrix_shape == (2 + root, 2 + root)
        jacobians, masses = mixed.get_jacobians(), mixed.get_generalized_mass_matrices()
        assert mixed.get_jacobians() is jacobians and mixed.get_mass_matrices().shape == (len(paths), 2, 2)
        # The same indices as in forces: here gravity's, of which the mass matrix has the columns.
        assert mixed.get_gravity_compensation_forces().shape == (len(paths), 2 + root)
        for row, path in enumerate(paths):
            alone = backend.physics_sim_view.create_articulation_view(path)
            own = alone.get_jacobians()[0]
            link, first = (1, 6) if floats and "swimmer" not in path else (0, 0)
            expected = np.zeros(jacobians.shape[1:])
            expected[link : link + own.shape[0], :, first : first + own.shape[2]] = own
            assert np.array_equal(jacobians[row], expected)
            own = alone.get_generalized_mass_matrices()[0]
            expected = np.zeros(masses.shape[1:])
            expected[first : first + len(own), first : first + len(own)] = own
            assert np.array_equal(masses[row], expected)


def test_contact_data_lie_on_the_touching_faces_and_add_up_to_the_weight() -> None:
    backend = playing(gravity=9.81)
    steps(backend, 60)
    view = backend.physics_sim_view.create_rigid_contact_view(CRATE, [GROUND, BOX], 64)
    force, point, normal, separation, count, start = (np.asarray(x) for x in view.get_contact_data(DT))
    assert count.shape == start.shape == (1, 2) and count[0, 1] == 0 and count[0, 0] >= 3
    rows = slice(int(start[0, 0]), int(start[0, 0] + count[0, 0]))
    assert np.allclose(point[rows, 2], 0.0, atol=2e-3) and np.abs(separation[rows]).max() < 2e-3
    assert (np.abs(np.abs(point[rows, :2] - [1.0, 0.0]) - 0.1) < 2e-3).all()
    assert np.allclose(normal[rows], [[0.0, 0.0, 1.0]], atol=1e-4)
    assert force[rows].sum() == pytest.approx(2.0 * 9.81, rel=1e-2)
    assert np.allclose(view.get_net_contact_forces(DT), [[0.0, 0.0, 2.0 * 9.81]], atol=0.2)


def test_a_fast_body_is_stopped_by_a_thin_wall() -> None:
    stage = empty_stage()
    bullet = add_box(stage, "/World/bullet", (0.0, 0.0, 1.0), half=(0.02, 0.02, 0.02))
    bullet.AddAppliedSchema("PhysxRigidBodyAPI")
    bullet.CreateAttribute("physxRigidBody:enableCCD", Sdf.ValueTypeNames.Bool, False).Set(True)
    add_box(stage, "/World/wall", (2.0, 0.0, 1.0), half=(0.005, 1.0, 1.0), moves=False)
    backend = playing(stage, ccd=True)
    assert backend.live_world.simulation.scene.settings.ccd
    body = backend.create_rigid_body_view("/World/bullet")
    # Twice its way to the wall in one step.
    body.set_linear_velocities([[4.0 / DT, 0.0, 0.0]])
    steps(backend, 3)
    assert body.get_world_poses()[0][0, 0] < 2.0


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("convexHull", "PhysxConvexHullCollisionAPI"),
        ("convexDecomposition", "PhysxConvexDecompositionCollisionAPI"),
        ("meshSimplification", "PhysxTriangleMeshSimplificationCollisionAPI"),
        ("sdf", "PhysxSDFMeshCollisionAPI"),
        ("none", "PhysxTriangleMeshCollisionAPI"),
    ],
)
def test_approximations_and_reports_are_authored(kind: str, schema: str) -> None:
    stage = room_stage()
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    collider = stage.GetPrimAtPath(f"{BOX}/collision")
    backend.apply_collision_schemas(collider)
    backend.configure_collision_approximation(collider, kind)
    listed = collider.GetMetadata("apiSchemas").GetAddedOrExplicitItems()
    assert {"PhysxCollisionAPI", schema} <= set(listed)
    limit = collider.GetAttribute("physxConvexHullCollision:hullVertexLimit").Get()
    assert limit == (60 if kind == "convexHull" else None)
    body, joint = stage.GetPrimAtPath(BOX), stage.GetPrimAtPath(f"{LONG}/link_0/joint_1")
    backend.enable_contact_reporting(body)
    assert body.GetAttribute("physxContactReport:threshold").Get() == 0.0
    backend.apply_joint_schemas(joint)
    assert "PhysxJointAPI" in joint.GetMetadata("apiSchemas").GetAddedOrExplicitItems()
    # The stage is simulated with what was authored.
    backend.create_physics_context(DT, DT, "cpu")
    backend.play()
    steps(backend, 1)
    assert backend.create_rigid_body_view(BOX).get_linear_velocities()[0, 2] < 0.0


def test_mimic_joints_follow_and_are_no_controls() -> None:
    stage = room_stage()
    joint = stage.GetPrimAtPath(f"{LONG}/link_1/joint_2")
    UsdPhysics.DriveAPI(joint, "angular").GetStiffnessAttr().Set(0.0)
    UsdPhysics.DriveAPI(joint, "angular").GetDampingAttr().Set(0.0)
    joint.AddAppliedSchema("PhysxMimicJointAPI:rotY")
    joint.CreateRelationship("physxMimicJoint:rotY:referenceJoint", False).SetTargets(
        [Sdf.Path(f"{LONG}/link_0/joint_1")]
    )
    joint.CreateAttribute("physxMimicJoint:rotY:gearing", Sdf.ValueTypeNames.Float, False).Set(-0.5)
    backend = playing(stage)
    assert backend.is_mimic_joint(joint)
    assert not backend.is_mimic_joint(stage.GetPrimAtPath(f"{LONG}/link_0/joint_1"))
    arm = backend.create_articulation_view(LONG)
    arm.set_gains(kps=[[100.0]], kds=[[10.0]], joint_indices=[0])
    arm.set_joint_position_targets([[0.4]], joint_indices=[0])
    steps(backend, 120)
    first, second = arm.get_joint_positions()[0]
    # Its position plus gearing times that of the other is zero.
    assert first == pytest.approx(0.4, abs=1e-2) and second == pytest.approx(0.5 * first, abs=5e-3)
