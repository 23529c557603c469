"""Checks of the columns of shapes, and what follows from them: bounds, frames, materials of each shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ContactError, HullError, ShapeError
from .hulls import Hull
from .meshes import TriangleMesh
from .model import Materials
from .sdf_shapes import SdfGeometry
from .shapes import MESH_SHAPES, ShapeType
from .sphere_sets import SphereSet

SCALED_SHAPES = (ShapeType.SDF, ShapeType.SPHERES)
"""Shapes whose size is a scale."""

FloatArray = npt.NDArray[np.floating[Any]]


def numbers_of(
    name: str,
    kind: npt.NDArray[np.int32],
    given: npt.ArrayLike | None,
    available: int,
    codes: Sequence[ShapeType],
    error: type[ContactError],
) -> npt.NDArray[np.int64]:
    """Check which geometry each shape of some types has; −1 for shapes of other types.

    Raises:
        ContactError: of the given class, for the first shape without its geometry.
    """
    count = len(kind)
    index = vector_of(name, np.full(count, -1) if given is None else given, count, np.int64)
    needed = np.isin(kind, codes)
    bad = needed & ((index < 0) | (index >= available))
    if bad.any():
        shape = int(np.argmax(bad))
        what = ShapeType(int(kind[shape])).name
        raise error(f"shape {shape} ({what}) has {name} {index[shape]} of {available}")
    return np.where(needed, index, -1)


def vector_of(name: str, data: npt.ArrayLike, count: int, dtype: Any) -> npt.NDArray[Any]:
    array = np.asarray(data, dtype=dtype)
    if array.shape != (count,):
        raise ShapeError(f"{name}: expected shape ({count},), given {array.shape}")
    return array


def rows_of(name: str, data: npt.ArrayLike, count: int, width: int) -> npt.NDArray[np.float64]:
    array = np.asarray(data, dtype=np.float64)
    if array.shape != (count, width):
        raise ShapeError(f"{name}: expected shape ({count}, {width}), given {array.shape}")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise ShapeError(f"{name}: shape {int(np.argmax(bad))} has values that are not finite")
    return array


def offsets_of(name: str, data: npt.ArrayLike, count: int) -> npt.NDArray[np.float32]:
    array = vector_of(name, data, count, np.float32)
    if not np.isfinite(array).all():
        raise ShapeError(f"{name}: shape {int(np.argmin(np.isfinite(array)))} is not finite")
    return array


def normalised_poses(pose: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    length = np.linalg.norm(pose[:, 3:], axis=1)
    off = np.abs(length - 1.0) > 1e-3
    if off.any():
        index = int(np.argmax(off))
        raise ShapeError(f"shape_pose: shape {index} has a quaternion of length {length[index]:g}")
    return np.concatenate([pose[:, :3], pose[:, 3:] / length[:, None]], axis=1)


def check_sizes(kind: npt.NDArray[np.int32], size: npt.NDArray[np.float64]) -> None:
    bad = (
        ((kind == ShapeType.SPHERE) & (size[:, 0] <= 0.0))
        | ((kind == ShapeType.CAPSULE) & ((size[:, 0] <= 0.0) | (size[:, 1] < 0.0)))
        | ((kind == ShapeType.BOX) & (size <= 0.0).any(axis=1))
        | (np.isin(kind, (ShapeType.CYLINDER, ShapeType.CONE)) & (size[:, :2] <= 0.0).any(axis=1))
        | ((kind == ShapeType.ELLIPSOID) & (size <= 0.0).any(axis=1))
        | (np.isin(kind, SCALED_SHAPES) & (size <= 0.0).any(axis=1))
    )
    if bad.any():
        index = int(np.argmax(bad))
        name = ShapeType(int(kind[index])).name
        raise ShapeError(f"shape {index} ({name}) has the impossible size {size[index].tolist()}")
    uneven = np.isin(kind, SCALED_SHAPES) & (np.ptp(size, axis=1) > 1e-6 * np.abs(size).max(axis=1))
    if uneven.any():
        index = int(np.argmax(uneven))
        what = "distances to it" if kind[index] == ShapeType.SDF else "its spheres"
        raise ShapeError(
            f"shape {index} ({ShapeType(int(kind[index])).name}) has the scale {size[index].tolist()}; {what} cannot be "
            "scaled unevenly: scale the points before they are cooked"
        )


def bounds_of(
    kind: npt.NDArray[np.int32],
    size: npt.NDArray[np.float64],
    hull_index: npt.NDArray[np.int64],
    hulls: Sequence[Hull],
) -> tuple[FloatArray, FloatArray]:
    """Bounding spheres of all shapes."""
    count = len(kind)
    center = np.zeros((count, 3))
    radius = np.zeros(count)
    is_capsule = kind == ShapeType.CAPSULE
    is_box = kind == ShapeType.BOX
    is_cylinder = np.isin(kind, (ShapeType.CYLINDER, ShapeType.CONE))
    is_ellipsoid = kind == ShapeType.ELLIPSOID
    is_hull = kind == ShapeType.CONVEX_HULL
    radius[kind == ShapeType.SPHERE] = size[kind == ShapeType.SPHERE, 0]
    radius[is_capsule] = size[is_capsule, 0] + size[is_capsule, 1]
    radius[is_cylinder] = np.hypot(size[is_cylinder, 0], size[is_cylinder, 1])
    radius[is_ellipsoid] = size[is_ellipsoid].max(axis=1)
    radius[is_box] = np.linalg.norm(size[is_box], axis=1)
    bad = is_hull & ((hull_index < 0) | (hull_index >= len(hulls)))
    if bad.any():
        index = int(np.argmax(bad))
        raise HullError(
            f"shape {index} is a convex hull with shape_hull {hull_index[index]} of {len(hulls)} hulls"
        )
    if is_hull.any():
        chosen = hull_index[is_hull]
        center[is_hull] = np.stack([h.center for h in hulls])[chosen]
        radius[is_hull] = np.array([h.radius for h in hulls])[chosen]
    return center, radius


def half_extents(
    kind: npt.NDArray[np.int32],
    size: npt.NDArray[np.float64],
    hull_index: npt.NDArray[np.int64],
    hulls: Sequence[Hull],
    mesh_index: npt.NDArray[np.int64],
    meshes: Sequence[TriangleMesh],
) -> npt.NDArray[np.float64]:
    """Half extents of the box about each shape in its frame, centred on its bounding sphere."""
    half = size.copy()
    half[kind == ShapeType.SPHERE] = size[kind == ShapeType.SPHERE, :1]
    for round_kind in (ShapeType.CAPSULE, ShapeType.CYLINDER, ShapeType.CONE):
        chosen = kind == round_kind
        half[chosen] = size[chosen][:, [0, 0, 1]]
        if round_kind == ShapeType.CAPSULE:
            half[chosen, 2] += size[chosen, 0]
    for index, cooked, code in (
        (hull_index, hulls, (ShapeType.CONVEX_HULL,)),
        (mesh_index, meshes, (*MESH_SHAPES, ShapeType.SDF)),
    ):
        chosen = np.isin(kind, code)
        if chosen.any():
            half[chosen] = np.array([0.5 * np.ptp(c.vertices, axis=0) for c in cooked])[index[chosen]]
    return half


def bound_spheres(
    index: npt.NDArray[np.int64],
    sets: Sequence[SphereSet],
    size: npt.NDArray[np.float64],
    center: FloatArray,
    radius: FloatArray,
    half: FloatArray,
) -> None:
    """Fill in the bounds of sets of spheres."""
    for shape in np.flatnonzero(index >= 0):
        chosen, scale = sets[index[shape]], size[shape, 0]
        center[shape], radius[shape], half[shape] = (
            chosen.center * scale,
            chosen.radius * scale,
            chosen.half * scale,
        )


def pooled_spheres(
    index: npt.NDArray[np.int64], sets: Sequence[SphereSet], size: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Scaled spheres of all sets in a row, each set once for each scale, and the range of each shape."""
    ranges = np.zeros((len(index), 2), dtype=np.int32)
    blocks = [np.zeros((0, 4))]
    known: dict[tuple[int, float], tuple[int, int]] = {}
    total = 0
    for shape in np.flatnonzero(index >= 0):
        key = int(index[shape]), float(size[shape, 0])
        if key not in known:
            block = sets[key[0]].spheres * key[1]
            known[key] = total, total + len(block)
            blocks.append(block)
            total += len(block)
        ranges[shape] = known[key]
    return np.concatenate(blocks), ranges


def scaled_surfaces(
    index: npt.NDArray[np.int64], sdfs: Sequence[SdfGeometry], size: npt.NDArray[np.float64], first: int
) -> tuple[npt.NDArray[np.int64], list[TriangleMesh]]:
    """Surfaces of signed distance fields, once for each scale, and the number of each shape's, from ``first`` on."""
    numbers = np.full(len(index), -1, dtype=np.int64)
    known: dict[tuple[int, float], int] = {}
    surfaces: list[TriangleMesh] = []
    for shape in np.flatnonzero(index >= 0):
        key = int(index[shape]), float(size[shape, 0])
        if key not in known:
            known[key] = first + len(surfaces)
            mesh = sdfs[key[0]].mesh
            surfaces.append(
                dataclasses.replace(
                    mesh,
                    vertices=mesh.vertices * key[1],
                    center=mesh.center * key[1],
                    radius=mesh.radius * key[1],
                )
            )
        numbers[shape] = known[key]
    return numbers, surfaces


def hull_ranges(
    hull_index: npt.NDArray[np.int64], kind: npt.NDArray[np.int32], start: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Range of the hull of each shape in a pool, or of a convex mesh; empty for other shapes."""
    ranges = np.zeros((len(kind), 2), dtype=np.int32)
    is_hull = np.isin(kind, (ShapeType.CONVEX_HULL, ShapeType.TRIANGLE_MESH)) & (hull_index >= 0)
    ranges[is_hull, 0] = start[hull_index[is_hull]]
    ranges[is_hull, 1] = start[hull_index[is_hull] + 1]
    return ranges


def local_poses(
    kind: npt.NDArray[np.int32],
    pose: npt.NDArray[np.float64],
    environment: npt.NDArray[np.int32],
    environment_count: int,
    origin: npt.ArrayLike | None,
) -> npt.NDArray[np.float64]:
    """Append the shared shapes as each environment sees them.

    A plane is moved along itself to the point nearest to the environment origin, so
    that its distance is exact however far the environment lies from the world origin.
    """
    shared = np.flatnonzero(environment < 0)
    offset = np.zeros((environment_count, 3)) if origin is None else np.asarray(origin, dtype=np.float64)
    if offset.shape != (environment_count, 3):
        raise ShapeError(f"environment_origin: expected ({environment_count}, 3), given {offset.shape}")
    copies = np.repeat(pose[shared][None], environment_count, axis=0)
    copies[..., :3] -= offset[:, None]
    planes = np.flatnonzero(kind[shared] == ShapeType.PLANE)
    if len(planes):
        x, y, z, w = np.moveaxis(copies[:, planes, 3:], -1, 0)
        normal = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], -1)
        distance = (copies[:, planes, :3] * normal).sum(axis=-1, keepdims=True)
        copies[:, planes, :3] = normal * distance
    return np.concatenate([pose, copies.reshape(-1, 7)])


def material_rows(
    materials: Materials, material: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[np.float32]]:
    columns = {
        field.name: np.asarray(getattr(materials, field.name), dtype=np.float32)
        for field in dataclasses.fields(Materials)
    }
    count = columns["static_friction"].size
    for name, column in columns.items():
        if column.shape not in ((count,), ()):
            raise ShapeError("materials: all fields need one value for each material")
        columns[name] = np.broadcast_to(column, (count,))
    if material.size and (material.min() < 0 or material.max() >= count):
        raise ShapeError(f"shape_material must lie in 0..{count - 1}")
    table = np.stack(list(columns.values()))
    if not np.isfinite(table).all():
        raise ShapeError("materials: values that are not finite")
    modes = np.stack([column for name, column in columns.items() if name.endswith("_combine")])
    if not np.isin(modes, np.arange(4)).all():
        raise ShapeError("materials: combine modes must be 0 average, 1 min, 2 multiply or 3 max")
    springs = ("stiffness", "damping", "patch_radius", "least_patch_radius", "torsional_friction")
    if any((columns[name] < 0.0).any() for name in springs):
        raise ShapeError(f"materials: {', '.join(springs)} must not be negative")
    return {name: column[material] for name, column in columns.items()}
