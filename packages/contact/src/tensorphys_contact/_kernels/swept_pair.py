"""Two shapes on bodies that move through a step: whether and where they touch first."""

import warp as wp

from .convex import convex_of
from .convex_pair import convex_manifold
from .gather import frame_between, store_point
from .mesh_cones import read_triangle
from .motion import NEVER, Mover, first_touch, mover_of, mover_pose, point_way
from .rays import PLANE
from .support import BOX, TRIANGLE, Convex
from .walk import Shapes

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# What became of a pair.
FAR_APART = wp.constant(0)
SLOW = wp.constant(1)
MISSED = wp.constant(2)
HIT = wp.constant(3)
# Part of its least half extent by which a shape may sink in through a step; what goes further is taken back.
PAST = wp.constant(0.25)


@wp.struct
class Bodies:
    """Bodies of a model in a step; see ``SweptPairs``."""

    pose: wp.array[wp.transform]
    com: wp.array[wp.vec3]
    motion: wp.array[wp.spatial_vector]
    swept: wp.array[wp.int32]
    offset: wp.array[wp.float32]


@wp.struct
class Manifold:
    """Where the narrow phase keeps contact points; see ``Manifolds``."""

    count: wp.array[wp.int32]
    anchor: wp.array[wp.vec3]
    normal: wp.array[wp.vec3]
    separation: wp.array[wp.float32]
    feature: wp.array[wp.int32]


@wp.struct
class Extents:
    """Bounds and offsets of shapes, and folds of meshes, that :class:`Shapes` does not have."""

    shape_center: wp.array[wp.vec3]
    shape_radius: wp.array[wp.float32]
    shape_half: wp.array[wp.vec3]
    rest_offset: wp.array[wp.float32]
    shape_fold: wp.array[wp.int32]
    triangle_fold: wp.array[wp.vec3]
    triangle_neighbour: wp.array[wp.vec3i]


@wp.struct
class Pair:
    """Two shapes, o convex, on two moving bodies."""

    f: int
    o: int
    body_f: int
    body_o: int
    mover_f: Mover
    mover_o: Mover
    local_f: wp.transform
    local_o: wp.transform
    convex_o: Convex
    center_o: wp.vec3
    radius_o: float
    goal: float
    near: float


@wp.func
def pair_of(item: wp.vec4i, shapes: Shapes, extents: Extents, bodies: Bodies) -> Pair:
    """Read a pair."""
    p = Pair()
    p.f = item[0]
    p.o = item[1]
    p.body_f = shapes.shape_body[p.f]
    p.body_o = shapes.shape_body[p.o]
    p.local_f = shapes.local_pose[item[2]]
    p.local_o = shapes.local_pose[item[3]]
    p.mover_o = mover_of(
        p.body_o,
        bodies.pose,
        bodies.com,
        bodies.motion,
        p.local_o,
        extents.shape_center[p.o],
        extents.shape_radius[p.o],
    )
    p.mover_f = mover_of(
        p.body_f,
        bodies.pose,
        bodies.com,
        bodies.motion,
        p.local_f,
        extents.shape_center[p.f],
        extents.shape_radius[p.f],
    )
    if shapes.shape_type[p.f] == PLANE:
        # Of a plane the part counts that the other shape may reach.
        p.mover_f.reach = wp.length(p.mover_o.center - p.mover_f.center) + p.mover_o.reach
        p.mover_f.reach += wp.length(p.mover_o.way - p.mover_f.way)
    p.convex_o = convex_of(
        p.o, shapes.shape_type, shapes.shape_size, shapes.shape_vertices, shapes.shape_faces
    )
    p.center_o = extents.shape_center[p.o]
    p.radius_o = extents.shape_radius[p.o]
    p.goal = extents.rest_offset[p.f] + extents.rest_offset[p.o]
    p.near = bodies.offset[p.f] + bodies.offset[p.o]
    return p


@wp.func
def is_swept(item: wp.vec4i, shapes: Shapes, bodies: Bodies) -> bool:
    """Whether one of two bodies asks for it."""
    asked = int(0)
    for side in range(2):
        body = shapes.shape_body[item[side]]
        if body >= 0:
            asked += bodies.swept[body]
    return asked > 0


@wp.func
def is_slow(p: Pair) -> bool:
    """Whether two shapes cannot come nearer in the step than their contact offsets allow for."""
    way = wp.length(p.mover_o.way - p.mover_f.way)
    way += wp.length(p.mover_o.spin) * p.mover_o.reach + wp.length(p.mover_f.spin) * p.mover_f.reach
    return way <= p.near


@wp.func
def touch_convex(p: Pair, shapes: Shapes, extents: Extents, slack: float) -> float:
    """First touch of two convex shapes, or of one with a plane; see :func:`first_touch`."""
    piece = convex_of(p.f, shapes.shape_type, shapes.shape_size, shapes.shape_vertices, shapes.shape_faces)
    radius = extents.shape_radius[p.f]
    if piece.kind == PLANE:
        radius = p.radius_o
    return first_touch(
        piece,
        shapes.hull_vertex,
        p.convex_o,
        shapes.hull_vertex,
        p.mover_f,
        p.mover_o,
        p.local_f,
        p.local_o,
        wp.vec3(),
        radius,
        p.radius_o,
        p.goal,
        slack,
        1.0,
    )


@wp.func
def swept_box(p: Pair, extents: Extents):
    """Box about the way of shape o in the frame of shape f."""
    _r, t, _q = frame_between(mover_pose(p.mover_f, 0.0), mover_pose(p.mover_o, 0.0), p.local_f, p.local_o)
    turn = p.mover_f.turn * wp.transform_get_rotation(p.local_f)
    way = wp.quat_rotate_inv(turn, p.mover_o.way - p.mover_f.way)
    around = p.radius_o + wp.length(extents.shape_center[p.o]) + wp.max(p.goal, 0.0)
    around += 1.0e-5 * (p.radius_o + wp.length(way))
    spin = wp.length(p.mover_f.spin)
    around += wp.min(wp.length(p.mover_o.spin), 2.0) * wp.max(p.mover_o.reach, p.radius_o)
    if spin > 0.0:
        # Seen from a body that turns the way is bent.
        between = wp.length(p.mover_o.center - p.mover_f.center) + wp.length(way)
        around += wp.min(spin, 2.0) * (between + p.mover_o.reach)
    low = wp.vec3()
    high = wp.vec3()
    for axis in range(3):
        low[axis] = t[axis] + wp.min(way[axis], 0.0) - around
        high[axis] = t[axis] + wp.max(way[axis], 0.0) + around
    return low, high


@wp.func
def is_before(p: Pair, at: float, corner: wp.vec3, m: wp.vec3) -> bool:
    """Whether the middle of shape o is on the front side of a triangle at a time; what is behind does not hit it."""
    x_f = mover_pose(p.mover_f, at)
    r, t, _q = frame_between(x_f, mover_pose(p.mover_o, at), p.local_f, p.local_o)
    return wp.dot(t + r * p.center_o - corner, m) >= 0.0


@wp.func
def touch_mesh(p: Pair, shapes: Shapes, extents: Extents, slack: float) -> float:
    """First touch of a convex shape with the front of a mesh; see :func:`first_touch`."""
    corner = wp.zeros(shape=(3,), dtype=wp.vec3)
    piece = Convex()
    piece.kind = TRIANGLE
    piece.last_vertex = 3
    best = float(NEVER)
    low, high = swept_box(p, extents)
    query = wp.mesh_query_aabb(shapes.shape_mesh[p.f], low, high)
    triangle = int(0)
    while wp.mesh_query_aabb_next(query, triangle):
        base, longest = read_triangle(shapes.shape_mesh[p.f], triangle, corner)
        m = wp.cross(corner[1], corner[2])
        area = wp.length(m)
        if area > 1.0e-7 * longest * longest:
            at = first_touch(
                piece,
                corner,
                p.convex_o,
                shapes.hull_vertex,
                p.mover_f,
                p.mover_o,
                p.local_f,
                p.local_o,
                base,
                longest,
                p.radius_o,
                p.goal,
                slack,
                wp.min(best, 1.0),
            )
            if at < best and is_before(p, at, base, m / area):
                best = at
    return best


@wp.func
def put_points(
    p: Pair,
    at: float,
    slot: int,
    total: int,
    point: wp.array[wp.vec4],
    normal: wp.array[wp.vec3],
    name: wp.array[wp.int32],
    manifold: Manifold,
) -> int:
    """Write contact points of the time of the touch as the solver needs them at the start; returns their number.

    The arms of a contact are those of the touch. Its separation is the way that is left along its own velocity,
    so that it vanishes at the touch, whatever the bodies turn by until then.
    """
    x_f = mover_pose(p.mover_f, at)
    _r, t, q = frame_between(x_f, mover_pose(p.mover_o, at), p.local_f, p.local_o)
    turn = wp.transform_get_rotation(x_f) * wp.transform_get_rotation(p.local_f)
    deepest = int(0)
    for k in range(total):
        if point[k][3] < point[deepest][3]:
            deepest = k
    count = int(0)
    for k in range(total):
        on = wp.vec3(point[k][0], point[k][1], point[k][2])
        gap = point[k][3]
        n = wp.quat_rotate(turn, normal[k])
        arm_f = wp.quat_rotate(
            wp.transform_get_rotation(x_f), wp.transform_point(p.local_f, on) - p.mover_f.com
        )
        x_o = wp.transform_point(p.local_o, wp.quat_rotate_inv(q, on + normal[k] * gap - t))
        turn_o = wp.transform_get_rotation(mover_pose(p.mover_o, at))
        arm_o = wp.quat_rotate(turn_o, x_o - p.mover_o.com)
        rate = wp.dot(n, point_way(p.mover_o, arm_o) - point_way(p.mover_f, arm_f))
        if rate <= 0.0 or k == deepest:
            # Where they come nearer by turning alone, the points of the touch overlap at the start: they are parted.
            overlap = wp.min(gap - at * wp.dot(n, p.mover_o.way - p.mover_f.way), 0.0)
            part_f = wp.where(wp.length_sq(p.mover_f.spin) <= wp.length_sq(p.mover_o.spin), overlap, 0.0)
            store_point(
                slot + count,
                wp.where(p.f < p.o, 0, 1),
                p.mover_f.com + wp.quat_rotate_inv(p.mover_f.turn, arm_f + n * part_f),
                p.mover_o.com + wp.quat_rotate_inv(p.mover_o.turn, arm_o - n * (overlap - part_f)),
                n,
                gap - at * wp.min(rate, 0.0),
                name[k],
                manifold.anchor,
                manifold.normal,
                manifold.separation,
                manifold.feature,
            )
            count += 1
    return count


@wp.func
def find_convex_points(
    p: Pair,
    at: float,
    shapes: Shapes,
    extents: Extents,
    point: wp.array[wp.vec4],
    normal: wp.array[wp.vec3],
    name: wp.array[wp.int32],
) -> int:
    """Manifold of two convex shapes, or of one and a plane, at the time of the touch."""
    r, t, _q = frame_between(mover_pose(p.mover_f, at), mover_pose(p.mover_o, at), p.local_f, p.local_o)
    piece = convex_of(p.f, shapes.shape_type, shapes.shape_size, shapes.shape_vertices, shapes.shape_faces)
    radius = extents.shape_radius[p.f]
    base = wp.vec3()
    if piece.kind == PLANE:
        # The top of a box below the shape.
        piece.kind = BOX
        piece.size = wp.vec3(2.0, 2.0, 2.0) * p.radius_o
        base = wp.vec3(t[0], t[1], -piece.size[2])
        radius = wp.length(piece.size)
    points, names, face, last = convex_manifold(
        piece,
        p.convex_o,
        shapes.hull_vertex,
        shapes.hull_vertex,
        shapes.face_range,
        shapes.face_normal,
        shapes.face_vertex,
        r,
        t - base,
        p.near,
        wp.min(radius, p.radius_o),
        radius + p.radius_o,
    )
    count = int(0)
    for k in range(4):
        if names[k] >= 0:
            point[count] = wp.vec4(
                points[k, 0] + base[0], points[k, 1] + base[1], points[k, 2] + base[2], points[k, 3]
            )
            normal[count] = wp.where(k == 3, last, face)
            name[count] = names[k]
            count += 1
    return count


@wp.func
def slack_of(p: Pair, extents: Extents, bodies: Bodies) -> float:
    """How far shapes of bodies that ask may sink in through a step: a part of the least half extent."""
    least = float(wp.inf)
    for side in range(2):
        body = wp.where(side == 0, p.body_f, p.body_o)
        half = extents.shape_half[wp.where(side == 0, p.f, p.o)]
        if body >= 0:
            if bodies.swept[body] == 1:
                least = wp.min(least, wp.min(half[0], wp.min(half[1], half[2])))
    return PAST * least


@wp.func
def hold(p: Pair, at: float, bodies: Bodies, time_inout: wp.array[wp.float32]):
    """Stop the time of the bodies of a pair that ask for it."""
    for side in range(2):
        body = wp.where(side == 0, p.body_f, p.body_o)
        if body >= 0:
            if bodies.swept[body] == 1:
                wp.atomic_min(time_inout, body, at)


def make_sweep(name: str, touch: wp.Function, put: wp.Function) -> wp.Function:
    """What becomes of one pair of a kind in a step, or became of it.

    Before a step (``made`` 0) a pair gets the contacts of its first touch along the expected motion, after it bodies
    are held back on the motion that they have made.

    Args:
        name: Name of the kind.
        touch: First touch, ``touch(p, shapes, extents, slack)``.
        put: Writes the contacts of a touch, ``put(p, at, slot, room, shapes, extents, manifold)``, and returns their
            number; without any, those of the start stay.
    """

    @wp.func(name=f"sweep_{name}")
    def sweep(
        pair: int,
        pair_item: wp.array[wp.vec4i],
        slot_start: wp.array[wp.int32],
        shapes: Shapes,
        extents: Extents,
        bodies: Bodies,
        made: int,
        manifold_out: Manifold,
        fate_out: wp.array[wp.int32],
        time_inout: wp.array[wp.float32],
    ):
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
            at = touch(p, shapes, extents, slack)
            through = wp.where(turn == 0, at, through)
            slack = 0.0
            turn = wp.where(at > 1.0, 2, turn + 1)
        if made == 1 and through <= 1.0:
            hold(p, wp.where(at > 0.0, at, through), bodies, time_inout)
        if made == 1 or at == 0.0:
            return
        if at > 1.0:
            fate_out[pair] = MISSED
            manifold_out.count[pair] = 0
            return
        slot = slot_start[pair]
        total = put(p, at, slot, slot_start[pair + 1] - slot, shapes, extents, manifold_out)
        if total > 0:
            manifold_out.count[pair] = total
            fate_out[pair] = HIT

    return sweep
