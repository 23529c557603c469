"""The stored grid and how a point is sampled in it.

A grid has coarse cells ("blocks"). A dense grid stores its nodes in tiles of 4 x 4 x 4: a warp of neighbours then
touches half as many memory lines as in a row-major array. A sparse grid stores a record for each block, and bricks of
``subgrid`` fine cells per axis (``records.py``).
"""

import warp as wp

from tensorphys_sdf._kernels.records import ASK, BRICK, RECORD, data_record, sample_record
from tensorphys_sdf.structs import SdfGrid

wp.set_module_options({"enable_backward": False})


@wp.func
def trilinear(
    v000: float,
    v001: float,
    v010: float,
    v011: float,
    v100: float,
    v101: float,
    v110: float,
    v111: float,
    f: wp.vec3,
    inv: wp.vec3,
) -> wp.vec4:
    """Value and its exact gradient at fractions ``f`` of a cell; ``inv`` is one over its edge lengths."""
    a00 = v100 - v000
    a01 = v101 - v001
    a10 = v110 - v010
    a11 = v111 - v011
    c00 = v000 + a00 * f[0]
    c01 = v001 + a01 * f[0]
    b0 = v010 + a10 * f[0] - c00
    b1 = v011 + a11 * f[0] - c01
    d0 = c00 + b0 * f[1]
    gz = c01 + b1 * f[1] - d0
    gy = b0 + (b1 - b0) * f[2]
    e0 = a00 + (a10 - a00) * f[1]
    gx = e0 + (a01 + (a11 - a01) * f[1] - e0) * f[2]
    return wp.vec4(d0 + gz * f[2], gx * inv[0], gy * inv[1], gz * inv[2])


@wp.func
def tile_offset(i: int, tile_stride: int, inner: int) -> int:
    return (i >> 2) * tile_stride + (i & 3) * inner


@wp.func
def coarse_index(blocks: wp.vec3i, x: int, y: int, z: int) -> int:
    """Position of a coarse node in its array."""
    sy = ((blocks[2] >> 2) + 1) << 6
    sx = ((blocks[1] >> 2) + 1) * sy
    return tile_offset(x, sx, 16) + tile_offset(y, sy, 4) + tile_offset(z, 64, 1)


@wp.func
def sample_coarse(grid: SdfGrid, i: wp.vec3i, f: wp.vec3) -> wp.vec4:
    x0 = tile_offset(i[0], grid.stride_x, 16)
    x1 = tile_offset(i[0] + 1, grid.stride_x, 16)
    y0 = tile_offset(i[1], grid.stride_y, 4)
    y1 = tile_offset(i[1] + 1, grid.stride_y, 4)
    z0 = tile_offset(i[2], 64, 1)
    z1 = tile_offset(i[2] + 1, 64, 1)
    return trilinear(
        grid.coarse[x0 + y0 + z0],
        grid.coarse[x0 + y0 + z1],
        grid.coarse[x0 + y1 + z0],
        grid.coarse[x0 + y1 + z1],
        grid.coarse[x1 + y0 + z0],
        grid.coarse[x1 + y0 + z1],
        grid.coarse[x1 + y1 + z0],
        grid.coarse[x1 + y1 + z1],
        f,
        grid.inv_cell,
    )


@wp.func
def cell_of(u: float, count: int) -> int:
    """Cell of an axis that holds a coordinate, the nearest one outside; on a face the even one of the two."""
    return wp.clamp(int(wp.rint(u - 0.5)), 0, count - 1)


@wp.func
def block_of(grid: SdfGrid, u: wp.vec3) -> wp.vec3i:
    """Block that holds grid coordinates ``u``, the nearest one outside of the grid."""
    return wp.vec3i(
        cell_of(u[0], grid.blocks[0]), cell_of(u[1], grid.blocks[1]), cell_of(u[2], grid.blocks[2])
    )


@wp.func
def block_index(grid: SdfGrid, i: wp.vec3i) -> int:
    return (i[0] * grid.blocks[1] + i[1]) * grid.blocks[2] + i[2]


@wp.func
def grid_coordinates(grid: SdfGrid, p: wp.vec3) -> wp.vec3:
    return wp.cw_mul(p - grid.origin, grid.inv_cell)


@wp.func
def in_core(grid: SdfGrid, u: wp.vec3) -> bool:
    """Whether the stored data alone decide at grid coordinates ``u`` (false for NaN)."""
    b = float(grid.blend)
    return (
        u[0] >= b
        and u[1] >= b
        and u[2] >= b
        and u[0] <= float(grid.blocks[0]) - b
        and u[1] <= float(grid.blocks[1]) - b
        and u[2] <= float(grid.blocks[2]) - b
    )


@wp.func
def asks_surface(grid: SdfGrid, i: wp.vec3i) -> bool:
    """Whether the stored data of a block are too coarse."""
    if grid.subgrid > 0:
        return grid.record[RECORD * block_index(grid, i)] == ASK
    return False


@wp.func
def sample_block(grid: SdfGrid, i: wp.vec3i, u: wp.vec3) -> wp.vec4:
    """Distance and gradient at grid coordinates ``u`` in block ``i``, from the stored data alone."""
    f = u - wp.vec3(float(i[0]), float(i[1]), float(i[2]))
    if grid.subgrid == 0:
        return sample_coarse(grid, i, f)
    at = data_record(grid.record, 0, block_index(grid, i))
    return sample_record(
        grid.record,
        grid.fine,
        at,
        0,
        grid.subgrid,
        grid.bits,
        f,
        grid.inv_cell[0],
        grid.fine_offset,
        grid.fine_scale,
    )


@wp.func
def sample_inside(grid: SdfGrid, u: wp.vec3) -> wp.vec4:
    """Distance and gradient at grid coordinates ``u`` inside of the grid, from the stored data alone."""
    return sample_block(grid, block_of(grid, u), u)


@wp.func
def exact_weight(grid: SdfGrid, u: wp.vec3) -> wp.vec4:
    """Share of the surface's distance at grid coordinates ``u`` inside of the grid, and its derivative."""
    if grid.exact.shape[0] == 0:
        return wp.vec4()
    i = block_of(grid, u)
    f = u - wp.vec3(float(i[0]), float(i[1]), float(i[2]))
    x0 = tile_offset(i[0], grid.stride_x, 16)
    x1 = tile_offset(i[0] + 1, grid.stride_x, 16)
    y0 = tile_offset(i[1], grid.stride_y, 4)
    y1 = tile_offset(i[1] + 1, grid.stride_y, 4)
    z0 = tile_offset(i[2], 64, 1)
    z1 = tile_offset(i[2] + 1, 64, 1)
    return trilinear(
        float(grid.exact[x0 + y0 + z0]),
        float(grid.exact[x0 + y0 + z1]),
        float(grid.exact[x0 + y1 + z0]),
        float(grid.exact[x0 + y1 + z1]),
        float(grid.exact[x1 + y0 + z0]),
        float(grid.exact[x1 + y0 + z1]),
        float(grid.exact[x1 + y1 + z0]),
        float(grid.exact[x1 + y1 + z1]),
        f,
        grid.inv_cell,
    )


@wp.func
def clamp_to_grid(grid: SdfGrid, u: wp.vec3) -> wp.vec3:
    return wp.vec3(
        wp.clamp(u[0], 0.0, float(grid.blocks[0])),
        wp.clamp(u[1], 0.0, float(grid.blocks[1])),
        wp.clamp(u[2], 0.0, float(grid.blocks[2])),
    )


@wp.func
def sample_clamped(grid: SdfGrid, p: wp.vec3) -> wp.vec4:
    """Distance and gradient anywhere: outside, the value at the nearest point of the grid plus the way to it."""
    u = grid_coordinates(grid, p)
    v = clamp_to_grid(grid, u)
    r = sample_inside(grid, v)
    away = wp.cw_mul(u - v, grid.cell)
    length = wp.length(away)
    if length > 0.0:
        for k in range(3):
            if u[k] != v[k]:
                r[k + 1] = away[k] / length
            else:
                r[k + 1] = r[k + 1]
        r[0] = r[0] + length
    return r


@wp.func
def interpolation_bound(grid: SdfGrid, p: wp.vec3) -> float:
    """Bound of the error of a sample at a point inside of the grid, for a field that is a true distance.

    Interpolating a function of Lipschitz constant 1 errs by at most ``sqrt(sum h^2 t (1 - t))`` with t the
    fractions of the cell (Jensen), plus the error of the node values.
    """
    u = clamp_to_grid(grid, grid_coordinates(grid, p))
    i = block_of(grid, u)
    f = u - wp.vec3(float(i[0]), float(i[1]), float(i[2]))
    h = grid.cell
    block = block_index(grid, i)
    slack = float(0.0)
    if grid.subgrid > 0:
        slack = grid.slack[block]
        if grid.record[RECORD * data_record(grid.record, 0, block)] == BRICK:
            s = float(grid.subgrid)
            f = wp.vec3(f[0] * s, f[1] * s, f[2] * s)
            f = f - wp.vec3(wp.floor(f[0]), wp.floor(f[1]), wp.floor(f[2]))
            h = h / s
    total = float(0.0)
    for k in range(3):
        total += h[k] * h[k] * f[k] * (1.0 - f[k])
    return wp.sqrt(wp.max(total, 0.0)) + slack
