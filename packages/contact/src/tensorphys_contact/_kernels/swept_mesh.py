"""As :mod:`.swept`, for triangle meshes and height fields."""

import warp as wp

from .gather import frame_between
from .mesh import gather_points
from .mesh_points import reduce_points, sort_by_name
from .motion import mover_pose
from .swept_pair import Bodies, Extents, Manifold, Pair, make_sweep, put_points, touch_mesh
from .walk import Shapes

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.func
def put_mesh_points(
    p: Pair, at: float, slot: int, room: int, shapes: Shapes, extents: Extents, manifold_out: Manifold
) -> int:
    """Write the contacts of a convex shape and a mesh at the time of their touch; their number."""
    point = wp.zeros(shape=(64,), dtype=wp.vec4)
    normal = wp.zeros(shape=(64,), dtype=wp.vec3)
    name = wp.zeros(shape=(64,), dtype=wp.int32)
    r, t, _q = frame_between(mover_pose(p.mover_f, at), mover_pose(p.mover_o, at), p.local_f, p.local_o)
    total = gather_points(
        shapes.shape_mesh[p.f],
        extents.shape_fold[p.f],
        extents.triangle_fold,
        extents.triangle_neighbour,
        p.convex_o,
        shapes.hull_vertex,
        shapes.face_range,
        shapes.face_normal,
        shapes.face_vertex,
        r,
        t,
        p.near,
        p.radius_o,
        room,
        point,
        normal,
        name,
    )
    sort_by_name(total, point, normal, name)
    total = reduce_points(total, room, 1.0e-4 * p.radius_o, point, normal, name)
    if total == 0:
        return total
    return put_points(p, at, slot, total, point, normal, name, manifold_out)


sweep_mesh_pair = make_sweep("mesh", touch_mesh, put_mesh_points)


@wp.kernel
def sweep_meshes(
    family: wp.array[wp.int32],
    pair_item: wp.array[wp.vec4i],
    slot_start: wp.array[wp.int32],
    shapes: Shapes,
    extents: Extents,
    bodies: Bodies,
    made: int,
    # outputs
    manifold_out: Manifold,
    fate_out: wp.array[wp.int32],
    time_inout: wp.array[wp.float32],
):
    """One thread a pair of a mesh and a convex shape; see :func:`~.swept_pair.make_sweep`."""
    pair = family[wp.tid()]
    if pair >= 0:
        sweep_mesh_pair(
            pair, pair_item, slot_start, shapes, extents, bodies, made, manifold_out, fate_out, time_inout
        )
