"""Kernels of the path that is parallel inside a body: conjugate gradients.

Whether a body goes on is asked as `rz > wanted`, never as the opposite of `rz <= wanted`: a sum that is not a number answers
no to both, and a loop that ends by the second would not end.
"""

import warp as wp

from tensorphys_fem._kernels.chunks import LINEAR, leave, lower, quarter_range, quarter_total
from tensorphys_fem._kernels.lanes import group_sum, lane, lane_count, team_size, team_sum
from tensorphys_fem._kernels.linear import row_product, row_product_ahead
from tensorphys_fem._kernels.patches import write_mean_stress_change, write_patch_change, write_stress_change
from tensorphys_fem._kernels.structs import TET, Limits, Materials, Mesh, Sums, Work

wp.set_module_options({"enable_backward": False})

_ZERO = wp.constant(wp.float64(0.0))


@wp.func
def _rz(mesh: Mesh, sums: Sums, parity: int, body: int) -> wp.float64:
    total = _ZERO
    for c in range(mesh.body_chunk[body] + lane(), mesh.body_chunk[body + 1], lane_count()):
        total += sums.rz[parity, c]
    return group_sum(total)


@wp.func
def _leave_rz(sums_inout: Sums, parity: int, chunk: int, value: wp.float64):
    total = group_sum(value)
    if lane() == 0:
        sums_inout.rz[parity, chunk] = total


@wp.kernel
def patch_changes(
    mesh: Mesh,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    if sums.linear_active[mesh.node_body[node]] != 0:
        write_patch_change(mesh, work_inout, work_inout.p, node)


@wp.kernel
def stress_changes(
    mesh: Mesh,
    materials: Materials,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    e = wp.tid()
    if mesh.element_kind[e] == TET and sums.linear_active[mesh.element_body[e]] != 0:
        write_stress_change(mesh, materials, work_inout, work_inout.p, e)


@wp.kernel
def mean_stress_changes(
    mesh: Mesh,
    sums: Sums,
    # outputs
    work_inout: Work,
):
    node = wp.tid()
    if sums.linear_active[mesh.node_body[node]] != 0:
        write_mean_stress_change(mesh, work_inout, node)


@wp.kernel
def product(
    mesh: Mesh,
    materials: Materials,
    patches: wp.int32,
    parity: wp.int32,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """q = A p, and the parts of p · q."""
    quarter = wp.tid() / lane_count()
    body = mesh.chunk_body[quarter / 4]
    if sums_inout.linear_active[body] == 0:
        return
    if not (_rz(mesh, sums_inout, parity, body) > sums_inout.wanted[body]):
        return
    nodes = quarter_range(mesh, quarter)
    total = wp.float64(0.0)
    for i in range(nodes[0] + lane(), nodes[1], lane_count()):
        q = row_product(mesh, materials, work_inout, work_inout.p, patches, i)
        work_inout.q[i] = q
        total += wp.float64(wp.dot(work_inout.p[i], q))
    leave(sums_inout.pq, quarter, total)


@wp.kernel
def product_ahead(
    mesh: Mesh,
    parity: wp.int32,
    before: wp.array[wp.vec3],
    # outputs
    work_inout: Work,
    sums_inout: Sums,
    following_out: wp.array[wp.vec3],
):
    """p = z + β p and q = A p in one, and the parts of p · q; a team of lanes a node. `before` holds p, `following_out`
    takes the new one."""
    quarter = wp.tid() / lane_count()
    body = mesh.chunk_body[quarter / 4]
    if sums_inout.linear_active[body] == 0:
        return
    rz = _rz(mesh, sums_inout, parity, body)
    if not (rz > sums_inout.wanted[body]):
        return
    beta = float(0.0)
    if sums_inout.iteration[body] > 0:
        beta = float(rz / _rz(mesh, sums_inout, 1 - parity, body))
    nodes = quarter_range(mesh, quarter)
    part = lane() % team_size()
    total = wp.float64(0.0)
    for i in range(nodes[0] + lane() / team_size(), nodes[1], lane_count() / team_size()):
        q = team_sum(row_product_ahead(mesh, work_inout, before, beta, i, part, team_size()))
        if part == 0:
            p = work_inout.z[i] + beta * before[i]
            following_out[i] = p
            work_inout.q[i] = q
            total += wp.float64(wp.dot(p, q))
    leave(sums_inout.pq, quarter, total)


@wp.kernel
def advance(
    mesh: Mesh,
    parity: wp.int32,
    p: wp.array[wp.vec3],
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """x += α p, r −= α q, z = D⁻¹ r, and the parts of r · z."""
    chunk = wp.tid() / lane_count()
    lower(sums_inout, chunk, LINEAR)
    body = mesh.chunk_body[chunk]
    if sums_inout.linear_active[body] == 0:
        return
    rz = _rz(mesh, sums_inout, parity, body)
    pq = quarter_total(mesh, sums_inout.pq, body)
    going = rz > sums_inout.wanted[body] and pq > _ZERO
    alpha = float(0.0)
    if going:
        alpha = float(rz / pq)
    total = _ZERO
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        if going:
            work_inout.x[i] = work_inout.x[i] + alpha * p[i]
            r = work_inout.r[i] - alpha * work_inout.q[i]
            z = work_inout.inverse_diagonal[i] * r
            work_inout.r[i] = r
            work_inout.z[i] = z
            total += wp.float64(wp.dot(r, z))
    # Zero ends the iterations of a body: solved, or a direction without curvature.
    _leave_rz(sums_inout, 1 - parity, chunk, total)
    if lane() == 0 and going and chunk == mesh.body_chunk[body]:
        sums_inout.iteration[body] = sums_inout.iteration[body] + 1


@wp.kernel
def direction(
    mesh: Mesh,
    parity: wp.int32,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """p = z + β p."""
    chunk = wp.tid() / lane_count()
    body = mesh.chunk_body[chunk]
    if sums_inout.linear_active[body] == 0:
        return
    rz = _rz(mesh, sums_inout, parity, body)
    following = _rz(mesh, sums_inout, 1 - parity, body)
    if not (rz > sums_inout.wanted[body]) or following == _ZERO:
        return
    beta = float(following / rz)
    for i in range(mesh.chunk_start[chunk] + lane(), mesh.chunk_start[chunk + 1], lane_count()):
        work_inout.p[i] = work_inout.z[i] + beta * work_inout.p[i]


@wp.kernel
def judge(
    mesh: Mesh,
    limits: Limits,
    # outputs
    work_inout: Work,
    sums_inout: Sums,
):
    """Which bodies go on; after an even number of iterations."""
    body = wp.tid() / lane_count()
    if sums_inout.linear_active[body] == 0:
        return
    rz = _rz(mesh, sums_inout, 0, body)
    if lane() == 0:
        count = sums_inout.iteration[body]
        going = rz > sums_inout.wanted[body] and count < limits.linear_iterations
        if not going:
            sums_inout.linear_active[body] = 0
            work_inout.linear_count[body] = work_inout.linear_count[body] + count
        else:
            wp.atomic_max(sums_inout.flag, LINEAR, 1)
