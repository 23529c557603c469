"""Drives, passive springs and dampers, and the bounds of actuators; all act implicitly over a kick."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ControlData, ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.balls import position_gap
from tensorphys_dynamics._kernels.factor import dof_response, factorize
from tensorphys_dynamics._kernels.thresholds import OFF, STEEP_SHARE, STEEP_SLOPE, UNBOUNDED

wp.set_module_options({"enable_backward": False})

FREE_SATURATION = wp.constant(1)
LOADED_SATURATION = wp.constant(2)


@wp.func
def copy_mass(t: Tables, w: Scratch, a: int):
    """Start a factorisation from the mass matrix."""
    entry = t.articulation_entry[a]
    for i in range(t.articulation_entry[a + 1] - entry):
        w.factor_entry[entry + i] = w.mass_entry[entry + i]
    start = t.articulation_velocity[a]
    for i in range(t.type_velocities[t.articulation_type[a]]):
        w.drive_diagonal[start + i] = 0.0


@wp.func
def drive_scale(t: Tables, m: ModelData, w: Scratch, a: int):
    """Leave in `drive_force` the factor that turns gains into forces: 1, or the inertia that an acceleration
    drive sees, (M⁻¹)_dd⁻¹."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    wanted = int(0)
    for i in range(root, t.type_velocities[kind]):
        w.drive_force[start + i] = 1.0
        if m.dof_drive_type[t.articulation_dof[a] + i - root] == 2:
            wanted = 1
    if wanted == 1:
        copy_mass(t, w, a)
        factorize(t, m, w, a)
        for i in range(root, t.type_velocities[kind]):
            if m.dof_drive_type[t.articulation_dof[a] + i - root] == 2:
                w.drive_force[start + i] = 1.0 / dof_response(t, w, a, i)


@wp.func
def drive_error(m: ModelData, s: StateData, c: ControlData, dof: int, velocity: float, h: float):
    """Force of a drive of unit scale if the degree of freedom moves at `velocity` over the substep."""
    k = m.dof_stiffness[dof]
    d = m.dof_damping[dof]
    gap = position_gap(m, s, c.position_target, m.dof_stiffness, dof)
    return k * (gap - h * velocity) + d * (c.velocity_target[dof] - velocity)


@wp.func
def actuator_force(
    m: ModelData, s: StateData, c: ControlData, dof: int, scale: float, velocity: float, h: float
):
    """Force that the bound is for: that of the drive, under a performance envelope with the actuation."""
    force = float(0.0)
    if m.dof_drive_type[dof] != 0:
        force = scale * drive_error(m, s, c, dof, velocity, h)
    if m.dof_envelope[dof] != 0:
        force += c.actuation[dof]
    return force


@wp.func
def is_bounded(m: ModelData, dof: int):
    """Whether the force of an actuator has a bound."""
    return m.dof_envelope[dof] != 0 or (m.dof_drive_type[dof] != 0 and m.dof_max_force[dof] < UNBOUNDED)


@wp.func
def effort_line(m: ModelData, dof: int, speed: float):
    """The line b0 − b1 |v| that bounds the force of an actuator at a speed, as (b0, b1); see `Model`."""
    line = wp.vec2(m.dof_max_force[dof], 0.0)
    if m.dof_envelope[dof] != 0:
        line[1] = m.dof_velocity_resistance[dof]
        top = m.dof_max_actuator_velocity[dof]
        if top < UNBOUNDED:
            gradient = wp.max(m.dof_speed_effort_gradient[dof], STEEP_SHARE * top / wp.max(line[0], 1.0e-30))
            slope = wp.min(1.0 / wp.max(gradient, 1.0e-30), STEEP_SLOPE)
            if slope * (top - speed) < line[0] - line[1] * speed:
                line = wp.vec2(slope * top, slope)
    return line


@wp.func
def effort_bound(m: ModelData, dof: int, velocity: float):
    """Bound of the force of an actuator at a velocity."""
    speed = wp.abs(velocity)
    line = effort_line(m, dof, speed)
    return wp.max(line[0] - line[1] * speed, 0.0)


@wp.func
def bounded_force(m: ModelData, dof: int, saturation: int, velocity: float):
    """Force at its bound as (force at `velocity`, −d force / d velocity).

    A bound that falls with the speed that the force drives is implicit like damping, and the force is off where that
    would make it brake; one that falls while the force brakes, or under
    contact load, is that at the start of the kick.
    """
    if wp.abs(saturation) == OFF:
        return wp.vec2(0.0, 0.0)
    sign = wp.sign(float(saturation))
    speed = wp.abs(velocity)
    line = effort_line(m, dof, speed)
    if sign * velocity >= 0.0 and wp.abs(saturation) == FREE_SATURATION:
        return wp.vec2(sign * (line[0] - line[1] * speed), line[1])
    return wp.vec2(sign * wp.max(line[0] - line[1] * speed, 0.0), 0.0)


@wp.func
def next_saturation(m: ModelData, dof: int, old: int, force: float, before: float, after: float):
    """Mark of an actuator that asks for `force` at the velocity `after` the kick: 0 inside its bound."""
    bound = effort_bound(m, dof, after)
    if wp.abs(old) == LOADED_SATURATION:
        return old
    new = int(0)
    if old == 0:
        if force > bound * 1.000001:
            new = FREE_SATURATION
        elif force < -bound * 1.000001:
            new = -FREE_SATURATION
    else:
        sign = int(wp.sign(float(old)))
        if force * float(sign) >= bound:
            new = sign * FREE_SATURATION
            line = effort_line(m, dof, wp.abs(before))
            if before * float(sign) >= 0.0 and line[0] - line[1] * after * float(sign) < 0.0:
                new = sign * OFF
    return new


@wp.func
def assemble_drives(
    t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float, first: int
):
    """Right-hand side h τ in `kick`, and the diagonal that makes drives, passive springs and viscous friction
    implicit."""
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    start = t.articulation_velocity[a]
    copy_mass(t, w, a)
    for i in range(t.type_velocities[kind]):
        w.kick[start + i] = h * w.force[start + i]
        w.driven[start + i] = 0.0
    blend = wp.where(first == 1 and s.fresh[a] == 0, 0.5, 0.0)
    for i in range(root, t.type_velocities[kind]):
        index = start + i
        dof = t.articulation_dof[a] + i - root
        local = t.velocity_entry[t.type_velocity[kind] + i] + t.velocity_depth[t.type_velocity[kind] + i]
        velocity = s.velocity[index] - s.half_kick[index]
        stiffness = m.dof_passive_stiffness[dof]
        damping = m.dof_passive_damping[dof] + m.dof_viscous_friction[dof]
        gap = position_gap(m, s, m.dof_spring_reference, m.dof_passive_stiffness, dof)
        force = stiffness * (gap - h * velocity) - damping * velocity
        diagonal = h * (h * stiffness + damping)
        saturation = wp.where(is_bounded(m, dof), s.dof_saturation[dof], 0)
        if m.dof_envelope[dof] == 0 or saturation == 0:
            force += c.actuation[dof] + blend * (s.previous_actuation[dof] - c.actuation[dof])
        gain = float(0.0)
        if m.dof_drive_type[dof] != 0:
            gain = w.drive_force[index] * (h * m.dof_stiffness[dof] + m.dof_damping[dof])
        w.drive_gain[index] = gain
        if saturation != 0:
            at = bounded_force(m, dof, saturation, velocity)
            force += at[0]
            diagonal += h * at[1]
        elif gain != 0.0:
            force += w.drive_force[index] * drive_error(m, s, c, dof, velocity, h)
            diagonal += h * gain
        w.driven[index] = h * force
        w.kick[index] = w.kick[index] + w.driven[index]
        entry = t.articulation_entry[a] + local
        w.factor_entry[entry] = w.factor_entry[entry] + diagonal
        w.drive_diagonal[index] = diagonal


@wp.func
def saturate(t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float):
    """Mark actuators whose force would pass its bound; returns whether a mark changed.

    A mark made under contact load stays until the load has been solved, see `sweep`.
    """
    kind = t.articulation_type[a]
    root = t.type_root[kind]
    changed = int(0)
    for i in range(root, t.type_velocities[kind]):
        dof = t.articulation_dof[a] + i - root
        if is_bounded(m, dof):
            index = t.articulation_velocity[a] + i
            force = actuator_force(m, s, c, dof, w.drive_force[index], w.free_velocity[index], h)
            old = s.dof_saturation[dof]
            before = s.velocity[index] - s.half_kick[index]
            new = next_saturation(m, dof, old, force, before, w.free_velocity[index])
            if new != old:
                s.dof_saturation[dof] = new
                changed = 1
    return changed
