"""Contacts of spheres with a plane, for tests without a collision package."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def touch_plane(
    link_pose: wp.array[wp.transform],
    sphere_link: wp.array[wp.int32],
    sphere_center: wp.array[wp.vec3],
    sphere_radius: wp.array[wp.float32],
    sphere_count: wp.int32,
    reach: wp.float32,
    # outputs
    count_out: wp.array[wp.int32],
    body0_out: wp.array[wp.int32],
    anchor0_out: wp.array[wp.vec3],
    anchor1_out: wp.array[wp.vec3],
    key_out: wp.array[wp.int64],
):
    """One environment: the spheres that are nearer to the plane z = 0 than `reach`, in the order of the spheres."""
    environment = wp.tid()
    used = int(0)
    for i in range(sphere_count):
        link = sphere_link[environment * sphere_count + i]
        centre = wp.transform_point(link_pose[link], sphere_center[i])
        if centre[2] - sphere_radius[i] < reach:
            slot = environment * sphere_count + used
            lowest = centre - wp.vec3(0.0, 0.0, sphere_radius[i])
            body0_out[slot] = link
            anchor0_out[slot] = wp.transform_point(wp.transform_inverse(link_pose[link]), lowest)
            anchor1_out[slot] = wp.vec3(centre[0], centre[1], 0.0)
            key_out[slot] = wp.int64(i)
            used += 1
    count_out[environment] = used
