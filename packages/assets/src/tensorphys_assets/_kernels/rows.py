"""Moving numbers between the arrays of users and buffers; an item has its numbers on the last axis."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def store_chosen(
    # inputs
    values: wp.array3d[wp.float32],
    rows: wp.array[wp.int32],
    items: wp.array[wp.int32],
    # outputs
    buffer_out: wp.array3d[wp.float32],
):
    """Write a payload that has chosen rows and items alone."""
    i, j, k = wp.tid()
    buffer_out[rows[i], items[j], k] = values[i, j, k]


@wp.kernel
def store_from_full(
    # inputs
    values: wp.array3d[wp.float32],
    rows: wp.array[wp.int32],
    items: wp.array[wp.int32],
    # outputs
    buffer_out: wp.array3d[wp.float32],
):
    """Write chosen rows and items of a payload that has all of them."""
    i, j, k = wp.tid()
    buffer_out[rows[i], items[j], k] = values[rows[i], items[j], k]


@wp.kernel
def store_masked(
    # inputs
    values: wp.array3d[wp.float32],
    row_mask: wp.array[wp.bool],
    item_mask: wp.array[wp.bool],
    # outputs
    buffer_out: wp.array3d[wp.float32],
):
    """Write the rows and items that masks choose."""
    i, j, k = wp.tid()
    if row_mask[i] and item_mask[j]:
        buffer_out[i, j, k] = values[i, j, k]


@wp.kernel
def fill_chosen(
    # inputs
    value: float,
    rows: wp.array[wp.int32],
    items: wp.array[wp.int32],
    # outputs
    buffer_out: wp.array3d[wp.float32],
):
    """Write one number into chosen rows and items."""
    i, j, k = wp.tid()
    buffer_out[rows[i], items[j], k] = value


@wp.kernel
def fill_masked(
    # inputs
    value: float,
    row_mask: wp.array[wp.bool],
    item_mask: wp.array[wp.bool],
    # outputs
    buffer_out: wp.array3d[wp.float32],
):
    """Write one number into the rows and items that masks choose."""
    i, j, k = wp.tid()
    if row_mask[i] and item_mask[j]:
        buffer_out[i, j, k] = value


@wp.kernel
def take_items(
    # inputs
    values: wp.array3d[wp.float32],
    order: wp.array[wp.int32],
    # outputs
    values_out: wp.array3d[wp.float32],
):
    """Items in another order: place j holds item ``order[j]``."""
    i, j, k = wp.tid()
    values_out[i, j, k] = values[i, order[j], k]


@wp.kernel
def take_planes(
    # inputs
    values: wp.array4d[wp.float32],
    first: wp.array[wp.int32],
    last: wp.array[wp.int32],
    # outputs
    values_out: wp.array4d[wp.float32],
):
    """Second and last axis of an array in other orders."""
    i, j, k, m = wp.tid()
    values_out[i, j, k, m] = values[i, first[j], k, last[m]]


@wp.kernel
def narrow_indices(
    # inputs
    indices: wp.array[wp.int64],
    # outputs
    indices_out: wp.array[wp.int32],
):
    """Indices of 64 bits as ones of 32."""
    i = wp.tid()
    indices_out[i] = wp.int32(indices[i])


@wp.kernel
def subtract_from(
    # inputs
    whole: wp.array3d[wp.float32],
    # outputs
    part_inout: wp.array3d[wp.float32],
):
    """What is missing to a whole."""
    i, j, k = wp.tid()
    part_inout[i, j, k] = whole[i, j, k] - part_inout[i, j, k]
