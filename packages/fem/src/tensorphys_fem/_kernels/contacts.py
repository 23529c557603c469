"""Rows of nodes: contacts and attachments as forces of an augmented Lagrangian, with their tangents."""

import warp as wp

from tensorphys_fem._kernels.structs import Work

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))
_ONE = wp.constant(wp.float64(1.0))


@wp.func
def row_force(work: Work, increment: wp.vec3d, node: int, c: int) -> wp.vec3d:
    """Force of one row on its node at an increment [N]."""
    n = wp.vec3d(work.rows.normal[node, c])
    k = wp.vec2d(work.rows.stiffness[node, c])
    gap = wp.vec3d(work.rows.offset[node, c]) + increment
    wanted = wp.vec3d(work.rows.multiplier[node, c])
    along = wp.dot(n, gap)
    normal = wp.dot(n, wanted) - k[0] * along
    across = wanted - wp.dot(n, wanted) * n - k[1] * (gap - along * n)
    bound = wp.float64(work.rows.bound[node, c])
    if bound >= _ZERO:
        normal = wp.max(normal, _ZERO)
        size = wp.length(across)
        if normal == _ZERO:
            across = wp.vec3d()
        elif size > bound:
            across = (bound / size) * across
    return normal * n + across


@wp.func
def contact_force(work: Work, increment: wp.vec3d, node: int) -> wp.vec3d:
    """Force of all rows of a node, and of the rows of other nodes that end at it [N]."""
    total = wp.vec3d(work.rows.counterforce[node])
    for c in range(work.rows.count[node]):
        total += row_force(work, increment, node, c)
    return total


@wp.func
def row_tangent(work: Work, increment: wp.vec3d, node: int, c: int) -> wp.mat33d:
    """Negative derivative of :func:`row_force`; the bound does not depend on the increment, so it is symmetric."""
    n = wp.vec3d(work.rows.normal[node, c])
    k = wp.vec2d(work.rows.stiffness[node, c])
    gap = wp.vec3d(work.rows.offset[node, c]) + increment
    wanted = wp.vec3d(work.rows.multiplier[node, c])
    along = wp.dot(n, gap)
    normal = wp.dot(n, wanted) - k[0] * along
    across = wanted - wp.dot(n, wanted) * n - k[1] * (gap - along * n)
    bound = wp.float64(work.rows.bound[node, c])
    flat = wp.identity(n=3, dtype=wp.float64) - wp.outer(n, n)
    if bound < _ZERO:
        return k[0] * wp.outer(n, n) + k[1] * flat
    if normal <= _ZERO:
        return wp.mat33d()
    size = wp.length(across)
    if size <= bound:
        return k[0] * wp.outer(n, n) + k[1] * flat
    s = across / size
    return k[0] * wp.outer(n, n) + (k[1] * bound / size) * (flat - wp.outer(s, s))


@wp.func
def contact_tangent(work: Work, node: int) -> wp.mat33:
    """Sum of the tangents of all rows of a node at its increment [N/m]."""
    total = wp.mat33d()
    for c in range(work.rows.count[node]):
        total += row_tangent(work, work.increment[node], node, c)
    return wp.mat33(total)


@wp.func
def row_counterforce(work: Work, node: int) -> wp.vec3d:
    """Contact force of a node as it is handed over at the end, for the balance of momentum."""
    total = wp.vec3d(work.rows.counterforce[node])
    for c in range(work.rows.count[node]):
        total += wp.vec3d(work.rows.force[node, c])
    return total


@wp.func
def write_row_forces(work_inout: Work, node: int):
    """Keep the forces of the increment that a solve came to."""
    total = wp.vec3d(work_inout.rows.counterforce[node])
    for c in range(work_inout.rows.count[node]):
        force = wp.vec3(row_force(work_inout, work_inout.increment[node], node, c))
        work_inout.rows.force[node, c] = force
        total += wp.vec3d(force)
    work_inout.contact_force[node] = total
