"""Closest points, overlaps and sweeps of convex query shapes against the shapes of all environments."""

import warp as wp

from .convex import convex_of
from .convex_pair import separate
from .gather import body_transform
from .mesh_cones import read_triangle
from .rays import PLANE, SDF, SPHERES, TRIANGLE_MESH, HitList, add_hit, start_list
from .solid_queries import depth_inside
from .support import CAPSULE, CONVEX_HULL, SPHERE, TRIANGLE, Convex, core_radius, support
from .walk import Shapes, Tree, make_walk

# A thread that walks two trees at once keeps a stack for each in shared memory; 256 threads would need more than a
# block has.
wp.set_module_options({"enable_backward": False, "max_unroll": 3, "block_dim": 128})

MOST_ADVANCES = wp.constant(64)
# Gap at which a sweep counts as touching, in radii of the query shape.
TOUCH = wp.constant(1.0e-5)
FAR = wp.constant(1.0e9)


@wp.struct
class Query:
    """One query shape in the frame of an environment, and how far it goes."""

    shape: Convex
    vertex: wp.array[wp.vec3]
    pose: wp.transform
    radius: float
    limit: float
    travel: wp.vec3
    swept: int


@wp.struct
class NearestShape:
    """Shape of the least separation so far, or the first that a sweep meets."""

    shape: int
    value: float
    normal: wp.vec3
    point: wp.vec3


@wp.func
def read_query(
    i: int,
    kind: wp.array[wp.int32],
    size: wp.array[wp.vec3],
    hull: wp.array[wp.int32],
    corner_start: wp.array[wp.int32],
    corner: wp.array[wp.vec3],
    pose: wp.array[wp.transform],
    shapes: Shapes,
) -> Query:
    """Query shape i; a hull is that of the model's shape ``hull[i]``, or of its own corners where that is −1."""
    q = Query()
    q.shape.kind = kind[i]
    q.shape.size = size[i]
    q.vertex = shapes.hull_vertex
    q.pose = pose[i]
    q.radius = wp.length(size[i])
    if kind[i] == CONVEX_HULL:
        if hull[i] < 0:
            q.vertex = corner
            q.shape.first_vertex = corner_start[i]
            q.shape.last_vertex = corner_start[i + 1]
        else:
            q.shape.first_vertex = shapes.shape_vertices[hull[i]][0]
            q.shape.last_vertex = shapes.shape_vertices[hull[i]][1]
            q.radius = shapes.shape_radius[hull[i]]
    elif kind[i] == CAPSULE:
        q.radius = size[i][0] + size[i][1]
    return q


@wp.func
def query_box(q: Query, x: wp.transform, travel: wp.vec3, reach: float):
    """Box about a query shape at pose ``x``, its travel and a reach."""
    low = wp.vec3()
    high = wp.vec3()
    r = wp.quat_to_matrix(wp.transform_get_rotation(x))
    t = wp.transform_get_translation(x)
    around = core_radius(q.shape) + reach
    for axis in range(3):
        d = wp.vec3()
        d[axis] = 1.0
        local = wp.transpose(r) * d
        slack = around + 1.0e-6 * (wp.abs(t[axis]) + q.radius)
        high[axis] = t[axis] + wp.dot(local, support(q.shape, q.vertex, local)) + slack
        low[axis] = t[axis] + wp.dot(local, support(q.shape, q.vertex, -local)) - slack
        high[axis] = high[axis] + wp.max(travel[axis], 0.0)
        low[axis] = low[axis] + wp.min(travel[axis], 0.0)
    return low, high


@wp.func(inline=False)
def piece_distance(
    piece: Convex,
    vertex: wp.array[wp.vec3],
    shape: Convex,
    hull_vertex: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    piece_radius: float,
    radius: float,
    limit: float,
):
    """Normal from a plane, triangle or convex shape to another shape, separation, and point on it.

    Args:
        radius: Radius of the other shape.
        limit: Distances above need not be exact.
    """
    n = wp.vec3(0.0, 0.0, 1.0)
    separation = float(0.0)
    point = wp.vec3()
    if piece.kind == PLANE:
        low = t + r * support(shape, hull_vertex, -(wp.transpose(r) * n))
        separation = low[2] - core_radius(shape)
        point = wp.vec3(low[0], low[1], 0.0)
    else:
        n, separation, point, _blur = separate(
            piece,
            shape,
            vertex,
            hull_vertex,
            r,
            t,
            limit,
            wp.min(piece_radius, wp.max(radius, 1.0e-3 * piece_radius)),
            piece_radius + radius,
        )
    return n, separation, point


@wp.func
def advance(
    piece: Convex,
    vertex: wp.array[wp.vec3],
    q: Query,
    r: wp.mat33,
    t: wp.vec3,
    piece_radius: float,
    d: wp.vec3,
):
    """Distance along ``d`` until the query touches a piece (infinite for never), normal and point.

    Conservative advancement [Mirtich 1996]: along the normal no step passes the surface.
    """
    at = float(0.0)
    n = wp.vec3()
    point = wp.vec3()
    for _step in range(MOST_ADVANCES):
        way, separation, on = piece_distance(
            piece, vertex, q.shape, q.vertex, r, t + d * at, piece_radius, q.radius, FAR
        )
        point = on
        touches = separation <= TOUCH * q.radius + 1.0e-6 * piece_radius
        # The normal of the last gap is better than that of a touch.
        if not touches or at == 0.0:
            n = way
        if touches:
            return at, n, point
        approach = -wp.dot(n, d)
        if approach <= 1.0e-6:
            return float(wp.inf), n, point
        at += separation / approach
        if at > q.limit:
            return float(wp.inf), n, point
    return at, n, point


@wp.func
def measure_piece(
    piece: Convex,
    vertex: wp.array[wp.vec3],
    q: Query,
    r: wp.mat33,
    t: wp.vec3,
    piece_radius: float,
    d: wp.vec3,
    swept: int,
):
    """Separation, or distance along a sweep: (value, normal, point)."""
    value = float(wp.inf)
    n = wp.vec3()
    point = wp.vec3()
    if swept != 0:
        value, n, point = advance(piece, vertex, q, r, t, piece_radius, d)
    else:
        n, value, point = piece_distance(
            piece, vertex, q.shape, q.vertex, r, t, piece_radius, q.radius, q.limit
        )
    return value, n, point


@wp.func
def inner_point(q: Query) -> wp.vec3:
    """A point of a query shape, in its frame: its middle, or a corner of a hull."""
    if q.shape.kind == CONVEX_HULL:
        return q.vertex[q.shape.first_vertex]
    return wp.vec3(0.0, 0.0, 0.0)


@wp.func
def measure_surface(
    shape: int, shapes: Shapes, q: Query, x: wp.transform, r: wp.mat33, t: wp.vec3, d: wp.vec3, swept: int
):
    """Value (see :func:`measure_piece`) of a triangle mesh, a height field or the surface of a field."""
    value = float(wp.inf)
    normal = wp.vec3()
    point = wp.vec3()
    corner = wp.zeros(shape=(3,), dtype=wp.vec3)
    piece = Convex()
    piece.kind = TRIANGLE
    piece.last_vertex = 3
    reach = wp.where(swept != 0, 0.0, q.limit)
    low, high = query_box(q, x, d * wp.where(swept != 0, q.limit, 0.0), reach)
    query = wp.mesh_query_aabb(shapes.shape_mesh[shape], low, high)
    triangle = int(0)
    while wp.mesh_query_aabb_next(query, triangle):
        base, longest = read_triangle(shapes.shape_mesh[shape], triangle, corner)
        v, n, p = measure_piece(piece, corner, q, r, t - base, longest, d, swept)
        if v < value:
            value = v
            normal = n
            point = p + base
    if shapes.shape_type[shape] == SDF:
        # A shape that is wholly inside touches no triangle.
        depth, out, on = depth_inside(shapes.shape_mesh[shape], wp.transform_point(x, inner_point(q)))
        if depth < 0.0 and swept != 0:
            value = 0.0
            normal = -d
            point = on
        elif depth - core_radius(q.shape) < value:
            value = depth - core_radius(q.shape)
            normal = out
            point = on
    return value, normal, point


@wp.func
def measure_solids(
    shape: int,
    shapes: Shapes,
    q: Query,
    r: wp.mat33,
    t: wp.vec3,
    d: wp.vec3,
    swept: int,
):
    """Value (see :func:`measure_piece`) of a plane or convex shape, or of the nearest sphere of a set.

    One loop for both: what it calls is long, and would be compiled twice.
    """
    value = float(wp.inf)
    normal = wp.vec3()
    point = wp.vec3()
    piece = convex_of(shape, shapes.shape_type, shapes.shape_size, shapes.shape_vertices, shapes.shape_faces)
    radius = shapes.shape_radius[shape]
    base = wp.vec3()
    first = int(0)
    end = int(1)
    is_set = piece.kind == SPHERES
    if is_set:
        first = shapes.shape_spheres[shape][0]
        end = shapes.shape_spheres[shape][1]
        piece.kind = SPHERE
    for k in range(first, end):
        if is_set:
            ball = shapes.sphere[k]
            base = wp.vec3(ball[0], ball[1], ball[2])
            piece.size = wp.vec3(ball[3], 0.0, 0.0)
            radius = ball[3]
        v, n, p = measure_piece(piece, shapes.hull_vertex, q, r, t - base, radius, d, swept)
        if v < value:
            value = v
            normal = n
            point = p + base
    return value, normal, point


@wp.func
def measure_row(
    row: int,
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    q: Query,
):
    """Value (see :func:`measure_piece`) of one shape, normal and point in the environment frame."""
    shape = shapes.row_shape[row]
    pose = body_transform(shapes.shape_body[shape], body_pose)
    turn = wp.transform_get_rotation(pose)
    local = shapes.local_pose[row]
    # The body origin is taken off first, which keeps digits far from the environment origin.
    between = wp.transform_get_translation(q.pose) - wp.transform_get_translation(pose)
    x = wp.transform_inverse(local) * wp.transform(
        wp.quat_rotate_inv(turn, between), wp.quat_inverse(turn) * wp.transform_get_rotation(q.pose)
    )
    full = turn * wp.transform_get_rotation(local)
    d = wp.quat_rotate_inv(full, q.travel)
    r = wp.quat_to_matrix(wp.transform_get_rotation(x))
    t = wp.transform_get_translation(x)
    value = float(wp.inf)
    normal = wp.vec3()
    point = wp.vec3()
    kind = shapes.shape_type[shape]
    if kind >= TRIANGLE_MESH and kind != SPHERES:
        value, normal, point = measure_surface(shape, shapes, q, x, r, t, d, q.swept)
    else:
        value, normal, point = measure_solids(shape, shapes, q, r, t, d, q.swept)
    on = wp.transform_get_translation(pose) + wp.quat_rotate(turn, wp.transform_point(local, point))
    return value, wp.quat_rotate(full, normal), on


@wp.func
def visit_nearest(
    row: int, shapes: Shapes, body_pose: wp.array[wp.transform], q: Query, found: NearestShape
) -> NearestShape:
    """Keep the shape of the least value, ties to the lower one."""
    v, n, p = measure_row(row, shapes, body_pose, q)
    shape = shapes.row_shape[row]
    if v < found.value or (v == found.value and (found.shape < 0 or shape < found.shape)):
        found.value = v
        found.shape = shape
        found.normal = n
        found.point = p
    return found


@wp.func
def visit_overlap(
    row: int, shapes: Shapes, body_pose: wp.array[wp.transform], q: Query, found: HitList
) -> HitList:
    """Add a shape that a query overlaps to a list."""
    v, n, _p = measure_row(row, shapes, body_pose, q)
    if v <= 0.0:
        add_hit(found, shapes.row_shape[row], v, n, -1)
        found.count += 1
    return found


walk_nearest = make_walk("nearest_shape", visit_nearest, along_ray=False)
walk_overlaps = make_walk("overlaps", visit_overlap, along_ray=False)


@wp.kernel
def query_nearest(
    tree: Tree,
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    environment: wp.array[wp.int32],
    kind: wp.array[wp.int32],
    size: wp.array[wp.vec3],
    hull: wp.array[wp.int32],
    corner_start: wp.array[wp.int32],
    corner: wp.array[wp.vec3],
    pose: wp.array[wp.transform],
    direction: wp.array[wp.vec3],
    limit: wp.array[wp.float32],
    swept: int,
    # outputs
    shape_out: wp.array[wp.int32],
    distance_out: wp.array[wp.float32],
    normal_out: wp.array[wp.vec3],
    point_out: wp.array[wp.vec3],
):
    """One thread a query: the shape of least separation, or the first that a sweep meets."""
    i = wp.tid()
    q = read_query(i, kind, size, hull, corner_start, corner, pose, shapes)
    q.limit = limit[i]
    q.swept = swept
    reach = limit[i]
    if swept != 0:
        q.travel = wp.normalize(direction[i])
        reach = 0.0
    found = NearestShape()
    found.value = limit[i]
    found.shape = int(-1)
    low, high = query_box(q, q.pose, q.travel * limit[i], reach)
    found = walk_nearest(tree, environment[i], low, high, shapes, body_pose, q, found)
    shape_out[i] = found.shape
    distance_out[i] = wp.where(found.shape < 0, wp.inf, found.value)
    normal_out[i] = found.normal
    point_out[i] = found.point


@wp.kernel
def query_overlaps(
    tree: Tree,
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    environment: wp.array[wp.int32],
    kind: wp.array[wp.int32],
    size: wp.array[wp.vec3],
    hull: wp.array[wp.int32],
    corner_start: wp.array[wp.int32],
    corner: wp.array[wp.vec3],
    pose: wp.array[wp.transform],
    # outputs
    count_out: wp.array[wp.int32],
    shape_out: wp.array2d[wp.int32],
    separation_out: wp.array2d[wp.float32],
    normal_out: wp.array2d[wp.vec3],
    triangle_out: wp.array2d[wp.int32],
):
    """One thread a query: all shapes it overlaps, the deepest first."""
    i = wp.tid()
    q = read_query(i, kind, size, hull, corner_start, corner, pose, shapes)
    low, high = query_box(q, q.pose, wp.vec3(), 0.0)
    found = start_list(i, shape_out, separation_out, normal_out, triangle_out)
    found = walk_overlaps(tree, environment[i], low, high, shapes, body_pose, q, found)
    count_out[i] = found.count
