"""Distance of two convex cores [Gilbert, Johnson and Keerthi 1988].

M is the set of differences of points of f and points of o, in the frame of f; the
distance of the cores is that of M to the origin.
"""

import warp as wp

from .support import Convex, mat43, piece_point, support_piece

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

mat42i = wp.types.matrix(shape=(4, 2), dtype=wp.int32)
MOST_STEPS = wp.constant(64)


@wp.func(inline=False)
def difference(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    d: wp.vec3,
):
    """Point of M farthest along ``d``, its point on the core of f, and the pieces of f and o."""
    back = -(wp.transpose(r) * d)
    pieces = wp.vec2i(support_piece(f, vertex_f, d), support_piece(o, vertex_o, back))
    a = piece_point(f, vertex_f, pieces[0], d)
    b = t + r * piece_point(o, vertex_o, pieces[1], back)
    return a - b, a, pieces


@wp.func
def split_origin(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    d: wp.vec3,
) -> wp.vec3:
    """Middle of the smaller core: about it, points of both keep the digits of the smaller one."""
    w, a, _pieces = difference(f, o, vertex_f, vertex_o, r, t, d)
    b = a - w - t
    return wp.where(wp.length_sq(a) > wp.length_sq(b), t, wp.vec3())


@wp.func(inline=False)
def split_point(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    pieces: wp.vec2i,
    d: wp.vec3,
):
    """Points of two pieces whose difference lies farthest along ``d``, about ``origin``.

    Differences of two corners of M are taken of f and of o apart, so that a feature of the smaller
    shape is not lost in the rounding of the larger one.
    """
    a = piece_point(f, vertex_f, pieces[0], d) - origin
    b = (t - origin) + r * piece_point(o, vertex_o, pieces[1], -(wp.transpose(r) * d))
    return a, b


@wp.func(inline=False)
def split_support(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    d: wp.vec3,
):
    """Points of f and o whose difference lies farthest along ``d``, about ``origin``, and their pieces."""
    pieces = wp.vec2i(support_piece(f, vertex_f, d), support_piece(o, vertex_o, -(wp.transpose(r) * d)))
    a, b = split_point(f, o, vertex_f, vertex_o, r, t, origin, pieces, d)
    return a, b, pieces


@wp.func
def segment_weights(p: wp.vec3, q: wp.vec3) -> wp.vec2:
    """Weights of the point of a segment nearest to the origin."""
    e = q - p
    s = wp.clamp(-wp.dot(p, e) / wp.max(wp.dot(e, e), 1.0e-30), 0.0, 1.0)
    return wp.vec2(1.0 - s, s)


@wp.func
def triangle_weights(a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec3:
    """Weights of the point of a triangle nearest to the origin."""
    n = wp.cross(b - a, c - a)
    nn = wp.dot(n, n)
    if nn > 0.0:
        u = wp.dot(n, wp.cross(b, c))
        v = wp.dot(n, wp.cross(c, a))
        w = wp.dot(n, wp.cross(a, b))
        if u >= 0.0 and v >= 0.0 and w >= 0.0:
            total = u + v + w
            if total > 0.0:
                return wp.vec3(u / total, v / total, w / total)
    ab = segment_weights(a, b)
    bc = segment_weights(b, c)
    ca = segment_weights(c, a)
    d_ab = wp.length_sq(a * ab[0] + b * ab[1])
    d_bc = wp.length_sq(b * bc[0] + c * bc[1])
    d_ca = wp.length_sq(c * ca[0] + a * ca[1])
    if d_ab <= d_bc and d_ab <= d_ca:
        return wp.vec3(ab[0], ab[1], 0.0)
    if d_bc <= d_ca:
        return wp.vec3(0.0, bc[0], bc[1])
    return wp.vec3(ca[1], 0.0, ca[0])


@wp.func
def tetrahedron_weights(w: mat43) -> wp.vec4:
    """Weights of the point of a tetrahedron nearest to the origin; all positive inside."""
    a = w[0]
    b = w[1]
    c = w[2]
    d = w[3]
    volume = wp.dot(b - a, wp.cross(c - a, d - a))
    va = wp.dot(b, wp.cross(c, d))
    vb = -wp.dot(a, wp.cross(c, d))
    vc = wp.dot(a, wp.cross(b, d))
    vd = -wp.dot(a, wp.cross(b, c))
    if volume < 0.0:
        va = -va
        vb = -vb
        vc = -vc
        vd = -vd
        volume = -volume
    if va > 0.0 and vb > 0.0 and vc > 0.0 and vd > 0.0 and volume > 0.0:
        total = va + vb + vc + vd
        return wp.vec4(va, vb, vc, vd) / total
    best = float(wp.inf)
    found = wp.vec4()
    for skip in range(4):
        i = wp.where(skip == 0, 1, 0)
        j = wp.where(skip <= 1, 2, 1)
        k = wp.where(skip <= 2, 3, 2)
        weights = triangle_weights(w[i], w[j], w[k])
        distance = wp.length_sq(w[i] * weights[0] + w[j] * weights[1] + w[k] * weights[2])
        if distance < best:
            best = distance
            found = wp.vec4()
            found[i] = weights[0]
            found[j] = weights[1]
            found[k] = weights[2]
    return found


@wp.func(inline=False)
def simplex_weights(w: mat43, count: int) -> wp.vec4:
    """Weights of the point of a simplex of 1 to 4 corners nearest to the origin."""
    weights = wp.vec4(1.0, 0.0, 0.0, 0.0)
    if count == 2:
        two = segment_weights(w[0], w[1])
        weights = wp.vec4(two[0], two[1], 0.0, 0.0)
    elif count == 3:
        three = triangle_weights(w[0], w[1], w[2])
        weights = wp.vec4(three[0], three[1], three[2], 0.0)
    elif count == 4:
        weights = tetrahedron_weights(w)
    return weights


@wp.func(inline=False)
def core_distance(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    limit: float,
    tolerance: float,
):
    """Nearest points of two cores.

    Args:
        limit: Distances proven to be larger are not refined.
        tolerance: Error of the distance [length] that ends the search.

    Returns:
        The point of M nearest to the origin (zero where the cores overlap), the point on
        the core of f, a lower bound of the distance, and the pieces (of f and o, a row each)
        that the nearest point lies between, with their number.
    """
    w = mat43()
    a = mat43()
    pieces = mat42i()
    count = int(1)
    v, p_f, first = difference(f, o, vertex_f, vertex_o, r, t, t)
    w[0] = v
    a[0] = p_f
    pieces[0] = first
    bound = float(0.0)
    for _step in range(MOST_STEPS):
        distance = wp.length(v)
        if distance <= tolerance:
            break
        next_w, next_a, next_pieces = difference(f, o, vertex_f, vertex_o, r, t, -v)
        bound = wp.max(bound, wp.dot(v, next_w) / distance)
        if bound > limit or distance - bound <= tolerance:
            break
        known = bool(False)
        for k in range(count):
            known = known or wp.length_sq(w[k] - next_w) == 0.0
        if known:
            break
        w[count] = next_w
        a[count] = next_a
        pieces[count] = next_pieces
        weights = simplex_weights(w, count + 1)
        nearer = wp.vec3()
        point = wp.vec3()
        for k in range(count + 1):
            nearer += w[k] * weights[k]
            point += a[k] * weights[k]
        inside = weights[0] > 0.0 and weights[1] > 0.0 and weights[2] > 0.0 and weights[3] > 0.0
        if inside:
            v = wp.vec3()
            p_f = point
            break
        if wp.length_sq(nearer) >= distance * distance:
            break
        kept = int(0)
        for k in range(count + 1):
            if weights[k] > 0.0:
                w[kept] = w[k]
                a[kept] = a[k]
                pieces[kept] = pieces[k]
                kept += 1
        count = kept
        v = nearer
        p_f = point
    return v, p_f, bound, pieces, count
