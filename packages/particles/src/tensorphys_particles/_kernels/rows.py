"""Obstacles: planes that a particle must stay above."""

import warp as wp

from tensorphys_particles._kernels.lattice import wall_share
from tensorphys_particles._kernels.structs import Materials, Particles, Rows, Slots, Systems

wp.set_module_options({"enable_backward": False})


@wp.func
def separation(rows: Rows, i: int, c: int, place: wp.vec3, rest: float, h: float):
    """Distance of a particle from touching, with the obstacle where it is at the end of the substep."""
    return wp.dot(rows.normal[i, c], place - rows.point[i, c] - h * rows.velocity[i, c]) - rest


@wp.func
def wall_density(systems: Systems, rows: Rows, system: int, i: int, place: wp.vec3, h: float):
    """Part of the rest density that obstacles stand for, and its gradient: vec4 (gradient, share).

    Walls at right angles overlap: the free part of the neighbourhood is the product of their free parts.
    """
    gradient = wp.vec3(0.0)
    free = float(1.0)
    for c in range(rows.count[i]):
        height = separation(rows, i, c, place, systems.rest[system], h) + systems.fluid_rest[system]
        share = wall_share(systems, system, height)
        part = wp.max(1.0 - share[0], 0.0)
        gradient = gradient * part + rows.normal[i, c] * (share[1] * free)
        free = free * part
    return wp.vec4(gradient[0], gradient[1], gradient[2], 1.0 - free)


@wp.func
def report_wall_push(
    systems: Systems, rows: Rows, system: int, i: int, place: wp.vec3, multiplier: float, h: float
):
    """Report the push `multiplier` times the gradient of the wall density, each obstacle its own term of it."""
    rest = systems.rest[system]
    half = systems.fluid_rest[system]
    for c in range(rows.count[i]):
        slope = wall_share(systems, system, separation(rows, i, c, place, rest, h) + half)[1]
        if slope != 0.0:
            for other in range(rows.count[i]):
                if other != c:
                    share = wall_share(systems, system, separation(rows, i, other, place, rest, h) + half)[0]
                    slope = slope * wp.max(1.0 - share, 0.0)
            rows.impulse[i, c] = rows.impulse[i, c] - rows.normal[i, c] * (multiplier * slope / h)


@wp.func
def project_row(
    systems: Systems,
    materials: Materials,
    rows: Rows,
    system: int,
    material: int,
    i: int,
    c: int,
    w: float,
    place: wp.vec3,
    move: wp.vec3,
    h: float,
):
    """Correction by one obstacle: out of it, and against sliding within the friction cone."""
    rest = systems.rest[system]
    n = rows.normal[i, c]
    gap = separation(rows, i, c, place, rest, h)
    change = wp.vec3(0.0)
    if gap < 0.0:
        # A body in motion yields its share; what it would move by is its owner's business.
        share = w / (w + rows.response[i, c])
        slide = move - h * rows.velocity[i, c]
        leaving = wp.dot(slide, n)
        push = wp.min(-gap, wp.max(systems.max_depenetration[system] * h - leaving, 0.0))
        friction = materials.friction[material]
        if rows.friction[i, c] >= 0.0:
            friction = 0.5 * (friction + rows.friction[i, c])
        slide -= n * leaving
        length = wp.length(slide)
        change = n * push
        if length > 0.0:
            change -= slide * wp.min(1.0, friction * push / length)
        change = change * share
    else:
        reach = rest * materials.adhesion_offset_scale[material]
        if gap > 0.0 and gap < reach:
            change = -n * wp.min(gap, materials.adhesion[material] * h * h)
    rows.impulse[i, c] = rows.impulse[i, c] - change * (1.0 / (w * h))
    return change


@wp.func
def project_rows(
    systems: Systems,
    materials: Materials,
    rows: Rows,
    system: int,
    material: int,
    i: int,
    w: float,
    start: wp.vec3,
    move: wp.vec3,
    h: float,
):
    """Moves of a particle that keep it out of its obstacles, one after the other."""
    result = move
    for c in range(rows.count[i]):
        result += project_row(systems, materials, rows, system, material, i, c, w, start + result, result, h)
    return result


@wp.kernel
def project_particles(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    slots: Slots,
    rows: Rows,
    time: wp.array[wp.float32],
    # outputs
    move_inout: wp.array[wp.vec3],
    place_inout: wp.array[wp.vec3],
):
    s = wp.tid()
    i = slots.particle[s]
    w = slots.inverse_mass[s]
    if w <= 0.0:
        return
    move = project_rows(
        systems,
        materials,
        rows,
        particles.system[i],
        particles.material[i],
        i,
        w,
        slots.start[s],
        move_inout[s],
        time[0],
    )
    move_inout[s] = move
    place_inout[s] = slots.start[s] + move
