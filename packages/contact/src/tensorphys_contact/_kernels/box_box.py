"""Boxes against boxes: separating axes, then face clipping or an edge pair.

The fifteen axes of [Gottschalk et al. 1996], normalised, computed in the frame of the
larger box. Faces are preferred to edges, and the frame box to the other, by a small part of the
size, so that resting boxes keep their manifold and boxes that meet at their edges their normal.
"""

import warp as wp

from .box_clip import clip_faces
from .box_edges import column, nearest_corners, nearest_edges, support_edges
from .gather import pair_rotation, relative_frame, store_point
from .near import near_limit

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

PREFERENCE = wp.constant(2.0e-5)
# Of face axes that separate alike, to this part of the diameter of the smaller box, the first is
# taken, those of the frame box before those of the other: where two edges meet, rounding would
# else choose anew at every step. Edges nearer than this to each other have no direction.
TIE = wp.constant(5.0e-6)
# Angle from a face within which an edge axis may be deeper by less than rounding [rad].
BESIDE_FACE = wp.constant(0.1)
# Two normals nearer than this are one [rad].
ONE_DIRECTION = wp.constant(7.0e-5)
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
def best_faces(r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, tie: float):
    """Face of each box that separates most, the first of those within a tie.

    Returns:
        Separation and axis on f, on o, and the largest separation of all.
    """
    face_f = wp.vec3()
    face_o = wp.vec3()
    for k in range(3):
        row = wp.vec3(r[k, 0], r[k, 1], r[k, 2])
        face_f[k] = wp.abs(t[k]) - half_f[k] - wp.dot(absolute(row), half_o)
        face_o[k] = wp.abs(wp.dot(column(r, k), t)) - half_o[k] - wp.dot(absolute(column(r, k)), half_f)
    axis_f = first_of_most(face_f, tie)
    axis_o = first_of_most(face_o, tie)
    return face_f[axis_f], axis_f, face_o[axis_o], axis_o, wp.max(wp.max(face_f), wp.max(face_o))


@wp.func
def first_of_most(v: wp.vec3, tie: float) -> int:
    """First component that is the largest to within a tie."""
    bar = wp.max(v) - tie
    axis = int(2)
    if v[0] >= bar:
        axis = 0
    elif v[1] >= bar:
        axis = 1
    return axis


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
        p_f, p_o, normal, name = nearest_corners(r, t, half_f, half_o, p_f, p_o, name)
        separation = wp.dot(normal, p_o - p_f)
    return p_f, separation, normal, name


@wp.func
def corner_along(r: wp.mat33, t: wp.vec3, half_f: wp.vec3, half_o: wp.vec3, n: wp.vec3, on_f: bool):
    """Deepest corner of the box that does not have the face of normal ``n``: point on f, and a name."""
    back = wp.transpose(r) * n
    p = t - r * signed(half_o, back)
    name = 160 + octant(-back)
    if on_f:
        reach = wp.dot(absolute(n), half_f)
        p = p - n * (wp.dot(n, p) - reach)
    else:
        p = signed(half_f, n)
        name = 168 + octant(n)
    return p, name


@wp.func
def signed(half: wp.vec3, d: wp.vec3) -> wp.vec3:
    """Corner of a box farthest along a direction."""
    return wp.vec3(
        wp.where(d[0] < 0.0, -half[0], half[0]),
        wp.where(d[1] < 0.0, -half[1], half[1]),
        wp.where(d[2] < 0.0, -half[2], half[2]),
    )


@wp.func
def octant(d: wp.vec3) -> int:
    """Number of the signs of a direction, x lowest."""
    return wp.where(d[0] < 0.0, 0, 1) + wp.where(d[1] < 0.0, 0, 2) + wp.where(d[2] < 0.0, 0, 4)


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
    tie = 2.0 * TIE * wp.min(wp.length(half_f), wp.length(half_o))
    band = wp.max(PREFERENCE * wp.min(wp.min(half_f), wp.min(half_o)), tie)
    noise = NOISE * (wp.max(half_f) + wp.max(half_o))
    s_f, axis_f, s_o, axis_o, face = best_faces(r, t, half_f, half_o, tie)
    if face < limit:
        on_f = s_f >= s_o - band - noise
        s, code, axis_normal = best_edges(r, t, half_f, half_o, face)
        deepest = float(wp.inf)
        along = s
        if code < 0 or s <= face + band:
            points, names, normal = face_points(
                r, t, half_f, half_o, on_f, wp.where(on_f, axis_f, axis_o), limit
            )
            if names[3] < 0:
                # Nothing of the incident face lies over this face; the other box's may.
                on_f = not on_f
                points, names, normal = face_points(
                    r, t, half_f, half_o, on_f, wp.where(on_f, axis_f, axis_o), limit
                )
            along = wp.where(on_f, s_f, s_o)
            for k in range(4):
                if names[k] >= 0:
                    deepest = wp.min(deepest, points[k, 3])
        last = normal
        if code >= 0 or deepest > along + 0.25 * noise:
            beside = code < 0 and s <= 0.0
            if beside:
                # The corner that a face is deepest at hangs over its side: the best edges then.
                _s, code, axis_normal = best_edges(r, t, half_f, half_o, -wp.inf)
            p_f, separation, way, name = deepest_pair(r, t, half_f, half_o, code, axis_normal, s)
            angle = wp.length(way - normal)
            worse = separation < along - noise or (beside and angle > BESIDE_FACE)
            if worse and deepest < wp.inf:
                # No axis of less separation than the face: by rounding alone its corner is not over it.
                p_f, name = corner_along(r, t, half_f, half_o, normal, on_f)
                separation = along
                way = normal
                angle = 0.0
            missed = separation < deepest - band
            # A face that separates as well stands in for a direction that rounding decides.
            turned = angle > ONE_DIRECTION and wp.abs(separation) > tie
            if separation < limit and (missed or turned):
                points, names = with_last(points, names, not missed)
                names[3] = EDGE_FEATURE + name
                last = way
                for k in range(3):
                    points[3, k] = p_f[k]
                points[3, 3] = separation
    return points, names, normal, last


@wp.func
def with_last(points: wp.mat44, names: wp.vec4i, instead: bool):
    """Free the last row, the rows before it move down.

    Args:
        instead: Give up the deepest row; else the shallowest of four.
    """
    drop = int(0)
    if instead:
        drop = 3
    if names[0] >= 0 or instead:
        for k in range(4):
            sooner = points[k, 3] > points[drop, 3]
            if instead:
                sooner = points[k, 3] < points[drop, 3]
            if names[k] >= 0 and sooner:
                drop = k
    moved = points
    named = names
    for k in range(3):
        if k >= drop:
            named[k] = names[k + 1]
            for c in range(4):
                moved[k, c] = points[k + 1, c]
    return moved, named


@wp.func
def collide_box_pair(
    pair: int,
    item: wp.vec4i,
    limit: float,
    slot_start: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    shape_size: wp.array[wp.vec3],
    local_pose: wp.array[wp.transform],
    body_pose: wp.array[wp.transform],
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
) -> int:
    """Contact points of a pair into its slots; returns how many. The frame shape f is the larger box."""
    f = item[0]
    o = item[1]
    local_f = local_pose[item[2]]
    local_o = local_pose[item[3]]
    r, t, q = relative_frame(shape_body[f], shape_body[o], local_f, local_o, body_pose)
    count = int(0)
    points, names, face_normal, last_normal = box_manifold(r, t, shape_size[f], shape_size[o], limit)
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
    return count


@wp.kernel
def collide_boxes(
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
                count = collide_box_pair(
                    pair,
                    item,
                    limit,
                    slot_start,
                    shape_body,
                    shape_size,
                    local_pose,
                    body_pose,
                    anchor_out,
                    normal_out,
                    separation_out,
                    feature_out,
                )
            count_out[pair] = count
