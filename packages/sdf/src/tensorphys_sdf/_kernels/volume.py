"""Reading NanoVDB volumes."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def read_voxels(
    volume: wp.uint64,
    first: wp.vec3i,
    value_out: wp.array3d[wp.float32],
):
    x, y, z = wp.tid()
    value_out[x, y, z] = wp.volume_lookup_f(volume, first[0] + x, first[1] + y, first[2] + z)
