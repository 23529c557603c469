"""Signed distances and normals of convex pairs in float64, from independent libraries.

Distances of shapes apart are those of coal. Depths are enclosed: any direction bounds them from
above by its reach, a polytope inside of the difference of the shapes (Qhull) from below. Needs the
extra ``peers``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.spatial import ConvexHull, QhullError

from tensorphys_contact._reference import rotation_matrix
from tensorphys_contact.hulls import Hull
from tensorphys_contact.shapes import ShapeType

Vector = npt.NDArray[np.float64]
_GOLDEN = np.pi * (3.0 - np.sqrt(5.0))


@dataclasses.dataclass(frozen=True)
class Solid:
    """A convex shape with a pose.

    Attributes:
        kind: Shape type.
        size: Its size, see :class:`~tensorphys_contact.ShapeType` [length].
        pose: ``[x y z, qx qy qz qw]``, taken as float32 by the pipeline.
        hull: Hull, where the kind is one.
    """

    kind: ShapeType
    size: Vector
    pose: Vector
    hull: Hull | None = None

    @property
    def rotation(self) -> Vector:
        """Rotation matrix."""
        return rotation_matrix(self.pose[3:])

    def farthest(self, direction: Vector) -> Vector:
        """Points farthest along directions [N, 3] of the common frame, in that frame."""
        turn = self.rotation
        d = direction @ turn
        r, h = float(self.size[0]), float(self.size[1])
        unit = d / np.linalg.norm(d, axis=1, keepdims=True)
        across = np.linalg.norm(d[:, :2], axis=1)
        ring = np.zeros_like(d)
        ring[:, :2] = r * d[:, :2] / np.maximum(across, 1e-300)[:, None]
        along = np.zeros_like(d)
        along[:, 2] = np.where(d[:, 2] < 0.0, -h, h)
        if self.kind == ShapeType.SPHERE:
            point = r * unit
        elif self.kind == ShapeType.CAPSULE:
            point = r * unit + along
        elif self.kind == ShapeType.BOX:
            point = np.where(d < 0.0, -self.size, self.size)
        elif self.kind == ShapeType.CYLINDER:
            point = ring + along
        elif self.kind == ShapeType.CONE:
            apex = h * d[:, 2] > r * across - h * d[:, 2]
            point = np.where(apex[:, None], [0.0, 0.0, h], ring - [0.0, 0.0, h])
        elif self.kind == ShapeType.ELLIPSOID:
            point = self.size**2 * d / np.linalg.norm(self.size * d, axis=1, keepdims=True)
        else:
            corner = self.corners()
            point = corner[(d @ corner.T).argmax(axis=1)]
        return np.asarray(self.pose[:3] + point @ turn.T, dtype=np.float64)

    def corners(self) -> Vector:
        """Vertices of the hull as the pipeline holds them."""
        assert self.hull is not None
        return self.hull.vertices.astype(np.float32).astype(np.float64)

    def special_directions(self) -> Vector:
        """Axes and face normals in the common frame, both signs."""
        local = np.eye(3)
        if self.hull is not None:
            local = np.concatenate([local, self.hull.face_plane[:, :3]])
        found = np.concatenate([local, -local]) @ self.rotation.T
        return np.asarray(found, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class Truth:
    """Signed distance of two shapes.

    Attributes:
        least, most: Bounds of the separation (negative in penetration) [length].
        normal: Unit normal from shape 1 to shape 0.
    """

    least: float
    most: float
    normal: Vector


def reach_along(first: Solid, second: Solid, normal: npt.ArrayLike) -> float:
    """Separation of two shapes along a unit direction from shape 1 to shape 0 [length]."""
    n = np.asarray(normal, dtype=np.float64).reshape(1, 3)
    n = n / np.linalg.norm(n)
    return float((n * (first.farthest(-n) - second.farthest(n))).sum())


def peer_separation(first: Solid, second: Solid) -> tuple[float, Vector]:
    """Separation and normal by coal; minus infinity where it finds none."""
    import coal

    def geometry(s: Solid) -> Any:
        r, h = float(s.size[0]), float(s.size[1])
        if s.kind == ShapeType.CONVEX_HULL:
            points = coal.StdVec_Vec3s()
            for p in s.corners():
                points.append(p)
            if len(points) == 3:
                # A flat convex body with two sides; the type of single triangles knows no distances.
                sides = coal.StdVec_Triangle()
                sides.append(coal.Triangle(0, 1, 2))
                sides.append(coal.Triangle(0, 2, 1))
                return coal.Convex(points, sides)
            return coal.ConvexBase.convexHull(points, False, "Qt")
        makers: dict[ShapeType, Any] = {
            ShapeType.SPHERE: lambda: coal.Sphere(r),
            ShapeType.CAPSULE: lambda: coal.Capsule(r, 2 * h),
            ShapeType.BOX: lambda: coal.Box(*(2 * s.size)),
            ShapeType.CYLINDER: lambda: coal.Cylinder(r, 2 * h),
            ShapeType.CONE: lambda: coal.Cone(r, 2 * h),
            ShapeType.ELLIPSOID: lambda: coal.Ellipsoid(*s.size),
        }
        return makers[s.kind]()

    request, result = coal.DistanceRequest(True), coal.DistanceResult()
    request.gjk_tolerance = request.epa_tolerance = 1e-12
    request.gjk_max_iterations = request.epa_max_iterations = 2000
    places = [coal.Transform3s(s.rotation, s.pose[:3]) for s in (first, second)]
    distance = coal.distance(geometry(first), places[0], geometry(second), places[1], request, result)
    if not -1e3 < distance < 1e300:
        return -np.inf, np.zeros(3)
    return float(distance), -np.asarray(result.normal, dtype=np.float64).ravel()


def enclosed_depth(first: Solid, second: Solid, tolerance: float, starts: Vector | None = None) -> Truth:
    """Depth between the reach of a direction and the nearest face of a polytope inside of M.

    M is the set of points of shape 1 less points of shape 0 [van den Bergen 2001]; the polytope
    grows by the farthest points along the normals of its near faces.

    Args:
        tolerance: Width of the enclosure at which it ends [length].
        starts: More directions to begin with, shape [N, 3].

    Returns:
        The enclosure; an infinite ``most`` where the origin is outside of M.
    """
    count = 200
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = _GOLDEN * np.arange(count)
    across = np.sqrt(1.0 - z * z)
    directions = [np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)]
    directions += [first.special_directions(), second.special_directions()]
    if starts is not None:
        directions.append(starts)
    d = np.concatenate(directions)
    most, least, normal = np.inf, 0.0, d[0]
    hull: ConvexHull | None = None
    for _round in range(60):
        w = second.farthest(d) - first.farthest(-d)
        heights = (w * d).sum(axis=1)
        if heights.min() < most:
            most, normal = float(heights.min()), d[heights.argmin()]
        try:
            if hull is None:
                hull = ConvexHull(w, incremental=True)
            else:
                hull.add_points(w)
        except QhullError:
            break
        offset = -hull.equations[:, 3]
        # Never less than an earlier polytope proves: merged faces may lose digits.
        least = max(least, float(offset.min()))
        if most - least <= tolerance:
            break
        near = np.argsort(offset)[:40]
        near = near[offset[near] < most - 0.5 * tolerance]
        if len(near) == 0:
            break
        d = hull.equations[near, :3]
    if hull is not None:
        hull.close()
    return Truth(-most, -least, normal)


def enclosed_distance(first: Solid, second: Solid, tolerance: float, start: npt.ArrayLike) -> Truth:
    """Distance of two shapes apart, between the reach of a direction and a point inside of M.

    The fully corrective method of [Frank and Wolfe 1956]: the nearest point of a polytope inside
    of M gives the next direction.

    Args:
        tolerance: Width of the enclosure at which it ends [length].
        start: First direction, from shape 1 to shape 0.
    """
    n = np.asarray(start, dtype=np.float64)
    corner = first.farthest(-n[None]) - second.farthest(n[None])
    least, most, normal = -np.inf, np.inf, n
    for _round in range(200):
        scale = float(np.abs(corner).max())
        system = np.concatenate([corner.T / scale, np.full((1, len(corner)), 100.0)])
        weight, _rest = nnls(system, np.array([0.0, 0.0, 0.0, 100.0]))
        v = (weight / weight.sum()) @ corner
        most = min(most, float(np.linalg.norm(v)))
        n = v / np.linalg.norm(v)
        w = first.farthest(-n[None]) - second.farthest(n[None])
        if float(n @ w[0]) > least:
            least, normal = float(n @ w[0]), n
        if most - least <= tolerance:
            break
        corner = np.concatenate([corner[weight > 0.0], w])
    return Truth(least, most, normal)
