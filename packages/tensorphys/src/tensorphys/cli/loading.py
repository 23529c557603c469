"""From the arguments to a scene and a simulation of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from tensorphys.cli.arguments import Arguments
from tensorphys.cli.errors import CommandError
from tensorphys_engine import Simulation
from tensorphys_scene import Scene, SoftKind, replicate
from tensorphys_usd import open_stage, parse_stage

_SPACING = 2.0  # [m]
_MOVING = (SoftKind.VOLUME_BODY, SoftKind.SURFACE_BODY, SoftKind.PARTICLE_SET, SoftKind.PARTICLE_CLOTH)


def load(chosen: Arguments) -> tuple[Any, Scene]:
    """Open and read the stage that was asked for.

    Returns:
        The stage and the scene, one environment unless ``--environments`` says otherwise.

    Raises:
        StageError: If the stage cannot be read as described.
        CommandError: If a prim of ``--without`` does not exist.
    """
    stage = open_stage(chosen.stage)
    for path in chosen.without:
        _leave_out(stage, path)
    scene = parse_stage(
        stage,
        environments=chosen.environments,
        free_base=chosen.free_base,
        require_scene=not chosen.default_gravity,
    )
    return stage, scene


def _leave_out(stage: Any, path: str) -> None:
    """Deactivate a prim in the session layer; the file stays as it is."""
    from pxr import Sdf, Usd

    prim = stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path) else None
    if not prim or prim.IsPseudoRoot():
        raise CommandError(f"--without {path}: no such prim on the stage")
    if prim.IsInstanceProxy():
        raise CommandError(f"--without {path}: lies inside an instance, of which all copies are equal")
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        prim.SetActive(False)


def require_bodies(scene: Scene, name: str) -> None:
    """Refuse a stage on which nothing moves.

    Raises:
        CommandError: If no template has an enabled body, a deformable or particles.
    """
    for template in scene.templates:
        if template.bodies.enabled.any() or np.isin(template.soft_prims.kind, _MOVING).any():
            return
    raise CommandError(f"{name}: no rigid body on the stage, so there is nothing to simulate")


def copies(scene: Scene, chosen: Arguments) -> Scene:
    """The environments that were asked for."""
    if chosen.envs is None:
        return scene
    spacing = chosen.spacing
    if spacing is None:
        spacing = _SPACING / scene.settings.meters_per_unit
    return replicate(scene, chosen.envs, spacing=spacing)


def chosen_device(name: str) -> Any:
    """The Warp device of a name.

    Raises:
        CommandError: If this machine has no such device.
    """
    import warp as wp

    # Its start-up report and compile messages are no part of this command's output.
    wp.config.log_level = wp.LOG_WARNING
    try:
        with _native_errors_dropped() if name == "cpu" else nullcontext():
            return wp.get_device(name)
    except (ValueError, RuntimeError):
        known = ", ".join(device.alias for device in wp.get_devices())
        raise CommandError(f"--device {name}: this machine has {known}") from None


@contextmanager
def _native_errors_dropped() -> Iterator[None]:
    """Keep what compiled code writes to stderr from the terminal.

    Warp's library complains there about a missing CUDA driver, which does not concern a run on the CPU.
    """
    try:
        sys.stderr.flush()
        target = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # stderr is no file, so nothing native goes there
        yield
        return
    saved = os.dup(target)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), target)
        yield
    finally:
        os.dup2(saved, target)
        os.close(saved)


def build(scene: Scene, device: Any, *, ignore_unsupported: bool) -> Simulation:
    """Build a simulation.

    Raises:
        BuildError: If the scene contradicts itself.
        UnsupportedError: If the scene asks for something that is not supported and must not be left out.
    """
    return Simulation(scene, device=device, ignore_unsupported=ignore_unsupported)
