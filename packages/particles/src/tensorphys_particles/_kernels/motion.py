"""Start and end of a substep."""

import warp as wp

from tensorphys_particles._kernels.structs import Materials, Particles, Rows, Slots, Systems

wp.set_module_options({"enable_backward": False})


@wp.kernel
def split_step(
    dt: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    time_out: wp.array[wp.float32],
):
    time_out[0] = dt[0] / float(substeps)


@wp.kernel
def write_masses(
    mask: wp.array[wp.int32],
    owner: wp.array[wp.int32],
    masses: wp.array[wp.float32],
    # outputs
    inverse_mass_out: wp.array[wp.float32],
):
    i = wp.tid()
    if mask:
        if mask[owner[i]] == 0:
            return
    mass = masses[i]
    inverse = float(0.0)
    if mass > 0.0 and wp.isfinite(mass):
        inverse = 1.0 / mass
    inverse_mass_out[i] = inverse


@wp.kernel
def read_masses(
    inverse_mass: wp.array[wp.float32],
    # outputs
    masses_out: wp.array[wp.float32],
):
    i = wp.tid()
    masses_out[i] = 1.0 / inverse_mass[i]


@wp.kernel
def write_vectors(
    mask: wp.array[wp.int32],
    owner: wp.array[wp.int32],
    values: wp.array[wp.vec3],
    # outputs
    values_out: wp.array[wp.vec3],
):
    i = wp.tid()
    if mask:
        if mask[owner[i]] == 0:
            return
    values_out[i] = values[i]


@wp.func
def bounded(v: wp.vec3, limit: float):
    speed = wp.length(v)
    if speed > limit:
        return v * (limit / speed)
    return v


@wp.kernel
def predict(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    triangle_start: wp.array[wp.int32],
    triangle_at: wp.array[wp.int32],
    triangle_impulse: wp.array[wp.vec3],
    position: wp.array[wp.vec3],
    velocity: wp.array[wp.vec3],
    acceleration: wp.array[wp.vec3],
    time: wp.array[wp.float32],
    # outputs
    move_out: wp.array[wp.vec3],
    predicted_out: wp.array[wp.vec3],
    margin_out: wp.array[wp.float32],
):
    i = wp.tid()
    h = time[0]
    system = particles.system[i]
    material = particles.material[i]
    move = wp.vec3(0.0)
    if particles.inverse_mass[i] > 0.0:
        a = systems.gravity[system] * materials.gravity_scale[material] + acceleration[i]
        v = velocity[i] + h * a
        if triangle_start:
            total = wp.vec3(0.0)
            for k in range(triangle_start[i], triangle_start[i + 1]):
                total += triangle_impulse[triangle_at[k]]
            v += particles.inverse_mass[i] / 3.0 * total
        v = bounded(v * wp.exp(-materials.damping[material] * h), systems.max_velocity[system])
        move = h * v
        if particles.fluid[i] != 0:
            reach = 2.0 * systems.particle_contact[system]
            move = bounded(move, materials.cfl_coefficient[material] * reach)
    move_out[i] = move
    predicted_out[i] = position[i] + move
    # A fluid counts an obstacle as neighbours from further away than a grain touches it.
    fluid_reach = systems.rest[system] + 2.0 * (systems.particle_contact[system] - systems.fluid_rest[system])
    adhesion_reach = systems.rest[system] * (1.0 + materials.adhesion_offset_scale[material])
    margin = wp.max(systems.contact[system], adhesion_reach)
    if particles.fluid[i] != 0:
        margin = wp.max(margin, fluid_reach)
    margin_out[i] = margin + wp.length(move)
    if systems.obstacle_collision[system] == 0:
        # Never, however far inside of an obstacle a particle is.
        margin_out[i] = -wp.inf


@wp.kernel
def fill_slots(
    slots: Slots,
    particles: Particles,
    rows: Rows,
    position: wp.array[wp.vec3],
    move: wp.array[wp.vec3],
    # outputs
    slot_out: wp.array[wp.int32],
    start_out: wp.array[wp.vec3],
    inverse_mass_out: wp.array[wp.float32],
    slot_move_out: wp.array[wp.vec3],
    place_out: wp.array[wp.vec3],
    impulse_out: wp.array2d[wp.vec3],
):
    s = wp.tid()
    i = slots.particle[s]
    slot_out[i] = s
    start_out[s] = position[i]
    inverse_mass_out[s] = particles.inverse_mass[i]
    slot_move_out[s] = move[i]
    place_out[s] = position[i] + move[i]
    if rows.present != 0:
        for c in range(rows.count[i]):
            impulse_out[i, c] = wp.vec3(0.0)


@wp.kernel
def finish(
    slots: Slots,
    systems: Systems,
    particles: Particles,
    move: wp.array[wp.vec3],
    gain: wp.array[wp.vec3],
    time: wp.array[wp.float32],
    # outputs
    position_out: wp.array[wp.vec3],
    velocity_out: wp.array[wp.vec3],
):
    s = wp.tid()
    i = slots.particle[s]
    if particles.inverse_mass[i] <= 0.0:
        velocity_out[i] = wp.vec3(0.0)
        return
    v = move[s] / time[0]
    if gain:
        v += gain[s]
    position_out[i] = slots.start[s] + move[s]
    velocity_out[i] = bounded(v, systems.max_velocity[particles.system[i]])
