"""Which shapes collide, and the convex hulls of meshes."""

from __future__ import annotations

import numpy as np

import tensorphys_contact
from tensorphys_contact import Hull, HullError, cook_hull
from tensorphys_engine.decompositions import SimulatedShapes, decomposed
from tensorphys_engine.errors import BuildError, UnsupportedError
from tensorphys_engine.findings import Findings
from tensorphys_engine.layout import Array, IntArray
from tensorphys_scene import Mesh, ShapeType, Template

_OWN = frozenset(int(code) for code in tensorphys_contact.ShapeType)


def contact_types(types: IntArray) -> IntArray:
    """Code of the contact pipeline for each shape type of a scene, −1 where it has no geometry for it."""
    table = np.full(max(ShapeType) + 1, -1, np.int32)
    for kind in ShapeType:
        if int(kind) in _OWN:
            table[kind] = kind
    table[ShapeType.CONVEX_DECOMPOSITION] = ShapeType.CONVEX_HULL
    return table[types]


def simulated_shapes(tables: Template, prefix: str, findings: Findings) -> SimulatedShapes:
    """Shapes that collide; the others, and those replaced by a hull, become findings.

    Args:
        tables: Template, or the part that all environments share.
        prefix: Path of its root.
        findings: Takes what is left out or replaced.
    """
    shapes = tables.shapes
    known = contact_types(shapes.type) >= 0
    for row in np.flatnonzero(~known):
        name = ShapeType(int(shapes.type[row])).name.lower().replace("_", " ")
        text = f"a shape of type {name} does not collide in this version"
        findings.omit("shapes that do not collide in this version, left out", prefix + shapes.path[row], text)
    return decomposed(tables, np.flatnonzero(known).astype(np.int32), prefix, findings)


class HullBook:
    """Cooks each mesh once for each scale and vertex limit.

    Attributes:
        cooked: All hulls so far.
    """

    def __init__(self) -> None:
        self._index: dict[tuple[int, tuple[float, ...], int], int] = {}
        self._parts: dict[int, int] = {}
        self.cooked: list[Hull] = []

    def hulls_of(
        self, tables: Template, rows: IntArray, parts: tuple[Hull | None, ...], prefix: str
    ) -> IntArray:
        """Number of the hull of each listed shape, −1 where it is no hull.

        Args:
            tables: Template.
            rows: Rows of the shapes.
            parts: Hull of each part of a decomposition, None for other shapes.
            prefix: Path of the root.

        Raises:
            BuildError: If a shape has no mesh or its points make no hull.
        """
        shapes = tables.shapes
        result = np.full(len(rows), -1, np.int32)
        for local in np.flatnonzero(contact_types(shapes.type[rows]) == ShapeType.CONVEX_HULL):
            row = int(rows[local])
            path = prefix + shapes.path[row]
            part = parts[local]
            if part is not None:
                result[local] = self._part(part)
                continue
            if shapes.mesh[row] < 0:
                raise BuildError(f"{path}: a convex hull needs a mesh")
            mesh = tables.meshes[int(shapes.mesh[row])]
            result[local] = self._mesh(mesh, shapes.size[row], int(shapes.hull_vertex_limit[row]), path)
        return result

    def _part(self, hull: Hull) -> int:
        if id(hull) not in self._parts:
            self._parts[id(hull)] = len(self.cooked)
            self.cooked.append(hull)
        return self._parts[id(hull)]

    def _mesh(self, mesh: Mesh, scale: Array, vertex_limit: int, path: str) -> int:
        key = (id(mesh.points), tuple(scale.tolist()), vertex_limit)
        if key not in self._index:
            try:
                hull = cook_hull(mesh.points * scale, vertex_limit=vertex_limit)
            except HullError as error:
                raise BuildError(f"{path}: no convex hull can be made of its points: {error}") from error
            self._index[key] = len(self.cooked)
            self.cooked.append(hull)
        return self._index[key]


def refuse_scaled_hulls(tables: Template, rows: IntArray, hull: IntArray, sizes: Array, prefix: str) -> None:
    """Refuse hulls whose size differs between environments.

    Args:
        tables: Template.
        rows: Rows of the simulated shapes.
        hull: Hull of each, −1 for none.
        sizes: Size of every shape of the template, shape [1 or members, rows, 3].
        prefix: Path of an environment that uses the template.

    Raises:
        UnsupportedError: If there is one.
    """
    changed = np.ptp(sizes[:, rows], axis=0).any(axis=1) & (hull >= 0)
    for local in np.flatnonzero(changed):
        raise UnsupportedError(
            f"{prefix}{tables.shapes.path[int(rows[local])]}: the size of a convex hull or mesh cannot differ between "
            "environments; make a template for each"
        )
