"""Newton's method for the least reach of the difference M of two convex cores.

The reach of M along a unit direction n is the greatest of finitely many smooth functions, one for
each pair of pieces of f and o (see :func:`support_piece`), whose values and first two derivatives
have closed forms. At a minimum one, two or three of them are equal: those that the polytope or
simplex named, or that are met on the way. Newton's method for the least of the greatest of them
[Nocedal and Wright 2006, §18.1] finds the direction to rounding, where a polytope alone would need
as many corners as the direction has digits.
"""

import warp as wp

from .gjk import difference, mat42i, split_point
from .newton_steps import mat43, minimax_step, tangent_of
from .support import CONE, CYLINDER, Convex, piece_curvature, reach_change

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

MOST_NEWTON = wp.constant(16)
# Largest turn of one step [rad].
TRUST = wp.constant(0.1)
LEAST_TRUST = wp.constant(1.0e-5)
# Turn below which the direction is final [rad].
SETTLED = wp.constant(2.0e-6)
# Part of the extent that counts as rounding of a reach.
REACH_ROUNDING = wp.constant(2.0e-7)
# Sine of the angle to the axis of a cap within which its own normal is tried.
NEAR_CAP = wp.constant(0.1)
# Angle to the axis of a cap at which the search beside it begins [rad].
BESIDE_CAP = wp.constant(1.0e-3)
# Blur of a direction that did not settle [rad].
UNSETTLED = wp.constant(0.05)


@wp.func
def has_piece(pieces: mat42i, count: int, piece: wp.vec2i) -> bool:
    """Whether one of the first rows is the piece."""
    found = bool(False)
    for k in range(count):
        found = found or (pieces[k, 0] == piece[0] and pieces[k, 1] == piece[1])
    return found


@wp.func
def distinct_pieces(pieces: mat42i, count: int):
    """The first three different rows, and their number."""
    kept = mat42i()
    found = int(0)
    for k in range(count):
        known = bool(False)
        for m in range(found):
            known = known or (kept[m, 0] == pieces[k, 0] and kept[m, 1] == pieces[k, 1])
        if not known and found < 3:
            kept[found, 0] = pieces[k, 0]
            kept[found, 1] = pieces[k, 1]
            found += 1
    return kept, found


@wp.func
def cap_normal(f: Convex, o: Convex, r: wp.mat33, n: wp.vec3, which: int) -> wp.vec3:
    """Normal (from f to o) of the cap of f (0) or o (1) that looks along ``n``; zero for none."""
    kind = f.kind
    d = n
    if which == 1:
        kind = o.kind
        d = -(wp.transpose(r) * n)
    found = wp.vec3()
    if wp.length_sq(wp.vec2(d[0], d[1])) < NEAR_CAP * NEAR_CAP:
        if kind == CYLINDER or (kind == CONE and d[2] < 0.0):
            found[2] = wp.sign(d[2])
            if which == 1:
                found = -(r * found)
    return found


@wp.func
def rim_trust(f: Convex, o: Convex, r: wp.mat33, n: wp.vec3) -> float:
    """Longest turn over which the reach of a rim is near to its second order, close to its axis [rad]."""
    trust = TRUST
    for which in range(2):
        kind = f.kind
        d = n
        if which == 1:
            kind = o.kind
            d = wp.transpose(r) * n
        if kind == CYLINDER or kind == CONE:
            trust = wp.min(trust, wp.max(0.5 * wp.length(wp.vec2(d[0], d[1])), LEAST_TRUST))
    return trust


@wp.func
def newton_step(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    n: wp.vec3,
    e1: wp.vec3,
    e2: wp.vec3,
    pieces: mat42i,
    count: int,
    trust: float,
):
    """One step of Newton's method: the step, and the foot on the core of f by the weights."""
    on_f = mat43()
    on_o = mat43()
    bend = mat43()
    back = wp.transpose(r)
    for k in range(count):
        a, b = split_point(f, o, vertex_f, vertex_o, r, t, origin, wp.vec2i(pieces[k, 0], pieces[k, 1]), n)
        on_f[k] = a
        on_o[k] = b
        reach = wp.dot(n, a) - wp.dot(n, b)
        curve = piece_curvature(f, pieces[k, 0], n, e1, e2)
        curve += piece_curvature(o, pieces[k, 1], -(back * n), back * e1, back * e2)
        bend[k] = curve - wp.vec3(reach, 0.0, reach)
    step = minimax_step(on_f, on_o, bend, count, n, e1, e2, trust)
    foot = wp.vec3()
    total = float(0.0)
    for k in range(step.count):
        weight = wp.max(step.weight[k], 0.0)
        foot += on_f[step.piece[k]] * weight
        total += weight
    return step, origin + foot / wp.max(total, 1.0e-30)


@wp.func
def onto_crease(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    pieces: mat42i,
    i: int,
    j: int,
    d: wp.vec3,
) -> wp.vec3:
    """Turn a direction onto the crease of two pieces, which may be curved."""
    a0, b0 = split_point(f, o, vertex_f, vertex_o, r, t, origin, wp.vec2i(pieces[i, 0], pieces[i, 1]), d)
    a1, b1 = split_point(f, o, vertex_f, vertex_o, r, t, origin, wp.vec2i(pieces[j, 0], pieces[j, 1]), d)
    c = (a0 - a1) - (b0 - b1)
    gap = wp.dot(d, c)
    c = c - d * gap
    return wp.normalize(d - c * (gap / wp.max(wp.length_sq(c), 1.0e-30)))


@wp.func
def reach_gain(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    n: wp.vec3,
    m: wp.vec3,
) -> float:
    """Reach of M along ``n`` less that along ``m`` near it, without the rounding of either."""
    back = wp.transpose(r)
    turn = n - m
    w, _a, _pieces = difference(f, o, vertex_f, vertex_o, r, t, m)
    gain = reach_change(f, vertex_f, m, turn) + reach_change(o, vertex_o, -(back * m), -(back * turn))
    # Rounded unit vectors are not of one length.
    return gain - wp.dot(turn, t) - 0.5 * wp.dot(m, w) * wp.dot(turn, n + m)


@wp.func
def beside_cap(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    start: wp.vec3,
):
    """Where a search near the normal of a cap begins: beside it, toward what hangs over its rim.

    Returns:
        The direction, whether it is that of a cap over which the other shape's point lies, which
        is then the least, and the point of the core of f there.
    """
    n = start
    fixed = bool(False)
    foot = wp.vec3()
    for which in range(2):
        cap = cap_normal(f, o, r, start, which)
        if wp.length_sq(cap) > 0.0 and not fixed:
            radius = wp.where(which == 0, f.size[0], o.size[0])
            w, p_f, _seen = difference(f, o, vertex_f, vertex_o, r, t, cap)
            p_o = p_f - w
            # From the middle of the cap, across it, to the point of the other shape.
            across = wp.where(which == 0, p_o, p_f - t)
            across = across - cap * wp.dot(across, cap)
            hang = wp.length(across)
            if hang <= radius:
                n = cap
                fixed = True
                foot = wp.where(which == 0, p_o + cap * wp.dot(cap, w), p_f)
            elif wp.length(cap - start) < 10.0 * BESIDE_CAP:
                n = wp.normalize(cap + across * (wp.where(which == 0, BESIDE_CAP, -BESIDE_CAP) / hang))
    return n, fixed, foot


@wp.func(inline=False)
def polish(
    f: Convex,
    o: Convex,
    vertex_f: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    origin: wp.vec3,
    start: wp.vec3,
    p_start: wp.vec3,
    first_pieces: mat42i,
    first_count: int,
    extent: float,
):
    """Direction of a local minimum of the reach of M.

    Args:
        origin: Of :func:`split_origin`.
        start: Unit direction near it, from f to o.
        p_start: Point of the core of f there.
        first_pieces: Pieces (of f and o, a row each) that are equal there, as far as known.
        extent: Size of M, for rounding [length].

    Returns:
        The direction, the reach of M along it (never more than that along ``start`` by more than
        rounding), the point on the core of f, and how far rounding may turn the direction [rad].
    """
    noise = REACH_ROUNDING * extent
    pieces, count = distinct_pieces(first_pieces, first_count)
    w, p_f, seen = difference(f, o, vertex_f, vertex_o, r, t, start)
    best = wp.dot(start, w)
    p_f = p_start
    n, fixed, foot = beside_cap(f, o, vertex_f, vertex_o, r, t, start)
    if wp.length_sq(n - start) > 0.0:
        w, _a, seen = difference(f, o, vertex_f, vertex_o, r, t, n)
        reach = wp.dot(n, w)
        if fixed and reach <= best + noise:
            return n, reach, foot, 0.0
        if reach <= best + noise:
            best = reach
            pieces[0, 0] = seen[0]
            pieces[0, 1] = seen[1]
            count = 1
        else:
            n = start
            w, _a, seen = difference(f, o, vertex_f, vertex_o, r, t, n)
    elif fixed:
        return n, best, foot, 0.0
    trust = rim_trust(f, o, r, n)
    blur = float(UNSETTLED)
    if count == 0 or not has_piece(pieces, count, seen):
        pieces[count, 0] = seen[0]
        pieces[count, 1] = seen[1]
        count += 1
    for _step in range(MOST_NEWTON):
        e1 = tangent_of(n)
        e2 = wp.cross(n, e1)
        step, p_f = newton_step(f, o, vertex_f, vertex_o, r, t, origin, n, e1, e2, pieces, count, trust)
        turn = wp.length(step.turn)
        trial = wp.normalize(n + e1 * step.turn[0] + e2 * step.turn[1])
        # A turn cut short does not end on the crease.
        if step.count == 2 and turn < 0.99 * trust:
            trial = onto_crease(
                f, o, vertex_f, vertex_o, r, t, origin, pieces, step.piece[0], step.piece[1], trial
            )
        w, _a, seen = difference(f, o, vertex_f, vertex_o, r, t, trial)
        reach = wp.dot(trial, w)
        known = has_piece(pieces, count, seen)
        if reach <= best + noise:
            best = wp.min(best, reach)
            n = trial
            trust = wp.min(4.0 * trust, rim_trust(f, o, r, n))
        else:
            trust = 0.25 * turn
        # A new piece that is no higher here leaves a minimum what it is.
        if turn < SETTLED and (known or reach <= best + noise):
            blur = wp.min(noise / wp.max(step.stiff, 1.0e-30), UNSETTLED)
            break
        if not known:
            # A fifth piece takes the place of the one that matters least.
            row = wp.where(count < 4, count, step.lowest)
            pieces[row, 0] = seen[0]
            pieces[row, 1] = seen[1]
            count = wp.min(count + 1, 4)
    for which in range(2):
        cap = cap_normal(f, o, r, n, which)
        if wp.length_sq(cap) > 0.0:
            gain = reach_gain(f, o, vertex_f, vertex_o, r, t, n, cap)
            near = wp.where(blur < UNSETTLED, wp.max(4.0 * blur, SETTLED), SETTLED)
            if gain > 0.0 or (gain > -noise and wp.length(cap - n) < near):
                n = cap
                p_f = p_start
    w, _a, _seen = difference(f, o, vertex_f, vertex_o, r, t, n)
    return n, wp.dot(n, w), p_f, blur
