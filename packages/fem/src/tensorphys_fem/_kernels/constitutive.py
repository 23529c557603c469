"""Stresses of solids and membranes in float64, for the damped and the conserving scheme.

A conserving stress P* of two deformation gradients F0, F1 does the work of the energy, P* : (F1 − F0) = ψ1 − ψ0,
and has P* (F0 + F1)ᵀ symmetric, so that energy and both momenta survive a step [Simo & Tarnow 1992, Gonzalez 2000].
It is F̄ times a symmetric matrix, with F̄ the mean of the two: each law is written in scalars of F whose difference has
such a form,

    |F|²:         2 F̄
    tr U:         2 F̄ (U0 + U1)⁻¹,           since U1² − U0² = sym((U1 − U0) (U0 + U1)) · 2
    det F:        2 F̄ X / (J0 + J1),          X = (cof C0 + 4 cof C̄ + cof C1) / 6, exact as cof is quadratic
    tr E:         F̄

Near collapse (smallest stretch, or det F, of one of the two below 0.2) the second and third go over into the
derivative at F̄, which keeps momenta and gives way in energy.
"""

import warp as wp

from tensorphys_fem._kernels.structs import COROTATIONAL, NEO_HOOKEAN, STABLE_NEO_HOOKEAN

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_ONE = wp.constant(wp.float64(1.0))
_TWO = wp.constant(wp.float64(2.0))
_THREE = wp.constant(wp.float64(3.0))
_FOUR = wp.constant(wp.float64(4.0))
_SIX = wp.constant(wp.float64(6.0))
_THREE_QUARTERS = wp.constant(wp.float64(0.75))
_COLLAPSE_LOW = wp.constant(wp.float64(0.05))
_COLLAPSE_WIDTH = wp.constant(wp.float64(0.15))
_SAFE = wp.constant(wp.float64(0.2))
_SMALL = wp.constant(wp.float64(1e-4))


@wp.func
def identity3() -> wp.mat33d:
    return wp.identity(n=3, dtype=wp.float64)


@wp.func
def cofactor(f: wp.mat33d) -> wp.mat33d:
    a = wp.vec3d(f[0, 0], f[1, 0], f[2, 0])
    b = wp.vec3d(f[0, 1], f[1, 1], f[2, 1])
    c = wp.vec3d(f[0, 2], f[1, 2], f[2, 2])
    return wp.matrix_from_cols(wp.cross(b, c), wp.cross(c, a), wp.cross(a, b))


@wp.func
def far_from_collapse(f: wp.mat33d) -> bool:
    """Whether Newton's iteration for the polar factor converges in a few steps."""
    det = wp.determinant(f)
    return det > wp.float64(0.02) and det > wp.float64(0.02) * wp.ddot(f, f)


@wp.func
def polar_rotation(f: wp.mat33d) -> wp.mat33d:
    """R of F = R U by Newton's iteration [Higham 1986], where F is far from collapse."""
    r = f
    for _k in range(16):
        following = _HALF * (r + cofactor(r) / wp.determinant(r))
        change = following - r
        r = following
        if wp.ddot(change, change) < wp.float64(1e-18):
            # Quadratic: the error is the square of the last change.
            break
    return r


@wp.func
def rotation_of(f: wp.mat33d) -> wp.mat33d:
    """The proper rotation R of F = R U.

    Newton's iteration for the polar factor [Higham 1986] where F is not nearly singular or inverted, at a quarter of
    the cost of singular values, which decide elsewhere.
    """
    if far_from_collapse(f):
        return polar_rotation(f)
    u, _sigma, v = wp.svd3(f)
    return u * wp.transpose(v)


@wp.func
def lame(youngs: wp.float64, poisson: wp.float64, law: int) -> wp.vec2d:
    """μ and λ of a law, such that it agrees with linear elasticity at small strain."""
    shear = youngs / (_TWO * (_ONE + poisson))
    bulk = youngs * poisson / ((_ONE + poisson) * (_ONE - _TWO * poisson))
    if law == STABLE_NEO_HOOKEAN:
        bulk = bulk + shear * wp.float64(5.0) / _SIX
        shear = shear * _FOUR / _THREE
    elif law == NEO_HOOKEAN:
        bulk = bulk + shear
    return wp.vec2d(shear, bulk)


@wp.func
def patch_fraction(poisson: wp.float64) -> wp.float64:
    """Part of the dilatation that is averaged over nodal patches: 0 below 0.40, 1 from 0.45."""
    x = wp.clamp((poisson - wp.float64(0.40)) / wp.float64(0.05), _ZERO, _ONE)
    return x * x * (_THREE - _TWO * x)


@wp.func
def dilatation(f: wp.mat33d, law: int) -> wp.float64:
    """Scalar whose square times λ / 2 is the volumetric energy: tr U − 3, det F − 1 or tr E."""
    if law == STABLE_NEO_HOOKEAN or law == NEO_HOOKEAN:
        return wp.determinant(f) - _ONE
    if law == COROTATIONAL:
        return wp.ddot(rotation_of(f), f) - _THREE
    return _HALF * (wp.ddot(f, f) - _THREE)


@wp.func
def collapse(smallest: wp.float64) -> wp.float64:
    """1 where an element is near collapse or inverted, 0 where it is not, smooth between."""
    x = wp.clamp((smallest - _COLLAPSE_LOW) / _COLLAPSE_WIDTH, _ZERO, _ONE)
    return _ONE - x * x * (_THREE - _TWO * x)


@wp.func
def stress_damped(f: wp.mat33d, law: int, shear: wp.float64, pressure: wp.float64) -> wp.mat33d:
    """First Piola–Kirchhoff stress; `pressure` is λ times the dilatation, averaged or not."""
    if law == COROTATIONAL:
        rotation = rotation_of(f)
        return _TWO * shear * (f - rotation) + pressure * rotation
    if law == STABLE_NEO_HOOKEAN:
        factor = _ONE - _ONE / (wp.ddot(f, f) + _ONE)
        return shear * factor * f + (pressure - _THREE_QUARTERS * shear) * cofactor(f)
    if law == NEO_HOOKEAN:
        return shear * f + (pressure - shear) * cofactor(f)
    strain = _HALF * (wp.transpose(f) * f - identity3())
    return f * (_TWO * shear * strain + pressure * identity3())


@wp.func
def _least_stretch(f: wp.mat33d) -> wp.float64:
    return _TWO * wp.determinant(f) / wp.max(wp.ddot(f, f), _SMALL)


@wp.func
def _trace_gradient(f0: wp.mat33d, f1: wp.mat33d) -> wp.mat33d:
    """Discrete derivative of tr U."""
    # The smallest stretch is at least 2 det F / |F|².
    if _least_stretch(f0) > _SAFE and _least_stretch(f1) > _SAFE:
        stretch = wp.transpose(rotation_of(f0)) * f0 + wp.transpose(rotation_of(f1)) * f1
        return (f0 + f1) * wp.inverse(stretch)
    _u0, sigma0, v0 = wp.svd3(f0)
    _u1, sigma1, v1 = wp.svd3(f1)
    blend = collapse(wp.min(sigma0[2], sigma1[2]))
    middle = _HALF * (f0 + f1)
    result = wp.mat33d()
    if blend < _ONE:
        stretch = v0 * wp.diag(sigma0) * wp.transpose(v0) + v1 * wp.diag(sigma1) * wp.transpose(v1)
        result = (_ONE - blend) * _TWO * middle * wp.inverse(stretch)
    if blend > _ZERO:
        u, _sigma, v = wp.svd3(middle)
        result = result + blend * (u * wp.transpose(v))
    return result


@wp.func
def _determinant_gradient(f0: wp.mat33d, f1: wp.mat33d) -> wp.mat33d:
    """Discrete derivative of det F."""
    j0 = wp.determinant(f0)
    j1 = wp.determinant(f1)
    blend = collapse(wp.min(j0, j1))
    middle = _HALF * (f0 + f1)
    result = wp.mat33d()
    if blend < _ONE:
        c0 = wp.transpose(f0) * f0
        c1 = wp.transpose(f1) * f1
        x = (cofactor(c0) + _FOUR * cofactor(_HALF * (c0 + c1)) + cofactor(c1)) / _SIX
        result = ((_ONE - blend) * _TWO / (j0 + j1)) * (middle * x)
    if blend > _ZERO:
        result = result + blend * cofactor(middle)
    return result


@wp.func
def _log_ratio(first: wp.float64, second: wp.float64) -> wp.float64:
    """(log second − log first) / (second − first)."""
    x = (second - first) / first
    if wp.abs(x) < _SMALL:
        return (_ONE - x * (_HALF - x * (_ONE / _THREE - x * wp.float64(0.25)))) / first
    return wp.log(second / first) / (second - first)


@wp.func
def stress_conserving(
    f0: wp.mat33d, f1: wp.mat33d, law: int, shear: wp.float64, pressure: wp.float64
) -> wp.mat33d:
    """P* of the two gradients; `pressure` is λ times the mean dilatation of the two."""
    middle = _HALF * (f0 + f1)
    if law == COROTATIONAL:
        gradient = _trace_gradient(f0, f1)
        return _TWO * shear * (middle - gradient) + pressure * gradient
    if law == STABLE_NEO_HOOKEAN:
        factor = _ONE - _log_ratio(wp.ddot(f0, f0) + _ONE, wp.ddot(f1, f1) + _ONE)
        return shear * factor * middle + (pressure - _THREE_QUARTERS * shear) * _determinant_gradient(f0, f1)
    if law == NEO_HOOKEAN:
        return shear * middle + (pressure - shear) * _determinant_gradient(f0, f1)
    mean = _HALF * (wp.transpose(f0) * f0 + wp.transpose(f1) * f1)
    return middle * (shear * (mean - identity3()) + pressure * identity3())


@wp.func
def stress_viscous(
    f0: wp.mat33d, f1: wp.mat33d, shear: wp.float64, bulk: wp.float64, rate: wp.float64
) -> wp.mat33d:
    """Kelvin–Voigt stress; `rate` is the damping time over the time step. Its work F̄ S : (F1 − F0) is never negative."""
    change = _HALF * (wp.transpose(f1) * f1 - wp.transpose(f0) * f0)
    stress = rate * (_TWO * shear * change + bulk * wp.trace(change) * identity3())
    return _HALF * (f0 + f1) * stress


@wp.func
def energy_density(f: wp.mat33d, law: int, shear: wp.float64, bulk: wp.float64) -> wp.float64:
    """ψ [J/m³], 0 at rest, with the dilatation of the element itself."""
    s = dilatation(f, law)
    volumetric = _HALF * bulk * s * s
    square = wp.ddot(f, f)
    if law == COROTATIONAL:
        return shear * (square - _TWO * s - _THREE) + volumetric
    if law == STABLE_NEO_HOOKEAN:
        deviatoric = _HALF * shear * (square - _THREE - wp.log((square + _ONE) / _FOUR))
        return deviatoric - _THREE_QUARTERS * shear * s + volumetric
    if law == NEO_HOOKEAN:
        return shear * (_HALF * (square - _THREE) - s) + volumetric
    strain = _HALF * (wp.transpose(f) * f - identity3())
    return shear * wp.ddot(strain, strain) + volumetric
