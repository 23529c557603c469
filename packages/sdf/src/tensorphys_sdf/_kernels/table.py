"""Many fields of any resolutions in plain arrays, for the kernels of other packages.

Row ``f`` of ``reals`` is ``[origin xyz, inv_cell xyz, fine_offset, fine_scale, error_bound]`` and row ``f`` of
``counts`` is ``[blocks xyz, subgrid, bits, first coarse node, first block, first fine word]``.
"""

import warp as wp

from tensorphys_sdf._kernels.grid import coarse_index, halves, trilinear

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
def table_pair(fine: wp.array[wp.uint32], first: int, row: int, z: int, subgrid: int, bits: int) -> wp.vec2:
    """Two neighbours along z of a row of a brick, in stored units."""
    if bits == 32:
        node = first + row * (subgrid + 1) + z
        return wp.vec2(wp.cast(fine[node], float), wp.cast(fine[node + 1], float))
    return halves(fine[first + row * subgrid + z])


@wp.func
def table_fine(
    fine: wp.array[wp.uint32],
    first: int,
    brick: int,
    subgrid: int,
    bits: int,
    f: wp.vec3,
    inv: wp.vec3,
) -> wp.vec4:
    u = f * float(subgrid)
    n = subgrid + 1
    x = wp.min(int(u[0]), subgrid - 1)
    y = wp.min(int(u[1]), subgrid - 1)
    z = wp.min(int(u[2]), subgrid - 1)
    row = (brick * n + x) * n + y
    p00 = table_pair(fine, first, row, z, subgrid, bits)
    p01 = table_pair(fine, first, row + 1, z, subgrid, bits)
    p10 = table_pair(fine, first, row + n, z, subgrid, bits)
    p11 = table_pair(fine, first, row + n + 1, z, subgrid, bits)
    at = u - wp.vec3(float(x), float(y), float(z))
    return trilinear(p00[0], p00[1], p01[0], p01[1], p10[0], p10[1], p11[0], p11[1], at, inv * float(subgrid))


@wp.func
def table_distance_gradient(
    reals: wp.array2d[wp.float32],
    counts: wp.array2d[wp.int32],
    coarse: wp.array[wp.float32],
    brick: wp.array[wp.int32],
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
    i = wp.vec3i(
        wp.min(int(v[0]), blocks[0] - 1), wp.min(int(v[1]), blocks[1] - 1), wp.min(int(v[2]), blocks[2] - 1)
    )
    f = v - wp.vec3(float(i[0]), float(i[1]), float(i[2]))
    subgrid = counts[field, 3]
    number = int(-1)
    if subgrid > 0:
        number = brick[counts[field, 6] + (i[0] * blocks[1] + i[1]) * blocks[2] + i[2]]
        if number < -1:
            number = -3 - number
    r = wp.vec4()
    if number < 0:
        r = table_coarse(coarse, blocks, counts[field, 5], i, f, inv)
    else:
        r = table_fine(fine, counts[field, 7], number, subgrid, counts[field, 4], f, inv)
        r = r * reals[field, 7] + wp.vec4(reals[field, 6], 0.0, 0.0, 0.0)
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
    brick: wp.array[wp.int32],
    fine: wp.array[wp.uint32],
    field: wp.array[wp.int32],
    points: wp.array[wp.vec3],
    field_out: wp.array[wp.vec4],
):
    tid = wp.tid()
    field_out[tid] = table_distance_gradient(reals, counts, coarse, brick, fine, field[tid], points[tid])
