"""Convex hulls of meshes, and of shapes that the contact pipeline has no geometry of their own for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
        ShapeType.CONE: "a cone collides as a pyramid of 32 sides",
        ShapeType.ELLIPSOID: "an ellipsoid collides as a polyhedron of 64 corners",
        ShapeType.CONVEX_DECOMPOSITION: "the convex hull of the mesh collides in place of its decomposition",
    }.items()
    if int(kind) not in _OWN
}
_SIDES = 32
_CORNERS = 64


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
    """Cooks each mesh or primitive once for each scale and vertex limit.

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
            kind, size = ShapeType(int(shapes.type[row])), shapes.size[row]
            path = prefix + shapes.path[row]
            if kind in (ShapeType.CONVEX_HULL, ShapeType.CONVEX_DECOMPOSITION):
                if shapes.mesh[row] < 0:
                    raise BuildError(f"{path}: a convex hull needs a mesh")
                mesh = tables.meshes[int(shapes.mesh[row])]
                result[local] = self._mesh(mesh, size, int(shapes.hull_vertex_limit[row]), path)
            else:
                result[local] = self._primitive(kind, size, path)
        return result

    def _mesh(self, mesh: Mesh, scale: Array, vertex_limit: int, path: str) -> int:
        key = (id(mesh.points), tuple(scale.tolist()), vertex_limit)
        return self._cook(key, mesh.points * scale, vertex_limit, path)

    def _primitive(self, kind: ShapeType, size: Array, path: str) -> int:
        # Meshes have the addresses of objects; small numbers are free for primitives.
        return self._cook((int(kind), tuple(size.tolist()), 0), _corners(kind, size), _CORNERS, path)

    def _cook(
        self,
        key: tuple[int, tuple[float, ...], int],
        points: npt.NDArray[np.float64],
        vertex_limit: int,
        path: str,
    ) -> int:
        if key not in self._index:
            try:
                hull = cook_hull(points, vertex_limit=vertex_limit)
            except HullError as error:
                raise BuildError(f"{path}: no convex hull can be made of its points: {error}") from error
            self._index[key] = len(self.cooked)
            self.cooked.append(hull)
        return self._index[key]


def _corners(kind: ShapeType, size: Array) -> npt.NDArray[np.float64]:
    """Corners of the polyhedron that stands for an ellipsoid or a cone; the ring of a cone is as far out as in."""
    if kind == ShapeType.ELLIPSOID:
        return _sphere_corners() * size
    angle = np.arange(_SIDES) * (2.0 * np.pi / _SIDES)
    radius = 2.0 * size[0] / (1.0 + np.cos(np.pi / _SIDES))
    ring = np.stack((radius * np.cos(angle), radius * np.sin(angle), np.full(_SIDES, -size[1])), axis=1)
    return np.concatenate((ring, [[0.0, 0.0, size[1]]]))


def _sphere_corners() -> npt.NDArray[np.float64]:
    """Points spread evenly over the unit sphere, the two poles included [Swinbank and Purser 2006]."""
    z = np.linspace(1.0, -1.0, _CORNERS)
    angle = np.arange(_CORNERS) * np.pi * (3.0 - np.sqrt(5.0))
    ring = np.sqrt(np.maximum(1.0 - z * z, 0.0))
    return np.stack((ring * np.cos(angle), ring * np.sin(angle), z), axis=1)


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
            f"{prefix}{tables.shapes.path[int(rows[local])]}: the size of a convex hull cannot differ between "
            "environments; make a template for each"
        )
