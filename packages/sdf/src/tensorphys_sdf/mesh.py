"""Triangle meshes as they come, and what is done to them before a field is made of them.

Faces without area and repeated faces are dropped, faces that disagree with their neighbours are turned, and
parts that are inside out are turned as a whole. The geometry of what stays is never changed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tensorphys_sdf.errors import MeshError

Array = np.ndarray[Any, Any]

_OPEN_VOLUME = 0.01  # of area^1.5: an open part is turned only when it clearly encloses a negative volume
_OPEN_CLOSURE = 0.3  # |sum of area vectors| / area above which an open part encloses nothing


@dataclasses.dataclass(frozen=True)
class MeshReport:
    """What was found in a mesh and done to it.

    Attributes:
        triangle_count: Faces given.
        degenerate_count: Faces dropped because they have no area.
        duplicate_count: Faces dropped because another has the same corners.
        turned_count: Faces turned to agree with their neighbours or to face outwards.
        boundary_edge_count: Edges that the faces run through more often in one direction than in the other.
        part_count: Parts connected through edges that two faces share.
        orientable: False when some part has no consistent orientation.
    """

    triangle_count: int
    degenerate_count: int
    duplicate_count: int
    turned_count: int
    boundary_edge_count: int
    part_count: int
    orientable: bool

    @property
    def closed(self) -> bool:
        """Whether the faces have no boundary: the winding number is a whole number everywhere."""
        return self.boundary_edge_count == 0


def read_mesh(vertices: Any, triangles: Any) -> tuple[Array, Array]:
    """Check a mesh and bring it to float64 ``(V, 3)`` and int64 ``(F, 3)``.

    Raises:
        MeshError: A shape is wrong, a coordinate is not finite, or an index points to no vertex.
    """
    v = np.ascontiguousarray(vertices, dtype=np.float64)
    f = np.asarray(triangles)
    if f.ndim == 1 and f.size % 3 == 0:
        f = f.reshape(-1, 3)
    if v.ndim != 2 or v.shape[1] != 3:
        raise MeshError(f"vertices: expected shape (count, 3), got {v.shape}")
    if f.ndim != 2 or f.shape[1] != 3:
        raise MeshError(f"triangles: expected shape (count, 3), got {f.shape}")
    if f.dtype.kind not in "iu":
        raise MeshError(f"triangles: expected integers, got {f.dtype}")
    if len(f) == 0:
        raise MeshError("triangles: the mesh has none")
    if not np.isfinite(v).all():
        raise MeshError(f"vertices: row {int(np.flatnonzero(~np.isfinite(v).all(axis=1))[0])} is not finite")
    f = np.ascontiguousarray(f, dtype=np.int64)
    if f.min() < 0 or f.max() >= len(v):
        raise MeshError(f"triangles: indices run from {f.min()} to {f.max()}, there are {len(v)} vertices")
    return v, f


def clean_mesh(vertices: Any, triangles: Any, *, repair: bool = True) -> tuple[Array, Array, MeshReport]:
    """Merge equal vertices, drop faces without area and repeated faces, and make the orientation consistent.

    Args:
        vertices: Positions, shape ``(V, 3)``.
        triangles: Corners of the faces, shape ``(F, 3)``, counter-clockwise seen from outside.
        repair: Drop repeated faces and turn faces; without it only faces that have no area are dropped.

    Returns:
        Vertices float64 ``(V', 3)``, triangles int64 ``(F', 3)``, and the report.

    Raises:
        MeshError: The arrays are no mesh, or no face has an area.
    """
    v, f = read_mesh(vertices, triangles)
    given = len(f)
    v, inverse = np.unique(v + 0.0, axis=0, return_inverse=True)
    f = inverse.reshape(-1)[f]
    area = _area_vectors(v, f)
    length = np.max(np.linalg.norm(v[f] - v[np.roll(f, 1, axis=1)], axis=2), axis=1)
    keep = np.linalg.norm(area, axis=1) > 1e-12 * length**2
    f = f[keep]
    if len(f) == 0:
        raise MeshError("triangles: no face has an area")
    degenerate, duplicates, turned, parts, orientable = given - len(f), 0, 0, 0, True
    if repair:
        _, first = np.unique(np.sort(f, axis=1), axis=0, return_index=True)
        duplicates = len(f) - len(first)
        f = f[np.sort(first)]
        f, turned, parts, orientable = _orient(v, f)
    return v, f, MeshReport(given, degenerate, duplicates, turned, _boundary_count(f), parts, orientable)


def _area_vectors(v: Array, f: Array) -> Array:
    a, b, c = v[f[:, 0]], v[f[:, 1]], v[f[:, 2]]
    result: Array = 0.5 * np.cross(b - a, c - a)
    return result


def _edges(f: Array) -> tuple[Array, Array, Array]:
    """Edge number, direction (+1 or -1) and face of the 3 F half-edges."""
    start, end = f.reshape(-1), np.roll(f, -1, axis=1).reshape(-1)
    key = np.minimum(start, end) * (f.max() + 1) + np.maximum(start, end)
    _, edge = np.unique(key, return_inverse=True)
    return edge.reshape(-1), np.where(start < end, 1, -1), np.repeat(np.arange(len(f)), 3)


def _boundary_count(f: Array) -> int:
    edge, direction, _ = _edges(f)
    return int(np.count_nonzero(np.bincount(edge, weights=direction)))


def _components(count: int, a: Array, b: Array, differ: Array) -> tuple[Array, Array]:
    """Root of each of ``count`` items joined by pairs, and its parity with respect to its root."""
    root, parity = np.arange(count), np.zeros(count, dtype=bool)
    while True:
        ra, rb = root[a], root[b]
        open_pairs = np.flatnonzero(ra != rb)
        if len(open_pairs) == 0:
            return root, parity
        i, j = a[open_pairs], b[open_pairs]
        odd = parity[i] ^ parity[j] ^ differ[open_pairs]
        high, low = np.maximum(root[i], root[j]), np.minimum(root[i], root[j])
        high, pick = np.unique(high, return_index=True)
        parent, flip = np.arange(count), np.zeros(count, dtype=bool)
        parent[high], flip[high] = low[pick], odd[pick]
        while True:
            grand = parent[parent]
            if np.array_equal(grand, parent):
                break
            flip ^= np.where(grand != parent, flip[parent], False)
            parent = grand
        parity ^= flip[root]
        root = parent[root]


def _orient(v: Array, f: Array) -> tuple[Array, int, int, bool]:
    """Turn faces to agree with their neighbours, then parts that are inside out."""
    edge, direction, face = _edges(f)
    order = np.argsort(edge, kind="stable")
    count = np.bincount(edge)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])[count == 2]
    h0, h1 = order[first], order[first + 1]
    a, b, differ = face[h0], face[h1], direction[h0] == direction[h1]
    root, turn = _components(len(f), a, b, differ)
    orientable = bool(np.all((turn[a] ^ turn[b]) == differ))

    vectors = _area_vectors(v, f)
    _, part = np.unique(root, return_inverse=True)
    part = part.reshape(-1)
    area = np.linalg.norm(vectors, axis=1)
    vote = np.bincount(part, weights=np.where(turn, -area, area))
    turn ^= (vote < 0.0)[part]
    turn ^= _inside_out(v, f, vectors, turn, part)[part]
    f = np.where(turn[:, None], f[:, ::-1], f)
    return f, int(np.count_nonzero(turn)), len(vote), orientable


def _inside_out(v: Array, f: Array, vectors: Array, turn: Array, part: Array) -> Array:
    """Which parts enclose a negative volume without being the wall of a cavity."""
    sign = np.where(turn, -1.0, 1.0)
    parts = int(part.max()) + 1
    center = 0.5 * (v.min(axis=0) + v.max(axis=0))
    corners = v[f] - center
    middle = corners.mean(axis=1)
    area = np.bincount(part, weights=np.linalg.norm(vectors, axis=1))
    total = np.stack([np.bincount(part, weights=sign * vectors[:, k]) for k in range(3)], axis=1)
    own: Array = np.stack([np.bincount(part, weights=middle[:, k]) for k in range(3)], axis=1)
    own = own / np.bincount(part)[:, None]
    volume = np.bincount(part, weights=sign * np.einsum("ij,ij->i", middle - own[part], vectors)) / 3.0

    edge, direction, face = _edges(f)
    excess = np.bincount(edge, weights=direction * sign[face])
    is_open = np.zeros(parts, dtype=bool)
    is_open[part[face[excess[edge] != 0.0]]] = True
    clear = np.abs(volume) > _OPEN_VOLUME * area**1.5
    clear &= np.linalg.norm(total, axis=1) < _OPEN_CLOSURE * area
    volume[is_open & ~clear] = 0.0

    flipped = np.full(parts, bool(volume.sum() < 0.0))
    volume = np.where(flipped, -volume, volume)
    for k in np.flatnonzero(volume < 0.0):
        others = part != k
        point = corners[np.flatnonzero(part == k)[0]].mean(axis=0)
        facing = (sign * np.where(flipped[part], -1.0, 1.0))[others]
        if winding_number_reference(point, corners[others], facing) < 0.5:
            flipped[k] = not flipped[k]
    return flipped


def winding_number_reference(point: Array, corners: Array, weight: Array | float = 1.0) -> float:
    """Generalised winding number of ``corners`` ``(F, 3, 3)`` at one point, summed over all faces in float64.

    Solid angles as in [Van Oosterom & Strackee 1983].
    """
    a, b, c = (corners[:, k] - point for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    dot_ab, dot_bc, dot_ca = ((x * y).sum(axis=1) for x, y in ((a, b), (b, c), (c, a)))
    determinant = (a * np.cross(b, c)).sum(axis=1)
    angle = 2.0 * np.arctan2(determinant, la * lb * lc + dot_ab * lc + dot_bc * la + dot_ca * lb)
    return float((weight * angle).sum() / (4.0 * np.pi))
