"""Which shapes any of many query shapes overlaps, and which lie inside of a closed surface: marks, written by whoever finds one."""

import warp as wp

from .gather import body_transform
from .rays import PLANE, SPHERES, TRIANGLE_MESH
from .solid_queries import depth_inside
from .support import CONVEX_HULL
from .volumes import Query, measure_row, query_box, read_query
from .walk import Shapes, Tree, make_walk

wp.set_module_options({"enable_backward": False, "max_unroll": 3, "block_dim": 128})


@wp.struct
class Marks:
    """Marks of all shapes."""

    mark: wp.array[wp.int32]


@wp.func
def visit_unmarked(
    row: int, shapes: Shapes, body_pose: wp.array[wp.transform], q: Query, found: Marks
) -> Marks:
    """Mark a shape that a query overlaps."""
    shape = shapes.row_shape[row]
    if found.mark[shape] == 0:
        v, _n, _p = measure_row(row, shapes, body_pose, q)
        if v <= 0.0:
            found.mark[shape] = 1
    return found


walk_unmarked = make_walk("unmarked", visit_unmarked, along_ray=False)


@wp.kernel
def mark_overlaps(
    tree: Tree,
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    environment: wp.array[wp.int32],
    kind: wp.array[wp.int32],
    size: wp.array[wp.vec3],
    hull: wp.array[wp.int32],
    corner_start: wp.array[wp.int32],
    corner: wp.array[wp.vec3],
    pose: wp.array[wp.transform],
    # outputs
    mark_inout: wp.array[wp.int32],
):
    """One thread a query: 1 for each shape it overlaps."""
    i = wp.tid()
    q = read_query(i, kind, size, hull, corner_start, corner, pose, shapes)
    low, high = query_box(q, q.pose, wp.vec3(), 0.0)
    found = Marks()
    found.mark = mark_inout
    walk_unmarked(tree, environment[i], low, high, shapes, body_pose, q, found)


@wp.func
def point_of_shape(shape: int, shapes: Shapes) -> wp.vec3:
    """A point of a shape that is no plane, in its frame."""
    p = wp.vec3()
    kind = shapes.shape_type[shape]
    if kind == CONVEX_HULL:
        p = shapes.hull_vertex[shapes.shape_vertices[shape][0]]
    elif kind == SPHERES:
        ball = shapes.sphere[shapes.shape_spheres[shape][0]]
        p = wp.vec3(ball[0], ball[1], ball[2])
    elif kind >= TRIANGLE_MESH:
        mesh = wp.mesh_get(shapes.shape_mesh[shape])
        p = mesh.points[mesh.indices[0]]
    return p


@wp.kernel
def mark_enclosed(
    mesh: wp.uint64,
    pose: wp.transform,
    environment: int,
    row: wp.array[wp.int32],
    row_environment: wp.array[wp.int32],
    shapes: Shapes,
    body_pose: wp.array[wp.transform],
    # outputs
    mark_inout: wp.array[wp.int32],
):
    """One thread a shape of an environment: 1 where a point of it lies inside of a closed surface at a pose."""
    r = row[wp.tid()]
    shape = shapes.row_shape[r]
    if row_environment[r] != environment or shapes.shape_type[shape] == PLANE or mark_inout[shape] != 0:
        return
    placed = body_transform(shapes.shape_body[shape], body_pose) * shapes.local_pose[r]
    at = wp.transform_point(placed, point_of_shape(shape, shapes))
    depth, _normal, _nearest = depth_inside(mesh, wp.transform_point(wp.transform_inverse(pose), at))
    if depth <= 0.0:
        mark_inout[shape] = 1
