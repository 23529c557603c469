"""Rays against single shapes, in the frame of the shape.

A convex shape is an intersection of slabs, half spaces and quadrics, each of which a line
crosses in one interval [Kay and Kajiya 1986]; a ray hits where the last interval begins.
"""

import warp as wp

from .support import BOX, CAPSULE, CONE, CONVEX_HULL, CYLINDER, ELLIPSOID, SPHERE, Convex

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.struct
class Span:
    """Part of a line inside of a convex set, and the normal where it enters."""

    enter: float
    leave: float
    normal: wp.vec3


@wp.func
def whole_line() -> Span:
    """A span without ends."""
    s = Span()
    s.enter = float(-wp.inf)
    s.leave = float(wp.inf)
    return s


@wp.func
def cut(s: Span, enter: float, leave: float, normal: wp.vec3) -> Span:
    """Intersect a span with an interval that is entered through ``normal``."""
    result = s
    if enter > s.enter:
        result.enter = enter
        result.normal = normal
    result.leave = wp.min(s.leave, leave)
    return result


@wp.func
def cut_plane(s: Span, p: wp.vec3, d: wp.vec3, n: wp.vec3, offset: float) -> Span:
    """Intersect with the half space ``n · x <= offset``."""
    along = wp.dot(n, d)
    over = wp.dot(n, p) - offset
    result = s
    if along < 0.0:
        result = cut(s, -over / along, wp.inf, n)
    elif along > 0.0:
        result.leave = wp.min(s.leave, -over / along)
    elif over > 0.0:
        result.leave = float(-wp.inf)
    return result


@wp.func
def roots(a: float, b: float, c: float) -> wp.vec2:
    """Roots of ``a t² + 2 b t + c``, lower first; an empty interval where there are none."""
    root = b * b - a * c
    if root < 0.0 or a == 0.0:
        return wp.vec2(wp.inf, -wp.inf)
    q = -b - wp.where(b < 0.0, -1.0, 1.0) * wp.sqrt(root)
    t0 = q / a
    t1 = t0
    if q != 0.0:
        t1 = c / q
    return wp.vec2(wp.min(t0, t1), wp.max(t0, t1))


@wp.func
def ball(center: wp.vec3, size: wp.vec3, p: wp.vec3, d: wp.vec3) -> Span:
    """Span of a line in an ellipsoid with semi-axes ``size``."""
    o = wp.cw_div(p - center, size)
    e = wp.cw_div(d, size)
    # From the point nearest to the centre, so that far origins keep their digits.
    nearest = -wp.dot(o, e) / wp.dot(e, e)
    m = o + e * nearest
    t = roots(wp.dot(e, e), 0.0, wp.dot(m, m) - 1.0)
    s = Span()
    s.enter = t[0] + nearest
    s.leave = t[1] + nearest
    s.normal = wp.normalize(wp.cw_div(o + e * s.enter, size))
    return s


@wp.func
def cut_side(s: Span, p: wp.vec3, d: wp.vec3, radius: float) -> Span:
    """Intersect with the cylinder of a radius about Z."""
    a = d[0] * d[0] + d[1] * d[1]
    result = s
    if a > 0.0:
        nearest = -(p[0] * d[0] + p[1] * d[1]) / a
        x = p[0] + d[0] * nearest
        y = p[1] + d[1] * nearest
        t = roots(a, 0.0, x * x + y * y - radius * radius)
        at = t[0]
        n = wp.normalize(wp.vec3(x + d[0] * at, y + d[1] * at, 0.0))
        result = cut(s, t[0] + nearest, t[1] + nearest, n)
    elif p[0] * p[0] + p[1] * p[1] > radius * radius:
        result.leave = float(-wp.inf)
    return result


@wp.func
def cut_cone(s: Span, p: wp.vec3, d: wp.vec3, size: wp.vec3) -> Span:
    """Intersect with the infinite cone of a cone shape, below its apex."""
    k = size[0] / (2.0 * size[1])
    # From the point nearest to the apex, so that far origins keep their digits.
    nearest = -(p[0] * d[0] + p[1] * d[1] + (p[2] - size[1]) * d[2])
    x = p[0] + d[0] * nearest
    y = p[1] + d[1] * nearest
    z = size[1] - p[2] - d[2] * nearest
    a = d[0] * d[0] + d[1] * d[1] - k * k * d[2] * d[2]
    b = x * d[0] + y * d[1] + k * k * z * d[2]
    c = x * x + y * y - k * k * z * z
    t = roots(a, b, c)
    enter = t[0]
    leave = t[1]
    if a < 0.0:
        # Between the roots the line is outside; it is in the lower cone on one side.
        enter = wp.where(d[2] > 0.0, -wp.inf, t[1])
        leave = wp.where(d[2] > 0.0, t[0], wp.inf)
    elif a == 0.0:
        enter = wp.where(b < 0.0, -0.5 * c / b, -wp.inf)
        leave = wp.where(b > 0.0, -0.5 * c / b, wp.inf)
    n = wp.normalize(wp.vec3(x + d[0] * enter, y + d[1] * enter, k * k * (z - d[2] * enter)))
    return cut(s, enter + nearest, leave + nearest, n)


@wp.func
def convex_span(
    shape: Convex,
    vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    p: wp.vec3,
    d: wp.vec3,
) -> Span:
    """Span of the line ``p + t d`` in a convex shape; empty where it leaves before it enters."""
    s = whole_line()
    size = shape.size
    if shape.kind == SPHERE:
        s = ball(wp.vec3(), wp.vec3(size[0], size[0], size[0]), p, d)
    elif shape.kind == ELLIPSOID:
        s = ball(wp.vec3(), size, p, d)
    elif shape.kind == CONVEX_HULL:
        for f in range(shape.first_face, shape.last_face):
            corner = vertex[shape.first_vertex + face_vertex[face_range[f][0]]]
            s = cut_plane(s, p, d, face_normal[f], wp.dot(face_normal[f], corner))
    else:
        half = wp.vec3(size[0], size[1], size[2])
        if shape.kind != BOX:
            half = wp.vec3(wp.inf, wp.inf, size[1])
        for axis in range(3):
            if half[axis] < wp.inf:
                n = wp.vec3()
                n[axis] = 1.0
                s = cut_plane(s, p, d, n, half[axis])
                s = cut_plane(s, p, d, -n, half[axis])
        if shape.kind == CYLINDER or shape.kind == CAPSULE:
            s = cut_side(s, p, d, size[0])
        elif shape.kind == CONE:
            s = cut_cone(s, p, d, size)
        if shape.kind == CAPSULE:
            # A capsule is the union of the cylinder and two balls, and convex.
            r = wp.vec3(size[0], size[0], size[0])
            for k in range(2):
                end = ball(wp.vec3(0.0, 0.0, wp.where(k == 0, -size[1], size[1])), r, p, d)
                if s.enter > s.leave:
                    s = end
                elif end.enter <= end.leave:
                    if end.enter < s.enter:
                        s.enter = end.enter
                        s.normal = end.normal
                    s.leave = wp.max(s.leave, end.leave)
    return s
