"""Elastic energy of bodies."""

import warp as wp

from tensorphys_fem._kernels.constitutive import dilatation, energy_density, lame, patch_fraction
from tensorphys_fem._kernels.elements import bending_stiffness, deformation_gradient, patch_mean
from tensorphys_fem._kernels.rigid import place
from tensorphys_fem._kernels.structs import DAMPED, HINGE, TET, TRIANGLE, Materials, Mesh, Work
from tensorphys_fem._kernels.thin import hinge_angle, membrane_energy, plane_stress_lambda, wrap_angle

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))


@wp.func
def _gradient(mesh: Mesh, work: Work, part: wp.float64, e: int) -> wp.mat33d:
    n = mesh.element_nodes[e]
    return deformation_gradient(
        mesh.element_kind[e],
        mesh.element_rest[e],
        place(work, part, n[0]),
        place(work, part, n[1]),
        place(work, part, n[2]),
        place(work, part, n[3]),
    )


@wp.func
def element_energy(
    mesh: Mesh, materials: Materials, work: Work, part: wp.float64, patches: int, e: int
) -> wp.float64:
    """Elastic energy [J] without what nodal patches hold."""
    body = mesh.element_body[e]
    kind = mesh.element_kind[e]
    n = mesh.element_nodes[e]
    if kind == HINGE:
        angle = hinge_angle(
            place(work, part, n[0]),
            place(work, part, n[1]),
            place(work, part, n[2]),
            place(work, part, n[3]),
        )
        angle = wrap_angle(angle - mesh.element_rest[e][0, 0])
        return _HALF * bending_stiffness(materials, body) * mesh.element_measure[e] * angle * angle
    f = _gradient(mesh, work, part, e)
    law = materials.law[body]
    poisson = wp.float64(materials.poissons_ratio[body])
    moduli = lame(wp.float64(materials.youngs_modulus[body]), poisson, law * (1 - kind))
    if kind == TRIANGLE:
        return mesh.element_measure[e] * membrane_energy(
            f, moduli[0], plane_stress_lambda(moduli[0], moduli[1])
        )
    density = energy_density(f, law, moduli[0], moduli[1])
    if patches != 0:
        s = dilatation(f, law)
        density -= patch_fraction(poisson) * _HALF * moduli[1] * s * s
    return mesh.element_measure[e] * density


@wp.func
def element_dilatation_at(mesh: Mesh, materials: Materials, work: Work, part: wp.float64, e: int) -> wp.float64:
    """Dilatation of a tetrahedron at a part of the step; 0 for other elements."""
    if mesh.element_kind[e] != TET:
        return _ZERO
    return dilatation(_gradient(mesh, work, part, e), materials.law[mesh.element_body[e]])


@wp.func
def patch_energy(mesh: Mesh, materials: Materials, values: wp.array[wp.float64], node: int) -> wp.float64:
    """Elastic energy [J] of the mean dilatation around a node."""
    body = mesh.node_body[node]
    poisson = wp.float64(materials.poissons_ratio[body])
    moduli = lame(wp.float64(materials.youngs_modulus[body]), poisson, materials.law[body])
    s = patch_mean(mesh, values, node)
    return patch_fraction(poisson) * _HALF * moduli[1] * s * s * mesh.patch_volume[node]


@wp.kernel
def write_energy_gain(
    mesh: Mesh,
    materials: Materials,
    patches: wp.int32,
    # outputs
    work_inout: Work,
):
    """Of bodies in the damped scheme, whose energy is bounded at the end of the step."""
    e = wp.tid()
    if work_inout.scheme[mesh.element_body[e]] == DAMPED:
        gain = element_energy(mesh, materials, work_inout, wp.float64(1.0), patches, e)
        work_inout.energy_gain[e] = gain - element_energy(mesh, materials, work_inout, _ZERO, patches, e)
        if patches != 0:
            one = wp.float64(1.0)
            work_inout.dilatation[e] = element_dilatation_at(mesh, materials, work_inout, one, e)
            work_inout.dilatation_before[e] = element_dilatation_at(mesh, materials, work_inout, _ZERO, e)


@wp.kernel
def write_patch_gain(
    mesh: Mesh,
    materials: Materials,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    gain = patch_energy(mesh, materials, work_inout.dilatation, node)
    work_inout.patch_gain[node] = gain - patch_energy(mesh, materials, work_inout.dilatation_before, node)
