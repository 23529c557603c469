"""Warp functions for kernels that read row indices."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def valid_index(index: int, count: int, flag: wp.array[wp.int32]) -> bool:
    """Whether an index is one of ``count`` rows; else it is noted and the kernel must skip it.

    Args:
        index: Row index.
        count: Number of rows.
        flag: Note of the invalid indices, shape [3]: how many, the smallest and the largest. Sums and
            extremes of integers do not depend on the order of threads.

    Returns:
        True for ``0 <= index < count``.
    """
    valid = index >= 0 and index < count
    if not valid:
        wp.atomic_add(flag, 0, 1)
        wp.atomic_min(flag, 1, index)
        wp.atomic_max(flag, 2, index)
    return valid


@wp.func
def claim_row(owner: wp.array[wp.int32], row: int, position: int):
    """First pass over repeated indices: the last position that names a row becomes its owner.

    Args:
        owner: Owning position of each row, shape [rows], -1 before the first pass.
        row: A valid row.
        position: Place of the index in the index array.
    """
    wp.atomic_max(owner, row, position)


@wp.func
def owns_row(owner: wp.array[wp.int32], row: int, position: int) -> bool:
    """Second pass: whether this position is the one that may write the row."""
    return owner[row] == position
