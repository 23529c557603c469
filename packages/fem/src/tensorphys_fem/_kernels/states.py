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


@wp.kernel
def interpolate(
    nodes: wp.array[wp.vec4i],
    weights: wp.array[wp.vec4],
    position: wp.array[wp.vec3d],
    velocity: wp.array[wp.vec3d],
    # outputs
    positions_out: wp.array[wp.vec3],
    velocities_out: wp.array[wp.vec3],
):
    """Relative to the first node, so that rounded weights do not act on the place in the world."""
    i = wp.tid()
    n = nodes[i]
    x = position[n[0]]
    v = velocity[n[0]]
    point = x
    speed = v
    for k in range(1, 4):
        w = wp.float64(weights[i][k])
        point += w * (position[n[k]] - x)
        speed += w * (velocity[n[k]] - v)
    positions_out[i] = wp.vec3(point)
    velocities_out[i] = wp.vec3(speed)
