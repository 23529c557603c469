"""Structs of arrays that the kernels of deformables share."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# What a row of a node ends at, beside a flat link of zero and more.
STATIC = wp.constant(-1)
TRIANGLE = wp.constant(-2)
# Keys of rows that do not end at a shape; shapes have their flat number.
SURFACE_KEY = wp.constant(1 << 29)
ATTACHMENT_KEY = wp.constant(1 << 30)


@wp.struct
class Rows:
    """Rows of nodes; see `soft_rows.SoftRows`."""

    count: wp.array[wp.int32]
    normal: wp.array2d[wp.vec3]
    offset: wp.array2d[wp.vec3]
    multiplier: wp.array2d[wp.vec3]
    stiffness: wp.array2d[wp.vec2]
    bound: wp.array2d[wp.float32]
    force: wp.array2d[wp.vec3]
    key: wp.array2d[wp.int32]
    end: wp.array2d[wp.int32]
    point: wp.array2d[wp.vec3]
    gap: wp.array2d[wp.vec3]
    friction: wp.array2d[wp.float32]
    previous_count: wp.array[wp.int32]
    previous_key: wp.array2d[wp.int32]
    previous_force: wp.array2d[wp.vec3]


@wp.struct
class Nodes:
    """What is known of each node and its body."""

    body: wp.array[wp.int32]
    mass: wp.array[wp.float64]
    slope: wp.array[wp.float32]
    radius: wp.array[wp.float32]
    size: wp.array[wp.float32]  # distance within which surfaces are looked for, at rest
    on_surface: wp.array[wp.int32]
    environment: wp.array[wp.int32]
    target: wp.array[wp.vec4]
    youngs_modulus: wp.array[wp.float32]  # of each body
    poissons_ratio: wp.array[wp.float32]
    scheme: wp.array[wp.int32]
    dynamic_friction: wp.array[wp.float32]
    max_push: wp.array[wp.float32]
    body_mass: wp.array[wp.float32]
    body_size: wp.array[wp.float32]  # edge of a cube of the volume of a solid, 0 of shells


@wp.struct
class Links:
    """Links as ends; see `tensorphys_dynamics.LinkEnds`."""

    com: wp.array[wp.vec3]
    pose: wp.array[wp.transform]
    velocity: wp.array[wp.spatial_vector]
    response: wp.array[wp.spatial_matrix]
    group: wp.array[wp.int32]


@wp.struct
class Attachments:
    """At most one attachment of each node."""

    active: wp.array[wp.int32]
    link: wp.array[wp.int32]  # −1 the world
    point: wp.array[wp.vec3]  # in the frame of the link, or of the environment
    stiffness: wp.array[wp.float32]  # infinite: rigid
    damping: wp.array[wp.float32]


@wp.struct
class Near:
    """Surfaces near nodes, as `tensorphys_contact` found them."""

    count: wp.array[wp.int32]
    shape: wp.array2d[wp.int32]
    normal: wp.array2d[wp.vec3]
    point: wp.array2d[wp.vec3]
    distance: wp.array2d[wp.float32]
    triangle: wp.array[wp.int32]
    weight: wp.array[wp.vec3]
    surface_normal: wp.array[wp.vec3]
    surface_distance: wp.array[wp.float32]
    corner: wp.array[wp.vec3i]
    owner: wp.array[wp.int32]


@wp.struct
class Surfaces:
    """Materials of shapes."""

    body: wp.array[wp.int32]
    dynamic_friction: wp.array[wp.float32]
    friction_combine: wp.array[wp.int32]
    rest_offset: wp.array[wp.float32]
