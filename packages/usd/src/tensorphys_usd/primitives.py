"""Geometry of primitive colliders after their transforms.

The scale rules are those of the `UsdPhysics` descriptors: the axis of a capsule, cylinder or cone scales its height,
the larger of the two scales across it its radius. A sphere is the one primitive that any transform leaves within the
types of shapes: it becomes an ellipsoid. A sheared box is the hull of its eight corners, and so are tapered capsules
and cylinders of points on their surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pxr import Sdf, Usd, UsdGeom

from tensorphys_scene import Mesh, ShapeType
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import Frame, axis_rotation
from tensorphys_usd.geometry_values import number_of, vectors_of
from tensorphys_usd.meshes import hull_of
from tensorphys_usd.report import Report

Array = npt.NDArray[np.float64]

# Turns a shape whose axis has a sign (cone, plane) where a mirroring transform points that axis the other way.
_FLIP_Z = np.diag([1.0, -1.0, -1.0])
# Relative difference above which two scales are two: authored ones are often float32.
_SAME_SCALE = 1e-6
# Points on the rings of a tapered shape; hulls keep 64 vertices by default.
_CYLINDER_RING = 32
_CAPSULE_RING = 10
_CAPSULE_RINGS = 3
ROUND = ("Capsule", "Capsule1", "Cylinder", "Cylinder1", "Cone")
_ROUND_TYPES = {"Ca": ShapeType.CAPSULE, "Cy": ShapeType.CYLINDER, "Co": ShapeType.CONE}


@dataclass(frozen=True, slots=True)
class Geometry:
    """One shape.

    Attributes:
        kind: Its type.
        rotation, translation: Its frame in that of the body, or in the world.
        size: Its size, by type.
        mesh: Its mesh, None where the type needs none.
    """

    kind: ShapeType
    rotation: Array
    translation: Array
    size: tuple[float, float, float]
    mesh: Mesh | None = None


def box(path: Sdf.Path, prim: Usd.Prim, local: Frame) -> Geometry:
    """A cube; under shear the hull of its corners."""
    half = 0.5 * positive(path, "size", number_of(prim, "size"))
    if not local.sheared:
        return Geometry(ShapeType.BOX, local.rotation, local.translation, triple(half * np.abs(local.scale)))
    signs = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    return hull(path, local.rotation, local.translation, half * signs @ local.stretch)


def ball(local: Frame, center: Array, radius: float) -> Geometry:
    """A sphere about a point of the prim; an ellipsoid where its transform is not uniform."""
    translation = local.translation + local.linear @ center
    if not local.sheared:
        scale = np.abs(local.scale)
        if np.ptp(scale) <= _SAME_SCALE * scale.max():
            return Geometry(
                ShapeType.SPHERE, local.rotation, translation, (radius * float(scale.max()), 0.0, 0.0)
            )
        return Geometry(ShapeType.ELLIPSOID, local.rotation, translation, triple(radius * scale))
    # The image of the unit ball under R P has the eigenvectors of P, turned by R, as axes.
    values, vectors = np.linalg.eigh(local.stretch)
    if np.linalg.det(vectors) < 0.0:
        vectors[:, 0] *= -1.0
    return Geometry(
        ShapeType.ELLIPSOID, local.rotation @ vectors, translation, triple(radius * np.abs(values))
    )


def balls(report: Report, path: Sdf.Path, prim: Usd.Prim, local: Frame) -> list[Geometry]:
    """Spheres of a `Points` prim; widths are diameters, one for all or one for each.

    Raises:
        StageError: If a point or a width is no number or a width is not positive.
    """
    centers = vectors_of(prim, "points")
    primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar("widths")
    flattened = primvar.ComputeFlattened() if primvar and primvar.HasValue() else None
    widths = vectors_of(prim, "widths", 1)[:, 0] if flattened is None else np.array(flattened, np.float64)
    if not len(centers) or len(widths) not in (1, len(centers)):
        report.add(
            path,
            f"collider of {len(centers)} points with {len(widths)} widths is left out: expected one for each",
        )
        return []
    radii = 0.5 * np.broadcast_to(widths, len(centers))
    return [
        ball(local, center, positive(path, "width", 2.0 * radius) / 2.0)
        for center, radius in zip(centers, radii, strict=True)
    ]


def plane(report: Report, path: Sdf.Path, prim: Usd.Prim, axis: str, local: Frame) -> Geometry:
    """An infinite plane."""
    if prim.GetAttribute("width").HasAuthoredValue() or prim.GetAttribute("length").HasAuthoredValue():
        report.correct(path, "Plane collides as an infinite plane: its width and length do not bound it")
    rotation = _axis_rotation(local, axis)
    return Geometry(ShapeType.PLANE, rotation, local.translation, (0.0, 0.0, 0.0))


def round_shape(
    report: Report, path: Sdf.Path, prim: Usd.Prim, kind: str, axis: str, local: Frame
) -> Geometry:
    """A capsule, cylinder or cone along one of the prim's axes.

    Raises:
        StageError: If a radius or the height cannot be.
    """
    index = "XYZ".index(axis)
    scale = np.abs(local.scale).tolist()
    across = scale[:index] + scale[index + 1 :]
    factor = max(across)
    if local.sheared:
        report.correct(path, f"{kind} under a shearing transform: the shear is ignored")
    if factor - min(across) > _SAME_SCALE * factor:
        report.correct(
            path,
            f"{kind} under the scales {across[0]:.6g} and {across[1]:.6g} across its axis: the larger one is used",
        )
    height = number_of(prim, "height")
    height = (
        _not_negative(path, "height", height) if kind.startswith("Ca") else positive(path, "height", height)
    )
    half = 0.5 * height * scale[index]
    rotation = _axis_rotation(local, axis)
    if kind.endswith("1"):
        top, bottom = (
            _not_negative(path, name, number_of(prim, name)) * factor
            for name in ("radiusTop", "radiusBottom")
        )
        if top != bottom:
            return _tapered(report, path, kind, rotation, local.translation, (top, bottom, half))
        radius = positive(path, "radiusTop", top)
    else:
        radius = positive(path, "radius", number_of(prim, "radius")) * factor
    return Geometry(_ROUND_TYPES[kind[:2]], rotation, local.translation, (radius, half, 0.0))


def _tapered(
    report: Report,
    path: Sdf.Path,
    kind: str,
    rotation: Array,
    translation: Array,
    size: tuple[float, float, float],
) -> Geometry:
    top, bottom, half = size
    if kind == "Cylinder1" and 0.0 in (top, bottom):
        turned = rotation if top == 0.0 else rotation @ _FLIP_Z
        return Geometry(ShapeType.CONE, turned, translation, (max(top, bottom), half, 0.0))
    if kind == "Cylinder1":
        points = np.concatenate(
            (_ring(top, half, _CYLINDER_RING, 0.0), _ring(bottom, -half, _CYLINDER_RING, 0.0))
        )
    else:
        points = np.concatenate((_dome(top, half, 1.0), _dome(bottom, -half, -1.0)))
    report.correct(
        path,
        f"{kind} with the radii {top:.6g} and {bottom:.6g}: the hull of {len(points)} points of its surface is used",
    )
    return hull(path, rotation, translation, points)


def _ring(radius: float, height: float, count: int, turn: float) -> Array:
    angle = 2.0 * np.pi * (np.arange(count) + turn) / count
    return np.stack((radius * np.cos(angle), radius * np.sin(angle), np.full(count, height)), axis=1)


def _dome(radius: float, height: float, sign: float) -> Array:
    """Points on half of a sphere at one end of the axis, its pole among them."""
    rings = [np.array([[0.0, 0.0, height + sign * radius]])]
    for ring in range(_CAPSULE_RINGS):
        angle = 0.5 * np.pi * ring / _CAPSULE_RINGS
        rings.append(
            _ring(
                radius * np.cos(angle),
                height + sign * radius * np.sin(angle),
                _CAPSULE_RING,
                0.5 * (ring % 2),
            )
        )
    return np.concatenate(rings)


def hull(path: Sdf.Path, rotation: Array, translation: Array, points: Array) -> Geometry:
    """The hull of points in a frame.

    Raises:
        StageError: If they span no volume.
    """
    mesh = hull_of(points)
    if mesh is None:
        raise StageError(f"{path}: its surface spans no volume")
    return Geometry(ShapeType.CONVEX_HULL, rotation, translation, (1.0, 1.0, 1.0), mesh)


def _axis_rotation(local: Frame, axis: str) -> Array:
    """Rotation whose +Z is the named axis of the prim as it points after the transform."""
    rotation = local.rotation if axis == "Z" else local.rotation @ axis_rotation(axis)
    return rotation @ _FLIP_Z if local.scale["XYZ".index(axis)] < 0.0 else rotation


def positive(path: Sdf.Path, name: str, number: float) -> float:
    """A finite positive number.

    Raises:
        StageError: If it is not.
    """
    if not 0.0 < number < float("inf"):
        raise StageError(f"{path}: {name} is {number}, expected a finite positive number")
    return number


def _not_negative(path: Sdf.Path, name: str, number: float) -> float:
    if not 0.0 <= number < float("inf"):
        raise StageError(f"{path}: {name} is {number}, expected a finite number that is not negative")
    return number


def triple(values: Array) -> tuple[float, float, float]:
    """Three numbers as a tuple."""
    return float(values[0]), float(values[1]), float(values[2])
