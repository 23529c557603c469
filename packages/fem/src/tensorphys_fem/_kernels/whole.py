"""Start and end of a step of a body as a whole, by chunks of its nodes: what `rigid` and `finish` do by one group a body.

Each chunk leaves its parts of the sums, in columns; the next kernel adds them in the order of the chunks, every group
the same bits. Moments are taken about the first node of a body, and carried to its centre of mass in float64.
"""

import warp as wp

from tensorphys_fem._kernels.contacts import row_counterforce
from tensorphys_fem._kernels.finish import defect, end_velocity
from tensorphys_fem._kernels.lanes import group_sum, group_sum3, lane, lane_count
from tensorphys_fem._kernels.nodes import external_force, inertia_factors
from tensorphys_fem._kernels.rigid import place, solve_spin, turned
from tensorphys_fem._kernels.structs import (
    CONSERVING,
    DAMPED,
    FAILED,
    STATIC,
    Loads,
    Materials,
    Mesh,
    Sums,
    Work,
)

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_ONE = wp.constant(wp.float64(1.0))

# Columns of the parts.
_MASS = wp.constant(0)
_FIRST = wp.constant(1)  # mass × place
_SECOND = wp.constant(4)  # mass × place ⊗ place: xx yy zz, yz xz xy
_MOMENTUM = wp.constant(10)
_MOMENT = wp.constant(13)
_HELD = wp.constant(16)
_SIZE = wp.constant(0)
_PUSHED = wp.constant(1)
_DRIFT = wp.constant(2)
_GAIN = wp.constant(5)
_RELATIVE = wp.constant(6)


@wp.func
def leave_part(parts_out: wp.array2d[wp.float64], column: int, chunk: int, value: wp.float64):
    """Store the part of a chunk."""
    total = group_sum(value)
    if lane() == 0:
        parts_out[column, chunk] = total


@wp.func
def leave_part3(parts_out: wp.array2d[wp.float64], column: int, chunk: int, value: wp.vec3d):
    total = group_sum3(value)
    if lane() == 0:
        for axis in range(3):
            parts_out[column + axis, chunk] = total[axis]


@wp.func
def part_total(mesh: Mesh, parts: wp.array2d[wp.float64], column: int, body: int) -> wp.float64:
    """Sum of the parts of the chunks of a body."""
    total = wp.float64(0.0)
    for c in range(mesh.body_chunk[body] + lane(), mesh.body_chunk[body + 1], lane_count()):
        total += parts[column, c]
    return group_sum(total)


@wp.func
def part_total3(mesh: Mesh, parts: wp.array2d[wp.float64], column: int, body: int) -> wp.vec3d:
    total = wp.vec3d()
    for c in range(mesh.body_chunk[body] + lane(), mesh.body_chunk[body + 1], lane_count()):
        total += wp.vec3d(parts[column, c], parts[column + 1, c], parts[column + 2, c])
    return group_sum3(total)


@wp.func
def mean_start_velocity(mesh: Mesh, sums: Sums, body: int) -> wp.vec3d:
    """Velocity of the centre of mass at the start of the step."""
    return part_total3(mesh, sums.motion, _MOMENTUM, body) / part_total(mesh, sums.motion, _MASS, body)


@wp.func
def _leave_inertia(
    parts_out: wp.array2d[wp.float64],
    chunk: int,
    mass: wp.float64,
    first: wp.vec3d,
    square: wp.vec3d,
    mixed: wp.vec3d,
):
    leave_part(parts_out, _MASS, chunk, mass)
    leave_part3(parts_out, _FIRST, chunk, first)
    leave_part3(parts_out, _SECOND, chunk, square)
    leave_part3(parts_out, _SECOND + 3, chunk, mixed)


@wp.func
def _mixed(r: wp.vec3d) -> wp.vec3d:
    return wp.vec3d(r[1] * r[2], r[0] * r[2], r[0] * r[1])


@wp.func
def _spin(
    mesh: Mesh, parts: wp.array2d[wp.float64], body: int, mass: wp.float64, center: wp.vec3d
) -> wp.vec3d:
    """I⁻¹ times the moment that was left, both about the centre of mass."""
    s = part_total3(mesh, parts, _SECOND, body) - mass * wp.cw_mul(center, center)
    o = part_total3(mesh, parts, _SECOND + 3, body) - mass * _mixed(center)
    moment = part_total3(mesh, parts, _MOMENT, body)
    moment = moment - wp.cross(center, part_total3(mesh, parts, _MOMENTUM, body))
    inertia = wp.mat33d(s[1] + s[2], -o[2], -o[1], -o[2], s[0] + s[2], -o[0], -o[1], -o[0], s[0] + s[1])
    return solve_spin(inertia, moment)


@wp.kernel
def motion_parts(
    mesh: Mesh,
    work: Work,
    # outputs
    sums_inout: Sums,
):
    """Momentum and inertia at the start of the step."""
    chunk = wp.tid() / lane_count()
    origin = work.start[mesh.node_start[mesh.chunk_body[chunk]]]
    mass = wp.float64(0.0)
    first, square, mixed = wp.vec3d(), wp.vec3d(), wp.vec3d()
    momentum, moment = wp.vec3d(), wp.vec3d()
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        m = mesh.node_mass[i]
        r = work.start[i] - origin
        p = m * work.start_velocity[i]
        mass += m
        first += m * r
        square += m * wp.cw_mul(r, r)
        mixed += m * _mixed(r)
        momentum += p
        moment += wp.cross(r, p)
    _leave_inertia(sums_inout.motion, chunk, mass, first, square, mixed)
    leave_part3(sums_inout.motion, _MOMENTUM, chunk, momentum)
    leave_part3(sums_inout.motion, _MOMENT, chunk, moment)


@wp.kernel
def guess_motions(
    mesh: Mesh,
    materials: Materials,
    sums: Sums,
    quasi_static: wp.int32,
    # outputs
    work_inout: Work,
):
    """`rigid.guess_motion`, and the schemes."""
    chunk = wp.tid() / lane_count()
    body = mesh.chunk_body[chunk]
    if lane() == 0 and chunk == mesh.body_chunk[body]:
        work_inout.scheme[body] = wp.where(quasi_static != 0, STATIC, materials.scheme[body])
    if quasi_static != 0:
        return
    h = wp.float64(work_inout.time_step[0])
    mass = part_total(mesh, sums.motion, _MASS, body)
    center = part_total3(mesh, sums.motion, _FIRST, body) / mass
    spin = _spin(mesh, sums.motion, body, mass, center)
    # A lash that turns by more than a radian a step is no rigid motion to start from.
    if h * wp.length(spin) > _ONE:
        spin = wp.vec3d()
    center = center + work_inout.start[mesh.node_start[body]]
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        if work_inout.driven[i] == 0:
            r = work_inout.start[i] - center
            rest = work_inout.start_velocity[i] - wp.cross(spin, r)
            work_inout.increment[i] = h * rest + turned(h * spin, r)


@wp.kernel
def end_parts(
    mesh: Mesh,
    materials: Materials,
    loads: Loads,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """Defects of momentum at the end, and the contact forces that they count."""
    chunk = wp.tid() / lane_count()
    origin = work_inout.start[mesh.node_start[mesh.chunk_body[chunk]]]
    mass = wp.float64(0.0)
    held = wp.float64(0.0)
    first, square, mixed = wp.vec3d(), wp.vec3d(), wp.vec3d()
    total, moment = wp.vec3d(), wp.vec3d()
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        work_inout.contact_force[i] = row_counterforce(work_inout, i)
        if work_inout.driven[i] == 1 or work_inout.spring[i][0] > _ZERO or work_inout.spring[i][1] > _ZERO:
            held += _ONE
        m = mesh.node_mass[i]
        if m > _ZERO:
            r = place(work_inout, _HALF, i) - origin
            left = defect(mesh, materials, loads, work_inout, i)
            mass += m
            first += m * r
            square += m * wp.cw_mul(r, r)
            mixed += m * _mixed(r)
            total += left
            moment += wp.cross(r, left)
    _leave_inertia(sums_inout.ending, chunk, mass, first, square, mixed)
    leave_part3(sums_inout.ending, _MOMENTUM, chunk, total)
    leave_part3(sums_inout.ending, _MOMENT, chunk, moment)
    leave_part(sums_inout.ending, _HELD, chunk, held)


@wp.kernel
def balance(
    mesh: Mesh,
    materials: Materials,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    """Shift increments, and in the conserving scheme turn them, so that the momenta of a free body are exact."""
    chunk = wp.tid() / lane_count()
    body = mesh.chunk_body[chunk]
    if work_inout.scheme[body] == STATIC or part_total(mesh, sums.ending, _HELD, body) > _ZERO:
        return
    mass = part_total(mesh, sums.ending, _MASS, body)
    factors = inertia_factors(materials, work_inout, body)
    scale = factors[0] + factors[1]
    shift = part_total3(mesh, sums.ending, _MOMENTUM, body) / (mass * scale)
    center = part_total3(mesh, sums.ending, _FIRST, body) / mass
    turn = wp.vec3d()
    if work_inout.scheme[body] == CONSERVING:
        # A shift of all nodes changes no moment about the centre of mass.
        turn = -_spin(mesh, sums.ending, body, mass, center) / scale
    center = center + work_inout.start[mesh.node_start[body]]
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        if mesh.node_mass[i] > _ZERO:
            r = place(work_inout, _HALF, i) - center
            work_inout.increment[i] = work_inout.increment[i] - shift + wp.cross(turn, r)


@wp.func
def _element_gain(mesh: Mesh, work: Work, chunk: int, body: int) -> wp.float64:
    """Elastic energy that the elements of a body gained, the share of a chunk."""
    width = (mesh.body_chunk[body + 1] - mesh.body_chunk[body]) * lane_count()
    first = mesh.element_start[body] + (chunk - mesh.body_chunk[body]) * lane_count() + lane()
    gain = wp.float64(0.0)
    for e in range(first, mesh.element_start[body + 1], width):
        gain += work.energy_gain[e]
    return gain


@wp.kernel
def energy_parts(
    mesh: Mesh,
    loads: Loads,
    patches: wp.int32,
    work: Work,
    # outputs
    sums_inout: Sums,
):
    """Gain of energy over the step, velocities against the mean of the start, and whether all is finite."""
    chunk = wp.tid() / lane_count()
    body = mesh.chunk_body[chunk]
    origin = mean_start_velocity(mesh, sums_inout, body)
    size = wp.float64(0.0)
    pushed = wp.float64(0.0)
    gain = wp.float64(0.0)
    relative = wp.float64(0.0)
    drift = wp.vec3d()
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        u = work.increment[i]
        size += wp.length(u)
        moved = work.driven[i] == 1 and wp.length(u) > _ZERO
        if moved or work.spring[i][0] > _ZERO or work.spring[i][1] > _ZERO:
            pushed += _ONE
        if work.scheme[body] == DAMPED:
            m = mesh.node_mass[i]
            v = end_velocity(work, body, i)
            v0 = work.start_velocity[i]
            gain += _HALF * m * (wp.dot(v, v) - wp.dot(v0, v0))
            drift += m * (v - origin)
            relative += _HALF * m * wp.dot(v - origin, v - origin)
            if work.driven[i] == 0:
                gain -= wp.dot(external_force(mesh, loads, work, i) + work.contact_force[i], u)
            if patches != 0:
                gain += work.patch_gain[i]
    if work.scheme[body] == DAMPED:
        gain += _element_gain(mesh, work, chunk, body)
    leave_part(sums_inout.closing, _SIZE, chunk, size)
    leave_part(sums_inout.closing, _PUSHED, chunk, pushed)
    leave_part3(sums_inout.closing, _DRIFT, chunk, drift)
    leave_part(sums_inout.closing, _GAIN, chunk, gain)
    leave_part(sums_inout.closing, _RELATIVE, chunk, relative)


@wp.func
def _bound_energy(mesh: Mesh, sums: Sums, body: int) -> wp.vec4d:
    """Mean velocity, and the factor of velocities against it, as `finish` has them."""
    if part_total(mesh, sums.closing, _PUSHED, body) > _ZERO:
        return wp.vec4d(_ZERO, _ZERO, _ZERO, _ONE)
    mass = part_total(mesh, sums.motion, _MASS, body)
    origin = mean_start_velocity(mesh, sums, body)
    drift = part_total3(mesh, sums.closing, _DRIFT, body) / mass
    relative = part_total(mesh, sums.closing, _RELATIVE, body)
    gain = part_total(mesh, sums.closing, _GAIN, body)
    mean = wp.vec3d()
    if part_total(mesh, sums.ending, _HELD, body) > _ZERO:
        relative += mass * (wp.dot(origin, drift) + _HALF * wp.dot(origin, origin))
    else:
        mean = origin + drift
        relative -= _HALF * mass * wp.dot(drift, drift)
    factor = wp.float64(1.0)
    if gain > _ZERO:
        factor = -_ONE
        if gain < relative:
            factor = wp.sqrt(_ONE - gain / relative)
    return wp.vec4d(mean[0], mean[1], mean[2], factor)


@wp.kernel
def finish_chunks(
    mesh: Mesh,
    sums: Sums,
    # outputs
    work_inout: Work,
    position_out: wp.array[wp.vec3d],
    velocity_out: wp.array[wp.vec3d],
    positions_out: wp.array[wp.vec3],
    velocities_out: wp.array[wp.vec3],
):
    """A body whose increment or residual is not finite stays where it was, at rest, and says so in its status."""
    chunk = wp.tid() / lane_count()
    body = mesh.chunk_body[chunk]
    good = wp.isfinite(work_inout.residual_norm[body] + part_total(mesh, sums.closing, _SIZE, body))
    bound = wp.vec4d(_ZERO, _ZERO, _ZERO, _ONE)
    if good and work_inout.scheme[body] == DAMPED:
        bound = _bound_energy(mesh, sums, body)
    mean = wp.vec3d(bound[0], bound[1], bound[2])
    h = wp.float64(work_inout.time_step[0])
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
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
    if lane() == 0 and not good and chunk == mesh.body_chunk[body]:
        work_inout.status[body] = FAILED
