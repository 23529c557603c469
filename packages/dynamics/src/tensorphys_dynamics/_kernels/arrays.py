"""Structs of arrays that the kernels of this package share; private, they never cross a package border."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# An impulse that is no bound; what a model gives as infinite is more.
UNBOUNDED_IMPULSE = wp.constant(1.0e30)
THIN = 25.0
"""trace(I) trace(I⁻¹) from which on a body is thin: 9 for a ball, 25 for a rod with a tenth of its inertia along its axis."""


@wp.struct
class Tables:
    """Topology: where each articulation stands in the flat arrays, and the tables of its type."""

    articulation_type: wp.array[wp.int32]
    articulation_environment: wp.array[wp.int32]
    articulation_link: wp.array[wp.int32]
    articulation_dof: wp.array[wp.int32]
    articulation_velocity: wp.array[wp.int32]
    articulation_entry: wp.array[wp.int32]
    environment_articulation: wp.array[wp.int32]
    link_articulation: wp.array[wp.int32]
    type_root: wp.array[wp.int32]  # number of root velocities, 0 or 6
    type_links: wp.array[wp.int32]
    type_velocities: wp.array[wp.int32]
    type_long: wp.array[wp.int32]  # 1 where a chain is too long to factorise the mass matrix itself
    type_link: wp.array[wp.int32]  # start of the type in the link tables below
    type_velocity: wp.array[wp.int32]  # start of the type in the velocity tables below
    type_entry: wp.array[wp.int32]  # start of the type in the chain table
    link_parent: wp.array[wp.int32]
    link_dof: wp.array[wp.int32]  # first degree of freedom of the link
    link_dofs: wp.array[wp.int32]
    link_chain: wp.array[wp.int32]  # last velocity index that moves the link, −1 where none
    velocity_link: wp.array[wp.int32]
    velocity_rotational: wp.array[wp.int32]
    velocity_entry: wp.array[wp.int32]  # first entry of the row
    velocity_depth: wp.array[wp.int32]  # entries before the diagonal
    chain: wp.array[wp.int32]
    ball_row: wp.array[wp.int32]  # first entry of the three rows of a ball joint in `Scratch.ball_row`


@wp.struct
class ModelData:
    """Constants between two writes by the user; see `Model` for meaning and units."""

    gravity: wp.array[wp.vec3]
    link_rest_pose: wp.array[wp.transform]
    link_mass: wp.array[wp.float32]
    link_com: wp.array[wp.vec3]
    link_inertia: wp.array[wp.mat33]
    link_gravity: wp.array[wp.float32]
    link_linear_damping: wp.array[wp.float32]
    link_angular_damping: wp.array[wp.float32]
    link_max_linear_velocity: wp.array[wp.float32]
    link_max_angular_velocity: wp.array[wp.float32]
    link_max_depenetration_velocity: wp.array[wp.float32]
    link_max_contact_impulse: wp.array[wp.float32]
    link_surface_linear: wp.array[wp.vec3]
    link_surface_angular: wp.array[wp.vec3]
    link_surface_local: wp.array[wp.int32]
    link_gyroscopic: wp.array[wp.int32]
    link_locked_axes: wp.array[wp.int32]
    link_disabled: wp.array[wp.int32]
    dof_axis: wp.array[wp.vec3]
    dof_anchor: wp.array[wp.vec3]
    dof_armature: wp.array[wp.float32]
    dof_lower: wp.array[wp.float32]
    dof_upper: wp.array[wp.float32]
    dof_drive_type: wp.array[wp.int32]
    dof_stiffness: wp.array[wp.float32]
    dof_damping: wp.array[wp.float32]
    dof_max_force: wp.array[wp.float32]
    dof_max_velocity: wp.array[wp.float32]
    dof_passive_stiffness: wp.array[wp.float32]
    dof_passive_damping: wp.array[wp.float32]
    dof_spring_reference: wp.array[wp.float32]
    dof_friction_coefficient: wp.array[wp.float32]
    dof_static_friction: wp.array[wp.float32]
    dof_dynamic_friction: wp.array[wp.float32]
    dof_viscous_friction: wp.array[wp.float32]
    dof_envelope: wp.array[wp.int32]
    dof_speed_effort_gradient: wp.array[wp.float32]
    dof_max_actuator_velocity: wp.array[wp.float32]
    dof_velocity_resistance: wp.array[wp.float32]
    dof_cone: wp.array[wp.int32]
    dof_ball: wp.array[wp.int32]  # 3 ball joint + place in it, −1 outside of ball joints


@wp.struct
class StateData:
    """What the next step reads; see `State` for meaning and units."""

    root_pose: wp.array[wp.transform]
    root_velocity: wp.array[wp.spatial_vector]
    root_target: wp.array[wp.transform]
    root_aimed: wp.array[wp.int32]
    velocity: wp.array[wp.float32]
    dof_position: wp.array[wp.float32]
    ball_turn: wp.array[wp.quat]
    half_kick: wp.array[wp.float32]
    root_remainder: wp.array[wp.vec3]
    diverged: wp.array[wp.int32]
    root_synced: wp.array[wp.int32]
    fresh: wp.array[wp.int32]
    dof_saturation: wp.array[wp.int32]
    dof_limit_force: wp.array[wp.float32]
    dof_friction_force: wp.array[wp.float32]
    dof_sliding: wp.array[wp.int32]
    velocity_change: wp.array[wp.float32]
    link_pose: wp.array[wp.transform]
    link_velocity: wp.array[wp.spatial_vector]
    previous_actuation: wp.array[wp.float32]
    previous_force: wp.array[wp.vec3]
    previous_torque: wp.array[wp.vec3]


@wp.struct
class ControlData:
    """Inputs of a step; see `Control` for meaning and units."""

    position_target: wp.array[wp.float32]
    velocity_target: wp.array[wp.float32]
    actuation: wp.array[wp.float32]
    link_force: wp.array[wp.vec3]
    link_torque: wp.array[wp.vec3]


@wp.struct
class MimicData:
    """Mimic joints of environments that have the same ones; see `JointModel`. Rows of an environment stand together."""

    gearing: wp.array[wp.float32]  # of the rows of one environment
    offset: wp.array[wp.float32]
    natural_frequency: wp.array[wp.float32]
    damping_ratio: wp.array[wp.float32]
    enabled: wp.array[wp.int32]
    total: wp.array[wp.float32]  # impulse over the step


@wp.struct
class Scratch:
    """Quantities of one substep. Vectors are in environment axes; positions are relative to the root link's
    origin, spatial vectors are taken about the root link's centre of mass."""

    link_position: wp.array[wp.vec3]
    link_rotation: wp.array[wp.quat]
    link_com_offset: wp.array[wp.vec3]  # centre of mass relative to that of the root link
    link_inertia: wp.array[wp.mat33]  # about the link's centre of mass
    link_angular: wp.array[wp.vec3]
    link_linear: wp.array[wp.vec3]
    link_angular_rate: wp.array[wp.vec3]  # velocity-product acceleration
    link_linear_rate: wp.array[wp.vec3]
    link_force: wp.array[wp.vec3]  # force on the subtree less its rate of momentum
    link_torque: wp.array[wp.vec3]
    link_load_force: wp.array[wp.vec3]  # accelerations, then wrenches that joints transmit
    link_load_torque: wp.array[wp.vec3]
    subtree_mass: wp.array[wp.float32]
    subtree_moment: wp.array[wp.vec3]  # mass times centre of mass
    subtree_inertia: wp.array[wp.mat33]
    heavy_mass: wp.array[wp.float32]  # of the link, with what damping adds
    heavy_inertia: wp.array[wp.mat33]
    articulated_mass: wp.array[
        wp.mat33
    ]  # force by linear acceleration of the centre of mass; of long chains alone
    articulated_coupling: wp.array[wp.mat33]  # torque by it
    articulated_inertia: wp.array[wp.mat33]  # torque by angular acceleration
    wide_mass: wp.array[
        wp.float64
    ]  # of the subtree; of articulations that float32 does not bear, see `precise`
    wide_moment: wp.array[wp.vec3d]
    wide_inertia: wp.array[wp.mat33d]
    wide_force: wp.array[wp.vec3d]
    wide_torque: wp.array[wp.vec3d]
    wide_entry: wp.array[wp.float64]  # M, then L and D
    wide_right: wp.array[wp.float64]  # right-hand side, then the kick
    motion_angular: wp.array[wp.vec3]  # joint motion of each velocity index
    motion_linear: wp.array[wp.vec3]
    force: wp.array[wp.float32]  # generalized force, by velocity index
    drive_force: wp.array[wp.float32]  # force of the drive at the velocity `free_velocity`, by velocity index
    drive_diagonal: wp.array[
        wp.float32
    ]  # what stands on the diagonal beside the mass matrix, by velocity index
    drive_gain: wp.array[wp.float32]  # h k + d of an unsaturated drive, by velocity index
    drive_bound: wp.array[wp.float32]  # bound of the force at `free_velocity`, by velocity index
    joint_load: wp.array[
        wp.float32
    ]  # |force| + |torque| of the joint in the substep before, by velocity index
    locked: wp.array[
        wp.int32
    ]  # 1 where friction holds and the velocity is left out of the factors, by velocity index
    hold: wp.array[wp.float32]  # impulse that friction holds a locked one with
    kick: wp.array[wp.float32]  # change of velocity by smooth forces in the substep
    driven: wp.array[wp.float32]  # impulse of drives, springs and dampers in it
    free_velocity: wp.array[wp.float32]
    inverse_root: wp.array[wp.float32]  # D^-1/2
    u: wp.array[wp.float32]  # D^1/2 L v
    u_drift: wp.array[wp.float32]
    mass_entry: wp.array[wp.float32]
    factor_entry: wp.array[wp.float32]
    dof_row: wp.array[wp.float32]  # D^-1/2 L^-T e_d, stored like a row of the mass matrix
    ball_row: wp.array[
        wp.float32
    ]  # D^-1/2 L^-T Jᵀ of limits of ball joints, on the chain of their last velocity
    dof_row_flag: wp.array[
        wp.int32
    ]  # 1: limit, 2: drive, 4: saturated drive, 8: friction, 16: limit of a ball joint, by velocity index
    dof_row_mass: wp.array[wp.float32]  # 1 / |row|²
    ball_row_mass: wp.array[wp.float32]  # the same for limits of ball joints, by velocity index
    ball_room: wp.array[wp.vec2]  # how far the bounded quantity may fall and rise, by velocity index
    dof_limit_impulse: wp.array[wp.float32]
    dof_slack_impulse: wp.array[wp.float32]
    dof_friction_impulse: wp.array[wp.float32]
    momentum_linear: wp.array[wp.vec3]
    momentum_angular: wp.array[wp.vec3]  # about the centre of mass of the articulation
    momentum_known: wp.array[wp.int32]
    origin_start: wp.array[wp.vec3]  # place of the root link's centre of mass at the start of the step
    origin_travel: wp.array[wp.vec3]  # its way since then, with what rounding of the place has left out
    origin_shift: wp.array[wp.vec3]  # its way in the substep
    total_mass: wp.array[wp.float32]
    mass_centre: wp.array[wp.vec3]  # of the articulation, relative to that of the root link
    centre_step: wp.array[wp.vec3]  # way of it in the substep by the momentum
    gravity_share: wp.array[wp.float32]  # of the mass
    loaded: wp.array[wp.int32]  # what acted in the substep beside smooth forces: 0, INSIDE or OUTSIDE
    rubbed: wp.array[wp.int32]  # whether a row of friction did
    coupled: wp.array[wp.int32]  # whether joints beside the tree act on the articulation
    exposed: wp.array[wp.int32]  # whether they or contacts do in this step
    idle: wp.array[wp.int32]  # whether the articulation sleeps and its loads are kept as they are
    environment_idle: wp.array[wp.int32]  # whether all that moves is idle, by environment


@wp.struct
class ContactData:
    """Contacts as the collision pipeline hands them over; see `protocols.Contacts`."""

    slot_start: wp.array[wp.int32]
    count: wp.array[wp.int32]
    environment: wp.array[wp.int32]
    body0: wp.array[wp.int32]
    body1: wp.array[wp.int32]
    anchor0: wp.array[wp.vec3]
    anchor1: wp.array[wp.vec3]
    normal: wp.array[wp.vec3]
    rest_distance: wp.array[wp.float32]
    key: wp.array[wp.int64]
    static_friction: wp.array[wp.float32]
    dynamic_friction: wp.array[wp.float32]
    restitution: wp.array[wp.float32]
    stiffness: wp.array[wp.float32]
    damping: wp.array[wp.float32]
    spring_per_mass: wp.array[wp.int32]
    patch_radius: wp.array[wp.float32]
    least_patch_radius: wp.array[wp.float32]
    torsional_friction: wp.array[wp.float32]


@wp.struct
class ContactRows:
    """Rows of the contacts of one substep; the three directions of a contact are its normal and two tangents."""

    left_out: wp.array[
        wp.int32
    ]  # 1 where the contact cannot be touched in this substep and has no row; empty where all have
    y: wp.array2d[wp.vec3]  # D^-1/2 L^-T J^T along the chain of an end, row 2 slot + end
    ends: wp.array[wp.vec4i]  # (velocity start, entry start in the chain table, length) packed per end
    arm: wp.array[wp.vec3]  # contact point relative to the link's centre of mass, row 2 slot + end
    separation: wp.array[wp.float32]
    tangent: wp.array[wp.vec3]
    inverse: wp.array[wp.vec4]  # (1/A_nn, and the inverse of the tangential 2×2 block: xx, xy, yy)
    coupling: wp.array[wp.vec3]  # (A_tn, A_sn, largest eigenvalue of the tangential block)
    prescribed: wp.array[wp.vec3]  # relative velocity from prescribed roots
    compliance: wp.array[wp.float32]  # of the normal row, 0 where it is regular
    yields: wp.array[
        wp.int32
    ]  # 1 where the normal row is that of a spring, 2 of one that substeps do not resolve
    rest_speed: wp.array[wp.float32]  # separating speed at which that spring exerts nothing
    most: wp.array[wp.float32]  # bound of the normal impulse in the substep
    push: wp.array[wp.float32]  # bound of the speed that removes penetration
    approach: wp.array[wp.float32]  # relative normal velocity before the substep
    bounce: wp.array[wp.float32]  # separating speed asked for by restitution, 0 where none
    impulse: wp.array[wp.vec3]  # (normal, tangent, second tangent) in the substep
    total: wp.array[wp.vec3]  # impulse on body 0 over the step, environment axes
    normal_total: wp.array[wp.float32]
    spin: wp.array2d[
        wp.float32
    ]  # like `y`, for the angular velocity about the normal; one row if nothing resists it
    spin_inverse: wp.array[wp.float32]  # 1 / |row|², 0 where nothing resists spin
    spin_lever: wp.array[wp.vec2]  # torque by normal force that holds, and that slides
    spin_prescribed: wp.array[wp.float32]
    spin_impulse: wp.array[wp.float32]  # in the substep, on body 0
    spin_total: wp.array[wp.float32]  # over the step
    previous_count: wp.array[wp.int32]
    previous_key: wp.array[wp.int64]
    previous_force: wp.array[wp.vec3]  # force on body 0 in the last substep of the previous step
