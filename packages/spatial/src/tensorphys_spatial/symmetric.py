"""Symmetric matrices, packed and not, and bases of a normal, in float64; leading dimensions broadcast.

The packed form of a symmetric 6×6 matrix is its lower triangle, row by row: entry (i, j), j <= i, at
``i (i + 1) / 2 + j``, 21 numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "orthonormal_basis",
    "symmetric_inverse",
    "symmetric_pack",
    "symmetric_solve",
    "symmetric_unpack",
]

Array = npt.NDArray[np.float64]


def symmetric_inverse(matrix: npt.ArrayLike) -> Array:
    """Inverses of symmetric matrices, exactly symmetric; shape [..., n, n]."""
    inverse = np.linalg.inv(np.asarray(matrix, dtype=np.float64))
    return 0.5 * (inverse + np.swapaxes(inverse, -1, -2))


def symmetric_solve(matrix: npt.ArrayLike, right: npt.ArrayLike) -> Array:
    """Solutions of ``matrix x = right``; shapes [..., n, n] and [..., n]."""
    right = np.asarray(right, dtype=np.float64)
    return np.linalg.solve(np.asarray(matrix, dtype=np.float64), right[..., None])[..., 0]


def symmetric_pack(matrix: npt.ArrayLike) -> Array:
    """Lower triangles, row by row; shape [..., n, n] to [..., n (n + 1) / 2]."""
    m = np.asarray(matrix, dtype=np.float64)
    rows, columns = np.tril_indices(m.shape[-1])
    return m[..., rows, columns]


def symmetric_unpack(packed: npt.ArrayLike) -> Array:
    """Symmetric matrices of lower triangles; shape [..., n (n + 1) / 2] to [..., n, n].

    Raises:
        ValueError: The last dimension is no triangular number.
    """
    p = np.asarray(packed, dtype=np.float64)
    n = (int(np.sqrt(8 * p.shape[-1] + 1)) - 1) // 2
    if n * (n + 1) // 2 != p.shape[-1]:
        raise ValueError(f"expected n (n + 1) / 2 numbers of a packed triangle, given {p.shape[-1]}")
    rows, columns = np.tril_indices(n)
    matrix = np.zeros((*p.shape[:-1], n, n))
    matrix[..., rows, columns] = p
    matrix[..., columns, rows] = p
    return matrix


def orthonormal_basis(normal: npt.ArrayLike) -> tuple[Array, Array]:
    """Two tangents that make a right-handed basis with a unit normal, ``t1 × t2 = n``.

    Args:
        normal: Unit normals, shape [..., 3].

    Returns:
        ``t1`` and ``t2``, each of shape [..., 3]. Source: [Duff et al. 2017], accurate at every normal.
    """
    n = np.asarray(normal, dtype=np.float64)
    x, y, z = np.moveaxis(n, -1, 0)
    sign = np.where(z < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=-1)
    second = np.stack([b, sign + y * y * a, -y], axis=-1)
    return first, second
