"""Signed distance and its gradient from a point to any shape, in the frame of the shape.

All are exact but those of stored fields, and of a hull's inside near its edges, which is exact too: the nearest
point of a convex polyhedron from within lies on the face that is least deep.
"""

import warp as wp

from tensorphys_sdf.device import table_distance_gradient

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

PLANE = wp.constant(0)
SPHERE = wp.constant(1)
CAPSULE = wp.constant(2)
BOX = wp.constant(3)
CONVEX_HULL = wp.constant(4)
CYLINDER = wp.constant(5)
CONE = wp.constant(6)
ELLIPSOID = wp.constant(7)
TRIANGLE_MESH = wp.constant(8)
HEIGHT_FIELD = wp.constant(9)
SDF = wp.constant(10)
SPHERES = wp.constant(11)
FAR = wp.constant(1.0e18)
# Beyond the reach of a search.
NOWHERE = wp.constant(1.0e30)
TINY = wp.constant(1.0e-20)


@wp.struct
class Geometry:
    """Arrays of a model that distances are read from."""

    hull_vertex: wp.array[wp.vec3]
    face_range: wp.array[wp.vec2i]
    face_normal: wp.array[wp.vec3]
    face_vertex: wp.array[wp.int32]
    sphere: wp.array[wp.vec4]
    field_reals: wp.array2d[wp.float32]
    field_counts: wp.array2d[wp.int32]
    field_coarse: wp.array[wp.float32]
    field_record: wp.array[wp.int32]
    field_fine: wp.array[wp.uint32]


@wp.struct
class Solid:
    """One shape: what a distance to it depends on."""

    kind: int
    size: wp.vec3
    vertices: wp.vec2i
    faces: wp.vec2i
    spheres: wp.vec2i
    mesh: wp.uint64
    field: int
    center: wp.vec3
    half: wp.vec3
    radius: float
    reach: float  # distances above need not be found


@wp.func
def with_direction(d: float, g: wp.vec3) -> wp.vec4:
    """Distance and unit gradient in one vector."""
    return wp.vec4(d, g[0], g[1], g[2])


@wp.func
def from_point(p: wp.vec3, q: wp.vec3, radius: float) -> wp.vec4:
    """Distance from a ball about ``q``."""
    away = p - q
    d = wp.length(away)
    n = wp.vec3(0.0, 0.0, 1.0)
    if d > TINY:
        n = away / d
    return with_direction(d - radius, n)


@wp.func
def box_distance(p: wp.vec3, half: wp.vec3) -> wp.vec4:
    """Distance from a box."""
    out = wp.vec3()
    axis = int(0)
    most = float(-FAR)
    for k in range(3):
        over = wp.abs(p[k]) - half[k]
        if over > most:
            most = over
            axis = k
        out[k] = wp.max(over, 0.0) * wp.where(p[k] < 0.0, -1.0, 1.0)
    n = wp.vec3()
    if most > 0.0:
        d = wp.length(out)
        return with_direction(d, out / d)
    n[axis] = wp.where(p[axis] < 0.0, -1.0, 1.0)
    return with_direction(most, n)


@wp.func
def around_axis(p: wp.vec3, d: float, across: float, up: float) -> wp.vec4:
    """A distance whose gradient has the parts ``across`` away from Z and ``up`` along it."""
    rho = wp.sqrt(p[0] * p[0] + p[1] * p[1])
    x = float(1.0)
    y = float(0.0)
    if rho > TINY:
        x = p[0] / rho
        y = p[1] / rho
    return with_direction(d, wp.vec3(x * across, y * across, up))


@wp.func
def cylinder_distance(p: wp.vec3, size: wp.vec3) -> wp.vec4:
    """Distance from a cylinder."""
    side = wp.sqrt(p[0] * p[0] + p[1] * p[1]) - size[0]
    cap = wp.abs(p[2]) - size[1]
    up = wp.where(p[2] < 0.0, -1.0, 1.0)
    if side > 0.0 and cap > 0.0:
        d = wp.sqrt(side * side + cap * cap)
        return around_axis(p, d, side / d, up * cap / d)
    if side > cap:
        return around_axis(p, side, 1.0, 0.0)
    return around_axis(p, cap, 0.0, up)


@wp.func
def cone_distance(p: wp.vec3, size: wp.vec3) -> wp.vec4:
    """Distance from a cone: of its slanted line and its base, in the plane through the axis and the point."""
    rho = wp.sqrt(p[0] * p[0] + p[1] * p[1])
    height = 2.0 * size[1]
    z = p[2] + size[1]
    slant = wp.sqrt(size[0] * size[0] + height * height)
    n = wp.vec2(height / slant, size[0] / slant)
    over = (rho - size[0]) * n[0] + z * n[1]
    if over <= 0.0 and z >= 0.0:
        if over > -z:
            return around_axis(p, over, n[0], n[1])
        return around_axis(p, -z, 0.0, -1.0)
    along = wp.clamp((z * height - (rho - size[0]) * size[0]) / (slant * slant), 0.0, 1.0)
    a = wp.vec2(rho - size[0] * (1.0 - along), z - height * along)
    b = wp.vec2(wp.max(rho - size[0], 0.0), z)
    if z < 0.0 and wp.length_sq(b) < wp.length_sq(a):
        a = b
    d = wp.length(a)
    if d <= TINY:
        return around_axis(p, 0.0, n[0], n[1])
    return around_axis(p, d, a[0] / d, a[1] / d)


@wp.func
def ellipsoid_distance(p: wp.vec3, size: wp.vec3) -> wp.vec4:
    """Distance from an ellipsoid [Eberly, "Distance from a Point to an Ellipsoid"].

    The root of a convex, falling function, by Newton steps from the left; all is scaled by the least semi-axis.
    """
    least = wp.min(size[0], wp.min(size[1], size[2]))
    e = size / least
    y = wp.vec3()
    for k in range(3):
        y[k] = wp.max(wp.abs(p[k]) / least, 1.0e-6)
    s = float(-1.0e9)
    for k in range(3):
        # Left of the root: one term alone is one there.
        s = wp.max(s, e[k] * y[k] - e[k] * e[k])
    for _step in range(24):
        value = float(-1.0)
        slope = float(0.0)
        for k in range(3):
            ratio = e[k] * y[k] / (s + e[k] * e[k])
            value += ratio * ratio
            slope += 2.0 * ratio * ratio / (s + e[k] * e[k])
        s += wp.max(value, 0.0) / slope
    q = wp.vec3()
    m = wp.vec3()
    for k in range(3):
        q[k] = e[k] * e[k] * y[k] / (s + e[k] * e[k])
        m[k] = q[k] / (e[k] * e[k])
    m = wp.normalize(m)
    d = wp.dot(y - q, m) * least
    for k in range(3):
        m[k] = m[k] * wp.where(p[k] < 0.0, -1.0, 1.0)
    return with_direction(d, m)


@wp.func
def nearest_on_triangle(p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec3:
    """Nearest point of a triangle [Ericson 2005, §5.1.5]; also of one that is a segment or a point."""
    ab = b - a
    ac = c - a
    d1 = wp.dot(ab, p - a)
    d2 = wp.dot(ac, p - a)
    if d1 <= 0.0 and d2 <= 0.0:
        return a
    d3 = wp.dot(ab, p - b)
    d4 = wp.dot(ac, p - b)
    if d3 >= 0.0 and d4 <= d3:
        return b
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return a + ab * (d1 / wp.max(d1 - d3, TINY))
    d5 = wp.dot(ab, p - c)
    d6 = wp.dot(ac, p - c)
    if d6 >= 0.0 and d5 <= d6:
        return c
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return a + ac * (d2 / wp.max(d2 - d6, TINY))
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return b + (c - b) * ((d4 - d3) / wp.max((d4 - d3) + (d5 - d6), TINY))
    total = wp.max(va + vb + vc, TINY)
    return a + ab * (vb / total) + ac * (vc / total)


@wp.func
def hull_distance(geometry: Geometry, s: Solid, p: wp.vec3) -> wp.vec4:
    """Distance from a hull: inside of the face that is least deep, outside from the nearest point of its faces."""
    most = float(-FAR)
    n = wp.vec3(0.0, 0.0, 1.0)
    first = s.vertices[0]
    for f in range(s.faces[0], s.faces[1]):
        m = geometry.face_normal[f]
        corner = geometry.hull_vertex[first + geometry.face_vertex[geometry.face_range[f][0]]]
        over = wp.dot(m, p - corner)
        if over > most:
            most = over
            n = m
    if most <= 0.0 or most > s.reach:
        return with_direction(most, n)
    best = float(FAR)
    nearest = p
    for f in range(s.faces[0], s.faces[1]):
        span = geometry.face_range[f]
        a = geometry.hull_vertex[first + geometry.face_vertex[span[0]]]
        if wp.dot(geometry.face_normal[f], p - a) > 0.0:
            for k in range(span[0] + 1, span[1] - 1):
                b = geometry.hull_vertex[first + geometry.face_vertex[k]]
                c = geometry.hull_vertex[first + geometry.face_vertex[k + 1]]
                q = nearest_on_triangle(p, a, b, c)
                if wp.length_sq(p - q) < best:
                    best = wp.length_sq(p - q)
                    nearest = q
    d = wp.sqrt(best)
    if d > 1.0e-6 * s.radius:
        n = (p - nearest) / d
    return with_direction(d, n)


@wp.func
def mesh_distance(s: Solid, p: wp.vec3) -> wp.vec4:
    """Distance from a surface that is solid on its back side, where the point is over or under one of its faces."""
    query = wp.mesh_query_point_sign_normal(s.mesh, p, s.reach)
    if not query.result:
        return with_direction(NOWHERE, wp.vec3(0.0, 0.0, 1.0))
    q = wp.mesh_eval_position(s.mesh, query.face, query.u, query.v)
    n = wp.mesh_eval_face_normal(s.mesh, query.face)
    away = p - q
    d = wp.length(away)
    if d <= 1.0e-6 * s.radius:
        return with_direction(wp.dot(away, n), n)
    away = away / d
    if query.sign < 0.0:
        # Beside an open border nothing is solid.
        if wp.dot(away, n) > -0.5:
            return with_direction(FAR, n)
        return with_direction(-d, -away)
    return with_direction(d, away)


@wp.func
def field_distance(geometry: Geometry, s: Solid, p: wp.vec3) -> wp.vec4:
    """Distance from a stored field; away from its box from its surface, since the stored data end there."""
    beyond = float(0.0)
    for k in range(3):
        beyond = wp.max(beyond, wp.abs(p[k] - s.center[k]) - s.half[k])
    if beyond > 0.02 * s.radius and s.mesh != wp.uint64(0):
        query = wp.mesh_query_point_no_sign(s.mesh, p, FAR)
        return from_point(p, wp.mesh_eval_position(s.mesh, query.face, query.u, query.v), 0.0)
    v = table_distance_gradient(
        geometry.field_reals,
        geometry.field_counts,
        geometry.field_coarse,
        geometry.field_record,
        geometry.field_fine,
        s.field,
        p / s.size[0],
    )
    return with_direction(v[0] * s.size[0], wp.normalize(wp.vec3(v[1], v[2], v[3])))


@wp.func
def spheres_distance(geometry: Geometry, s: Solid, p: wp.vec3) -> wp.vec4:
    """Distance from the nearest of the spheres of a set; the first of equals."""
    best = float(FAR)
    chosen = s.spheres[0]
    for k in range(s.spheres[0], s.spheres[1]):
        ball = geometry.sphere[k]
        d = wp.length(p - wp.vec3(ball[0], ball[1], ball[2])) - ball[3]
        if d < best:
            best = d
            chosen = k
    ball = geometry.sphere[chosen]
    return from_point(p, wp.vec3(ball[0], ball[1], ball[2]), ball[3])


@wp.func
def solid_distance(geometry: Geometry, s: Solid, p: wp.vec3) -> wp.vec4:
    """Signed distance to a shape and its unit gradient ``(d, gx, gy, gz)``; negative inside."""
    kind = s.kind
    if kind == SDF:
        return field_distance(geometry, s, p)
    if kind == PLANE:
        return wp.vec4(p[2], 0.0, 0.0, 1.0)
    if kind == SPHERE:
        return from_point(p, wp.vec3(), s.size[0])
    if kind == CAPSULE:
        return from_point(p, wp.vec3(0.0, 0.0, wp.clamp(p[2], -s.size[1], s.size[1])), s.size[0])
    if kind == BOX:
        return box_distance(p, s.size)
    if kind == CONVEX_HULL:
        return hull_distance(geometry, s, p)
    if kind == CYLINDER:
        return cylinder_distance(p, s.size)
    if kind == CONE:
        return cone_distance(p, s.size)
    if kind == ELLIPSOID:
        return ellipsoid_distance(p, s.size)
    if kind == SPHERES:
        return spheres_distance(geometry, s, p)
    return mesh_distance(s, p)
