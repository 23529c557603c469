"""Batched ray casts against the shapes of a model."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import warp as wp

from ._kernels import rays as kernels
from ._kernels import walk
from .errors import ArrayError
from .model import Model
from .shapes import ShapeType


@dataclasses.dataclass
class QueryTree:
    """Boxes of all shapes of all environments; made by :func:`create_query_tree`.

    Attributes:
        row: int32 [N], rows of ``Model.local_pose``, without planes, by environment.
        plane_start: int32 [E + 1], planes of each environment.
        plane_row: int32, their rows of ``Model.local_pose``.
        lower, upper: vec3 [N], boxes in the environment frames [length].
        bvh: Tree, grouped by environment.
        shapes: Arrays of the model that the kernels read.
        arrays: Those of the tree.
        two_sided: int32 [S], zeros.
    """

    row: wp.array[wp.int32]
    plane_start: wp.array[wp.int32]
    plane_row: wp.array[wp.int32]
    lower: wp.array[wp.vec3]
    upper: wp.array[wp.vec3]
    bvh: wp.Bvh
    shapes: Any
    arrays: Any
    two_sided: wp.array[wp.int32]


@dataclasses.dataclass
class RayHits:
    """Nearest hits of R rays.

    Attributes:
        shape: int32 [R], flat shape, −1 for none.
        distance: float [R], along the ray, infinite for none [length].
        normal: vec3 [R], surface normal, environment frame; against the ray where it starts inside.
        triangle: int32 [R], triangle of a mesh, else −1.
    """

    shape: wp.array[wp.int32]
    distance: wp.array[wp.float32]
    normal: wp.array[wp.vec3]
    triangle: wp.array[wp.int32]


@dataclasses.dataclass
class RayHitLists:
    """Hits of R rays with every shape, nearest first, at most K each.

    Attributes:
        count: int32 [R], shapes hit; more than K where the farthest were dropped.
        shape: int32 [R, K], −1 behind the last.
        distance: float [R, K], infinite behind the last [length].
        normal: vec3 [R, K].
        triangle: int32 [R, K], triangle of a mesh, else −1.
    """

    count: wp.array[wp.int32]
    shape: wp.array2d[wp.int32]
    distance: wp.array2d[wp.float32]
    normal: wp.array2d[wp.vec3]
    triangle: wp.array2d[wp.int32]


def create_query_tree(model: Model, body_pose: wp.array[wp.transform]) -> QueryTree:
    """Build the tree of a model for given poses; :func:`update_query_tree` follows other poses."""
    kind = model.shape_type.numpy()
    shape = model.row_shape.numpy()
    home = model.row_environment.numpy().astype(np.int64)
    rows = np.arange(len(shape))
    # The first rows of shared shapes stand for no environment; their copies do.
    used = (rows >= model.shape_count) | (model.shape_environment.numpy()[shape] >= 0)
    is_plane = kind[shape] == ShapeType.PLANE
    solid = rows[used & ~is_plane]
    solid = solid[np.argsort(home[solid], kind="stable")]
    planes = rows[used & is_plane]
    planes = planes[np.argsort(home[planes], kind="stable")]
    start = np.searchsorted(home[planes], np.arange(model.environment_count + 1))

    def put(data: Any, dtype: Any) -> Any:
        return wp.array(np.ascontiguousarray(data), dtype=dtype, device=model.device)

    count = max(len(solid), 1)
    lower = wp.zeros(count, dtype=wp.vec3, device=model.device)
    upper = wp.zeros(count, dtype=wp.vec3, device=model.device)
    # An empty tree is one box of a group that no environment has.
    groups = home[solid] if len(solid) else np.array([model.environment_count])
    row = put(solid, wp.int32)
    _bound(model, row, body_pose, lower, upper)
    arrays = walk.Tree()
    bvh = wp.Bvh(lower, upper, groups=put(groups, wp.int32))
    arrays.bvh, arrays.row = bvh.id, row
    arrays.plane_start, arrays.plane_row = put(start, wp.int32), put(planes, wp.int32)
    return QueryTree(
        row=row,
        plane_start=arrays.plane_start,
        plane_row=arrays.plane_row,
        lower=lower,
        upper=upper,
        bvh=bvh,
        shapes=shape_arrays(model),
        arrays=arrays,
        two_sided=wp.zeros(model.shape_count, dtype=wp.int32, device=model.device),
    )


def shape_arrays(model: Model) -> Any:
    """Arrays of a model that queries read, as one struct."""
    shapes = walk.Shapes()
    for name in (
        "shape_type",
        "shape_body",
        "shape_size",
        "shape_radius",
        "shape_vertices",
        "shape_faces",
        "shape_mesh",
        "shape_spheres",
        "sphere",
        "hull_vertex",
        "face_range",
        "face_normal",
        "face_vertex",
        "row_shape",
        "local_pose",
    ):
        setattr(shapes, name, getattr(model, name))
    return shapes


def _bound(model: Model, row: Any, body_pose: Any, lower: Any, upper: Any) -> None:
    if len(body_pose) < model.body_count or body_pose.device != model.device:
        raise ArrayError(f"body_pose: expected {model.body_count} bodies on {model.device}")
    wp.launch(
        kernels.bound_rows,
        dim=len(row),
        inputs=[
            row,
            model.row_shape,
            model.shape_half,
            model.shape_body,
            model.shape_center,
            model.local_pose,
            body_pose,
        ],
        outputs=[lower, upper],
        device=model.device,
    )


def update_query_tree(
    tree: QueryTree, model: Model, body_pose: wp.array[wp.transform], *, rebuild: bool = False
) -> None:
    """Follow new poses; allocates nothing and never waits.

    Args:
        rebuild: Sort the tree anew, for bodies that have changed their neighbours.
    """
    _bound(model, tree.row, body_pose, tree.lower, tree.upper)
    if rebuild:
        tree.bvh.rebuild()
    else:
        tree.bvh.refit()


def create_ray_hits(count: int, device: Any = None) -> RayHits:
    """Room for the nearest hits of ``count`` rays."""
    return RayHits(
        shape=wp.zeros(count, dtype=wp.int32, device=device),
        distance=wp.zeros(count, dtype=wp.float32, device=device),
        normal=wp.zeros(count, dtype=wp.vec3, device=device),
        triangle=wp.zeros(count, dtype=wp.int32, device=device),
    )


def create_ray_hit_lists(count: int, most: int, device: Any = None) -> RayHitLists:
    """Room for ``most`` hits of each of ``count`` rays.

    Raises:
        ArrayError: ``most`` is not positive.
    """
    if most < 1:
        raise ArrayError(f"a list of hits needs room for at least one, given {most}")
    return RayHitLists(
        count=wp.zeros(count, dtype=wp.int32, device=device),
        shape=wp.zeros((count, most), dtype=wp.int32, device=device),
        distance=wp.zeros((count, most), dtype=wp.float32, device=device),
        normal=wp.zeros((count, most), dtype=wp.vec3, device=device),
        triangle=wp.zeros((count, most), dtype=wp.int32, device=device),
    )


def cast_rays(
    model: Model,
    tree: QueryTree,
    body_pose: wp.array[wp.transform],
    hits: RayHits | RayHitLists,
    *,
    environment: wp.array[wp.int32],
    origin: wp.array[wp.vec3],
    direction: wp.array[wp.vec3],
    longest: wp.array[wp.float32],
    any_hit: bool = False,
    one_sided: wp.array[wp.int32] | None = None,
) -> None:
    """Cast rays in one launch; a ray that starts in a solid shape hits it at distance 0.

    Triangle meshes are hit from both sides where ``one_sided`` does not say otherwise; signed distance fields are hit at
    their surface, and are solid. Nothing is allocated or waited for.

    Args:
        model: Shapes.
        tree: Their boxes at ``body_pose``.
        body_pose: Poses of the bodies, as in :func:`collide`.
        hits: Overwritten: the nearest hit of each ray, or the lists of all.
        environment: Environment of each ray, shape [R].
        origin: Start [length], environment frame, shape [R].
        direction: Direction, not zero; its length does not matter, shape [R].
        longest: Greatest distance [length], shape [R].
        any_hit: With :class:`RayHits`: stop at some hit, not the nearest.
        one_sided: 1 for triangle meshes and height fields whose back sides let rays through, shape [S].

    Raises:
        ArrayError: an array of another length than the hits, or the shapes.
    """
    count = len(hits.shape)
    sides = tree.two_sided if one_sided is None else one_sided
    if sides.shape != (model.shape_count,) or sides.device != model.device:
        raise ArrayError(f"one_sided: expected [{model.shape_count}] on {model.device}, given {sides.shape}")
    for name, array in (
        ("environment", environment),
        ("origin", origin),
        ("direction", direction),
        ("longest", longest),
    ):
        if array.shape != (count,) or array.device != model.device:
            raise ArrayError(
                f"{name}: expected [{count}] on {model.device}, given {array.shape} on {array.device}"
            )
    inputs = [
        tree.arrays,
        tree.shapes,
        body_pose,
        sides,
        environment,
        origin,
        direction,
        longest,
    ]
    if isinstance(hits, RayHits):
        kernel, inputs = kernels.cast_closest, [*inputs, int(any_hit)]
        outputs = [hits.shape, hits.distance, hits.normal, hits.triangle]
    else:
        kernel = kernels.cast_all
        outputs = [hits.count, hits.shape, hits.distance, hits.normal, hits.triangle]
    wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=model.device)
