"""Meshes that collide as several convex hulls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorphys_contact import Hull, HullError, MeshError, MissingLibraryError, decompose
from tensorphys_engine.findings import Findings
from tensorphys_engine.layout import IntArray
from tensorphys_scene import ShapeType, Template


@dataclass(frozen=True)
class SimulatedShapes:
    """Shapes that collide.

    Attributes:
        row: Row of each; one that is decomposed stands once for each of its hulls.
        hull: Hull of each part of a decomposition, None for other shapes.
    """

    row: IntArray
    hull: tuple[Hull | None, ...]


def decomposed(tables: Template, rows: IntArray, prefix: str, findings: Findings) -> SimulatedShapes:
    """Put the hulls of their decompositions in place of shapes that ask for one.

    Where a decomposition cannot be made the shape stays, and collides as its hull; that becomes a finding.

    Args:
        tables: Template, or the part that all environments share.
        rows: Rows of the shapes that collide.
        prefix: Path of its root.
        findings: Takes what is replaced.
    """
    shapes = tables.shapes
    made: dict[tuple[object, ...], list[Hull]] = {}
    row_of: list[int] = []
    hulls: list[Hull | None] = []
    for row in rows.tolist():
        if shapes.type[row] != ShapeType.CONVEX_DECOMPOSITION or shapes.mesh[row] < 0:
            row_of.append(row)
            hulls.append(None)
            continue
        mesh, scale = tables.meshes[int(shapes.mesh[row])], shapes.size[row]
        limit = int(np.clip(shapes.decomposition_max_hulls[row], 1, 256))
        corners = int(np.clip(shapes.decomposition_hull_vertex_limit[row], 4, 256))
        key = (id(mesh.points), tuple(scale.tolist()), limit, corners)
        if key not in made:
            try:
                made[key] = decompose(
                    mesh.points * scale, mesh.triangles, hull_limit=limit, vertex_limit=corners
                )
            except (MissingLibraryError, MeshError, HullError) as error:
                findings.omit(
                    "shapes that collide as convex hulls in place of their decompositions",
                    prefix + shapes.path[row],
                    f"the convex hull of the mesh collides in place of its decomposition: {error}",
                )
                made[key] = []
        parts: list[Hull | None] = [*made[key]] or [None]
        row_of += [row] * len(parts)
        hulls += parts
    return SimulatedShapes(np.array(row_of, dtype=np.int32), tuple(hulls))
