"""Distance, normal and manifold of two convex shapes of any kind."""

import warp as wp

from .epa import least_offset
from .faces import choose_points, line_points, overlap_points, xyz
from .gjk import core_distance, difference
from .support import Convex, core_radius, face_toward

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Core distances below this part of the extents are found by the polytope, whose normals
# do not lose their digits as the distance vanishes.
NEAR = wp.constant(2.0e-3)
# A face takes the place of the exact normal where it separates as well, to this part of the
# smaller shape and this part of both (rounding).
FACE_BAND = wp.constant(2.0e-5)
ROUNDING = wp.constant(4.0e-7)
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
    w, _a = difference(f, o, vertex_f, vertex_o, r, t, n)
    return -wp.dot(n, w) - core_radius(f) - core_radius(o)


@wp.func
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
        Unit normal from f to o, separation, and the deepest point on the surface of f.
    """
    around_f = core_radius(f)
    around = around_f + core_radius(o)
    tolerance = 1.0e-7 * extent + 1.0e-6 * least
    v, p_f, bound = core_distance(f, o, vertex_f, vertex_o, r, t, limit + around, tolerance)
    distance = wp.length(v)
    guess = t
    n = wp.vec3(0.0, 0.0, 1.0)
    if distance > tolerance:
        n = -v / distance
        guess = n
    separation = distance
    if bound <= limit + around and distance < NEAR * extent:
        if wp.length_sq(guess) == 0.0:
            guess = wp.vec3(0.0, 0.0, 1.0)
        way, offset, point, over = least_offset(
            f, o, vertex_f, vertex_o, r, t, guess, 1.0e-7 * extent, tolerance
        )
        # Every direction bounds the distance from below: the better one wins.
        kept = separation_along(f, o, vertex_f, vertex_o, r, t, n) + around
        if over or distance <= tolerance or -offset > kept:
            n = way
            separation = -offset
            p_f = point
    return n, separation - around, p_f + n * around_f


@wp.func
def place_corners(count: int, r: wp.mat33, t: wp.vec3, corner_out: wp.array[wp.vec3]):
    """Take corners from the frame of o into that of f."""
    for k in range(count):
        corner_out[k] = t + r * corner_out[k]


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
    if fit_f > 0.7:
        if separation_along(f, o, vertex_f, vertex_o, r, t, m_f) < separation - band:
            fit_f = 0.0
    if fit_o > 0.7:
        if separation_along(f, o, vertex_f, vertex_o, r, t, m_o) < separation - band:
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


@wp.func
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
    n, separation, p_f = separate(f, o, vertex_f, vertex_o, r, t, limit, least, extent)
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
    )
    return points, names, normal, n
