"""What all joint rows have in common: J of a unit wrench, Y = D^-½ L^-T Jᵀ over the chains of all its ends, targets."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.joint_arrays import (
    IDLE,
    RIGID_LIMIT,
    SPRING,
    SPRING_LIMIT,
    UNIT_SPRING,
    JointRows,
    JointTables,
)
from tensorphys_dynamics._kernels.joint_frames import link_centre
from tensorphys_dynamics._kernels.rows import end_tables
from tensorphys_dynamics._kernels.thresholds import CORRECTION, YIELD

wp.set_module_options({"enable_backward": False})

UNBOUNDED = wp.constant(1.0e30)


@wp.func
def resolved(turn: float):
    """Share of a second derivative that holds over a substep in which bodies turn by an angle."""
    return 1.0 / (1.0 + turn * turn * turn * turn)


@wp.func
def add_wrench(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jr: JointRows,
    row: int,
    first: int,
    link: int,
    point: wp.vec3,
    force: wp.vec3,
    torque: wp.vec3,
):
    """Add Jᵀ of a wrench at a point of a link to a row whose entries of the link's articulation start at `first`."""
    a = t.link_articulation[link]
    arm = point - link_centre(m, s, w, t, link)
    lever = w.link_com_offset[link] + arm
    moment = torque + wp.cross(lever, force)
    end = end_tables(t, link)
    for p in range(end[2]):
        local = t.chain[end[1] + p]
        index = end[0] + local
        value = wp.dot(w.motion_linear[index], force) + wp.dot(w.motion_angular[index], moment)
        jr.y[first + local] = jr.y[first + local] + value
    if t.type_root[t.articulation_type[a]] == 0:
        root = s.root_velocity[a]
        moved = wp.dot(wp.spatial_top(root), force) + wp.dot(wp.spatial_bottom(root), moment)
        jr.row_prescribed[row] = jr.row_prescribed[row] + moved
    if end[2] > 0:
        about = torque + wp.cross(arm, force)
        inertia = wp.trace(w.link_inertia[link])
        free = wp.dot(force, force) / m.link_mass[link] + 3.0 * wp.dot(about, about) / wp.max(
            inertia, 1.0e-12
        )
        jr.row_scale[row] = jr.row_scale[row] + free


@wp.func
def start_row(jr: JointRows, row: int, law: int):
    """A row without ends."""
    jr.row_law[row] = law
    jr.row_error[row] = 0.0
    jr.row_rate[row] = 0.0
    jr.row_curvature[row] = 0.0
    jr.row_stiffness[row] = 0.0
    jr.row_damping[row] = 0.0
    jr.row_bound[row] = UNBOUNDED
    jr.row_scale[row] = 0.0
    jr.row_sign[row] = 1.0
    jr.row_prescribed[row] = 0.0
    jr.row_force[row] = wp.vec3(0.0, 0.0, 0.0)
    jr.row_torque[row] = wp.vec3(0.0, 0.0, 0.0)


@wp.func
def set_limit(jr: JointRows, row: int, error: float, curvature: float, stiffness: float, damping: float):
    """An error that must not become negative."""
    jr.row_error[row] = error
    jr.row_curvature[row] = curvature
    jr.row_law[row] = wp.where(stiffness > 0.0, SPRING_LIMIT, RIGID_LIMIT)
    jr.row_stiffness[row] = stiffness
    jr.row_damping[row] = damping


@wp.func
def clear_row(jt: JointTables, jr: JointRows, block: int, y: int):
    """Set the entries of a row to zero; those outside of its support always are."""
    for g in range(jt.block_segments[block]):
        segment = jt.block_segment[block] + g
        for p in range(jt.segment_supports[segment]):
            i = jt.support[jt.segment_support[segment] + p]
            jr.y[y + jt.segment_offset[segment] + i] = 0.0


@wp.func
def solve_row(
    t: Tables, w: Scratch, jt: JointTables, jr: JointRows, first_articulation: int, block: int, y: int
):
    """Turn J of a row into Y in place; returns |Y|²."""
    total = float(0.0)
    for g in range(jt.block_segments[block]):
        segment = jt.block_segment[block] + g
        a = first_articulation + jt.segment_articulation[segment]
        kind = t.articulation_type[a]
        start = t.articulation_velocity[a]
        first = y + jt.segment_offset[segment]
        count = jt.segment_supports[segment]
        for step in range(count):
            i = jt.support[jt.segment_support[segment] + count - 1 - step]
            value = jr.y[first + i]
            if value != 0.0:
                chain = t.type_entry[kind] + t.velocity_entry[t.type_velocity[kind] + i]
                entry = t.articulation_entry[a] + t.velocity_entry[t.type_velocity[kind] + i]
                for k in range(t.velocity_depth[t.type_velocity[kind] + i]):
                    j = first + t.chain[chain + k]
                    jr.y[j] = jr.y[j] - w.factor_entry[entry + k] * value
                value = value * w.inverse_root[start + i]
                jr.y[first + i] = value
                total += value * value
    return total


@wp.func
def finish_row(jr: JointRows, row: int, response: float, h: float):
    """Turn error and law of a row into velocity targets, compliance and bounds of its impulse."""
    law = jr.row_law[row]
    scale = wp.where(law == UNIT_SPRING, 1.0 / wp.max(response, 1.0e-20), 1.0)
    error = jr.row_error[row]
    ahead = -0.5 * h * jr.row_curvature[row]
    target = ahead
    biased = ahead - CORRECTION * error / h
    compliance = float(0.0)
    lowest = -UNBOUNDED
    highest = UNBOUNDED
    if law == RIGID_LIMIT or law == SPRING_LIMIT:
        lowest = 0.0
        if error > 0.0:
            target = ahead - error / h
            biased = target
    if law == SPRING or law == UNIT_SPRING or law == SPRING_LIMIT:
        gain = scale * (h * jr.row_stiffness[row] + jr.row_damping[row])
        compliance = 1.0 / wp.max(h * gain, 1.0e-30)
        if law != SPRING_LIMIT or error <= 0.0:
            pull = jr.row_damping[row] * jr.row_rate[row] - jr.row_stiffness[row] * error
            target = scale * pull / wp.max(gain, 1.0e-30)
            biased = target
        if gain <= 0.0:
            jr.row_law[row] = IDLE
    if law == SPRING or law == UNIT_SPRING:
        highest = wp.min(jr.row_bound[row] * h, UNBOUNDED)
        lowest = -highest
    jr.row_compliance[row] = wp.max(compliance, YIELD * jr.row_scale[row])
    jr.row_target[row] = target
    jr.row_biased[row] = biased
    jr.row_lowest[row] = lowest
    jr.row_highest[row] = highest
    jr.row_diagonal[row] = response
    jr.row_impulse[row] = 0.0
    if response <= 0.0:
        jr.row_law[row] = IDLE
