"""The loop of a run: steps, frames, the progress bar, interrupts."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import warp as wp

from tensorphys_engine import Simulation

# Time between looks at the device, for the bar and for interrupts [s].
_LOOK = 0.1
# Time between lines of the bar where it goes into a file [s].
_LOG_INTERVAL = 10.0


@dataclass
class Interrupt:
    """Whether a signal asked for the end.

    Attributes:
        number: Number of the signal, 0 without one.
    """

    number: int = 0


@contextmanager
def interrupts() -> Iterator[Interrupt]:
    """Collect SIGINT and SIGTERM: the first one ends the loop after a step, the second one acts as always."""
    interrupt = Interrupt()
    previous: dict[int, Any] = {}

    def note(number: int, _frame: FrameType | None) -> None:
        interrupt.number = number
        for known, handler in previous.items():
            signal.signal(known, handler)

    try:
        for kind in (signal.SIGINT, signal.SIGTERM):
            previous[kind] = signal.signal(kind, note)
    except ValueError:  # not the main thread: signals go elsewhere
        previous.clear()
    try:
        yield interrupt
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@dataclass
class Run:
    """What a run did.

    Attributes:
        steps: Steps that were made.
        wall: Wall time of them [s].
        interrupted: Number of the signal that ended it, 0 without one.
        broken: First environment whose state is not finite, None while all are.
    """

    steps: int = 0
    wall: float = 0.0
    interrupted: int = 0
    broken: int | None = None


def run_steps(
    simulation: Simulation,
    dt: float,
    steps: int,
    frame_steps: int | None,
    on_frame: Callable[[], None],
    *,
    quiet: bool,
) -> Run:
    """Step a simulation until its end, an interrupt, or a state that is not finite.

    Args:
        simulation: The simulation.
        dt: Length of a step [s].
        steps: Number of steps.
        frame_steps: Steps from frame to frame; None for no frames.
        on_frame: Called for each of them, and after the last step, however it came.
        quiet: Whether to show no bar.

    Returns:
        What was done.
    """
    from tqdm import tqdm

    run = Run()
    chunk, framed = 1, 0
    bar = tqdm(
        total=steps,
        disable=quiet,
        file=sys.stderr,
        mininterval=_LOOK if sys.stderr.isatty() else _LOG_INTERVAL,
        dynamic_ncols=True,
        bar_format="{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {postfix}]",
    )
    with bar, interrupts() as interrupt:
        while run.steps < steps and not interrupt.number and run.broken is None:
            goal = min(run.steps + chunk, steps)
            if frame_steps is not None:
                goal = min(goal, framed + frame_steps)
            start, before = time.perf_counter(), run.steps
            while run.steps < goal and not interrupt.number:
                simulation.step(dt)
                run.steps += 1
            wp.synchronize_device(simulation.device)
            spent = max(time.perf_counter() - start, 1e-9)
            run.wall += spent
            chunk = max(1, int((run.steps - before) / spent * _LOOK))
            run.broken = first_broken(simulation)
            if frame_steps is not None and run.steps == framed + frame_steps:
                on_frame()
                framed = run.steps
            bar.set_postfix_str(rates(run, simulation), refresh=False)
            bar.update(run.steps - before)
        if frame_steps is not None and framed != run.steps:
            on_frame()
    run.interrupted = interrupt.number
    return run


def rates(run: Run, simulation: Simulation) -> str:
    """Steps per second and real-time factor of one environment, and of all together."""
    per_second = run.steps / max(run.wall, 1e-9)
    factor = per_second * simulation.time_step
    text = f"{per_second:.0f} steps/s, {factor:.3g}x real time"
    count = simulation.environment_count
    return text if count == 1 else f"{text}, {count} environments: {per_second * count:.3g} steps/s"


def first_broken(simulation: Simulation) -> int | None:
    """First environment with a pose or velocity that is not finite; waits for the device."""
    state: Any = simulation.state
    checked = [
        (array.numpy().reshape(-1, width), simulation.directory.numbering.links.environment)
        for array, width in ((state.link_pose, 7), (state.link_velocity, 6))
    ]
    if simulation.soft is not None:
        checked.append((simulation.soft.state.positions.numpy(), simulation.soft.node_environment))
    if simulation.particles is not None:
        model = simulation.particles.model
        homes = model.environment[model.particles.system.numpy()]
        checked.append((simulation.particles.state.positions.numpy(), homes))
    broken = [
        int(homes[~np.isfinite(values).all(axis=1)].min(initial=2**31 - 1)) for values, homes in checked
    ]
    first = min(broken)
    return None if first == 2**31 - 1 else first
