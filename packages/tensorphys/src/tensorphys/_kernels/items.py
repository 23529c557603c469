"""Particles and nodes: between the flat arrays of the engine and the arrays of views.

``slots[row, item]`` is the flat index of a view's item, -1 where a row has fewer items than the widest. Of the rows to
write, ``owner[row]`` is where the indices name the row; of several of one object the one that is named last wins.
"""

import warp as wp

from tensorphys._kernels.rows import wins
from tensorphys._kernels.world import to_local, to_world

wp.set_module_options({"enable_backward": False})


@wp.kernel
def gather_item_points(
    # inputs
    source: wp.array[wp.vec3],
    slots: wp.array2d[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Copy points, carried from the frame of the environment into the frame of the view."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    point = to_world(source[slot], offset_hi[row], offset_lo[row])
    for k in range(3):
        values_out[row, item, k] = point[k]


@wp.kernel
def scatter_item_points(
    # inputs
    values: wp.array3d[wp.float32],
    slots: wp.array2d[wp.int32],
    owner: wp.array[wp.int32],
    first_same: wp.array[wp.int32],
    next_same: wp.array[wp.int32],
    offset_hi: wp.array[wp.vec3],
    offset_lo: wp.array[wp.vec3],
    # outputs
    points_out: wp.array[wp.vec3],
):
    """Carry points into the frames of their environments."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    if wins(row, owner, first_same, next_same):
        point = wp.vec3(values[row, item, 0], values[row, item, 1], values[row, item, 2])
        points_out[slot] = to_local(point, offset_hi[row], offset_lo[row])


@wp.kernel
def gather_masses(
    # inputs
    inverse_mass: wp.array[wp.float32],
    slots: wp.array2d[wp.int32],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Masses of items, infinite where nothing moves them."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    inverse = inverse_mass[slot]
    mass = wp.inf
    if inverse > 0.0:
        mass = 1.0 / inverse
    values_out[row, item, 0] = mass


@wp.kernel
def scatter_masses(
    # inputs
    values: wp.array3d[wp.float32],
    slots: wp.array2d[wp.int32],
    owner: wp.array[wp.int32],
    first_same: wp.array[wp.int32],
    next_same: wp.array[wp.int32],
    # outputs
    inverse_mass_out: wp.array[wp.float32],
):
    """Inverse masses of items; what is 0, negative or not finite is held fixed."""
    row, item = wp.tid()
    slot = slots[row, item]
    if slot < 0:
        return
    if wins(row, owner, first_same, next_same):
        mass = values[row, item, 0]
        inverse = float(0.0)
        if mass > 0.0 and wp.isfinite(mass):
            inverse = 1.0 / mass
        inverse_mass_out[slot] = inverse
