"""One call for points of many fields."""

import warp as wp

from tensorphys_sdf._kernels.field import rim_distance_gradient
from tensorphys_sdf._kernels.grid import asks_surface, block_of, grid_coordinates, in_core, sample_block
from tensorphys_sdf.structs import SdfGrid, SdfSurface

wp.set_module_options({"enable_backward": False})


UNIT = wp.constant(1)
GRADIENT_FIRST = wp.constant(2)


@wp.func
def arranged(r: wp.vec4, form: int) -> wp.vec4:
    """A result in the form that is asked for."""
    g = wp.vec3(r[1], r[2], r[3])
    if (form & UNIT) != 0:
        g = wp.normalize(g)
    if (form & GRADIENT_FIRST) != 0:
        return wp.vec4(g[0], g[1], g[2], r[0])
    return wp.vec4(r[0], g[0], g[1], g[2])


@wp.kernel
def sample_rows(
    grids: wp.array[SdfGrid],
    field_of_row: wp.array[wp.int32],
    points: wp.array2d[wp.vec3],
    form: int,
    field_out: wp.array2d[wp.vec4],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    row, k = wp.tid()
    grid = grids[field_of_row[row]]
    u = grid_coordinates(grid, points[row, k])
    i = block_of(grid, u)
    if in_core(grid, u) and not asks_surface(grid, i):
        field_out[row, k] = arranged(sample_block(grid, i, u), form)
    else:
        slot = wp.atomic_add(rim_count_inout, 0, 1)
        rim_out[slot] = row * points.shape[1] + k


@wp.kernel
def finish_rows(
    grids: wp.array[SdfGrid],
    surfaces: wp.array[SdfSurface],
    field_of_row: wp.array[wp.int32],
    points: wp.array2d[wp.vec3],
    form: int,
    rim_count: wp.array[wp.int32],
    rim: wp.array[wp.int32],
    stride: int,
    field_out: wp.array2d[wp.vec4],
):
    i = int(wp.tid())
    while i < rim_count[0]:
        row = rim[i] // points.shape[1]
        k = rim[i] % points.shape[1]
        f = field_of_row[row]
        r = rim_distance_gradient(grids[f], surfaces[f], points[row, k])
        field_out[row, k] = arranged(r, form)
        i += stride
