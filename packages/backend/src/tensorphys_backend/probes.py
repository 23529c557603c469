"""Shapes of the stage that ask what they overlap and are no colliders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pxr import Gf, Usd, UsdGeom

from tensorphys_backend.errors import QueryError
from tensorphys_backend.poses import rigid_pose
from tensorphys_contact import MeshError, ShapeType, TriangleMesh, cook_mesh

__all__ = ["mesh_of_prim", "probe_of_prim"]

_HALF_TURN = math.sqrt(0.5)
# Quaternions w, x, y, z that turn +Z, along which round shapes stand, into an axis of the prim.
_TURNS = {
    "X": Gf.Quatd(_HALF_TURN, 0.0, _HALF_TURN, 0.0),
    "Y": Gf.Quatd(_HALF_TURN, -_HALF_TURN, 0.0, 0.0),
    "Z": Gf.Quatd(1.0, 0.0, 0.0, 0.0),
}
_TOLERANCE = 1.0e-4


def probe_of_prim(prim: Usd.Prim, transform: Gf.Matrix4d) -> tuple[ShapeType, list[float], Any]:
    """Query shape of a cube, sphere, cylinder, capsule or cone.

    Args:
        prim: The prim.
        transform: Its world transform as it is now, with scale.

    Returns:
        Type, size [m] and pose ``x y z qx qy qz qw``, see :class:`tensorphys_contact.ShapeType`.

    Raises:
        QueryError: It is none of these, or is sheared or scaled to what is no such shape.
    """
    path, pose = prim.GetPath(), rigid_pose(transform)
    scale = _scale(path, transform)
    if prim.IsA(UsdGeom.Cube):
        half = 0.5 * float(UsdGeom.Cube(prim).GetSizeAttr().Get())
        return ShapeType.BOX, [half * s for s in scale], pose
    if prim.IsA(UsdGeom.Sphere):
        radius = float(UsdGeom.Sphere(prim).GetRadiusAttr().Get())
        axes = [radius * s for s in scale]
        if max(axes) - min(axes) <= _TOLERANCE * max(axes):
            return ShapeType.SPHERE, [axes[0], 0.0, 0.0], pose
        return ShapeType.ELLIPSOID, axes, pose
    for schema, kind in (
        (UsdGeom.Cylinder, ShapeType.CYLINDER),
        (UsdGeom.Capsule, ShapeType.CAPSULE),
        (UsdGeom.Cone, ShapeType.CONE),
    ):
        if prim.IsA(schema):
            return _round(schema(prim), kind, scale, pose)
    raise QueryError(
        f"{path}: overlaps are asked by colliders and by meshes, cubes, spheres, cylinders, capsules and cones; "
        f"the prim is a {prim.GetTypeName() or 'prim without a type'}"
    )


def mesh_of_prim(prim: Usd.Prim, transform: Gf.Matrix4d) -> tuple[TriangleMesh, Any]:
    """Triangles of a mesh as it is authored, without subdivision, and where they stand.

    Args:
        prim: The mesh.
        transform: Its world transform as it is now, with scale.

    Returns:
        The mesh with its scale, and its pose ``x y z qx qy qz qw``.

    Raises:
        QueryError: It is no mesh, has no triangles, or its arrays do not fit each other.
    """
    mesh = UsdGeom.Mesh(prim)
    points, counts, corners = (attribute.Get() for attribute in (mesh.GetPointsAttr(), *_faces(mesh)))
    if not points or not counts or not corners:
        raise QueryError(f"{prim.GetPath()}: the mesh has no faces")
    sizes, order = np.asarray(counts, np.int64), np.asarray(corners, np.int64)
    if sizes.min() < 3 or sizes.sum() != len(order):
        raise QueryError(f"{prim.GetPath()}: its face counts and indices do not fit each other")
    front = np.array(transform * transform.RemoveScaleShear().GetInverse())[:3, :3]
    try:
        cooked = cook_mesh(np.asarray(points, float) @ front, _fans(sizes, order))
    except MeshError as error:
        raise QueryError(f"{prim.GetPath()}: {error}") from error
    return cooked, rigid_pose(transform)


def _faces(mesh: UsdGeom.Mesh) -> tuple[Usd.Attribute, Usd.Attribute]:
    return mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()


def _fans(sizes: Any, order: Any) -> Any:
    """Triangles of polygons, each a fan about its first corner."""
    start = np.cumsum(sizes) - sizes
    fans = np.repeat(start, sizes - 2)
    step = np.arange(len(fans)) - np.repeat(np.cumsum(sizes - 2) - (sizes - 2), sizes - 2)
    return order[np.stack([fans, fans + step + 1, fans + step + 2], axis=1)]


def _round(shape: Any, kind: ShapeType, scale: list[float], pose: Any) -> tuple[ShapeType, list[float], Any]:
    axis = str(shape.GetAxisAttr().Get())
    along = "XYZ".index(axis)
    across = [scale[i] for i in range(3) if i != along]
    unequal = abs(across[0] - across[1]) > _TOLERANCE * max(across)
    if unequal or (kind == ShapeType.CAPSULE and abs(scale[along] - across[0]) > _TOLERANCE * across[0]):
        raise QueryError(f"{shape.GetPath()}: scale {scale} makes no {kind.name} of it")
    radius, height = float(shape.GetRadiusAttr().Get()), float(shape.GetHeightAttr().Get())
    turn = Gf.Quatd(pose[6], pose[3], pose[4], pose[5]) * _TURNS[axis]
    placed = np.array([*pose[:3], *turn.GetImaginary(), turn.GetReal()])
    return kind, [radius * across[0], 0.5 * height * scale[along], 0.0], placed


def _scale(path: Any, transform: Gf.Matrix4d) -> list[float]:
    """Scale along the axes of the prim."""
    front = np.array(transform * transform.RemoveScaleShear().GetInverse())[:3, :3]
    scale = [float(value) for value in np.abs(np.diag(front))]
    if np.abs(front - np.diag(np.diag(front))).max() > _TOLERANCE * max(scale) or min(scale) <= 0.0:
        raise QueryError(f"{path}: it is sheared, or flat")
    return scale
