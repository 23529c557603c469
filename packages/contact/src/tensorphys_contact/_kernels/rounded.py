"""Spheres and capsules among themselves: segments with a radius.

Closest points of two segments: [Ericson 2005, §5.1.9], with the determinant taken from
the components across the first axis, which stays exact for nearly parallel segments.
"""

import warp as wp

from .gather import Points, World, pair_limit, pair_rotation, relative_pose, spheres_apart, store_point

wp.set_module_options({"enable_backward": False})

CAPSULE = wp.constant(2)
# Squared sine of the angle below which two axes count as parallel, and below which a
# second contact is looked for.
PARALLEL = wp.constant(1.0e-9)
NEARLY_PARALLEL = wp.constant(0.05)
# Feature of a contact that has no partner.
SINGLE = wp.constant(2)


@wp.func
def closest_on_segment(point: wp.vec3, center: wp.vec3, axis: wp.vec3, half: float) -> float:
    """Parameter of the segment point nearest to ``point``."""
    return wp.clamp(wp.dot(axis, point - center), -half, half)


@wp.func
def segment_contacts(half_f: float, half_o: float, t: wp.vec3, u: wp.vec3) -> wp.vec4:
    """Where two segments touch: (s0, r0, s1, r1), parameters along f (the z axis) and o.

    The two are ordered along f; a single contact has s1 = infinity. Of two contacts one
    is the closest pair of points, the other the far end of the overlap of the segments.
    """
    none = wp.inf
    across = u[0] * u[0] + u[1] * u[1]
    reach = wp.abs(u[2]) * half_o
    low = wp.clamp(t[2] - reach, -half_f, half_f)
    high = wp.clamp(t[2] + reach, -half_f, half_f)
    r_low = closest_on_segment(wp.vec3(0.0, 0.0, low), t, u, half_o)
    r_high = closest_on_segment(wp.vec3(0.0, 0.0, high), t, u, half_o)
    overlap = high - low > 1.0e-3 * wp.min(half_f, half_o)
    r = float(0.0)
    if across > PARALLEL:
        r = wp.clamp(-(u[0] * t[0] + u[1] * t[1]) / across, -half_o, half_o)
    elif overlap:
        return wp.vec4(low, r_low, high, r_high)
    else:
        r = r_low
    s = wp.clamp(t[2] + r * u[2], -half_f, half_f)
    r = closest_on_segment(wp.vec3(0.0, 0.0, s), t, u, half_o)
    if overlap and across < NEARLY_PARALLEL:
        if s - low > high - s:
            return wp.vec4(low, r_low, s, r)
        return wp.vec4(s, r, high, r_high)
    return wp.vec4(s, r, none, none)


@wp.func
def axis_normal(d: wp.vec3, length: float, u: wp.vec3, radius: float) -> wp.vec3:
    """Direction from f to o, across both axes where the nearest points lie within them.

    ``u`` is the axis of o there, else that of f. ``d`` is noise where it is tiny beside the sum
    of the radii.
    """
    n = wp.vec3(1.0, 0.0, 0.0)
    across = wp.sqrt(u[0] * u[0] + u[1] * u[1])
    if across > 1.0e-3:
        n = wp.vec3(-u[1] / across, u[0] / across, 0.0)
        if wp.dot(n, d) < 0.0:
            n = -n
    elif length > 1.0e-5 * radius:
        n = d / length
    return n


@wp.func(inline=True)
def rounded_manifold(item: wp.vec4i, margin: float, slot: int, world: World, points_out: Points) -> int:
    """Points of a pair, from a slot on, and their number; the frame shape f is the capsule, or the larger of two alike."""
    f = item[0]
    o = item[1]
    local_f = world.local_pose[item[2]]
    local_o = world.local_pose[item[3]]
    limit = pair_limit(world, item, margin)
    x = relative_pose(world.shape_body[f], world.shape_body[o], local_f, local_o, world.body_pose)
    t = wp.transform_get_translation(x)
    q = wp.transform_get_rotation(x)
    count = int(0)
    size_f = world.shape_size[f]
    size_o = world.shape_size[o]
    u = wp.quat_rotate(q, wp.vec3(0.0, 0.0, 1.0))
    where = wp.vec4(0.0, 0.0, wp.inf, wp.inf)
    if world.shape_type[o] == CAPSULE:
        where = segment_contacts(size_f[1], size_o[1], t, u)
    elif world.shape_type[f] == CAPSULE:
        where[0] = wp.clamp(t[2], -size_f[1], size_f[1])
    q_f = pair_rotation(world.shape_body[f], world.body_pose, local_f)
    for k in range(2):
        s = where[2 * k]
        r = where[2 * k + 1]
        if s < wp.inf:
            d = t + u * r - wp.vec3(0.0, 0.0, s)
            length = wp.length(d)
            separation = length - size_f[0] - size_o[0]
            if separation < limit:
                within = wp.abs(s) < size_f[1] and wp.abs(r) < size_o[1] and world.shape_type[o] == CAPSULE
                axis = wp.where(within, u, wp.vec3(0.0, 0.0, 1.0))
                n = axis_normal(d, length, axis, size_f[0] + size_o[0])
                point_o = wp.vec3(0.0, 0.0, r) - wp.quat_rotate_inv(q, n) * size_o[0]
                store_point(
                    slot + count,
                    wp.where(f < o, 0, 1),
                    wp.transform_point(local_f, wp.vec3(0.0, 0.0, s) + n * size_f[0]),
                    wp.transform_point(local_o, point_o),
                    wp.quat_rotate(q_f, n),
                    separation,
                    wp.where(where[2] < wp.inf, k, SINGLE),
                    points_out.anchor,
                    points_out.normal,
                    points_out.separation,
                    points_out.feature,
                )
                count += 1
    return count


@wp.kernel
def collide_rounded(
    family: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    world: World,
    # outputs
    points_out: Points,
):
    """One thread a pair."""
    pair = family[wp.tid()]
    if pair < 0:
        return
    item = world.pair_item[pair]
    count = int(0)
    if not spheres_apart(bound[item[2]], bound[item[3]]):
        margin = world.margin[world.pair_environment[pair]]
        count = rounded_manifold(item, margin, world.slot_start[pair], world, points_out)
    points_out.count[pair] = count
