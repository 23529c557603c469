"""The sweep of large environments of bodies without joints on CUDA: a pass without barriers.

The laws and the order are those of `sweep_grid`. There, all manifolds of a colour wait for the slowest of the colour
before; here each waits for the manifolds that its own two bodies are in, by the versions of their velocities: how many
manifolds of the body this pass has solved. So a pass takes as long as its longest chain of manifolds, one after the
other, each handed on by one write and one read. Eight threads share a manifold; constants are fetched
before it is waited for.
"""

import functools
from typing import Any

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactRows, ModelData, Scratch, Tables
from tensorphys_dynamics._kernels.body_words import (
    MARK,
    WORDS,
    all_of_lanes,
    any_of_warp,
    bits_of_float,
    float_of_bits,
    from_lane,
    load_word,
    store_word,
    take_place,
)
from tensorphys_dynamics._kernels.coloring import Manifolds
from tensorphys_dynamics._kernels.grid_barrier import leave, load_vec4i
from tensorphys_dynamics._kernels.heads import Heads
from tensorphys_dynamics._kernels.rows import moving_end
from tensorphys_dynamics._kernels.sweep_grid import (
    LANES,
    Item,
    LaneContact,
    Progress,
    load_contact,
    solve_lane,
)
from tensorphys_dynamics._kernels.sweep_parallel import SUDDEN, Visit, make_visit

wp.set_module_options({"enable_backward": False})

FLOW_BLOCK = 384
FETCHED = 4
# A version is that of a pass in its upper bits, and how many manifolds were solved in the lower ones.
RANK_BITS = wp.constant(21)
TAGS = wp.constant(1023)


@wp.struct
class Wait:
    """What a manifold waits for, as one of its eight threads sees it."""

    at0: wp.int32  # words of both ends that this thread cares for, −1 for none
    at1: wp.int32
    rank0: wp.int32
    rank1: wp.int32


@wp.struct
class Found:
    """Words of both ends."""

    word0: wp.vec2i
    word1: wp.vec2i


@wp.func
def words_of(t: Tables, f: Manifolds, w: Scratch, node: int):
    """(velocity start, entry start in the chain table, length, articulation) of a node's body."""
    return moving_end(t, w, t.articulation_link[f.articulation[node]])


@wp.kernel
def load_bodies(t: Tables, w: Scratch, f: Manifolds, words_out: wp.array[wp.int64]):
    """One word: velocities and marks before the passes of a substep."""
    i = wp.tid()
    node = i // WORDS
    lane = i - WORDS * node
    bits = int(0)
    if lane == MARK:
        bits = f.stamp[node]
    else:
        end = words_of(t, f, w, node)
        if lane < end[2]:
            bits = bits_of_float(w.u[end[0] + t.chain[end[1] + lane]])
    store_word(words_out, i, bits, 0)


@wp.kernel
def unload_bodies(t: Tables, words: wp.array[wp.int64], w: Scratch, f: Manifolds):
    """One word: back to where everything else reads velocities and marks."""
    i = wp.tid()
    node = i // WORDS
    lane = i - WORDS * node
    value = load_word(words, i)[0]
    if lane == MARK:
        f.stamp[node] = value
    else:
        end = words_of(t, f, w, node)
        if lane < end[2]:
            w.u[end[0] + t.chain[end[1] + lane]] = float_of_bits(value)


@wp.func
def place_of_words(node: int, lane: int):
    """Word of a node for one of eight threads."""
    at = int(-1)
    if node >= 0 and lane <= MARK:
        at = WORDS * node + lane
    return at


@wp.func
def load_head(m: ModelData, d: Heads, place: int, end: int, lane: int):
    """Head of the manifold at a place, none from the end on, and what it waits for."""
    item = Item()
    wait = Wait()
    item.index0 = int(-1)
    item.index1 = int(-1)
    wait.at0 = int(-1)
    wait.at1 = int(-1)
    if place < end:
        item.there = 1
        item.slots = load_vec4i(d.slots, place)
        turns = load_vec4i(d.turns, place)
        item.gravity = wp.length(m.gravity[turns[3]])
        if lane < turns[2] % 256:
            item.index0 = lane
        if lane < turns[2] // 256:
            item.index1 = lane
        wait.at0 = place_of_words(item.slots[2], lane)
        wait.at1 = place_of_words(item.slots[3], lane)
        wait.rank0 = turns[0]
        wait.rank1 = turns[1]
    return item, wait


@wp.func
def load_found(words: wp.array[wp.int64], wait: Wait):
    """Words of both ends as they stand."""
    found = Found()
    if wait.at0 >= 0:
        found.word0 = load_word(words, wait.at0)
    if wait.at1 >= 0:
        found.word1 = load_word(words, wait.at1)
    return found


@wp.func
def is_turn(at: int, rank: int, version: int, tag: int):
    """Whether a word is the one that was waited for; the first manifold of a body takes what there is."""
    return at < 0 or rank == 0 or version == tag + rank


@wp.func
def is_marked(found: Found, v: Visit):
    """Whether a manifold is to be solved in this turn, by the marks of its bodies."""
    due = int(1)
    if v.again == 1:
        marked = wp.max(from_lane(found.word0[0], MARK), from_lane(found.word1[0], MARK))
        if marked < v.turn:
            due = int(0)
    return due


@wp.func
def hand_on(
    words: wp.array[wp.int64],
    f: Manifolds,
    wait: Wait,
    found: Found,
    item: Item,
    p: Progress,
    solved: int,
    lane: int,
    tag: int,
    v: Visit,
):
    """Write both ends for the manifolds behind, and mark them where an impulse changed suddenly."""
    value0 = found.word0[0]
    value1 = found.word1[0]
    if solved == 1 and lane != MARK:
        value0 = bits_of_float(p.u0)
        value1 = bits_of_float(p.u1)
    if solved == 1 and p.change > SUDDEN * p.largest and p.speed > 0.0:
        if lane == MARK:
            value0 = v.turn + 1
            value1 = v.turn + 1
            f.flags[0] = v.turn + 1
    if wait.at0 >= 0:
        store_word(words, wait.at0, value0, tag + wait.rank0 + 1)
    if wait.at1 >= 0:
        store_word(words, wait.at1, value1, tag + wait.rank1 + 1)


@wp.func
def start_from(item: Item, found: Found):
    """Velocities before a manifold is solved."""
    p = Progress()
    if item.index0 >= 0:
        p.u0 = float_of_bits(found.word0[0])
    if item.index1 >= 0:
        p.u1 = float_of_bits(found.word1[0])
    return p


@wp.func
def solve_late(r: ContactRows, d: Heads, given: Item, found: Found, lane: int, v: Visit):
    """One manifold whose bodies were marked while it waited."""
    item = Item()
    item.there = 1
    item.fetched = 1
    item.slots = given.slots
    item.index0 = given.index0
    item.index1 = given.index1
    item.gravity = given.gravity
    p = start_from(item, found)
    for offset in range(item.slots[1] - item.slots[0]):
        p = solve_lane(r, load_contact(r, d, item, offset, lane), p, item, offset, lane, v)
    return p


@functools.cache
def flow_kernel(fetched: int, block: int) -> Any:
    """The kernel of one pass.

    Args:
        fetched: Contacts of a manifold that are read before it is waited for, 1 to 4: they take 25 registers each.
        block: Threads of a block, which bound the registers of each.
    """

    @wp.func
    def solve_fetched(
        r: ContactRows,
        d: Heads,
        item: Item,
        found: Found,
        c0: LaneContact,
        c1: LaneContact,
        c2: LaneContact,
        c3: LaneContact,
        lane: int,
        v: Visit,
    ):
        p = start_from(item, found)
        p = solve_lane(r, c0, p, item, 0, lane, v)
        if wp.static(fetched > 1):
            p = solve_lane(r, c1, p, item, 1, lane, v)
        if wp.static(fetched > 2):
            p = solve_lane(r, c2, p, item, 2, lane, v)
        if wp.static(fetched > 3):
            p = solve_lane(r, c3, p, item, 3, lane, v)
        for offset in range(fetched, item.slots[1] - item.slots[0]):
            p = solve_lane(r, load_contact(r, d, item, offset, lane), p, item, offset, lane, v)
        return p

    @wp.func
    def run_item(
        f: Manifolds,
        d: Heads,
        words: wp.array[wp.int64],
        r: ContactRows,
        item: Item,
        wait: Wait,
        lane: int,
        tag: int,
        v: Visit,
    ):
        # Fetch a manifold, wait until both of its bodies are there, and solve it if it is due. The four manifolds of a warp are
        # looked after in turn, so that one may wait for another one of the same warp.
        c0 = load_contact(r, d, item, 0, lane)
        c1 = LaneContact()
        c2 = LaneContact()
        c3 = LaneContact()
        if wp.static(fetched > 1):
            c1 = load_contact(r, d, item, 1, lane)
        if wp.static(fetched > 2):
            c2 = load_contact(r, d, item, 2, lane)
        if wp.static(fetched > 3):
            c3 = load_contact(r, d, item, 3, lane)
        pending = int(item.there)
        while any_of_warp(pending) == 1:
            if pending == 1:
                found = load_found(words, wait)
                fits = int(0)
                if is_turn(wait.at0, wait.rank0, found.word0[1], tag):
                    if is_turn(wait.at1, wait.rank1, found.word1[1], tag):
                        fits = 1
                if all_of_lanes(fits) == 1:
                    pending = int(0)
                    p = Progress()
                    due = is_marked(found, v)
                    if due == 1 and item.fetched == 1:
                        p = solve_fetched(r, d, item, found, c0, c1, c2, c3, lane, v)
                    elif due == 1:
                        p = solve_late(r, d, item, found, lane, v)
                    hand_on(words, f, wait, found, item, p, due, lane, tag, v)

    def flow_bodies(
        m: ModelData,
        f: Manifolds,
        d: Heads,
        bounce_threshold: wp.array[wp.float32],
        time_step: wp.array[wp.float32],
        substeps: wp.int32,
        kind: wp.int32,
        turn: wp.int32,
        again: wp.int32,
        biased: wp.int32,
        # outputs
        state_inout: wp.array[wp.int32],
        words_inout: wp.array[wp.int64],
        r: ContactRows,
    ):
        lane = wp.tid() % LANES
        if again == 1 and f.flags[0] < turn:
            return
        v = make_visit(kind, turn, again, biased, bounce_threshold, time_step, substeps)
        tag = (turn % TAGS + 1) << RANK_BITS
        end = f.totals[3]
        item, wait = load_head(m, d, take_place(state_inout), end, lane)
        while any_of_warp(item.there) == 1:
            next_item, next_wait = load_head(m, d, take_place(state_inout), end, lane)
            if item.there == 1:
                # a mark that is seen now holds; one that is not may come
                item.fetched = is_marked(load_found(words_inout, wait), v)
            run_item(f, d, words_inout, r, item, wait, lane, tag, v)
            item = next_item
            wait = next_wait
        leave(state_inout)

    options = {"module": "unique", "enable_backward": False, "launch_bounds": block}
    return wp.kernel(flow_bodies, **options)
