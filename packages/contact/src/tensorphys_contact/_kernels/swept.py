"""Contacts where shapes of fast bodies touch first in a step, in place of those of their start.

A contact at the start is a half space that holds for the whole step: a body that passes beside an edge hits it.
"""

import warp as wp

from .gather import body_transform, frame_between
from .mesh import gather_points
from .mesh_points import reduce_points, sort_by_name
from .motion import mover_pose
from .rays import Shapes
from .swept_pair import (
    FAR_APART,
    HIT,
    MISSED,
    SLOW,
    Bodies,
    Extents,
    Manifold,
    find_convex_points,
    hold,
    is_slow,
    is_swept,
    pair_of,
    put_points,
    slack_of,
    touch_convex,
    touch_mesh,
)

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


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
    """One thread a pair of convex shapes, or of one and a plane.

    Before a step (``made`` 0) it gets the contacts of its first touch along the expected motion, after it bodies
    are held back on the motion that they have made.
    """
    pair = family[wp.tid()]
    if pair < 0:
        return
    if made == 0:
        fate_out[pair] = wp.where(
            manifold_out.count[pair] > 0 and is_swept(pair_item[pair], shapes, bodies), SLOW, FAR_APART
        )
    if fate_out[pair] == FAR_APART:
        return
    p = pair_of(pair_item[pair], shapes, extents, bodies)
    if is_slow(p):
        return
    # After a step first whether it went through, then where the surface is.
    slack = slack_of(p, extents, bodies) * float(made)
    at = float(0.0)
    through = float(0.0)
    turn = int(0)
    while turn <= made:
        at = touch_convex(p, shapes, extents, slack)
        through = wp.where(turn == 0, at, through)
        slack = 0.0
        turn = wp.where(at > 1.0, 2, turn + 1)
    if made == 1 and through <= 1.0:
        hold(p, wp.where(at > 0.0, at, through), bodies, time_inout)
    if made == 1 or at == 0.0:
        return
    fate_out[pair] = MISSED
    if at > 1.0:
        manifold_out.count[pair] = 0
        return
    point = wp.zeros(shape=(4,), dtype=wp.vec4)
    normal = wp.zeros(shape=(4,), dtype=wp.vec3)
    name = wp.zeros(shape=(4,), dtype=wp.int32)
    total = find_convex_points(p, at, shapes, extents, point, normal, name)
    room = slot_start[pair + 1] - slot_start[pair]
    if total > room:
        total = reduce_points(total, room, 1.0e-4 * p.radius_o, point, normal, name)
    manifold_out.count[pair] = put_points(p, at, slot_start[pair], total, point, normal, name, manifold_out)
    fate_out[pair] = HIT


@wp.kernel
def sweep_meshes(
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
    """One thread a pair of a mesh and a convex shape; as :func:`sweep_convex`."""
    pair = family[wp.tid()]
    if pair < 0:
        return
    if made == 0:
        fate_out[pair] = wp.where(
            manifold_out.count[pair] > 0 and is_swept(pair_item[pair], shapes, bodies), SLOW, FAR_APART
        )
    if fate_out[pair] == FAR_APART:
        return
    p = pair_of(pair_item[pair], shapes, extents, bodies)
    if is_slow(p):
        return
    # After a step first whether it went through, then where the surface is.
    slack = slack_of(p, extents, bodies) * float(made)
    at = float(0.0)
    through = float(0.0)
    turn = int(0)
    while turn <= made:
        at = touch_mesh(p, shapes, extents, slack)
        through = wp.where(turn == 0, at, through)
        slack = 0.0
        turn = wp.where(at > 1.0, 2, turn + 1)
    if made == 1 and through <= 1.0:
        hold(p, wp.where(at > 0.0, at, through), bodies, time_inout)
    if made == 1 or at == 0.0:
        return
    fate_out[pair] = MISSED
    if at > 1.0:
        manifold_out.count[pair] = 0
        return
    point = wp.zeros(shape=(64,), dtype=wp.vec4)
    normal = wp.zeros(shape=(64,), dtype=wp.vec3)
    name = wp.zeros(shape=(64,), dtype=wp.int32)
    slot = slot_start[pair]
    room = slot_start[pair + 1] - slot
    r, t, _q = frame_between(mover_pose(p.mover_f, at), mover_pose(p.mover_o, at), p.local_f, p.local_o)
    total = gather_points(
        shapes.shape_mesh[p.f],
        extents.shape_fold[p.f],
        extents.triangle_fold,
        extents.triangle_neighbour,
        p.convex_o,
        shapes.hull_vertex,
        shapes.face_range,
        shapes.face_normal,
        shapes.face_vertex,
        r,
        t,
        p.near,
        p.radius_o,
        room,
        point,
        normal,
        name,
    )
    sort_by_name(total, point, normal, name)
    total = reduce_points(total, room, 1.0e-4 * p.radius_o, point, normal, name)
    # Where no triangle owns the touch, the points of the start stay.
    fate_out[pair] = SLOW
    if total > 0:
        manifold_out.count[pair] = put_points(p, at, slot, total, point, normal, name, manifold_out)
        fate_out[pair] = HIT


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
