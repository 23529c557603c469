"""Loads of a scene that act in every step, and external forces that bodies keep."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def add_constant_loads(
    loaded_link: wp.array[wp.int32],
    load_start: wp.array[wp.int32],
    position: wp.array[wp.vec3],
    rotation: wp.array[wp.quat],
    force: wp.array[wp.vec3],
    torque: wp.array[wp.vec3],
    is_acceleration: wp.array[wp.int32],
    is_world: wp.array[wp.int32],
    link_pose: wp.array[wp.transform],
    link_mass: wp.array[wp.float32],
    link_com: wp.array[wp.vec3],
    link_inertia: wp.array[wp.mat33],
    # outputs
    link_force_inout: wp.array[wp.vec3],
    link_torque_inout: wp.array[wp.vec3],
):
    """One thread a loaded link, its loads in their order; those that turn with it are taken at the start of the step."""
    i = wp.tid()
    link = loaded_link[i]
    turn = wp.transform_get_rotation(link_pose[link])
    total_force = link_force_inout[link]
    total_torque = link_torque_inout[link]
    for row in range(load_start[i], load_start[i + 1]):
        f = force[row]
        n = torque[row]
        if is_world[row] == 0:
            f = wp.quat_rotate(turn, wp.quat_rotate(rotation[row], f))
            n = wp.quat_rotate(turn, wp.quat_rotate(rotation[row], n))
        if is_acceleration[row] == 1:
            f = link_mass[link] * f
            n = wp.quat_rotate(turn, link_inertia[link] * wp.quat_rotate_inv(turn, n))
        total_force += f
        total_torque += n + wp.cross(wp.quat_rotate(turn, position[row] - link_com[link]), f)
    link_force_inout[link] = total_force
    link_torque_inout[link] = total_torque


@wp.kernel
def keep_forces(
    link: wp.array[wp.int32],
    link_force: wp.array[wp.vec3],
    link_torque: wp.array[wp.vec3],
    # outputs
    force_out: wp.array[wp.vec3],
    torque_out: wp.array[wp.vec3],
):
    """One thread a link that keeps its forces: what they are before the loads of the scene come to them."""
    i = wp.tid()
    force_out[i] = link_force[link[i]]
    torque_out[i] = link_torque[link[i]]


@wp.kernel
def restore_forces(
    link: wp.array[wp.int32],
    force: wp.array[wp.vec3],
    torque: wp.array[wp.vec3],
    # outputs
    link_force_out: wp.array[wp.vec3],
    link_torque_out: wp.array[wp.vec3],
):
    """One thread a link that keeps its forces: they act in the next step, too."""
    i = wp.tid()
    link_force_out[link[i]] = force[i]
    link_torque_out[link[i]] = torque[i]
