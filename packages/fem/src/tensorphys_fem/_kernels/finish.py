"""The end of a step: momenta made exact, velocities, positions, and what is handed out."""

import warp as wp

from tensorphys_fem._kernels.lanes import barrier, group_sum, group_sum3, lane, lane_count
from tensorphys_fem._kernels.nodes import external_force, inertia_factors
from tensorphys_fem._kernels.rigid import body_center, body_inertia, place, solve_spin
from tensorphys_fem._kernels.structs import (
    CONSERVING,
    DAMPED,
    FAILED,
    STATIC,
    Loads,
    Materials,
    Mesh,
    Work,
)

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_TWO = wp.constant(wp.float64(2.0))


@wp.func
def defect(mesh: Mesh, materials: Materials, loads: Loads, work: Work, node: int) -> wp.vec3d:
    """Change of momentum over the step that external forces do not explain, over h [N]."""
    body = mesh.node_body[node]
    factors = inertia_factors(materials, work, body)
    u = work.increment[node]
    h = wp.float64(work.time_step[0])
    inertia = factors[0] * (u - h * work.start_velocity[node]) + factors[1] * u
    return mesh.node_mass[node] * inertia - external_force(mesh, loads, work, node) - work.contact_force[node]


@wp.func
def _balance_force(mesh: Mesh, materials: Materials, loads: Loads, work_inout: Work, body: int):
    """Shift the increment so that the total momentum is exact. Forces of elements add up to zero, residuals do not."""
    total = wp.vec3d()
    mass = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if mesh.node_mass[i] > _ZERO:
            total += defect(mesh, materials, loads, work_inout, i)
            mass += mesh.node_mass[i]
    factors = inertia_factors(materials, work_inout, body)
    shift = group_sum3(total) / (group_sum(mass) * (factors[0] + factors[1]))
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if mesh.node_mass[i] > _ZERO:
            work_inout.increment[i] = work_inout.increment[i] - shift
    barrier()


@wp.func
def _balance_moment(mesh: Mesh, materials: Materials, loads: Loads, work_inout: Work, body: int):
    """Turn the increment so that the total angular momentum of the conserving scheme is exact."""
    center = body_center(mesh, work_inout, _HALF, body)
    moment = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if mesh.node_mass[i] > _ZERO:
            r = place(work_inout, _HALF, i) - center
            moment += wp.cross(r, defect(mesh, materials, loads, work_inout, i))
    inertia = body_inertia(mesh, work_inout, _HALF, center, body)
    factors = inertia_factors(materials, work_inout, body)
    turn = -solve_spin(inertia, group_sum3(moment)) / (factors[0] + factors[1])
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if mesh.node_mass[i] > _ZERO:
            r = place(work_inout, _HALF, i) - center
            work_inout.increment[i] = work_inout.increment[i] + wp.cross(turn, r)
    barrier()


@wp.func
def _held(mesh: Mesh, work: Work, body: int) -> bool:
    """Whether targets or springs give the body forces that are not counted as external."""
    count = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if work.driven[i] == 1 or work.spring[i][0] > _ZERO or work.spring[i][1] > _ZERO:
            count += wp.float64(1.0)
    return group_sum(count) > _ZERO


@wp.func
def _finite(mesh: Mesh, work: Work, body: int) -> bool:
    total = work.residual_norm[body]
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        total += wp.length(work.increment[i])
    return wp.isfinite(group_sum(total))


@wp.func
def end_velocity(work: Work, body: int, node: int) -> wp.vec3d:
    """v1 that belongs to the increment; a driven node has its mean velocity."""
    scheme = work.scheme[body]
    if scheme == STATIC or work.driven[node] == 2:
        return wp.vec3d()
    u = work.increment[node] / wp.float64(work.time_step[0])
    if scheme == CONSERVING and work.driven[node] == 0:
        return _TWO * u - work.start_velocity[node]
    return u


@wp.func
def _passive(mesh: Mesh, work: Work, body: int) -> bool:
    """Whether nothing but counted forces does work: no springs, and driven nodes that stay where they are."""
    count = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        moved = work.driven[i] == 1 and wp.length(work.increment[i]) > _ZERO
        if moved or work.spring[i][0] > _ZERO or work.spring[i][1] > _ZERO:
            count += wp.float64(1.0)
    return group_sum(count) == _ZERO


@wp.func
def _mean_velocity(mesh: Mesh, work: Work, body: int) -> wp.vec3d:
    mass = _ZERO
    momentum = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        mass += mesh.node_mass[i]
        momentum += mesh.node_mass[i] * end_velocity(work, body, i)
    return group_sum3(momentum) / group_sum(mass)


@wp.func
def _energy_factor(
    mesh: Mesh, loads: Loads, work: Work, mean: wp.vec3d, patches: int, body: int
) -> wp.float64:
    """Factor of velocities against `mean` with which the total energy does not rise; negative when none does that."""
    gain = _ZERO
    relative = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        v = end_velocity(work, body, i)
        v0 = work.start_velocity[i]
        m = mesh.node_mass[i]
        gain += _HALF * m * (wp.dot(v, v) - wp.dot(v0, v0))
        relative += _HALF * m * wp.dot(v - mean, v - mean)
        if work.driven[i] == 0:
            force = external_force(mesh, loads, work, i) + work.contact_force[i]
            gain -= wp.dot(force, work.increment[i])
        if patches != 0:
            gain += work.patch_gain[i]
    for e in range(mesh.element_start[body] + lane(), mesh.element_start[body + 1], lane_count()):
        gain += work.energy_gain[e]
    gain = group_sum(gain)
    relative = group_sum(relative)
    if gain <= _ZERO:
        return wp.float64(1.0)
    if gain >= relative:
        return wp.float64(-1.0)
    return wp.sqrt(wp.float64(1.0) - gain / relative)


@wp.func
def _bound_energy(mesh: Mesh, loads: Loads, work: Work, held: bool, patches: int, body: int) -> wp.vec4d:
    """Mean velocity, and the factor of velocities against it that keeps the damped scheme passive.

    Backward Euler loses energy where the energy is convex along the step; a compressed body that buckles, or a
    residual above zero, can gain some.
    """
    mean = wp.vec3d()
    factor = wp.float64(1.0)
    if work.scheme[body] == DAMPED:
        if _passive(mesh, work, body):
            if not held:
                mean = _mean_velocity(mesh, work, body)
            factor = _energy_factor(mesh, loads, work, mean, patches, body)
    return wp.vec4d(mean[0], mean[1], mean[2], factor)


@wp.kernel
def finish_bodies(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    patches: wp.int32,
    # outputs
    work_inout: Work,
    position_out: wp.array[wp.vec3d],
    velocity_out: wp.array[wp.vec3d],
    positions_out: wp.array[wp.vec3],
    velocities_out: wp.array[wp.vec3],
):
    """A body whose increment or residual is not finite stays where it was, at rest, and says so in its status."""
    body = wp.tid() / lane_count()
    held = _held(mesh, work_inout, body)
    if work_inout.scheme[body] != STATIC and not held:
        _balance_force(mesh, materials, loads, work_inout, body)
        if work_inout.scheme[body] == CONSERVING:
            _balance_moment(mesh, materials, loads, work_inout, body)
    good = _finite(mesh, work_inout, body)
    bound = wp.vec4d()
    bound[3] = wp.float64(1.0)
    if good and work_inout.scheme[body] != STATIC:
        bound = _bound_energy(mesh, loads, work_inout, held, patches, body)
    mean = wp.vec3d(bound[0], bound[1], bound[2])
    h = wp.float64(work_inout.time_step[0])
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        x = work_inout.start[i]
        v = wp.vec3d()
        if good and bound[3] >= _ZERO:
            x = x + work_inout.increment[i]
            v = mean + bound[3] * (end_velocity(work_inout, body, i) - mean)
        elif good and work_inout.driven[i] == 0:
            # No velocity pays for the energy of this increment: the body moves as a whole.
            x = x + h * mean
            v = mean
        position_out[i] = x
        velocity_out[i] = v
        positions_out[i] = wp.vec3(x)
        velocities_out[i] = wp.vec3(v)
    if lane() == 0 and not good:
        work_inout.status[body] = FAILED
