"""Roots that are moved by hand to a target within a step."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, StateData, Tables

wp.set_module_options({"enable_backward": False})

WAITING = wp.constant(1)
MOVING = wp.constant(2)


@wp.kernel
def aim_roots(
    t: Tables,
    m: ModelData,
    time_step: wp.array[wp.float32],
    # outputs
    s: StateData,
):
    """Give a root with a target the constant velocity that reaches it at the end of a step."""
    a = wp.tid()
    if s.root_aimed[a] == WAITING and t.type_root[t.articulation_type[a]] == 0:
        s.root_aimed[a] = MOVING
        link = t.articulation_link[a]
        com = m.link_com[link]
        here = s.root_pose[a]
        there = s.root_target[a]
        turn = wp.transform_get_rotation(there) * wp.quat_inverse(wp.transform_get_rotation(here))
        if turn[3] < 0.0:  # the shorter way
            turn = -turn
        imaginary = wp.vec3(turn[0], turn[1], turn[2])
        sine = wp.length(imaginary)
        angle_over_sine = float(2.0)
        if sine > 1.0e-6:
            angle_over_sine = 2.0 * wp.atan2(sine, turn[3]) / sine
        path = wp.transform_point(there, com) - wp.transform_point(here, com)
        dt = time_step[0]
        velocity = wp.spatial_vector(path / dt, imaginary * (angle_over_sine / dt))
        s.root_velocity[a] = velocity
        s.link_velocity[link] = velocity


@wp.kernel
def stop_roots(
    # outputs
    s: StateData,
):
    """Stop the roots that have reached their targets; the velocity that they report is that of the step."""
    a = wp.tid()
    if s.root_aimed[a] == MOVING:
        s.root_aimed[a] = 0
        s.root_velocity[a] = wp.spatial_vector(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
