"""What changes the velocities of a fluid after its positions are solved.

Derivatives weigh neighbours by b = -f'(q) / q, scaled such that they are exact on the lattice at rest density: with
M = Σ b r² there, a gradient is (3 / M) Σ b (x_j - x_i) (v_j - v_i) and a Laplacian (6 / M) Σ b (v_j - v_i).

- viscosity: the Laplacian, each pair reduced where the substep is too long for it to be stable;
- cohesion and surface tension: [Akinci, Akinci & Teschner 2013], the spline of eq. 2 scaled to a largest value of 1;
  the normal points out of the fluid here. Tension acts beside cohesion (alone it tears a surface apart), at about a
  tenth of it;
- vorticity confinement: [Macklin & Müller 2013, eq. 15 and 16]. It drives swirls from outside of the fluid and so
  is the one term that does not keep linear momentum.
"""

import warp as wp

from tensorphys_particles._kernels.lattice import interaction_distance, weight_slope
from tensorphys_particles._kernels.structs import Materials, Particles, Slots, Systems

wp.set_module_options({"enable_backward": False})


@wp.func
def pair_weight(q: float):
    """-f'(q) / q, bounded near 0."""
    return -weight_slope(q) / wp.max(q, 1.0e-3)


@wp.func
def cohesion_spline(q: float):
    """Attraction over the interaction distance, largest 1 at its half, negative (repulsion) when near."""
    s = 4.0 * q * (1.0 - q)
    cube = s * s * s
    if q > 0.5:
        return cube
    return 2.0 * cube - 1.0


@wp.kernel
def measure_flow(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    slots: Slots,
    place: wp.array[wp.vec3],
    move: wp.array[wp.vec3],
    time: wp.array[wp.float32],
    # outputs
    vorticity_out: wp.array[wp.vec3],
    normal_out: wp.array[wp.vec3],
    exchange_out: wp.array[wp.float32],
):
    s = wp.tid()
    i = slots.particle[s]
    system = particles.system[i]
    reach = interaction_distance(systems, system)
    curl = wp.vec3(0.0)
    normal = wp.vec3(0.0)
    total = float(0.0)
    for k in range(slots.neighbor_count[s]):
        t = slots.neighbor[s * slots.slot_stride + k * slots.rank_stride]
        if t >= 0:
            d = place[t] - place[s]
            q = wp.length(d) / reach
            b = pair_weight(q)
            curl += b * wp.cross(d, move[t] - move[s])
            if q > 0.0:
                normal += d * (weight_slope(q) / (q * reach))
            total += b
    scale = 3.0 / systems.second_moment[system]
    h = time[0]
    vorticity_out[s] = curl * (scale / h)
    normal_out[s] = normal / systems.lattice_sum[system]
    exchange_out[s] = 2.0 * scale * h * materials.viscosity[particles.material[i]] * total


@wp.func
def pair_gain(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    s: int,
    t: int,
    i: int,
    j: int,
    d: wp.vec3,
    relative_move: wp.vec3,
    relative_normal: wp.vec3,
    exchange: float,
    h: float,
):
    """Change of the velocity of slot s by one neighbour, for two equal masses."""
    system = particles.system[i]
    a = particles.material[i]
    b = particles.material[j]
    r = wp.length(d)
    q = r / interaction_distance(systems, system)
    viscosity = 0.5 * (materials.viscosity[a] + materials.viscosity[b])
    stable = wp.min(1.0, 0.5 / wp.max(exchange, 1.0e-20))
    flow = 6.0 / systems.second_moment[system] * viscosity * pair_weight(q) * stable
    gain = relative_move * flow
    if r > 0.0:
        cohesion = 0.5 * (materials.cohesion[a] + materials.cohesion[b])
        gain += d * (h * cohesion * cohesion_spline(q) / r)
    tension = 0.5 * (materials.surface_tension[a] + materials.surface_tension[b])
    return gain + relative_normal * (h * tension)


@wp.kernel
def gain_velocities(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    slots: Slots,
    place: wp.array[wp.vec3],
    move: wp.array[wp.vec3],
    vorticity: wp.array[wp.vec3],
    normal: wp.array[wp.vec3],
    exchange: wp.array[wp.float32],
    time: wp.array[wp.float32],
    # outputs
    gain_out: wp.array[wp.vec3],
):
    s = wp.tid()
    i = slots.particle[s]
    system = particles.system[i]
    reach = interaction_distance(systems, system)
    h = time[0]
    w = slots.inverse_mass[s]
    total = wp.vec3(0.0)
    eta = wp.vec3(0.0)
    for k in range(slots.neighbor_count[s]):
        t = slots.neighbor[s * slots.slot_stride + k * slots.rank_stride]
        if t >= 0:
            d = place[t] - place[s]
            other = slots.inverse_mass[t]
            both = wp.max(exchange[s], exchange[t])
            gain = pair_gain(
                systems,
                materials,
                particles,
                s,
                t,
                i,
                slots.particle[t],
                d,
                move[t] - move[s],
                normal[s] - normal[t],
                both,
                h,
            )
            # Opposite impulses: the reduced mass of the pair, twice, over the own mass.
            if w + other > 0.0:
                total += gain * (2.0 * w / (w + other))
            difference = wp.length(vorticity[t]) - wp.length(vorticity[s])
            eta += pair_weight(wp.length(d) / reach) * difference * d
    strength = materials.vorticity_confinement[particles.material[i]]
    size = wp.length(eta)
    if w > 0.0 and strength > 0.0 and size > 0.0:
        total += wp.cross(eta / size, vorticity[s]) * (h * strength * reach)
    gain_out[s] = total
