"""Links as the ends of constraints that others solve: where they are, how they move and yield, what they are given."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.factor import from_u
from tensorphys_dynamics._kernels.thresholds import OUTSIDE

wp.set_module_options({"enable_backward": False})


@wp.kernel
def expose_all(
    # outputs
    w: Scratch,
):
    """No friction of joints is held by the factorisation while something else may pull at the links."""
    w.exposed[wp.tid()] = 1


@wp.func
def chain_motion(w: Scratch, index: int, lever: wp.vec3):
    """Velocity of a link at a lever from the root's centre of mass, by one velocity: (linear, angular)."""
    angular = w.motion_angular[index]
    return wp.spatial_vector(w.motion_linear[index] + wp.cross(angular, lever), angular)


@wp.kernel
def observe_links(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    # outputs
    pose_out: wp.array[wp.transform],
    com_out: wp.array[wp.vec3],
    row_inout: wp.array2d[wp.spatial_vector],
    response_out: wp.array[wp.spatial_matrix],
):
    """One link: its pose at the positions of the substep, and how its centre of mass yields to a wrench.

    The rows Y = D^-½ L^-T Jᵀ of the six directions on the chain of the link; their products are J M⁻¹ Jᵀ.
    """
    link = wp.tid()
    a = t.link_articulation[link]
    kind = t.articulation_type[a]
    root = wp.transform_get_translation(s.root_pose[a])
    pose = wp.transform(root + w.link_position[link], w.link_rotation[link])
    pose_out[link] = pose
    com_out[link] = wp.transform_point(pose, m.link_com[link])
    total = wp.spatial_matrix()
    last = t.link_chain[t.type_link[kind] + link - t.articulation_link[a]]
    if last >= 0 and m.link_disabled[t.articulation_link[a]] == 0:
        start = t.articulation_velocity[a]
        entry = t.articulation_entry[a]
        first = t.type_velocity[kind]
        chain = t.type_entry[kind] + t.velocity_entry[first + last]
        count = t.velocity_depth[first + last] + 1
        for p in range(count):
            row_inout[link, p] = chain_motion(w, start + t.chain[chain + p], w.link_com_offset[link])
        for step in range(count):
            p = count - 1 - step
            index = t.chain[chain + p]
            y = row_inout[link, p]
            other = entry + t.velocity_entry[first + index]
            if w.locked[start + index] == 0:
                for k in range(p):
                    row_inout[link, k] = row_inout[link, k] - w.factor_entry[other + k] * y
            y = y * w.inverse_root[start + index]
            total += wp.outer(y, y)
    response_out[link] = total


@wp.func
def link_wrench_of(m: ModelData, impulse: wp.array[wp.spatial_vector], link: int):
    """Impulse given to a link, nothing where it is not finite."""
    given = impulse[link]
    if not wp.isfinite(wp.dot(given, given)):
        given = wp.spatial_vector()
    return given


@wp.kernel
def push_links(
    t: Tables,
    m: ModelData,
    impulse: wp.array[wp.spatial_vector],
    # outputs
    w: Scratch,
    force_inout: wp.array[wp.float32],
):
    """One articulation: add what its links are given to its velocities, u ← u + D^-½ L^-T Jᵀ λ."""
    a = wp.tid()
    kind = t.articulation_type[a]
    if m.link_disabled[t.articulation_link[a]] == 1:
        return
    start = t.articulation_velocity[a]
    first = t.type_velocity[kind]
    count = t.type_velocities[kind]
    for i in range(count):
        force_inout[start + i] = 0.0
    pushed = int(0)
    for local in range(t.type_links[kind]):
        link = t.articulation_link[a] + local
        given = link_wrench_of(m, impulse, link)
        last = t.link_chain[t.type_link[kind] + local]
        if wp.dot(given, given) > 0.0 and last >= 0:
            pushed = 1
            chain = t.type_entry[kind] + t.velocity_entry[first + last]
            for p in range(t.velocity_depth[first + last] + 1):
                index = start + t.chain[chain + p]
                motion = chain_motion(w, index, w.link_com_offset[link])
                force_inout[index] = force_inout[index] + wp.dot(motion, given)
    if pushed == 0:
        return
    w.loaded[a] = OUTSIDE
    for step in range(count):
        i = count - 1 - step
        if w.locked[start + i] == 0:
            value = force_inout[start + i]
            chain = t.velocity_entry[first + i]
            for p in range(t.velocity_depth[first + i]):
                j = start + t.chain[t.type_entry[kind] + chain + p]
                force_inout[j] = force_inout[j] - w.factor_entry[t.articulation_entry[a] + chain + p] * value
            w.u[start + i] = w.u[start + i] + value * w.inverse_root[start + i]


@wp.kernel
def measure_links(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    # outputs
    rate_inout: wp.array[wp.float32],
    velocity_out: wp.array[wp.spatial_vector],
):
    """One articulation: velocities that the positions of its links are going to move by."""
    a = wp.tid()
    kind = t.articulation_type[a]
    start = t.articulation_velocity[a]
    first = t.type_velocity[kind]
    from_u(t, w, a, w.u_drift, rate_inout)
    moved = wp.spatial_vector()
    if t.type_root[kind] == 0:
        moved = s.root_velocity[a]
    disabled = m.link_disabled[t.articulation_link[a]]
    for local in range(t.type_links[kind]):
        link = t.articulation_link[a] + local
        lever = w.link_com_offset[link]
        angular = wp.spatial_bottom(moved)
        v = wp.spatial_vector(wp.spatial_top(moved) + wp.cross(angular, lever), angular)
        last = t.link_chain[t.type_link[kind] + local]
        if last >= 0:
            chain = t.type_entry[kind] + t.velocity_entry[first + last]
            for p in range(t.velocity_depth[first + last] + 1):
                index = start + t.chain[chain + p]
                v += rate_inout[index] * chain_motion(w, index, lever)
        if disabled == 1:
            v = wp.spatial_vector()
        velocity_out[link] = v


@wp.kernel
def keep_impulses(
    m: ModelData,
    impulse: wp.array[wp.spatial_vector],
    # outputs
    total_inout: wp.array[wp.spatial_vector],
):
    """Add the impulses of a substep to those of the step."""
    link = wp.tid()
    total_inout[link] = total_inout[link] + link_wrench_of(m, impulse, link)
