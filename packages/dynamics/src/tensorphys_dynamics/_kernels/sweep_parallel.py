"""The sweep of large environments: one launch a colour, one thread a manifold.

The same laws as in `sweep`, another order: manifolds by colours instead of by keys. Manifolds of one colour share no
articulation, so that the result is that of one thread that takes them one after the other. Passes are repeated where
impulses change suddenly, and there alone: a body remembers in which turn its contacts are to be solved again.
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
from tensorphys_dynamics._kernels.collisions import find_hits, rebound
from tensorphys_dynamics._kernels.coloring import COLORS, Manifolds
from tensorphys_dynamics._kernels.factor import from_u
from tensorphys_dynamics._kernels.newton import NewtonData
from tensorphys_dynamics._kernels.rows import end_velocity
from tensorphys_dynamics._kernels.sweep import (
    UNREACHED,
    add_load,
    apply_contact,
    keep_dof_loads,
    limit_passes,
    move_contact,
    next_impulse,
    slack_pass,
    solve_contact,
    warm_dofs,
)
from tensorphys_dynamics._kernels.thresholds import OUTSIDE

wp.set_module_options({"enable_backward": False})

# What a visit of a manifold does.
WARM = wp.constant(0)
REBOUND = wp.constant(1)
SOLVE = wp.constant(2)
# A normal impulse changes suddenly when it does by more than this share of the largest of its manifold, and the speed of
# the contact by more than this share of a fall over a substep.
SUDDEN = wp.constant(0.1)
SUDDEN_FALL = wp.constant(0.5)


@wp.struct
class Visit:
    """What all visits of a launch have in common."""

    kind: wp.int32
    turn: wp.int32  # counts the passes of a step, from 1 on
    again: wp.int32  # 1 where only what changed suddenly is solved again
    biased: wp.int32
    threshold: wp.float32
    h: wp.float32


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__syncthreads();
#endif
""")
def block_barrier():
    """Wait for all threads of a block, and see what they wrote."""
    ...


@wp.func
def load_end(t: Tables, w: Scratch, tables: wp.vec4i):
    """u of the at most six velocities that move an end."""
    u = wp.spatial_vector()
    for p in range(6):
        if p < tables[2]:
            u[p] = w.u[tables[0] + t.chain[tables[1] + p]]
    return u


@wp.func
def store_end(t: Tables, w: Scratch, tables: wp.vec4i, u: wp.spatial_vector):
    """Write what `load_end` has read."""
    for p in range(6):
        if p < tables[2]:
            w.u[tables[0] + t.chain[tables[1] + p]] = u[p]


@wp.func
def velocity_of(r: ContactRows, row: int, count: int, u: wp.spatial_vector):
    """Velocity of an end along the directions of its contact."""
    v = wp.vec3(0.0, 0.0, 0.0)
    for p in range(6):
        if p < count:
            v += r.y[row, p] * u[p]
    return v


@wp.func
def pushed(r: ContactRows, row: int, count: int, u: wp.spatial_vector, impulse: wp.vec3):
    """u of an end after an impulse."""
    result = u
    for p in range(6):
        if p < count:
            result[p] = u[p] + wp.dot(r.y[row, p], impulse)
    return result


@wp.func
def rebound_manifold(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    x: NewtonData,
    first: int,
    last: int,
    v: Visit,
):
    """Let a pair rebound, as `collisions.collide_pairs` does."""
    if k.restitution[first] > 0.0:
        if find_hits(t, w, k, r, x, first, last, v.h, v.threshold) > 0:
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


@wp.func
def is_wanted(f: Manifolds, i: int, v: Visit):
    """Whether a manifold is to be solved in this turn."""
    wanted = int(0)
    if f.end0[i] >= 0:
        wanted = wp.max(wanted, f.stamp[f.end0[i]])
    if f.end1[i] >= 0:
        wanted = wp.max(wanted, f.stamp[f.end1[i]])
    return v.again == 0 or wanted >= v.turn


@wp.func
def solve_manifold(
    t: Tables,
    m: ModelData,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    f: Manifolds,
    i: int,
    v: Visit,
):
    """Solve the contacts of a manifold in order, and note at its ends if they changed suddenly.

    The velocities of two free bodies stay in registers meanwhile: loads need not wait for stores.
    """
    first = f.first[i]
    ends0 = r.ends[2 * first]
    ends1 = r.ends[2 * first + 1]
    short = ends0[2] <= 6 and ends1[2] <= 6 and ends0[3] != ends1[3] and r.spin_inverse[first] == 0.0
    u0 = wp.spatial_vector()
    u1 = wp.spatial_vector()
    if short:
        u0 = load_end(t, w, ends0)
        u1 = load_end(t, w, ends1)
    fall = v.h * wp.length(m.gravity[k.environment[first]])
    change = float(0.0)
    largest = float(0.0)
    speed = float(0.0)
    for slot in range(first, f.last[i]):
        before = r.impulse[slot]
        after = before
        if short and v.kind == SOLVE:
            moving = r.prescribed[slot] + velocity_of(r, 2 * slot, ends0[2], u0)
            moving += velocity_of(r, 2 * slot + 1, ends1[2], u1)
            after = next_impulse(m, k, r, slot, moving, v.h, v.biased)
            r.impulse[slot] = after
        elif v.kind == SOLVE:
            solve_contact(t, m, w, k, r, slot, v.h, v.biased)
            after = r.impulse[slot]
        elif not short:
            apply_contact(t, w, r, slot, before)
        if short:
            # a warm start applies what there is
            push = wp.where(v.kind == SOLVE, after - before, before)
            u0 = pushed(r, 2 * slot, ends0[2], u0, push)
            u1 = pushed(r, 2 * slot + 1, ends1[2], u1, push)
        moved = wp.abs(after[0] - before[0])
        change = wp.max(change, moved)
        largest = wp.max(largest, after[0])
        speed = wp.max(speed, moved - SUDDEN_FALL * fall * r.inverse[slot][0])
    if short:
        store_end(t, w, ends0, u0)
        store_end(t, w, ends1, u1)
    if change > SUDDEN * largest and speed > 0.0:
        f.flags[0] = v.turn + 1
        if f.end0[i] >= 0:
            f.stamp[f.end0[i]] = v.turn + 1
        if f.end1[i] >= 0:
            f.stamp[f.end1[i]] = v.turn + 1


@wp.func
def visit_manifold(
    t: Tables,
    m: ModelData,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    x: NewtonData,
    f: Manifolds,
    i: int,
    v: Visit,
):
    """One manifold of one colour."""
    if v.kind == REBOUND:
        rebound_manifold(t, w, k, r, x, f.first[i], f.last[i], v)
    elif is_wanted(f, i, v):
        solve_manifold(t, m, w, k, r, f, i, v)


@wp.func
def make_visit(
    kind: int,
    turn: int,
    again: int,
    biased: int,
    bounce_threshold: wp.array[wp.float32],
    time_step: wp.array[wp.float32],
    substeps: int,
):
    """What all visits of a launch have in common."""
    v = Visit()
    v.kind = kind
    v.turn = turn
    v.again = again
    v.biased = biased
    v.threshold = bounce_threshold[0]
    v.h = time_step[0] / float(substeps)
    return v


@wp.func
def is_needless(f: Manifolds, kind: int, turn: int, again: int):
    """Whether there is nothing to do for a launch."""
    return (kind == REBOUND and f.flags[1] == 0) or (again == 1 and f.flags[0] < turn)


@wp.kernel
def visit_color(
    t: Tables,
    m: ModelData,
    k: ContactData,
    start: wp.array[wp.int32],
    order: wp.array[wp.int32],
    bounce_threshold: wp.array[wp.float32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    kind: wp.int32,
    turn: wp.int32,
    again: wp.int32,
    biased: wp.int32,
    color: wp.int32,
    threads: wp.int32,
    # outputs
    w: Scratch,
    r: ContactRows,
    x: NewtonData,
    f: Manifolds,
):
    """All manifolds of a colour."""
    if is_needless(f, kind, turn, again):
        return
    i = start[color] + wp.tid()
    end = start[color + 1]
    v = make_visit(kind, turn, again, biased, bounce_threshold, time_step, substeps)
    while i < end:
        visit_manifold(t, m, w, k, r, x, f, order[i], v)
        i += threads


@wp.kernel
def visit_rest(
    t: Tables,
    m: ModelData,
    k: ContactData,
    start: wp.array[wp.int32],
    order: wp.array[wp.int32],
    bounce_threshold: wp.array[wp.float32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    kind: wp.int32,
    turn: wp.int32,
    again: wp.int32,
    biased: wp.int32,
    color: wp.int32,
    threads: wp.int32,
    # outputs
    w: Scratch,
    r: ContactRows,
    x: NewtonData,
    f: Manifolds,
):
    """The colours from one on, which have few manifolds, in one block; then what has no colour, by one thread."""
    thread = wp.tid()
    if is_needless(f, kind, turn, again):
        return
    v = make_visit(kind, turn, again, biased, bounce_threshold, time_step, substeps)
    for c in range(color, f.totals[1]):
        i = start[c] + thread
        while i < start[c + 1]:
            visit_manifold(t, m, w, k, r, x, f, order[i], v)
            i += threads
        block_barrier()
    if thread == 0:
        for i in range(start[COLORS], start[COLORS + 1]):
            visit_manifold(t, m, w, k, r, x, f, order[i], v)


@wp.kernel
def start_dofs(
    t: Tables,
    m: ModelData,
    large: wp.array[wp.int32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    s: StateData,
    w: Scratch,
):
    """One articulation: warm starts of its limits and friction, then its drives."""
    a = wp.tid()
    if large[t.articulation_environment[a]] == 1:
        h = time_step[0] / float(substeps)
        warm_dofs(t, m, s, w, a, h)
        slack_pass(t, w, a, h)


@wp.kernel
def pass_dofs(
    t: Tables,
    m: ModelData,
    large: wp.array[wp.int32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    biased: wp.int32,
    # outputs
    s: StateData,
    w: Scratch,
):
    """One articulation: one pass over its limits and friction."""
    a = wp.tid()
    if large[t.articulation_environment[a]] == 1:
        limit_passes(t, m, s, w, a, time_step[0] / float(substeps), biased)


@wp.kernel
def keep_drift(t: Tables, large: wp.array[wp.int32], w: Scratch):
    """One articulation: positions move by the velocity after the biased passes; it is left in `force`, too."""
    a = wp.tid()
    if large[t.articulation_environment[a]] == 1:
        from_u(t, w, a, w.u, w.force)
        for i in range(t.articulation_velocity[a], t.articulation_velocity[a + 1]):
            w.u_drift[i] = w.u[i]


@wp.kernel
def move_contacts(
    t: Tables,
    k: ContactData,
    large: wp.array[wp.int32],
    bounce_threshold: wp.array[wp.float32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    s: StateData,
    # outputs
    w: Scratch,
    r: ContactRows,
):
    """One slot: the separation after this substep. Rebounds were made before."""
    slot = wp.tid()
    environment = k.environment[slot]
    if large[environment] == 1 and slot - k.slot_start[environment] < k.count[environment]:
        h = time_step[0] / float(substeps)
        if r.left_out[slot] == 1:
            v = end_velocity(t, s, w, r, 2 * slot, k.body0[slot], w.force)
            v -= end_velocity(t, s, w, r, 2 * slot + 1, k.body1[slot], w.force)
            r.separation[slot] = r.separation[slot] + h * wp.dot(k.normal[slot], v)
        else:
            move_contact(t, w, k, r, slot, h, UNREACHED, bounce_threshold[0])


@wp.kernel
def add_loads(k: ContactData, large: wp.array[wp.int32], w: Scratch, r: ContactRows):
    """One slot: its impulse goes to that of the step."""
    slot = wp.tid()
    environment = k.environment[slot]
    if large[environment] == 1 and slot - k.slot_start[environment] < k.count[environment]:
        add_load(w, k, r, slot)


@wp.kernel
def keep_loads(
    t: Tables,
    m: ModelData,
    large: wp.array[wp.int32],
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    s: StateData,
    w: Scratch,
):
    """One articulation: forces of its limits, friction and drives."""
    a = wp.tid()
    if large[t.articulation_environment[a]] == 1:
        keep_dof_loads(t, m, s, w, a, time_step[0] / float(substeps))
