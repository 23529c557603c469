"""Points against the shapes of their environment, and impulses on bodies summed in any order with one result."""

import warp as wp

from .distances import Geometry, solid_distance
from .gather import body_transform
from .sampled import Columns, solid_of

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# A surface that is solid behind is searched for from this many margins within it.
DEPTH = wp.constant(8.0)
# Offsets below are those of shapes that touch nothing.
UNREACHABLE = wp.constant(-1.0e10)
# Steps of one unit of an impulse: sums of integers do not depend on their order.
STEPS = wp.constant(wp.float64(68719476736.0))
LARGEST = wp.constant(wp.float64(6.7e7))


@wp.func
def to_steps(value: float) -> wp.int64:
    """A number as an integer of 2⁻³⁶; nothing for what is not finite."""
    if not wp.isfinite(value):
        return wp.int64(0)
    return wp.int64(wp.rint(wp.clamp(wp.float64(value), -LARGEST, LARGEST) * STEPS))


@wp.func
def from_steps(value: wp.int64) -> float:
    """Inverse of :func:`to_steps`."""
    return float(wp.float64(value) / STEPS)


@wp.func
def distance_to_row(
    row: int,
    shape: int,
    columns: Columns,
    geometry: Geometry,
    body_pose: wp.array[wp.transform],
    x: wp.vec3,
    reach: float,
):
    """(distance, normal) of a point from a shape, environment frame."""
    s = solid_of(columns, shape)
    s.reach = reach
    pose = body_transform(columns.shape_body[shape], body_pose)
    turn = wp.transform_get_rotation(pose)
    local = columns.local_pose[row]
    # The body origin is taken off first, which keeps digits far from the environment origin.
    p = wp.quat_rotate_inv(turn, x - wp.transform_get_translation(pose))
    v = solid_distance(geometry, s, wp.transform_point(wp.transform_inverse(local), p))
    n = wp.quat_rotate(turn * wp.transform_get_rotation(local), wp.vec3(v[1], v[2], v[3]))
    return wp.vec4(v[0], n[0], n[1], n[2])


@wp.func
def insert_row(
    i: int,
    count: int,
    shape: int,
    x: wp.vec3,
    v: wp.vec4,
    shape_inout: wp.array2d[wp.int32],
    normal_inout: wp.array2d[wp.vec3],
    point_inout: wp.array2d[wp.vec3],
    distance_inout: wp.array2d[wp.float32],
) -> int:
    """Put a row into the list of a point, the nearest first and equals by shape; returns the new count."""
    room = shape_inout.shape[1]
    place = int(count)
    while place > 0:
        before = distance_inout[i, place - 1]
        if before < v[0] or (before == v[0] and shape_inout[i, place - 1] < shape):
            break
        place -= 1
    if place >= room:
        return count
    last = wp.min(count, room - 1)
    for step in range(last - place):
        k = last - step
        shape_inout[i, k] = shape_inout[i, k - 1]
        normal_inout[i, k] = normal_inout[i, k - 1]
        point_inout[i, k] = point_inout[i, k - 1]
        distance_inout[i, k] = distance_inout[i, k - 1]
    n = wp.vec3(v[1], v[2], v[3])
    shape_inout[i, place] = shape
    normal_inout[i, place] = n
    point_inout[i, place] = x - v[0] * n
    distance_inout[i, place] = v[0]
    return wp.min(count + 1, room)


@wp.func
def may_touch(shape: int, contact_offset: wp.array[wp.float32], body: int, ignored: int) -> bool:
    """Whether a shape is in the simulation and the point does not ignore its body."""
    return contact_offset[shape] > UNREACHABLE and (body < 0 or body != ignored)


@wp.kernel
def collide_points(
    bvh: wp.uint64,
    row: wp.array[wp.int32],
    plane_start: wp.array[wp.int32],
    plane_row: wp.array[wp.int32],
    row_shape: wp.array[wp.int32],
    columns: Columns,
    geometry: Geometry,
    contact_offset: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    environment: wp.array[wp.int32],
    ignored_body: wp.array[wp.int32],
    position: wp.array[wp.vec3],
    margin: wp.array[wp.float32],
    # outputs
    count_out: wp.array[wp.int32],
    shape_out: wp.array2d[wp.int32],
    normal_out: wp.array2d[wp.vec3],
    point_out: wp.array2d[wp.vec3],
    distance_out: wp.array2d[wp.float32],
    needed_inout: wp.array[wp.int32],
):
    """One point: its nearest shapes within its margin."""
    i = wp.tid()
    x = position[i]
    reach = margin[i]
    count = int(0)
    found = int(0)
    if reach >= 0.0 and wp.isfinite(wp.length_sq(x)):
        e = environment[i]
        for k in range(plane_start[e], plane_start[e + 1]):
            shape = row_shape[plane_row[k]]
            if may_touch(shape, contact_offset, columns.shape_body[shape], ignored_body[i]):
                v = distance_to_row(plane_row[k], shape, columns, geometry, body_pose, x, reach)
                if v[0] <= reach:
                    found += 1
                    count = insert_row(i, count, shape, x, v, shape_out, normal_out, point_out, distance_out)
        root = wp.bvh_get_group_root(bvh, e)
        if root >= 0:
            wide = wp.vec3(reach, reach, reach)
            query = wp.bvh_query_aabb(bvh, x - wide, x + wide, root)
            j = int(0)
            while wp.bvh_query_next(query, j):
                shape = row_shape[row[j]]
                if may_touch(shape, contact_offset, columns.shape_body[shape], ignored_body[i]):
                    v = distance_to_row(row[j], shape, columns, geometry, body_pose, x, (1.0 + DEPTH) * reach)
                    if v[0] <= reach and wp.isfinite(wp.dot(v, v)):
                        found += 1
                        count = insert_row(
                            i, count, shape, x, v, shape_out, normal_out, point_out, distance_out
                        )
    count_out[i] = count
    if found > count:
        wp.atomic_max(needed_inout, 0, found)


@wp.func
def add_impulse(sums: wp.array2d[wp.int64], body: int, impulse: wp.vec3, moment: wp.vec3):
    """Add an impulse and its moment to the sum of a body."""
    for k in range(3):
        wp.atomic_add(sums, body, k, to_steps(impulse[k]))
        wp.atomic_add(sums, body, 3 + k, to_steps(moment[k]))


@wp.kernel
def take_sums(
    # outputs
    sums_inout: wp.array2d[wp.int64],
    impulse_out: wp.array[wp.spatial_vector],
):
    """Sum of a body as numbers; the sum begins anew."""
    b = wp.tid()
    v = wp.spatial_vector()
    for k in range(6):
        v[k] = from_steps(sums_inout[b, k])
        sums_inout[b, k] = wp.int64(0)
    impulse_out[b] = v


@wp.kernel
def fill_obstacles(
    columns: Columns,
    dynamic_friction: wp.array[wp.float32],
    count: wp.array[wp.int32],
    shape: wp.array2d[wp.int32],
    normal: wp.array2d[wp.vec3],
    body_com: wp.array[wp.vec3],
    body_velocity: wp.array[wp.spatial_vector],
    body_response: wp.array[wp.spatial_matrix],
    # outputs
    point_inout: wp.array2d[wp.vec3],
    velocity_out: wp.array2d[wp.vec3],
    friction_out: wp.array2d[wp.float32],
    response_out: wp.array2d[wp.float32],
    touching_inout: wp.array[wp.int32],
):
    """Friction, velocity and effective inverse mass of the rows of a point; counts the rows of each body."""
    i = wp.tid()
    for c in range(count[i]):
        s = shape[i, c]
        body = columns.shape_body[s]
        v = wp.vec3()
        w = float(0.0)
        if body >= 0:
            arm = point_inout[i, c] - body_com[body]
            twist = body_velocity[body]
            v = wp.spatial_top(twist) + wp.cross(wp.spatial_bottom(twist), arm)
            j = wp.spatial_vector(normal[i, c], wp.cross(arm, normal[i, c]))
            w = wp.dot(j, body_response[body] * j)
            if w > 0.0:
                wp.atomic_add(touching_inout, body, 1)
        velocity_out[i, c] = v
        friction_out[i, c] = dynamic_friction[s]
        response_out[i, c] = w


@wp.kernel
def share_obstacles(
    columns: Columns,
    count: wp.array[wp.int32],
    shape: wp.array2d[wp.int32],
    touching: wp.array[wp.int32],
    # outputs
    response_inout: wp.array2d[wp.float32],
):
    """Each row has its share of the mass of its body."""
    i = wp.tid()
    for c in range(count[i]):
        body = columns.shape_body[shape[i, c]]
        if body >= 0:
            response_inout[i, c] = response_inout[i, c] * float(wp.max(touching[body], 1))


@wp.kernel
def sum_obstacles(
    columns: Columns,
    count: wp.array[wp.int32],
    shape: wp.array2d[wp.int32],
    point: wp.array2d[wp.vec3],
    impulse: wp.array2d[wp.vec3],
    body_com: wp.array[wp.vec3],
    # outputs
    sums_inout: wp.array2d[wp.int64],
):
    """Impulses of the rows of a point on their bodies."""
    i = wp.tid()
    for c in range(count[i]):
        body = columns.shape_body[shape[i, c]]
        if body >= 0:
            arm = point[i, c] - body_com[body]
            add_impulse(sums_inout, body, impulse[i, c], wp.cross(arm, impulse[i, c]))
