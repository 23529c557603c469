"""One call for points of many fields."""

import warp as wp

from tensorphys_sdf._kernels.field import rim_distance_gradient
from tensorphys_sdf._kernels.grid import SdfGrid, grid_coordinates, in_core, sample_inside
from tensorphys_sdf._kernels.surface import SdfSurface

wp.set_module_options({"enable_backward": False})


@wp.func
def unit_field(r: wp.vec4) -> wp.vec4:
    n = wp.normalize(wp.vec3(r[1], r[2], r[3]))
    return wp.vec4(r[0], n[0], n[1], n[2])


@wp.kernel
def sample_rows(
    grids: wp.array[SdfGrid],
    field_of_row: wp.array[wp.int32],
    points: wp.array2d[wp.vec3],
    unit: int,
    field_out: wp.array2d[wp.vec4],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    row, k = wp.tid()
    grid = grids[field_of_row[row]]
    u = grid_coordinates(grid, points[row, k])
    if in_core(grid, u):
        r = sample_inside(grid, u)
        if unit != 0:
            r = unit_field(r)
        field_out[row, k] = r
    else:
        slot = wp.atomic_add(rim_count_inout, 0, 1)
        rim_out[slot] = row * points.shape[1] + k


@wp.kernel
def finish_rows(
    grids: wp.array[SdfGrid],
    surfaces: wp.array[SdfSurface],
    field_of_row: wp.array[wp.int32],
    points: wp.array2d[wp.vec3],
    unit: int,
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
        if unit != 0:
            r = unit_field(r)
        field_out[row, k] = r
        i += stride
