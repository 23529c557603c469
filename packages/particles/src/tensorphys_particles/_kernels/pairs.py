"""Pairs of particles: the density of fluids, and contact with friction of everything else.

Both are gathered: a particle reads its neighbours and writes itself alone (Jacobi). What a pair does to one end
is exactly opposite to what it does to the other, weighted by mass, so linear momentum stays. Sources:
[Macklin & Müller 2013] for the density constraint, [Macklin et al. 2014] for contact and friction.
"""

import warp as wp

from tensorphys_particles._kernels.cells import rest_distance
from tensorphys_particles._kernels.lattice import interaction_distance, weight, weight_slope
from tensorphys_particles._kernels.rows import project_rows, report_wall_push, wall_density
from tensorphys_particles._kernels.structs import Materials, Particles, Rows, Slots, Systems

wp.set_module_options({"enable_backward": False})


@wp.func
def direction(d: wp.vec3, s: int, t: int):
    """Unit vector from slot t to slot s; for coincident ones a made-up one, opposite for the other end."""
    r = wp.length(d)
    if r > 1.0e-12:
        return d / r
    # The difference alone, so that equal environments do the same.
    state = wp.rand_init(wp.abs(s - t))
    made_up = wp.sample_unit_sphere_surface(state)
    if s > t:
        made_up = -made_up
    return made_up


@wp.kernel
def measure_pairs(
    systems: Systems,
    particles: Particles,
    slots: Slots,
    rows: Rows,
    place: wp.array[wp.vec3],
    time: wp.array[wp.float32],
    # outputs
    density_out: wp.array[wp.float32],
    multiplier_out: wp.array[wp.float32],
    contact_count_out: wp.array[wp.int32],
):
    s = wp.tid()
    i = slots.particle[s]
    system = particles.system[i]
    x = place[s]
    w = slots.inverse_mass[s]
    reach = interaction_distance(systems, system)
    touch = rest_distance(systems, system, particles.fluid[i])
    density = float(0.0)
    gradient = wp.vec3(0.0)
    stiffness = float(0.0)
    contacts = int(0)
    for k in range(slots.neighbor_count[s]):
        t = slots.neighbor[s * slots.slot_stride + k * slots.rank_stride]
        if t >= 0:
            d = x - place[t]
            r = wp.length(d)
            density += weight(r / reach)
            slope = weight_slope(r / reach)
            if r > 0.0:
                gradient += d * (slope / r)
            stiffness += slots.inverse_mass[t] * slope * slope
        else:
            other = -1 - t
            rest = touch + rest_distance(systems, system, particles.fluid[slots.particle[other]])
            if wp.length(x - place[other]) < rest:
                contacts += 1
    # Derivatives by the distance over the interaction distance, as are the multipliers.
    full = systems.lattice_sum[system]
    density = density / full
    gradient = gradient / full
    if rows.present != 0 and particles.fluid[i] != 0:
        wall = wall_density(systems, rows, system, i, x, time[0])
        density += wall[3]
        gradient += reach * wp.vec3(wall[0], wall[1], wall[2])
    stiffness = stiffness / (full * full) + w * wp.dot(gradient, gradient)
    multiplier = float(0.0)
    if particles.fluid[i] != 0 and density > 1.0 and stiffness > 0.0:
        multiplier = (1.0 - density) / stiffness
    density_out[s] = density
    multiplier_out[s] = multiplier
    contact_count_out[s] = contacts


@wp.func
def contact_change(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    slots: Slots,
    place: wp.array[wp.vec3],
    move: wp.array[wp.vec3],
    contact_count: wp.array[wp.int32],
    s: int,
    t: int,
    h: float,
):
    """Correction of slot s by its contact with slot t."""
    i = slots.particle[s]
    j = slots.particle[t]
    system = particles.system[i]
    touch = rest_distance(systems, system, particles.fluid[i]) + rest_distance(
        systems, system, particles.fluid[j]
    )
    d = place[s] - place[t]
    gap = wp.length(d) - touch
    w = slots.inverse_mass[s]
    share = w / (w + slots.inverse_mass[t])
    a = particles.material[i]
    b = particles.material[j]
    if gap < 0.0:
        n = direction(d, s, t)
        # Both ends scale by the same number, or momentum would not stay.
        scale = 1.0 / float(wp.max(wp.max(contact_count[s], contact_count[t]), 1))
        slide = move[s] - move[t]
        leaving = wp.dot(slide, n)
        push = wp.min(-gap, wp.max(systems.max_depenetration[system] * h - leaving, 0.0))
        slide -= n * leaving
        length = wp.length(slide)
        friction = 0.5 * (
            materials.friction[a] * materials.particle_friction_scale[a]
            + materials.friction[b] * materials.particle_friction_scale[b]
        )
        change = n * push
        if length > 0.0:
            change -= slide * wp.min(1.0, friction * push / length)
        return change * (scale * share)
    pull = 0.5 * (
        materials.adhesion[a] * materials.particle_adhesion_scale[a]
        + materials.adhesion[b] * materials.particle_adhesion_scale[b]
    )
    offset = 0.5 * touch * (materials.adhesion_offset_scale[a] + materials.adhesion_offset_scale[b])
    if pull > 0.0 and gap > 0.0 and gap < offset:
        return -d * (wp.min(gap, pull * h * h) * share / (gap + touch))
    return wp.vec3(0.0)


@wp.func
def neighbor_change(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    slots: Slots,
    place: wp.array[wp.vec3],
    move: wp.array[wp.vec3],
    multiplier: wp.array[wp.float32],
    contact_count: wp.array[wp.int32],
    relaxation: float,
    s: int,
    h: float,
):
    """Correction of a slot by all of its neighbours."""
    system = particles.system[slots.particle[s]]
    reach = interaction_distance(systems, system)
    full = systems.lattice_sum[system]
    x = place[s]
    w = slots.inverse_mass[s]
    fluid = wp.vec3(0.0)
    solid = wp.vec3(0.0)
    for k in range(slots.neighbor_count[s]):
        t = slots.neighbor[s * slots.slot_stride + k * slots.rank_stride]
        if t >= 0:
            both = multiplier[s] + multiplier[t]
            if both != 0.0:
                d = x - place[t]
                fluid += direction(d, s, t) * (both * weight_slope(wp.length(d) / reach))
        elif w + slots.inverse_mass[-1 - t] > 0.0:
            solid += contact_change(
                systems, materials, particles, slots, place, move, contact_count, s, -1 - t, h
            )
    return fluid * (relaxation * w * reach / full) + solid


@wp.kernel
def correct_pairs(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    slots: Slots,
    rows: Rows,
    place: wp.array[wp.vec3],
    move: wp.array[wp.vec3],
    multiplier: wp.array[wp.float32],
    contact_count: wp.array[wp.int32],
    relaxation: wp.float32,
    time: wp.array[wp.float32],
    # outputs
    move_out: wp.array[wp.vec3],
    place_out: wp.array[wp.vec3],
):
    s = wp.tid()
    i = slots.particle[s]
    w = slots.inverse_mass[s]
    result = move[s]
    if w > 0.0:
        h = time[0]
        system = particles.system[i]
        result += neighbor_change(
            systems, materials, particles, slots, place, move, multiplier, contact_count, relaxation, s, h
        )
        if rows.present != 0:
            if multiplier[s] != 0.0:
                reach = interaction_distance(systems, system)
                wall = wall_density(systems, rows, system, i, place[s], h)
                strength = relaxation * multiplier[s] * reach * reach
                result += wp.vec3(wall[0], wall[1], wall[2]) * (w * strength)
                report_wall_push(systems, rows, system, i, place[s], strength, h)
            result = project_rows(
                systems, materials, rows, system, particles.material[i], i, w, slots.start[s], result, h
            )
    move_out[s] = result
    place_out[s] = slots.start[s] + result


@wp.kernel
def scatter_density(
    slots: Slots,
    particles: Particles,
    density: wp.array[wp.float32],
    # outputs
    density_out: wp.array[wp.float32],
):
    s = wp.tid()
    i = slots.particle[s]
    density_out[i] = 0.0
    if particles.fluid[i] != 0:
        density_out[i] = density[s]
