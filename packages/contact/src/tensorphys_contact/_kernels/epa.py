"""Least plane offset of the difference of two convex cores: depth, or a small gap.

An expanding polytope [van den Bergen 2001], grown from any tetrahedron in M: the face
whose plane has the least (signed) offset from the origin is pushed out until it lies on
the surface. So the origin need not lie inside, and cores that just touch are no special
case.
"""

import warp as wp

from .gjk import difference, mat42i
from .support import Convex

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

CORNERS = wp.constant(96)
FACES = wp.constant(200)
EDGES = wp.constant(96)


@wp.func
def plane_of(a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec4:
    """Outward unit normal and offset; an infinite offset where the triangle has no area."""
    n = wp.cross(b - a, c - a)
    length = wp.length(n)
    sides = wp.max(wp.length_sq(b - a), wp.length_sq(c - a))
    if length <= 1.0e-6 * sides:
        return wp.vec4(0.0, 0.0, 0.0, wp.inf)
    n = n / length
    return wp.vec4(n[0], n[1], n[2], (wp.dot(n, a) + wp.dot(n, b) + wp.dot(n, c)) / 3.0)


@wp.func
def any_across(d: wp.vec3) -> wp.vec3:
    """A direction across ``d``."""
    e = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(d[0]) > wp.abs(d[1]):
        e = wp.vec3(0.0, 1.0, 0.0)
    return wp.cross(d, e)


@wp.func
def farther(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    d: wp.vec3,
    base: wp.vec3,
):
    """Of the supports along ``d`` and against it, the one farther from ``base`` along d."""
    w, a, pieces = difference(f, o, vertex_f, vertex_o, r, t, d)
    w1, a1, pieces1 = difference(f, o, vertex_f, vertex_o, r, t, -d)
    if wp.dot(base - w1, d) > wp.dot(w - base, d):
        w = w1
        a = a1
        pieces = pieces1
    return w, a, pieces


@wp.func
def first_tetrahedron(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    direction: wp.vec3,
    corner_out: wp.array[wp.vec3],
    point_out: wp.array[wp.vec3],
    piece_out: wp.array[wp.vec2i],
    face_out: wp.array[wp.vec3i],
    plane_out: wp.array[wp.vec4],
):
    """Four corners of M that span a volume, and the four faces, outward."""
    w0, a0, p0 = difference(f, o, vertex_f, vertex_o, r, t, direction)
    corner_out[0] = w0
    point_out[0] = a0
    piece_out[0] = p0
    w0, a0, p0 = farther(f, o, vertex_f, vertex_o, r, t, direction, corner_out[0])
    corner_out[1] = w0
    point_out[1] = a0
    piece_out[1] = p0
    e = corner_out[1] - corner_out[0]
    across = any_across(e)
    w, a, p = farther(f, o, vertex_f, vertex_o, r, t, across, corner_out[0])
    w1, a1, p1 = farther(f, o, vertex_f, vertex_o, r, t, wp.cross(e, across), corner_out[0])
    if wp.length_sq(wp.cross(w1 - corner_out[0], e)) > wp.length_sq(wp.cross(w - corner_out[0], e)):
        w = w1
        a = a1
        p = p1
    corner_out[2] = w
    point_out[2] = a
    piece_out[2] = p
    n = wp.cross(e, corner_out[2] - corner_out[0])
    w0, a0, p0 = farther(f, o, vertex_f, vertex_o, r, t, n, corner_out[0])
    corner_out[3] = w0
    point_out[3] = a0
    piece_out[3] = p0
    below = wp.dot(n, corner_out[3] - corner_out[0]) < 0.0
    b = wp.where(below, 1, 2)
    c = wp.where(below, 2, 1)
    face_out[0] = wp.vec3i(0, b, c)
    face_out[1] = wp.vec3i(0, 3, b)
    face_out[2] = wp.vec3i(b, 3, c)
    face_out[3] = wp.vec3i(c, 3, 0)
    for k in range(4):
        i = face_out[k]
        plane_out[k] = plane_of(corner_out[i[0]], corner_out[i[1]], corner_out[i[2]])


@wp.func
def toggle_edge(first: int, last: int, count: int, edge_out: wp.array[wp.vec2i]) -> int:
    """Take back an edge that the list has the other way round, else add it; the new count."""
    for k in range(count):
        if edge_out[k][0] == last and edge_out[k][1] == first:
            edge_out[k] = edge_out[count - 1]
            return count - 1
    if count < EDGES:
        edge_out[count] = wp.vec2i(first, last)
        return count + 1
    return count


@wp.func
def push_out(
    best: int,
    newest: int,
    face_count: int,
    slack: float,
    corner: wp.array[wp.vec3],
    face_out: wp.array[wp.vec3i],
    plane_out: wp.array[wp.vec4],
    edge_out: wp.array[wp.vec2i],
) -> int:
    """Replace the faces that the newest corner sees by a fan; the new number of faces."""
    p = corner[newest]
    edges = int(0)
    free = face_count
    for k in range(face_count):
        plane = plane_out[k]
        i = face_out[k]
        height = plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2] - plane[3]
        if i[0] >= 0 and (k == best or height > slack):
            edges = toggle_edge(i[0], i[1], edges, edge_out)
            edges = toggle_edge(i[1], i[2], edges, edge_out)
            edges = toggle_edge(i[2], i[0], edges, edge_out)
            face_out[k] = wp.vec3i(-1, 0, 0)
            plane_out[k] = wp.vec4(0.0, 0.0, 0.0, wp.inf)
            free = wp.min(free, k)
    count = face_count
    for k in range(edges):
        while free < count and face_out[free][0] >= 0:
            free += 1
        if free < FACES:
            e = edge_out[k]
            face_out[free] = wp.vec3i(e[0], e[1], newest)
            plane_out[free] = plane_of(corner[e[0]], corner[e[1]], p)
            count = wp.max(count, free + 1)
            free += 1
    return count


@wp.func
def least_offset(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    direction: wp.vec3,
    slack: float,
    tolerance: float,
):
    """Plane that touches M with the least offset from the origin.

    Args:
        direction: First guess of the normal.
        slack: Height over a face that counts as rounding [length].
        tolerance: Error of the offset that ends the search [length].

    Returns:
        Unit normal (from f to o), the offset (depth; negative for a gap), the point on
        the core of f, and the pieces (of f and o) of the three corners of the touching face.
    """
    corner = wp.zeros(shape=(96,), dtype=wp.vec3)
    point = wp.zeros(shape=(96,), dtype=wp.vec3)
    piece = wp.zeros(shape=(96,), dtype=wp.vec2i)
    face = wp.zeros(shape=(200,), dtype=wp.vec3i)
    plane = wp.zeros(shape=(200,), dtype=wp.vec4)
    edge = wp.zeros(shape=(96,), dtype=wp.vec2i)
    first_tetrahedron(f, o, vertex_f, vertex_o, r, t, direction, corner, point, piece, face, plane)
    corners = int(4)
    faces = int(4)
    normal = direction
    offset = float(wp.inf)
    foot = wp.vec3i(0, 0, 0)
    while corners < CORNERS:
        best = int(0)
        for k in range(faces):
            if plane[k][3] < plane[best][3]:
                best = k
        if not (plane[best][3] < wp.inf):
            break
        n = wp.vec3(plane[best][0], plane[best][1], plane[best][2])
        w, a, pieces = difference(f, o, vertex_f, vertex_o, r, t, n)
        reach = wp.dot(n, w)
        if reach < offset:
            offset = reach
            normal = n
            foot = face[best]
        if offset - plane[best][3] <= tolerance or faces > FACES - 24:
            break
        corner[corners] = w
        point[corners] = a
        piece[corners] = pieces
        faces = push_out(best, corners, faces, slack, corner, face, plane, edge)
        corners += 1
    ground = normal * offset
    i = foot[0]
    j = foot[1]
    k = foot[2]
    e1 = corner[j] - corner[i]
    e2 = corner[k] - corner[i]
    d = ground - corner[i]
    area = wp.dot(normal, wp.cross(e1, e2))
    u = wp.dot(normal, wp.cross(d, e2)) / wp.max(area, 1.0e-30)
    v = wp.dot(normal, wp.cross(e1, d)) / wp.max(area, 1.0e-30)
    u = wp.clamp(u, 0.0, 1.0)
    v = wp.clamp(v, 0.0, 1.0 - u)
    p_f = point[i] * (1.0 - u - v) + point[j] * u + point[k] * v
    found = mat42i()
    found[0] = piece[i]
    found[1] = piece[j]
    found[2] = piece[k]
    return normal, offset, p_f, found
