"""Whether float32 bears the mass matrices of a scene where it stands, looked at once when a solver is made."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.drives import copy_mass
from tensorphys_dynamics._kernels.factor import factorize
from tensorphys_dynamics._kernels.friction import unlock
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics, point_inertia
from tensorphys_dynamics._kernels.precise import is_strained
from tensorphys_dynamics._kernels.smooth import mass_rows

wp.set_module_options({"enable_backward": False})


@wp.kernel
def measure_strain(
    t: Tables,
    m: ModelData,
    # outputs
    s: StateData,
    w: Scratch,
    strained_out: wp.array[wp.int32],
):
    """1 for each articulation whose factors lose their digits."""
    a = wp.tid()
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    w.momentum_known[a] = 0
    articulation_kinematics(t, m, s, w, a)
    for local in range(t.type_links[kind]):
        link = base + local
        mass = m.link_mass[link]
        w.subtree_mass[link] = mass
        w.subtree_moment[link] = mass * w.link_com_offset[link]
        w.heavy_mass[link] = mass
        w.heavy_inertia[link] = w.link_inertia[link]
        w.subtree_inertia[link] = w.link_inertia[link] + point_inertia(mass, w.link_com_offset[link])
    for step in range(t.type_links[kind] - 1):
        local = t.type_links[kind] - 1 - step
        link = base + local
        parent = base + t.link_parent[t.type_link[kind] + local]
        w.subtree_mass[parent] = w.subtree_mass[parent] + w.subtree_mass[link]
        w.subtree_moment[parent] = w.subtree_moment[parent] + w.subtree_moment[link]
        w.subtree_inertia[parent] = w.subtree_inertia[parent] + w.subtree_inertia[link]
    mass_rows(t, m, w, a)
    copy_mass(t, w, a)
    unlock(t, m, w, a)
    factorize(t, m, w, a)
    strained_out[a] = is_strained(t, w, a)
