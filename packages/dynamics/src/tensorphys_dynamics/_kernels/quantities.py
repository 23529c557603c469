"""Forces that motions take and motions that forces give: recursions over the links of one articulation.

Vectors are in environment axes; spatial vectors are taken about the root link's centre of mass, as in `Scratch`.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.drives import copy_mass
from tensorphys_dynamics._kernels.factor import factorize, solve
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics, point_inertia
from tensorphys_dynamics._kernels.smooth import mass_rows
from tensorphys_dynamics._kernels.terms import ACCELERATION, GRAVITY, VELOCITY, WRENCH
from tensorphys_dynamics._kernels.wrenches import link_rates

wp.set_module_options({"enable_backward": False})


@wp.func
def own_inertia(m: ModelData, w: Scratch, link: int):
    """Start the composite inertia of a link with its own."""
    mass = m.link_mass[link]
    c = w.link_com_offset[link]
    w.heavy_mass[link] = mass
    w.heavy_inertia[link] = w.link_inertia[link]
    w.subtree_mass[link] = mass
    w.subtree_moment[link] = mass * c
    w.subtree_inertia[link] = w.link_inertia[link] + point_inertia(mass, c)


@wp.func
def composite_inertias(t: Tables, m: ModelData, w: Scratch, a: int):
    """Inertias of all subtrees [Featherstone 2008, §6.2]."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    for local in range(t.type_links[kind]):
        own_inertia(m, w, base + local)
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        link = base + local
        parent = base + t.link_parent[t.type_link[kind] + local]
        w.subtree_mass[parent] = w.subtree_mass[parent] + w.subtree_mass[link]
        w.subtree_moment[parent] = w.subtree_moment[parent] + w.subtree_moment[link]
        w.subtree_inertia[parent] = w.subtree_inertia[parent] + w.subtree_inertia[link]


@wp.func
def link_acceleration_rates(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    a: int,
    acceleration: wp.array[wp.float32],
    terms: int,
):
    """Spatial acceleration of each link: of velocity products, of a generalized acceleration, or of both."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    start = t.articulation_velocity[a]
    angular = wp.vec3(0.0, 0.0, 0.0)
    linear = wp.vec3(0.0, 0.0, 0.0)
    if (terms & VELOCITY) != 0:
        # the root's centre of mass has no classical acceleration of its own
        linear = -wp.cross(w.link_angular[base], w.link_linear[base])
    if (terms & ACCELERATION) != 0 and t.type_root[kind] == 6:
        linear += wp.vec3(acceleration[start], acceleration[start + 1], acceleration[start + 2])
        angular += wp.vec3(acceleration[start + 3], acceleration[start + 4], acceleration[start + 5])
    w.link_angular_rate[base] = angular
    w.link_linear_rate[base] = linear
    for local in range(1, t.type_links[kind]):
        row = t.type_link[kind] + local
        link = base + local
        if (terms & VELOCITY) != 0:
            link_rates(t, m, s, w, a, local)
        else:
            parent = base + t.link_parent[row]
            w.link_angular_rate[link] = w.link_angular_rate[parent]
            w.link_linear_rate[link] = w.link_linear_rate[parent]
        if (terms & ACCELERATION) != 0:
            for k in range(t.link_dofs[row]):
                index = start + t.type_root[kind] + t.link_dof[row] + k
                value = acceleration[index]
                w.link_angular_rate[link] = w.link_angular_rate[link] + w.motion_angular[index] * value
                w.link_linear_rate[link] = w.link_linear_rate[link] + w.motion_linear[index] * value


@wp.func
def classical_acceleration(w: Scratch, link: int, terms: int):
    """Time derivative of the velocity of a link's centre of mass."""
    c = w.link_com_offset[link]
    alpha = w.link_angular_rate[link]
    result = w.link_linear_rate[link] + wp.cross(alpha, c)
    if (terms & VELOCITY) != 0:
        omega = w.link_angular[link]
        result += wp.cross(omega, w.link_linear[link] + wp.cross(omega, c))
    return result


@wp.func
def needed_wrench(
    m: ModelData,
    w: Scratch,
    link: int,
    gravity: wp.vec3,
    applied_force: wp.array[wp.vec3],
    applied_torque: wp.array[wp.vec3],
    terms: int,
):
    """Start the wrench that a subtree needs from its joint with what its first link needs."""
    mass = m.link_mass[link]
    alpha = w.link_angular_rate[link]
    force = mass * classical_acceleration(w, link, terms)
    torque = w.link_inertia[link] * alpha
    if (terms & VELOCITY) != 0:
        omega = w.link_angular[link]
        torque += wp.cross(omega, w.link_inertia[link] * omega)
    if (terms & GRAVITY) != 0:
        force -= gravity * (mass * m.link_gravity[link])
    if (terms & WRENCH) != 0:
        force -= applied_force[link]
        torque -= applied_torque[link]
    w.link_force[link] = force
    w.link_torque[link] = torque + wp.cross(w.link_com_offset[link], force)


@wp.func
def subtree_wrenches(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    a: int,
    acceleration: wp.array[wp.float32],
    applied_force: wp.array[wp.vec3],
    applied_torque: wp.array[wp.vec3],
    terms: int,
):
    """Wrench that each subtree needs from the joint of its first link [Featherstone 2008, §5.3]."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    articulation_kinematics(t, m, s, w, a)
    link_acceleration_rates(t, m, s, w, a, acceleration, terms)
    gravity = m.gravity[t.articulation_environment[a]]
    for local in range(t.type_links[kind]):
        needed_wrench(m, w, base + local, gravity, applied_force, applied_torque, terms)
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        link = base + local
        parent = base + t.link_parent[t.type_link[kind] + local]
        w.link_force[parent] = w.link_force[parent] + w.link_force[link]
        w.link_torque[parent] = w.link_torque[parent] + w.link_torque[link]


@wp.func
def projected(t: Tables, w: Scratch, a: int, i: int):
    """Component of the wrench of the subtree along velocity index i."""
    index = t.articulation_velocity[a] + i
    link = t.articulation_link[a] + t.velocity_link[t.type_velocity[t.articulation_type[a]] + i]
    return wp.dot(w.motion_angular[index], w.link_torque[link]) + wp.dot(
        w.motion_linear[index], w.link_force[link]
    )


@wp.kernel
def inverse_dynamics(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    acceleration: wp.array[wp.float32],
    applied_force: wp.array[wp.vec3],
    applied_torque: wp.array[wp.vec3],
    terms: wp.int32,
    # outputs
    w: Scratch,
    force_out: wp.array[wp.float32],
):
    """Generalized force that the terms need."""
    a = rows[wp.tid()]
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    subtree_wrenches(t, m, s, w, a, acceleration, applied_force, applied_torque, terms)
    for i in range(t.type_velocities[kind]):
        value = projected(t, w, a, i)
        if (terms & ACCELERATION) != 0 and i >= root:
            value += m.dof_armature[t.articulation_dof[a] + i - root] * acceleration[start + i]
        force_out[start + i] = value


@wp.kernel
def forward_dynamics(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    force: wp.array[wp.float32],
    applied_force: wp.array[wp.vec3],
    applied_torque: wp.array[wp.vec3],
    terms: wp.int32,
    # outputs
    w: Scratch,
    acceleration_out: wp.array[wp.float32],
):
    """Generalized acceleration under a generalized force, by the sparse factorisation of the mass matrix."""
    a = rows[wp.tid()]
    start = t.articulation_velocity[a]
    subtree_wrenches(t, m, s, w, a, force, applied_force, applied_torque, terms)
    composite_inertias(t, m, w, a)
    mass_rows(t, m, w, a)
    copy_mass(t, w, a)
    factorize(t, m, w, a)
    for i in range(t.type_velocities[t.articulation_type[a]]):
        acceleration_out[start + i] = force[start + i] - projected(t, w, a, i)
    solve(t, w, a, acceleration_out)


@wp.kernel
def link_accelerations(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    acceleration: wp.array[wp.float32],
    # outputs
    w: Scratch,
    acceleration_out: wp.array[wp.spatial_vector],
):
    """Time derivative of each link's velocity [linear at the centre of mass, angular]."""
    a = rows[wp.tid()]
    articulation_kinematics(t, m, s, w, a)
    terms = VELOCITY + ACCELERATION
    link_acceleration_rates(t, m, s, w, a, acceleration, terms)
    for local in range(t.type_links[t.articulation_type[a]]):
        link = t.articulation_link[a] + local
        acceleration_out[link] = wp.spatial_vector(
            classical_acceleration(w, link, terms), w.link_angular_rate[link]
        )


@wp.kernel
def joint_wrenches(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    acceleration: wp.array[wp.float32],
    applied_force: wp.array[wp.vec3],
    applied_torque: wp.array[wp.vec3],
    terms: wp.int32,
    # outputs
    w: Scratch,
    wrench_out: wp.array[wp.spatial_vector],
):
    """Force and torque about its centre of mass that each link gets from its parent, or from its support."""
    a = rows[wp.tid()]
    subtree_wrenches(t, m, s, w, a, acceleration, applied_force, applied_torque, terms)
    for local in range(t.type_links[t.articulation_type[a]]):
        link = t.articulation_link[a] + local
        force = w.link_force[link]
        torque = w.link_torque[link] - wp.cross(w.link_com_offset[link], force)
        wrench_out[link] = wp.spatial_vector(force, torque)


@wp.kernel
def projected_wrenches(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    wrench: wp.array[wp.spatial_vector],
    # outputs
    w: Scratch,
    force_out: wp.array[wp.float32],
):
    """Components of joint wrenches along the free axes; zero for the root."""
    a = rows[wp.tid()]
    kind = t.articulation_type[a]
    start = t.articulation_velocity[a]
    articulation_kinematics(t, m, s, w, a)
    for local in range(t.type_links[kind]):
        link = t.articulation_link[a] + local
        w.link_force[link] = wp.spatial_top(wrench[link])
        w.link_torque[link] = wp.spatial_bottom(wrench[link]) + wp.cross(
            w.link_com_offset[link], w.link_force[link]
        )
    for i in range(t.type_velocities[kind]):
        force_out[start + i] = 0.0
        if i >= t.type_root[kind]:
            force_out[start + i] = projected(t, w, a, i)
