"""Joints that are made while playing, counts of iterations, and particle systems by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom

from tensorphys_backend import NotPlayingError, PrimPathError, TensorPhysBackend
from tensorphys_backend.testing import add_box, add_cloth, empty_stage, room_stage

DT = 1.0 / 120.0
HERE = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
LONG, SHORT = "/World/scene_0/long_arm", "/World/scene_0/short_arm"


def playing(stage: Usd.Stage, gravity: float = 9.81) -> TensorPhysBackend:
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    backend.create_physics_context(DT, DT, "cpu")
    backend.apply_engine_settings(gravity, False, False, 1, 1, 1, 1, 1)
    backend.play()
    return backend


def steps(backend: TensorPhysBackend, count: int) -> None:
    for _ in range(count):
        backend.step(render=False)


def place(backend: TensorPhysBackend, path: str) -> Any:
    return backend.create_rigid_body_view(path).get_world_poses()[0][0]


def test_other_backends_members_are_offered() -> None:
    for name in ("scene_queries", "contact_reporting", "cloth", "particles"):
        assert getattr(TensorPhysBackend, f"supports_{name}") is True


def test_an_attached_box_is_carried_and_falls_when_it_is_set_free() -> None:
    stage = empty_stage()
    add_box(stage, "/World/hand", (0.0, 0.0, 2.0))
    add_box(stage, "/World/thing", (0.3, 0.0, 2.0))
    backend = playing(stage)
    steps(backend, 3)
    speed = backend.create_rigid_body_view("/World/thing").get_linear_velocities()[0, 2]
    fixed = backend.create_attachment_constraint(
        "/World/hold", "FixedJoint", None, "/World/hand", (0, 0, 2.0), HERE[1], *HERE
    )
    grasp = backend.create_attachment_constraint(
        "/World/grasp", "FixedJoint", "/World/hand", "/World/thing", (0.3, 0.0, 0.0), HERE[1], *HERE
    )
    assert (fixed, grasp) == ("/World/hold", "/World/grasp")
    kept = backend.create_rigid_body_view("/World/thing").get_linear_velocities()[0, 2]
    assert kept == pytest.approx(speed, abs=1e-6) and speed < -0.2
    steps(backend, 60)
    assert np.allclose(place(backend, "/World/thing"), (0.3, 0.0, 2.0), atol=1e-3)
    backend.remove_attachment_constraint(grasp)
    backend.remove_attachment_constraint(grasp)
    steps(backend, 12)
    assert place(backend, "/World/thing")[2] == pytest.approx(2.0 - 0.5 * 9.81 * (12 * DT) ** 2, abs=5e-3)
    assert np.allclose(place(backend, "/World/hand"), (0.0, 0.0, 2.0), atol=1e-3)


def test_a_spherical_attachment_holds_a_point_and_lets_it_turn() -> None:
    stage = empty_stage()
    body = add_box(stage, "/World/scaled", (0.0, 0.0, 2.0), half=(0.05, 0.05, 0.05))
    UsdGeom.XformCommonAPI(body).SetScale((2.0, 2.0, 2.0))
    backend = playing(stage)
    # In the scaled frame of the body: a corner 0.1 from its middle.
    backend.create_attachment_constraint(
        "/World/pin",
        "SphericalJoint",
        None,
        "/World/scaled",
        (0.1, 0.0, 2.0),
        HERE[1],
        (0.05, 0.0, 0.0),
        HERE[1],
    )
    steps(backend, 30)
    pose = backend.physics_sim_view.create_rigid_body_view("/World/scaled").get_transforms()[0]
    corner = backend.get_world_transform_with_scale("/World/scaled").Transform((0.05, 0.0, 0.0))
    assert np.allclose(corner, (0.1, 0.0, 2.0), atol=1e-3) and pose[2] < 1.97


def test_misuse_of_attachments_is_named() -> None:
    stage = empty_stage()
    add_box(stage, "/World/a", (0.0, 0.0, 2.0))
    backend = playing(stage)

    def attach(
        path: str = "/World/j", kind: str = "FixedJoint", a: Any = None, b: Any = "/World/a", at: Any = HERE
    ) -> None:
        backend.create_attachment_constraint(path, kind, a, b, *at, *HERE)

    with pytest.raises(ValueError, match="PrismaticJoint"):
        attach(kind="PrismaticJoint")
    with pytest.raises(PrimPathError, match="already"):
        attach(path="/World/a")
    with pytest.raises(PrimPathError, match="nobody"):
        attach(b="/World/nobody")
    with pytest.raises(PrimPathError, match="needs a body"):
        attach(b=None)
    with pytest.raises(ValueError, match="not all zero"):
        attach(at=((0, 0, 0), (0, 0, 0, 0)))
    with pytest.raises(PrimPathError, match="expected a joint"):
        backend.remove_attachment_constraint("/World/a")
    assert not stage.GetPrimAtPath("/World/j")


def test_iterations_are_asked_for_by_articulation_and_views_stay() -> None:
    backend = playing(room_stage())
    simulation = backend.live_world.simulation
    long, short = (backend.create_articulation_view(path) for path in (LONG, SHORT))
    given = simulation.substeps
    assert long.get_solver_position_iteration_counts().tolist() == [given]
    view = backend.physics_sim_view.create_articulation_view(LONG)
    steps(backend, 2)
    before = long.get_joint_velocities()
    long.set_solver_position_iteration_counts([12])
    short.set_solver_position_iteration_counts(6)
    short.set_solver_velocity_iteration_counts([3])
    assert view.check() and np.array_equal(view.get_dof_velocities(), before)
    counts = [each.get_solver_position_iteration_counts().tolist() for each in (long, short)]
    assert counts == [[12], [6]] and short.get_solver_velocity_iteration_counts().tolist() == [3]
    assert backend.live_world.simulation is simulation
    assert (simulation.substeps, simulation.velocity_passes) == (12, 3)
    # The steps that follow are those of a simulation that was built with these counts.
    twin = playing(room_stage())
    for path, name, count in ((LONG, "Position", 12), (SHORT, "Velocity", 3)):
        prim = twin.stage.GetPrimAtPath(path)
        attribute = prim.CreateAttribute(
            f"physxArticulation:solver{name}IterationCount", Sdf.ValueTypeNames.Int
        )
        attribute.Set(count)
    twin.stop()
    twin.play()
    arm = twin.create_articulation_view(LONG)
    for name in ("joint_positions", "joint_velocities"):
        getattr(arm, f"set_{name}")(getattr(long, f"get_{name}")())
    steps(backend, 3)
    steps(twin, 3)
    assert np.allclose(arm.get_joint_velocities(), long.get_joint_velocities(), atol=1e-5)
    with pytest.raises(ValueError, match="1 to 255"):
        long.set_solver_position_iteration_counts([0])
    backend.stop()
    with pytest.raises(NotPlayingError):
        long.get_solver_position_iteration_counts()


def test_particles_come_and_go_while_others_move_on() -> None:
    stage = empty_stage()
    add_cloth(stage, "/World/cloth", (0.0, 3.0, 1.0))
    backend = playing(stage)
    assert backend.create_particle_system("water") == "/World/particle_systems/water"
    assert backend.create_particle_system("water") == "/World/particle_systems/water"
    assert backend.get_particle_positions("water").shape == (0, 3)
    spots = np.array([[0.5 * i, 0.0, 2.0] for i in range(4)], np.float32)
    backend.generate_particles("water", spots.tolist())
    steps(backend, 10)
    time = 10 * DT
    here = backend.get_particle_positions("water")
    assert here.shape == (4, 3) and here.dtype == np.float32
    assert np.allclose(here[:, 2], 2.0 - 0.5 * 9.81 * time**2, atol=2e-3)
    assert np.allclose(backend.get_particle_velocities("water")[:, 2], -9.81 * time, rtol=1e-3)
    fall = backend.get_cloth_particle_velocities("/World/cloth")[:, 2].mean()
    assert fall == pytest.approx(-9.81 * time, rel=1e-3)
    backend.generate_particles("water", [[0.0, 1.0, 3.0]], velocities=[[1.0, 0.0, 0.0]])
    assert np.allclose(backend.get_particle_positions("water"), [*here, [0.0, 1.0, 3.0]], atol=1e-6)
    assert backend.get_cloth_particle_velocities("/World/cloth")[:, 2].mean() == pytest.approx(fall, rel=1e-5)
    backend.remove_particles("water", [1, 2])
    assert np.allclose(backend.get_particle_positions("water")[:, 0], [0.0, 1.5, 0.0], atol=1e-6)
    backend.set_particle_positions("water", [[7.0, 7.0, 7.0]], idxs=[1])
    backend.set_particle_velocities("water", np.zeros((3, 3)))
    steps(backend, 1)
    assert np.allclose(backend.get_particle_positions("water")[1], 7.0, atol=1e-3)
    assert np.allclose(backend.get_particle_velocities("water")[:, 2], -9.81 * DT, rtol=1e-2)
    # The next play starts from what generation and removal left.
    backend.stop()
    assert np.allclose(backend.get_particle_positions("water")[2], (0.0, 1.0, 3.0))
    backend.play()
    steps(backend, 1)
    assert np.allclose(backend.get_particle_positions("water")[2], (DT, 1.0, 3.0), atol=2e-3)
    backend.remove_particles("water", range(3))
    steps(backend, 1)
    assert backend.get_particle_positions("water").shape == (0, 3)
    assert not stage.GetPrimAtPath("/World/particle_systems/water/particles")


def test_misuse_of_particle_systems_is_named() -> None:
    stage = empty_stage()
    backend = playing(stage)
    with pytest.raises(PrimPathError, match="create_particle_system"):
        backend.generate_particles("sand", [[0, 0, 0]])
    with pytest.raises(PrimPathError, match="such as water"):
        backend.create_particle_system("two words")
    with pytest.raises(PrimPathError, match="Xform"):
        backend.create_particle_system("/World")
    with pytest.raises(ValueError, match="contact_offset"):
        backend.create_particle_system("sand", contact_offset=0.0)
    path = backend.create_particle_system("/World/dunes", contact_offset=0.05, fluid=False)
    with pytest.raises(ValueError, match="positions"):
        backend.generate_particles(path, [[0.0, 0.0]])
    with pytest.raises(ValueError, match="finite"):
        backend.generate_particles(path, [[0.0, 0.0, float("nan")]])
    backend.generate_particles(path, [[0, 0, 1]])
    with pytest.raises(ValueError, match="velocities"):
        backend.set_particle_velocities(path, np.zeros((2, 3)))
    with pytest.raises(IndexError, match="0 to 0"):
        backend.remove_particles(path, [1])
    # While stopped, positions are those of the start.
    backend.stop()
    backend.set_particle_positions(path, [[3.0, 0.0, 1.0]])
    backend.play()
    assert np.allclose(backend.get_particle_positions(path), [[3.0, 0.0, 1.0]])


def test_a_settled_fluid_rests_on_the_ground() -> None:
    stage = empty_stage()
    backend = playing(stage)
    backend.add_ground_plane("/World/floor")
    backend.create_particle_system("water", contact_offset=0.05)
    spots = [(0.06 * i, 0.06 * j, 0.05 + 0.06 * k) for i in range(3) for j in range(3) for k in range(3)]
    backend.generate_particles("water", spots)
    steps(backend, 60)
    heights = backend.get_particle_positions("water")[:, 2]
    # The lowest rest at the contact distance of the floor, and the block of 0.11 m mean height has sunk.
    assert heights.min() == pytest.approx(0.05, abs=1e-3) and heights.mean() < 0.1
