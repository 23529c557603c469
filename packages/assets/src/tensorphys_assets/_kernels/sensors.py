"""What sensors make of poses, velocities and contact forces."""

import warp as wp

from tensorphys_assets._kernels.motion import angular, linear

wp.set_module_options({"enable_backward": False})


@wp.kernel
def frame_poses(
    # inputs
    link_pose: wp.array2d[wp.transformf],
    body: wp.array[wp.int32],
    offset: wp.array[wp.transformf],
    # outputs
    pose_out: wp.array2d[wp.transformf],
):
    """Frames on bodies in the world."""
    i, j = wp.tid()
    pose_out[i, j] = wp.transform_multiply(link_pose[i, body[j]], offset[j])


@wp.kernel
def relative_poses(
    # inputs
    source: wp.array2d[wp.transformf],
    target: wp.array2d[wp.transformf],
    # outputs
    pose_out: wp.array2d[wp.transformf],
):
    """Frames relative to the source frame of their row."""
    i, j = wp.tid()
    pose_out[i, j] = wp.transform_multiply(wp.transform_inverse(source[i, 0]), target[i, j])


@wp.struct
class FrameMotion:
    """Pose of a frame on a body in the world, and its motion in its own axes.

    Attributes:
        pose: Pose.
        linear, angular: Velocities of the frame's origin [m/s] and of the body [rad/s].
        linear_rate, angular_rate: Their changes with time, seen from the world [m/s², rad/s²].
    """

    pose: wp.transformf
    linear: wp.vec3f
    angular: wp.vec3f
    linear_rate: wp.vec3f
    angular_rate: wp.vec3f


@wp.func
def frame_motion(
    link_pose: wp.transformf,
    com: wp.vec3f,
    offset: wp.transformf,
    velocity: wp.spatial_vectorf,
    acceleration: wp.spatial_vectorf,
) -> FrameMotion:
    """Motion of a frame that is fixed on a body, from that of the body's centre of mass."""
    motion = FrameMotion()
    motion.pose = wp.transform_multiply(link_pose, offset)
    q = wp.transform_get_rotation(motion.pose)
    arm = wp.quat_rotate(wp.transform_get_rotation(link_pose), wp.transform_get_translation(offset) - com)
    w = angular(velocity)
    rate = angular(acceleration)
    motion.linear = wp.quat_rotate_inv(q, linear(velocity) + wp.cross(w, arm))
    motion.angular = wp.quat_rotate_inv(q, w)
    a = linear(acceleration) + wp.cross(rate, arm) + wp.cross(w, wp.cross(w, arm))
    motion.linear_rate = wp.quat_rotate_inv(q, a)
    motion.angular_rate = wp.quat_rotate_inv(q, rate)
    return motion


@wp.kernel
def inertial_measurements(
    # inputs
    link_pose: wp.array[wp.transformf],
    com: wp.array[wp.vec3f],
    link: wp.array[wp.int32],
    offset: wp.array[wp.transformf],
    velocity: wp.array[wp.spatial_vectorf],
    acceleration: wp.array[wp.spatial_vectorf],
    gravity: wp.array[wp.vec3f],
    environment: wp.array[wp.int32],
    # outputs
    angular_velocity_out: wp.array[wp.vec3f],
    linear_acceleration_out: wp.array[wp.vec3f],
):
    """Angular velocity, and acceleration less gravity, at a frame on each body, in its axes."""
    i = wp.tid()
    motion = frame_motion(link_pose[i], com[link[i]], offset[i], velocity[i], acceleration[i])
    q = wp.transform_get_rotation(motion.pose)
    angular_velocity_out[i] = motion.angular
    linear_acceleration_out[i] = motion.linear_rate - wp.quat_rotate_inv(q, gravity[environment[i]])


@wp.kernel
def frame_motions(
    # inputs
    link_pose: wp.array[wp.transformf],
    com: wp.array[wp.vec3f],
    link: wp.array[wp.int32],
    offset: wp.array[wp.transformf],
    velocity: wp.array[wp.spatial_vectorf],
    acceleration: wp.array[wp.spatial_vectorf],
    gravity: wp.array[wp.vec3f],
    environment: wp.array[wp.int32],
    # outputs
    pose_out: wp.array[wp.transformf],
    gravity_out: wp.array[wp.vec3f],
    linear_velocity_out: wp.array[wp.vec3f],
    angular_velocity_out: wp.array[wp.vec3f],
    linear_acceleration_out: wp.array[wp.vec3f],
    angular_acceleration_out: wp.array[wp.vec3f],
):
    """Pose of a frame on each body; direction of gravity, velocities and accelerations in its axes."""
    i = wp.tid()
    motion = frame_motion(link_pose[i], com[link[i]], offset[i], velocity[i], acceleration[i])
    pose_out[i] = motion.pose
    q = wp.transform_get_rotation(motion.pose)
    gravity_out[i] = wp.quat_rotate_inv(q, wp.normalize(gravity[environment[i]]))
    linear_velocity_out[i] = motion.linear
    angular_velocity_out[i] = motion.angular
    linear_acceleration_out[i] = motion.linear_rate
    angular_acceleration_out[i] = motion.angular_rate


@wp.kernel
def joint_wrenches(
    # inputs
    wrench: wp.array[wp.spatial_vectorf],
    link: wp.array2d[wp.int32],
    link_pose: wp.array[wp.transformf],
    com: wp.array[wp.vec3f],
    frame: wp.array[wp.transformf],
    carried: wp.array[wp.int32],
    # outputs
    force_out: wp.array2d[wp.vec3f],
    torque_out: wp.array2d[wp.vec3f],
):
    """Carry wrenches about centres of mass to the joint frames on the links that they act on; zero for links without a parent."""
    i, j = wp.tid()
    k = link[i, j]
    if carried[k] == 0:
        force_out[i, j] = wp.vec3f()
        torque_out[i, j] = wp.vec3f()
        return
    place = wp.transform_multiply(link_pose[k], frame[k])
    q = wp.transform_get_rotation(place)
    force = linear(wrench[k])
    arm = wp.transform_point(link_pose[k], com[k]) - wp.transform_get_translation(place)
    force_out[i, j] = wp.quat_rotate_inv(q, force)
    torque_out[i, j] = wp.quat_rotate_inv(q, angular(wrench[k]) + wp.cross(arm, force))


@wp.kernel
def contact_times(
    # inputs
    force: wp.array2d[wp.vec3f],
    threshold: float,
    elapsed: float,
    # outputs
    current_air_inout: wp.array2d[wp.float32],
    current_contact_inout: wp.array2d[wp.float32],
    last_air_inout: wp.array2d[wp.float32],
    last_contact_inout: wp.array2d[wp.float32],
):
    """Time in the air and in contact; the phase that ends is kept."""
    i, j = wp.tid()
    air = current_air_inout[i, j]
    contact = current_contact_inout[i, j]
    if wp.length(force[i, j]) > threshold:
        if air > 0.0:
            last_air_inout[i, j] = air + elapsed
        current_air_inout[i, j] = 0.0
        current_contact_inout[i, j] = contact + elapsed
    else:
        if contact > 0.0:
            last_contact_inout[i, j] = contact + elapsed
        current_contact_inout[i, j] = 0.0
        current_air_inout[i, j] = air + elapsed


@wp.kernel
def begun_within(
    # inputs
    time: wp.array2d[wp.float32],
    period: float,
    # outputs
    begun_out: wp.array2d[wp.bool],
):
    """Whether a phase goes on for no longer than a period."""
    i, j = wp.tid()
    begun_out[i, j] = time[i, j] > 0.0 and time[i, j] < period


@wp.kernel
def push_history(
    # inputs
    now: wp.array3d[wp.vec3f],
    # outputs
    history_inout: wp.array4d[wp.vec3f],
):
    """Keep what is now before what was, the latest first."""
    i, j, k = wp.tid()
    depth = history_inout.shape[1]
    for step in range(depth - 1):
        place = depth - 1 - step
        history_inout[i, place, j, k] = history_inout[i, place - 1, j, k]
    history_inout[i, 0, j, k] = now[i, j, k]


@wp.kernel
def add_forces(
    # inputs
    normal: wp.array[wp.vec3f],
    friction: wp.array[wp.vec3f],
    # outputs
    total_out: wp.array[wp.vec3f],
):
    """Total of normal and friction forces."""
    i = wp.tid()
    total_out[i] = normal[i] + friction[i]


@wp.kernel
def mean_points(
    # inputs
    values: wp.array2d[wp.float32],
    count: wp.array2d[wp.uint32],
    start: wp.array2d[wp.uint32],
    capacity: int,
    # outputs
    mean_out: wp.array2d[wp.vec3f],
):
    """Mean over the contact points of each sensor and filter, not a number where there are none."""
    i, j = wp.tid()
    total = wp.vec3f()
    first = int(start[i, j])
    number = float(0.0)
    for k in range(int(count[i, j])):
        if first + k < capacity:
            total = total + wp.vec3f(values[first + k, 0], values[first + k, 1], values[first + k, 2])
            number += 1.0
    if number > 0.0:
        mean_out[i, j] = total / number
    else:
        mean_out[i, j] = wp.vec3f(wp.nan, wp.nan, wp.nan)


@wp.kernel
def clear_rows(
    # inputs
    rows: wp.array[wp.int32],
    mask: wp.array[wp.bool],
    value: float,
    # outputs
    numbers_out: wp.array2d[wp.float32],
):
    """Set all numbers of chosen rows."""
    i, j = wp.tid()
    if mask[rows[i]]:
        numbers_out[rows[i], j] = value
