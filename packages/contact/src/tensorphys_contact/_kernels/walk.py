"""The one walk of rays, overlaps and sweeps past the shapes of an environment: its planes, then its tree of boxes.

A visitor looks at one shape and what was found so far; a walk is made for each.
"""

from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.struct
class Tree:
    """Shapes of all environments, see ``QueryTree``."""

    bvh: wp.uint64
    row: wp.array[wp.int32]
    plane_start: wp.array[wp.int32]
    plane_row: wp.array[wp.int32]


@wp.struct
class Shapes:
    """Arrays of a model that queries need."""

    shape_type: wp.array[wp.int32]
    shape_body: wp.array[wp.int32]
    shape_size: wp.array[wp.vec3]
    shape_radius: wp.array[wp.float32]
    shape_vertices: wp.array[wp.vec2i]
    shape_faces: wp.array[wp.vec2i]
    shape_mesh: wp.array[wp.uint64]
    shape_spheres: wp.array[wp.vec2i]
    sphere: wp.array[wp.vec4]
    hull_vertex: wp.array[wp.vec3]
    face_range: wp.array[wp.vec2i]
    face_normal: wp.array[wp.vec3]
    face_vertex: wp.array[wp.int32]
    row_shape: wp.array[wp.int32]
    local_pose: wp.array[wp.transform]


def make_walk(name: str, visit: wp.Function, *, along_ray: bool) -> wp.Function:
    """A walk that calls ``visit(row, shapes, body_pose, asked, found)`` for each shape whose box is met.

    Args:
        name: Name of the visitor.
        visit: Warp function that returns what is found after a shape; ``found.reach`` is how far along a ray boxes
            still matter.
        along_ray: Whether boxes are met by a ray (origin and direction), else by a box (lower and upper corner).

    Returns:
        ``walk(tree, environment, first, second, shapes, body_pose, asked, found)``, a Warp function that returns what
        was found in the end.
    """

    @wp.func(name=f"walk_{name}")
    def walk(
        tree: Tree,
        environment: int,
        first: wp.vec3,
        second: wp.vec3,
        shapes: Shapes,
        body_pose: wp.array[wp.transform],
        asked: Any,
        found: Any,
    ):
        root = wp.bvh_get_group_root(tree.bvh, environment)
        # An environment without shapes has no root: its query is not begun.
        if wp.static(along_ray):
            query = wp.bvh_query_ray(tree.bvh, first, second, wp.max(root, 0))
        else:
            query = wp.bvh_query_aabb(tree.bvh, first, second, wp.max(root, 0))
        plane = tree.plane_start[environment]
        last_plane = tree.plane_start[environment + 1]
        item = int(0)
        row = int(0)
        while row >= 0:
            row = int(-1)
            if plane < last_plane:
                row = tree.plane_row[plane]
                plane += 1
            elif root >= 0:
                if wp.static(along_ray):
                    if wp.bvh_query_next(query, item, found.reach):
                        row = tree.row[item]
                else:
                    if wp.bvh_query_next(query, item):
                        row = tree.row[item]
            if row >= 0:
                found = visit(row, shapes, body_pose, asked, found)
        return found

    return walk
