"""External forces and torques on links, summed until the next step."""

import warp as wp

from tensorphys._kernels.world import to_local

wp.set_module_options({"enable_backward": False})

# Bits of what a call gives, and of how it is to be read.
HAS_FORCE = wp.constant(1)
HAS_TORQUE = wp.constant(2)
HAS_POSITION = wp.constant(4)
IS_GLOBAL = wp.constant(8)
# A force without a position acts at the centre of mass, not at the origin of the link.
AT_COM = wp.constant(16)


@wp.func
def row_item(values: wp.array3d[wp.float32], row: int, item: int) -> wp.vec3:
    return wp.vec3(values[row, item, 0], values[row, item, 1], values[row, item, 2])


@wp.func
def force_point(
    pose: wp.transform,
    com: wp.vec3,
    position: wp.vec3,
    flags: int,
    offset_hi: wp.vec3,
    offset_lo: wp.vec3,
) -> wp.vec3:
    """Point at which a force acts, in the frame of the environment."""
    if (flags & HAS_POSITION) != 0:
        if (flags & IS_GLOBAL) != 0:
            return to_local(position, offset_hi, offset_lo)
        return wp.transform_point(pose, position)
    if (flags & AT_COM) != 0:
        return com
    return wp.transform_get_translation(pose)


@wp.kernel
def add_wrenches(
    # inputs
    force: wp.array3d[wp.float32],
    torque: wp.array3d[wp.float32],
    position: wp.array3d[wp.float32],
    flags: int,
    slots: wp.array2d[wp.int32],
    owner: wp.array[wp.int32],
    first_same: wp.array[wp.int32],
    next_same: wp.array[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    link_pose: wp.array[wp.transform],
    link_com: wp.array[wp.vec3],
    # outputs
    link_force_out: wp.array[wp.vec3],
    link_torque_out: wp.array[wp.vec3],
):
    """Add to the wrench about each link's centre of mass. Rows of one object are summed in row order."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0 or first_same[row] != row:
        return
    pose = link_pose[slot]
    com = wp.transform_point(pose, link_com[slot])
    total_force = wp.vec3()
    total_torque = wp.vec3()
    other = row
    while other >= 0:
        if owner[other] >= 0:
            if (flags & HAS_TORQUE) != 0:
                t = row_item(torque, other, item)
                if (flags & IS_GLOBAL) == 0:
                    t = wp.transform_vector(pose, t)
                total_torque += t
            if (flags & HAS_FORCE) != 0:
                f = row_item(force, other, item)
                if (flags & IS_GLOBAL) == 0:
                    f = wp.transform_vector(pose, f)
                p = wp.vec3()
                if (flags & HAS_POSITION) != 0:
                    p = row_item(position, other, item)
                p = force_point(pose, com, p, flags, offset_hi[other], offset_lo[other])
                total_force += f
                total_torque += wp.cross(p - com, f)
        other = next_same[other]
    link_force_out[slot] = link_force_out[slot] + total_force
    link_torque_out[slot] = link_torque_out[slot] + total_torque
