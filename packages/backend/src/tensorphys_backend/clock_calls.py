"""The part of the backend that tells time."""

from __future__ import annotations

from tensorphys_backend.context import PhysicsContext, Timeline
from tensorphys_backend.errors import NoContextError
from tensorphys_backend.interface import PhysicsBackend

__all__ = ["ClockCalls"]


class ClockCalls(PhysicsBackend):
    """Timeline, clock and step lengths; see ``PhysicsBackend``."""

    _context: PhysicsContext | None = None

    def get_physics_context(self) -> PhysicsContext:
        """Clock and settings.

        Raises:
            NoContextError: There are none.
        """
        if self._context is None:
            raise NoContextError("call create_physics_context first")
        return self._context

    @property
    def current_time(self) -> float:
        """Simulated time since play [s]."""
        return self.get_physics_context().time

    @property
    def current_time_step_index(self) -> int:
        """Physics steps since play."""
        return self.get_physics_context().step_index

    @property
    def initial_physics_dt(self) -> float:
        """Physics step that the context was made with [s]."""
        return self.get_physics_context().initial_physics_dt

    @property
    def initial_rendering_dt(self) -> float:
        """Rendering step that the context was made with [s]."""
        return self.get_physics_context().initial_rendering_dt

    def is_playing(self) -> bool:
        """Whether steps advance time."""
        return self._context is not None and self._context.timeline is Timeline.PLAYING

    def is_stopped(self) -> bool:
        """Whether it is stopped; without a context it is."""
        return self._context is None or self._context.timeline is Timeline.STOPPED

    def get_physics_dt(self) -> float:
        """Length of a physics step [s]."""
        return self.get_physics_context().physics_dt

    def get_rendering_dt(self) -> float:
        """Time between rendered frames [s]."""
        return self.get_physics_context().rendering_dt

    def set_simulation_dt(self, physics_dt: float | None = None, rendering_dt: float | None = None) -> None:
        """Set step lengths [s]; None leaves one as it is.

        Raises:
            TimeStepError: They do not fit; nothing is changed.
        """
        self.get_physics_context().set_steps(physics_dt, rendering_dt)
