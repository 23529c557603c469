"""Pairs with a signed distance field or a set of spheres: samples of each shape against the distance of the other.

Two kernels: the first, with several threads a pair, leaves the code of the deepest contact in each cell of the pair;
the second chooses among the cells and writes the manifold. Nothing depends on the number or order of threads.
"""

import warp as wp

from .distances import PLANE, SDF, Geometry, Solid
from .gather import pair_rotation, plane_apart, relative_pose, spheres_apart, store_point
from .reduction import (
    DIRECTIONS,
    EMPTY,
    OUTWARD,
    cell_gap,
    cell_of,
    code_depth,
    code_name,
    depth_code,
)
from .samples import Samples, chunk_apart, meet

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Cells that may compete for the places of a manifold.
RIVALS = wp.constant(512)
# Separations below this part of the radius of the smaller shape are as good as none.
NEAR = wp.constant(2.5e-3)


@wp.struct
class Columns:
    """Columns of the shapes of a model."""

    shape_type: wp.array[wp.int32]
    shape_body: wp.array[wp.int32]
    shape_size: wp.array[wp.vec3]
    shape_vertices: wp.array[wp.vec2i]
    shape_faces: wp.array[wp.vec2i]
    shape_spheres: wp.array[wp.vec2i]
    shape_mesh: wp.array[wp.uint64]
    shape_field: wp.array[wp.int32]
    shape_center: wp.array[wp.vec3]
    shape_half: wp.array[wp.vec3]
    shape_radius: wp.array[wp.float32]
    local_pose: wp.array[wp.transform]


@wp.struct
class Couple:
    """Both shapes of a pair, and o in the frame of f."""

    f: Solid
    o: Solid
    x: wp.transform
    limit: float
    grid_on_o: bool


@wp.struct
class Touch:
    """A contact in the frame of f; the normal points from f to o."""

    point_f: wp.vec3
    point_o: wp.vec3
    normal: wp.vec3
    separation: float


@wp.func
def solid_of(columns: Columns, shape: int) -> Solid:
    """Read a shape."""
    s = Solid()
    s.kind = columns.shape_type[shape]
    s.size = columns.shape_size[shape]
    s.vertices = columns.shape_vertices[shape]
    s.faces = columns.shape_faces[shape]
    s.spheres = columns.shape_spheres[shape]
    s.mesh = columns.shape_mesh[shape]
    s.field = columns.shape_field[shape]
    s.center = columns.shape_center[shape]
    s.half = columns.shape_half[shape]
    s.radius = columns.shape_radius[shape]
    return s


@wp.func
def couple_of(item: wp.vec4i, columns: Columns, body_pose: wp.array[wp.transform], limit: float) -> Couple:
    """Read both shapes of a pair."""
    c = Couple()
    c.f = solid_of(columns, item[0])
    c.o = solid_of(columns, item[1])
    c.limit = limit
    c.f.reach = limit + 2.0 * c.o.radius
    c.o.reach = limit + 2.0 * c.f.radius
    c.grid_on_o = c.f.kind == PLANE or c.o.radius < c.f.radius
    c.x = relative_pose(
        columns.shape_body[item[0]],
        columns.shape_body[item[1]],
        columns.local_pose[item[2]],
        columns.local_pose[item[3]],
        body_pose,
    )
    return c


@wp.func
def pair_apart(item: wp.vec4i, columns: Columns, bound: wp.array[wp.vec4]) -> bool:
    """Whether the bounds of a pair are apart."""
    if columns.shape_type[item[0]] == PLANE:
        return plane_apart(bound[item[2]], bound[item[3]])
    return spheres_apart(bound[item[2]], bound[item[3]])


@wp.func
def samples_count(sampled: Solid, other: Solid) -> bool:
    """Whether the samples of a shape are asked for their distance to another.

    Those of a mesh against spheres are not: each sphere finds the nearest point of a mesh by itself.
    """
    return sampled.kind >= SDF or other.kind == SDF


@wp.func
def touch_of(c: Couple, geometry: Geometry, samples: Samples, index: int, way: int) -> Touch:
    """The contact of a sample: of o against f (way 0) or of f against o (way 1)."""
    r = wp.quat_to_matrix(wp.transform_get_rotation(c.x))
    t = wp.transform_get_translation(c.x)
    other = c.f
    turn = r
    move = t
    if way == 1:
        other = c.o
        turn = wp.transpose(r)
        move = -(turn * t)
    m = meet(geometry, samples, index, other, turn, move, c.limit)
    s = Touch()
    s.separation = m.separation
    foot = m.point - m.normal * m.separation
    if way == 0:
        s.normal = m.normal
        s.point_o = m.point
        s.point_f = foot
    else:
        s.normal = -(r * m.normal)
        s.point_f = r * m.point + t
        s.point_o = r * foot + t
    return s


@wp.func
def grid_place(c: Couple, s: Touch, cells: int):
    """Cell of a contact, and its distance from the middle of the grid."""
    middle = 0.5 * (s.point_f + s.point_o)
    n = s.normal
    center = c.f.center
    half = c.f.half
    if c.grid_on_o:
        middle = wp.transform_point(wp.transform_inverse(c.x), middle)
        n = wp.quat_rotate_inv(wp.transform_get_rotation(c.x), n)
        center = c.o.center
        half = c.o.half
    return cell_of(middle, center, half, n, cells), wp.length(middle - center)


@wp.func
def search_chunk(
    c: Couple,
    geometry: Geometry,
    samples: Samples,
    chunk: int,
    way: int,
    cells: int,
    base: int,
    code_out: wp.array[wp.int64],
):
    """Leave the contacts of a chunk in the cells of the pair."""
    r = wp.quat_to_matrix(wp.transform_get_rotation(c.x))
    t = wp.transform_get_translation(c.x)
    other = c.f
    if way == 1:
        other = c.o
        r = wp.transpose(r)
        t = -(r * t)
    if chunk_apart(geometry, samples, chunk, other, r, t, c.limit):
        return
    span = samples.chunk_range[chunk]
    for index in range(span[0], span[1]):
        s = touch_of(c, geometry, samples, index, way)
        if s.separation < c.limit:
            cell, outward = grid_place(c, s, cells)
            name = 2 * index + way
            wp.atomic_max(code_out, base + cell % DIRECTIONS, depth_code(-s.separation, name))
            wp.atomic_max(
                code_out, base + DIRECTIONS + cell, depth_code(OUTWARD * outward - s.separation, name)
            )


@wp.kernel
def find_deepest(
    family: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    pair_item: wp.array[wp.vec4i],
    pair_environment: wp.array[wp.int32],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    columns: Columns,
    geometry: Geometry,
    samples: Samples,
    cells: int,
    stride: int,
    lanes: int,
    # outputs
    code_out: wp.array[wp.int64],
):
    """Several threads a pair, each with some chunks of samples."""
    member, lane = wp.tid()
    pair = family[member]
    if pair < 0:
        return
    item = pair_item[pair]
    if pair_apart(item, columns, bound):
        return
    limit = contact_offset[item[0]] + contact_offset[item[1]] + margin[pair_environment[pair]]
    c = couple_of(item, columns, body_pose, limit)
    first = wp.vec2i()
    second = wp.vec2i()
    if samples_count(c.o, c.f):
        first = samples.shape_chunks[item[1]]
    if samples_count(c.f, c.o):
        second = samples.shape_chunks[item[0]]
    count = first[1] - first[0]
    total = count + second[1] - second[0]
    k = int(lane)
    while k < total:
        way = wp.where(k < count, 0, 1)
        chunk = wp.where(k < count, first[0] + k, second[0] + k - count)
        search_chunk(c, geometry, samples, chunk, way, cells, member * stride, code_out)
        k += lanes


@wp.func
def keep_deepest(
    c: Couple,
    geometry: Geometry,
    samples: Samples,
    cells: int,
    base: int,
    room: int,
    code_out: wp.array[wp.int64],
) -> int:
    """Choose the deepest contact of each direction, the deepest first; chosen codes are made negative."""
    kept = int(0)
    for _pass in range(DIRECTIONS):
        best = EMPTY
        at = int(0)
        for k in range(DIRECTIONS):
            if code_out[base + k] > best:
                best = code_out[base + k]
                at = k
        if best > EMPTY:
            code_out[base + at] = EMPTY
            if kept < room:
                name = code_name(best)
                s = touch_of(c, geometry, samples, name // 2, name % 2)
                cell, _outward = grid_place(c, s, cells)
                code_out[base + DIRECTIONS + cell] = -best
                kept += 1
    return kept


@wp.func
def keep_spread(
    near: float, cells: int, first: int, last: int, room: int, taken: int, code_out: wp.array[wp.int64]
):
    """Choose among the other cells those that differ most from the chosen ones, those nearer than ``near`` first.

    The choice depends on which cells are in use, not on where in them the contacts are.
    """
    rival = wp.zeros(shape=(512,), dtype=wp.int32)
    gap = wp.zeros(shape=(512,), dtype=wp.float32)
    chosen_at = wp.zeros(shape=(27,), dtype=wp.int32)
    held = int(0)
    count = int(0)
    touching = int(0)
    for sweep in range(2):
        for at in range(first, last):
            code = code_out[at]
            if code > EMPTY and count < RIVALS:
                if (code_depth(code) >= -near) == (sweep == 0):
                    rival[count] = at
                    count += 1
            if code < EMPTY and sweep == 0:
                chosen_at[held] = at
                held += 1
        if sweep == 0:
            touching = count
    kept = int(taken)
    if kept + count <= room:
        for k in range(count):
            code_out[rival[k]] = -code_out[rival[k]]
        return
    for k in range(count):
        gap[k] = 1.0e9
        for j in range(held):
            gap[k] = wp.min(gap[k], cell_gap(rival[k] - first, chosen_at[j] - first, cells))
    for sweep in range(2):
        start = wp.where(sweep == 0, 0, touching)
        end = wp.where(sweep == 0, touching, count)
        for _pick in range(end - start):
            best = float(-1.0)
            chosen = int(-1)
            if kept < room:
                for k in range(start, end):
                    if gap[k] > best:
                        best = gap[k]
                        chosen = k
            if chosen >= 0:
                at = rival[chosen]
                code_out[at] = -code_out[at]
                kept += 1
                for k in range(count):
                    gap[k] = wp.min(gap[k], cell_gap(rival[k] - first, at - first, cells))
                gap[chosen] = -2.0


@wp.kernel
def keep_contacts(
    family: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    pair_item: wp.array[wp.vec4i],
    pair_environment: wp.array[wp.int32],
    slot_start: wp.array[wp.int32],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    columns: Columns,
    geometry: Geometry,
    samples: Samples,
    cells: int,
    stride: int,
    # outputs
    code_out: wp.array[wp.int64],
    count_out: wp.array[wp.int32],
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
):
    """One thread a pair: the manifold, in the order of cells; the cells are empty again behind it."""
    member = wp.tid()
    pair = family[member]
    if pair < 0:
        return
    item = pair_item[pair]
    count = int(0)
    if not pair_apart(item, columns, bound):
        limit = contact_offset[item[0]] + contact_offset[item[1]] + margin[pair_environment[pair]]
        c = couple_of(item, columns, body_pose, limit)
        slot = slot_start[pair]
        room = slot_start[pair + 1] - slot
        base = member * stride
        first = base + DIRECTIONS
        last = base + stride
        kept = keep_deepest(c, geometry, samples, cells, base, room, code_out)
        if kept > 0:
            near = NEAR * wp.where(c.grid_on_o, c.o.radius, c.f.radius)
            keep_spread(near, cells, first, last, room, kept, code_out)
            local_f = columns.local_pose[item[2]]
            local_o = columns.local_pose[item[3]]
            q_f = pair_rotation(columns.shape_body[item[0]], body_pose, local_f)
            inverse = wp.transform_inverse(c.x)
            for at in range(first, last):
                if code_out[at] < EMPTY and count < room:
                    name = code_name(-code_out[at])
                    s = touch_of(c, geometry, samples, name // 2, name % 2)
                    store_point(
                        slot + count,
                        wp.where(item[0] < item[1], 0, 1),
                        wp.transform_point(local_f, s.point_f),
                        wp.transform_point(local_o, wp.transform_point(inverse, s.point_o)),
                        wp.quat_rotate(q_f, s.normal),
                        s.separation,
                        at - first,
                        anchor_out,
                        normal_out,
                        separation_out,
                        feature_out,
                    )
                    count += 1
                code_out[at] = EMPTY
    count_out[pair] = count
