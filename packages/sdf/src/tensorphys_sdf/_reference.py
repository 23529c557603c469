"""Slow float64 twins of the exact queries, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorphys_sdf.mesh import Array, winding_number_reference


def closest_points(points: Any, corners: Array) -> Array:
    """Nearest point of a set of triangles ``(F, 3, 3)`` to each point ``(N, 3)``, by trying all triangles.

    The nearest point of a triangle is its foot point when that lies inside, else the nearest of its edges
    [Ericson 2005, §5.1.5].
    """
    p = np.asarray(points, dtype=np.float64)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    result = np.empty_like(p)
    for i, point in enumerate(p):
        candidates = [
            a + np.clip(((point - a) * (b - a)).sum(1) / ((b - a) ** 2).sum(1), 0, 1)[:, None] * (b - a)
        ]
        candidates += [
            b + np.clip(((point - b) * (c - b)).sum(1) / ((c - b) ** 2).sum(1), 0, 1)[:, None] * (c - b)
        ]
        candidates += [
            c + np.clip(((point - c) * (a - c)).sum(1) / ((a - c) ** 2).sum(1), 0, 1)[:, None] * (a - c)
        ]
        foot = point - normal * (((point - a) * normal).sum(1) / (normal**2).sum(1))[:, None]
        inside = np.ones(len(a), dtype=bool)
        for s, e in ((a, b), (b, c), (c, a)):
            inside &= (np.cross(e - s, foot - s) * normal).sum(1) >= 0.0
        every = np.concatenate([*candidates, foot[inside]])
        result[i] = every[np.argmin(((every - point) ** 2).sum(1))]
    return result


def signed_distances(points: Any, corners: Array) -> Array:
    """Signed distances by :func:`closest_points` and winding numbers, shape ``(N,)``."""
    p = np.asarray(points, dtype=np.float64)
    d = np.linalg.norm(p - closest_points(p, corners), axis=1)
    w = np.array([winding_number_reference(point, corners) for point in p])
    result: Array = np.where(w > 0.5, -d, d)
    return result
