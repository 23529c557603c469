"""Kernels of particles among bodies."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def take_gravity(
    # inputs
    gravity: wp.array[wp.vec3],
    environment: wp.array[wp.int32],
    # outputs
    gravity_out: wp.array[wp.vec3],
):
    """Gravity of the environment of each particle system."""
    system = wp.tid()
    gravity_out[system] = gravity[environment[system]]


@wp.kernel
def start_bodies(
    # inputs
    pose: wp.array[wp.transform],
    com: wp.array[wp.vec3],
    velocity: wp.array[wp.spatial_vector],
    impulse: wp.array[wp.spatial_vector],
    # outputs
    pose_out: wp.array[wp.transform],
    com_out: wp.array[wp.vec3],
    velocity_out: wp.array[wp.spatial_vector],
    total_out: wp.array[wp.spatial_vector],
):
    """Bodies as the particles see them at the start of a substep of the dynamics."""
    body = wp.tid()
    pose_out[body] = pose[body]
    com_out[body] = com[body]
    velocity_out[body] = velocity[body]
    total_out[body] = impulse[body]


@wp.kernel
def push_bodies(
    # inputs
    impulse: wp.array[wp.spatial_vector],
    response: wp.array[wp.spatial_matrix],
    time: wp.array[wp.float32],
    # outputs
    pose_inout: wp.array[wp.transform],
    com_inout: wp.array[wp.vec3],
    velocity_inout: wp.array[wp.spatial_vector],
    total_inout: wp.array[wp.spatial_vector],
):
    """Bodies yield to the impulses of a substep of the particles, and move by it."""
    body = wp.tid()
    given = impulse[body]
    velocity = velocity_inout[body] + response[body] * given
    linear = wp.spatial_top(velocity)
    angular = wp.spatial_bottom(velocity)
    h = time[0]
    com = com_inout[body]
    pose = pose_inout[body]
    angle = wp.length(angular) * h
    turn = wp.quat_identity()
    if angle > 0.0:
        turn = wp.quat_from_axis_angle(wp.normalize(angular), angle)
    arm = wp.quat_rotate(turn, wp.transform_get_translation(pose) - com)
    rotation = wp.normalize(turn * wp.transform_get_rotation(pose))
    com = com + linear * h
    com_inout[body] = com
    pose_inout[body] = wp.transform(com + arm, rotation)
    velocity_inout[body] = velocity
    total_inout[body] = total_inout[body] + given


@wp.kernel
def part_of_step(
    # inputs
    time_step: wp.array[wp.float32],
    parts: int,
    # outputs
    time_out: wp.array[wp.float32],
):
    """Length of a substep."""
    time_out[0] = time_step[0] / float(parts)
