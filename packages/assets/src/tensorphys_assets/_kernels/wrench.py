"""Forces and torques on bodies, kept in world and in body axes until they are needed."""

import warp as wp

wp.set_module_options({"enable_backward": False})

HAS_FORCE = wp.constant(1)
HAS_TORQUE = wp.constant(2)
HAS_POSITION = wp.constant(4)
IS_GLOBAL = wp.constant(8)


@wp.kernel
def add_wrenches(
    # inputs
    force: wp.array3d[wp.float32],
    torque: wp.array3d[wp.float32],
    position: wp.array3d[wp.float32],
    flags: int,
    rows: wp.array[wp.int32],
    bodies: wp.array[wp.int32],
    row_mask: wp.array[wp.bool],
    body_mask: wp.array[wp.bool],
    # outputs
    force_w_inout: wp.array2d[wp.vec3f],
    torque_w_inout: wp.array2d[wp.vec3f],
    com_force_w_inout: wp.array2d[wp.vec3f],
    force_b_inout: wp.array2d[wp.vec3f],
    torque_b_inout: wp.array2d[wp.vec3f],
):
    """Add what is given to chosen bodies. A force in the world keeps the place where it acts, as its moment about the origin."""
    i, j = wp.tid()
    row = rows[i]
    body = bodies[j]
    if not row_mask[row] or not body_mask[body]:
        return
    f = wp.vec3f()
    t = wp.vec3f()
    if (flags & HAS_FORCE) != 0:
        f = wp.vec3f(force[i, j, 0], force[i, j, 1], force[i, j, 2])
    if (flags & HAS_TORQUE) != 0:
        t = wp.vec3f(torque[i, j, 0], torque[i, j, 1], torque[i, j, 2])
    if (flags & HAS_POSITION) != 0:
        p = wp.vec3f(position[i, j, 0], position[i, j, 1], position[i, j, 2])
        t = t + wp.cross(p, f)
    if (flags & IS_GLOBAL) == 0:
        force_b_inout[row, body] = force_b_inout[row, body] + f
        torque_b_inout[row, body] = torque_b_inout[row, body] + t
        return
    torque_w_inout[row, body] = torque_w_inout[row, body] + t
    if (flags & HAS_POSITION) != 0:
        force_w_inout[row, body] = force_w_inout[row, body] + f
    else:
        com_force_w_inout[row, body] = com_force_w_inout[row, body] + f


@wp.kernel
def add_arrays(
    # inputs
    other: wp.array2d[wp.vec3f],
    # outputs
    total_inout: wp.array2d[wp.vec3f],
):
    """Sum of two arrays."""
    i, j = wp.tid()
    total_inout[i, j] = total_inout[i, j] + other[i, j]


@wp.kernel
def clear_chosen(
    # inputs
    rows: wp.array[wp.int32],
    row_mask: wp.array[wp.bool],
    # outputs
    values_out: wp.array2d[wp.vec3f],
):
    """Zero the values of chosen rows."""
    i, j = wp.tid()
    if row_mask[rows[i]]:
        values_out[rows[i], j] = wp.vec3f()


@wp.kernel
def compose_wrenches(
    # inputs
    force_w: wp.array2d[wp.vec3f],
    torque_w: wp.array2d[wp.vec3f],
    com_force_w: wp.array2d[wp.vec3f],
    force_b: wp.array2d[wp.vec3f],
    torque_b: wp.array2d[wp.vec3f],
    centre: wp.array2d[wp.vec3f],
    link_rotation: wp.array2d[wp.quatf],
    # outputs
    force_out: wp.array2d[wp.vec3f],
    torque_out: wp.array2d[wp.vec3f],
):
    """Force at the centre of mass and torque about it, in link axes."""
    i, j = wp.tid()
    q = link_rotation[i, j]
    f = force_w[i, j] + com_force_w[i, j]
    t = torque_w[i, j] - wp.cross(centre[i, j], force_w[i, j])
    force_out[i, j] = force_b[i, j] + wp.quat_rotate_inv(q, f)
    torque_out[i, j] = torque_b[i, j] + wp.quat_rotate_inv(q, t)


@wp.kernel
def wrenches_at_origins(
    # inputs
    force: wp.array2d[wp.vec3f],
    torque: wp.array2d[wp.vec3f],
    com: wp.array2d[wp.transformf],
    order: wp.array[wp.int32],
    # outputs
    force_out: wp.array2d[wp.vec3f],
    torque_out: wp.array2d[wp.vec3f],
):
    """Wrenches about centres of mass as ones about link origins, with bodies in the order of the engine."""
    i, j = wp.tid()
    k = order[j]
    force_out[i, j] = force[i, k]
    torque_out[i, j] = torque[i, k] + wp.cross(wp.transform_get_translation(com[i, k]), force[i, k])
