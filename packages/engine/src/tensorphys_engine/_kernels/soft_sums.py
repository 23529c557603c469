"""What rows of nodes do to their far ends, and what is kept of them."""

import warp as wp

from tensorphys_contact.impulse_sums import add_impulse, from_steps, to_steps
from tensorphys_engine._kernels.soft_structs import ATTACHMENT_KEY, SURFACE_KEY, TRIANGLE, Links, Near, Rows

wp.set_module_options({"enable_backward": False, "max_unroll": 3})


@wp.kernel
def push_ends(
    rows: Rows,
    near: Near,
    links: Links,
    time: wp.array[wp.float32],
    # outputs
    link_inout: wp.array2d[wp.int64],
    corner_inout: wp.array2d[wp.int64],
):
    """Give the opposite of the force of each row to its far end."""
    i = wp.tid()
    for c in range(rows.count[i]):
        end = rows.end[i, c]
        force = rows.force[i, c]
        if end >= 0:
            impulse = -time[0] * force
            add_impulse(link_inout, end, impulse, wp.cross(rows.point[i, c] - links.com[end], impulse))
        elif end == TRIANGLE:
            k = near.corner[near.triangle[i]]
            for j in range(3):
                part = -near.weight[i][j] * force
                for axis in range(3):
                    wp.atomic_add(corner_inout, k[j], axis, to_steps(part[axis]))


@wp.kernel
def add_impulses(
    others: wp.array[wp.spatial_vector],
    own: wp.array[wp.spatial_vector],
    # outputs
    impulse_out: wp.array[wp.spatial_vector],
):
    link = wp.tid()
    impulse_out[link] = others[link] + own[link]


@wp.kernel
def take_corners(
    # outputs
    sums_inout: wp.array2d[wp.int64],
    force_out: wp.array[wp.vec3],
):
    """Counterforce of a node; the sum begins anew."""
    i = wp.tid()
    v = wp.vec3()
    for k in range(3):
        v[k] = from_steps(sums_inout[i, k])
        sums_inout[i, k] = wp.int64(0)
    force_out[i] = v


@wp.kernel
def sum_shapes(
    rows: Rows,
    time: wp.array[wp.float32],
    # outputs
    shape_inout: wp.array2d[wp.int64],
):
    """The opposite of the normal impulses of contacts, by shape."""
    i = wp.tid()
    for c in range(rows.count[i]):
        shape = rows.key[i, c]
        if shape < SURFACE_KEY:
            n = rows.normal[i, c]
            impulse = (-time[0] * wp.max(wp.dot(rows.force[i, c], n), 0.0)) * n
            if wp.isfinite(wp.length_sq(impulse)):
                for axis in range(3):
                    wp.atomic_add(shape_inout, shape, axis, to_steps(impulse[axis]))


@wp.kernel
def take_shapes(
    # outputs
    sums_inout: wp.array2d[wp.int64],
    impulse_inout: wp.array[wp.vec3],
):
    """Add the sums of a substep to what each shape got in the step; they begin anew."""
    shape = wp.tid()
    v = wp.vec3()
    for k in range(3):
        v[k] = from_steps(sums_inout[shape, k])
        sums_inout[shape, k] = wp.int64(0)
    impulse_inout[shape] = impulse_inout[shape] + v


@wp.kernel
def keep_rows(
    substeps: wp.int32,
    counterforce: wp.array[wp.vec3],
    # outputs
    rows: Rows,
    contact_inout: wp.array[wp.vec3],
    attachment_inout: wp.array[wp.vec3],
):
    """Keep forces for the next substep, and add them to the means of the step."""
    i = wp.tid()
    part = 1.0 / float(substeps)
    contact = counterforce[i]
    attachment = wp.vec3()
    for c in range(rows.count[i]):
        force = rows.force[i, c]
        if not wp.isfinite(wp.length_sq(force)):
            force = wp.vec3()
        rows.previous_key[i, c] = rows.key[i, c]
        rows.previous_force[i, c] = force
        if rows.key[i, c] == ATTACHMENT_KEY:
            attachment += force
        else:
            contact += force
    rows.previous_count[i] = rows.count[i]
    contact_inout[i] = contact_inout[i] + part * contact
    attachment_inout[i] = attachment_inout[i] + part * attachment


@wp.kernel
def forget_rows(
    node_body: wp.array[wp.int32],
    mask: wp.array[wp.int32],
    # outputs
    previous_count_out: wp.array[wp.int32],
):
    """Begin without forces where a body was moved by hand."""
    i = wp.tid()
    chosen = True
    if mask:
        chosen = mask[node_body[i]] != 0
    if chosen:
        previous_count_out[i] = 0
