"""Membranes and hinges of shells in float64."""

import warp as wp

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_ONE = wp.constant(wp.float64(1.0))
_TWO = wp.constant(wp.float64(2.0))
_TINY = wp.constant(wp.float64(1e-12))
_PI = wp.constant(wp.float64(3.141592653589793))


@wp.func
def plane_stress_lambda(shear: wp.float64, bulk: wp.float64) -> wp.float64:
    """λ of a membrane without stress across it."""
    return _TWO * shear * bulk / (bulk + _TWO * shear)


@wp.func
def _stretch(f: wp.mat33d) -> wp.mat22d:
    """U = √(Fᵀ F) of the first two columns."""
    a = wp.vec3d(f[0, 0], f[1, 0], f[2, 0])
    b = wp.vec3d(f[0, 1], f[1, 1], f[2, 1])
    aa = wp.dot(a, a)
    ab = wp.dot(a, b)
    bb = wp.dot(b, b)
    root = wp.length(wp.cross(a, b))
    trace = wp.sqrt(wp.max(aa + bb + _TWO * root, _TINY))
    return wp.mat22d((aa + root) / trace, ab / trace, ab / trace, (bb + root) / trace)


@wp.func
def _times(f: wp.mat33d, m: wp.mat22d) -> wp.mat33d:
    a = wp.vec3d(f[0, 0], f[1, 0], f[2, 0])
    b = wp.vec3d(f[0, 1], f[1, 1], f[2, 1])
    return wp.matrix_from_cols(a * m[0, 0] + b * m[1, 0], a * m[0, 1] + b * m[1, 1], wp.vec3d())


@wp.func
def _safe_inverse(m: wp.mat22d) -> wp.mat22d:
    scale = m[0, 0] + m[1, 1]
    det = wp.max(m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0], wp.float64(1e-3) * scale * scale + _TINY)
    return wp.mat22d(m[1, 1] / det, -m[0, 1] / det, -m[1, 0] / det, m[0, 0] / det)


@wp.func
def membrane_stress(
    f0: wp.mat33d, f1: wp.mat33d, conserving: bool, shear: wp.float64, bulk: wp.float64
) -> wp.mat33d:
    """Co-rotational stress of a membrane; the third columns are zero, `bulk` is the one of plane stress."""
    u1 = _stretch(f1)
    if conserving:
        u0 = _stretch(f0)
        middle = _HALF * (f0 + f1)
        gradient = _TWO * _times(middle, _safe_inverse(u0 + u1))
        return (
            _TWO * shear * (middle - gradient)
            + bulk * (_HALF * (wp.trace(u0) + wp.trace(u1)) - _TWO) * gradient
        )
    rotation = _times(f1, _safe_inverse(u1))
    return _TWO * shear * (f1 - rotation) + bulk * (wp.trace(u1) - _TWO) * rotation


@wp.func
def membrane_energy(f: wp.mat33d, shear: wp.float64, bulk: wp.float64) -> wp.float64:
    u = _stretch(f)
    trace = wp.trace(u)
    square = wp.ddot(f, f)
    return shear * (square - _TWO * trace + _TWO) + _HALF * bulk * (trace - _TWO) * (trace - _TWO)


@wp.func
def hinge_angle(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, d: wp.vec3d) -> wp.float64:
    """Dihedral angle [rad], 0 flat; edge a b, opposite nodes c and d."""
    axis = b - a
    first = wp.cross(axis, c - a)
    second = wp.cross(d - a, axis)
    sine = wp.dot(wp.cross(first, second), axis) / wp.max(wp.length(axis), _TINY)
    cosine = wp.dot(first, second)
    if wp.abs(sine) + wp.abs(cosine) == _ZERO:
        return _ZERO
    return wp.atan2(sine, cosine)


@wp.func
def wrap_angle(angle: wp.float64) -> wp.float64:
    """The same angle in [−π, π]."""
    return angle - _TWO * _PI * wp.round(angle / (_TWO * _PI))


@wp.func
def hinge_gradient(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, d: wp.vec3d):
    """Derivatives of the angle by the four nodes [rad/m]; they balance in force and moment [Tamstorf 2013]."""
    axis = b - a
    square = wp.max(wp.dot(axis, axis), _TINY * _TINY)
    length = wp.sqrt(square)
    first = wp.cross(axis, c - a)
    second = wp.cross(d - a, axis)
    # A triangle that has collapsed to a line turns its hinge by nothing finite: bounded by its edge.
    floor = wp.float64(1e-8) * square * square
    by_c = first * (-length / wp.max(wp.dot(first, first), floor))
    by_d = second * (-length / wp.max(wp.dot(second, second), floor))
    along_c = wp.dot(c - a, axis) / square
    along_d = wp.dot(d - a, axis) / square
    by_a = by_c * (along_c - _ONE) + by_d * (along_d - _ONE)
    by_b = -by_c * along_c - by_d * along_d
    return by_a, by_b, by_c, by_d
