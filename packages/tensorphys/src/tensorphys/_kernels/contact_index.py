"""Which contacts of the last step touch which sensed object, in the order of the contacts.

An *owner* is an object that sensors look at: a rigid body, or a static collider. Its *entries* are twice the
number of a contact slot, plus one where the owner is the second of the two shapes.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class ContactSource:
    """Contacts and impulses of the last step; see ``tensorphys_contact.Contacts`` and the solver.

    ``environment_count`` environments, ``slot_count`` slots. ``impulse`` acts on shape 0, friction included;
    ``origin_hi`` and ``origin_lo`` carry an environment's frame into the world.
    """

    environment_count: wp.int32
    slot_count: wp.int32
    slot_start: wp.array[wp.int32]
    count: wp.array[wp.int32]
    environment: wp.array[wp.int32]
    shape0: wp.array[wp.int32]
    shape1: wp.array[wp.int32]
    anchor0: wp.array[wp.vec3]
    anchor1: wp.array[wp.vec3]
    normal: wp.array[wp.vec3]
    separation: wp.array[wp.float32]
    rest_distance: wp.array[wp.float32]
    impulse: wp.array[wp.vec3]
    normal_impulse: wp.array[wp.float32]
    link_pose: wp.array[wp.transform]
    origin_hi: wp.array[wp.vec3]
    origin_lo: wp.array[wp.vec3]


@wp.struct
class ContactIndex:
    """Entries of each owner.

    ``owner_start`` gives the owners of each environment, at its end those that all environments share;
    ``shape_owner`` is -1 where nobody looks.
    """

    owner_count: wp.int32
    owner_start: wp.array[wp.int32]
    shape_owner: wp.array[wp.int32]
    entry_first: wp.array[wp.int32]
    entry_count: wp.array[wp.int32]
    entry: wp.array[wp.int32]


@wp.func
def is_reported(k: ContactSource, slot: int) -> bool:
    """Whether a contact carried an impulse, or its shapes touched: others only came near."""
    if k.separation[slot] <= k.rest_distance[slot] or k.normal_impulse[slot] != 0.0:
        return True
    return wp.length_sq(k.impulse[slot]) > 0.0


@wp.func
def owner_of_end(k: ContactSource, x: ContactIndex, slot: int, end: int) -> int:
    shape = k.shape0[slot]
    if end == 1:
        shape = k.shape1[slot]
    return x.shape_owner[shape]


@wp.func
def visit_ends(k: ContactSource, x: ContactIndex, environment: int, first: int, last: int, write: int):
    """Count the reported ends of the owners ``first`` to ``last``; with ``write`` also keep each as an entry."""
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        if is_reported(k, slot):
            for end in range(2):
                owner = owner_of_end(k, x, slot, end)
                if owner >= first and owner < last:
                    place = x.entry_count[owner]
                    if write != 0:
                        x.entry[x.entry_first[owner] + place] = 2 * slot + end
                    x.entry_count[owner] = place + 1


@wp.kernel
def index_environments(
    # inputs
    k: ContactSource,
    # outputs
    x: ContactIndex,
):
    """One thread an environment, and a last one for the owners that all of them share: a counting sort."""
    e = wp.tid()
    first = x.owner_start[e]
    last = x.owner_start[e + 1]
    if first == last:
        return
    low = int(e)
    high = int(e + 1)
    place = int(0)
    if e == k.environment_count:
        low = 0
        high = k.environment_count
        place = 2 * k.slot_count
    else:
        place = 2 * k.slot_start[e]
    for owner in range(first, last):
        x.entry_count[owner] = 0
    for environment in range(low, high):
        visit_ends(k, x, environment, first, last, 0)
    for owner in range(first, last):
        x.entry_first[owner] = place
        place += x.entry_count[owner]
        x.entry_count[owner] = 0
    for environment in range(low, high):
        visit_ends(k, x, environment, first, last, 1)


@wp.kernel
def key_ends(
    # inputs
    k: ContactSource,
    x: ContactIndex,
    # outputs
    key_out: wp.array[wp.int32],
):
    """One thread a slot: owner of each end as the key of a stable sort; ends of nobody go last."""
    slot = wp.tid()
    environment = k.environment[slot]
    used = slot - k.slot_start[environment] < k.count[environment]
    if used:
        used = is_reported(k, slot)
    for end in range(2):
        key = x.owner_count
        if used:
            owner = owner_of_end(k, x, slot, end)
            if owner >= 0:
                key = owner
        x.entry[2 * slot + end] = 2 * slot + end
        key_out[2 * slot + end] = key


@wp.func
def lower_bound(values: wp.array[wp.int32], first: int, last: int, value: int) -> int:
    """First place in the sorted ``values[first:last]`` with at least this value."""
    low = int(first)
    high = int(last)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@wp.kernel
def find_owners(
    # inputs
    key: wp.array[wp.int32],
    end_count: int,
    # outputs
    x: ContactIndex,
):
    """One thread an owner: its run of sorted keys."""
    owner = wp.tid()
    first = lower_bound(key, 0, end_count, owner)
    x.entry_first[owner] = first
    x.entry_count[owner] = lower_bound(key, first, end_count, owner + 1) - first
