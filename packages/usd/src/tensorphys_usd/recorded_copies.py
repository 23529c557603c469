"""How the copies of a source in replicated environments stand in the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tensorphys_scene import Scene
from tensorphys_spatial import (
    quaternion_conjugate,
    quaternion_multiply,
    quaternion_rotate,
    quaternion_to_matrix,
)

Array = npt.NDArray[np.float64]


def copy_motions(scene: Scene, environments: Sequence[int], origin: Array) -> Array:
    """Motions of copies of a source, matrices that act on row vectors; turns are found from what the copies hold.

    Args:
        scene: The scene.
        environments: Which of its environments.
        origin: Origin of the frame of the source in the world, about which copies are turned, shape [3].
    """
    chosen = list(environments)
    template = int(scene.environments.template[chosen[0]])
    result = np.tile(np.eye(4), (len(chosen), 1, 1))
    result[:, 3, :3] = scene.environments.origin[chosen] - origin
    poses = scene.overrides.get((template, "bodies.pose"))
    rest = scene.templates[template].bodies.pose
    if poses is None or not len(rest):
        return result
    row = np.cumsum(scene.environments.template == template) - 1
    turned = poses[row[chosen]]
    turn = quaternion_multiply(turned[..., 3:], quaternion_conjugate(rest[None, :, 3:]))
    # Only a motion of the whole counts; poses may differ for other reasons.
    whole = (
        np.abs(quaternion_rotate(turn[:, :1], rest[None, :, :3]) - turned[..., :3]).max(axis=(1, 2)) < 1e-9
    )
    whole &= np.abs(np.abs((turn * turn[:, :1]).sum(axis=2)) - 1.0).max(axis=1) < 1e-9
    matrices = np.swapaxes(quaternion_to_matrix(turn[:, 0]), 1, 2)
    result[whole, :3, :3] = matrices[whole]
    result[whole, 3, :3] += origin - origin @ matrices[whole]
    return result
