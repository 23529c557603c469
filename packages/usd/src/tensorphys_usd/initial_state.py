"""Initial joint positions where the stage authors none: those at which the bodies stand."""

from __future__ import annotations

import numpy as np

from tensorphys_scene import AxisType
from tensorphys_spatial import quaternion_from_matrix
from tensorphys_usd.articulations import StageArticulations
from tensorphys_usd.joints import StageJoints
from tensorphys_usd.stage import Reading

# Authored poses are often float32 or rounded text; less than this is "zero".
_SMALL_ANGLE = 1e-4
_SMALL_LENGTH = 1e-4  # metres


def derive_positions(reading: Reading, joints: StageJoints, articulations: StageArticulations) -> None:
    """Set `position` of the tree joints with one degree of freedom and no authored state from the body poses.

    A joint that cannot bring its two frames together at any position is reported; the articulation closes it.
    """
    small_length = _SMALL_LENGTH / reading.meters_per_unit
    chosen: list[tuple[int, bool]] = []
    for tree in articulations.trees:
        for link in tree.links:
            if not any(axis.has_state for joint in link.joints for axis in joints.axes[joint]):
                chosen += [(joint, len(link.joints) == 1) for joint in link.joints]
    if not chosen:
        return
    rotations, offsets = joints.relative_all([joint for joint, _ in chosen])
    turns = quaternion_from_matrix(rotations)
    # Most joints stand at zero, with their frames on each other.
    moved = np.abs(offsets).max(axis=1) > small_length
    moved |= np.abs(turns[:, :3]).max(axis=1) > 0.25 * _SMALL_ANGLE
    for row in np.flatnonzero(moved):
        joint, alone = chosen[row]
        offset, turn = offsets[row], turns[row]
        axes = joints.axes[joint]
        if len(axes) == 1 and alone:
            axis = axes[0]
            index = int(axis.axis) % 3
            if axis.axis >= AxisType.ROT_X:
                position = 2.0 * float(np.arctan2(turn[index], turn[3]))
                small = _SMALL_ANGLE
                turn = _without(turn, index)
            else:
                position = float(offset[index])
                small = small_length
                offset = _without(offset, index)
            if abs(position) > small:
                axis.position = position
                reading.report.correct(
                    joints.paths[joint], "initial position taken from the poses of its bodies"
                )
        if np.abs(offset).max() > small_length or np.abs(turn[:3]).max() > _SMALL_ANGLE:
            reading.report.correct(
                joints.paths[joint],
                "the poses of its two bodies do not satisfy this joint: they are moved together",
            )


def _without(values: np.ndarray, index: int) -> np.ndarray:
    result = values.copy()
    result[index] = 0.0
    return result
