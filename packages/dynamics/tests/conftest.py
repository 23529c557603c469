"""Steps of a solver as a recorded graph on CUDA, as a simulation runs them: one launch a step in place of up to a thousand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import warp as wp

from tensorphys_dynamics import Solver

# Steps that are launched before one is recorded: they load what the graph needs, and tests of a few steps need no graph.
_LAUNCHED = 3


@pytest.fixture(autouse=True)
def recorded_on_cuda(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record the steps of each solver on CUDA; with TENSORPHYS_RECORD_STEPS set, on the CPU too.

    The kernels are those of a launched step. What a test changes on the device between two steps is read by the replay; a
    step with a coupling, and one within a graph of the test's own, is launched.
    """
    everywhere = bool(os.environ.get("TENSORPHYS_RECORD_STEPS"))
    if "device" not in request.fixturenames:
        yield
        return
    device = request.getfixturevalue("device")
    if device == "cpu" and not everywhere:
        yield
        return
    launch = Solver.step
    steps: dict[tuple[Solver, int], int] = {}
    graphs: dict[tuple[Solver, int], Any] = {}

    def step(solver: Solver, coupling: Any = None) -> None:
        on = solver.model.device
        if coupling is not None or on.is_capturing or on != wp.get_device(device):
            launch(solver, coupling)
            return
        # another solve of large environments has other launches
        key = (solver, id(solver.parallel))
        done = steps[key] = steps.get(key, 0) + 1
        if done <= _LAUNCHED:
            launch(solver)
            return
        if key not in graphs:
            with wp.ScopedCapture(device=on) as capture:
                launch(solver)
            graphs[key] = capture.graph
        wp.capture_launch(graphs[key])

    monkeypatch.setattr(Solver, "step", step)
    yield
    wp.synchronize_device(device)
