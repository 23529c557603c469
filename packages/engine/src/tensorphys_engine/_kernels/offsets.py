"""Contact offsets of shapes whose bodies are out of the simulation."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# No shape is this deep in another one, so that no contact is found within this reach.
UNREACHABLE = wp.constant(-1.0e9)


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
    offset = given[shape]
    body = shape_body[shape]
    if body >= 0:
        if link_disabled[body] == 1:
            offset = UNREACHABLE
    contact_offset_out[shape] = offset
