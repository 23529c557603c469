"""The backend on this project's engine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from pxr import Usd, UsdGeom

from tensorphys_backend import schemas
from tensorphys_backend.application import StandaloneApplication
from tensorphys_backend.articulation_handle import ArticulationHandle
from tensorphys_backend.attachment_calls import AttachmentCalls
from tensorphys_backend.bodies import BodyCalls
from tensorphys_backend.clock_calls import ClockCalls
from tensorphys_backend.context import PhysicsContext, Timeline
from tensorphys_backend.errors import BackendError, TimeStepError
from tensorphys_backend.events import JointBreakEvent
from tensorphys_backend.live import LiveStage
from tensorphys_backend.particle_calls import ParticleCalls
from tensorphys_backend.poses import rigid_pose
from tensorphys_backend.rigid_body_handle import RigidBodyHandle
from tensorphys_backend.scene_calls import SceneCalls
from tensorphys_backend.schema_calls import SchemaCalls
from tensorphys_backend.world import host_array

__all__ = ["TensorPhysBackend"]


class TensorPhysBackend(SceneCalls, ParticleCalls, AttachmentCalls, BodyCalls, SchemaCalls, ClockCalls):
    """A simulation of a USD stage without any application framework.

    The whole stage is one world. It is read when the simulation is played; edits of the stage while it plays are taken
    over by :meth:`flush_changes` and before each physics step.

    Args:
        sim: The simulator that owns the backend, or None.
        stage: The stage; None for ``sim.stage`` where there is one, else a new one in memory, Z up and in metres.
        frontend: Array library of views and handles; None for torch where it is installed, else numpy.

    Attributes:
        supports_scene_queries, supports_contact_reporting, supports_cloth, supports_particles: True; callers of several
            backends ask for these.
    """

    supports_scene_queries = True
    supports_contact_reporting = True
    supports_cloth = True
    supports_particles = True

    def __init__(
        self,
        sim: Any = None,
        *,
        stage: Usd.Stage | None = None,
        frontend: Literal["torch", "numpy"] | None = None,
    ) -> None:
        super().__init__(sim)
        if frontend is None:
            frontend = "numpy" if importlib.util.find_spec("torch") is None else "torch"
        self._frontend = frontend
        self._given_stage = stage
        self._context = None
        self._live: LiveStage | None = None
        self._pre: Callable[[], Any] | None = None
        self._post: Callable[[], Any] | None = None
        self._joint_break: Callable[[JointBreakEvent], Any] | None = None

    # Application and process.

    @classmethod
    def create_app(cls) -> StandaloneApplication:
        """An application object that needs no framework."""
        return StandaloneApplication()

    def before_clear(self) -> None:
        """Stop, if there is something to stop."""
        if self._context is not None and self._context.timeline is not Timeline.STOPPED:
            self.stop()

    def after_clear(self) -> None:
        """Release the simulation and what was written for renderers."""
        self._release()

    def finalize(self) -> None:
        """Release everything, the context and the stage included."""
        self._release()
        self._context = None
        self._given_stage = None

    def _release(self) -> None:
        self.stop_step_callbacks()
        if self._live is not None:
            self._live.close()
            self._live = None

    def add_ground_plane(self, prim_path: str, visible: bool = True, color: Any = None) -> Usd.Prim:
        """Make a static ground through the origin; see ``PhysicsBackend.add_ground_plane``.

        Returns:
            The collider.

        Raises:
            PrimPathError: The path is none of a prim, or taken.
        """
        return schemas.define_ground(self.stage, prim_path, visible=visible, color=color)

    # Life of the simulation.

    def create_physics_context(self, physics_dt: float, rendering_dt: float, device: Any) -> PhysicsContext:
        """Make clock and settings; a simulation of an earlier context ends.

        Raises:
            TimeStepError: A step is not positive, or they do not fit.
        """
        context = PhysicsContext(physics_dt, rendering_dt, "cpu" if device is None else device)
        self._release()
        self._context = context
        self._live = LiveStage(self._choose_stage(), context, self._frontend)
        return context

    def _choose_stage(self) -> Usd.Stage:
        if self._given_stage is None:
            self._given_stage = getattr(self.sim, "stage", None)
        if self._given_stage is None:
            stage = Usd.Stage.CreateInMemory()
            UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
            UsdGeom.SetStageMetersPerUnit(stage, 1.0)
            self._given_stage = stage
        return self._given_stage

    @property
    def live(self) -> LiveStage:
        """The stage and its simulation.

        Raises:
            NoContextError: There is no context.
        """
        self.get_physics_context()
        assert self._live is not None
        return self._live

    def start_step_callbacks(self, pre_step_fn: Any, post_step_fn: Any, joint_break_fn: Any) -> None:
        """Have functions called around each physics step and with each joint that breaks; None for none.

        Raises:
            TypeError: One cannot be called.
        """
        for name, function in (
            ("pre_step_fn", pre_step_fn),
            ("post_step_fn", post_step_fn),
            ("joint_break_fn", joint_break_fn),
        ):
            if function is not None and not callable(function):
                raise TypeError(f"{name}: expected a function or None, given {type(function).__name__}")
        self._pre, self._post, self._joint_break = pre_step_fn, post_step_fn, joint_break_fn

    def stop_step_callbacks(self) -> None:
        """Forget the functions; a second call does nothing."""
        self._pre = self._post = self._joint_break = None

    def apply_engine_settings(
        self,
        gravity: float,
        enable_ccd: bool,
        use_gpu_dynamics: bool,
        gpu_pairs_capacity: int,
        gpu_aggr_pairs_capacity: int,
        gpu_max_particle_contacts: int,
        gpu_max_rigid_contact_count: int,
        gpu_max_rigid_patch_count: int,
    ) -> None:
        """Apply gravity and continuous collision detection; the device decides on the rest, and buffers grow by themselves.

        Raises:
            BackendError: The simulation is not stopped.
            ValueError: Gravity is no magnitude.
        """
        context = self.get_physics_context()
        if context.timeline is not Timeline.STOPPED:
            raise BackendError("apply_engine_settings: settings are applied while the simulation is stopped")
        magnitude = float(gravity)
        if not (np.isfinite(magnitude) and magnitude >= 0.0):
            raise ValueError(f"gravity: expected a magnitude [m/s²], downwards, given {gravity}")
        context.gravity = magnitude
        context.settings = {
            "enable_ccd": bool(enable_ccd),
            "use_gpu_dynamics": bool(use_gpu_dynamics),
            "gpu_pairs_capacity": gpu_pairs_capacity,
            "gpu_aggr_pairs_capacity": gpu_aggr_pairs_capacity,
            "gpu_max_particle_contacts": gpu_max_particle_contacts,
            "gpu_max_rigid_contact_count": gpu_max_rigid_contact_count,
            "gpu_max_rigid_patch_count": gpu_max_rigid_patch_count,
        }
        self.live.forget()

    @property
    def stage(self) -> Usd.Stage:
        """The stage; made where none was given."""
        return self._choose_stage()

    def get_device(self) -> str:
        """Device of the simulation, ``"cpu"`` or ``"cuda:N"``."""
        return self.get_physics_context().device

    def set_device(self, device: Any) -> None:
        """Set the device.

        Raises:
            BackendError: The simulation is not stopped.
        """
        context = self.get_physics_context()
        if str(device) == context.device:
            return
        if context.timeline is not Timeline.STOPPED:
            raise BackendError("set_device: the device is set while the simulation is stopped")
        context.device = str(device)
        self.live.forget()

    def play(self) -> None:
        """Start from stopped, reading the stage, or go on from paused.

        Raises:
            StageError, BuildError: The stage cannot be simulated.
        """
        context = self.get_physics_context()
        if context.timeline is Timeline.STOPPED:
            self.live.start()
            context.time, context.step_index = 0.0, 0
        context.timeline = Timeline.PLAYING

    def pause(self) -> None:
        """Keep time and state until the next play; stopped stays stopped."""
        context = self.get_physics_context()
        if context.timeline is Timeline.PLAYING:
            context.timeline = Timeline.PAUSED

    def stop(self) -> None:
        """Go back to the start: the stage shows what is authored, views and handles are stale, time is zero."""
        context = self.get_physics_context()
        self.live.stop()
        context.rewind()

    def render(self) -> None:
        """Bring the layer that renderers see up to date."""
        context = self.get_physics_context()
        self.sync_to_render_layer()
        context.render_count += 1

    def step(self, render: bool = True) -> None:
        """Advance by a rendered frame, or without rendering by one physics step; without playing only rendering is done."""
        context = self.get_physics_context()
        if context.timeline is Timeline.PLAYING:
            for _ in range(context.steps_per_frame if render else 1):
                self._step()
        if render:
            self.render()

    def step_physics_once(self, current_time: float) -> None:
        """Advance by one physics step, paused or playing.

        Args:
            current_time: Time at the start of the step [s]; the clock is set to it.

        Raises:
            NotPlayingError: The simulation is stopped.
            TimeStepError: The time is negative or not finite.
        """
        context = self.get_physics_context()
        world = self.live.require("step_physics_once")
        del world
        time = float(current_time)
        if not (np.isfinite(time) and time >= 0.0):
            raise TimeStepError(f"step_physics_once: current_time must not be negative, given {current_time}")
        context.time = time
        self._step()

    def _step(self) -> None:
        context, live = self.get_physics_context(), self.live
        if self._pre is not None:
            self._pre()
        live.flush()
        world = live.require("step")
        world.simulation.step(context.physics_dt)
        context.count_step()
        for broken in world.simulation.take_joint_breaks():
            if self._joint_break is not None:
                event = JointBreakEvent(
                    broken.path, context.step_index, broken.force, broken.torque, source=self
                )
                self._joint_break(event)
        if self._post is not None:
            self._post()

    # Batch views.

    def current_view(self) -> Any:
        """The factory of batch views of now; see :attr:`physics_sim_view`."""
        return self.live.require("physics_sim_view").view

    @property
    def physics_sim_view(self) -> Any:
        """The factory of batch views, a :class:`tensorphys.SimulationView` of the simulation that plays.

        Raises:
            NotPlayingError: The simulation is stopped.
        """
        return self.current_view()

    @property
    def view_generation(self) -> int:
        """How often batch views were ended; those of an earlier number are stale."""
        return self.live.generation

    def refresh_physics_sim_view(self) -> Any:
        """Take over changes of the stage, end the use of all batch views and make a new factory.

        Raises:
            NotPlayingError: The simulation is stopped.
        """
        live = self.live
        live.require("refresh_physics_sim_view")
        live.flush()
        live.end_views()
        return self.current_view()

    def invalidate_physics_sim_view(self) -> None:
        """End the use of all batch views; without any nothing happens."""
        if self._live is not None:
            self._live.end_views()

    def flush_changes(self) -> None:
        """Take over edits of the stage; while stopped nothing needs it.

        Bodies whose transform was edited are put where it says. Attributes act where they can be written into the
        simulation. Where prims came or went, or geometry changed, the simulation is built anew with the state of all that
        stayed, and batch views and handles of before are stale.
        """
        self.live.flush()

    def sync_to_render_layer(self) -> None:
        """Write poses of bodies to a session layer; authored layers stay as they are."""
        self.live.write_render_layer()

    # Handles.

    @property
    def live_world(self) -> Any:
        """The simulation, None while it is stopped."""
        return None if self._live is None else self._live.world

    def authored_pose(self, path: str) -> Any:
        """Authored pose of a prim, ``x y z qx qy qz qw``."""
        return self.live.poses.authored_pose(path)

    @property
    def frontend_name(self) -> str:
        """Array library of views and handles."""
        return self._frontend

    def ensure_model_current(self) -> None:
        """The same as :meth:`flush_changes`; callers of other backends know it by this name."""
        self.flush_changes()

    def get_live_world_pose(self, prim_path: str) -> tuple[Any, Any]:
        """Rigid part of the world transform of a prim as it is now: position [m], shape [3], and quaternion xyzw, shape [4].

        Raises:
            PrimPathError: The stage has no such prim.
        """
        pose = rigid_pose(self.live.poses.world(prim_path))
        values = host_array(pose, self._frontend)
        return values[:3], values[3:]

    def create_articulation_view(self, prim_path: str) -> ArticulationHandle:
        """Handle of an articulation; it may be made before the simulation plays."""
        return ArticulationHandle(self, prim_path)

    def create_rigid_body_view(self, prim_path: str) -> RigidBodyHandle:
        """Handle of a rigid body; it may be made before the simulation plays."""
        return RigidBodyHandle(self, prim_path)
