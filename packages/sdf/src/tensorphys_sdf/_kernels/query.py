"""Queries of a field at many points.

The first pass reads the grid alone and notes the few points that need the surface; the second pass walks that
list with a fixed number of threads. So the fast pass carries no tree walk, and neither reads anything back. Points of
sparse grids in the frame of the shape, the usual case, have a first pass of their own.
"""

import warp as wp

from tensorphys_sdf._kernels.field import (
    field_distance_gradient,
    field_lower_bound,
    into_shape,
    rim_distance_gradient,
    turn_field,
    turn_from_world,
    turn_to_world,
)
from tensorphys_sdf._kernels.grid import (
    asks_surface,
    block_of,
    grid_coordinates,
    in_core,
    sample_block,
)
from tensorphys_sdf._kernels.records import LANES, sample_many_distances, sample_many_fields
from tensorphys_sdf._kernels.surface import closest_on_surface, exact_distance_gradient, surface_sign
from tensorphys_sdf.structs import SdfGrid, SdfSurface

wp.set_module_options({"enable_backward": False})

RESIDENT = 6  # blocks of a multiprocessor at a time, which bounds a thread's registers to 40


@wp.kernel(launch_bounds=(LANES, RESIDENT))
def sample_fields(
    grid: SdfGrid,
    points: wp.array[wp.vec3],
    field_out: wp.array[wp.vec4],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    """First pass over a sparse grid; ``LANES`` threads take ``POINTS * LANES`` points, which lie dense in memory."""
    sample_many_fields(
        grid.record,
        grid.fine,
        points,
        grid.origin,
        grid.inv_cell[0],
        grid.blocks,
        grid.blend,
        grid.subgrid,
        grid.bits,
        grid.fine_offset,
        grid.fine_scale,
        wp.tid(),
        field_out,
        rim_count_inout,
        rim_out,
    )


@wp.kernel
def sample_any_fields(
    grid: SdfGrid,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    field_out: wp.array[wp.vec4],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    """First pass over any grid, through poses."""
    tid = wp.tid()
    u = grid_coordinates(grid, into_shape(poses, tid, points[tid]))
    i = block_of(grid, u)
    if in_core(grid, u) and not asks_surface(grid, i):
        field_out[tid] = turn_field(poses, tid, sample_block(grid, i, u))
    else:
        slot = wp.atomic_add(rim_count_inout, 0, 1)
        rim_out[slot] = tid


@wp.kernel
def finish_fields(
    grid: SdfGrid,
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    rim_count: wp.array[wp.int32],
    rim: wp.array[wp.int32],
    stride: int,
    field_out: wp.array[wp.vec4],
):
    k = int(wp.tid())
    while k < rim_count[0]:
        i = rim[k]
        r = rim_distance_gradient(grid, surface, into_shape(poses, i, points[i]))
        field_out[i] = turn_field(poses, i, r)
        k += stride


@wp.kernel(launch_bounds=(LANES, RESIDENT))
def sample_distances(
    grid: SdfGrid,
    points: wp.array[wp.vec3],
    distance_out: wp.array[wp.float32],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    """First pass over a sparse grid; ``LANES`` threads take ``POINTS * LANES`` points, which lie dense in memory."""
    sample_many_distances(
        grid.record,
        grid.fine,
        points,
        grid.origin,
        grid.inv_cell[0],
        grid.blocks,
        grid.blend,
        grid.subgrid,
        grid.bits,
        grid.fine_offset,
        grid.fine_scale,
        wp.tid(),
        distance_out,
        rim_count_inout,
        rim_out,
    )


@wp.kernel
def sample_any_distances(
    grid: SdfGrid,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    distance_out: wp.array[wp.float32],
    rim_count_inout: wp.array[wp.int32],
    rim_out: wp.array[wp.int32],
):
    """First pass over any grid, through poses."""
    tid = wp.tid()
    u = grid_coordinates(grid, into_shape(poses, tid, points[tid]))
    i = block_of(grid, u)
    if in_core(grid, u) and not asks_surface(grid, i):
        distance_out[tid] = sample_block(grid, i, u)[0]
    else:
        slot = wp.atomic_add(rim_count_inout, 0, 1)
        rim_out[slot] = tid


@wp.kernel
def finish_distances(
    grid: SdfGrid,
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    rim_count: wp.array[wp.int32],
    rim: wp.array[wp.int32],
    stride: int,
    distance_out: wp.array[wp.float32],
):
    k = int(wp.tid())
    while k < rim_count[0]:
        i = rim[k]
        distance_out[i] = rim_distance_gradient(grid, surface, into_shape(poses, i, points[i]))[0]
        k += stride


@wp.kernel
def lower_bounds(
    grid: SdfGrid,
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    distance_out: wp.array[wp.float32],
):
    tid = wp.tid()
    distance_out[tid] = field_lower_bound(grid, surface, into_shape(poses, tid, points[tid]))


@wp.kernel
def exact_fields(
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    field_out: wp.array[wp.vec4],
):
    tid = wp.tid()
    r = exact_distance_gradient(surface, into_shape(poses, tid, points[tid]))
    field_out[tid] = turn_field(poses, tid, r)


@wp.kernel
def closest_points(
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    closest_out: wp.array[wp.vec3],
):
    tid = wp.tid()
    c = closest_on_surface(surface, into_shape(poses, tid, points[tid]))
    if poses.shape[0] > 0:
        c = wp.transform_point(poses[wp.min(tid, poses.shape[0] - 1)], c)
    closest_out[tid] = c


@wp.kernel
def exact_insides(
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    inside_out: wp.array[wp.bool],
):
    tid = wp.tid()
    inside_out[tid] = surface_sign(surface, into_shape(poses, tid, points[tid])) < 0.0


@wp.kernel
def insides_of_distances(
    distances: wp.array[wp.float32],
    inside_out: wp.array[wp.bool],
):
    tid = wp.tid()
    inside_out[tid] = distances[tid] < 0.0


@wp.kernel
def first_components(
    fields: wp.array[wp.vec4],
    distance_out: wp.array[wp.float32],
):
    tid = wp.tid()
    distance_out[tid] = fields[tid][0]


@wp.kernel
def unit_gradients(
    fields: wp.array[wp.vec4],
    normal_out: wp.array[wp.vec3],
):
    tid = wp.tid()
    r = fields[tid]
    normal_out[tid] = wp.normalize(wp.vec3(r[1], r[2], r[3]))


@wp.func
def grid_interval(grid: SdfGrid, p: wp.vec3, way: wp.vec3, limit: float) -> wp.vec2:
    """Part of a ray that lies in the grid; empty when the second is below the first."""
    near = float(0.0)
    far = limit
    for k in range(3):
        low = grid.origin[k]
        high = low + grid.cell[k] * float(grid.blocks[k])
        if wp.abs(way[k]) < 1.0e-12:
            if p[k] < low or p[k] > high:
                far = -1.0
        else:
            a = (low - p[k]) / way[k]
            b = (high - p[k]) / way[k]
            near = wp.max(near, wp.min(a, b))
            far = wp.min(far, wp.max(a, b))
    return wp.vec2(near, far)


@wp.func
def march(
    grid: SdfGrid, surface: SdfSurface, p: wp.vec3, way: wp.vec3, limit: float, precision: float, steps: int
) -> float:
    """Way along a ray to the first change of sign, infinite without one [Hart 1996, sphere tracing].

    Steps are 0.9 of the sampled distance, since coarse blocks err; an overstepped surface is found by halving.
    """
    span = grid_interval(grid, p, way, limit)
    t = span[0]
    before = t
    side = field_distance_gradient(grid, surface, p + way * t)[0]
    for _k in range(steps):
        if t > span[1]:
            return wp.inf
        d = field_distance_gradient(grid, surface, p + way * t)[0]
        if d * side <= 0.0 and t > before:
            low = before
            high = t
            for _i in range(24):
                middle = 0.5 * (low + high)
                if field_distance_gradient(grid, surface, p + way * middle)[0] * side > 0.0:
                    low = middle
                else:
                    high = middle
            return high
        if d == 0.0:
            return t
        before = t
        t += wp.max(0.9 * wp.abs(d), precision)
    return wp.inf


@wp.kernel
def march_rays(
    grid: SdfGrid,
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    origins: wp.array[wp.vec3],
    directions: wp.array[wp.vec3],
    limit: float,
    precision: float,
    steps: int,
    way_out: wp.array[wp.float32],
    normal_out: wp.array[wp.vec3],
):
    tid = wp.tid()
    p = into_shape(poses, tid, origins[tid])
    way = wp.normalize(turn_from_world(poses, tid, directions[tid]))
    t = march(grid, surface, p, way, limit, precision, steps)
    way_out[tid] = t
    normal = wp.vec3(0.0, 0.0, 0.0)
    if t < wp.inf:
        r = field_distance_gradient(grid, surface, p + way * t)
        normal = wp.normalize(turn_to_world(poses, tid, wp.vec3(r[1], r[2], r[3])))
    normal_out[tid] = normal
