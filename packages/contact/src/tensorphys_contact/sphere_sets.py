"""Sets of spheres that collide as one shape."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_sdf import FieldParameters, field_from_mesh

from .errors import MeshError, ShapeError

Float64Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class SphereSet:
    """Spheres in the frame of a shape; several shapes may share them.

    Attributes:
        spheres: Centre and radius of each [length], shape [count, 4].
        center: Centre of a bounding sphere and box [length], shape [3].
        radius: Radius of the bounding sphere [length].
        half: Half extents of the box [length], shape [3].
    """

    spheres: Float64Array
    center: Float64Array
    radius: float
    half: Float64Array


def cook_spheres(centers: npt.ArrayLike, radii: npt.ArrayLike) -> SphereSet:
    """Check spheres and bound them.

    Args:
        centers: Centres [length], shape [count, 3].
        radii: Radii [length], one for all or one each.

    Raises:
        ShapeError: no sphere, values that are not finite, or a radius that is not positive.
    """
    middle = np.asarray(centers, dtype=np.float64)
    if middle.ndim != 2 or middle.shape[1] != 3 or not len(middle):
        raise ShapeError(f"expected centres [count, 3] of at least one sphere, given {middle.shape}")
    size = np.asarray(radii, dtype=np.float64)
    if size.shape not in ((), (1,), (len(middle),)):
        raise ShapeError(f"expected one radius or {len(middle)}, given {size.shape}")
    size = np.broadcast_to(size, (len(middle),))
    if not np.isfinite(middle).all() or not np.isfinite(size).all() or (size <= 0.0).any():
        raise ShapeError("spheres need finite centres and positive radii")
    low, high = (middle - size[:, None]).min(axis=0), (middle + size[:, None]).max(axis=0)
    center = 0.5 * (low + high)
    return SphereSet(
        spheres=np.concatenate([middle, size[:, None]], axis=1),
        center=center,
        radius=float((np.linalg.norm(middle - center, axis=1) + size).max()),
        half=0.5 * (high - low),
    )


def fill_spheres(
    points: npt.ArrayLike,
    triangles: npt.ArrayLike,
    *,
    sphere_limit: int = 64,
    resolution: int = 32,
    device: Any = None,
) -> SphereSet:
    """Fill a closed mesh with spheres that touch its surface from within.

    The largest sphere about a point of a grid that no sphere covers yet is taken again and again.

    Args:
        points: Points [length], shape [count, 3].
        triangles: Corners of each triangle, shape [count, 3].
        sphere_limit: Largest number of spheres.
        resolution: Points of the grid along the longest side.
        device: Warp device that measures distances, default the current one.

    Raises:
        MeshError: a mesh that encloses no point of the grid.
        ShapeError: a limit or resolution that is not positive.
    """
    if sphere_limit < 1 or resolution < 2:
        raise ShapeError(
            f"filling needs a sphere and a grid, given sphere_limit {sphere_limit}, resolution {resolution}"
        )
    # The grid of the field only speeds queries; distances are asked of the surface itself.
    field = field_from_mesh(points, triangles, parameters=FieldParameters(resolution=8), device=device)
    assert field.surface is not None  # fields of meshes have one
    low, high = field.surface.lower, field.surface.upper
    step = float((high - low).max()) / resolution
    axes = [
        np.arange(a + 0.5 * step, b, step) if b - a > step else np.array([0.5 * (a + b)])
        for a, b in zip(low, high, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    depth = -np.asarray(field.distance(grid, mode="exact"), dtype=np.float64)
    grid, depth = grid[depth > 0.0], depth[depth > 0.0]
    if not len(grid):
        raise MeshError("the mesh encloses no point of the grid; give a higher resolution or a closed mesh")
    order = np.lexsort((np.arange(len(depth)), -depth))
    grid, depth = grid[order], depth[order]
    free = np.ones(len(grid), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < sphere_limit and free.any():
        index = int(np.argmax(free))
        chosen.append(index)
        free &= np.linalg.norm(grid - grid[index], axis=1) >= depth[index]
    return cook_spheres(grid[chosen], depth[chosen])
