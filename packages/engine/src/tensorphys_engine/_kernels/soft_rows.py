"""Rows of nodes: what they meet at the start of a substep, and what each exchange asks of them."""

import warp as wp

from tensorphys_contact.device import combine_material
from tensorphys_engine._kernels.soft_structs import (
    ATTACHMENT_KEY,
    STATIC,
    SURFACE_KEY,
    TRIANGLE,
    Attachments,
    Links,
    Near,
    Nodes,
    Rows,
    Surfaces,
)

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# A row is so much stiffer than its node with the neighbours held; what its compliance leaves, the multiplier takes out.
STIFFENING = wp.constant(10.0)
# Stiffness of contacts between deformables, times how both yield.
YIELDING = wp.constant(4.0)
# Part of what that compliance takes from a multiplier in each exchange. Bodies that a wave crosses a few times in a
# substep need all of it; slower ones stand without chatter on a part, which makes the contact stiffer at rest: a column
# of soft cubes buckles otherwise. Crossings from where the part begins to grow.
LEAST_LEAK = wp.constant(0.3)
CROSSINGS = wp.constant(2.0)
# Bulk to Young's modulus at most, for the stiffness of a row.
BULK = wp.constant(4.0)


@wp.kernel
def split_step(
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    time_out: wp.array[wp.float32],
):
    time_out[0] = time_step[0] / float(substeps)


@wp.kernel
def part_targets(
    target: wp.array[wp.vec4],
    position: wp.array[wp.vec3d],
    remaining: wp.int32,
    # outputs
    target_out: wp.array[wp.vec4],
):
    """Where a driven node is to be at the end of a substep: on its way to where it is to be at the end of the step."""
    i = wp.tid()
    goal = target[i]
    if goal[3] == 0.0 and remaining > 1:
        x = position[i]
        way = wp.vec3d(wp.vec3(goal[0], goal[1], goal[2])) - x
        at = wp.vec3(x + way / wp.float64(remaining))
        goal = wp.vec4(at[0], at[1], at[2], 0.0)
    target_out[i] = goal


@wp.kernel
def search_margins(
    nodes: Nodes,
    gravity: wp.array[wp.vec3],
    time: wp.array[wp.float32],
    velocity: wp.array[wp.vec3],
    # outputs
    margin_out: wp.array[wp.float32],
    surface_margin_out: wp.array[wp.float32],
):
    """Distance within which a node can meet a shape in a substep, and within which it looks for deformables."""
    i = wp.tid()
    h = time[0]
    margin = float(-1.0)
    if nodes.on_surface[i] != 0:
        way = h * (wp.length(velocity[i]) + h * wp.length(gravity[nodes.environment[i]]))
        margin = nodes.size[i] + nodes.radius[i] + 1.5 * way
    margin_out[i] = margin
    # contacts between deformables give way, and an inside that is not found has no contact at all
    surface_margin_out[i] = margin + nodes.size[i]


@wp.func
def is_driven(nodes: Nodes, i: int) -> bool:
    """Whether a target moves the node."""
    return nodes.target[i][3] == 0.0


@wp.func
def previous_force(rows: Rows, i: int, key: int) -> wp.vec3:
    """Force that the row of a key carried in the substep before."""
    force = wp.vec3()
    for c in range(rows.previous_count[i]):
        if rows.previous_key[i, c] == key:
            force = rows.previous_force[i, c]
    return force


@wp.func
def allowed_gap(gap: float, push: float, h: float) -> float:
    """Gap of a contact less what penetration may be left of it at the end of the substep."""
    return gap - wp.min(gap + h * push, 0.0)


@wp.func
def add_contact(
    rows: Rows,
    i: int,
    c: int,
    key: int,
    end: int,
    n: wp.vec3,
    point: wp.vec3,
    gap: float,
    friction: float,
):
    """Begin a row of a contact with the force of the row of the same key."""
    force = previous_force(rows, i, key)
    along = wp.dot(force, n)
    start = wp.vec3()
    if along > 0.0:
        start = force
        across = wp.length(force - along * n)
        if across > friction * along:
            start = along * n + (force - along * n) * (friction * along / across)
    rows.key[i, c] = key
    rows.end[i, c] = end
    rows.normal[i, c] = n
    rows.point[i, c] = point
    rows.gap[i, c] = gap * n
    rows.friction[i, c] = friction
    rows.force[i, c] = start


@wp.kernel
def build_rows(
    nodes: Nodes,
    near: Near,
    surfaces: Surfaces,
    links: Links,
    attachments: Attachments,
    time: wp.array[wp.float32],
    position: wp.array[wp.vec3],
    # outputs
    rows: Rows,
):
    """Rows of a node: shapes, the surface of a deformable, its attachment."""
    i = wp.tid()
    h = time[0]
    body = nodes.body[i]
    friction = nodes.dynamic_friction[body]
    push = nodes.max_push[body]
    count = int(0)
    if nodes.mass[i] > wp.float64(0.0):
        for c in range(near.count[i]):
            shape = near.shape[i, c]
            end = surfaces.body[shape]
            fixed = end < 0
            if end >= 0:
                fixed = wp.trace(links.response[end]) == 0.0
            # what nothing moves on either side cannot be pushed apart
            if not (fixed and is_driven(nodes, i)):
                mu = combine_material(
                    friction, surfaces.dynamic_friction[shape], 0, surfaces.friction_combine[shape]
                )
                gap = near.distance[i, c] - surfaces.rest_offset[shape] - nodes.radius[i]
                add_contact(
                    rows,
                    i,
                    count,
                    shape,
                    end,
                    near.normal[i, c],
                    near.point[i, c],
                    allowed_gap(gap, push, h),
                    mu,
                )
                count += 1
        t = near.triangle[i]
        if t >= 0:
            other = near.owner[t]
            gap = near.surface_distance[i] - nodes.radius[i] - nodes.radius[near.corner[t][0]]
            n = near.surface_normal[i]
            add_contact(
                rows,
                i,
                count,
                SURFACE_KEY + other,
                TRIANGLE,
                n,
                position[i] - near.surface_distance[i] * n,
                allowed_gap(gap, wp.min(push, nodes.max_push[other]), h),
                0.5 * (friction + nodes.dynamic_friction[other]),
            )
            count += 1
        if attachments.active[i] != 0 and not is_driven(nodes, i):
            link = attachments.link[i]
            anchor = attachments.point[i]
            if link >= 0:
                anchor = wp.transform_point(links.pose[link], anchor)
            rows.key[i, count] = ATTACHMENT_KEY
            rows.end[i, count] = wp.where(link >= 0, link, STATIC)
            rows.normal[i, count] = wp.vec3(0.0, 0.0, 1.0)
            rows.point[i, count] = anchor
            rows.gap[i, count] = position[i] - anchor
            rows.friction[i, count] = -1.0
            rows.force[i, count] = previous_force(rows, i, ATTACHMENT_KEY)
            count += 1
    rows.count[i] = count


@wp.func
def end_velocity(links: Links, end: int, point: wp.vec3) -> wp.vec3:
    """Velocity of a point of a link."""
    twist = links.velocity[end]
    return wp.spatial_top(twist) + wp.cross(wp.spatial_bottom(twist), point - links.com[end])


@wp.func
def end_response(links: Links, end: int, point: wp.vec3) -> wp.mat33:
    """Velocity of a point of a link by an impulse there."""
    arm = point - links.com[end]
    result = wp.mat33()
    for k in range(3):
        axis = wp.vec3()
        axis[k] = 1.0
        twist = links.response[end] * wp.spatial_vector(axis, wp.cross(arm, axis))
        column = wp.spatial_top(twist) + wp.cross(wp.spatial_bottom(twist), arm)
        for j in range(3):
            result[j, k] = column[j]
    return result


@wp.func
def corners_velocity(near: Near, i: int, velocity: wp.array[wp.vec3]) -> wp.vec3:
    """Velocity of the nearest point of a triangle."""
    k = near.corner[near.triangle[i]]
    w = near.weight[i]
    return w[0] * velocity[k[0]] + w[1] * velocity[k[1]] + w[2] * velocity[k[2]]


@wp.func
def row_velocity(
    rows: Rows, near: Near, links: Links, i: int, c: int, velocity: wp.array[wp.vec3]
) -> wp.vec3:
    """Velocity of the far end of a row."""
    end = rows.end[i, c]
    v = wp.vec3()
    if end >= 0:
        v = end_velocity(links, end, rows.point[i, c])
    elif end == TRIANGLE:
        v = corners_velocity(near, i, velocity)
    return v


@wp.kernel
def count_active(
    rows: Rows,
    near: Near,
    links: Links,
    nodes: Nodes,
    time: wp.array[wp.float32],
    velocity: wp.array[wp.vec3],
    # outputs
    group_inout: wp.array[wp.int32],
    node_inout: wp.array[wp.int32],
    body_inout: wp.array[wp.int32],
    met_inout: wp.array[wp.int32],
):
    """Count the rows that push at each articulation, node and deformable, and mark deformables that meet others."""
    i = wp.tid()
    body = nodes.body[i]
    for c in range(rows.count[i]):
        end = rows.end[i, c]
        n = rows.normal[i, c]
        v = velocity[i] - row_velocity(rows, near, links, i, c, velocity)
        pushes = rows.friction[i, c] < 0.0 or wp.dot(rows.force[i, c], n) > 0.0
        pushes = pushes or wp.dot(rows.gap[i, c] + time[0] * v, n) < 0.0
        if pushes:
            wp.atomic_add(node_inout, i, 1)
            wp.atomic_add(body_inout, body, 1)
            if end >= 0:
                wp.atomic_add(group_inout, links.group[end], 1)
            elif end == TRIANGLE:
                t = near.triangle[i]
                for k in range(3):
                    wp.atomic_add(node_inout, near.corner[t][k], 1)
                wp.atomic_add(body_inout, near.owner[t], 1)
                wp.atomic_max(met_inout, body, 1)
                wp.atomic_max(met_inout, near.owner[t], 1)


@wp.func
def node_stiffness(nodes: Nodes, i: int, h: float) -> float:
    """Roughly what holds a node whose neighbours are held [force/length]."""
    body = nodes.body[i]
    nu = nodes.poissons_ratio[body]
    bulk = wp.min((1.0 - nu) / wp.max((1.0 + nu) * (1.0 - 2.0 * nu), 1.0e-6), BULK)
    inertia = float(nodes.mass[i]) * float(1 + nodes.scheme[body]) / (h * h)
    return inertia + bulk * nodes.youngs_modulus[body] * nodes.slope[i]


@wp.func
def crossings(nodes: Nodes, body: int, h: float) -> float:
    """How often a wave crosses a deformable in a substep; many of shells, of which nothing is said."""
    size = nodes.body_size[body]
    if size <= 0.0:
        return 1.0e30
    return h * wp.sqrt(nodes.youngs_modulus[body] * size / nodes.body_mass[body])


@wp.func
def leak(nodes: Nodes, first: int, second: int, h: float) -> float:
    """Part of its compliance that a contact of two deformables has at rest."""
    most = wp.max(crossings(nodes, first, h), crossings(nodes, second, h))
    return wp.clamp(LEAST_LEAK * most / CROSSINGS, LEAST_LEAK, 1.0)


@wp.func
def body_yield(nodes: Nodes, body: int, count: int, h: float) -> float:
    """How a deformable yields to rows that push together [velocity/impulse]: each has its share of the mass that a wave
    reaches in a substep. Nothing is said of shells."""
    if nodes.body_size[body] <= 0.0:
        return 1.0e30
    return float(wp.max(count, 1)) / (nodes.body_mass[body] * wp.min(crossings(nodes, body, h), 1.0))


@wp.func
def far_yield(
    rows: Rows,
    near: Near,
    links: Links,
    nodes: Nodes,
    group: wp.array[wp.int32],
    by_node: wp.array[wp.int32],
    by_body: wp.array[wp.int32],
    met: wp.array[wp.int32],
    i: int,
    c: int,
    h: float,
) -> wp.vec2:
    """How the far end yields along and across the normal [velocity/impulse], as if each row had its share of its mass.

    Where deformables meet, both sides are solved at once with the other's forces of the exchange before: a bound of
    the node's own response is added, so that the two cannot throw each other.
    """
    end = rows.end[i, c]
    result = wp.vec2()
    if end >= 0:
        matrix = end_response(links, end, rows.point[i, c])
        n = rows.normal[i, c]
        along = wp.dot(n, matrix * n)
        share = float(wp.max(group[links.group[end]], 1))
        result = share * wp.vec2(along, wp.max(wp.trace(matrix) - along, 0.0))
    elif end == TRIANGLE:
        t = near.triangle[i]
        k = near.corner[t]
        weight = near.weight[i]
        w = float(0.0)
        for j in range(3):
            m = float(nodes.mass[k[j]])
            if m > 0.0 and not is_driven(nodes, k[j]):
                w += weight[j] * weight[j] * float(wp.max(by_node[k[j]], 1)) / m
        other = near.owner[t]
        w = wp.min(w, body_yield(nodes, other, by_body[other], h))
        result = wp.vec2(w, w)
    body = nodes.body[i]
    if met[body] != 0:
        own = float(wp.max(by_node[i], 1)) / float(nodes.mass[i])
        own = wp.min(own, body_yield(nodes, body, by_body[body], h))
        result += wp.vec2(own, own)
    return result


@wp.kernel
def aim_rows(
    nodes: Nodes,
    near: Near,
    links: Links,
    attachments: Attachments,
    time: wp.array[wp.float32],
    velocity: wp.array[wp.vec3],
    group: wp.array[wp.int32],
    by_node: wp.array[wp.int32],
    by_body: wp.array[wp.int32],
    met: wp.array[wp.int32],
    # outputs
    rows: Rows,
):
    """What an exchange asks of the rows of a node, from the velocities of the far ends under the forces as they are."""
    i = wp.tid()
    h = time[0]
    if rows.count[i] == 0:
        return
    stiff = STIFFENING * node_stiffness(nodes, i, h)
    for c in range(rows.count[i]):
        force = rows.force[i, c]
        n = rows.normal[i, c]
        moved = h * row_velocity(rows, near, links, i, c, velocity)
        w = (h * h) * far_yield(rows, near, links, nodes, group, by_node, by_body, met, i, c, h)
        if rows.friction[i, c] < 0.0:
            k = attachments.stiffness[i]
            soft = wp.max(w[0], w[1])
            offset = rows.gap[i, c] - moved
            if wp.isinf(k):
                k = stiff
            else:
                # a spring with damping is no constraint: its force follows from where the ends are
                d = attachments.damping[i]
                total = wp.max(k + d / h, 1.0e-20)
                offset = (k * (rows.gap[i, c] - moved) - (d / h) * moved) / total
                k = total
                force = force * (k * soft / (1.0 + k * soft))
            k = k / (1.0 + k * soft)
            rows.stiffness[i, c] = wp.vec2(k, k)
            rows.offset[i, c] = offset
            rows.bound[i, c] = -1.0
        else:
            hard = float(stiff)
            if rows.end[i, c] == TRIANGLE:
                # exchanges between deformables converge too slowly for a constraint without compliance, whose
                # multiplier would be an integral of the gap and swing
                hard = wp.min(stiff, YIELDING / w[0])
                part = leak(nodes, nodes.body[i], near.owner[near.triangle[i]], h)
                force -= n * (part * wp.dot(force, n) / (1.0 + hard * w[0]))
            rows.stiffness[i, c] = wp.vec2(hard / (1.0 + hard * w[0]), stiff / (1.0 + stiff * w[1]))
            rows.offset[i, c] = rows.gap[i, c] - moved
            rows.bound[i, c] = rows.friction[i, c] * wp.max(wp.dot(force, n), 0.0)
        rows.multiplier[i, c] = force
