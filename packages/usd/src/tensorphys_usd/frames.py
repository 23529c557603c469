"""World transforms of prims as rotation, translation and stretch, in float64.

OpenUSD stores row vectors times matrices; here a matrix acts on columns. A linear part L factors as L = R P with a
proper rotation R and a symmetric stretch P. A mirroring L (negative determinant) gives a P with negative
eigenvalues: sign and rotation belong together, which is also what `UsdPhysics` descriptors hold.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_spatial import quaternion_from_matrix, quaternion_normalize, quaternion_to_matrix

Array = npt.NDArray[np.float64]
# Rotation matrix and translation.
Rigid = tuple[Array, Array]

# Relative size of off-diagonal stretch above which a transform counts as sheared: authored values are often float32.
SHEAR_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Frame:
    """A prim's transform, split.

    Attributes:
        rotation: Proper rotation R, shape [3, 3].
        translation: Origin [stage length], shape [3].
        stretch: Symmetric stretch P with L = R P, shape [3, 3].
        scale: Diagonal of the stretch, shape [3]; all negative where the transform mirrors.
        sheared: Whether the stretch is not along the frame's own axes.
        mirrored: Whether the transform turns right hands into left hands.
    """

    rotation: Array
    translation: Array
    stretch: Array
    scale: Array
    sheared: bool
    mirrored: bool

    @property
    def linear(self) -> Array:
        """Linear part R P, shape [3, 3]."""
        return self.rotation @ self.stretch


def split_all(linear: Array, translation: Array) -> list[Frame]:
    """Factor transforms.

    Args:
        linear: Linear parts that act on columns, shape [count, 3, 3]; invertible.
        translation: Translations, shape [count, 3].
    """
    norms = np.sqrt((linear * linear).sum(axis=1))
    mirrored = np.linalg.det(linear) < 0.0
    sign = np.where(mirrored, -1.0, 1.0)
    rotation = linear / norms[:, None, :]
    gram = np.swapaxes(rotation, 1, 2) @ rotation
    rotation = rotation * sign[:, None, None]
    stretch = _diagonal(norms * sign[:, None])
    oblique = np.abs(gram - np.eye(3)).max(axis=(1, 2), initial=0.0) >= 1e-12
    if oblique.any():
        u, _, vt = np.linalg.svd(linear[oblique])
        rotation[oblique] = sign[oblique, None, None] * (u @ vt)
        exact = np.swapaxes(rotation[oblique], 1, 2) @ linear[oblique]
        exact = 0.5 * (exact + np.swapaxes(exact, 1, 2))
        straight = _diagonal(np.diagonal(exact, axis1=1, axis2=2))
        # float32 quaternions leave columns orthogonal to 1e-7 only; such a stretch is a scale.
        off = np.abs(exact - straight).max(axis=(1, 2))
        is_scale = off < 1e-6 * np.abs(exact).max(axis=(1, 2))
        stretch[oblique] = np.where(is_scale[:, None, None], straight, exact)
    scale = np.ascontiguousarray(np.diagonal(stretch, axis1=1, axis2=2))
    off = np.abs(stretch - _diagonal(scale)).max(axis=(1, 2), initial=0.0)
    sheared = off > SHEAR_TOLERANCE * np.abs(stretch).max(axis=(1, 2), initial=0.0)
    columns = (rotation, translation, stretch, scale, sheared.tolist(), mirrored.tolist())
    return [Frame(*row) for row in zip(*columns, strict=True)]


def _diagonal(values: Array) -> Array:
    """Diagonal matrices, shape [count, 3, 3]."""
    return values[:, :, None] * np.eye(3)


def joined(matrices: Sequence[Array]) -> Array:
    """Matrices of at least one transform as one array, shape [count, 3, 3]; faster than `np.stack`."""
    return np.concatenate(matrices).reshape(-1, 3, 3)


def stacked(frames: Sequence[Frame]) -> Rigid:
    """Rotations and translations of at least one frame, shapes [count, 3, 3] and [count, 3]."""
    rotations = joined([frame.rotation for frame in frames])
    return rotations, np.concatenate([frame.translation for frame in frames]).reshape(-1, 3)


def relative_all(parents: Sequence[Frame], children: Sequence[Frame]) -> list[Frame]:
    """Each child's transform in the rigid part of its parent's frame."""
    if not parents:
        return []
    turn, origin = stacked(parents)
    inverse = np.swapaxes(turn, 1, 2)
    own, translation = stacked(children)
    linear = inverse @ (own @ joined([child.stretch for child in children]))
    offset = translation - origin
    return split_all(linear, (inverse @ offset[:, :, None])[:, :, 0])


def axis_rotation(axis: str) -> Array:
    """Rotation that carries local +Z to the named axis, shape [3, 3]."""
    if axis == "X":
        return np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    if axis == "Y":
        return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    return np.eye(3)


def rotation_of(value: Any) -> Array | None:
    """Rotation matrix of an authored `Gf` quaternion; None for a zero or non-finite one, which is no rotation."""
    return _rotation(*value.GetImaginary(), value.GetReal())


@functools.lru_cache(maxsize=4096)
def _rotation(x: float, y: float, z: float, w: float) -> Array | None:
    # Few different rotations are authored on any stage, the same ones on thousands of joints.
    xyzw = np.array([x, y, z, w])
    if not np.isfinite(xyzw).all() or np.abs(xyzw).max() == 0.0:
        return None
    result = quaternion_to_matrix(quaternion_normalize(xyzw))
    result.flags.writeable = False
    return result


def poses(rigids: Sequence[Rigid]) -> Array:
    """Poses [x y z qx qy qz qw] of rotations and translations, shape [count, 7]."""
    if not rigids:
        return np.zeros((0, 7))
    rotations = quaternion_from_matrix(joined([rotation for rotation, _ in rigids]))
    translations = np.concatenate([translation for _, translation in rigids]).reshape(-1, 3)
    return np.concatenate((translations, rotations), axis=1)
