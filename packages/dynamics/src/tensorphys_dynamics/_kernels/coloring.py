"""Colours of manifolds, so that those of one colour share no articulation and can be solved at the same time.

A manifold is a run of contacts of one pair of bodies: an edge of a graph over the articulations that move. In each round
every uncoloured edge picks one of the colours that are free at both ends, at random from numbers drawn from keys, and keeps it
if no edge at either end with a greater number picked the same. Greatest numbers do not depend on the order of threads. Then
the colours are gone through from the last to the second: their edges take the first colour that is free [Culberson 1992].
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, Tables

wp.set_module_options({"enable_backward": False})

COLORS = wp.constant(62)
"""Colours, the bits of a mask; manifolds that find none free, or none in time, have this number."""
UNCOLORED = wp.constant(-1)


@wp.struct
class Manifolds:
    """Manifolds of large environments. Nodes are the articulations in them that move."""

    node: wp.array[wp.int32]  # by articulation: its node, -1 for none
    large: wp.array[wp.int32]  # by environment: 1 where contacts are solved in parallel
    leader: wp.array[wp.int32]  # by slot: 1 for the first contact of a manifold
    place: wp.array[wp.int32]  # by slot: leaders up to it
    first: wp.array[wp.int32]  # first slot
    last: wp.array[wp.int32]  # slot behind the last
    end0: wp.array[wp.int32]  # node of body 0, -1 for none
    end1: wp.array[wp.int32]
    start: wp.array[wp.int32]  # first node of the environment
    node_start: wp.array[wp.int32]  # by environment: first node
    color: wp.array[wp.int32]
    wish: wp.array[wp.int32]  # colour of this round
    best: wp.array[wp.int64]  # by node and colour: greatest number that picked it
    mask: wp.array[wp.int64]  # by node: colours in use
    degree: wp.array[wp.int32]  # by node: uncoloured manifolds
    stamp: wp.array[wp.int32]  # by node: turn until which its contacts are repeated
    articulation: wp.array[wp.int32]  # by node
    push: wp.array[wp.float32]  # by node: greatest speed of a body that may push it in this substep
    active: wp.array[wp.int64]  # by node: colours of its manifolds that take part in this substep
    pace: wp.array[wp.vec4]  # speeds of both ends, gap, and 1 where an impulse acts, see `activity`
    part: wp.array[wp.int32]  # by place in the order of colours: 1 if the manifold takes part in this substep
    parts: wp.array[wp.int32]  # by place: those up to it
    totals: wp.array[
        wp.int32
    ]  # manifolds, colours in use, manifolds without a colour, and those that take part in this substep
    flags: wp.array[
        wp.int32
    ]  # latest turn in which contacts are to be solved again; 1 where any contact rebounds


@wp.func
def scramble(x: wp.int64):
    """Mix the bits of a number [Steele et al. 2014]."""
    z = wp.uint64(x) + wp.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> wp.uint64(30))) * wp.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> wp.uint64(27))) * wp.uint64(0x94D049BB133111EB)
    return z ^ (z >> wp.uint64(31))


@wp.func
def node_of(t: Tables, f: Manifolds, body: int):
    """Node of a body, −1 for none."""
    node = int(-1)
    if body >= 0:
        node = f.node[t.link_articulation[body]]
    return node


@wp.func
def is_idle(t: Tables, k: ContactData, idle: wp.array[wp.int32], slot: int):
    """Whether a contact is one of bodies that sleep, whose impulses are kept."""
    idles = int(0)
    moves = int(0)
    for end in range(2):
        body = wp.where(end == 0, k.body0[slot], k.body1[slot])
        if body >= 0:
            a = t.link_articulation[body]
            if idle[a] == 1:
                idles = 1
            elif t.type_velocities[t.articulation_type[a]] > 0:
                moves = 1
    return idles == 1 and moves == 0


@wp.func
def same_pair(k: ContactData, slot: int, other: int):
    """Whether two contacts are of the same two bodies."""
    return k.body0[slot] == k.body0[other] and k.body1[slot] == k.body1[other]


@wp.kernel
def mark_manifolds(
    t: Tables,
    k: ContactData,
    large: wp.array[wp.int32],
    idle: wp.array[wp.int32],
    # outputs
    leader_out: wp.array[wp.int32],
):
    """One slot: whether a manifold of a large environment begins here that is to be solved."""
    slot = wp.tid()
    environment = k.environment[slot]
    local = slot - k.slot_start[environment]
    begins = int(0)
    if large[environment] == 1 and local < k.count[environment]:
        begins = 1
        if local > 0:
            if same_pair(k, slot, slot - 1):
                begins = 0
        if is_idle(t, k, idle, slot):
            begins = 0
    leader_out[slot] = begins


@wp.kernel
def clear_nodes(f_inout: Manifolds):
    """One node without manifolds."""
    node = wp.tid()
    for color in range(COLORS):
        f_inout.best[node * COLORS + color] = wp.int64(0)
    f_inout.mask[node] = wp.int64(0)
    f_inout.degree[node] = 0
    f_inout.stamp[node] = 0
    if node == 0:
        f_inout.flags[0] = 0
        f_inout.flags[1] = 0


@wp.kernel
def list_manifolds(
    t: Tables,
    k: ContactData,
    # outputs
    f_inout: Manifolds,
    key_out: wp.array[wp.int32],
    order_out: wp.array[wp.int32],
):
    """One slot: the manifold that begins here, uncoloured; entries of the list to sort are made to stand last."""
    slot = wp.tid()
    key_out[slot] = COLORS + 1
    order_out[slot] = -1
    if slot == f_inout.place.shape[0] - 1:
        f_inout.totals[0] = f_inout.place[slot]
        f_inout.totals[1] = 0
    environment = k.environment[slot]
    end = k.slot_start[environment] + k.count[environment]
    if f_inout.large[environment] == 1 and slot < end and k.restitution[slot] > 0.0:
        f_inout.flags[1] = 1
    if f_inout.leader[slot] == 1:
        i = f_inout.place[slot] - 1
        f_inout.first[i] = slot
        last = slot + 1
        while last < end:
            if not same_pair(k, slot, last):
                break
            last += 1
        f_inout.last[i] = last
        a0 = node_of(t, f_inout, k.body0[slot])
        a1 = node_of(t, f_inout, k.body1[slot])
        if a1 == a0:
            a1 = int(-1)
        f_inout.end0[i] = a0
        f_inout.end1[i] = a1
        f_inout.start[i] = f_inout.node_start[environment]
        if a0 >= 0:
            wp.atomic_add(f_inout.degree, a0, 1)
        if a1 >= 0:
            wp.atomic_add(f_inout.degree, a1, 1)
        f_inout.color[i] = UNCOLORED


@wp.func
def nth_free(mask: wp.int64, n: int):
    """The free colour of a number in ascending order, COLORS where there are not so many."""
    color = int(0)
    left = n
    while color < COLORS:
        if ((mask >> wp.int64(color)) & wp.int64(1)) == wp.int64(0):
            if left == 0:
                break
            left -= 1
        color += 1
    return color


@wp.func
def number_of(f: Manifolds, i: int, turn: int):
    """What decides between manifolds that pick the same: later rounds are greater, and none is 0.

    Drawn from the places of both bodies in their environment, so that it does not depend on other environments.
    """
    local0 = wp.where(f.end0[i] < 0, -1, f.end0[i] - f.start[i])
    local1 = wp.where(f.end1[i] < 0, -1, f.end1[i] - f.start[i])
    pair = (wp.int64(local0) << wp.int64(32)) ^ wp.int64(local1)
    mixed = wp.int64(scramble(pair) >> wp.uint64(38))
    return (wp.int64(turn + 1) << wp.int64(57)) | (mixed << wp.int64(31)) | wp.int64(i)


@wp.kernel
def propose(turn: int, threads: int, f_inout: Manifolds):
    """Each uncoloured manifold picks one of the first free colours, as many as it has rivals at its busier end."""
    i = wp.tid()
    while i < f_inout.totals[0]:
        if f_inout.color[i] == UNCOLORED:
            a0 = f_inout.end0[i]
            a1 = f_inout.end1[i]
            mask = wp.int64(0)
            rivals = int(1)
            if a0 >= 0:
                mask = mask | f_inout.mask[a0]
                rivals = wp.max(rivals, f_inout.degree[a0])
            if a1 >= 0:
                mask = mask | f_inout.mask[a1]
                rivals = wp.max(rivals, f_inout.degree[a1])
            number = number_of(f_inout, i, turn)
            draw = int(scramble(number >> wp.int64(31)) >> wp.uint64(33))
            color = nth_free(mask, draw % rivals)
            if color == COLORS:
                color = nth_free(mask, 0)
            f_inout.wish[i] = color
            if color < COLORS:
                if a0 >= 0:
                    wp.atomic_max(f_inout.best, a0 * COLORS + color, number)
                if a1 >= 0:
                    wp.atomic_max(f_inout.best, a1 * COLORS + color, number)
        i += threads


@wp.kernel
def accept(turn: int, threads: int, f_inout: Manifolds):
    """Manifolds whose numbers are the greatest for their colour at both ends keep it."""
    i = wp.tid()
    while i < f_inout.totals[0]:
        if f_inout.color[i] == UNCOLORED and f_inout.wish[i] < COLORS:
            a0 = f_inout.end0[i]
            a1 = f_inout.end1[i]
            color = f_inout.wish[i]
            number = number_of(f_inout, i, turn)
            won = int(1)
            if a0 >= 0:
                if f_inout.best[a0 * COLORS + color] != number:
                    won = 0
            if a1 >= 0:
                if f_inout.best[a1 * COLORS + color] != number:
                    won = 0
            if won == 1:
                f_inout.color[i] = color
                bit = wp.int64(1) << wp.int64(color)
                if a0 >= 0:
                    wp.atomic_or(f_inout.mask, a0, bit)
                    wp.atomic_sub(f_inout.degree, a0, 1)
                if a1 >= 0:
                    wp.atomic_or(f_inout.mask, a1, bit)
                    wp.atomic_sub(f_inout.degree, a1, 1)
        i += threads


@wp.kernel
def lower(color: int, threads: int, f_inout: Manifolds):
    """Manifolds of a colour take the first one that is free at both ends; they have no end in common."""
    i = wp.tid()
    while i < f_inout.totals[0]:
        if f_inout.color[i] == color:
            a0 = f_inout.end0[i]
            a1 = f_inout.end1[i]
            mask = wp.int64(0)
            if a0 >= 0:
                mask = mask | f_inout.mask[a0]
            if a1 >= 0:
                mask = mask | f_inout.mask[a1]
            found = nth_free(mask, 0)
            if found < color:
                f_inout.color[i] = found
                turned = (wp.int64(1) << wp.int64(found)) | (wp.int64(1) << wp.int64(color))
                if a0 >= 0:
                    f_inout.mask[a0] = f_inout.mask[a0] ^ turned
                if a1 >= 0:
                    f_inout.mask[a1] = f_inout.mask[a1] ^ turned
        i += threads


@wp.kernel
def list_colors(
    threads: int,
    f_inout: Manifolds,
    # outputs
    key_out: wp.array[wp.int32],
    order_out: wp.array[wp.int32],
):
    """Entries to sort: the colour of each manifold and its number."""
    i = wp.tid()
    while i < f_inout.totals[0]:
        color = f_inout.color[i]
        if color == UNCOLORED:
            color = COLORS
        f_inout.color[i] = color
        key_out[i] = color
        order_out[i] = i
        i += threads


@wp.func
def count_below(key: wp.array[wp.int32], value: int):
    """Entries of a sorted list that are below a value."""
    low = int(0)
    high = key.shape[0]
    while low < high:
        middle = (low + high) // 2
        if key[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@wp.kernel
def find_starts(key: wp.array[wp.int32], start_out: wp.array[wp.int32], f_inout: Manifolds):
    """One colour: where its manifolds start in the sorted list."""
    color = wp.tid()
    at = count_below(key, color)
    start_out[color] = at
    if color > 0 and color <= COLORS:
        if at > count_below(key, color - 1):
            wp.atomic_max(f_inout.totals, 1, color)
    if color == COLORS:
        f_inout.totals[2] = f_inout.totals[0] - at
