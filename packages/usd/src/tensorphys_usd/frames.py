"""World transforms of prims as rotation, translation and stretch, in float64.

OpenUSD stores row vectors times matrices; here a matrix acts on columns. A linear part L factors as L = R P with a
proper rotation R and a symmetric stretch P. A mirroring L (negative determinant) gives a P with negative
eigenvalues: sign and rotation belong together, which is also what `UsdPhysics` descriptors hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorphys_spatial import quaternion_from_matrix, quaternion_normalize, quaternion_to_matrix

Array = npt.NDArray[np.float64]
# Rotation matrix and translation.
Rigid = tuple[Array, Array]

# Relative size of off-diagonal stretch above which a transform counts as sheared: authored values are often float32.
SHEAR_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Frame:
    """A prim's world transform, split.

    Attributes:
        rotation: Proper rotation R, shape [3, 3].
        translation: Origin in the world [stage length], shape [3].
        stretch: Symmetric stretch P with L = R P, shape [3, 3].
    """

    rotation: Array
    translation: Array
    stretch: Array

    @property
    def scale(self) -> Array:
        """Diagonal of the stretch, shape [3]; all negative where the transform mirrors."""
        return np.ascontiguousarray(np.diagonal(self.stretch))

    @property
    def sheared(self) -> bool:
        """Whether the stretch is not along the frame's own axes."""
        off = self.stretch - np.diag(np.diagonal(self.stretch))
        return bool(np.abs(off).max() > SHEAR_TOLERANCE * np.abs(self.stretch).max())

    @property
    def mirrored(self) -> bool:
        """Whether the transform turns right hands into left hands."""
        return bool(np.linalg.det(self.stretch) < 0.0)

    @property
    def linear(self) -> Array:
        """Linear part R P, shape [3, 3]."""
        return self.rotation @ self.stretch


def split(linear: Array, translation: Array) -> Frame:
    """Factor a transform.

    Args:
        linear: Linear part that acts on columns, shape [3, 3]; invertible.
        translation: Translation, shape [3].
    """
    norms = np.sqrt((linear * linear).sum(axis=0))
    unit = linear / norms
    gram = unit.T @ unit
    sign = 1.0 if np.linalg.det(linear) > 0.0 else -1.0
    if np.abs(gram - np.eye(3)).max() < 1e-12:
        return Frame(unit * sign, translation, np.diag(norms * sign))
    u, _, vt = np.linalg.svd(linear)
    rotation = sign * (u @ vt)
    stretch = rotation.T @ linear
    stretch = 0.5 * (stretch + stretch.T)
    near_diagonal = np.diag(np.diagonal(stretch))
    # float32 quaternions leave columns orthogonal to 1e-7 only; such a stretch is a scale.
    if np.abs(stretch - near_diagonal).max() < 1e-6 * np.abs(stretch).max():
        stretch = near_diagonal
    return Frame(rotation, translation, stretch)


def relative(parent: Frame, child: Frame) -> Frame:
    """The child's transform in the rigid part of the parent's frame."""
    linear = parent.rotation.T @ child.linear
    return split(linear, parent.rotation.T @ (child.translation - parent.translation))


def axis_rotation(axis: str) -> Array:
    """Rotation that carries local +Z to the named axis, shape [3, 3]."""
    if axis == "X":
        return np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    if axis == "Y":
        return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    return np.eye(3)


def rotation_of(value: object) -> Array | None:
    """Rotation matrix of an authored `Gf` quaternion; None for a zero or non-finite one, which is no rotation."""
    xyzw = np.array([*value.GetImaginary(), value.GetReal()], dtype=np.float64)  # type: ignore[attr-defined]
    if not np.isfinite(xyzw).all() or np.abs(xyzw).max() == 0.0:
        return None
    return quaternion_to_matrix(quaternion_normalize(xyzw))


def poses(rigids: Sequence[Rigid]) -> Array:
    """Poses [x y z qx qy qz qw] of rotations and translations, shape [count, 7]."""
    if not rigids:
        return np.zeros((0, 7))
    rotations = quaternion_from_matrix(np.stack([rotation for rotation, _ in rigids]))
    return np.concatenate((np.stack([translation for _, translation in rigids]), rotations), axis=1)
