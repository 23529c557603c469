"""Reading poses of a pair and writing contact points: shared by all kernel families."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Relative rounding of a bound: a few float32 spacings of the coordinates.
ROUNDING = wp.constant(1.0e-6)


@wp.struct
class World:
    """What pairs of simple shapes read: pairs, shapes and their poses, see ``Model``."""

    pair_item: wp.array[wp.vec4i]
    pair_environment: wp.array[wp.int32]
    slot_start: wp.array[wp.int32]
    row_shape: wp.array[wp.int32]
    shape_type: wp.array[wp.int32]
    shape_body: wp.array[wp.int32]
    shape_size: wp.array[wp.vec3]
    shape_center: wp.array[wp.vec3]
    shape_radius: wp.array[wp.float32]
    shape_vertices: wp.array[wp.vec2i]
    hull_vertex: wp.array[wp.vec3]
    local_pose: wp.array[wp.transform]
    contact_offset: wp.array[wp.float32]
    margin: wp.array[wp.float32]
    body_pose: wp.array[wp.transform]


@wp.struct
class Points:
    """Manifolds, see ``Manifolds``."""

    count: wp.array[wp.int32]
    anchor: wp.array[wp.vec3]
    normal: wp.array[wp.vec3]
    separation: wp.array[wp.float32]
    feature: wp.array[wp.int32]
    target: wp.array[wp.int32]


@wp.func
def body_transform(body: int, body_pose: wp.array[wp.transform]) -> wp.transform:
    """Pose of a body in its environment; identity for −1 (static)."""
    pose = wp.transform_identity()
    if body >= 0:
        pose = body_pose[body]
    return pose


@wp.func
def pair_rotation(body: int, body_pose: wp.array[wp.transform], local: wp.transform) -> wp.quat:
    """Rotation from the shape frame into the environment frame."""
    q = wp.transform_get_rotation(local)
    if body >= 0:
        q = wp.transform_get_rotation(body_pose[body]) * q
    return q


@wp.func
def relative_pose(
    body_f: int,
    body_o: int,
    local_f: wp.transform,
    local_o: wp.transform,
    body_pose: wp.array[wp.transform],
) -> wp.transform:
    """Pose of shape o in the frame of shape f.

    Body origins are subtracted before anything is added to them, so that the result
    is as exact far from the environment origin as near to it.
    """
    x_f = body_transform(body_f, body_pose)
    x_o = body_transform(body_o, body_pose)
    r_f = wp.transform_get_rotation(x_f)
    r_o = wp.transform_get_rotation(x_o)
    arm_f = wp.quat_rotate(r_f, wp.transform_get_translation(local_f))
    arm_o = wp.quat_rotate(r_o, wp.transform_get_translation(local_o))
    between = wp.transform_get_translation(x_o) - wp.transform_get_translation(x_f)
    q_f = r_f * wp.transform_get_rotation(local_f)
    q_o = r_o * wp.transform_get_rotation(local_o)
    return wp.transform(wp.quat_rotate_inv(q_f, between + (arm_o - arm_f)), wp.quat_inverse(q_f) * q_o)


@wp.func
def wide_turn(q: wp.quat) -> wp.quatd:
    """Quaternion in float64."""
    return wp.quatd(wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3]))


@wp.func
def unit(q: wp.quatd) -> wp.quatd:
    """A quaternion of length one to float32 rounding, made one to float64 rounding."""
    return q * (wp.float64(1.5) - wp.float64(0.5) * wp.dot(q, q))


@wp.func
def wide(v: wp.vec3) -> wp.vec3d:
    """Vector in float64."""
    return wp.vec3d(wp.float64(v[0]), wp.float64(v[1]), wp.float64(v[2]))


@wp.func(inline=False)
def frame_between(x_f: wp.transform, x_o: wp.transform, local_f: wp.transform, local_o: wp.transform):
    """Pose of shape o in the frame of shape f, each number rounded once; see :func:`relative_frame`."""
    r_f = unit(wide_turn(wp.transform_get_rotation(x_f)))
    r_o = unit(wide_turn(wp.transform_get_rotation(x_o)))
    arm_f = wp.quat_rotate(r_f, wide(wp.transform_get_translation(local_f)))
    arm_o = wp.quat_rotate(r_o, wide(wp.transform_get_translation(local_o)))
    between = wide(wp.transform_get_translation(x_o)) - wide(wp.transform_get_translation(x_f))
    q_f = unit(r_f * wide_turn(wp.transform_get_rotation(local_f)))
    q_o = unit(r_o * wide_turn(wp.transform_get_rotation(local_o)))
    t = wp.quat_rotate_inv(q_f, between + (arm_o - arm_f))
    q = wp.quat_inverse(q_f) * q_o
    r = wp.quat_to_matrix(q)
    return (
        wp.mat33(r),
        wp.vec3(float(t[0]), float(t[1]), float(t[2])),
        wp.quat(float(q[0]), float(q[1]), float(q[2]), float(q[3])),
    )


@wp.func
def relative_frame(
    body_f: int,
    body_o: int,
    local_f: wp.transform,
    local_o: wp.transform,
    body_pose: wp.array[wp.transform],
):
    """Pose of shape o in the frame of shape f, each number rounded once.

    In float32 throughout, the turn would carry the rounding of two products, and a matrix of it
    again; where shapes touch along a nearly flat direction, that decides the normal.

    Returns:
        Rotation matrix, translation, and the quaternion of the rotation.
    """
    r, t, q = frame_between(
        body_transform(body_f, body_pose), body_transform(body_o, body_pose), local_f, local_o
    )
    return r, t, q


@wp.func
def store_point(
    slot: int,
    side_f: int,
    anchor_f: wp.vec3,
    anchor_o: wp.vec3,
    normal: wp.vec3,
    separation: float,
    feature: int,
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
):
    """Write one contact point; ``normal`` points from shape f to shape o.

    ``side_f`` is 0 where the frame shape is shape 0 of the pair, else 1.
    """
    anchor_out[2 * slot + side_f] = anchor_f
    anchor_out[2 * slot + 1 - side_f] = anchor_o
    normal_out[slot] = normal * float(2 * side_f - 1)
    separation_out[slot] = separation
    feature_out[slot] = feature


@wp.func
def pair_limit(world: World, item: wp.vec4i, margin: float) -> float:
    """Separation from which on the shapes of a pair do not touch."""
    return world.contact_offset[item[0]] + world.contact_offset[item[1]] + margin


@wp.func
def spheres_apart(a: wp.vec4, b: wp.vec4) -> bool:
    """True where two bounds of :func:`bound_shapes` cannot hold a contact."""
    d = wp.vec3(a[0] - b[0], a[1] - b[1], a[2] - b[2])
    reach = a[3] + b[3]
    return wp.dot(d, d) >= reach * reach


@wp.func
def boxes_apart(
    f: int,
    o: int,
    local_f: wp.transform,
    local_o: wp.transform,
    shape_body: wp.array[wp.int32],
    shape_center: wp.array[wp.vec3],
    shape_half: wp.array[wp.vec3],
    body_pose: wp.array[wp.transform],
    limit: float,
) -> bool:
    """True where a side of one of the boxes about two shapes lies farther than ``limit`` from the other box.

    The six axes of the sides [Gottschalk et al. 1996]; rounding is allowed for.
    """
    x_f = body_transform(shape_body[f], body_pose) * local_f
    x_o = body_transform(shape_body[o], body_pose) * local_o
    half_f = shape_half[f]
    half_o = shape_half[o]
    q_f = wp.transform_get_rotation(x_f)
    c_f = wp.transform_point(x_f, shape_center[f])
    c_o = wp.transform_point(x_o, shape_center[o])
    t = wp.quat_rotate_inv(q_f, c_o - c_f)
    r = wp.quat_to_matrix(wp.quat_inverse(q_f) * wp.transform_get_rotation(x_o))
    most = float(-wp.inf)
    for k in range(3):
        reach_o = wp.abs(r[k, 0]) * half_o[0] + wp.abs(r[k, 1]) * half_o[1] + wp.abs(r[k, 2]) * half_o[2]
        reach_f = wp.abs(r[0, k]) * half_f[0] + wp.abs(r[1, k]) * half_f[1] + wp.abs(r[2, k]) * half_f[2]
        along_o = r[0, k] * t[0] + r[1, k] * t[1] + r[2, k] * t[2]
        most = wp.max(most, wp.abs(t[k]) - half_f[k] - reach_o)
        most = wp.max(most, wp.abs(along_o) - half_o[k] - reach_f)
    size = wp.length(c_f) + wp.length(c_o) + wp.length(half_f) + wp.length(half_o)
    return most >= limit + 2.0 * ROUNDING * size


@wp.func
def plane_apart(plane: wp.vec4, b: wp.vec4) -> bool:
    """True where the bound of a plane and that of a shape cannot hold a contact."""
    return plane[0] * b[0] + plane[1] * b[1] + plane[2] * b[2] - plane[3] >= b[3]


@wp.func
def shape_bound(x: wp.transform, kind: int, center: wp.vec3, radius: float, reach: float) -> wp.vec4:
    """Bounding sphere (centre, radius) of a shape at a pose, ``reach`` larger; of a plane (normal, distance), likewise
    moved outward. Rounding is allowed for.
    """
    if kind == 0:
        n = wp.quat_rotate(wp.transform_get_rotation(x), wp.vec3(0.0, 0.0, 1.0))
        p = wp.transform_get_translation(x)
        slack = ROUNDING * (wp.abs(p[0]) + wp.abs(p[1]) + wp.abs(p[2]))
        return wp.vec4(n[0], n[1], n[2], wp.dot(n, p) + reach + slack)
    c = wp.transform_point(x, center)
    slack = ROUNDING * (wp.abs(c[0]) + wp.abs(c[1]) + wp.abs(c[2]) + radius)
    return wp.vec4(c[0], c[1], c[2], radius + reach + slack)


@wp.kernel
def bound_shapes(
    row_shape: wp.array[wp.int32],
    row_environment: wp.array[wp.int32],
    shape_type: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    shape_center: wp.array[wp.vec3],
    shape_radius: wp.array[wp.float32],
    local_pose: wp.array[wp.transform],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    # outputs
    bound_out: wp.array[wp.vec4],
):
    """One thread a row of ``local_pose``: what the pairs test first, environment frame, with the contact offset and half
    the margin.
    """
    row = wp.tid()
    shape = row_shape[row]
    reach = contact_offset[shape] + 0.5 * margin[row_environment[row]]
    x = local_pose[row]
    if shape_body[shape] >= 0:
        x = body_pose[shape_body[shape]] * x
    bound_out[row] = shape_bound(x, shape_type[shape], shape_center[shape], shape_radius[shape], reach)
