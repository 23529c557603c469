"""Elements and nodes of deformables in the arrays of views.

``slots[row, item]`` is the flat index of a view's item, -1 where a row has fewer items than the widest. Of the rows to
write, ``owner[row]`` is where the indices name the row; of several of one body the one that is named last wins.
"""

import warp as wp

from tensorphys._kernels.rows import wins
from tensorphys._kernels.world import to_local, to_world

wp.set_module_options({"enable_backward": False})


@wp.kernel
def gather_matrices(
    # inputs
    source: wp.array[wp.mat33],
    slots: wp.array2d[wp.int32],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Copy matrices, column by column."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    matrix = source[slot]
    for column in range(3):
        for k in range(3):
            values_out[row, item, 3 * column + k] = matrix[k, column]


@wp.kernel
def gather_rotations(
    # inputs
    source: wp.array[wp.quat],
    slots: wp.array2d[wp.int32],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Copy quaternions xyzw."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    rotation = source[slot]
    for k in range(4):
        values_out[row, item, k] = rotation[k]


@wp.kernel
def gather_targets(
    # inputs
    target: wp.array[wp.vec4],
    slots: wp.array2d[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Copy targets, carried into the frame of the view."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    given = target[slot]
    point = to_world(wp.vec3(given[0], given[1], given[2]), offset_hi[row], offset_lo[row])
    for k in range(3):
        values_out[row, item, k] = point[k]
    values_out[row, item, 3] = given[3]


@wp.kernel
def scatter_targets(
    # inputs
    values: wp.array3d[wp.float32],
    slots: wp.array2d[wp.int32],
    owner: wp.array[wp.int32],
    first_same: wp.array[wp.int32],
    next_same: wp.array[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    target_out: wp.array[wp.vec4],
):
    """Carry targets into the frames of their environments."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    if wins(row, owner, first_same, next_same):
        point = wp.vec3(values[row, item, 0], values[row, item, 1], values[row, item, 2])
        point = to_local(point, offset_hi[row], offset_lo[row])
        target_out[slot] = wp.vec4(point[0], point[1], point[2], values[row, item, 3])


@wp.kernel
def mark_bodies(
    # inputs
    body: wp.array[wp.int32],
    owner: wp.array[wp.int32],
    # outputs
    mask_out: wp.array[wp.int32],
):
    """Mark the bodies of the selected rows."""
    row = wp.tid()
    if owner[row] >= 0:
        mask_out[body[row]] = 1


@wp.kernel
def interpolate_points(
    # inputs
    source: wp.array[wp.vec3],
    nodes: wp.array[wp.vec4i],
    weights: wp.array[wp.vec4],
    # outputs
    points_out: wp.array[wp.vec3],
):
    """Points that nodes carry."""
    point = wp.tid()
    n = nodes[point]
    w = weights[point]
    points_out[point] = source[n[0]] * w[0] + source[n[1]] * w[1] + source[n[2]] * w[2] + source[n[3]] * w[3]


@wp.kernel
def bound_points(
    # inputs
    source: wp.array[wp.vec3],
    slots: wp.array2d[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    poses_out: wp.array2d[wp.float32],
):
    """Centre of the box around the points of each row, as a pose without rotation."""
    row = wp.tid()
    lower = wp.vec3(wp.inf)
    upper = wp.vec3(-wp.inf)
    for item in range(slots.shape[1]):
        slot = slots[row, item]
        if slot >= 0:
            lower = wp.min(lower, source[slot])
            upper = wp.max(upper, source[slot])
    centre = to_world((lower + upper) * 0.5, offset_hi[row], offset_lo[row])
    for k in range(3):
        poses_out[row, k] = centre[k]
        poses_out[row, 3 + k] = 0.0
    poses_out[row, 6] = 1.0
