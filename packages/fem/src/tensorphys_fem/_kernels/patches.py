"""The cure of locking: means over the tetrahedra around each node.

Dilatation: the volumetric energy is that of the mean dilatation of each nodal patch, Σ_a V_a λ/2 s̄_a², instead of
that of each element, so that there is one volumetric constraint a node and not one an element [Bonet & Burton 1998].

Gradient: the rest of the energy is that of a gradient mixed with the means of its four patches, F̃ = S F with
S = (1 − γ) I + γ (mean of nodes) (mean of elements), as far as linear tetrahedra are too stiff in bending beside
[Liu, Nguyen-Thoi & Lam 2008, α-FEM]. S is self-adjoint in the product weighted with volumes: the stress that acts
on the nodes is S P(F̃), and linear fields, momenta and rigid motions stay exact.

Both are switched by Poisson's ratio (`constitutive.patch_fraction`).
"""

import warp as wp

from tensorphys_fem._kernels.constitutive import patch_fraction
from tensorphys_fem._kernels.structs import TET, Materials, Mesh, Work

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_ONE = wp.constant(wp.float64(1.0))
_QUARTER = wp.constant(wp.float64(0.25))
_LEAST = wp.constant(wp.float64(1e-300))
# γ of an incompressible material: tip deflection of a 10 × 2 × 2-cell cantilever (ν = 0.499) beside quadratic elements
# 0.50 at 0, 0.84 at 0.5, 1.10 at 0.7; of 20 × 4 × 4 cells 0.79, 1.02, 1.13.
_SMOOTHING = wp.constant(wp.float64(0.55))


@wp.func
def smoothing(materials: Materials, body: int) -> wp.float64:
    """γ of a body."""
    return _SMOOTHING * patch_fraction(wp.float64(materials.poissons_ratio[body]))


@wp.func
def patch_mean(mesh: Mesh, values: wp.array[wp.float64], node: int) -> wp.float64:
    """Mean of the values of the tetrahedra around a node, by volume."""
    total = _ZERO
    for k in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        e = mesh.corner[k] / 4
        if mesh.element_kind[e] == TET:
            total += _QUARTER * mesh.element_measure[e] * values[e]
    return total / wp.max(mesh.patch_volume[node], _LEAST)


@wp.func
def patch_mean_matrix(mesh: Mesh, values: wp.array[wp.mat33d], node: int) -> wp.mat33d:
    """The same of matrices."""
    total = wp.mat33d()
    for k in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        e = mesh.corner[k] / 4
        if mesh.element_kind[e] == TET:
            total += _QUARTER * mesh.element_measure[e] * values[e]
    return total / wp.max(mesh.patch_volume[node], _LEAST)


@wp.func
def mixed(mesh: Mesh, materials: Materials, own: wp.mat33d, means: wp.array[wp.mat33d], e: int) -> wp.mat33d:
    """(1 − γ) of an element's own matrix and γ of the mean of its nodes."""
    n = mesh.element_nodes[e]
    part = smoothing(materials, mesh.element_body[e])
    mean = _QUARTER * (means[n[0]] + means[n[1]] + means[n[2]] + means[n[3]])
    return (_ONE - part) * own + part * mean


@wp.func
def mean_dilatation(mesh: Mesh, work: Work, e: int) -> wp.float64:
    """Mean over the nodes of an element of the dilatation around them."""
    n = mesh.element_nodes[e]
    total = work.patch_dilatation[n[0]] + work.patch_dilatation[n[1]]
    return _QUARTER * (total + work.patch_dilatation[n[2]] + work.patch_dilatation[n[3]])


@wp.func
def _gradient_change(mesh: Mesh, vector: wp.array[wp.vec3], e: int) -> wp.mat33:
    n = mesh.element_nodes[e]
    a = vector[n[0]]
    edges = wp.matrix_from_cols(vector[n[1]] - a, vector[n[2]] - a, vector[n[3]] - a)
    return edges * wp.mat33(mesh.element_rest[e])


@wp.func
def write_patch_change(mesh: Mesh, work_inout: Work, vector: wp.array[wp.vec3], node: int):
    """Product, first stage: change of the means around a node for a change of positions."""
    value = float(0.0)
    change = wp.mat33()
    for c in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        e = mesh.corner[c] / 4
        if mesh.element_kind[e] == TET:
            n = mesh.element_nodes[e]
            for i in range(4):
                value += wp.dot(work_inout.dilatation_gradient[e, i], vector[n[i]])
            change += float(mesh.element_measure[e]) * _gradient_change(mesh, vector, e)
    factor = 0.25 / wp.max(float(mesh.patch_volume[node]), 1e-30)
    work_inout.patch_value[node] = factor * value
    work_inout.patch_change[node] = factor * change


@wp.func
def _mixed_change(
    mesh: Mesh, materials: Materials, own: wp.mat33, means: wp.array[wp.mat33], e: int
) -> wp.mat33:
    n = mesh.element_nodes[e]
    part = float(smoothing(materials, mesh.element_body[e]))
    return (1.0 - part) * own + (0.25 * part) * (means[n[0]] + means[n[1]] + means[n[2]] + means[n[3]])


@wp.func
def write_stress_change(
    mesh: Mesh, materials: Materials, work_inout: Work, vector: wp.array[wp.vec3], e: int
):
    """Product, second stage: change of the stress of an element for that of its smoothed gradient."""
    own = _gradient_change(mesh, vector, e)
    change = _mixed_change(mesh, materials, own, work_inout.patch_change, e)
    left = work_inout.basis[e]
    right = work_inout.right[e]
    x = wp.transpose(left) * change * right
    s = work_inout.symmetric[e]
    t = work_inout.twist[e]
    along = work_inout.stretch[e] * wp.vec3(x[0, 0], x[1, 1], x[2, 2])
    plus = 0.5 * (s + t)
    minus = 0.5 * (s - t)
    y = wp.mat33(
        along[0],
        plus[2] * x[0, 1] + minus[2] * x[1, 0],
        plus[1] * x[0, 2] + minus[1] * x[2, 0],
        plus[2] * x[1, 0] + minus[2] * x[0, 1],
        along[1],
        plus[0] * x[1, 2] + minus[0] * x[2, 1],
        plus[1] * x[2, 0] + minus[1] * x[0, 2],
        plus[0] * x[2, 1] + minus[0] * x[1, 2],
        along[2],
    )
    work_inout.stress_change[e] = left * y * wp.transpose(right)


@wp.func
def write_mean_stress_change(mesh: Mesh, work_inout: Work, node: int):
    """Product, third stage: mean of the changes of stress around a node."""
    total = wp.mat33()
    for c in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        e = mesh.corner[c] / 4
        if mesh.element_kind[e] == TET:
            total += float(mesh.element_measure[e]) * work_inout.stress_change[e]
    work_inout.patch_change[node] = total * (0.25 / wp.max(float(mesh.patch_volume[node]), 1e-30))


@wp.func
def patch_row(mesh: Mesh, materials: Materials, work: Work, node: int) -> wp.vec3:
    """Product, last stage: what the tetrahedra around a node add to its row."""
    total = wp.vec3()
    for c in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        slot = mesh.corner[c]
        e = slot / 4
        if mesh.element_kind[e] == TET:
            n = mesh.element_nodes[e]
            mean = (
                work.patch_value[n[0]]
                + work.patch_value[n[1]]
                + work.patch_value[n[2]]
                + work.patch_value[n[3]]
            )
            total += (0.25 * mean * work.patch_stiffness[e]) * work.dilatation_gradient[e, slot % 4]
            change = _mixed_change(mesh, materials, work.stress_change[e], work.patch_change, e)
            rest = wp.mat33(mesh.element_rest[e])
            gradient = -(rest[0] + rest[1] + rest[2])
            if slot % 4 > 0:
                gradient = rest[slot % 4 - 1]
            total += float(mesh.element_measure[e]) * (change * gradient)
    return total
