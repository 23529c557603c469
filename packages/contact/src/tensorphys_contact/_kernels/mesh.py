"""Triangle meshes and height fields against convex shapes.

Each triangle near the shape is a flat convex shape of its own. The normal of an edge or corner
counts only within the normal cone of the surface there (see :mod:`.mesh_cones`): over flat and
hollow edges the neighbour alone decides, so that inner edges are not felt.
"""

import warp as wp

from .convex import convex_of
from .convex_pair import (
    FACE_BAND,
    ON_OTHER,
    ROUNDING,
    WITNESS,
    manifold_along,
    one_direction,
    separate,
    separation_along,
)
from .faces import outside
from .gather import pair_rotation, relative_frame, spheres_apart, store_point
from .mesh_cones import LEAN, leans_out
from .mesh_points import keep_point, reduce_points, sort_by_name
from .support import TRIANGLE, Convex, core_radius, support

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Cosine to the face of a triangle below which a shape that crosses it leaves it sideways.
SIDEWAYS = wp.constant(0.9)


@wp.func
def shape_box(o: Convex, vertex: wp.array[wp.vec3], r: wp.mat33, t: wp.vec3, reach: float):
    """Corners of the box about a shape in the frame of the mesh."""
    low = wp.vec3()
    high = wp.vec3()
    for axis in range(3):
        d = wp.vec3()
        d[axis] = 1.0
        local = wp.transpose(r) * d
        high[axis] = t[axis] + wp.dot(local, support(o, vertex, local)) + reach
        low[axis] = t[axis] + wp.dot(local, support(o, vertex, -local)) - reach
    return low, high


@wp.func
def is_explained(
    f: Convex,
    o: Convex,
    corner: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    band: float,
    known: int,
    point: wp.array[wp.vec4],
    normal_of: wp.array[wp.vec3],
) -> bool:
    """True where a known contact pushes the shape out of a triangle, too."""
    for k in range(known):
        if point[k][3] <= 0.0:
            if separation_along(f, o, corner, vertex_o, r, t, normal_of[k]) >= point[k][3] - band:
                return True
    return False


@wp.func
def triangle_points(
    o: Convex,
    vertex_o: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    r: wp.mat33,
    t: wp.vec3,
    corner: wp.array[wp.vec3],
    fold: wp.vec3,
    mesh_id: wp.uint64,
    triangle_neighbour: wp.array[wp.vec3i],
    first: int,
    triangle: int,
    limit: float,
    radius: float,
    sideways: bool,
    known: int,
    point: wp.array[wp.vec4],
    normal_of: wp.array[wp.vec3],
):
    """Manifold of one triangle, relative to its first corner; as ``convex_manifold``.

    Args:
        sideways: Whether to give the contacts of a triangle that the shape crosses and would leave
            sideways, unless one of the first ``known`` of ``point`` and ``normal_of`` explains it,
            or those of other triangles.

    Returns:
        As :func:`convex_manifold`, and whether there are contacts of the other sort.
    """
    missing = bool(False)
    points = wp.mat44()
    names = wp.vec4i(-1, -1, -1, -1)
    normal = wp.vec3()
    last = wp.vec3()
    longest = wp.sqrt(wp.max(wp.length_sq(corner[1]), wp.length_sq(corner[2])))
    m = wp.cross(corner[1], corner[2])
    area = wp.length(m)
    if area <= 1.0e-7 * longest * longest:
        return points, names, normal, last, missing
    m = m / area
    f = Convex()
    f.kind = TRIANGLE
    f.first_vertex = 0
    f.last_vertex = 3
    height = separation_along(f, o, corner, vertex_o, r, t, m)
    back = wp.transpose(r) * m
    top = wp.dot(m, t) + wp.dot(back, support(o, vertex_o, back)) + core_radius(o)
    if height >= limit or top <= 0.0:
        return points, names, normal, last, missing
    least = wp.min(radius, longest)
    extent = radius + longest
    n, separation, p_f, blur = separate(f, o, corner, vertex_o, r, t, limit, least, extent)
    band = FACE_BAND * least + ROUNDING * extent
    found = separation < limit
    own = bool(True)
    beside = bool(False)
    # The face's own normal where it separates as well, or where the difference is rounding.
    alike = wp.dot(n, m)
    if alike > 1.0 - LEAN * LEAN or (one_direction(m, n, blur) and height >= separation - band):
        n = m
    elif found and leans_out(n, m, corner, fold, mesh_id, triangle_neighbour, first, triangle):
        # A shape apart from this triangle is nearer to a neighbour. One that crosses it is pushed
        # out through its face where it lies over it.
        found = separation + core_radius(o) <= band and height > -radius
        beside = alike < SIDEWAYS
        n = m
    else:
        own = False
    if own:
        # Along the triangle's own normal the deepest point counts where it is over the triangle.
        separation = height
        p_f = t + r * support(o, vertex_o, -back) - m * (core_radius(o) + height)
        own = outside(p_f, m, 1.0, 3, corner) > ROUNDING * extent
    if found and beside != sideways:
        missing = found and beside
        found = False
    elif found and beside:
        found = not is_explained(f, o, corner, vertex_o, r, t, band, known, point, normal_of)
    if found:
        points, names, normal, last = manifold_along(
            f,
            o,
            corner,
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
        if own and names[3] == WITNESS:
            names[3] = -1
    return points, names, normal, last, missing


@wp.func
def point_name(triangle: int, name: int) -> int:
    """Name of a contact point of a triangle among those of a mesh."""
    local = (name & 511) + wp.where((name & ON_OTHER) != 0, 512, 0)
    local += wp.where((name & WITNESS) != 0, 1024, 0)
    return ((triangle & 0xFFFFF) << 11) + local


@wp.func
def gather_points(
    mesh_id: wp.uint64,
    first_fold: int,
    triangle_fold: wp.array[wp.vec3],
    triangle_neighbour: wp.array[wp.vec3i],
    o: Convex,
    hull_vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    r: wp.mat33,
    t: wp.vec3,
    limit: float,
    radius: float,
    room: int,
    point_out: wp.array[wp.vec4],
    normal_out: wp.array[wp.vec3],
    name_out: wp.array[wp.int32],
) -> int:
    """Points of all triangles near a shape, in the frame of the mesh; their number."""
    corner = wp.zeros(shape=(3,), dtype=wp.vec3)
    band = 1.0e-4 * radius
    count = int(0)
    known = int(0)
    again = bool(False)
    low, high = shape_box(o, hull_vertex, r, t, core_radius(o) + limit)
    mesh = wp.mesh_get(mesh_id)
    for sweep in range(2):
        if sweep == 0 or again:
            query = wp.mesh_query_aabb(mesh_id, low, high)
            triangle = int(0)
            known = count
            while wp.mesh_query_aabb_next(query, triangle):
                base = mesh.points[mesh.indices[3 * triangle]]
                corner[1] = mesh.points[mesh.indices[3 * triangle + 1]] - base
                corner[2] = mesh.points[mesh.indices[3 * triangle + 2]] - base
                points, names, face, last, missing = triangle_points(
                    o,
                    hull_vertex,
                    face_range,
                    face_normal,
                    face_vertex,
                    r,
                    t - base,
                    corner,
                    triangle_fold[first_fold + triangle],
                    mesh_id,
                    triangle_neighbour,
                    first_fold,
                    triangle,
                    limit,
                    radius,
                    sweep == 1,
                    known,
                    point_out,
                    normal_out,
                )
                again = again or missing
                for k in range(4):
                    if names[k] >= 0:
                        p = wp.vec4(
                            points[k, 0] + base[0],
                            points[k, 1] + base[1],
                            points[k, 2] + base[2],
                            points[k, 3],
                        )
                        count = keep_point(
                            count,
                            p,
                            wp.where(k == 3, last, face),
                            point_name(triangle, names[k]),
                            room,
                            band,
                            point_out,
                            normal_out,
                            name_out,
                        )
    return count


@wp.kernel
def collide_meshes(
    family: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    pair_item: wp.array[wp.vec4i],
    pair_environment: wp.array[wp.int32],
    slot_start: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    shape_size: wp.array[wp.vec3],
    local_pose: wp.array[wp.transform],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    shape_type: wp.array[wp.int32],
    shape_radius: wp.array[wp.float32],
    shape_vertices: wp.array[wp.vec2i],
    shape_faces: wp.array[wp.vec2i],
    hull_vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    shape_mesh: wp.array[wp.uint64],
    shape_fold: wp.array[wp.int32],
    triangle_fold: wp.array[wp.vec3],
    triangle_neighbour: wp.array[wp.vec3i],
    # outputs
    count_out: wp.array[wp.int32],
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
):
    """One thread a pair; the frame shape f is the mesh."""
    pair = family[wp.tid()]
    if pair < 0:
        return
    item = pair_item[pair]
    if spheres_apart(bound[item[2]], bound[item[3]]):
        count_out[pair] = 0
        return
    f = item[0]
    local_f = local_pose[item[2]]
    local_o = local_pose[item[3]]
    limit = contact_offset[f] + contact_offset[item[1]] + margin[pair_environment[pair]]
    r, t, q = relative_frame(shape_body[f], shape_body[item[1]], local_f, local_o, body_pose)
    o = convex_of(item[1], shape_type, shape_size, shape_vertices, shape_faces)
    radius = shape_radius[item[1]]
    slot = slot_start[pair]
    room = slot_start[pair + 1] - slot
    point = wp.zeros(shape=(64,), dtype=wp.vec4)
    normal = wp.zeros(shape=(64,), dtype=wp.vec3)
    name = wp.zeros(shape=(64,), dtype=wp.int32)
    band = 1.0e-4 * radius
    count = gather_points(
        shape_mesh[f],
        shape_fold[f],
        triangle_fold,
        triangle_neighbour,
        o,
        hull_vertex,
        face_range,
        face_normal,
        face_vertex,
        r,
        t,
        limit,
        radius,
        room,
        point,
        normal,
        name,
    )
    # The order in which triangles are met is that of the tree; names are not.
    sort_by_name(count, point, normal, name)
    count = reduce_points(count, room, band, point, normal, name)
    q_f = pair_rotation(shape_body[f], body_pose, local_f)
    for k in range(count):
        at = wp.vec3(point[k][0], point[k][1], point[k][2])
        store_point(
            slot + k,
            wp.where(f < item[1], 0, 1),
            wp.transform_point(local_f, at),
            wp.transform_point(local_o, wp.quat_rotate_inv(q, at + normal[k] * point[k][3] - t)),
            wp.quat_rotate(q_f, normal[k]),
            point[k][3],
            name[k],
            anchor_out,
            normal_out,
            separation_out,
            feature_out,
        )
    count_out[pair] = count
