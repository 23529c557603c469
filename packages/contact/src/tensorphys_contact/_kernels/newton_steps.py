"""Steps of Newton's method for the least of the greatest of up to four functions of a direction.

Slopes and bends (first and second derivatives) are taken along two unit vectors across the
direction; a step is a turn along these [rad]. See :mod:`.polish`.
"""

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


mat43 = wp.types.matrix(shape=(4, 3), dtype=wp.float32)


@wp.struct
class Step:
    """A turn of the direction and the weights of up to three pieces that are equal there.

    ``stiff`` is the length that rounding of the reach is divided by for that of the direction,
    ``lowest`` the piece that lies farthest below the others after the turn.
    """

    turn: wp.vec2
    weight: wp.vec3
    piece: wp.vec3i
    count: int
    stiff: float
    lowest: int


@wp.func
def tangent_of(n: wp.vec3) -> wp.vec3:
    """A unit vector across a unit vector."""
    e = wp.vec3(0.0, n[2], -n[1])
    if wp.abs(n[0]) > 0.6:
        e = wp.vec3(-n[2], 0.0, n[0])
    return wp.normalize(e)


@wp.func
def smooth_step(slope: wp.vec2, bend: wp.vec3, trust: float) -> wp.vec2:
    """Newton step of one smooth function; a turn downhill where it bends down."""
    det = bend[0] * bend[2] - bend[1] * bend[1]
    size = wp.abs(bend[0]) + wp.abs(bend[2])
    step = wp.vec2()
    if det > 1.0e-6 * size * size and bend[0] + bend[2] > 0.0:
        step = wp.vec2(bend[1] * slope[1] - bend[2] * slope[0], bend[1] * slope[0] - bend[0] * slope[1]) / det
    else:
        step = -slope * (trust / wp.max(wp.length(slope), 1.0e-30))
    return step


@wp.func
def bend_along(bend: wp.vec3, u: wp.vec2, v: wp.vec2) -> float:
    """Bilinear form of a symmetric matrix (11, 12, 22)."""
    return u[0] * (bend[0] * v[0] + bend[1] * v[1]) + u[1] * (bend[1] * v[0] + bend[2] * v[1])


@wp.func
def crease_step(gap: float, g: wp.vec2, c: wp.vec2, bend0: wp.vec3, bend1: wp.vec3, trust: float) -> Step:
    """Step onto the crease where two functions are equal and along it.

    ``gap`` is the first less the second, ``g`` the slope of the first and ``c`` that of the gap.
    """
    cc = wp.max(wp.dot(c, c), 1.0e-30)
    result = Step()
    result.count = 2
    w = 1.0 - wp.dot(g, c) / cc
    result.weight = wp.vec3(w, 1.0 - w, 0.0)
    w = wp.clamp(w, 0.0, 1.0)
    bend = bend0 * w + bend1 * (1.0 - w)
    u = wp.vec2(-c[1], c[0]) / wp.sqrt(cc)
    onto = c * (-gap / cc)
    along = wp.dot(u, g)
    stiff = bend_along(bend, u, u)
    move = float(0.0)
    if stiff > 0.0:
        move = -(along + bend_along(bend, u, onto)) / stiff
    else:
        move = -trust * wp.sign(along)
    result.turn = onto + u * move
    result.stiff = wp.min(wp.sqrt(cc), wp.abs(stiff))
    return result


@wp.func
def corner_step(gap: wp.vec2, g: wp.vec2, c1: wp.vec2, c2: wp.vec2) -> Step:
    """Step to where three functions are equal; zero weights where their slopes lie on a line.

    Gaps are the first less the second and the third, ``g`` is the slope of the first, ``c1`` and
    ``c2`` those of the gaps.
    """
    det = c1[0] * c2[1] - c1[1] * c2[0]
    longest = wp.max(wp.length(c1), wp.length(c2))
    result = Step()
    if wp.abs(det) > 1.0e-6 * wp.length(c1) * wp.length(c2):
        result.turn = wp.vec2(gap[1] * c1[1] - gap[0] * c2[1], gap[0] * c2[0] - gap[1] * c1[0]) / det
        w1 = (g[0] * c2[1] - g[1] * c2[0]) / det
        w2 = (g[1] * c1[0] - g[0] * c1[1]) / det
        result.weight = wp.vec3(1.0 - w1 - w2, w1, w2)
        result.stiff = wp.abs(det) / longest
        result.count = 3
    return result


@wp.func
def slope_of(e1: wp.vec3, e2: wp.vec3, w: wp.vec3) -> wp.vec2:
    """Slope of the reach of a point of M."""
    return wp.vec2(wp.dot(e1, w), wp.dot(e2, w))


@wp.func
def lead(a: mat43, b: mat43, i: int, j: int) -> wp.vec3:
    """Piece i less piece j, each shape's part by itself."""
    return (a[i] - a[j]) - (b[i] - b[j])


@wp.func
def subset_step(
    a: mat43,
    b: mat43,
    bend: mat43,
    i: int,
    j: int,
    k: int,
    n: wp.vec3,
    e1: wp.vec3,
    e2: wp.vec3,
    trust: float,
) -> Step:
    """Step to the minimum of piece i (= j = k), of the crease of i and j (= k), or to a corner."""
    g = slope_of(e1, e2, a[i] - b[i])
    step = Step()
    if i == j:
        step.count = 1
        step.turn = smooth_step(g, bend[i], trust)
        step.weight = wp.vec3(1.0, 0.0, 0.0)
        trace = bend[i, 0] + bend[i, 2]
        step.stiff = (bend[i, 0] * bend[i, 2] - bend[i, 1] * bend[i, 1]) / wp.max(trace, 1.0e-30)
    else:
        w = lead(a, b, i, j)
        if j == k:
            step = crease_step(wp.dot(n, w), g, slope_of(e1, e2, w), bend[i], bend[j], trust)
        else:
            v = lead(a, b, i, k)
            step = corner_step(
                wp.vec2(wp.dot(n, w), wp.dot(n, v)), g, slope_of(e1, e2, w), slope_of(e1, e2, v)
            )
    step.piece = wp.vec3i(i, j, k)
    return step


@wp.func(inline=False)
def minimax_step(
    a: mat43,
    b: mat43,
    bend: mat43,
    count: int,
    n: wp.vec3,
    e1: wp.vec3,
    e2: wp.vec3,
    trust: float,
) -> Step:
    """Step to the least of the greatest of the pieces, each to second order.

    Every subset of up to three pieces offers the step to where these are equal; the one after
    which the greatest of all is least is taken, so that no piece need be ruled out before.

    Args:
        a, b: Points of each piece on the cores of both shapes, in rows.
        bend: Second derivatives of each piece.
        count: Pieces.
        trust: Longest turn [rad].
    """
    best = Step()
    least = float(wp.inf)
    g = slope_of(e1, e2, a[0] - b[0])
    for i in range(count):
        for j in range(i, count):
            for k in range(j, count):
                if i < j or j == k:
                    step = subset_step(a, b, bend, i, j, k, n, e1, e2, trust)
                    step.turn = step.turn * wp.min(1.0, trust / wp.max(wp.length(step.turn), 1.0e-30))
                    x = step.turn
                    base = wp.dot(g, x) + 0.5 * bend_along(bend[0], x, x)
                    most = float(0.0)
                    low = float(0.0)
                    for m in range(1, count):
                        w = lead(a, b, m, 0)
                        rise = wp.dot(n, w) + wp.dot(slope_of(e1, e2, w), x)
                        rise += 0.5 * bend_along(bend[m] - bend[0], x, x)
                        most = wp.max(most, rise)
                        if rise < low:
                            low = rise
                            step.lowest = m
                    if step.count > 0 and base + most < least:
                        least = base + most
                        best = step
    return best
