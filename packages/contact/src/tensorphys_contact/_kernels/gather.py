"""Reading poses of a pair and writing contact points: shared by all kernel families."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Relative rounding of a bound: a few float32 spacings of the coordinates.
ROUNDING = wp.constant(1.0e-6)


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
def spheres_apart(a: wp.vec4, b: wp.vec4) -> bool:
    """True where two bounds of :func:`bound_shapes` cannot hold a contact."""
    d = wp.vec3(a[0] - b[0], a[1] - b[1], a[2] - b[2])
    reach = a[3] + b[3]
    return wp.dot(d, d) >= reach * reach


@wp.func
def plane_apart(plane: wp.vec4, b: wp.vec4) -> bool:
    """True where the bound of a plane and that of a shape cannot hold a contact."""
    return plane[0] * b[0] + plane[1] * b[1] + plane[2] * b[2] - plane[3] >= b[3]


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
    """One thread a row of ``local_pose``: what the pairs test first, environment frame.

    A bounding sphere (centre, radius) that holds the contact offset and half the margin;
    for a plane (normal, distance), likewise moved outward. Rounding is allowed for.
    """
    row = wp.tid()
    shape = row_shape[row]
    reach = contact_offset[shape] + 0.5 * margin[row_environment[row]]
    x = local_pose[row]
    if shape_body[shape] >= 0:
        x = body_pose[shape_body[shape]] * x
    if shape_type[shape] == 0:
        n = wp.quat_rotate(wp.transform_get_rotation(x), wp.vec3(0.0, 0.0, 1.0))
        p = wp.transform_get_translation(x)
        slack = ROUNDING * (wp.abs(p[0]) + wp.abs(p[1]) + wp.abs(p[2]))
        bound_out[row] = wp.vec4(n[0], n[1], n[2], wp.dot(n, p) + reach + slack)
    else:
        c = wp.transform_point(x, shape_center[shape])
        slack = ROUNDING * (wp.abs(c[0]) + wp.abs(c[1]) + wp.abs(c[2]) + shape_radius[shape])
        bound_out[row] = wp.vec4(c[0], c[1], c[2], shape_radius[shape] + reach + slack)
