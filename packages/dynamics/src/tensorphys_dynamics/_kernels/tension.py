"""Inertia that keeps stiff transverse modes of heavily loaded light links stable.

A link under tension F along d swings sideways as on a spring of F·d; where its own inertia is small against
h² F·d, an explicit kick of length h would throw it over. With β h² F·d (E − n nᵀ) added to the inertia of the link,
n along d, the kick is that of the average acceleration method for β = ¼ [Newmark 1959], stable for any h, and still of
second order. The addition is zero wherever the own inertia alone is enough, that is for all but extreme ratios.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, Tables
from tensorphys_dynamics._kernels.thresholds import OWN_SHARE, TENSION

wp.set_module_options({"enable_backward": False})


@wp.func
def joint_point(t: Tables, m: ModelData, w: Scratch, a: int, local: int):
    """Where the joint of a link stands relative to the root link's origin; its origin where it does not turn."""
    kind = t.articulation_type[a]
    row = t.type_link[kind] + local
    link = t.articulation_link[a] + local
    point = w.link_position[link]
    count = t.link_dofs[row]
    if count > 0:
        last = t.link_dof[row] + count - 1
        if t.velocity_rotational[t.type_velocity[kind] + t.type_root[kind] + last] == 1:
            anchor = m.dof_anchor[t.articulation_dof[a] + last]
            point += wp.quat_rotate(w.link_rotation[link], anchor)
    return point


@wp.func
def tension_inertia(force: wp.vec3, arm: wp.vec3, own: float, h: float):
    """Inertia to add to a link whose child hangs on it with `force`, `arm` away from its own joint."""
    square = wp.dot(arm, arm)
    wanted = TENSION * h * h * wp.dot(force, arm) - OWN_SHARE * own
    result = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if wanted > 0.0 and square > 0.0:
        result = wanted * (wp.identity(n=3, dtype=float) - wp.outer(arm, arm) / square)
    return result


@wp.func
def add_tension(t: Tables, m: ModelData, w: Scratch, a: int, h: float):
    """Add to the composite inertias what the weights that hang on links ask for; those of a floating base must keep the
    momentum and get none."""
    kind = t.articulation_type[a]
    base = t.articulation_link[a]
    if t.type_root[kind] == 0:
        origin = wp.quat_rotate(w.link_rotation[base], m.link_com[base])
        for local in range(1, t.type_links[kind]):
            parent_local = t.link_parent[t.type_link[kind] + local]
            parent = base + parent_local
            if parent_local > 0:
                joint = joint_point(t, m, w, a, parent_local)
                arm = joint_point(t, m, w, a, local) - joint
                lever = w.link_com_offset[parent] + origin - joint
                inertia = w.link_inertia[parent]
                own = m.link_mass[parent] * wp.dot(lever, lever) + 0.5 * wp.trace(inertia)
                weight = w.subtree_mass[base + local] * m.gravity[t.articulation_environment[a]]
                added = tension_inertia(weight, arm, own, h)
                if added[0, 0] + added[1, 1] + added[2, 2] > 0.0:
                    w.heavy_inertia[parent] = w.heavy_inertia[parent] + added
                    up = parent_local
                    while up >= 0:
                        w.subtree_inertia[base + up] = w.subtree_inertia[base + up] + added
                        up = t.link_parent[t.type_link[kind] + up]
