"""Structs of arrays of the joint rows that are solved directly; private to the package, like those of `arrays`."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Kinds of blocks.
BODY = wp.constant(0)
MIMIC = wp.constant(1)
FIXED_TENDON = wp.constant(2)
SPATIAL_TENDON = wp.constant(3)
GEAR = wp.constant(4)

# Kinds of rows.
LOCK = wp.constant(0)
LIMIT = wp.constant(1)
DRIVE = wp.constant(2)
DISTANCE = wp.constant(3)
CONE = wp.constant(4)
COUPLING = wp.constant(5)
COUPLING_LIMIT = wp.constant(6)

# Laws of rows.
RIGID = wp.constant(0)
RIGID_LIMIT = wp.constant(1)
SPRING = wp.constant(2)
SPRING_LIMIT = wp.constant(3)
UNIT_SPRING = wp.constant(4)  # gains for each unit of the inertia that the row sees
IDLE = wp.constant(5)


@wp.struct
class JointTables:
    """Where blocks and rows stand, and what the environments of one structure share.

    Columns that start with block, segment, end, term, row, column and pair are those of structures; `structure_*`
    says where each structure begins in them. Links, articulations and velocities in them count from 0 within the
    environment, the environment and the articulation. Blocks and rows stand in the order of their elimination.
    """

    environment_structure: wp.array[wp.int32]
    environment_block: wp.array[wp.int32]  # first flat block
    environment_row: wp.array[wp.int32]  # first flat row
    environment_y: wp.array[wp.int32]  # first entry of the rows Y
    environment_value: wp.array[wp.int32]  # first entry below the diagonal of the factor
    environment_end: wp.array[wp.int32]  # first flat end
    flat_environment: wp.array[wp.int32]  # environment of each flat block
    flat_item: wp.array[wp.int32]  # row of each flat block in the parameters of its kind
    structure_block: wp.array[wp.int32]
    structure_row: wp.array[wp.int32]
    structure_pair: wp.array[wp.int32]
    structure_end: wp.array[wp.int32]
    structure_touched: wp.array[wp.int32]
    touched: wp.array[wp.int32]  # articulations that blocks of the structure act on
    touched_outside: wp.array[wp.int32]  # whether a block joins the articulation to something else
    block_kind: wp.array[wp.int32]
    block_row: wp.array[wp.int32]
    block_rows: wp.array[wp.int32]
    block_width: wp.array[wp.int32]  # length of a row Y
    block_y: wp.array[wp.int32]
    block_segment: wp.array[wp.int32]
    block_segments: wp.array[wp.int32]
    block_end: wp.array[wp.int32]
    block_ends: wp.array[wp.int32]
    block_term: wp.array[wp.int32]
    block_terms: wp.array[wp.int32]
    segment_articulation: wp.array[wp.int32]
    segment_offset: wp.array[wp.int32]  # first entry of the articulation in a row
    segment_support: wp.array[wp.int32]
    segment_supports: wp.array[wp.int32]
    support: wp.array[wp.int32]  # velocities that a segment is not zero at, ascending
    end_link: wp.array[wp.int32]  # −1 for the world
    end_segment: wp.array[wp.int32]
    end_position: wp.array[wp.vec3]  # attachment of a tendon in its link
    end_gearing: wp.array[wp.float32]
    term_velocity: wp.array[wp.int32]
    term_dof: wp.array[wp.int32]  # degree of freedom within its articulation
    term_gearing: wp.array[wp.float32]
    term_force: wp.array[wp.float32]
    row_block: wp.array[wp.int32]  # block within the structure
    row_kind: wp.array[wp.int32]
    row_axis: wp.array[wp.int32]
    column_start: wp.array[wp.int32]  # into column_row, by row of the structure, one more at the end of each
    column_first: wp.array[wp.int32]  # column_start of the first row, by structure
    column_row: wp.array[wp.int32]  # rows below the diagonal, ascending
    pair_block0: wp.array[wp.int32]  # the block that is eliminated first
    pair_block1: wp.array[wp.int32]
    pair_segment0: wp.array[wp.int32]
    pair_segment1: wp.array[wp.int32]


@wp.struct
class JointParameters:
    """What joints are made of; see `JointModel` for meaning and units. Columns by axis have 6 values a joint."""

    joint_frame0: wp.array[wp.transform]
    joint_frame1: wp.array[wp.transform]
    joint_locked: wp.array[wp.int32]  # bit a: axis a is locked
    joint_enabled: wp.array[wp.int32]
    axis_lower: wp.array[wp.float32]
    axis_upper: wp.array[wp.float32]
    axis_limit_stiffness: wp.array[wp.float32]
    axis_limit_damping: wp.array[wp.float32]
    axis_drive_type: wp.array[wp.int32]
    axis_stiffness: wp.array[wp.float32]
    axis_damping: wp.array[wp.float32]
    axis_position_target: wp.array[wp.float32]
    axis_velocity_target: wp.array[wp.float32]
    axis_max_force: wp.array[wp.float32]
    joint_min_distance: wp.array[wp.float32]
    joint_max_distance: wp.array[wp.float32]
    joint_distance_stiffness: wp.array[wp.float32]
    joint_distance_damping: wp.array[wp.float32]
    joint_break_force: wp.array[wp.float32]
    joint_break_torque: wp.array[wp.float32]
    mimic_offset: wp.array[wp.float32]
    mimic_natural_frequency: wp.array[wp.float32]
    mimic_damping_ratio: wp.array[wp.float32]
    mimic_enabled: wp.array[wp.int32]
    fixed_tendon_stiffness: wp.array[wp.float32]
    fixed_tendon_damping: wp.array[wp.float32]
    fixed_tendon_limit_stiffness: wp.array[wp.float32]
    fixed_tendon_limits: wp.array[wp.vec2]
    fixed_tendon_rest_length: wp.array[wp.float32]
    fixed_tendon_offset: wp.array[wp.float32]
    fixed_tendon_dead_band: wp.array[wp.float32]
    fixed_tendon_hard_limits: wp.array[wp.int32]
    fixed_tendon_max_force: wp.array[wp.float32]
    fixed_tendon_enabled: wp.array[wp.int32]
    spatial_tendon_stiffness: wp.array[wp.float32]
    spatial_tendon_damping: wp.array[wp.float32]
    spatial_tendon_limit_stiffness: wp.array[wp.float32]
    spatial_tendon_offset: wp.array[wp.float32]
    spatial_tendon_dead_band: wp.array[wp.float32]
    spatial_tendon_hard_limits: wp.array[wp.int32]
    spatial_tendon_enabled: wp.array[wp.int32]
    leaf_tendon: wp.array[wp.int32]
    leaf_rest_length: wp.array[wp.float32]
    leaf_lower: wp.array[wp.float32]
    leaf_upper: wp.array[wp.float32]
    gear_joint0: wp.array[wp.int32]
    gear_joint1: wp.array[wp.int32]
    gear_axis0: wp.array[wp.int32]
    gear_axis1: wp.array[wp.int32]
    gear_factor0: wp.array[wp.float32]
    gear_factor1: wp.array[wp.float32]
    gear_offset: wp.array[wp.float32]


@wp.struct
class JointRows:
    """Rows of one substep, and what outlives it."""

    # what the next step reads
    row_state: wp.array[wp.int32]  # 0 solved, −1 at its lower bound, 1 at its upper bound
    joint_angle: wp.array[wp.float32]  # angle about the free axis, full turns included
    joint_broken: wp.array[wp.int32]
    joint_break_load: wp.array[wp.spatial_vector]
    joint_break_time: wp.array[wp.float32]
    joint_break_step: wp.array[wp.int32]
    environment_step: wp.array[wp.int32]
    environment_time: wp.array[wp.float32]
    # reports
    joint_impulse: wp.array[wp.spatial_vector]
    row_total: wp.array[wp.float32]  # impulse over the step, along what the row measures
    end_impulse: wp.array[wp.spatial_vector]  # impulse over the step on a link, about its centre of mass
    # one substep
    y: wp.array[wp.float32]
    row_law: wp.array[wp.int32]
    row_error: wp.array[wp.float32]
    row_rate: wp.array[wp.float32]  # velocity that a spring wants
    row_curvature: wp.array[wp.float32]  # second derivative of the error at constant velocity
    row_stiffness: wp.array[wp.float32]
    row_damping: wp.array[wp.float32]
    row_bound: wp.array[wp.float32]  # of the force
    row_scale: wp.array[wp.float32]  # inverse inertia that the row has at most
    row_sign: wp.array[wp.float32]  # −1 where the row is that of an upper bound
    row_prescribed: wp.array[wp.float32]
    row_force: wp.array[wp.vec3]  # unit wrench on body 1 at its frame
    row_torque: wp.array[wp.vec3]
    row_compliance: wp.array[wp.float32]
    row_target: wp.array[wp.float32]  # velocity asked for by the passes without bias
    row_biased: wp.array[wp.float32]  # and by those with
    row_lowest: wp.array[wp.float32]  # bounds of the impulse
    row_highest: wp.array[wp.float32]
    row_impulse: wp.array[wp.float32]
    row_step: wp.array[wp.float32]
    row_diagonal: wp.array[wp.float32]
    row_pivot: wp.array[wp.float32]
    matrix: wp.array[wp.float32]
    factor: wp.array[wp.float32]
    stale: wp.array[wp.int32]  # whether the factor is of another active set, by environment
    u: wp.array[wp.float32]  # sum of Y λ, by velocity
    v: wp.array[wp.float32]  # and the velocity that it stands for
