"""Neighbours by a grid of cells that wraps around, one grid for each system.

A cell has the number of its coordinates modulo the size of the grid, so that space has no bound; particles whose
cells share a number are told apart by their distance. The grid has at least four cells a side: the three cells
around a particle along an axis are different ones.
"""

import warp as wp

from tensorphys_particles._kernels.lattice import interaction_distance
from tensorphys_particles._kernels.structs import Particles, Slots, Systems

wp.set_module_options({"enable_backward": False})


@wp.func
def cell_of(systems: Systems, system: int, place: wp.vec3):
    size = interaction_distance(systems, system) * systems.neighborhood_scale[system]
    c = place / size
    # What is not finite or beyond integers shares a cell; it has no neighbours by distance.
    if not (wp.length(c) < 1.0e9):
        return wp.vec3i(0, 0, 0)
    return wp.vec3i(int(wp.floor(c[0])), int(wp.floor(c[1])), int(wp.floor(c[2])))


@wp.func
def cell_number(systems: Systems, system: int, cell: wp.vec3i):
    bits = systems.cell_bits[system]
    mask = (1 << bits) - 1
    local = (cell[0] & mask) | ((cell[1] & mask) << bits) | ((cell[2] & mask) << (2 * bits))
    return systems.cell_first[system] + local


@wp.kernel
def number_cells(
    systems: Systems,
    particles: Particles,
    predicted: wp.array[wp.vec3],
    # outputs
    key_out: wp.array[wp.int32],
    order_out: wp.array[wp.int32],
):
    i = wp.tid()
    system = particles.system[i]
    key_out[i] = cell_number(systems, system, cell_of(systems, system, predicted[i]))
    order_out[i] = i


@wp.kernel
def mark_cells(
    key: wp.array[wp.int32],
    count: wp.int32,
    # outputs
    cell_start_out: wp.array[wp.int32],
    cell_end_out: wp.array[wp.int32],
):
    s = wp.tid()
    if s == 0 or key[s - 1] != key[s]:
        cell_start_out[key[s]] = s
    if s == count - 1 or key[s + 1] != key[s]:
        cell_end_out[key[s]] = s + 1


@wp.func
def rest_distance(systems: Systems, system: int, fluid: int):
    """Half distance at which a particle touches others."""
    if fluid != 0:
        return systems.fluid_rest[system]
    return systems.solid_rest[system]


@wp.func
def sees(systems: Systems, particles: Particles, system: int, i: int, j: int):
    """Whether two particles of a system interact."""
    if particles.family[i] < 0 and particles.family[i] == particles.family[j]:
        return False
    cloth = particles.filter_cloth[i]
    if cloth >= 0 and cloth == particles.filter_cloth[j]:
        apart = wp.length(particles.rest_point[i] - particles.rest_point[j])
        if apart < 2.0 * systems.solid_rest[system]:
            return False
    return True


@wp.func
def gather_cell(
    systems: Systems,
    particles: Particles,
    slots: Slots,
    place: wp.array[wp.vec3],
    s: int,
    first: int,
    last: int,
    found: int,
):
    """Append the neighbours of a slot that are in one cell; those of another kind are noted as -1 - slot."""
    i = slots.particle[s]
    system = particles.system[i]
    fluid = particles.fluid[i]
    reach = interaction_distance(systems, system)
    x = place[s]
    n = found
    for t in range(first, last):
        d = x - place[t]
        if t != s and wp.dot(d, d) < reach * reach:
            j = slots.particle[t]
            if sees(systems, particles, system, i, j):
                if n < systems.capacity[system]:
                    entry = t
                    if fluid == 0 or particles.fluid[j] == 0:
                        entry = -1 - t
                    slots.neighbor[s * slots.slot_stride + n * slots.rank_stride] = entry
                n += 1
    return n


@wp.kernel
def find_neighbors(
    systems: Systems,
    particles: Particles,
    slots: Slots,
    place: wp.array[wp.vec3],
    cell_start: wp.array[wp.int32],
    cell_end: wp.array[wp.int32],
    # outputs
    neighbor_count_out: wp.array[wp.int32],
    needed_inout: wp.array[wp.int32],
):
    s = wp.tid()
    system = particles.system[slots.particle[s]]
    n = int(0)
    if systems.self_collision[system] != 0:
        cell = cell_of(systems, system, place[s])
        for k in range(27):
            other = cell + wp.vec3i(k % 3 - 1, (k / 3) % 3 - 1, k / 9 - 1)
            number = cell_number(systems, system, other)
            n = gather_cell(systems, particles, slots, place, s, cell_start[number], cell_end[number], n)
        if n > systems.capacity[system]:
            wp.atomic_max(needed_inout, system, n)
            n = systems.capacity[system]
    neighbor_count_out[s] = n
