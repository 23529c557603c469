"""Distance, normal and manifold of two convex shapes of any kind."""

import warp as wp

from .epa import least_offset
from .faces import choose_points, line_points, overlap_points, xyz
from .gjk import core_distance, difference, mat42i, split_origin
from .polish import polish
from .support import BOX, CONE, CYLINDER, Convex, core_radius, face_toward

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Error of a depth, in radii of the smaller shape, at which the polytope hands over to Newton's method.
POLYTOPE = wp.constant(1.0e-5)
# A face takes the place of the exact normal where it separates as well, to this part of the
# smaller shape and this part of both (rounding), and the two are one direction (to this angle or
# to the rounding of the exact one).
FACE_BAND = wp.constant(2.0e-5)
ROUNDING = wp.constant(4.0e-7)
ONE_DIRECTION = wp.constant(7.0e-5)
WITNESS = wp.constant(1 << 26)
ON_OTHER = wp.constant(1 << 25)


@wp.func
def separation_along(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    n: wp.vec3,
) -> float:
    """Separation of two shapes along a given unit direction from f to o."""
    w, _a, _pieces = difference(f, o, vertex_f, vertex_o, r, t, n)
    return -wp.dot(n, w) - core_radius(f) - core_radius(o)


@wp.func
def lower_reach(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    trial: wp.vec3,
    way: wp.vec3,
    offset: float,
    point: wp.vec3,
    spread: float,
    extent: float,
):
    """The minimum near a trial direction where it is below a known one, else that; see :func:`polish`."""
    _w, p_f, seen = difference(f, o, vertex_f, vertex_o, r, t, trial)
    pieces = mat42i()
    pieces[0] = seen
    n, reach, foot, blur = polish(f, o, vertex_f, vertex_o, r, t, origin, trial, p_f, pieces, 1, extent)
    if reach < offset - 2.0e-7 * extent:
        return n, reach, foot, blur
    return way, offset, point, spread


@wp.func
def least_reach(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    direction: wp.vec3,
    tolerance: float,
    extent: float,
):
    """Direction of the least reach of M, its reach, point on the core of f, and rounding.

    Where the polytope ran out of corners before it could tell, the flat sides of both shapes and
    its own nearest face are tried, too.
    """
    way, offset, point, corners, doubt = least_offset(
        f, o, vertex_f, vertex_o, r, t, origin, direction, tolerance
    )
    way, offset, point, spread = polish(
        f, o, vertex_f, vertex_o, r, t, origin, way, point, corners, 3, extent
    )
    if wp.length_sq(doubt) > 0.0:
        way, offset, point, spread = lower_reach(
            f, o, vertex_f, vertex_o, r, t, origin, doubt, way, offset, point, spread, extent
        )
        for k in range(12):
            axis = wp.vec3()
            axis[k % 3] = wp.where(k % 6 < 3, 1.0, -1.0)
            kind = f.kind
            if k >= 6:
                kind = o.kind
            flat = kind == BOX or (k % 3 == 2 and (kind == CYLINDER or (kind == CONE and axis[2] < 0.0)))
            if k >= 6:
                axis = -(r * axis)
            w, _a, _pieces = difference(f, o, vertex_f, vertex_o, r, t, axis)
            if flat and wp.dot(axis, w) < offset:
                way, offset, point, spread = lower_reach(
                    f, o, vertex_f, vertex_o, r, t, origin, axis, way, offset, point, spread, extent
                )
    return way, offset, point, spread


@wp.func(inline=False)
def separate(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    limit: float,
    least: float,
    extent: float,
):
    """Signed distance of two shapes in the frame of f.

    Args:
        limit: Distances above need not be exact.
        least: Radius of the smaller shape.
        extent: Sum of the radii of both.

    Returns:
        Unit normal from f to o, separation, the deepest point on the surface of f, and how far
        rounding may turn the normal [rad].
    """
    around_f = core_radius(f)
    around = around_f + core_radius(o)
    tolerance = 1.0e-7 * extent + 1.0e-6 * least
    v, p_f, bound, pieces, count = core_distance(f, o, vertex_f, vertex_o, r, t, limit + around, tolerance)
    distance = wp.length(v)
    n = wp.vec3(0.0, 0.0, 1.0)
    separation = distance
    blur = float(0.0)
    if distance > tolerance:
        n = -v / distance
    elif wp.length_sq(t) > 0.0:
        n = wp.normalize(t)
    if bound <= limit + around:
        origin = split_origin(f, o, vertex_f, vertex_o, r, t, n)
        if distance > tolerance:
            n, offset, p_f, blur = polish(
                f, o, vertex_f, vertex_o, r, t, origin, n, p_f, pieces, count, extent
            )
            separation = -offset
        # No direction separates shapes by more than their distance: near it, this one is the best.
        if distance - separation > tolerance or distance <= tolerance:
            way, offset, point, spread = least_reach(
                f, o, vertex_f, vertex_o, r, t, origin, n, 1.0e-7 * extent + POLYTOPE * least, extent
            )
            # The deepest direction, and the nearest one, is that of the greatest separation.
            if distance <= tolerance or -offset > separation + 2.0e-7 * extent:
                n = way
                blur = spread
                separation = -offset
                p_f = point
    return n, separation - around, p_f + n * around_f, blur


@wp.func
def place_corners(count: int, r: wp.mat33, t: wp.vec3, corner_out: wp.array[wp.vec3]):
    """Take corners from the frame of o into that of f."""
    for k in range(count):
        corner_out[k] = t + r * corner_out[k]


@wp.func
def one_direction(m: wp.vec3, n: wp.vec3, blur: float) -> bool:
    """True where two unit vectors cannot be told apart."""
    angle = wp.max(ONE_DIRECTION, 4.0 * blur)
    return wp.length_sq(m - n) < angle * angle


@wp.func
def face_manifold(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    r: wp.mat33,
    t: wp.vec3,
    n: wp.vec3,
    separation: float,
    limit: float,
    band: float,
    blur: float,
    point_out: wp.array[wp.vec4],
    name_out: wp.array[wp.int32],
):
    """Candidate points of a contact along ``n``, on the surface of f.

    Returns:
        Their number and the normal they are measured along: that of a face where one
        separates as well as ``n``.
    """
    corner_f = wp.zeros(shape=(16,), dtype=wp.vec3)
    corner_o = wp.zeros(shape=(16,), dtype=wp.vec3)
    rt = wp.transpose(r)
    count_f, m_f, name_f = face_toward(f, vertex_f, face_range, face_normal, face_vertex, n, corner_f)
    count_o, m_o, name_o = face_toward(o, vertex_o, face_range, face_normal, face_vertex, -(rt * n), corner_o)
    m_o = -(r * m_o)
    normal = n
    count = int(0)
    if count_f < 2 or count_o < 2:
        return count, normal
    # How well each face faces the other shape; zero for lines.
    fit_f = wp.dot(m_f, n)
    fit_o = wp.dot(m_o, n)
    if not one_direction(m_f, n, blur):
        fit_f = 0.0
    elif separation_along(f, o, vertex_f, vertex_o, r, t, m_f) < separation - band:
        fit_f = 0.0
    if not one_direction(m_o, n, blur):
        fit_o = 0.0
    elif separation_along(f, o, vertex_f, vertex_o, r, t, m_o) < separation - band:
        fit_o = 0.0
    if fit_f > 0.7 and fit_f >= fit_o - 1.0e-3:
        fit_o = 0.0
    if fit_o <= 0.7 and fit_f > 0.7:
        normal = m_f
        count_o, m_o, name_o = face_toward(
            o, vertex_o, face_range, face_normal, face_vertex, -(rt * normal), corner_o
        )
        place_corners(count_o, r, t, corner_o)
        count = overlap_points(normal, count_f, corner_f, count_o, corner_o, limit, band, point_out, name_out)
        for k in range(count):
            # From the surface of o down to that of f.
            p = point_out[k]
            q = xyz(p) - normal * p[3]
            point_out[k] = wp.vec4(q[0], q[1], q[2], p[3])
            name_out[k] = name_out[k] + ((name_f & 255) << 9) + ((name_o & 255) << 17)
    elif fit_o > 0.7:
        normal = m_o
        count_f, m_f, name_f = face_toward(
            f, vertex_f, face_range, face_normal, face_vertex, normal, corner_f
        )
        place_corners(count_o, r, t, corner_o)
        count = overlap_points(
            -normal, count_o, corner_o, count_f, corner_f, limit, band, point_out, name_out
        )
        for k in range(count):
            name_out[k] = ON_OTHER + name_out[k] + ((name_f & 255) << 9) + ((name_o & 255) << 17)
    elif count_f == 2 and count_o == 2:
        place_corners(count_o, r, t, corner_o)
        count = line_points(n, corner_f, corner_o, limit, point_out, name_out)
        for k in range(count):
            p = point_out[k]
            q = xyz(p) - n * p[3]
            point_out[k] = wp.vec4(q[0], q[1], q[2], p[3])
    return count, normal


@wp.func(inline=False)
def manifold_along(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    r: wp.mat33,
    t: wp.vec3,
    along: wp.vec3,
    separation: float,
    p_f: wp.vec3,
    limit: float,
    band: float,
    blur: float,
):
    """Manifold along a normal whose separation and deepest point on f are known.

    Returns:
        As :func:`convex_manifold`.
    """
    points = wp.mat44()
    names = wp.vec4i(-1, -1, -1, -1)
    n = along
    point = wp.zeros(shape=(48,), dtype=wp.vec4)
    name = wp.zeros(shape=(48,), dtype=wp.int32)
    count, normal = face_manifold(
        f,
        o,
        vertex_f,
        vertex_o,
        face_range,
        face_normal,
        face_vertex,
        r,
        t,
        n,
        separation,
        limit,
        band,
        blur,
        point,
        name,
    )
    deepest = float(wp.inf)
    for k in range(count):
        deepest = wp.min(deepest, point[k][3])
    # The exact deepest point stands in for a corner that the faces do not have.
    alone = deepest > separation + band
    chosen = choose_points(normal, count, band, point, wp.where(alone, 3, 4))
    row = int(3)
    if alone:
        points[3] = wp.vec4(p_f[0], p_f[1], p_f[2], separation)
        names[3] = WITNESS
        row = 2
    else:
        n = normal
    for _pass in range(4):
        best = int(-1)
        for k in range(4):
            if chosen[k] >= 0:
                if best < 0:
                    best = k
                elif name[chosen[k]] > name[chosen[best]]:
                    best = k
        if best >= 0 and row >= 0:
            points[row] = point[chosen[best]]
            names[row] = name[chosen[best]]
            chosen[best] = -1
            row -= 1
    return points, names, normal, n


@wp.func
def convex_manifold(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    r: wp.mat33,
    t: wp.vec3,
    limit: float,
    least: float,
    extent: float,
):
    """Manifold of two convex shapes in the frame of f; arguments as in :func:`separate`.

    Returns:
        Rows (point on f, separation), names ascending with −1 for absent rows, the
        normal from f to o, and that of the last row.
    """
    points = wp.mat44()
    names = wp.vec4i(-1, -1, -1, -1)
    n, separation, p_f, blur = separate(f, o, vertex_f, vertex_o, r, t, limit, least, extent)
    normal = n
    if not (separation < limit):
        return points, names, normal, n
    band = FACE_BAND * least + ROUNDING * extent
    points, names, normal, n = manifold_along(
        f,
        o,
        vertex_f,
        vertex_o,
        face_range,
        face_normal,
        face_vertex,
        r,
        t,
        n,
        separation,
        p_f,
        limit,
        band,
        blur,
    )
    return points, names, normal, n
