"""Batched ray casts through a tree of the shapes of all environments."""

import warp as wp

from .convex import convex_of
from .gather import body_transform
from .ray_shapes import convex_span
from .solid_queries import hit_closed, hit_spheres, hit_surface
from .walk import Shapes, Tree, make_walk

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

PLANE = wp.constant(0)
TRIANGLE_MESH = wp.constant(8)
SDF = wp.constant(10)
SPHERES = wp.constant(11)


@wp.struct
class Ray:
    """A ray in the frame of an environment."""

    origin: wp.vec3
    direction: wp.vec3
    any_hit: int
    one_sided: wp.array[wp.int32]  # shapes whose back sides let rays through


@wp.struct
class NearestHit:
    """Nearest hit so far; without one ``reach`` is how far the ray goes."""

    shape: int
    reach: float
    normal: wp.vec3
    triangle: int


@wp.struct
class HitList:
    """Lists of the hits of all rays, of which the one of a ray is filled."""

    ray: int
    count: int
    reach: float
    shape: wp.array2d[wp.int32]
    distance: wp.array2d[wp.float32]
    normal: wp.array2d[wp.vec3]
    triangle: wp.array2d[wp.int32]


@wp.kernel
def bound_rows(
    row: wp.array[wp.int32],
    row_shape: wp.array[wp.int32],
    shape_half: wp.array[wp.vec3],
    shape_body: wp.array[wp.int32],
    shape_center: wp.array[wp.vec3],
    local_pose: wp.array[wp.transform],
    body_pose: wp.array[wp.transform],
    # outputs
    lower_out: wp.array[wp.vec3],
    upper_out: wp.array[wp.vec3],
):
    """One thread a shape of an environment: its box."""
    i = wp.tid()
    shape = row_shape[row[i]]
    x = body_transform(shape_body[shape], body_pose) * local_pose[row[i]]
    c = wp.transform_point(x, shape_center[shape])
    r = wp.quat_to_matrix(wp.transform_get_rotation(x))
    h = shape_half[shape]
    extent = wp.vec3()
    for k in range(3):
        extent[k] = wp.abs(r[k, 0]) * h[0] + wp.abs(r[k, 1]) * h[1] + wp.abs(r[k, 2]) * h[2]
        extent[k] = extent[k] * 1.000001 + 1.0e-6 * wp.abs(c[k])
    lower_out[i] = c - extent
    upper_out[i] = c + extent


@wp.func
def hit_row(
    row: int,
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    one_sided: wp.array[wp.int32],
    origin: wp.vec3,
    direction: wp.vec3,
    longest: float,
):
    """Distance along a unit ray to one shape (infinite for a miss), normal and triangle (or −1)."""
    shape = shapes.row_shape[row]
    body = shapes.shape_body[shape]
    # The body origin is taken off first, which keeps digits far from the environment origin.
    pose = body_transform(body, body_pose)
    turn = wp.transform_get_rotation(pose)
    local = shapes.local_pose[row]
    p = wp.transform_point(
        wp.transform_inverse(local),
        wp.quat_rotate_inv(turn, origin - wp.transform_get_translation(pose)),
    )
    turn = turn * wp.transform_get_rotation(local)
    d = wp.quat_rotate_inv(turn, direction)
    kind = shapes.shape_type[shape]
    distance = float(wp.inf)
    normal = wp.vec3()
    triangle = int(-1)
    if kind == PLANE:
        if p[2] <= 0.0:
            distance = 0.0
            normal = -d
        elif d[2] < 0.0:
            distance = -p[2] / d[2]
            normal = wp.vec3(0.0, 0.0, 1.0)
    elif kind == SPHERES:
        distance, normal = hit_spheres(shapes.sphere, shapes.shape_spheres[shape], p, d)
    elif kind == SDF:
        distance, normal, triangle = hit_closed(shapes.shape_mesh[shape], p, d)
    elif kind >= TRIANGLE_MESH:
        mesh = shapes.shape_mesh[shape]
        distance, normal, triangle = hit_surface(mesh, p, d, longest, one_sided[shape])
    else:
        span = convex_span(
            convex_of(shape, shapes.shape_type, shapes.shape_size, shapes.shape_vertices, shapes.shape_faces),
            shapes.hull_vertex,
            shapes.face_range,
            shapes.face_normal,
            shapes.face_vertex,
            p,
            d,
        )
        if span.enter <= span.leave and span.leave >= 0.0:
            distance = wp.max(span.enter, 0.0)
            normal = wp.where(span.enter > 0.0, span.normal, -d)
    return distance, wp.quat_rotate(turn, normal), triangle


@wp.func
def visit_nearest(
    row: int, shapes: Shapes, body_pose: wp.array[wp.transform], ray: Ray, found: NearestHit
) -> NearestHit:
    """Keep the nearest hit, ties to the lower shape; or the first one that is found."""
    if ray.any_hit != 0 and found.shape >= 0:
        return found
    t, n, face = hit_row(row, shapes, body_pose, ray.one_sided, ray.origin, ray.direction, found.reach)
    shape = shapes.row_shape[row]
    if t < found.reach or (t == found.reach and (found.shape < 0 or shape < found.shape)):
        found.reach = t
        found.shape = shape
        found.normal = n
        found.triangle = face
    return found


walk_nearest = make_walk("nearest_hit", visit_nearest, along_ray=True)


@wp.kernel
def cast_closest(
    tree: Tree,
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    one_sided: wp.array[wp.int32],
    environment: wp.array[wp.int32],
    origin: wp.array[wp.vec3],
    direction: wp.array[wp.vec3],
    longest: wp.array[wp.float32],
    any_hit: int,
    # outputs
    shape_out: wp.array[wp.int32],
    distance_out: wp.array[wp.float32],
    normal_out: wp.array[wp.vec3],
    triangle_out: wp.array[wp.int32],
):
    """One thread a ray: the nearest hit, ties to the lower shape; or whether there is any."""
    i = wp.tid()
    ray = Ray()
    ray.origin = origin[i]
    ray.direction = wp.normalize(direction[i])
    ray.one_sided = one_sided
    ray.any_hit = any_hit
    found = NearestHit()
    found.reach = longest[i]
    found.shape = int(-1)
    found.triangle = int(-1)
    found = walk_nearest(tree, environment[i], ray.origin, ray.direction, shapes, body_pose, ray, found)
    shape_out[i] = found.shape
    distance_out[i] = wp.where(found.shape < 0, wp.inf, found.reach)
    normal_out[i] = found.normal
    triangle_out[i] = found.triangle


@wp.func
def insert_hit(
    ray: int,
    count: int,
    shape: int,
    t: float,
    n: wp.vec3,
    triangle: int,
    shape_out: wp.array2d[wp.int32],
    distance_out: wp.array2d[wp.float32],
    normal_out: wp.array2d[wp.vec3],
    triangle_out: wp.array2d[wp.int32],
):
    """Insert a hit by (distance, shape); the farthest falls out of a full list."""
    room = shape_out.shape[1]
    k = wp.min(count, room - 1)
    if count >= room:
        last = distance_out[ray, k]
        if t > last or (t == last and shape > shape_out[ray, k]):
            return
    while k > 0:
        before = distance_out[ray, k - 1]
        if before < t or (before == t and shape_out[ray, k - 1] < shape):
            break
        shape_out[ray, k] = shape_out[ray, k - 1]
        distance_out[ray, k] = before
        normal_out[ray, k] = normal_out[ray, k - 1]
        triangle_out[ray, k] = triangle_out[ray, k - 1]
        k -= 1
    shape_out[ray, k] = shape
    distance_out[ray, k] = t
    normal_out[ray, k] = n
    triangle_out[ray, k] = triangle


@wp.func
def start_list(
    ray: int,
    shape_out: wp.array2d[wp.int32],
    distance_out: wp.array2d[wp.float32],
    normal_out: wp.array2d[wp.vec3],
    triangle_out: wp.array2d[wp.int32],
) -> HitList:
    """The list of a ray, or of another query, emptied."""
    found = HitList()
    found.ray = ray
    found.shape = shape_out
    found.distance = distance_out
    found.normal = normal_out
    found.triangle = triangle_out
    for k in range(shape_out.shape[1]):
        shape_out[ray, k] = -1
        distance_out[ray, k] = wp.inf
        triangle_out[ray, k] = -1
    return found


@wp.func
def add_hit(found: HitList, shape: int, t: float, n: wp.vec3, triangle: int):
    """:func:`insert_hit` into a list that has ``found.count`` hits."""
    insert_hit(
        found.ray,
        found.count,
        shape,
        t,
        n,
        triangle,
        found.shape,
        found.distance,
        found.normal,
        found.triangle,
    )


@wp.func
def visit_all(
    row: int, shapes: Shapes, body_pose: wp.array[wp.transform], ray: Ray, found: HitList
) -> HitList:
    """Add the hit of a shape to a list."""
    t, n, face = hit_row(row, shapes, body_pose, ray.one_sided, ray.origin, ray.direction, found.reach)
    if t <= found.reach:
        add_hit(found, shapes.row_shape[row], t, n, face)
        found.count += 1
    return found


walk_all = make_walk("all_hits", visit_all, along_ray=True)


@wp.kernel
def cast_all(
    tree: Tree,
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    one_sided: wp.array[wp.int32],
    environment: wp.array[wp.int32],
    origin: wp.array[wp.vec3],
    direction: wp.array[wp.vec3],
    longest: wp.array[wp.float32],
    # outputs
    count_out: wp.array[wp.int32],
    shape_out: wp.array2d[wp.int32],
    distance_out: wp.array2d[wp.float32],
    normal_out: wp.array2d[wp.vec3],
    triangle_out: wp.array2d[wp.int32],
):
    """One thread a ray: the first hit of every shape, nearest first."""
    i = wp.tid()
    ray = Ray()
    ray.origin = origin[i]
    ray.direction = wp.normalize(direction[i])
    ray.one_sided = one_sided
    found = start_list(i, shape_out, distance_out, normal_out, triangle_out)
    found.reach = longest[i]
    found = walk_all(tree, environment[i], ray.origin, ray.direction, shapes, body_pose, ray, found)
    count_out[i] = found.count
