"""Triangles of surfaces that change their shape against convex shapes: where a face reaches deeper than its corners."""

import warp as wp

from .distances import (
    BOX,
    CAPSULE,
    CONE,
    CONVEX_HULL,
    CYLINDER,
    ELLIPSOID,
    SPHERE,
    Geometry,
    box_distance,
    cone_distance,
    cylinder_distance,
    ellipsoid_distance,
    from_point,
    hull_distance,
)
from .gather import body_transform
from .point_sets import DEPTH, may_touch
from .sampled import Columns, solid_of

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Lengths of the steps of the search for the deepest point of a face, in edges, and rounds of one length.
FIRST_STEP = wp.constant(0.25)
LAST_STEP = wp.constant(0.0025)
TURNS = wp.constant(3)
# A face counts from where it is deeper than its corners by this part of its longest edge.
DEEPER = wp.constant(1.0e-3)
# Points that a face meets a shape at, how far apart they are in weights, and up to which distance one that was met is kept,
# in edges: a side of a shape within a face needs some to lie flat on.
PLACES = wp.constant(4)
APART = wp.constant(0.2)
NEAR = wp.constant(0.02)
# Least cosine between the gradient of the distance and the normal of a face that meets a shape.
LEAST_COSINE = wp.constant(0.5)


@wp.struct
class Faces:
    """Faces of all surfaces."""

    corner: wp.array[wp.vec3i]  # indices of points
    solid: wp.array[wp.int32]  # whether each face bounds a solid
    kept: wp.array2d[wp.int32]  # shape that a place of a face met before with a force, −1 for none; written
    kept_weight: wp.array2d[wp.vec3]


@wp.func
def is_convex(kind: int) -> bool:
    """Whether the distance to a shape is a convex function; planes are met by corners first."""
    round_one = kind == SPHERE or kind == CAPSULE or kind == CYLINDER or kind == CONE or kind == ELLIPSOID
    return round_one or kind == BOX or kind == CONVEX_HULL


@wp.func
def inside_weights(w: wp.vec3) -> wp.vec3:
    """Weights of a point of the triangle."""
    v = wp.max(w, wp.vec3())
    return v / (v[0] + v[1] + v[2])


@wp.func
def convex_distance(
    row: int,
    shape: int,
    columns: Columns,
    geometry: Geometry,
    body_pose: wp.array[wp.transform],
    x: wp.vec3,
    reach: float,
):
    """(distance, gradient) of a point from a convex shape, environment frame; as `point_sets.distance_to_row`."""
    s = solid_of(columns, shape)
    s.reach = reach
    pose = body_transform(columns.shape_body[shape], body_pose)
    turn = wp.transform_get_rotation(pose)
    local = columns.local_pose[row]
    origin = wp.quat_rotate_inv(turn, x - wp.transform_get_translation(pose))
    p = wp.transform_point(wp.transform_inverse(local), origin)
    v = wp.vec4()
    if s.kind == SPHERE:
        v = from_point(p, wp.vec3(), s.size[0])
    elif s.kind == CAPSULE:
        v = from_point(p, wp.vec3(0.0, 0.0, wp.clamp(p[2], -s.size[1], s.size[1])), s.size[0])
    elif s.kind == BOX:
        v = box_distance(p, s.size)
    elif s.kind == CONVEX_HULL:
        v = hull_distance(geometry, s, p)
    elif s.kind == CYLINDER:
        v = cylinder_distance(p, s.size)
    elif s.kind == CONE:
        v = cone_distance(p, s.size)
    else:
        v = ellipsoid_distance(p, s.size)
    n = wp.quat_rotate(turn * wp.transform_get_rotation(local), wp.vec3(v[1], v[2], v[3]))
    return wp.vec4(v[0], n[0], n[1], n[2])


@wp.struct
class Search:
    """A search for the deepest point of a face."""

    at: wp.vec3  # weights of the deepest point so far
    best: wp.vec4
    origin: wp.vec3
    step: float
    direction: int  # −1: the start itself
    moved: int
    turn: int


@wp.func
def trial_of(search: Search) -> wp.vec3:
    """Weights of the next trial: a step towards one corner and away from another."""
    w = search.origin
    k = search.direction
    if k >= 0:
        way = wp.vec3()
        way[k % 3] = search.step
        way[(k % 3 + 1 + k / 3) % 3] = -search.step
        w = inside_weights(w + way)
    return w


@wp.func
def judge_trial(given: Search, trial: wp.vec3, v: wp.vec4) -> Search:
    """Take a trial that is deeper; halve the step after six that are not."""
    search = given
    if search.direction < 0 or v[0] < search.best[0]:
        search.best = v
        search.at = trial
        search.moved = 1
    search.direction += 1
    if search.direction == 6:
        search.turn += 1
        if search.moved == 0 or search.turn == TURNS:
            search.step = 0.5 * search.step
            search.turn = 0
        search.origin = search.at
        search.moved = 0
        search.direction = 0
    return search


@wp.func
def deepest_point(
    row: int,
    shape: int,
    columns: Columns,
    geometry: Geometry,
    body_pose: wp.array[wp.transform],
    corners: wp.mat33,
    reach: float,
):
    """Weights of the point of a triangle (corners as columns) that is deepest in a convex shape, and (distance, gradient)
    there: a search along three directions, whose step is halved where none goes deeper [Kolda, Lewis & Torczon 2003]."""
    search = Search()
    search.origin = wp.vec3(1.0, 1.0, 1.0) / 3.0
    search.at = search.origin
    search.step = FIRST_STEP
    search.direction = -1
    while search.step > LAST_STEP:
        trial = trial_of(search)
        v = convex_distance(row, shape, columns, geometry, body_pose, corners * trial, reach)
        search = judge_trial(search, trial, v)
    return search.at, search.best


@wp.func
def may_meet(
    k: wp.vec3i,
    shape: int,
    columns: Columns,
    contact_offset: wp.array[wp.float32],
    ignored_body: wp.array[wp.int32],
) -> bool:
    """Whether a face and a shape can touch."""
    meets = is_convex(columns.shape_type[shape])
    for corner in range(3):
        meets = meets and may_touch(shape, contact_offset, columns.shape_body[shape], ignored_body[k[corner]])
    return meets


@wp.struct
class Meeting:
    """What a face meets."""

    row: int
    shape: int  # −1: nothing
    weight: wp.vec3  # of the deepest point
    gap: float  # along the normal
    normal: wp.vec3


@wp.func
def is_kept(faces: Faces, t: int, shape: int) -> bool:
    """Whether the face met the shape before."""
    count = int(0)
    for m in range(PLACES):
        count += wp.where(faces.kept[t, m] == shape, 1, 0)
    return count > 0


@wp.func
def gap_along(
    row: int,
    shape: int,
    columns: Columns,
    geometry: Geometry,
    body_pose: wp.array[wp.transform],
    x: wp.vec3,
    n: wp.vec3,
    size: float,
    reach: float,
) -> wp.vec2:
    """(distance of a point from a shape along a direction that leads off it, to first order; cosine of the gradient there).

    Both from a point that is moved out along the direction: the gradient within a shape jumps between its sides, and below a
    corner it is none of that corner.
    """
    way = 0.2 * size
    v = convex_distance(row, shape, columns, geometry, body_pose, x + way * n, reach)
    facing = wp.dot(n, wp.vec3(v[1], v[2], v[3]))
    return wp.vec2(v[0] / wp.max(facing, 0.5) - way, facing)


@wp.func
def better(given: Meeting, found: Meeting) -> bool:
    """Whether a meeting is deeper than another one, of two alike the one with the first shape."""
    nearer = found.gap < given.gap or (found.gap == given.gap and found.shape < given.shape)
    return nearer and wp.isfinite(found.gap)


@wp.func
def lowest_corner(
    row: int,
    shape: int,
    columns: Columns,
    geometry: Geometry,
    body_pose: wp.array[wp.transform],
    corners: wp.mat33,
    size: float,
    reach: float,
) -> float:
    """Least distance of the corners, far where the face is out of reach."""
    lowest = float(-1.0)
    place = int(0)
    while place < 4:
        # the middle first: what is far from it is far from all
        w = wp.vec3(1.0, 1.0, 1.0) / 3.0
        if place > 0:
            w = wp.vec3()
            w[place - 1] = 1.0
        v = convex_distance(row, shape, columns, geometry, body_pose, corners * w, (1.0 + DEPTH) * reach)
        if place == 0:
            lowest = 1.0e30
            if v[0] > size + reach:
                lowest = -1.0e30
                place = 4
        else:
            lowest = wp.min(lowest, v[0])
        place += 1
    return lowest


@wp.func
def fill_places(
    columns: Columns,
    geometry: Geometry,
    body_pose: wp.array[wp.transform],
    corners: wp.mat33,
    size: float,
    reach: float,
    faces: Faces,
    found: Meeting,
    t: int,
    shape_out: wp.array2d[wp.int32],
    weight_out: wp.array2d[wp.vec3],
    distance_out: wp.array2d[wp.float32],
):
    """Keep the places that are still near, and give the deepest point one: that of its neighbour, a free one, or the
    shallowest."""
    near = int(-1)
    free = int(-1)
    most = float(-1.0e30)
    shallowest = int(0)
    for m in range(PLACES):
        shape_out[t, m] = -1
        if found.shape >= 0 and faces.kept[t, m] == found.shape:
            w = faces.kept_weight[t, m]
            v = gap_along(
                found.row,
                found.shape,
                columns,
                geometry,
                body_pose,
                corners * w,
                found.normal,
                size,
                (1.0 + DEPTH) * reach,
            )
            if v[0] <= NEAR * size and v[1] > LEAST_COSINE:
                shape_out[t, m] = found.shape
                weight_out[t, m] = w
                distance_out[t, m] = v[0]
                if wp.length(w - found.weight) < APART and near < 0:
                    near = m
                    if v[0] > found.gap + DEEPER * size:
                        weight_out[t, m] = found.weight
                        distance_out[t, m] = found.gap
                if v[0] > most:
                    most = v[0]
                    shallowest = m
        if shape_out[t, m] < 0 and free < 0:
            free = m
    if found.shape >= 0 and near < 0:
        at = free
        if free < 0:
            at = shallowest
        faces.kept[t, at] = -1
        shape_out[t, at] = found.shape
        weight_out[t, at] = found.weight
        distance_out[t, at] = found.gap


@wp.kernel
def collide_faces(
    bvh: wp.uint64,
    row: wp.array[wp.int32],
    row_shape: wp.array[wp.int32],
    columns: Columns,
    geometry: Geometry,
    contact_offset: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    environment: wp.array[wp.int32],
    ignored_body: wp.array[wp.int32],
    faces: Faces,
    position: wp.array[wp.vec3],
    margin: wp.array[wp.float32],
    # outputs
    shape_out: wp.array2d[wp.int32],
    weight_out: wp.array2d[wp.vec3],
    normal_out: wp.array[wp.vec3],
    distance_out: wp.array2d[wp.float32],
):
    """One face: the shape that it is deepest in or nearest to between its corners."""
    t = wp.tid()
    k = faces.corner[t]
    a = position[k[0]]
    b = position[k[1]]
    c = position[k[2]]
    corners = wp.matrix_from_cols(a, b, c)
    reach = wp.max(margin[k[0]], wp.max(margin[k[1]], margin[k[2]]))
    size = wp.max(wp.length(b - a), wp.max(wp.length(c - b), wp.length(a - c)))
    out = wp.cross(b - a, c - a)
    found = Meeting()
    found.shape = -1
    found.gap = reach
    if reach >= 0.0 and wp.isfinite(size + wp.length_sq(a)) and wp.length_sq(out) > 0.0:
        out = wp.normalize(out)
        wide = wp.vec3(reach, reach, reach)
        root = wp.bvh_get_group_root(bvh, environment[k[0]])
        if root >= 0:
            query = wp.bvh_query_aabb(
                bvh, wp.min(a, wp.min(b, c)) - wide, wp.max(a, wp.max(b, c)) + wide, root
            )
            j = int(0)
            while wp.bvh_query_next(query, j):
                trial = Meeting()
                trial.row = row[j]
                trial.shape = row_shape[row[j]]
                if may_meet(k, trial.shape, columns, contact_offset, ignored_body):
                    lowest = lowest_corner(
                        trial.row, trial.shape, columns, geometry, body_pose, corners, size, size + reach
                    )
                    if lowest > -1.0e29:
                        weight, v = deepest_point(
                            trial.row,
                            trial.shape,
                            columns,
                            geometry,
                            body_pose,
                            corners,
                            (1.0 + DEPTH) * (size + reach),
                        )
                        trial.weight = weight
                        trial.normal = -out
                        if faces.solid[t] == 0 and wp.dot(out, wp.vec3(v[1], v[2], v[3])) > 0.0:
                            trial.normal = out
                        gap = gap_along(
                            trial.row,
                            trial.shape,
                            columns,
                            geometry,
                            body_pose,
                            corners * weight,
                            trial.normal,
                            size,
                            (1.0 + DEPTH) * (size + reach),
                        )
                        trial.gap = gap[0]
                        deeper = v[0] < lowest - DEEPER * size or is_kept(faces, t, trial.shape)
                        # the way out of a small shape may lead through it
                        through = wp.dot(trial.normal, wp.vec3(v[1], v[2], v[3])) < -LEAST_COSINE
                        if deeper and not through and gap[1] > LEAST_COSINE and better(found, trial):
                            found = trial
    fill_places(
        columns,
        geometry,
        body_pose,
        corners,
        size,
        size + reach,
        faces,
        found,
        t,
        shape_out,
        weight_out,
        distance_out,
    )
    normal_out[t] = found.normal
