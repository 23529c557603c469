"""Kernels around the solve of a step."""

import warp as wp

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
    work: Work,
    # outputs
    velocity_out: wp.array[wp.vec3],
    response_out: wp.array[wp.mat33],
):
    node = wp.tid()
    body = mesh.node_body[node]
    velocity_out[node] = wp.vec3(end_velocity(work, body, node))
    if work.scheme[body] != STATIC:
        h = work.time_step[0]
        # A force of one step is an impulse over h; the velocity follows the increment by c / h.
        factor = 1.0 / (h * h)
        if work.scheme[body] == CONSERVING:
            factor = 2.0 * factor
        response_out[node] = factor * work.inverse_diagonal[node]
