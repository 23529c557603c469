"""What follows from poses and velocities, element by element."""

import warp as wp

from tensorphys_assets.dtypes import vec13f

wp.set_module_options({"enable_backward": False})


@wp.func
def linear(velocity: wp.spatial_vectorf) -> wp.vec3f:
    """First three numbers of a velocity."""
    return wp.vec3f(velocity[0], velocity[1], velocity[2])


@wp.func
def angular(velocity: wp.spatial_vectorf) -> wp.vec3f:
    """Last three numbers of a velocity."""
    return wp.vec3f(velocity[3], velocity[4], velocity[5])


@wp.func
def twist(v: wp.vec3f, w: wp.vec3f) -> wp.spatial_vectorf:
    """Velocity from its halves."""
    return wp.spatial_vectorf(v[0], v[1], v[2], w[0], w[1], w[2])


@wp.func
def com_arm(pose: wp.transformf, com: wp.transformf) -> wp.vec3f:
    """From the link's origin to its centre of mass, world axes."""
    return wp.quat_rotate(wp.transform_get_rotation(pose), wp.transform_get_translation(com))


@wp.kernel
def com_poses(
    # inputs
    link_pose: wp.array[wp.transformf],
    com: wp.array[wp.transformf],
    # outputs
    com_pose_out: wp.array[wp.transformf],
):
    """Frame of the centre of mass in the world."""
    i = wp.tid()
    com_pose_out[i] = wp.transform_multiply(link_pose[i], com[i])


@wp.kernel
def link_poses_of_coms(
    # inputs
    com_pose: wp.array[wp.transformf],
    com: wp.array[wp.transformf],
    # outputs
    link_pose_out: wp.array[wp.transformf],
):
    """Frame of the link from that of its centre of mass."""
    i = wp.tid()
    link_pose_out[i] = wp.transform_multiply(com_pose[i], wp.transform_inverse(com[i]))


@wp.kernel
def link_velocities(
    # inputs
    link_pose: wp.array[wp.transformf],
    com: wp.array[wp.transformf],
    com_velocity: wp.array[wp.spatial_vectorf],
    # outputs
    link_velocity_out: wp.array[wp.spatial_vectorf],
):
    """Velocity of the link's origin from that of its centre of mass."""
    i = wp.tid()
    w = angular(com_velocity[i])
    v = linear(com_velocity[i]) - wp.cross(w, com_arm(link_pose[i], com[i]))
    link_velocity_out[i] = twist(v, w)


@wp.kernel
def com_velocities(
    # inputs
    link_pose: wp.array[wp.transformf],
    com: wp.array[wp.transformf],
    link_velocity: wp.array[wp.spatial_vectorf],
    # outputs
    com_velocity_out: wp.array[wp.spatial_vectorf],
):
    """Velocity of the centre of mass from that of the link's origin."""
    i = wp.tid()
    w = angular(link_velocity[i])
    v = linear(link_velocity[i]) + wp.cross(w, com_arm(link_pose[i], com[i]))
    com_velocity_out[i] = twist(v, w)


@wp.kernel
def local_velocities(
    # inputs
    link_pose: wp.array[wp.transformf],
    velocity: wp.array[wp.spatial_vectorf],
    # outputs
    local_velocity_out: wp.array[wp.spatial_vectorf],
):
    """A velocity in the axes of the link."""
    i = wp.tid()
    q = wp.transform_get_rotation(link_pose[i])
    v = wp.quat_rotate_inv(q, linear(velocity[i]))
    local_velocity_out[i] = twist(v, wp.quat_rotate_inv(q, angular(velocity[i])))


@wp.kernel
def projected_gravity(
    # inputs
    link_pose: wp.array[wp.transformf],
    direction: wp.array[wp.vec3f],
    # outputs
    local_direction_out: wp.array[wp.vec3f],
):
    """Direction of gravity in the axes of the link."""
    i = wp.tid()
    local_direction_out[i] = wp.quat_rotate_inv(wp.transform_get_rotation(link_pose[i]), direction[i])


@wp.kernel
def headings(
    # inputs
    link_pose: wp.array[wp.transformf],
    # outputs
    heading_out: wp.array[wp.float32],
):
    """Angle of the link's x axis about the world's z axis."""
    i = wp.tid()
    forward = wp.quat_rotate(wp.transform_get_rotation(link_pose[i]), wp.vec3f(1.0, 0.0, 0.0))
    heading_out[i] = wp.atan2(forward[1], forward[0])


@wp.kernel
def states(
    # inputs
    pose: wp.array[wp.transformf],
    velocity: wp.array[wp.spatial_vectorf],
    # outputs
    state_out: wp.array[vec13f],
):
    """Pose and velocity in one."""
    i = wp.tid()
    p = wp.transform_get_translation(pose[i])
    q = wp.transform_get_rotation(pose[i])
    u = velocity[i]
    state = vec13f()
    for k in range(3):
        state[k] = p[k]
    for k in range(4):
        state[3 + k] = q[k]
    for k in range(6):
        state[7 + k] = u[k]
    state_out[i] = state


@wp.kernel
def joint_accelerations(
    # inputs
    velocity: wp.array2d[wp.float32],
    inverse_dt: float,
    # outputs
    previous_inout: wp.array2d[wp.float32],
    acceleration_out: wp.array2d[wp.float32],
):
    """Difference of velocities over a step; the velocity is kept for the next one."""
    row, item = wp.tid()
    now = velocity[row, item]
    acceleration_out[row, item] = (now - previous_inout[row, item]) * inverse_dt
    previous_inout[row, item] = now


@wp.kernel
def unit_directions(
    # inputs
    vectors: wp.array[wp.vec3f],
    rows: wp.array[wp.int32],
    # outputs
    direction_out: wp.array[wp.vec3f],
):
    """Directions of chosen vectors; zero vectors have none and stay zero."""
    i = wp.tid()
    direction_out[i] = wp.normalize(vectors[rows[i]])


@wp.kernel
def link_jacobians(
    # inputs
    link_pose: wp.array2d[wp.transformf],
    com: wp.array2d[wp.transformf],
    com_jacobian: wp.array4d[wp.float32],
    left_out: int,
    # outputs
    link_jacobian_out: wp.array4d[wp.float32],
):
    """Jacobians of link origins from those of centres of mass; of a fixed base the root has no row."""
    row, body, column = wp.tid()
    link = body
    if left_out >= 0 and body >= left_out:
        link = body + 1
    arm = com_arm(link_pose[row, link], com[row, link])
    v = wp.vec3f()
    w = wp.vec3f()
    for k in range(3):
        v[k] = com_jacobian[row, body, k, column]
        w[k] = com_jacobian[row, body, 3 + k, column]
    v = v - wp.cross(w, arm)
    for k in range(3):
        link_jacobian_out[row, body, k, column] = v[k]
        link_jacobian_out[row, body, 3 + k, column] = w[k]


@wp.kernel
def cross_masks(
    # inputs
    rows: wp.array[wp.int32],
    items: wp.array[wp.int32],
    row_mask: wp.array[wp.bool],
    item_mask: wp.array[wp.bool],
    # outputs
    chosen_out: wp.array2d[wp.bool],
):
    """Mark chosen items of chosen rows."""
    i, j = wp.tid()
    if row_mask[rows[i]] and item_mask[items[j]]:
        chosen_out[rows[i], items[j]] = True
