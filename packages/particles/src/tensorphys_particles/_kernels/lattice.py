"""Weight of a neighbour, and what a fluid at rest density sums up to.

Density is counted, not weighed: a fluid particle stands for the volume d³ of its rest distance d, and has rest
density when Σ f(|x_i - x_j| / h) over its neighbours equals the sum over a cubic lattice of spacing d. Obstacles
count as if that lattice went on inside of them. [Solenthaler & Pajarola 2008]
"""

import warp as wp

from tensorphys_particles._kernels.structs import WALL_SAMPLES, Systems

wp.set_module_options({"enable_backward": False})

SAMPLES = wp.constant(WALL_SAMPLES)


@wp.func
def weight(q: float):
    """f(q) = (1 - q)³, q the distance over the interaction distance."""
    s = wp.max(1.0 - q, 0.0)
    return s * s * s


@wp.func
def weight_slope(q: float):
    """f'(q)."""
    s = wp.max(1.0 - q, 0.0)
    return -3.0 * s * s


@wp.func
def interaction_distance(systems: Systems, system: int):
    return 2.0 * systems.particle_contact[system]


@wp.func
def layer_sum(height: float, spacing: float, reach: float):
    """Σ f over one square layer of a lattice, seen from `height` above one of its points."""
    cells = int(reach / spacing) + 1
    total = float(0.0)
    for i in range(-cells, cells + 1):
        for j in range(-cells, cells + 1):
            flat = float(i * i + j * j) * spacing * spacing
            total += weight(wp.sqrt(flat + height * height) / reach)
    return total


@wp.func
def wall_sum(height: float, spacing: float, reach: float):
    """Σ f over a lattice that fills the half-space below, its uppermost layer half a spacing under the wall."""
    total = float(0.0)
    layer = height + 0.5 * spacing
    while layer < reach:
        total += layer_sum(layer, spacing, reach)
        layer += spacing
    return total


@wp.func
def moment_sum(spacing: float, reach: float):
    """Σ -f'(q)/q r² over a lattice: what makes gradients and Laplacians of neighbours exact on it."""
    cells = int(reach / spacing) + 1
    total = float(0.0)
    for i in range(-cells, cells + 1):
        for j in range(-cells, cells + 1):
            for k in range(-cells, cells + 1):
                r = spacing * wp.sqrt(float(i * i + j * j + k * k))
                total += -weight_slope(r / reach) * r * reach
    return total


@wp.kernel
def derive_systems(
    # outputs
    systems_inout: Systems,
):
    system = wp.tid()
    reach = interaction_distance(systems_inout, system)
    half = systems_inout.fluid_rest[system]
    spacing = 2.0 * half
    if spacing <= 0.0:
        systems_inout.lattice_sum[system] = 1.0
        systems_inout.second_moment[system] = 1.0
        return
    full = layer_sum(0.0, spacing, reach) - 1.0 + 2.0 * wall_sum(0.5 * spacing, spacing, reach)
    systems_inout.lattice_sum[system] = full
    systems_inout.second_moment[system] = moment_sum(spacing, reach)
    for sample in range(SAMPLES + 1):
        height = -half + (reach + half) * float(sample) / float(SAMPLES)
        systems_inout.wall[system, sample] = wall_sum(height, spacing, reach) / full


@wp.func
def wall_share(systems: Systems, system: int, height: float):
    """Part of the rest density that a wall `height` below a particle stands for, and its slope [1/length]."""
    half = systems.fluid_rest[system]
    step = (interaction_distance(systems, system) + half) / float(SAMPLES)
    place = (height + half) / step
    if place >= float(SAMPLES) or wp.isnan(place):
        return wp.vec2(0.0, 0.0)
    if place <= 0.0:
        return wp.vec2(systems.wall[system, 0], 0.0)
    cell = int(place)
    low = systems.wall[system, cell]
    high = systems.wall[system, cell + 1]
    return wp.vec2(low + (high - low) * (place - float(cell)), (high - low) / step)
