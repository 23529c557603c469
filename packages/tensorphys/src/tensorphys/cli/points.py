"""Points of deformables and particles, for recordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine import Simulation
from tensorphys_scene import Template

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PointTrack:
    """A prim whose points move.

    Attributes:
        path: Prim path relative to the environment.
        source: ``"soft"`` or ``"particles"``.
        numbers: Flat nodes or particles of each environment, shape [environments, points].
    """

    path: str
    source: str
    numbers: Array


def point_tracks(simulation: Simulation, environment_count: int) -> tuple[list[PointTrack], list[str]]:
    """Prims of the first environments whose points follow the simulation.

    Args:
        simulation: The simulation.
        environment_count: How many of the first environments.

    Returns:
        The tracks, and the paths of prims that show a mesh that is not simulated itself.
    """
    scene = simulation.scene
    template = scene.templates[int(scene.environments.template[0])]
    found: dict[tuple[str, str], dict[int, Array]] = {}
    for source, environment, path, numbers in _all_points(simulation):
        if environment < environment_count:
            inside = path[len(scene.environments.path[environment]) :]
            found.setdefault((source, inside), {})[environment] = numbers
    tracks, left = [], []
    for (source, inside), rows in found.items():
        known = _point_count(template, inside)
        counts = {len(numbers) for numbers in rows.values()}
        if len(rows) == environment_count and counts == {known}:
            numbers = np.stack([rows[environment] for environment in range(environment_count)])
            tracks.append(PointTrack(inside, source, numbers))
        else:
            left.append(scene.environments.path[0] + inside)
    return tracks, left


def world_points(simulation: Simulation, tracks: list[PointTrack]) -> dict[str, Array]:
    """Positions of the points of each track in the world [m], shape [environments, points, 3]."""
    places: dict[str, Array] = {}
    if simulation.soft is not None:
        places["soft"] = simulation.soft.state.positions.numpy()
    if simulation.particles is not None:
        places["particles"] = simulation.particles.state.positions.numpy()
    origin = simulation.scene.environments.origin
    return {
        track.path: places[track.source][track.numbers] + origin[: len(track.numbers), None]
        for track in tracks
    }


def _all_points(simulation: Simulation) -> Any:
    """Source, environment, prim path and flat numbers of everything that has points."""
    soft, particles = simulation.soft, simulation.particles
    if soft is not None:
        for number, body in enumerate(soft.bodies):
            nodes = soft.nodes_of(number)
            path = body.simulation_path
            yield "soft", int(soft.body_environment[number]), path, np.arange(nodes.start, nodes.stop)
    if particles is not None:
        model, plan = particles.model, particles.plan
        system = model.particles.system.numpy()
        members = zip(
            (*plan.set_paths, *plan.cloth_paths), (*plan.set_member, *plan.cloth_member), strict=True
        )
        for path, member in members:
            first, end = int(model.set_start[member]), int(model.set_start[member + 1])
            yield "particles", int(model.environment[system[first]]), path, np.arange(first, end)


def _point_count(template: Template, path: str) -> int:
    soft = template.soft_prims
    return len(soft.data[soft.row(path)].points) if path in soft.path else -1
