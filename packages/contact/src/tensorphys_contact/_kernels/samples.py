"""Points of one surface that are nearest to, or deepest in, another shape.

A sample is a triangle, or a point with a radius. On a triangle the point of least distance is found by projected
gradient descent on the distance of the other shape [Macklin et al. 2020, "Local Optimization for Robust Signed
Distance Field Collision"]. Samples lie in chunks of neighbours, each in a ball; a chunk whose ball is apart from the
other shape is passed over, since no distance grows faster than the way.
"""

import warp as wp

from .distances import FAR, PLANE, SDF, Geometry, Solid, field_distance, nearest_on_triangle, solid_distance

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Away from a surface stored distances err by up to a few per cent.
TRUST = wp.constant(0.94)
# Cosine that the normals of two surfaces must be below where they meet.
FACING = wp.constant(-0.1)
# Points that a descent starts from, and its evaluations.
STARTS = wp.constant(4)
STEPS = wp.constant(16)
# A gain below this part of the step is none; steps below this part of the triangle end the descent.
BARELY = wp.constant(2.0e-3)
LEAST = wp.constant(4.0e-3)


@wp.struct
class Samples:
    """Arrays of a model that samples are read from."""

    corner: wp.array[wp.vec3]  # three a sample; a point has equal ones
    normal: wp.array[wp.vec3]  # outward; zero where any side may touch
    radius: wp.array[wp.float32]
    chunk_sphere: wp.array[wp.vec4]
    chunk_range: wp.array[wp.vec2i]
    shape_chunks: wp.array[wp.vec2i]


@wp.struct
class Meeting:
    """Where a sample meets a shape, in the frame of that shape."""

    point: wp.vec3  # on the surface that was sampled
    normal: wp.vec3  # of the shape, outward
    separation: float


@wp.func
def apart(d: float, radius: float, limit: float) -> bool:
    """Whether a ball whose middle has a distance is beyond a limit; beside a border distances tell nothing."""
    return TRUST * d - radius >= limit and d != FAR


# What a stored distance may be wrong by near the surface, where cells are about this part of a shape's radius: there a foot
# is better than what is stored even where it is off by so much, as along the crests of a thread.
STORED = wp.constant(1.0e-2)


@wp.func
def agrees(w: float, v: float, radius: float) -> bool:
    """Whether a distance at a foot is what errors of the stored distance leave."""
    return wp.abs(w) <= (1.0 - TRUST) * wp.abs(v) + STORED * radius


@wp.func
def refine(geometry: Geometry, s: Solid, p: wp.vec3, v: wp.vec4) -> wp.vec4:
    """A distance ``v`` from a field made better by way of its surface, where the stored data are finest.

    Where two parts of the surface are alike near, the stored gradient is a mean of theirs and its foot is on neither: of
    the two, the one that the foot is nearer to is tried, and if that fails too the stored distance stays.
    """
    g = wp.vec3(v[1], v[2], v[3])
    q = p - g * v[0]
    w = field_distance(geometry, s, q)
    if not agrees(w[0], v[0], s.radius):
        g = wp.vec3(w[1], w[2], w[3])
        q = p - g * v[0]
        w = field_distance(geometry, s, q)
        if not agrees(w[0], v[0], s.radius):
            return v
    total = v[0] + w[0]
    if wp.abs(w[0]) >= wp.abs(v[0]):
        return v
    if wp.abs(total) > 1.0e-3 * s.radius:
        g = wp.normalize(p - q + wp.vec3(w[1], w[2], w[3]) * w[0]) * wp.sign(total)
    return wp.vec4(total, g[0], g[1], g[2])


@wp.func
def descend(
    geometry: Geometry, s: Solid, a: wp.vec3, b: wp.vec3, c: wp.vec3, at_middle: float, around: float
):
    """Point of a triangle of least distance to a shape, and that distance; the one at its middle is known."""
    best = a
    value = float(FAR)
    total = float(0.0)
    slope = wp.vec3()
    step = float(around)
    k = int(0)
    while k < STEPS:
        p = a
        if k == 1:
            p = b
        elif k == 2:
            p = c
        elif k == 3:
            p = nearest_on_triangle(s.center, a, b, c)
        elif k >= STARTS:
            p = nearest_on_triangle(best - slope * step, a, b, c)
        v = solid_distance(geometry, s, p)
        if v[0] < value - wp.where(k < STARTS, 0.0, BARELY * step):
            value = v[0]
            best = p
            slope = wp.vec3(v[1], v[2], v[3])
        elif k >= STARTS:
            step *= 0.4
        total += v[0]
        k += 1
        # Where the distance is linear its least value is at a corner.
        if (k == 3 and wp.abs(total / 3.0 - at_middle) < BARELY * around) or step < LEAST * around:
            k = STEPS
    return best, wp.vec4(value, slope[0], slope[1], slope[2])


@wp.func
def meet(
    geometry: Geometry, samples: Samples, index: int, s: Solid, r: wp.mat33, t: wp.vec3, limit: float
) -> Meeting:
    """Meeting of a sample, whose shape is at ``(r, t)`` in the frame of shape ``s``; far away where there is none."""
    m = Meeting()
    m.separation = float(FAR)
    a = r * samples.corner[3 * index] + t
    b = r * samples.corner[3 * index + 1] + t
    c = r * samples.corner[3 * index + 2] + t
    radius = samples.radius[index]
    p = (a + b + c) / 3.0
    around = wp.sqrt(wp.max(wp.length_sq(a - p), wp.max(wp.length_sq(b - p), wp.length_sq(c - p))))
    is_point = samples.corner[3 * index] == samples.corner[3 * index + 1]
    if is_point:
        p = a
        around = 0.0
    # The distance to a plane is least at a corner, and every corner is a sample of its own.
    if s.kind == PLANE and not is_point:
        return m
    v = solid_distance(geometry, s, p)
    if apart(v[0], around + radius, limit):
        return m
    if not is_point:
        p, v = descend(geometry, s, a, b, c, v[0], around)
    if s.kind == SDF and v[0] - radius < 2.0 * limit:
        v = refine(geometry, s, p, v)
    n = wp.vec3(v[1], v[2], v[3])
    outward = r * samples.normal[index]
    if v[0] - radius < limit and (wp.length_sq(outward) < 0.5 or wp.dot(outward, n) < FACING):
        m.separation = v[0] - radius
        m.normal = n
        m.point = p - n * radius
    return m


@wp.func
def chunk_apart(
    geometry: Geometry, samples: Samples, chunk: int, s: Solid, r: wp.mat33, t: wp.vec3, limit: float
) -> bool:
    """Whether no sample of a chunk can meet a shape."""
    ball = samples.chunk_sphere[chunk]
    p = r * wp.vec3(ball[0], ball[1], ball[2]) + t
    if s.kind != PLANE and wp.length(p - s.center) - s.radius - ball[3] >= limit:
        return True
    return apart(solid_distance(geometry, s, p)[0], ball[3], limit)
