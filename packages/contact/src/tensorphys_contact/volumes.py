"""Batched closest points, overlaps and sweeps of query shapes against the shapes of a model."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._kernels import volumes as kernels
from .errors import ArrayError, ShapeError
from .model import Model
from .queries import QueryTree, RayHitLists
from .shapes import CONVEX_SHAPES, ShapeType

# A thread that walks two trees at once keeps a stack for each in shared memory; 256 threads would need more than a block
# has.
BLOCK = 128


@dataclasses.dataclass
class QueryShapes:
    """Convex shapes that ask; made by :func:`create_query_shapes`. Q of them.

    Attributes:
        environment: int32 [Q].
        kind: int32 [Q], :class:`~tensorphys_contact.ShapeType` of a convex shape.
        size: vec3 [Q], see :class:`~tensorphys_contact.ShapeType` [length]; a sphere of
            radius 0 is a point.
        hull: int32 [Q], shape of the model whose hull is meant, where the kind is a hull; −1 for one of own corners.
        corner_start: int32 [Q + 1], first and end index into ``corner``.
        corner: vec3, corners of hulls that are none of the model, in their frames [length].
        pose: transform [Q], in the environment frame; may be written between calls.
    """

    environment: wp.array[wp.int32]
    kind: wp.array[wp.int32]
    size: wp.array[wp.vec3]
    hull: wp.array[wp.int32]
    corner_start: wp.array[wp.int32]
    corner: wp.array[wp.vec3]
    pose: wp.array[wp.transform]


@dataclasses.dataclass
class NearestHits:
    """One shape for each of Q query shapes.

    Attributes:
        shape: int32 [Q], flat shape, −1 for none within the limit.
        distance: float [Q], separation (negative where they overlap), or distance along a
            sweep; infinite for none [length].
        normal: vec3 [Q], from the shape to the query shape, environment frame.
        point: vec3 [Q], on the shape, environment frame. The point of the query shape is
            ``point + distance × normal`` for closest points, ``point`` for a sweep.
    """

    shape: wp.array[wp.int32]
    distance: wp.array[wp.float32]
    normal: wp.array[wp.vec3]
    point: wp.array[wp.vec3]


def create_query_shapes(
    *,
    kind: npt.ArrayLike,
    size: npt.ArrayLike,
    pose: npt.ArrayLike,
    environment: npt.ArrayLike,
    hull: npt.ArrayLike | None = None,
    corner: npt.ArrayLike | None = None,
    corner_start: npt.ArrayLike | None = None,
    device: Any = None,
) -> QueryShapes:
    """Put query shapes on a device; see :class:`QueryShapes`.

    A hull that is none of the model has corners of its own; three make a triangle. Its size is (radius, 0, 0), the
    largest distance of a corner from its origin.

    Raises:
        ShapeError: a kind that is not convex, a hull without a shape or corners, or a wrong length.
    """
    kinds = np.asarray(kind, dtype=np.int32).reshape(-1)
    count = len(kinds)
    sizes = np.asarray(size, dtype=np.float32)
    poses = np.asarray(pose, dtype=np.float32)
    homes = np.asarray(environment, dtype=np.int32)
    hulls = np.full(count, -1, np.int32) if hull is None else np.asarray(hull, dtype=np.int32)
    if (
        sizes.shape != (count, 3)
        or poses.shape != (count, 7)
        or homes.shape != (count,)
        or hulls.shape != (count,)
    ):
        raise ShapeError(
            f"expected {count} sizes [3], poses [7], environments and hulls, given "
            f"{sizes.shape}, {poses.shape}, {homes.shape}, {hulls.shape}"
        )
    bad = ~np.isin(kinds, CONVEX_SHAPES)
    if bad.any():
        raise ShapeError(
            f"query shape {int(np.argmax(bad))} has the type {kinds[bad][0]}, which is not convex"
        )
    corners = np.zeros((0, 3), np.float32) if corner is None else np.asarray(corner, dtype=np.float32)
    starts = (
        np.zeros(count + 1, np.int32) if corner_start is None else np.asarray(corner_start, dtype=np.int32)
    )
    if starts.shape != (count + 1,) or corners.shape != (int(starts[-1]), 3) or (np.diff(starts) < 0).any():
        raise ShapeError(
            f"expected {count + 1} rising corner starts, and as many corners as the last one says"
        )
    lost = (kinds == ShapeType.CONVEX_HULL) & (hulls < 0) & (np.diff(starts) == 0)
    if lost.any():
        raise ShapeError(
            f"query shape {int(np.argmax(lost))} is a hull without a shape of the model and without corners"
        )
    return QueryShapes(
        environment=wp.array(homes, dtype=wp.int32, device=device),
        kind=wp.array(kinds, dtype=wp.int32, device=device),
        size=wp.array(sizes, dtype=wp.vec3, device=device),
        hull=wp.array(hulls, dtype=wp.int32, device=device),
        corner_start=wp.array(starts, dtype=wp.int32, device=device),
        corner=wp.array(corners, dtype=wp.vec3, device=device),
        pose=wp.array(poses, dtype=wp.transform, device=device),
    )


def create_nearest_hits(count: int, device: Any = None) -> NearestHits:
    """Room for one hit of each of ``count`` query shapes."""
    return NearestHits(
        shape=wp.zeros(count, dtype=wp.int32, device=device),
        distance=wp.zeros(count, dtype=wp.float32, device=device),
        normal=wp.zeros(count, dtype=wp.vec3, device=device),
        point=wp.zeros(count, dtype=wp.vec3, device=device),
    )


def closest_points(
    model: Model,
    tree: QueryTree,
    body_pose: wp.array[wp.transform],
    shapes: QueryShapes,
    hits: NearestHits,
    *,
    limit: wp.array[wp.float32],
) -> None:
    """Find the shape of least separation within ``limit`` [length], [Q], of each query shape.

    Surfaces of triangle meshes count from both sides. A shape wholly inside of a signed distance field is as deep as
    its middle. Nothing is allocated or waited for.

    Raises:
        ArrayError: an array of another length than the query shapes.
    """
    _nearest(model, tree, body_pose, shapes, hits, limit, hits.normal, swept=0)


def sweep_shapes(
    model: Model,
    tree: QueryTree,
    body_pose: wp.array[wp.transform],
    shapes: QueryShapes,
    hits: NearestHits,
    *,
    direction: wp.array[wp.vec3],
    longest: wp.array[wp.float32],
) -> None:
    """Move each query shape along ``direction`` [Q] until it first touches something.

    A shape that touches at its start has distance 0. The motion is a translation of at
    most ``longest`` [length], [Q]. Nothing is allocated or waited for.

    Raises:
        ArrayError: an array of another length than the query shapes.
    """
    _nearest(model, tree, body_pose, shapes, hits, longest, direction, swept=1)


def _nearest(
    model: Model,
    tree: QueryTree,
    body_pose: Any,
    shapes: QueryShapes,
    hits: NearestHits,
    limit: Any,
    direction: Any,
    *,
    swept: int,
) -> None:
    count = len(shapes.kind)
    for name, array in (("limit", limit), ("direction", direction), ("hits", hits.shape)):
        if array.shape != (count,) or array.device != model.device:
            raise ArrayError(
                f"{name}: expected [{count}] on {model.device}, given {array.shape} on {array.device}"
            )
    wp.launch(
        kernels.query_nearest,
        dim=count,
        inputs=[*world_inputs(tree, body_pose), *query_inputs(shapes), direction, limit, swept],
        outputs=[hits.shape, hits.distance, hits.normal, hits.point],
        device=model.device,
        block_dim=BLOCK,
    )


def find_overlaps(
    model: Model,
    tree: QueryTree,
    body_pose: wp.array[wp.transform],
    shapes: QueryShapes,
    hits: RayHitLists,
) -> None:
    """List the shapes that each query shape overlaps, the deepest first, in one launch.

    ``hits.distance`` holds separations, negative or zero; ``hits.count`` more than the
    lists hold where the shallowest were dropped. A query shape wholly inside of a triangle
    mesh does not overlap its surface.

    Raises:
        ArrayError: lists for another number of query shapes.
    """
    count = len(shapes.kind)
    if len(hits.count) != count or hits.count.device != model.device:
        raise ArrayError(f"hits: expected {count} lists on {model.device}, given {len(hits.count)}")
    wp.launch(
        kernels.query_overlaps,
        dim=count,
        inputs=[*world_inputs(tree, body_pose), *query_inputs(shapes)],
        outputs=[hits.count, hits.shape, hits.distance, hits.normal, hits.triangle],
        device=model.device,
        block_dim=BLOCK,
    )


def world_inputs(tree: QueryTree, body_pose: Any) -> list[Any]:
    """What kernels read of a model and its tree."""
    return [tree.arrays, tree.shapes, body_pose]


def query_inputs(shapes: QueryShapes) -> list[Any]:
    """What kernels read of query shapes."""
    own = [shapes.hull, shapes.corner_start, shapes.corner]
    return [shapes.environment, shapes.kind, shapes.size, *own, shapes.pose]
