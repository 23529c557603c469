"""The spin of thin bodies that turn far in a substep.

About its axis a thin body has next to no inertia, and ω × I ω changes that part of its spin as fast as the body turns. Taken
explicitly, at half a radian a substep, it makes energy. Such a substep takes it by the implicit midpoint rule, which keeps
ω · I ω and |I ω| in the frame of the body [Hairer et al. 2006, §IV.2]; to turn the body about its new ω changes neither.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import THIN, ModelData, Scratch, StateData, Tables

wp.set_module_options({"enable_backward": False})

THINNESS = wp.constant(THIN)
# Turn in a substep from which on the rule is taken [rad].
FAST_TURN = wp.constant(0.1)
NEWTON_STEPS = wp.constant(8)


@wp.func
def spin_energy(inertia: wp.mat33, omega: wp.vec3):
    """Twice the kinetic energy of a spin."""
    return wp.dot(omega, inertia * omega)


@wp.func
def torque_free(inertia: wp.mat33, omega: wp.vec3, h: float):
    """Angular velocity after h without torque; the energy is that before, whatever Newton's method came to."""
    x = wp.vec3(omega[0], omega[1], omega[2])
    step = int(0)
    # no loop that would be unrolled
    while step < NEWTON_STEPS:
        total = omega + x
        spin = inertia * total
        error = inertia * (x - omega) + (0.25 * h) * wp.cross(total, spin)
        slope = inertia + (0.25 * h) * (wp.skew(total) * inertia - wp.skew(spin))
        x = x - wp.inverse(slope) * error
        step += 1
    after = spin_energy(inertia, x)
    before = spin_energy(inertia, omega)
    ratio = before / wp.max(after, 1.0e-30)
    if not (ratio > 0.25 and ratio < 4.0):
        # no root was found: the spin stays in the body for this substep
        x = omega
        ratio = float(1.0)
    return x * wp.sqrt(ratio)


@wp.func
def turns_far(t: Tables, m: ModelData, w: Scratch, a: int, omega: wp.vec3, h: float):
    """Whether an articulation is a thin body that turns far in a substep, and nothing keeps its spin."""
    kind = t.articulation_type[a]
    link = t.articulation_link[a]
    result = int(0)
    if t.type_root[kind] == 6 and t.type_links[kind] == 1 and h * wp.length(omega) > FAST_TURN:
        if m.link_gyroscopic[link] == 1 and m.link_locked_axes[link] == 0:
            inertia = w.link_inertia[link]
            if wp.trace(inertia) * wp.trace(wp.inverse(inertia)) > THINNESS:
                result = 1
    return result


@wp.func
def turn_thin(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float):
    """Take the gyroscopic part of the kick of a thin body by the implicit rule if it turns far; returns that part."""
    start = t.articulation_velocity[a] + 3
    part = wp.vec3(0.0, 0.0, 0.0)
    omega = wp.vec3(0.0, 0.0, 0.0)
    if t.type_root[t.articulation_type[a]] == 6:
        for i in range(3):
            omega[i] = s.velocity[start + i] - s.half_kick[start + i]
    if turns_far(t, m, w, a, omega, h) == 1:
        link = t.articulation_link[a]
        inertia = w.link_inertia[link]
        now = w.link_angular[link]
        # what else acts: torques and damping
        other = h * (wp.inverse(w.heavy_inertia[link]) * wp.cross(now, inertia * now))
        for i in range(3):
            other[i] = other[i] + w.kick[start + i]
        weight = wp.where(s.fresh[a] == 1 or s.root_synced[a] == 1, 0.5, 1.0)
        after = torque_free(inertia, omega + weight * other, weight * h)
        part = (after - omega) / weight - other
        for i in range(3):
            w.free_velocity[start + i] = after[i]
            w.kick[start + i] = other[i] + part[i]
        w.momentum_known[a] = 0
    return part
