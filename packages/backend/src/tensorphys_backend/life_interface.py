"""The part of the interface that is about the simulation as a whole: process, life, clock, views and edits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["SimulationLife"]


class SimulationLife(ABC):
    """What a simulator asks of the life of a simulation; see ``PhysicsBackend``.

    Args:
        sim: The simulator that owns the backend; None for a backend that only prepares the process.
    """

    def __init__(self, sim: Any = None) -> None:
        self.sim = sim

    # Application and process.

    @classmethod
    def create_app(cls) -> Any:
        """Make the application that the engine needs, before there is a simulator or a backend.

        Returns:
            An object with at least ``update()`` and ``close()``.

        Raises:
            NotImplementedError: The engine says of no application.
        """
        raise NotImplementedError(f"{cls.__name__}.create_app: this backend makes no application")

    def assert_clean_start(self) -> None:  # noqa: B027
        """Raise if what an earlier simulator left in the process would break this one; called before all else."""

    def before_clear(self) -> None:  # noqa: B027
        """Called just before the simulator tears down what it owns."""

    def after_clear(self) -> None:  # noqa: B027
        """Called just after that, to undo :meth:`before_clear` and to release state of the engine."""

    def finalize(self) -> None:  # noqa: B027
        """Called once the simulator is gone, for what must outlive it."""

    def in_warmup(self) -> bool:
        """Whether the engine takes steps of its own, during which callers leave out their work by step."""
        return False

    @abstractmethod
    def add_ground_plane(self, prim_path: str, visible: bool = True, color: Any = None) -> Any:
        """Make a static ground through z = 0.

        Args:
            prim_path: Prim to make; its collider is ``<prim_path>/collisionPlane``.
            visible: Whether renderers show it.
            color: Red, green and blue from 0 to 1; None for the default.
        """

    def enable_extensions(self) -> None:  # noqa: B027
        """Set up the process, once, on a backend without a simulator."""

    def before_play(self, sim: Any) -> None:  # noqa: B027
        """Called on each transition from stopped to playing, before it."""

    # Life of the simulation.

    @abstractmethod
    def create_physics_context(self, physics_dt: float, rendering_dt: float, device: Any) -> Any:
        """Make what keeps play, pause, stop and time.

        Args:
            physics_dt: Length of a physics step [s].
            rendering_dt: Time between rendered frames [s], a multiple of ``physics_dt``.
            device: ``"cpu"`` or ``"cuda:N"``.
        """

    @abstractmethod
    def stop_step_callbacks(self) -> None:
        """Forget the functions of :meth:`start_step_callbacks`; without any nothing happens."""

    @abstractmethod
    def start_step_callbacks(self, pre_step_fn: Any, post_step_fn: Any, joint_break_fn: Any) -> None:
        """Have functions called.

        Args:
            pre_step_fn, post_step_fn: Called without arguments before and after each physics step.
            joint_break_fn: Called with each raw event; see :meth:`is_joint_break_event`.
        """

    @abstractmethod
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
        """Apply settings of the whole engine.

        Args:
            gravity: Magnitude, downwards [m/s²].
            enable_ccd: Whether bodies that ask for it are kept from passing through others.
            use_gpu_dynamics: Whether the solver runs on the GPU, for engines that choose it apart from the device.
            gpu_pairs_capacity, gpu_aggr_pairs_capacity, gpu_max_particle_contacts: Sizes of buffers of engines that
                need them in advance.
            gpu_max_rigid_contact_count, gpu_max_rigid_patch_count: Likewise.
        """

    @abstractmethod
    def get_physics_context(self) -> Any:
        """The object that :meth:`create_physics_context` made."""

    @property
    @abstractmethod
    def stage(self) -> Any:
        """The USD stage that is simulated."""

    @property
    @abstractmethod
    def current_time(self) -> float:
        """Simulated time since play [s]."""

    @property
    @abstractmethod
    def current_time_step_index(self) -> int:
        """Physics steps since play."""

    @property
    @abstractmethod
    def initial_physics_dt(self) -> float:
        """Physics step that the context was made with [s]."""

    @property
    @abstractmethod
    def initial_rendering_dt(self) -> float:
        """Rendering step that the context was made with [s]."""

    @abstractmethod
    def is_playing(self) -> bool:
        """Whether steps advance time: neither paused nor stopped."""

    @abstractmethod
    def is_stopped(self) -> bool:
        """Whether the simulation is stopped; when paused it is neither stopped nor playing."""

    @abstractmethod
    def get_physics_dt(self) -> float:
        """Length of a physics step [s]."""

    @abstractmethod
    def get_rendering_dt(self) -> float:
        """Time between rendered frames [s]."""

    @abstractmethod
    def set_simulation_dt(self, physics_dt: float | None = None, rendering_dt: float | None = None) -> None:
        """Set step lengths [s]; None leaves one as it is."""

    @abstractmethod
    def get_device(self) -> Any:
        """Device of the simulation, ``"cpu"`` or ``"cuda:N"``."""

    @abstractmethod
    def set_device(self, device: Any) -> None:
        """Set the device; it holds from the next play."""

    @abstractmethod
    def play(self) -> None:
        """Start from stopped, or go on from paused."""

    @abstractmethod
    def pause(self) -> None:
        """Keep time and state until the next play."""

    @abstractmethod
    def stop(self) -> None:
        """Go back to the start: time and step count are zero, and the state is that of the stage."""

    @abstractmethod
    def render(self) -> None:
        """Bring renderers up to date without advancing time."""

    @abstractmethod
    def step(self, render: bool) -> None:
        """Advance by the physics steps of one rendered frame and render, or without rendering by one physics step."""

    @abstractmethod
    def step_physics_once(self, current_time: float) -> None:
        """Advance by one physics step, for loops that settle a scene.

        Args:
            current_time: Time at the start of the step as the caller counts it [s].
        """

    # Batch views.

    @property
    @abstractmethod
    def physics_sim_view(self) -> Any:
        """The factory of batch views: ``create_articulation_view(pattern)``, ``create_rigid_body_view(pattern)`` and
        ``create_rigid_contact_view(pattern, filter_patterns, max_contact_data_count)``."""

    @abstractmethod
    def refresh_physics_sim_view(self) -> Any:
        """End the use of all batch views and make a new factory, after prims came or went."""

    @abstractmethod
    def invalidate_physics_sim_view(self) -> None:
        """End the use of all batch views; without any nothing happens."""

    @abstractmethod
    def flush_changes(self) -> None:
        """Have changes of the stage reach the engine without a step."""

    @abstractmethod
    def sync_to_render_layer(self) -> None:
        """Make poses of the engine visible to renderers and to reads of transforms."""
