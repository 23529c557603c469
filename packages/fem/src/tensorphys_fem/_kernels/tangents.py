"""Tangents of elements in float32, positive semi-definite by construction.

In the basis of the singular vectors of F the tangent of an isotropic law is a 3×3 block over the stretches and, for
each pair of axes, one value for the symmetric and one for the antisymmetric mode [Xu, Sin, Zhu & Barbič 2015,
Smith, de Goes & Kim 2019]; each of them is projected by itself. The conserving scheme takes half of the tangent at
the end of the step. Only the search direction depends on it, never the solution.
"""

import warp as wp

from tensorphys_fem._kernels.constitutive import (
    far_from_collapse,
    lame,
    patch_fraction,
    polar_rotation,
    stress_damped,
)
from tensorphys_fem._kernels.eigen import symmetric_eigen
from tensorphys_fem._kernels.elements import (
    bending_stiffness,
    element_pressure,
    gradient_after,
    gradient_before,
    solid_viscous_rate,
    viscous_bulk,
    viscous_rate,
)
from tensorphys_fem._kernels.structs import (
    CONSERVING,
    COROTATIONAL,
    HINGE,
    NEO_HOOKEAN,
    STABLE_NEO_HOOKEAN,
    TET,
    Materials,
    Mesh,
    Work,
)
from tensorphys_fem._kernels.thin import hinge_gradient, plane_stress_lambda

wp.set_module_options({"enable_backward": False})


@wp.struct
class Modes:
    """A tangent in the singular basis.

    `stretch` is the block over the diagonal, entry k of `symmetric` and `twist` belongs to the two other axes.
    """

    stretch: wp.mat33
    symmetric: wp.vec3
    twist: wp.vec3


@wp.func
def singular(f: wp.mat33d, kind: int):
    """Singular vectors and values.

    From the eigenvectors of U in F = R U where a solid is not nearly collapsed or inverted: many times faster than singular
    values in float64, which decide elsewhere (in float32 `wp.svd3` errs by 1e-3 for stretches 2, 0.75, 0.5).
    """
    basis, sigma, right = wp.mat33(), wp.vec3(), wp.mat33()
    if kind == TET and far_from_collapse(f):
        rotation = polar_rotation(f)
        right, sigma = symmetric_eigen(wp.mat33(wp.transpose(rotation) * f))
        basis = wp.mat33(rotation) * right
    else:
        u, values, v = wp.svd3(f)
        basis, sigma, right = wp.mat33(u), wp.vec3(values), wp.mat33(v)
    return basis, sigma, right


@wp.func
def _positive(m: wp.mat33) -> wp.mat33:
    """m without what is negative of it. In float64: `wp.eig3` errs by 1e-4 of the largest value in float32."""
    minor = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    scale = wp.trace(m)
    if m[0, 0] > 0.0 and minor > 1e-5 * scale * scale and wp.determinant(m) > 1e-5 * scale * scale * scale:
        return m
    exact = wp.mat33d(m)
    vectors, values = wp.eig3(exact)
    zero = wp.float64(0.0)
    negative = wp.vec3d(wp.min(values[0], zero), wp.min(values[1], zero), wp.min(values[2], zero))
    return wp.mat33(exact - vectors * wp.diag(negative) * wp.transpose(vectors))


@wp.func
def _twist_ratio(first: float, second: float, shear: float, pressure: float) -> float:
    """Antisymmetric mode of the co-rotational law, without the pole of a stretch sum of zero."""
    total = first + second
    return 2.0 * shear + (2.0 * pressure - 4.0 * shear) / wp.max(total, 1e-2)


@wp.func
def corotational_modes(sigma: wp.vec3, shear: float, bulk: float, pressure: float) -> Modes:
    modes = Modes()
    two = 2.0 * shear
    modes.stretch = wp.mat33(two + bulk, bulk, bulk, bulk, two + bulk, bulk, bulk, bulk, two + bulk)
    modes.symmetric = wp.vec3(two, two, two)
    modes.twist = wp.vec3(
        _twist_ratio(sigma[1], sigma[2], shear, pressure),
        _twist_ratio(sigma[0], sigma[2], shear, pressure),
        _twist_ratio(sigma[0], sigma[1], shear, pressure),
    )
    return modes


@wp.func
def neo_hookean_modes(sigma: wp.vec3, shear: float, bulk: float, pressure: float, part: float) -> Modes:
    """Of both Neo-Hookean laws; `part` is 1 with the logarithm and 0 without it."""
    modes = Modes()
    first = wp.dot(sigma, sigma) + 1.0
    factor = shear * (1.0 - part / first)
    total = pressure - (1.0 - 0.25 * part) * shear
    cof = wp.vec3(sigma[1] * sigma[2], sigma[0] * sigma[2], sigma[0] * sigma[1])
    block = (2.0 * part * shear / (first * first)) * wp.outer(sigma, sigma) + bulk * wp.outer(cof, cof)
    block += wp.diag(wp.vec3(factor, factor, factor))
    s = total * sigma
    modes.stretch = _positive(block + wp.mat33(0.0, s[2], s[1], s[2], 0.0, s[0], s[1], s[0], 0.0))
    modes.symmetric = wp.vec3(factor, factor, factor) - s
    modes.twist = wp.vec3(factor, factor, factor) + s
    return modes


@wp.func
def kirchhoff_modes(sigma: wp.vec3, shear: float, bulk: float, pressure: float) -> Modes:
    modes = Modes()
    square = wp.cw_mul(sigma, sigma)
    cross = wp.vec3(sigma[1] * sigma[2], sigma[0] * sigma[2], sigma[0] * sigma[1])
    total = square[0] + square[1] + square[2]
    ones = wp.vec3(1.0, 1.0, 1.0)
    block = wp.diag(shear * (3.0 * square - ones) + pressure * ones) + bulk * wp.outer(sigma, sigma)
    modes.stretch = _positive(block)
    pair = (total - 1.0) * ones - square
    modes.symmetric = shear * (pair + cross) + pressure * ones
    modes.twist = shear * (pair - cross) + pressure * ones
    return modes


@wp.func
def membrane_modes(sigma: wp.vec3, shear: float, bulk: float) -> Modes:
    """Modes of a membrane; the third axis is its normal, along which stress alone gives stiffness."""
    modes = Modes()
    two = 2.0 * shear
    pressure = bulk * (sigma[0] + sigma[1] - 2.0)
    modes.stretch = wp.mat33(two + bulk, bulk, 0.0, bulk, two + bulk, 0.0, 0.0, 0.0, 0.0)
    across = wp.vec3(
        (two * (sigma[1] - 1.0) + pressure) / wp.max(sigma[1], 1e-2),
        (two * (sigma[0] - 1.0) + pressure) / wp.max(sigma[0], 1e-2),
        0.0,
    )
    modes.symmetric = across + wp.vec3(0.0, 0.0, two)
    modes.twist = across + wp.vec3(0.0, 0.0, _twist_ratio(sigma[0], sigma[1], shear, pressure))
    return modes


@wp.func
def mode_block(basis: wp.mat33, modes: Modes, a: wp.vec3, b: wp.vec3) -> wp.mat33:
    """Block of two nodes whose gradients in the right singular basis are a and b."""
    plus = 0.5 * (modes.symmetric + modes.twist)
    minus = 0.5 * (modes.symmetric - modes.twist)
    m = modes.stretch
    k = wp.mat33(
        m[0, 0] * a[0] * b[0] + plus[2] * a[1] * b[1] + plus[1] * a[2] * b[2],
        m[0, 1] * a[0] * b[1] + minus[2] * a[1] * b[0],
        m[0, 2] * a[0] * b[2] + minus[1] * a[2] * b[0],
        m[1, 0] * a[1] * b[0] + minus[2] * a[0] * b[1],
        m[1, 1] * a[1] * b[1] + plus[2] * a[0] * b[0] + plus[0] * a[2] * b[2],
        m[1, 2] * a[1] * b[2] + minus[0] * a[2] * b[1],
        m[2, 0] * a[2] * b[0] + minus[1] * a[0] * b[2],
        m[2, 1] * a[2] * b[1] + minus[0] * a[1] * b[2],
        m[2, 2] * a[2] * b[2] + plus[1] * a[0] * b[0] + plus[0] * a[1] * b[1],
    )
    return basis * k * wp.transpose(basis)


@wp.func
def _solid_modes(
    mesh: Mesh,
    materials: Materials,
    work: Work,
    increment: wp.array[wp.vec3d],
    patches: int,
    e: int,
    sigma: wp.vec3,
) -> Modes:
    body = mesh.element_body[e]
    law = materials.law[body]
    poisson = wp.float64(materials.poissons_ratio[body])
    moduli = lame(wp.float64(materials.youngs_modulus[body]), poisson, law)
    pressure = float(element_pressure(mesh, materials, work, increment, patches, e))
    shear = float(moduli[0])
    bulk = float(moduli[1])
    if patches != 0:
        bulk *= 1.0 - float(patch_fraction(poisson))
    modes = Modes()
    if law == COROTATIONAL:
        modes = corotational_modes(sigma, shear, bulk, pressure)
    elif law == STABLE_NEO_HOOKEAN:
        modes = neo_hookean_modes(sigma, shear, bulk, pressure, 1.0)
    elif law == NEO_HOOKEAN:
        modes = neo_hookean_modes(sigma, shear, bulk, pressure, 0.0)
    else:
        modes = kirchhoff_modes(sigma, shear, bulk, pressure)
    return modes


@wp.func
def _scaled_modes(modes_in: Modes, scale: float) -> Modes:
    """Clip negative values, and halve in the conserving scheme (`scale`)."""
    modes = modes_in
    zero = wp.vec3()
    modes.stretch = scale * modes.stretch
    modes.symmetric = scale * wp.max(modes.symmetric, zero)
    modes.twist = scale * wp.max(modes.twist, zero)
    return modes


@wp.func
def _pair_mean(v: wp.vec3) -> wp.vec3:
    return 0.5 * wp.vec3(v[1] + v[2], v[0] + v[2], v[0] + v[1])


@wp.func
def _viscous_modes(
    modes_in: Modes, sigma: wp.vec3, change: wp.vec3, shear: float, bulk: float, rate: float
) -> Modes:
    """Add the viscous part; `change` is that of the Green strain along the right singular vectors.

    F̄ is taken for F here, and the coupling between symmetric and antisymmetric modes of a pair is left out.
    """
    modes = modes_in
    modes.stretch += rate * (2.0 * shear * wp.diag(wp.cw_mul(sigma, sigma)) + bulk * wp.outer(sigma, sigma))
    pair = wp.vec3(sigma[1] * sigma[2], sigma[0] * sigma[2], sigma[0] * sigma[1])
    square = _pair_mean(wp.cw_mul(sigma, sigma))
    modes.symmetric += rate * shear * (square + pair)
    modes.twist += rate * shear * (square - pair)
    total = bulk * (change[0] + change[1] + change[2])
    stress = wp.max(rate * (2.0 * shear * change + wp.vec3(total, total, total)), wp.vec3())
    modes.stretch += 0.5 * wp.diag(stress)
    modes.symmetric += 0.5 * _pair_mean(stress)
    modes.twist += 0.5 * _pair_mean(stress)
    return modes


@wp.func
def _write_hinge_tangent(
    mesh: Mesh, materials: Materials, work_inout: Work, increment: wp.array[wp.vec3d], e: int, scale: float
):
    n = mesh.element_nodes[e]
    body = mesh.element_body[e]
    a = work_inout.start[n[0]] + increment[n[0]]
    b = work_inout.start[n[1]] + increment[n[1]]
    c = work_inout.start[n[2]] + increment[n[2]]
    d = work_inout.start[n[3]] + increment[n[3]]
    ga, gb, gc, gd = hinge_gradient(a, b, c, d)
    factor = scale + float(viscous_rate(materials, work_inout, body))
    stiffness = factor * float(bending_stiffness(materials, body) * mesh.element_measure[e])
    rows = wp.matrix_from_rows(wp.vec3(ga), wp.vec3(gb), wp.vec3(gc), wp.vec3(gd))
    index = int(0)
    for i in range(4):
        for j in range(i, 4):
            work_inout.element_block[e, index] = stiffness * wp.outer(rows[i], rows[j])
            index += 1


@wp.func
def _write_patch_tangent(mesh: Mesh, materials: Materials, work_inout: Work, f: wp.mat33d, e: int):
    """Derivative of the dilatation of an element, times its volume, by its nodes."""
    one = wp.float64(1.0)
    by_gradient = stress_damped(f, materials.law[mesh.element_body[e]], wp.float64(0.0), one)
    h = wp.mat33(by_gradient * wp.transpose(mesh.element_rest[e]) * mesh.element_measure[e])
    b = wp.vec3(h[0, 0], h[1, 0], h[2, 0])
    c = wp.vec3(h[0, 1], h[1, 1], h[2, 1])
    d = wp.vec3(h[0, 2], h[1, 2], h[2, 2])
    work_inout.dilatation_gradient[e, 0] = -(b + c + d)
    work_inout.dilatation_gradient[e, 1] = b
    work_inout.dilatation_gradient[e, 2] = c
    work_inout.dilatation_gradient[e, 3] = d


@wp.func
def write_element_tangent(
    mesh: Mesh, materials: Materials, work_inout: Work, increment: wp.array[wp.vec3d], patches: int, e: int
):
    """The ten blocks of an element (upper triangle over its nodes), and with patches what their products need."""
    kind = mesh.element_kind[e]
    body = mesh.element_body[e]
    scale = float(1.0)
    if work_inout.scheme[body] == CONSERVING:
        scale = 0.5
    if kind == HINGE:
        _write_hinge_tangent(mesh, materials, work_inout, increment, e, scale)
        return
    rate = float(solid_viscous_rate(mesh, materials, work_inout, e))
    moduli = lame(
        wp.float64(materials.youngs_modulus[body]),
        wp.float64(materials.poissons_ratio[body]),
        materials.law[body] * (1 - kind),
    )
    shear = float(moduli[0])
    f = gradient_after(mesh, work_inout, increment, e)
    smooth = f
    if patches != 0 and kind == TET:
        smooth = work_inout.smooth[e]
    basis, sigma, right = singular(smooth, kind)
    modes = Modes()
    if kind == TET:
        modes = _solid_modes(mesh, materials, work_inout, increment, patches, e, sigma)
    else:
        modes = membrane_modes(sigma, shear, float(plane_stress_lambda(moduli[0], moduli[1])))
    modes = _scaled_modes(modes, scale)
    if rate > 0.0:
        before = wp.mat33(gradient_before(mesh, work_inout, e)) * right
        first = (
            wp.cw_mul(before[0], before[0])
            + wp.cw_mul(before[1], before[1])
            + wp.cw_mul(before[2], before[2])
        )
        change = 0.5 * (wp.cw_mul(sigma, sigma) - first)
        bulk = float(viscous_bulk(materials, body, moduli[1], patches)) * float(1 - kind)
        modes = _viscous_modes(modes, sigma, change, shear, bulk, rate)
    rest = wp.mat33(mesh.element_rest[e]) * right
    rows = wp.matrix_from_rows(-(rest[0] + rest[1] + rest[2]), rest[0], rest[1], rest[2])
    measure = float(mesh.element_measure[e])
    index = int(0)
    for i in range(4):
        for j in range(i, 4):
            work_inout.element_block[e, index] = measure * mode_block(basis, modes, rows[i], rows[j])
            index += 1
    if patches != 0:
        work_inout.patch_stiffness[e] = 0.0
        if kind == TET:
            part = float(patch_fraction(wp.float64(materials.poissons_ratio[body])))
            work_inout.patch_stiffness[e] = scale * part * float(moduli[1])
            _write_patch_tangent(mesh, materials, work_inout, f, e)
            work_inout.basis[e] = basis
            work_inout.right[e] = right
            work_inout.stretch[e] = modes.stretch
            work_inout.symmetric[e] = modes.symmetric
            work_inout.twist[e] = modes.twist
