"""Triangle meshes and height fields against convex shapes.

Each triangle near the shape is a flat convex shape of its own, see :mod:`.mesh_triangle`. Triangles that
the shape crosses and would leave sideways are looked at last: what another contact pushes the shape
out of needs none of its own.

A closed convex mesh of few corners has its hull beside its triangles, and that alone counts: of all ways out
of it the least is known, which single triangles do not tell.
"""

import warp as wp

from .convex import convex_of
from .convex_pair import ON_OTHER, ROUNDING, WITNESS, convex_manifold, separation_along
from .gather import pair_rotation, relative_frame, spheres_apart, store_point
from .mesh_cones import read_triangle
from .mesh_points import ALIKE, keep_point, reduce_points, sort_by_name
from .mesh_triangle import PATCH, SIDEWAYS, face_way, patch_point, triangle_points
from .support import CONVEX_HULL, TRIANGLE, Convex, core_radius, support

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Beside shapes this small, in radii of the mesh, rounded normals of large faces tell less than the triangles near by.
SMALL = wp.constant(0.02)
# Name of the contact of the triangles that a shape crosses, taken together.
PATCH_NAME = wp.constant((1 << 26) + (1 << 25))


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
    patch = wp.zeros(shape=(48,), dtype=wp.vec3)
    patch_of = wp.zeros(shape=(16,), dtype=wp.int32)
    patch_count = int(0)
    patch_name = int(0x7FFFFFFF)
    way = wp.vec3()
    at = wp.vec3()
    depth = float(0.0)
    outward = bool(False)
    apart = bool(False)
    last_height = float(-wp.inf)
    last_way = wp.vec3()
    last_at = wp.vec3()
    last_triangle = int(0)
    count = int(0)
    known = int(0)
    again = bool(False)
    low, high = shape_box(o, hull_vertex, r, t, core_radius(o) + limit)
    for sweep in range(2):
        if sweep == 0 or again:
            query = wp.mesh_query_aabb(mesh_id, low, high)
            triangle = int(0)
            known = count
            if sweep == 1:
                way, at, depth, outward = patch_point(
                    o,
                    hull_vertex,
                    r,
                    limit,
                    radius,
                    patch_count,
                    patch,
                    patch_of,
                    mesh_id,
                    triangle_neighbour,
                    first_fold,
                )
            while wp.mesh_query_aabb_next(query, triangle):
                base, size = read_triangle(mesh_id, triangle, corner)
                points, names, face, last, state = triangle_points(
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
                again = again or state == 2
                if sweep == 0 and state > 0:
                    patch_name = wp.min(patch_name, point_name(triangle, PATCH_NAME))
                    m, height, under = face_way(o, hull_vertex, r, t - base, corner)
                    if height > last_height or (height == last_height and triangle < last_triangle):
                        last_height = height
                        last_way = m
                        last_at = under + base
                        last_triangle = triangle
                    if patch_count < PATCH:
                        patch_of[patch_count // 3] = triangle
                        for k in range(3):
                            patch[patch_count + k] = base + corner[k] - t
                    patch_count += 3
                # Sideways out of one triangle, and out of all in another way than by its face.
                elsewhere = sweep == 1 and state == 2 and outward
                if elsewhere and wp.max(names) >= 0:
                    elsewhere = wp.dot(way, face) < SIDEWAYS
                apart = apart or elsewhere
                band = wp.max(1.0e-4 * wp.min(radius, size), ROUNDING * (radius + size))
                for k in range(4):
                    if names[k] >= 0 and not elsewhere:
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
    if apart:
        p = wp.vec4(at[0] + t[0], at[1] + t[1], at[2] + t[2], depth)
        count = keep_point(count, p, way, patch_name, room, 0.0, point_out, normal_out, name_out)
    if count == 0 and patch_count > 0 and last_height < limit:
        # Every triangle left the contact to another one: the shape goes by the nearest of their faces.
        p = wp.vec4(last_at[0], last_at[1], last_at[2], last_height)
        count = keep_point(
            count,
            p,
            last_way,
            point_name(last_triangle, PATCH_NAME),
            room,
            0.0,
            point_out,
            normal_out,
            name_out,
        )
    return count


@wp.func
def drop_explained(
    mesh_id: wp.uint64,
    o: Convex,
    hull_vertex: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    band: float,
    count: int,
    point_out: wp.array[wp.vec4],
    normal_out: wp.array[wp.vec3],
    name_out: wp.array[wp.int32],
) -> int:
    """Leave out contacts of triangles that a shallower contact along another way pushes the shape out of, too.

    Returns:
        The new number of contacts, in the same order.
    """
    corner = wp.zeros(shape=(3,), dtype=wp.vec3)
    keeps = wp.zeros(shape=(64,), dtype=wp.int32)
    f = Convex()
    f.kind = TRIANGLE
    f.first_vertex = 0
    f.last_vertex = 3
    for k in range(count):
        triangle = (name_out[k] >> 11) & 0xFFFFF
        depth = point_out[k][3]
        keeps[k] = 1
        for e in range(count):
            other = point_out[e][3]
            if other <= 0.0 and other > depth + band and wp.dot(normal_out[e], normal_out[k]) < ALIKE:
                base, _size = read_triangle(mesh_id, triangle, corner)
                if separation_along(f, o, corner, hull_vertex, r, t - base, normal_out[e]) >= other - band:
                    keeps[k] = 0
    total = int(0)
    for k in range(count):
        if keeps[k] == 1:
            point_out[total] = point_out[k]
            normal_out[total] = normal_out[k]
            name_out[total] = name_out[k]
            total += 1
    return total


@wp.func
def hull_points(
    whole: Convex,
    o: Convex,
    hull_vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    r: wp.mat33,
    t: wp.vec3,
    r_back: wp.mat33,
    t_back: wp.vec3,
    limit: float,
    radius_f: float,
    radius_o: float,
    room: int,
    point_out: wp.array[wp.vec4],
    normal_out: wp.array[wp.vec3],
    name_out: wp.array[wp.int32],
) -> int:
    """Points of a convex mesh, as those of its hull; their number.

    Args:
        r, t: Pose of o in the frame of the mesh.
        r_back, t_back: Pose of the mesh in the frame of o, which is taken where o is the larger one: points of the larger
            shape are rounded when they are turned.
    """
    f = whole
    other = o
    turn = r
    move = t
    back = radius_o > radius_f
    if back:
        f = o
        other = whole
        turn = r_back
        move = t_back
    points, names, face, last = convex_manifold(
        f,
        other,
        hull_vertex,
        hull_vertex,
        face_range,
        face_normal,
        face_vertex,
        turn,
        move,
        limit,
        wp.min(radius_f, radius_o),
        radius_f + radius_o,
    )
    count = int(0)
    for k in range(4):
        if names[k] >= 0 and count < room:
            p = wp.vec3(points[k, 0], points[k, 1], points[k, 2])
            n = wp.where(k == 3, last, face)
            if back:
                p = r * (p + n * points[k, 3]) + t
                n = -(r * n)
            point_out[count] = wp.vec4(p[0], p[1], p[2], points[k, 3])
            normal_out[count] = n
            name_out[count] = names[k]
            count += 1
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
    band = 1.0e-4 * wp.min(radius, shape_radius[f])
    count = int(0)
    if shape_vertices[f][1] > shape_vertices[f][0] and radius >= SMALL * shape_radius[f]:
        whole = convex_of(f, shape_type, shape_size, shape_vertices, shape_faces)
        whole.kind = CONVEX_HULL
        r_back, t_back, _q = relative_frame(shape_body[item[1]], shape_body[f], local_o, local_f, body_pose)
        count = hull_points(
            whole,
            o,
            hull_vertex,
            face_range,
            face_normal,
            face_vertex,
            r,
            t,
            r_back,
            t_back,
            limit,
            shape_radius[f],
            radius,
            room,
            point,
            normal,
            name,
        )
    else:
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
        count = drop_explained(shape_mesh[f], o, hull_vertex, r, t, band, count, point, normal, name)
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
