"""Many steps with their states, which CUDA keeps on the device until the end: reading one there waits for all that runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics.solver import Solver

# Steps of a graph, at least.
_BLOCK = 60

Row = tuple[npt.NDArray[Any], ...]


class History:
    """Copies of arrays after steps; on CUDA they stay on the device until they are read."""

    def __init__(self, arrays: Sequence[wp.array], capacity: int) -> None:
        """Make room.

        Args:
            arrays: What is kept, such as arrays of the state.
            capacity: How often it may be kept.
        """
        self._arrays = tuple(arrays)
        self._rows: list[Row] = []
        self._kept: list[wp.array] | None = None
        if self._arrays and self._arrays[0].device.is_cuda:
            self._kept = [
                wp.zeros((capacity, *a.shape), dtype=a.dtype, device=a.device) for a in self._arrays
            ]
        self._count = 0

    def keep(self) -> None:
        """Keep the arrays as they are now."""
        if self._kept is None:
            self._rows.append(tuple(np.array(a.numpy()) for a in self._arrays))
        else:
            for array, kept in zip(self._arrays, self._kept, strict=True):
                if array.size:  # a model without joints has arrays without rows
                    wp.copy(kept[self._count], array)
        self._count += 1

    def read(self) -> list[Row]:
        """The arrays each time that they were kept, in order; waits for the device."""
        if self._kept is None:
            return self._rows
        return list(zip(*(a.numpy()[: self._count] for a in self._kept), strict=True))


def run_steps(
    solver: Solver,
    steps: int,
    arrays: Sequence[wp.array],
    *,
    every: int = 1,
    step: Callable[[], None] | None = None,
) -> list[Row]:
    """Make steps with unchanged inputs, on CUDA as graphs of several steps where they are many.

    Args:
        solver: Solver.
        steps: Number of steps.
        arrays: What is read after steps, such as arrays of the state.
        every: After how many steps, each time.
        step: What makes one step; default that of the solver.

    Returns:
        Copies of the arrays after each `every`-th step.
    """
    rows: list[Row] = []
    done = 0
    device = solver.model.device
    step = solver.step if step is None else step
    block = every * -(-_BLOCK // every)
    if device.is_cuda and steps > 2 * block:
        first = History(arrays, 1)
        # the first ones load what the graph needs
        while done < every:
            step()
            done += 1
        first.keep()
        rows += first.read()
        history = History(arrays, block // every)
        with wp.ScopedCapture(device) as capture:
            for number in range(block):
                step()
                if (number + 1) % every == 0:
                    history.keep()
        while done + block <= steps:
            wp.capture_launch(capture.graph)
            rows += history.read()
            done += block
    rest = History(arrays, (steps - done) // every)
    for number in range(done, steps):
        step()
        if (number + 1) % every == 0:
            rest.keep()
    return rows + rest.read()
