"""Reading and writing of states."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def publish(
    position: wp.array[wp.vec3d],
    velocity: wp.array[wp.vec3d],
    # outputs
    positions_out: wp.array[wp.vec3],
    velocities_out: wp.array[wp.vec3],
):
    i = wp.tid()
    positions_out[i] = wp.vec3(position[i])
    velocities_out[i] = wp.vec3(velocity[i])


@wp.kernel
def write_nodes(
    node_body: wp.array[wp.int32],
    mask: wp.array[wp.int32],
    values: wp.array[wp.vec3],
    # outputs
    exact_out: wp.array[wp.vec3d],
    rounded_out: wp.array[wp.vec3],
):
    i = wp.tid()
    if mask.shape[0] == 0 or mask[node_body[i]] != 0:
        exact_out[i] = wp.vec3d(values[i])
        rounded_out[i] = values[i]
