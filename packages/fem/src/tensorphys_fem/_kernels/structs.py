"""Arrays of a model, a state and the work of a step, packed for the kernels of this package."""

import warp as wp

# Kinds of elements.
TET = wp.constant(0)
TRIANGLE = wp.constant(1)
HINGE = wp.constant(2)

# Laws, the values of `material.Elasticity`.
COROTATIONAL = wp.constant(0)
STABLE_NEO_HOOKEAN = wp.constant(1)
NEO_HOOKEAN = wp.constant(3)

# Schemes, the values of `body.Scheme`.
DAMPED = wp.constant(0)
CONSERVING = wp.constant(1)
STATIC = wp.constant(2)

# What became of a solve, the values of `solver.Status`.
SOLVED = wp.constant(0)
UNSOLVED = wp.constant(1)
FAILED = wp.constant(2)
REPLACED = wp.constant(3)


@wp.struct
class Mesh:
    """Constant topology and rest shape; nodes, elements and matrix blocks of a body are contiguous."""

    node_start: wp.array[wp.int32]  # [B + 1]
    element_start: wp.array[wp.int32]  # [B + 1]
    node_body: wp.array[wp.int32]  # [N]
    node_mass: wp.array[wp.float64]  # [N]
    patch_volume: wp.array[wp.float64]  # quarter of the volumes around a node [N]
    element_body: wp.array[wp.int32]  # [M]
    element_kind: wp.array[wp.int32]  # [M]
    element_nodes: wp.array[wp.vec4i]  # [M]; the fourth of a triangle repeats the third
    element_rest: wp.array[wp.mat33d]  # inverse edge matrix; of a hinge the rest angle at (0, 0) [M]
    element_measure: wp.array[wp.float64]  # volume, area × thickness, or bending factor [M]
    corner_start: wp.array[wp.int32]  # [N + 1]
    corner: wp.array[wp.int32]  # 4 × element + local node, of each node
    row_start: wp.array[wp.int32]  # [N + 1], the diagonal block of a row is its first
    column: wp.array[wp.int32]  # [K]
    block_row: wp.array[wp.int32]  # [K]
    source_start: wp.array[wp.int32]  # [K + 1]
    source: wp.array[wp.int32]  # 2 × (10 × element + block) + transposed
    chunk_start: wp.array[wp.int32]  # first node of each chunk [C + 1]
    chunk_body: wp.array[wp.int32]  # [C]
    body_chunk: wp.array[wp.int32]  # first chunk of each body [B + 1]


@wp.struct
class Materials:
    """What may change between two steps, one row a body."""

    scheme: wp.array[wp.int32]  # the one asked for
    law: wp.array[wp.int32]
    youngs_modulus: wp.array[wp.float32]
    poissons_ratio: wp.array[wp.float32]
    damping: wp.array[wp.float32]
    damping_scale: wp.array[wp.float32]
    velocity_damping: wp.array[wp.float32]


@wp.struct
class Loads:
    """What acts from outside."""

    gravity: wp.array[wp.vec3]  # [environments]
    environment: wp.array[wp.int32]  # [B]
    force: wp.array[wp.vec3]  # [N]
    impulse: wp.array[wp.vec3]  # [N]
    target: wp.array[wp.vec4]  # [N]
    frame_pose: wp.array[wp.transform]  # [A]
    attachment_frame: wp.array[wp.int32]  # [N], −1 none
    attachment_point: wp.array[wp.vec3]  # [N]
    attachment_stiffness: wp.array[wp.float32]  # [N], infinite: rigid
    attachment_damping: wp.array[wp.float32]  # [N]


@wp.struct
class Rows:
    """Contacts and attachments of nodes; see `protocols.NodeRows`."""

    count: wp.array[wp.int32]  # [N]
    normal: wp.array2d[wp.vec3]  # [N, C]
    offset: wp.array2d[wp.vec3]
    multiplier: wp.array2d[wp.vec3]
    stiffness: wp.array2d[wp.vec2]
    bound: wp.array2d[wp.float32]
    counterforce: wp.array[wp.vec3]  # [N]
    force: wp.array2d[wp.vec3]


@wp.struct
class Work:
    """Scratch of a step; roles are fixed."""

    rows: Rows
    contact_force: wp.array[wp.vec3d]  # of the rows, at the end of the last solve [N]

    time_step: wp.array[wp.float32]  # [1]
    scheme: wp.array[wp.int32]  # in effect, which is not always the one asked for [B]
    start: wp.array[wp.vec3d]  # positions at the start of the step [N]
    start_velocity: wp.array[wp.vec3d]  # [N]
    driven: wp.array[wp.int32]  # [N]
    anchor: wp.array[wp.vec3d]  # where springs end [N]
    spring: wp.array[wp.vec2d]  # stiffness and damping [N]
    increment: wp.array[wp.vec3d]  # unknown: change of position [N]
    trial: wp.array[wp.vec3d]  # [N]
    residual: wp.array[wp.vec3d]  # [N]
    reaction: wp.array[wp.vec3]  # [N]
    corner_force: wp.array2d[wp.vec3d]  # [M, 4]
    dilatation: wp.array[wp.float64]  # [M]
    patch_dilatation: wp.array[wp.float64]  # [N]
    energy_gain: wp.array[wp.float64]  # elastic energy of an element, end less start [M]
    patch_gain: wp.array[wp.float64]  # the same of a nodal patch [N]
    gradient: wp.array[wp.mat33d]  # [M]
    smooth: wp.array[wp.mat33d]  # gradient mixed with the means of its patches [M]
    smooth_before: wp.array[wp.mat33d]  # the same at the start of the step [M]
    stress: wp.array[wp.mat33d]  # of the smoothed gradient [M]
    patch_matrix: wp.array[wp.mat33d]  # mean gradient, then mean stress around a node [N]
    element_block: wp.array2d[wp.mat33]  # [M, 10]
    dilatation_gradient: wp.array2d[wp.vec3]  # [M, 4]
    patch_stiffness: wp.array[wp.float32]  # [M]
    patch_value: wp.array[wp.float32]  # [N]
    patch_change: wp.array[wp.mat33]  # [N]
    stress_change: wp.array[wp.mat33]  # [M]
    basis: wp.array[wp.mat33]  # left and right singular vectors [M]
    right: wp.array[wp.mat33]
    stretch: wp.array[wp.mat33]  # modes of the tangent [M]
    symmetric: wp.array[wp.vec3]
    twist: wp.array[wp.vec3]
    block: wp.array[wp.mat33]  # [K]
    inverse_diagonal: wp.array[wp.mat33]  # [N]
    stiffness: wp.array[wp.float32]  # trace of the diagonal block [N]
    x: wp.array[wp.vec3]  # [N]
    r: wp.array[wp.vec3]  # [N]
    z: wp.array[wp.vec3]  # [N]
    p: wp.array[wp.vec3]  # [N]
    q: wp.array[wp.vec3]  # [N]
    p_odd: wp.array[wp.vec3]  # directions of odd iterations, where those of even ones are still read [N]
    residual_norm: wp.array[wp.float64]  # [B]
    load_norm: wp.array[wp.float64]  # [B]
    newton_count: wp.array[wp.int32]  # [B]
    linear_count: wp.array[wp.int32]  # [B]
    status: wp.array[wp.int32]  # [B]


@wp.struct
class Sums:
    """Scratch of the path that is parallel inside a body: sums of chunks, and where each body stands."""

    norm: wp.array[wp.float64]  # [C]
    load: wp.array[wp.float64]  # [C]
    rounding: wp.array[wp.float64]  # [C]
    motion: wp.array2d[wp.float64]  # momentum and inertia at the start, see `whole` [16, C]
    ending: wp.array2d[wp.float64]  # the same of what momenta lack at the end [17, C]
    closing: wp.array2d[wp.float64]  # gain of energy and what may pay for it [7, C]
    slope: wp.array[wp.float64]  # [C]
    reached: wp.array[wp.float64]  # of quarters of chunks [4 C]
    rz: wp.array2d[wp.float64]  # of even and odd iterations [2, C]
    pq: wp.array[wp.float64]  # of quarters of chunks [4 C]
    flag: wp.array[wp.int32]  # whether any body goes on: Newton, linear solver, line search, other scheme [4]
    scale: wp.array[wp.float64]  # [B]
    goal: wp.array[wp.float64]  # [B]
    wanted: wp.array[wp.float64]  # [B]
    length: wp.array[wp.float64]  # of the line search [B]
    searches: wp.array[wp.int32]  # lengths tried after the first [B]
    attempt: wp.array[wp.int32]  # Newton steps in the present scheme [B]
    iteration: wp.array[wp.int32]  # conjugate gradients in the present Newton step [B]
    active: wp.array[wp.int32]  # body is not solved [B]
    linear_active: wp.array[wp.int32]  # [B]
    search_active: wp.array[wp.int32]  # [B]


@wp.struct
class Limits:
    """Constant settings of the solver."""

    tolerance: wp.float64
    linear_tolerance: wp.float64
    newton_iterations: wp.int32
    linear_iterations: wp.int32
    search_iterations: wp.int32
    patches: wp.int32
