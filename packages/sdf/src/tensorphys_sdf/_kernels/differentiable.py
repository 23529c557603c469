"""Distances whose derivative with respect to the points goes through Warp's tape."""

import warp as wp

from tensorphys_sdf._kernels.field import field_distance_gradient
from tensorphys_sdf._kernels.surface import exact_distance_gradient
from tensorphys_sdf.structs import SdfGrid, SdfSurface

wp.set_module_options({"enable_backward": True})


@wp.func
def field_distance(grid: SdfGrid, surface: SdfSurface, p: wp.vec3) -> float:
    """Signed distance at a point of the shape's frame; its adjoint is the exact gradient."""
    return field_distance_gradient(grid, surface, p)[0]


@wp.func_grad(field_distance)
def adj_field_distance(grid: SdfGrid, surface: SdfSurface, p: wp.vec3, adj_ret: float):
    r = field_distance_gradient(grid, surface, p)
    wp.adjoint[p] += wp.vec3(r[1], r[2], r[3]) * adj_ret


@wp.func
def exact_distance(surface: SdfSurface, p: wp.vec3) -> float:
    """Exact signed distance at a point of the shape's frame; its adjoint is the unit gradient."""
    return exact_distance_gradient(surface, p)[0]


@wp.func_grad(exact_distance)
def adj_exact_distance(surface: SdfSurface, p: wp.vec3, adj_ret: float):
    r = exact_distance_gradient(surface, p)
    wp.adjoint[p] += wp.vec3(r[1], r[2], r[3]) * adj_ret


@wp.func
def pose_point(poses: wp.array[wp.transform], i: int, p: wp.vec3) -> wp.vec3:
    if poses.shape[0] == 0:
        return p
    return wp.transform_point(wp.transform_inverse(poses[wp.min(i, poses.shape[0] - 1)]), p)


@wp.kernel
def taped_distances(
    grid: SdfGrid,
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    distance_out: wp.array[wp.float32],
):
    tid = wp.tid()
    distance_out[tid] = field_distance(grid, surface, pose_point(poses, tid, points[tid]))


@wp.kernel
def taped_exact_distances(
    surface: SdfSurface,
    poses: wp.array[wp.transform],
    points: wp.array[wp.vec3],
    distance_out: wp.array[wp.float32],
):
    tid = wp.tid()
    distance_out[tid] = exact_distance(surface, pose_point(poses, tid, points[tid]))
