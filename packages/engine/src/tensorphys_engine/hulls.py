"""Convex hulls of meshes, and what becomes of shapes that the contact pipeline has no geometry for."""

from __future__ import annotations

import numpy as np

import tensorphys_contact
from tensorphys_contact import Hull, HullError, cook_hull
from tensorphys_engine.errors import BuildError, UnsupportedError
from tensorphys_engine.findings import Findings
from tensorphys_engine.layout import Array, IntArray
from tensorphys_scene import Mesh, ShapeType, Template

_OWN = frozenset(int(code) for code in tensorphys_contact.ShapeType)
# A shape that the pipeline does not know is replaced by a hull: what is said of it.
_REPLACED: dict[ShapeType, str] = {
    kind: text
    for kind, text in {
        ShapeType.CONVEX_DECOMPOSITION: "the convex hull of the mesh collides in place of its decomposition",
    }.items()
    if int(kind) not in _OWN
}


def contact_types(types: IntArray) -> IntArray:
    """Code of the contact pipeline for each shape type of a scene, −1 where it has no geometry for it."""
    table = np.full(max(ShapeType) + 1, -1, np.int32)
    for kind in ShapeType:
        if int(kind) in _OWN:
            table[kind] = kind
        elif kind in _REPLACED:
            table[kind] = ShapeType.CONVEX_HULL
    return table[types]


def simulated_rows(tables: Template, prefix: str, findings: Findings) -> IntArray:
    """Rows of the shapes that collide; the others, and those replaced by a hull, become findings.

    Args:
        tables: Template, or the part that all environments share.
        prefix: Path of its root.
        findings: Takes what is left out or replaced.
    """
    shapes = tables.shapes
    known = contact_types(shapes.type) >= 0
    for row, code in enumerate(shapes.type):
        kind = ShapeType(int(code))
        path = prefix + shapes.path[row]
        if not known[row]:
            name = kind.name.lower().replace("_", " ")
            text = f"a shape of type {name} does not collide in this version"
            findings.omit("shapes that do not collide in this version, left out", path, text)
        elif kind in _REPLACED:
            findings.omit("shapes that collide as convex hulls in this version", path, _REPLACED[kind])
    return np.flatnonzero(known).astype(np.int32)


class HullBook:
    """Cooks each mesh once for each scale and vertex limit.

    Attributes:
        cooked: All hulls so far.
    """

    def __init__(self) -> None:
        self._index: dict[tuple[int, tuple[float, ...], int], int] = {}
        self.cooked: list[Hull] = []

    def hulls_of(self, tables: Template, rows: IntArray, prefix: str) -> IntArray:
        """Number of the hull of each listed shape, −1 where it is no hull.

        Raises:
            BuildError: If a shape has no mesh or its points make no hull.
        """
        shapes = tables.shapes
        result = np.full(len(rows), -1, np.int32)
        for local in np.flatnonzero(contact_types(shapes.type[rows]) == ShapeType.CONVEX_HULL):
            row = int(rows[local])
            path = prefix + shapes.path[row]
            if shapes.mesh[row] < 0:
                raise BuildError(f"{path}: a convex hull needs a mesh")
            mesh = tables.meshes[int(shapes.mesh[row])]
            result[local] = self._mesh(mesh, shapes.size[row], int(shapes.hull_vertex_limit[row]), path)
        return result

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
