"""``tensorphys simulate``: load, report, simulate, write."""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorphys.cli.arguments import Arguments
from tensorphys.cli.errors import CommandError
from tensorphys.cli.frames import Frames
from tensorphys.cli.ground import add_ground, has_static_shape
from tensorphys.cli.loading import build, chosen_device, copies, load, require_bodies
from tensorphys.cli.recording import PoseRecording
from tensorphys.cli.report import scene_lines
from tensorphys.cli.running import rates, run_steps
from tensorphys.cli.stage_data import scene_data
from tensorphys.cli.summary import Summary
from tensorphys_engine import Simulation
from tensorphys_scene import Scene

_SECONDS = 4.0
_NOT_FINITE = 1
_SIGNALLED = 128

Say = Callable[..., None]


def simulate(chosen: Arguments) -> int:
    """Run the command.

    Returns:
        0, 1 if the state of an environment is not finite any more, or 128 plus the number of a signal.

    Raises:
        CommandError, UsdError, EngineError: If the stage or the arguments cannot be used; nothing is written then.
    """
    say = _silent if chosen.quiet else _say
    stage, scene = load(chosen)
    device = chosen_device(chosen.device)
    require_bodies(scene, chosen.stage)
    original = scene
    if chosen.ground is not None:
        scene, height = add_ground(scene, chosen.ground)
    simulation = build(copies(scene, chosen), device, ignore_unsupported=chosen.ignore_unsupported)
    say(*scene_lines(scene_data(original, _of_source(simulation, scene)), chosen.stage, details=False))
    if chosen.ground is not None:
        say(f"a ground plane is added at height {height:g}")
    elif not has_static_shape(scene) and np.any(scene.settings.gravity) and _floats(scene):
        say("nothing on the stage stops a fall; --ground adds a plane")
    _check_environment(chosen, simulation)
    if chosen.perturb is not None:
        perturb(simulation, chosen.perturb, chosen.seed)
    return _run(chosen, stage, simulation, say)


def _of_source(simulation: Simulation, source: Scene) -> tuple[tuple[str, str], ...]:
    """Findings under the paths of the source: those of the first copy stand for all."""
    known = len(source.findings)
    copy, original = simulation.scene.environments.path[0], source.environments.path[0]
    if copy == original:
        return simulation.findings
    added = simulation.findings[known:]
    return source.findings + tuple((path.removeprefix(copy) or "/", text) for path, text in added)


def _floats(scene: Scene) -> bool:
    """Whether anything is free to fall."""
    for template in scene.templates:
        links = set(template.links.body.tolist())
        free = np.flatnonzero(template.bodies.enabled & ~template.bodies.kinematic)
        if (~template.articulations.fixed_base).any() or any(int(body) not in links for body in free):
            return True
    return False


def _say(*lines: str) -> None:
    print("\n".join(lines), flush=True)


def _silent(*_: str) -> None:
    pass


def _check_environment(chosen: Arguments, simulation: Simulation) -> None:
    if chosen.plot_env >= simulation.environment_count:
        raise CommandError(
            f"--plot-env {chosen.plot_env}: there are {simulation.environment_count} environments, 0 is the first"
        )


def perturb(simulation: Simulation, size: float, seed: int) -> None:
    """Move each degree of freedom by a random amount, within its limits.

    Environment i gets the same amounts however many there are.

    Args:
        simulation: The simulation, before its first step.
        size: Largest amount [rad or m].
        seed: Seed of the random numbers.
    """
    state: Any = simulation.state
    model: Any = simulation.model
    count = simulation.environment_count
    starts = simulation.directory.numbering.dofs.start
    most = int(np.diff(starts).max(initial=0))
    amounts = np.random.default_rng(seed).uniform(-size, size, (count, most))
    own = np.arange(most) < np.diff(starts)[:, None]
    position = state.dof_position.numpy() + amounts[own]
    # A start outside of its limits stays there: only the perturbation keeps to them.
    before = state.dof_position.numpy()
    low, high = np.minimum(model.dof_lower.numpy(), before), np.maximum(model.dof_upper.numpy(), before)
    if position.size:
        state.dof_position.assign(np.clip(position, low, high).astype(np.float32))
    state.fresh.fill_(1)
    simulation.refresh()


def _run(chosen: Arguments, stage: Any, simulation: Simulation, say: Say) -> int:
    dt = chosen.dt or simulation.time_step
    steps = chosen.steps or max(1, round((chosen.seconds or _SECONDS) / dt))
    frame_steps = max(1, round(1.0 / (dt * chosen.fps)))
    say(
        f"{steps} steps of {dt:g} s, environments: {simulation.environment_count}, device: {simulation.device}"
    )
    start = time.perf_counter()
    simulation.record()
    say(f"kernels are ready after {time.perf_counter() - start:.1f} s (the first run compiles them)")
    recording = None
    if chosen.record is not None:
        recording = PoseRecording(
            chosen.record,
            stage,
            simulation,
            environment_count=chosen.record_envs,
            frames_per_second=1.0 / (dt * frame_steps),
        )
    frames = Frames(simulation)
    summary = Summary(simulation.scene.settings)
    keep = chosen.npz is not None or chosen.plot is not None

    def on_frame() -> None:
        frame = frames.take(keep=keep)
        summary.add(frame)
        if recording is not None and np.isfinite(frame["link_pose"][frames.links.present]).all():
            recording.record(float(frame["time"]), frame["link_pose"])

    on_frame()
    wants_frames = keep or recording is not None
    try:
        run = run_steps(
            simulation, dt, steps, frame_steps if wants_frames else steps, on_frame, quiet=chosen.quiet
        )
    finally:
        written = _write(chosen, frames, recording, simulation)
    if run.interrupted:
        say(f"interrupted after {run.steps} of {steps} steps")
    say(
        f"{run.steps} steps in {run.wall:.2f} s of stepping: {rates(run, simulation)}",
        *summary.lines(),
        *written,
    )
    if run.broken is not None:
        path = simulation.scene.environments.path[run.broken] or "the stage"
        print(
            f"tensorphys: error: the state of {path} is not finite at {simulation.time:g} s; a shorter --dt may help",
            file=sys.stderr,
        )
        return _NOT_FINITE
    return _SIGNALLED + run.interrupted if run.interrupted else 0


def _write(
    chosen: Arguments, frames: Frames, recording: PoseRecording | None, simulation: Simulation
) -> list[str]:
    """Write what was asked for, however the run ended; a line for each file."""
    lines = []
    if recording is not None:
        recording.close()
        count = recording.environment_count
        of_all = "" if count == simulation.environment_count else f" (the first {count} environments)"
        lines.append(f"wrote {chosen.record}{of_all}")
    if chosen.npz is not None:
        arrays: dict[str, Any] = frames.description() | frames.arrays()
        np.savez(chosen.npz, **arrays)
        lines.append(f"wrote {chosen.npz}")
    if chosen.plot is not None:
        from tensorphys.cli.plot import draw

        title = f"{pathlib.Path(chosen.stage).name}, environment {chosen.plot_env}"
        draw(chosen.plot, frames, simulation, environment=chosen.plot_env, title=title)
        lines.append(f"wrote {chosen.plot}")
    return lines
