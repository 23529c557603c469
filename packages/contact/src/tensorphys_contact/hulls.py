"""Cooking of convex hulls in float64 on the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import HullError

Float64Array = npt.NDArray[np.float64]
Int32Array = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True)
class Hull:
    """A convex polyhedron; every array in the frame of the input points.

    Attributes:
        vertices: Corner points [length], shape [vertex_count, 3].
        face_start: Offsets into ``face_vertex``, shape [face_count + 1].
        face_vertex: Corners of each polygonal face, counter-clockwise seen from
            outside; a face begins with its smallest vertex index.
        face_plane: Outward unit normal and offset of each face, shape
            [face_count, 4]; inside is ``normal · x <= offset``.
        edges: Vertex pairs, lower index first, lexicographically sorted, shape
            [edge_count, 2].
        center: Centre of a bounding sphere [length], shape [3].
        radius: Radius of that sphere [length].
    """

    vertices: Float64Array
    face_start: Int32Array
    face_vertex: Int32Array
    face_plane: Float64Array
    edges: Int32Array
    center: Float64Array
    radius: float

    @property
    def face_count(self) -> int:
        """Number of polygonal faces."""
        return len(self.face_start) - 1

    def face(self, index: int) -> Int32Array:
        """Return the vertex indices of one face."""
        return self.face_vertex[self.face_start[index] : self.face_start[index + 1]]


@dataclasses.dataclass(frozen=True)
class HullPool:
    """Vertices and faces of several hulls in a row; see :class:`~tensorphys_contact.Model`.

    Attributes:
        vertex_start, face_start: First vertex and face of each hull, one more at the end.
    """

    vertex: npt.NDArray[np.float32]
    vertex_start: Int32Array
    face_range: Int32Array
    face_normal: npt.NDArray[np.float32]
    face_vertex: Int32Array
    face_start: Int32Array


def pool_hulls(hulls: Sequence[Hull]) -> HullPool:
    """Put hulls behind each other."""
    corner_start = np.cumsum([0] + [len(h.face_vertex) for h in hulls])
    ranges = [np.zeros((0, 2), dtype=np.int64)]
    for hull, start in zip(hulls, corner_start[:-1], strict=True):
        ranges.append(np.stack([hull.face_start[:-1], hull.face_start[1:]], axis=1) + start)
    return HullPool(
        vertex=np.concatenate([np.zeros((0, 3))] + [h.vertices for h in hulls]).astype(np.float32),
        vertex_start=np.cumsum([0] + [len(h.vertices) for h in hulls]).astype(np.int32),
        face_range=np.concatenate(ranges).astype(np.int32),
        face_normal=np.concatenate([np.zeros((0, 3))] + [h.face_plane[:, :3] for h in hulls]).astype(
            np.float32
        ),
        face_vertex=np.concatenate([np.zeros(0, dtype=np.int32)] + [h.face_vertex for h in hulls]),
        face_start=np.cumsum([0] + [h.face_count for h in hulls]).astype(np.int32),
    )


def cook_hull(points: npt.ArrayLike, *, vertex_limit: int = 64) -> Hull:
    """Make the convex hull of points, with coplanar facets merged into polygons.

    More than ``vertex_limit`` corners are thinned by farthest-point selection, so
    that the result lies inside the full hull.

    Args:
        points: Points [length], shape [count, 3].
        vertex_limit: Largest number of corners, at least 4.

    Returns:
        The hull. The order of its vertices depends on the input alone.

    Raises:
        HullError: fewer than four points, values that are not finite, or points
            that lie in one plane to 1e-9 of their extent.
    """
    cloud = np.array(points, dtype=np.float64)
    if cloud.ndim != 2 or cloud.shape[1] != 3 or len(cloud) < 4:
        raise HullError(f"expected at least 4 points of shape (count, 3), given {cloud.shape}")
    if not np.isfinite(cloud).all():
        raise HullError(f"{int((~np.isfinite(cloud)).any(axis=1).sum())} points are not finite")
    if vertex_limit < 4:
        raise HullError(f"vertex_limit must be at least 4, given {vertex_limit}")
    middle = 0.5 * (cloud.min(axis=0) + cloud.max(axis=0))
    extent = float(np.ptp(cloud, axis=0).max())
    if extent <= 0.0:
        raise HullError("all points coincide; a hull needs a volume")
    scaled = (cloud - middle) / extent
    spread = np.linalg.svd(scaled - scaled.mean(axis=0), compute_uv=False)[2]
    if spread / np.sqrt(len(cloud)) < 1e-9:
        raise HullError("the points lie in one plane (or line); a hull needs a volume")
    qhull = _qhull(scaled)
    corners = np.sort(qhull.vertices)
    if len(corners) > vertex_limit:
        corners = np.sort(corners[_farthest_points(scaled[corners], vertex_limit)])
        scaled = scaled[corners]
        qhull = _qhull(scaled)
        corners = np.sort(qhull.vertices)
    faces, planes, corners = _merge_facets(scaled, qhull)
    rank = np.full(len(scaled), -1, dtype=np.int64)
    rank[corners] = np.arange(len(corners))
    vertices = scaled[corners] * extent + middle
    loops = [np.roll(loop, -int(np.argmin(loop))) for loop in (rank[f] for f in faces)]
    order = sorted(range(len(loops)), key=lambda k: tuple(loops[k]))
    loops = [loops[k] for k in order]
    planes = planes[order]
    planes[:, 3] = planes[:, 3] * extent + planes[:, :3] @ middle
    start = np.concatenate([[0], np.cumsum([len(loop) for loop in loops])])
    segments = np.concatenate([np.stack([loop, np.roll(loop, -1)], axis=1) for loop in loops])
    center = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    return Hull(
        vertices=vertices,
        face_start=start.astype(np.int32),
        face_vertex=np.concatenate(loops).astype(np.int32),
        face_plane=planes,
        edges=np.unique(np.sort(segments, axis=1), axis=0).astype(np.int32),
        center=center,
        radius=float(np.linalg.norm(vertices - center, axis=1).max()),
    )


def _qhull(points: Float64Array) -> Any:
    # only hulls need it: a scene without them runs where it is missing
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points)
    except QhullError as error:
        reason = str(error).strip().splitlines()[0]
        raise HullError(f"the points span no volume that can be cooked: {reason}") from error


def _farthest_points(points: Float64Array, count: int) -> npt.NDArray[np.int64]:
    """Pick points greedily, each the farthest from those already picked.

    The six extreme points of the axes come first, so that the bounding box stays.
    """
    chosen: list[int] = []
    for axis in range(3):
        for index in (int(points[:, axis].argmin()), int(points[:, axis].argmax())):
            if index not in chosen and len(chosen) < count:
                chosen.append(index)
    distance = np.full(len(points), np.inf)
    for index in chosen:
        distance = np.minimum(distance, np.linalg.norm(points - points[index], axis=1))
    while len(chosen) < count:
        index = int(distance.argmax())
        chosen.append(index)
        distance = np.minimum(distance, np.linalg.norm(points - points[index], axis=1))
    return np.array(sorted(chosen), dtype=np.int64)


def _merge_facets(
    points: Float64Array, qhull: Any
) -> tuple[list[npt.NDArray[np.int64]], Float64Array, npt.NDArray[np.int64]]:
    """Merge triangles whose planes agree to 1e-7 into convex polygons.

    A facet joins the group of a neighbour when its corners lie in the plane of the
    group's largest triangle, so long strips of slowly turning facets do not merge.
    """
    triangles, normals = _oriented_triangles(points, qhull)
    sides = np.stack(
        [
            points[triangles[:, 1]] - points[triangles[:, 0]],
            points[triangles[:, 2]] - points[triangles[:, 0]],
        ],
        axis=1,
    )
    area = 0.5 * np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    offsets = np.einsum("ij,ij->i", normals, points[triangles[:, 0]])
    group = np.full(len(triangles), -1, dtype=np.int64)
    seeds: list[int] = []
    for seed in np.argsort(-area, kind="stable"):
        if group[seed] >= 0:
            continue
        group[seed] = len(seeds)
        front = [int(seed)]
        while front:
            for neighbour in qhull.neighbors[front.pop()]:
                if group[neighbour] >= 0:
                    continue
                height = points[triangles[neighbour]] @ normals[seed] - offsets[seed]
                # A sliver's own normal is noise; its corners tell where it belongs.
                aligned = normals[neighbour] @ normals[seed] > 1.0 - 1e-9 or area[neighbour] < 1e-12
                if np.abs(height).max() < 1e-7 and aligned:
                    group[neighbour] = len(seeds)
                    front.append(int(neighbour))
        seeds.append(int(seed))
    faces = []
    planes = np.empty((len(seeds), 4))
    for index, seed in enumerate(seeds):
        loop = _boundary_loop(triangles[group == index])
        faces.append(loop)
        planes[index, :3] = normals[seed]
        planes[index, 3] = (points[loop] @ normals[seed]).max()
    # A corner inside a merged face or on a straight edge belongs to fewer than three
    # faces, and is no corner of the polyhedron.
    use = np.bincount(np.concatenate(faces), minlength=len(points))
    corners = np.flatnonzero(use >= 3)
    keep = use >= 3
    return [loop[keep[loop]] for loop in faces], planes, corners


def _oriented_triangles(points: Float64Array, qhull: Any) -> tuple[npt.NDArray[np.int64], Float64Array]:
    triangles = np.array(qhull.simplices, dtype=np.int64)
    outward = np.array(qhull.equations[:, :3], dtype=np.float64)
    cross = np.cross(
        points[triangles[:, 1]] - points[triangles[:, 0]],
        points[triangles[:, 2]] - points[triangles[:, 0]],
    )
    backward = np.einsum("ij,ij->i", cross, outward) < 0.0
    triangles[backward] = triangles[backward][:, ::-1]
    return triangles, outward


def _boundary_loop(triangles: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Chain the directed edges that only one triangle of the group has."""
    edges = {(int(t[k]), int(t[(k + 1) % 3])) for t in triangles for k in range(3)}
    following = {a: b for a, b in sorted(edges) if (b, a) not in edges}
    start = min(following)
    loop = [start]
    while (after := following[loop[-1]]) != start:
        loop.append(after)
        if len(loop) > len(following):
            raise HullError("the facets of a hull face do not close; the points are too irregular")
    return np.array(loop, dtype=np.int64)


MOST_CORNERS, MOST_FACES, MOST_SIDES = 128, 255, 16
"""What the narrow phase holds of a hull: faces, and corners of a face; and corners, of which each support looks at all."""

MOST_TRIANGLES = 4096
"""Triangles of a mesh that is looked at."""


def hull_of_mesh(vertices: Float64Array, triangles: Int32Array, neighbour: Int32Array) -> Hull | None:
    """The hull that a closed convex mesh is the surface of, or None for any other mesh.

    Args:
        vertices, triangles, neighbour: As of :class:`~tensorphys_contact.TriangleMesh`.

    Returns:
        None as well where the hull has more corners than the narrow phase holds.
    """
    if len(triangles) > MOST_TRIANGLES or len(vertices) < 4 or (neighbour < 0).any():
        return None
    middle = vertices.mean(axis=0)
    a, b, c = (vertices[triangles[:, k]] - middle for k in range(3))
    volume = float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0
    try:
        hull = cook_hull(vertices, vertex_limit=len(vertices))
    except HullError:
        return None
    sides = np.diff(hull.face_start)
    if len(hull.vertices) > MOST_CORNERS or hull.face_count > MOST_FACES or sides.max() > MOST_SIDES:
        return None
    # Two bodies in one mesh, or one around itself, have another volume than their hull.
    whole = 0.0
    for k in range(hull.face_count):
        corner = hull.vertices[hull.face(k)] - middle
        spans = np.cross(corner[1:-1] - corner[0], corner[2:] - corner[0])
        whole += float((spans @ corner[0]).sum()) / 6.0
    return hull if abs(whole - volume) <= 1e-6 * whole else None
