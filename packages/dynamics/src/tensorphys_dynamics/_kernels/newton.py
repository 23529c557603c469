"""All contacts of an environment at once: Newton's method on a convex problem in u = D^½ L v.

A contact that starts with the impulse λ₀ has the law λ = P(λ₀ + Γ⁻¹ (target − v)): P projects to the cone of friction in
the norm of Γ, a small share of the contact's own inverse inertia. These laws are the derivative of a convex function of
u, so Newton's method with a line search finds its minimum [Castro et al. 2022]. Then λ₀ follows the impulses until they
stand still (method of multipliers), so that Γ leaves no softness behind; and where a contact slides or is apart, its target
falls by μ |v_t|, without which the projection would lift it [De Saxcé & Feng 1998].
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, ContactRows, ModelData, Scratch, Tables
from tensorphys_dynamics._kernels.skyline import Skyline, factorize_skyline, set_identity, solve_skyline

wp.set_module_options({"enable_backward": False})

# Γ as a share of the inverse inertia of the contact. A stack that is R times heavier than what a contact sees converges
# by R · SHARE / (1 + R · SHARE) in each update of λ₀; below 1e-3 single precision does not carry the factor.
SHARE = wp.constant(0.01)
UPDATES = wp.constant(12)  # of λ₀ and of the targets of contacts that slide
ITERATIONS = wp.constant(60)  # of Newton's method, all updates together
SEARCHES = wp.constant(12)
# Speeds are found to STEP of a scale, and settled at SETTLED of it: g h, or FAST of the speeds.
STEP = wp.constant(1.0e-3)
SETTLED = wp.constant(3.0e-3)
FAST = wp.constant(1.0e-2)
BEGUN = wp.constant(2)  # a contact that is at its static friction, until speeds have settled


@wp.struct
class NewtonData:
    """Scratch of the solve, by contact slot and by velocity."""

    base: wp.array[wp.vec3]  # impulse before the solve
    start: wp.array[wp.vec3]  # λ₀
    velocity: wp.array[wp.vec3]
    change: wp.array[wp.vec3]  # of the velocity along the step
    target: wp.array[wp.float32]
    lift: wp.array[wp.float32]  # μ |v_t| of a contact that slides or is apart
    sliding: wp.array[wp.int32]  # whether it reached its static friction
    step: wp.array[wp.float32]  # by place
    before: wp.array[wp.float32]  # u before the solve


@wp.struct
class Law:
    """Impulse of a contact at a relative velocity, and its negative derivative."""

    impulse: wp.vec3
    matrix: wp.mat33
    slides: wp.int32


@wp.func
def friction_of(k: ContactData, x: NewtonData, slot: int):
    """Coefficient of friction: static until that is reached, then dynamic."""
    return wp.where(x.sliding[slot] == 1, k.dynamic_friction[slot], k.static_friction[slot])


@wp.func
def sliding_lift(k: ContactData, x: NewtonData, slot: int, v: wp.vec3, slow: float):
    """How far the target of a contact that would slide at a relative velocity is lowered."""
    return friction_of(k, x, slot) * wp.max(0.0, wp.sqrt(v[1] * v[1] + v[2] * v[2]) - slow)


@wp.func
def normal_share(r: ContactRows, slot: int):
    """Γ along the normal; of a spring as across it, since its own compliance is no inertia."""
    return wp.where(
        r.yields[slot] > 0,
        SHARE * r.coupling[slot][2],
        SHARE / wp.max(r.inverse[slot][0], 1.0e-30),
    )


@wp.func
def contact_law(k: ContactData, r: ContactRows, x: NewtonData, slot: int, v: wp.vec3):
    """The law of a contact."""
    law = Law()
    law.slides = 0
    law.impulse = wp.vec3(0.0, 0.0, 0.0)
    law.matrix = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    inverse = r.inverse[slot][0]
    if inverse > 0.0:
        start = x.start[slot]
        gamma = normal_share(r, slot)
        across = SHARE * r.coupling[slot][2]
        along = gamma + r.compliance[slot]
        n = (gamma * start[0] + x.target[slot] - x.lift[slot] - v[0]) / along
        p = start[1] - v[1] / across
        q = start[2] - v[2] / across
        size = wp.sqrt(p * p + q * q)
        mu = friction_of(k, x, slot)
        if n > 0.0 and size <= mu * n:
            law.impulse = wp.vec3(n, p, q)
            law.matrix = wp.diag(wp.vec3(1.0 / along, 1.0 / across, 1.0 / across))
        elif n * along > -mu * across * size:
            law.slides = 1
            total = along + mu * mu * across
            normal = (along * n + mu * across * size) / total
            tp = p / wp.max(size, 1.0e-30)
            tq = q / wp.max(size, 1.0e-30)
            law.impulse = wp.vec3(normal, mu * normal * tp, mu * normal * tq)
            side = wp.vec3(0.0, -tq, tp)
            edge = wp.vec3(1.0, mu * tp, mu * tq)
            turn = mu * normal / wp.max(across * size, 1.0e-30)
            law.matrix = wp.outer(edge, edge) * (1.0 / total) + wp.outer(side, side) * turn
    return law


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
def add_block(t: Tables, r: ContactRows, z: Skyline, base: int, slot: int, matrix: wp.mat33):
    """Add Yᵀ G Y of a contact to the lower triangle."""
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            i = z.place[tables[0] + t.chain[tables[1] + p]]
            row = z.row[base + i]
            gy = matrix * r.y[2 * slot + end, p]
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
        law = contact_law(k, r, x, slot, v)
        if law.impulse[0] > 0.0:
            add_block(t, r, z, base, slot, law.matrix)
        impulse = law.impulse - x.base[slot]
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
        law = contact_law(k, r, x, slot, x.velocity[slot] + share * x.change[slot])
        total -= wp.dot(law.impulse - x.base[slot], x.change[slot])
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
def update(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    x: NewtonData,
    environment: int,
    slow: float,
    settled: float,
):
    """Let λ₀ and the targets of sliding contacts follow; returns by how much speeds were off for want of it.

    Normal impulses are known to some per cent before they have settled: only then is a contact at its static friction
    one that slides.
    """
    worst = float(0.0)
    begun = int(0)
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        v = row_velocity(t, w, r, slot)
        law = contact_law(k, r, x, slot, v)
        impulse = law.impulse
        if impulse[0] > 0.0:
            worst = wp.max(worst, normal_share(r, slot) * wp.abs(impulse[0] - x.start[slot][0]))
        lift = float(0.0)
        if impulse[0] == 0.0:
            # The same target as of one that slides: a contact that is apart because others were lifted would slide
            # with its target up otherwise, lift them in turn, and so forth.
            lift = sliding_lift(k, x, slot, v, slow)
        elif law.slides == 0:
            off = wp.length(wp.vec2(impulse[1] - x.start[slot][1], impulse[2] - x.start[slot][2]))
            worst = wp.max(worst, SHARE * r.coupling[slot][2] * off)
        else:
            lift = sliding_lift(k, x, slot, v, slow)
            if x.sliding[slot] == 0 and k.static_friction[slot] > k.dynamic_friction[slot]:
                x.sliding[slot] = BEGUN
                begun += 1
        if impulse[0] > 0.0 or lift < x.lift[slot]:
            worst = wp.max(worst, wp.abs(lift - x.lift[slot]))
        x.change[slot] = impulse
        x.velocity[slot] = wp.vec3(lift, 0.0, 0.0)
    if begun > 0:
        verdict = wp.where(worst <= settled, 1, 0)
        for slot in range(start, start + k.count[environment]):
            if x.sliding[slot] == BEGUN:
                x.sliding[slot] = verdict
        if verdict == 1:
            worst = 1.0e30
    return worst


@wp.func
def follow(k: ContactData, x: NewtonData, environment: int):
    """Start the next solve from what `update` found."""
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        x.start[slot] = x.change[slot]
        x.lift[slot] = x.velocity[slot][0]


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
    """The impulses, and the u that they give."""
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        law = contact_law(k, r, x, slot, row_velocity(t, w, r, slot))
        r.impulse[slot] = law.impulse
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
    """Impulses of all contacts for the speeds in `target`, from impulses and u that agree; returns 1, or 0 where none
    were found and nothing was changed."""
    begin = t.environment_articulation[environment]
    base = t.articulation_velocity[begin]
    count = t.articulation_velocity[t.environment_articulation[environment + 1]] - base
    start = k.slot_start[environment]
    scale = h * wp.length(m.gravity[environment])
    slow = scale
    for i in range(base, base + count):
        x.before[i] = w.u[i]
    for slot in range(start, start + k.count[environment]):
        x.base[slot] = r.impulse[slot]
        impulse = r.impulse[slot]
        x.start[slot] = impulse
        x.sliding[slot] = 0
        v = row_velocity(t, w, r, slot)
        scale = wp.max(scale, FAST * wp.length(v))
        # a contact that slid goes on sliding, most likely
        mu = k.dynamic_friction[slot]
        x.lift[slot] = 0.0
        bound = 0.99 * mu * impulse[0]
        if impulse[0] > 0.0 and impulse[1] * impulse[1] + impulse[2] * impulse[2] >= bound * bound:
            x.lift[slot] = mu * wp.max(0.0, wp.sqrt(v[1] * v[1] + v[2] * v[2]) - slow)
            if x.lift[slot] > 0.0:
                x.sliding[slot] = 1
    updates = int(0)
    solved = int(0)
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
        fastest = float(0.0)
        for slot in range(start, start + k.count[environment]):
            x.change[slot] = row_change(t, r, z, x, base, slot)
            fastest = wp.max(fastest, wp.length(x.change[slot]))
        share = line_search(k, r, x, environment, linear, square)
        for i in range(base, base + count):
            w.u[i] = w.u[i] + share * x.step[base + z.place[i]]
        if share * fastest <= STEP * scale:
            updates += 1
            settled = SETTLED * scale
            if update(t, w, k, r, x, environment, slow, settled) <= settled or updates == UPDATES:
                solved = 1
                break
            follow(k, x, environment)
    if solved == 1:
        take_impulses(t, w, k, r, x, environment, base, count)
    else:
        # the law is stiff: away from the minimum its impulses are nobody's
        for i in range(base, base + count):
            w.u[i] = x.before[i]
    return solved
