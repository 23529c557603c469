"""Rebound of bodies that hit each other, a pair at a time before the contacts are solved [Guendelman et al. 2003].

What the first pair hands on, the next pair rebounds from: a row of steel balls passes its momentum to the last one. The
points of one pair are hit together, or a box that falls flat would turn. The impulse of a pair never adds energy.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import UNBOUNDED_IMPULSE, ContactData, ContactRows, Scratch, Tables
from tensorphys_dynamics._kernels.newton import NewtonData, row_velocity
from tensorphys_dynamics._kernels.thresholds import OUTSIDE

wp.set_module_options({"enable_backward": False})

ROUNDS = wp.constant(16)
PASSES = wp.constant(20)  # over the points of one pair
FRICTION_PASSES = wp.constant(4)


@wp.func
def push_pair(t: Tables, w: Scratch, r: ContactRows, slot: int, impulse: wp.vec3):
    """u ← u + Y λ."""
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            i = tables[0] + t.chain[tables[1] + p]
            w.u[i] = w.u[i] + wp.dot(r.y[2 * slot + end, p], impulse)


@wp.func
def find_hits(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    x: NewtonData,
    first: int,
    last: int,
    h: float,
    threshold: float,
):
    """Speeds that the points of a pair shall leave with; returns how many are hit."""
    hits = int(0)
    for slot in range(first, last):
        x.start[slot] = wp.vec3(0.0, 0.0, 0.0)
        x.target[slot] = 0.0
        v = row_velocity(t, w, r, slot)[0]
        free = k.restitution[slot] > 0.0 and r.most[slot] == UNBOUNDED_IMPULSE
        if free and v < -threshold and r.separation[slot] + h * v < 0.0:
            x.target[slot] = -k.restitution[slot] * v
            hits += 1
    return hits


@wp.func
def rebound(t: Tables, w: Scratch, k: ContactData, r: ContactRows, x: NewtonData, first: int, last: int):
    """Impulses of the points of a pair: along the normals until they agree, then friction against what slides."""
    for attempt in range(PASSES):
        for slot in range(first, last):
            if x.target[slot] > 0.0:
                old = x.start[slot]
                error = x.target[slot] - row_velocity(t, w, r, slot)[0]
                normal = wp.max(0.0, old[0] + error * r.inverse[slot][0])
                x.start[slot] = wp.vec3(normal, 0.0, 0.0)
                push_pair(t, w, r, slot, x.start[slot] - old)
    for attempt in range(FRICTION_PASSES):
        for slot in range(first, last):
            old = x.start[slot]
            if old[0] > 0.0:
                v = row_velocity(t, w, r, slot)
                inverse = r.inverse[slot]
                p = old[1] - (inverse[1] * v[1] + inverse[2] * v[2])
                q = old[2] - (inverse[2] * v[1] + inverse[3] * v[2])
                size = wp.sqrt(p * p + q * q)
                if size > k.static_friction[slot] * old[0]:
                    bound = k.dynamic_friction[slot] * old[0] / size
                    p = p * bound
                    q = q * bound
                x.start[slot] = wp.vec3(old[0], p, q)
                push_pair(t, w, r, slot, x.start[slot] - old)


@wp.func
def collide_pairs(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    x: NewtonData,
    environment: int,
    h: float,
    threshold: float,
):
    """Let all pairs rebound that close faster than the threshold and touch in this substep.

    Args:
        threshold: Least approach speed of a rebound.
    """
    start = k.slot_start[environment]
    end = start + k.count[environment]
    for attempt in range(ROUNDS):
        pairs = int(0)
        first = start
        while first < end:
            last = first + 1
            while last < end:
                if k.body0[last] != k.body0[first] or k.body1[last] != k.body1[first]:
                    break
                last += 1
            if find_hits(t, w, k, r, x, first, last, h, threshold) > 0:
                rebound(t, w, k, r, x, first, last)
                for slot in range(first, last):
                    impulse = x.start[slot]
                    n = k.normal[slot]
                    t1 = r.tangent[slot]
                    t2 = wp.cross(n, t1)
                    r.total[slot] = r.total[slot] + n * impulse[0] + t1 * impulse[1] + t2 * impulse[2]
                    r.normal_total[slot] = r.normal_total[slot] + impulse[0]
                    for side in range(2):
                        a = r.ends[2 * slot + side][3]
                        if a >= 0 and impulse[0] > 0.0:
                            w.loaded[a] = OUTSIDE
                pairs += 1
            first = last
        if pairs == 0:
            break
