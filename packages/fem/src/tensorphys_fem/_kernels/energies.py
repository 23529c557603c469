"""Elastic energy of bodies."""

import warp as wp

from tensorphys_fem._kernels.constitutive import dilatation, energy_density, lame, patch_fraction
from tensorphys_fem._kernels.elements import bending_stiffness, deformation_gradient
from tensorphys_fem._kernels.patches import mixed, patch_mean, patch_mean_matrix
from tensorphys_fem._kernels.rigid import place
from tensorphys_fem._kernels.structs import CONSERVING, HINGE, TET, TRIANGLE, Materials, Mesh, Work
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
def _element_energy(
    mesh: Mesh, materials: Materials, work: Work, part: wp.float64, patches: int, e: int
) -> wp.float64:
    """Elastic energy [J] of an element, without what nodal patches hold."""
    body = mesh.element_body[e]
    kind = mesh.element_kind[e]
    n = mesh.element_nodes[e]
    if kind == HINGE:
        angle = hinge_angle(
            place(work, part, n[0]), place(work, part, n[1]), place(work, part, n[2]), place(work, part, n[3])
        )
        angle = wrap_angle(angle - mesh.element_rest[e][0, 0])
        return _HALF * bending_stiffness(materials, body) * mesh.element_measure[e] * angle * angle
    law = materials.law[body]
    poisson = wp.float64(materials.poissons_ratio[body])
    moduli = lame(wp.float64(materials.youngs_modulus[body]), poisson, law * (1 - kind))
    if kind == TRIANGLE:
        f = _gradient(mesh, work, part, e)
        return mesh.element_measure[e] * membrane_energy(
            f, moduli[0], plane_stress_lambda(moduli[0], moduli[1])
        )
    if patches == 0:
        return mesh.element_measure[e] * energy_density(
            _gradient(mesh, work, part, e), law, moduli[0], moduli[1]
        )
    smooth = mixed(mesh, materials, work.gradient[e], work.patch_matrix, e)
    own = (
        (wp.float64(1.0) - patch_fraction(poisson))
        * _HALF
        * moduli[1]
        * work.dilatation[e]
        * work.dilatation[e]
    )
    return mesh.element_measure[e] * (energy_density(smooth, law, moduli[0], _ZERO) + own)


@wp.kernel
def write_gradients(
    mesh: Mesh,
    materials: Materials,
    part: wp.float64,
    # outputs
    work_inout: Work,
):
    """Patches: gradients and dilatations at a part of the step (0 start, 1 end)."""
    e = wp.tid()
    if mesh.element_kind[e] == TET:
        f = _gradient(mesh, work_inout, part, e)
        work_inout.gradient[e] = f
        work_inout.dilatation[e] = dilatation(f, materials.law[mesh.element_body[e]])


@wp.kernel
def write_means(
    mesh: Mesh,
    # outputs
    work_inout: Work,
):
    """Patches: means of gradients and dilatations."""
    node = wp.tid()
    work_inout.patch_dilatation[node] = patch_mean(mesh, work_inout.dilatation, node)
    work_inout.patch_matrix[node] = patch_mean_matrix(mesh, work_inout.gradient, node)


@wp.kernel
def write_energies(
    mesh: Mesh,
    materials: Materials,
    part: wp.float64,
    kept: wp.float64,
    sign: wp.float64,
    patches: wp.int32,
    # outputs
    work_inout: Work,
):
    """`kept` times the energy of each element that is there, and `sign` times that at a part of the step.

    The conserving scheme has no use for them in a step.
    """
    e = wp.tid()
    if work_inout.scheme[mesh.element_body[e]] != CONSERVING:
        energy = _element_energy(mesh, materials, work_inout, part, patches, e)
        work_inout.energy_gain[e] = kept * work_inout.energy_gain[e] + sign * energy


@wp.kernel
def write_energy_gains(
    mesh: Mesh,
    materials: Materials,
    # outputs
    work_inout: Work,
):
    """What the energy of each element gains over the step, where nothing is averaged."""
    e = wp.tid()
    if work_inout.scheme[mesh.element_body[e]] != CONSERVING:
        before = _element_energy(mesh, materials, work_inout, _ZERO, 0, e)
        after = _element_energy(mesh, materials, work_inout, wp.float64(1.0), 0, e)
        work_inout.energy_gain[e] = after - before


@wp.kernel
def write_patch_energies(
    mesh: Mesh,
    materials: Materials,
    kept: wp.float64,
    sign: wp.float64,
    # outputs
    work_inout: Work,
):
    """The same of the mean dilatation of nodal patches."""
    node = wp.tid()
    body = mesh.node_body[node]
    poisson = wp.float64(materials.poissons_ratio[body])
    moduli = lame(wp.float64(materials.youngs_modulus[body]), poisson, materials.law[body])
    s = work_inout.patch_dilatation[node]
    energy = patch_fraction(poisson) * _HALF * moduli[1] * s * s * mesh.patch_volume[node]
    work_inout.patch_gain[node] = kept * work_inout.patch_gain[node] + sign * energy
