"""Rows of joints between two bodies at the positions of a substep, and what all rows have in common.

A row is a unit wrench on body 1 at the place of its joint frame and the opposite one on body 0. Its error changes
with J v, so that along a rigid row J v = −(h/2) d²C/dt² keeps the error at zero to second order over a substep of
the half-time velocity v, the derivative being that at constant v.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.joint_arrays import (
    BODY,
    CONE,
    DISTANCE,
    DRIVE,
    IDLE,
    LIMIT,
    LOCK,
    RIGID,
    SPRING,
    UNIT_SPRING,
    JointParameters,
    JointRows,
    JointTables,
)
from tensorphys_dynamics._kernels.joint_frames import (
    Frames,
    angle_about,
    angular_coordinate,
    free_rotations,
    joint_frames,
    locked_rotation,
    relative_rotation,
    swing,
    unit_axis,
)
from tensorphys_dynamics._kernels.joint_responses import (
    add_wrench,
    clear_row,
    finish_row,
    resolved,
    set_limit,
    solve_row,
    start_row,
)

wp.set_module_options({"enable_backward": False})


@wp.func
def body_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jr: JointRows,
    block: int,
    row: int,
    y: int,
    f: Frames,
    force: wp.vec3,
    torque: wp.vec3,
):
    """Fill J of a row between the two bodies of a joint."""
    jr.row_force[row] = force
    jr.row_torque[row] = torque
    segment = jt.block_segment[block]
    end = jt.block_end[block]
    if f.link0 >= 0:
        first = y + jt.segment_offset[segment + jt.end_segment[end]]
        add_wrench(t, m, s, w, jr, row, first, f.link0, f.p1, -force, -torque)
    if f.link1 >= 0:
        first = y + jt.segment_offset[segment + jt.end_segment[end + 1]]
        add_wrench(t, m, s, w, jr, row, first, f.link1, f.p1, force, torque)


@wp.func
def axis_wrench(f: Frames, axis: int, free: int, angle: float):
    """Value, unit wrench and curvature of the displacement of a joint along or about an axis."""
    value = float(0.0)
    curvature = float(0.0)
    force = wp.vec3(0.0, 0.0, 0.0)
    torque = wp.vec3(0.0, 0.0, 0.0)
    if axis < 3:
        force = wp.quat_rotate(f.r0, unit_axis(axis))
        value = wp.dot(force, f.p1 - f.p0)
        curvature = wp.dot(force, f.rate)
    else:
        value, torque, turn = angular_coordinate(f, axis - 3, free, angle)
        curvature = wp.dot(torque, f.angular_rate) + wp.dot(turn, f.angular1 - f.angular0)
    return value, force, torque, curvature


@wp.func
def lock_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    block: int,
    row: int,
    y: int,
    item: int,
    f: Frames,
    axis: int,
    free: int,
):
    """A locked axis."""
    if axis < 3:
        value, force, torque, curvature = axis_wrench(f, axis, free, 0.0)
        jr.row_error[row] = value
        jr.row_curvature[row] = curvature
        body_row(t, m, s, w, jt, jr, block, row, y, f, force, torque)
    else:
        error, direction, turn = locked_rotation(f, axis - 3, jp.joint_locked[item], free)
        jr.row_error[row] = error
        jr.row_curvature[row] = wp.dot(direction, f.angular_rate) + wp.dot(turn, f.angular1 - f.angular0)
        body_row(t, m, s, w, jt, jr, block, row, y, f, wp.vec3(0.0, 0.0, 0.0), direction)


@wp.func
def limit_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    block: int,
    row: int,
    y: int,
    item: int,
    f: Frames,
    axis: int,
    free: int,
):
    """The nearer limit of an axis."""
    value, force, torque, curvature = axis_wrench(f, axis, free, jr.joint_angle[item])
    column = 6 * item + axis
    below = value - jp.axis_lower[column]
    above = jp.axis_upper[column] - value
    sign = wp.where(below <= above, 1.0, -1.0)
    stiffness = jp.axis_limit_stiffness[column]
    set_limit(jr, row, wp.min(below, above), sign * curvature, stiffness, jp.axis_limit_damping[column])
    body_row(t, m, s, w, jt, jr, block, row, y, f, sign * force, sign * torque)


@wp.func
def drive_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    block: int,
    row: int,
    y: int,
    item: int,
    f: Frames,
    axis: int,
    free: int,
):
    """A spring-damper with a target, and a bound of its force."""
    value, force, torque, _curvature = axis_wrench(f, axis, free, jr.joint_angle[item])
    column = 6 * item + axis
    jr.row_law[row] = wp.where(jp.axis_drive_type[column] == 2, UNIT_SPRING, SPRING)
    jr.row_error[row] = value - jp.axis_position_target[column]
    jr.row_rate[row] = jp.axis_velocity_target[column]
    jr.row_stiffness[row] = jp.axis_stiffness[column]
    jr.row_damping[row] = jp.axis_damping[column]
    jr.row_bound[row] = jp.axis_max_force[column]
    body_row(t, m, s, w, jt, jr, block, row, y, f, force, torque)


@wp.func
def distance_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    block: int,
    row: int,
    y: int,
    item: int,
    f: Frames,
):
    """The nearer bound of the distance of the two frames."""
    apart = f.p1 - f.p0
    length = wp.length(apart)
    n = wp.vec3(0.0, 0.0, 1.0)
    if length > 1.0e-9:
        n = apart / length
    below = length - jp.joint_min_distance[item]
    above = jp.joint_max_distance[item] - length
    sign = wp.where(below <= above, 1.0, -1.0)
    # seen from body 0 the end moves with `velocity` and the axis turns with body 0
    across = f.velocity - wp.dot(f.velocity, n) * n
    curvature = wp.dot(n, f.rate) + wp.dot(across, across) / wp.max(length, 1.0e-9)
    stiffness = jp.joint_distance_stiffness[item]
    damping = jp.joint_distance_damping[item]
    set_limit(jr, row, wp.min(below, above), sign * curvature, stiffness, damping)
    body_row(t, m, s, w, jt, jr, block, row, y, f, sign * n, wp.vec3(0.0, 0.0, 0.0))


@wp.func
def cone_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    block: int,
    row: int,
    y: int,
    item: int,
    f: Frames,
):
    """The cone that the X axis of frame 1 stays in; its half-angles about Y and Z are the upper limits of these."""
    tilt = swing(relative_rotation(f))
    size = wp.length(tilt)
    jr.row_law[row] = IDLE
    if size > 1.0e-4:
        a = tilt[1] / jp.axis_upper[6 * item + 4]
        b = tilt[2] / jp.axis_upper[6 * item + 5]
        bound = size / wp.max(wp.sqrt(a * a + b * b), 1.0e-9)
        direction = wp.quat_rotate(f.r0, tilt / size)
        stiffness = jp.axis_limit_stiffness[6 * item + 4]
        set_limit(jr, row, bound - size, 0.0, stiffness, jp.axis_limit_damping[6 * item + 4])
        body_row(t, m, s, w, jt, jr, block, row, y, f, wp.vec3(0.0, 0.0, 0.0), -direction)


@wp.func
def fill_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    block: int,
    row: int,
    y: int,
    item: int,
    f: Frames,
    kind: int,
    axis: int,
    free: int,
):
    """A row of any kind."""
    if kind == LOCK:
        lock_row(t, m, s, w, jt, jp, jr, block, row, y, item, f, axis, free)
    elif kind == LIMIT:
        limit_row(t, m, s, w, jt, jp, jr, block, row, y, item, f, axis, free)
    elif kind == DRIVE:
        drive_row(t, m, s, w, jt, jp, jr, block, row, y, item, f, axis, free)
    elif kind == DISTANCE:
        distance_row(t, m, s, w, jt, jp, jr, block, row, y, item, f)
    elif kind == CONE:
        cone_row(t, m, s, w, jt, jp, jr, block, row, y, item, f)


@wp.func
def keep_angle(jp: JointParameters, jr: JointRows, item: int, f: Frames, free: int):
    """Follow the angle of a joint with one free rotation."""
    if free == 1:
        axis = int(0)
        for k in range(3):
            if ((jp.joint_locked[item] >> (3 + k)) & 1) == 0:
                axis = k
        jr.joint_angle[item] = angle_about(f, axis, jr.joint_angle[item])


@wp.kernel
def joint_rows(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    jr: JointRows,
):
    """Rows of one joint between two bodies."""
    flat = wp.tid()
    environment = jt.flat_environment[flat]
    structure = jt.environment_structure[environment]
    block = jt.structure_block[structure] + flat - jt.environment_block[environment]
    if jt.block_kind[block] != BODY:
        return
    item = jt.flat_item[flat]
    articulation = t.environment_articulation[environment]
    base = t.articulation_link[articulation]
    end = jt.block_end[block]
    link0 = wp.where(jt.end_link[end] >= 0, base + jt.end_link[end], -1)
    link1 = wp.where(jt.end_link[end + 1] >= 0, base + jt.end_link[end + 1], -1)
    f = joint_frames(t, m, s, w, link0, link1, jp.joint_frame0[item], jp.joint_frame1[item])
    free = free_rotations(jp.joint_locked[item])
    keep_angle(jp, jr, item, f, free)
    works = jp.joint_enabled[item] == 1 and jr.joint_broken[item] == 0
    h = time_step[0] / float(substeps)
    for k in range(jt.block_rows[block]):
        place = jt.structure_row[structure] + jt.block_row[block] + k
        row = jt.environment_row[environment] + jt.block_row[block] + k
        y = jt.environment_y[environment] + jt.block_y[block] + k * jt.block_width[block]
        clear_row(jt, jr, block, y)
        start_row(jr, row, wp.where(works, RIGID, IDLE))
        kind = jt.row_kind[place]
        axis = jt.row_axis[place]
        if works:
            fill_row(t, m, s, w, jt, jp, jr, block, row, y, item, f, kind, axis, free)
        turn = h * wp.max(wp.length(f.angular0), wp.length(f.angular1))
        jr.row_curvature[row] = jr.row_curvature[row] * resolved(turn)
        response = solve_row(t, w, jt, jr, articulation, block, y)
        finish_row(jr, row, response, h)
