"""Contacts of one triangle of a mesh with a convex shape, and of several that it crosses taken together.

The normal of an edge or corner counts only within the normal cone of the surface there (see
:mod:`.mesh_cones`): over flat and hollow edges the neighbour alone decides, so that inner edges are
not felt.
"""

import warp as wp

from .convex_pair import (
    FACE_BAND,
    ROUNDING,
    WITNESS,
    manifold_along,
    one_direction,
    separate,
    separation_along,
)
from .faces import outside
from .mesh_cones import LEAN, leans_out, over_flat, tops_star
from .support import TRIANGLE, Convex, core_radius, support, support_piece

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# Cosine to the face of a triangle below which a shape that crosses it leaves it sideways.
SIDEWAYS = wp.constant(0.9)
# Most corners of the triangles that a shape crosses that are taken together.
PATCH = wp.constant(48)


@wp.func
def is_explained(
    f: Convex,
    o: Convex,
    corner: wp.array[wp.vec3],
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    t: wp.vec3,
    band: float,
    known: int,
    point: wp.array[wp.vec4],
    normal_of: wp.array[wp.vec3],
) -> bool:
    """True where a known contact pushes the shape out of a triangle, too."""
    for k in range(known):
        if point[k][3] <= 0.0:
            if separation_along(f, o, corner, vertex_o, r, t, normal_of[k]) >= point[k][3] - band:
                return True
    return False


@wp.func(inline=False)
def triangle_points(
    o: Convex,
    vertex_o: wp.array[wp.vec3],
    face_range: wp.array[wp.vec2i],
    face_normal: wp.array[wp.vec3],
    face_vertex: wp.array[wp.int32],
    r: wp.mat33,
    t: wp.vec3,
    corner: wp.array[wp.vec3],
    fold: wp.vec3,
    mesh_id: wp.uint64,
    triangle_neighbour: wp.array[wp.vec3i],
    first: int,
    triangle: int,
    limit: float,
    radius: float,
    second: bool,
    known: int,
    point: wp.array[wp.vec4],
    normal_of: wp.array[wp.vec3],
):
    """Manifold of one triangle, relative to its first corner; as ``convex_manifold``.

    Args:
        second: Whether to give the contacts of a triangle that the shape crosses and would leave
            sideways, unless one of the first ``known`` of ``point`` and ``normal_of`` explains it,
            or those of other triangles.

    Returns:
        As :func:`convex_manifold`, and 1 where the shape crosses the triangle, 2 where that asks for
        a second look, or in the second one nothing explains it.
    """
    state = int(0)
    points = wp.mat44()
    names = wp.vec4i(-1, -1, -1, -1)
    normal = wp.vec3()
    last = wp.vec3()
    longest = wp.sqrt(wp.max(wp.length_sq(corner[1]), wp.length_sq(corner[2])))
    m = wp.cross(corner[1], corner[2])
    area = wp.length(m)
    if area <= 1.0e-7 * longest * longest:
        return points, names, normal, last, state
    m = m / area
    f = Convex()
    f.kind = TRIANGLE
    f.first_vertex = 0
    f.last_vertex = 3
    height = separation_along(f, o, corner, vertex_o, r, t, m)
    back = wp.transpose(r) * m
    top = wp.dot(m, t) + wp.dot(back, support(o, vertex_o, back)) + core_radius(o)
    if height >= limit or top <= 0.0:
        return points, names, normal, last, state
    least = wp.min(radius, longest)
    extent = radius + longest
    band = FACE_BAND * least + ROUNDING * extent
    if second and is_explained(f, o, corner, vertex_o, r, t, band, known, point, normal_of):
        return points, names, normal, last, state
    n, separation, p_f, blur = separate(f, o, corner, vertex_o, r, t, limit, least, extent)
    found = separation < limit
    crosses = separation + core_radius(o) <= band and height > -radius
    if crosses:
        state = 1
    own = bool(True)
    leaves = bool(False)
    beside = bool(False)
    # The face's own normal where it separates as well, or where the difference is rounding.
    alike = wp.dot(n, m)
    if alike > 1.0 - LEAN * LEAN or (one_direction(m, n, blur) and height >= separation - band):
        n = m
    elif found and leans_out(n, m, corner, fold, mesh_id, triangle_neighbour, first, triangle):
        # A shape apart from this triangle is nearer to a neighbour. One that crosses it is pushed
        # out through its face where it lies over it.
        found = crosses
        leaves = crosses
        beside = alike < SIDEWAYS
        n = m
    else:
        own = False
    if own:
        # Along the triangle's own normal the deepest point counts where it is over the triangle.
        separation = height
        p_f = t + r * support(o, vertex_o, -back) - m * (core_radius(o) + height)
        own = outside(p_f, m, 1.0, 3, corner) > ROUNDING * extent
        if own and crosses:
            # A shape that crosses the surface here may be deepest under the same flat part beside.
            own = not over_flat(p_f, m, ROUNDING * extent, mesh_id, triangle_neighbour, first, triangle)
    if second:
        found = leaves
    elif leaves and beside:
        found = False
    if found:
        points, names, normal, last = manifold_along(
            f,
            o,
            corner,
            vertex_o,
            face_range,
            face_normal,
            face_vertex,
            r,
            t,
            n,
            separation,
            p_f,
            limit,
            band,
            blur,
        )
        if own and names[3] == WITNESS:
            names[3] = -1
    empty = wp.max(names) < 0
    if leaves and (beside or empty) and (found or not second):
        state = 2
    elif second:
        names = wp.vec4i(-1, -1, -1, -1)
    return points, names, normal, last, state


@wp.func
def face_way(o: Convex, vertex_o: wp.array[wp.vec3], r: wp.mat33, t: wp.vec3, corner: wp.array[wp.vec3]):
    """Way of a shape out of a triangle through its face: normal, height (negative), and point under it."""
    m = wp.normalize(wp.cross(corner[1], corner[2]))
    low = t + r * support(o, vertex_o, -(wp.transpose(r) * m))
    height = wp.dot(m, low) - core_radius(o)
    return m, height, low - m * (core_radius(o) + height)


@wp.func(inline=False)
def patch_point(
    o: Convex,
    vertex_o: wp.array[wp.vec3],
    r: wp.mat33,
    limit: float,
    radius: float,
    count: int,
    patch: wp.array[wp.vec3],
    patch_of: wp.array[wp.int32],
    mesh_id: wp.uint64,
    triangle_neighbour: wp.array[wp.vec3i],
    first: int,
):
    """Least way of a shape out of all triangles that it crosses, as of one convex shape.

    Args:
        count: Corners of these triangles, three each; too many count as none.
        patch: The corners relative to the shape.
        patch_of: The triangles.

    Returns:
        Normal, point relative to the shape, separation, and whether the normal leads out of the surface
        around, too.
    """
    n = wp.vec3()
    at = wp.vec3()
    separation = float(0.0)
    outward = bool(False)
    if count <= PATCH:
        f = Convex()
        f.kind = TRIANGLE
        f.first_vertex = 0
        f.last_vertex = count
        longest = float(0.0)
        toward = wp.vec3()
        for k in range(count):
            longest = wp.max(longest, wp.length(patch[k]))
            if k % 3 == 0:
                toward += wp.cross(patch[k + 1] - patch[k], patch[k + 2] - patch[k])
        n, separation, at, _blur = separate(
            f, o, patch, vertex_o, r, wp.vec3(), limit, wp.min(radius, longest), radius + longest
        )
        # Every corner that it rests on, as several may be farthest alike.
        top = wp.dot(n, patch[support_piece(f, patch, n)])
        band = FACE_BAND * wp.min(radius, longest) + ROUNDING * (radius + longest)
        outward = separation <= 0.0 and wp.dot(n, toward) > 0.0
        for k in range(count):
            if outward and wp.dot(n, patch[k]) > top - band:
                outward = tops_star(mesh_id, triangle_neighbour, first, patch_of[k // 3], k % 3, n)
    return n, at, separation, outward
