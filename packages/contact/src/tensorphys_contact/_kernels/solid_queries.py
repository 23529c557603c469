"""What rays and query shapes need to know of fields' surfaces and of sets of spheres."""

import warp as wp

from .ray_shapes import ball

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

FAR = wp.constant(1.0e9)
# Back sides in a row that a ray passes, and how far behind each it goes on, relative to its numbers.
MOST_SIDES = wp.constant(256)
BEHIND = wp.constant(1.0e-6)


@wp.func
def hit_spheres(sphere: wp.array[wp.vec4], span: wp.vec2i, p: wp.vec3, d: wp.vec3):
    """Distance along a unit ray to the nearest of some spheres (0 from inside, infinite for a miss), and normal."""
    best = float(wp.inf)
    normal = wp.vec3()
    for k in range(span[0], span[1]):
        s = sphere[k]
        size = wp.vec3(s[3], s[3], s[3])
        cut = ball(wp.vec3(s[0], s[1], s[2]), size, p, d)
        if cut.enter <= cut.leave and cut.leave >= 0.0:
            at = wp.max(cut.enter, 0.0)
            if at < best:
                best = at
                normal = wp.where(cut.enter > 0.0, cut.normal, -d)
    return best, normal


@wp.func
def hit_surface(mesh: wp.uint64, p: wp.vec3, d: wp.vec3, longest: float, one_sided: int):
    """As :func:`hit_spheres` for a surface, and the triangle; with ``one_sided`` back sides let the ray through."""
    best = float(wp.inf)
    normal = wp.vec3()
    triangle = int(-1)
    start = float(0.0)
    for _side in range(MOST_SIDES):
        query = wp.mesh_query_ray(mesh, p + d * start, d, longest - start)
        if not query.result:
            break
        at = start + query.t
        outward = wp.mesh_eval_face_normal(mesh, query.face)
        if one_sided == 0 or wp.dot(outward, d) < 0.0:
            best = at
            normal = outward
            triangle = query.face
            break
        start = at + wp.max(BEHIND * (at + wp.length(p)), 1.0e-12)
        if start > longest:
            break
    return best, normal, triangle


@wp.func
def hit_closed(mesh: wp.uint64, p: wp.vec3, d: wp.vec3):
    """As :func:`hit_spheres` for a closed surface, and the triangle; a ray that meets a back side first starts inside."""
    best = float(wp.inf)
    normal = wp.vec3()
    triangle = int(-1)
    query = wp.mesh_query_ray(mesh, p, d, FAR)
    if query.result:
        best = query.t
        normal = wp.mesh_eval_face_normal(mesh, query.face)
        triangle = query.face
        if wp.dot(normal, d) > 0.0:
            best = 0.0
            normal = -d
    return best, normal, triangle


@wp.func
def depth_inside(mesh: wp.uint64, p: wp.vec3):
    """Distance of a point to a closed surface that it lies in, negative, outward normal and nearest point; else infinite."""
    value = float(wp.inf)
    normal = wp.vec3(0.0, 0.0, 1.0)
    nearest = p
    query = wp.mesh_query_point_sign_normal(mesh, p, FAR)
    if query.result and query.sign < 0.0:
        nearest = wp.mesh_eval_position(mesh, query.face, query.u, query.v)
        away = nearest - p
        value = -wp.length(away)
        normal = wp.mesh_eval_face_normal(mesh, query.face)
        if value < 0.0:
            normal = away / -value
    return value, normal, nearest
