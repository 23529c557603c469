"""Cells in which interpolation may be too coarse, by the second differences of their nodes.

Outside of a shape the distance is concave up to a curvature of one over itself, so that its kinks are ridges. A ridge
between two nodes leaves second differences l and r with them; a concave function there errs by at most
``l r / (l + r)``, and a single ridge lies at the fraction ``r / (l + r)`` of the way. So cells that may be bad are
known from the nodes alone, and one exact distance at the likely ridge tells whether they are.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

LOOK = wp.constant(0.3)  # of the tolerance: a bound of the error above which cells are looked at
NEAR = wp.constant(2.5)  # sizes of a block


@wp.func
def second_difference(values: wp.array4d[wp.float32], brick: int, node: wp.vec3i, axis: int) -> float:
    """Absolute second difference at a node along an axis; at the rim, that of the next node inwards."""
    i = wp.vec3i(node[0], node[1], node[2])
    i[axis] = wp.clamp(i[axis], 1, values.shape[axis + 1] - 2)
    low = wp.vec3i(i[0], i[1], i[2])
    high = wp.vec3i(i[0], i[1], i[2])
    low[axis] = i[axis] - 1
    high[axis] = i[axis] + 1
    a = values[brick, low[0], low[1], low[2]]
    b = values[brick, i[0], i[1], i[2]]
    c = values[brick, high[0], high[1], high[2]]
    return wp.abs(a - 2.0 * b + c)


@wp.func
def axis_error(values: wp.array4d[wp.float32], brick: int, cell: wp.vec3i, axis: int) -> wp.vec2:
    """Largest error that a ridge across an axis may cause in a cell, and where along the axis it would be."""
    error = float(0.0)
    left_sum = float(1.0e-12)
    right_sum = float(1.0e-12)
    for k in range(4):
        i = wp.vec3i(cell[0], cell[1], cell[2])
        i[(axis + 1) % 3] = i[(axis + 1) % 3] + (k & 1)
        i[(axis + 2) % 3] = i[(axis + 2) % 3] + (k >> 1)
        left = second_difference(values, brick, i, axis)
        i[axis] = i[axis] + 1
        right = second_difference(values, brick, i, axis)
        error = wp.max(error, left * right / (left + right + 1.0e-12))
        left_sum += left
        right_sum += right
    return wp.vec2(error, wp.clamp(right_sum / (left_sum + right_sum), 0.1, 0.9))


@wp.func
def likely_ridge(values: wp.array4d[wp.float32], brick: int, cell: wp.vec3i) -> wp.vec4:
    """Where in a cell interpolation may err most, in fractions of the cell, and a bound of the error there."""
    x = axis_error(values, brick, cell, 0)
    y = axis_error(values, brick, cell, 1)
    z = axis_error(values, brick, cell, 2)
    return wp.vec4(x[1], y[1], z[1], x[0] + y[0] + z[0])


@wp.func
def least_and_most(values: wp.array4d[wp.float32], brick: int, cell: wp.vec3i) -> wp.vec3:
    """Smallest size, smallest and largest of the values of a cell."""
    r = wp.vec3(1.0e18, 1.0e18, -1.0e18)
    for k in range(8):
        v = values[brick, cell[0] + (k & 1), cell[1] + ((k >> 1) & 1), cell[2] + (k >> 2)]
        r = wp.vec3(wp.min(r[0], wp.abs(v)), wp.min(r[1], v), wp.max(r[2], v))
    return r


@wp.kernel
def choose_blocks(
    values: wp.array4d[wp.float32],
    cell: wp.vec3,
    reach: float,
    tolerance: float,
    tolerance_inside: float,
    choice_out: wp.array3d[wp.int32],
):
    """Sum of 1 for blocks that may lie in the narrow band and 2 for those that may be too coarse.

    Near a corner of the shape the distance curves by one over itself, which may hide a ridge among the second
    differences: blocks nearer than two and a half of their sizes are always looked at.
    """
    x, y, z = wp.tid()
    i = wp.vec3i(x, y, z)
    v = least_and_most(values, 0, i)
    choice = int(0)
    if v[0] <= reach + 0.5 * wp.length(cell) or v[1] * v[2] <= 0.0:
        choice = 1
    limit = tolerance
    if v[2] < 0.0:
        limit = tolerance_inside
    r = likely_ridge(values, 0, i)
    if limit > 0.0 and (r[3] > LOOK * limit * v[0] or v[0] < NEAR * cell[0]):
        choice += 2
    choice_out[x, y, z] = choice


@wp.kernel
def suspect_cells(
    values: wp.array4d[wp.float32],
    corners: wp.array[wp.vec3],
    step: wp.vec3,
    lower: wp.vec3,
    upper: wp.vec3,
    tolerance: float,
    fraction_out: wp.array4d[wp.vec3],
):
    """Cells of bricks beyond a box that may be too coarse: where they are likely worst, and 0 for all others."""
    b, x, y, z = wp.tid()
    at = wp.vec3(float(x), float(y), float(z))
    middle = corners[b] + wp.cw_mul(at + wp.vec3(0.5, 0.5, 0.5), step)
    beyond = bool(False)
    for axis in range(3):
        if middle[axis] < lower[axis] or middle[axis] > upper[axis]:
            beyond = True
    f = wp.vec3(0.0, 0.0, 0.0)
    if beyond:
        i = wp.vec3i(x, y, z)
        v = least_and_most(values, b, i)
        r = likely_ridge(values, b, i)
        if r[3] > LOOK * tolerance * v[0]:
            f = wp.vec3(r[0], r[1], r[2])
    fraction_out[b, x, y, z] = f
