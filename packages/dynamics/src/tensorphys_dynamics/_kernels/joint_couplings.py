"""Rows that couple degrees of freedom: mimic joints, fixed tendons, gears; and spatial tendons over points of links."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.balls import ball_place, three, vector_curvature, vector_rates
from tensorphys_dynamics._kernels.joint_arrays import (
    BODY,
    COUPLING,
    FIXED_TENDON,
    GEAR,
    IDLE,
    MIMIC,
    RIGID,
    SPATIAL_TENDON,
    SPRING,
    UNIT_SPRING,
    JointParameters,
    JointRows,
    JointTables,
)
from tensorphys_dynamics._kernels.joint_frames import (
    free_rotations,
    joint_frames,
    place_in_link,
)
from tensorphys_dynamics._kernels.joint_responses import (
    add_wrench,
    clear_row,
    finish_row,
    set_limit,
    solve_row,
    start_row,
)
from tensorphys_dynamics._kernels.joint_rows import axis_wrench

wp.set_module_options({"enable_backward": False})


@wp.func
def term_articulation(jt: JointTables, first_articulation: int, block: int):
    """Articulation of a block that couples degrees of freedom."""
    return first_articulation + jt.segment_articulation[jt.block_segment[block]]


@wp.func
def term_length(t: Tables, s: StateData, jt: JointTables, first_articulation: int, block: int):
    """Σ gearing · q over the terms of a block."""
    a = term_articulation(jt, first_articulation, block)
    total = float(0.0)
    for k in range(jt.block_term[block], jt.block_term[block] + jt.block_terms[block]):
        total += jt.term_gearing[k] * s.dof_position[t.articulation_dof[a] + jt.term_dof[k]]
    return total


@wp.func
def fill_terms(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jr: JointRows,
    first_articulation: int,
    block: int,
    row: int,
    y: int,
    sign: float,
):
    """J of a row over degrees of freedom; all three velocities of a ball joint move each of its positions.

    It has the factors of the forces, by which the row acts; where those of the length are others, the rate of the
    length differs by what the velocity before the sweep says.
    """
    a = term_articulation(jt, first_articulation, block)
    start = t.articulation_velocity[a]
    for k in range(jt.block_term[block], jt.block_term[block] + jt.block_terms[block]):
        i = jt.term_velocity[k]
        force = sign * jt.term_force[k]
        other = sign * jt.term_gearing[k] - force
        dof = t.articulation_dof[a] + jt.term_dof[k]
        place = ball_place(m, dof)
        if place < 0:
            jr.y[y + i] = jr.y[y + i] + force
            jr.row_prescribed[row] = jr.row_prescribed[row] + other * w.free_velocity[start + i]
        else:
            first = i - place
            turn = three(s.dof_position, dof - place)
            rates = vector_rates(turn, place)
            for j in range(3):
                jr.y[y + first + j] = jr.y[y + first + j] + force * rates[j]
            along = wp.dot(rates, three(w.free_velocity, start + first))
            jr.row_prescribed[row] = jr.row_prescribed[row] + other * along
            curvature = vector_curvature(turn, three(w.free_velocity, start + first), place)
            jr.row_curvature[row] = jr.row_curvature[row] + sign * jt.term_gearing[k] * curvature


@wp.func
def mimic_law(jp: JointParameters, jr: JointRows, item: int, row: int, length: float):
    """q + gearing · q of the reference + offset = 0, rigid or as an oscillator of the inertia that the row sees."""
    frequency = jp.mimic_natural_frequency[item]
    ratio = jp.mimic_damping_ratio[item]
    jr.row_error[row] = length + jp.mimic_offset[item]
    if frequency > 0.0 and ratio > 0.0:
        jr.row_law[row] = UNIT_SPRING
        jr.row_stiffness[row] = frequency * frequency
        jr.row_damping[row] = 2.0 * ratio * frequency
    if jp.mimic_enabled[item] == 0:
        jr.row_law[row] = IDLE


@wp.func
def tendon_spring(jr: JointRows, row: int, stretch: float, band: float, stiffness: float, damping: float):
    """The spring-damper of a length; it is slack over a band above the rest length."""
    jr.row_law[row] = SPRING
    jr.row_error[row] = wp.where(stretch > band, stretch - band, wp.min(stretch, 0.0))
    jr.row_stiffness[row] = wp.where(stretch > 0.0 and stretch <= band, 0.0, stiffness)
    jr.row_damping[row] = damping


@wp.func
def tendon_limit(
    jr: JointRows, row: int, length: float, lower: float, upper: float, stiffness: float, hard: int
):
    """The nearer bound of a length, hard or a spring beyond it; returns the sign of its row."""
    below = length - lower
    above = upper - length
    set_limit(jr, row, wp.min(below, above), 0.0, wp.where(hard == 1, 0.0, stiffness), 0.0)
    if stiffness <= 0.0 and hard == 0:
        jr.row_law[row] = IDLE
    sign = wp.where(below <= above, 1.0, -1.0)
    jr.row_sign[row] = sign
    return sign


@wp.func
def fixed_tendon_law(jp: JointParameters, jr: JointRows, item: int, row: int, kind: int, length: float):
    """The spring-damper of a fixed tendon, or that of its limits; returns the sign of the row."""
    sign = float(1.0)
    total = length + jp.fixed_tendon_offset[item]
    if kind == COUPLING:
        stretch = total - jp.fixed_tendon_rest_length[item]
        stiffness = jp.fixed_tendon_stiffness[item]
        tendon_spring(
            jr, row, stretch, jp.fixed_tendon_dead_band[item], stiffness, jp.fixed_tendon_damping[item]
        )
        jr.row_bound[row] = jp.fixed_tendon_max_force[item]
    else:
        limits = jp.fixed_tendon_limits[item]
        stiffness = jp.fixed_tendon_limit_stiffness[item]
        hard = jp.fixed_tendon_hard_limits[item]
        sign = tendon_limit(jr, row, total, limits[0], limits[1], stiffness, hard)
    if jp.fixed_tendon_enabled[item] == 0:
        jr.row_law[row] = IDLE
    return sign


@wp.func
def tendon_length(t: Tables, s: StateData, w: Scratch, jt: JointTables, base: int, block: int):
    """Σ gearing · distance along the attachments from the root to a leaf."""
    total = float(0.0)
    first = jt.block_end[block]
    before = wp.vec3(0.0, 0.0, 0.0)
    for k in range(first, first + jt.block_ends[block]):
        frame = wp.transform(jt.end_position[k], wp.quat_identity())
        point = wp.transform_get_translation(place_in_link(t, s, w, base + jt.end_link[k], frame))
        if k > first:
            total += jt.end_gearing[k] * wp.length(point - before)
        before = point
    return total


@wp.func
def fill_tendon(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jr: JointRows,
    base: int,
    block: int,
    row: int,
    y: int,
    sign: float,
):
    """J of the length of a spatial tendon: unit forces along each piece on its two attachments."""
    first = jt.block_end[block]
    segment = jt.block_segment[block]
    before = wp.vec3(0.0, 0.0, 0.0)
    none = wp.vec3(0.0, 0.0, 0.0)
    for k in range(first, first + jt.block_ends[block]):
        link = base + jt.end_link[k]
        frame = wp.transform(jt.end_position[k], wp.quat_identity())
        point = wp.transform_get_translation(place_in_link(t, s, w, link, frame))
        length = wp.length(point - before)
        if k > first and length > 1.0e-9:
            pull = (sign * jt.end_gearing[k] / length) * (point - before)
            here = y + jt.segment_offset[segment + jt.end_segment[k]]
            there = y + jt.segment_offset[segment + jt.end_segment[k - 1]]
            add_wrench(t, m, s, w, jr, row, here, link, point, pull, none)
            add_wrench(t, m, s, w, jr, row, there, base + jt.end_link[k - 1], before, -pull, none)
        before = point


@wp.func
def spatial_tendon_law(jp: JointParameters, jr: JointRows, item: int, row: int, kind: int, length: float):
    """The spring-damper of a spatial tendon's leaf, or that of its limits; returns the sign of the row."""
    sign = float(1.0)
    tendon = jp.leaf_tendon[item]
    total = length + jp.spatial_tendon_offset[tendon]
    if kind == COUPLING:
        stretch = total - jp.leaf_rest_length[item]
        band = jp.spatial_tendon_dead_band[tendon]
        damping = jp.spatial_tendon_damping[tendon]
        tendon_spring(jr, row, stretch, band, jp.spatial_tendon_stiffness[tendon], damping)
    else:
        stiffness = jp.spatial_tendon_limit_stiffness[tendon]
        hard = jp.spatial_tendon_hard_limits[tendon]
        sign = tendon_limit(jr, row, total, jp.leaf_lower[item], jp.leaf_upper[item], stiffness, hard)
    if jp.spatial_tendon_enabled[tendon] == 0:
        jr.row_law[row] = IDLE
    return sign


@wp.func
def gear_part(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    base: int,
    block: int,
    row: int,
    y: int,
    part: int,
    joint: int,
    axis: int,
    factor: float,
):
    """Add one of the two joints of a gear: factor · displacement along its axis."""
    segment = jt.block_segment[block]
    end = jt.block_end[block] + 2 * part
    link0 = wp.where(jt.end_link[end] >= 0, base + jt.end_link[end], -1)
    link1 = wp.where(jt.end_link[end + 1] >= 0, base + jt.end_link[end + 1], -1)
    f = joint_frames(t, m, s, w, link0, link1, jp.joint_frame0[joint], jp.joint_frame1[joint])
    free = free_rotations(jp.joint_locked[joint])
    value, force, torque, curvature = axis_wrench(f, axis, free, jr.joint_angle[joint])
    jr.row_error[row] = jr.row_error[row] + factor * value
    jr.row_curvature[row] = jr.row_curvature[row] + factor * curvature
    if link0 >= 0:
        first = y + jt.segment_offset[segment + jt.end_segment[end]]
        add_wrench(t, m, s, w, jr, row, first, link0, f.p1, -factor * force, -factor * torque)
    if link1 >= 0:
        first = y + jt.segment_offset[segment + jt.end_segment[end + 1]]
        add_wrench(t, m, s, w, jr, row, first, link1, f.p1, factor * force, factor * torque)


@wp.func
def gear_row(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    base: int,
    block: int,
    row: int,
    y: int,
    item: int,
):
    """factor 0 · displacement of joint 0 + factor 1 · that of joint 1 + offset = 0."""
    jr.row_error[row] = jp.gear_offset[item]
    first = jp.gear_joint0[item]
    second = jp.gear_joint1[item]
    axis0 = jp.gear_axis0[item]
    axis1 = jp.gear_axis1[item]
    gear_part(t, m, s, w, jt, jp, jr, base, block, row, y, 0, first, axis0, jp.gear_factor0[item])
    gear_part(t, m, s, w, jt, jp, jr, base, block, row, y, 1, second, axis1, jp.gear_factor1[item])
    if jr.joint_broken[first] == 1 or jr.joint_broken[second] == 1:
        jr.row_law[row] = IDLE


@wp.kernel
def coupling_rows(
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
    """Rows of one coupling."""
    flat = wp.tid()
    environment = jt.flat_environment[flat]
    structure = jt.environment_structure[environment]
    block = jt.structure_block[structure] + flat - jt.environment_block[environment]
    kind = jt.block_kind[block]
    if kind == BODY:
        return
    item = jt.flat_item[flat]
    articulation = t.environment_articulation[environment]
    base = t.articulation_link[articulation]
    h = time_step[0] / float(substeps)
    for k in range(jt.block_rows[block]):
        row_kind = jt.row_kind[jt.structure_row[structure] + jt.block_row[block] + k]
        row = jt.environment_row[environment] + jt.block_row[block] + k
        y = jt.environment_y[environment] + jt.block_y[block] + k * jt.block_width[block]
        clear_row(jt, jr, block, y)
        start_row(jr, row, RIGID)
        if kind == MIMIC:
            mimic_law(jp, jr, item, row, term_length(t, s, jt, articulation, block))
            fill_terms(t, m, s, w, jt, jr, articulation, block, row, y, 1.0)
        elif kind == FIXED_TENDON:
            length = term_length(t, s, jt, articulation, block)
            sign = fixed_tendon_law(jp, jr, item, row, row_kind, length)
            fill_terms(t, m, s, w, jt, jr, articulation, block, row, y, sign)
        elif kind == SPATIAL_TENDON:
            length = tendon_length(t, s, w, jt, base, block)
            sign = spatial_tendon_law(jp, jr, item, row, row_kind, length)
            fill_tendon(t, m, s, w, jt, jr, base, block, row, y, sign)
        elif kind == GEAR:
            gear_row(t, m, s, w, jt, jp, jr, base, block, row, y, item)
        response = solve_row(t, w, jt, jr, articulation, block, y)
        if kind == MIMIC or kind == FIXED_TENDON:
            jr.row_scale[row] = response
        finish_row(jr, row, response, h)
