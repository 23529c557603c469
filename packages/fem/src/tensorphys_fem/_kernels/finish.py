"""The end of a step: momenta made exact, velocities, positions, and what is handed out."""

import warp as wp

from tensorphys_fem._kernels.lanes import barrier, group_sum, group_sum3, lane, lane_count
from tensorphys_fem._kernels.nodes import external_force, inertia_factors
from tensorphys_fem._kernels.structs import CONSERVING, STATIC, Loads, Materials, Mesh, Work

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_TWO = wp.constant(wp.float64(2.0))
# Status of a step, beside 0 solved and 1 residual above the tolerance.
FAILED = wp.constant(2)


@wp.func
def defect(mesh: Mesh, materials: Materials, loads: Loads, work: Work, node: int) -> wp.vec3d:
    """Change of momentum over the step that external forces do not explain, over h [N]."""
    body = mesh.node_body[node]
    factors = inertia_factors(materials, work, body)
    u = work.increment[node]
    h = wp.float64(work.time_step[0])
    inertia = factors[0] * (u - h * work.start_velocity[node]) + factors[1] * u
    return mesh.node_mass[node] * inertia - external_force(mesh, materials, loads, work, node)


@wp.func
def _middle(work: Work, node: int) -> wp.vec3d:
    return work.start[node] + _HALF * work.increment[node]


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
    mass = _ZERO
    first = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        mass += mesh.node_mass[i]
        first += mesh.node_mass[i] * _middle(work_inout, i)
    center = group_sum3(first) / group_sum(mass)
    moment = wp.vec3d()
    diagonal = wp.vec3d()
    mixed = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if mesh.node_mass[i] > _ZERO:
            r = _middle(work_inout, i) - center
            m = mesh.node_mass[i]
            moment += wp.cross(r, defect(mesh, materials, loads, work_inout, i))
            diagonal += m * wp.vec3d(r[1] * r[1] + r[2] * r[2], r[0] * r[0] + r[2] * r[2], r[0] * r[0] + r[1] * r[1])
            mixed += m * wp.vec3d(r[1] * r[2], r[0] * r[2], r[0] * r[1])
    d = group_sum3(diagonal)
    o = group_sum3(mixed)
    inertia = wp.mat33d(d[0], -o[2], -o[1], -o[2], d[1], -o[0], -o[1], -o[0], d[2])
    scale = wp.trace(inertia)
    turn = wp.vec3d()
    factors = inertia_factors(materials, work_inout, body)
    total = group_sum3(moment)
    # Nodes on a line have no inertia about it.
    if wp.determinant(inertia) > wp.float64(1e-9) * scale * scale * scale:
        turn = -wp.inverse(inertia) * total / (factors[0] + factors[1])
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if mesh.node_mass[i] > _ZERO:
            r = _middle(work_inout, i) - center
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
    total = _ZERO
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        total += wp.length(work.increment[i])
    return wp.isfinite(group_sum(total))


@wp.func
def end_velocity(materials: Materials, work: Work, body: int, node: int) -> wp.vec3d:
    """v1 that belongs to the increment; a driven node has its mean velocity."""
    scheme = materials.scheme[body]
    if scheme == STATIC or work.driven[node] == 2:
        return wp.vec3d()
    u = work.increment[node] / wp.float64(work.time_step[0])
    if scheme == CONSERVING and work.driven[node] == 0:
        return _TWO * u - work.start_velocity[node]
    return u


@wp.kernel
def finish_bodies(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    # outputs
    work_inout: Work,
    position_out: wp.array[wp.vec3d],
    velocity_out: wp.array[wp.vec3d],
    positions_out: wp.array[wp.vec3],
    velocities_out: wp.array[wp.vec3],
):
    """A body whose increment is not finite stays where it was, at rest, and says so in its status."""
    body = wp.tid() / lane_count()
    good = _finite(mesh, work_inout, body)
    if good and materials.scheme[body] != STATIC:
        if not _held(mesh, work_inout, body):
            _balance_force(mesh, materials, loads, work_inout, body)
            if materials.scheme[body] == CONSERVING:
                _balance_moment(mesh, materials, loads, work_inout, body)
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        x = work_inout.start[i]
        v = wp.vec3d()
        if good:
            x = x + work_inout.increment[i]
            v = end_velocity(materials, work_inout, body, i)
        position_out[i] = x
        velocity_out[i] = v
        positions_out[i] = wp.vec3(x)
        velocities_out[i] = wp.vec3(v)
    if lane() == 0 and not good:
        work_inout.status[body] = FAILED
