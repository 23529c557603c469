"""Force of moving air on the triangles of cloths.

With the velocity u of the air relative to a triangle of area A and normal n, and û = u / |u|:

    drag  = ½ ρ c_d A |n·û| |u|² û
    lift  = ½ ρ c_l A (n·û) |u|² (n - û (n·û))

so drag acts along the stream and lift across it. Drag is taken at the end of the substep (it cannot turn the
triangle's relative velocity around, however long the substep is).
"""

import warp as wp

from tensorphys_particles._kernels.structs import Materials, Particles, Systems

wp.set_module_options({"enable_backward": False})


@wp.func
def aerodynamic_force(n: wp.vec3, area: float, u: wp.vec3, density: float, drag: float, lift: float):
    """Drag and lift of a triangle with unit normal n."""
    speed = wp.length(u)
    if speed <= 0.0:
        return wp.vec3(0.0)
    along = u / speed
    facing = wp.dot(n, along)
    pressure = 0.5 * density * area * speed * speed
    return along * (pressure * drag * wp.abs(facing)) + (n - along * facing) * (pressure * lift * facing)


@wp.kernel
def push_triangles(
    systems: Systems,
    materials: Materials,
    particles: Particles,
    triangles: wp.array[wp.vec3i],
    triangle_start: wp.array[wp.int32],
    position: wp.array[wp.vec3],
    velocity: wp.array[wp.vec3],
    time: wp.array[wp.float32],
    # outputs
    impulse_out: wp.array[wp.vec3],
):
    triangle = wp.tid()
    corners = triangles[triangle]
    i = corners[0]
    material = particles.material[i]
    impulse_out[triangle] = wp.vec3(0.0)
    drag = materials.drag[material]
    lift = materials.lift[material]
    if drag <= 0.0 and lift <= 0.0:
        return
    h = time[0]
    system = particles.system[i]
    x = position[i]
    normal = wp.cross(position[corners[1]] - x, position[corners[2]] - x)
    twice = wp.length(normal)
    if not (twice > 0.0):
        return
    mean = (velocity[i] + velocity[corners[1]] + velocity[corners[2]]) / 3.0
    fall = systems.gravity[system] * (materials.gravity_scale[material] * h)
    mass = float(0.0)
    for k in range(3):
        w = particles.inverse_mass[corners[k]]
        if w > 0.0:
            mass += 1.0 / (w * float(triangle_start[corners[k] + 1] - triangle_start[corners[k]]))
    if mass <= 0.0:
        return
    u = systems.wind[system] - mean - fall
    force = aerodynamic_force(normal / twice, 0.5 * twice, u, systems.air_density[system], drag, lift)
    # Quadratic drag of implicit Euler: |u| falls by 1 / (1 + h F / (m |u|)) and never below zero.
    slowing = 1.0 + h * wp.length(force) / (mass * wp.max(wp.length(u), 1.0e-20))
    impulse_out[triangle] = force * (h / slowing)
