"""From the two frames of an authored joint to the link's rest pose and the axes of its motion."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorphys_spatial import quaternion_rotate, transform_inverse, transform_multiply

Array = npt.NDArray[np.float64]


def link_rest_pose(frame0: Array, frame1: Array, flipped: npt.NDArray[np.bool_]) -> Array:
    """Pose of the child link in its parent at zero displacement.

    Args:
        frame0: Joint frame in body 0, shape [count, 7].
        frame1: Joint frame in body 1, shape [count, 7].
        flipped: Whether body 1 is the parent, shape [count].

    Returns:
        Pose [m, -], shape [count, 7].
    """
    parent = np.where(flipped[:, None], frame1, frame0)
    child = np.where(flipped[:, None], frame0, frame1)
    return np.asarray(transform_multiply(parent, transform_inverse(child)), dtype=np.float64)


def dof_axis(
    frame0: Array, frame1: Array, flipped: npt.NDArray[np.bool_], direction: Array
) -> tuple[Array, Array]:
    """Axis and anchor of a motion in the child link, so that q is the displacement of body 1 relative to body 0.

    Args:
        frame0: Joint frame in body 0, shape [count, 7].
        frame1: Joint frame in body 1, shape [count, 7].
        flipped: Whether body 1 is the parent, shape [count].
        direction: Axis in the joint frame, unit, shape [count, 3].

    Returns:
        Axis, unit, and anchor [m] in the frame of the child link, each of shape [count, 3].
    """
    child = np.where(flipped[:, None], frame0, frame1)
    sign = np.where(flipped, -1.0, 1.0)[:, None]
    axis = sign * np.asarray(quaternion_rotate(child[:, 3:], direction), dtype=np.float64)
    return axis, child[:, :3].copy()
