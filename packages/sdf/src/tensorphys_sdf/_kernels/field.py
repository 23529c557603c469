"""Stored grid and exact surface together: one distance at every point of space."""

import warp as wp

from tensorphys_sdf._kernels.grid import (
    asks_surface,
    block_of,
    clamp_to_grid,
    exact_weight,
    grid_coordinates,
    in_core,
    interpolation_bound,
    sample_block,
    sample_clamped,
    sample_inside,
)
from tensorphys_sdf._kernels.surface import bounds_distance, outer_distance_gradient
from tensorphys_sdf.structs import SdfGrid, SdfSurface

wp.set_module_options({"enable_backward": False})

NO_SURFACE = wp.constant(wp.uint64(0))


@wp.func
def rim_distance_gradient(grid: SdfGrid, surface: SdfSurface, p: wp.vec3) -> wp.vec4:
    """Distance and its derivative at points outside of the grid's core.

    Beyond the grid the distance is exact. Across the outermost layer of cells, and around blocks in which stored
    data are too coarse, it goes over from the sampled to the exact value, so that it is continuous.
    """
    if surface.mesh == NO_SURFACE:
        return sample_clamped(grid, p)
    exact = outer_distance_gradient(surface, p)
    if grid.blend == 0:
        return exact
    u = grid_coordinates(grid, p)
    t = float(0.0)
    slope = wp.vec3(0.0, 0.0, 0.0)
    for k in range(3):
        low = float(grid.blend) - u[k]
        high = u[k] - float(grid.blocks[k] - grid.blend)
        if low > t:
            t = low
            slope = wp.vec3(0.0, 0.0, 0.0)
            slope[k] = -grid.inv_cell[k]
        if high > t:
            t = high
            slope = wp.vec3(0.0, 0.0, 0.0)
            slope[k] = grid.inv_cell[k]
    t = t / float(grid.blend)
    slope = slope / float(grid.blend)
    # also false for NaN, which the exact query hands through
    if not (t < 1.0):
        return exact
    v = clamp_to_grid(grid, u)
    weight = exact_weight(grid, v)
    slope = slope * (1.0 - weight[0]) + wp.vec3(weight[1], weight[2], weight[3]) * (1.0 - t)
    t = t + weight[0] - t * weight[0]
    sampled = sample_inside(grid, v)
    turn = exact[0] - sampled[0]
    return sampled * (1.0 - t) + exact * t + wp.vec4(0.0, turn * slope[0], turn * slope[1], turn * slope[2])


@wp.func
def field_distance_gradient(grid: SdfGrid, surface: SdfSurface, p: wp.vec3) -> wp.vec4:
    """Signed distance and its exact derivative ``(d, gx, gy, gz)`` at a point of the shape's frame."""
    u = grid_coordinates(grid, p)
    if in_core(grid, u):
        i = block_of(grid, u)
        if not asks_surface(grid, i):
            return sample_block(grid, i, u)
    return rim_distance_gradient(grid, surface, p)


@wp.func
def field_lower_bound(grid: SdfGrid, surface: SdfSurface, p: wp.vec3) -> float:
    """A true lower bound of the signed distance at a point of the shape's frame."""
    u = grid_coordinates(grid, p)
    v = clamp_to_grid(grid, u)
    away = wp.length(wp.cw_mul(u - v, grid.cell))
    if away > 0.0 and surface.mesh != NO_SURFACE:
        d = outer_distance_gradient(surface, p)[0]
        return d - 2.0e-6 * (wp.abs(d) + wp.length(surface.upper - surface.lower))
    q = grid.origin + wp.cw_mul(v, grid.cell)
    bound = sample_inside(grid, v)[0] - interpolation_bound(grid, q) - away
    box = bounds_distance(surface, p)
    if surface.mesh != NO_SURFACE and box > 0.0:
        bound = wp.max(bound, box)
    return bound


@wp.func
def into_shape(poses: wp.array[wp.transform], i: int, p: wp.vec3) -> wp.vec3:
    """A world point in the shape's frame: no pose, one for all points, or one each."""
    if poses.shape[0] == 0:
        return p
    return wp.transform_point(wp.transform_inverse(poses[wp.min(i, poses.shape[0] - 1)]), p)


@wp.func
def turn_to_world(poses: wp.array[wp.transform], i: int, v: wp.vec3) -> wp.vec3:
    if poses.shape[0] == 0:
        return v
    return wp.transform_vector(poses[wp.min(i, poses.shape[0] - 1)], v)


@wp.func
def turn_from_world(poses: wp.array[wp.transform], i: int, v: wp.vec3) -> wp.vec3:
    if poses.shape[0] == 0:
        return v
    return wp.transform_vector(wp.transform_inverse(poses[wp.min(i, poses.shape[0] - 1)]), v)


@wp.func
def turn_field(poses: wp.array[wp.transform], i: int, r: wp.vec4) -> wp.vec4:
    g = turn_to_world(poses, i, wp.vec3(r[1], r[2], r[3]))
    return wp.vec4(r[0], g[0], g[1], g[2])
