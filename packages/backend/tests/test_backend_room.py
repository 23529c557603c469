"""Cloth, broken joints and sensors through edits, and a room that is played again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, Vt

from tensorphys_backend import BackendError, TensorPhysBackend
from tensorphys_backend.testing import add_arm, add_box, add_cloth, empty_stage, fix_to_world, room_stage

DT = 1.0 / 120.0


def playing(stage: Usd.Stage) -> TensorPhysBackend:
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    backend.create_physics_context(DT, DT, "cpu")
    backend.play()
    return backend


def test_cloth_springs_change_in_place_and_its_particles_survive_a_rebuild() -> None:
    stage = empty_stage()
    path = str(add_cloth(stage, "/World/cloth", (0.0, 0.0, 1.0)).GetPath())
    backend = playing(stage)
    view = backend.physics_sim_view.create_particle_cloth_view(path)
    before = view.get_spring_stiffness().copy()
    backend.set_cloth_stiffness(path, stretch=700.0)
    after = view.get_spring_stiffness()
    assert view.check() and np.allclose(after[before == 100.0], 700.0)
    assert np.array_equal(after[before != 100.0], before[before != 100.0]) and (before == 100.0).any()
    rng = np.random.default_rng(1)
    places = rng.uniform(0.0, 1.0, (25, 3)).astype(np.float32)
    speeds = rng.uniform(-1.0, 1.0, (25, 3)).astype(np.float32)
    backend.set_cloth_particle_positions(path, places)
    backend.set_cloth_particle_velocities(path, speeds)
    add_box(stage, "/World/box", (5.0, 0.0, 1.0))
    backend.flush_changes()
    assert not view.check()
    assert np.array_equal(backend.get_cloth_particle_positions(path), places)
    assert np.array_equal(backend.get_cloth_particle_velocities(path), speeds)
    assert backend.get_cloth_stiffness(path)["stretch"] == 700.0
    with pytest.raises(ValueError, match="bend"):
        backend.set_cloth_stiffness(path, bend=-1.0)
    with pytest.raises(IndexError, match="0 to 24"):
        backend.get_cloth_particle_positions(path, [25])
    with pytest.raises(ValueError, match="shape"):
        backend.set_cloth_particle_velocities(path, speeds[:3])
    # Beside cloth nothing sleeps; the body is stopped.
    backend.step(render=False)
    backend.sleep("/World/box")
    assert not backend.is_asleep("/World/box")
    assert not backend.create_rigid_body_view("/World/box").get_linear_velocities().any()


def test_sets_of_particles_survive_a_rebuild() -> None:
    stage = empty_stage()
    system = stage.DefinePrim("/World/grains_system", "PhysxParticleSystem")
    for name, value in (("particleContactOffset", 0.02), ("solidRestOffset", 0.01), ("restOffset", 0.01)):
        system.CreateAttribute(name, Sdf.ValueTypeNames.Float, False).Set(value)
    grains = UsdGeom.Points.Define(stage, "/World/grains")
    grains.CreatePointsAttr([(0.1 * i, 0.0, 2.0) for i in range(6)])
    grains.GetPrim().AddAppliedSchema("PhysxParticleSetAPI")
    grains.GetPrim().CreateRelationship("physxParticle:particleSystem", False).SetTargets([system.GetPath()])
    add_cloth(stage, "/World/cloth", (0.0, 3.0, 1.0))
    backend = playing(stage)
    for _ in range(5):
        backend.step(render=False)
    generation = backend.view_generation
    add_box(stage, "/World/box", (5.0, 0.0, 1.0))
    for _ in range(5):
        backend.step(render=False)
    assert backend.view_generation > generation
    # Particles that fall freely for ten steps, from rest.
    state = backend.live_world.simulation.particles.state
    assert np.allclose(state.velocities.numpy()[:6, 2], -9.81 * 10 * DT, rtol=1e-3)
    assert np.allclose(state.positions.numpy()[:6, 2], 2.0 - 0.5 * 9.81 * (10 * DT) ** 2, atol=1e-3)
    for path in ("/World/cloth", "/World/grains"):
        stage.RemovePrim(path)
    backend.flush_changes()
    assert backend.live_world.simulation.particles is None


def test_a_deformable_survives_a_rebuild_and_its_removal_is_noticed() -> None:
    stage = empty_stage()
    soft = UsdGeom.Mesh.Define(stage, "/World/soft")
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    soft.CreatePointsAttr(corners)
    soft.CreateFaceVertexCountsAttr([4] * 6)
    faces = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
    soft.CreateFaceVertexIndicesAttr(faces)
    UsdGeom.XformCommonAPI(soft).SetTranslate((0.0, 0.0, 2.0))
    soft.GetPrim().AddAppliedSchema("PhysxDeformableBodyAPI")
    soft.GetPrim().CreateAttribute(
        "physxDeformable:simulationHexahedralResolution", Sdf.ValueTypeNames.UInt, False
    ).Set(2)
    backend = playing(stage)
    for _ in range(5):
        backend.step(render=False)
    generation = backend.view_generation
    add_box(stage, "/World/box", (5.0, 0.0, 1.0))
    for _ in range(5):
        backend.step(render=False)
    assert backend.view_generation > generation
    velocity = backend.live_world.simulation.soft.state.velocities.numpy()
    assert np.allclose(velocity[:, 2], -9.81 * 10 * DT, rtol=1e-3)
    stage.RemovePrim("/World/soft")
    backend.flush_changes()
    assert backend.live_world.simulation.soft is None


def test_a_cloth_that_comes_while_playing_is_simulated() -> None:
    backend = playing(empty_stage())
    path = str(add_cloth(backend.stage, "/World/late_cloth", (0.0, 0.0, 1.0)).GetPath())
    backend.step(render=False)
    assert backend.get_cloth_particle_velocities(path)[:, 2].mean() == pytest.approx(-9.81 * DT, rel=1e-3)


def test_springs_that_are_authored_one_by_one_are_not_set_by_kind() -> None:
    stage = empty_stage()
    prim = add_cloth(stage, "/World/cloth", (0.0, 0.0, 1.0))
    prim.CreateAttribute("physxParticle:springIndices", Sdf.ValueTypeNames.Int2Array, False).Set(
        Vt.Vec2iArray([(0, 1)])
    )
    with pytest.raises(BackendError, match="one by one"):
        playing(stage).set_cloth_stiffness("/World/cloth", bend=1.0)


def test_a_broken_joint_stays_broken_and_is_told_once() -> None:
    stage = empty_stage()
    body = add_box(stage, "/World/box", (0.0, 0.0, 2.0))
    fix_to_world(stage, "/World/fix", body, (0.0, 0.0, 2.0), force=5.0)
    backend = playing(stage)
    events: list[Any] = []
    backend.start_step_callbacks(None, None, events.append)
    for _ in range(3):
        backend.step(render=False)
    assert [backend.decode_joint_break_event(event) for event in events] == ["/World/fix"]
    add_box(stage, "/World/other", (3.0, 0.0, 2.0))
    for _ in range(5):
        backend.step(render=False)
    assert len(events) == 1
    assert backend.create_rigid_body_view("/World/box").get_linear_velocities()[0, 2] < -0.5
    # Play starts with whole joints.
    backend.stop()
    backend.play()
    for _ in range(3):
        backend.step(render=False)
    assert len(events) == 2


def test_sensors_are_the_dynamic_bodies_that_match() -> None:
    stage = room_stage()
    moved = add_box(stage, "/World/scene_0/lift/base_link", (6.0, 0.0, 1.0))
    UsdPhysics.RigidBodyAPI(moved).CreateKinematicEnabledAttr(True)
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Cube.Define(stage, "/World/scene_0/shelf/board").GetPrim())
    backend = playing(stage)
    factory = backend.physics_sim_view
    columns = ["/World/scene_0/lift/base_link", "/World/scene_0/shelf/board"]
    view = factory.create_rigid_contact_view("/World/scene_0/*/*", columns, 8)
    names = set(view.sensor_paths)
    assert len(names) == 7 and not names & set(columns) and "/World/scene_0/box/base_link" in names
    assert view.get_contact_force_matrix(1.0).shape == (7, 2, 3)
    position, rotation = backend.get_live_world_pose("/World/scene_0/lift/base_link/collision")
    assert np.allclose(position, (6.0, 0.0, 1.0)) and np.allclose(rotation, (0.0, 0.0, 0.0, 1.0))


def test_a_room_is_played_and_edited_again_and_again() -> None:
    stage = empty_stage()
    for i in range(20):
        add_box(stage, f"/World/scene_0/box_{i}/base_link", (0.5 * (i % 5), 0.5 * (i // 5), 0.1))
    for joints in (1, 2, 3):
        add_arm(stage, f"/World/scene_0/arm_{joints}", (0.5 * joints, 4.0, 2.0), joints)
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    backend.create_physics_context(DT, DT, "cpu")
    backend.add_ground_plane("/World/ground_plane")
    backend.play()
    for cycle in range(5):
        arms = backend.physics_sim_view.create_articulation_view("/World/scene_0/arm_*")
        backend.set_dof_position_targets(arms, np.full((3, 3), 0.1), np.arange(3), cast=True)
        assert arms.get_dof_positions().shape == (3, 3)
        backend.step(render=False)
        add_box(stage, "/World/scene_0/late/base_link", (3.0, 3.0, 0.5 + 0.1 * cycle))
        backend.step(render=False)
        assert not arms.check()
        late = backend.create_rigid_body_view("/World/scene_0/late/base_link")
        # One step of gravity from where it was put.
        assert late.get_world_poses()[0][0, 2] == pytest.approx(0.5 + 0.1 * cycle, abs=1e-3)
        stage.RemovePrim("/World/scene_0/late")
        backend.step(render=False)
        backend.stop()
        backend.play()
    rows = backend.physics_sim_view.create_rigid_body_view("/World/scene_0/*/*")
    assert rows.count == 20 + 9
