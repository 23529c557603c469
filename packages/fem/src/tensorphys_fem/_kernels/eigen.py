"""Eigenvectors of symmetric 3×3 matrices in float32, to rounding and in few instructions."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Off-diagonal part, squared, that is rounding of a matrix of norm one.
_ROUNDING = wp.constant(1e-15)


@wp.func
def _rotation(first: float, second: float, between: float) -> wp.vec2:
    """Tangent and cosine of the turn that takes the entry between two axes away [Golub & Van Loan, section 8.5]."""
    if between == 0.0:
        return wp.vec2(0.0, 1.0)
    theta = (second - first) / (2.0 * between)
    t = 1.0 / (wp.abs(theta) + wp.sqrt(1.0 + theta * theta))
    if theta < 0.0:
        t = -t
    return wp.vec2(t, 1.0 / wp.sqrt(1.0 + t * t))


@wp.func
def symmetric_eigen(m: wp.mat33):
    """Eigenvectors as columns, and eigenvalues in no order, by Jacobi's rotations.

    `wp.eig3` errs by 1e-4 of the largest value in float32.
    """
    a, b, c = float(m[0, 0]), float(m[1, 1]), float(m[2, 2])
    ab = 0.5 * (m[0, 1] + m[1, 0])
    ac = 0.5 * (m[0, 2] + m[2, 0])
    bc = 0.5 * (m[1, 2] + m[2, 1])
    u = wp.vec3(1.0, 0.0, 0.0)
    v = wp.vec3(0.0, 1.0, 0.0)
    w = wp.vec3(0.0, 0.0, 1.0)
    sweeps = int(0)
    while sweeps < 8 and ab * ab + ac * ac + bc * bc > _ROUNDING * (a * a + b * b + c * c):
        g = _rotation(a, b, ab)
        t, k, s = g[0], g[1], g[0] * g[1]
        a -= t * ab
        b += t * ab
        x, y = k * ac - s * bc, s * ac + k * bc
        ac, bc, ab = x, y, 0.0 * ab
        d, e = k * u - s * v, s * u + k * v
        u, v = d, e
        g = _rotation(a, c, ac)
        t, k, s = g[0], g[1], g[0] * g[1]
        a -= t * ac
        c += t * ac
        x, y = k * ab - s * bc, s * ab + k * bc
        ab, bc, ac = x, y, 0.0 * ac
        d, e = k * u - s * w, s * u + k * w
        u, w = d, e
        g = _rotation(b, c, bc)
        t, k, s = g[0], g[1], g[0] * g[1]
        b -= t * bc
        c += t * bc
        x, y = k * ab - s * ac, s * ab + k * ac
        ab, ac, bc = x, y, 0.0 * bc
        d, e = k * v - s * w, s * v + k * w
        v, w = d, e
        sweeps += 1
    return wp.matrix_from_cols(u, v, w), wp.vec3(a, b, c)
