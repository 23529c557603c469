"""Reading poses of a pair and writing contact points: shared by all kernel families."""

import warp as wp

wp.set_module_options({"enable_backward": False})


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
