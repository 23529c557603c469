"""Contacts where shapes of fast bodies touch first in a step, in place of those of their start.

A contact at the start is a half space that holds for the whole step: a body that passes beside an edge hits it.
Meshes have a module of their own, :mod:`.swept_mesh`, which scenes without them never compile.
"""

import warp as wp

from .gather import body_transform
from .mesh_points import reduce_points
from .swept_pair import (
    HIT,
    Bodies,
    Extents,
    Manifold,
    Pair,
    find_convex_points,
    make_sweep,
    put_points,
    touch_convex,
)
from .walk import Shapes

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.func
def put_convex_points(
    p: Pair, at: float, slot: int, room: int, shapes: Shapes, extents: Extents, manifold_out: Manifold
) -> int:
    """Write the contacts of two convex shapes at the time of their touch; their number."""
    point = wp.zeros(shape=(4,), dtype=wp.vec4)
    normal = wp.zeros(shape=(4,), dtype=wp.vec3)
    name = wp.zeros(shape=(4,), dtype=wp.int32)
    total = find_convex_points(p, at, shapes, extents, point, normal, name)
    if total > room:
        total = reduce_points(total, room, 1.0e-4 * p.radius_o, point, normal, name)
    return put_points(p, at, slot, total, point, normal, name, manifold_out)


sweep_convex_pair = make_sweep("convex", touch_convex, put_convex_points)


@wp.kernel
def sweep_convex(
    family: wp.array[wp.int32],
    pair_item: wp.array[wp.vec4i],
    slot_start: wp.array[wp.int32],
    shapes: Shapes,
    extents: Extents,
    bodies: Bodies,
    made: int,
    # outputs
    manifold_out: Manifold,
    fate_out: wp.array[wp.int32],
    time_inout: wp.array[wp.float32],
):
    """One thread a pair of convex shapes, or of one and a plane; see :func:`~.swept_pair.make_sweep`."""
    pair = family[wp.tid()]
    if pair >= 0:
        sweep_convex_pair(
            pair, pair_item, slot_start, shapes, extents, bodies, made, manifold_out, fate_out, time_inout
        )


@wp.kernel
def fit_rest_distances(
    family: wp.array[wp.int32],
    slot_start: wp.array[wp.int32],
    fate: wp.array[wp.int32],
    count: wp.array[wp.int32],
    target: wp.array[wp.int32],
    body_pose: wp.array[wp.transform],
    body0: wp.array[wp.int32],
    body1: wp.array[wp.int32],
    anchor0: wp.array[wp.vec3],
    anchor1: wp.array[wp.vec3],
    normal: wp.array[wp.vec3],
    separation: wp.array[wp.float32],
    # outputs
    rest_distance_inout: wp.array[wp.float32],
):
    """One thread a pair: what turning adds to the way that is left comes off the distance of rest.

    Whoever solves the contact measures the distance of the anchors along the normal.
    """
    pair = family[wp.tid()]
    if pair < 0:
        return
    if fate[pair] != HIT:
        return
    for k in range(count[pair]):
        out = target[slot_start[pair] + k]
        if out >= 0:
            p0 = wp.transform_point(body_transform(body0[out], body_pose), anchor0[out])
            p1 = wp.transform_point(body_transform(body1[out], body_pose), anchor1[out])
            gap = wp.dot(normal[out], p0 - p1)
            rest_distance_inout[out] = rest_distance_inout[out] + (gap - separation[out])
