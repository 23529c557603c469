"""Least plane offset of the difference of two convex cores: depth, or a small gap.

An expanding polytope [van den Bergen 2001], grown from any tetrahedron in M: the face
whose plane has the least (signed) offset from the origin is pushed out until it lies on
the surface. So the origin need not lie inside, and cores that just touch are no special
case.
"""

import warp as wp

from .gjk import mat42i, split_support
from .support import Convex

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

CORNERS = wp.constant(96)
ROUNDS = wp.constant(128)
FACES = wp.constant(200)
EDGES = wp.constant(96)
# Height over a face, in distances from its corner, that counts as rounding.
ROUNDING = wp.constant(1.0e-7)


@wp.func
def plane_of(i: wp.vec3i, on_f: wp.array[wp.vec3], on_o: wp.array[wp.vec3]) -> wp.vec4:
    """Outward unit normal and offset of a face; an infinite offset where it has no area."""
    e1 = (on_f[i[1]] - on_f[i[0]]) - (on_o[i[1]] - on_o[i[0]])
    e2 = (on_f[i[2]] - on_f[i[1]]) - (on_o[i[2]] - on_o[i[1]])
    e3 = (on_f[i[0]] - on_f[i[2]]) - (on_o[i[0]] - on_o[i[2]])
    s1 = wp.length_sq(e1)
    s2 = wp.length_sq(e2)
    s3 = wp.length_sq(e3)
    # Between two long sides of a needle there are no digits: the longest is left out.
    n = wp.cross(e1, e2)
    if s2 >= s1 and s2 >= s3:
        n = wp.cross(e3, e1)
    elif s1 >= s3:
        n = wp.cross(e2, e3)
    length = wp.length(n)
    if length <= 1.0e-6 * wp.max(s1, wp.max(s2, s3)):
        return wp.vec4(0.0, 0.0, 0.0, wp.inf)
    n = n / length
    offset = float(0.0)
    for k in range(3):
        offset += (wp.dot(n, on_f[i[k]]) - wp.dot(n, on_o[i[k]])) / 3.0
    return wp.vec4(n[0], n[1], n[2], offset)


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
    origin: wp.vec3,
    d: wp.vec3,
    base: wp.vec3,
):
    """Of the supports along ``d`` and against it, the one farther from ``base`` along d."""
    a, b, pieces = split_support(f, o, vertex_f, vertex_o, r, t, origin, d)
    a1, b1, pieces1 = split_support(f, o, vertex_f, vertex_o, r, t, origin, -d)
    if wp.dot(base - (a1 - b1), d) > wp.dot((a - b) - base, d):
        a = a1
        b = b1
        pieces = pieces1
    return a, b, pieces


@wp.func
def first_tetrahedron(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    direction: wp.vec3,
    on_f_out: wp.array[wp.vec3],
    on_o_out: wp.array[wp.vec3],
    piece_out: wp.array[wp.vec2i],
    face_out: wp.array[wp.vec3i],
    plane_out: wp.array[wp.vec4],
):
    """Four corners of M that span a volume, and the four faces, outward."""
    base = wp.vec3()
    e = wp.vec3()
    d = direction
    for k in range(4):
        if k == 0:
            a, b, pieces = split_support(f, o, vertex_f, vertex_o, r, t, origin, d)
            base = a - b
        else:
            a, b, pieces = farther(f, o, vertex_f, vertex_o, r, t, origin, d, base)
        if k == 1:
            e = (a - b) - base
            d = any_across(e)
        elif k == 2:
            a1, b1, pieces1 = farther(f, o, vertex_f, vertex_o, r, t, origin, wp.cross(e, d), base)
            if wp.length_sq(wp.cross((a1 - b1) - base, e)) > wp.length_sq(wp.cross((a - b) - base, e)):
                a = a1
                b = b1
                pieces = pieces1
            d = wp.cross(e, (a - b) - base)
        on_f_out[k] = a
        on_o_out[k] = b
        piece_out[k] = pieces
    below = wp.dot(d, (on_f_out[3] - on_o_out[3]) - base) < 0.0
    i = wp.where(below, 1, 2)
    j = wp.where(below, 2, 1)
    face_out[0] = wp.vec3i(0, i, j)
    face_out[1] = wp.vec3i(0, 3, i)
    face_out[2] = wp.vec3i(i, 3, j)
    face_out[3] = wp.vec3i(j, 3, 0)
    for k in range(4):
        plane_out[k] = plane_of(face_out[k], on_f_out, on_o_out)


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
    on_f: wp.array[wp.vec3],
    on_o: wp.array[wp.vec3],
    face_out: wp.array[wp.vec3i],
    plane_out: wp.array[wp.vec4],
    edge_out: wp.array[wp.vec2i],
) -> int:
    """Replace the faces that the newest corner sees by a fan; the new number of faces."""
    edges = int(0)
    free = face_count
    for k in range(face_count):
        i = face_out[k]
        if i[0] >= 0:
            arm = (on_f[newest] - on_f[i[0]]) - (on_o[newest] - on_o[i[0]])
            height = plane_out[k][0] * arm[0] + plane_out[k][1] * arm[1] + plane_out[k][2] * arm[2]
            sees = height > 0.0 and height * height > ROUNDING * ROUNDING * wp.length_sq(arm)
            if k == best or sees:
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
            face_out[free] = wp.vec3i(edge_out[k][0], edge_out[k][1], newest)
            plane_out[free] = plane_of(face_out[free], on_f, on_o)
            count = wp.max(count, free + 1)
            free += 1
    return count


@wp.func(inline=False)
def least_offset(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    direction: wp.vec3,
    tolerance: float,
):
    """Plane that touches M with the least offset from the origin.

    Args:
        origin: Of :func:`split_origin`.
        direction: First guess of the normal.
        tolerance: Error of the offset that ends the search [length].

    Returns:
        Unit normal (from f to o), the offset (depth; negative for a gap), the point on
        the core of f, the pieces (of f and o) of the three corners of the touching face,
        and the normal of a face with less offset that was left, zero where none was.
    """
    on_f = wp.zeros(shape=(96,), dtype=wp.vec3)
    on_o = wp.zeros(shape=(96,), dtype=wp.vec3)
    piece = wp.zeros(shape=(96,), dtype=wp.vec2i)
    face = wp.zeros(shape=(200,), dtype=wp.vec3i)
    plane = wp.zeros(shape=(200,), dtype=wp.vec4)
    edge = wp.zeros(shape=(96,), dtype=wp.vec2i)
    first_tetrahedron(f, o, vertex_f, vertex_o, r, t, origin, direction, on_f, on_o, piece, face, plane)
    corners = int(4)
    faces = int(4)
    normal = direction
    offset = float(wp.inf)
    foot = wp.vec3i(0, 0, 0)
    doubt = wp.vec3()
    for _round in range(ROUNDS):
        best = int(0)
        for k in range(faces):
            if plane[k][3] < plane[best][3]:
                best = k
        if not (plane[best][3] < wp.inf):
            break
        n = wp.vec3(plane[best][0], plane[best][1], plane[best][2])
        a, b, pieces = split_support(f, o, vertex_f, vertex_o, r, t, origin, n)
        reach = wp.dot(n, a) - wp.dot(n, b)
        if reach < offset:
            offset = reach
            normal = n
            foot = face[best]
        doubt = n
        if offset - plane[best][3] <= tolerance:
            doubt = wp.vec3()
            break
        if faces > FACES - 24 or corners == CORNERS:
            break
        known = bool(False)
        for k in range(3):
            gap = wp.length_sq(on_f[face[best][k]] - a) + wp.length_sq(on_o[face[best][k]] - b)
            known = known or gap == 0.0
        if known:
            # Nothing lies beyond this face: its offset was rounded.
            plane[best] = wp.vec4(n[0], n[1], n[2], reach)
        else:
            on_f[corners] = a
            on_o[corners] = b
            piece[corners] = pieces
            faces = push_out(best, corners, faces, on_f, on_o, face, plane, edge)
            corners += 1
    i = foot[0]
    j = foot[1]
    k = foot[2]
    e1 = (on_f[j] - on_f[i]) - (on_o[j] - on_o[i])
    e2 = (on_f[k] - on_f[i]) - (on_o[k] - on_o[i])
    d = on_o[i] - on_f[i]
    area = wp.max(wp.dot(normal, wp.cross(e1, e2)), 1.0e-30)
    u = wp.clamp(wp.dot(normal, wp.cross(d, e2)) / area, 0.0, 1.0)
    v = wp.clamp(wp.dot(normal, wp.cross(e1, d)) / area, 0.0, 1.0 - u)
    p_f = origin + on_f[i] * (1.0 - u - v) + on_f[j] * u + on_f[k] * v
    found = mat42i()
    found[0] = piece[i]
    found[1] = piece[j]
    found[2] = piece[k]
    return normal, offset, p_f, found, doubt
