"""Limits of joints."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def soft_limits(
    # inputs
    limits: wp.array2d[wp.vec2f],
    factor: float,
    # outputs
    soft_limits_out: wp.array2d[wp.vec2f],
):
    """Limits about the same centre, narrowed; halves are taken first, so that 3.4e38 does not overflow."""
    row, item = wp.tid()
    lower = 0.5 * limits[row, item][0]
    upper = 0.5 * limits[row, item][1]
    centre = lower + upper
    reach = factor * (upper - lower)
    soft_limits_out[row, item] = wp.vec2f(centre - reach, centre + reach)


@wp.kernel
def clamp_between(
    # inputs
    limits: wp.array2d[wp.vec2f],
    # outputs
    values_inout: wp.array2d[wp.float32],
    clamped_out: wp.array[wp.int32],
):
    """Bring values into their limits; how many there were outside is added up."""
    row, item = wp.tid()
    value = values_inout[row, item]
    inside = wp.clamp(value, limits[row, item][0], limits[row, item][1])
    if inside != value:
        values_inout[row, item] = inside
        wp.atomic_add(clamped_out, 0, 1)
