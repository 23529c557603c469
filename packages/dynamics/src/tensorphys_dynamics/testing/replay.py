"""Many steps with their states, on CUDA as graphs of several steps that keep the states on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics.solver import Solver

# Steps of a graph, at least.
_BLOCK = 60


def run_steps(
    solver: Solver, steps: int, arrays: Sequence[wp.array], *, every: int = 1
) -> list[tuple[npt.NDArray[Any], ...]]:
    """Make steps with unchanged inputs.

    Args:
        solver: Solver.
        steps: Number of steps.
        arrays: What is read after steps, such as arrays of the state.
        every: After how many steps, each time.

    Returns:
        Copies of the arrays after each `every`-th step.
    """
    rows: list[tuple[npt.NDArray[Any], ...]] = []
    done = 0
    device = solver.model.device
    block = every * -(-_BLOCK // every)
    if device.is_cuda and steps > 2 * block:
        # the first ones load what the graph needs
        while done < every:
            solver.step()
            done += 1
        rows.append(tuple(a.numpy() for a in arrays))
        kept = [wp.zeros((block // every, *a.shape), dtype=a.dtype, device=device) for a in arrays]
        with wp.ScopedCapture(device) as capture:
            for step in range(block):
                solver.step()
                if (step + 1) % every == 0:
                    for array, rows_kept in zip(arrays, kept, strict=True):
                        if array.size:  # a model without joints has arrays without rows
                            wp.copy(rows_kept[step // every], array)
        while done + block <= steps:
            wp.capture_launch(capture.graph)
            rows += zip(*(a.numpy() for a in kept), strict=True)
            done += block
    for step in range(done, steps):
        solver.step()
        if (step + 1) % every == 0:
            rows.append(tuple(np.array(a.numpy()) for a in arrays))
    return rows
