"""Play, pause and stop, and the clock."""

from __future__ import annotations

import enum
import math
from typing import Any

from tensorphys_backend.errors import TimeStepError

__all__ = ["PhysicsContext", "Timeline"]

# A ratio of steps that is this close to a whole number is one: 1/60 and 1/240 are not exact.
_RATIO_TOLERANCE = 1.0e-4


class Timeline(enum.Enum):
    """State of the simulation."""

    STOPPED = "stopped"
    PLAYING = "playing"
    PAUSED = "paused"


class PhysicsContext:
    """Clock and settings of a simulation.

    Args:
        physics_dt: Length of a physics step [s].
        rendering_dt: Time between rendered frames [s], a multiple of ``physics_dt``.
        device: ``"cpu"`` or ``"cuda:N"``.

    Attributes:
        initial_physics_dt, initial_rendering_dt: Steps that it was made with [s].
        physics_dt, rendering_dt: Steps now [s].
        device: Device of the next play.
        timeline: State.
        time: Simulated time since play [s].
        step_index: Physics steps since play.
        render_count: Rendered frames since the context was made.
        gravity: Magnitude of gravity that was asked for [m/s²]; None for that of the stage.
        settings: All settings of the engine that were asked for, by name.

    Raises:
        TimeStepError: A step is not positive, or they do not fit.
    """

    def __init__(self, physics_dt: float, rendering_dt: float, device: Any) -> None:
        self.initial_physics_dt, self.initial_rendering_dt = _checked(physics_dt, rendering_dt)
        self.physics_dt, self.rendering_dt = self.initial_physics_dt, self.initial_rendering_dt
        self.device = str(device)
        self.timeline = Timeline.STOPPED
        self.time, self.step_index, self.render_count = 0.0, 0, 0
        self.gravity: float | None = None
        self.settings: dict[str, Any] = {}

    @property
    def steps_per_frame(self) -> int:
        """Physics steps of a rendered frame."""
        return round(self.rendering_dt / self.physics_dt)

    def set_steps(self, physics_dt: float | None, rendering_dt: float | None) -> None:
        """Set step lengths [s]; None leaves one as it is.

        Raises:
            TimeStepError: They do not fit; nothing is changed.
        """
        self.physics_dt, self.rendering_dt = _checked(
            self.physics_dt if physics_dt is None else physics_dt,
            self.rendering_dt if rendering_dt is None else rendering_dt,
        )

    def count_step(self) -> None:
        """Advance the clock by a physics step."""
        self.step_index += 1
        self.time += self.physics_dt

    def rewind(self) -> None:
        """Stop, and set the clock to zero."""
        self.timeline = Timeline.STOPPED
        self.time, self.step_index = 0.0, 0


def _checked(physics_dt: float, rendering_dt: float) -> tuple[float, float]:
    for name, value in (("physics_dt", physics_dt), ("rendering_dt", rendering_dt)):
        if not (math.isfinite(value) and value > 0.0):
            raise TimeStepError(f"{name}: expected a positive time [s], given {value}")
    ratio = rendering_dt / physics_dt
    if round(ratio) < 1 or abs(ratio - round(ratio)) > _RATIO_TOLERANCE * ratio:
        raise TimeStepError(
            f"rendering_dt {rendering_dt} s must be a multiple of physics_dt {physics_dt} s, given {ratio} times"
        )
    return float(physics_dt), float(rendering_dt)
