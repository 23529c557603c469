"""From the contacts of the last step to the arrays of contact views.

One thread a sensor walks the entries of its owner, so that sums and orders never depend on the order of threads.
A *cell* is a sensor with one of its filter columns, row-major. Impulses over the step become forces by ``1 / dt``.
"""

import warp as wp

from tensorphys._kernels.contact_index import ContactIndex, ContactSource, lower_bound
from tensorphys._kernels.world import to_world

wp.set_module_options({"enable_backward": False})


@wp.struct
class SensorTables:
    """Sensors and filters.

    An object is a link, or ``link_count`` plus the first shape of a collider prim. ``collider`` is the first
    shape of the collider that a sensor is, -1 for a whole body. Filters of a sensor are sorted by object.
    With ``accept_all`` there is one column that takes every contact.
    """

    link_count: wp.int32
    column_count: wp.int32
    accept_all: wp.int32
    shape_link: wp.array[wp.int32]
    shape_collider: wp.array[wp.int32]
    owner: wp.array[wp.int32]
    collider: wp.array[wp.int32]
    filter_start: wp.array[wp.int32]
    filter_object: wp.array[wp.int32]
    filter_column: wp.array[wp.int32]


@wp.struct
class Cells:
    """Contacts of each cell: how many, where they would start without a bound, how many are written so far."""

    count: wp.array[wp.int32]
    start: wp.array[wp.int32]
    written: wp.array[wp.int32]
    chunk: wp.array[wp.int32]
    chunk_size: wp.int32
    capacity: wp.int32
    # Whether counts and starts stop at the capacity.
    bounded: wp.int32
    total: wp.array[wp.int32]
    # Largest total so far.
    needed: wp.array[wp.int32]


@wp.struct
class ContactPoints:
    """One row a contact point; arrays without columns are not asked for. Friction forces have three numbers."""

    force: wp.array2d[wp.float32]
    point: wp.array2d[wp.float32]
    normal: wp.array2d[wp.float32]
    separation: wp.array2d[wp.float32]
    other: wp.array[wp.uint64]


@wp.func
def sensed_shape(k: ContactSource, entry: int) -> int:
    if entry % 2 == 1:
        return k.shape1[entry // 2]
    return k.shape0[entry // 2]


@wp.func
def other_shape(k: ContactSource, entry: int) -> int:
    if entry % 2 == 1:
        return k.shape0[entry // 2]
    return k.shape1[entry // 2]


@wp.func
def is_of_sensor(k: ContactSource, s: SensorTables, sensor: int, entry: int) -> bool:
    """Whether a contact of the owner is one of the sensor, which may be one collider of it."""
    collider = s.collider[sensor]
    if collider < 0:
        return True
    return s.shape_collider[sensed_shape(k, entry)] == collider


@wp.func
def first_filter(s: SensorTables, sensor: int, shape: int, level: int) -> int:
    """First filter of a sensor that names the body or the collider of a shape; its end if there is none."""
    last = s.filter_start[sensor + 1]
    if s.accept_all != 0:
        return wp.where(level == 0, s.filter_start[sensor], last)
    wanted = s.link_count + s.shape_collider[shape]
    if level == 0:
        wanted = s.shape_link[shape]
        if wanted < 0:
            return last
    return lower_bound(s.filter_object, s.filter_start[sensor], last, wanted)


@wp.func
def names_shape(s: SensorTables, place: int, last: int, shape: int, level: int) -> bool:
    """Whether the filter at a place before ``last`` names the body (level 0) or collider (level 1) of a shape."""
    if place >= last:
        return False
    if s.accept_all != 0:
        return level == 0
    if level == 0:
        return s.filter_object[place] == s.shape_link[shape]
    return s.filter_object[place] == s.link_count + s.shape_collider[shape]


@wp.func
def normal_force(k: ContactSource, entry: int) -> wp.vec3:
    """Normal impulse on the sensed shape."""
    slot = entry // 2
    impulse = k.normal_impulse[slot] * k.normal[slot]
    return wp.where(entry % 2 == 1, -impulse, impulse)


@wp.func
def force_on(k: ContactSource, entry: int, part: int) -> wp.vec3:
    """Normal (0) or friction (1) impulse on the sensed shape."""
    normal = normal_force(k, entry)
    if part == 0:
        return normal
    impulse = k.impulse[entry // 2]
    return wp.where(entry % 2 == 1, -impulse, impulse) - normal


@wp.kernel
def net_forces(
    # inputs
    k: ContactSource,
    x: ContactIndex,
    s: SensorTables,
    part: int,
    inverse_dt: float,
    # outputs
    force_out: wp.array2d[wp.float32],
):
    """One thread a sensor."""
    sensor = wp.tid()
    owner = s.owner[sensor]
    total = wp.vec3()
    first = x.entry_first[owner]
    for i in range(first, first + x.entry_count[owner]):
        entry = x.entry[i]
        if is_of_sensor(k, s, sensor, entry):
            total += force_on(k, entry, part)
    for axis in range(3):
        force_out[sensor, axis] = total[axis] * inverse_dt


@wp.kernel
def add_soft_forces(
    # inputs
    sensor_start: wp.array[wp.int32],
    sensor_shape: wp.array[wp.int32],
    impulse: wp.array[wp.vec3],
    inverse_dt: float,
    # outputs
    force_out: wp.array2d[wp.float32],
):
    """Add the normal forces of deformables; one thread a sensor."""
    sensor = wp.tid()
    total = wp.vec3()
    for i in range(sensor_start[sensor], sensor_start[sensor + 1]):
        total += impulse[sensor_shape[i]]
    for axis in range(3):
        force_out[sensor, axis] = force_out[sensor, axis] + total[axis] * inverse_dt


@wp.kernel
def clear_matrix(matrix_out: wp.array3d[wp.float32]):
    """One thread a cell."""
    sensor, column = wp.tid()
    for axis in range(3):
        matrix_out[sensor, column, axis] = 0.0


@wp.kernel
def force_matrix(
    # inputs
    k: ContactSource,
    x: ContactIndex,
    s: SensorTables,
    part: int,
    inverse_dt: float,
    # outputs
    matrix_out: wp.array3d[wp.float32],
):
    """One thread a sensor, which adds to the cells of its row."""
    sensor = wp.tid()
    owner = s.owner[sensor]
    last = s.filter_start[sensor + 1]
    first = x.entry_first[owner]
    for i in range(first, first + x.entry_count[owner]):
        entry = x.entry[i]
        if is_of_sensor(k, s, sensor, entry):
            force = inverse_dt * force_on(k, entry, part)
            shape = other_shape(k, entry)
            for level in range(2):
                place = int(first_filter(s, sensor, shape, level))
                while names_shape(s, place, last, shape, level):
                    column = s.filter_column[place]
                    for axis in range(3):
                        matrix_out[sensor, column, axis] = matrix_out[sensor, column, axis] + force[axis]
                    place += 1


@wp.kernel
def clear_cells(c: Cells):
    """One thread a cell."""
    cell = wp.tid()
    c.count[cell] = 0
    c.written[cell] = 0


@wp.kernel
def count_contacts(
    # inputs
    k: ContactSource,
    x: ContactIndex,
    s: SensorTables,
    # outputs
    c: Cells,
):
    """One thread a sensor."""
    sensor = wp.tid()
    owner = s.owner[sensor]
    last = s.filter_start[sensor + 1]
    first = x.entry_first[owner]
    for i in range(first, first + x.entry_count[owner]):
        entry = x.entry[i]
        if is_of_sensor(k, s, sensor, entry):
            shape = other_shape(k, entry)
            for level in range(2):
                place = int(first_filter(s, sensor, shape, level))
                while names_shape(s, place, last, shape, level):
                    cell = sensor * s.column_count + s.filter_column[place]
                    c.count[cell] = c.count[cell] + 1
                    place += 1


@wp.kernel
def sum_chunks(c: Cells):
    """One thread a chunk of consecutive cells."""
    chunk = wp.tid()
    total = int(0)
    first = chunk * c.chunk_size
    for cell in range(first, wp.min(first + c.chunk_size, c.count.shape[0])):
        total += c.count[cell]
    c.chunk[chunk] = total


@wp.kernel
def scan_chunks(c: Cells):
    """One thread: from sums of chunks to what stands before each."""
    total = int(0)
    for chunk in range(c.chunk.shape[0]):
        count = c.chunk[chunk]
        c.chunk[chunk] = total
        total += count
    c.total[0] = total
    c.needed[0] = wp.max(c.needed[0], total)


@wp.kernel
def place_cells(
    # outputs
    c: Cells,
    count_out: wp.array[wp.uint32],
    start_out: wp.array[wp.uint32],
):
    """One thread a chunk: start of each cell; what is handed out ends at the capacity."""
    chunk = wp.tid()
    start = int(c.chunk[chunk])
    first = chunk * c.chunk_size
    for cell in range(first, wp.min(first + c.chunk_size, c.count.shape[0])):
        count = c.count[cell]
        c.start[cell] = start
        shown_start = start
        shown_count = count
        if c.bounded != 0:
            shown_start = wp.min(start, c.capacity)
            shown_count = wp.min(start + count, c.capacity) - shown_start
        start_out[cell] = wp.uint32(shown_start)
        count_out[cell] = wp.uint32(shown_count)
        start += count


@wp.func
def contact_point(k: ContactSource, s: SensorTables, slot: int) -> wp.vec3:
    """Point of a contact in its environment, where its bodies are now.

    A static surface knows the point best; else it is midway between those of the two bodies.
    """
    link0 = s.shape_link[k.shape0[slot]]
    link1 = s.shape_link[k.shape1[slot]]
    if link0 < 0:
        return k.anchor0[slot]
    if link1 < 0:
        return k.anchor1[slot]
    p0 = wp.transform_point(k.link_pose[link0], k.anchor0[slot])
    p1 = wp.transform_point(k.link_pose[link1], k.anchor1[slot])
    return 0.5 * (p0 + p1)


@wp.func
def write_point(
    k: ContactSource,
    s: SensorTables,
    entry: int,
    inverse_dt: float,
    row: int,
    p: ContactPoints,
):
    """Fill the row of one contact point."""
    slot = entry // 2
    sign = wp.where(entry % 2 == 1, -inverse_dt, inverse_dt)
    environment = k.environment[slot]
    point = to_world(contact_point(k, s, slot), k.origin_hi[environment], k.origin_lo[environment])
    normal = k.normal[slot]
    force = k.normal_impulse[slot]
    friction = k.impulse[slot] - force * normal
    for axis in range(3):
        p.point[row, axis] = point[axis]
    if p.force.shape[1] == 3:
        for axis in range(3):
            p.force[row, axis] = sign * friction[axis]
    else:
        p.force[row, 0] = sign * force
    for axis in range(p.normal.shape[1]):
        p.normal[row, axis] = normal[axis]
    for column in range(p.separation.shape[1]):
        p.separation[row, column] = k.separation[slot]
    if p.other.shape[0] > 0:
        shape = other_shape(k, entry)
        key = s.shape_link[shape]
        if key < 0:
            key = s.link_count + s.shape_collider[shape]
        p.other[row] = wp.uint64(key + 1)


@wp.kernel
def write_contacts(
    # inputs
    k: ContactSource,
    x: ContactIndex,
    s: SensorTables,
    inverse_dt: float,
    # outputs
    c: Cells,
    p: ContactPoints,
):
    """One thread a sensor: its contact points, each into the run of its cell."""
    sensor = wp.tid()
    owner = s.owner[sensor]
    last = s.filter_start[sensor + 1]
    first = x.entry_first[owner]
    for i in range(first, first + x.entry_count[owner]):
        entry = x.entry[i]
        if is_of_sensor(k, s, sensor, entry):
            shape = other_shape(k, entry)
            for level in range(2):
                place = int(first_filter(s, sensor, shape, level))
                while names_shape(s, place, last, shape, level):
                    cell = sensor * s.column_count + s.filter_column[place]
                    row = c.start[cell] + c.written[cell]
                    c.written[cell] = c.written[cell] + 1
                    if row < c.capacity:
                        write_point(k, s, entry, inverse_dt, row, p)
                    place += 1


@wp.kernel
def clear_unused(
    # inputs
    c: Cells,
    # outputs
    p: ContactPoints,
):
    """One thread a row of the buffers: zeros where no contact is written."""
    row = wp.tid()
    if row < c.total[0]:
        return
    for column in range(p.force.shape[1]):
        p.force[row, column] = 0.0
    for axis in range(3):
        p.point[row, axis] = 0.0
    for axis in range(p.normal.shape[1]):
        p.normal[row, axis] = 0.0
    for column in range(p.separation.shape[1]):
        p.separation[row, column] = 0.0
    if p.other.shape[0] > 0:
        p.other[row] = wp.uint64(0)
