"""Forces of elements on their nodes, and the dilatation that nodal patches average."""

import warp as wp

from tensorphys_fem._kernels.constitutive import (
    collapse,
    dilatation,
    lame,
    patch_fraction,
    stress_conserving,
    stress_damped,
    stress_viscous,
)
from tensorphys_fem._kernels.patches import mean_dilatation, mixed
from tensorphys_fem._kernels.structs import CONSERVING, HINGE, STATIC, TET, TRIANGLE, Materials, Mesh, Work
from tensorphys_fem._kernels.thin import (
    hinge_angle,
    hinge_gradient,
    membrane_stress,
    plane_stress_lambda,
    wrap_angle,
)

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_ONE = wp.constant(wp.float64(1.0))
_TWO = wp.constant(wp.float64(2.0))
_TWELFTH = wp.constant(wp.float64(1.0 / 12.0))


@wp.func
def deformation_gradient(
    kind: int, rest: wp.mat33d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, d: wp.vec3d
) -> wp.mat33d:
    """F of a tetrahedron, or of a triangle with a zero third column."""
    third = d - a
    if kind == TRIANGLE:
        third = wp.vec3d()
    return wp.matrix_from_cols(b - a, c - a, third) * rest


@wp.func
def viscous_rate(materials: Materials, work: Work, body: int) -> wp.float64:
    """Damping time over the time step; 0 in a static solve."""
    if work.scheme[body] == STATIC:
        return _ZERO
    return wp.float64(materials.damping[body] * materials.damping_scale[body] / work.time_step[0])


@wp.func
def viscous_bulk(materials: Materials, body: int, bulk: wp.float64, patches: int) -> wp.float64:
    """λ of the viscous stress. What nodal patches hold of λ has no viscosity, which would lock the rate."""
    if patches == 0:
        return bulk
    return bulk * (_ONE - patch_fraction(wp.float64(materials.poissons_ratio[body])))


@wp.func
def gradient_before(mesh: Mesh, work: Work, e: int) -> wp.mat33d:
    n = mesh.element_nodes[e]
    return deformation_gradient(
        mesh.element_kind[e],
        mesh.element_rest[e],
        work.start[n[0]],
        work.start[n[1]],
        work.start[n[2]],
        work.start[n[3]],
    )


@wp.func
def solid_viscous_rate(mesh: Mesh, materials: Materials, work: Work, e: int) -> wp.float64:
    """The rate of a tetrahedron. One that starts the step collapsed or inverted has no viscosity: it is to recover."""
    rate = viscous_rate(materials, work, mesh.element_body[e])
    if rate > _ZERO and mesh.element_kind[e] == TET:
        rate = rate * (_ONE - collapse(wp.determinant(gradient_before(mesh, work, e))))
    return rate


@wp.func
def gradient_after(mesh: Mesh, work: Work, increment: wp.array[wp.vec3d], e: int) -> wp.mat33d:
    n = mesh.element_nodes[e]
    return deformation_gradient(
        mesh.element_kind[e],
        mesh.element_rest[e],
        work.start[n[0]] + increment[n[0]],
        work.start[n[1]] + increment[n[1]],
        work.start[n[2]] + increment[n[2]],
        work.start[n[3]] + increment[n[3]],
    )


@wp.func
def element_dilatation(
    mesh: Mesh, materials: Materials, work: Work, increment: wp.array[wp.vec3d], e: int
) -> wp.float64:
    """Dilatation that the pressure of an element follows: at the end of the step, or the mean of both ends."""
    body = mesh.element_body[e]
    law = materials.law[body]
    after = dilatation(gradient_after(mesh, work, increment, e), law)
    if work.scheme[body] == CONSERVING:
        return _HALF * (after + dilatation(gradient_before(mesh, work, e), law))
    return after


@wp.func
def element_pressure(
    mesh: Mesh, materials: Materials, work: Work, increment: wp.array[wp.vec3d], patches: int, e: int
) -> wp.float64:
    """λ times the dilatation, where λ is that of the law and the dilatation averaged as far as ν asks for it."""
    body = mesh.element_body[e]
    poisson = wp.float64(materials.poissons_ratio[body])
    moduli = lame(wp.float64(materials.youngs_modulus[body]), poisson, materials.law[body])
    if patches == 0:
        return moduli[1] * element_dilatation(mesh, materials, work, increment, e)
    part = patch_fraction(poisson)
    return moduli[1] * (part * mean_dilatation(mesh, work, e) + (_ONE - part) * work.dilatation[e])


@wp.func
def write_gradient(mesh: Mesh, materials: Materials, work_inout: Work, increment: wp.array[wp.vec3d], e: int):
    """Patches, first stage: gradient and dilatation of a tetrahedron."""
    work_inout.gradient[e] = gradient_after(mesh, work_inout, increment, e)
    work_inout.dilatation[e] = element_dilatation(mesh, materials, work_inout, increment, e)


@wp.func
def write_smooth_before(mesh: Mesh, materials: Materials, work_inout: Work, e: int):
    """Smoothed gradient at the start of the step, from means that were taken there."""
    own = gradient_before(mesh, work_inout, e)
    work_inout.smooth_before[e] = mixed(mesh, materials, own, work_inout.patch_matrix, e)


@wp.func
def write_smooth_stress(mesh: Mesh, materials: Materials, work_inout: Work, e: int):
    """Patches, third stage: stress of the smoothed gradient, without the pressure."""
    body = mesh.element_body[e]
    law = materials.law[body]
    moduli = lame(wp.float64(materials.youngs_modulus[body]), wp.float64(materials.poissons_ratio[body]), law)
    smooth = mixed(mesh, materials, work_inout.gradient[e], work_inout.patch_matrix, e)
    work_inout.smooth[e] = smooth
    if work_inout.scheme[body] == CONSERVING:
        before = work_inout.smooth_before[e]
        work_inout.stress[e] = stress_conserving(before, smooth, law, moduli[0], _ZERO)
    else:
        work_inout.stress[e] = stress_damped(smooth, law, moduli[0], _ZERO)


@wp.func
def _solid_stress(
    mesh: Mesh, materials: Materials, work: Work, increment: wp.array[wp.vec3d], patches: int, e: int
) -> wp.mat33d:
    body = mesh.element_body[e]
    law = materials.law[body]
    moduli = lame(wp.float64(materials.youngs_modulus[body]), wp.float64(materials.poissons_ratio[body]), law)
    pressure = element_pressure(mesh, materials, work, increment, patches, e)
    after = gradient_after(mesh, work, increment, e)
    stress = wp.mat33d()
    shear = moduli[0]
    if patches != 0:
        stress = mixed(mesh, materials, work.stress[e], work.patch_matrix, e)
        shear = _ZERO
    if work.scheme[body] == CONSERVING:
        stress += stress_conserving(gradient_before(mesh, work, e), after, law, shear, pressure)
    else:
        stress += stress_damped(after, law, shear, pressure)
    rate = solid_viscous_rate(mesh, materials, work, e)
    if rate > _ZERO:
        bulk = viscous_bulk(materials, body, moduli[1], patches)
        stress += stress_viscous(gradient_before(mesh, work, e), after, moduli[0], bulk, rate)
    return stress


@wp.func
def _membrane_stress(
    mesh: Mesh, materials: Materials, work: Work, increment: wp.array[wp.vec3d], e: int
) -> wp.mat33d:
    body = mesh.element_body[e]
    moduli = lame(wp.float64(materials.youngs_modulus[body]), wp.float64(materials.poissons_ratio[body]), 0)
    bulk = plane_stress_lambda(moduli[0], moduli[1])
    before = gradient_before(mesh, work, e)
    after = gradient_after(mesh, work, increment, e)
    stress = membrane_stress(before, after, work.scheme[body] == CONSERVING, moduli[0], bulk)
    rate = viscous_rate(materials, work, body)
    if rate > _ZERO:
        stress += stress_viscous(before, after, moduli[0], _ZERO, rate)
    return stress


@wp.func
def bending_stiffness(materials: Materials, body: int) -> wp.float64:
    """E / (12 (1 − ν²)) [Pa]; the measure of a hinge holds thickness³ |edge|² / (sum of areas)."""
    poisson = wp.float64(materials.poissons_ratio[body])
    return _TWELFTH * wp.float64(materials.youngs_modulus[body]) / (_ONE - poisson * poisson)


@wp.func
def _hinge_force(mesh: Mesh, materials: Materials, work: Work, increment: wp.array[wp.vec3d], e: int):
    """Bending forces. In the conserving scheme the gradient at the middle is scaled to do the work of the energy."""
    n = mesh.element_nodes[e]
    body = mesh.element_body[e]
    a, b, c, d = work.start[n[0]], work.start[n[1]], work.start[n[2]], work.start[n[3]]
    ua, ub, uc, ud = increment[n[0]], increment[n[1]], increment[n[2]], increment[n[3]]
    rest = mesh.element_rest[e][0, 0]
    before = wrap_angle(hinge_angle(a, b, c, d) - rest)
    after = before + wrap_angle(hinge_angle(a + ua, b + ub, c + uc, d + ud) - rest - before)
    part = _ONE
    angle = after
    if work.scheme[body] == CONSERVING:
        part = _HALF
        angle = _HALF * (before + after)
    ga, gb, gc, gd = hinge_gradient(a + part * ua, b + part * ub, c + part * uc, d + part * ud)
    scale = _ONE
    if work.scheme[body] == CONSERVING:
        change = wp.dot(ga, ua) + wp.dot(gb, ub) + wp.dot(gc, uc) + wp.dot(gd, ud)
        if wp.abs(change) > wp.float64(1e-9):
            scale = wp.clamp((after - before) / change, _HALF, _TWO)
    stiffness = bending_stiffness(materials, body) * mesh.element_measure[e]
    moment = -stiffness * scale * (angle + viscous_rate(materials, work, body) * (after - before))
    return ga * moment, gb * moment, gc * moment, gd * moment


@wp.func
def write_element_force(
    mesh: Mesh, materials: Materials, work_inout: Work, increment: wp.array[wp.vec3d], patches: int, e: int
):
    """Forces of an element on its nodes; they add up to zero exactly, whatever the stress is."""
    kind = mesh.element_kind[e]
    _fa, fb, fc, fd = wp.vec3d(), wp.vec3d(), wp.vec3d(), wp.vec3d()
    if kind == HINGE:
        _fa, fb, fc, fd = _hinge_force(mesh, materials, work_inout, increment, e)
    else:
        stress = wp.mat33d()
        if kind == TET:
            stress = _solid_stress(mesh, materials, work_inout, increment, patches, e)
        else:
            stress = _membrane_stress(mesh, materials, work_inout, increment, e)
        h = stress * wp.transpose(mesh.element_rest[e]) * (-mesh.element_measure[e])
        fb = wp.vec3d(h[0, 0], h[1, 0], h[2, 0])
        fc = wp.vec3d(h[0, 1], h[1, 1], h[2, 1])
        if kind == TET:
            fd = wp.vec3d(h[0, 2], h[1, 2], h[2, 2])
    work_inout.corner_force[e, 0] = -(fb + fc + fd)
    work_inout.corner_force[e, 1] = fb
    work_inout.corner_force[e, 2] = fc
    work_inout.corner_force[e, 3] = fd
