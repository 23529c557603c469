"""The stored grid and how a point is sampled in it.

A grid has coarse cells ("blocks"), each holding trilinear data of its own corners or a brick of
``subgrid`` fine cells per axis. Coarse nodes are stored in tiles of 4 x 4 x 4; 16-bit bricks store each node
with its upper neighbour in one word. Both were chosen by counting the memory lines that a warp of neighbours
touches: at 256 cells per axis 38 and 28 instead of the 84 of a row-major array.
"""

import warp as wp

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
def halves(word: wp.uint32) -> wp.vec2:
    return wp.vec2(float(word & wp.uint32(0xFFFF)), float(word >> wp.uint32(16)))


@wp.func
def plain_pair(grid: SdfGrid, node: int) -> wp.vec2:
    """Two neighbours along z of a brick of 8 or 32 bits, in stored units."""
    if grid.bits == 8:
        return wp.vec2(float(grid.fine8[node]), float(grid.fine8[node + 1]))
    return wp.vec2(grid.fine32[node], grid.fine32[node + 1])


@wp.func
def sample_fine(grid: SdfGrid, brick: int, f: wp.vec3) -> wp.vec4:
    s = grid.subgrid
    n = s + 1
    u = f * float(s)
    x = wp.min(int(u[0]), s - 1)
    y = wp.min(int(u[1]), s - 1)
    z = wp.min(int(u[2]), s - 1)
    row = (brick * n + x) * n + y
    p00 = wp.vec2()
    p01 = wp.vec2()
    p10 = wp.vec2()
    p11 = wp.vec2()
    if grid.bits == 16:
        word = row * s + z
        p00 = halves(grid.fine16[word])
        p01 = halves(grid.fine16[word + s])
        p10 = halves(grid.fine16[word + n * s])
        p11 = halves(grid.fine16[word + n * s + s])
    else:
        node = row * n + z
        p00 = plain_pair(grid, node)
        p01 = plain_pair(grid, node + n)
        p10 = plain_pair(grid, node + n * n)
        p11 = plain_pair(grid, node + n * n + n)
    stored = trilinear(
        p00[0],
        p00[1],
        p01[0],
        p01[1],
        p10[0],
        p10[1],
        p11[0],
        p11[1],
        u - wp.vec3(float(x), float(y), float(z)),
        grid.inv_cell * (float(s) * grid.fine_scale),
    )
    stored[0] = grid.fine_offset + grid.fine_scale * stored[0]
    return stored


@wp.func
def block_of(grid: SdfGrid, u: wp.vec3) -> wp.vec3i:
    """Block that holds grid coordinates ``u``, the nearest one outside of the grid."""
    return wp.vec3i(
        wp.clamp(int(wp.floor(u[0])), 0, grid.blocks[0] - 1),
        wp.clamp(int(wp.floor(u[1])), 0, grid.blocks[1] - 1),
        wp.clamp(int(wp.floor(u[2])), 0, grid.blocks[2] - 1),
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
def block_brick(grid: SdfGrid, i: wp.vec3i) -> int:
    """What a block holds: a brick from 0, coarse data -1; below, ``-3 - that`` where the surface is asked too."""
    if grid.subgrid > 0:
        return grid.brick[block_index(grid, i)]
    return -1


@wp.func
def sample_block(grid: SdfGrid, i: wp.vec3i, brick: int, u: wp.vec3) -> wp.vec4:
    """Distance and gradient at grid coordinates ``u`` in block ``i``."""
    f = u - wp.vec3(float(i[0]), float(i[1]), float(i[2]))
    if brick < 0:
        return sample_coarse(grid, i, f)
    return sample_fine(grid, brick, f)


@wp.func
def sample_inside(grid: SdfGrid, u: wp.vec3) -> wp.vec4:
    """Distance and gradient at grid coordinates ``u`` inside of the grid, from the stored data alone."""
    i = block_of(grid, u)
    brick = block_brick(grid, i)
    if brick < -1:
        brick = -3 - brick
    return sample_block(grid, i, brick, u)


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
        brick = grid.brick[block]
        if brick >= 0 or brick < -2:
            s = float(grid.subgrid)
            f = wp.vec3(f[0] * s, f[1] * s, f[2] * s)
            f = f - wp.vec3(wp.floor(f[0]), wp.floor(f[1]), wp.floor(f[2]))
            h = h / s
    total = float(0.0)
    for k in range(3):
        total += h[k] * h[k] * f[k] * (1.0 - f[k])
    return wp.sqrt(wp.max(total, 0.0)) + slack
