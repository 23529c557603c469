"""Which manifolds of large environments may be touched in a substep; the others are left out of its passes.

Contacts are found once a step, within what bodies can cover in it. In one of its substeps few of them can be reached: in a
pile that falls one in five. A manifold takes part if it carries an impulse or if its gap is at most what both of its bodies
cover in the substep, each at twice its own speed or that of a body that may push it. What is missed, as where a push is
passed on through several bodies at once, is a penetration of less than the way of one substep, and takes part in the next.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.coloring import COLORS, Manifolds
from tensorphys_dynamics._kernels.heads import Heads, write_head
from tensorphys_dynamics._kernels.rows import end_velocity

wp.set_module_options({"enable_backward": False})

# How much faster than before bodies may be after the passes of a substep.
FASTER = wp.constant(2.0)


@wp.func
def is_near(pace: wp.vec4, speed0: float, speed1: float, h: float):
    """Whether a manifold may be touched in a substep, at these speeds of its ends or faster ones of its own."""
    speed = wp.max(pace[0], speed0) + wp.max(pace[1], speed1)
    return pace[3] > 0.0 or pace[2] < FASTER * h * speed


@wp.kernel
def clear_nodes(f_inout: Manifolds):
    """One node: nothing near, no manifold in this substep."""
    node = wp.tid()
    f_inout.push[node] = 0.0
    f_inout.active[node] = wp.int64(0)


@wp.kernel
def pace_manifolds(
    t: Tables,
    m: ModelData,
    s: StateData,
    k: ContactData,
    w: Scratch,
    r: ContactRows,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    threads: wp.int32,
    # outputs
    f: Manifolds,
):
    """Free speeds of both ends of each manifold, its least gap beyond a fall, and whether it carries an impulse."""
    i = wp.tid()
    h = time_step[0] / float(substeps)
    while i < f.totals[0]:
        first = f.first[i]
        fall = FASTER * h * h * wp.length(m.gravity[k.environment[first]])
        pace = wp.vec4(0.0, 0.0, 1.0e30, 0.0)
        for slot in range(first, f.last[i]):
            v0 = end_velocity(t, s, w, r, 2 * slot, k.body0[slot], w.free_velocity)
            v1 = end_velocity(t, s, w, r, 2 * slot + 1, k.body1[slot], w.free_velocity)
            pace[0] = wp.max(pace[0], wp.length(v0))
            pace[1] = wp.max(pace[1], wp.length(v1))
            pace[2] = wp.min(pace[2], r.separation[slot] - fall)
            if r.impulse[slot][0] > 0.0:
                pace[3] = 1.0
        f.pace[i] = pace
        if is_near(pace, 0.0, 0.0, h):
            if f.end0[i] >= 0:
                wp.atomic_max(f.push, f.end0[i], pace[1])
            if f.end1[i] >= 0:
                wp.atomic_max(f.push, f.end1[i], pace[0])
        i += threads


@wp.kernel
def mark_active(
    order: wp.array[wp.int32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    threads: wp.int32,
    # outputs
    f: Manifolds,
    r: ContactRows,
):
    """One place in the order of colours: 1 if its manifold takes part in this substep; others have no rows."""
    place = wp.tid()
    h = time_step[0] / float(substeps)
    while place < f.totals[0]:
        i = order[place]
        node0 = f.end0[i]
        node1 = f.end1[i]
        push0 = float(0.0)
        push1 = float(0.0)
        if node0 >= 0:
            push0 = f.push[node0]
        if node1 >= 0:
            push1 = f.push[node1]
        part = int(0)
        if is_near(f.pace[i], push0, push1, h):
            part = 1
            if f.color[i] < COLORS:
                bit = wp.int64(1) << wp.int64(f.color[i])
                if node0 >= 0:
                    wp.atomic_or(f.active, node0, bit)
                if node1 >= 0:
                    wp.atomic_or(f.active, node1, bit)
        f.part[place] = part
        for slot in range(f.first[i], f.last[i]):
            r.left_out[slot] = 1 - part
        place += threads


@wp.func
def parts_before(f: Manifolds, place: int):
    """Manifolds in front of a place that take part."""
    count = int(0)
    if place > 0:
        count = f.parts[place - 1]
    return count


@wp.func
def bits_of(mask: wp.int64):
    """How many bits are set."""
    count = int(0)
    left = mask
    while left != wp.int64(0):
        left = left & (left - wp.int64(1))
        count += 1
    return count


@wp.func
def rank_at(f: Manifolds, order: wp.array[wp.int32], start: wp.array[wp.int32], place: int, node: int):
    """How many manifolds of a node are solved before the one at a place, in each pass."""
    rank = int(0)
    if node >= 0:
        color = f.color[order[place]]
        mask = f.active[node]
        if color < COLORS:
            mask = mask & ((wp.int64(1) << wp.int64(color)) - wp.int64(1))
        else:
            for other in range(start[COLORS], place):
                i = order[other]
                if f.part[other] == 1 and (f.end0[i] == node or f.end1[i] == node):
                    rank += 1
        rank += bits_of(mask)
    return rank


@wp.kernel
def list_active(
    t: Tables,
    k: ContactData,
    w: Scratch,
    order: wp.array[wp.int32],
    start: wp.array[wp.int32],
    threads: wp.int32,
    # outputs
    f: Manifolds,
    heads_out: Heads,
    order_out: wp.array[wp.int32],
    start_out: wp.array[wp.int32],
):
    """Manifolds that take part, in the order of colours, and where each colour starts among them."""
    place = wp.tid()
    total = f.totals[0]
    if place <= COLORS + 1:
        start_out[place] = parts_before(f, wp.min(start[place], total))
    if place == 0:
        f.totals[3] = parts_before(f, total)
    while place < total:
        if f.part[place] == 1:
            i = order[place]
            at = parts_before(f, place)
            order_out[at] = i
            if heads_out.slots.shape[0] > 0:
                rank0 = rank_at(f, order, start, place, f.end0[i])
                rank1 = rank_at(f, order, start, place, f.end1[i])
                write_head(t, k, w, f, i, at, rank0, rank1, heads_out)
        place += threads
