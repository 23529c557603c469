"""Positions between an environment's frame and the frame that a view reports in.

The offset of the two frames is an unevaluated sum of two float32 numbers, so that positions far from
the world origin are rounded once and not twice.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def add_offset(value: float, hi: float, lo: float) -> float:
    # Knuth's two-sum: `error` is what the first addition rounded away.
    total = value + hi
    part = total - value
    error = (value - (total - part)) + (hi - part)
    return total + (error + lo)


@wp.func
def to_world(position: wp.vec3, hi: wp.vec3, lo: wp.vec3) -> wp.vec3:
    # No arithmetic at all in the frame of the environment: its values come back bit for bit.
    if hi[0] == 0.0 and hi[1] == 0.0 and hi[2] == 0.0 and lo[0] == 0.0 and lo[1] == 0.0 and lo[2] == 0.0:
        return position
    return wp.vec3(
        add_offset(position[0], hi[0], lo[0]),
        add_offset(position[1], hi[1], lo[1]),
        add_offset(position[2], hi[2], lo[2]),
    )


@wp.func
def to_local(position: wp.vec3, hi: wp.vec3, lo: wp.vec3) -> wp.vec3:
    return to_world(position, -hi, -lo)
