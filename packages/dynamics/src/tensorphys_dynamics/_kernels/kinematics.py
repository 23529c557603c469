"""Link poses, joint motions and velocities of one articulation, and its root velocity from its momentum."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.balls import ball_place, ball_turn, child_is_body0, link_turn
from tensorphys_dynamics._kernels.thresholds import FASTEST, FASTEST_TURN, SOUND
from tensorphys_spatial.device import inertia_rotate

wp.set_module_options({"enable_backward": False})


@wp.func
def point_inertia(mass: float, c: wp.vec3):
    """Inertia of a point mass at c about the origin."""
    return mass * (wp.dot(c, c) * wp.identity(n=3, dtype=float) - wp.outer(c, c))


@wp.func
def root_motion(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int):
    """Pose and velocity of the root link; returns the offset of its centre of mass from its origin."""
    kind = t.articulation_type[a]
    link = t.articulation_link[a]
    start = t.articulation_velocity[a]
    rotation = wp.transform_get_rotation(s.root_pose[a])
    origin = wp.quat_rotate(rotation, m.link_com[link])
    w.link_position[link] = wp.vec3(0.0, 0.0, 0.0)
    w.link_rotation[link] = rotation
    if t.type_root[kind] == 6:
        w.link_linear[link] = wp.vec3(s.velocity[start], s.velocity[start + 1], s.velocity[start + 2])
        w.link_angular[link] = wp.vec3(s.velocity[start + 3], s.velocity[start + 4], s.velocity[start + 5])
        for i in range(3):
            axis = wp.vec3(0.0, 0.0, 0.0)
            axis[i] = 1.0
            w.motion_linear[start + i] = axis
            w.motion_angular[start + i] = wp.vec3(0.0, 0.0, 0.0)
            w.motion_linear[start + 3 + i] = wp.vec3(0.0, 0.0, 0.0)
            w.motion_angular[start + 3 + i] = axis
    else:
        w.link_linear[link] = wp.spatial_top(s.root_velocity[a])
        w.link_angular[link] = wp.spatial_bottom(s.root_velocity[a])
    return origin


@wp.func
def link_motion(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, local: int, origin: wp.vec3):
    """Pose, joint motions and velocity of a link whose parent is done."""
    kind = t.articulation_type[a]
    row = t.type_link[kind] + local
    base = t.articulation_link[a]
    link = base + local
    parent = base + t.link_parent[row]
    rest = m.link_rest_pose[link]
    rotation = w.link_rotation[parent]
    position = w.link_position[parent] + wp.quat_rotate(rotation, wp.transform_get_translation(rest))
    rotation = wp.normalize(rotation * wp.transform_get_rotation(rest))
    angular = w.link_angular[parent]
    linear = w.link_linear[parent]
    before = rotation
    pivot = position
    for k in range(t.link_dofs[row]):
        local_dof = t.link_dof[row] + k
        dof = t.articulation_dof[a] + local_dof
        index = t.articulation_velocity[a] + t.type_root[kind] + local_dof
        axis = wp.quat_rotate(rotation, m.dof_axis[dof])
        motion_angular = wp.vec3(0.0, 0.0, 0.0)
        motion_linear = axis
        place = ball_place(m, dof)
        if place >= 0:
            if place == 0:
                before = rotation
                pivot = position + wp.quat_rotate(rotation, m.dof_anchor[dof])
                rotation = rotation * link_turn(m, dof, ball_turn(m, s, a, dof))
                position = pivot - wp.quat_rotate(rotation, m.dof_anchor[dof])
            motion_angular = wp.quat_rotate(rotation, m.dof_axis[dof])
            if child_is_body0(m, dof - place):
                motion_angular = wp.quat_rotate(before, m.dof_axis[dof])
            motion_linear = wp.cross(pivot - origin, motion_angular)
        elif t.velocity_rotational[t.type_velocity[kind] + t.type_root[kind] + local_dof] == 1:
            pivot = position + wp.quat_rotate(rotation, m.dof_anchor[dof])
            rotation = rotation * wp.quat_from_axis_angle(m.dof_axis[dof], s.dof_position[dof])
            position = pivot - wp.quat_rotate(rotation, m.dof_anchor[dof])
            motion_angular = axis
            motion_linear = wp.cross(pivot - origin, axis)
        else:
            position = position + axis * s.dof_position[dof]
        w.motion_angular[index] = motion_angular
        w.motion_linear[index] = motion_linear
        angular = angular + motion_angular * s.velocity[index]
        linear = linear + motion_linear * s.velocity[index]
    w.link_position[link] = position
    w.link_rotation[link] = rotation
    w.link_angular[link] = angular
    w.link_linear[link] = linear


@wp.func
def link_masses(m: ModelData, w: Scratch, link: int, origin: wp.vec3):
    """Centre of mass and inertia of a link in environment axes."""
    rotation = w.link_rotation[link]
    w.link_com_offset[link] = w.link_position[link] + wp.quat_rotate(rotation, m.link_com[link]) - origin
    w.link_inertia[link] = inertia_rotate(m.link_inertia[link], rotation)


@wp.func
def measure_composite(t: Tables, m: ModelData, w: Scratch, a: int):
    """Total mass, its centre relative to that of the root link, and linear momentum; keeps the share that falls."""
    base = t.articulation_link[a]
    mass = wp.float64(0.0)
    falling = wp.float64(0.0)
    moment = wp.vec3d()
    p = wp.vec3d()
    for local in range(t.type_links[t.articulation_type[a]]):
        link = base + local
        own = wp.float64(m.link_mass[link])
        c = wp.vec3d(w.link_com_offset[link])
        mass += own
        falling += own * wp.float64(m.link_gravity[link])
        moment += own * c
        p += own * (wp.vec3d(w.link_linear[link]) + wp.cross(wp.vec3d(w.link_angular[link]), c))
    w.total_mass[a] = wp.float32(mass)
    w.gravity_share[a] = wp.float32(falling / mass)
    return mass, moment / mass, p


@wp.func
def measure_spin(t: Tables, m: ModelData, w: Scratch, a: int, centre: wp.vec3d, velocity: wp.vec3d):
    """Angular momentum and inertia about the centre of mass, which moves at `velocity`.

    In float64: of a heavy link among light ones, mass times the rounding of its velocity against that of the centre would
    be more than all that the light ones have.
    """
    base = t.articulation_link[a]
    inertia = wp.mat33d()
    spin = wp.vec3d()
    for local in range(t.type_links[t.articulation_type[a]]):
        link = base + local
        mass = wp.float64(m.link_mass[link])
        c = wp.vec3d(w.link_com_offset[link])
        angular = wp.vec3d(w.link_angular[link])
        own = wp.vec3d(w.link_linear[link]) + wp.cross(angular, c) - velocity
        arm = c - centre
        turned = wp.mat33d(w.link_inertia[link])
        point = mass * (wp.dot(arm, arm) * wp.identity(n=3, dtype=wp.float64) - wp.outer(arm, arm))
        inertia += turned + point
        spin += turned * angular + mass * wp.cross(arm, own)
    return spin, inertia


@wp.func
def place_root(m: ModelData, s: StateData, w: Scratch, a: int, link: int, rotation: wp.quat):
    """Root pose from where its centre of mass has come to in the step."""
    place = w.origin_start[a] - wp.quat_rotate(rotation, m.link_com[link])
    s.root_pose[a] = wp.transform(place + w.origin_travel[a], rotation)


@wp.func
def momentum_root(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int):
    """Set the root velocity of a floating base so that the known momentum holds, joint velocities kept, and carry the
    root so that the centre of mass has moved by it.

    The momentum is linear in the root velocity: with the composite mass, its centre c and the inertia about it,
    Δω = I⁻¹ ΔL and Δv = Δp / m − Δω × c [Featherstone 2008, §2.13]. L is that about the centre of mass: about any
    other point the error of second order in the place of the mass, times p, would be made good by a spin, which
    a heavy load at the end of a light chain does not survive. Where no momentum is known it is only measured.
    """
    base = t.articulation_link[a]
    mass, centre, p = measure_composite(t, m, w, a)
    spin, inertia = measure_spin(t, m, w, a, centre, p / mass)
    # rounding may leave no inertia to invert
    size = wp.trace(inertia)
    known = wp.vec3d(w.momentum_linear[a])
    sound = int(0)
    turn = wp.vec3(0.0, 0.0, 0.0)
    move = wp.vec3(0.0, 0.0, 0.0)
    if w.momentum_known[a] == 1 and wp.determinant(inertia) > SOUND * size * size * size:
        wide = wp.inverse(inertia) * (wp.vec3d(w.momentum_angular[a]) - spin)
        turn = wp.vec3(wide)
        move = wp.vec3((known - p) / mass - wp.cross(wide, centre))
        if wp.length(w.link_angular[base] + turn) <= FASTEST_TURN:
            if wp.length(w.link_linear[base] + move) <= FASTEST:
                sound = 1
    if sound == 1:
        links = t.type_links[t.articulation_type[a]]
        start = t.articulation_velocity[a]
        for i in range(3):
            s.velocity[start + i] = s.velocity[start + i] + move[i]
            s.velocity[start + 3 + i] = s.velocity[start + 3 + i] + turn[i]
        for local in range(links):
            w.link_linear[base + local] = w.link_linear[base + local] + move
            w.link_angular[base + local] = w.link_angular[base + local] + turn
        if links > 1:
            astray = w.origin_shift[a] + wp.vec3(centre) - w.mass_centre[a] - w.centre_step[a]
            w.origin_travel[a] = w.origin_travel[a] - astray
            place_root(m, s, w, a, base, wp.transform_get_rotation(s.root_pose[a]))
    else:
        w.momentum_linear[a] = wp.vec3(p)
        w.momentum_angular[a] = wp.vec3(spin)
    w.mass_centre[a] = wp.vec3(centre)


@wp.func
def articulation_kinematics(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int):
    """All kinematics of one articulation."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    origin = root_motion(t, m, s, w, a)
    link_masses(m, w, base, origin)
    for local in range(1, t.type_links[kind]):
        link_motion(t, m, s, w, a, local, origin)
        link_masses(m, w, base + local, origin)
    if t.type_root[kind] == 6:
        momentum_root(t, m, s, w, a)


@wp.func
def publish_links(t: Tables, s: StateData, w: Scratch, a: int):
    """Write link poses and velocities of the centres of mass."""
    base = t.articulation_link[a]
    root = wp.transform_get_translation(s.root_pose[a])
    for local in range(t.type_links[t.articulation_type[a]]):
        link = base + local
        angular = w.link_angular[link]
        linear = w.link_linear[link] + wp.cross(angular, w.link_com_offset[link])
        s.link_pose[link] = wp.transform(root + w.link_position[link], w.link_rotation[link])
        s.link_velocity[link] = wp.spatial_vector(linear, angular)


@wp.kernel
def update_written(
    t: Tables,
    m: ModelData,
    w: Scratch,
    every: wp.int32,
    # outputs
    s: StateData,
    previous_count_out: wp.array[wp.int32],
):
    """Derive link state of articulations that a setter wrote, and forget what was warm in their environments."""
    a = wp.tid()
    if s.fresh[a] == 1 or every == 1:
        w.momentum_known[a] = 0
        articulation_kinematics(t, m, s, w, a)
        publish_links(t, s, w, a)
    if s.fresh[a] == 1:
        previous_count_out[t.articulation_environment[a]] = 0
        kind = t.articulation_type[a]
        s.root_synced[a] = 0
        s.root_remainder[a] = wp.vec3(0.0, 0.0, 0.0)
        s.diverged[a] = 0
        for i in range(t.type_velocities[kind]):
            s.half_kick[t.articulation_velocity[a] + i] = 0.0
            s.velocity_change[t.articulation_velocity[a] + i] = 0.0
        for i in range(t.type_velocities[kind] - t.type_root[kind]):
            dof = t.articulation_dof[a] + i
            s.dof_saturation[dof] = 0
            s.dof_limit_force[dof] = 0.0
            s.dof_friction_force[dof] = 0.0
            moving = s.velocity[t.articulation_velocity[a] + t.type_root[kind] + i] != 0.0
            s.dof_sliding[dof] = wp.where(moving, 1, 0)
            s.previous_actuation[dof] = 0.0
        for i in range(t.type_links[kind]):
            s.previous_force[t.articulation_link[a] + i] = wp.vec3(0.0, 0.0, 0.0)
            s.previous_torque[t.articulation_link[a] + i] = wp.vec3(0.0, 0.0, 0.0)
