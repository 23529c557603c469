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
from tensorphys_fem._kernels.lanes import barrier, group_sum, lane, lane_count, team_size, team_sumd
from tensorphys_fem._kernels.linear import finish_diagonal, write_block
from tensorphys_fem._kernels.nodes import corner_forces, matrix_norm, node_load, outer_residual
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
QUARTER = wp.constant(32)  # nodes of a quarter of a chunk, `model.CHUNK` / 4
# Flags of `Sums.flag`.
NEWTON = wp.constant(0)
LINEAR = wp.constant(1)
SEARCH = wp.constant(2)
REPLACE = wp.constant(3)


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


@wp.func
def quarter_total(mesh: Mesh, parts: wp.array[wp.float64], body: int) -> wp.float64:
    """The same of parts of quarters of chunks."""
    total = wp.float64(0.0)
    for c in range(4 * mesh.body_chunk[body] + lane(), 4 * mesh.body_chunk[body + 1], lane_count()):
        total += parts[c]
    return group_sum(total)


@wp.func
def quarter_range(mesh: Mesh, quarter: int) -> wp.vec2i:
    """First node of a quarter of a chunk and the end."""
    first = mesh.chunk_start[quarter / 4] + (quarter % 4) * QUARTER
    return wp.vec2i(first, wp.min(first + QUARTER, mesh.chunk_start[quarter / 4 + 1]))


@wp.func
def lower(sums_inout: Sums, group: int, flag: int):
    """Clear a flag, by one lane of all, in a kernel before the one that may raise it."""
    if group == 0 and lane() == 0:
        sums_inout.flag[flag] = 0


@wp.kernel
def start_bodies(
    first: wp.int32,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    body = wp.tid()
    if body < 4:
        sums_inout.flag[body] = 0
    if body >= sums_inout.active.shape[0]:
        return
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
    """Residual at nodes, and its component along the direction of search; a team of lanes a node."""
    quarter = wp.tid() / lane_count()
    lower(sums_inout, quarter, SEARCH)
    if sums_inout.search_active[mesh.chunk_body[quarter / 4]] == 0:
        return
    nodes = quarter_range(mesh, quarter)
    part = lane() % team_size()
    total = wp.float64(0.0)
    for i in range(nodes[0] + lane() / team_size(), nodes[1], lane_count() / team_size()):
        elastic = team_sumd(corner_forces(mesh, work_inout, i, part, team_size()))
        if part == 0:
            left = elastic + outer_residual(mesh, materials, loads, work_inout, increment, i)
            if work_inout.driven[i] != 0:
                work_inout.reaction[i] = wp.vec3(-left)
                left = wp.vec3d()
            work_inout.residual[i] = left
            total += wp.dot(left, wp.vec3d(work_inout.x[i]))
    leave(sums_inout.reached, quarter, total)


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
    patches: wp.int32,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    """One thread a block of the matrix."""
    k = wp.tid()
    if sums.active[mesh.node_body[mesh.block_row[k]]] != 0:
        write_block(mesh, work_inout, patches, k)


@wp.func
def _start_direction(work_inout: Work, node: int) -> wp.float64:
    """x = 0, r the residual, z = D⁻¹ r, p = z; returns r · z, the square of the norm of the residual."""
    r = wp.vec3(work_inout.residual[node])
    z = work_inout.inverse_diagonal[node] * r
    work_inout.x[node] = wp.vec3()
    work_inout.r[node] = r
    work_inout.p[node] = z
    work_inout.z[node] = z
    work_inout.p_odd[node] = wp.vec3()
    return wp.float64(wp.dot(r, z))


@wp.kernel
def norms(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    patches: wp.int32,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """Diagonal blocks, norm of the residual and the start of conjugate gradients; before the first step of a solve also the norms that
    it is compared with."""
    chunk = wp.tid() / lane_count()
    body = mesh.chunk_body[chunk]
    if sums_inout.active[body] == 0:
        return
    total = wp.float64(0.0)
    load = wp.float64(0.0)
    rounding = wp.float64(0.0)
    first = sums_inout.attempt[body] == 0
    mean = wp.vec3d()
    if first:
        mean = mean_start_velocity(mesh, sums_inout, body)
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        finish_diagonal(mesh, materials, work_inout, patches, i)
        total += _start_direction(work_inout, i)
        if first:
            inverse = work_inout.inverse_diagonal[i]
            load += matrix_norm(inverse, node_load(mesh, materials, loads, work_inout, mean, i))
            x = work_inout.start[i]
            rounding += ROUNDING * ROUNDING * wp.float64(work_inout.stiffness[i]) * wp.dot(x, x)
    total = group_sum(total)
    if lane() == 0:
        sums_inout.norm[chunk] = total
        sums_inout.rz[0, chunk] = total
    if first:
        leave(sums_inout.load, chunk, load)
        leave(sums_inout.rounding, chunk, rounding)


@wp.kernel
def accept_steps(
    mesh: Mesh,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """Go where the search has come to, and the norm of the residual there."""
    chunk = wp.tid() / lane_count()
    lower(sums_inout, chunk, NEWTON)
    if sums_inout.active[mesh.chunk_body[chunk]] == 0:
        return
    total = wp.float64(0.0)
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        work_inout.increment[i] = work_inout.trial[i]
        total += matrix_norm(work_inout.inverse_diagonal[i], work_inout.residual[i])
    leave(sums_inout.norm, chunk, total)


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
            # From what is not finite no step leads back.
            if sums_inout.attempt[body] >= limits.newton_iterations or not wp.isfinite(norm):
                going = 0
                if not solved and work_inout.scheme[body] == CONSERVING:
                    wp.atomic_max(sums_inout.flag, REPLACE, 1)
            if going != 0:
                wp.atomic_max(sums_inout.flag, NEWTON, 1)
        sums_inout.active[body] = going
        sums_inout.linear_active[body] = going
        sums_inout.search_active[body] = going
        sums_inout.searches[body] = 0


@wp.kernel
def first_trials(
    mesh: Mesh,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """The whole step, and the slope along it."""
    chunk = wp.tid() / lane_count()
    if sums_inout.active[mesh.chunk_body[chunk]] == 0:
        return
    total = wp.float64(0.0)
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        step = wp.vec3d(work_inout.x[i])
        work_inout.trial[i] = work_inout.increment[i] + step
        total += wp.dot(work_inout.residual[i], step)
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
    reached = quarter_total(mesh, sums_inout.reached, body)
    if lane() == 0:
        tried = sums_inout.searches[body]
        sums_inout.searches[body] = tried + 1
        if step_accepted(slope, reached) or tried >= limits.search_iterations:
            sums_inout.search_active[body] = 0
        else:
            sums_inout.length[body] = shorter_step(sums_inout.length[body], slope, reached)
            wp.atomic_max(sums_inout.flag, SEARCH, 1)


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
