"""Spheres and capsules that hold points."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import numpy.typing as npt

from .cooking import bounding_box
from .errors import HullError
from .hulls import cook_hull

Float64Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class BoundingSphere:
    """A sphere that holds points.

    Attributes:
        center: Centre [length], shape [3].
        radius: Radius [length].
    """

    center: Float64Array
    radius: float


@dataclasses.dataclass(frozen=True)
class BoundingCapsule:
    """A capsule that holds points.

    Attributes:
        center: Middle [length], shape [3].
        axis: Unit axis, shape [3].
        radius: Radius [length].
        half_height: Half the length of the cylindrical part [length].
    """

    center: Float64Array
    axis: Float64Array
    radius: float
    half_height: float


def bounding_sphere(points: npt.ArrayLike) -> BoundingSphere:
    """Smallest sphere about points: that of two to four of them, grown by the one farthest outside [Gärtner 1999].

    Raises:
        HullError: no points, or values that are not finite.
    """
    cloud = np.asarray(points, dtype=np.float64)
    if cloud.ndim != 2 or cloud.shape[1] != 3 or not len(cloud) or not np.isfinite(cloud).all():
        raise HullError(f"a bounding sphere needs finite points [count, 3], given {cloud.shape}")
    held = [0]
    center, radius = cloud[0], 0.0
    for _ in range(10 * len(cloud) + 100):
        distance = np.linalg.norm(cloud - center, axis=1)
        far = int(distance.argmax())
        if distance[far] <= radius * (1.0 + 1e-12) + 1e-300:
            break
        # The smallest sphere of the few and the new one passes through the new one.
        best: tuple[float, Float64Array, list[int]] | None = None
        for size in range(min(len(held), 3) + 1):
            for others in itertools.combinations(held, size):
                chosen = [far, *others]
                middle, reach = _circumscribed(cloud[chosen])
                inside = np.linalg.norm(cloud[[far, *held]] - middle, axis=1).max() <= reach * (1 + 1e-10)
                if inside and (best is None or reach < best[0]):
                    best = reach, middle, chosen
        if best is None:
            break
        radius, center, held = best
    return BoundingSphere(center, float(np.linalg.norm(cloud - center, axis=1).max()))


def _circumscribed(corners: Float64Array) -> tuple[Float64Array, float]:
    """Smallest sphere through up to four points; infinite where there is none."""
    sides = corners[1:] - corners[0]
    if not len(sides):
        return corners[0], 0.0
    way, *_ = np.linalg.lstsq(2.0 * sides @ sides.T, (sides**2).sum(axis=1), rcond=None)
    center = corners[0] + way @ sides
    distance = np.linalg.norm(corners - center, axis=1)
    if np.ptp(distance) > 1e-9 * distance.max():
        return center, np.inf
    return center, float(distance.max())


def bounding_capsule(points: npt.ArrayLike) -> BoundingCapsule:
    """Capsule about points along an axis of their bounding box, the one that makes it smallest.

    Raises:
        HullError: points that span no volume.
    """
    cloud = cook_hull(points, vertex_limit=256).vertices if len(np.asarray(points)) > 256 else points
    every = np.asarray(points, dtype=np.float64)
    box = bounding_box(cloud)
    best: BoundingCapsule | None = None
    for k in range(3):
        axis = box.axes[:, k]
        arm = every - box.center
        along = arm @ axis
        across = np.linalg.norm(arm - along[:, None] * axis, axis=1)
        radius = float(across.max())
        cap = np.sqrt(np.maximum(radius**2 - across**2, 0.0))
        low, high = float((along + cap).min()), float((along - cap).max())
        half = max(0.5 * (high - low), 0.0)
        center = box.center + axis * (0.5 * (low + high))
        made = BoundingCapsule(center, axis, radius, half)
        if best is None or _volume(made) < _volume(best):
            best = made
    assert best is not None  # there are three axes
    return best


def _volume(capsule: BoundingCapsule) -> float:
    return np.pi * capsule.radius**2 * (2.0 * capsule.half_height + 4.0 / 3.0 * capsule.radius)
