"""Nearest edges and corners of two boxes."""

import warp as wp

from .plane import box_corner
from .rounded_box import clamp_to_box

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


INNER_F = wp.constant(1 << 8)
INNER_O = wp.constant(1 << 9)


@wp.func
def column(m: wp.mat33, j: int) -> wp.vec3:
    """Column j of a matrix."""
    return wp.vec3(m[0, j], m[1, j], m[2, j])


@wp.func
def edge_center(half: wp.vec3, axis: int, toward: wp.vec3) -> wp.vec3:
    """Middle of the box edge along ``axis`` that lies farthest in a direction."""
    p = wp.vec3()
    for k in range(3):
        if k != axis:
            p[k] = wp.where(toward[k] < 0.0, -half[k], half[k])
    return p


@wp.func
def edge_name(axis: int, p: wp.vec3) -> int:
    """Number 0..11 of a box edge from its axis and the signs of its middle."""
    first = wp.where(axis == 0, 1, 0)
    second = wp.where(axis == 2, 1, 2)
    name = axis * 4
    if p[first] > 0.0:
        name += 1
    if p[second] > 0.0:
        name += 2
    return name


@wp.func
def nearest_parameters(a: wp.vec3, b: wp.vec3, w: wp.vec3, half_a: float, half_b: float) -> wp.vec2:
    """Parameters of the nearest points of two centred segments, w from centre a to centre b."""
    across = wp.length_sq(wp.cross(a, b))
    r = float(0.0)
    if across > 1.0e-8:
        along = w - a * wp.dot(a, w)
        r = wp.clamp(-wp.dot(b, along) / across, -half_b, half_b)
    s = wp.clamp(wp.dot(a, w + b * r), -half_a, half_a)
    r = wp.clamp(wp.dot(b, a * s - w), -half_b, half_b)
    return wp.vec2(s, r)


@wp.func
def nearest_edges(r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3):
    """Nearest points over all pairs of edges: point on f, point on o, name.

    The name is that of the edges, with ``INNER_F`` and ``INNER_O`` where the point is none of
    the ends of its edge.
    """
    best = float(wp.inf)
    most = int(-1)
    tie = 1.0e-7 * (wp.max(half_f) + wp.max(half_o))
    p_f = wp.vec3()
    p_o = wp.vec3()
    names = int(0)
    for m in range(12):
        i = m // 4
        for k in range(12):
            j = k // 4
            c_f = edge_center(half_f, i, edge_signs(i, m % 4))
            local = edge_center(half_o, j, edge_signs(j, k % 4))
            c_o = t + r * local
            a = wp.vec3()
            a[i] = 1.0
            b = column(r, j)
            at = nearest_parameters(a, b, c_o - c_f, half_f[i], half_o[j])
            q_f = c_f + a * at[0]
            q_o = c_o + b * at[1]
            d = wp.length(q_o - q_f)
            inner_f = wp.abs(at[0]) < half_f[i]
            inner_o = wp.abs(at[1]) < half_o[j]
            inner = wp.where(inner_f, 1, 0) + wp.where(inner_o, 1, 0)
            # An end is nearest only where no edge through it is nearer further on; as well to rounding
            # is then not nearest.
            if d < best - tie or (d < best + tie and inner > most):
                best = d
                most = inner
                p_f = q_f
                p_o = q_o
                names = m * 12 + k + wp.where(inner_f, INNER_F, 0) + wp.where(inner_o, INNER_O, 0)
    return p_f, p_o, names


@wp.func
def edge_signs(axis: int, bits: int) -> wp.vec3:
    """Direction with the signs of one of the four edges along an axis."""
    first = wp.where(axis == 0, 1, 0)
    second = wp.where(axis == 2, 1, 2)
    v = wp.vec3()
    v[first] = wp.where((bits & 1) != 0, 1.0, -1.0)
    v[second] = wp.where((bits & 2) != 0, 1.0, -1.0)
    return v


@wp.func
def support_edges(r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, code: int, normal: wp.vec3):
    """Nearest points of the two edges that an edge axis stands for."""
    i = code // 3
    j = code % 3
    c_f = edge_center(half_f, i, normal)
    local = edge_center(half_o, j, -(wp.transpose(r) * normal))
    c_o = t + r * local
    a = wp.vec3()
    a[i] = 1.0
    b = column(r, j)
    at = nearest_parameters(a, b, c_o - c_f, half_f[i], half_o[j])
    inside = wp.abs(at[0]) < half_f[i] and wp.abs(at[1]) < half_o[j]
    return c_f + a * at[0], c_o + b * at[1], edge_name(i, c_f) * 12 + edge_name(j, local), inside


@wp.func
def nearest_corners(
    r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, p_f: wp.vec3, p_o: wp.vec3, names: int
):
    """Nearest points of two boxes apart and the unit vector between them.

    Given are the nearest points of their edges; what edges do not hold is a corner over a face.
    """
    best = wp.length(p_o - p_f)
    tie = 1.0e-7 * (wp.max(half_f) + wp.max(half_o))
    at_f = p_f
    at_o = p_o
    way = between_edges(r, p_o - p_f, names)
    found = names & 255
    for c in range(8):
        corner = t + r * box_corner(half_o, c)
        onto = clamp_to_box(corner, half_f)
        d = wp.length(corner - onto)
        if d < best + tie and over_face(corner - onto):
            best = d
            at_f = onto
            at_o = corner
            way = wp.normalize(corner - onto)
            found = 144 + c
        corner = wp.transpose(r) * (box_corner(half_f, c) - t)
        onto = clamp_to_box(corner, half_o)
        d = wp.length(corner - onto)
        if d < best + tie and over_face(corner - onto):
            best = d
            at_f = box_corner(half_f, c)
            at_o = t + r * onto
            way = r * wp.normalize(onto - corner)
            found = 152 + c
    return at_f, at_o, way, found


@wp.func
def over_face(d: wp.vec3) -> bool:
    """Whether a point lies over a face of a box, given where it lies from the nearest point."""
    return wp.where(d[0] != 0.0, 1, 0) + wp.where(d[1] != 0.0, 1, 0) + wp.where(d[2] != 0.0, 1, 0) == 1


@wp.func
def between_edges(r: wp.mat33, d: wp.vec3, name: int) -> wp.vec3:
    """Unit vector along ``d`` between nearest points of edges, across those that they lie within.

    Near each other the points alone leave it to their rounding.
    """
    way = d
    on_f = (name & INNER_F) != 0
    on_o = (name & INNER_O) != 0
    i = (name & 255) // 48
    a = wp.vec3()
    a[i] = 1.0
    b = column(r, ((name & 255) % 12) // 4)
    n = wp.cross(a, b)
    if on_f and on_o and wp.length_sq(n) > 1.0e-7:
        way = wp.where(wp.dot(n, d) < 0.0, -n, n)
    elif on_f:
        way = d - a * wp.dot(a, d)
    elif on_o:
        way = d - b * wp.dot(b, d)
    return way / wp.max(wp.length(way), 1.0e-30)
