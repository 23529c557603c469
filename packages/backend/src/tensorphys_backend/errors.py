"""Errors of the backend; each names what was asked, of which prim, and what to do."""

from __future__ import annotations

__all__ = [
    "BackendError",
    "ForeignEventError",
    "NoContextError",
    "NotPlayingError",
    "PrimPathError",
    "QueryError",
    "StaleHandleError",
    "TimeStepError",
]


class BackendError(Exception):
    """Base of all errors of this package."""


class NoContextError(BackendError, RuntimeError):
    """Something was asked for that needs ``create_physics_context`` or a stage first."""


class NotPlayingError(BackendError, RuntimeError):
    """Something was asked for that exists only while the simulation is playing or paused."""


class StaleHandleError(BackendError, RuntimeError):
    """A view or handle was used after its simulation was stopped, or after its prim was removed."""


class PrimPathError(BackendError, LookupError):
    """There is no prim of the asked kind at a path."""


class TimeStepError(BackendError, ValueError):
    """Time steps that do not fit together."""


class QueryError(BackendError, ValueError):
    """Arguments of a scene query that mean nothing."""


class ForeignEventError(BackendError, ValueError):
    """An event that this backend did not deliver."""
