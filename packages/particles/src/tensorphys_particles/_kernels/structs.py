"""Arrays that travel together."""

import warp as wp

WALL_SAMPLES = 48


@wp.struct
class Systems:
    gravity: wp.array[wp.vec3]
    wind: wp.array[wp.vec3]
    air_density: wp.array[wp.float32]
    particle_contact: wp.array[wp.float32]
    contact: wp.array[wp.float32]
    rest: wp.array[wp.float32]
    solid_rest: wp.array[wp.float32]
    fluid_rest: wp.array[wp.float32]
    max_velocity: wp.array[wp.float32]
    max_depenetration: wp.array[wp.float32]
    neighborhood_scale: wp.array[wp.float32]
    obstacle_collision: wp.array[wp.int32]
    self_collision: wp.array[wp.int32]
    capacity: wp.array[wp.int32]
    cell_first: wp.array[wp.int32]
    cell_bits: wp.array[wp.int32]
    # Derived from the offsets, see lattice.py.
    lattice_sum: wp.array[wp.float32]
    second_moment: wp.array[wp.float32]
    wall: wp.array2d[wp.float32]


@wp.struct
class Materials:
    friction: wp.array[wp.float32]
    damping: wp.array[wp.float32]
    gravity_scale: wp.array[wp.float32]
    lift: wp.array[wp.float32]
    drag: wp.array[wp.float32]
    viscosity: wp.array[wp.float32]
    cohesion: wp.array[wp.float32]
    surface_tension: wp.array[wp.float32]
    adhesion: wp.array[wp.float32]
    adhesion_offset_scale: wp.array[wp.float32]
    vorticity_confinement: wp.array[wp.float32]
    cfl_coefficient: wp.array[wp.float32]
    particle_friction_scale: wp.array[wp.float32]
    particle_adhesion_scale: wp.array[wp.float32]
    density: wp.array[wp.float32]


@wp.struct
class Particles:
    system: wp.array[wp.int32]
    material: wp.array[wp.int32]
    fluid: wp.array[wp.int32]
    # Particles of one family of a negative number do not see each other.
    family: wp.array[wp.int32]
    # Cloth with a filter of touching rest shapes, or -1.
    filter_cloth: wp.array[wp.int32]
    rest_point: wp.array[wp.vec3]
    inverse_mass: wp.array[wp.float32]


@wp.struct
class Slots:
    """What a substep works on, in the order of cells."""

    particle: wp.array[wp.int32]
    start: wp.array[wp.vec3]
    inverse_mass: wp.array[wp.float32]
    neighbor: wp.array[wp.int32]
    neighbor_count: wp.array[wp.int32]
    # Strides of `neighbor` by slot and by rank: rows on the CPU, columns on CUDA.
    slot_stride: wp.int32
    rank_stride: wp.int32


@wp.struct
class Rows:
    """Tangent planes of obstacles at each particle, see protocols.py."""

    present: wp.int32
    count: wp.array[wp.int32]
    normal: wp.array2d[wp.vec3]
    point: wp.array2d[wp.vec3]
    velocity: wp.array2d[wp.vec3]
    friction: wp.array2d[wp.float32]
    response: wp.array2d[wp.float32]
    impulse: wp.array2d[wp.vec3]
