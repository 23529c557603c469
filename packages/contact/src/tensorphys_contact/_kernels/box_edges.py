"""Nearest edges and corners of two boxes."""

import warp as wp

from .plane import box_corner
from .rounded_box import clamp_to_box

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


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
    """Nearest points over all pairs of edges: (point on f, point on o, names)."""
    best = float(wp.inf)
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
            if d < best:
                best = d
                p_f = q_f
                p_o = q_o
                names = m * 12 + k
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
    """Nearest points of two boxes apart, given the nearest points of their edges.

    What edges do not hold is a corner over a face.
    """
    best = wp.length(p_o - p_f)
    at_f = p_f
    at_o = p_o
    found = names
    for c in range(8):
        corner = t + r * box_corner(half_o, c)
        onto = clamp_to_box(corner, half_f)
        d = wp.length(corner - onto)
        if d < best:
            best = d
            at_f = onto
            at_o = corner
            found = 144 + c
        corner = box_corner(half_f, c)
        onto = t + r * clamp_to_box(wp.transpose(r) * (corner - t), half_o)
        d = wp.length(corner - onto)
        if d < best:
            best = d
            at_f = corner
            at_o = onto
            found = 152 + c
    return at_f, at_o, found
