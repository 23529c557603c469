"""What happens at a node: loads, the residual of the step, its start and its end.

The unknown u is the change of position over the step h. Both schemes solve, with c = 1 (damped) or 2 (conserving),

    c m / h² (u − h v0) + m α u / h = f(x0, u) + m g + f_ext + J / h

where f holds elastic and viscous forces: of x0 + u in the damped scheme (backward Euler), of both ends in the
conserving one (energy and momentum). Then v1 = u / h, or 2 u / h − v0. A static solve drops the left-hand side.
"""

import warp as wp

from tensorphys_fem._kernels.contacts import contact_force
from tensorphys_fem._kernels.structs import CONSERVING, STATIC, Loads, Materials, Mesh, Work

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_ONE = wp.constant(wp.float64(1.0))
_TWO = wp.constant(wp.float64(2.0))


@wp.func
def inertia_factors(materials: Materials, work: Work, body: int) -> wp.vec2d:
    """c / h² and α / h [1/s²]; both zero in a static solve."""
    scheme = work.scheme[body]
    if scheme == STATIC:
        return wp.vec2d()
    h = wp.float64(work.time_step[0])
    c = _ONE
    if scheme == CONSERVING:
        c = _TWO
    return wp.vec2d(c / (h * h), wp.float64(materials.velocity_damping[body]) / h)


@wp.func
def external_force(mesh: Mesh, loads: Loads, work: Work, node: int) -> wp.vec3d:
    """Gravity, given forces and impulses at a node [N]."""
    body = mesh.node_body[node]
    force = wp.vec3d(loads.force[node])
    force += mesh.node_mass[node] * wp.vec3d(loads.gravity[loads.environment[body]])
    if work.scheme[body] != STATIC:
        force += wp.vec3d(loads.impulse[node]) / wp.float64(work.time_step[0])
    return force


@wp.func
def spring_stiffness(work: Work, body: int, node: int) -> wp.float64:
    """Derivative of the spring force by the increment [N/m]."""
    spring = work.spring[node]
    scheme = work.scheme[body]
    if scheme == STATIC:
        return spring[0]
    part = _ONE
    if scheme == CONSERVING:
        part = _HALF
    return part * spring[0] + spring[1] / wp.float64(work.time_step[0])


@wp.func
def spring_force(work: Work, body: int, node: int, increment: wp.vec3d) -> wp.vec3d:
    """Force of a compliant attachment [N]: at the end of the step, or conserving at its middle."""
    rest = work.spring[node][0] * (work.anchor[node] - work.start[node])
    return rest - spring_stiffness(work, body, node) * increment


@wp.func
def begin_node(
    mesh: Mesh,
    loads: Loads,
    position: wp.array[wp.vec3d],
    velocity: wp.array[wp.vec3d],
    work_inout: Work,
    node: int,
):
    """Start of the step, what drives the node, and where that takes it."""
    x = position[node]
    v = velocity[node]
    work_inout.start[node] = x
    work_inout.start_velocity[node] = v
    work_inout.spring[node] = wp.vec2d()
    work_inout.anchor[node] = x
    driven = int(0)
    guess = wp.vec3d()
    frame = loads.attachment_frame[node]
    if frame >= 0:
        anchor = wp.vec3d(wp.transform_point(loads.frame_pose[frame], loads.attachment_point[node]))
        stiffness = loads.attachment_stiffness[node]
        if wp.isinf(stiffness):
            driven = 1
            guess = anchor - x
        else:
            work_inout.anchor[node] = anchor
            work_inout.spring[node] = wp.vec2d(
                wp.float64(stiffness), wp.float64(loads.attachment_damping[node])
            )
    target = loads.target[node]
    if target[3] == 0.0:
        driven = 1
        guess = wp.vec3d(wp.vec3(target[0], target[1], target[2])) - x
    if mesh.node_mass[node] == _ZERO:
        driven = 2
        guess = wp.vec3d()
    work_inout.driven[node] = driven
    work_inout.increment[node] = guess


@wp.func
def corner_forces(mesh: Mesh, work: Work, node: int, part: int, parts: int) -> wp.vec3d:
    """Forces of elements on a node [N], every `parts`-th of them from `part` on."""
    total = wp.vec3d()
    for k in range(mesh.corner_start[node] + part, mesh.corner_start[node + 1], parts):
        slot = mesh.corner[k]
        total += work.corner_force[slot / 4, slot % 4]
    return total


@wp.func
def node_residual(
    mesh: Mesh, materials: Materials, loads: Loads, work: Work, increment: wp.array[wp.vec3d], node: int
) -> wp.vec3d:
    """What is left of the balance of forces [N]."""
    elastic = corner_forces(mesh, work, node, 0, 1)
    return outer_residual(mesh, materials, loads, work, increment, node) + elastic


@wp.func
def outer_residual(
    mesh: Mesh, materials: Materials, loads: Loads, work: Work, increment: wp.array[wp.vec3d], node: int
) -> wp.vec3d:
    """The same without the forces of elements [N]."""
    body = mesh.node_body[node]
    factors = inertia_factors(materials, work, body)
    h = wp.float64(work.time_step[0])
    u = increment[node]
    inertia = factors[0] * (u - h * work.start_velocity[node]) + factors[1] * u
    total = external_force(mesh, loads, work, node)
    total += spring_force(work, body, node, u)
    total += contact_force(work, u, node)
    return total - mesh.node_mass[node] * inertia


@wp.func
def node_load(
    mesh: Mesh, materials: Materials, loads: Loads, work: Work, mean: wp.vec3d, node: int
) -> wp.vec3d:
    """Right-hand side of the step without the forces of elements [N], the scale that residuals are compared with.

    Velocities count against the mean velocity of the body: what a body does as a whole needs no solving.
    """
    body = mesh.node_body[node]
    h = wp.float64(work.time_step[0])
    factor = inertia_factors(materials, work, body)[0] * h * mesh.node_mass[node]
    load = external_force(mesh, loads, work, node) + factor * (work.start_velocity[node] - mean)
    if work.driven[node] == 0:
        return load
    return wp.vec3d()


@wp.func
def matrix_norm(inverse: wp.mat33, vector: wp.vec3d) -> wp.float64:
    """vᵀ D⁻¹ v."""
    v = wp.vec3(vector)
    return wp.float64(wp.dot(v, inverse * v))
