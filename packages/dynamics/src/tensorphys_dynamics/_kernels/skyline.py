"""A symmetric matrix over the velocities of an environment, stored by rows from the first non-zero entry to the diagonal.

The Cholesky factor of such a matrix fills the same places [George & Liu 1981, ch. 4]. Articulations are put in an order
that keeps the rows short: breadth first over contacts from an end of the graph, reversed [Cuthill & McKee 1969].
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, ModelData, Tables
from tensorphys_dynamics._kernels.surfaces import must_be_swept

wp.set_module_options({"enable_backward": False})

# Multiplications of one factorisation beyond which an environment is swept instead.
OPERATIONS = wp.constant(2_000_000)


@wp.struct
class Skyline:
    """Matrix and order of each environment; rows are counted by places, from the environment's first velocity."""

    value_start: wp.array[wp.int32]  # first value of the environment
    capacity: wp.array[wp.int32]  # values that it may use, 0 where it is always swept
    used: wp.array[wp.int32]  # whether the contacts of this step are solved directly
    place: wp.array[wp.int32]  # place of a velocity
    first: wp.array[wp.int32]  # place of the first entry, by place
    row: wp.array[wp.int32]  # where an entry at place 0 would stand among the values, by place
    value: wp.array[wp.float32]
    degree: wp.array[wp.int32]  # touching articulations, by articulation
    neighbour_start: wp.array[wp.int32]  # by articulation
    neighbour: wp.array[wp.int32]
    rank: wp.array[wp.int32]  # position in the search, −1 where it was not reached, by articulation
    queue: wp.array[wp.int32]


@wp.func
def moving(t: Tables, body: int):
    """Articulation of a body, −1 where it has no velocities."""
    a = int(-1)
    if body >= 0:
        a = t.link_articulation[body]
        if t.articulation_velocity[a + 1] == t.articulation_velocity[a]:
            a = -1
    return a


@wp.func
def find_neighbours(t: Tables, k: ContactData, z: Skyline, environment: int):
    """Lists of the articulations that touch each other; contacts of a pair follow each other."""
    start = k.slot_start[environment]
    begin = t.environment_articulation[environment]
    end = t.environment_articulation[environment + 1]
    for a in range(begin, end):
        z.degree[a] = 0
    for fill in range(2):
        before0 = int(-1)
        before1 = int(-1)
        for slot in range(start, start + k.count[environment]):
            a0 = moving(t, k.body0[slot])
            a1 = moving(t, k.body1[slot])
            if a0 >= 0 and a1 >= 0 and a0 != a1 and (a0 != before0 or a1 != before1):
                if fill == 1:
                    z.neighbour[z.neighbour_start[a0] + z.degree[a0]] = a1
                    z.neighbour[z.neighbour_start[a1] + z.degree[a1]] = a0
                z.degree[a0] = z.degree[a0] + 1
                z.degree[a1] = z.degree[a1] + 1
            before0 = a0
            before1 = a1
        if fill == 0:
            total = 2 * start
            for a in range(begin, end):
                z.neighbour_start[a] = total
                total += z.degree[a]
                z.degree[a] = 0


@wp.func
def search(z: Skyline, seed: int, base: int, done: int):
    """Breadth first from a seed; returns how many articulations the queue holds afterwards."""
    z.queue[base + done] = seed
    z.rank[seed] = done
    head = done
    tail = done + 1
    while head < tail:
        a = z.queue[base + head]
        for n in range(z.degree[a]):
            b = z.neighbour[z.neighbour_start[a] + n]
            if z.rank[b] < 0:
                z.rank[b] = tail
                z.queue[base + tail] = b
                tail += 1
        head += 1
    return tail


@wp.func
def order(t: Tables, z: Skyline, environment: int):
    """Breadth-first order of all articulations, each group from one of its ends."""
    begin = t.environment_articulation[environment]
    end = t.environment_articulation[environment + 1]
    for a in range(begin, end):
        z.rank[a] = -1
    done = int(0)
    for a in range(begin, end):
        if z.rank[a] < 0:
            reached = search(z, a, begin, done)
            seed = z.queue[begin + reached - 1]
            for i in range(done, reached):
                z.rank[z.queue[begin + i]] = -1
            done = search(z, seed, begin, done)


@wp.func
def lay_out(t: Tables, k: ContactData, z: Skyline, environment: int):
    """Places and row lengths; returns the number of values, or −1 where the factorisation costs too much."""
    begin = t.environment_articulation[environment]
    end = t.environment_articulation[environment + 1]
    base = t.articulation_velocity[begin]
    place = int(0)
    for step in range(end - begin):
        a = z.queue[end - 1 - step]
        own = place
        for i in range(t.articulation_velocity[a], t.articulation_velocity[a + 1]):
            z.place[i] = place
            place += 1
        least = own
        for n in range(z.degree[a]):
            b = z.neighbour[z.neighbour_start[a] + n]
            if z.rank[b] > z.rank[a]:
                least = wp.min(least, z.place[t.articulation_velocity[b]])
        for i in range(own, place):
            z.first[base + i] = least
    values = int(0)
    operations = float(0.0)
    for i in range(place):
        length = i - z.first[base + i]
        z.row[base + i] = z.value_start[environment] + values - z.first[base + i]
        values += length + 1
        operations += 0.5 * float(length) * float(length)
    return wp.where(operations > float(OPERATIONS), -1, values)


@wp.func
def all_known(m: ModelData, k: ContactData, environment: int):
    """Whether the solve at once knows the laws of all contacts of an environment."""
    start = k.slot_start[environment]
    known = int(1)
    for slot in range(start, start + k.count[environment]):
        if must_be_swept(m, k, slot) == 1:
            known = 0
            break
    return known


@wp.kernel
def plan_skyline(t: Tables, m: ModelData, k: ContactData, z_inout: Skyline):
    """Order and row lengths of an environment for the contacts of this step."""
    environment = wp.tid()
    used = int(0)
    if z_inout.capacity[environment] > 0 and k.count[environment] > 0 and all_known(m, k, environment) == 1:
        find_neighbours(t, k, z_inout, environment)
        order(t, z_inout, environment)
        values = lay_out(t, k, z_inout, environment)
        if values >= 0 and values <= z_inout.capacity[environment]:
            used = 1
    z_inout.used[environment] = used


@wp.func
def set_identity(z: Skyline, base: int, count: int):
    """Matrix 1 in all places of an environment."""
    for i in range(count):
        row = z.row[base + i]
        for j in range(z.first[base + i], i):
            z.value[row + j] = 0.0
        z.value[row + i] = 1.0


@wp.func
def factorize_skyline(z: Skyline, base: int, count: int):
    """Cholesky factor in place; the diagonal keeps its inverse."""
    for i in range(count):
        first = z.first[base + i]
        row = z.row[base + i]
        total = float(0.0)
        for j in range(first, i):
            other = z.row[base + j]
            x = z.value[row + j]
            for c in range(wp.max(first, z.first[base + j]), j):
                x -= z.value[row + c] * z.value[other + c]
            x = x * z.value[other + j]
            z.value[row + j] = x
            total += x * x
        # the matrix is 1 plus a positive part, so a pivot below 1 is rounding
        z.value[row + i] = 1.0 / wp.sqrt(wp.max(z.value[row + i] - total, 1.0))


@wp.func
def solve_skyline(z: Skyline, x: wp.array[wp.float32], base: int, count: int):
    """Solve in place for a vector in places."""
    for i in range(count):
        row = z.row[base + i]
        value = x[base + i]
        for j in range(z.first[base + i], i):
            value -= z.value[row + j] * x[base + j]
        x[base + i] = value * z.value[row + i]
    for step in range(count):
        i = count - 1 - step
        row = z.row[base + i]
        value = x[base + i] * z.value[row + i]
        x[base + i] = value
        for j in range(z.first[base + i], i):
            x[base + j] = x[base + j] - z.value[row + j] * value
