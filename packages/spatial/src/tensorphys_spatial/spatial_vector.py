"""Spatial vectors ``[angular, linear]`` in float64 [Featherstone 2008, §2]; leading dimensions broadcast.

A motion is ``[angular velocity, linear velocity of the point at the origin]``; a force is
``[moment about the origin, force]``. Their scalar product is power.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .quaternion import quaternion_rotate, quaternion_rotate_inverse

__all__ = [
    "force_cross",
    "force_shift",
    "force_transform",
    "motion_cross",
    "motion_shift",
    "motion_transform",
    "motion_transform_inverse",
    "skew",
]

Array = npt.NDArray[np.float64]


def _halves(x: npt.ArrayLike) -> tuple[Array, Array]:
    x = np.asarray(x, dtype=np.float64)
    return x[..., :3], x[..., 3:]


def _join(angular: Array, linear: Array) -> Array:
    angular, linear = np.broadcast_arrays(angular, linear)
    return np.concatenate([angular, linear], axis=-1)


def skew(v: npt.ArrayLike) -> Array:
    """Matrices of the cross product, ``skew(v) u = v × u``; shape [..., 3] to [..., 3, 3]."""
    x, y, z = np.moveaxis(np.asarray(v, dtype=np.float64), -1, 0)
    o = np.zeros_like(x)
    rows = [[o, -z, y], [z, o, -x], [-y, x, o]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def motion_cross(v: npt.ArrayLike, m: npt.ArrayLike) -> Array:
    """Cross product of motions, ``v × m`` [Featherstone 2008, eq. 2.31].

    Args:
        v: Motion of the frame, shape [..., 6].
        m: Motion vector fixed in the frame, shape [..., 6].

    Returns:
        Rate of change of ``m``, shape [..., 6].
    """
    (w, u), (a, t) = _halves(v), _halves(m)
    return _join(np.cross(w, a), np.cross(w, t) + np.cross(u, a))


def force_cross(v: npt.ArrayLike, f: npt.ArrayLike) -> Array:
    """Cross product of a motion with a force, ``v ×* f`` [Featherstone 2008, eq. 2.32]; [..., 6]."""
    (w, u), (n, t) = _halves(v), _halves(f)
    return _join(np.cross(w, n) + np.cross(u, t), np.cross(w, t))


def motion_shift(v: npt.ArrayLike, offset: npt.ArrayLike) -> Array:
    """Motion with its linear part taken at another point, axes unchanged.

    Args:
        v: Motions, shape [..., 6].
        offset: New point minus old point, shape [..., 3].

    Returns:
        ``[w, t + w × offset]`` for ``[w, t]``, shape [..., 6].
    """
    w, t = _halves(v)
    return _join(w, t + np.cross(w, np.asarray(offset, dtype=np.float64)))


def force_shift(f: npt.ArrayLike, offset: npt.ArrayLike) -> Array:
    """Force with its moment taken about another point, axes unchanged.

    Args:
        f: Forces, shape [..., 6].
        offset: New point minus old point, shape [..., 3].

    Returns:
        ``[n - offset × t, t]`` for ``[n, t]``, shape [..., 6].
    """
    n, t = _halves(f)
    return _join(n - np.cross(np.asarray(offset, dtype=np.float64), t), t)


def motion_transform(pose: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Motion of frame B in frame A: components turned, linear part taken at the origin of A.

    Args:
        pose: Poses of B in A, shape [..., 7].
        v: Motions in B, shape [..., 6].

    Returns:
        The same motions in A, shape [..., 6].
    """
    pose = np.asarray(pose, dtype=np.float64)
    w, t = _halves(v)
    turned = _join(quaternion_rotate(pose[..., 3:], w), quaternion_rotate(pose[..., 3:], t))
    return motion_shift(turned, -pose[..., :3])


def motion_transform_inverse(pose: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Motion of frame A in frame B; shapes as in :func:`motion_transform`."""
    pose = np.asarray(pose, dtype=np.float64)
    w, t = _halves(motion_shift(v, pose[..., :3]))
    return _join(quaternion_rotate_inverse(pose[..., 3:], w), quaternion_rotate_inverse(pose[..., 3:], t))


def force_transform(pose: npt.ArrayLike, f: npt.ArrayLike) -> Array:
    """Force of frame B in frame A: components turned, moment taken about the origin of A.

    Args:
        pose: Poses of B in A, shape [..., 7].
        f: Forces in B, shape [..., 6].

    Returns:
        The same forces in A, shape [..., 6].
    """
    pose = np.asarray(pose, dtype=np.float64)
    n, t = _halves(f)
    turned = _join(quaternion_rotate(pose[..., 3:], n), quaternion_rotate(pose[..., 3:], t))
    return force_shift(turned, -pose[..., :3])
