"""Poses ``[x, y, z, qx, qy, qz, qw]`` in float64; leading dimensions broadcast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .quaternion import (
    quaternion_conjugate,
    quaternion_from_matrix,
    quaternion_multiply,
    quaternion_rotate,
    quaternion_rotate_inverse,
    quaternion_to_matrix,
)

__all__ = [
    "transform",
    "transform_from_matrix",
    "transform_identity",
    "transform_inverse",
    "transform_multiply",
    "transform_point",
    "transform_point_inverse",
    "transform_relative",
    "transform_to_matrix",
    "transform_vector",
]

Array = npt.NDArray[np.float64]


def transform(position: npt.ArrayLike, rotation: npt.ArrayLike | None = None) -> Array:
    """Poses from positions and unit quaternions.

    Args:
        position: Positions, shape [..., 3].
        rotation: Unit quaternions, shape [..., 4]; default identity.

    Returns:
        Poses, broadcast shape [..., 7].
    """
    p = np.asarray(position, dtype=np.float64)
    q = np.asarray([0.0, 0.0, 0.0, 1.0] if rotation is None else rotation, dtype=np.float64)
    shape = np.broadcast_shapes(p.shape[:-1], q.shape[:-1])
    return np.concatenate([np.broadcast_to(p, (*shape, 3)), np.broadcast_to(q, (*shape, 4))], axis=-1)


def transform_identity(shape: tuple[int, ...] = ()) -> Array:
    """Identity poses, shape ``shape + (7,)``."""
    result = np.zeros((*shape, 7))
    result[..., 6] = 1.0
    return result


def transform_multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Pose of C in A from the pose ``a`` of B in A and the pose ``b`` of C in B; shape [..., 7]."""
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    position = a[..., :3] + quaternion_rotate(a[..., 3:], b[..., :3])
    return transform(position, quaternion_multiply(a[..., 3:], b[..., 3:]))


def transform_inverse(a: npt.ArrayLike) -> Array:
    """Pose of A in B from the pose ``a`` of B in A; shape [..., 7]."""
    a = np.asarray(a, dtype=np.float64)
    return transform(-quaternion_rotate_inverse(a[..., 3:], a[..., :3]), quaternion_conjugate(a[..., 3:]))


def transform_relative(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Pose of B in A from the poses of both in one frame, ``a⁻¹ b``; shape [..., 7]."""
    return transform_multiply(transform_inverse(a), b)


def transform_point(a: npt.ArrayLike, point: npt.ArrayLike) -> Array:
    """Points of B in A: rotated and moved.

    Args:
        a: Poses of B in A, shape [..., 7].
        point: Points in B, shape [..., 3].

    Returns:
        The points in A, broadcast shape [..., 3].
    """
    a = np.asarray(a, dtype=np.float64)
    return a[..., :3] + quaternion_rotate(a[..., 3:], point)


def transform_point_inverse(a: npt.ArrayLike, point: npt.ArrayLike) -> Array:
    """Points of A in B; shapes as in :func:`transform_point`."""
    a = np.asarray(a, dtype=np.float64)
    return quaternion_rotate_inverse(a[..., 3:], np.asarray(point, dtype=np.float64) - a[..., :3])


def transform_vector(a: npt.ArrayLike, vector: npt.ArrayLike) -> Array:
    """Directions of B in A: rotated only; shapes as in :func:`transform_point`."""
    return quaternion_rotate(np.asarray(a, dtype=np.float64)[..., 3:], vector)


def transform_to_matrix(a: npt.ArrayLike) -> Array:
    """Homogeneous matrices for column vectors, shape [..., 4, 4]."""
    a = np.asarray(a, dtype=np.float64)
    matrix = np.zeros((*a.shape[:-1], 4, 4))
    matrix[..., :3, :3] = quaternion_to_matrix(a[..., 3:])
    matrix[..., :3, 3] = a[..., :3]
    matrix[..., 3, 3] = 1.0
    return matrix


def transform_from_matrix(matrix: npt.ArrayLike) -> Array:
    """Poses of rigid homogeneous matrices for column vectors, shape [..., 4, 4] to [..., 7]."""
    m = np.asarray(matrix, dtype=np.float64)
    return transform(m[..., :3, 3], quaternion_from_matrix(m[..., :3, :3]))
