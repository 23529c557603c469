"""Impulses of the last step for the contacts of this one, a thread a contact."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.rows import expose, place_contact
from tensorphys_spatial.device import orthonormal_basis

wp.set_module_options({"enable_backward": False})


@wp.func
def find_key(key: wp.array[wp.int64], first: int, last: int, wanted: wp.int64):
    """Index of a key between two others of a sorted list, −1 where it is not."""
    low = first
    high = last
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    found = int(-1)
    if low < last:
        if key[low] == wanted:
            found = low
    return found


@wp.kernel
def match_each_contact(
    t: Tables,
    m: ModelData,
    s: StateData,
    k: ContactData,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    r: ContactRows,
    w: Scratch,
):
    """What `rows.match_contacts` does for an environment, for one slot; `exposed` was set to `coupled` before."""
    slot = wp.tid()
    environment = k.environment[slot]
    start = k.slot_start[environment]
    if slot - start >= k.count[environment]:
        return
    h = time_step[0] / float(substeps)
    place_contact(m, s, k, r, slot)
    expose(t, w, k.body0[slot])
    expose(t, w, k.body1[slot])
    force = wp.vec3(0.0, 0.0, 0.0)
    old = find_key(r.previous_key, start, start + r.previous_count[environment], k.key[slot])
    if old >= 0:
        force = r.previous_force[old]
        if not wp.isfinite(wp.length_sq(force)):
            force = wp.vec3(0.0, 0.0, 0.0)
    n = k.normal[slot]
    t1, t2 = orthonormal_basis(n)
    r.impulse[slot] = h * wp.vec3(wp.dot(force, n), wp.dot(force, t1), wp.dot(force, t2))
    r.total[slot] = wp.vec3(0.0, 0.0, 0.0)
    r.spin_total[slot] = 0.0
    r.normal_total[slot] = 0.0
