"""How far the bodies of an environment may come nearer to each other within a step."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def motion_margin(
    large: wp.array[wp.int32],
    environment_link: wp.array[wp.int32],
    link_radius: wp.array[wp.float32],
    link_velocity: wp.array[wp.spatial_vector],
    link_pose: wp.array[wp.transform],
    link_com: wp.array[wp.vec3],
    gravity: wp.array[wp.vec3],
    time_step: wp.array[wp.float32],
    # outputs
    margin_out: wp.array[wp.float32],
    least_out: wp.array[wp.float32],
    motion_out: wp.array[wp.spatial_vector],
):
    """Sum of the two longest ways that points of two bodies can cover in a step.

    One thread an environment. A body without shapes has a radius below 0 and is left out. Shapes of large environments
    have margins of their own, see `reaching_offsets`. Bodies move in the step as their velocities say: the point that is
    at the origin of the environment, and the turn.
    """
    e = wp.tid()
    if large[e] == 1:
        margin_out[e] = 0.0
        least_out[e] = 0.0
        return
    h = time_step[0]
    longest = float(0.0)
    second = float(0.0)
    for link in range(environment_link[e], environment_link[e + 1]):
        radius = link_radius[link]
        if radius >= 0.0:
            v = link_velocity[link]
            speed = wp.length(wp.spatial_top(v)) + radius * wp.length(wp.spatial_bottom(v))
            second = wp.max(second, wp.min(speed, longest))
            longest = wp.max(longest, speed)
            turn = h * wp.spatial_bottom(v)
            way = h * wp.spatial_top(v) - wp.cross(turn, wp.transform_point(link_pose[link], link_com[link]))
            motion_out[link] = wp.spatial_vector(way, turn)
    least_out[e] = h * h * wp.length(gravity[e])
    margin_out[e] = h * (longest + second) + least_out[e]
