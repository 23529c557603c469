"""Names of the rows of a simulation's arrays, by which state finds its place in another simulation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tensorphys.metatype import dof_paths_of
from tensorphys_engine import Simulation

__all__ = ["Rows", "name_rows"]


@dataclass(frozen=True)
class Rows:
    """Names of rows; all names of one kind differ.

    Attributes:
        articulation: Path of the root prim, or of the free body.
        link: Prim path.
        dof: Path of the joint, with a number where it has several.
        velocity: Of a floating root the articulation and a number from 0 to 5, then degrees of freedom.
        shape: Prim path, with a number where one prim became several.
        joint: Prim path of joints beside the trees, likewise.
    """

    articulation: tuple[str, ...]
    link: tuple[str, ...]
    dof: tuple[str, ...]
    velocity: tuple[str, ...]
    shape: tuple[str, ...]
    joint: tuple[str, ...]


def name_rows(simulation: Simulation) -> Rows:
    """Names of the rows of all arrays of a simulation of one world."""
    directory, model = simulation.directory, simulation.model
    links = directory.link_paths
    starts = model.articulation_link_start.numpy()
    velocity_count = np.diff(model.articulation_velocity_start.numpy())
    articulations: list[str] = []
    dofs: list[str] = []
    velocities: list[str] = []
    for number in range(model.articulation_count):
        info = simulation.articulation_info(number)
        name = links[int(starts[number])] if info is None else info.path
        own: list[str] = []
        if info is not None:
            own = [info.prefix + path for path in dof_paths_of(info.labels, numbered=True)]
        articulations.append(name)
        dofs += own
        velocities += [f"{name}|{axis}" for axis in range(int(velocity_count[number]) - len(own))]
        velocities += own
    return Rows(
        articulation=_numbered(articulations),
        link=_numbered(links),
        dof=_numbered(dofs),
        velocity=_numbered(velocities),
        shape=_numbered(directory.shape_paths),
        joint=_numbered(_joint_paths(simulation)),
    )


def _joint_paths(simulation: Simulation) -> list[str]:
    scene, loose = simulation.scene, simulation.joints.loose
    paths: list[str] = []
    for environment, template in enumerate(scene.environments.template.tolist()):
        prefix, joints = scene.environments.path[environment], scene.templates[template].joints
        paths += [prefix + joints.path[int(row)] for row in loose.rows[template]]
    return paths


def _numbered(names: list[str]) -> tuple[str, ...]:
    """Names that differ: the second of one name gets ``#1`` behind it, and so on."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        result.append(f"{name}#{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return tuple(result)
