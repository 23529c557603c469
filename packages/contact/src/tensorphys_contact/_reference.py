"""Signed distances of shape pairs in NumPy float64, slow and plain: the truth of the tests.

Positive values are Euclidean distances, found by exhausting features. Negative values
are the least translation that separates the shapes, over the separating axes of two
convex polyhedra [Gottschalk et al. 1996] with the radii taken off.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from .shapes import ShapeType

Vector = npt.NDArray[np.float64]
_SIGNS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def rotation_matrix(quaternion: npt.ArrayLike) -> Vector:
    """Rotation matrix of a quaternion (x, y, z, w), normalised first."""
    q = np.asarray(quaternion, dtype=np.float64)
    x, y, z, w = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def signed_distance(
    type0: int,
    size0: npt.ArrayLike,
    pose0: npt.ArrayLike,
    type1: int,
    size1: npt.ArrayLike,
    pose1: npt.ArrayLike,
    *,
    vertices0: npt.ArrayLike | None = None,
    vertices1: npt.ArrayLike | None = None,
) -> float:
    """Signed distance of two shapes; ``vertices`` are those of a convex hull [length]."""
    a = _Body(type0, size0, pose0, vertices0)
    b = _Body(type1, size1, pose1, vertices1)
    if b.kind == ShapeType.PLANE:
        a, b = b, a
    if a.kind == ShapeType.PLANE:
        normal = a.rotation[:, 2]
        if b.kind == ShapeType.CYLINDER:
            axis = b.rotation[:, 2]
            reach = abs(normal @ axis) * b.half[2] + np.linalg.norm(np.cross(normal, axis)) * b.half[0]
            return float((b.position - a.position) @ normal - reach)
        return float(((b.corners - a.position) @ normal).min()) - b.radius
    distance = _core_distance(a, b)
    if distance < 1e-12:
        distance = _deepest_axis(a, b)
    return distance - a.radius - b.radius


class _Body:
    """A shape as a core (point, segment, box) with a radius."""

    def __init__(
        self, kind: int, size: npt.ArrayLike, pose: npt.ArrayLike, vertices: npt.ArrayLike | None
    ) -> None:
        where = np.asarray(pose, dtype=np.float64)
        extent = np.asarray(size, dtype=np.float64)
        self.kind = ShapeType(kind)
        self.position = where[:3]
        self.rotation = rotation_matrix(where[3:])
        self.radius = 0.0
        self.half = np.zeros(3)
        if self.kind in (ShapeType.SPHERE, ShapeType.CAPSULE):
            self.radius = float(extent[0])
            self.half[2] = extent[1] if self.kind == ShapeType.CAPSULE else 0.0
        elif self.kind == ShapeType.BOX:
            self.half = extent
        elif self.kind == ShapeType.CYLINDER:
            self.half = np.array([extent[0], extent[0], extent[1]])
        local = _SIGNS * self.half if vertices is None else np.asarray(vertices, dtype=np.float64)
        self.corners = self.position + local @ self.rotation.T

    def edges(self) -> list[tuple[Vector, Vector, float]]:
        """Middle, direction and half length of the edges of the core; points count too."""
        found = []
        for axis in range(3):
            if self.half[axis] > 0.0 or (axis == 2 and not self.half.any()):
                mask = np.ones(3)
                mask[axis] = 0.0
                for local in np.unique(_SIGNS * self.half * mask, axis=0):
                    middle = self.position + self.rotation @ local
                    found.append((middle, self.rotation[:, axis], float(self.half[axis])))
        return found

    def distance_to(self, point: Vector) -> float:
        """Distance of a point to the solid core."""
        local = self.rotation.T @ (point - self.position)
        return float(np.linalg.norm(local - np.clip(local, -self.half, self.half)))


def _core_distance(a: _Body, b: _Body) -> float:
    candidates = [a.distance_to(p) for p in b.corners] + [b.distance_to(p) for p in a.corners]
    candidates += [_segment_distance(e, g) for e in a.edges() for g in b.edges()]
    return 0.0 if _deepest_axis(a, b) <= 0.0 else min(candidates)


def _segment_distance(first: tuple[Any, ...], second: tuple[Any, ...]) -> float:
    """Distance of two segments: the interior critical point or a clamped end."""
    (ca, ua, ha), (cb, ub, hb) = first, second
    w = cb - ca
    trials = [(s, float(np.clip(ub @ (s * ua - w), -hb, hb))) for s in (-ha, ha)]
    trials += [(float(np.clip(ua @ (w + r * ub), -ha, ha)), r) for r in (-hb, hb)]
    across = np.linalg.norm(np.cross(ua, ub)) ** 2
    if across > 1e-14:
        r = (ua @ ub * (ua @ w) - ub @ w) / across
        s = ua @ w + r * (ua @ ub)
        if abs(s) <= ha and abs(r) <= hb:
            trials.append((s, r))
    return min(float(np.linalg.norm(w + r * ub - s * ua)) for s, r in trials)


def _deepest_axis(a: _Body, b: _Body) -> float:
    """Largest separation over face normals and edge products of the two cores."""
    directions_a = [a.rotation[:, k] for k in range(3) if a.half[k] > 0.0]
    directions_b = [b.rotation[:, k] for k in range(3) if b.half[k] > 0.0]
    axes = [np.cross(u, v) for u in directions_a for v in directions_b]
    axes += list(a.rotation.T) if a.kind == ShapeType.BOX else []
    axes += list(b.rotation.T) if b.kind == ShapeType.BOX else []
    between = b.position - a.position
    # Cores without volume: the plane through them, and directions across them.
    axes += [between - u * (u @ between) for u in directions_a + directions_b] + [between]
    axes += [e - u * (u @ e) for u in directions_a + directions_b for e in np.eye(3)]
    best = -np.inf
    for axis in axes:
        length = np.linalg.norm(axis)
        if length > 1e-9:
            n = axis / length
            reach = np.abs(n @ a.rotation) @ a.half + np.abs(n @ b.rotation) @ b.half
            best = max(best, float(abs(n @ between) - reach))
    return best if np.isfinite(best) else 0.0
