"""Which pairs of boxes and convex shapes are near enough for a closer look."""

import warp as wp

from .gather import boxes_apart, spheres_apart

wp.set_module_options({"enable_backward": False})


@wp.func
def body_motion(body: int, motion: wp.array[wp.spatial_vector]) -> wp.spatial_vector:
    """Motion of a body in the step; none for −1 (static)."""
    result = wp.spatial_vector()
    if body >= 0:
        result = motion[body]
    return result


@wp.func
def pair_limit(
    item: wp.vec4i,
    environment: int,
    bound: wp.array[wp.vec4],
    shape_body: wp.array[wp.int32],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    motion: wp.array[wp.spatial_vector],
    least_margin: wp.array[wp.float32],
) -> float:
    """Separation from which on a pair has no contact.

    With the motion of bodies known, the margin of a pair is the longest way of a point about its smaller shape in the
    frame of the other body, as far as the margin of the environment reaches.
    """
    reach = margin[environment]
    if motion.shape[0] > 0:
        m = body_motion(shape_body[item[0]], motion) - body_motion(shape_body[item[1]], motion)
        sphere = bound[item[2]]
        if bound[item[3]][3] < sphere[3]:
            sphere = bound[item[3]]
        turn = wp.spatial_bottom(m)
        way = wp.length(wp.spatial_top(m) + wp.cross(turn, wp.vec3(sphere[0], sphere[1], sphere[2])))
        reach = wp.min(reach, way + wp.length(turn) * sphere[3] + least_margin[environment])
    return contact_offset[item[0]] + contact_offset[item[1]] + reach


@wp.func
def near_limit(
    item: wp.vec4i,
    environment: int,
    known: bool,
    bound: wp.array[wp.vec4],
    shape_body: wp.array[wp.int32],
    shape_center: wp.array[wp.vec3],
    shape_half: wp.array[wp.vec3],
    local_pose: wp.array[wp.transform],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    motion: wp.array[wp.spatial_vector],
    least_margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
):
    """Whether a pair is near, and the separation from which on it has no contact.

    It is not where the spheres or the boxes about its shapes cannot hold a contact; ``known`` pairs are near anyway.
    """
    limit = float(0.0)
    near = known or not spheres_apart(bound[item[2]], bound[item[3]])
    if near:
        limit = pair_limit(item, environment, bound, shape_body, contact_offset, margin, motion, least_margin)
        if not known:
            near = not boxes_apart(
                item[0],
                item[1],
                local_pose[item[2]],
                local_pose[item[3]],
                shape_body,
                shape_center,
                shape_half,
                body_pose,
                limit,
            )
    return near, limit


@wp.kernel
def gather_near(
    family: wp.array[wp.int32],
    place: wp.int32,
    bound: wp.array[wp.vec4],
    pair_item: wp.array[wp.vec4i],
    pair_environment: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    shape_center: wp.array[wp.vec3],
    shape_half: wp.array[wp.vec3],
    local_pose: wp.array[wp.transform],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    motion: wp.array[wp.spatial_vector],
    least_margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    # outputs
    count_out: wp.array[wp.int32],
    near_out: wp.array[wp.int32],
    near_count_inout: wp.array[wp.int32],
):
    """One thread a pair of a family: the near ones in a row, so that no thread waits for those of others.

    Their order is that of the threads; each of them has slots of its own, so that nothing depends on it.
    """
    pair = family[wp.tid()]
    item = pair_item[pair]
    near, _limit = near_limit(
        item,
        pair_environment[pair],
        False,
        bound,
        shape_body,
        shape_center,
        shape_half,
        local_pose,
        contact_offset,
        margin,
        motion,
        least_margin,
        body_pose,
    )
    if near:
        at = wp.atomic_add(near_count_inout, place, 1)
        near_out[at] = pair
    else:
        count_out[pair] = 0
