"""Which rows of a view a setter writes."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Slots of the fault array of a simulation view: a flag, then the row that raised it.
FAULT_POSE = wp.constant(0)


@wp.func
def wins(
    row: int,
    owner: wp.array[wp.int32],
    first_same: wp.array[wp.int32],
    next_same: wp.array[wp.int32],
) -> bool:
    """Whether a row is written: it is selected, and no row selected after it stands for the same object."""
    mine = owner[row]
    if mine < 0:
        return False
    other = first_same[row]
    while other >= 0:
        if owner[other] > mine:
            return False
        other = next_same[other]
    return True
