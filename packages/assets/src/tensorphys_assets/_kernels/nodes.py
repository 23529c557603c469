"""Nodes of deformables."""

import warp as wp

from tensorphys_assets.dtypes import vec6f

wp.set_module_options({"enable_backward": False})


@wp.kernel
def nodal_states(
    # inputs
    position: wp.array[wp.vec3f],
    velocity: wp.array[wp.vec3f],
    # outputs
    state_out: wp.array[vec6f],
):
    """Positions and velocities in one."""
    i = wp.tid()
    p = position[i]
    v = velocity[i]
    state_out[i] = vec6f(p[0], p[1], p[2], v[0], v[1], v[2])


@wp.kernel
def node_means(
    # inputs
    values: wp.array2d[wp.vec3f],
    # outputs
    mean_out: wp.array[wp.vec3f],
):
    """Mean over the nodes of each body, added up in their order."""
    i = wp.tid()
    total = wp.vec3f()
    for j in range(values.shape[1]):
        total = total + values[i, j]
    mean_out[i] = total / float(values.shape[1])
