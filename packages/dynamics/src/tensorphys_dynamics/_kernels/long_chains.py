"""Factors of the mass matrix of long chains, from articulated-body inertias [Featherstone 2008, §7.2].

What remains of row i of the mass matrix when all that hangs on velocity i is eliminated is Sⱼᵀ I Sᵢ, with I the
articulated inertia of the link: so the factors L and D follow from inertias, each about the centre of mass of its link,
without the large numbers of composite inertias, which take each other's digits in float32 (a chain of 100 links has a mass
matrix of condition 1e9).
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, Tables
from tensorphys_spatial.device import skew

wp.set_module_options({"enable_backward": False})


@wp.func
def eliminate(t: Tables, m: ModelData, w: Scratch, a: int, i: int):
    """Row of velocity index i of the factors, and the inertia of its link with that velocity free."""
    kind = t.articulation_type[a]
    row = t.type_velocity[kind] + i
    start = t.articulation_velocity[a]
    link = t.articulation_link[a] + t.velocity_link[row]
    c = w.link_com_offset[link]
    angular = w.motion_angular[start + i]
    linear = w.motion_linear[start + i] + wp.cross(angular, c)
    coupling = w.articulated_coupling[link]
    n = w.articulated_inertia[link] * angular + coupling * linear
    f = wp.transpose(coupling) * angular + w.articulated_mass[link] * linear
    pivot = wp.dot(angular, n) + wp.dot(linear, f) + w.drive_diagonal[start + i]
    if i >= t.type_root[kind]:
        pivot += m.dof_armature[t.articulation_dof[a] + i - t.type_root[kind]]
    pivot = wp.max(pivot, 1.0e-30)
    free = 1 - w.locked[start + i]
    scale = wp.where(free == 1, 1.0 / pivot, 1.0)
    moment = n + wp.cross(c, f)
    entry = t.articulation_entry[a] + t.velocity_entry[row]
    depth = t.velocity_depth[row]
    for p in range(depth):
        j = start + t.chain[t.type_entry[kind] + t.velocity_entry[row] + p]
        along = wp.dot(w.motion_angular[j], moment) + wp.dot(w.motion_linear[j], f)
        w.factor_entry[entry + p] = scale * along
    w.factor_entry[entry + depth] = pivot
    w.inverse_root[start + i] = 0.0
    if free == 1:
        w.inverse_root[start + i] = 1.0 / wp.sqrt(pivot)
        w.articulated_inertia[link] = w.articulated_inertia[link] - wp.outer(n, n) / pivot
        w.articulated_coupling[link] = coupling - wp.outer(n, f) / pivot
        w.articulated_mass[link] = w.articulated_mass[link] - wp.outer(f, f) / pivot


@wp.func
def pass_to_parent(w: Scratch, link: int, parent: int):
    """Add what is left of the inertia of a link to that of its parent, about the parent's centre of mass."""
    arm = skew(w.link_com_offset[link] - w.link_com_offset[parent])
    mass = w.articulated_mass[link]
    coupling = w.articulated_coupling[link]
    shifted = coupling + arm * mass
    inertia = w.articulated_inertia[link] + arm * wp.transpose(coupling) - shifted * arm
    w.articulated_inertia[parent] = w.articulated_inertia[parent] + inertia
    w.articulated_coupling[parent] = w.articulated_coupling[parent] + shifted
    w.articulated_mass[parent] = w.articulated_mass[parent] + mass


@wp.func
def factorize_long(t: Tables, m: ModelData, w: Scratch, a: int):
    """The factors of `factorize`, link by link."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    root = t.type_root[kind]
    links = t.type_links[kind]
    for local in range(links):
        link = base + local
        w.articulated_inertia[link] = w.heavy_inertia[link]
        w.articulated_coupling[link] = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        w.articulated_mass[link] = w.heavy_mass[link] * wp.identity(n=3, dtype=float)
    for step in range(links):
        local = links - 1 - step
        row = t.type_link[kind] + local
        first = root + t.link_dof[row]
        count = t.link_dofs[row]
        if local == 0:
            first = 0
            count = root
        for back in range(count):
            eliminate(t, m, w, a, first + count - 1 - back)
        if local > 0:
            pass_to_parent(w, base + local, base + t.link_parent[row])
