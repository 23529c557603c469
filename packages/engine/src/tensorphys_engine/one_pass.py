"""Work that follows from writes, done once for several of them."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

__all__ = ["OnePass"]


class OnePass:
    """Something that is done when it is asked for, and inside of ``with`` once at the end, if it was asked for at all.

    Only the order of calls decides when it is done, nothing on the device: a captured sequence of writes that begins and ends
    such a block replays as it ran.

    Args:
        work: What is done.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._depth = 0
        self._asked = False

    def __call__(self) -> None:
        """Do it now, or note inside of ``with`` that it is wanted."""
        if self._depth:
            self._asked = True
        else:
            self._work()

    def flush(self) -> None:
        """Do now what was asked for and is not done yet."""
        if self._asked:
            self._asked = False
            self._work()

    def __enter__(self) -> OnePass:
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.flush()
