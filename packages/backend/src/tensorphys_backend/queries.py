"""Ray casts and overlaps against everything that collides, in the world frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp
from pxr import UsdGeom

from tensorphys_backend.errors import QueryError
from tensorphys_backend.hits import HitNames, RayHit
from tensorphys_backend.world import World, to_numpy
from tensorphys_contact import (
    MeshQuery,
    QueryShapes,
    ShapeType,
    cast_rays,
    create_query_shapes,
    create_query_tree,
    create_ray_hit_lists,
    create_ray_hits,
    mark_overlaps,
    update_query_tree,
)

__all__ = ["SceneQueries"]

_SURFACES = (ShapeType.TRIANGLE_MESH, ShapeType.HEIGHT_FIELD)
ReportFunction = Callable[[Any], bool]
FloatArray = npt.NDArray[np.float64]


class SceneQueries:
    """Queries of one simulation; poses are those of the moment of the query.

    A ray that starts in a solid shape hits it at distance 0. Deformables and particles are no colliders, and not hit.

    Args:
        world: The simulation.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        simulation = world.simulation
        self._model, self._pose = simulation.contact_model, simulation.state.link_pose
        self._names = HitNames(world)
        self._count = len(simulation.directory.shape_paths)
        self._tree: Any = create_query_tree(self._model, self._pose) if self._count else None
        self._built_at = simulation.step_count
        self._one_sided: Any = None

    def closest(
        self, origins: npt.ArrayLike, directions: npt.ArrayLike, distances: npt.ArrayLike, both_sides: bool
    ) -> list[dict[str, Any]]:
        """Nearest hits of rays, in one launch.

        Args:
            origins: [m], shape [R, 3].
            directions: Shape [R, 3]; their length does not matter.
            distances: Longest distances [m], shape [R].
            both_sides: Whether back sides of triangle meshes are hit.

        Returns:
            A dictionary a ray, see ``PhysicsBackend.raycast_closest``.
        """
        origin, direction, longest = _rays(origins, directions, distances)
        count = len(origin)
        if not (self._count and count):
            return [{"hit": False} for _ in range(count)]
        hits = create_ray_hits(count, self._model.device)
        self._cast(hits, origin, direction, longest, both_sides)
        shape, distance, normal, triangle = (
            array.numpy() for array in (hits.shape, hits.distance, hits.normal, hits.triangle)
        )
        rays = np.flatnonzero(shape >= 0)
        position = origin[rays] + direction[rays] * distance[rays, None]
        results: list[dict[str, Any]] = [{"hit": False} for _ in range(count)]
        names = self._names
        # Lists of plain numbers: taking them out of arrays one by one takes longer than the cast.
        columns = (rays, shape[rays], position, normal[rays], distance[rays], triangle[rays])
        for ray, found, place, way, far, face in zip(*(c.tolist() for c in columns), strict=True):
            results[ray] = {
                "hit": True,
                "position": tuple(place),
                "normal": tuple(way),
                "distance": far,
                "collision": names.collision(found),
                "rigidBody": names.owner(found),
                "faceIndex": face,
                "material": names.material(found),
                "protoIndex": names.instance(found),
            }
        return results

    def all_hits(
        self, origin: Any, direction: Any, distance: float, report: ReportFunction, both_sides: bool
    ) -> bool:
        """Report the hit of a ray with each shape, nearest first, until ``report`` returns False.

        Returns:
            Whether anything was hit.
        """
        start, way, longest = _rays([to_numpy(origin)], [to_numpy(direction)], [distance])
        if not self._count:
            return False
        hits = create_ray_hit_lists(1, self._count, self._model.device)
        self._cast(hits, start, way, longest, both_sides)
        found = min(int(hits.count.numpy()[0]), self._count)
        shape, length, normal, triangle = (
            array.numpy()[0] for array in (hits.shape, hits.distance, hits.normal, hits.triangle)
        )
        for place in range(found):
            number, far = int(shape[place]), float(length[place])
            hit = RayHit(
                rigid_body=self._names.owner(number),
                collision=self._names.collision(number),
                proto_index=self._names.instance(number),
                position=_triple(start[0] + way[0] * far),
                normal=_triple(normal[place]),
                distance=far,
                face_index=int(triangle[place]),
                material=self._names.material(number),
            )
            if not report(hit):
                break
        return found > 0

    def overlaps(
        self,
        asked: Sequence[QueryShapes | MeshQuery],
        report: ReportFunction | None,
        any_hit: bool,
        own: Sequence[int] = (),
    ) -> int:
        """Report the shapes that any of some query shapes overlaps, each once.

        Args:
            asked: Query shapes, in environment 0.
            report: Called with each :class:`OverlapHit` until it returns False; None to count alone.
            any_hit: Whether one hit is enough.
            own: Shapes of the simulation that ask; they overlap themselves.

        Returns:
            Number of hits reported, or found where there is no ``report``.
        """
        if not (self._count and asked):
            return 0
        self._follow()
        start = np.zeros(self._model.shape_count, np.int32)
        start[list(own)] = 1
        marks = wp.array(start, dtype=wp.int32, device=self._model.device)
        for shapes in asked:
            mark_overlaps(self._model, self._tree, self._pose, shapes, marks)
        told = 0
        for shape in np.flatnonzero(marks.numpy()).tolist():
            told += 1
            if (report is not None and not report(self._names.overlap(shape))) or any_hit:
                break
        return told

    def sphere(self, radius: float, center: Any, report: ReportFunction | None, any_hit: bool) -> int:
        """Report what a sphere overlaps; radius and centre in metres."""
        _positive("radius", radius)
        pose = [*_vector("pos", center), 0.0, 0.0, 0.0, 1.0]
        return self.overlaps([self.shape(ShapeType.SPHERE, [radius, 0.0, 0.0], pose)], report, any_hit)

    def box(self, half: Any, center: Any, rotation: Any, report: ReportFunction | None, any_hit: bool) -> int:
        """Report what a box overlaps; half extents and centre in metres, rotation xyzw."""
        extent = _vector("halfExtent", half)
        _positive("halfExtent", min(extent))
        turn = np.asarray(to_numpy(rotation), float).reshape(-1)
        length = float(np.linalg.norm(turn)) if turn.shape == (4,) else 0.0
        if not (math.isfinite(length) and length > 0.0):
            raise QueryError(f"rot: expected a quaternion x y z w, given {turn.tolist()}")
        pose = [*_vector("pos", center), *(turn / length).tolist()]
        return self.overlaps([self.shape(ShapeType.BOX, extent, pose)], report, any_hit)

    def shape(self, kind: int, size: Sequence[float], pose: Any) -> QueryShapes:
        """One query shape; size [m] as :class:`tensorphys_contact.ShapeType` has it, pose xyzw."""
        return create_query_shapes(
            kind=[kind], size=[size], pose=[pose], environment=[0], device=self._model.device
        )

    def _follow(self) -> None:
        step = self._world.simulation.step_count
        update_query_tree(self._tree, self._model, self._pose, rebuild=step != self._built_at)
        self._built_at = step

    def _sides(self) -> Any:
        """1 for each surface whose back side lets rays through: all that are not authored as double-sided."""
        if self._one_sided is None:
            kinds = self._model.shape_type.numpy()
            flags = np.isin(kinds, _SURFACES).astype(np.int32)
            for shape in np.flatnonzero(flags).tolist():
                prim = self._world.stage.GetPrimAtPath(self._names.collision(shape))
                if prim and prim.IsA(UsdGeom.Gprim) and UsdGeom.Gprim(prim).GetDoubleSidedAttr().Get():
                    flags[shape] = 0
            self._one_sided = wp.array(flags, dtype=wp.int32, device=self._model.device)
        return self._one_sided

    def _cast(
        self, hits: Any, origin: FloatArray, direction: FloatArray, longest: FloatArray, both_sides: bool
    ) -> None:
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
            one_sided=None if both_sides else self._sides(),
        )


def _rays(origins: Any, directions: Any, distances: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Checked rays with directions of length 1."""
    origin, direction = (_rows(rows) for rows in (origins, directions))
    longest = _numbers(distances)
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


def _rows(rows: Any) -> FloatArray:
    """Numbers of an array, or of a sequence of arrays of any library."""
    if hasattr(rows, "detach") or isinstance(rows, np.ndarray):
        return np.asarray(to_numpy(rows), float)
    first = rows[0] if len(rows) else ()
    plain = isinstance(first, (list, tuple)) and all(isinstance(number, (int, float)) for number in first)
    try:
        # Rows of plain numbers, as a rule: taking each row by itself takes longer than the cast.
        return np.asarray(rows if plain else [to_numpy(row) for row in rows], float)
    except ValueError as error:
        raise QueryError(f"rays: expected rows of 3 numbers: {error}") from error


def _numbers(values: Any) -> FloatArray:
    if hasattr(values, "detach") or isinstance(values, np.ndarray):
        return np.asarray(to_numpy(values), float).reshape(-1)
    return np.asarray([float(value) for value in values], float)


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
