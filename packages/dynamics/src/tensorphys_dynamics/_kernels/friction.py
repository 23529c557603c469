"""Friction of joints: Coulomb friction with a static bound, by degree of freedom.

What friction holds at rest leaves the equations: a locked velocity is not factorised, so that joints which hold each
other up hold exactly, and the impulse that this takes is read from the factors. Where it passes the static bound, or
where contacts, limits or other joints act and may pull it loose within the substep, friction is a row of the sweep on
the velocity: one that stops it within the static bound if it was at rest, else one within the sliding bound.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.tension import joint_point
from tensorphys_dynamics._kernels.thresholds import AT_REST
from tensorphys_spatial.device import orthonormal_basis

wp.set_module_options({"enable_backward": False})


@wp.func
def by_load(m: ModelData, dof: int):
    """Whether the friction is that of a coefficient and the load of the joint."""
    return (
        m.dof_static_friction[dof] == 0.0
        and m.dof_viscous_friction[dof] == 0.0
        and m.dof_friction_coefficient[dof] > 0.0
    )


@wp.func
def is_rough(m: ModelData, dof: int):
    """Whether Coulomb friction acts on a degree of freedom."""
    given = m.dof_static_friction[dof] != 0.0 or m.dof_viscous_friction[dof] != 0.0
    return by_load(m, dof) or (given and m.dof_static_friction[dof] + m.dof_dynamic_friction[dof] > 0.0)


@wp.func
def is_smooth(m: ModelData, dof: int):
    """Whether nothing but smooth forces acts on a degree of freedom, so that half a kick synchronises it.

    A drive without gains, as robots have that are driven by efforts, is none.
    """
    return (
        (m.dof_drive_type[dof] == 0 or (m.dof_stiffness[dof] == 0.0 and m.dof_damping[dof] == 0.0))
        and m.dof_envelope[dof] == 0
        and m.dof_passive_stiffness[dof] == 0.0
        and m.dof_passive_damping[dof] == 0.0
        and m.dof_viscous_friction[dof] == 0.0
        and not is_rough(m, dof)
    )


@wp.func
def friction_bounds(m: ModelData, w: Scratch, dof: int, index: int):
    """Forces that friction holds with, and that it slides with."""
    slide = m.dof_dynamic_friction[dof]
    stick = wp.max(m.dof_static_friction[dof], slide)
    if by_load(m, dof):
        slide = m.dof_friction_coefficient[dof] * w.joint_load[index]
        stick = slide
    return wp.vec2(stick, slide)


@wp.func
def add_contact_loads(t: Tables, m: ModelData, w: Scratch, k: ContactData, r: ContactRows, a: int, h: float):
    """Take the forces of contacts in the substep before from what links need of their joints."""
    environment = t.articulation_environment[a]
    for slot in range(k.slot_start[environment], k.slot_start[environment] + k.count[environment]):
        impulse = r.impulse[slot]
        n = k.normal[slot]
        t1, t2 = orthonormal_basis(n)
        force = (n * impulse[0] + t1 * impulse[1] + t2 * impulse[2]) / h
        body0 = k.body0[slot]
        body1 = k.body1[slot]
        for end in range(2):
            link = wp.where(end == 0, body0, body1)
            if link >= 0:
                if t.link_articulation[link] == a:
                    f = force * wp.where(end == 0, 1.0, -1.0)
                    lever = w.link_com_offset[link] + r.arm[2 * slot + end]
                    w.link_load_force[link] = w.link_load_force[link] - f
                    w.link_load_torque[link] = w.link_load_torque[link] - wp.cross(lever, f)


@wp.func
def joint_loads(
    t: Tables, m: ModelData, s: StateData, w: Scratch, k: ContactData, r: ContactRows, a: int, h: float
):
    """|force| + |torque| that joints transmit, if links go on changing their velocities as in the substep before.

    A joint gives its subtree the rate of its momentum less what acts on it otherwise; the torque is that about the
    joint. A new state is taken to be held.
    """
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    base = t.articulation_link[a]
    wanted = int(0)
    for i in range(root, t.type_velocities[kind]):
        if by_load(m, t.articulation_dof[a] + i - root):
            wanted = 1
    if wanted == 0:
        return
    linear = wp.vec3(0.0, 0.0, 0.0)
    angular = wp.vec3(0.0, 0.0, 0.0)
    if root == 6:
        linear = wp.vec3(s.velocity_change[start], s.velocity_change[start + 1], s.velocity_change[start + 2])
        angular = wp.vec3(
            s.velocity_change[start + 3], s.velocity_change[start + 4], s.velocity_change[start + 5]
        )
    w.link_load_force[base] = linear / h
    w.link_load_torque[base] = angular / h
    for local in range(1, t.type_links[kind]):
        row = t.type_link[kind] + local
        linear = w.link_load_force[base + t.link_parent[row]]
        angular = w.link_load_torque[base + t.link_parent[row]]
        for d in range(t.link_dofs[row]):
            index = start + root + t.link_dof[row] + d
            linear += w.motion_linear[index] * (s.velocity_change[index] / h)
            angular += w.motion_angular[index] * (s.velocity_change[index] / h)
        w.link_load_force[base + local] = linear
        w.link_load_torque[base + local] = angular
    for local in range(t.type_links[kind]):
        link = base + local
        c = w.link_com_offset[link]
        angular = w.link_load_torque[link]
        f = m.link_mass[link] * (w.link_load_force[link] + wp.cross(angular, c))
        w.link_load_force[link] = f
        w.link_load_torque[link] = w.link_inertia[link] * angular + wp.cross(c, f)
    add_contact_loads(t, m, w, k, r, a, h)
    origin = wp.quat_rotate(w.link_rotation[base], m.link_com[base])
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        row = t.type_link[kind] + local
        link = base + local
        parent = base + t.link_parent[row]
        f = w.link_load_force[link]
        n = w.link_load_torque[link]
        w.link_load_force[parent] = w.link_load_force[parent] + f
        w.link_load_torque[parent] = w.link_load_torque[parent] + n
        f -= w.link_force[link]
        n -= w.link_torque[link] + wp.cross(joint_point(t, m, w, a, local) - origin, f)
        for d in range(t.link_dofs[row]):
            w.joint_load[start + root + t.link_dof[row] + d] = wp.length(f) + wp.length(n)


@wp.func
def lock_resting(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int):
    """Lock what friction holds at rest, unless something may pull it loose within the substep."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    for i in range(root, t.type_velocities[kind]):
        dof = t.articulation_dof[a] + i - root
        if w.exposed[a] == 0 and s.dof_sliding[dof] == 0 and is_rough(m, dof):
            w.locked[t.articulation_velocity[a] + i] = 1


@wp.func
def unlock(t: Tables, m: ModelData, w: Scratch, a: int):
    """Unlock all but the axes that a floating root is held along; returns whether something was locked."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    axes = m.link_locked_axes[t.articulation_link[a]]
    changed = int(0)
    for i in range(t.type_velocities[kind]):
        index = t.articulation_velocity[a] + i
        kept = int(0)
        if i < root:
            kept = (axes >> i) & 1
        else:
            changed = wp.max(changed, w.locked[index])
        w.locked[index] = kept
    return changed


@wp.func
def release(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float):
    """Unlock what takes more than the static bound; returns whether something did."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    changed = int(0)
    for i in range(root, t.type_velocities[kind]):
        index = t.articulation_velocity[a] + i
        dof = t.articulation_dof[a] + i - root
        if w.locked[index] == 1:
            w.free_velocity[index] = 0.0
            s.dof_friction_force[dof] = w.hold[index] / h
            if wp.abs(w.hold[index]) > h * friction_bounds(m, w, dof, index)[0]:
                w.locked[index] = 0
                changed = 1
    return changed


@wp.func
def start_friction(m: ModelData, s: StateData, w: Scratch, dof: int, index: int, h: float):
    """Impulse that a row starts with: that of the force of the substep before."""
    stick = h * friction_bounds(m, w, dof, index)[0]
    return wp.clamp(h * s.dof_friction_force[dof], -stick, stick)


@wp.func
def friction_impulse(
    m: ModelData, s: StateData, w: Scratch, dof: int, index: int, old: float, v: float, h: float
):
    """Impulse of friction in place of `old`, for a velocity that is v with the old one."""
    mass = w.dof_row_mass[index]
    bounds = friction_bounds(m, w, dof, index)
    stop = old - v * mass
    free = v - old / mass
    # at rest at the start of the substep, or somewhere within it without friction
    if (s.dof_sliding[dof] == 0 or s.velocity[index] * free <= 0.0) and wp.abs(stop) <= h * bounds[0]:
        return stop
    return wp.clamp(stop, -h * bounds[1], h * bounds[1])


@wp.func
def keep_friction(m: ModelData, s: StateData, w: Scratch, dof: int, index: int, v: float, h: float):
    """Keep the force of friction for the next substep, and whether the joint rests."""
    s.dof_friction_force[dof] = w.dof_friction_impulse[index] / h
    missing = wp.abs(v) * w.dof_row_mass[index]
    stick = h * friction_bounds(m, w, dof, index)[0]
    s.dof_sliding[dof] = wp.where(missing <= AT_REST * stick, 0, 1)
