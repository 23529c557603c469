"""How bodies move in a step, for continuous collision detection."""

import warp as wp

from tensorphys_contact.device import motion_between, moved_pose

wp.set_module_options({"enable_backward": False})


@wp.kernel
def expected_motion(
    # inputs
    free_articulation: wp.array[wp.int32],
    link_gravity: wp.array[wp.float32],
    link_environment: wp.array[wp.int32],
    gravity: wp.array[wp.vec3],
    link_velocity: wp.array[wp.spatial_vector],
    time_step: wp.array[wp.float32],
    # outputs
    motion_out: wp.array[wp.spatial_vector],
):
    """One link: the way of its centre of mass and its rotation vector in a step at its velocity; bodies without joints fall."""
    link = wp.tid()
    h = time_step[0]
    way = h * wp.spatial_top(link_velocity[link])
    if free_articulation[link] >= 0:
        way += 0.5 * h * h * link_gravity[link] * gravity[link_environment[link]]
    motion_out[link] = wp.spatial_vector(way, h * wp.spatial_bottom(link_velocity[link]))


@wp.kernel
def made_motion(
    # inputs
    link_com: wp.array[wp.vec3],
    start_pose: wp.array[wp.transform],
    link_pose: wp.array[wp.transform],
    link_velocity: wp.array[wp.spatial_vector],
    time_step: wp.array[wp.float32],
    # outputs
    motion_inout: wp.array[wp.spatial_vector],
):
    """One link: the motion that it has made in a step, in place of the one expected before."""
    link = wp.tid()
    spin = wp.spatial_bottom(motion_inout[link]) + time_step[0] * wp.spatial_bottom(link_velocity[link])
    motion_inout[link] = motion_between(start_pose[link], link_pose[link], link_com[link], 0.5 * spin)


@wp.kernel
def hold_bodies(
    # inputs
    free_articulation: wp.array[wp.int32],
    link_com: wp.array[wp.vec3],
    start_pose: wp.array[wp.transform],
    motion: wp.array[wp.spatial_vector],
    time: wp.array[wp.float32],
    # outputs
    link_pose_inout: wp.array[wp.transform],
    root_pose_inout: wp.array[wp.transform],
):
    """One link: back to where it was at a surface, if it is a body without joints that went through; its velocity stays."""
    link = wp.tid()
    a = free_articulation[link]
    if a >= 0 and time[link] < 1.0:
        pose = moved_pose(start_pose[link], link_com[link], motion[link], time[link])
        link_pose_inout[link] = pose
        root_pose_inout[a] = pose
