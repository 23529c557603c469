"""What is measured on a state: stresses and rotations of elements, energies and momenta of bodies."""

import warp as wp

from tensorphys_fem._kernels.constitutive import lame, stress_damped
from tensorphys_fem._kernels.elements import (
    element_pressure,
    gradient_after,
    write_element_force,
    write_smooth_stress,
)
from tensorphys_fem._kernels.lanes import group_sum, group_sum3, lane, lane_count
from tensorphys_fem._kernels.patches import mixed, patch_mean_matrix
from tensorphys_fem._kernels.structs import HINGE, TET, TRIANGLE, Materials, Mesh, Work
from tensorphys_fem._kernels.thin import membrane_stress, plane_stress_lambda

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))


@wp.func
def _full_gradient(mesh: Mesh, work: Work, e: int) -> wp.mat33d:
    """F, of a triangle with its unit normal as the third column."""
    f = gradient_after(mesh, work, work.increment, e)
    if mesh.element_kind[e] == TET:
        return f
    a = wp.vec3d(f[0, 0], f[1, 0], f[2, 0])
    b = wp.vec3d(f[0, 1], f[1, 1], f[2, 1])
    return wp.matrix_from_cols(a, b, wp.normalize(wp.cross(a, b)))


@wp.func
def _piola(mesh: Mesh, materials: Materials, work: Work, patches: int, e: int) -> wp.mat33d:
    body = mesh.element_body[e]
    law = materials.law[body]
    youngs = wp.float64(materials.youngs_modulus[body])
    poisson = wp.float64(materials.poissons_ratio[body])
    f = gradient_after(mesh, work, work.increment, e)
    if mesh.element_kind[e] == TRIANGLE:
        flat = lame(youngs, poisson, 0)
        return membrane_stress(f, f, False, flat[0], plane_stress_lambda(flat[0], flat[1]))
    moduli = lame(youngs, poisson, law)
    pressure = element_pressure(mesh, materials, work, work.increment, patches, e)
    if patches != 0:
        smooth = mixed(mesh, materials, work.gradient[e], work.patch_matrix, e)
        return stress_damped(smooth, law, moduli[0], _ZERO) + stress_damped(f, law, _ZERO, pressure)
    return stress_damped(f, law, moduli[0], pressure)


@wp.kernel
def write_stresses(
    mesh: Mesh,
    materials: Materials,
    # outputs
    work_inout: Work,
):
    e = wp.tid()
    if mesh.element_kind[e] == TET:
        write_smooth_stress(mesh, materials, work_inout, e)


@wp.kernel
def write_mean_stresses(
    mesh: Mesh,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    work_inout.patch_matrix[node] = patch_mean_matrix(mesh, work_inout.stress, node)


@wp.kernel
def write_forces(
    mesh: Mesh,
    materials: Materials,
    patches: wp.int32,
    # outputs
    work_inout: Work,
):
    write_element_force(mesh, materials, work_inout, work_inout.increment, patches, wp.tid())


@wp.kernel
def gather_forces(
    mesh: Mesh,
    work: Work,
    # outputs
    force_out: wp.array[wp.vec3d],
):
    node = wp.tid()
    total = wp.vec3d()
    for k in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        slot = mesh.corner[k]
        total += work.corner_force[slot / 4, slot % 4]
    force_out[node] = total


@wp.kernel
def measure_elements(
    mesh: Mesh,
    materials: Materials,
    work: Work,
    patches: wp.int32,
    # outputs
    gradient_out: wp.array[wp.mat33],
    rotation_out: wp.array[wp.quat],
    stretch_out: wp.array[wp.mat33],
    stress_out: wp.array[wp.mat33],
    von_mises_out: wp.array[wp.float32],
):
    e = wp.tid()
    if mesh.element_kind[e] == HINGE:
        return
    f = _full_gradient(mesh, work, e)
    u, _sigma, v = wp.svd3(f)
    rotation = u * wp.transpose(v)
    volume = wp.determinant(f)
    if wp.abs(volume) < wp.float64(1e-12):
        volume = wp.float64(1e-12)
    stress = _piola(mesh, materials, work, patches, e) * wp.transpose(f) / volume
    deviator = stress - wp.trace(stress) / wp.float64(3.0) * wp.identity(n=3, dtype=wp.float64)
    gradient_out[e] = wp.mat33(f)
    rotation_out[e] = wp.normalize(wp.quat_from_matrix(wp.mat33(rotation)))
    stretch_out[e] = wp.mat33(wp.transpose(rotation) * f)
    stress_out[e] = wp.mat33(stress)
    von_mises_out[e] = float(wp.sqrt(wp.float64(1.5) * wp.ddot(deviator, deviator)))


@wp.kernel
def measure_bodies(
    mesh: Mesh,
    work: Work,
    velocity: wp.array[wp.vec3d],
    patches: wp.int32,
    # outputs
    kinetic_out: wp.array[wp.float64],
    elastic_out: wp.array[wp.float64],
    momentum_out: wp.array[wp.vec3d],
    angular_momentum_out: wp.array[wp.vec3d],
    center_out: wp.array[wp.vec3d],
    mass_out: wp.array[wp.float64],
):
    body = wp.tid() / lane_count()
    elastic = _ZERO
    for e in range(mesh.element_start[body] + lane(), mesh.element_start[body + 1], lane_count()):
        elastic += work.energy_gain[e]
    mass = _ZERO
    kinetic = _ZERO
    first = wp.vec3d()
    momentum = wp.vec3d()
    angular = wp.vec3d()
    for i in range(mesh.node_start[body] + lane(), mesh.node_start[body + 1], lane_count()):
        m = mesh.node_mass[i]
        mass += m
        first += m * work.start[i]
        kinetic += _HALF * m * wp.dot(velocity[i], velocity[i])
        momentum += m * velocity[i]
        angular += m * wp.cross(work.start[i], velocity[i])
        if patches != 0:
            elastic += work.patch_gain[i]
    mass = group_sum(mass)
    kinetic = group_sum(kinetic)
    elastic = group_sum(elastic)
    first = group_sum3(first)
    momentum = group_sum3(momentum)
    angular = group_sum3(angular)
    if lane() == 0:
        mass_out[body] = mass
        kinetic_out[body] = kinetic
        elastic_out[body] = elastic
        momentum_out[body] = momentum
        angular_momentum_out[body] = angular
        center_out[body] = first / mass
