"""Sparse factorisation M = Lᵀ D L over the chains of a tree, and solves with it [Featherstone 2008, §6.5]."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, Tables
from tensorphys_dynamics._kernels.long_chains import factorize_long
from tensorphys_dynamics._kernels.thresholds import CANCELLED, ROUNDING

wp.set_module_options({"enable_backward": False})


@wp.func
def guarded_pivot(t: Tables, m: ModelData, w: Scratch, a: int, i: int, pivot: float, whole: float):
    """A pivot that is never less than in exact arithmetic it can be.

    It is the inertia of all that the velocity moves with the joints behind it free, so at least that of the link itself,
    if the velocity is the last one of its link. With a heavy load on a light chain (mass matrices of condition 1e7) the
    subtractions of float32 may leave anything.
    """
    kind = t.articulation_type[a]
    local = t.velocity_link[t.type_velocity[kind] + i]
    least = ROUNDING * whole
    if i == t.link_chain[t.type_link[kind] + local]:
        link = t.articulation_link[a] + local
        angular = w.motion_angular[t.articulation_velocity[a] + i]
        linear = w.motion_linear[t.articulation_velocity[a] + i] + wp.cross(angular, w.link_com_offset[link])
        own = m.link_mass[link] * wp.dot(linear, linear) + wp.dot(angular, w.link_inertia[link] * angular)
        if i >= t.type_root[kind]:
            own += m.dof_armature[t.articulation_dof[a] + i - t.type_root[kind]]
        least = wp.max(least, own)
    return wp.max(pivot, least)


@wp.func
def factorize(t: Tables, m: ModelData, w: Scratch, a: int):
    """Overwrite the entries of the mass matrix by L (below the diagonal) and D (on it); set D^-1/2.

    A locked velocity does not change: its D^-1/2 is zero, and its row stays as it is until `solve` has read from it
    the impulse that holds it.
    """
    kind = t.articulation_type[a]
    if t.type_long[kind] == 1:
        factorize_long(t, m, w, a)
        return
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
        pivot = w.factor_entry[row + depth]
        whole = w.mass_entry[row + depth]
        if w.locked[start + k] == 1:
            w.inverse_root[start + k] = 0.0
            continue
        if pivot < CANCELLED * whole:
            pivot = guarded_pivot(t, m, w, a, k, pivot, whole)
        w.inverse_root[start + k] = 1.0 / wp.sqrt(pivot)
        for back in range(depth):
            p = depth - 1 - back
            i = t.chain[chain + local + p]
            ratio = w.factor_entry[row + p] / pivot
            other = entry + t.velocity_entry[first + i]
            for j in range(p + 1):
                w.factor_entry[other + j] = w.factor_entry[other + j] - ratio * w.factor_entry[row + j]
            w.factor_entry[row + p] = ratio


@wp.func
def solve(t: Tables, w: Scratch, a: int, x: wp.array[wp.float32]):
    """x ← M⁻¹ x with the factors of `factorize`; zero for locked velocities, whose holding impulses go to `hold`."""
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    chain = t.type_entry[kind]
    entry = t.articulation_entry[a]
    start = t.articulation_velocity[a]
    count = t.type_velocities[kind]
    for step in range(count):
        i = count - 1 - step
        local = t.velocity_entry[first + i]
        value = x[start + i]
        if w.locked[start + i] == 0:
            for p in range(t.velocity_depth[first + i]):
                j = start + t.chain[chain + local + p]
                x[j] = x[j] - w.factor_entry[entry + local + p] * value
    for i in range(count):
        local = t.velocity_entry[first + i]
        inverse = w.inverse_root[start + i]
        value = x[start + i] * inverse * inverse
        if w.locked[start + i] == 1:
            value = -x[start + i]
        for p in range(t.velocity_depth[first + i]):
            place = entry + local + p
            if w.locked[start + i] == 1:
                value += w.factor_entry[place] * x[start + t.chain[chain + local + p]]
                w.factor_entry[place] = 0.0
            else:
                value -= w.factor_entry[place] * x[start + t.chain[chain + local + p]]
        if w.locked[start + i] == 1:
            w.hold[start + i] = value
            value = 0.0
        x[start + i] = value


@wp.func
def to_u(t: Tables, w: Scratch, a: int, v: wp.array[wp.float32], u: wp.array[wp.float32]):
    """u = D^½ L v, in which the kinetic energy is |u|² / 2."""
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    chain = t.type_entry[kind]
    entry = t.articulation_entry[a]
    start = t.articulation_velocity[a]
    for i in range(t.type_velocities[kind]):
        local = t.velocity_entry[first + i]
        value = v[start + i]
        for p in range(t.velocity_depth[first + i]):
            value += w.factor_entry[entry + local + p] * v[start + t.chain[chain + local + p]]
        u[start + i] = wp.where(w.locked[start + i] == 1, 0.0, value / w.inverse_root[start + i])


@wp.func
def from_u(t: Tables, w: Scratch, a: int, u: wp.array[wp.float32], v: wp.array[wp.float32]):
    """v = L⁻¹ D^-½ u."""
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    chain = t.type_entry[kind]
    entry = t.articulation_entry[a]
    start = t.articulation_velocity[a]
    for i in range(t.type_velocities[kind]):
        local = t.velocity_entry[first + i]
        value = u[start + i] * w.inverse_root[start + i]
        for p in range(t.velocity_depth[first + i]):
            value -= w.factor_entry[entry + local + p] * v[start + t.chain[chain + local + p]]
        v[start + i] = value


@wp.func
def dof_response(t: Tables, w: Scratch, a: int, i: int):
    """Row D^-½ L^-T e_i of velocity index i, kept in `dof_row`; returns |row|² = (M⁻¹)_ii."""
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    chain = t.type_entry[kind]
    entry = t.articulation_entry[a]
    start = t.articulation_velocity[a]
    local = t.velocity_entry[first + i]
    depth = t.velocity_depth[first + i]
    for p in range(depth):
        w.dof_row[entry + local + p] = 0.0
    w.dof_row[entry + local + depth] = 1.0
    total = float(0.0)
    for step in range(depth + 1):
        p = depth - step
        index = t.chain[chain + local + p]
        other = entry + t.velocity_entry[first + index]
        value = w.dof_row[entry + local + p]
        for j in range(p):
            w.dof_row[entry + local + j] = w.dof_row[entry + local + j] - w.factor_entry[other + j] * value
        value = value * w.inverse_root[start + index]
        w.dof_row[entry + local + p] = value
        total += value * value
    return total
