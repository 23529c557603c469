"""Loads of the last step: mean accelerations of links, and what their joints must have given for them.

Levers and inertias are taken at the middle of the step, half-way between the poses at its two ends.

Reported velocities stand at the time of the positions where nothing but smooth forces acts, and half a substep before
it where contacts or limits carry load (see `smooth`). Where one end of a step is of the one kind and the other of the
other, half a kick is missing or too many; and a kick that straddles a change of the applied forces has their mean.
Both are accounted for, so that forces add up in such steps, too.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, ModelData, StateData, Tables
from tensorphys_spatial.device import inertia_rotate

wp.set_module_options({"enable_backward": False})


@wp.struct
class StepData:
    """Start of the last step and the loads worked out from it; link arrays."""

    known: wp.array[wp.int32]  # one value: whether a step was made since the start was forgotten
    start_pose: wp.array[wp.transform]
    start_velocity: wp.array[wp.spatial_vector]
    start_force: wp.array[wp.vec3]  # applied in the step before
    start_torque: wp.array[wp.vec3]
    start_synced: wp.array[wp.int32]  # by articulation: whether velocities stood at the time of the positions
    com: wp.array[wp.vec3]  # at the middle of the step
    contact_force: wp.array[wp.vec3]  # mean over the step
    contact_torque: wp.array[wp.vec3]  # about the centre of mass
    force: wp.array[wp.vec3]  # that the subtree needs from its joint
    torque: wp.array[wp.vec3]


@wp.func
def is_synced(t: Tables, s: StateData, a: int):
    """Whether the velocities of the root stand at the time of its positions; those of joints, if the base is fixed."""
    kind = t.articulation_type[a]
    synced = wp.where(s.fresh[a] == 1 or s.root_synced[a] == 1, 1, 0)
    count = wp.where(t.type_root[kind] == 6, 6, t.type_velocities[kind])
    for i in range(count):
        if s.half_kick[t.articulation_velocity[a] + i] != 0.0:
            synced = 1
    return synced


@wp.kernel
def keep_start(
    # inputs
    t: Tables,
    s: StateData,
    # outputs
    d: StepData,
):
    """Keep the state of a link before a step."""
    link = wp.tid()
    if link == 0:
        d.known[0] = 1
    d.start_pose[link] = s.link_pose[link]
    d.start_velocity[link] = s.link_velocity[link]
    d.start_force[link] = s.previous_force[link]
    d.start_torque[link] = s.previous_torque[link]
    a = t.link_articulation[link]
    if t.articulation_link[a] == link:
        d.start_synced[a] = is_synced(t, s, a)


@wp.func
def middle_rotation(first: wp.quat, second: wp.quat):
    """Rotation half-way between two."""
    if wp.dot(first, second) < 0.0:
        return wp.normalize(second - first)
    return wp.normalize(second + first)


@wp.func
def middle_point(m: ModelData, s: StateData, d: StepData, link: int, point: wp.vec3):
    """Where a point of a link was at the middle of the step."""
    rotation = middle_rotation(
        wp.transform_get_rotation(d.start_pose[link]), wp.transform_get_rotation(s.link_pose[link])
    )
    return d.com[link] + wp.quat_rotate(rotation, point - m.link_com[link])


@wp.func
def add_contact(d: StepData, link: int, point: wp.vec3, force: wp.vec3):
    """Add the force of a contact to what acts on a link."""
    d.contact_force[link] = d.contact_force[link] + force
    d.contact_torque[link] = d.contact_torque[link] + wp.cross(point - d.com[link], force)


@wp.kernel
def contact_loads(
    # inputs
    t: Tables,
    m: ModelData,
    s: StateData,
    k: ContactData,
    impulse: wp.array[wp.vec3],
    time_step: wp.array[wp.float32],
    # outputs
    d: StepData,
):
    """Mean wrench of all contacts on each link of an environment, in the order of the contacts."""
    environment = wp.tid()
    first = t.articulation_link[t.environment_articulation[environment]]
    end = t.articulation_link[t.environment_articulation[environment + 1]]
    for link in range(first, end):
        start = wp.transform_point(d.start_pose[link], m.link_com[link])
        d.com[link] = 0.5 * (start + wp.transform_point(s.link_pose[link], m.link_com[link]))
        d.contact_force[link] = wp.vec3(0.0, 0.0, 0.0)
        d.contact_torque[link] = wp.vec3(0.0, 0.0, 0.0)
    for i in range(k.count[environment]):
        slot = k.slot_start[environment] + i
        force = impulse[slot] / time_step[0]
        body0 = k.body0[slot]
        body1 = k.body1[slot]
        p0 = k.anchor0[slot]
        p1 = k.anchor1[slot]
        if body0 >= 0:
            p0 = middle_point(m, s, d, body0, p0)
        if body1 >= 0:
            p1 = middle_point(m, s, d, body1, p1)
        point = 0.5 * (p0 + p1)
        if body0 >= 0:
            add_contact(d, body0, point, force)
        if body1 >= 0:
            add_contact(d, body1, point, -force)


@wp.func
def own_load(
    m: ModelData,
    s: StateData,
    d: StepData,
    link: int,
    gravity: wp.vec3,
    acceleration: wp.vec3,
    dt: float,
    weight: float,
    weight_before: float,
):
    """Mean force and torque that a link took beside gravity, contacts, damping and what was applied.

    What was applied in the step, and in the one before, acted with the given weights.
    """
    mass = m.link_mass[link]
    before = d.start_velocity[link]
    after = s.link_velocity[link]
    start_rotation = wp.transform_get_rotation(d.start_pose[link])
    end_rotation = wp.transform_get_rotation(s.link_pose[link])
    spin_before = inertia_rotate(m.link_inertia[link], start_rotation) * wp.spatial_bottom(before)
    spin_after = inertia_rotate(m.link_inertia[link], end_rotation) * wp.spatial_bottom(after)
    force = mass * (acceleration - gravity * m.link_gravity[link]) - d.contact_force[link]
    torque = (spin_after - spin_before) / dt - d.contact_torque[link]
    force -= weight * s.previous_force[link] + weight_before * d.start_force[link]
    torque -= weight * s.previous_torque[link] + weight_before * d.start_torque[link]
    drag = 0.5 * mass * m.link_linear_damping[link]
    force += drag * (wp.spatial_top(after) + wp.spatial_top(before))
    torque += (0.5 * m.link_angular_damping[link]) * (spin_after + spin_before)
    d.force[link] = force
    d.torque[link] = torque


@wp.func
def gather_loads(t: Tables, d: StepData, a: int):
    """Add to each link's load those of its subtree."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        link = base + local
        parent = base + t.link_parent[t.type_link[kind] + local]
        arm = d.com[link] - d.com[parent]
        d.force[parent] = d.force[parent] + d.force[link]
        d.torque[parent] = d.torque[parent] + d.torque[link] + wp.cross(arm, d.force[link])


@wp.func
def rest_of_turn(s: StateData, d: StepData, link: int):
    """Rotation of a link from the middle of the step to its end: a joint's wrench keeps its components in the link."""
    last = wp.transform_get_rotation(s.link_pose[link])
    middle = middle_rotation(wp.transform_get_rotation(d.start_pose[link]), last)
    return last * wp.quat_inverse(middle)


@wp.kernel
def step_loads(
    # inputs
    t: Tables,
    m: ModelData,
    s: StateData,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    d: StepData,
    acceleration_out: wp.array[wp.spatial_vector],
    wrench_out: wp.array[wp.spatial_vector],
):
    """Accelerations and joint wrenches of one articulation; zero where its state was written after the step."""
    a = wp.tid()
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    dt = time_step[0]
    zero = wp.spatial_vector(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if d.known[0] == 0 or s.fresh[a] == 1:
        for local in range(t.type_links[kind]):
            acceleration_out[base + local] = zero
            wrench_out[base + local] = zero
        return
    gravity = m.gravity[t.articulation_environment[a]]
    half = 0.5 / float(substeps)
    start = float(d.start_synced[a])
    end = float(is_synced(t, s, a))
    weight = 1.0 - half * (1.0 - end)
    weight_before = half * (1.0 - start)
    # what is missing of the motion of the whole is free fall; a fixed base does not fall
    fall = gravity * (half * (start - end))
    if t.type_root[kind] == 0:
        fall = wp.vec3(0.0, 0.0, 0.0)
    for local in range(t.type_links[kind]):
        link = base + local
        change = (s.link_velocity[link] - d.start_velocity[link]) / dt
        linear = wp.spatial_top(change) + fall * m.link_gravity[link]
        acceleration_out[link] = wp.spatial_vector(linear, wp.spatial_bottom(change))
        own_load(m, s, d, link, gravity, linear, dt, weight, weight_before)
    gather_loads(t, d, a)
    for local in range(t.type_links[kind]):
        link = base + local
        force = d.force[link]
        torque = d.torque[link]
        if local > 0:
            turn = rest_of_turn(s, d, link)
            force = wp.quat_rotate(turn, force)
            torque = wp.quat_rotate(turn, torque)
        wrench_out[link] = wp.spatial_vector(force, torque)
