"""Boxes against spheres and capsules: a box against a segment with a radius.

The squared distance from a point of the segment to the box is convex and piecewise
quadratic along the segment; its derivative is evaluated at the parameters where the
segment crosses a face plane, and is linear between two of them, so that the minimum is
exact without iteration.
"""

import warp as wp

from .gather import Points, World, pair_limit, pair_rotation, relative_pose, spheres_apart, store_point

wp.set_module_options({"enable_backward": False})

CAPSULE = wp.constant(2)
SINGLE = wp.constant(2)
# Cosine above which a normal counts as that of a face when a second contact is sought.
NEAR_FACE = wp.constant(0.9)
# Length of an overlap, in segment half lengths, below which one contact is enough.
SHORT = wp.constant(1.0e-3)
# How much (in half lengths of the smaller shape) an edge axis must beat a face axis.
FACE_PREFERENCE = wp.constant(2.0e-5)
# Part of the lengths that counts as rounding.
ROUNDING = wp.constant(1.0e-7)


@wp.func
def clamp_to_box(p: wp.vec3, half: wp.vec3) -> wp.vec3:
    """Nearest point of the solid box."""
    return wp.vec3(
        wp.clamp(p[0], -half[0], half[0]),
        wp.clamp(p[1], -half[1], half[1]),
        wp.clamp(p[2], -half[2], half[2]),
    )


@wp.func
def distance_slope(s: float, t: wp.vec3, u: wp.vec3, half: wp.vec3) -> float:
    """Half the derivative of the squared distance to the box at ``t + s u``."""
    p = t + u * s
    return wp.dot(u, p - clamp_to_box(p, half))


@wp.func
def nearest_interval(t: wp.vec3, u: wp.vec3, half: wp.vec3, length: float) -> wp.vec2:
    """First and last parameter in [−length, length] nearest to the box."""
    below = -length
    above = length
    slope_below = distance_slope(below, t, u, half)
    slope_above = distance_slope(above, t, u, half)
    if slope_below > 0.0:
        return wp.vec2(below, below)
    if slope_above < 0.0:
        return wp.vec2(above, above)
    flat_first = wp.where(slope_below == 0.0, below, wp.inf)
    flat_last = wp.where(slope_above == 0.0, above, -wp.inf)
    for axis in range(3):
        if wp.abs(u[axis]) > 1.0e-9:
            for side in range(2):
                face = wp.where(side == 0, -half[axis], half[axis])
                s = wp.clamp((face - t[axis]) / u[axis], -length, length)
                slope = distance_slope(s, t, u, half)
                if slope < 0.0 and s >= below:
                    below = s
                    slope_below = slope
                elif slope > 0.0 and s <= above:
                    above = s
                    slope_above = slope
                elif slope == 0.0:
                    flat_first = wp.min(flat_first, s)
                    flat_last = wp.max(flat_last, s)
    if flat_first <= flat_last:
        return wp.vec2(flat_first, flat_last)
    if slope_below == 0.0:
        return wp.vec2(below, below)
    if slope_above == 0.0:
        return wp.vec2(above, above)
    s = below - slope_below * (above - below) / (slope_above - slope_below)
    return wp.vec2(s, s)


@wp.func
def clip_slab(span: wp.vec2, center: float, slope: float, half: float) -> wp.vec2:
    """Part of the parameter span where ``|center + s slope| <= half``."""
    low = span[0]
    high = span[1]
    if wp.abs(slope) > 1.0e-9:
        s0 = (-half - center) / slope
        s1 = (half - center) / slope
        low = wp.max(low, wp.min(s0, s1))
        high = wp.min(high, wp.max(s0, s1))
    elif wp.abs(center) > half:
        high = low - 1.0
    return wp.vec2(low, high)


@wp.func
def face_span(axis: int, t: wp.vec3, u: wp.vec3, half: wp.vec3, length: float) -> wp.vec2:
    """Part of the segment over the rectangle of the faces of ``axis``."""
    span = wp.vec2(-length, length)
    for other in range(3):
        if other != axis:
            span = clip_slab(span, t[other], u[other], half[other])
    return span


@wp.func
def outside_span(d: wp.vec3, t: wp.vec3, u: wp.vec3, half: wp.vec3, length: float) -> wp.vec3:
    """Overlap of the segment with the face or edge that ``d`` (box to segment) rises from; last 1 for a face, else 0."""
    a = wp.vec3(wp.abs(d[0]), wp.abs(d[1]), wp.abs(d[2]))
    bound = NEAR_FACE * wp.length(d)
    span = wp.vec2(0.0, -1.0)
    edge = int(-1)
    for axis in range(3):
        if a[axis] > bound:
            span = face_span(axis, t, u, half, length)
            edge = 3
        elif a[axis] == 0.0 and edge < 0:
            edge = axis
    if edge == 0 or edge == 1 or edge == 2:
        span = clip_slab(wp.vec2(-length, length), t[edge], u[edge], half[edge])
    return wp.vec3(span[0], span[1], wp.where(edge == 3, 1.0, 0.0))


@wp.func
def deep_normal(t: wp.vec3, u: wp.vec3, half: wp.vec3, length: float) -> wp.vec4:
    """Axis of least penetration of a segment that enters the box, from the box outward.

    Separating axes: three faces, and three edges against the segment. The last
    component is the face axis, or 3 for an edge.
    """
    best = float(-wp.inf)
    found = wp.vec4(0.0, 0.0, 0.0, 3.0)
    for axis in range(3):
        s = wp.abs(t[axis]) - half[axis] - length * wp.abs(u[axis])
        if s > best:
            best = s
            found = wp.vec4(0.0, 0.0, 0.0, float(axis))
            found[axis] = wp.where(t[axis] < 0.0, -1.0, 1.0)
    if length > 0.0:
        best += FACE_PREFERENCE * wp.min(wp.min(half), length)
        for axis in range(3):
            e = wp.vec3()
            e[axis] = 1.0
            n = wp.cross(e, u)
            size = wp.length(n)
            if size > 3.0e-4:
                n = n / size
                s = wp.dot(n, t)
                if s < 0.0:
                    n = -n
                    s = -s
                s = s - wp.dot(half, wp.vec3(wp.abs(n[0]), wp.abs(n[1]), wp.abs(n[2])))
                if s > best:
                    best = s
                    found = wp.vec4(n[0], n[1], n[2], 3.0)
    return found


@wp.func
def edge_parameter(n: wp.vec3, t: wp.vec3, u: wp.vec3, half: wp.vec3, length: float) -> float:
    """Parameter of the segment nearest to the box edge that supports ``n``."""
    axis = int(0)
    for k in range(3):
        if wp.abs(n[k]) < wp.abs(n[axis]):
            axis = k
    corner = wp.vec3()
    for k in range(3):
        corner[k] = wp.where(n[k] < 0.0, -half[k], half[k])
    away = t - corner
    away[axis] = 0.0
    across = u
    across[axis] = 0.0
    return wp.clamp(-wp.dot(away, across) / wp.dot(across, across), -length, length)


@wp.func
def box_segment_contacts(
    t: wp.vec3, u: wp.vec3, half: wp.vec3, length: float, nearest: wp.vec2, fixed: wp.vec4
) -> wp.vec3:
    """Parameters of up to two contacts in ascending order, and their number.

    ``fixed`` is the normal and axis of a segment that enters the box, or zero.
    """
    s = nearest[0]
    span = nearest
    if fixed[0] != 0.0 or fixed[1] != 0.0 or fixed[2] != 0.0:
        if fixed[3] < 3.0:
            span = face_span(int(fixed[3]), t, u, half, length)
            return wp.vec3(span[0], span[1], wp.where(span[1] - span[0] > SHORT * length, 2.0, 1.0))
        s = edge_parameter(wp.vec3(fixed[0], fixed[1], fixed[2]), t, u, half, length)
        return wp.vec3(s, s, 1.0)
    if nearest[1] - nearest[0] > SHORT * length:
        return wp.vec3(nearest[0], nearest[1], 2.0)
    p = t + u * s
    over = outside_span(p - clamp_to_box(p, half), t, u, half, length)
    if over[1] - over[0] > SHORT * length:
        # Over a face the distance is linear: what is nearest between the ends is so by rounding alone, anywhere.
        if over[2] == 1.0 and s > over[0] and s < over[1]:
            return wp.vec3(over[0], over[1], 2.0)
        if s - over[0] > over[1] - s:
            return wp.vec3(over[0], s, 2.0)
        return wp.vec3(s, over[1], 2.0)
    return wp.vec3(s, s, 1.0)


@wp.func
def way_out(p: wp.vec3, half: wp.vec3, fixed: wp.vec4, extent: float) -> wp.vec4:
    """Unit direction from the box to a point of the segment, and the distance along it.

    What a point is beside a face by the rounding of ``extent`` counts as over it.
    """
    n = wp.vec3(fixed[0], fixed[1], fixed[2])
    if n[0] != 0.0 or n[1] != 0.0 or n[2] != 0.0:
        reach = wp.vec3(wp.abs(n[0]), wp.abs(n[1]), wp.abs(n[2]))
        return wp.vec4(n[0], n[1], n[2], wp.dot(n, p) - wp.dot(reach, half))
    n = p - clamp_to_box(p, half)
    most = wp.max(wp.vec3(wp.abs(n[0]), wp.abs(n[1]), wp.abs(n[2])))
    for axis in range(3):
        if wp.abs(n[axis]) < most and wp.abs(n[axis]) < ROUNDING * extent:
            n[axis] = 0.0
    distance = wp.length(n)
    return wp.vec4(n[0] / distance, n[1] / distance, n[2] / distance, distance)


@wp.func
def across_segment(
    n: wp.vec3, u: wp.vec3, s: float, nearest: wp.vec2, length: float, fixed: wp.vec4
) -> wp.vec3:
    """A normal at parameter ``s`` made square to the segment where that is nearest between its ends.

    Near the box the difference of the nearest points is mostly rounding, and this much is known of it.
    """
    is_nearest = wp.length_sq(fixed) == 0.0 and (s == nearest[0] or s == nearest[1])
    if is_nearest and wp.abs(s) < length:
        return wp.normalize(n - u * wp.dot(n, u))
    return n


@wp.func(inline=True)
def rounded_box_manifold(item: wp.vec4i, margin: float, slot: int, world: World, points_out: Points) -> int:
    """Points of a pair, from a slot on, and their number; the frame shape f is the box."""
    f = item[0]
    o = item[1]
    local_f = world.local_pose[item[2]]
    local_o = world.local_pose[item[3]]
    limit = pair_limit(world, item, margin)
    x = relative_pose(world.shape_body[f], world.shape_body[o], local_f, local_o, world.body_pose)
    t = wp.transform_get_translation(x)
    q = wp.transform_get_rotation(x)
    half = world.shape_size[f]
    count = int(0)
    if wp.length(t - clamp_to_box(t, half)) - world.shape_radius[o] < limit:
        radius = world.shape_size[o][0]
        length = wp.where(world.shape_type[o] == CAPSULE, world.shape_size[o][1], 0.0)
        u = wp.quat_rotate(q, wp.vec3(0.0, 0.0, 1.0))
        nearest = nearest_interval(t, u, half, length)
        p = t + u * nearest[0]
        fixed = wp.vec4()
        if wp.length(p - clamp_to_box(p, half)) < 1.0e-7 * wp.max(half):
            fixed = deep_normal(t, u, half, length)
        spots = box_segment_contacts(t, u, half, length, nearest, fixed)
        q_f = pair_rotation(world.shape_body[f], world.body_pose, local_f)
        for k in range(2):
            p = t + u * spots[k]
            way = way_out(p, half, fixed, wp.max(half) + length)
            n = across_segment(wp.vec3(way[0], way[1], way[2]), u, spots[k], nearest, length, fixed)
            distance = way[3]
            separation = distance - radius
            if float(k) < spots[2] and separation < limit:
                point_o = wp.vec3(0.0, 0.0, spots[k]) - wp.quat_rotate_inv(q, n) * radius
                store_point(
                    slot + count,
                    wp.where(f < o, 0, 1),
                    wp.transform_point(local_f, p - n * distance),
                    wp.transform_point(local_o, point_o),
                    wp.quat_rotate(q_f, n),
                    separation,
                    wp.where(spots[2] > 1.0, k, SINGLE),
                    points_out.anchor,
                    points_out.normal,
                    points_out.separation,
                    points_out.feature,
                )
                count += 1
    return count


@wp.kernel
def collide_rounded_boxes(
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
        count = rounded_box_manifold(item, margin, world.slot_start[pair], world, points_out)
    points_out.count[pair] = count
