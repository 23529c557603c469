"""A step on several threads of the CPU: environments in ranges, one recorded graph a range.

Warp runs a launch on one thread. Launches of other threads are not recorded, so all graphs are recorded on the caller's, and
replayed by the pool; a replay does not hold the interpreter's lock. Every environment goes through the same operations in the
same order, whatever range it is in: results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import warp as wp

# Environments that a thread must have at least: waking one takes as long as the step of a few.
_LEAST = 32


def usable_threads() -> int:
    """Threads that this process may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def range_bounds(environment_count: int, threads: int) -> list[int]:
    """First environment of each range, and the number of environments at the end."""
    count = max(1, min(threads, environment_count // _LEAST))
    return [environment_count * k // count for k in range(count + 1)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="tensorphys")


class ThreadedStep:
    """Graphs of a step: what precedes the ranges, the ranges, and what follows."""

    def __init__(
        self,
        begin: Callable[[], None],
        ranges: Sequence[Callable[[], None]],
        end: Callable[[], None],
        device: Any,
    ) -> None:
        """Record.

        Args:
            begin: Launches what the whole step begins with.
            ranges: Launch the ranges, of which none writes what another one reads.
            end: Launches what comes last.
            device: The CPU.
        """
        graphs = []
        for launch in (begin, *ranges, end):
            with wp.ScopedCapture(device=device) as capture:
                launch()
            graphs.append(capture.graph)
        self._begin, *self._ranges, self._end = graphs

    def run(self) -> None:
        """Replay; returns when all threads are done."""
        wp.capture_launch(self._begin)
        pool = _pool(len(self._ranges) - 1)
        others = [pool.submit(wp.capture_launch, graph) for graph in self._ranges[1:]]
        try:
            wp.capture_launch(self._ranges[0])
        finally:
            for other in others:
                other.result()
        wp.capture_launch(self._end)
