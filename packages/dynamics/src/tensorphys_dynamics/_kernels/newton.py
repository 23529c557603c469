"""All contacts of an environment at once: Newton's method on a convex problem in u = D^½ L v.

With the impulse λ₀ that a contact starts with, its law is λ = max(0, λ₀ + (target − v_n) / γ) along the normal and the
same across it, projected to the disc of friction whose radius is kept while the problem is solved. γ is a small share
of the contact's own inverse inertia. These laws are the derivative of a convex function of u, so Newton's method with a
line search finds its minimum [Castro et al. 2023]; then λ₀ and the discs follow, until the impulses stand still
(method of multipliers), so that γ leaves no softness behind.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, ContactRows, ModelData, Scratch, Tables
from tensorphys_dynamics._kernels.skyline import Skyline, factorize_skyline, set_identity, solve_skyline

wp.set_module_options({"enable_backward": False})

# γ as a share of the inverse inertia of the contact. A stack that is R times heavier than what a contact sees converges
# by R · SHARE / (1 + R · SHARE) in each update of λ₀; below 1e-3 single precision does not carry the factor.
SHARE = wp.constant(0.01)
UPDATES = wp.constant(4)  # of λ₀ and the discs
ITERATIONS = wp.constant(40)  # of Newton's method, all updates together
SEARCHES = wp.constant(12)
# Speeds are found to STEP of a scale, impulses to what changes a speed by SETTLED of it: g h, or FAST of the speeds.
STEP = wp.constant(1.0e-3)
SETTLED = wp.constant(1.0e-2)
FAST = wp.constant(1.0e-2)
DISC = wp.constant(0.1)  # an error of the radius counts by this share


@wp.struct
class NewtonData:
    """Scratch of the solve, by contact slot and by velocity."""

    base: wp.array[wp.vec3]  # impulse before the solve
    start: wp.array[wp.vec3]  # λ₀
    velocity: wp.array[wp.vec3]
    change: wp.array[wp.vec3]  # of the velocity along the step
    target: wp.array[wp.float32]
    radius: wp.array[wp.float32]  # normal impulse that bounds the friction
    sliding: wp.array[wp.int32]
    step: wp.array[wp.float32]  # by place
    before: wp.array[wp.float32]  # u before the solve


@wp.func
def friction_bound(k: ContactData, x: NewtonData, slot: int, normal: float):
    """Bound of the friction: static until it is reached, then dynamic."""
    return normal * wp.where(x.sliding[slot] == 1, k.dynamic_friction[slot], k.static_friction[slot])


@wp.func
def contact_law(k: ContactData, r: ContactRows, x: NewtonData, slot: int, v: wp.vec3):
    """Impulse of a contact at its relative velocity, and its negative derivative (normal; tangential xx, xy, yy)."""
    start = x.start[slot]
    inverse = r.inverse[slot][0]
    normal = float(0.0)
    stiffness = float(0.0)
    if inverse > 0.0:
        gamma = SHARE / inverse
        force = gamma * start[0] + x.target[slot] - v[0]
        if force > 0.0:
            stiffness = 1.0 / (gamma + r.compliance[slot])
            normal = force * stiffness
    slope = 1.0 / (SHARE * r.coupling[slot][2])
    p = start[1] - v[1] * slope
    q = start[2] - v[2] * slope
    size = wp.sqrt(p * p + q * q)
    bound = friction_bound(k, x, slot, x.radius[slot])
    derivative = wp.vec4(stiffness, slope, 0.0, slope)
    if size > bound:
        p = p / size
        q = q / size
        slope = slope * bound / size
        derivative = wp.vec4(stiffness, slope * q * q, -slope * p * q, slope * p * p)
        p = p * bound
        q = q * bound
    return wp.vec3(normal, p, q), derivative


@wp.func
def row_velocity(t: Tables, w: Scratch, r: ContactRows, slot: int):
    """Relative velocity of a contact."""
    v = r.prescribed[slot]
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            v += r.y[2 * slot + end, p] * w.u[tables[0] + t.chain[tables[1] + p]]
    return v


@wp.func
def row_change(t: Tables, r: ContactRows, z: Skyline, x: NewtonData, base: int, slot: int):
    """Change of the relative velocity of a contact along the step."""
    v = wp.vec3(0.0, 0.0, 0.0)
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            place = z.place[tables[0] + t.chain[tables[1] + p]]
            v += r.y[2 * slot + end, p] * x.step[base + place]
    return v


@wp.func
def add_block(t: Tables, r: ContactRows, z: Skyline, base: int, slot: int, g: wp.vec4):
    """Add Yᵀ G Y of a contact to the lower triangle."""
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            i = z.place[tables[0] + t.chain[tables[1] + p]]
            row = z.row[base + i]
            y = r.y[2 * slot + end, p]
            gy = wp.vec3(g[0] * y[0], g[1] * y[1] + g[2] * y[2], g[2] * y[1] + g[3] * y[2])
            for other in range(2):
                tables1 = r.ends[2 * slot + other]
                for q in range(tables1[2]):
                    j = z.place[tables1[0] + t.chain[tables1[1] + q]]
                    if j <= i:
                        z.value[row + j] = z.value[row + j] + wp.dot(gy, r.y[2 * slot + other, q])


@wp.func
def assemble(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    z: Skyline,
    x: NewtonData,
    environment: int,
    base: int,
    count: int,
):
    """Second derivative of the problem, and its negative first one in `step`."""
    set_identity(z, base, count)
    for i in range(base, base + count):
        x.step[base + z.place[i]] = x.before[i] - w.u[i]
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        v = row_velocity(t, w, r, slot)
        x.velocity[slot] = v
        impulse, g = contact_law(k, r, x, slot, v)
        if g[0] > 0.0 or g[1] + g[3] > 0.0:
            add_block(t, r, z, base, slot, g)
        impulse = impulse - x.base[slot]
        for end in range(2):
            tables = r.ends[2 * slot + end]
            for p in range(tables[2]):
                i = base + z.place[tables[0] + t.chain[tables[1] + p]]
                x.step[i] = x.step[i] + wp.dot(r.y[2 * slot + end, p], impulse)


@wp.func
def slope_along(
    k: ContactData,
    r: ContactRows,
    x: NewtonData,
    environment: int,
    share: float,
    linear: float,
    square: float,
):
    """Derivative of the problem along the step, at a share of it."""
    total = linear + share * square
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        impulse, g = contact_law(k, r, x, slot, x.velocity[slot] + share * x.change[slot])
        total -= wp.dot(impulse - x.base[slot], x.change[slot])
    return total


@wp.func
def line_search(
    k: ContactData, r: ContactRows, x: NewtonData, environment: int, linear: float, square: float
):
    """Share of the step near which the problem is least; the slope along it never falls."""
    at_start = slope_along(k, r, x, environment, 0.0, linear, square)
    share = float(1.0)
    if slope_along(k, r, x, environment, 1.0, linear, square) > -0.1 * at_start:
        low = float(0.0)
        high = float(1.0)
        for attempt in range(SEARCHES):
            share = 0.5 * (low + high)
            slope = slope_along(k, r, x, environment, share, linear, square)
            if slope > 0.0:
                high = share
            else:
                low = share
            if wp.abs(slope) < 0.1 * wp.abs(at_start):
                break
    return share


@wp.func
def unsettled(t: Tables, w: Scratch, k: ContactData, r: ContactRows, x: NewtonData, environment: int):
    """By how much λ₀ and the discs, if they followed the impulses, would change a speed; keeps the impulses."""
    worst = float(0.0)
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        impulse, g = contact_law(k, r, x, slot, row_velocity(t, w, r, slot))
        x.change[slot] = impulse
        inverse = r.inverse[slot][0]
        if inverse > 0.0:
            lag = SHARE * wp.abs(impulse[0] - x.start[slot][0])
            worst = wp.max(worst, wp.max(lag, DISC * wp.abs(impulse[0] - x.radius[slot])) / inverse)
        if x.sliding[slot] == 0 and k.static_friction[slot] > k.dynamic_friction[slot]:
            bound = 0.999 * friction_bound(k, x, slot, impulse[0])
            if impulse[0] > 0.0 and impulse[1] * impulse[1] + impulse[2] * impulse[2] >= bound * bound:
                x.sliding[slot] = 1
                worst = 1.0e30
    return worst


@wp.func
def follow(k: ContactData, x: NewtonData, environment: int, update: int):
    """Let λ₀ and the discs follow the impulses, the discs by halves once they do not settle at once."""
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        impulse = x.change[slot]
        x.start[slot] = impulse
        x.radius[slot] = x.radius[slot] + wp.where(update > 2, 0.5, 1.0) * (impulse[0] - x.radius[slot])


@wp.func
def take_impulses(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    x: NewtonData,
    environment: int,
    base: int,
    count: int,
):
    """Impulses inside their cones, and the u that they give."""
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        impulse, g = contact_law(k, r, x, slot, row_velocity(t, w, r, slot))
        size = wp.sqrt(impulse[1] * impulse[1] + impulse[2] * impulse[2])
        bound = friction_bound(k, x, slot, impulse[0])
        if size > bound:
            impulse = wp.vec3(impulse[0], impulse[1] * bound / size, impulse[2] * bound / size)
        r.impulse[slot] = impulse
    for i in range(base, base + count):
        w.u[i] = x.before[i]
    for slot in range(start, start + k.count[environment]):
        change = r.impulse[slot] - x.base[slot]
        for end in range(2):
            tables = r.ends[2 * slot + end]
            for p in range(tables[2]):
                i = tables[0] + t.chain[tables[1] + p]
                w.u[i] = w.u[i] + wp.dot(r.y[2 * slot + end, p], change)


@wp.func
def solve_contacts(
    t: Tables,
    m: ModelData,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    z: Skyline,
    x: NewtonData,
    environment: int,
    h: float,
):
    """Impulses of all contacts for the speeds in `target`, from impulses and u that agree."""
    begin = t.environment_articulation[environment]
    base = t.articulation_velocity[begin]
    count = t.articulation_velocity[t.environment_articulation[environment + 1]] - base
    start = k.slot_start[environment]
    scale = h * wp.length(m.gravity[environment])
    for i in range(base, base + count):
        x.before[i] = w.u[i]
    for slot in range(start, start + k.count[environment]):
        x.base[slot] = r.impulse[slot]
        x.start[slot] = r.impulse[slot]
        x.radius[slot] = r.impulse[slot][0]
        x.sliding[slot] = 0
        scale = wp.max(scale, FAST * wp.length(row_velocity(t, w, r, slot)))
    updates = int(0)
    for iteration in range(ITERATIONS):
        assemble(t, w, k, r, z, x, environment, base, count)
        factorize_skyline(z, base, count)
        solve_skyline(z, x.step, base, count)
        linear = float(0.0)
        square = float(0.0)
        for i in range(base, base + count):
            step = x.step[base + z.place[i]]
            linear += (w.u[i] - x.before[i]) * step
            square += step * step
        for slot in range(start, start + k.count[environment]):
            x.change[slot] = row_change(t, r, z, x, base, slot)
        share = line_search(k, r, x, environment, linear, square)
        for i in range(base, base + count):
            w.u[i] = w.u[i] + share * x.step[base + z.place[i]]
        if share * share * square <= STEP * STEP * scale * scale:
            updates += 1
            if unsettled(t, w, k, r, x, environment) <= SETTLED * scale or updates == UPDATES:
                break
            follow(k, x, environment, updates)
    take_impulses(t, w, k, r, x, environment, base, count)
