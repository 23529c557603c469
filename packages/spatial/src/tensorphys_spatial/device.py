"""Warp functions of this package, float32, for kernels of any package.

Names and meaning follow the NumPy twins in :mod:`tensorphys_spatial`. Quaternions are ``[x, y, z, w]``;
spatial vectors are ``[angular, linear]``; a packed symmetric 6×6 matrix is its lower triangle row by row.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

vec21 = wp.types.vector(length=21, dtype=wp.float32)
"""Lower triangle of a symmetric 6×6 matrix, row by row: (i, j) at ``i (i + 1) / 2 + j``."""


@wp.func
def quaternion_exponential(rotation_vector: wp.vec3) -> wp.quat:
    """Unit quaternion of a rotation vector [rad]; exact for long ones, smooth through zero."""
    half = 0.5 * wp.length(rotation_vector)
    square = half * half
    # sin(half) / (2 half): the series is exact to float32 below the limit, the quotient above it.
    series = 0.5 - square * (0.083333333 - square * (0.0041666667 - square * 0.0000992063))
    quotient = 0.5 * wp.sin(half) / wp.max(half, 1.0e-6)
    scale = wp.where(half < 0.25, series, quotient)
    return wp.quat(
        scale * rotation_vector[0], scale * rotation_vector[1], scale * rotation_vector[2], wp.cos(half)
    )


@wp.func
def quaternion_log(q: wp.quat) -> wp.vec3:
    """Rotation vector [rad] of a unit quaternion, of the shorter way round (length at most pi)."""
    sign = wp.where(q[3] < 0.0, -1.0, 1.0)
    v = wp.vec3(sign * q[0], sign * q[1], sign * q[2])
    w = wp.abs(q[3])
    sine = wp.length(v)
    scale = wp.where(sine > 1.0e-6, 2.0 * wp.atan2(sine, w) / wp.max(sine, 1.0e-6), 2.0)
    return scale * v


@wp.func
def quaternion_difference(a: wp.quat, b: wp.quat) -> wp.vec3:
    """Rotation vector from ``a`` to ``b`` in the outer axes: ``b = exp(r) a``."""
    return quaternion_log(b * wp.quat_inverse(a))


@wp.func
def quaternion_relative(a: wp.quat, b: wp.quat) -> wp.quat:
    """Rotation of frame B seen in frame A, ``a⁻¹ b``, of unit quaternions."""
    return wp.quat_inverse(a) * b


@wp.func
def quaternion_integrate(q: wp.quat, rotation_vector: wp.vec3) -> wp.quat:
    """Orientation after a turn in world axes (angular velocity times duration), normalised."""
    return wp.normalize(quaternion_exponential(rotation_vector) * q)


@wp.func
def quaternion_integrate_body(q: wp.quat, rotation_vector: wp.vec3) -> wp.quat:
    """Orientation after a turn in the body's axes, normalised."""
    return wp.normalize(q * quaternion_exponential(rotation_vector))


@wp.func
def quaternion_between_vectors(a: wp.vec3, b: wp.vec3) -> wp.quat:
    """Shortest turn from the direction of ``a`` to that of ``b``; a half turn for opposite ones."""
    from_ = wp.normalize(a)
    to = wp.normalize(b)
    total = from_ + to
    length = wp.length(total)
    middle = total / wp.max(length, 1.0e-6)
    v = wp.cross(from_, middle)
    general = wp.normalize(wp.quat(v[0], v[1], v[2], wp.dot(from_, middle)))
    normal, _other = orthonormal_basis(from_)
    turned = wp.quat(normal[0], normal[1], normal[2], 0.0)
    return wp.where(length < 1.0e-5, turned, general)


@wp.func
def orthonormal_basis(normal: wp.vec3):
    """Tangents ``t1, t2`` with ``t1 × t2 = normal`` for a unit normal [Duff et al. 2017]."""
    sign = wp.where(normal[2] < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + normal[2])
    b = normal[0] * normal[1] * a
    first = wp.vec3(1.0 + sign * normal[0] * normal[0] * a, sign * b, -sign * normal[0])
    second = wp.vec3(b, sign + normal[1] * normal[1] * a, -normal[1])
    return first, second


@wp.func
def skew(v: wp.vec3) -> wp.mat33:
    """Matrix of the cross product, ``skew(v) u = v × u``."""
    return wp.mat33(0.0, -v[2], v[1], v[2], 0.0, -v[0], -v[1], v[0], 0.0)


@wp.func
def inertia_rotate(inertia: wp.mat33, q: wp.quat) -> wp.mat33:
    """Inertia in other axes, ``R I Rᵀ``."""
    r = wp.quat_to_matrix(q)
    return r * inertia * wp.transpose(r)


@wp.func
def inertia_from_principal(q: wp.quat, diagonal: wp.vec3) -> wp.mat33:
    """Inertia of principal axes and moments, ``R diag(d) Rᵀ``."""
    r = wp.quat_to_matrix(q)
    return r * wp.diag(diagonal) * wp.transpose(r)


@wp.func
def inertia_translate(inertia: wp.mat33, mass: float, offset: wp.vec3) -> wp.mat33:
    """Inertia about a point ``offset`` away from the centre of mass, ``I + m (|d|² E - d dᵀ)``."""
    square = mass * wp.dot(offset, offset)
    return inertia + wp.diag(wp.vec3(square, square, square)) - mass * wp.outer(offset, offset)


@wp.func
def motion_cross(v: wp.spatial_vector, m: wp.spatial_vector) -> wp.spatial_vector:
    """Motion cross product ``v × m`` [Featherstone 2008, eq. 2.31]."""
    w = wp.spatial_top(v)
    a = wp.spatial_top(m)
    linear = wp.cross(w, wp.spatial_bottom(m)) + wp.cross(wp.spatial_bottom(v), a)
    return wp.spatial_vector(wp.cross(w, a), linear)


@wp.func
def force_cross(v: wp.spatial_vector, f: wp.spatial_vector) -> wp.spatial_vector:
    """Cross product of a motion with a force, ``v ×* f`` [Featherstone 2008, eq. 2.32]."""
    w = wp.spatial_top(v)
    force = wp.spatial_bottom(f)
    moment = wp.cross(w, wp.spatial_top(f)) + wp.cross(wp.spatial_bottom(v), force)
    return wp.spatial_vector(moment, wp.cross(w, force))


@wp.func
def motion_shift(v: wp.spatial_vector, offset: wp.vec3) -> wp.spatial_vector:
    """Motion with its linear part at another point: ``offset`` is new point minus old."""
    w = wp.spatial_top(v)
    return wp.spatial_vector(w, wp.spatial_bottom(v) + wp.cross(w, offset))


@wp.func
def force_shift(f: wp.spatial_vector, offset: wp.vec3) -> wp.spatial_vector:
    """Force with its moment about another point: ``offset`` is new point minus old."""
    force = wp.spatial_bottom(f)
    return wp.spatial_vector(wp.spatial_top(f) - wp.cross(offset, force), force)


@wp.func
def motion_transform(pose: wp.transform, v: wp.spatial_vector) -> wp.spatial_vector:
    """Motion of frame B in frame A for the pose of B in A, linear part at the origin of A."""
    q = wp.transform_get_rotation(pose)
    turned = wp.spatial_vector(wp.quat_rotate(q, wp.spatial_top(v)), wp.quat_rotate(q, wp.spatial_bottom(v)))
    return motion_shift(turned, -wp.transform_get_translation(pose))


@wp.func
def motion_transform_inverse(pose: wp.transform, v: wp.spatial_vector) -> wp.spatial_vector:
    """Motion of frame A in frame B for the pose of B in A, linear part at the origin of B."""
    q = wp.transform_get_rotation(pose)
    moved = motion_shift(v, wp.transform_get_translation(pose))
    return wp.spatial_vector(
        wp.quat_rotate_inv(q, wp.spatial_top(moved)), wp.quat_rotate_inv(q, wp.spatial_bottom(moved))
    )


@wp.func
def force_transform(pose: wp.transform, f: wp.spatial_vector) -> wp.spatial_vector:
    """Force of frame B in frame A for the pose of B in A, moment about the origin of A."""
    q = wp.transform_get_rotation(pose)
    turned = wp.spatial_vector(wp.quat_rotate(q, wp.spatial_top(f)), wp.quat_rotate(q, wp.spatial_bottom(f)))
    return force_shift(turned, -wp.transform_get_translation(pose))


@wp.func
def spatial_inertia_multiply(
    mass: float, com: wp.vec3, inertia: wp.mat33, v: wp.spatial_vector
) -> wp.spatial_vector:
    """Momentum ``[about the origin, linear]`` of a body with inertia about its centre of mass."""
    w = wp.spatial_top(v)
    linear = mass * (wp.spatial_bottom(v) + wp.cross(w, com))
    return wp.spatial_vector(inertia * w + wp.cross(com, linear), linear)


@wp.func
def symmetric_inverse(m: wp.mat33) -> wp.mat33:
    """Inverse of a symmetric 3×3 matrix by cofactors; only its lower triangle is read."""
    c00 = m[1, 1] * m[2, 2] - m[2, 1] * m[2, 1]
    c10 = m[2, 1] * m[2, 0] - m[1, 0] * m[2, 2]
    c20 = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
    c11 = m[0, 0] * m[2, 2] - m[2, 0] * m[2, 0]
    c21 = m[1, 0] * m[2, 0] - m[0, 0] * m[2, 1]
    c22 = m[0, 0] * m[1, 1] - m[1, 0] * m[1, 0]
    s = 1.0 / (m[0, 0] * c00 + m[1, 0] * c10 + m[2, 0] * c20)
    return wp.mat33(s * c00, s * c10, s * c20, s * c10, s * c11, s * c21, s * c20, s * c21, s * c22)


@wp.func
def symmetric_solve(m: wp.mat33, right: wp.vec3) -> wp.vec3:
    """Solution of ``m x = right`` for a symmetric positive definite 3×3 matrix, by LDLᵀ.

    Only the lower triangle is read. More accurate than the inverse where moments differ by orders.
    """
    d0 = m[0, 0]
    l10 = m[1, 0] / d0
    l20 = m[2, 0] / d0
    d1 = m[1, 1] - l10 * m[1, 0]
    l21 = (m[2, 1] - l20 * m[1, 0]) / d1
    d2 = m[2, 2] - l20 * m[2, 0] - l21 * l21 * d1
    y1 = right[1] - l10 * right[0]
    y2 = right[2] - l20 * right[0] - l21 * y1
    x2 = y2 / d2
    x1 = y1 / d1 - l21 * x2
    x0 = right[0] / d0 - l10 * x1 - l20 * x2
    return wp.vec3(x0, x1, x2)


@wp.func
def symmetric_factor6(packed: vec21) -> vec21:
    """Factor ``L D Lᵀ`` of a packed symmetric positive definite 6×6 matrix.

    Returns:
        ``D`` on the diagonal and the unit lower ``L`` below it, packed alike.
    """
    factor = vec21()
    for j in range(6):
        jj = j * (j + 1) // 2
        pivot = float(packed[jj + j])
        for k in range(j):
            pivot -= factor[jj + k] * factor[jj + k] * factor[k * (k + 1) // 2 + k]
        factor[jj + j] = pivot
        inverse = 1.0 / pivot
        for i in range(j + 1, 6):
            ii = i * (i + 1) // 2
            entry = float(packed[ii + j])
            for k in range(j):
                entry -= factor[ii + k] * factor[jj + k] * factor[k * (k + 1) // 2 + k]
            factor[ii + j] = entry * inverse
    return factor


@wp.func
def symmetric_solve6(factor: vec21, right: wp.spatial_vector) -> wp.spatial_vector:
    """Solution of a 6×6 system from :func:`symmetric_factor6`."""
    x = wp.spatial_vector()
    for i in range(6):
        entry = float(right[i])
        for k in range(i):
            entry -= factor[i * (i + 1) // 2 + k] * x[k]
        x[i] = entry
    for i in range(6):
        x[i] = x[i] / factor[i * (i + 1) // 2 + i]
    for r in range(6):
        i = 5 - r
        entry = float(x[i])
        for k in range(i + 1, 6):
            entry -= factor[k * (k + 1) // 2 + i] * x[k]
        x[i] = entry
    return x
