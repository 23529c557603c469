"""The kick of one articulation in float64, where elimination leaves nothing of float32.

A pivot is the inertia of what a velocity moves with the joints behind it free. Where a light link carries a heavy one it is
a small difference of the large numbers of composite inertias: with 1e5 kg on rods of 10 g, a part in 1e8 of them. Masses,
places and wrenches of links are float32 as they are, all sums and the elimination float64, so that what is solved is the
mechanism of these links to rounding, whatever the ratio of their masses. What the sweep reads of the factors is
rounded to float32 afterwards: velocities go through them and back without loss.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ControlData, ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.wrenches import felt_force, own_wrench

wp.set_module_options({"enable_backward": False})

# A pivot of less than this share of its diagonal has an error of some 1e-3 in float32.
STRAINED = wp.constant(1.0e-4)
# What rounding leaves of a diagonal at least.
ROUNDING64 = wp.constant(wp.float64(1.0e-15))


@wp.func
def is_strained(t: Tables, w: Scratch, a: int):
    """Whether float32 factors of an articulation have lost their digits."""
    kind = t.articulation_type[a]
    result = int(0)
    if t.type_long[kind] == 0:
        for i in range(t.type_velocities[kind]):
            row = t.type_velocity[kind] + i
            inverse = w.inverse_root[t.articulation_velocity[a] + i]
            whole = w.mass_entry[t.articulation_entry[a] + t.velocity_entry[row] + t.velocity_depth[row]]
            if inverse * inverse * whole * STRAINED > 1.0:
                result = 1
    return result


@wp.func
def widen(w: Scratch, link: int, force: wp.vec3, torque: wp.vec3):
    """Mass and inertia of a link about the origin, and its wrench, given about its centre of mass."""
    mass = wp.float64(w.heavy_mass[link])
    c = wp.vec3d(w.link_com_offset[link])
    f = wp.vec3d(force)
    w.wide_mass[link] = mass
    w.wide_moment[link] = mass * c
    about = mass * (wp.dot(c, c) * wp.identity(n=3, dtype=wp.float64) - wp.outer(c, c))
    w.wide_inertia[link] = wp.mat33d(w.heavy_inertia[link]) + about
    w.wide_force[link] = f
    w.wide_torque[link] = wp.vec3d(torque) + wp.cross(c, f)


@wp.func
def gather_wide(t: Tables, w: Scratch, a: int):
    """Sum what `widen` left over subtrees."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        link = base + local
        parent = base + t.link_parent[t.type_link[kind] + local]
        w.wide_mass[parent] = w.wide_mass[parent] + w.wide_mass[link]
        w.wide_moment[parent] = w.wide_moment[parent] + w.wide_moment[link]
        w.wide_inertia[parent] = w.wide_inertia[parent] + w.wide_inertia[link]
        w.wide_force[parent] = w.wide_force[parent] + w.wide_force[link]
        w.wide_torque[parent] = w.wide_torque[parent] + w.wide_torque[link]


@wp.func
def wide_rows(t: Tables, m: ModelData, w: Scratch, a: int, h: float):
    """Mass matrix with what drives add to it, and the right-hand side of the kick."""
    kind = t.articulation_type[a]
    start = t.articulation_velocity[a]
    entry = t.articulation_entry[a]
    for i in range(t.type_velocities[kind]):
        row = t.type_velocity[kind] + i
        link = t.articulation_link[a] + t.velocity_link[row]
        angular = wp.vec3d(w.motion_angular[start + i])
        linear = wp.vec3d(w.motion_linear[start + i])
        n = w.wide_inertia[link] * angular + wp.cross(w.wide_moment[link], linear)
        f = w.wide_mass[link] * linear - wp.cross(w.wide_moment[link], angular)
        local = t.velocity_entry[row]
        depth = t.velocity_depth[row]
        for k in range(depth + 1):
            j = start + t.chain[t.type_entry[kind] + local + k]
            along = wp.dot(wp.vec3d(w.motion_angular[j]), n) + wp.dot(wp.vec3d(w.motion_linear[j]), f)
            w.wide_entry[entry + local + k] = along
        added = w.drive_diagonal[start + i]
        if i >= t.type_root[kind]:
            added += m.dof_armature[t.articulation_dof[a] + i - t.type_root[kind]]
        w.wide_entry[entry + local + depth] = w.wide_entry[entry + local + depth] + wp.float64(added)
        along = wp.dot(angular, w.wide_torque[link]) + wp.dot(linear, w.wide_force[link])
        w.wide_right[start + i] = wp.float64(h) * along + wp.float64(w.driven[start + i])


@wp.func
def eliminate_wide(t: Tables, w: Scratch, a: int):
    """Factors as `factorize` leaves them, of the rows of `wide_rows`, and the right-hand side eliminated along."""
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    chain = t.type_entry[kind]
    entry = t.articulation_entry[a]
    start = t.articulation_velocity[a]
    count = t.type_velocities[kind]
    for step in range(count):
        k = count - 1 - step
        local = t.velocity_entry[first + k]
        depth = t.velocity_depth[first + k]
        row = entry + local
        if w.locked[start + k] == 1:
            for p in range(depth):
                w.factor_entry[row + p] = 0.0
            continue
        pivot = w.wide_entry[row + depth]
        # the float32 pass has left the diagonal of the mass matrix as it was
        pivot = wp.max(pivot, ROUNDING64 * wp.float64(w.mass_entry[row + depth]))
        w.inverse_root[start + k] = wp.float32(wp.float64(1.0) / wp.sqrt(pivot))
        w.factor_entry[row + depth] = wp.float32(pivot)
        w.wide_entry[row + depth] = pivot
        right = w.wide_right[start + k]
        for back in range(depth):
            p = depth - 1 - back
            i = t.chain[chain + local + p]
            ratio = w.wide_entry[row + p] / pivot
            other = entry + t.velocity_entry[first + i]
            for j in range(p + 1):
                w.wide_entry[other + j] = w.wide_entry[other + j] - ratio * w.wide_entry[row + j]
            w.wide_right[start + i] = w.wide_right[start + i] - ratio * right
            w.wide_entry[row + p] = ratio
            w.factor_entry[row + p] = wp.float32(ratio)


@wp.func
def solve_wide(t: Tables, w: Scratch, a: int):
    """Back substitution into `kick`; what friction holds stays at zero, with its impulse in `hold`."""
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    chain = t.type_entry[kind]
    entry = t.articulation_entry[a]
    start = t.articulation_velocity[a]
    for i in range(t.type_velocities[kind]):
        local = t.velocity_entry[first + i]
        depth = t.velocity_depth[first + i]
        coupled = wp.float64(0.0)
        for p in range(depth):
            other = start + t.chain[chain + local + p]
            coupled += w.wide_entry[entry + local + p] * w.wide_right[other]
        value = wp.float64(0.0)
        if w.locked[start + i] == 1:
            w.hold[start + i] = wp.float32(coupled - w.wide_right[start + i])
        else:
            value = w.wide_right[start + i] / w.wide_entry[entry + local + depth] - coupled
        w.wide_right[start + i] = value
        w.kick[start + i] = wp.float32(value)


@wp.func
def precise_kick(
    t: Tables, m: ModelData, s: StateData, c: ControlData, w: Scratch, a: int, h: float, first: int
):
    """The factors and the kick in float64."""
    gravity = m.gravity[t.articulation_environment[a]]
    blend = wp.where(first == 1 and s.fresh[a] == 0, 0.5, 0.0)
    for local in range(t.type_links[t.articulation_type[a]]):
        link = t.articulation_link[a] + local
        force, torque = felt_force(c, s, link, blend)
        f, n = own_wrench(m, w, link, gravity, force, torque)
        widen(w, link, f, n)
    gather_wide(t, w, a)
    wide_rows(t, m, w, a, h)
    eliminate_wide(t, w, a)
    solve_wide(t, w, a)
