"""Cooking of triangle meshes and height fields in float64 on the host."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tensorphys_sdf import clean_mesh

from .errors import MeshError

Float64Array = npt.NDArray[np.float64]
Int32Array = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True)
class TriangleMesh:
    """A triangle surface; its front side (counter-clockwise) is outside.

    Attributes:
        vertices: Corner points [length], shape [vertex_count, 3].
        triangles: Corners of each triangle, shape [triangle_count, 3].
        fold: Angle by which the surface turns away at the edges 0-1, 1-2 and 2-0 of each
            triangle [rad], 0 where it is flat or hollow, a quarter turn at a border,
            shape [triangle_count, 3].
        neighbour: Triangle across each of these edges, −1 at a border and where more than two
            triangles meet, shape [triangle_count, 3].
        center: Centre of a bounding sphere [length], shape [3].
        radius: Radius of that sphere [length].
    """

    vertices: Float64Array
    triangles: Int32Array
    fold: Float64Array
    neighbour: Int32Array
    center: Float64Array
    radius: float


def cook_mesh(
    points: npt.ArrayLike, triangles: npt.ArrayLike, *, flip: bool = False, repair: bool = False
) -> TriangleMesh:
    """Clean a triangle mesh: equal points become one, triangles without area are dropped.

    Args:
        points: Points [length], with any scale already applied, shape [count, 3].
        triangles: Point indices, counter-clockwise from outside, shape [count, 3].
        flip: Turn all triangles round, as a mirroring scale needs.
        repair: Also drop repeated triangles, turn those that disagree with their neighbours, and turn closed parts
            outward, see :func:`tensorphys_sdf.clean_mesh`. A surface with a front and a back of its own, a floor say,
            is better left as it is.

    Raises:
        MeshError: wrong shapes, indices out of range, values that are not finite, or no
            triangle with an area.
    """
    cloud = np.array(points, dtype=np.float64)
    corners = np.array(triangles, dtype=np.int64)
    if cloud.ndim != 2 or cloud.shape[1] != 3 or corners.ndim != 2 or corners.shape[1] != 3:
        raise MeshError(f"expected points and triangles [count, 3], given {cloud.shape}, {corners.shape}")
    if not np.isfinite(cloud).all():
        raise MeshError(f"{int((~np.isfinite(cloud)).any(axis=1).sum())} points are not finite")
    if corners.size and (corners.min() < 0 or corners.max() >= len(cloud)):
        raise MeshError(f"triangles name points outside of 0..{len(cloud) - 1}")
    # Points that float32 cannot tell apart are one point.
    vertices, merged = np.unique(cloud.astype(np.float32), axis=0, return_inverse=True)
    corners = merged.reshape(-1)[corners]
    exact = vertices.astype(np.float64)
    sides = exact[corners[:, 1:]] - exact[corners[:, :1]]
    area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    length = (sides**2).sum(axis=2).max(axis=1, initial=0.0)
    corners = corners[area > 1e-7 * length]
    if not len(corners):
        raise MeshError("no triangle has an area")
    if repair:
        exact, corners, _report = clean_mesh(exact, corners, repair=True)
    used, corners = np.unique(corners, return_inverse=True)
    exact, corners = exact[used], corners.reshape(-1, 3)
    if flip:
        corners = corners[:, ::-1]
    fold, neighbour = _folds(exact, corners)
    center = 0.5 * (exact.min(axis=0) + exact.max(axis=0))
    return TriangleMesh(
        vertices=exact,
        triangles=corners.astype(np.int32),
        fold=fold,
        neighbour=neighbour,
        center=center,
        radius=float(np.linalg.norm(exact - center, axis=1).max()),
    )


def cook_height_field(heights: npt.ArrayLike, spacing: tuple[float, float]) -> TriangleMesh:
    """Triangles of a regular grid of heights; outside is +Z.

    Args:
        heights: Heights along Z [length], shape [rows along X, columns along Y].
        spacing: Distance of rows and of columns [length]; the first corner is the origin.

    Raises:
        MeshError: fewer than two rows or columns, or a spacing that is not positive.
    """
    grid = np.array(heights, dtype=np.float64)
    if grid.ndim != 2 or min(grid.shape) < 2:
        raise MeshError(f"a height field needs at least 2 rows and columns, given {grid.shape}")
    if not min(spacing) > 0.0:
        raise MeshError(f"the spacing of a height field must be positive, given {spacing}")
    rows, columns = grid.shape
    x, y = np.meshgrid(np.arange(rows) * spacing[0], np.arange(columns) * spacing[1], indexing="ij")
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    triangles = np.concatenate(
        [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)]
    )
    return cook_mesh(np.stack([x, y, grid], axis=-1).reshape(-1, 3), triangles)


def _folds(vertices: Float64Array, triangles: npt.NDArray[np.int64]) -> tuple[Float64Array, Int32Array]:
    """Folds and neighbours, see :class:`TriangleMesh`."""
    count = len(triangles)
    sides = vertices[triangles[:, 1:]] - vertices[triangles[:, :1]]
    normal = np.cross(sides[:, 0], sides[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    start = triangles.reshape(-1)
    end = triangles[:, [1, 2, 0]].reshape(-1)
    code = start.astype(np.int64) * len(vertices) + end
    back = end.astype(np.int64) * len(vertices) + start
    order = np.argsort(code, kind="stable")
    at = np.searchsorted(code[order], back)
    found = order[np.minimum(at, len(order) - 1)]
    joined = code[found] == back
    # An edge that several triangles run along in one direction has no single neighbour.
    _, inverse, uses = np.unique(code, return_inverse=True, return_counts=True)
    joined &= (uses[inverse.reshape(-1)] == 1) & (uses[inverse.reshape(-1)[found]] == 1)
    own, other = np.repeat(np.arange(count), 3), found // 3
    across = triangles[other, (found % 3 + 2) % 3]
    height = ((vertices[across] - vertices[start]) * normal[own]).sum(axis=1)
    cosine = np.clip((normal[own] * normal[other]).sum(axis=1), -1.0, 1.0)
    sine = np.linalg.norm(np.cross(normal[own], normal[other]), axis=1)
    turn = np.where(height < 0.0, np.arctan2(sine, cosine), 0.0)
    fold = np.where(joined, turn, 0.5 * np.pi).reshape(count, 3)
    return fold, np.where(joined, other, -1).astype(np.int32).reshape(count, 3)
