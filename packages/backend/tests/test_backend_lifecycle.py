"""Clock, settings, callbacks, ground and the end of a simulation."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from tensorphys_backend import (
    BackendError,
    NotPlayingError,
    PhysicsContext,
    PrimPathError,
    TensorPhysBackend,
    Timeline,
    TimeStepError,
)
from tensorphys_backend.testing import add_box, empty_stage, room_stage

BOX = "/World/scene_0/box/base_link"


def make(stage: Usd.Stage | None = None, **steps: Any) -> TensorPhysBackend:
    backend = TensorPhysBackend(stage=room_stage() if stage is None else stage, frontend="numpy")
    given: dict[str, Any] = {"physics_dt": 0.01, "rendering_dt": 0.03, "device": "cpu"}
    backend.create_physics_context(**(given | steps))
    return backend


def test_clock_counts_physics_steps_and_frames() -> None:
    backend = make()
    context = backend.get_physics_context()
    assert isinstance(context, PhysicsContext) and context.timeline is Timeline.STOPPED
    backend.step(render=True)
    assert (backend.current_time_step_index, context.render_count) == (0, 1)
    backend.play()
    backend.step(render=True)
    assert (backend.current_time_step_index, context.render_count) == (3, 2)
    assert backend.current_time == pytest.approx(0.03)
    backend.set_simulation_dt(physics_dt=0.015)
    backend.step(render=True)
    assert backend.current_time_step_index == 5 and backend.current_time == pytest.approx(0.06)
    assert (backend.initial_physics_dt, backend.initial_rendering_dt) == (0.01, 0.03)
    assert (backend.get_physics_dt(), backend.get_rendering_dt()) == (0.015, 0.03)
    with pytest.raises(TimeStepError, match="multiple"):
        backend.set_simulation_dt(rendering_dt=0.02)
    assert backend.get_rendering_dt() == 0.03


def test_one_step_by_hand_when_paused() -> None:
    backend = make()
    calls: list[str] = []
    backend.start_step_callbacks(lambda: calls.append("pre"), lambda: calls.append("post"), None)
    backend.play()
    backend.pause()
    backend.step_physics_once(0.5)
    assert calls == ["pre", "post"] and backend.current_time == pytest.approx(0.51)
    assert backend.create_rigid_body_view(BOX).get_linear_velocities()[0, 2] == pytest.approx(
        -0.0981, rel=1e-4
    )
    with pytest.raises(TimeStepError, match="current_time"):
        backend.step_physics_once(-1.0)
    with pytest.raises(TypeError, match="post_step_fn"):
        backend.start_step_callbacks(None, 3, None)


def test_settings_and_device_are_set_while_stopped() -> None:
    backend = make()
    backend.play()
    with pytest.raises(BackendError, match="stopped"):
        backend.apply_engine_settings(9.81, True, False, 1, 1, 1, 1, 1)
    with pytest.raises(BackendError, match="stopped"):
        backend.set_device("cuda:0")
    backend.set_device("cpu")
    backend.stop()
    with pytest.raises(ValueError, match="magnitude"):
        backend.apply_engine_settings(-9.81, True, False, 1, 1, 1, 1, 1)
    backend.apply_engine_settings(2.0, True, False, 1, 1, 1, 1, 1)
    backend.play()
    settings = backend.live_world.simulation.scene.settings
    assert settings.ccd and settings.gravity == (0.0, 0.0, -2.0)
    assert backend.get_device() == "cpu" and not backend.in_warmup()


def test_gravity_points_down_where_y_is_up_and_lengths_are_centimetres() -> None:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    add_box(stage, "/World/box", (0.0, 100.0, 0.0), half=(10.0, 10.0, 10.0))
    backend = make(stage)
    backend.apply_engine_settings(9.81, False, False, 1, 1, 1, 1, 1)
    backend.add_ground_plane("/World/ground")
    backend.play()
    backend.step(render=False)
    velocity = backend.create_rigid_body_view("/World/box").get_linear_velocities()
    assert np.allclose(velocity, [[0.0, -9.81, 0.0]], rtol=1e-4)
    hit = backend.raycast_closest((50.0, 30.0, 0.0), (0.0, -1.0, 0.0), 100.0)
    assert hit["rigidBody"] == "/World/ground/collisionPlane" and hit["distance"] == pytest.approx(30.0)


def test_ground_is_a_static_plane_with_a_square_that_shows_it() -> None:
    backend = make(empty_stage())
    plane = backend.add_ground_plane("/World/floor", visible=False, color=(1.0, 0.0, 0.0))
    assert str(plane.GetPath()) == "/World/floor/collisionPlane" and plane.HasAPI(UsdPhysics.CollisionAPI)
    surface = UsdGeom.Mesh(backend.stage.GetPrimAtPath("/World/floor/surface"))
    assert surface.ComputeVisibility() == UsdGeom.Tokens.invisible
    assert tuple(surface.GetDisplayColorAttr().Get()[0]) == (1.0, 0.0, 0.0)
    with pytest.raises(PrimPathError, match="already"):
        backend.add_ground_plane("/World/floor")
    for path in ("floor of the room", "floor", "/"):
        with pytest.raises(PrimPathError, match="must be"):
            backend.add_ground_plane(path)


def test_clearing_releases_the_simulation_and_the_stage_of_a_simulator_is_used() -> None:
    stage = room_stage()
    backend = TensorPhysBackend(types.SimpleNamespace(stage=stage), frontend="numpy")
    backend.assert_clean_start()
    backend.before_play(backend.sim)
    backend.enable_extensions()
    backend.create_physics_context(0.01, 0.01, None)
    assert backend.stage == stage
    layers = len(stage.GetSessionLayer().subLayerPaths)
    backend.play()
    handle = backend.create_rigid_body_view(BOX)
    handle.initialize()
    backend.step(render=True)
    backend.before_clear()
    assert backend.is_stopped() and not handle.is_physics_handle_valid()
    backend.after_clear()
    backend.finalize()
    assert len(stage.GetSessionLayer().subLayerPaths) == layers - 1
    assert backend.is_stopped() and not backend.is_playing()
    with pytest.raises(NotPlayingError, match="play"):
        make(stage).raycast_closest((0, 0, 0), (0, 0, 1), 1.0)
