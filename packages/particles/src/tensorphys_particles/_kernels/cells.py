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
def sees(particles: Particles, reach: float, i: int, j: int):
    """Whether two particles of a system interact; `reach` is the distance of touching ones in a rest shape."""
    if particles.family[i] < 0 and particles.family[i] == particles.family[j]:
        return False
    cloth = particles.filter_cloth[i]
    if cloth >= 0 and cloth == particles.filter_cloth[j]:
        return wp.length(particles.rest_point[i] - particles.rest_point[j]) >= reach
    return True


@wp.func
def gather_run(
    place: wp.array[wp.vec3],
    neighbor: wp.array[wp.int32],
    s: int,
    reach: float,
    capacity: int,
    slot_stride: int,
    rank_stride: int,
    first: int,
    last: int,
    found: int,
):
    """Append what is within reach of slot s in a run of slots; returns how many there are, kept or not."""
    x = place[s]
    n = found
    for t in range(first, last):
        d = x - place[t]
        if wp.dot(d, d) < reach * reach and t != s:
            if n < capacity:
                neighbor[s * slot_stride + n * rank_stride] = t
            n += 1
    return n


@wp.func
def keep_seen(systems: Systems, particles: Particles, slots: Slots, s: int, found: int):
    """Drop neighbours that a slot does not interact with, and note those of another kind as -1 - slot."""
    i = slots.particle[s]
    fluid = particles.fluid[i]
    touch = 2.0 * systems.solid_rest[particles.system[i]]
    kept = int(0)
    for k in range(found):
        t = slots.neighbor[s * slots.slot_stride + k * slots.rank_stride]
        j = slots.particle[t]
        if sees(particles, touch, i, j):
            entry = t
            if fluid == 0 or particles.fluid[j] == 0:
                entry = -1 - t
            slots.neighbor[s * slots.slot_stride + kept * slots.rank_stride] = entry
            kept += 1
    return kept


@wp.kernel
def find_neighbors(
    systems: Systems,
    particles: Particles,
    slots: Slots,
    place: wp.array[wp.vec3],
    cell_start: wp.array[wp.int32],
    cell_end: wp.array[wp.int32],
    # outputs
    neighbor_inout: wp.array[wp.int32],
    neighbor_count_out: wp.array[wp.int32],
    needed_inout: wp.array[wp.int32],
):
    s = wp.tid()
    system = particles.system[slots.particle[s]]
    if systems.self_collision[system] == 0:
        neighbor_count_out[s] = 0
        return
    reach = interaction_distance(systems, system)
    capacity = systems.capacity[system]
    bits = systems.cell_bits[system]
    mask = (1 << bits) - 1
    base = systems.cell_first[system]
    cell = cell_of(systems, system, place[s])
    n = int(0)
    for row in range(9):
        y = (cell[1] + row % 3 - 1) & mask
        z = (cell[2] + row / 3 - 1) & mask
        # Cells that follow each other along x are one run of slots, but where the grid wraps around.
        first = int(0)
        last = int(0)
        for step in range(3):
            number = base + (((cell[0] + step - 1) & mask) | (y << bits) | (z << (2 * bits)))
            if cell_end[number] > 0:
                if cell_start[number] != last:
                    n = gather_run(
                        place,
                        neighbor_inout,
                        s,
                        reach,
                        capacity,
                        slots.slot_stride,
                        slots.rank_stride,
                        first,
                        last,
                        n,
                    )
                    first = cell_start[number]
                last = cell_end[number]
        n = gather_run(
            place, neighbor_inout, s, reach, capacity, slots.slot_stride, slots.rank_stride, first, last, n
        )
    if n > capacity:
        wp.atomic_max(needed_inout, system, n)
    neighbor_count_out[s] = keep_seen(systems, particles, slots, s, wp.min(n, capacity))
