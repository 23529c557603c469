"""From the arrays of views to the flat arrays of the engine.

Only selected rows are written: ``owner[row]`` is where the indices name the row, -1 where they do not. Of several
selected rows of one object the one that is named last wins.
"""

import warp as wp

from tensorphys._kernels.rows import FAULT_POSE, wins
from tensorphys._kernels.world import to_local

wp.set_module_options({"enable_backward": False})


@wp.kernel
def scatter_values(
    # inputs
    values: wp.array3d[wp.float32],
    slots: wp.array2d[wp.int32],
    owner: wp.array[wp.int32],
    first_same: wp.array[wp.int32],
    next_same: wp.array[wp.int32],
    articulations: wp.array[wp.int32],
    is_state: int,
    # outputs
    target_out: wp.array2d[wp.float32],
    fresh_out: wp.array[wp.int32],
):
    """Copy the numbers of each item of the selected rows."""
    row, item, column = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    if wins(row, owner, first_same, next_same):
        target_out[slot, column] = values[row, item, column]
        if is_state != 0:
            fresh_out[articulations[row]] = 1


@wp.kernel
def scatter_poses(
    # inputs
    poses: wp.array2d[wp.float32],
    slots: wp.array2d[wp.int32],
    owner: wp.array[wp.int32],
    first_same: wp.array[wp.int32],
    next_same: wp.array[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    root_pose_out: wp.array[wp.transform],
    mark_out: wp.array[wp.int32],
    fault_out: wp.array[wp.int32],
):
    """Carry poses into the frames of their environments, and mark them; quaternions are normalised."""
    row = wp.tid()
    slot = slots[row, 0]
    if slot < 0:
        return
    if not wins(row, owner, first_same, next_same):
        return
    rotation = wp.quat(poses[row, 3], poses[row, 4], poses[row, 5], poses[row, 6])
    norm = wp.length(rotation)
    position = wp.vec3(poses[row, 0], poses[row, 1], poses[row, 2])
    if not (norm > 1.0e-6 and wp.isfinite(norm) and wp.isfinite(wp.length(position))):
        fault_out[FAULT_POSE + 1] = row
        fault_out[FAULT_POSE] = 1
        return
    # A quaternion that is unit to rounding is kept, so that a pose that was read is written back unchanged.
    if wp.abs(norm - 1.0) > 1.0e-6:
        rotation = rotation / norm
    root_pose_out[slot] = wp.transform(to_local(position, offset_hi[row], offset_lo[row]), rotation)
    mark_out[slot] = 1
