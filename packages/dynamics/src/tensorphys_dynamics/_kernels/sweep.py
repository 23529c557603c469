"""Solves of single rows in the sweep over an environment: drive bounds, contacts with friction, joint limits.

Projected Gauss–Seidel in u over small substeps, warm started, one pass each [Macklin et al. 2019]. A pass with
position bias gives the velocity that positions move by; passes without bias then take the velocity of the position
correction out again.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    UNBOUNDED_IMPULSE,
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.ball_rows import apply_ball, solve_ball_limit
from tensorphys_dynamics._kernels.drives import LOADED_SATURATION
from tensorphys_dynamics._kernels.friction import friction_impulse, keep_friction, start_friction
from tensorphys_dynamics._kernels.surfaces import solve_spin, stiffen
from tensorphys_dynamics._kernels.thresholds import (
    INSIDE,
    IS_RESTLESS,
    LEAK,
    LIMIT_TURNS,
    OUTSIDE,
    PUSH,
    RECOVERY,
    SETTLED,
    SOFT,
    SUDDEN,
    UNMOVED,
    WAS_SUDDEN,
)

wp.set_module_options({"enable_backward": False})

# Passes over contacts that could not be solved at once.
UNSOLVED = wp.constant(32)
UNREACHED = wp.constant(1.0e30)


@wp.func
def contact_velocity(t: Tables, w: Scratch, r: ContactRows, slot: int):
    """Relative velocity of a contact along its directions."""
    v = r.prescribed[slot]
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            v += r.y[2 * slot + end, p] * w.u[tables[0] + t.chain[tables[1] + p]]
    return v


@wp.func
def apply_contact(t: Tables, w: Scratch, r: ContactRows, slot: int, impulse: wp.vec3):
    """u ← u + Y λ on both ends."""
    for end in range(2):
        tables = r.ends[2 * slot + end]
        for p in range(tables[2]):
            index = tables[0] + t.chain[tables[1] + p]
            w.u[index] = w.u[index] + wp.dot(r.y[2 * slot + end, p], impulse)


@wp.func
def friction(
    impulse: wp.vec3,
    v: wp.vec3,
    dn: float,
    inverse: wp.vec4,
    coupling: wp.vec3,
    normal: float,
    mu_s: float,
    mu_d: float,
):
    """Tangential impulse of a contact: the one that stops it inside the static cone, else one on the dynamic
    cone, projected to the disc."""
    vx = v[1] + coupling[0] * dn
    vy = v[2] + coupling[1] * dn
    x = impulse[1] - (inverse[1] * vx + inverse[2] * vy)
    y = impulse[2] - (inverse[2] * vx + inverse[3] * vy)
    bound = mu_s * normal
    if x * x + y * y > bound * bound:
        x = impulse[1] - vx / coupling[2]
        y = impulse[2] - vy / coupling[2]
        size = wp.sqrt(x * x + y * y)
        slide = mu_d * normal
        if size > slide:
            x = x * slide / size
            y = y * slide / size
    return wp.vec2(x, y)


@wp.func
def contact_target(r: ContactRows, slot: int, h: float, biased: int):
    """Separating speed that the normal row asks for at least."""
    separation = r.separation[slot]
    target = float(0.0)
    if r.yields[slot] > 0:
        target = r.rest_speed[slot]
    elif biased == 0:
        # what was not touched in this substep is the business of the next
        if r.bounce[slot] > 0.0:
            target = r.bounce[slot]
        elif separation > 0.0 and r.impulse[slot][0] == 0.0:
            target = -1.0e30
    elif separation > 0.0:
        target = -separation / h
    else:
        target = wp.min(-PUSH * separation / h, r.push[slot])
    return target


@wp.func
def next_impulse(m: ModelData, k: ContactData, r: ContactRows, slot: int, v: wp.vec3, h: float, biased: int):
    """Impulse of a contact after one block step at a relative velocity: normal first, then friction with it."""
    old = r.impulse[slot]
    inverse = r.inverse[slot]
    error = v[0] - contact_target(r, slot, h, biased) + r.compliance[slot] * old[0]
    rigid = old[0] - error * inverse[0]
    leak = float(0.0)
    if biased == 1 and r.separation[slot] <= 0.0 and r.yields[slot] == 0:
        leak = wp.min(SOFT * rigid, LEAK * h * wp.length(m.gravity[k.environment[slot]]) * inverse[0])
    normal = wp.clamp(rigid - leak, 0.0, r.most[slot])
    dn = normal - old[0]
    tangential = friction(
        old, v, dn, inverse, r.coupling[slot], normal, k.static_friction[slot], k.dynamic_friction[slot]
    )
    return wp.vec3(normal, tangential[0], tangential[1])


@wp.func
def solve_contact(
    t: Tables, m: ModelData, w: Scratch, k: ContactData, r: ContactRows, slot: int, h: float, biased: int
):
    """One block step of a contact."""
    new = next_impulse(m, k, r, slot, contact_velocity(t, w, r, slot), h, biased)
    apply_contact(t, w, r, slot, new - r.impulse[slot])
    r.impulse[slot] = new
    solve_spin(t, w, r, slot)


@wp.func
def move_contact(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    slot: int,
    h: float,
    threshold: float,
    bounce_threshold: float,
):
    """Advance the separation with the positions, and let a contact that was hit fast enough rebound.

    Args:
        threshold: Least approach speed for that; `bounce_threshold` where the impulse is bounded.
    """
    r.separation[slot] = r.separation[slot] + h * contact_velocity(t, w, r, slot)[0]
    stiffen(r, slot)
    bounce = float(0.0)
    # a bounded impulse is no business of the rebounds that are made before
    least = wp.where(r.most[slot] < UNBOUNDED_IMPULSE, bounce_threshold, threshold)
    if r.impulse[slot][0] > 0.0 and r.approach[slot] < -least:
        bounce = -k.restitution[slot] * r.approach[slot]
    r.bounce[slot] = bounce


@wp.func
def contact_pass(
    t: Tables,
    m: ModelData,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    environment: int,
    h: float,
    biased: int,
):
    """Solve all contacts of an environment once, in the order of their keys; returns whether a normal impulse changed
    suddenly, and whether any impulse did not stay."""
    start = k.slot_start[environment]
    change = float(0.0)
    shift = float(0.0)
    largest = float(0.0)
    active = int(0)
    for slot in range(start, start + k.count[environment]):
        before = r.impulse[slot]
        solve_contact(t, m, w, k, r, slot, h, biased)
        after = r.impulse[slot]
        change = wp.max(change, wp.abs(after[0] - before[0]))
        shift = wp.max(shift, wp.max(wp.abs(after[1] - before[1]), wp.abs(after[2] - before[2])))
        largest = wp.max(largest, after[0])
        if after[0] > 0.0 or before[0] > 0.0:
            active += 1
    sudden = wp.where(active > 0 and change > SUDDEN * largest, WAS_SUDDEN, 0)
    return sudden | wp.where(wp.max(change, shift) > UNMOVED * largest, IS_RESTLESS, 0)


@wp.func
def apply_dof(t: Tables, w: Scratch, a: int, i: int, impulse: float):
    """u ← u + Y λ of the row of one degree of freedom."""
    kind = t.articulation_type[a]
    row = t.type_velocity[kind] + i
    local = t.velocity_entry[row]
    for p in range(t.velocity_depth[row] + 1):
        index = t.articulation_velocity[a] + t.chain[t.type_entry[kind] + local + p]
        w.u[index] = w.u[index] + w.dof_row[t.articulation_entry[a] + local + p] * impulse


@wp.func
def dof_velocity(t: Tables, w: Scratch, a: int, i: int):
    """Velocity of one degree of freedom."""
    kind = t.articulation_type[a]
    row = t.type_velocity[kind] + i
    local = t.velocity_entry[row]
    v = float(0.0)
    for p in range(t.velocity_depth[row] + 1):
        index = t.articulation_velocity[a] + t.chain[t.type_entry[kind] + local + p]
        v += w.dof_row[t.articulation_entry[a] + local + p] * w.u[index]
    return v


@wp.func
def restless(new: float, old: float):
    """Whether the impulse of a row did not stay."""
    return wp.where(wp.abs(new - old) > UNMOVED * wp.abs(new), IS_RESTLESS, 0)


@wp.func
def solve_limit(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, i: int, h: float, biased: int):
    """Keep q + h v inside the limits, without rebound; returns how far that moves the position."""
    index = t.articulation_velocity[a] + i
    dof = t.articulation_dof[a] + i - t.type_root[t.articulation_type[a]]
    below = m.dof_lower[dof] - s.dof_position[dof]
    above = m.dof_upper[dof] - s.dof_position[dof]
    lowest = wp.where(below > 0.0, RECOVERY * float(biased) * below, below / h)
    highest = wp.where(above < 0.0, RECOVERY * float(biased) * above, above / h)
    old = w.dof_limit_impulse[index]
    v = dof_velocity(t, w, a, i)
    free = v - old / w.dof_row_mass[index]
    new = (wp.clamp(free, lowest, highest) - free) * w.dof_row_mass[index]
    apply_dof(t, w, a, i, new - old)
    w.dof_limit_impulse[index] = new
    return h * wp.abs(new - old) / w.dof_row_mass[index]


@wp.func
def solve_slack(t: Tables, w: Scratch, a: int, i: int, h: float):
    """Take back what an implicit drive exerts beyond its bound because a contact holds it.

    With the force F(v) that the factorised drive exerts and a slack s that acts beside it, F + s must stay
    within the bound; s changes the velocity by h s / m, and F by −gain times that.
    """
    index = t.articulation_velocity[a] + i
    old = w.dof_slack_impulse[index]
    inverse = 1.0 / w.dof_row_mass[index]
    gain = w.drive_gain[index]
    v = dof_velocity(t, w, a, i) - old * inverse
    force = w.drive_force[index] - gain * (v - w.free_velocity[index])
    bound = w.drive_bound[index]
    slack = (wp.clamp(force, -bound, bound) - force) / wp.max(1.0 - gain * h * inverse, 1.0e-6)
    new = h * slack
    apply_dof(t, w, a, i, new - old)
    w.dof_slack_impulse[index] = new


@wp.func
def solve_friction(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, i: int, h: float):
    """One step of the row of friction of a degree of freedom; returns whether its impulse did not stay."""
    index = t.articulation_velocity[a] + i
    dof = t.articulation_dof[a] + i - t.type_root[t.articulation_type[a]]
    old = w.dof_friction_impulse[index]
    new = friction_impulse(m, s, w, dof, index, old, dof_velocity(t, w, a, i), h)
    apply_dof(t, w, a, i, new - old)
    w.dof_friction_impulse[index] = new
    return restless(new, old)


@wp.func
def limit_passes(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float, biased: int):
    """Friction and limits of one articulation; returns how many limits bear a load, and whether any impulse did not stay.

    Two limits that are hit at once push each other's joint: passes are repeated until positions stand still. Beside
    contacts, which push them as well, the passes over all rows are what repeats.
    """
    kind = t.articulation_type[a]
    active = int(0)
    turns = wp.where(w.exposed[a] == 1, 1, LIMIT_TURNS)
    moved = float(SETTLED) + 1.0
    turn = int(0)
    told = int(0)
    while turn == 0 or (turn < turns and active > 1 and moved > SETTLED):
        active = int(0)
        told = int(0)
        moved = float(0.0)
        for i in range(t.type_root[kind], t.type_velocities[kind]):
            index = t.articulation_velocity[a] + i
            flag = w.dof_row_flag[index]
            if (flag & 8) == 8:
                told |= solve_friction(t, m, s, w, a, i, h)
            if (flag & 17) != 0:
                before = w.dof_limit_impulse[index]
                if (flag & 1) == 1:
                    moved = wp.max(moved, solve_limit(t, m, s, w, a, i, h, biased))
                else:
                    moved = wp.max(moved, solve_ball_limit(t, m, w, a, i, h, biased))
                told |= restless(w.dof_limit_impulse[index], before)
                active += wp.where(w.dof_limit_impulse[index] != 0.0, 1, 0)
        turn += 1
    return wp.vec2i(active, told)


@wp.func
def slack_pass(t: Tables, w: Scratch, a: int, h: float):
    """Solve all drive rows of an articulation."""
    kind = t.articulation_type[a]
    for i in range(t.type_root[kind], t.type_velocities[kind]):
        if (w.dof_row_flag[t.articulation_velocity[a] + i] & 2) == 2:
            solve_slack(t, w, a, i, h)


@wp.func
def warm_dofs(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float):
    """Start limits and friction of an articulation from the impulses of the last substep."""
    kind = t.articulation_type[a]
    for i in range(t.type_root[kind], t.type_velocities[kind]):
        index = t.articulation_velocity[a] + i
        dof = t.articulation_dof[a] + i - t.type_root[kind]
        if (w.dof_row_flag[index] & 1) == 1:
            impulse = h * s.dof_limit_force[dof]
            w.dof_limit_impulse[index] = impulse
            apply_dof(t, w, a, i, impulse)
        if (w.dof_row_flag[index] & 16) == 16:
            impulse = h * s.dof_limit_force[dof]
            w.dof_limit_impulse[index] = impulse
            apply_ball(t, m, w, a, i, impulse)
        if (w.dof_row_flag[index] & 8) == 8:
            impulse = start_friction(m, s, w, dof, index, h)
            w.dof_friction_impulse[index] = impulse
            apply_dof(t, w, a, i, impulse)


@wp.func
def keep_dof_loads(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, h: float):
    """Keep limit forces and saturations of an articulation for the next substep, and note whether it bears a load."""
    kind = t.articulation_type[a]
    if w.idle[a] == 1:
        return
    for i in range(t.type_root[kind], t.type_velocities[kind]):
        index = t.articulation_velocity[a] + i
        dof = t.articulation_dof[a] + i - t.type_root[kind]
        flag = w.dof_row_flag[index]
        s.dof_limit_force[dof] = w.dof_limit_impulse[index] / h
        if w.dof_limit_impulse[index] != 0.0:
            w.loaded[a] = wp.max(w.loaded[a], INSIDE)
        v = float(0.0)
        if (flag & 12) != 0:
            v = dof_velocity(t, w, a, i)
        if (flag & 8) == 8:
            keep_friction(m, s, w, dof, index, v, h)
            # forces inside an articulation that joints beside its tree hold are no kick that could be halved
            if w.dof_friction_impulse[index] != 0.0:
                w.loaded[a] = wp.max(w.loaded[a], w.coupled[a])
                w.rubbed[a] = 1 - w.coupled[a]
        if (flag & 2) == 2 and w.dof_slack_impulse[index] != 0.0:
            s.dof_saturation[dof] = wp.where(
                w.dof_slack_impulse[index] < 0.0, LOADED_SATURATION, -LOADED_SATURATION
            )
        elif (flag & 4) == 4:
            force = w.drive_force[index] - w.drive_gain[index] * (v - w.free_velocity[index])
            if wp.abs(force) < w.drive_bound[index]:
                s.dof_saturation[dof] = 0


@wp.func
def add_load(w: Scratch, k: ContactData, r: ContactRows, slot: int):
    """Add the impulse of a contact to that of the step, and note which articulations bear a load."""
    impulse = r.impulse[slot]
    if impulse[0] > 0.0:
        n = k.normal[slot]
        t1 = r.tangent[slot]
        r.total[slot] = r.total[slot] + n * impulse[0] + t1 * impulse[1] + wp.cross(n, t1) * impulse[2]
        r.normal_total[slot] = r.normal_total[slot] + impulse[0]
        r.spin_total[slot] = r.spin_total[slot] + r.spin_impulse[slot]
        for end in range(2):
            a = r.ends[2 * slot + end][3]
            if a >= 0:
                w.loaded[a] = OUTSIDE
