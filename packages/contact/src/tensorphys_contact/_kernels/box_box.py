"""Boxes against boxes: separating axes, then face clipping or an edge pair.

The fifteen axes of [Gottschalk et al. 1996], normalised, computed in the frame of the
larger box. Faces are preferred to edges, and the frame box to the other, by a small
part of the least half extent, so that resting boxes keep their manifold.
"""

import warp as wp

from .box_clip import clip_faces
from .box_edges import column, nearest_corners, nearest_edges, support_edges
from .gather import pair_rotation, relative_pose, spheres_apart, store_point

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

PREFERENCE = wp.constant(2.0e-5)
# Rounding of a projected extent, in extents.
NOISE = wp.constant(2.0e-7)
# Sine below which two edges count as parallel; the faces then decide.
LEAST_SINE = wp.constant(3.0e-4)
EDGE_FEATURE = wp.constant(1 << 14)


@wp.func
def absolute(v: wp.vec3) -> wp.vec3:
    """Absolute values of the components."""
    return wp.vec3(wp.abs(v[0]), wp.abs(v[1]), wp.abs(v[2]))


@wp.func
def best_faces(r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3):
    """Largest separation over the faces of each box: (s_f, axis_f, s_o, axis_o)."""
    s_f = float(-wp.inf)
    s_o = float(-wp.inf)
    axis_f = int(0)
    axis_o = int(0)
    for k in range(3):
        row = wp.vec3(r[k, 0], r[k, 1], r[k, 2])
        s = wp.abs(t[k]) - half_f[k] - wp.dot(absolute(row), half_o)
        if s > s_f:
            s_f = s
            axis_f = k
        s = wp.abs(wp.dot(column(r, k), t)) - half_o[k] - wp.dot(absolute(column(r, k)), half_f)
        if s > s_o:
            s_o = s
            axis_o = k
    return s_f, axis_f, s_o, axis_o


@wp.func
def best_edges(r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, bar: float):
    """Edge pair whose axis separates by more than ``bar``: (s, 3 i + j or −1, normal f to o).

    An axis must beat the bar by its rounding: that of the projections, and of its own direction,
    which matters for nearly parallel edges (along those of f it has no component to round).
    """
    best = float(bar)
    code = int(-1)
    normal = wp.vec3()
    small = wp.max(half_o)
    for i in range(3):
        e = wp.vec3()
        e[i] = 1.0
        for j in range(3):
            n = wp.cross(e, column(r, j))
            sine = wp.length(n)
            if sine > LEAST_SINE:
                n = n / sine
                reach = wp.dot(absolute(n), half_f) + wp.dot(absolute(wp.transpose(r) * n), half_o)
                d = wp.dot(n, t)
                s = wp.abs(d) - reach
                if s - NOISE * (reach + small / sine) > best:
                    best = s
                    code = 3 * i + j
                    normal = wp.where(d < 0.0, -n, n)
    return best, code, normal


@wp.func
def face_points(
    r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, on_f: bool, axis: int, limit: float
):
    """Clip against a face of either box: points on f with separations, names, normal f to o."""
    points = wp.mat44()
    names = wp.vec4i(-1, -1, -1, -1)
    incident = int(0)
    normal = wp.vec3()
    if on_f:
        sign = wp.where(t[axis] < 0.0, -1.0, 1.0)
        points, names, incident = clip_faces(half_f, half_o, r, t, axis, sign, limit)
        normal[axis] = sign
        incident += wp.where(sign > 0.0, 6, 0) + 12 * axis
    else:
        rt = wp.transpose(r)
        back = -(rt * t)
        sign = wp.where(back[axis] < 0.0, -1.0, 1.0)
        points, names, incident = clip_faces(half_o, half_f, rt, back, axis, sign, limit)
        normal = column(r, axis) * (-sign)
        incident += wp.where(sign > 0.0, 6, 0) + 12 * axis + 36
        for k in range(4):
            # From the reference face of o to the incident face of f.
            p = wp.vec3(points[k, 0], points[k, 1], points[k, 2])
            p = t + r * p - normal * points[k, 3]
            points[k, 0] = p[0]
            points[k, 1] = p[1]
            points[k, 2] = p[2]
    for k in range(4):
        if names[k] >= 0:
            names[k] = names[k] + (incident << 6)
    return points, names, normal


@wp.func
def deepest_pair(
    r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, code: int, axis_normal: wp.vec3, s: float
):
    """Points and normal (f to o) of the least distance, or of the edges that penetrate least.

    Args:
        code: Edge axis, −1 where a face separates more.
        s: Largest separation of all axes.

    Returns:
        Point on f, separation (infinite where nothing is known), normal, and a name.
    """
    p_f = wp.vec3()
    p_o = wp.vec3()
    name = int(0)
    inside = bool(False)
    separation = float(wp.inf)
    normal = axis_normal
    if code >= 0:
        p_f, p_o, name, inside = support_edges(r, t, half_f, half_o, code, axis_normal)
        separation = wp.dot(normal, p_o - p_f)
        # Nearly parallel edges leave the place along them to rounding.
        inside = inside and wp.length(p_o - p_f) - separation < PREFERENCE * wp.min(half_f)
    if s > 0.0 and not inside:
        p_f, p_o, name = nearest_edges(r, t, half_f, half_o)
        p_f, p_o, name = nearest_corners(r, t, half_f, half_o, p_f, p_o, name)
        separation = wp.length(p_o - p_f)
        normal = (p_o - p_f) / wp.max(separation, 1.0e-30)
    return p_f, separation, normal, name


@wp.func
def box_manifold(r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, limit: float):
    """Manifold of two boxes in the frame of f.

    A face is clipped where it separates as well as the best edge axis to the preference.
    Where the clipped points miss the deepest one (its corner hangs over the side of the
    face), that point stands in the last row with a normal of its own.

    Returns:
        Rows (point on f, separation), identities ascending with −1 for absent rows,
        the normal from f to o, and that of the last row.
    """
    points = wp.mat44()
    names = wp.vec4i(-1, -1, -1, -1)
    normal = wp.vec3()
    last = wp.vec3()
    s_f, axis_f, s_o, axis_o = best_faces(r, t, half_f, half_o)
    least = wp.min(wp.min(half_f), wp.min(half_o))
    band = PREFERENCE * least
    noise = NOISE * (wp.max(half_f) + wp.max(half_o))
    face = wp.max(s_f, s_o)
    if face < limit:
        on_f = s_f >= s_o - band - noise
        s, code, axis_normal = best_edges(r, t, half_f, half_o, face)
        deepest = float(wp.inf)
        if code < 0 or s <= face + band:
            points, names, normal = face_points(
                r, t, half_f, half_o, on_f, wp.where(on_f, axis_f, axis_o), limit
            )
            if names[3] < 0:
                # Nothing of the incident face lies over this face; the other box's may.
                points, names, normal = face_points(
                    r, t, half_f, half_o, not on_f, wp.where(on_f, axis_o, axis_f), limit
                )
            for k in range(4):
                if names[k] >= 0:
                    deepest = wp.min(deepest, points[k, 3])
        last = normal
        if deepest > s + band + noise:
            if code < 0 and s <= 0.0:
                # The corner that a face is deepest at hangs over its side: the best edges then.
                _s, code, axis_normal = best_edges(r, t, half_f, half_o, -wp.inf)
            p_f, separation, way, name = deepest_pair(r, t, half_f, half_o, code, axis_normal, s)
            if separation < wp.min(limit, deepest - band):
                points, names = with_last(points, names)
                names[3] = EDGE_FEATURE + name
                last = way
                for k in range(3):
                    points[3, k] = p_f[k]
                points[3, 3] = separation
    return points, names, normal, last


@wp.func
def with_last(points: wp.mat44, names: wp.vec4i):
    """Free the last row: rows move down by one, the shallowest of four is given up."""
    drop = int(0)
    if names[0] >= 0:
        for k in range(1, 4):
            if points[k, 3] > points[drop, 3]:
                drop = k
    moved = points
    named = names
    for k in range(3):
        if k >= drop:
            named[k] = names[k + 1]
            for c in range(4):
                moved[k, c] = points[k + 1, c]
    return moved, named


@wp.kernel
def collide_boxes(
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
    # outputs
    count_out: wp.array[wp.int32],
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
):
    """One thread a pair; the frame shape f is the larger box."""
    pair = family[wp.tid()]
    if pair < 0:
        return
    item = pair_item[pair]
    if spheres_apart(bound[item[2]], bound[item[3]]):
        count_out[pair] = 0
        return
    f = item[0]
    o = item[1]
    local_f = local_pose[item[2]]
    local_o = local_pose[item[3]]
    limit = contact_offset[f] + contact_offset[o] + margin[pair_environment[pair]]
    x = relative_pose(shape_body[f], shape_body[o], local_f, local_o, body_pose)
    t = wp.transform_get_translation(x)
    q = wp.transform_get_rotation(x)
    count = int(0)
    points, names, face_normal, last_normal = box_manifold(
        wp.quat_to_matrix(q), t, shape_size[f], shape_size[o], limit
    )
    q_f = pair_rotation(shape_body[f], body_pose, local_f)
    for k in range(4):
        if names[k] >= 0:
            p = wp.vec3(points[k, 0], points[k, 1], points[k, 2])
            separation = points[k, 3]
            n = wp.where(k == 3, last_normal, face_normal)
            store_point(
                slot_start[pair] + count,
                wp.where(f < o, 0, 1),
                wp.transform_point(local_f, p),
                wp.transform_point(local_o, wp.quat_rotate_inv(q, p + n * separation - t)),
                wp.quat_rotate(q_f, n),
                separation,
                names[k],
                anchor_out,
                normal_out,
                separation_out,
                feature_out,
            )
            count += 1
    count_out[pair] = count
