"""The whole solve of a body by one group of lanes: Newton, preconditioned conjugate gradients, line search.

Bodies are independent: a group leaves its loops when its own body is solved, nothing returns to the host, and the
result of a body does not depend on what else is solved beside it.
"""

import warp as wp

from tensorphys_fem._kernels.elements import (
    gradient_before,
    write_element_force,
    write_gradient,
    write_smooth_before,
    write_smooth_stress,
)
from tensorphys_fem._kernels.lanes import barrier, group_sum, group_sum3, lane, lane_count
from tensorphys_fem._kernels.linear import row_product, write_row
from tensorphys_fem._kernels.nodes import matrix_norm, node_load, node_residual
from tensorphys_fem._kernels.patches import (
    patch_mean,
    patch_mean_matrix,
    write_mean_stress_change,
    write_patch_change,
    write_stress_change,
)
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
    Work,
)
from tensorphys_fem._kernels.tangents import write_element_tangent

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
# A residual is compared with the loads and with this part of the first residual, squared.
FIRST_PART = wp.constant(wp.float64(1e-4))
# Relative error of a position that is not worth a Newton step.
ROUNDING = wp.constant(wp.float64(3e-15))


@wp.func
def _patch_means(mesh: Mesh, work_inout: Work, body: int):
    barrier()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        work_inout.patch_dilatation[i] = patch_mean(mesh, work_inout.dilatation, i)
        work_inout.patch_matrix[i] = patch_mean_matrix(mesh, work_inout.gradient, i)
    barrier()


@wp.func
def _begin_patches(mesh: Mesh, materials: Materials, work_inout: Work, body: int):
    """Smoothed gradients at the start of the step, which the conserving scheme compares with."""
    for e in range(mesh.element_start[body] + lane(), mesh.element_start[body + 1], lane_count()):
        if mesh.element_kind[e] == TET:
            work_inout.gradient[e] = gradient_before(mesh, work_inout, e)
    _patch_means(mesh, work_inout, body)
    for e in range(mesh.element_start[body] + lane(), mesh.element_start[body + 1], lane_count()):
        if mesh.element_kind[e] == TET:
            write_smooth_before(mesh, materials, work_inout, e)
    barrier()


@wp.func
def _smooth_stresses(
    mesh: Mesh, materials: Materials, work_inout: Work, increment: wp.array[wp.vec3d], body: int
):
    first = mesh.element_start[body]
    end = mesh.element_start[body + 1]
    for e in range(first + lane(), end, lane_count()):
        if mesh.element_kind[e] == TET:
            write_gradient(mesh, materials, work_inout, increment, e)
    _patch_means(mesh, work_inout, body)
    for e in range(first + lane(), end, lane_count()):
        if mesh.element_kind[e] == TET:
            write_smooth_stress(mesh, materials, work_inout, e)
    barrier()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        work_inout.patch_matrix[i] = patch_mean_matrix(mesh, work_inout.stress, i)
    barrier()


@wp.func
def body_residual(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    work_inout: Work,
    increment: wp.array[wp.vec3d],
    patches: int,
    body: int,
):
    """Forces of the elements of a body, and the residual at its nodes."""
    if patches != 0:
        _smooth_stresses(mesh, materials, work_inout, increment, body)
    for e in range(mesh.element_start[body] + lane(), mesh.element_start[body + 1], lane_count()):
        write_element_force(mesh, materials, work_inout, increment, patches, e)
    barrier()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        left = node_residual(mesh, materials, loads, work_inout, increment, i)
        if work_inout.driven[i] != 0:
            work_inout.reaction[i] = wp.vec3(-left)
            left = wp.vec3d()
        work_inout.residual[i] = left
    barrier()


@wp.func
def _assemble(mesh: Mesh, materials: Materials, work_inout: Work, patches: int, body: int):
    for e in range(mesh.element_start[body] + lane(), mesh.element_start[body + 1], lane_count()):
        write_element_tangent(mesh, materials, work_inout, work_inout.increment, patches, e)
    barrier()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        write_row(mesh, materials, work_inout, patches, i)
    barrier()


@wp.func
def _residual_norm(mesh: Mesh, work: Work, body: int) -> wp.float64:
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        total += matrix_norm(work.inverse_diagonal[i], work.residual[i])
    return group_sum(total)


@wp.func
def _load_norm(mesh: Mesh, materials: Materials, loads: Loads, work: Work, body: int) -> wp.float64:
    mass = _ZERO
    momentum = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        mass += mesh.node_mass[i]
        momentum += mesh.node_mass[i] * work.start_velocity[i]
    mean = group_sum3(momentum) / group_sum(mass)
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        total += matrix_norm(work.inverse_diagonal[i], node_load(mesh, materials, loads, work, mean, i))
    return group_sum(total)


@wp.func
def _rounding_norm(mesh: Mesh, work: Work, body: int) -> wp.float64:
    """What rounding of positions alone may leave of a residual."""
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        x = work.start[i]
        total += ROUNDING * ROUNDING * wp.float64(work.stiffness[i]) * wp.dot(x, x)
    return group_sum(total)


@wp.func
def _start_linear(mesh: Mesh, work_inout: Work, body: int) -> wp.float64:
    """x = 0, r the residual, z = D⁻¹ r, p = z; returns r · z."""
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        r = wp.vec3(work_inout.residual[i])
        z = work_inout.inverse_diagonal[i] * r
        work_inout.x[i] = wp.vec3()
        work_inout.r[i] = r
        work_inout.p[i] = z
        total += wp.float64(wp.dot(r, z))
    return group_sum(total)


@wp.func
def _patch_products(mesh: Mesh, materials: Materials, work_inout: Work, body: int):
    first = mesh.node_start[body]
    end = mesh.node_start[body + 1]
    for i in range(first + lane(), end, lane_count()):
        write_patch_change(mesh, work_inout, work_inout.p, i)
    barrier()
    for e in range(mesh.element_start[body] + lane(), mesh.element_start[body + 1], lane_count()):
        if mesh.element_kind[e] == TET:
            write_stress_change(mesh, materials, work_inout, work_inout.p, e)
    barrier()
    for i in range(first + lane(), end, lane_count()):
        write_mean_stress_change(mesh, work_inout, i)
    barrier()


@wp.func
def _product(mesh: Mesh, materials: Materials, work_inout: Work, patches: int, body: int) -> wp.float64:
    """q = A p; returns p · q."""
    if patches != 0:
        _patch_products(mesh, materials, work_inout, body)
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        q = row_product(mesh, materials, work_inout, work_inout.p, patches, i)
        work_inout.q[i] = q
        total += wp.float64(wp.dot(work_inout.p[i], q))
    return group_sum(total)


@wp.func
def _advance(mesh: Mesh, work_inout: Work, alpha: float, body: int) -> wp.float64:
    """x += α p, r −= α q, z = D⁻¹ r; returns r · z."""
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        work_inout.x[i] = work_inout.x[i] + alpha * work_inout.p[i]
        r = work_inout.r[i] - alpha * work_inout.q[i]
        z = work_inout.inverse_diagonal[i] * r
        work_inout.r[i] = r
        work_inout.z[i] = z
        total += wp.float64(wp.dot(r, z))
    return group_sum(total)


@wp.func
def _solve_linear(
    mesh: Mesh, materials: Materials, work_inout: Work, limits: Limits, goal: wp.float64, body: int
) -> int:
    """Preconditioned conjugate gradients until r · z is below the goal; returns the iterations made."""
    rz = _start_linear(mesh, work_inout, body)
    count = int(0)
    barrier()
    while count < limits.linear_iterations and rz > goal:
        pq = _product(mesh, materials, work_inout, limits.patches, body)
        if not (pq > _ZERO):
            break
        following = _advance(mesh, work_inout, float(rz / pq), body)
        beta = float(following / rz)
        for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
            work_inout.p[i] = work_inout.z[i] + beta * work_inout.p[i]
        barrier()
        rz = following
        count += 1
    return count


@wp.func
def _slope(mesh: Mesh, work: Work, body: int) -> wp.float64:
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        total += wp.dot(work.residual[i], wp.vec3d(work.x[i]))
    return group_sum(total)


@wp.func
def shorter_step(alpha: wp.float64, slope: wp.float64, reached: wp.float64) -> wp.float64:
    """Next length of a line search whose slope went from `slope` to `reached`, which is negative or not finite."""
    if not wp.isfinite(reached):
        return wp.float64(0.2) * alpha
    return alpha * wp.clamp(slope / (slope - reached), wp.float64(0.1), wp.float64(0.6))


@wp.func
def step_accepted(slope: wp.float64, reached: wp.float64) -> bool:
    """The force along the direction has not turned by more than half of what it was."""
    return wp.isfinite(reached) and reached >= -_HALF * slope


@wp.func
def _search(mesh: Mesh, materials: Materials, loads: Loads, work_inout: Work, limits: Limits, body: int):
    """Go along x until the force along it has vanished or turned by less than half; moves the increment."""
    slope = _slope(mesh, work_inout, body)
    alpha = wp.float64(1.0)
    for trial in range(limits.search_iterations + 1):
        for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
            work_inout.trial[i] = work_inout.increment[i] + alpha * wp.vec3d(work_inout.x[i])
        barrier()
        body_residual(mesh, materials, loads, work_inout, work_inout.trial, limits.patches, body)
        reached = _slope(mesh, work_inout, body)
        if step_accepted(slope, reached):
            break
        if trial < limits.search_iterations:
            alpha = shorter_step(alpha, slope, reached)
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        work_inout.increment[i] = work_inout.trial[i]
    barrier()


@wp.func
def _rest(mesh: Mesh, work_inout: Work, body: int):
    """No direction: a search along it evaluates the residual where the increment is."""
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        work_inout.x[i] = wp.vec3()
    barrier()


@wp.func
def _newton(
    mesh: Mesh, materials: Materials, loads: Loads, limits: Limits, work_inout: Work, body: int
) -> int:
    """Newton steps from the present increment; returns 1 when the residual is below its goal.

    Each stage stands once in the loop, because compilers copy what it calls to every place that calls it.
    """
    linear = int(0)
    newton = int(0)
    norm = wp.float64(0.0)
    scale = wp.float64(0.0)
    floor = wp.float64(0.0)
    goal = wp.float64(0.0)
    solved = int(0)
    going = int(1)
    first = int(1)
    _rest(mesh, work_inout, body)
    while going != 0:
        _search(mesh, materials, loads, work_inout, limits, body)
        if first == 0:
            norm = _residual_norm(mesh, work_inout, body)
            newton += 1
        # From what is not finite no step leads back.
        ended = first == 0 and (norm <= goal or not wp.isfinite(norm))
        if ended or newton >= limits.newton_iterations:
            going = 0
        else:
            _assemble(mesh, materials, work_inout, limits.patches, body)
            norm = _residual_norm(mesh, work_inout, body)
            if first != 0:
                scale = _load_norm(mesh, materials, loads, work_inout, body) + FIRST_PART * norm
                floor = _rounding_norm(mesh, work_inout, body)
            goal = limits.tolerance * limits.tolerance * scale + floor
            if norm <= goal:
                going = 0
            else:
                wanted = wp.max(
                    limits.linear_tolerance * limits.linear_tolerance * norm, wp.float64(0.1) * goal
                )
                linear += _solve_linear(mesh, materials, work_inout, limits, wanted, body)
        first = 0
    if norm <= goal:
        solved = 1
    if lane() == 0:
        work_inout.residual_norm[body] = wp.sqrt(norm)
        work_inout.load_norm[body] = wp.sqrt(scale)
        work_inout.newton_count[body] = newton
        work_inout.linear_count[body] = linear
    return solved


@wp.func
def _replace_scheme(mesh: Mesh, work_inout: Work, body: int):
    """Begin the step again in the damped scheme."""
    barrier()
    if lane() == 0:
        work_inout.scheme[body] = DAMPED
    barrier()
    guess_motion(mesh, work_inout, body)


@wp.kernel
def solve_bodies(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    limits: Limits,
    # outputs
    work_inout: Work,
):
    body = wp.tid() / lane_count()
    if limits.patches != 0 and work_inout.scheme[body] == CONSERVING:
        _begin_patches(mesh, materials, work_inout, body)
    solved = int(0)
    going = int(1)
    while going != 0:
        solved = _newton(mesh, materials, loads, limits, work_inout, body)
        going = 0
        if solved == 0 and work_inout.scheme[body] == CONSERVING:
            _replace_scheme(mesh, work_inout, body)
            going = 1
    if lane() == 0:
        status = UNSOLVED
        if solved != 0:
            status = SOLVED
            if work_inout.scheme[body] != STATIC and work_inout.scheme[body] != materials.scheme[body]:
                status = REPLACED
        work_inout.status[body] = status
