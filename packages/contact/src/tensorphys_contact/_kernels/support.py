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


@wp.func
def hull_extreme(first: int, last: int, vertex: wp.array[wp.vec3], d: wp.vec3) -> wp.vec3:
    """Vertex of a hull farthest along a direction; the first of equals."""
    best = vertex[first]
    most = wp.dot(best, d)
    for v in range(first + 1, last):
        p = vertex[v]
        along = wp.dot(p, d)
        if along > most:
            most = along
            best = p
    return best


@wp.func
def support(shape: Convex, vertex: wp.array[wp.vec3], d: wp.vec3) -> wp.vec3:
    """Point of the core farthest along a direction, which need not be a unit vector."""
    p = wp.vec3(0.0, 0.0, 0.0)
    kind = shape.kind
    size = shape.size
    if kind == CONVEX_HULL or kind == TRIANGLE:
        p = hull_extreme(shape.first_vertex, shape.last_vertex, vertex, d)
    elif kind == BOX:
        p = wp.vec3(
            wp.where(d[0] < 0.0, -size[0], size[0]),
            wp.where(d[1] < 0.0, -size[1], size[1]),
            wp.where(d[2] < 0.0, -size[2], size[2]),
        )
    elif kind == CAPSULE:
        p = wp.vec3(0.0, 0.0, wp.where(d[2] < 0.0, -size[1], size[1]))
    elif kind == ELLIPSOID:
        scaled = wp.cw_mul(size, d)
        length = wp.max(wp.length(scaled), 1.0e-30)
        p = wp.cw_mul(size, scaled) / length
    elif kind == CYLINDER or kind == CONE:
        across = wp.sqrt(d[0] * d[0] + d[1] * d[1])
        x = float(0.0)
        y = float(0.0)
        if across > 0.0:
            x = size[0] * d[0] / across
            y = size[0] * d[1] / across
        if kind == CYLINDER:
            p = wp.vec3(x, y, wp.where(d[2] < 0.0, -size[1], size[1]))
        elif d[2] * size[1] > size[0] * across - d[2] * size[1]:
            p = wp.vec3(0.0, 0.0, size[1])
        else:
            p = wp.vec3(x, y, -size[1])
    return p


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


@wp.func
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
