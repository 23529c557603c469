"""Distances at the nodes of bricks, by the few triangles that lie near each part of a brick.

A tree walk for every node costs more than the distances themselves. Here one walk serves the nodes of an eighth of
a brick: with the distance ``D`` of its centre and the reach ``R`` of its nodes, the nearest triangle of every node
lies within ``D + 2 R`` of the centre.
"""

import warp as wp

from tensorphys_sdf._kernels.surface import FAR, surface_sign, unsigned_distance
from tensorphys_sdf.structs import SdfSurface

wp.set_module_options({"enable_backward": False})

CAPACITY = wp.constant(96)  # triangles kept for a part of a brick; with more, every node walks the tree


@wp.func
def triangle_distance_squared(p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> float:
    """Squared distance of a point to a triangle, by the region that its foot point lies in [Ericson 2005, §5.1.5]."""
    ab = b - a
    ac = c - a
    ap = p - a
    d1 = wp.dot(ab, ap)
    d2 = wp.dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return wp.dot(ap, ap)
    bp = p - b
    d3 = wp.dot(ab, bp)
    d4 = wp.dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return wp.dot(bp, bp)
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return wp.length_sq(ap - ab * (d1 / (d1 - d3)))
    cp = p - c
    d5 = wp.dot(ab, cp)
    d6 = wp.dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return wp.dot(cp, cp)
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return wp.length_sq(ap - ac * (d2 / (d2 - d6)))
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return wp.length_sq(bp - (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))))
    n = wp.cross(ab, ac)
    h = wp.dot(n, ap)
    return h * h / wp.dot(n, n)


@wp.func
def brick_node(
    origin: wp.vec3, cell: wp.vec3, blocks: wp.vec3i, subgrid: int, block: int, x: int, y: int, z: int
) -> wp.vec3:
    """Position of a node of a brick."""
    corner = wp.vec3(
        float(block // (blocks[2] * blocks[1])),
        float((block // blocks[2]) % blocks[1]),
        float(block % blocks[2]),
    )
    at = wp.vec3(float(x), float(y), float(z)) / float(subgrid)
    return origin + wp.cw_mul(corner + at, cell)


@wp.func
def gather_near(
    surface: SdfSurface,
    points: wp.array[wp.vec3],
    indices: wp.array[wp.int32],
    center: wp.vec3,
    reach: float,
    near_out: wp.array2d[wp.vec3],
) -> int:
    """Note the triangles within ``reach`` of a point, with their middle and radius; their number."""
    corner = wp.vec3(reach, reach, reach)
    query = wp.mesh_query_aabb(surface.mesh, center - corner, center + corner)
    face = int(0)
    count = int(0)
    while wp.mesh_query_aabb_next(query, face):
        a = points[indices[3 * face]]
        b = points[indices[3 * face + 1]]
        c = points[indices[3 * face + 2]]
        middle = (a + b + c) / 3.0
        radius = wp.sqrt(
            wp.max(wp.max(wp.length_sq(a - middle), wp.length_sq(b - middle)), wp.length_sq(c - middle))
        )
        if wp.length(middle - center) <= 1.00001 * (reach + radius):
            if count == CAPACITY:
                return CAPACITY + 1
            near_out[count, 0] = middle
            near_out[count, 1] = wp.vec3(1.00001 * radius, 0.0, 0.0)
            near_out[count, 2] = a
            near_out[count, 3] = b
            near_out[count, 4] = c
            count += 1
    return count


@wp.func
def nearest_of(near: wp.array2d[wp.vec3], count: int, q: wp.vec3, guess: float, first: int) -> wp.vec2:
    """Distance to the nearest of the noted triangles, and which it is.

    ``guess`` is not below the distance; ``first`` is tried first, so that most others can be passed over.
    """
    index = first
    best = triangle_distance_squared(q, near[first, 2], near[first, 3], near[first, 4])
    bound = wp.min(guess, wp.sqrt(best))
    best = bound * bound
    for k in range(count):
        away = wp.length_sq(q - near[k, 0])
        far = bound + near[k, 1][0]
        if away <= far * far:
            d2 = triangle_distance_squared(q, near[k, 2], near[k, 3], near[k, 4])
            if d2 < best:
                best = d2
                bound = wp.sqrt(d2)
                index = k
    return wp.vec2(bound, float(index))


@wp.func
def owned_elsewhere(
    bricks: wp.array[wp.int32], blocks: wp.vec3i, subgrid: int, block: int, x: int, y: int, z: int
) -> int:
    """Block of another brick that holds the same node, the last one in memory; -1 when this is the last one."""
    if x < subgrid and y < subgrid and z < subgrid:
        return -1
    i = wp.vec3i(block // (blocks[2] * blocks[1]), (block // blocks[2]) % blocks[1], block % blocks[2])
    at = wp.vec3i(x, y, z)
    for back in range(7):
        k = 7 - back
        j = wp.vec3i(i[0], i[1], i[2])
        shared = bool(True)
        for axis in range(3):
            if ((k >> (2 - axis)) & 1) == 1:
                j[axis] = i[axis] + 1
                if at[axis] < subgrid or j[axis] >= blocks[axis]:
                    shared = False
        if shared:
            other = (j[0] * blocks[1] + j[1]) * blocks[2] + j[2]
            if bricks[other] >= 0:
                return other
    return -1


@wp.func
def sign_of_neighbour(other: float, d: float, step: float) -> float:
    """Sign of a neighbour at a way of ``step`` where it must be the same, else 0."""
    if wp.abs(other) + d > step:
        return wp.sign(other)
    return 0.0


@wp.kernel
def brick_distances(
    surface: SdfSurface,
    points: wp.array[wp.vec3],
    indices: wp.array[wp.int32],
    origin: wp.vec3,
    cell: wp.vec3,
    blocks: wp.vec3i,
    subgrid: int,
    bricks: wp.array[wp.int32],
    block_ids: wp.array[wp.int32],
    first: int,
    near_inout: wp.array2d[wp.vec3],
    distance_out: wp.array[wp.float32],
):
    """Unsigned distances at the nodes of an eighth of a brick; a node of several bricks is left to the last one.

    The threads of a launch share ``near_inout``: on the CPU they run one after another.
    """
    tid = wp.tid()
    brick = first + tid // 8
    part = tid % 8
    block = block_ids[brick]
    half = subgrid // 2 + 1
    x0 = (part & 1) * half
    y0 = ((part >> 1) & 1) * half
    z0 = (part >> 2) * half
    n = subgrid + 1
    x1 = wp.min(x0 + half, n)
    y1 = wp.min(y0 + half, n)
    z1 = wp.min(z0 + half, n)
    low = brick_node(origin, cell, blocks, subgrid, block, x0, y0, z0)
    high = brick_node(origin, cell, blocks, subgrid, block, x1 - 1, y1 - 1, z1 - 1)
    middle = 0.5 * (low + high)
    radius = 0.5 * wp.length(high - low)
    d = unsigned_distance(surface, middle, FAR)
    guess = 1.0001 * (d + radius)
    count = gather_near(surface, points, indices, middle - surface.center, guess + radius, near_inout)
    before = int(0)
    at = middle
    for x in range(x0, x1):
        for y in range(y0, y1):
            for z in range(z0, z1):
                if owned_elsewhere(bricks, blocks, subgrid, block, x, y, z) < 0:
                    p = brick_node(origin, cell, blocks, subgrid, block, x, y, z)
                    guess = 1.0001 * (d + wp.length(p - at))
                    at = p
                    if count > CAPACITY:
                        d = unsigned_distance(surface, p, guess)
                    else:
                        r = nearest_of(near_inout, count, p - surface.center, guess, before)
                        d = r[0]
                        before = int(r[1])
                    distance_out[((brick * n + x) * n + y) * n + z] = d


@wp.kernel
def share_nodes(
    blocks: wp.vec3i,
    subgrid: int,
    bricks: wp.array[wp.int32],
    block_ids: wp.array[wp.int32],
    first: int,
    distance_inout: wp.array[wp.float32],
):
    """Copy what another brick holds at nodes of both."""
    brick = first + wp.tid()
    block = block_ids[brick]
    n = subgrid + 1
    for x in range(n):
        for y in range(n):
            for z in range(n):
                other = owned_elsewhere(bricks, blocks, subgrid, block, x, y, z)
                if other >= 0:
                    i = wp.vec3i(
                        other // (blocks[2] * blocks[1]), (other // blocks[2]) % blocks[1], other % blocks[2]
                    )
                    j = wp.vec3i(
                        block // (blocks[2] * blocks[1]), (block // blocks[2]) % blocks[1], block % blocks[2]
                    )
                    at = wp.vec3i(x, y, z) - (i - j) * subgrid
                    value = distance_inout[((bricks[other] * n + at[0]) * n + at[1]) * n + at[2]]
                    distance_inout[((brick * n + x) * n + y) * n + z] = value


@wp.kernel
def brick_signs(
    surface: SdfSurface,
    origin: wp.vec3,
    cell: wp.vec3,
    blocks: wp.vec3i,
    subgrid: int,
    bricks: wp.array[wp.int32],
    block_ids: wp.array[wp.int32],
    first: int,
    propagate: int,
    distance_inout: wp.array[wp.float32],
):
    """Give the distances of a brick their sign.

    With ``propagate``, for closed surfaces: two neighbours whose balls of free space cover the way between them lie
    on the same side, so that the surface is asked only where a way may cross it. Without, at every node but those
    that another brick holds.
    """
    brick = first + wp.tid()
    block = block_ids[brick]
    n = subgrid + 1
    step = cell * (1.001 / float(subgrid))
    for x in range(n):
        for y in range(n):
            for z in range(n):
                i = ((brick * n + x) * n + y) * n + z
                d = distance_inout[i]
                sign = float(0.0)
                if propagate != 0:
                    if z > 0:
                        sign = sign_of_neighbour(distance_inout[i - 1], d, step[2])
                    if sign == 0.0 and y > 0:
                        sign = sign_of_neighbour(distance_inout[i - n], d, step[1])
                    if sign == 0.0 and x > 0:
                        sign = sign_of_neighbour(distance_inout[i - n * n], d, step[0])
                elif owned_elsewhere(bricks, blocks, subgrid, block, x, y, z) >= 0:
                    sign = 1.0
                if sign == 0.0:
                    sign = surface_sign(surface, brick_node(origin, cell, blocks, subgrid, block, x, y, z))
                distance_inout[i] = sign * d
