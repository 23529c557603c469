"""From the flat arrays of the engine to the arrays of views.

``slots[row, item]`` is the flat index of a view's item, -1 where a row has fewer items than the widest;
such items are left alone (output buffers start as zeros).
"""

import warp as wp

from tensorphys._kernels.world import to_world

wp.set_module_options({"enable_backward": False})


@wp.kernel
def gather_values(
    # inputs
    source: wp.array2d[wp.float32],
    slots: wp.array2d[wp.int32],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Copy the numbers of each item."""
    row, item, column = wp.tid()
    slot = slots[row, item]
    if slot >= 0:
        values_out[row, item, column] = source[slot, column]


@wp.kernel
def gather_poses(
    # inputs
    source: wp.array[wp.transform],
    slots: wp.array2d[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    poses_out: wp.array3d[wp.float32],
):
    """Copy poses, carried from the frame of the environment into the frame of the view."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    pose = source[slot]
    position = to_world(wp.transform_get_translation(pose), offset_hi[row], offset_lo[row])
    rotation = wp.transform_get_rotation(pose)
    for k in range(3):
        poses_out[row, item, k] = position[k]
    for k in range(4):
        poses_out[row, item, 3 + k] = rotation[k]


@wp.kernel
def gather_rows(
    # inputs
    source: wp.array2d[wp.float32],
    place: wp.array[wp.int32],
    # outputs
    values_out: wp.array2d[wp.float32],
):
    """Copy the numbers of each row from where its object stands."""
    row, column = wp.tid()
    values_out[row, column] = source[place[row], column]


@wp.kernel
def gather_points(
    # inputs
    source: wp.array[wp.vec3],
    place: wp.array[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    points_out: wp.array2d[wp.float32],
):
    """Copy points, carried by an offset."""
    row = wp.tid()
    point = to_world(source[place[row]], offset_hi[row], offset_lo[row])
    for k in range(3):
        points_out[row, k] = point[k]


@wp.kernel
def gather_joint_wrenches(
    # inputs
    wrench: wp.array[wp.spatial_vector],
    slots: wp.array2d[wp.int32],
    link_pose: wp.array[wp.transform],
    link_com: wp.array[wp.vec3],
    frame: wp.array[wp.transform],
    body: wp.array[wp.int32],
    sign: wp.array[wp.float32],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Carry wrenches about centres of mass into the frames of joints at their body 1; zero for roots."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    place = frame[slot]
    if body[slot] >= 0:
        place = link_pose[body[slot]] * place
    force = sign[slot] * wp.spatial_top(wrench[slot])
    com = wp.transform_point(link_pose[slot], link_com[slot])
    arm = com - wp.transform_get_translation(place)
    torque = sign[slot] * wp.spatial_bottom(wrench[slot]) + wp.cross(arm, force)
    rotation = wp.transform_get_rotation(place)
    force = wp.quat_rotate_inv(rotation, force)
    torque = wp.quat_rotate_inv(rotation, torque)
    for k in range(3):
        values_out[row, item, k] = force[k]
        values_out[row, item, 3 + k] = torque[k]
