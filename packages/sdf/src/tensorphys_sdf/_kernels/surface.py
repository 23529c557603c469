"""Exact queries of a triangle surface: closest point, generalised winding number, sign.

The winding number is summed over a complete binary tree of triangles in Morton order; a node far enough away
counts as one dipole at its centre [Barill et al. 2018, "Fast Winding Numbers for Soups and Clouds", first
order]. The tree needs no stack: node ``n`` has the children ``2 n`` and ``2 n + 1``.
"""

import warp as wp

from tensorphys_sdf.structs import SdfSurface

wp.set_module_options({"enable_backward": False})

SIGN_WINDING = wp.constant(0)
SIGN_NORMAL = wp.constant(1)
SIGN_NONE = wp.constant(2)
LEAF = wp.constant(4)
FAR = wp.constant(1.0e18)


@wp.func
def solid_angle(a: wp.vec3, b: wp.vec3, c: wp.vec3) -> float:
    """Half of the signed solid angle of a triangle seen from the origin [Van Oosterom & Strackee 1983]."""
    la = wp.length(a)
    lb = wp.length(b)
    lc = wp.length(c)
    det = wp.dot(a, wp.cross(b, c))
    den = la * lb * lc + wp.dot(a, b) * lc + wp.dot(b, c) * la + wp.dot(c, a) * lb
    return wp.atan2(det, den)


@wp.func
def next_node(node: int) -> int:
    """Next node of a depth-first walk that does not descend below ``node``; 0 at the end."""
    n = int(node)
    while (n & 1) == 1 and n > 1:
        n = n >> 1
    if n == 1:
        return 0
    return n + 1


@wp.func
def leaf_angle(surface: SdfSurface, leaf: int, q: wp.vec3) -> float:
    total = float(0.0)
    for t in range(LEAF):
        k = (leaf * LEAF + t) * 3
        total += solid_angle(surface.corner[k] - q, surface.corner[k + 1] - q, surface.corner[k + 2] - q)
    return total


@wp.func
def winding_sum(surface: SdfSurface, p: wp.vec3, accuracy: float) -> float:
    """Winding number in which nodes beyond ``accuracy`` of their radii count as dipoles."""
    q = p - surface.center
    total = float(0.0)
    node = int(1)
    while node > 0:
        sphere = surface.node_sphere[node]
        away = wp.vec3(sphere[0], sphere[1], sphere[2]) - q
        d2 = wp.dot(away, away)
        reach = accuracy * sphere[3]
        if d2 > reach * reach:
            # half of the solid angle, as leaf_angle gives it
            total += 0.5 * wp.dot(surface.node_dipole[node], away) / (d2 * wp.sqrt(d2))
            node = next_node(node)
        elif node >= surface.leaves:
            total += leaf_angle(surface, node - surface.leaves, q)
            node = next_node(node)
        else:
            node = 2 * node
    return total / (2.0 * wp.pi)


@wp.func
def winding_number(surface: SdfSurface, p: wp.vec3) -> float:
    """Generalised winding number at a point in the frame of the shape: 1 inside, 0 outside of a closed one.

    Right to about 0.1, which decides the sign; :meth:`Surface.winding_number` asks for more.
    """
    return winding_sum(surface, p, surface.accuracy)


@wp.func
def feature_of(u: float, v: float) -> int:
    """Feature of a face at barycentric coordinates: 0 the face, 1 to 3 an edge, 4 to 6 a vertex."""
    tiny = float(1.0e-6)
    w = 1.0 - u - v
    if u >= 1.0 - tiny:
        return 4
    if v >= 1.0 - tiny:
        return 5
    if w >= 1.0 - tiny:
        return 6
    if w <= tiny:
        return 1
    if u <= tiny:
        return 2
    if v <= tiny:
        return 3
    return 0


@wp.func
def side_of_nearest(surface: SdfSurface, q: wp.vec3) -> float:
    """Side of the nearest face, edge or vertex, by its angle-weighted normal [Baerentzen & Aanaes 2005]."""
    query = wp.mesh_query_point_no_sign(surface.mesh, q, FAR)
    away = q - wp.mesh_eval_position(surface.mesh, query.face, query.u, query.v)
    return wp.dot(away, surface.pseudonormal[query.face * 7 + feature_of(query.u, query.v)])


@wp.func
def surface_sign(surface: SdfSurface, p: wp.vec3) -> float:
    """-1 inside, 1 outside, by the rule of the surface."""
    if surface.sign == SIGN_WINDING:
        if winding_number(surface, p) > 0.5:
            return -1.0
        return 1.0
    if surface.sign == SIGN_NORMAL:
        if side_of_nearest(surface, p - surface.center) < 0.0:
            return -1.0
    return 1.0


@wp.func
def unsigned_distance(surface: SdfSurface, p: wp.vec3, limit: float) -> float:
    """Distance to the surface; ``limit`` is a guess that it does not exceed, and only speeds the search."""
    q = p - surface.center
    query = wp.mesh_query_point_no_sign(surface.mesh, q, limit)
    if not query.result:
        query = wp.mesh_query_point_no_sign(surface.mesh, q, FAR)
    return wp.length(q - wp.mesh_eval_position(surface.mesh, query.face, query.u, query.v))


@wp.func
def closest_on_surface(surface: SdfSurface, p: wp.vec3) -> wp.vec3:
    q = p - surface.center
    query = wp.mesh_query_point_no_sign(surface.mesh, q, FAR)
    return surface.center + wp.mesh_eval_position(surface.mesh, query.face, query.u, query.v)


@wp.func
def gradient_of(surface: SdfSurface, q: wp.vec3, query: wp.MeshQueryPoint, sign: float) -> wp.vec4:
    """Signed distance and unit gradient from a closest point; on the surface, the normal of its face."""
    away = q - wp.mesh_eval_position(surface.mesh, query.face, query.u, query.v)
    d = wp.length(away)
    size = wp.length(surface.upper - surface.lower)
    n = wp.mesh_eval_face_normal(surface.mesh, query.face)
    if d > 1.0e-6 * size:
        n = away * (sign / d)
    return wp.vec4(sign * d, n[0], n[1], n[2])


@wp.func
def exact_distance_gradient(surface: SdfSurface, p: wp.vec3) -> wp.vec4:
    """Exact signed distance and its unit gradient."""
    q = p - surface.center
    query = wp.mesh_query_point_no_sign(surface.mesh, q, FAR)
    return gradient_of(surface, q, query, surface_sign(surface, p))


@wp.func
def bounds_distance(surface: SdfSurface, p: wp.vec3) -> float:
    """Distance to the box around the surface, 0 inside of it."""
    d = float(0.0)
    for k in range(3):
        e = wp.max(wp.max(surface.lower[k] - p[k], p[k] - surface.upper[k]), 0.0)
        d += e * e
    return wp.sqrt(d)


@wp.func
def outer_distance_gradient(surface: SdfSurface, p: wp.vec3) -> wp.vec4:
    """The same for points that mostly lie beyond the bounds, where only sheets need to ask for their side."""
    sign = float(1.0)
    if surface.sign == SIGN_NORMAL or bounds_distance(surface, p) == 0.0:
        sign = surface_sign(surface, p)
    q = p - surface.center
    query = wp.mesh_query_point_no_sign(surface.mesh, q, FAR)
    return gradient_of(surface, q, query, sign)
