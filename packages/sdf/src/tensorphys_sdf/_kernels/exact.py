"""Exact queries of a surface at many points."""

import warp as wp

from tensorphys_sdf._kernels.surface import FAR, surface_sign, unsigned_distance, winding_sum
from tensorphys_sdf.structs import SdfSurface

wp.set_module_options({"enable_backward": False})


@wp.kernel
def winding_numbers(
    surface: SdfSurface,
    points: wp.array[wp.vec3],
    accuracy: float,
    winding_out: wp.array[wp.float32],
):
    tid = wp.tid()
    winding_out[tid] = winding_sum(surface, points[tid], accuracy)


@wp.kernel
def unsigned_rows(
    surface: SdfSurface,
    points: wp.array[wp.vec3],
    row_length: int,
    distance_out: wp.array[wp.float32],
):
    """Distances of one row of nodes; each bounds the next, since a distance grows no faster than the way."""
    first = wp.tid() * row_length
    limit = float(FAR)
    for k in range(row_length):
        i = first + k
        d = unsigned_distance(surface, points[i], limit)
        distance_out[i] = d
        if k + 1 < row_length:
            limit = 1.0001 * (d + wp.length(points[i + 1] - points[i])) + 1.0e-30


@wp.kernel
def sign_rows(
    surface: SdfSurface,
    points: wp.array[wp.vec3],
    row_length: int,
    propagate: int,
    distance_inout: wp.array[wp.float32],
):
    """Give the distances of one row of nodes their sign.

    Two neighbours whose balls of free space cover the way between them lie on the same side of the surface,
    so that a closed surface is asked only where a row may cross it.
    """
    first = wp.tid() * row_length
    sign = float(0.0)
    before = float(0.0)
    for k in range(row_length):
        i = first + k
        d = distance_inout[i]
        known = propagate != 0 and k > 0
        if known:
            step = wp.length(points[i] - points[i - 1])
            known = before + d > 1.001 * step
        if not known:
            sign = surface_sign(surface, points[i])
        distance_inout[i] = sign * d
        before = d
