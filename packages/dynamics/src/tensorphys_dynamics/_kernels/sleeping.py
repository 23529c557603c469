"""Sleep: which articulations are at rest, and what wakes them.

Articulations that move are nodes of a graph whose edges are contacts and joints; its components are islands, which fall
asleep and wake together. Labels are found by linking roots of trees to smaller roots [Jayanti & Tarjan 2016], so that the
label of an island is its least articulation, whatever the order of threads. What else is counted is integer.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ControlData,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.balls import ball_place
from tensorphys_dynamics._kernels.joint_arrays import BODY, JointParameters, JointRows, JointTables

wp.set_module_options({"enable_backward": False})

# Time below the threshold after which a body may fall asleep [s].
WAKEFUL = wp.constant(0.4)
# A body whose energy doubles within that time speeds up and is not at rest; below FLOOR of the threshold it is noise.
GROWTH = wp.constant(2.0)
FLOOR = wp.constant(1.0e-3)
# Steps asleep after which the loads of a body stand still, so that they are kept instead of found again.
SETTLED = wp.constant(16)
UNKNOWN = wp.constant(1.0e30)


@wp.struct
class SleepData:
    """Sleep by articulation, unless said otherwise; see `sleeping.Sleep`."""

    threshold: wp.array[wp.float32]
    # what the next step reads
    asleep: wp.array[wp.int32]  # steps asleep, up to SETTLED, 0 where awake
    wake_counter: wp.array[wp.float32]
    quiet_energy: wp.array[wp.float32]  # least energy since the counter was set
    request: wp.array[wp.int32]  # 1 where the user woke it
    kept_support: wp.array[wp.int32]  # contacts and joints that held it in the last step
    kept_gravity: wp.array[wp.vec3]
    kept_position_target: wp.array[wp.float32]  # by degree of freedom
    kept_velocity_target: wp.array[wp.float32]
    kept_actuation: wp.array[wp.float32]
    # one step
    parent: wp.array[wp.int32]
    label: wp.array[wp.int32]
    stirred: wp.array[wp.int32]
    support: wp.array[wp.int32]
    busy: wp.array[wp.int32]  # by label: whether a member is awake
    lively: wp.array[wp.int32]  # by label: whether a member was not quiet for long enough
    unsettled: wp.array[wp.int32]  # by environment: whether the loads of anything that moves are to be found
    rest_root_pose: wp.array[wp.transform]
    rest_dof_position: wp.array[wp.float32]
    rest_ball_turn: wp.array[wp.quat]
    rest_link_pose: wp.array[wp.transform]


@wp.func
def is_node(t: Tables, m: ModelData, a: int):
    """Whether an articulation moves by itself."""
    moves = t.type_velocities[t.articulation_type[a]] > 0
    return moves and m.link_disabled[t.articulation_link[a]] == 0


@wp.func
def moves_by_hand(t: Tables, s: StateData, a: int):
    """Whether an articulation without velocities of its own is moved in this step, or was put somewhere."""
    moved = int(0)
    if t.type_velocities[t.articulation_type[a]] == 0:
        v = s.root_velocity[a]
        if s.fresh[a] == 1 or wp.dot(v, v) > 0.0:
            moved = 1
    return moved


@wp.func
def find_root(z: SleepData, a: int):
    """Root of the tree that an articulation is in."""
    root = a
    while z.parent[root] != root:
        root = z.parent[root]
    return root


@wp.func
def unite(z: SleepData, a: int, b: int):
    """Put two articulations into one tree."""
    low = find_root(z, a)
    high = find_root(z, b)
    while low != high:
        if low > high:
            swap = low
            low = high
            high = swap
        found = wp.atomic_cas(z.parent, high, high, low)
        if found == high:
            high = low
        else:
            # another thread was here before: go on from where it linked to
            high = find_root(z, found)
            low = find_root(z, low)


@wp.func
def wake(s: StateData, z: SleepData, a: int):
    """Wake an articulation: it starts from rest, as after a write."""
    if z.asleep[a] > 0 or z.request[a] == 1:
        s.fresh[a] = 1
    z.asleep[a] = 0
    z.request[a] = 0
    z.wake_counter[a] = WAKEFUL
    z.quiet_energy[a] = UNKNOWN


@wp.func
def note_inputs(t: Tables, m: ModelData, c: ControlData, z: SleepData, a: int):
    """Remember what a sleeping articulation is held by, to see when it changes."""
    z.kept_gravity[a] = m.gravity[t.articulation_environment[a]]
    kind = t.articulation_type[a]
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        dof = t.articulation_dof[a] + i
        z.kept_position_target[dof] = c.position_target[dof]
        z.kept_velocity_target[dof] = c.velocity_target[dof]
        z.kept_actuation[dof] = c.actuation[dof]


@wp.func
def inputs_changed(t: Tables, m: ModelData, s: StateData, c: ControlData, z: SleepData, a: int):
    """Whether a setter wrote an articulation, or something else is to act on it than when it fell asleep."""
    changed = s.fresh[a]
    if wp.length_sq(m.gravity[t.articulation_environment[a]] - z.kept_gravity[a]) != 0.0:
        changed = 1
    kind = t.articulation_type[a]
    for i in range(t.type_links[kind]):
        link = t.articulation_link[a] + i
        force = c.link_force[link] - s.previous_force[link]
        torque = c.link_torque[link] - s.previous_torque[link]
        if wp.length_sq(force) + wp.length_sq(torque) != 0.0:
            changed = 1
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        dof = t.articulation_dof[a] + i
        if (
            z.kept_position_target[dof] != c.position_target[dof]
            or z.kept_velocity_target[dof] != c.velocity_target[dof]
            or z.kept_actuation[dof] != c.actuation[dof]
        ):
            changed = 1
    return changed


@wp.kernel
def stir(
    t: Tables,
    m: ModelData,
    c: ControlData,
    previous_count: wp.array[wp.int32],
    # outputs
    s_inout: StateData,
    z_inout: SleepData,
):
    """One articulation by itself: whether it is to wake."""
    a = wp.tid()
    z_inout.parent[a] = a
    z_inout.support[a] = 0
    z_inout.busy[a] = 0
    z_inout.lively[a] = 0
    environment = t.articulation_environment[a]
    z_inout.unsettled[environment] = 0
    stirred = z_inout.request[a]
    if z_inout.asleep[a] > 0:
        if inputs_changed(t, m, s_inout, c, z_inout, a) == 1:
            stirred = 1
        if previous_count[environment] == 0:
            z_inout.asleep[a] = 1  # its loads were forgotten
    z_inout.stirred[a] = stirred


@wp.func
def point_velocity(m: ModelData, s: StateData, link: int, point: wp.vec3):
    """Velocity of a point of a link."""
    v = s.link_velocity[link]
    centre = wp.transform_point(s.link_pose[link], m.link_com[link])
    return wp.spatial_top(v) + wp.cross(wp.spatial_bottom(v), point - centre)


@wp.func
def stir_other(t: Tables, m: ModelData, s: StateData, z: SleepData, link: int, other: int):
    """Wake the articulation of a link that touches something moved by hand."""
    if link >= 0 and other >= 0:
        if moves_by_hand(t, s, t.link_articulation[other]) == 1:
            z.stirred[t.link_articulation[link]] = 1


@wp.func
def node_of(t: Tables, m: ModelData, link: int):
    """Articulation of a link, −1 where it does not move by itself."""
    node = int(-1)
    if link >= 0:
        a = t.link_articulation[link]
        if is_node(t, m, a):
            node = a
    return node


@wp.kernel
def join_contacts(
    t: Tables,
    m: ModelData,
    s: StateData,
    k: ContactData,
    time_step: wp.array[wp.float32],
    # outputs
    z_inout: SleepData,
):
    """One contact: an edge where it can touch within the step, a support where it touches at rest."""
    slot = wp.tid()
    environment = k.environment[slot]
    if slot - k.slot_start[environment] >= k.count[environment]:
        return
    body0 = k.body0[slot]
    body1 = k.body1[slot]
    p0 = k.anchor0[slot]
    p1 = k.anchor1[slot]
    v = wp.vec3(0.0, 0.0, 0.0)
    if body0 >= 0:
        p0 = wp.transform_point(s.link_pose[body0], p0)
        v += point_velocity(m, s, body0, p0)
    if body1 >= 0:
        p1 = wp.transform_point(s.link_pose[body1], p1)
        v -= point_velocity(m, s, body1, p1)
    n = k.normal[slot]
    dt = time_step[0]
    gap = wp.dot(n, p0 - p1) - k.rest_distance[slot]
    fall = dt * dt * wp.length(m.gravity[environment])
    if gap > fall + dt * wp.max(0.0, -wp.dot(n, v)):
        return
    a0 = node_of(t, m, body0)
    a1 = node_of(t, m, body1)
    if a0 >= 0 and a1 >= 0:
        if a0 != a1:
            unite(z_inout, a0, a1)
    else:
        stir_other(t, m, s, z_inout, body0, body1)
        stir_other(t, m, s, z_inout, body1, body0)
    if gap <= fall:
        if a0 >= 0:
            wp.atomic_add(z_inout.support, a0, 1)
        if a1 >= 0:
            wp.atomic_add(z_inout.support, a1, 1)


@wp.kernel
def join_blocks(
    t: Tables,
    m: ModelData,
    s: StateData,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    # outputs
    z_inout: SleepData,
):
    """One joint, coupling or tendon: edges between all articulations that it acts on."""
    flat = wp.tid()
    environment = jt.flat_environment[flat]
    structure = jt.environment_structure[environment]
    block = jt.structure_block[structure] + flat - jt.environment_block[environment]
    if jt.block_kind[block] == BODY:
        item = jt.flat_item[flat]
        if jr.joint_broken[item] == 1 or jp.joint_enabled[item] == 0:
            return
    first = int(-1)
    moved = int(0)
    for k in range(jt.block_segments[block]):
        a = t.environment_articulation[environment] + jt.segment_articulation[jt.block_segment[block] + k]
        if is_node(t, m, a):
            wp.atomic_add(z_inout.support, a, 1)
            if first >= 0:
                unite(z_inout, first, a)
            first = a
    for k in range(jt.block_ends[block]):
        link = jt.end_link[jt.block_end[block] + k]
        if link >= 0:
            link += t.articulation_link[t.environment_articulation[environment]]
            moved += moves_by_hand(t, s, t.link_articulation[link])
    if moved > 0 and first >= 0:
        z_inout.stirred[first] = 1


@wp.kernel
def spread(t: Tables, m: ModelData, z_inout: SleepData):
    """One articulation: its island, and whether it keeps that awake."""
    a = wp.tid()
    label = find_root(z_inout, a)
    z_inout.label[a] = label
    if not is_node(t, m, a):
        return
    awake = z_inout.asleep[a] == 0 or z_inout.stirred[a] == 1
    if awake or z_inout.support[a] < z_inout.kept_support[a]:
        wp.atomic_max(z_inout.busy, label, 1)


@wp.func
def keep_rest(t: Tables, m: ModelData, s: StateData, z: SleepData, a: int):
    """Keep where an articulation sleeps."""
    kind = t.articulation_type[a]
    z.rest_root_pose[a] = s.root_pose[a]
    for i in range(t.type_links[kind]):
        link = t.articulation_link[a] + i
        z.rest_link_pose[link] = s.link_pose[link]
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        dof = t.articulation_dof[a] + i
        z.rest_dof_position[dof] = s.dof_position[dof]
        if ball_place(m, dof) == 0:
            ball = m.dof_ball[dof] / 3
            z.rest_ball_turn[ball] = s.ball_turn[ball]


@wp.kernel
def wake_islands(
    t: Tables, m: ModelData, coupled: wp.array[wp.int32], s_inout: StateData, z_inout: SleepData
):
    """One articulation: it wakes with its island, or goes on sleeping where it is."""
    a = wp.tid()
    if not is_node(t, m, a):
        z_inout.asleep[a] = 0
        z_inout.request[a] = 0
        return
    if z_inout.request[a] == 1:
        wake(s_inout, z_inout, a)
    if z_inout.asleep[a] > 0:
        if z_inout.busy[z_inout.label[a]] == 1:
            wake(s_inout, z_inout, a)
        else:
            z_inout.kept_support[a] = z_inout.support[a]
            keep_rest(t, m, s_inout, z_inout, a)
    if z_inout.asleep[a] < SETTLED or coupled[a] == 1:
        wp.atomic_max(z_inout.unsettled, t.articulation_environment[a], 1)


@wp.kernel
def mark_idle(
    t: Tables,
    z: SleepData,
    large: wp.array[wp.int32],
    # outputs
    w_inout: Scratch,
):
    """One articulation: whether its loads are kept in this step, instead of being found again.

    In large environments, where contacts are solved manifold by manifold, each may; elsewhere all together.
    """
    a = wp.tid()
    environment = t.articulation_environment[a]
    idle = int(0)
    if z.asleep[a] >= SETTLED and w_inout.coupled[a] == 0:
        idle = wp.where(z.unsettled[environment] == 0, 1, large[environment])
    w_inout.idle[a] = idle
    w_inout.environment_idle[environment] = 1 - z.unsettled[environment]


@wp.func
def lie_still(t: Tables, s: StateData, a: int):
    """Velocities of an articulation that sleeps."""
    kind = t.articulation_type[a]
    for i in range(t.type_velocities[kind]):
        s.velocity[t.articulation_velocity[a] + i] = 0.0
        s.half_kick[t.articulation_velocity[a] + i] = 0.0
    s.root_synced[a] = 0
    for i in range(t.type_links[kind]):
        s.link_velocity[t.articulation_link[a] + i] = wp.spatial_vector()


@wp.func
def put_back(t: Tables, m: ModelData, s: StateData, z: SleepData, a: int):
    """Have an articulation be where it slept before the step."""
    kind = t.articulation_type[a]
    s.root_pose[a] = z.rest_root_pose[a]
    for i in range(t.type_links[kind]):
        link = t.articulation_link[a] + i
        s.link_pose[link] = z.rest_link_pose[link]
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        dof = t.articulation_dof[a] + i
        s.dof_position[dof] = z.rest_dof_position[dof]
        if ball_place(m, dof) == 0:
            ball = m.dof_ball[dof] / 3
            s.ball_turn[ball] = z.rest_ball_turn[ball]


@wp.func
def specific_energy(t: Tables, m: ModelData, s: StateData, a: int):
    """Largest kinetic energy of a link by its mass."""
    largest = float(0.0)
    for i in range(t.type_links[t.articulation_type[a]]):
        link = t.articulation_link[a] + i
        v = wp.spatial_top(s.link_velocity[link])
        spin = wp.quat_rotate_inv(
            wp.transform_get_rotation(s.link_pose[link]), wp.spatial_bottom(s.link_velocity[link])
        )
        energy = 0.5 * (wp.dot(v, v) + wp.dot(spin, m.link_inertia[link] * spin) / m.link_mass[link])
        # a value that is not finite stays
        largest = wp.where(energy <= largest, largest, energy)
    return largest


@wp.func
def is_driven(t: Tables, m: ModelData, c: ControlData, a: int):
    """Whether a drive is to move a joint at some speed."""
    driven = int(0)
    kind = t.articulation_type[a]
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        dof = t.articulation_dof[a] + i
        if m.dof_drive_type[dof] != 0 and m.dof_damping[dof] > 0.0 and c.velocity_target[dof] != 0.0:
            driven = 1
    return driven


@wp.kernel
def settle(
    t: Tables,
    m: ModelData,
    c: ControlData,
    time_step: wp.array[wp.float32],
    # outputs
    s_inout: StateData,
    z_inout: SleepData,
):
    """One articulation after the step: what sleeps is put back, what is quiet counts down."""
    a = wp.tid()
    if not is_node(t, m, a):
        return
    if z_inout.asleep[a] > 0:
        put_back(t, m, s_inout, z_inout, a)
        lie_still(t, s_inout, a)
        z_inout.asleep[a] = wp.min(z_inout.asleep[a] + 1, SETTLED)
        return
    energy = specific_energy(t, m, s_inout, a)
    threshold = z_inout.threshold[a]
    quiet = z_inout.quiet_energy[a]
    counter = float(WAKEFUL)
    if energy < threshold and is_driven(t, m, c, a) == 0:
        if energy <= GROWTH * wp.max(quiet, FLOOR * threshold):
            counter = wp.max(z_inout.wake_counter[a] - time_step[0], 0.0)
            energy = wp.min(energy, quiet)
    z_inout.wake_counter[a] = counter
    z_inout.quiet_energy[a] = energy
    if counter > 0.0:
        wp.atomic_max(z_inout.lively, z_inout.label[a], 1)


@wp.kernel
def fall_asleep(t: Tables, m: ModelData, c: ControlData, s_inout: StateData, z_inout: SleepData):
    """One articulation: it falls asleep when all of its island were quiet for long enough."""
    a = wp.tid()
    if not is_node(t, m, a):
        return
    if z_inout.asleep[a] == 0 and z_inout.lively[z_inout.label[a]] == 0:
        z_inout.asleep[a] = 1
        z_inout.kept_support[a] = wp.min(z_inout.support[a], 1)
        lie_still(t, s_inout, a)
        note_inputs(t, m, c, z_inout, a)


@wp.kernel
def put_to_sleep(
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    c: ControlData,
    # outputs
    s_inout: StateData,
    z_inout: SleepData,
):
    """One articulation by its number: it sleeps where it is, whatever holds it."""
    a = rows[wp.tid()]
    if a >= 0:
        if is_node(t, m, a):
            z_inout.asleep[a] = 1
            z_inout.request[a] = 0
            z_inout.wake_counter[a] = 0.0
            z_inout.kept_support[a] = 0
            s_inout.fresh[a] = 0
            lie_still(t, s_inout, a)
            note_inputs(t, m, c, z_inout, a)


@wp.kernel
def wake_up(rows: wp.array[wp.int32], z_inout: SleepData):
    """One articulation by its number: it is awake, and the step wakes its island."""
    a = rows[wp.tid()]
    if a >= 0:
        if z_inout.asleep[a] > 0:
            z_inout.request[a] = 1
        z_inout.asleep[a] = 0
        z_inout.wake_counter[a] = WAKEFUL
        z_inout.quiet_energy[a] = UNKNOWN
