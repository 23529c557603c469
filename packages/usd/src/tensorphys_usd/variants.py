"""Environments that differ from a parsed one in masses and sizes of primitives alone: these numbers are read here.

Bodies and colliders of such an environment stand in the frames of those of the parsed one; masses and sizes come from
its own prims, by the same rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.frames import Frame, Rigid
from tensorphys_usd.masses import mass_columns
from tensorphys_usd.materials import StageMaterials
from tensorphys_usd.meshes import StageMeshes
from tensorphys_usd.roots import EnvironmentRoots
from tensorphys_usd.shapes import StageShapes
from tensorphys_usd.stage import Reading


@dataclass
class _Bodies:
    paths: list[Sdf.Path] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    enabled: list[bool] = field(default_factory=list)
    kinematic: list[bool] = field(default_factory=list)


@dataclass
class _Shapes:
    paths: list[Sdf.Path] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    places: list[Rigid] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(
        default_factory=lambda: {"type": [], "size": [], "mesh": [], "material": []}
    )


class Variants:
    """Masses and sizes of environments that are not parsed.

    Args:
        reading: The pass over the stage.
        found: Environments; those whose `numbers` are not those of their `source` are read.
        bodies, shapes: Rows of the environments that were parsed.
        materials, meshes: Likewise.

    Attributes:
        columns: Values by "table.column", shape [rows, ...]: the rows of one environment after those of another.
        first: First row of each of these environments by table and environment.
    """

    def __init__(
        self,
        reading: Reading,
        found: EnvironmentRoots,
        bodies: StageBodies,
        shapes: StageShapes,
        materials: StageMaterials,
        meshes: StageMeshes,
    ) -> None:
        self.columns: dict[str, npt.NDArray[np.float64]] = {}
        self.first: dict[tuple[str, int], int] = {}
        environments = np.unique(found.numbers[found.numbers != found.source])
        if not environments.size:
            return
        self._reading = reading
        self._shapes = shapes
        own_bodies, own_shapes = _Bodies(), _Shapes()
        body_rows, shape_rows = _members(found, bodies, shapes)
        for environment in environments.tolist():
            source = int(found.source[environment])
            old, new = found.paths[source], found.paths[environment]
            first = self.first["bodies", environment] = len(own_bodies.paths)
            self.first["shapes", environment] = len(own_shapes.paths)
            at = {row: first + index for index, row in enumerate(body_rows[source])}
            for row in body_rows[source]:
                own_bodies.paths.append(bodies.paths[row].ReplacePrefix(old, new))
                own_bodies.frames.append(bodies.frames[row])
                own_bodies.enabled.append(bodies.enabled[row])
                own_bodies.kinematic.append(bodies.kinematic[row])
            for row in shape_rows[source]:
                self._add(own_shapes, row, shapes.paths[row].ReplacePrefix(old, new), at)
        masses = mass_columns(reading, own_bodies, own_shapes, materials, meshes)
        self.columns = {f"bodies.{name}": values for name, values in masses.items()}
        self.columns["shapes.size"] = np.array(own_shapes.columns["size"], np.float64).reshape(-1, 3)

    def replace(self, name: str, environments: npt.NDArray[np.int64], values: npt.NDArray[Any]) -> None:
        """Put the numbers of environments in the place of those of their sources.

        Args:
            name: Column, "table.column".
            environments: Environments.
            values: Values of their sources, shape [environments, rows, ...]; changed in place.
        """
        own, table = self.columns[name], name.partition(".")[0]
        for row, environment in enumerate(environments.tolist()):
            first = self.first.get((table, environment), -1)
            if first >= 0:
                values[row] = own[first : first + values.shape[1]]

    def _add(self, into: _Shapes, row: int, path: Sdf.Path, body_at: dict[int, int]) -> None:
        shapes = self._shapes
        into.paths.append(path)
        into.bodies.append(body_at.get(shapes.bodies[row], -1))
        into.frames.append(shapes.frames[row])
        into.places.append(shapes.places[row])
        for name, values in into.columns.items():
            values.append(shapes.columns[name][row])
        if shapes.columns["mesh"][row] < 0:
            into.columns["size"][-1] = shapes.size_of(row, path)


def _members(
    found: EnvironmentRoots, bodies: StageBodies, shapes: StageShapes
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Rows of bodies and of shapes below the root of each environment, a collider going with its body."""
    roots = {found.paths[row]: int(row) for row in np.unique(found.source)}

    def environment(path: Sdf.Path) -> int:
        return next((roots[prefix] for prefix in path.GetPrefixes() if prefix in roots), -1)

    of_body = [environment(path) for path in bodies.paths]
    of_shape = [
        of_body[body] if body >= 0 else environment(path)
        for path, body in zip(shapes.paths, shapes.bodies, strict=True)
    ]
    result: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
    for rows, places in zip(result, (of_body, of_shape), strict=True):
        for row, place in enumerate(places):
            rows.setdefault(place, []).append(row)
        for place in roots.values():
            rows.setdefault(place, [])
    return result
