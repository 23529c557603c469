"""Moving one articulation over a substep, and the velocity that is reported at its end."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.balls import advance_ball, ball_place, three
from tensorphys_dynamics._kernels.factor import from_u
from tensorphys_dynamics._kernels.friction import is_smooth
from tensorphys_dynamics._kernels.kinematics import place_root
from tensorphys_dynamics._kernels.thresholds import ENDLESS, FASTEST, HALF_TURN, OUTSIDE
from tensorphys_spatial.device import quaternion_integrate

wp.set_module_options({"enable_backward": False})


@wp.func
def move_root(
    t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, linear: wp.vec3, angular: wp.vec3, h: float
):
    """Carry the root: its centre of mass along a line, its orientation at constant angular velocity."""
    w.origin_shift[a] = h * linear
    w.origin_travel[a] = w.origin_travel[a] + h * linear
    turned = quaternion_integrate(wp.transform_get_rotation(s.root_pose[a]), h * angular)
    place_root(m, s, w, a, t.articulation_link[a], turned)


@wp.func
def root_centre(t: Tables, m: ModelData, s: StateData, a: int):
    """Place of the root link's centre of mass by its pose."""
    rotation = wp.transform_get_rotation(s.root_pose[a])
    offset = wp.quat_rotate(rotation, m.link_com[t.articulation_link[a]])
    return wp.transform_get_translation(s.root_pose[a]) + offset


@wp.func
def set_out(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int):
    """Remember where the root is at the start of a step."""
    w.origin_start[a] = root_centre(t, m, s, a)
    w.origin_travel[a] = s.root_remainder[a]


@wp.func
def keep_remainder(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int):
    """Keep what rounding leaves out of the place of a floating root, for the next step."""
    if t.type_root[t.articulation_type[a]] == 6:
        s.root_remainder[a] = (w.origin_start[a] - root_centre(t, m, s, a)) + w.origin_travel[a]


@wp.func
def largest_speed(t: Tables, m: ModelData, a: int, i: int, h: float):
    """Bound of the speed of a degree of freedom."""
    kind = t.articulation_type[a]
    bound = m.dof_max_velocity[t.articulation_dof[a] + i - t.type_root[kind]]
    if t.velocity_rotational[t.type_velocity[kind] + i] == 1:
        bound = wp.min(bound, HALF_TURN / h)
    return bound


@wp.func
def stop_diverged(t: Tables, s: StateData, w: Scratch, a: int):
    """Have an articulation whose `free_velocity` holds no numbers any more stand where it is, and mark it."""
    start = t.articulation_velocity[a]
    end = start + t.type_velocities[t.articulation_type[a]]
    wrong = int(0)
    for i in range(start, end):
        if not (wp.abs(w.free_velocity[i]) <= ENDLESS):
            wrong = 1
    if wrong == 0:
        return
    s.diverged[a] = 1
    w.momentum_known[a] = 0
    for i in range(start, end):
        w.free_velocity[i] = 0.0
        w.kick[i] = 0.0
        w.u[i] = 0.0
        if not (wp.abs(s.velocity[i]) <= ENDLESS):
            s.velocity[i] = 0.0
            s.half_kick[i] = 0.0
    first = t.articulation_dof[a]
    for dof in range(first, first + end - start - t.type_root[t.articulation_type[a]]):
        s.dof_limit_force[dof] = 0.0
        s.dof_friction_force[dof] = 0.0
        s.dof_saturation[dof] = 0


@wp.func
def clamp_velocities(t: Tables, m: ModelData, s: StateData, a: int, v: wp.array[wp.float32], h: float):
    """Bound the speeds of joints and of a floating root; returns whether the root was bounded."""
    clamped = int(0)
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    if root == 6:
        link = t.articulation_link[a]
        linear = wp.length(wp.vec3(v[start], v[start + 1], v[start + 2]))
        angular = wp.length(wp.vec3(v[start + 3], v[start + 4], v[start + 5]))
        fastest = wp.min(m.link_max_linear_velocity[link], FASTEST)
        if linear > fastest:
            clamped = 1
            if fastest == FASTEST:
                s.diverged[a] = 1
            for i in range(3):
                v[start + i] = v[start + i] * (fastest / linear)
        top = wp.min(m.link_max_angular_velocity[link], HALF_TURN / h)
        if angular > top:
            clamped = 1
            for i in range(3):
                v[start + 3 + i] = v[start + 3 + i] * (top / angular)
    for i in range(root, t.type_velocities[kind]):
        bound = largest_speed(t, m, a, i, h)
        v[start + i] = wp.clamp(v[start + i], -bound, bound)
    return clamped


@wp.func
def synchronise(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float, clamped: int):
    """Velocity at the time of the positions: half a smooth kick more, where nothing but smooth forces acted."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    free = wp.where(w.loaded[a] == 0, 1.0, 0.0)
    for i in range(t.type_velocities[kind]):
        half = 0.5 * free * w.kick[start + i]
        after = w.free_velocity[start + i]
        if i < root:
            half *= float(1 - clamped)
            if i >= 3:
                half = wp.clamp(half, -HALF_TURN / h, HALF_TURN / h)
        elif is_smooth(m, t.articulation_dof[a] + i - root):
            bound = largest_speed(t, m, a, i, h)
            half = wp.clamp(half, -bound - after, bound - after)
        else:
            half = 0.0
        s.velocity_change[start + i] = after - (s.velocity[start + i] - s.half_kick[start + i])
        s.velocity[start + i] = after + half
        s.half_kick[start + i] = half
    s.root_synced[a] = 0
    if w.momentum_known[a] == 1:
        if w.loaded[a] < OUTSIDE:
            s.root_synced[a] = 1
            # what acts inside leaves the momentum as it is, and that gives the synchronised root velocity: there is
            # nothing to take back
            for i in range(root):
                s.half_kick[start + i] = 0.0
        else:
            w.momentum_known[a] = 0
    s.fresh[a] = 0


@wp.func
def advance_articulation(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float):
    """Positions by the velocity of the sweep, then the reported velocity."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    if w.rubbed[a] == 1:
        # what friction changed belongs to the kick whose half synchronises the velocity
        from_u(t, w, a, w.u, w.force)
        for i in range(start, start + t.type_velocities[kind]):
            w.kick[i] = w.kick[i] + w.force[i] - w.free_velocity[i]
    from_u(t, w, a, w.u_drift, w.free_velocity)
    stop_diverged(t, s, w, a)
    clamp_velocities(t, m, s, a, w.free_velocity, h)
    if root == 6:
        linear = wp.vec3(w.free_velocity[start], w.free_velocity[start + 1], w.free_velocity[start + 2])
        angular = wp.vec3(w.free_velocity[start + 3], w.free_velocity[start + 4], w.free_velocity[start + 5])
        move_root(t, m, s, w, a, linear, angular, h)
    else:
        linear = wp.spatial_top(s.root_velocity[a])
        angular = wp.spatial_bottom(s.root_velocity[a])
        if m.link_disabled[t.articulation_link[a]] == 1:
            linear = wp.vec3(0.0, 0.0, 0.0)
            angular = wp.vec3(0.0, 0.0, 0.0)
        # a root at rest stays to the last bit: to set it anew would round it anew, and all that hangs on it
        if wp.length_sq(linear) + wp.length_sq(angular) > 0.0:
            move_root(t, m, s, w, a, linear, angular, h)
    for i in range(root, t.type_velocities[kind]):
        dof = t.articulation_dof[a] + i - root
        place = ball_place(m, dof)
        if place < 0:
            s.dof_position[dof] = s.dof_position[dof] + h * w.free_velocity[start + i]
        elif place == 0:
            advance_ball(m, s, dof, h * three(w.free_velocity, start + i))
    from_u(t, w, a, w.u, w.free_velocity)
    stop_diverged(t, s, w, a)
    clamped = clamp_velocities(t, m, s, a, w.free_velocity, h)
    if clamped == 1:
        w.momentum_known[a] = 0
    synchronise(t, m, s, w, a, h, clamped)
