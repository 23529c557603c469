"""Contact points of two faces, or of a face and a line, along a given normal.

All corners that may bound the overlap are tried: corners of one face over the other and
crossings of their sides, seen along the normal. Each has a name that does not change
while the same features touch.
"""

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

MOST_POINTS = wp.constant(48)
# Names: corner of the other face, corner of the reference face, crossing.
REFERENCE_NAME = wp.constant(16)
CROSSING_NAME = wp.constant(32)
# A face steeper than this (cosine) against the normal holds no corner of the other.
STEEP = wp.constant(0.05)


@wp.func
def across(m: wp.vec3) -> wp.vec3:
    """A unit vector across a unit vector."""
    e = wp.vec3(0.0, m[2], -m[1])
    if wp.abs(m[0]) > 0.6:
        e = wp.vec3(-m[2], 0.0, m[0])
    return wp.normalize(e)


@wp.func
def twice_area(m: wp.vec3, count: int, corner: wp.array[wp.vec3]) -> float:
    """Twice the area of a polygon seen against ``m``, positive counter-clockwise."""
    total = wp.vec3()
    for k in range(1, count - 1):
        total += wp.cross(corner[k] - corner[0], corner[k + 1] - corner[0])
    return wp.dot(m, total)


@wp.func
def outside(p: wp.vec3, m: wp.vec3, turn: float, count: int, corner: wp.array[wp.vec3]) -> float:
    """How far a point lies outside of a polygon seen along ``m``; negative inside."""
    worst = float(-wp.inf)
    for k in range(count):
        a = corner[k]
        e = corner[(k + 1) % count] - a
        n = wp.cross(e, m) * turn
        worst = wp.max(worst, wp.dot(n, p - a) / wp.max(wp.length(n), 1.0e-30))
    return worst


@wp.func
def add_point(
    count: int,
    p: wp.vec3,
    height: float,
    name: int,
    limit: float,
    point_out: wp.array[wp.vec4],
    name_out: wp.array[wp.int32],
) -> int:
    """Append a point below the limit; the new count."""
    if height < limit and count < MOST_POINTS:
        point_out[count] = wp.vec4(p[0], p[1], p[2], height)
        name_out[count] = name
        return count + 1
    return count


@wp.func
def crossing(a0: wp.vec3, a1: wp.vec3, b0: wp.vec3, b1: wp.vec3, m: wp.vec3) -> float:
    """Parameter of side a where it properly crosses side b, seen along ``m``; −1 where not."""
    ea = a1 - a0
    eb = b1 - b0
    n = wp.cross(eb, m)
    d0 = wp.dot(n, a0 - b0)
    d1 = wp.dot(n, a1 - b0)
    k = wp.cross(ea, m)
    c0 = wp.dot(k, b0 - a0)
    c1 = wp.dot(k, b1 - a0)
    if d0 * d1 < 0.0 and c0 * c1 < 0.0:
        return d0 / (d0 - d1)
    return -1.0


@wp.func(inline=False)
def overlap_points(
    m: wp.vec3,
    ref_count: int,
    ref: wp.array[wp.vec3],
    inc_count: int,
    inc: wp.array[wp.vec3],
    limit: float,
    band: float,
    point_out: wp.array[wp.vec4],
    name_out: wp.array[wp.int32],
) -> int:
    """Candidates of the other face ``inc`` over the reference face; returns their number.

    ``m`` is the outward normal of the reference face. A point lies on the other face and
    its fourth component is its height over the reference face.
    """
    count = int(0)
    turn = wp.sign(twice_area(m, ref_count, ref))
    base = ref[0]
    for k in range(inc_count):
        p = inc[k]
        if outside(p, m, turn, ref_count, ref) <= band:
            count = add_point(count, p, wp.dot(m, p - base), k, limit, point_out, name_out)
    sides = wp.where(inc_count == 2, 1, inc_count)
    for k in range(sides):
        p0 = inc[k]
        p1 = inc[(k + 1) % inc_count]
        for j in range(ref_count):
            s = crossing(p0, p1, ref[j], ref[(j + 1) % ref_count], m)
            if s >= 0.0:
                p = p0 + (p1 - p0) * s
                count = add_point(
                    count,
                    p,
                    wp.dot(m, p - base),
                    CROSSING_NAME + k * 16 + j,
                    limit,
                    point_out,
                    name_out,
                )
    if inc_count > 2:
        n = wp.vec3()
        for k in range(1, inc_count - 1):
            n += wp.cross(inc[k] - inc[0], inc[k + 1] - inc[0])
        n = wp.normalize(n)
        slope = wp.dot(n, m)
        if wp.abs(slope) > STEEP:
            for j in range(ref_count):
                if outside(ref[j], m, wp.sign(slope), inc_count, inc) <= band:
                    rise = wp.dot(n, inc[0] - ref[j]) / slope
                    count = add_point(
                        count, ref[j] + m * rise, rise, REFERENCE_NAME + j, limit, point_out, name_out
                    )
    return count


@wp.func
def line_points(
    n: wp.vec3,
    ref: wp.array[wp.vec3],
    inc: wp.array[wp.vec3],
    limit: float,
    point_out: wp.array[wp.vec4],
    name_out: wp.array[wp.int32],
) -> int:
    """Ends of the overlap of two nearly parallel lines across ``n``; none for others."""
    e = ref[1] - ref[0]
    g = inc[1] - inc[0]
    length = wp.length(e)
    u = e / wp.max(length, 1.0e-30)
    v = wp.normalize(g)
    count = int(0)
    if wp.abs(wp.dot(u, n)) < 0.02 and wp.abs(wp.dot(v, n)) < 0.02 and wp.length_sq(wp.cross(u, v)) < 1.0e-3:
        start = wp.dot(u, inc[0] - ref[0])
        end = wp.dot(u, inc[1] - ref[0])
        low = wp.clamp(wp.min(start, end), 0.0, length)
        high = wp.clamp(wp.max(start, end), 0.0, length)
        if high - low > 1.0e-3 * length:
            for k in range(2):
                at = wp.where(k == 0, low, high)
                p = inc[0] + g * ((at - start) / (end - start))
                height = wp.dot(n, p - ref[0] - u * at)
                count = add_point(count, p, height, k, limit, point_out, name_out)
    return count


@wp.func(inline=False)
def choose_points(n: wp.vec3, count: int, band: float, point: wp.array[wp.vec4], most: int) -> wp.vec4i:
    """Up to ``most`` (1 to 4) of the points: the deepest, then those that span the most.

    −1 for absent ones.
    """
    chosen = wp.vec4i(-1, -1, -1, -1)
    least = float(wp.inf)
    for k in range(count):
        least = wp.min(least, point[k][3])
    for k in range(count):
        if chosen[0] < 0 and point[k][3] <= least + band:
            chosen[0] = k
    if count < 2 or most < 2:
        return chosen
    pa = xyz(point[chosen[0]])
    best = band * band
    for k in range(count):
        d = xyz(point[k]) - pa
        d = d - n * wp.dot(n, d)
        if wp.length_sq(d) > best * 1.0001:
            best = wp.length_sq(d)
            chosen[1] = k
    if chosen[1] < 0 or most < 3:
        return chosen
    pb = xyz(point[chosen[1]])
    # Among points that are as deep as the first, the one farthest from the second is a corner.
    far = best * 1.0001
    for k in range(count):
        d = xyz(point[k]) - pb
        d = d - n * wp.dot(n, d)
        if point[k][3] <= least + band and wp.length_sq(d) > far:
            far = wp.length_sq(d)
            chosen[0] = k
    pa = xyz(point[chosen[0]])
    best = wp.max(best, far)
    area_c = float(1.0e-3) * best
    side = float(0.0)
    for k in range(count):
        area = wp.dot(n, wp.cross(pb - pa, xyz(point[k]) - pa))
        if wp.abs(area) > area_c * 1.0001:
            area_c = wp.abs(area)
            side = wp.sign(area)
            chosen[2] = k
    if chosen[2] < 0 or most < 4:
        return chosen
    pc = xyz(point[chosen[2]])
    gain = float(1.0e-3) * area_c
    for k in range(count):
        p = xyz(point[k])
        ab = wp.dot(n, wp.cross(pb - pa, p - pa))
        bc = wp.dot(n, wp.cross(pc - pb, p - pb))
        ca = wp.dot(n, wp.cross(pa - pc, p - pc))
        more = -wp.min(side * ab, wp.min(side * bc, side * ca))
        if more > gain * 1.0001:
            gain = more
            chosen[3] = k
    return chosen


@wp.func
def xyz(p: wp.vec4) -> wp.vec3:
    """First three components."""
    return wp.vec3(p[0], p[1], p[2])
