"""Quantities of the articulation as a whole: centre of mass, momentum, and what is left with the base set free."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics, point_inertia
from tensorphys_dynamics._kernels.quantities import (
    classical_acceleration,
    composite_inertias,
    link_acceleration_rates,
    projected,
    subtree_wrenches,
)
from tensorphys_dynamics._kernels.smooth import mass_rows
from tensorphys_dynamics._kernels.terms import VELOCITY

wp.set_module_options({"enable_backward": False})


@wp.func
def momentum_of_motion(w: Scratch, link: int, angular: wp.vec3, linear: wp.vec3):
    """Momentum (linear, angular) of a subtree that moves as one body."""
    moment = w.subtree_moment[link]
    f = w.subtree_mass[link] * linear - wp.cross(moment, angular)
    n = w.subtree_inertia[link] * angular + wp.cross(moment, linear)
    return f, n


@wp.func
def base_motion(w: Scratch, base: int, force: wp.vec3, torque: wp.vec3):
    """Acceleration (angular, linear) of the whole articulation, joints held, under a wrench on it."""
    mass = w.subtree_mass[base]
    centre = w.subtree_moment[base] / mass
    about_centre = w.subtree_inertia[base] - point_inertia(mass, centre)
    angular = wp.inverse(about_centre) * (torque - wp.cross(centre, force))
    return angular, force / mass - wp.cross(angular, centre)


@wp.kernel
def mass_centres(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    local_frame: wp.int32,
    # outputs
    w: Scratch,
    centre_out: wp.array[wp.vec3],
):
    """Centre of mass in the environment's frame or in that of the root link."""
    row = wp.tid()
    a = rows[row]
    base = t.articulation_link[a]
    articulation_kinematics(t, m, s, w, a)
    mass = float(0.0)
    moment = wp.vec3(0.0, 0.0, 0.0)
    for local in range(t.type_links[t.articulation_type[a]]):
        mass += m.link_mass[base + local]
        moment += m.link_mass[base + local] * w.link_com_offset[base + local]
    rotation = wp.transform_get_rotation(s.root_pose[a])
    if local_frame == 1:
        centre_out[row] = m.link_com[base] + wp.quat_rotate_inv(rotation, moment / mass)
    else:
        arm = wp.quat_rotate(rotation, m.link_com[base])
        centre_out[row] = wp.transform_get_translation(s.root_pose[a]) + (arm + moment / mass)


@wp.kernel
def centroidal_momentum(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    nothing: wp.array[wp.float32],
    # outputs
    w: Scratch,
    matrix_out: wp.array3d[wp.float32],
):
    """Matrix from generalized velocities to the momentum about the centre of mass, and its rate times velocity."""
    row = wp.tid()
    a = rows[row]
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    start = t.articulation_velocity[a]
    articulation_kinematics(t, m, s, w, a)
    composite_inertias(t, m, w, a)
    centre = w.subtree_moment[base] / w.subtree_mass[base]
    for i in range(t.type_velocities[kind]):
        link = base + t.velocity_link[t.type_velocity[kind] + i]
        p, angular = momentum_of_motion(w, link, w.motion_angular[start + i], w.motion_linear[start + i])
        angular -= wp.cross(centre, p)
        for k in range(3):
            matrix_out[row, k, i] = p[k]
            matrix_out[row, 3 + k, i] = angular[k]
    link_acceleration_rates(t, m, s, w, a, nothing, VELOCITY)
    rate = wp.vec3(0.0, 0.0, 0.0)
    rate_angular = wp.vec3(0.0, 0.0, 0.0)
    for local in range(t.type_links[kind]):
        link = base + local
        force = m.link_mass[link] * classical_acceleration(w, link, VELOCITY)
        omega = w.link_angular[link]
        spin = wp.cross(omega, w.link_inertia[link] * omega)
        rate += force
        rate_angular += (
            w.link_inertia[link] * w.link_angular_rate[link]
            + spin
            + wp.cross(w.link_com_offset[link] - centre, force)
        )
    last = matrix_out.shape[2] - 1
    for k in range(3):
        matrix_out[row, k, last] = rate[k]
        matrix_out[row, 3 + k, last] = rate_angular[k]


@wp.kernel
def free_base_forces(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    nothing: wp.array[wp.float32],
    no_wrench: wp.array[wp.vec3],
    terms: wp.int32,
    # outputs
    w: Scratch,
    force_out: wp.array[wp.float32],
):
    """Joint forces that the terms need where no force acts on the root and the base gives way."""
    a = rows[wp.tid()]
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    base = t.articulation_link[a]
    start = t.articulation_velocity[a]
    subtree_wrenches(t, m, s, w, a, nothing, no_wrench, no_wrench, terms)
    angular = wp.vec3(0.0, 0.0, 0.0)
    linear = wp.vec3(0.0, 0.0, 0.0)
    if root == 6:
        composite_inertias(t, m, w, a)
        angular, linear = base_motion(w, base, -w.link_force[base], -w.link_torque[base])
    for i in range(t.type_velocities[kind] - root):
        value = projected(t, w, a, root + i)
        if root == 6:
            link = base + t.velocity_link[t.type_velocity[kind] + root + i]
            f, n = momentum_of_motion(w, link, angular, linear)
            index = start + root + i
            value += wp.dot(w.motion_angular[index], n) + wp.dot(w.motion_linear[index], f)
        force_out[t.articulation_dof[a] + i] = value


@wp.kernel
def free_base_mass_matrix(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    armature: wp.int32,
    # outputs
    w: Scratch,
    mass_matrix_out: wp.array3d[wp.float32],
):
    """Mass matrix of the joints alone, the base giving way: M_dd − M_dr M_rr⁻¹ M_rd."""
    row = wp.tid()
    a = rows[row]
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    base = t.articulation_link[a]
    first = t.type_velocity[kind]
    start = t.articulation_velocity[a] + root
    count = t.type_velocities[kind] - root
    articulation_kinematics(t, m, s, w, a)
    composite_inertias(t, m, w, a)
    mass_rows(t, m, w, a)
    for i in range(count):
        for j in range(count):
            mass_matrix_out[row, i, j] = 0.0
    for i in range(count):
        local = t.velocity_entry[first + root + i]
        for p in range(t.velocity_depth[first + root + i] + 1):
            j = t.chain[t.type_entry[kind] + local + p] - root
            if j >= 0:
                value = w.mass_entry[t.articulation_entry[a] + local + p]
                mass_matrix_out[row, i, j] = value
                mass_matrix_out[row, j, i] = value
        if armature == 0:
            added = m.dof_armature[t.articulation_dof[a] + i]
            mass_matrix_out[row, i, i] = mass_matrix_out[row, i, i] - added
    if root != 6:
        return
    for i in range(count):
        link = base + t.velocity_link[first + root + i]
        f, n = momentum_of_motion(w, link, w.motion_angular[start + i], w.motion_linear[start + i])
        angular, linear = base_motion(w, base, f, n)
        for j in range(i + 1):
            other = base + t.velocity_link[first + root + j]
            of, on = momentum_of_motion(w, other, w.motion_angular[start + j], w.motion_linear[start + j])
            value = mass_matrix_out[row, i, j] - wp.dot(angular, on) - wp.dot(linear, of)
            mass_matrix_out[row, i, j] = value
            mass_matrix_out[row, j, i] = value
