"""Contact manifold of two box faces: clipping and reduction to four points.

The incident face is clipped against the sides of the reference face
[Sutherland and Hodgman 1974]. Each vertex carries an identity that does not change
while the same features touch: the corner, or the clipped edge with the side.
"""

import warp as wp

from .plane import sorted_four

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

vec8 = wp.types.vector(length=8, dtype=wp.float32)
vec8i = wp.types.vector(length=8, dtype=wp.int32)

# Depths nearer than this (in half extents of the reference face) count as equal when
# the first point of a manifold is chosen, so that rounding does not change the choice.
SEED_BAND = wp.constant(1.0e-5)


@wp.func
def incident_axis(direction: wp.vec3) -> int:
    """Axis of the largest component."""
    a = wp.vec3(wp.abs(direction[0]), wp.abs(direction[1]), wp.abs(direction[2]))
    axis = int(2)
    if a[0] >= a[1] and a[0] >= a[2]:
        axis = 0
    elif a[1] >= a[2]:
        axis = 1
    return axis


@wp.func
def snap(value: float, half: float, band: float) -> float:
    """Put a coordinate that lies just outside of a side onto it.

    A corner near a side then stays the same corner instead of becoming a crossing.
    """
    result = value
    if wp.abs(value) > half and wp.abs(value) < half + band:
        result = wp.where(value < 0.0, -half, half)
    return result


@wp.func
def side_distance(side: int, x: float, y: float, half_x: float, half_y: float) -> float:
    """Distance outside of side 0 (+x), 1 (+y), 2 (−x), 3 (−y) of a rectangle."""
    d = x - half_x
    if side == 1:
        d = y - half_y
    elif side == 2:
        d = -x - half_x
    elif side == 3:
        d = -y - half_y
    return d


@wp.func
def clip_rectangle(
    half_x: float,
    half_y: float,
    count_in: int,
    x_in: vec8,
    y_in: vec8,
    side: int,
    name_in: vec8i,
    edge_in: vec8i,
):
    """Clip a convex polygon by one side; returns count, x, y, names, edge tags.

    ``edge`` tags the edge that leaves a vertex: 0..3 of the incident face, 4..7 a side.
    """
    x = vec8()
    y = vec8()
    name = vec8i()
    edge = vec8i()
    count = int(0)
    for k in range(count_in):
        after = wp.where(k + 1 < count_in, k + 1, 0)
        d0 = side_distance(side, x_in[k], y_in[k], half_x, half_y)
        d1 = side_distance(side, x_in[after], y_in[after], half_x, half_y)
        if d0 <= 0.0 and count < 8:
            x[count] = x_in[k]
            y[count] = y_in[k]
            name[count] = name_in[k]
            edge[count] = wp.where(d0 == 0.0 and d1 > 0.0, 4 + side, edge_in[k])
            count += 1
        if d0 * d1 < 0.0 and count < 8:
            s = d0 / (d0 - d1)
            x[count] = x_in[k] + s * (x_in[after] - x_in[k])
            y[count] = y_in[k] + s * (y_in[after] - y_in[k])
            name[count] = 4 + edge_in[k] * 4 + side
            edge[count] = wp.where(d1 > 0.0, 4 + side, edge_in[k])
            count += 1
    return count, x, y, name, edge


@wp.func
def turned_area(ax: float, ay: float, bx: float, by: float) -> float:
    """Twice the signed area of the triangle of two edge vectors."""
    return ax * by - ay * bx


@wp.func
def choose_four(count: int, x: vec8, y: vec8, z: vec8, limit: float, band: float) -> wp.vec4i:
    """Indices of at most four points below ``limit``, −1 for absent ones.

    The deepest, the farthest from it, the largest triangle, the largest addition.
    """
    least = float(wp.inf)
    for k in range(count):
        least = wp.min(least, z[k])
    if not (least < limit):
        return wp.vec4i(-1, -1, -1, -1)
    a = int(-1)
    for k in range(count):
        if a < 0 and z[k] <= least + band:
            a = k
    b = int(-1)
    best = float(0.0)
    for k in range(count):
        reach = (x[k] - x[a]) * (x[k] - x[a]) + (y[k] - y[a]) * (y[k] - y[a])
        if z[k] < limit and reach > best:
            best = reach
            b = k
    c = int(-1)
    d = int(-1)
    if b >= 0:
        area_c = float(1.0e-5) * best
        for k in range(count):
            area = turned_area(x[b] - x[a], y[b] - y[a], x[k] - x[a], y[k] - y[a])
            if z[k] < limit and wp.abs(area) > wp.abs(area_c):
                area_c = area
                c = k
        if c >= 0:
            turn = wp.where(area_c < 0.0, 1.0, -1.0)
            gain = float(1.0e-3) * wp.abs(area_c)
            for k in range(count):
                ab = turned_area(x[b] - x[a], y[b] - y[a], x[k] - x[a], y[k] - y[a])
                bc = turned_area(x[c] - x[b], y[c] - y[b], x[k] - x[b], y[k] - y[b])
                ca = turned_area(x[a] - x[c], y[a] - y[c], x[k] - x[c], y[k] - y[c])
                more = turn * wp.where(turn > 0.0, wp.max(ab, wp.max(bc, ca)), wp.min(ab, wp.min(bc, ca)))
                if z[k] < limit and more > gain:
                    gain = more
                    d = k
    return wp.vec4i(a, b, c, d)


@wp.func
def clip_faces(
    half_r: wp.vec3, half_i: wp.vec3, rotation: wp.mat33, t: wp.vec3, axis: int, sign: float, limit: float
):
    """Clip the incident face of box i against face ``sign axis`` of box r.

    Everything is in the frame of box r; ``rotation`` and ``t`` place box i in it.

    Returns:
        Four points on box r, their separations, their identities ascending (−1 for
        absent points, which come first), and the incident face (axis, +3 if positive).
    """
    a1 = wp.where(axis == 2, 0, axis + 1)
    a2 = wp.where(axis == 0, 2, axis - 1)
    outward = wp.vec3()
    outward[axis] = sign
    b = incident_axis(wp.transpose(rotation) * outward)
    n = wp.vec3(rotation[0, b], rotation[1, b], rotation[2, b])
    face = wp.where(n[axis] * sign > 0.0, -1.0, 1.0)
    b1 = wp.where(b == 2, 0, b + 1)
    b2 = wp.where(b == 0, 2, b - 1)
    center = t + n * (face * half_i[b])
    u = wp.vec3(rotation[0, b1], rotation[1, b1], rotation[2, b1]) * half_i[b1]
    v = wp.vec3(rotation[0, b2], rotation[1, b2], rotation[2, b2]) * half_i[b2]
    hx = half_r[a1]
    hy = half_r[a2]
    band = 1.0e-4 * wp.min(wp.min(hx, hy), wp.min(half_i[b1], half_i[b2]))
    x = vec8()
    y = vec8()
    name = vec8i()
    edge = vec8i()
    for k in range(4):
        su = wp.where(k == 1 or k == 2, 1.0, -1.0)
        sv = wp.where(k >= 2, 1.0, -1.0)
        x[k] = snap(center[a1] + su * u[a1] + sv * v[a1], hx, band)
        y[k] = snap(center[a2] + su * u[a2] + sv * v[a2], hy, band)
        name[k] = k
        edge[k] = k
    count = int(4)
    for side in range(4):
        count, x, y, name, edge = clip_rectangle(hx, hy, count, x, y, side, name, edge)
    z = vec8()
    for k in range(count):
        rise = n[a1] * (x[k] - center[a1]) + n[a2] * (y[k] - center[a2])
        z[k] = sign * (center[axis] - rise / n[axis]) - half_r[axis]
    chosen = choose_four(count, x, y, z, limit, SEED_BAND * wp.max(hx, hy))
    names = wp.vec4i(-1, -1, -1, -1)
    for k in range(4):
        if chosen[k] >= 0:
            names[k] = name[chosen[k]]
    names = sorted_four(names[0], names[1], names[2], names[3])
    points = wp.mat44()
    for k in range(4):
        for m in range(count):
            if names[k] >= 0 and name[m] == names[k]:
                points[k, a1] = x[m]
                points[k, a2] = y[m]
                points[k, axis] = sign * half_r[axis]
                points[k, 3] = z[m]
    return points, names, b + wp.where(face > 0.0, 3, 0)
