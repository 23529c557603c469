"""Which normals belong to the edges and corners of a triangle of a surface.

Of the directions from a point of an edge or corner, those count along which no part of the surface
nearby lies nearer: its normal cone. A contact along any other direction is that of a neighbour.
"""

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Sine of the angle out of a cone that counts as rounding.
LEAN = wp.constant(1.0e-3)
# Triangles about one corner that are looked at.
MOST_STAR = wp.constant(64)


@wp.func
def read_triangle(mesh_id: wp.uint64, triangle: int, corner_out: wp.array[wp.vec3]):
    """First corner of a triangle of a mesh, and the length of the longer of its edges there.

    Args:
        corner_out: Corners 1 and 2 from the first one; the first entry is left as it is.
    """
    mesh = wp.mesh_get(mesh_id)
    base = mesh.points[mesh.indices[3 * triangle]]
    corner_out[1] = mesh.points[mesh.indices[3 * triangle + 1]] - base
    corner_out[2] = mesh.points[mesh.indices[3 * triangle + 2]] - base
    return base, wp.sqrt(wp.max(wp.length_sq(corner_out[1]), wp.length_sq(corner_out[2])))


@wp.func
def beyond_edge(n: wp.vec3, m: wp.vec3, edge: wp.vec3, fold: float) -> bool:
    """True where a normal leans over an edge by more than its fold.

    Args:
        n: Normal from the triangle.
        m: Normal of the triangle.
        edge: Unit vector along the edge, counter-clockwise.
        fold: Angle by which the surface turns away there [rad].
    """
    b = wp.cross(edge, m)
    over = wp.dot(n, b)
    return over > LEAN and over * wp.cos(fold) - wp.dot(n, m) * wp.sin(fold) > LEAN


@wp.func
def rises(base: wp.vec3, other: wp.vec3, n: wp.vec3) -> bool:
    """True where the edge from a corner to another rises along ``n``."""
    return wp.dot(n, wp.normalize(other - base)) > LEAN


@wp.func(inline=False)
def tops_star(
    mesh_id: wp.uint64,
    triangle_neighbour: wp.array[wp.vec3i],
    first: int,
    triangle: int,
    place: int,
    n: wp.vec3,
) -> bool:
    """True where no edge at a corner of a triangle rises along ``n``.

    Args:
        first: First entry of the mesh in ``triangle_neighbour``.
        place: Which corner of the triangle, 0 to 2.
    """
    mesh = wp.mesh_get(mesh_id)
    corner = mesh.indices[3 * triangle + place]
    base = mesh.points[corner]
    for way in range(2):
        # Round about the corner, against the clock and, from a border, with it.
        at = int(triangle)
        k = int(place)
        steps = int(0)
        while at >= 0 and steps < MOST_STAR:
            if rises(base, mesh.points[mesh.indices[3 * at + (k + 1) % 3]], n):
                return False
            if rises(base, mesh.points[mesh.indices[3 * at + (k + 2) % 3]], n):
                return False
            at = triangle_neighbour[first + at][wp.where(way == 0, (k + 2) % 3, k)]
            if at == triangle:
                return True
            if at >= 0:
                for j in range(3):
                    if mesh.indices[3 * at + j] == corner:
                        k = j
            steps += 1
    return True


@wp.func(inline=False)
def over_flat(
    p: wp.vec3,
    m: wp.vec3,
    tolerance: float,
    mesh_id: wp.uint64,
    triangle_neighbour: wp.array[wp.vec3i],
    first: int,
    triangle: int,
) -> bool:
    """True where the flat part of the surface that a triangle belongs to reaches over a point.

    Args:
        p: Point relative to the first corner of the triangle.
        m: Normal of the triangle.
        tolerance: How far over its border counts as over it [length].
    """
    mesh = wp.mesh_get(mesh_id)
    base = mesh.points[mesh.indices[3 * triangle]]
    at = int(triangle)
    for _step in range(MOST_STAR):
        worst = float(tolerance)
        side = int(-1)
        for k in range(3):
            a = mesh.points[mesh.indices[3 * at + k]] - base
            e = (mesh.points[mesh.indices[3 * at + (k + 1) % 3]] - base) - a
            over = wp.dot(wp.normalize(wp.cross(e, m)), p - a)
            if over > worst:
                worst = over
                side = k
        if side < 0:
            return True
        at = triangle_neighbour[first + at][side]
        if at < 0:
            return False
        a = mesh.points[mesh.indices[3 * at]]
        n = wp.cross(mesh.points[mesh.indices[3 * at + 1]] - a, mesh.points[mesh.indices[3 * at + 2]] - a)
        if wp.length(wp.cross(wp.normalize(n), m)) > LEAN or wp.dot(n, m) < 0.0:
            return False
    return False


@wp.func(inline=False)
def leans_out(
    n: wp.vec3,
    m: wp.vec3,
    corner: wp.array[wp.vec3],
    fold: wp.vec3,
    mesh_id: wp.uint64,
    triangle_neighbour: wp.array[wp.vec3i],
    first: int,
    triangle: int,
) -> bool:
    """True where a normal leans backward or out of the cone of the edge or corner that it meets.

    Args:
        n: Normal from the triangle.
        m: Normal of the triangle.
        corner: Corners of the triangle.
        fold: Angle at each edge (0-1, 1-2, 2-0) by which the surface turns away [rad].
        first: First entry of the mesh in ``triangle_neighbour``.
    """
    if wp.dot(n, m) < -LEAN:
        return True
    top = int(0)
    for k in range(1, 3):
        if wp.dot(n, corner[k]) > wp.dot(n, corner[top]):
            top = k
    for side in range(2):
        k = wp.where(side == 0, top, (top + 2) % 3)
        edge = wp.normalize(corner[(k + 1) % 3] - corner[k])
        if wp.abs(wp.dot(n, edge)) <= LEAN and not beyond_edge(n, m, edge, fold[k]):
            return False
    return not tops_star(mesh_id, triangle_neighbour, first, triangle, top, n)
