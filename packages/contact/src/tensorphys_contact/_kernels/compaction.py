"""From manifold slots to contacts: a scan over each environment, then a parallel copy.

No atomics: the order is (environment, pair, feature) however threads run.
"""

import warp as wp

from .gather import Points

wp.set_module_options({"enable_backward": False})


@wp.func
def combine(a: float, b: float, mode_a: int, mode_b: int) -> float:
    """Combine two material values; the larger of the two mode codes wins."""
    mode = wp.max(mode_a, mode_b)
    value = 0.5 * (a + b)
    if mode == 1:
        value = wp.min(a, b)
    elif mode == 2:
        value = a * b
    elif mode == 3:
        value = wp.max(a, b)
    return value


@wp.struct
class Surfaces:
    """Materials of shapes."""

    static_friction: wp.array[wp.float32]
    dynamic_friction: wp.array[wp.float32]
    restitution: wp.array[wp.float32]
    stiffness: wp.array[wp.float32]
    damping: wp.array[wp.float32]
    spring_per_mass: wp.array[wp.int32]
    patch_radius: wp.array[wp.float32]
    least_patch_radius: wp.array[wp.float32]
    torsional_friction: wp.array[wp.float32]
    friction_combine: wp.array[wp.int32]
    restitution_combine: wp.array[wp.int32]
    damping_combine: wp.array[wp.int32]


@wp.struct
class Material:
    """Combined material of a pair of shapes."""

    static_friction: wp.float32
    dynamic_friction: wp.float32
    restitution: wp.float32
    stiffness: wp.float32
    damping: wp.float32
    spring_per_mass: wp.int32
    patch_radius: wp.float32
    least_patch_radius: wp.float32
    torsional_friction: wp.float32


@wp.func
def combine_springs(c: Surfaces, s0: int, s1: int, mode: int):
    """Stiffness, damping and kind of the spring of a pair; zeros where both shapes are rigid.

    Of a compliant and a rigid shape the compliant one says how it yields; of two springs of which one acts per mass,
    that one does. Two alike are combined; a stiffness is a negative restitution to the combine mode, so that its least
    one is the stiffest.
    """
    k0 = c.stiffness[s0]
    k1 = c.stiffness[s1]
    stiffness = float(0.0)
    damping = float(0.0)
    per_mass = int(0)
    if k0 > 0.0 or k1 > 0.0:
        # What rigid shapes do not need is not read: on a CPU each column costs a line of memory.
        stiffness = -combine(-k0, -k1, mode, mode)
        if mode == 2:
            stiffness = k0 * k1
        damping_mode = wp.max(c.damping_combine[s0], c.damping_combine[s1])
        damping = combine(c.damping[s0], c.damping[s1], damping_mode, damping_mode)
        per_mass = wp.max(c.spring_per_mass[s0], c.spring_per_mass[s1])
        chosen = int(-1)
        if k0 > 0.0 and (k1 <= 0.0 or c.spring_per_mass[s0] > c.spring_per_mass[s1]):
            chosen = s0
        elif k1 > 0.0 and (k0 <= 0.0 or c.spring_per_mass[s1] > c.spring_per_mass[s0]):
            chosen = s1
        if chosen >= 0:
            stiffness = c.stiffness[chosen]
            damping = c.damping[chosen]
            per_mass = c.spring_per_mass[chosen]
    return stiffness, damping, per_mass


@wp.func
def combine_materials(c: Surfaces, s0: int, s1: int, patches: bool):
    """Material of a pair of shapes; of their patches only where they are asked for."""
    result = Material()
    mode = wp.max(c.friction_combine[s0], c.friction_combine[s1])
    result.static_friction = combine(c.static_friction[s0], c.static_friction[s1], mode, mode)
    result.dynamic_friction = combine(c.dynamic_friction[s0], c.dynamic_friction[s1], mode, mode)
    bounce_mode = wp.max(c.restitution_combine[s0], c.restitution_combine[s1])
    stiffness, damping, per_mass = combine_springs(c, s0, s1, bounce_mode)
    result.stiffness = stiffness
    result.damping = damping
    result.spring_per_mass = per_mass
    # a spring gives back what its damping leaves
    if stiffness <= 0.0:
        result.restitution = combine(c.restitution[s0], c.restitution[s1], bounce_mode, bounce_mode)
    if patches:
        result.patch_radius = wp.max(c.patch_radius[s0], c.patch_radius[s1])
        result.least_patch_radius = wp.max(c.least_patch_radius[s0], c.least_patch_radius[s1])
        result.torsional_friction = wp.max(c.torsional_friction[s0], c.torsional_friction[s1])
    return result


@wp.func
def depth_rank(value: float) -> wp.int64:
    """Integer from 0 to 2^32 − 1 that sorts as the float does."""
    bits = wp.int64(wp.cast(value, wp.int32))
    # The patterns of negative floats ascend as the floats descend.
    return wp.where(bits < wp.int64(0), -bits - wp.int64(1), bits + wp.int64(2147483648))


@wp.func
def count_below(
    first: int,
    last: int,
    threshold: wp.int64,
    slot_start: wp.array[wp.int32],
    manifold_count: wp.array[wp.int32],
    separation: wp.array[wp.float32],
) -> int:
    """Number of points of pairs first..last whose depth rank is below."""
    total = int(0)
    for pair in range(first, last):
        slot = slot_start[pair]
        for k in range(manifold_count[pair]):
            if depth_rank(separation[slot + k]) < threshold:
                total += 1
    return total


@wp.func
def select_deepest(
    first: int,
    last: int,
    capacity: int,
    slot_start: wp.array[wp.int32],
    manifold_count: wp.array[wp.int32],
    separation: wp.array[wp.float32],
    target_out: wp.array[wp.int32],
    base: int,
):
    """Give targets to the ``capacity`` deepest points, ties in pair order."""
    # Largest threshold below which no more than ``capacity`` points lie.
    low = wp.int64(0)
    high = wp.int64(4294967296)
    while high - low > wp.int64(1):
        middle = (low + high) / wp.int64(2)
        if count_below(first, last, middle, slot_start, manifold_count, separation) <= capacity:
            low = middle
        else:
            high = middle
    ties = capacity - count_below(first, last, low, slot_start, manifold_count, separation)
    used = int(0)
    for pair in range(first, last):
        slot = slot_start[pair]
        for k in range(manifold_count[pair]):
            rank = depth_rank(separation[slot + k])
            keep = rank < low
            if rank == low and ties > 0:
                keep = True
                ties -= 1
            target_out[slot + k] = wp.where(keep, base + used, -1)
            used += wp.where(keep, 1, 0)


@wp.func
def aim(
    first: int,
    last: int,
    base: int,
    slot_start: wp.array[wp.int32],
    manifold_count: wp.array[wp.int32],
    target_out: wp.array[wp.int32],
) -> int:
    """Give the points of pairs first..last consecutive targets; returns how many there are."""
    total = int(0)
    for pair in range(first, last):
        count = manifold_count[pair]
        if count > 0:
            slot = slot_start[pair]
            for k in range(count):
                target_out[slot + k] = base + total + k
            total += count
    return total


@wp.kernel
def scan_environments(
    pair_start: wp.array[wp.int32],
    slot_start: wp.array[wp.int32],
    manifold_count: wp.array[wp.int32],
    separation: wp.array[wp.float32],
    contact_start: wp.array[wp.int32],
    # outputs
    target_out: wp.array[wp.int32],
    count_out: wp.array[wp.int32],
    required_out: wp.array[wp.int32],
    overflow_out: wp.array[wp.int32],
):
    """One thread an environment; for environments of few pairs."""
    e = wp.tid()
    first = pair_start[e]
    last = pair_start[e + 1]
    base = contact_start[e]
    capacity = contact_start[e + 1] - base
    total = aim(first, last, base, slot_start, manifold_count, target_out)
    required_out[e] = wp.max(required_out[e], total)
    if total > capacity:
        overflow_out[e] = 1
        select_deepest(first, last, capacity, slot_start, manifold_count, separation, target_out, base)
    count_out[e] = wp.min(total, capacity)


@wp.kernel
def count_chunks(
    chunk_pair: wp.array[wp.int32],
    manifold_count: wp.array[wp.int32],
    # outputs
    chunk_target_out: wp.array[wp.int32],
):
    """One thread a chunk of consecutive pairs of one environment."""
    chunk = wp.tid()
    total = int(0)
    for pair in range(chunk_pair[chunk], chunk_pair[chunk + 1]):
        total += manifold_count[pair]
    chunk_target_out[chunk] = total


@wp.kernel
def scan_chunks(
    chunk_start: wp.array[wp.int32],
    pair_start: wp.array[wp.int32],
    slot_start: wp.array[wp.int32],
    manifold_count: wp.array[wp.int32],
    separation: wp.array[wp.float32],
    contact_start: wp.array[wp.int32],
    # outputs
    chunk_target_out: wp.array[wp.int32],
    target_out: wp.array[wp.int32],
    count_out: wp.array[wp.int32],
    required_out: wp.array[wp.int32],
    overflow_out: wp.array[wp.int32],
):
    """One thread an environment: from counts of chunks to their first targets."""
    e = wp.tid()
    base = contact_start[e]
    capacity = contact_start[e + 1] - base
    total = int(0)
    for chunk in range(chunk_start[e], chunk_start[e + 1]):
        count = chunk_target_out[chunk]
        chunk_target_out[chunk] = base + total
        total += count
    required_out[e] = wp.max(required_out[e], total)
    if total > capacity:
        overflow_out[e] = 1
        for chunk in range(chunk_start[e], chunk_start[e + 1]):
            # The targets below stand; the chunks must not write theirs.
            chunk_target_out[chunk] = -1
        select_deepest(
            pair_start[e],
            pair_start[e + 1],
            capacity,
            slot_start,
            manifold_count,
            separation,
            target_out,
            base,
        )
    count_out[e] = wp.min(total, capacity)


@wp.kernel
def aim_chunks(
    chunk_pair: wp.array[wp.int32],
    slot_start: wp.array[wp.int32],
    manifold_count: wp.array[wp.int32],
    chunk_target: wp.array[wp.int32],
    # outputs
    target_out: wp.array[wp.int32],
):
    """One thread a chunk."""
    chunk = wp.tid()
    if chunk_target[chunk] >= 0:
        aim(
            chunk_pair[chunk],
            chunk_pair[chunk + 1],
            chunk_target[chunk],
            slot_start,
            manifold_count,
            target_out,
        )


@wp.struct
class Pairs:
    """What contacts take from their pair and its shapes."""

    pair_key: wp.array[wp.int32]
    pair_shape0: wp.array[wp.int32]
    pair_shape1: wp.array[wp.int32]
    slot_start: wp.array[wp.int32]
    shape_body: wp.array[wp.int32]
    rest_offset: wp.array[wp.float32]


@wp.struct
class Slots:
    """Columns of contacts, see ``Contacts``."""

    shape0: wp.array[wp.int32]
    shape1: wp.array[wp.int32]
    body0: wp.array[wp.int32]
    body1: wp.array[wp.int32]
    anchor0: wp.array[wp.vec3]
    anchor1: wp.array[wp.vec3]
    normal: wp.array[wp.vec3]
    separation: wp.array[wp.float32]
    rest_distance: wp.array[wp.float32]
    key: wp.array[wp.int64]
    static_friction: wp.array[wp.float32]
    dynamic_friction: wp.array[wp.float32]
    restitution: wp.array[wp.float32]
    stiffness: wp.array[wp.float32]
    damping: wp.array[wp.float32]
    spring_per_mass: wp.array[wp.int32]
    patch_radius: wp.array[wp.float32]
    least_patch_radius: wp.array[wp.float32]
    torsional_friction: wp.array[wp.float32]


@wp.func(inline=True)
def put_contact(
    out: int,
    slot: int,
    s0: int,
    s1: int,
    key: int,
    pairs: Pairs,
    points: Points,
    m: Material,
    slots_out: Slots,
):
    """Write one contact."""
    slots_out.shape0[out] = s0
    slots_out.shape1[out] = s1
    slots_out.body0[out] = pairs.shape_body[s0]
    slots_out.body1[out] = pairs.shape_body[s1]
    slots_out.anchor0[out] = points.anchor[2 * slot]
    slots_out.anchor1[out] = points.anchor[2 * slot + 1]
    slots_out.normal[out] = points.normal[slot]
    slots_out.separation[out] = points.separation[slot]
    slots_out.rest_distance[out] = pairs.rest_offset[s0] + pairs.rest_offset[s1]
    slots_out.key[out] = (wp.int64(key) << wp.int64(32)) | wp.int64(points.feature[slot])
    slots_out.static_friction[out] = m.static_friction
    slots_out.dynamic_friction[out] = m.dynamic_friction
    slots_out.restitution[out] = m.restitution
    slots_out.stiffness[out] = m.stiffness
    slots_out.damping[out] = m.damping
    slots_out.spring_per_mass[out] = m.spring_per_mass
    if slots_out.patch_radius.shape[0] > 0:
        slots_out.patch_radius[out] = m.patch_radius
        slots_out.least_patch_radius[out] = m.least_patch_radius
        slots_out.torsional_friction[out] = m.torsional_friction


@wp.func(inline=True)
def put_pair(
    s0: int,
    s1: int,
    key: int,
    count: int,
    start: int,
    first: int,
    pairs: Pairs,
    points: Points,
    surfaces: Surfaces,
    slots_out: Slots,
):
    """Write the contacts of two shapes from the slots at ``start``, one after another from ``first`` on, or at their targets
    where that is −1."""
    patches = slots_out.patch_radius.shape[0] > 0
    m = combine_materials(surfaces, s0, s1, patches)
    for k in range(count):
        out = first + k
        if first < 0:
            out = points.target[start + k]
        if out >= 0:
            put_contact(out, start + k, s0, s1, key, pairs, points, m, slots_out)


@wp.kernel
def write_contacts(
    pairs: Pairs,
    points: Points,
    surfaces: Surfaces,
    # outputs
    slots_out: Slots,
):
    """One thread a pair."""
    pair = wp.tid()
    count = points.count[pair]
    if count > 0:
        put_pair(
            pairs.pair_shape0[pair],
            pairs.pair_shape1[pair],
            pairs.pair_key[pair],
            count,
            pairs.slot_start[pair],
            -1,
            pairs,
            points,
            surfaces,
            slots_out,
        )
