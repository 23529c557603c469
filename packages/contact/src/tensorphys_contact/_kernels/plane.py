"""Planes against all convex shapes."""

import warp as wp

from .gather import Points, World, pair_limit, pair_rotation, plane_apart, relative_pose, store_point

wp.set_module_options({"enable_backward": False})

SPHERE = wp.constant(1)
CAPSULE = wp.constant(2)
BOX = wp.constant(3)
CONVEX_HULL = wp.constant(4)
CYLINDER = wp.constant(5)
CONE = wp.constant(6)
ELLIPSOID = wp.constant(7)
# A cylinder whose axis leans less than this (sine) stands: the deepest point of its rim is then as
# good as any other, and a fixed one keeps the contacts in their places.
STANDING = wp.constant(1.0e-4)
# Vertices of a hull this near to its deepest one (in radii) count as equally deep, so
# that rounding does not change which four corners of a flat face are kept.
SEED_BAND = wp.constant(1.0e-5)


@wp.func
def box_bottom_corner(normal: wp.vec3, k: int) -> int:
    """Corner k = 0..3 of the box face that looks most against ``normal``.

    A corner is three sign bits, x lowest; the four come in ascending order.
    """
    a = wp.abs(normal)
    axis = int(2)
    low = int(0)
    high = int(1)
    if a[0] >= a[1] and a[0] >= a[2]:
        axis = 0
        low = 1
        high = 2
    elif a[1] >= a[2]:
        axis = 1
        low = 0
        high = 2
    corner = ((k & 1) << low) | ((k >> 1) << high)
    if normal[axis] < 0.0:
        corner = corner | (1 << axis)
    return corner


@wp.func
def box_corner(half: wp.vec3, corner: int) -> wp.vec3:
    """Position of a corner given by its sign bits."""
    return wp.vec3(
        wp.where((corner & 1) != 0, half[0], -half[0]),
        wp.where((corner & 2) != 0, half[1], -half[1]),
        wp.where((corner & 4) != 0, half[2], -half[2]),
    )


@wp.func
def hull_support(normal: wp.vec3, span: wp.vec2i, vertex: wp.array[wp.vec3], band: float) -> int:
    """First vertex within ``band`` of the one farthest against ``normal``."""
    least = float(1.0e30)
    for v in range(span[0], span[1]):
        least = wp.min(least, wp.dot(normal, vertex[v]))
    found = int(span[0])
    for i in range(span[1] - span[0]):
        v = span[1] - 1 - i
        if wp.dot(normal, vertex[v]) <= least + band:
            found = v
    return found


@wp.func
def hull_manifold(
    normal: wp.vec3, limit: float, band: float, span: wp.vec2i, vertex: wp.array[wp.vec3]
) -> wp.vec4i:
    """Up to four vertices with ``normal · v < limit`` that span a large area.

    The deepest, the farthest from it, the one that makes the largest triangle with
    these two, and the one that adds the most on the outer side of a triangle's edge.
    Ascending; absent ones are −1 and come first.
    """
    a = hull_support(normal, span, vertex, band)
    pa = vertex[a]
    if not (wp.dot(normal, pa) < limit):
        return wp.vec4i(-1, -1, -1, -1)
    b = int(-1)
    best = float(0.0)
    for v in range(span[0], span[1]):
        d = vertex[v] - pa
        d = d - normal * wp.dot(normal, d)
        reach = wp.dot(d, d)
        if wp.dot(normal, vertex[v]) < limit and reach > best:
            best = reach
            b = v
    if b < 0:
        return wp.vec4i(-1, -1, -1, a)
    side = wp.cross(normal, vertex[b] - pa)
    c = int(-1)
    area_c = float(1.0e-6) * best
    for v in range(span[0], span[1]):
        area = wp.dot(side, vertex[v] - pa)
        if wp.dot(normal, vertex[v]) < limit and wp.abs(area) > wp.abs(area_c):
            area_c = area
            c = v
    if c < 0:
        return sorted_four(-1, -1, a, b)
    d4 = fourth_vertex(normal, limit, a, b, c, area_c, span, vertex)
    return sorted_four(a, b, c, d4)


@wp.func
def fourth_vertex(
    normal: wp.vec3,
    limit: float,
    a: int,
    b: int,
    c: int,
    area_c: float,
    span: wp.vec2i,
    vertex: wp.array[wp.vec3],
) -> int:
    """Vertex that adds the largest triangle outside of triangle a, b, c, or −1."""
    # Turned so that the triangle runs counter-clockwise about the normal.
    turn = wp.where(area_c > 0.0, 1.0, -1.0)
    pa = vertex[a]
    pb = vertex[b]
    pc = vertex[c]
    out_ab = wp.cross(pb - pa, normal) * turn
    out_bc = wp.cross(pc - pb, normal) * turn
    out_ca = wp.cross(pa - pc, normal) * turn
    found = int(-1)
    best = float(1.0e-3) * wp.abs(area_c)
    for v in range(span[0], span[1]):
        p = vertex[v]
        gain = wp.max(wp.dot(out_ab, p - pa), wp.max(wp.dot(out_bc, p - pb), wp.dot(out_ca, p - pc)))
        if wp.dot(normal, p) < limit and gain > best:
            best = gain
            found = v
    return found


@wp.func
def sorted_four(a: int, b: int, c: int, d: int) -> wp.vec4i:
    """Sort four integers, least first."""
    low0 = wp.min(a, b)
    high0 = wp.max(a, b)
    low1 = wp.min(c, d)
    high1 = wp.max(c, d)
    middle0 = wp.max(low0, low1)
    middle1 = wp.min(high0, high1)
    return wp.vec4i(
        wp.min(low0, low1),
        wp.min(middle0, middle1),
        wp.max(middle0, middle1),
        wp.max(high0, high1),
    )


@wp.func
def primitive_features(kind: int, normal: wp.vec3) -> wp.vec4i:
    """Candidate features of a shape that is no hull against ``normal``, −1 for none."""
    features = wp.vec4i(0, 1, -1, -1)
    if kind == SPHERE or kind == ELLIPSOID:
        features[1] = -1
    elif kind == BOX:
        for k in range(4):
            features[k] = box_bottom_corner(normal, k)
    elif kind == CYLINDER or kind == CONE:
        # three points of the lower rim and the one above the deepest of them, or the apex
        features = wp.vec4i(0, 1, 2, 3)
    return features


@wp.func
def cylinder_point(size: wp.vec3, normal: wp.vec3, k: int) -> wp.vec3:
    """Points of the rims of a cylinder against ``normal``: 0 the deepest, 1 and 2 a third of a turn from it
    on the same rim, 3 above it on the other rim."""
    lean = wp.sqrt(normal[0] * normal[0] + normal[1] * normal[1])
    x = wp.where(lean > STANDING, -normal[0] / wp.max(lean, STANDING), 1.0)
    y = wp.where(lean > STANDING, -normal[1] / wp.max(lean, STANDING), 0.0)
    cosine = wp.where(k == 1 or k == 2, -0.5, 1.0)
    sine = wp.where(k == 1, 0.8660254, wp.where(k == 2, -0.8660254, 0.0))
    height = wp.where(normal[2] >= 0.0, -size[1], size[1])
    return wp.vec3(
        size[0] * (cosine * x - sine * y),
        size[0] * (sine * x + cosine * y),
        wp.where(k == 3, -height, height),
    )


@wp.func
def lowest_point(kind: int, size: wp.vec3, normal: wp.vec3, k: int, corner: int) -> wp.vec3:
    """Candidate point k of a shape, in its frame, against ``normal`` of the same frame."""
    p = box_corner(size, corner)
    if kind == CYLINDER:
        p = cylinder_point(size, normal, k)
    elif kind == CONE:
        p = cylinder_point(size, normal, k)
        p[2] = -size[1]
        if k == 3:
            p = wp.vec3(0.0, 0.0, size[1])
    elif kind == ELLIPSOID:
        scaled = wp.cw_mul(size, normal)
        p = wp.cw_mul(size, scaled) * (-1.0 / wp.length(scaled))
    elif kind != BOX:
        half_height = wp.where(kind == CAPSULE, size[1], 0.0)
        p = normal * (-size[0])
        p[2] = p[2] + wp.where(k == 0, -half_height, half_height)
    return p


@wp.func(inline=True)
def plane_manifold(item: wp.vec4i, margin: float, slot: int, world: World, points_out: Points) -> int:
    """Points of a pair, from a slot on, and their number; the frame shape f is the plane."""
    f = item[0]
    o = item[1]
    local_f = world.local_pose[item[2]]
    local_o = world.local_pose[item[3]]
    limit = pair_limit(world, item, margin)
    x = relative_pose(world.shape_body[f], world.shape_body[o], local_f, local_o, world.body_pose)
    t = wp.transform_get_translation(x)
    q = wp.transform_get_rotation(x)
    normal = wp.quat_rotate_inv(q, wp.vec3(0.0, 0.0, 1.0))
    count = int(0)
    kind = world.shape_type[o]
    size = world.shape_size[o]
    chosen = primitive_features(kind, normal)
    if kind == CONVEX_HULL:
        band = SEED_BAND * world.shape_radius[o]
        chosen = hull_manifold(normal, limit - t[2], band, world.shape_vertices[o], world.hull_vertex)
    side_f = wp.where(f < o, 0, 1)
    for k in range(4):
        if chosen[k] >= 0:
            point = wp.vec3()
            feature = chosen[k]
            if kind == CONVEX_HULL:
                point = world.hull_vertex[feature]
                feature = feature - world.shape_vertices[o][0]
            else:
                point = lowest_point(kind, size, normal, k, feature)
            separation = t[2] + wp.dot(normal, point)
            if separation < limit:
                on_plane = t + wp.quat_rotate(q, point)
                on_plane[2] = 0.0
                store_point(
                    slot + count,
                    side_f,
                    wp.transform_point(local_f, on_plane),
                    wp.transform_point(local_o, point),
                    wp.quat_rotate(
                        pair_rotation(world.shape_body[f], world.body_pose, local_f), wp.vec3(0.0, 0.0, 1.0)
                    ),
                    separation,
                    feature,
                    points_out.anchor,
                    points_out.normal,
                    points_out.separation,
                    points_out.feature,
                )
                count += 1
    return count


@wp.kernel
def collide_planes(
    family: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    world: World,
    # outputs
    points_out: Points,
):
    """One thread a pair."""
    pair = family[wp.tid()]
    if pair < 0:
        return
    item = world.pair_item[pair]
    count = int(0)
    if not plane_apart(bound[item[2]], bound[item[3]]):
        margin = world.margin[world.pair_environment[pair]]
        count = plane_manifold(item, margin, world.slot_start[pair], world, points_out)
    points_out.count[pair] = count
