"""A body as a whole: centre of mass, inertia, spin, and the rigid motion that a step starts from."""

import warp as wp

from tensorphys_fem._kernels.lanes import barrier, group_sum, group_sum3, lane, lane_count
from tensorphys_fem._kernels.structs import Mesh, Work

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_ONE = wp.constant(wp.float64(1.0))


@wp.func
def place(work: Work, part: wp.float64, node: int) -> wp.vec3d:
    """Position at a part of the step: 0 start, 1 end."""
    return work.start[node] + part * work.increment[node]


@wp.func
def body_center(mesh: Mesh, work: Work, part: wp.float64, body: int) -> wp.vec3d:
    """Centre of mass [m]."""
    mass = _ZERO
    first = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        mass += mesh.node_mass[i]
        first += mesh.node_mass[i] * place(work, part, i)
    return group_sum3(first) / group_sum(mass)


@wp.func
def body_inertia(mesh: Mesh, work: Work, part: wp.float64, center: wp.vec3d, body: int) -> wp.mat33d:
    """Inertia about a point [kg m²]."""
    diagonal = wp.vec3d()
    mixed = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        r = place(work, part, i) - center
        square = wp.cw_mul(r, r)
        total = square[0] + square[1] + square[2]
        diagonal += mesh.node_mass[i] * (wp.vec3d(total, total, total) - square)
        mixed += mesh.node_mass[i] * wp.vec3d(r[1] * r[2], r[0] * r[2], r[0] * r[1])
    d = group_sum3(diagonal)
    o = group_sum3(mixed)
    return wp.mat33d(d[0], -o[2], -o[1], -o[2], d[1], -o[0], -o[1], -o[0], d[2])


@wp.func
def solve_spin(inertia: wp.mat33d, moment: wp.vec3d) -> wp.vec3d:
    """I⁻¹ times a moment; zero for nodes on a line, which have no inertia about it."""
    scale = wp.trace(inertia)
    if wp.determinant(inertia) > wp.float64(1e-9) * scale * scale * scale:
        return wp.inverse(inertia) * moment
    return wp.vec3d()


@wp.func
def turned(spin: wp.vec3d, r: wp.vec3d) -> wp.vec3d:
    """Change of r by a turn of the angle |spin| about spin."""
    angle = wp.length(spin)
    first = _ONE
    second = _HALF
    if angle > wp.float64(1e-4):
        first = wp.sin(angle) / angle
        second = (_ONE - wp.cos(angle)) / (angle * angle)
    return first * wp.cross(spin, r) + second * wp.cross(spin, wp.cross(spin, r))


@wp.func
def guess_motion(mesh: Mesh, work_inout: Work, body: int):
    """First guess of the free increments: the body turns and moves on rigidly, the rest of its velocity is added.

    A stiff body that turns would start from a stretch by h² ω² / 2 otherwise.
    """
    h = wp.float64(work_inout.time_step[0])
    center = body_center(mesh, work_inout, _ZERO, body)
    angular = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        r = work_inout.start[i] - center
        angular += mesh.node_mass[i] * wp.cross(r, work_inout.start_velocity[i])
    spin = solve_spin(body_inertia(mesh, work_inout, _ZERO, center, body), group_sum3(angular))
    # A lash that turns by more than a radian a step is no rigid motion to start from.
    if h * wp.length(spin) > _ONE:
        spin = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        if work_inout.driven[i] == 0:
            r = work_inout.start[i] - center
            rest = work_inout.start_velocity[i] - wp.cross(spin, r)
            work_inout.increment[i] = h * rest + turned(h * spin, r)
    barrier()
