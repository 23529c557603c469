"""Inertia tensors in float64; leading dimensions broadcast.

An inertia is the 3×3 tensor about the centre of mass, products of inertia as tensor components
(``I_xy = -∫ x y dm``).
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from .errors import InertiaError
from .quaternion import quaternion_from_matrix, quaternion_to_matrix
from .spatial_vector import skew

__all__ = [
    "inertia_from_principal",
    "inertia_is_physical",
    "inertia_rotate",
    "inertia_translate",
    "principal_axes",
    "spatial_inertia",
]

Array = npt.NDArray[np.float64]


def _axis_relabelings() -> Array:
    """The 24 proper rotations that map the coordinate axes to themselves, shape [24, 3, 3]."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[list(order), range(3)] = signs
            if np.linalg.det(matrix) > 0.0:
                found.append(matrix)
    return np.stack(found)


_RELABELINGS = _axis_relabelings()


def inertia_rotate(inertia: npt.ArrayLike, q: npt.ArrayLike) -> Array:
    """Inertia in other axes, ``R I Rᵀ``.

    Args:
        inertia: Inertias in the axes of B [mass length²], shape [..., 3, 3].
        q: Rotations of B in A, shape [..., 4].

    Returns:
        Inertias in the axes of A, broadcast shape [..., 3, 3].
    """
    r = quaternion_to_matrix(q)
    result: Array = r @ np.asarray(inertia, dtype=np.float64) @ np.swapaxes(r, -1, -2)
    return result


def inertia_translate(inertia: npt.ArrayLike, mass: npt.ArrayLike, offset: npt.ArrayLike) -> Array:
    """Inertia about another point than the centre of mass, same axes (parallel axis theorem).

    Args:
        inertia: Inertias about the centre of mass [mass length²], shape [..., 3, 3].
        mass: Masses, shape [...].
        offset: Vector between centre of mass and point [length], either sign, shape [..., 3].

    Returns:
        ``I + m (|d|² E - d dᵀ)``, broadcast shape [..., 3, 3].
    """
    d = np.asarray(offset, dtype=np.float64)
    m = np.asarray(mass, dtype=np.float64)[..., None, None]
    square = np.sum(d * d, axis=-1)[..., None, None]
    shift: Array = m * (square * np.eye(3) - d[..., :, None] * d[..., None, :])
    return np.asarray(inertia, dtype=np.float64) + shift


def inertia_from_principal(q: npt.ArrayLike, diagonal: npt.ArrayLike) -> Array:
    """Inertia tensors of principal axes and moments, ``R diag(d) Rᵀ``.

    Args:
        q: Rotations of the principal frame, shape [..., 4].
        diagonal: Principal moments [mass length²], shape [..., 3].

    Returns:
        Exactly symmetric tensors, broadcast shape [..., 3, 3].
    """
    r = quaternion_to_matrix(q)
    d = np.asarray(diagonal, dtype=np.float64)
    full = (r * d[..., None, :]) @ np.swapaxes(r, -1, -2)
    return 0.5 * (full + np.swapaxes(full, -1, -2))


def principal_axes(inertia: npt.ArrayLike) -> tuple[Array, Array]:
    """Principal frame and moments of inertia tensors.

    Among the 24 labelings of the same axes the proper rotation nearest to the identity is taken, so
    that a diagonal tensor keeps its axes and their order.

    Args:
        inertia: Symmetric tensors [mass length²], shape [..., 3, 3].

    Returns:
        Unit quaternions, shape [..., 4], and moments in the same order of axes, shape [..., 3], with
        ``inertia = R diag(d) Rᵀ``.

    Raises:
        InertiaError: An entry is not finite, or a tensor is not symmetric to 1e-6 of its size.
    """
    m = np.asarray(inertia, dtype=np.float64)
    if not np.all(np.isfinite(m)):
        raise InertiaError(f"inertia has entries that are not finite: {m.tolist()}")
    size = np.max(np.abs(m), axis=(-2, -1), keepdims=True)
    if np.any(np.abs(m - np.swapaxes(m, -1, -2)) > 1e-6 * size):
        raise InertiaError(f"inertia is not symmetric: {m.tolist()}")
    m = 0.5 * (m + np.swapaxes(m, -1, -2))
    moments, axes = np.linalg.eigh(m)
    axes = axes * np.where(np.linalg.det(axes) < 0.0, -1.0, 1.0)[..., None, None]
    traces = np.einsum("...ij,kji->...k", axes, _RELABELINGS)
    chosen = _RELABELINGS[np.argmax(traces, axis=-1)]
    axes = axes @ chosen
    moments = np.einsum("...i,...ij->...j", moments, np.abs(chosen))
    # Rounding noise of an (almost) diagonal tensor must not turn its axes.
    diagonal = np.diagonal(m, axis1=-2, axis2=-1)
    off = np.max(np.abs(m * (1.0 - np.eye(3))), axis=(-2, -1))
    keep = (off <= 1e-13 * size[..., 0, 0])[..., None]
    identity = np.array([0.0, 0.0, 0.0, 1.0])
    return np.where(keep, identity, quaternion_from_matrix(axes)), np.where(keep, diagonal, moments)


def inertia_is_physical(inertia: npt.ArrayLike, *, rtol: float = 1e-6) -> npt.NDArray[np.bool_]:
    """Whether some rigid body has these inertias.

    Args:
        inertia: Tensors about the centre of mass, shape [..., 3, 3].
        rtol: Tolerance of symmetry and of the triangle inequality, relative to the largest moment.

    Returns:
        Shape [...]: finite, symmetric, no moment negative, not all zero, and no moment above the sum
        of the two others.
    """
    m = np.asarray(inertia, dtype=np.float64)
    finite = np.all(np.isfinite(m), axis=(-2, -1))
    m = np.where(finite[..., None, None], m, np.eye(3))
    size = np.max(np.abs(m), axis=(-2, -1))
    tolerance = rtol * size
    symmetric = np.all(np.abs(m - np.swapaxes(m, -1, -2)) <= tolerance[..., None, None], axis=(-2, -1))
    moments = np.linalg.eigvalsh(0.5 * (m + np.swapaxes(m, -1, -2)))
    triangle = moments[..., 0] + moments[..., 1] >= moments[..., 2] - tolerance
    result = finite & symmetric & triangle & (moments[..., 0] >= -tolerance) & (size > 0.0)
    return np.asarray(result, dtype=np.bool_)


def spatial_inertia(mass: npt.ArrayLike, com: npt.ArrayLike, inertia: npt.ArrayLike) -> Array:
    """Spatial inertia about the origin for ``[angular, linear]`` motions [Featherstone 2008, eq. 2.63].

    Args:
        mass: Masses, shape [...].
        com: Centres of mass [length], shape [..., 3].
        inertia: Inertias about the centres of mass, shape [..., 3, 3].

    Returns:
        Symmetric matrices, shape [..., 6, 6].
    """
    m = np.asarray(mass, dtype=np.float64)[..., None, None]
    upper_left = inertia_translate(inertia, mass, com)
    coupling = np.broadcast_to(m * skew(com), upper_left.shape)
    result = np.zeros((*upper_left.shape[:-2], 6, 6))
    result[..., :3, :3] = upper_left
    result[..., :3, 3:] = coupling
    result[..., 3:, :3] = np.swapaxes(coupling, -1, -2)
    result[..., 3:, 3:] = m * np.eye(3)
    return result
