"""Smooth part of a substep: mass matrix, bias and drive forces of one articulation, and its free velocity.

The scheme is a leapfrog whose reported velocity is synchronised with the positions. With the half-time
velocity v₋ and the extrapolated v at the time of the positions q, a kick of length h is
v₊ = v₋ + h a(q, v), then q ← q + h v₊, then v ← v₊ + h a / 2 where nothing but smooth forces acts. The last
term is kept as `half_kick` and taken back at the next kick. Drives and passive springs act implicitly over the
whole kick: M + h (h K + D) is factorised, so all of them are solved together.
"""

import warp as wp

from tensorphys_dynamics._kernels.advance import advance_articulation, set_out
from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ControlData,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.ball_rows import make_ball_row, may_reach_ball_limit
from tensorphys_dynamics._kernels.balls import ball_place
from tensorphys_dynamics._kernels.drives import (
    LOADED_SATURATION,
    actuator_force,
    assemble_drives,
    drive_scale,
    effort_bound,
    is_bounded,
    saturate,
)
from tensorphys_dynamics._kernels.factor import dof_response, factorize, solve, to_u
from tensorphys_dynamics._kernels.friction import (
    is_rough,
    is_smooth,
    joint_loads,
    lock_resting,
    release,
    unlock,
)
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics
from tensorphys_dynamics._kernels.precise import is_strained, precise_kick
from tensorphys_dynamics._kernels.tension import add_tension
from tensorphys_dynamics._kernels.thin_spin import turn_thin
from tensorphys_dynamics._kernels.thresholds import ATTEMPTS
from tensorphys_dynamics._kernels.trail import copy_positions, keep_change, keep_substep
from tensorphys_dynamics._kernels.wrenches import wrenches

wp.set_module_options({"enable_backward": False})


@wp.func
def mass_rows(t: Tables, m: ModelData, w: Scratch, a: int):
    """Entries of the mass matrix and the generalized force of links, by composite inertias
    [Featherstone 2008, §6.2]."""
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    start = t.articulation_velocity[a]
    for i in range(t.type_velocities[kind]):
        link = t.articulation_link[a] + t.velocity_link[first + i]
        motion_angular = w.motion_angular[start + i]
        motion_linear = w.motion_linear[start + i]
        moment = w.subtree_moment[link]
        n = w.subtree_inertia[link] * motion_angular + wp.cross(moment, motion_linear)
        f = w.subtree_mass[link] * motion_linear - wp.cross(moment, motion_angular)
        local = t.velocity_entry[first + i]
        depth = t.velocity_depth[first + i]
        for k in range(depth + 1):
            j = start + t.chain[t.type_entry[kind] + local + k]
            w.mass_entry[t.articulation_entry[a] + local + k] = wp.dot(w.motion_angular[j], n) + wp.dot(
                w.motion_linear[j], f
            )
        if i >= t.type_root[kind]:
            last = t.articulation_entry[a] + local + depth
            dof = t.articulation_dof[a] + i - t.type_root[kind]
            w.mass_entry[last] = w.mass_entry[last] + m.dof_armature[dof]
        w.force[start + i] = wp.dot(motion_angular, w.link_torque[link]) + wp.dot(
            motion_linear, w.link_force[link]
        )


@wp.func
def kicked_velocity(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int):
    """Free velocity after the kick, see the head of this module."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    fresh = s.fresh[a]
    for i in range(t.type_velocities[kind]):
        weight = float(1.0)
        if i < root:
            if fresh == 1 or s.root_synced[a] == 1:
                weight = 0.5
        elif fresh == 1:
            if is_smooth(m, t.articulation_dof[a] + i - root):
                weight = 0.5
        index = start + i
        w.free_velocity[index] = s.velocity[index] - s.half_kick[index] + weight * w.kick[index]
        if i < root and w.locked[index] == 1:
            w.free_velocity[index] = 0.0


@wp.func
def fastest_joint(t: Tables, w: Scratch, a: int):
    """Largest speed of the degrees of freedom."""
    kind = t.articulation_type[a]
    result = float(0.0)
    for i in range(t.type_root[kind], t.type_velocities[kind]):
        result = wp.max(result, wp.abs(w.free_velocity[t.articulation_velocity[a] + i]))
    return result


@wp.func
def may_reach_limit(
    t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, i: int, h: float, fastest: float
):
    """Whether a degree of freedom may come to a limit in the substep, or was at one; a limit that another one hits
    may throw it there."""
    dof = t.articulation_dof[a] + i - t.type_root[t.articulation_type[a]]
    if ball_place(m, dof) >= 0:
        return may_reach_ball_limit(t, m, s, w, a, i, h, fastest)
    reach = h * wp.max(4.0 * wp.abs(w.free_velocity[t.articulation_velocity[a] + i]), 2.0 * fastest)
    q = s.dof_position[dof]
    return q - m.dof_lower[dof] <= reach or m.dof_upper[dof] - q <= reach or s.dof_limit_force[dof] != 0.0


@wp.func
def any_limit(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float):
    """Whether an articulation may come to a limit."""
    kind = t.articulation_type[a]
    result = int(0)
    fastest = fastest_joint(t, w, a)
    for i in range(t.type_root[kind], t.type_velocities[kind]):
        if may_reach_limit(t, m, s, w, a, i, h, fastest):
            result = 1
    return result


@wp.func
def dof_rows(t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float):
    """Rows of limits that may be reached in the substep, of friction that is not locked, and of drives that a contact
    may saturate."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    fastest = fastest_joint(t, w, a)
    for i in range(root, t.type_velocities[kind]):
        dof = t.articulation_dof[a] + i - root
        index = t.articulation_velocity[a] + i
        flag = int(0)
        if may_reach_limit(t, m, s, w, a, i, h, fastest):
            flag = 1
            if ball_place(m, dof) >= 0:
                flag = 16
                make_ball_row(t, m, s, w, a, i)
        if is_bounded(m, dof):
            if wp.abs(s.dof_saturation[dof]) == LOADED_SATURATION:
                flag += 4
            elif s.dof_saturation[dof] == 0 and w.locked[index] == 0:
                flag += 2
        if w.locked[index] == 0 and is_rough(m, dof):
            flag += 8
        w.dof_row_flag[index] = flag
        w.dof_limit_impulse[index] = 0.0
        w.dof_slack_impulse[index] = 0.0
        w.dof_friction_impulse[index] = 0.0
        velocity = w.free_velocity[index]
        w.drive_force[index] = actuator_force(m, s, c, dof, w.drive_force[index], velocity, h)
        w.drive_bound[index] = effort_bound(m, dof, velocity)
        if flag != 0:
            w.dof_row_mass[index] = 1.0 / wp.max(dof_response(t, w, a, i), 1.0e-30)


@wp.func
def stand_still(
    t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float, first: int
):
    """An articulation out of the simulation: every velocity is locked at zero."""
    kind = t.articulation_type[a]
    start = t.articulation_velocity[a]
    for i in range(start, start + t.type_velocities[kind]):
        w.locked[i] = 1
        w.drive_force[i] = 0.0
    assemble_drives(t, m, s, c, w, a, h, first)
    factorize(t, m, w, a)
    solve(t, w, a, w.kick)
    for i in range(start, start + t.type_velocities[kind]):
        s.velocity[i] = 0.0
        s.half_kick[i] = 0.0
        w.kick[i] = 0.0
        w.free_velocity[i] = 0.0
        w.u[i] = 0.0
        w.u_drift[i] = 0.0
        w.dof_row_flag[i] = 0
        w.dof_limit_impulse[i] = 0.0
        w.dof_friction_impulse[i] = 0.0
    w.momentum_known[a] = 0


@wp.func
def stand_idle(t: Tables, m: ModelData, s: StateData, w: Scratch, y: StateData, a: int):
    """An articulation that sleeps and is left alone: nothing moves it, and what bears it is kept."""
    start = t.articulation_velocity[a]
    copy_positions(t, m, s, y, a)
    for i in range(start, start + t.type_velocities[t.articulation_type[a]]):
        y.velocity_change[i] = 0.0
        w.kick[i] = 0.0
        w.free_velocity[i] = 0.0
        w.u[i] = 0.0
        w.u_drift[i] = 0.0
        w.dof_row_flag[i] = 0
    w.loaded[a] = 0
    w.rubbed[a] = 0
    w.momentum_known[a] = 0


@wp.func
def unblend_root(t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float):
    """Have a synchronised root feel what is applied now.

    Tells whether anything applied has changed. Its half kick starts at the time of the positions, so that it does not straddle the change of the applied forces as
    the kicks of joints do; a force that stops must leave no trace in the motion of the centre of mass.
    """
    kind = t.articulation_type[a]
    start = t.articulation_velocity[a]
    base = t.articulation_link[a]
    changed = int(0)
    for local in range(t.type_links[kind]):
        link = base + local
        force = 0.5 * (c.link_force[link] - s.previous_force[link])
        torque = 0.5 * (c.link_torque[link] - s.previous_torque[link])
        if wp.length(force) + wp.length(torque) > 0.0:
            changed = 1
        w.link_load_force[link] = force
        w.link_load_torque[link] = torque + wp.cross(w.link_com_offset[link], force)
    for i in range(6, t.type_velocities[kind]):
        dof = t.articulation_dof[a] + i - 6
        if c.actuation[dof] != s.previous_actuation[dof]:
            changed = 1
    if changed == 0:
        return 0
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        link = base + local
        parent = base + t.link_parent[t.type_link[kind] + local]
        w.link_load_force[parent] = w.link_load_force[parent] + w.link_load_force[link]
        w.link_load_torque[parent] = w.link_load_torque[parent] + w.link_load_torque[link]
    for i in range(t.type_velocities[kind]):
        link = base + t.velocity_link[t.type_velocity[kind] + i]
        along = wp.dot(w.motion_linear[start + i], w.link_load_force[link])
        along += wp.dot(w.motion_angular[start + i], w.link_load_torque[link])
        if i >= 6:
            dof = t.articulation_dof[a] + i - 6
            along += 0.5 * (c.actuation[dof] - s.previous_actuation[dof])
        w.force[start + i] = h * along
    solve(t, w, a, w.force)
    for i in range(6):
        w.free_velocity[start + i] = w.free_velocity[start + i] + 0.5 * w.force[start + i]
        w.kick[start + i] = w.kick[start + i] + w.force[start + i]
    return 1


@wp.func
def find_kick(
    t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float, first: int
):
    """The kick of a substep and the velocity after it, with the drives at their bounds and the friction that holds."""
    for attempt in range(ATTEMPTS):
        if attempt == ATTEMPTS - 1:
            unlock(t, m, w, a)
        assemble_drives(t, m, s, c, w, a, h, first)
        factorize(t, m, w, a)
        if is_strained(t, w, a) == 1:
            precise_kick(t, m, s, c, w, a, h, first)
        else:
            solve(t, w, a, w.kick)
        kicked_velocity(t, m, s, w, a)
        changed = release(t, m, s, w, a, h)
        if any_limit(t, m, s, w, a, h) == 1:
            changed += unlock(t, m, w, a)
        if attempt < ATTEMPTS - 1:
            changed += saturate(t, m, s, c, w, a, h)
        if changed == 0:
            break


@wp.kernel
def smooth_substep(
    t: Tables,
    m: ModelData,
    c: ControlData,
    k: ContactData,
    r: ContactRows,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    first: wp.int32,
    # outputs
    s: StateData,
    w: Scratch,
    before: StateData,
    y: StateData,
):
    """One articulation from the end of the last sweep to the free velocity of this substep."""
    a = wp.tid()
    h = time_step[0] / float(substeps)
    if w.idle[a] == 1:
        stand_idle(t, m, s, w, y, a)
        return
    if first == 0:
        advance_articulation(t, m, s, w, a, h)
        keep_change(t, w, before, a)
    else:
        set_out(t, m, s, w, a)
    articulation_kinematics(t, m, s, w, a)
    wrenches(t, m, s, c, w, a, h, first)
    add_tension(t, m, w, a, h)
    mass_rows(t, m, w, a)
    unlock(t, m, w, a)
    w.loaded[a] = 0
    w.rubbed[a] = 0
    if m.link_disabled[t.articulation_link[a]] == 1:
        stand_still(t, m, s, c, w, a, h, first)
        keep_substep(t, m, s, w, y, a, 0)
        return
    drive_scale(t, m, w, a)
    joint_loads(t, m, s, w, k, r, a, h)
    lock_resting(t, m, s, w, a)
    find_kick(t, m, s, c, w, a, h, first)
    unblended = int(0)
    if first == 1 and s.fresh[a] == 0 and s.root_synced[a] == 1:
        unblended = unblend_root(t, m, s, c, w, a, h)
    spun = turn_thin(t, m, s, w, a, h)
    keep_substep(t, m, s, w, y, a, unblended)
    if wp.length_sq(spun) > 0.0:
        # the reported velocity is not carried on along the spin
        for i in range(3):
            index = t.articulation_velocity[a] + 3 + i
            w.kick[index] = w.kick[index] - spun[i]
    dof_rows(t, m, s, c, w, a, h)
    to_u(t, w, a, w.free_velocity, w.u)
