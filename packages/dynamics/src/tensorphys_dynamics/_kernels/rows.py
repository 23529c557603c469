"""Rows of the contacts of one substep, in the variable u = D^½ L v of each articulation.

A contact acts on one or two ends. For an end on a link, the row Y = D^-½ L^-T Jᵀ has entries on the chain of
that link only, |Y|² is its inverse inertia, and u ← u + Y λ applies an impulse, so neither M⁻¹Jᵀ nor J is kept.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.surfaces import impulse_bound, spin_rows, spring_law, surface_velocity
from tensorphys_dynamics._kernels.thresholds import SINGULAR
from tensorphys_spatial.device import orthonormal_basis

wp.set_module_options({"enable_backward": False})

# Few passes over many bodies do not take all of the velocity out again that removes penetrations: in large environments they are
# removed at this share of the bound, for which the energy left over is that which the bound allows.
GENTLE = wp.constant(0.5)
ShortRows = wp.types.matrix(shape=(6, 3), dtype=wp.float32)


@wp.func
def end_tables(t: Tables, body: int):
    """(velocity start, start in the chain table, length, articulation) of the chain that moves a body."""
    result = wp.vec4i(0, 0, 0, -1)
    if body >= 0:
        a = t.link_articulation[body]
        kind = t.articulation_type[a]
        last = t.link_chain[t.type_link[kind] + body - t.articulation_link[a]]
        result = wp.vec4i(t.articulation_velocity[a], 0, 0, a)
        if last >= 0:
            row = t.type_velocity[kind] + last
            result[1] = t.type_entry[kind] + t.velocity_entry[row]
            result[2] = t.velocity_depth[row] + 1
    return result


@wp.func
def moving_end(t: Tables, w: Scratch, body: int):
    """The same, without the chain of an articulation that stands idle."""
    result = end_tables(t, body)
    if result[3] >= 0:
        if w.idle[result[3]] == 1:
            result[2] = 0
    return result


@wp.func
def is_left_out(r: ContactRows, slot: int):
    """Whether a contact has no row in this substep."""
    result = int(0)
    if r.left_out.shape[0] > 0:
        result = r.left_out[slot]
    return result


@wp.func
def end_velocity(
    t: Tables,
    s: StateData,
    w: Scratch,
    r: ContactRows,
    row: int,
    body: int,
    v: wp.array[wp.float32],
):
    """Velocity of an end at its contact for generalized velocities, and by hand where it has none."""
    end = moving_end(t, w, body)
    lever = end_lever(t, w, r, row, body)
    total = prescribed_velocity(t, s, end, lever)
    for p in range(end[2]):
        index = end[0] + t.chain[end[1] + p]
        total += v[index] * (w.motion_linear[index] + wp.cross(w.motion_angular[index], lever))
    return total


@wp.func
def fill_end(
    t: Tables,
    s: StateData,
    w: Scratch,
    r: ContactRows,
    row: int,
    end: wp.vec4i,
    lever: wp.vec3,
    basis: wp.mat33,
):
    """Write J of an end (rows of `basis` are signed directions) and return J v at the synchronised velocity."""
    v = wp.vec3(0.0, 0.0, 0.0)
    for p in range(end[2]):
        index = end[0] + t.chain[end[1] + p]
        j = basis * (w.motion_linear[index] + wp.cross(w.motion_angular[index], lever))
        r.y[row, p] = j
        v += j * s.velocity[index]
    return v


@wp.func
def solve_end(t: Tables, w: Scratch, r: ContactRows, row: int, end: wp.vec4i):
    """Turn J into Y in place."""
    if end[2] > 0:
        a = end[3]
        kind = t.articulation_type[a]
        entry = t.articulation_entry[a]
        first = t.type_velocity[kind]
        for step in range(end[2]):
            p = end[2] - 1 - step
            index = t.chain[end[1] + p]
            other = entry + t.velocity_entry[first + index]
            y = r.y[row, p]
            for k in range(p):
                r.y[row, k] = r.y[row, k] - w.factor_entry[other + k] * y
            r.y[row, p] = y * w.inverse_root[end[0] + index]


@wp.func
def short_end(t: Tables, s: StateData, w: Scratch, end: wp.vec4i, lever: wp.vec3, basis: wp.mat33):
    """What `fill_end` and `solve_end` do for a chain of at most six velocities, in registers: Y and J v."""
    y = ShortRows()
    v = wp.vec3(0.0, 0.0, 0.0)
    for p in range(6):
        if p < end[2]:
            index = end[0] + t.chain[end[1] + p]
            j = basis * (w.motion_linear[index] + wp.cross(w.motion_angular[index], lever))
            y[p] = j
            v += j * s.velocity[index]
    if end[2] > 0:
        entry = t.articulation_entry[end[3]]
        first = t.type_velocity[t.articulation_type[end[3]]]
        for p in range(5, -1, -1):
            if p < end[2]:
                index = t.chain[end[1] + p]
                other = entry + t.velocity_entry[first + index]
                for k in range(5):
                    if k < p:
                        y[k] = y[k] - w.factor_entry[other + k] * y[p]
                y[p] = y[p] * w.inverse_root[end[0] + index]
    return y, v


@wp.func
def store_short(r: ContactRows, row: int, count: int, y: ShortRows):
    """Write Y of an end; returns its part of Y Yᵀ."""
    total = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for p in range(6):
        if p < count:
            r.y[row, p] = y[p]
            total += wp.outer(y[p], y[p])
    return total


@wp.func
def inverse_inertia(t: Tables, r: ContactRows, slot: int, end0: wp.vec4i, end1: wp.vec4i):
    """Y Yᵀ over all velocities that move the contact. Those that move both ends are added up before they are
    squared: what cancels between two links of one articulation must leave no rounding of its squares."""
    total = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    shared = int(0)
    if end0[3] == end1[3] and end0[3] >= 0:
        while shared < wp.min(end0[2], end1[2]):
            if t.chain[end0[1] + shared] != t.chain[end1[1] + shared]:
                break
            y = r.y[2 * slot, shared] + r.y[2 * slot + 1, shared]
            total += wp.outer(y, y)
            shared += 1
    for p in range(shared, end0[2]):
        y = r.y[2 * slot, p]
        total += wp.outer(y, y)
    for p in range(shared, end1[2]):
        y = r.y[2 * slot + 1, p]
        total += wp.outer(y, y)
    return total


@wp.func
def response_of(
    t: Tables,
    s: StateData,
    w: Scratch,
    r: ContactRows,
    slot: int,
    end0: wp.vec4i,
    end1: wp.vec4i,
    lever0: wp.vec3,
    lever1: wp.vec3,
    basis: wp.mat33,
):
    """Write Y of both ends; returns Y Yᵀ and the relative velocity of the contact."""
    a = wp.mat33(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    v = wp.vec3(0.0, 0.0, 0.0)
    if end0[2] <= 6 and end1[2] <= 6 and end0[3] != end1[3]:
        y0, v0 = short_end(t, s, w, end0, lever0, basis)
        y1, v1 = short_end(t, s, w, end1, lever1, -basis)
        v = v0 + v1
        a = store_short(r, 2 * slot, end0[2], y0)
        a += store_short(r, 2 * slot + 1, end1[2], y1)
    else:
        v = fill_end(t, s, w, r, 2 * slot, end0, lever0, basis)
        v += fill_end(t, s, w, r, 2 * slot + 1, end1, lever1, -basis)
        solve_end(t, w, r, 2 * slot, end0)
        solve_end(t, w, r, 2 * slot + 1, end1)
        a = inverse_inertia(t, r, slot, end0, end1)
    return a, v


@wp.func
def end_lever(t: Tables, w: Scratch, r: ContactRows, row: int, body: int):
    """Contact point relative to the root's centre of mass. It keeps its place beside the centre of mass of the
    link through the substeps and does not turn with it, so that a ball rolls on its lowest point."""
    lever = wp.vec3(0.0, 0.0, 0.0)
    if body >= 0:
        lever = w.link_com_offset[body] + r.arm[row]
    return lever


@wp.func
def prescribed_velocity(t: Tables, s: StateData, end: wp.vec4i, lever: wp.vec3):
    """Velocity of a point of an articulation whose root is moved by hand."""
    v = wp.vec3(0.0, 0.0, 0.0)
    if end[3] >= 0:
        if t.type_root[t.articulation_type[end[3]]] == 0:
            root = s.root_velocity[end[3]]
            v = wp.spatial_top(root) + wp.cross(wp.spatial_bottom(root), lever)
    return v


@wp.func
def write_inverse(k: ContactData, r: ContactRows, slot: int, a: wp.mat33, h: float):
    """Keep what the sweep needs of the 3×3 inverse inertia of a contact."""
    # A response that is rounding beside the others is none: the chain does not move the contact that way. The
    # tangential block of a chain of one or two joints is singular; a little more on its diagonal makes it regular.
    trace = a[1, 1] + a[2, 2]
    regular = wp.max(1.0e-4 * trace, 1.0e-12)
    axx = a[1, 1] + regular
    ayy = a[2, 2] + regular
    axy = a[1, 2]
    determinant = axx * ayy - axy * axy
    largest = 0.5 * (axx + ayy) + wp.sqrt(0.25 * (axx - ayy) * (axx - ayy) + axy * axy)
    # A normal along which the contact hardly moves would need any impulse to move it; below a share of the response
    # across it the contact is compliant instead.
    compliance = wp.max(SINGULAR * trace - a[0, 0], 0.0)
    spring = spring_law(k, slot, a[0, 0], r.separation[slot], h)
    r.yields[slot] = int(spring[2])
    r.rest_speed[slot] = spring[1]
    if r.yields[slot] > 0:
        compliance = spring[0]
    normal = wp.where(
        a[0, 0] > 1.0e-9 * trace and a[0, 0] > 0.0, 1.0 / wp.max(a[0, 0] + compliance, 1.0e-30), 0.0
    )
    r.compliance[slot] = compliance
    r.inverse[slot] = wp.vec4(normal, ayy / determinant, -axy / determinant, axx / determinant)
    r.coupling[slot] = wp.vec3(a[0, 1], a[0, 2], largest)


@wp.func
def push_bound(m: ModelData, body0: int, body1: int, a: wp.mat33):
    """Bound of the speed that removes penetration: the least of the two bodies', and less where the contact is much
    harder to move along its normal than across it, so that the push never costs more energy than there."""
    bound = float(1.0e30)
    if body0 >= 0:
        bound = m.link_max_depenetration_velocity[body0]
    if body1 >= 0:
        bound = wp.min(bound, m.link_max_depenetration_velocity[body1])
    ratio = 3.0 * a[0, 0] / wp.max(a[0, 0] + a[1, 1] + a[2, 2], 1.0e-30)
    return bound * wp.sqrt(wp.min(ratio, 1.0))


@wp.kernel
def contact_rows(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    k: ContactData,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    large: wp.array[wp.int32],
    # outputs
    r: ContactRows,
):
    """One contact: ends, rows and inverse inertia at the positions of this substep."""
    slot = wp.tid()
    environment = k.environment[slot]
    if slot - k.slot_start[environment] >= k.count[environment] or is_left_out(r, slot) == 1:
        return
    body0 = k.body0[slot]
    body1 = k.body1[slot]
    n = k.normal[slot]
    t1, t2 = orthonormal_basis(n)
    basis = wp.matrix_from_rows(n, t1, t2)
    end0 = moving_end(t, w, body0)
    end1 = moving_end(t, w, body1)
    lever0 = end_lever(t, w, r, 2 * slot, body0)
    lever1 = end_lever(t, w, r, 2 * slot + 1, body1)
    a, v = response_of(t, s, w, r, slot, end0, end1, lever0, lever1, basis)
    moved = basis * (prescribed_velocity(t, s, end0, lever0) - prescribed_velocity(t, s, end1, lever1))
    belt = surface_velocity(m, w, r, 2 * slot, body0) - surface_velocity(m, w, r, 2 * slot + 1, body1)
    moved += wp.vec3(0.0, wp.dot(t1, belt), wp.dot(t2, belt))
    write_inverse(k, r, slot, a, time_step[0] / float(substeps))
    r.most[slot] = impulse_bound(m, body0, body1, substeps)
    spin_rows(t, s, w, k, r, slot, end0, end1)
    r.push[slot] = push_bound(m, body0, body1, a) * wp.where(large[environment] == 1, GENTLE, 1.0)
    r.ends[2 * slot] = end0
    r.ends[2 * slot + 1] = end1
    r.tangent[slot] = t1
    r.prescribed[slot] = moved
    r.approach[slot] = v[0] + moved[0]


@wp.func
def place_contact(m: ModelData, s: StateData, k: ContactData, r: ContactRows, slot: int):
    """Separation and arms of a contact at the positions where it was found."""
    p0 = k.anchor0[slot]
    p1 = k.anchor1[slot]
    body0 = k.body0[slot]
    body1 = k.body1[slot]
    if body0 >= 0:
        p0 = wp.transform_point(s.link_pose[body0], p0)
    if body1 >= 0:
        p1 = wp.transform_point(s.link_pose[body1], p1)
    gap = wp.dot(k.normal[slot], p0 - p1)
    r.separation[slot] = gap - k.rest_distance[slot]
    # bodies that overlap share the middle of the overlap; those apart will touch with their own points
    if gap < 0.0:
        p0 = 0.5 * (p0 + p1)
        p1 = p0
    if body0 >= 0:
        r.arm[2 * slot] = p0 - wp.transform_point(s.link_pose[body0], m.link_com[body0])
    if body1 >= 0:
        r.arm[2 * slot + 1] = p1 - wp.transform_point(s.link_pose[body1], m.link_com[body1])


@wp.func
def expose(t: Tables, w: Scratch, body: int):
    """Mark the articulation of a body that has a contact."""
    if body >= 0:
        w.exposed[t.link_articulation[body]] = 1


@wp.kernel
def match_contacts(
    t: Tables,
    m: ModelData,
    s: StateData,
    k: ContactData,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    r: ContactRows,
    w: Scratch,
):
    """Give each contact the force that the contact of its key carried; both lists are sorted by key.

    Impulses start in environment axes; the first sweep turns them into the basis of the contact.
    """
    environment = wp.tid()
    start = k.slot_start[environment]
    h = time_step[0] / float(substeps)
    old = int(0)
    for a in range(t.environment_articulation[environment], t.environment_articulation[environment + 1]):
        w.exposed[a] = w.coupled[a]
    for i in range(k.count[environment]):
        slot = start + i
        place_contact(m, s, k, r, slot)
        expose(t, w, k.body0[slot])
        expose(t, w, k.body1[slot])
        key = k.key[slot]
        force = wp.vec3(0.0, 0.0, 0.0)
        while old < r.previous_count[environment] and r.previous_key[start + old] < key:
            old += 1
        if old < r.previous_count[environment]:
            if r.previous_key[start + old] == key:
                force = r.previous_force[start + old]
                if not wp.isfinite(wp.length_sq(force)):
                    force = wp.vec3(0.0, 0.0, 0.0)
        n = k.normal[slot]
        t1, t2 = orthonormal_basis(n)
        r.impulse[slot] = h * wp.vec3(wp.dot(force, n), wp.dot(force, t1), wp.dot(force, t2))
        r.total[slot] = wp.vec3(0.0, 0.0, 0.0)
        r.spin_total[slot] = 0.0
        r.normal_total[slot] = 0.0


@wp.kernel
def keep_contacts(
    k: ContactData,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    r: ContactRows,
):
    """Keep key and force of each contact for the next step."""
    slot = wp.tid()
    environment = k.environment[slot]
    local = slot - k.slot_start[environment]
    if local == 0:
        r.previous_count[environment] = k.count[environment]
    if local >= k.count[environment]:
        return
    n = k.normal[slot]
    t1 = r.tangent[slot]
    impulse = r.impulse[slot]
    h = time_step[0] / float(substeps)
    r.previous_key[slot] = k.key[slot]
    r.previous_force[slot] = (n * impulse[0] + t1 * impulse[1] + wp.cross(n, t1) * impulse[2]) / h
