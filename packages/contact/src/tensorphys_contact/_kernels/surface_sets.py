"""Points against the triangles of surfaces that change their shape."""

import warp as wp

from .distances import nearest_on_triangle

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.struct
class Surface:
    """Triangles of all surfaces."""

    corner: wp.array[wp.vec3i]  # indices of points
    owner: wp.array[wp.int32]  # surface of each triangle
    solid: wp.array[wp.int32]  # whether each surface encloses a solid
    meets_itself: wp.array[wp.int32]  # whether a surface collides with itself
    apart: wp.array[wp.float32]  # distance at rest within which it does not
    rest: wp.array[wp.vec3]  # points at rest


@wp.kernel
def bound_triangles(
    corner: wp.array[wp.vec3i],
    position: wp.array[wp.vec3],
    # outputs
    lower_out: wp.array[wp.vec3],
    upper_out: wp.array[wp.vec3],
):
    t = wp.tid()
    k = corner[t]
    a = position[k[0]]
    b = position[k[1]]
    c = position[k[2]]
    lower_out[t] = wp.min(a, wp.min(b, c))
    upper_out[t] = wp.max(a, wp.max(b, c))


@wp.func
def may_meet(surface: Surface, owner: int, i: int, t: int) -> bool:
    """Whether a point and a triangle can collide: of two surfaces, or of one far enough apart at rest."""
    k = surface.corner[t]
    if k[0] == i or k[1] == i or k[2] == i:
        return False
    if surface.owner[t] != owner:
        return True
    if surface.meets_itself[owner] == 0:
        return False
    p = surface.rest[i]
    q = nearest_on_triangle(p, surface.rest[k[0]], surface.rest[k[1]], surface.rest[k[2]])
    return wp.length(p - q) > surface.apart[owner]


@wp.func
def weights_on(p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec3:
    """Weights of the corners of a triangle at a point on it."""
    u = b - a
    v = c - a
    w = p - a
    uu = wp.dot(u, u)
    uv = wp.dot(u, v)
    vv = wp.dot(v, v)
    d = uu * vv - uv * uv
    if d <= 1.0e-12 * uu * vv or d <= 0.0:
        return wp.vec3(1.0, 0.0, 0.0)
    s = (vv * wp.dot(w, u) - uv * wp.dot(w, v)) / d
    t = (uu * wp.dot(w, v) - uv * wp.dot(w, u)) / d
    s = wp.clamp(s, 0.0, 1.0)
    t = wp.clamp(t, 0.0, 1.0 - s)
    return wp.vec3(1.0 - s - t, s, t)


@wp.func
def signed_side(surface: Surface, t: int, away: wp.vec3, face: wp.vec3) -> wp.vec4:
    """(distance, normal) of a point that is ``away`` from its nearest point of a triangle; inside of solids negative."""
    d = wp.length(away)
    n = face
    if d > 1.0e-12:
        n = away / d
    if surface.solid[surface.owner[t]] != 0 and wp.dot(n, face) < 0.0:
        return wp.vec4(-d, -n[0], -n[1], -n[2])
    return wp.vec4(d, n[0], n[1], n[2])


@wp.struct
class Meeting:
    """What a triangle is to a point."""

    apart: float  # distance of the nearest point, never negative
    facing: float  # how much the triangle faces the point, 0 … 1
    side: wp.vec4  # signed distance and normal


@wp.func
def meet_triangle(surface: Surface, position: wp.array[wp.vec3], x: wp.vec3, t: int) -> Meeting:
    """Distance of a point from a triangle."""
    m = Meeting()
    k = surface.corner[t]
    a = position[k[0]]
    b = position[k[1]]
    c = position[k[2]]
    away = x - nearest_on_triangle(x, a, b, c)
    m.apart = wp.length(away)
    face = wp.normalize(wp.cross(b - a, c - a))
    m.facing = wp.abs(wp.dot(away, face)) / wp.max(m.apart, 1.0e-20)
    m.side = signed_side(surface, t, away, face)
    return m


@wp.kernel
def collide_surfaces(
    bvh: wp.uint64,
    surface: Surface,
    environment: wp.array[wp.int32],
    point_owner: wp.array[wp.int32],
    position: wp.array[wp.vec3],
    margin: wp.array[wp.float32],
    # outputs
    triangle_out: wp.array[wp.int32],
    weight_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    distance_out: wp.array[wp.float32],
):
    """One point: the triangle that is nearest; of those that share an edge or corner there, the one that faces it most."""
    i = wp.tid()
    owner = point_owner[i]
    x = position[i]
    reach = margin[i]
    found = int(-1)
    best = float(reach)
    facing = float(-1.0)
    side = wp.vec4()
    if owner >= 0 and reach >= 0.0 and wp.isfinite(wp.length_sq(x)):
        root = wp.bvh_get_group_root(bvh, environment[i])
        if root >= 0:
            wide = wp.vec3(reach, reach, reach)
            query = wp.bvh_query_aabb(bvh, x - wide, x + wide, root)
            t = int(0)
            while wp.bvh_query_next(query, t):
                if may_meet(surface, owner, i, t):
                    m = meet_triangle(surface, position, x, t)
                    same = wp.abs(m.apart - best) <= 1.0e-4 * m.apart and found >= 0
                    better = same and (m.facing > facing or (m.facing == facing and t < found))
                    nearer = m.apart < best and not same
                    # what lies behind another part of the same solid is inside of it, as everything is
                    within = surface.owner[t] == owner and m.side[0] < 0.0
                    if m.apart <= reach and (nearer or better or found < 0) and not within:
                        found = t
                        best = m.apart
                        facing = m.facing
                        side = m.side
    triangle_out[i] = found
    if found >= 0:
        k = surface.corner[found]
        n = wp.vec3(side[1], side[2], side[3])
        distance_out[i] = side[0]
        normal_out[i] = n
        weight_out[i] = weights_on(x - side[0] * n, position[k[0]], position[k[1]], position[k[2]])
