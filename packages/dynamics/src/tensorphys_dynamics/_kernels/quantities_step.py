"""Loads of the last step: mean accelerations of links, and what their joints must have given for them.

Accelerations are those of the kicks of the substeps, with the velocity products that they were taken with, so that
forces add up whatever acted [Newton's and Euler's equations of each substep]. Where nothing but smooth forces acts and
velocities stand at the time of the positions at both ends of the step, they are changes of the reported velocity.

Levers between links are taken at the middle of the step, half-way between the poses at its two ends; contacts keep the
levers that the solver gave them. A kick that straddles a change of the applied forces has their mean.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.friction import is_smooth
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics
from tensorphys_dynamics._kernels.quantities import (
    classical_acceleration,
    link_acceleration_rates,
)
from tensorphys_dynamics._kernels.step_start import StepData, is_synced
from tensorphys_dynamics._kernels.terms import ACCELERATION, VELOCITY
from tensorphys_spatial.device import inertia_rotate

wp.set_module_options({"enable_backward": False})


@wp.func
def is_free(t: Tables, m: ModelData, a: int):
    """Whether nothing but smooth forces acts on the joints of an articulation in itself."""
    kind = t.articulation_type[a]
    free = int(1)
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        if not is_smooth(m, t.articulation_dof[a] + i):
            free = 0
    return free


@wp.kernel
def add_substep(
    # inputs
    t: Tables,
    m: ModelData,
    y: StateData,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    first: wp.int32,
    # outputs
    w: Scratch,
    d: StepData,
):
    """Add the accelerations of one substep of an articulation to the means; `y` is its state in that substep."""
    a = wp.tid()
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    start = t.articulation_velocity[a]
    share = 1.0 / float(substeps)
    h = time_step[0] * share
    w.momentum_known[a] = 0
    articulation_kinematics(t, m, y, w, a)
    for i in range(start, start + t.type_velocities[kind]):
        w.force[i] = y.velocity_change[i] / h
    # damping acts on the velocity after the kick
    link_acceleration_rates(t, m, y, w, a, w.force, ACCELERATION)
    for local in range(t.type_links[kind]):
        link = base + local
        omega = w.link_angular[link]
        damped = omega + h * w.link_angular_rate[link]
        velocity = w.link_linear[link] + wp.cross(omega, w.link_com_offset[link])
        velocity += h * classical_acceleration(w, link, ACCELERATION)
        if first == 1:
            d.acceleration[link] = wp.spatial_vector(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            d.torque_rate[link] = wp.vec3(0.0, 0.0, 0.0)
            d.velocity[link] = wp.spatial_vector(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            d.spin[link] = wp.vec3(0.0, 0.0, 0.0)
        d.velocity[link] = d.velocity[link] + share * wp.spatial_vector(velocity, damped)
        d.spin[link] = d.spin[link] + share * (w.link_inertia[link] * damped)
    link_acceleration_rates(t, m, y, w, a, w.force, VELOCITY | ACCELERATION)
    for local in range(t.type_links[kind]):
        link = base + local
        omega = w.link_angular[link]
        alpha = w.link_angular_rate[link]
        rate = w.link_inertia[link] * alpha
        if m.link_gyroscopic[link] == 1:
            rate += wp.cross(omega, w.link_inertia[link] * omega)
        linear = classical_acceleration(w, link, VELOCITY | ACCELERATION)
        d.acceleration[link] = d.acceleration[link] + share * wp.spatial_vector(linear, alpha)
        d.torque_rate[link] = d.torque_rate[link] + share * rate


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
def add_contact(m: ModelData, d: StepData, link: int, point: wp.vec3, force: wp.vec3):
    """Add the force of a contact to what acts on a link, at a point where it was at the start of the step."""
    arm = point - wp.transform_point(d.start_pose[link], m.link_com[link])
    d.contact_force[link] = d.contact_force[link] + force
    d.contact_torque[link] = d.contact_torque[link] + wp.cross(arm, force)


@wp.kernel
def end_loads(
    # inputs
    total: wp.array[wp.spatial_vector],
    time_step: wp.array[wp.float32],
    # outputs
    d: StepData,
):
    """Mean wrench on a link from what others solve: added to that of contacts."""
    link = wp.tid()
    d.contact_force[link] = d.contact_force[link] + wp.spatial_top(total[link]) / time_step[0]
    d.contact_torque[link] = d.contact_torque[link] + wp.spatial_bottom(total[link]) / time_step[0]


@wp.kernel
def contact_loads(
    # inputs
    t: Tables,
    m: ModelData,
    s: StateData,
    k: ContactData,
    impulse: wp.array[wp.vec3],
    spin_impulse: wp.array[wp.float32],
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
        couple = k.normal[slot] * (spin_impulse[slot] / time_step[0])
        body0 = k.body0[slot]
        body1 = k.body1[slot]
        p0 = k.anchor0[slot]
        p1 = k.anchor1[slot]
        if body0 >= 0:
            p0 = wp.transform_point(d.start_pose[body0], p0)
        if body1 >= 0:
            p1 = wp.transform_point(d.start_pose[body1], p1)
        # as `rows.place_contact` has it
        if wp.dot(k.normal[slot], p0 - p1) < 0.0:
            p0 = 0.5 * (p0 + p1)
            p1 = p0
        if body0 >= 0:
            add_contact(m, d, body0, p0, force)
            d.contact_torque[body0] = d.contact_torque[body0] + couple
        if body1 >= 0:
            add_contact(m, d, body1, p1, -force)
            d.contact_torque[body1] = d.contact_torque[body1] - couple


@wp.func
def use_ends(m: ModelData, s: StateData, d: StepData, link: int, dt: float):
    """Take the accelerations from the reported velocities at both ends of the step."""
    before = d.start_velocity[link]
    after = s.link_velocity[link]
    start_inertia = inertia_rotate(m.link_inertia[link], wp.transform_get_rotation(d.start_pose[link]))
    end_inertia = inertia_rotate(m.link_inertia[link], wp.transform_get_rotation(s.link_pose[link]))
    spin_before = start_inertia * wp.spatial_bottom(before)
    spin_after = end_inertia * wp.spatial_bottom(after)
    d.acceleration[link] = (after - before) / dt
    d.torque_rate[link] = (spin_after - spin_before) / dt
    if m.link_gyroscopic[link] == 0:
        turning = wp.spatial_bottom(after) - wp.spatial_bottom(before)
        d.torque_rate[link] = 0.5 * (start_inertia + end_inertia) * turning / dt
    d.velocity[link] = 0.5 * (after + before)
    d.spin[link] = 0.5 * (spin_after + spin_before)


@wp.func
def is_touched(t: Tables, d: StepData, a: int):
    """Whether contacts or joints outside of trees acted on an articulation in the step, be it in some substeps alone."""
    base = t.articulation_link[a]
    touched = int(0)
    for link in range(base, base + t.type_links[t.articulation_type[a]]):
        if wp.length_sq(d.contact_force[link]) + wp.length_sq(d.contact_torque[link]) > 0.0:
            touched = 1
    return touched


@wp.func
def own_load(m: ModelData, s: StateData, d: StepData, link: int, gravity: wp.vec3, before: float):
    """Mean force and torque that a link took beside gravity, contacts, damping and what was applied.

    What was applied in the step before acted for the share `before` of the step.
    """
    mass = m.link_mass[link]
    force = mass * (wp.spatial_top(d.acceleration[link]) - gravity * m.link_gravity[link])
    force += (mass * m.link_linear_damping[link]) * wp.spatial_top(d.velocity[link])
    force -= s.previous_force[link] + before * (d.start_force[link] - s.previous_force[link])
    torque = d.torque_rate[link] + m.link_angular_damping[link] * d.spin[link]
    torque -= s.previous_torque[link] + before * (d.start_torque[link] - s.previous_torque[link])
    d.force[link] = force - d.contact_force[link]
    d.torque[link] = torque - d.contact_torque[link]


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
    # reported velocities at both ends say it best, unless a touch began and ended in between
    synced = d.start_synced[a] * is_synced(t, s, a) * is_free(t, m, a) * (1 - is_touched(t, d, a))
    # a root that was synchronised felt what is applied now in the whole of the step
    before = 0.5 / float(substeps)
    if synced == 1 or d.start_fresh[a] == 1 or (t.type_root[kind] == 6 and d.start_synced[a] == 1):
        before = 0.0
    for local in range(t.type_links[kind]):
        link = base + local
        if synced == 1:
            use_ends(m, s, d, link, dt)
        own_load(m, s, d, link, gravity, before)
        acceleration_out[link] = d.acceleration[link]
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
