"""Wrenches on links and the inertias that gather over subtrees; the known momentum of a floating articulation."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ControlData, ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.balls import ball_place
from tensorphys_dynamics._kernels.kinematics import point_inertia

wp.set_module_options({"enable_backward": False})


@wp.func
def link_rates(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, local: int):
    """Velocity-product acceleration of a link whose parent is done."""
    kind = t.articulation_type[a]
    row = t.type_link[kind] + local
    base = t.articulation_link[a]
    parent = base + t.link_parent[row]
    angular = w.link_angular[parent]
    linear = w.link_linear[parent]
    angular_rate = w.link_angular_rate[parent]
    linear_rate = w.link_linear_rate[parent]
    for k in range(t.link_dofs[row]):
        index = t.articulation_velocity[a] + t.type_root[kind] + t.link_dof[row] + k
        rate = s.velocity[index]
        motion_angular = w.motion_angular[index] * rate
        motion_linear = w.motion_linear[index] * rate
        # a ball joint moves by its three motions at once, about axes that are fixed in one of its bodies
        place = ball_place(m, t.articulation_dof[a] + t.link_dof[row] + k)
        if place > 0:
            continue
        if place == 0:
            for other in range(1, 3):
                motion_angular += w.motion_angular[index + other] * s.velocity[index + other]
                motion_linear += w.motion_linear[index + other] * s.velocity[index + other]
        angular += motion_angular
        linear += motion_linear
        angular_rate += wp.cross(angular, motion_angular)
        linear_rate += wp.cross(angular, motion_linear) + wp.cross(linear, motion_angular)
    w.link_angular_rate[base + local] = angular_rate
    w.link_linear_rate[base + local] = linear_rate


@wp.func
def own_wrench(m: ModelData, w: Scratch, link: int, gravity: wp.vec3, force: wp.vec3, torque: wp.vec3):
    """Forces on a link less its rate of momentum, implicit damping with its explicit part: (force, torque about the
    centre of mass)."""
    mass = m.link_mass[link]
    c = w.link_com_offset[link]
    angular = w.link_angular[link]
    velocity = w.link_linear[link] + wp.cross(angular, c)
    # rate of momentum about the centre of mass: m a_c and I α + ω × I ω
    alpha = w.link_angular_rate[link]
    classical = w.link_linear_rate[link] + wp.cross(alpha, c) + wp.cross(angular, velocity)
    spin = w.link_inertia[link] * angular
    rate_angular = w.link_inertia[link] * alpha
    if m.link_gyroscopic[link] == 1:
        rate_angular += wp.cross(angular, spin)
    external = force + gravity * (mass * m.link_gravity[link])
    f = external - mass * classical - (m.link_linear_damping[link] * mass) * velocity
    return f, torque - rate_angular - m.link_angular_damping[link] * spin


@wp.func
def felt_force(c: ControlData, s: StateData, link: int, blend: float):
    """Applied force and torque of a kick, which takes `blend` of the change since the step before."""
    force = c.link_force[link] + blend * (s.previous_force[link] - c.link_force[link])
    torque = c.link_torque[link] + blend * (s.previous_torque[link] - c.link_torque[link])
    return force, torque


@wp.func
def link_wrench(
    m: ModelData,
    w: Scratch,
    a: int,
    link: int,
    gravity: wp.vec3,
    force: wp.vec3,
    torque: wp.vec3,
    applied_force: wp.vec3,
    applied_torque: wp.vec3,
    h: float,
):
    """Forces on a link less its rate of momentum, and its inertia with implicit damping.

    Returns the external part of the wrench (force, torque about the centre of mass of the articulation with the
    motion of the lever over half a substep) for the momentum.
    """
    mass = m.link_mass[link]
    c = w.link_com_offset[link]
    velocity = w.link_linear[link] + wp.cross(w.link_angular[link], c)
    f, n = own_wrench(m, w, link, gravity, force, torque)
    w.link_force[link] = f
    w.link_torque[link] = n + wp.cross(c, f)
    heavy = mass * (1.0 + h * m.link_linear_damping[link])
    w.heavy_mass[link] = heavy
    w.heavy_inertia[link] = w.link_inertia[link] * (1.0 + h * m.link_angular_damping[link])
    w.subtree_mass[link] = heavy
    w.subtree_moment[link] = heavy * c
    w.subtree_inertia[link] = w.heavy_inertia[link] + point_inertia(heavy, c)
    # The momentum stands at the time of the positions: what is applied now acts on it for the whole substep. A field
    # that is the same for all links has no torque about their centre of mass.
    impulse = applied_force + gravity * (mass * m.link_gravity[link])
    turning = applied_force + gravity * (mass * (m.link_gravity[link] - w.gravity_share[a]))
    arm = c - w.mass_centre[a] + (velocity - w.momentum_linear[a] / w.total_mass[a]) * (0.5 * h)
    return impulse, applied_torque + wp.cross(arm, turning)


@wp.func
def wrenches(t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float, first: int):
    """Wrenches and inertias of all links, gathered over subtrees; advances the known momentum by half-kicks.

    In the first substep after a change of applied forces, the kick straddles the change and takes their mean.
    """
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    gravity = m.gravity[t.articulation_environment[a]]
    blend = wp.where(first == 1 and s.fresh[a] == 0, 0.5, 0.0)
    w.link_angular_rate[base] = wp.vec3(0.0, 0.0, 0.0)
    w.link_linear_rate[base] = -wp.cross(w.link_angular[base], w.link_linear[base])
    p = wp.vec3(0.0, 0.0, 0.0)
    angular = wp.vec3(0.0, 0.0, 0.0)
    damped = float(0.0)
    for local in range(t.type_links[kind]):
        link = base + local
        if local > 0:
            link_rates(t, m, s, w, a, local)
        force, torque = felt_force(c, s, link, blend)
        f, n = link_wrench(m, w, a, link, gravity, force, torque, c.link_force[link], c.link_torque[link], h)
        p += f
        angular += n
        damped += m.link_linear_damping[link] + m.link_angular_damping[link]
    # a velocity under load stands half a kick before the positions
    ahead = h * wp.where(s.root_synced[a] == 0 and s.fresh[a] == 0, 1.5, 1.0)
    w.momentum_linear[a] = w.momentum_linear[a] + ahead * p
    w.momentum_angular[a] = w.momentum_angular[a] + ahead * angular
    w.centre_step[a] = (w.momentum_linear[a] - (0.5 * h) * p) * (h / w.total_mass[a])
    free = damped == 0.0 and m.link_gyroscopic[base] == 1 and m.link_locked_axes[base] == 0
    w.momentum_known[a] = wp.where(free and t.type_root[kind] == 6, 1, 0)
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        link = base + local
        parent = base + t.link_parent[t.type_link[kind] + local]
        w.link_force[parent] = w.link_force[parent] + w.link_force[link]
        w.link_torque[parent] = w.link_torque[parent] + w.link_torque[link]
        w.subtree_mass[parent] = w.subtree_mass[parent] + w.subtree_mass[link]
        w.subtree_moment[parent] = w.subtree_moment[parent] + w.subtree_moment[link]
        w.subtree_inertia[parent] = w.subtree_inertia[parent] + w.subtree_inertia[link]
