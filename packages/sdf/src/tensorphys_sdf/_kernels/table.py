"""Many fields of any resolutions in plain arrays, for the kernels of other packages.

Row ``f`` of ``reals`` is ``[origin xyz, inv_cell xyz, fine_offset, fine_scale, error_bound]`` and row ``f`` of
``counts`` is ``[blocks xyz, subgrid, bits, first coarse node, first record, first fine word]``. Dense grids have coarse
nodes, sparse ones records and fine words.
"""

import warp as wp

from tensorphys_sdf._kernels.grid import cell_of, coarse_index, trilinear
from tensorphys_sdf._kernels.records import data_record, sample_record

wp.set_module_options({"enable_backward": False})

REALS = wp.constant(9)
COUNTS = wp.constant(8)


@wp.func
def table_coarse_value(
    coarse: wp.array[wp.float32], blocks: wp.vec3i, first: int, x: int, y: int, z: int
) -> float:
    return coarse[first + coarse_index(blocks, x, y, z)]


@wp.func
def table_coarse(
    coarse: wp.array[wp.float32], blocks: wp.vec3i, first: int, i: wp.vec3i, f: wp.vec3, inv: wp.vec3
) -> wp.vec4:
    x = i[0]
    y = i[1]
    z = i[2]
    return trilinear(
        table_coarse_value(coarse, blocks, first, x, y, z),
        table_coarse_value(coarse, blocks, first, x, y, z + 1),
        table_coarse_value(coarse, blocks, first, x, y + 1, z),
        table_coarse_value(coarse, blocks, first, x, y + 1, z + 1),
        table_coarse_value(coarse, blocks, first, x + 1, y, z),
        table_coarse_value(coarse, blocks, first, x + 1, y, z + 1),
        table_coarse_value(coarse, blocks, first, x + 1, y + 1, z),
        table_coarse_value(coarse, blocks, first, x + 1, y + 1, z + 1),
        f,
        inv,
    )


@wp.func
def table_distance_gradient(
    reals: wp.array2d[wp.float32],
    counts: wp.array2d[wp.int32],
    coarse: wp.array[wp.float32],
    record: wp.array[wp.int32],
    fine: wp.array[wp.uint32],
    field: int,
    p: wp.vec3,
) -> wp.vec4:
    """Sampled distance and its exact derivative ``(d, gx, gy, gz)`` at a point of the frame of shape ``field``.

    Beyond the grid (a quarter of the shape's size around it) the value at the nearest point of the grid plus the
    way to it. The arguments are the arrays of a :class:`~tensorphys_sdf.FieldTable`.
    """
    inv = wp.vec3(reals[field, 3], reals[field, 4], reals[field, 5])
    blocks = wp.vec3i(counts[field, 0], counts[field, 1], counts[field, 2])
    u = wp.cw_mul(p - wp.vec3(reals[field, 0], reals[field, 1], reals[field, 2]), inv)
    v = wp.vec3(
        wp.clamp(u[0], 0.0, float(blocks[0])),
        wp.clamp(u[1], 0.0, float(blocks[1])),
        wp.clamp(u[2], 0.0, float(blocks[2])),
    )
    i = wp.vec3i(cell_of(v[0], blocks[0]), cell_of(v[1], blocks[1]), cell_of(v[2], blocks[2]))
    f = v - wp.vec3(float(i[0]), float(i[1]), float(i[2]))
    subgrid = counts[field, 3]
    r = wp.vec4()
    if subgrid == 0:
        r = table_coarse(coarse, blocks, counts[field, 5], i, f, inv)
    else:
        block = (i[0] * blocks[1] + i[1]) * blocks[2] + i[2]
        at = data_record(record, counts[field, 6], block)
        r = sample_record(
            record,
            fine,
            at,
            counts[field, 7],
            subgrid,
            counts[field, 4],
            f,
            inv[0],
            reals[field, 6],
            reals[field, 7],
        )
    away = wp.cw_div(u - v, inv)
    length = wp.length(away)
    if length > 0.0:
        for k in range(3):
            if u[k] != v[k]:
                r[k + 1] = away[k] / length
        r[0] = r[0] + length
    return r


@wp.func
def table_error_bound(reals: wp.array2d[wp.float32], field: int) -> float:
    """Bound of the error of sampled distances within the grid of a field."""
    return reals[field, 8]


@wp.kernel
def sample_table(
    reals: wp.array2d[wp.float32],
    counts: wp.array2d[wp.int32],
    coarse: wp.array[wp.float32],
    record: wp.array[wp.int32],
    fine: wp.array[wp.uint32],
    field: wp.array[wp.int32],
    points: wp.array[wp.vec3],
    field_out: wp.array[wp.vec4],
):
    tid = wp.tid()
    field_out[tid] = table_distance_gradient(reals, counts, coarse, record, fine, field[tid], points[tid])
