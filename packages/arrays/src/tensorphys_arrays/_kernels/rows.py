"""Row indices to a table of rows."""

import warp as wp

from tensorphys_arrays import device as dev

wp.set_module_options({"enable_backward": False})


@wp.kernel
def claim_rows(
    # inputs
    indices: wp.array[wp.int32],
    count: int,
    # outputs
    owner_out: wp.array[wp.int32],
    flag_out: wp.array[wp.int32],
):
    """Note for each row the last position that names it."""
    position = wp.tid()
    row = indices[position]
    if dev.valid_index(row, count, flag_out):
        dev.claim_row(owner_out, row, position)


@wp.kernel
def claim_masked_rows(
    # inputs
    mask: wp.array[wp.bool],
    # outputs
    owner_out: wp.array[wp.int32],
):
    """Name the rows that a mask chooses by themselves."""
    row = wp.tid()
    owner_out[row] = wp.where(mask[row], row, -1)
