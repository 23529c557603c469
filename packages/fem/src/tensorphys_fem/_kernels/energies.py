"""Elastic energy of bodies."""

import warp as wp

from tensorphys_fem._kernels.constitutive import dilatation, energy_density, lame, patch_fraction
from tensorphys_fem._kernels.elements import bending_stiffness, deformation_gradient, patch_mean
from tensorphys_fem._kernels.lanes import barrier, group_sum, lane, lane_count
from tensorphys_fem._kernels.structs import HINGE, TET, TRIANGLE, Materials, Mesh, Work
from tensorphys_fem._kernels.thin import hinge_angle, membrane_energy, plane_stress_lambda, wrap_angle

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))


@wp.func
def _place(work: Work, part: wp.float64, node: int) -> wp.vec3d:
    return work.start[node] + part * work.increment[node]


@wp.func
def _gradient(mesh: Mesh, work: Work, part: wp.float64, e: int) -> wp.mat33d:
    n = mesh.element_nodes[e]
    return deformation_gradient(
        mesh.element_kind[e],
        mesh.element_rest[e],
        _place(work, part, n[0]),
        _place(work, part, n[1]),
        _place(work, part, n[2]),
        _place(work, part, n[3]),
    )


@wp.func
def _element_energy(
    mesh: Mesh, materials: Materials, work: Work, part: wp.float64, patches: int, e: int
) -> wp.float64:
    """Elastic energy [J] without what nodal patches hold."""
    body = mesh.element_body[e]
    kind = mesh.element_kind[e]
    n = mesh.element_nodes[e]
    if kind == HINGE:
        angle = hinge_angle(
            _place(work, part, n[0]),
            _place(work, part, n[1]),
            _place(work, part, n[2]),
            _place(work, part, n[3]),
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
        s = work.dilatation[e]
        density -= patch_fraction(poisson) * _HALF * moduli[1] * s * s
    return mesh.element_measure[e] * density


@wp.func
def _patch_energy(mesh: Mesh, materials: Materials, work: Work, node: int) -> wp.float64:
    """Elastic energy [J] of the mean dilatation around a node."""
    body = mesh.node_body[node]
    poisson = wp.float64(materials.poissons_ratio[body])
    moduli = lame(wp.float64(materials.youngs_modulus[body]), poisson, materials.law[body])
    s = patch_mean(mesh, work, node)
    return patch_fraction(poisson) * _HALF * moduli[1] * s * s * mesh.patch_volume[node]


@wp.func
def elastic_energy(
    mesh: Mesh, materials: Materials, work_inout: Work, part: wp.float64, patches: int, body: int
) -> wp.float64:
    """Elastic energy of a body [J] at its start (part 0) or after its increment (part 1)."""
    first = mesh.element_start[body]
    end = mesh.element_start[body + 1]
    if patches != 0:
        for e in range(first + lane(), end, lane_count()):
            if mesh.element_kind[e] == TET:
                work_inout.dilatation[e] = dilatation(_gradient(mesh, work_inout, part, e), materials.law[body])
        barrier()
    total = _ZERO
    for e in range(first + lane(), end, lane_count()):
        total += _element_energy(mesh, materials, work_inout, part, patches, e)
    if patches != 0:
        for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
            total += _patch_energy(mesh, materials, work_inout, i)
    barrier()
    return group_sum(total)
