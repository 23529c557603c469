"""Single steps of Newton's method for one, two or three equal functions of a direction.

Slopes and bends (first and second derivatives) are taken along two unit vectors across the
direction; a step is a turn along these [rad]. See :mod:`.polish`.
"""

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.struct
class Step:
    """A turn of the direction and the weights of the pieces there; lengths that rounding of the
    reach is divided by for the rounding of the weights and of the direction."""

    turn: wp.vec2
    weight: wp.vec3
    width: float
    stiff: float


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
    result.width = wp.sqrt(cc)
    result.stiff = wp.min(result.width, wp.abs(stiff))
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
        result.width = wp.abs(det) / longest
        result.stiff = result.width
    return result
