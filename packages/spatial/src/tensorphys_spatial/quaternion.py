"""Unit quaternions ``[x, y, z, w]`` in float64; leading dimensions broadcast.

A quaternion ``q`` of a frame B in a frame A turns components in B into components in A:
``v_A = quaternion_rotate(q, v_B)``. Products compose from the right: ``q_AC = q_AB q_BC``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "quaternion_between_vectors",
    "quaternion_conjugate",
    "quaternion_difference",
    "quaternion_exponential",
    "quaternion_from_axis_angle",
    "quaternion_from_matrix",
    "quaternion_identity",
    "quaternion_integrate",
    "quaternion_integrate_body",
    "quaternion_log",
    "quaternion_multiply",
    "quaternion_normalize",
    "quaternion_relative",
    "quaternion_rotate",
    "quaternion_rotate_inverse",
    "quaternion_to_matrix",
]

Array = npt.NDArray[np.float64]


def quaternion_identity(shape: tuple[int, ...] = ()) -> Array:
    """Identity quaternions, shape ``shape + (4,)``."""
    result = np.zeros((*shape, 4))
    result[..., 3] = 1.0
    return result


def quaternion_normalize(q: npt.ArrayLike) -> Array:
    """Quaternions scaled to length 1.

    Args:
        q: Quaternions, shape [..., 4]; a zero quaternion becomes the identity.

    Returns:
        Unit quaternions, shape [..., 4].
    """
    q = np.asarray(q, dtype=np.float64)
    # Scaled first: squares of tiny or huge components leave the range of float64.
    largest = np.max(np.abs(q), axis=-1, keepdims=True)
    usable = (largest > 0.0) & np.isfinite(largest)
    scaled = q / np.where(usable, largest, 1.0)
    norm = np.linalg.norm(scaled, axis=-1, keepdims=True)
    unit = scaled / np.where(norm > 0.0, norm, 1.0)
    return np.where(largest > 0.0, unit, quaternion_identity())


def quaternion_multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Hamilton product ``a b``: rotate by ``b``, then by ``a``.

    Args:
        a: Quaternions, shape [..., 4].
        b: Quaternions, shape [..., 4].

    Returns:
        Products, broadcast shape [..., 4].
    """
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    va, wa = a[..., :3], a[..., 3:]
    vb, wb = b[..., :3], b[..., 3:]
    vector = wa * vb + wb * va + np.cross(va, vb)
    scalar = wa * wb - np.sum(va * vb, axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def quaternion_conjugate(q: npt.ArrayLike) -> Array:
    """Conjugates; for unit quaternions the inverse rotation. Shape [..., 4]."""
    result: Array = np.asarray(q, dtype=np.float64) * np.array([-1.0, -1.0, -1.0, 1.0])
    return result


def quaternion_rotate(q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Vectors turned by unit quaternions, ``R(q) v``.

    Args:
        q: Unit quaternions, shape [..., 4].
        v: Vectors, shape [..., 3].

    Returns:
        Turned vectors, broadcast shape [..., 3].
    """
    q = np.asarray(q, dtype=np.float64)
    v = np.asarray(v, dtype=np.float64)
    axis, w = q[..., :3], q[..., 3:]
    twice = 2.0 * np.cross(axis, v)
    return v + w * twice + np.cross(axis, twice)


def quaternion_rotate_inverse(q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Vectors turned back, ``R(q)ᵀ v``; shapes as in :func:`quaternion_rotate`."""
    return quaternion_rotate(quaternion_conjugate(q), v)


def quaternion_relative(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Rotation of frame B as seen in frame A, ``a⁻¹ b``, of unit quaternions; shape [..., 4]."""
    return quaternion_multiply(quaternion_conjugate(a), b)


def quaternion_exponential(rotation_vector: npt.ArrayLike) -> Array:
    """Quaternions of rotation vectors (axis times angle).

    Args:
        rotation_vector: Rotation vectors [rad], shape [..., 3], any length.

    Returns:
        Unit quaternions, shape [..., 4]. Source: [Grassia 1998].
    """
    r = np.asarray(rotation_vector, dtype=np.float64)
    half = 0.5 * np.linalg.norm(r, axis=-1, keepdims=True)
    # numpy's sinc is sin(pi x)/(pi x), exact at zero.
    return np.concatenate([0.5 * np.sinc(half / np.pi) * r, np.cos(half)], axis=-1)


def quaternion_log(q: npt.ArrayLike) -> Array:
    """Rotation vectors of unit quaternions, of the shorter way round (angle at most pi).

    Args:
        q: Unit quaternions, shape [..., 4].

    Returns:
        Rotation vectors [rad], shape [..., 3].
    """
    q = np.asarray(q, dtype=np.float64)
    q = np.where(q[..., 3:] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., 3:])
    small = sine < 1e-150
    return np.where(small, 2.0, angle / np.where(small, 1.0, sine)) * q[..., :3]


def quaternion_difference(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Rotation vector that leads from ``a`` to ``b``, in the outer axes: ``b = exp(r) a``.

    Args:
        a: Unit quaternions, shape [..., 4].
        b: Unit quaternions, shape [..., 4].

    Returns:
        Rotation vectors [rad], shape [..., 3], length at most pi.
    """
    return quaternion_log(quaternion_multiply(b, quaternion_conjugate(a)))


def quaternion_integrate(q: npt.ArrayLike, rotation_vector: npt.ArrayLike) -> Array:
    """Orientation after a turn given in the outer (world) axes, ``exp(r) q``, normalised.

    Args:
        q: Unit quaternions, shape [..., 4].
        rotation_vector: Angular velocity times duration [rad], world axes, shape [..., 3].

    Returns:
        Unit quaternions, shape [..., 4]; exact for constant angular velocity.
    """
    return quaternion_normalize(quaternion_multiply(quaternion_exponential(rotation_vector), q))


def quaternion_integrate_body(q: npt.ArrayLike, rotation_vector: npt.ArrayLike) -> Array:
    """Orientation after a turn given in the body's axes, ``q exp(r)``; else as the world form."""
    return quaternion_normalize(quaternion_multiply(q, quaternion_exponential(rotation_vector)))


def quaternion_from_axis_angle(axis: npt.ArrayLike, angle: npt.ArrayLike) -> Array:
    """Quaternions of turns about unit axes.

    Args:
        axis: Unit axes, shape [..., 3].
        angle: Angles [rad], shape [...].

    Returns:
        Unit quaternions, shape [..., 4].
    """
    half = 0.5 * np.asarray(angle, dtype=np.float64)[..., None]
    axis = np.asarray(axis, dtype=np.float64)
    vector = np.sin(half) * axis
    return np.concatenate([vector, np.broadcast_to(np.cos(half), (*vector.shape[:-1], 1))], axis=-1)


def quaternion_between_vectors(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Shortest turn that takes the direction of ``a`` to the direction of ``b``.

    Args:
        a: Vectors, shape [..., 3], any length above zero.
        b: Vectors, shape [..., 3], any length above zero.

    Returns:
        Unit quaternions, shape [..., 4]; for opposite vectors a half turn about some normal axis.
    """
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    a, b = np.broadcast_arrays(a, b)
    total = a + b
    length = np.linalg.norm(total, axis=-1, keepdims=True)
    opposite = length < 1e-7
    middle = total / np.where(opposite, 1.0, length)
    vector = np.cross(a, middle)
    scalar = np.sum(a * middle, axis=-1, keepdims=True)
    general = quaternion_normalize(np.concatenate([vector, scalar], axis=-1))
    # Half turn about the coordinate axis that is most across `a`, made orthogonal to it.
    helper = np.eye(3)[np.argmin(np.abs(a), axis=-1)]
    normal = np.cross(a, helper)
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    turned = np.concatenate([normal, np.zeros_like(scalar)], axis=-1)
    return np.where(opposite, turned, general)


def quaternion_to_matrix(q: npt.ArrayLike) -> Array:
    """Rotation matrices of unit quaternions: column ``k`` is the image of axis ``k``.

    Args:
        q: Unit quaternions, shape [..., 4].

    Returns:
        Proper rotation matrices, shape [..., 3, 3].
    """
    q = np.asarray(q, dtype=np.float64)
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(matrix: npt.ArrayLike) -> Array:
    """Unit quaternions of rotation matrices, with ``w >= 0``.

    Args:
        matrix: Proper rotation matrices, shape [..., 3, 3].

    Returns:
        Unit quaternions, shape [..., 4]. The largest of the four components is found first, so that
        no division is by a small number. Source: [Shepperd 1978].
    """
    m = np.asarray(matrix, dtype=np.float64)
    diagonal = np.diagonal(m, axis1=-2, axis2=-1)
    trace = diagonal.sum(axis=-1)
    # Rows of 4 q qᵀ, one for each component q_k; the row of the largest is used.
    skew = np.stack(
        [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], axis=-1
    )
    outer = np.empty((*m.shape[:-2], 4, 4))
    outer[..., :3, :3] = m + np.swapaxes(m, -1, -2)
    for k in range(3):
        outer[..., k, k] = 1.0 + 2.0 * diagonal[..., k] - trace
    outer[..., :3, 3] = skew
    outer[..., 3, :3] = skew
    outer[..., 3, 3] = 1.0 + trace
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    q = quaternion_normalize(row)
    return np.where(q[..., 3:] < 0.0, -q, q)
