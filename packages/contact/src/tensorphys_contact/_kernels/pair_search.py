"""Near pairs of one large world: boxes, counts, codes, and their spread to the narrow phase.

The smaller shape of a pair finds it, so that a large shape under thousands of small ones
costs no thread more than a few. Codes are sorted, so that the order of pairs depends on
the shapes alone.
"""

import warp as wp

from .gather import ROUNDING, plane_apart

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

PLANE = wp.constant(0)
NO_CODE = wp.constant(wp.int64(0x7FFFFFFFFFFFFFFF))
NEAR = wp.constant(32)
"""Codes that a shape keeps from counting to writing; one that finds more looks a second time."""


@wp.kernel
def bound_solids(
    solid: wp.array[wp.int32],
    shape_row: wp.array[wp.int32],
    shape_half: wp.array[wp.vec3],
    shape_body: wp.array[wp.int32],
    shape_center: wp.array[wp.vec3],
    local_pose: wp.array[wp.transform],
    contact_offset: wp.array[wp.float32],
    margin: wp.array[wp.float32],
    body_pose: wp.array[wp.transform],
    # outputs
    lower_out: wp.array[wp.vec3],
    upper_out: wp.array[wp.vec3],
):
    """One thread a shape: its box, with the contact offset, half the margin and rounding."""
    i = wp.tid()
    shape = solid[i]
    x = local_pose[shape_row[shape]]
    if shape_body[shape] >= 0:
        x = body_pose[shape_body[shape]] * x
    c = wp.transform_point(x, shape_center[shape])
    r = wp.quat_to_matrix(wp.transform_get_rotation(x))
    h = shape_half[shape]
    reach = contact_offset[shape] + 0.5 * margin[0]
    extent = wp.vec3()
    for k in range(3):
        extent[k] = wp.abs(r[k, 0]) * h[0] + wp.abs(r[k, 1]) * h[1] + wp.abs(r[k, 2]) * h[2]
        extent[k] = extent[k] + reach + ROUNDING * (wp.abs(c[k]) + h[0] + h[1] + h[2])
    lower_out[i] = c - extent
    upper_out[i] = c + extent


@wp.func
def pair_code(a: int, b: int, shape_count: int) -> wp.int64:
    """Number of a pair of shapes, ascending in (lower, higher)."""
    return wp.int64(wp.min(a, b)) * wp.int64(shape_count) + wp.int64(wp.max(a, b))


@wp.func
def wanted(
    a: int,
    b: int,
    filtered: wp.array[wp.int64],
    role: wp.array[wp.int32],
    family_of: wp.array[wp.int32],
    shape_type: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
) -> bool:
    """Whether two shapes may touch: types that can, bodies that differ, one that moves, no filter."""
    if role[a] + role[b] > 1:
        return False
    types = wp.int32(wp.sqrt(float(family_of.shape[0])) + 0.5)
    if family_of[shape_type[a] * types + shape_type[b]] < 0 or shape_body[a] == shape_body[b]:
        return False
    code = pair_code(a, b, shape_type.shape[0])
    at = wp.lower_bound(filtered, code)
    if at < filtered.shape[0]:
        if filtered[at] == code:
            return False
    return True


@wp.func
def visit_near(
    i: int,
    start: int,
    capacity: int,
    bvh: wp.uint64,
    solid: wp.array[wp.int32],
    plane: wp.array[wp.int32],
    rank: wp.array[wp.int32],
    shape_row: wp.array[wp.int32],
    filtered: wp.array[wp.int64],
    role: wp.array[wp.int32],
    family_of: wp.array[wp.int32],
    lower: wp.array[wp.vec3],
    upper: wp.array[wp.vec3],
    shape_type: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    code_out: wp.array[wp.int64],
) -> int:
    """Count the pairs that shape i finds; write their codes from ``start`` on where below the capacity."""
    shape = solid[i]
    found = int(0)
    for k in range(plane.shape[0]):
        near = not plane_apart(bound[shape_row[plane[k]]], bound[shape_row[shape]])
        if near and wanted(shape, plane[k], filtered, role, family_of, shape_type, shape_body):
            if start + found < capacity:
                code_out[start + found] = pair_code(shape, plane[k], shape_type.shape[0])
            found += 1
    query = wp.bvh_query_aabb(bvh, lower[i], upper[i])
    j = int(0)
    while wp.bvh_query_next(query, j):
        other = solid[j]
        if rank[other] > rank[shape]:
            if wanted(shape, other, filtered, role, family_of, shape_type, shape_body):
                if start + found < capacity:
                    code_out[start + found] = pair_code(shape, other, shape_type.shape[0])
                found += 1
    return found


@wp.kernel
def count_near(
    bvh: wp.uint64,
    solid: wp.array[wp.int32],
    plane: wp.array[wp.int32],
    rank: wp.array[wp.int32],
    shape_row: wp.array[wp.int32],
    filtered: wp.array[wp.int64],
    role: wp.array[wp.int32],
    family_of: wp.array[wp.int32],
    lower: wp.array[wp.vec3],
    upper: wp.array[wp.vec3],
    shape_type: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    # outputs
    count_out: wp.array[wp.int32],
    near_out: wp.array[wp.int64],
):
    """One thread a shape."""
    i = wp.tid()
    count_out[i] = visit_near(
        i,
        NEAR * i,
        NEAR * (i + 1),
        bvh,
        solid,
        plane,
        rank,
        shape_row,
        filtered,
        role,
        family_of,
        lower,
        upper,
        shape_type,
        shape_body,
        bound,
        near_out,
    )


@wp.kernel
def clear_codes(
    end: wp.array[wp.int32],
    # outputs
    code_out: wp.array[wp.int64],
    order_out: wp.array[wp.int32],
    count_out: wp.array[wp.int32],
    required_out: wp.array[wp.int32],
    overflow_out: wp.array[wp.int32],
    contact_overflow_out: wp.array[wp.int32],
):
    """One thread a pair of the capacity."""
    pair = wp.tid()
    code_out[pair] = NO_CODE
    order_out[pair] = pair
    count_out[pair] = 0
    if pair == 0:
        total = end[end.shape[0] - 1]
        required_out[0] = wp.max(required_out[0], total)
        if total > count_out.shape[0]:
            overflow_out[0] = 1
            contact_overflow_out[0] = 1


@wp.kernel
def write_near(
    bvh: wp.uint64,
    solid: wp.array[wp.int32],
    plane: wp.array[wp.int32],
    rank: wp.array[wp.int32],
    shape_row: wp.array[wp.int32],
    filtered: wp.array[wp.int64],
    role: wp.array[wp.int32],
    family_of: wp.array[wp.int32],
    lower: wp.array[wp.vec3],
    upper: wp.array[wp.vec3],
    shape_type: wp.array[wp.int32],
    shape_body: wp.array[wp.int32],
    bound: wp.array[wp.vec4],
    count: wp.array[wp.int32],
    end: wp.array[wp.int32],
    near: wp.array[wp.int64],
    capacity: int,
    # outputs
    code_out: wp.array[wp.int64],
):
    """One thread a shape."""
    i = wp.tid()
    if count[i] <= NEAR:
        for n in range(count[i]):
            if end[i] - count[i] + n < capacity:
                code_out[end[i] - count[i] + n] = near[NEAR * i + n]
    else:
        visit_near(
            i,
            end[i] - count[i],
            capacity,
            bvh,
            solid,
            plane,
            rank,
            shape_row,
            filtered,
            role,
            family_of,
            lower,
            upper,
            shape_type,
            shape_body,
            bound,
            code_out,
        )


@wp.kernel
def assign_family(
    family: int,
    code: wp.array[wp.int64],
    family_of: wp.array[wp.int32],
    shape_type: wp.array[wp.int32],
    # outputs
    members_out: wp.array[wp.int32],
):
    """One thread a pair: its number where it is of the family, else −1."""
    pair = wp.tid()
    members_out[pair] = -1
    if code[pair] != NO_CODE:
        shape_count = wp.int64(shape_type.shape[0])
        a = shape_type[int(code[pair] / shape_count)]
        b = shape_type[int(code[pair] % shape_count)]
        types = wp.int32(wp.sqrt(float(family_of.shape[0])) + 0.5)
        if family_of[a * types + b] == family:
            members_out[pair] = pair


@wp.func
def frame_rank(kind: int) -> int:
    """Which of two types gives the frame: planes, then the higher type."""
    return wp.where(kind == PLANE, 1000, kind)


@wp.kernel
def assign_pairs(
    code: wp.array[wp.int64],
    shape_row: wp.array[wp.int32],
    shape_type: wp.array[wp.int32],
    shape_radius: wp.array[wp.float32],
    # outputs
    shape0_out: wp.array[wp.int32],
    shape1_out: wp.array[wp.int32],
    item_out: wp.array[wp.vec4i],
    key_out: wp.array[wp.int32],
):
    """One thread a pair: what ``_layout`` does on the host for lists of pairs."""
    pair = wp.tid()
    if code[pair] == NO_CODE:
        return
    shape_count = wp.int64(shape_type.shape[0])
    a = int(code[pair] / shape_count)
    b = int(code[pair] % shape_count)
    shape0_out[pair] = a
    shape1_out[pair] = b
    key_out[pair] = int(code[pair])
    rank_a = frame_rank(shape_type[a])
    rank_b = frame_rank(shape_type[b])
    swap = rank_b > rank_a or (rank_b == rank_a and shape_radius[b] > shape_radius[a])
    f = wp.where(swap, b, a)
    o = wp.where(swap, a, b)
    item_out[pair] = wp.vec4i(f, o, shape_row[f], shape_row[o])


@wp.kernel
def flag_family(
    family: int,
    code: wp.array[wp.int64],
    family_of: wp.array[wp.int32],
    shape_type: wp.array[wp.int32],
    # outputs
    flag_out: wp.array[wp.int32],
):
    """One thread a pair: 1 where it is of the family."""
    pair = wp.tid()
    flag_out[pair] = 0
    if code[pair] != NO_CODE:
        shape_count = wp.int64(shape_type.shape[0])
        a = shape_type[int(code[pair] / shape_count)]
        b = shape_type[int(code[pair] % shape_count)]
        types = wp.int32(wp.sqrt(float(family_of.shape[0])) + 0.5)
        if family_of[a * types + b] == family:
            flag_out[pair] = 1


@wp.kernel
def assign_few(
    flag: wp.array[wp.int32],
    place: wp.array[wp.int32],
    code: wp.array[wp.int64],
    room_of: wp.array[wp.int32],
    shape_type: wp.array[wp.int32],
    # outputs
    members_out: wp.array[wp.int32],
    slots_out: wp.array[wp.int32],
    required_out: wp.array[wp.int32],
    overflow_out: wp.array[wp.int32],
    contact_overflow_out: wp.array[wp.int32],
):
    """One thread a pair: a place in a short list of members for flagged pairs, and the slots of every pair.

    ``place`` is the running sum of ``flag``, so that the first pairs in order get the places.
    """
    pair = wp.tid()
    places = members_out.shape[0]
    total = place[place.shape[0] - 1]
    slots = int(0)
    if code[pair] != NO_CODE:
        shape_count = wp.int64(shape_type.shape[0])
        a = shape_type[int(code[pair] / shape_count)]
        b = shape_type[int(code[pair] % shape_count)]
        types = wp.int32(wp.sqrt(float(room_of.shape[0])) + 0.5)
        slots = room_of[a * types + b]
    if flag[pair] == 1:
        if place[pair] <= places:
            members_out[place[pair] - 1] = pair
        else:
            slots = 0
    if pair >= total and pair < places:
        members_out[pair] = -1
    slots_out[pair] = slots
    if pair == 0:
        required_out[1] = wp.max(required_out[1], total)
        if total > places:
            overflow_out[1] = 1
            contact_overflow_out[0] = 1
