"""Rows of faces of deformables: the deepest point of a face between its nodes, against a convex shape.

The force of such a row acts on three nodes at once and is no part of the tangent of the implicit solve. It is the multiplier of
an augmented Lagrangian that is renewed between two solves, with the compliance of contacts between deformables.
"""

import warp as wp

from tensorphys_contact.device import combine_material
from tensorphys_contact.impulse_sums import add_impulse, to_steps
from tensorphys_engine._kernels.soft_rows import (
    YIELDING,
    allowed_gap,
    body_yield,
    end_response,
    end_velocity,
    is_driven,
    leak,
)
from tensorphys_engine._kernels.soft_structs import Links, Nodes, Surfaces

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.struct
class FaceRows:
    """At most four rows of each face."""

    corner: wp.array[wp.vec3i]
    shape: wp.array2d[wp.int32]  # −1: none
    weight: wp.array2d[wp.vec3]
    normal: wp.array[wp.vec3]
    distance: wp.array2d[wp.float32]
    slack: wp.array[wp.float32]  # depth that a row leaves
    end: wp.array2d[wp.int32]
    point: wp.array2d[wp.vec3]
    gap: wp.array2d[wp.float32]
    friction: wp.array2d[wp.float32]
    force: wp.array2d[wp.vec3]
    kept: wp.array2d[wp.int32]  # shape of the substep before
    kept_weight: wp.array2d[wp.vec3]
    kept_force: wp.array2d[wp.vec3]


@wp.func
def in_cone(force: wp.vec3, n: wp.vec3, mu: float) -> wp.vec3:
    """The nearest force that pushes, and rubs no more than friction allows for its normal part."""
    along = wp.dot(force, n)
    result = wp.vec3()
    if along > 0.0:
        across = force - along * n
        size = wp.length(across)
        if size > mu * along:
            across = across * (mu * along / size)
        result = along * n + across
    return result


@wp.kernel
def build_faces(
    nodes: Nodes,
    surfaces: Surfaces,
    links: Links,
    time: wp.array[wp.float32],
    position: wp.array[wp.vec3],
    margin: wp.array[wp.float32],
    # outputs
    rows: FaceRows,
):
    """Begin the rows of a substep with the forces of the one before."""
    t, c = wp.tid()
    rows.force[t, c] = wp.vec3()
    shape = rows.shape[t, c]
    if shape < 0:
        return
    k = rows.corner[t]
    end = surfaces.body[shape]
    fixed = end < 0
    if end >= 0:
        fixed = wp.trace(links.response[end]) == 0.0
    if fixed and is_driven(nodes, k[0]) and is_driven(nodes, k[1]) and is_driven(nodes, k[2]):
        rows.shape[t, c] = -1
        return
    body = nodes.body[k[0]]
    mu = combine_material(
        nodes.dynamic_friction[body], surfaces.dynamic_friction[shape], 0, surfaces.friction_combine[shape]
    )
    w = rows.weight[t, c]
    gap = rows.distance[t, c] - surfaces.rest_offset[shape] - nodes.radius[k[0]] + rows.slack[t]
    way = float(0.0)
    for j in range(3):
        way = wp.max(way, margin[k[j]] - nodes.size[k[j]] - nodes.radius[k[j]])
    if gap > way + rows.slack[t]:
        # out of reach in this substep
        rows.shape[t, c] = -1
        return
    rows.gap[t, c] = allowed_gap(gap, nodes.max_push[body], time[0])
    rows.end[t, c] = end
    rows.point[t, c] = w[0] * position[k[0]] + w[1] * position[k[1]] + w[2] * position[k[2]]
    rows.friction[t, c] = mu
    if rows.kept[t, c] == shape:
        rows.force[t, c] = in_cone(rows.kept_force[t, c], rows.normal[t], mu)


@wp.func
def face_velocity(rows: FaceRows, links: Links, velocity: wp.array[wp.vec3], t: int, c: int) -> wp.vec3:
    """Velocity of the point of a face against the shape."""
    k = rows.corner[t]
    w = rows.weight[t, c]
    v = w[0] * velocity[k[0]] + w[1] * velocity[k[1]] + w[2] * velocity[k[2]]
    if rows.end[t, c] >= 0:
        v -= end_velocity(links, rows.end[t, c], rows.point[t, c])
    return v


@wp.kernel
def count_faces(
    rows: FaceRows,
    links: Links,
    nodes: Nodes,
    time: wp.array[wp.float32],
    velocity: wp.array[wp.vec3],
    # outputs
    group_inout: wp.array[wp.int32],
    node_inout: wp.array[wp.int32],
    body_inout: wp.array[wp.int32],
):
    """Count rows that push, beside those of nodes."""
    t, c = wp.tid()
    if rows.shape[t, c] < 0:
        return
    k = rows.corner[t]
    for j in range(3):
        wp.atomic_add(node_inout, k[j], 1)
    wp.atomic_add(body_inout, nodes.body[k[0]], 1)
    if rows.end[t, c] >= 0:
        wp.atomic_add(group_inout, links.group[rows.end[t, c]], 1)


@wp.func
def face_yield(
    rows: FaceRows,
    links: Links,
    nodes: Nodes,
    group: wp.array[wp.int32],
    by_node: wp.array[wp.int32],
    by_body: wp.array[wp.int32],
    t: int,
    c: int,
    h: float,
) -> wp.vec2:
    """How both ends yield along and across the normal [velocity/impulse], as if each row had its share of their mass."""
    k = rows.corner[t]
    weight = rows.weight[t, c]
    own = float(0.0)
    for j in range(3):
        m = float(nodes.mass[k[j]])
        if m > 0.0 and not is_driven(nodes, k[j]):
            own += weight[j] * weight[j] * float(wp.max(by_node[k[j]], 1)) / m
    body = nodes.body[k[0]]
    own = wp.min(own, body_yield(nodes, body, by_body[body], h))
    result = wp.vec2(own, own)
    end = rows.end[t, c]
    if end >= 0:
        matrix = end_response(links, end, rows.point[t, c])
        n = rows.normal[t]
        along = wp.dot(n, matrix * n)
        share = float(wp.max(group[links.group[end]], 1))
        result += share * wp.vec2(along, wp.max(wp.trace(matrix) - along, 0.0))
    return result


@wp.kernel
def renew_faces(
    nodes: Nodes,
    links: Links,
    time: wp.array[wp.float32],
    velocity: wp.array[wp.vec3],
    group: wp.array[wp.int32],
    by_node: wp.array[wp.int32],
    by_body: wp.array[wp.int32],
    # outputs
    rows: FaceRows,
):
    """Next forces, from the velocities that the last ones gave."""
    t, c = wp.tid()
    if rows.shape[t, c] < 0:
        return
    h = time[0]
    n = rows.normal[t]
    v = face_velocity(rows, links, velocity, t, c)
    w = face_yield(rows, links, nodes, group, by_node, by_body, t, c, h)
    force = wp.vec3()
    if w[0] > 0.0 and wp.isfinite(wp.length_sq(v)):
        body = nodes.body[rows.corner[t][0]]
        old = rows.force[t, c]
        part = YIELDING / (1.0 + YIELDING)
        along = wp.dot(n, old) * (1.0 - leak(nodes, body, body, h) / (1.0 + YIELDING))
        along -= part * (rows.gap[t, c] / h + wp.dot(n, v)) / (h * w[0])
        across = old - wp.dot(n, old) * n
        across -= (v - wp.dot(n, v) * n) * (part / (h * w[1]))
        force = in_cone(wp.max(along, 0.0) * n + across, n, rows.friction[t, c])
    rows.force[t, c] = force


@wp.kernel
def push_faces(
    rows: FaceRows,
    links: Links,
    time: wp.array[wp.float32],
    # outputs
    link_inout: wp.array2d[wp.int64],
    corner_inout: wp.array2d[wp.int64],
):
    """Give forces to the corners, and the opposite to the far ends."""
    t, c = wp.tid()
    if rows.shape[t, c] < 0:
        return
    force = rows.force[t, c]
    k = rows.corner[t]
    for j in range(3):
        part = rows.weight[t, c][j] * force
        for axis in range(3):
            wp.atomic_add(corner_inout, k[j], axis, to_steps(part[axis]))
    end = rows.end[t, c]
    if end >= 0:
        impulse = -time[0] * force
        add_impulse(link_inout, end, impulse, wp.cross(rows.point[t, c] - links.com[end], impulse))


@wp.kernel
def keep_faces(
    time: wp.array[wp.float32],
    # outputs
    rows: FaceRows,
    shape_inout: wp.array2d[wp.int64],
):
    """Keep forces for the next substep, and add what shapes got."""
    t, c = wp.tid()
    rows.kept[t, c] = -1
    shape = rows.shape[t, c]
    force = rows.force[t, c]
    along = wp.dot(force, rows.normal[t])
    if shape >= 0 and wp.isfinite(wp.length_sq(force)):
        rows.kept[t, c] = shape
        rows.kept_weight[t, c] = rows.weight[t, c]
        rows.kept_force[t, c] = force
        impulse = (-time[0] * along) * rows.normal[t]
        for axis in range(3):
            wp.atomic_add(shape_inout, shape, axis, to_steps(impulse[axis]))


@wp.kernel
def forget_faces(
    corner: wp.array[wp.vec3i],
    node_body: wp.array[wp.int32],
    mask: wp.array[wp.int32],
    # outputs
    kept_out: wp.array2d[wp.int32],
):
    """Begin without forces where a body was moved by hand."""
    t, c = wp.tid()
    chosen = True
    if mask:
        chosen = mask[node_body[corner[t][0]]] != 0
    if chosen:
        kept_out[t, c] = -1
