"""The pass of kinematics that writes are followed by: at once, or once for several of them before the next read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Set
from contextlib import contextmanager
from types import TracebackType

from tensorphys_engine.errors import StepError

__all__ = ["OnePass"]

# Who asked for the pass inside of a block, where nobody says it.
_ANYONE = "anyone"


class OnePass:
    """Work that brings what derives from writes up to date.

    Calling it does the work at once. Inside of ``with once:`` or ``with once.later(writer):`` it is left for :meth:`settle`, which
    whoever reads what derives from writes calls before. Which rows were written is marked on the device, so that the work is
    right, and cheap, however often it is done.

    What the host notes says nothing about the replay of a graph. So while one is captured, nothing is left for later: a write
    has the work right behind it in the graph, where a block was entered in the same capture at its end. From ``lazy`` on, every
    read and step that is captured has the work before it, whatever waits when it is captured, since a write may wait when it is
    replayed. And what is captured leaves the notes of the host as they are, since it was not done. A replay so finds and leaves
    a state that is settled, up to writes that the host still has noted.

    Args:
        work: What is done.
        capturing: Tells whether a graph is captured now.

    Attributes:
        lazy: Whether writers may leave the work for later; set it before a graph is captured.
    """

    def __init__(self, work: Callable[[], None], capturing: Callable[[], bool] = lambda: False) -> None:
        self._work = work
        self._capturing = capturing
        self.lazy = False
        self._waiting: set[Hashable] = set()
        self._writer: Hashable | None = None
        self._depth = 0
        self._block_captured = False
        self._owed = False  # in the graph that is captured, at the end of a block in it
        self._held = False

    def __call__(self) -> None:
        """Do it now, or note that it is wanted."""
        if self._capturing():
            if self._depth and self._block_captured:
                self._owed = True
            else:
                self._work()
        elif self._writer is not None or self._depth:
            self._waiting.add(_ANYONE if self._writer is None else self._writer)
        else:
            self._do()

    def settle(self) -> None:
        """Do what waits; in a graph that is captured, have it done there."""
        if self._held:
            return
        # Asking whether a graph is captured asks the driver: only where it matters.
        if not (self.lazy or self._waiting or self._owed):
            return
        if self._capturing():
            self._owed = False
            self._work()
        elif self._waiting:
            self._do()

    def _do(self) -> None:
        self._waiting.clear()
        self._work()

    def forget(self) -> None:
        """Drop what waits: everything, what derives included, was overwritten."""
        self._waiting.clear()

    @contextmanager
    def later(self, writer: Hashable) -> Iterator[None]:
        """``with once.later(writer):`` what is asked for waits, unless a graph is captured.

        Args:
            writer: Who writes what, as :meth:`held_for` is told.

        Raises:
            StepError: ``lazy`` is not set, so that graphs of before may lack the work.
        """
        if not self.lazy:
            raise StepError("OnePass.later: set lazy first, before any graph is captured")
        before, self._writer = self._writer, writer
        try:
            yield
        finally:
            self._writer = before

    @contextmanager
    def held_for(self, writers: Set[Hashable]) -> Iterator[None]:
        """``with once.held_for(writers):`` nothing is done for a read that the writes of some do not concern.

        Args:
            writers: Those whose writes do not change what is read.
        """
        before = self._held
        self._held = before or (self._waiting <= writers and not self._capturing())
        try:
            yield
        finally:
            self._held = before

    def __enter__(self) -> OnePass:
        if self._depth == 0:
            self._block_captured = self._capturing()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth:
            return
        captured, self._block_captured = self._block_captured, False
        if captured:
            if self._owed:
                self._owed = False
                if not self._capturing():
                    raise StepError(
                        "a block of writes that began while a graph was captured ended after the capture: "
                        "the graph lacks the pass of kinematics; end the block before the capture ends"
                    )
                self._work()
        elif not self.lazy:
            self.settle()
