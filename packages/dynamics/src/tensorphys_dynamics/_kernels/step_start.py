"""What the loads of a step are measured from: kept in every step, while the loads are worked out on request."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import StateData, Tables

wp.set_module_options({"enable_backward": False})


@wp.struct
class StepData:
    """Start of the last step and the loads worked out from it; link arrays."""

    known: wp.array[wp.int32]  # one value: whether a step was made since the start was forgotten
    start_pose: wp.array[wp.transform]
    start_velocity: wp.array[wp.spatial_vector]
    start_force: wp.array[wp.vec3]  # applied in the step before
    start_torque: wp.array[wp.vec3]
    start_synced: wp.array[wp.int32]  # by articulation: whether velocities stood at the time of the positions
    start_fresh: wp.array[wp.int32]
    root_velocity: wp.array[wp.spatial_vector]  # of roots moved by hand
    acceleration: wp.array[wp.spatial_vector]  # mean over the substeps
    torque_rate: wp.array[wp.vec3]  # mean rate of the angular momentum about the centre of mass
    velocity: wp.array[wp.spatial_vector]  # mean of the velocities that are damped
    spin: wp.array[wp.vec3]  # mean of the angular momenta that are damped
    com: wp.array[wp.vec3]  # at the middle of the step
    contact_force: wp.array[wp.vec3]  # mean over the step
    contact_torque: wp.array[wp.vec3]  # about the centre of mass
    force: wp.array[wp.vec3]  # that the subtree needs from its joint
    torque: wp.array[wp.vec3]


@wp.func
def is_synced(t: Tables, s: StateData, a: int):
    """Whether the velocities of the root stand at the time of its positions; those of joints, if the base is fixed."""
    kind = t.articulation_type[a]
    synced = wp.where(s.fresh[a] == 1 or s.root_synced[a] == 1, 1, 0)
    count = wp.where(t.type_root[kind] == 6, 6, t.type_velocities[kind])
    for i in range(count):
        if s.half_kick[t.articulation_velocity[a] + i] != 0.0:
            synced = 1
    return synced


@wp.kernel
def keep_start(
    # inputs
    t: Tables,
    s: StateData,
    # outputs
    d: StepData,
):
    """Keep the state of a link before a step."""
    link = wp.tid()
    if link == 0:
        d.known[0] = 1
    d.start_pose[link] = s.link_pose[link]
    d.start_velocity[link] = s.link_velocity[link]
    d.start_force[link] = s.previous_force[link]
    d.start_torque[link] = s.previous_torque[link]
    a = t.link_articulation[link]
    if t.articulation_link[a] == link:
        d.start_synced[a] = is_synced(t, s, a)
        d.start_fresh[a] = s.fresh[a]
        d.root_velocity[a] = s.root_velocity[a]
