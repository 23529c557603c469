"""Contact offsets of shapes whose bodies are out of the simulation."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# No shape is this deep in another one, so that no contact is found within this reach.
UNREACHABLE = wp.constant(-1.0e9)


@wp.func
def effective_offset(
    given: wp.array[wp.float32],
    shape_body: wp.array[wp.int32],
    link_disabled: wp.array[wp.int32],
    shape: int,
):
    """The offset that a shape was given, or one that touches nothing."""
    offset = given[shape]
    if shape_body[shape] >= 0:
        if link_disabled[shape_body[shape]] == 1:
            offset = UNREACHABLE
    return offset


@wp.kernel
def effective_offsets(
    # inputs
    given: wp.array[wp.float32],
    shape_body: wp.array[wp.int32],
    link_disabled: wp.array[wp.int32],
    # outputs
    contact_offset_out: wp.array[wp.float32],
):
    """The offset that a shape was given, or one that touches nothing."""
    shape = wp.tid()
    contact_offset_out[shape] = effective_offset(given, shape_body, link_disabled, shape)


@wp.kernel
def reaching_offsets(
    # inputs
    given: wp.array[wp.float32],
    shape_body: wp.array[wp.int32],
    shape_environment: wp.array[wp.int32],
    link_disabled: wp.array[wp.int32],
    large: wp.array[wp.int32],
    link_radius: wp.array[wp.float32],
    link_velocity: wp.array[wp.spatial_vector],
    gravity: wp.array[wp.vec3],
    time_step: wp.array[wp.float32],
    # outputs
    contact_offset_out: wp.array[wp.float32],
):
    """One shape: its offset, and in large environments the way that a point of its body can cover in a step."""
    shape = wp.tid()
    offset = effective_offset(given, shape_body, link_disabled, shape)
    body = shape_body[shape]
    e = shape_environment[shape]
    if body >= 0 and e >= 0:
        if large[e] == 1:
            h = time_step[0]
            v = link_velocity[body]
            speed = wp.length(wp.spatial_top(v)) + link_radius[body] * wp.length(wp.spatial_bottom(v))
            offset += h * speed + 0.5 * h * h * wp.length(gravity[e])
    contact_offset_out[shape] = offset
