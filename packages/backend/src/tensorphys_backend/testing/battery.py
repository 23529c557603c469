"""Checks of the behaviour that callers expect of a backend, by its interface alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorphys_backend.interface import PhysicsBackend
from tensorphys_backend.paths import encode_path
from tensorphys_backend.testing.stages import (
    add_box,
    add_box_mesh,
    add_cloth,
    empty_stage,
    fix_to_world,
    room_stage,
)

__all__ = ["CHECKS", "MakeBackend", "run_battery"]

MakeBackend = Callable[[Any], PhysicsBackend]
"""Makes a backend on a stage, without a context."""

_DT = 1.0 / 120.0
_BOX = "/World/scene_0/box/base_link"
_CRATE = "/World/scene_0/crate/base_link"
_GROUND = "/World/ground_plane/collisionPlane"


def run_battery(make: MakeBackend, device: str = "cpu", names: tuple[str, ...] = ()) -> list[str]:
    """Run checks; the first that fails raises ``AssertionError``.

    Args:
        make: Makes a backend on a stage.
        device: Device of the simulations.
        names: Checks to run; none for all.

    Returns:
        Names of the checks that were run.
    """
    chosen = names if names else tuple(CHECKS)
    for name in chosen:
        CHECKS[name](make, device)
    return list(chosen)


def _host(value: Any) -> Any:
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _noting(found: list[Any], go_on: bool) -> Callable[[Any], bool]:
    """A function that notes what is reported, and says whether it wants more."""

    def note(hit: Any) -> bool:
        found.append(hit)
        return go_on

    return note


def _playing(make: MakeBackend, device: str, stage: Any = None) -> PhysicsBackend:
    backend = make(room_stage() if stage is None else stage)
    backend.create_physics_context(_DT, 2 * _DT, device)
    backend.add_ground_plane("/World/ground_plane")
    backend.play()
    return backend


def _check_timeline(make: MakeBackend, device: str) -> None:
    backend = make(room_stage())
    backend.create_physics_context(_DT, 2 * _DT, device)
    calls: list[str] = []
    backend.start_step_callbacks(
        lambda: calls.append("pre"), lambda: calls.append("post"), lambda event: None
    )
    assert backend.is_stopped() and not backend.is_playing()
    backend.play()
    assert backend.is_playing() and backend.current_time_step_index == 0
    backend.step(render=True)
    assert backend.current_time_step_index == 2 and calls == ["pre", "post"] * 2
    backend.step(render=False)
    assert backend.current_time_step_index == 3 and abs(backend.current_time - 3 * _DT) < 1e-9
    backend.pause()
    assert not backend.is_playing() and not backend.is_stopped()
    backend.step(render=True)
    assert backend.current_time_step_index == 3
    backend.play()
    backend.stop_step_callbacks()
    backend.stop_step_callbacks()
    backend.step(render=False)
    assert backend.current_time_step_index == 4 and len(calls) == 6
    backend.stop()
    assert backend.is_stopped() and backend.current_time == 0.0 and backend.current_time_step_index == 0


def _check_fall(make: MakeBackend, device: str) -> None:
    backend = make(room_stage())
    backend.create_physics_context(_DT, _DT, device)
    backend.apply_engine_settings(5.0, False, False, 1, 1, 1, 1, 1)
    backend.play()
    for _ in range(12):
        backend.step(render=False)
    time = 12 * _DT
    height = backend.get_world_transform_with_scale(_BOX).ExtractTranslation()[2]
    assert abs(height - (1.0 - 2.5 * time**2)) < 1e-4
    backend.stop()
    assert backend.get_world_transform_with_scale(_BOX).ExtractTranslation()[2] == 1.0


def _check_views(make: MakeBackend, device: str) -> None:
    backend = _playing(make, device)
    factory = backend.physics_sim_view
    arms = factory.create_articulation_view("/World/scene_0/*_arm")
    assert _host(arms.get_dof_positions()).shape == (2, 2)
    assert _host(arms.get_jacobians()).shape == (2, 2, 6, 2)
    masses = _host(arms.get_generalized_mass_matrices())
    shorter = [path.endswith("short_arm") for path in arms.prim_paths].index(True)
    assert masses.shape == (2, 2, 2) and (masses[:, 0, 0] > 0.0).all()
    assert not masses[shorter, 1].any() and not masses[shorter, :, 1].any()
    rows = np.arange(2, dtype=np.uint32)
    targets = np.array([[0.3, 0.0], [0.2, -0.1]])
    order = [path.endswith("long_arm") for path in arms.prim_paths]
    targets = targets[[int(is_long) for is_long in order]]
    backend.set_dof_position_targets(arms, targets, rows, cast=True)
    assert np.allclose(_host(arms.get_dof_position_targets()), targets)
    bodies = factory.create_rigid_body_view("/World/scene_0/*/*")
    poses, place = _host(bodies.get_transforms()), list(bodies.prim_paths).index(_BOX)
    assert np.allclose(poses[place], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], atol=1e-6)
    assert bodies.count == len(bodies.prim_paths) == 7
    handle = backend.create_rigid_body_view(_BOX)
    handle.initialize(factory)
    handle.set_world_poses(orientations=[[0.0, 1.0, 0.0, 0.0]])
    assert np.allclose(_host(bodies.get_transforms())[place, 3:], [1.0, 0.0, 0.0, 0.0], atol=1e-6)
    backend.refresh_physics_sim_view()
    assert not arms.check() and not bodies.check()
    assert backend.physics_sim_view.create_rigid_body_view(_BOX).check()
    backend.invalidate_physics_sim_view()
    backend.invalidate_physics_sim_view()
    backend.stop()


def _check_contacts(make: MakeBackend, device: str) -> None:
    backend = _playing(make, device)
    for _ in range(60):
        backend.step(render=False)
    contacts = backend.physics_sim_view.create_rigid_contact_view(_CRATE, [_GROUND, _BOX], 64)
    matrix = _host(contacts.get_contact_force_matrix(1.0))
    assert list(contacts.sensor_paths) == [_CRATE] and matrix.shape == (1, 2, 3)
    weight = 2.0 * 9.81 * _DT
    assert abs(matrix[0, 0, 2] - weight) < 0.01 * weight and not matrix[0, 1].any()
    backend.stop()


def _check_queries(make: MakeBackend, device: str) -> None:
    backend = _playing(make, device)
    hit = backend.raycast_closest(origin=(0.0, 0.0, 5.0), dir=(0.0, 0.0, -1.0), distance=10.0)
    assert hit["hit"] and hit["rigidBody"] == _BOX and hit["collision"] == f"{_BOX}/collision"
    assert abs(hit["distance"] - 3.9) < 1e-5 and np.allclose(hit["normal"], (0.0, 0.0, 1.0), atol=1e-5)
    assert np.allclose(hit["position"], (0.0, 0.0, 1.1), atol=1e-5)
    several = backend.raycast_closest_batch(
        [(0.0, 0.0, 5.0), (-5.0, 0.0, 5.0), (0.0, 0.0, 5.0)], [(0.0, 0.0, -1.0)] * 3, [10.0, 10.0, 1.0]
    )
    assert [each["hit"] for each in several] == [True, True, False]
    assert several[2] == {"hit": False} and several[1]["rigidBody"] == _GROUND
    found: list[Any] = []
    backend.raycast_all((0.0, 0.0, 5.0), (0.0, 0.0, -1.0), 10.0, _noting(found, True))
    assert {each.rigid_body for each in found} == {_BOX, _GROUND}
    found.clear()
    backend.raycast_all((0.0, 0.0, 5.0), (0.0, 0.0, -1.0), 10.0, _noting(found, False))
    assert len(found) == 1
    hits: list[Any] = []
    count = backend.overlap_sphere(0.3, (1.0, 0.0, 0.1), _noting(hits, True))
    assert count == 2 and {each.rigid_body for each in hits} == {_CRATE, _GROUND}
    assert backend.overlap_sphere(0.3, (1.0, 0.0, 0.1), lambda each: True, True) == 1
    turned = (0.0, 0.0, float(np.sin(np.pi / 8)), float(np.cos(np.pi / 8)))
    # Its corner reaches the box only when it is turned by 45 degrees.
    apart = (0.22, 0.0, 1.0)
    assert backend.overlap_box((0.1, 0.1, 0.1), apart, (0.0, 0.0, 0.0, 1.0), lambda each: True) == 0
    assert backend.overlap_box((0.1, 0.1, 0.1), apart, turned, lambda each: True) == 1
    assert backend.overlap_sphere_any(0.2, (0.0, 0.0, 1.25)) and not backend.overlap_sphere_any(
        0.1, (9.0, 9.0, 9.0)
    )
    backend.stop()


def _check_meshes(make: MakeBackend, device: str) -> None:
    stage = room_stage()
    room = add_box_mesh(stage, "/World/scene_0/chest", (-3.0, 0.0, 1.0), 0.5)
    probe = add_box_mesh(stage, "/World/scene_0/probe", (0.0, 0.0, 1.35), 0.3, collides=False)
    backend = _playing(make, device, stage)
    ray = {"origin": (-3.0, 0.1, 1.2), "dir": (1.0, 0.0, 0.0), "distance": 1.0}
    assert backend.raycast_closest(**ray) == {"hit": False}
    hit = backend.raycast_closest(**ray, bothSides=True)
    assert hit["hit"] and hit["rigidBody"] == room and abs(hit["distance"] - 0.5) < 1e-5
    front = backend.raycast_closest(origin=(-3.0, 0.1, 5.0), dir=(0.0, 0.0, -1.0), distance=9.0)
    assert front["rigidBody"] == room and abs(front["distance"] - 3.5) < 1e-5
    found: list[Any] = []
    assert backend.overlap_mesh(*encode_path(probe), _noting(found, True)) == 1
    assert found[0].rigid_body == _BOX and found[0].collision == f"{_BOX}/collision"
    assert backend.overlap_shape(*encode_path(room), _noting(found, True)) == 1
    assert found[1].rigid_body == room
    backend.stop()


def _check_handles(make: MakeBackend, device: str) -> None:
    backend = _playing(make, device)
    arm = backend.create_articulation_view("/World/scene_0/long_arm")
    arm.initialize(backend.physics_sim_view)
    assert arm.is_valid() and arm.is_physics_handle_valid() and arm.num_dof == arm.joint_count == 2
    assert list(arm.joint_names) == ["joint_1", "joint_2"] and arm.get_dof_is_rotational() == [True, True]
    assert arm.dof_index_of_path(arm.dof_path(1)) == 1
    arm.set_joint_positions([[0.2, -0.3]])
    assert np.allclose(_host(arm.get_joint_positions()), [[0.2, -0.3]])
    arm.set_gains(kps=[[7.0, 8.0]], kds=[[0.5, 0.25]])
    stiffness, damping = arm.get_gains()
    assert np.allclose(_host(stiffness), [[7.0, 8.0]]) and np.allclose(_host(damping), [[0.5, 0.25]])
    arm.set_max_efforts([[3.0, 4.0]])
    assert np.allclose(_host(arm.get_max_efforts()), [[3.0, 4.0]])
    assert _host(arm.get_mass_matrices()).shape == (1, 2, 2)
    assert np.abs(_host(arm.get_generalized_gravity_forces())).min() > 1e-2
    body = backend.create_rigid_body_view(_CRATE)
    half = float(np.sqrt(0.5))
    body.set_world_poses(positions=[[1.0, 0.0, 4.0]], orientations=[[half, 0.0, 0.0, half]])
    place, turn = (_host(part) for part in body.get_world_poses())
    assert np.allclose(place, [[1.0, 0.0, 4.0]]) and np.allclose(turn, [[half, 0.0, 0.0, half]])
    body.set_angular_velocities([[0.0, 0.0, 2.0]])
    assert np.allclose(_host(body.get_angular_velocities()), [[0.0, 0.0, 2.0]])
    assert np.allclose(_host(body.get_masses()), [2.0])
    body.disable_gravities()
    body.set_linear_velocities([[0.0, 0.0, 0.0]])
    backend.step(render=False)
    assert abs(_host(body.get_linear_velocities())[0, 2]) < 1e-6
    backend.stop()
    assert not body.is_physics_handle_valid()


def _check_sleep(make: MakeBackend, device: str) -> None:
    backend = _playing(make, device)
    backend.sleep(_BOX)
    start = _host(backend.create_rigid_body_view(_BOX).get_world_poses()[0])
    backend.step(render=False)
    assert backend.is_asleep(_BOX)
    assert np.array_equal(_host(backend.create_rigid_body_view(_BOX).get_world_poses()[0]), start)
    backend.wake(_BOX)
    assert not backend.is_asleep(_BOX)
    backend.step(render=False)
    assert _host(backend.create_rigid_body_view(_BOX).get_linear_velocities())[0, 2] < -0.05
    backend.stop()


def _check_forces(make: MakeBackend, device: str) -> None:
    stage = empty_stage()
    add_box(stage, _BOX, (0.0, 0.0, 1.0), mass=2.0)
    backend = make(stage)
    backend.create_physics_context(_DT, _DT, device)
    backend.apply_engine_settings(0.0, False, False, 1, 1, 1, 1, 1)
    backend.play()
    backend.apply_force_at_pos(_BOX, (6.0, 0.0, 0.0), (0.0, 0.0, 1.1))
    backend.apply_torque(_BOX, (0.0, -0.6, 0.0))
    handle = backend.create_rigid_body_view(_BOX)
    for _ in range(3):
        backend.step(render=False)
    # The torque is that of the force about the centre, the other way round.
    assert np.allclose(_host(handle.get_linear_velocities()), [[6.0 * _DT / 2.0, 0.0, 0.0]], atol=1e-6)
    assert np.allclose(_host(handle.get_angular_velocities()), 0.0, atol=1e-5)
    backend.stop()


def _check_joint_breaks(make: MakeBackend, device: str) -> None:
    stage = empty_stage()
    body = add_box(stage, _BOX, (0.0, 0.0, 1.0), mass=1.0)
    fix_to_world(stage, "/World/scene_0/fix", body, (0.0, 0.0, 1.0), force=20.0)
    backend = make(stage)
    backend.create_physics_context(_DT, _DT, device)
    events: list[Any] = []
    backend.start_step_callbacks(lambda: None, lambda: None, events.append)
    backend.play()
    for _ in range(5):
        backend.step(render=False)
    assert not events
    for _ in range(5):
        backend.apply_force_at_pos(_BOX, (0.0, 0.0, -50.0), (0.0, 0.0, 1.0))
        backend.step(render=False)
    assert len(events) == 1 and backend.is_joint_break_event(events[0])
    assert backend.decode_joint_break_event(events[0]) == "/World/scene_0/fix"
    assert not backend.is_joint_break_event(object())
    backend.stop()


def _check_edits(make: MakeBackend, device: str) -> None:
    backend = _playing(make, device)
    for _ in range(3):
        backend.step(render=False)
    speed = _host(backend.create_rigid_body_view(_BOX).get_linear_velocities())[0, 2]
    backend.invalidate_physics_sim_view()
    add_box(backend.stage, "/World/scene_0/late/base_link", (-2.0, 0.0, 3.0))
    backend.flush_changes()
    backend.refresh_physics_sim_view()
    late = backend.create_rigid_body_view("/World/scene_0/late/base_link")
    assert np.allclose(_host(late.get_world_poses()[0]), [[-2.0, 0.0, 3.0]], atol=1e-6)
    kept = _host(backend.create_rigid_body_view(_BOX).get_linear_velocities())[0, 2]
    assert abs(kept - speed) < 1e-5 and speed < -0.1
    backend.invalidate_physics_sim_view()
    backend.stage.RemovePrim("/World/scene_0/late")
    backend.flush_changes()
    assert not backend.overlap_sphere_any(0.5, (-2.0, 0.0, 3.0))
    backend.step(render=True)
    backend.stop()


def _check_cloth(make: MakeBackend, device: str) -> None:
    stage = empty_stage()
    cloth = str(add_cloth(stage, "/World/scene_0/cloth", (0.0, 0.0, 1.0)).GetPath())
    backend = make(stage)
    backend.create_physics_context(_DT, _DT, device)
    backend.play()
    start = _host(backend.get_cloth_particle_positions(cloth))
    assert start.shape == (25, 3) and start.dtype == np.float32 and np.allclose(start[:, 2], 1.0)
    backend.set_cloth_particle_positions(cloth, start[:2] + np.float32(0.01), idxs=[0, 1])
    assert np.allclose(_host(backend.get_cloth_particle_positions(cloth, [1])), start[1] + 0.01, atol=1e-6)
    backend.set_cloth_particle_velocities(cloth, np.full((25, 3), 0.5, np.float32))
    assert np.allclose(_host(backend.get_cloth_particle_velocities(cloth)), 0.5)
    backend.set_cloth_stiffness(cloth, bend=3.0, damping=0.4)
    stiffness = backend.get_cloth_stiffness(cloth)
    expected = {"bend": 3.0, "damping": 0.4, "shear": 50.0, "stretch": 100.0}
    assert set(stiffness) == set(expected) and all(abs(stiffness[k] - v) < 1e-5 for k, v in expected.items())
    backend.step(render=False)
    backend.stop()


CHECKS: dict[str, Callable[[MakeBackend, str], None]] = {
    "timeline": _check_timeline,
    "fall": _check_fall,
    "views": _check_views,
    "contacts": _check_contacts,
    "queries": _check_queries,
    "meshes": _check_meshes,
    "handles": _check_handles,
    "sleep": _check_sleep,
    "forces": _check_forces,
    "joint_breaks": _check_joint_breaks,
    "edits": _check_edits,
    "cloth": _check_cloth,
}
"""Checks by name."""
