"""Kernels around the solve of a step."""

import warp as wp

from tensorphys_fem._kernels.contacts import row_counterforce, write_row_forces
from tensorphys_fem._kernels.finish import end_velocity
from tensorphys_fem._kernels.lanes import lane, lane_count
from tensorphys_fem._kernels.nodes import begin_node
from tensorphys_fem._kernels.rigid import guess_motion
from tensorphys_fem._kernels.structs import CONSERVING, STATIC, Loads, Materials, Mesh, Work

wp.set_module_options({"enable_backward": False})


@wp.kernel
def begin_bodies(
    mesh: Mesh,
    materials: Materials,
    quasi_static: wp.int32,
    # outputs
    work_inout: Work,
):
    body = wp.tid() / lane_count()
    if lane() == 0:
        work_inout.scheme[body] = materials.scheme[body]
        if quasi_static != 0:
            work_inout.scheme[body] = STATIC
    if quasi_static == 0:
        guess_motion(mesh, work_inout, body)


@wp.kernel
def begin_nodes(
    mesh: Mesh,
    loads: Loads,
    position: wp.array[wp.vec3d],
    velocity: wp.array[wp.vec3d],
    # outputs
    work_inout: Work,
):
    begin_node(mesh, loads, position, velocity, work_inout, wp.tid())


@wp.kernel
def write_response(
    mesh: Mesh,
    # outputs
    work_inout: Work,
    velocity_out: wp.array[wp.vec3],
    response_out: wp.array[wp.mat33],
):
    node = wp.tid()
    body = mesh.node_body[node]
    write_row_forces(work_inout, node)
    velocity_out[node] = wp.vec3(end_velocity(work_inout, body, node))
    if work_inout.scheme[body] != STATIC:
        h = work_inout.time_step[0]
        # A force of one step is an impulse over h; the velocity follows the increment by c / h.
        factor = 1.0 / (h * h)
        if work_inout.scheme[body] == CONSERVING:
            factor = 2.0 * factor
        response_out[node] = factor * work_inout.inverse_diagonal[node]


@wp.kernel
def take_counterforces(
    # outputs
    work_inout: Work,
):
    """Contact forces as they are handed over at the end, for the balance of momentum."""
    node = wp.tid()
    work_inout.contact_force[node] = row_counterforce(work_inout, node)
