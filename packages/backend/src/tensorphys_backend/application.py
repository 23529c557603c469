"""The application object of a process that has no application framework."""

from __future__ import annotations

__all__ = ["StandaloneApplication"]


class StandaloneApplication:
    """What callers take for the application: it runs no loop of its own and owns no window.

    Attributes:
        update_count: Calls of :meth:`update` since it was made.
    """

    def __init__(self) -> None:
        self.update_count = 0
        self._running = True

    def update(self) -> None:
        """Count a turn of the caller's loop; there are no events to handle.

        Raises:
            RuntimeError: The application was closed.
        """
        if not self._running:
            raise RuntimeError("StandaloneApplication.update: the application was closed")
        self.update_count += 1

    def is_running(self) -> bool:
        """Whether it was not closed."""
        return self._running

    def close(self) -> None:
        """End it; a second call does nothing."""
        self._running = False
