"""Shapes that collide by a signed distance field."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy.typing as npt

from tensorphys_sdf import FieldCache, FieldParameters, SignedDistanceField, field_from_mesh

from .errors import MeshError
from .meshes import TriangleMesh, cook_mesh


@dataclasses.dataclass(frozen=True)
class SdfGeometry:
    """A closed surface with its signed distance field; several shapes may share it.

    Attributes:
        field: Distances, on the device of the model, in the frame of the shape.
        mesh: The surface; points of it are sampled, and rays hit it.
        cell: Edge length of the finest cells of the field [length].
    """

    field: SignedDistanceField
    mesh: TriangleMesh
    cell: float


def cook_sdf(
    points: npt.ArrayLike,
    triangles: npt.ArrayLike,
    *,
    parameters: FieldParameters | None = None,
    cache: FieldCache | None = None,
    device: Any = None,
) -> SdfGeometry:
    """Make the signed distance field of a triangle mesh.

    Args:
        points: Points [length], shape [count, 3].
        triangles: Corners of each triangle, shape [count, 3].
        parameters: Resolution and storage, see :class:`tensorphys_sdf.FieldParameters`.
        cache: Where fields are kept.
        device: Warp device; that of the model.

    Raises:
        tensorphys_sdf.MeshError: the arrays are no mesh.
        MeshError: no triangle has an area.
    """
    chosen = FieldParameters() if parameters is None else parameters
    return sdf_of_field(field_from_mesh(points, triangles, parameters=chosen, cache=cache, device=device))


def sdf_of_field(field: SignedDistanceField) -> SdfGeometry:
    """Use a field that is there already.

    Raises:
        MeshError: a field of values alone, which has no surface to take points from.
    """
    if field.surface is None:
        raise MeshError("a signed distance field collides only with a surface, which this one does not have")
    return SdfGeometry(
        field=field,
        mesh=cook_mesh(field.surface.vertices, field.surface.triangles),
        cell=float(field.grid.layout.fine_cell.max()),
    )
