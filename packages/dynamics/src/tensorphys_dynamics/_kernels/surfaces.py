"""What contacts have beside rigid normals and friction: springs, patches that resist spin, belts, bounded impulses."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    UNBOUNDED_IMPULSE,
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.thresholds import IMPLICIT, LEAST_GAIN, UNRESOLVED

wp.set_module_options({"enable_backward": False})


@wp.func
def spring_law(k: ContactData, slot: int, inverse_inertia: float, separation: float, h: float):
    """(compliance, speed, kind) of the row v = speed − compliance · impulse that a spring is; kind 0 if it is rigid.

    What moves along the normal feels −k (s + α h v) − d v, with α as above; a spring per mass has its gains for each unit
    of the contact's own inertia. Damping acts where the surfaces touch. Kind 2 is a spring that substeps do not resolve.
    """
    law = wp.vec3(0.0, 0.0, 0.0)
    stiffness = k.stiffness[slot]
    if stiffness > 0.0 and inverse_inertia > 0.0:
        damping = k.damping[slot]
        if k.spring_per_mass[slot] == 1:
            stiffness = stiffness / inverse_inertia
            damping = damping / inverse_inertia
        z = IMPLICIT * h * h * stiffness * inverse_inertia
        gain = h * h * stiffness * z / (1.0 + z)
        if separation <= 0.0:
            gain += h * damping
        gain = wp.max(gain, LEAST_GAIN / inverse_inertia)
        kind = wp.where(z > IMPLICIT * UNRESOLVED, 2.0, 1.0)
        law = wp.vec3(1.0 / gain, -h * stiffness * separation / gain, kind)
    return law


@wp.func
def stiffen(r: ContactRows, slot: int):
    """Have a spring that substeps do not resolve end as a rigid contact once positions have moved.

    A penetration that appears within a step would be shot out with what such a spring stores.
    """
    if r.yields[slot] == 2:
        inverse = r.inverse[slot]
        inverse[0] = 1.0 / (1.0 / inverse[0] - r.compliance[slot])
        r.inverse[slot] = inverse
        r.compliance[slot] = 0.0
        r.yields[slot] = 0


@wp.func
def impulse_bound(m: ModelData, body0: int, body1: int, substeps: int):
    """Largest normal impulse of a contact in a substep: an equal part of the least that its bodies allow in a step."""
    bound = float(UNBOUNDED_IMPULSE)
    if body0 >= 0:
        bound = wp.min(bound, m.link_max_contact_impulse[body0] / float(substeps))
    if body1 >= 0:
        bound = wp.min(bound, m.link_max_contact_impulse[body1] / float(substeps))
    return bound


@wp.func
def surface_velocity(m: ModelData, w: Scratch, r: ContactRows, row: int, body: int):
    """Velocity of the surface of a body relative to the body at a contact, as of a conveyor belt; turning surfaces turn
    about the body's origin."""
    v = wp.vec3(0.0, 0.0, 0.0)
    if body >= 0:
        linear = m.link_surface_linear[body]
        angular = m.link_surface_angular[body]
        if wp.length(linear) + wp.length(angular) > 0.0:
            rotation = w.link_rotation[body]
            if m.link_surface_local[body] == 1:
                linear = wp.quat_rotate(rotation, linear)
                angular = wp.quat_rotate(rotation, angular)
            lever = r.arm[row] + wp.quat_rotate(rotation, m.link_com[body])
            v = linear + wp.cross(angular, lever)
    return v


@wp.func
def is_alone(k: ContactData, slot: int):
    """Whether a contact is the only one of its pair of bodies; those of a pair follow each other."""
    environment = k.environment[slot]
    start = k.slot_start[environment]
    alone = int(1)
    if slot > start:
        if k.body0[slot - 1] == k.body0[slot] and k.body1[slot - 1] == k.body1[slot]:
            alone = 0
    if slot + 1 < start + k.count[environment]:
        if k.body0[slot + 1] == k.body0[slot] and k.body1[slot + 1] == k.body1[slot]:
            alone = 0
    return alone


@wp.func
def patch_lever(k: ContactData, slot: int, separation: float):
    """Radii that the normal force is multiplied with, for the torque that holds and the one that slides.

    A single contact has a patch; several of one pair resist spin by their friction.
    """
    radius = float(0.0)
    if is_alone(k, slot) == 1:
        depth = wp.max(-separation, 0.0)
        radius = wp.max(k.least_patch_radius[slot], wp.sqrt(depth * k.patch_radius[slot]))
    own = k.torsional_friction[slot]
    return wp.vec2(k.static_friction[slot] * radius + own, k.dynamic_friction[slot] * radius + own)


@wp.func
def spin_end(t: Tables, w: Scratch, r: ContactRows, row: int, end: wp.vec4i, axis: wp.vec3):
    """Row D^-½ L^-T Jᵀ of the angular velocity of an end about an axis; returns its square."""
    a = end[3]
    total = float(0.0)
    if end[2] > 0:
        kind = t.articulation_type[a]
        entry = t.articulation_entry[a]
        first = t.type_velocity[kind]
        for p in range(end[2]):
            r.spin[row, p] = wp.dot(axis, w.motion_angular[end[0] + t.chain[end[1] + p]])
        for step in range(end[2]):
            p = end[2] - 1 - step
            index = t.chain[end[1] + p]
            other = entry + t.velocity_entry[first + index]
            y = r.spin[row, p]
            for q in range(p):
                r.spin[row, q] = r.spin[row, q] - w.factor_entry[other + q] * y
            y = y * w.inverse_root[end[0] + index]
            r.spin[row, p] = y
            total += y * y
    return total


@wp.func
def prescribed_spin(t: Tables, s: StateData, end: wp.vec4i, axis: wp.vec3):
    """Angular velocity about an axis of a root that is moved by hand."""
    spin = float(0.0)
    if end[3] >= 0:
        if t.type_root[t.articulation_type[end[3]]] == 0:
            spin = wp.dot(axis, wp.spatial_bottom(s.root_velocity[end[3]]))
    return spin


@wp.func
def spin_rows(
    t: Tables,
    s: StateData,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    slot: int,
    end0: wp.vec4i,
    end1: wp.vec4i,
):
    """Row of the relative angular velocity about the normal; empty where nothing resists it."""
    r.spin_impulse[slot] = 0.0
    r.spin_inverse[slot] = 0.0
    if r.spin.shape[0] > 1:
        levers = patch_lever(k, slot, r.separation[slot])
        r.spin_lever[slot] = levers
        if levers[0] > 0.0:
            n = k.normal[slot]
            total = spin_end(t, w, r, 2 * slot, end0, n)
            total += spin_end(t, w, r, 2 * slot + 1, end1, -n)
            r.spin_prescribed[slot] = prescribed_spin(t, s, end0, n) - prescribed_spin(t, s, end1, n)
            if total > 0.0:
                r.spin_inverse[slot] = 1.0 / total


@wp.func
def spin_velocity(t: Tables, w: Scratch, r: ContactRows, slot: int):
    """Relative angular velocity about the normal of a contact."""
    v = r.spin_prescribed[slot]
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            v += r.spin[2 * slot + end, p] * w.u[tables[0] + t.chain[tables[1] + p]]
    return v


@wp.func
def solve_spin(t: Tables, w: Scratch, r: ContactRows, slot: int):
    """Angular impulse about the normal: the one that stops the spin, or as much as the normal impulse allows."""
    if r.spin_inverse[slot] > 0.0:
        old = r.spin_impulse[slot]
        new = old - spin_velocity(t, w, r, slot) * r.spin_inverse[slot]
        levers = r.spin_lever[slot] * r.impulse[slot][0]
        if wp.abs(new) > levers[0]:
            new = wp.clamp(new, -levers[1], levers[1])
        r.spin_impulse[slot] = new
        for end in range(2):
            tables = r.ends[2 * slot + end]
            for p in range(tables[2]):
                index = tables[0] + t.chain[tables[1] + p]
                w.u[index] = w.u[index] + r.spin[2 * slot + end, p] * (new - old)


@wp.func
def must_be_swept(m: ModelData, k: ContactData, slot: int):
    """Whether a contact has a law that the solve of all contacts at once does not know."""
    result = int(0)
    if k.patch_radius.shape[0] > 0:
        if k.patch_radius[slot] + k.least_patch_radius[slot] + k.torsional_friction[slot] > 0.0:
            result = 1
    if impulse_bound(m, k.body0[slot], k.body1[slot], 1) < UNBOUNDED_IMPULSE:
        result = 1
    return result
