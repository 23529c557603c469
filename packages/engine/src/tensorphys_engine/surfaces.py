"""Triangle meshes that collide as surfaces."""

from __future__ import annotations

import numpy as np

import tensorphys_contact
from tensorphys_contact import MeshError, TriangleMesh, cook_mesh
from tensorphys_engine.errors import BuildError
from tensorphys_engine.hulls import contact_types
from tensorphys_engine.layout import IntArray
from tensorphys_scene import Template

_SURFACES = (tensorphys_contact.ShapeType.TRIANGLE_MESH, tensorphys_contact.ShapeType.HEIGHT_FIELD)


class SurfaceBook:
    """Cooks each triangle mesh once for each scale.

    Attributes:
        cooked: All meshes so far.
    """

    def __init__(self) -> None:
        self._index: dict[tuple[int, tuple[float, ...]], int] = {}
        self.cooked: list[TriangleMesh] = []

    def surfaces_of(self, tables: Template, rows: IntArray, prefix: str) -> IntArray:
        """Number of the mesh of each listed shape, −1 where it is no surface.

        Raises:
            BuildError: If a shape has no mesh or its mesh has no triangle with an area.
        """
        shapes = tables.shapes
        result = np.full(len(rows), -1, np.int32)
        for local in np.flatnonzero(np.isin(contact_types(shapes.type[rows]), _SURFACES)):
            row = int(rows[local])
            path = prefix + shapes.path[row]
            if shapes.mesh[row] < 0:
                raise BuildError(f"{path}: a triangle mesh needs a mesh")
            mesh, scale = tables.meshes[int(shapes.mesh[row])], shapes.size[row]
            key = (id(mesh.points), tuple(scale.tolist()))
            if key not in self._index:
                try:
                    # A scale that mirrors turns the triangles inside out.
                    flip = bool(np.prod(np.sign(scale)) < 0.0)
                    cooked = cook_mesh(mesh.points * scale, mesh.triangles, flip=flip)
                except MeshError as error:
                    raise BuildError(f"{path}: its mesh cannot collide: {error}") from error
                self._index[key] = len(self.cooked)
                self.cooked.append(cooked)
            result[local] = self._index[key]
        return result
