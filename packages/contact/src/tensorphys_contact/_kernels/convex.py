"""Convex hulls, cylinders, cones and ellipsoids against all convex shapes."""

import warp as wp

from .convex_pair import convex_manifold
from .gather import pair_rotation, relative_frame, store_point
from .near import near_limit
from .support import Convex

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.func
def convex_of(
    shape: int,
    shape_type: wp.array[wp.int32],
    shape_size: wp.array[wp.vec3],
    shape_vertices: wp.array[wp.vec2i],
    shape_faces: wp.array[wp.vec2i],
) -> Convex:
    """Read a convex shape."""
    c = Convex()
    c.kind = shape_type[shape]
    c.size = shape_size[shape]
    c.first_vertex = shape_vertices[shape][0]
    c.last_vertex = shape_vertices[shape][1]
    c.first_face = shape_faces[shape][0]
    c.last_face = shape_faces[shape][1]
    return c


@wp.func
def collide_convex_pair(
    pair: int,
    item: wp.vec4i,
    limit: float,
    slot_start: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    shape_size: wp.array[wp.vec3],
    local_pose: wp.array[wp.transform],
    body_pose: wp.array[wp.transform],
    shape_type: wp.array[wp.int32],
    shape_radius: wp.array[wp.float32],
    shape_vertices: wp.array[wp.vec2i],
    shape_faces: wp.array[wp.vec2i],
    hull_vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
) -> int:
    """Contact points of a pair into its slots; returns how many."""
    f = item[0]
    o = item[1]
    local_f = local_pose[item[2]]
    local_o = local_pose[item[3]]
    r, t, q = relative_frame(shape_body[f], shape_body[o], local_f, local_o, body_pose)
    points, names, face_normal_f, last_normal = convex_manifold(
        convex_of(f, shape_type, shape_size, shape_vertices, shape_faces),
        convex_of(o, shape_type, shape_size, shape_vertices, shape_faces),
        hull_vertex,
        hull_vertex,
        face_range,
        face_normal,
        face_vertex,
        r,
        t,
        limit,
        wp.min(shape_radius[f], shape_radius[o]),
        shape_radius[f] + shape_radius[o],
    )
    q_f = pair_rotation(shape_body[f], body_pose, local_f)
    slot = slot_start[pair]
    room = slot_start[pair + 1] - slot
    count = int(0)
    for k in range(4):
        if names[k] >= 0 and count < room:
            p = wp.vec3(points[k, 0], points[k, 1], points[k, 2])
            n = wp.where(k == 3, last_normal, face_normal_f)
            store_point(
                slot + count,
                wp.where(f < o, 0, 1),
                wp.transform_point(local_f, p),
                wp.transform_point(local_o, wp.quat_rotate_inv(q, p + n * points[k, 3] - t)),
                wp.quat_rotate(q_f, n),
                points[k, 3],
                names[k],
                anchor_out,
                normal_out,
                separation_out,
                feature_out,
            )
            count += 1
    return count


@wp.kernel
def collide_convex(
    family: wp.array[wp.int32],
    near_count: wp.array[wp.int32],
    place: wp.int32,
    stride: wp.int32,
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
    motion: wp.array[wp.spatial_vector],
    least_margin: wp.array[wp.float32],
    shape_center: wp.array[wp.vec3],
    shape_half: wp.array[wp.vec3],
    shape_type: wp.array[wp.int32],
    shape_radius: wp.array[wp.float32],
    shape_vertices: wp.array[wp.vec2i],
    shape_faces: wp.array[wp.vec2i],
    hull_vertex: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    # outputs
    count_out: wp.array[wp.int32],
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
):
    """One thread a pair, or several threads through the pairs that `gather_near` has found near."""
    index = wp.tid()
    end = family.shape[0]
    if place >= 0:
        end = near_count[place]
    while index < end:
        pair = family[index]
        index += stride
        if pair >= 0:
            item = pair_item[pair]
            near, limit = near_limit(
                item,
                pair_environment[pair],
                place >= 0,
                bound,
                shape_body,
                shape_center,
                shape_half,
                local_pose,
                contact_offset,
                margin,
                motion,
                least_margin,
                body_pose,
            )
            count = int(0)
            if near:
                count = collide_convex_pair(
                    pair,
                    item,
                    limit,
                    slot_start,
                    shape_body,
                    shape_size,
                    local_pose,
                    body_pose,
                    shape_type,
                    shape_radius,
                    shape_vertices,
                    shape_faces,
                    hull_vertex,
                    face_range,
                    face_normal,
                    face_vertex,
                    anchor_out,
                    normal_out,
                    separation_out,
                    feature_out,
                )
            count_out[pair] = count
