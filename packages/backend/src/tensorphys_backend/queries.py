"""Ray casts and overlaps against everything that collides, in the world frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_backend.errors import PrimPathError, QueryError
from tensorphys_backend.world import World, to_numpy
from tensorphys_contact import (
    ShapeType,
    cast_rays,
    create_query_shapes,
    create_query_tree,
    create_ray_hit_lists,
    create_ray_hits,
    find_overlaps,
    update_query_tree,
)

# Those that may ask: the half space, surfaces, fields and sets of spheres may not.
_CONVEX = tuple(kind for kind in ShapeType if ShapeType.SPHERE <= kind <= ShapeType.ELLIPSOID)

__all__ = ["OverlapHit", "RayHit", "SceneQueries"]

ReportFunction = Callable[[Any], bool]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OverlapHit:
    """A shape that a query shape overlaps.

    Attributes:
        rigid_body: Prim path of its body; of the collider itself where it never moves.
        collision: Prim path of its collider.
    """

    rigid_body: str
    collision: str


@dataclass(frozen=True)
class RayHit(OverlapHit):
    """A shape that a ray hits.

    Attributes:
        position: Point [m], world frame.
        normal: Normal of the surface, world frame.
        distance: Way along the ray [m].
    """

    position: tuple[float, float, float]
    normal: tuple[float, float, float]
    distance: float


class SceneQueries:
    """Queries of one simulation; poses are those of the moment of the query.

    Rays hit both sides of triangle meshes; a ray that starts in a solid shape hits it at distance 0. Deformables and
    particles are not hit.

    Args:
        world: The simulation.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        simulation = world.simulation
        self._model, self._pose = simulation.contact_model, simulation.state.link_pose
        self._count = len(simulation.directory.shape_paths)
        self._tree: Any = create_query_tree(self._model, self._pose) if self._count else None
        self._built_at = simulation.step_count

    def closest(
        self, origins: npt.ArrayLike, directions: npt.ArrayLike, distances: npt.ArrayLike
    ) -> list[dict[str, Any]]:
        """Nearest hits of rays, in one launch.

        Args:
            origins: [m], shape [R, 3].
            directions: Shape [R, 3]; their length does not matter.
            distances: Longest distances [m], shape [R].

        Returns:
            A dictionary a ray, see ``PhysicsBackend.raycast_closest``.
        """
        origin, direction, longest = _rays(origins, directions, distances)
        count = len(origin)
        if not (self._count and count):
            return [{"hit": False} for _ in range(count)]
        hits = create_ray_hits(count, self._model.device)
        self._cast(hits, origin, direction, longest)
        shape, distance, normal, triangle = (
            array.numpy() for array in (hits.shape, hits.distance, hits.normal, hits.triangle)
        )
        position = origin + direction * np.where(shape >= 0, distance, 0.0)[:, None]
        paths = self._world.simulation.directory.shape_paths
        return [
            {
                "hit": True,
                "position": _triple(position[ray]),
                "normal": _triple(normal[ray]),
                "distance": float(distance[ray]),
                "collision": paths[found],
                "rigidBody": self._world.owner_path(found),
                "faceIndex": int(triangle[ray]),
            }
            if found >= 0
            else {"hit": False}
            for ray, found in enumerate(shape.tolist())
        ]

    def all_hits(self, origin: Any, direction: Any, distance: float, report: ReportFunction) -> bool:
        """Report the hit of a ray with each shape, nearest first, until ``report`` returns False.

        Returns:
            Whether anything was hit.
        """
        start, way, longest = _rays([to_numpy(origin)], [to_numpy(direction)], [distance])
        if not self._count:
            return False
        hits = create_ray_hit_lists(1, self._count, self._model.device)
        self._cast(hits, start, way, longest)
        found = min(int(hits.count.numpy()[0]), self._count)
        shape, length, normal = (array.numpy()[0] for array in (hits.shape, hits.distance, hits.normal))
        for place in range(found):
            number, far = int(shape[place]), float(length[place])
            hit = RayHit(
                rigid_body=self._world.owner_path(number),
                collision=self._world.simulation.directory.shape_paths[number],
                position=_triple(start[0] + way[0] * far),
                normal=_triple(normal[place]),
                distance=far,
            )
            if not report(hit):
                break
        return found > 0

    def overlaps(
        self,
        kind: Sequence[int],
        size: npt.ArrayLike,
        pose: npt.ArrayLike,
        report: ReportFunction | None,
        any_hit: bool,
        hull: Sequence[int] | None = None,
    ) -> int:
        """Report the shapes that any of some query shapes overlaps, each once.

        Args:
            kind: :class:`tensorphys_contact.ShapeType` of each query shape.
            size: Their sizes [m], shape [Q, 3].
            pose: Their poses, xyzw, shape [Q, 7].
            report: Called with each :class:`OverlapHit` until it returns False; None to count alone.
            any_hit: Whether one hit is enough.
            hull: Shape of the simulation whose hull is meant, of each query shape.

        Returns:
            Number of hits reported, or found where there is no ``report``.
        """
        count = len(kind)
        if not (self._count and count):
            return 0
        self._follow()
        device = self._model.device
        shapes = create_query_shapes(
            kind=kind, size=size, pose=pose, environment=[0] * count, hull=hull, device=device
        )
        hits = create_ray_hit_lists(count, self._count, device)
        find_overlaps(self._model, self._tree, self._pose, shapes, hits)
        number, found = hits.count.numpy(), hits.shape.numpy()
        numbers = dict.fromkeys(
            int(shape) for row in range(count) for shape in found[row, : min(int(number[row]), self._count)]
        )
        told = 0
        for shape in numbers:
            told += 1
            if report is not None:
                collision = self._world.simulation.directory.shape_paths[shape]
                if not report(OverlapHit(self._world.owner_path(shape), collision)):
                    break
            if any_hit:
                break
        return told

    def sphere(self, radius: float, center: Any, report: ReportFunction | None, any_hit: bool) -> int:
        """Report what a sphere overlaps; radius and centre in metres."""
        _positive("radius", radius)
        pose = [*_vector("pos", center), 0.0, 0.0, 0.0, 1.0]
        return self.overlaps([ShapeType.SPHERE], [[radius, 0.0, 0.0]], [pose], report, any_hit)

    def box(self, half: Any, center: Any, rotation: Any, report: ReportFunction | None, any_hit: bool) -> int:
        """Report what a box overlaps; half extents and centre in metres, rotation xyzw."""
        extent = _vector("halfExtent", half)
        _positive("halfExtent", min(extent))
        turn = np.asarray(to_numpy(rotation), float).reshape(-1)
        length = float(np.linalg.norm(turn)) if turn.shape == (4,) else 0.0
        if not (math.isfinite(length) and length > 0.0):
            raise QueryError(f"rot: expected a quaternion x y z w, given {turn.tolist()}")
        pose = [*_vector("pos", center), *(turn / length).tolist()]
        return self.overlaps([ShapeType.BOX], [extent], [pose], report, any_hit)

    def has_collider(self, path: str) -> bool:
        """Whether a collider of the simulation has a path."""
        return path in self._world.simulation.directory.shape_paths

    def collider(self, path: str, report: ReportFunction | None, any_hit: bool) -> int:
        """Report what the collider at a path overlaps, itself included.

        Raises:
            PrimPathError: No collider of the simulation is there.
            QueryError: It is not made of convex shapes.
        """
        paths = self._world.simulation.directory.shape_paths
        numbers = [shape for shape, other in enumerate(paths) if other == path]
        if not numbers:
            raise PrimPathError(f"{path}: no collider of the simulation has this path")
        model = self._model
        kinds, sizes = model.shape_type.numpy()[numbers], model.shape_size.numpy()[numbers]
        if not np.isin(kinds, _CONVEX).all():
            name = ShapeType(int(kinds[~np.isin(kinds, _CONVEX)][0])).name
            raise QueryError(
                f"{path}: overlaps are found for convex shapes, the collider is a {name}; give it a convex approximation"
            )
        local, body = model.local_pose.numpy()[numbers], model.shape_body.numpy()[numbers]
        link = self._pose.numpy()
        poses = [
            _compose(link[int(owner)], own) if owner >= 0 else own
            for own, owner in zip(local, body, strict=True)
        ]
        return self.overlaps(kinds.tolist(), sizes, np.asarray(poses), report, any_hit, hull=numbers)

    def _follow(self) -> None:
        step = self._world.simulation.step_count
        update_query_tree(self._tree, self._model, self._pose, rebuild=step != self._built_at)
        self._built_at = step

    def _cast(self, hits: Any, origin: FloatArray, direction: FloatArray, longest: FloatArray) -> None:
        self._follow()
        device, count = self._model.device, len(origin)
        cast_rays(
            self._model,
            self._tree,
            self._pose,
            hits,
            environment=wp.zeros(count, dtype=wp.int32, device=device),
            origin=wp.array(origin.astype(np.float32), dtype=wp.vec3, device=device),
            direction=wp.array(direction.astype(np.float32), dtype=wp.vec3, device=device),
            longest=wp.array(longest.astype(np.float32), dtype=wp.float32, device=device),
        )


def _rays(origins: Any, directions: Any, distances: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Checked rays with directions of length 1."""
    origin, direction = (np.asarray([to_numpy(row) for row in rows], float) for rows in (origins, directions))
    longest = np.asarray([float(value) for value in distances], float)
    count = len(longest)
    if count == 0:
        origin, direction = origin.reshape(-1, 3), direction.reshape(-1, 3)
    if origin.shape != (count, 3) or direction.shape != (count, 3):
        raise QueryError(
            f"rays: expected {count} origins and directions of 3 numbers, given {origin.shape} and {direction.shape}"
        )
    if not (np.isfinite(origin).all() and np.isfinite(direction).all()):
        raise QueryError("rays: origins and directions must be finite")
    if np.isnan(longest).any() or (longest < 0.0).any():
        raise QueryError("rays: distances must not be negative")
    length = np.linalg.norm(direction, axis=1)
    if (length == 0.0).any():
        raise QueryError(f"rays: direction {int(np.argmin(length))} is zero")
    return origin, direction / length[:, None], np.minimum(longest, np.finfo(np.float32).max)


def _vector(name: str, value: Any) -> list[float]:
    vector = np.asarray(to_numpy(value), float).reshape(-1)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise QueryError(f"{name}: expected three finite numbers, given {vector.tolist()}")
    return [float(number) for number in vector]


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise QueryError(f"{name}: expected a positive length [m], given {value}")


def _triple(row: Any) -> tuple[float, float, float]:
    return float(row[0]), float(row[1]), float(row[2])


def _compose(outer: Any, inner: Any) -> Any:
    """Pose of an inner frame, given in an outer one, both xyzw."""
    a, b = wp.transform(*[float(x) for x in outer]), wp.transform(*[float(x) for x in inner])
    return np.asarray(wp.transform_multiply(a, b), np.float32).reshape(7)
