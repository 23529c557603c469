"""The sweep of large environments of bodies without joints: all colours of a pass in one launch.

The laws and the order are those of `sweep_parallel`, with the constants of a contact side by side. On the CPU one thread
walks through all manifolds. On CUDA eight threads share a manifold, one for each velocity of its two
bodies; what a contact needs beside velocities is fetched before the barrier in front of its colour, so that behind it only
velocities are read.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    Tables,
)
from tensorphys_dynamics._kernels.coloring import COLORS, Manifolds
from tensorphys_dynamics._kernels.grid_barrier import (
    leave,
    load_vec4,
    load_vec4i,
    sum_of_lanes,
    take_seat,
    wait_for_all,
    wait_for_lanes,
)
from tensorphys_dynamics._kernels.heads import Heads
from tensorphys_dynamics._kernels.newton import NewtonData
from tensorphys_dynamics._kernels.sweep import friction
from tensorphys_dynamics._kernels.sweep_parallel import (
    SOLVE,
    SUDDEN,
    SUDDEN_FALL,
    Visit,
    load_end,
    make_visit,
    pushed,
    rebound_manifold,
    store_end,
    velocity_of,
)
from tensorphys_dynamics._kernels.thresholds import LEAK, PUSH, SOFT

wp.set_module_options({"enable_backward": False})

LANES = wp.constant(8)
BLOCK = wp.constant(512)
# The last warp of a block waits at barriers alone, so that it need not wait for what others fetch.
WORKERS = wp.constant(480)
PACKED = wp.constant(4)
"""Quadruples of constants a contact, see `pack_contacts`."""


@wp.struct
class Item:
    """A manifold as one of its eight threads sees it."""

    there: wp.int32
    fetched: wp.int32  # whether its first contacts were read before the barrier
    slots: wp.vec4i
    index0: wp.int32  # velocities of both ends that this thread cares for, −1 for none
    index1: wp.int32
    gravity: wp.float32


@wp.struct
class LaneContact:
    """A contact as one thread of its manifold sees it."""

    y0: wp.vec3
    y1: wp.vec3
    inverse: wp.vec4
    coupling: wp.vec4
    aim: wp.vec4
    rub: wp.vec4
    impulse: wp.vec3


@wp.struct
class Progress:
    """Velocities of this thread while the contacts of a manifold are solved, and how much changed.

    `speed` is by how much impulses changed beyond what a sudden change of the speed takes.
    """

    u0: wp.float32
    u1: wp.float32
    change: wp.float32
    largest: wp.float32
    speed: wp.float32


@wp.func
def pack_contact(m: ModelData, k: ContactData, r: ContactRows, d: Heads, slot: int, h: float, biased: int):
    """Write constants of the solves of a contact."""
    gap = float(r.separation[slot])
    inverse = r.inverse[slot]
    target = float(0.0)
    leak = float(0.0)
    if biased == 1:
        target = -gap / h
        if gap <= 0.0:
            target = wp.min(-PUSH * gap / h, r.push[slot])
            leak = LEAK * h * wp.length(m.gravity[k.environment[slot]]) * inverse[0]
        gap = 0.0
    elif r.bounce[slot] > 0.0:
        target = r.bounce[slot]
        gap = 0.0
    if r.yields[slot] > 0:
        target = r.rest_speed[slot]
        leak = 0.0
        gap = 0.0
    coupling = r.coupling[slot]
    moved = r.prescribed[slot]
    at = PACKED * slot
    d.packed[at] = inverse
    d.packed[at + 1] = wp.vec4(coupling[0], coupling[1], coupling[2], r.compliance[slot])
    d.packed[at + 2] = wp.vec4(moved[0], moved[1], moved[2], target)
    d.packed[at + 3] = wp.vec4(k.static_friction[slot], k.dynamic_friction[slot], leak, gap)


@wp.kernel
def pack_contacts(
    m: ModelData,
    k: ContactData,
    r: ContactRows,
    f: Manifolds,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    biased: wp.int32,
    threads: wp.int32,
    # outputs
    heads_out: Heads,
):
    """Constants of contacts that take part, for passes with or without bias; four threads share a manifold.

    The inverse inertia; its couplings and the compliance; the prescribed velocity and the speed asked for; friction, the
    bound of what decays, and the gap that has to be closed first.
    """
    i = wp.tid()
    h = time_step[0] / float(substeps)
    while i < 4 * f.totals[3]:
        slots = heads_out.slots[i // 4]
        slot = slots[0] + i % 4
        while slot < slots[1]:
            pack_contact(m, k, r, heads_out, slot, h, biased)
            slot += 4
        i += threads


@wp.func
def load_item(t: Tables, m: ModelData, d: Heads, place: int, end: int, lane: int):
    """Head of the manifold at a place, none from the end of its colour on."""
    item = Item()
    item.index0 = int(-1)
    item.index1 = int(-1)
    if place < end:
        item.there = 1
        item.slots = load_vec4i(d.slots, place)
        end0 = load_vec4i(d.end0, place)
        end1 = load_vec4i(d.end1, place)
        item.gravity = wp.length(m.gravity[end0[3]])
        if lane < end0[2]:
            item.index0 = end0[0] + t.chain[end0[1] + lane]
        if lane < end1[2]:
            item.index1 = end1[0] + t.chain[end1[1] + lane]
    return item


@wp.func
def load_contact(r: ContactRows, d: Heads, item: Item, offset: int, lane: int):
    """One contact of a manifold; one without effect behind the last."""
    c = LaneContact()
    slot = item.slots[0] + offset
    if item.fetched == 1 and slot < item.slots[1]:
        if item.index0 >= 0:
            c.y0 = r.y[2 * slot, lane]
        if item.index1 >= 0:
            c.y1 = r.y[2 * slot + 1, lane]
        at = PACKED * slot
        c.inverse = load_vec4(d.packed, at)
        c.coupling = load_vec4(d.packed, at + 1)
        c.aim = load_vec4(d.packed, at + 2)
        c.rub = load_vec4(d.packed, at + 3)
        c.impulse = r.impulse[slot]
    return c


@wp.func
def solved_impulse(c: LaneContact, v: wp.vec3, biased: int):
    """What `sweep.next_impulse` does, from packed constants."""
    old = c.impulse
    target = c.aim[3]
    if biased == 0 and c.rub[3] > 0.0 and old[0] == 0.0:
        target = -1.0e30
    rigid = old[0] - (v[0] - target + c.coupling[3] * old[0]) * c.inverse[0]
    normal = wp.max(0.0, rigid - wp.min(SOFT * rigid, c.rub[2]))
    coupling = wp.vec3(c.coupling[0], c.coupling[1], c.coupling[2])
    rubbed = friction(old, v, normal - old[0], c.inverse, coupling, normal, c.rub[0], c.rub[1])
    return wp.vec3(normal, rubbed[0], rubbed[1])


@wp.func
def solve_lane(r: ContactRows, c: LaneContact, p: Progress, item: Item, offset: int, lane: int, v: Visit):
    """Solve one contact of a manifold, or apply what it starts with."""
    n = Progress()
    n.u0 = p.u0
    n.u1 = p.u1
    n.change = p.change
    n.largest = p.largest
    n.speed = p.speed
    slot = item.slots[0] + offset
    if slot < item.slots[1]:
        push = c.impulse
        if v.kind == SOLVE:
            moving = sum_of_lanes(c.y0 * p.u0 + c.y1 * p.u1) + wp.vec3(c.aim[0], c.aim[1], c.aim[2])
            after = solved_impulse(c, moving, v.biased)
            if lane == 0:
                r.impulse[slot] = after
            push = after - c.impulse
            moved = wp.abs(push[0])
            n.change = wp.max(p.change, moved)
            n.largest = wp.max(p.largest, after[0])
            n.speed = wp.max(p.speed, moved - SUDDEN_FALL * (v.h * item.gravity) * c.inverse[0])
        n.u0 = p.u0 + wp.dot(c.y0, push)
        n.u1 = p.u1 + wp.dot(c.y1, push)
    return n


@wp.func
def note_sudden(f: Manifolds, item: Item, p: Progress, v: Visit):
    """Have the contacts of both bodies solved again where an impulse changed suddenly."""
    if p.change > SUDDEN * p.largest and p.speed > 0.0:
        f.flags[0] = v.turn + 1
        if item.slots[2] >= 0:
            f.stamp[item.slots[2]] = v.turn + 1
        if item.slots[3] >= 0:
            f.stamp[item.slots[3]] = v.turn + 1


@wp.func
def is_due(f: Manifolds, item: Item, v: Visit):
    """Whether a manifold is to be solved in this turn; bodies are marked by the colours before."""
    stamp = int(0)
    if item.there == 1 and v.again == 1:
        if item.slots[2] >= 0:
            stamp = f.stamp[item.slots[2]]
        if item.slots[3] >= 0:
            stamp = wp.max(stamp, f.stamp[item.slots[3]])
    due = int(0)
    if item.there == 1 and (v.again == 0 or stamp >= v.turn):
        due = 1
    return due


@wp.func
def start_item(w: Scratch, item: Item):
    """Velocities before a manifold is solved."""
    p = Progress()
    if item.index0 >= 0:
        p.u0 = w.u[item.index0]
    if item.index1 >= 0:
        p.u1 = w.u[item.index1]
    return p


@wp.func
def finish_item(w: Scratch, f: Manifolds, item: Item, p: Progress, lane: int, v: Visit):
    """Velocities after it."""
    if item.index0 >= 0:
        w.u[item.index0] = p.u0
    if item.index1 >= 0:
        w.u[item.index1] = p.u1
    if lane == 0:
        note_sudden(f, item, p, v)
    wait_for_lanes()


@wp.func
def solve_from(
    t: Tables,
    m: ModelData,
    w: Scratch,
    r: ContactRows,
    f: Manifolds,
    d: Heads,
    first: int,
    end: int,
    stride: int,
    lane: int,
    v: Visit,
):
    """Manifolds of a colour from one on, nothing fetched before."""
    place = first
    while place < end:
        item = load_item(t, m, d, place, end, lane)
        if is_due(f, item, v) == 1:
            item.fetched = 1
            p = start_item(w, item)
            for offset in range(item.slots[1] - item.slots[0]):
                p = solve_lane(r, load_contact(r, d, item, offset, lane), p, item, offset, lane, v)
            finish_item(w, f, item, p, lane, v)
        place += stride


@wp.func
def turn_of(turn: int, first_turn: int, passes: int, visit: Visit):
    """What visits of a turn have in common."""
    v = Visit()
    v.kind = visit.kind
    v.biased = visit.biased
    v.threshold = visit.threshold
    v.h = visit.h
    v.turn = first_turn + turn
    v.again = wp.where(turn < passes, 0, 1)
    return v


@wp.func
def solve_alone(
    t: Tables, m: ModelData, w: Scratch, r: ContactRows, f: Manifolds, d: Heads, place: int, v: Visit
):
    """What eight threads do for a manifold, by one."""
    item = Item()
    item.there = 1
    item.slots = d.slots[place]
    if is_due(f, item, v) == 1:
        end0 = d.end0[place]
        end1 = d.end1[place]
        item.gravity = wp.length(m.gravity[end0[3]])
        u0 = load_end(t, w, end0)
        u1 = load_end(t, w, end1)
        n = Progress()
        for slot in range(item.slots[0], item.slots[1]):
            c = LaneContact()
            at = PACKED * slot
            c.inverse = d.packed[at]
            c.impulse = r.impulse[slot]
            push = c.impulse
            if v.kind == SOLVE:
                c.coupling = d.packed[at + 1]
                c.aim = d.packed[at + 2]
                c.rub = d.packed[at + 3]
                moving = wp.vec3(c.aim[0], c.aim[1], c.aim[2]) + velocity_of(r, 2 * slot, end0[2], u0)
                moving += velocity_of(r, 2 * slot + 1, end1[2], u1)
                after = solved_impulse(c, moving, v.biased)
                r.impulse[slot] = after
                push = after - c.impulse
                moved = wp.abs(push[0])
                n.change = wp.max(n.change, moved)
                n.largest = wp.max(n.largest, after[0])
                n.speed = wp.max(n.speed, moved - SUDDEN_FALL * (v.h * item.gravity) * c.inverse[0])
            u0 = pushed(r, 2 * slot, end0[2], u0, push)
            u1 = pushed(r, 2 * slot + 1, end1[2], u1, push)
        store_end(t, w, end0, u0)
        store_end(t, w, end1, u1)
        note_sudden(f, item, n, v)


@wp.kernel
def sweep_alone(
    t: Tables,
    m: ModelData,
    f: Manifolds,
    d: Heads,
    bounce_threshold: wp.array[wp.float32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    kind: wp.int32,
    first_turn: wp.int32,
    passes: wp.int32,
    turns: wp.int32,
    biased: wp.int32,
    # outputs
    w: Scratch,
    r: ContactRows,
):
    """What `sweep_bodies` does, by one thread: all manifolds in the order of their colours."""
    visit = make_visit(kind, first_turn, 0, biased, bounce_threshold, time_step, substeps)
    for turn in range(turns):
        v = turn_of(turn, first_turn, passes, visit)
        if v.again == 0 or f.flags[0] >= v.turn:
            for place in range(f.totals[3]):
                solve_alone(t, m, w, r, f, d, place, v)


@wp.func
def solve_item(
    w: Scratch,
    r: ContactRows,
    f: Manifolds,
    d: Heads,
    item: Item,
    c0: LaneContact,
    c1: LaneContact,
    lane: int,
    v: Visit,
):
    """One manifold, its first two contacts already read."""
    p = start_item(w, item)
    p = solve_lane(r, c0, p, item, 0, lane, v)
    p = solve_lane(r, c1, p, item, 1, lane, v)
    for offset in range(2, item.slots[1] - item.slots[0]):
        p = solve_lane(r, load_contact(r, d, item, offset, lane), p, item, offset, lane, v)
    finish_item(w, f, item, p, lane, v)


@wp.func
def ahead_of(start: wp.array[wp.int32], color: int, colors: int):
    """Where a colour starts, or the last one ends."""
    return start[wp.min(color, colors)]


@wp.func
def sweep_turn(
    t: Tables,
    m: ModelData,
    w: Scratch,
    r: ContactRows,
    f: Manifolds,
    d: Heads,
    start: wp.array[wp.int32],
    barrier: wp.array[wp.int32],
    barriers_before: int,
    seats: int,
    group: int,
    lane: int,
    v: Visit,
):
    """All colours once; returns the barriers so far.

    While a colour is solved, where the next one starts and ends is known, and its heads and contacts are on their way.
    """
    barriers = int(barriers_before)
    groups = seats * (WORKERS // LANES)
    colors = f.totals[1]
    here = start[0]
    behind = start[1]
    ahead = ahead_of(start, 2, colors)
    item = load_item(t, m, d, here + group, behind, lane)
    item.fetched = is_due(f, item, v)
    c0 = load_contact(r, d, item, 0, lane)
    c1 = load_contact(r, d, item, 1, lane)
    for color in range(colors):
        next_item = load_item(t, m, d, behind + group, ahead, lane)
        next_ahead = ahead_of(start, color + 3, colors)
        if color > 0:
            barriers += 1
            wait_for_all(barrier, barriers * seats)
        due = is_due(f, item, v)
        if due == 1 and item.fetched == 0:
            # its bodies were marked meanwhile
            item.fetched = 1
            c0 = load_contact(r, d, item, 0, lane)
            c1 = load_contact(r, d, item, 1, lane)
        if due == 1:
            solve_item(w, r, f, d, item, c0, c1, lane, v)
        solve_from(t, m, w, r, f, d, here + group + groups, behind, groups, lane, v)
        here = behind
        behind = ahead
        ahead = next_ahead
        item = next_item
        # a mark that is seen now holds; one that is not may come before the barrier
        item.fetched = is_due(f, item, v)
        c0 = load_contact(r, d, item, 0, lane)
        c1 = load_contact(r, d, item, 1, lane)
    return barriers


@wp.kernel(launch_bounds=512)
def sweep_bodies(
    t: Tables,
    m: ModelData,
    f: Manifolds,
    d: Heads,
    start: wp.array[wp.int32],
    bounce_threshold: wp.array[wp.float32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    kind: wp.int32,
    first_turn: wp.int32,
    passes: wp.int32,
    turns: wp.int32,
    biased: wp.int32,
    # outputs
    barrier_inout: wp.array[wp.int32],
    w: Scratch,
    r: ContactRows,
):
    """Passes over all manifolds: `turns` of them, those behind the first `passes` where impulses changed suddenly."""
    thread = wp.tid() % BLOCK
    if passes == 0 and f.flags[0] < first_turn:
        return
    seat = take_seat(barrier_inout)
    if seat[0] >= 0:
        lane = thread % LANES
        group = (seat[0] * WORKERS + thread) // LANES
        if thread >= WORKERS:
            group = start[COLORS + 1]  # behind all manifolds
        visit = make_visit(kind, first_turn, 0, biased, bounce_threshold, time_step, substeps)
        loose = start[COLORS]
        end = start[COLORS + 1]
        barriers = int(0)
        turn = int(0)
        while turn < turns:
            v = turn_of(turn, first_turn, passes, visit)
            if v.again == 1 and f.flags[0] < v.turn:
                turn = turns
            else:
                barriers = sweep_turn(
                    t, m, w, r, f, d, start, barrier_inout, barriers, seat[1], group, lane, v
                )
                if end > loose:
                    # manifolds without a colour, one after the other
                    barriers += 1
                    wait_for_all(barrier_inout, barriers * seat[1])
                    if group == 0:
                        solve_from(t, m, w, r, f, d, loose, end, 1, lane, v)
                if turn + 1 < turns:
                    # the next turn looks whether it is needed
                    barriers += 1
                    wait_for_all(barrier_inout, barriers * seat[1])
            turn += 1
    leave(barrier_inout)


@wp.kernel(launch_bounds=512)
def rebound_bodies(
    t: Tables,
    k: ContactData,
    f: Manifolds,
    start: wp.array[wp.int32],
    order: wp.array[wp.int32],
    bounce_threshold: wp.array[wp.float32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    rounds: wp.int32,
    # outputs
    barrier_inout: wp.array[wp.int32],
    w: Scratch,
    r: ContactRows,
    x: NewtonData,
):
    """Rebounds of all pairs, colour by colour; nothing where no contact rebounds."""
    thread = wp.tid()
    if f.flags[1] == 0:
        return
    seat = take_seat(barrier_inout)
    if seat[0] >= 0:
        v = make_visit(0, 0, 0, 1, bounce_threshold, time_step, substeps)
        first = seat[0] * BLOCK + thread % BLOCK
        barriers = int(0)
        for attempt in range(rounds):
            for color in range(f.totals[1]):
                place = start[color] + first
                while place < start[color + 1]:
                    i = order[place]
                    rebound_manifold(t, w, k, r, x, f.first[i], f.last[i], v)
                    place += seat[1] * BLOCK
                barriers += 1
                wait_for_all(barrier_inout, barriers * seat[1])
            if start[COLORS + 1] > start[COLORS]:
                if first == 0:
                    for place in range(start[COLORS], start[COLORS + 1]):
                        i = order[place]
                        rebound_manifold(t, w, k, r, x, f.first[i], f.last[i], v)
                barriers += 1
                wait_for_all(barrier_inout, barriers * seat[1])
    leave(barrier_inout)
