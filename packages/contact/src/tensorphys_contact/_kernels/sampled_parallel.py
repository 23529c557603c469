"""The manifold of pairs that are found by samples, with several threads a pair.

The same choice as :func:`.sampled.keep_contacts`, which a GPU would leave to one slow thread: the cells of
the deepest contacts and the chosen contacts are worked out side by side, only the choice is one thread's.
"""

import warp as wp

from .distances import Geometry
from .gather import pair_rotation, store_point
from .reduction import DIRECTIONS, EMPTY, code_name
from .sampled import NEAR, Columns, couple_of, grid_place, keep_spread, pair_apart, touch_of
from .samples import Samples

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.kernel
def place_deepest(
    family: wp.array[wp.int32],
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
    code: wp.array[wp.int64],
    # outputs
    cell_out: wp.array[wp.int32],
):
    """One thread a direction of a pair: the cell of its deepest contact."""
    member, direction = wp.tid()
    pair = family[member]
    if pair < 0:
        return
    best = code[member * stride + direction]
    if best > EMPTY:
        item = pair_item[pair]
        limit = contact_offset[item[0]] + contact_offset[item[1]] + margin[pair_environment[pair]]
        c = couple_of(item, columns, body_pose, limit)
        name = code_name(best)
        cell, _outward = grid_place(c, touch_of(c, geometry, samples, name // 2, name % 2), cells)
        cell_out[member * DIRECTIONS + direction] = cell


@wp.func
def keep_deepest_at(
    base: int, room: int, first_cell: int, cell_of: wp.array[wp.int32], code_out: wp.array[wp.int64]
) -> int:
    """:func:`.sampled.keep_deepest` where the cells are known."""
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
                code_out[base + DIRECTIONS + cell_of[first_cell + at]] = -best
                kept += 1
    return kept


@wp.kernel
def choose_cells(
    family: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    pair_item: wp.array[wp.vec4i],
    slot_start: wp.array[wp.int32],
    body_pose: wp.array[wp.transform],
    columns: Columns,
    cells: int,
    stride: int,
    most: int,
    cell_of: wp.array[wp.int32],
    # outputs
    code_out: wp.array[wp.int64],
    choice_out: wp.array[wp.int32],
    count_out: wp.array[wp.int32],
):
    """One thread a pair: the cells of its manifold, in ascending order."""
    member = wp.tid()
    pair = family[member]
    if pair < 0:
        return
    item = pair_item[pair]
    count = int(0)
    if not pair_apart(item, columns, bound):
        room = slot_start[pair + 1] - slot_start[pair]
        base = member * stride
        first = base + DIRECTIONS
        last = base + stride
        kept = keep_deepest_at(base, room, member * DIRECTIONS, cell_of, code_out)
        if kept > 0:
            c = couple_of(item, columns, body_pose, 0.0)
            near = NEAR * wp.where(c.grid_on_o, c.o.radius, c.f.radius)
            keep_spread(near, cells, first, last, room, kept, code_out)
            for at in range(first, last):
                if code_out[at] < EMPTY and count < room:
                    choice_out[member * most + count] = at - first
                    count += 1
    count_out[pair] = count


@wp.kernel
def write_chosen(
    family: wp.array[wp.int32],
    pair_item: wp.array[wp.vec4i],
    pair_environment: wp.array[wp.int32],
    slot_start: wp.array[wp.int32],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    columns: Columns,
    geometry: Geometry,
    samples: Samples,
    stride: int,
    most: int,
    code: wp.array[wp.int64],
    choice: wp.array[wp.int32],
    count: wp.array[wp.int32],
    # outputs
    anchor_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    separation_out: wp.array[wp.float32],
    feature_out: wp.array[wp.int32],
):
    """One thread a contact of a pair."""
    member, k = wp.tid()
    pair = family[member]
    if pair < 0:
        return
    if k >= count[pair]:
        return
    item = pair_item[pair]
    limit = contact_offset[item[0]] + contact_offset[item[1]] + margin[pair_environment[pair]]
    c = couple_of(item, columns, body_pose, limit)
    cell = choice[member * most + k]
    name = code_name(-code[member * stride + DIRECTIONS + cell])
    s = touch_of(c, geometry, samples, name // 2, name % 2)
    local_f = columns.local_pose[item[2]]
    local_o = columns.local_pose[item[3]]
    q_f = pair_rotation(columns.shape_body[item[0]], body_pose, local_f)
    store_point(
        slot_start[pair] + k,
        wp.where(item[0] < item[1], 0, 1),
        wp.transform_point(local_f, s.point_f),
        wp.transform_point(local_o, wp.transform_point(wp.transform_inverse(c.x), s.point_o)),
        wp.quat_rotate(q_f, s.normal),
        s.separation,
        cell,
        anchor_out,
        normal_out,
        separation_out,
        feature_out,
    )
