"""After the sweep of a substep: what joints carried, which of them break, and how the integrator goes on."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.factor import from_u
from tensorphys_dynamics._kernels.joint_arrays import (
    BODY,
    RIGID,
    SPATIAL_TENDON,
    JointParameters,
    JointRows,
    JointTables,
)
from tensorphys_dynamics._kernels.joint_frames import link_centre, place_in_link
from tensorphys_dynamics._kernels.joint_solve import push_row
from tensorphys_dynamics._kernels.thresholds import FAST, INSIDE

wp.set_module_options({"enable_backward": False})


@wp.func
def push_end(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jr: JointRows,
    flat: int,
    link: int,
    point: wp.vec3,
    force: wp.vec3,
    torque: wp.vec3,
):
    """Add an impulse at a point to what an end of a block got in the step."""
    arm = point - link_centre(m, s, w, t, link)
    pushed = wp.spatial_vector(force, torque + wp.cross(arm, force))
    jr.end_impulse[flat] = jr.end_impulse[flat] + pushed


@wp.func
def keep_ends(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    environment: int,
    block: int,
    item: int,
    load: wp.spatial_vector,
    along: float,
):
    """Add up what a joint or a spatial tendon gave its links in a substep, with the levers and the directions of it."""
    base = t.articulation_link[t.environment_articulation[environment]]
    flat = jt.environment_end[environment] - jt.structure_end[jt.environment_structure[environment]]
    first = jt.block_end[block]
    force = wp.spatial_top(load)
    torque = wp.spatial_bottom(load)
    if jt.block_kind[block] == BODY:
        link0 = jt.end_link[first]
        link1 = jt.end_link[first + 1]
        at = wp.where(link1 >= 0, base + link1, -1)
        point = wp.transform_get_translation(place_in_link(t, s, w, at, jp.joint_frame1[item]))
        if link0 >= 0:
            push_end(t, m, s, w, jr, flat + first, base + link0, point, -force, -torque)
        if link1 >= 0:
            push_end(t, m, s, w, jr, flat + first + 1, base + link1, point, force, torque)
        return
    before = wp.vec3(0.0, 0.0, 0.0)
    for k in range(first, first + jt.block_ends[block]):
        link = base + jt.end_link[k]
        frame = wp.transform(jt.end_position[k], wp.quat_identity())
        point = wp.transform_get_translation(place_in_link(t, s, w, link, frame))
        length = wp.length(point - before)
        if k > first and length > 1.0e-9:
            pull = (along * jt.end_gearing[k] / length) * (point - before)
            push_end(t, m, s, w, jr, flat + k, link, point, pull, torque)
            push_end(t, m, s, w, jr, flat + k - 1, base + jt.end_link[k - 1], before, -pull, torque)
        before = point


@wp.func
def keep_block(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    environment: int,
    block: int,
    item: int,
    h: float,
    first: int,
):
    """Add up the impulses of rows along what they measure and the wrench of a joint, and break it where the wrench of the substep is beyond its bounds."""
    force = wp.vec3(0.0, 0.0, 0.0)
    torque = wp.vec3(0.0, 0.0, 0.0)
    along = float(0.0)
    for k in range(jt.block_rows[block]):
        row = jt.environment_row[environment] + jt.block_row[block] + k
        own = jr.row_sign[row] * jr.row_impulse[row]
        along += own
        jr.row_total[row] = wp.where(first == 1, 0.0, jr.row_total[row]) + own
        force += jr.row_impulse[row] * jr.row_force[row]
        torque += jr.row_impulse[row] * jr.row_torque[row]
    if jt.block_kind[block] == BODY:
        load = wp.spatial_vector(force, torque)
        total = load
        if first == 0:
            total += jr.joint_impulse[item]
        jr.joint_impulse[item] = total
        beyond = (
            wp.length(force) > h * jp.joint_break_force[item]
            or wp.length(torque) > h * jp.joint_break_torque[item]
        )
        if beyond and jr.joint_broken[item] == 0:
            jr.joint_broken[item] = 1
            jr.joint_break_load[item] = load / h
            jr.joint_break_time[item] = jr.environment_time[environment]
            jr.joint_break_step[item] = jr.environment_step[environment]
    if jt.block_kind[block] == BODY or jt.block_kind[block] == SPATIAL_TENDON:
        if first == 1:
            flat = jt.environment_end[environment] - jt.structure_end[jt.environment_structure[environment]]
            for k in range(jt.block_end[block], jt.block_end[block] + jt.block_ends[block]):
                jr.end_impulse[flat + k] = wp.spatial_vector()
        load = wp.spatial_vector(force, torque)
        keep_ends(t, m, s, w, jt, jp, jr, environment, block, item, load, along)


@wp.func
def note_kicks(
    t: Tables, s: StateData, w: Scratch, jt: JointTables, jr: JointRows, environment: int, smooth: int
):
    """Tell the integrator what the joints did.

    Rigid rows that act alone are as smooth as forces are: what they changed belongs to the kick whose half
    synchronises the velocity with the positions. Beside anything else, velocities are those that positions moved by.
    """
    structure = jt.environment_structure[environment]
    for k in range(jt.structure_touched[structure], jt.structure_touched[structure + 1]):
        a = t.environment_articulation[environment] + jt.touched[k]
        if jt.touched_outside[k] == 1:
            w.momentum_known[a] = 0
        if smooth == 0:
            w.loaded[a] = wp.max(w.loaded[a], INSIDE)
        else:
            from_u(t, w, a, jr.u, jr.v)
            for i in range(t.articulation_velocity[a], t.articulation_velocity[a + 1]):
                w.kick[i] = w.kick[i] + jr.v[i]


@wp.kernel
def keep_joints(
    t: Tables,
    m: ModelData,
    s: StateData,
    jt: JointTables,
    jp: JointParameters,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    first: wp.int32,
    # outputs
    w: Scratch,
    jr: JointRows,
):
    """One environment after its sweep."""
    environment = wp.tid()
    structure = jt.environment_structure[environment]
    h = time_step[0] / float(substeps)
    jr.environment_time[environment] = jr.environment_time[environment] + h
    jr.environment_step[environment] = jr.environment_step[environment] + first
    smooth = int(1)
    for k in range(jt.structure_touched[structure], jt.structure_touched[structure + 1]):
        a = t.environment_articulation[environment] + jt.touched[k]
        if w.loaded[a] != 0 or s.fresh[a] == 1:
            smooth = 0
        for link in range(t.articulation_link[a], t.articulation_link[a + 1]):
            if h * wp.length(w.link_angular[link]) > FAST:
                smooth = 0
        for i in range(t.articulation_velocity[a], t.articulation_velocity[a + 1]):
            jr.u[i] = 0.0
    for block in range(jt.structure_block[structure], jt.structure_block[structure + 1]):
        for k in range(jt.block_rows[block]):
            row = jt.environment_row[environment] + jt.block_row[block] + k
            impulse = jr.row_impulse[row]
            if impulse != 0.0:
                if jr.row_law[row] != RIGID:
                    smooth = 0
                y = jt.environment_y[environment] + jt.block_y[block] + k * jt.block_width[block]
                push_row(t, jt, jr, environment, block, y, impulse, jr.u)
    for block in range(jt.structure_block[structure], jt.structure_block[structure + 1]):
        item = jt.flat_item[jt.environment_block[environment] + block - jt.structure_block[structure]]
        keep_block(t, m, s, w, jt, jp, jr, environment, block, item, h, first)
    note_kicks(t, s, w, jt, jr, environment, smooth)


@wp.func
def written_end(t: Tables, s: StateData, jt: JointTables, articulation: int, end: int):
    """Whether a setter wrote the articulation of an end of a joint."""
    written = int(0)
    if jt.end_link[end] >= 0:
        written = s.fresh[t.link_articulation[t.articulation_link[articulation] + jt.end_link[end]]]
    return written


@wp.kernel
def forget_joints(
    t: Tables,
    s: StateData,
    jt: JointTables,
    # outputs
    jr: JointRows,
):
    """Forget what is warm in the blocks of environments that a setter wrote; angles start without full turns."""
    flat = wp.tid()
    environment = jt.flat_environment[flat]
    written = int(0)
    for a in range(t.environment_articulation[environment], t.environment_articulation[environment + 1]):
        if s.fresh[a] == 1:
            written = 1
    if written == 0:
        return
    structure = jt.environment_structure[environment]
    block = jt.structure_block[structure] + flat - jt.environment_block[environment]
    for k in range(jt.block_rows[block]):
        row = jt.environment_row[environment] + jt.block_row[block] + k
        jr.row_state[row] = 0
    if jt.block_kind[block] == BODY:
        item = jt.flat_item[flat]
        first = t.environment_articulation[environment]
        end = jt.block_end[block]
        if written_end(t, s, jt, first, end) == 1 or written_end(t, s, jt, first, end + 1) == 1:
            jr.joint_angle[item] = 0.0
