"""Support points and faces of convex shapes, each in its own shape frame.

A shape is a core with a radius: a sphere is a point, a capsule a segment, the others
are their own core.
"""

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

SPHERE = wp.constant(1)
CAPSULE = wp.constant(2)
BOX = wp.constant(3)
CONVEX_HULL = wp.constant(4)
CYLINDER = wp.constant(5)
CONE = wp.constant(6)
ELLIPSOID = wp.constant(7)
# One triangle of a mesh, its corners where a hull has its vertices; flat, front side outward.
TRIANGLE = wp.constant(8)
# Corners of a face: caps of cylinders and cones are polygons of as many.
FACE_CORNERS = wp.constant(16)
mat43 = wp.types.matrix(shape=(4, 3), dtype=wp.float32)


@wp.struct
class Convex:
    """A convex shape: its type, size, and its ranges of hull vertices and faces."""

    kind: int
    size: wp.vec3
    first_vertex: int
    last_vertex: int
    first_face: int
    last_face: int


@wp.func
def core_radius(shape: Convex) -> float:
    """Radius around the core."""
    return wp.where(shape.kind == SPHERE or shape.kind == CAPSULE, shape.size[0], 0.0)


# Four vertices at a time on a CPU, where the scan of a hull is most of the time of a pair. Each lane keeps the first of its
# equals, and of the lanes the lowest index wins: the result is that of the plain loop, to the bit.
_EXTREME = r"""
const float* p = (const float*)vertex.data;
int best = first;
#if !defined(__CUDA_ARCH__)
typedef float F4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int I4 __attribute__((vector_size(16)));
int v = first;
float most = 0.0f;
if (last - first >= 8) {
  const float x = d[0], y = d[1], z = d[2];
  F4 top;
  I4 index = I4{v, v + 1, v + 2, v + 3}, found = index;
  for (bool begun = false; v + 4 <= last; v += 4, index += 4, begun = true) {
    const F4 a = *(const F4*)(p + 3 * v), b = *(const F4*)(p + 3 * v + 4), c = *(const F4*)(p + 3 * v + 8);
    const F4 ab = __builtin_shufflevector(a, b, 2, 3, 5, 6);
    const F4 px = __builtin_shufflevector(__builtin_shufflevector(a, ab, 0, 3, 7, 7), c, 0, 1, 2, 5);
    const F4 py = __builtin_shufflevector(__builtin_shufflevector(a, b, 1, 4, 7, 7), c, 0, 1, 2, 6);
    const F4 pz = __builtin_shufflevector(__builtin_shufflevector(a, b, 2, 5, 5, 5), c, 0, 1, 4, 7);
    const F4 along = px * x + py * y + pz * z;
    if (!begun) { top = along; continue; }
    const I4 more = along > top;
    top = (F4)((more & (I4)along) | (~more & (I4)top));
    found = (more & index) | (~more & found);
  }
  most = top[0];
  best = found[0];
  for (int l = 1; l < 4; l++)
    if (top[l] > most || (top[l] == most && found[l] < best)) { most = top[l]; best = found[l]; }
} else {
  most = p[3 * v] * d[0] + p[3 * v + 1] * d[1] + p[3 * v + 2] * d[2];
  v++;
}
#else
float most = p[3 * first] * d[0] + p[3 * first + 1] * d[1] + p[3 * first + 2] * d[2];
int v = first + 1;
#endif
for (; v < last; v++) {
  const float along = p[3 * v] * d[0] + p[3 * v + 1] * d[1] + p[3 * v + 2] * d[2];
  if (along > most) { most = along; best = v; }
}
return best;
"""


@wp.func_native(_EXTREME)
def hull_extreme(first: int, last: int, vertex: wp.array[wp.vec3], d: wp.vec3) -> int:
    """Vertex of a hull farthest along a direction; the first of equals."""
    ...


@wp.func
def support_piece(shape: Convex, vertex: wp.array[wp.vec3], d: wp.vec3) -> int:
    """Piece of the core that holds its point farthest along a direction.

    A piece is a part of the surface on which that point depends smoothly on the direction: a
    vertex, a corner (sign bits, x lowest), the upper (1) or lower (0) end of a capsule or rim of
    a cylinder, the apex (1) or rim (0) of a cone, and the whole of an ellipsoid or sphere.
    """
    piece = int(0)
    kind = shape.kind
    size = shape.size
    if kind == CONVEX_HULL or kind == TRIANGLE:
        piece = hull_extreme(shape.first_vertex, shape.last_vertex, vertex, d)
    elif kind == BOX:
        piece = wp.where(d[0] < 0.0, 0, 1) + wp.where(d[1] < 0.0, 0, 2) + wp.where(d[2] < 0.0, 0, 4)
    elif kind == CAPSULE or kind == CYLINDER:
        piece = wp.where(d[2] < 0.0, 0, 1)
    elif kind == CONE:
        across = wp.sqrt(d[0] * d[0] + d[1] * d[1])
        piece = wp.where(d[2] * size[1] > size[0] * across - d[2] * size[1], 1, 0)
    return piece


@wp.func
def piece_point(shape: Convex, vertex: wp.array[wp.vec3], piece: int, d: wp.vec3) -> wp.vec3:
    """Point of one piece of the core farthest along a direction, which need not be a unit vector."""
    p = wp.vec3(0.0, 0.0, 0.0)
    kind = shape.kind
    size = shape.size
    if kind == CONVEX_HULL or kind == TRIANGLE:
        p = vertex[piece]
    elif kind == BOX:
        p = wp.vec3(
            wp.where((piece & 1) == 0, -size[0], size[0]),
            wp.where((piece & 2) == 0, -size[1], size[1]),
            wp.where((piece & 4) == 0, -size[2], size[2]),
        )
    elif kind == ELLIPSOID:
        scaled = wp.cw_mul(size, d)
        length = wp.max(wp.length(scaled), 1.0e-30)
        p = wp.cw_mul(size, scaled) / length
    elif kind == CAPSULE or kind == CYLINDER or kind == CONE:
        p[2] = wp.where(piece == 0, -size[1], size[1])
        across = wp.sqrt(d[0] * d[0] + d[1] * d[1])
        if across > 0.0 and (kind == CYLINDER or (kind == CONE and piece == 0)):
            p[0] = size[0] * d[0] / across
            p[1] = size[0] * d[1] / across
    return p


@wp.func
def piece_curvature(shape: Convex, piece: int, d: wp.vec3, e1: wp.vec3, e2: wp.vec3) -> wp.vec3:
    """Second derivative of the reach of a piece along unit directions: (11, 12, 22).

    It is taken at ``d`` along ``e1`` and ``e2``, unit vectors across it: the radii of curvature
    [Schneider 2014, §2.5].
    """
    result = wp.vec3()
    size = shape.size
    kind = shape.kind
    if kind == ELLIPSOID:
        scaled = wp.cw_mul(size, d)
        length = wp.max(wp.length(scaled), 1.0e-30)
        p = wp.cw_mul(size, scaled) / length
        s1 = wp.cw_mul(size, e1)
        s2 = wp.cw_mul(size, e2)
        a = wp.dot(p, e1)
        b = wp.dot(p, e2)
        result = wp.vec3(wp.dot(s1, s1) - a * a, wp.dot(s1, s2) - a * b, wp.dot(s2, s2) - b * b) / length
    elif kind == CYLINDER or (kind == CONE and piece == 0):
        across = wp.max(wp.sqrt(d[0] * d[0] + d[1] * d[1]), 1.0e-12)
        a = (d[0] * e1[1] - d[1] * e1[0]) / across
        b = (d[0] * e2[1] - d[1] * e2[0]) / across
        result = wp.vec3(a * a, a * b, b * b) * (size[0] / across)
    return result


@wp.func
def reach_change(shape: Convex, vertex: wp.array[wp.vec3], m: wp.vec3, turn: wp.vec3) -> float:
    """Reach of the core along ``m + turn`` less that along ``m``, without the rounding of either."""
    d = m + turn
    piece = support_piece(shape, vertex, d)
    p = piece_point(shape, vertex, piece, m)
    change = wp.dot(m, p - piece_point(shape, vertex, support_piece(shape, vertex, m), m))
    size = shape.size
    both = m + d
    if shape.kind == ELLIPSOID:
        lengths = wp.length(wp.cw_mul(size, m)) + wp.length(wp.cw_mul(size, d))
        change += wp.dot(wp.cw_mul(size, turn), wp.cw_mul(size, both)) / lengths
    elif shape.kind == CYLINDER or (shape.kind == CONE and piece == 0):
        lengths = wp.sqrt(m[0] * m[0] + m[1] * m[1]) + wp.sqrt(d[0] * d[0] + d[1] * d[1])
        change += size[0] * (turn[0] * both[0] + turn[1] * both[1]) / wp.max(lengths, 1.0e-30)
        change += p[2] * turn[2]
    else:
        change += wp.dot(p, turn)
    return change


@wp.func
def support(shape: Convex, vertex: wp.array[wp.vec3], d: wp.vec3) -> wp.vec3:
    """Point of the core farthest along a direction, which need not be a unit vector."""
    return piece_point(shape, vertex, support_piece(shape, vertex, d), d)


@wp.func
def cap_corner(radius: float, k: int, height: float) -> wp.vec3:
    """Corner k of the polygon that stands for the cap of a cylinder or cone."""
    angle = float(k) * (wp.tau / float(FACE_CORNERS))
    return wp.vec3(radius * wp.cos(angle), radius * wp.sin(angle), height)


@wp.func
def hull_face(
    shape: Convex,
    vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    d: wp.vec3,
    corners_out: wp.array[wp.vec3],
):
    """Face of a hull that looks most along ``d``: (corner count, normal, name)."""
    best = shape.first_face
    most = float(-wp.inf)
    for f in range(shape.first_face, shape.last_face):
        along = wp.dot(face_normal[f], d)
        if along > most:
            most = along
            best = f
    span = face_range[best]
    total = span[1] - span[0]
    count = wp.min(total, FACE_CORNERS)
    for k in range(count):
        corners_out[k] = vertex[shape.first_vertex + face_vertex[span[0] + (k * total) // count]]
    return count, face_normal[best], best - shape.first_face


@wp.func
def round_face(shape: Convex, d: wp.vec3, corners_out: wp.array[wp.vec3]):
    """Cap or line of a cylinder, cone or capsule along ``d``: (count, normal, name)."""
    size = shape.size
    across = wp.sqrt(d[0] * d[0] + d[1] * d[1])
    x = wp.where(across > 1.0e-6, d[0] / wp.max(across, 1.0e-6), 1.0)
    y = wp.where(across > 1.0e-6, d[1] / wp.max(across, 1.0e-6), 0.0)
    side = across
    height = wp.where(d[2] < 0.0, -size[1], size[1])
    is_cap = wp.abs(d[2]) > across
    if shape.kind == CONE:
        height = -size[1]
        side = (2.0 * size[1] * across + size[0] * d[2]) / wp.sqrt(
            4.0 * size[1] * size[1] + size[0] * size[0]
        )
        is_cap = -d[2] > side
    if shape.kind == CAPSULE:
        corners_out[0] = d * size[0] + wp.vec3(0.0, 0.0, -size[1])
        corners_out[1] = d * size[0] + wp.vec3(0.0, 0.0, size[1])
        return 2, wp.vec3(0.0, 0.0, 0.0), 0
    if is_cap:
        for k in range(FACE_CORNERS):
            # Counter-clockwise seen from outside.
            corners_out[k] = cap_corner(size[0], wp.where(height < 0.0, FACE_CORNERS - 1 - k, k), height)
        return FACE_CORNERS, wp.vec3(0.0, 0.0, wp.sign(height)), wp.where(height < 0.0, 1, 2)
    corners_out[0] = wp.vec3(size[0] * x, size[0] * y, -size[1])
    corners_out[1] = wp.vec3(size[0] * x, size[0] * y, size[1])
    if shape.kind == CONE:
        corners_out[1] = wp.vec3(0.0, 0.0, size[1])
    return 2, wp.vec3(0.0, 0.0, 0.0), 0


@wp.func
def box_face(size: wp.vec3, d: wp.vec3, corners_out: wp.array[wp.vec3]):
    """Face of a box that looks most along ``d``: (4, normal, name)."""
    a = wp.vec3(wp.abs(d[0]), wp.abs(d[1]), wp.abs(d[2]))
    axis = int(2)
    if a[0] >= a[1] and a[0] >= a[2]:
        axis = 0
    elif a[1] >= a[2]:
        axis = 1
    first = (axis + 1) % 3
    second = (axis + 2) % 3
    sign = wp.where(d[axis] < 0.0, -1.0, 1.0)
    for k in range(4):
        p = wp.vec3()
        p[axis] = sign * size[axis]
        p[first] = wp.where(k == 1 or k == 2, size[first], -size[first])
        p[second] = wp.where(k >= 2, size[second], -size[second]) * sign
        corners_out[k] = p
    normal = wp.vec3()
    normal[axis] = sign
    return 4, normal, axis + wp.where(sign > 0.0, 3, 0)


@wp.func(inline=False)
def face_toward(
    shape: Convex,
    vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    d: wp.vec3,
    corners_out: wp.array[wp.vec3],
):
    """Face (or line) of a shape along ``d``: (corner count, normal, name).

    At most ``FACE_CORNERS`` corners, on the surface; a line has two and no normal, a
    shape without flat parts has none.
    """
    count = int(0)
    normal = wp.vec3()
    name = int(0)
    if shape.kind == CONVEX_HULL:
        count, normal, name = hull_face(shape, vertex, face_range, face_normal, face_vertex, d, corners_out)
    elif shape.kind == TRIANGLE:
        for k in range(3):
            corners_out[k] = vertex[shape.first_vertex + k]
        count = 3
        normal = wp.normalize(wp.cross(corners_out[1] - corners_out[0], corners_out[2] - corners_out[0]))
    elif shape.kind == BOX:
        count, normal, name = box_face(shape.size, d, corners_out)
    elif shape.kind == CAPSULE or shape.kind == CYLINDER or shape.kind == CONE:
        count, normal, name = round_face(shape, d, corners_out)
    return count, normal, name
