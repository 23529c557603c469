"""Kernels of the path that is parallel inside a body: Newton and line search.

One thread an element, or one group of lanes a chunk of nodes of one body. Each chunk leaves its part of a sum; whoever
needs the sum adds the parts of the body in their order, every group the same bits.
"""

import warp as wp

from tensorphys_fem._kernels.elements import (
    gradient_before,
    write_element_force,
    write_gradient,
    write_smooth_before,
    write_smooth_stress,
)
from tensorphys_fem._kernels.fused import FIRST_PART, ROUNDING, shorter_step, step_accepted
from tensorphys_fem._kernels.lanes import barrier, group_sum, lane, lane_count
from tensorphys_fem._kernels.linear import finish_diagonal, write_block
from tensorphys_fem._kernels.nodes import matrix_norm, node_load, node_residual
from tensorphys_fem._kernels.patches import patch_mean, patch_mean_matrix
from tensorphys_fem._kernels.rigid import guess_motion
from tensorphys_fem._kernels.structs import (
    CONSERVING,
    DAMPED,
    REPLACED,
    SOLVED,
    STATIC,
    TET,
    UNSOLVED,
    Limits,
    Loads,
    Materials,
    Mesh,
    Sums,
    Work,
)
from tensorphys_fem._kernels.tangents import write_element_tangent
from tensorphys_fem._kernels.whole import mean_start_velocity

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))


@wp.func
def body_total(mesh: Mesh, parts: wp.array[wp.float64], body: int) -> wp.float64:
    """Sum of the parts of the chunks of a body, the same bits in every group."""
    total = _ZERO
    for c in range(mesh.body_chunk[body] + lane(), mesh.body_chunk[body + 1], lane_count()):
        total += parts[c]
    return group_sum(total)


@wp.func
def leave(parts_out: wp.array[wp.float64], chunk: int, value: wp.float64):
    """Store the part of a chunk."""
    total = group_sum(value)
    if lane() == 0:
        parts_out[chunk] = total


@wp.kernel
def start_bodies(
    first: wp.int32,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    body = wp.tid()
    sums_inout.active[body] = 1
    sums_inout.search_active[body] = 1
    sums_inout.attempt[body] = 0
    work_inout.status[body] = UNSOLVED
    if first != 0:
        work_inout.newton_count[body] = 0
        work_inout.linear_count[body] = 0


@wp.kernel
def gradients(
    mesh: Mesh,
    materials: Materials,
    increment: wp.array[wp.vec3d],
    before: wp.int32,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    e = wp.tid()
    if mesh.element_kind[e] == TET and sums.search_active[mesh.element_body[e]] != 0:
        if before != 0:
            work_inout.gradient[e] = gradient_before(mesh, work_inout, e)
        else:
            write_gradient(mesh, materials, work_inout, increment, e)


@wp.kernel
def means(
    mesh: Mesh,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    if sums.search_active[mesh.node_body[node]] != 0:
        work_inout.patch_dilatation[node] = patch_mean(mesh, work_inout.dilatation, node)
        work_inout.patch_matrix[node] = patch_mean_matrix(mesh, work_inout.gradient, node)


@wp.kernel
def smooth_stresses(
    mesh: Mesh,
    materials: Materials,
    before: wp.int32,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    e = wp.tid()
    if mesh.element_kind[e] == TET and sums.search_active[mesh.element_body[e]] != 0:
        if before != 0:
            write_smooth_before(mesh, materials, work_inout, e)
        else:
            write_smooth_stress(mesh, materials, work_inout, e)


@wp.kernel
def mean_stresses(
    mesh: Mesh,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    if sums.search_active[mesh.node_body[node]] != 0:
        work_inout.patch_matrix[node] = patch_mean_matrix(mesh, work_inout.stress, node)


@wp.kernel
def forces(
    mesh: Mesh,
    materials: Materials,
    increment: wp.array[wp.vec3d],
    patches: wp.int32,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    e = wp.tid()
    if sums.search_active[mesh.element_body[e]] != 0:
        write_element_force(mesh, materials, work_inout, increment, patches, e)


@wp.kernel
def residuals(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    increment: wp.array[wp.vec3d],
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """Residual at nodes, and its component along the direction of search."""
    chunk = wp.tid() / lane_count()
    if sums_inout.search_active[mesh.chunk_body[chunk]] == 0:
        return
    total = _ZERO
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        left = node_residual(mesh, materials, loads, work_inout, increment, i)
        if work_inout.driven[i] != 0:
            work_inout.reaction[i] = wp.vec3(-left)
            left = wp.vec3d()
        work_inout.residual[i] = left
        total += wp.dot(left, wp.vec3d(work_inout.x[i]))
    leave(sums_inout.reached, chunk, total)


@wp.kernel
def tangents(
    mesh: Mesh,
    materials: Materials,
    patches: wp.int32,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    e = wp.tid()
    if sums.active[mesh.element_body[e]] != 0:
        write_element_tangent(mesh, materials, work_inout, work_inout.increment, patches, e)


@wp.kernel
def blocks(
    mesh: Mesh,
    materials: Materials,
    patches: wp.int32,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    """One thread a block of the matrix."""
    k = wp.tid()
    node = mesh.block_row[k]
    if sums.active[mesh.node_body[node]] != 0:
        write_block(mesh, work_inout, patches, k)
        if k == mesh.row_start[node]:
            finish_diagonal(mesh, materials, work_inout, patches, node)


@wp.kernel
def norms(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    work: Work,
    # outputs
    sums_inout: Sums,
):
    """Norm of the residual, and before the first step of a solve those that it is compared with."""
    chunk = wp.tid() / lane_count()
    body = mesh.chunk_body[chunk]
    if sums_inout.active[body] == 0:
        return
    total = _ZERO
    load = _ZERO
    rounding = _ZERO
    first = sums_inout.attempt[body] == 0
    mean = wp.vec3d()
    if first:
        mean = mean_start_velocity(mesh, sums_inout, body)
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        inverse = work.inverse_diagonal[i]
        total += matrix_norm(inverse, work.residual[i])
        if first:
            load += matrix_norm(inverse, node_load(mesh, materials, loads, work, mean, i))
            x = work.start[i]
            rounding += ROUNDING * ROUNDING * wp.float64(work.stiffness[i]) * wp.dot(x, x)
    leave(sums_inout.norm, chunk, total)
    if first:
        leave(sums_inout.load, chunk, load)
        leave(sums_inout.rounding, chunk, rounding)


@wp.kernel
def judge(
    mesh: Mesh,
    materials: Materials,
    limits: Limits,
    ended: wp.int32,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """Whether a body is solved, before (`ended` 0) and after a Newton step."""
    body = wp.tid() / lane_count()
    if sums_inout.active[body] == 0:
        return
    norm = body_total(mesh, sums_inout.norm, body)
    scale = sums_inout.scale[body]
    goal = sums_inout.goal[body]
    if ended == 0 and sums_inout.attempt[body] == 0:
        scale = body_total(mesh, sums_inout.load, body) + FIRST_PART * norm
        goal = limits.tolerance * limits.tolerance * scale + body_total(mesh, sums_inout.rounding, body)
    barrier()
    if lane() == 0:
        solved = norm <= goal
        sums_inout.scale[body] = scale
        sums_inout.goal[body] = goal
        least = limits.linear_tolerance * limits.linear_tolerance * norm
        sums_inout.wanted[body] = wp.max(least, wp.float64(0.1) * goal)
        sums_inout.length[body] = wp.float64(1.0)
        sums_inout.iteration[body] = 0
        work_inout.residual_norm[body] = wp.sqrt(norm)
        work_inout.load_norm[body] = wp.sqrt(scale)
        going = 1
        if solved:
            going = 0
            work_inout.status[body] = SOLVED
            if work_inout.scheme[body] != STATIC and work_inout.scheme[body] != materials.scheme[body]:
                work_inout.status[body] = REPLACED
        if ended != 0:
            sums_inout.attempt[body] = sums_inout.attempt[body] + 1
            work_inout.newton_count[body] = work_inout.newton_count[body] + 1
            if sums_inout.attempt[body] >= limits.newton_iterations:
                going = 0
        sums_inout.active[body] = going
        sums_inout.linear_active[body] = going
        sums_inout.search_active[body] = going
        sums_inout.searches[body] = 0


@wp.kernel
def slopes(
    mesh: Mesh,
    work: Work,
    # outputs
    sums_inout: Sums,
):
    chunk = wp.tid() / lane_count()
    if sums_inout.active[mesh.chunk_body[chunk]] == 0:
        return
    total = _ZERO
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        total += wp.dot(work.residual[i], wp.vec3d(work.x[i]))
    leave(sums_inout.slope, chunk, total)


@wp.kernel
def trials(
    mesh: Mesh,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    body = mesh.node_body[node]
    if sums.search_active[body] != 0:
        step = sums.length[body] * wp.vec3d(work_inout.x[node])
        work_inout.trial[node] = work_inout.increment[node] + step


@wp.kernel
def judge_search(
    mesh: Mesh,
    limits: Limits,
    # outputs
    sums_inout: Sums,
):
    body = wp.tid() / lane_count()
    if sums_inout.search_active[body] == 0:
        return
    slope = body_total(mesh, sums_inout.slope, body)
    reached = body_total(mesh, sums_inout.reached, body)
    if lane() == 0:
        tried = sums_inout.searches[body]
        sums_inout.searches[body] = tried + 1
        if step_accepted(slope, reached) or tried >= limits.search_iterations:
            sums_inout.search_active[body] = 0
        else:
            sums_inout.length[body] = shorter_step(sums_inout.length[body], slope, reached)


@wp.kernel
def accept(
    mesh: Mesh,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    if sums.active[mesh.node_body[node]] != 0:
        work_inout.increment[node] = work_inout.trial[node]


@wp.kernel
def replace_schemes(
    mesh: Mesh,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """Bodies of the conserving scheme without a solution begin the step again in the damped one."""
    body = wp.tid() / lane_count()
    again = work_inout.status[body] == UNSOLVED and work_inout.scheme[body] == CONSERVING
    barrier()
    if lane() == 0:
        going = 0
        if again:
            going = 1
            work_inout.scheme[body] = DAMPED
        sums_inout.active[body] = going
        sums_inout.search_active[body] = going
        sums_inout.attempt[body] = 0
    if again:
        guess_motion(mesh, work_inout, body)


@wp.kernel
def any_set(
    flags: wp.array[wp.int32],
    # outputs
    any_out: wp.array[wp.int32],
):
    """1 when a flag is set, by one group."""
    total = _ZERO
    for b in range(lane(), flags.shape[0], lane_count()):
        if flags[b] != 0:
            total += wp.float64(1.0)
    total = group_sum(total)
    if lane() == 0:
        any_out[0] = wp.where(total > _ZERO, 1, 0)
