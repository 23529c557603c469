"""The direct solve of all joint rows of an environment: A = Y Yᵀ + compliance, factorised as LDLᵀ over its fill.

The order of elimination and the pattern of L are those of the structure; chains and trees of joints have no fill.
Rows with bounds are an active set: one at its bound leaves the matrix, and comes back when it would leave the bound.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import Scratch, Tables
from tensorphys_dynamics._kernels.joint_arrays import IDLE, JointRows, JointTables

wp.set_module_options({"enable_backward": False})

# Changes of the active set in one pass; later ones only take rows out, so that a pass ends within the bounds.
CHANGES = wp.constant(8)
LATE = wp.constant(5)


@wp.func
def entry_place(jt: JointTables, structure: int, row: int, column: int):
    """Place of an entry below the diagonal among those of the environment; row > column."""
    at = jt.column_start[jt.structure_row[structure] + structure + column]
    while jt.column_row[at] != row:
        at += 1
    return at - jt.column_first[structure]


@wp.func
def add_products(
    jt: JointTables,
    jr: JointRows,
    structure: int,
    block0: int,
    block1: int,
    segment0: int,
    segment1: int,
    y: int,
    value: int,
):
    """Add the products of the rows of two blocks over one articulation; block 0 is eliminated first."""
    supports = segment0
    if jt.segment_supports[segment1] < jt.segment_supports[segment0]:
        supports = segment1
    for a in range(jt.block_rows[block0]):
        column = jt.block_row[block0] + a
        first = y + jt.block_y[block0] + a * jt.block_width[block0] + jt.segment_offset[segment0]
        start = int(0)
        if block0 == block1:
            start = a + 1
        if start < jt.block_rows[block1]:
            place = value + entry_place(jt, structure, jt.block_row[block1] + start, column)
            for b in range(start, jt.block_rows[block1]):
                second = y + jt.block_y[block1] + b * jt.block_width[block1] + jt.segment_offset[segment1]
                total = float(0.0)
                for p in range(jt.segment_supports[supports]):
                    i = jt.support[jt.segment_support[supports] + p]
                    total += jr.y[first + i] * jr.y[second + i]
                jr.matrix[place + b - start] = jr.matrix[place + b - start] + total


@wp.kernel
def assemble_joints(
    t: Tables,
    jt: JointTables,
    # outputs
    jr: JointRows,
):
    """Off-diagonal entries of Y Yᵀ of one environment."""
    environment = wp.tid()
    structure = jt.environment_structure[environment]
    y = jt.environment_y[environment]
    value = jt.environment_value[environment]
    for i in range(value, jt.environment_value[environment + 1]):
        jr.matrix[i] = 0.0
    for pair in range(jt.structure_pair[structure], jt.structure_pair[structure + 1]):
        block0 = jt.pair_block0[pair]
        block1 = jt.pair_block1[pair]
        add_products(
            jt, jr, structure, block0, block1, jt.pair_segment0[pair], jt.pair_segment1[pair], y, value
        )
    jr.stale[environment] = 1


@wp.func
def row_active(jr: JointRows, row: int):
    """Whether a row is solved: 1, or stands at a bound or does not act: 0."""
    return wp.where(jr.row_law[row] != IDLE and jr.row_state[row] == 0, 1, 0)


@wp.func
def factorize_joints(jt: JointTables, jr: JointRows, environment: int):
    """LDLᵀ of the active rows; the others become unit rows. Right-looking over columns."""
    structure = jt.environment_structure[environment]
    rows = jt.environment_row[environment]
    count = jt.environment_row[environment + 1] - rows
    value = jt.environment_value[environment]
    shift = value - jt.column_first[structure]
    starts = jt.structure_row[structure] + structure
    for k in range(count):
        row = rows + k
        active = row_active(jr, row)
        pivot = float(1.0)
        if active == 1:
            pivot = jr.row_diagonal[row] + jr.row_compliance[row]
        jr.row_pivot[row] = pivot
        for at in range(jt.column_start[starts + k], jt.column_start[starts + k + 1]):
            keep = active * row_active(jr, rows + jt.column_row[at])
            jr.factor[at + shift] = jr.matrix[at + shift] * float(keep)
    for k in range(count):
        row = rows + k
        first = jt.column_start[starts + k]
        last = jt.column_start[starts + k + 1]
        # rounding of rows that say the same twice must not make a pivot of no size or of the wrong sign
        pivot = wp.max(jr.row_pivot[row], 0.5 * jr.row_compliance[row])
        inverse = 1.0 / wp.max(pivot, 1.0e-30)
        jr.row_pivot[row] = inverse
        for a in range(first, last):
            entry = jr.factor[a + shift]
            if entry != 0.0:
                j = jt.column_row[a]
                ratio = entry * inverse
                jr.row_pivot[rows + j] = jr.row_pivot[rows + j] - ratio * entry
                place = jt.column_start[starts + j]
                for b in range(a + 1, last):
                    i = jt.column_row[b]
                    while jt.column_row[place] != i:
                        place += 1
                    jr.factor[place + shift] = jr.factor[place + shift] - ratio * jr.factor[b + shift]
        for a in range(first, last):
            jr.factor[a + shift] = jr.factor[a + shift] * inverse
    jr.stale[environment] = 0


@wp.func
def row_velocity(t: Tables, w: Scratch, jt: JointTables, jr: JointRows, environment: int, block: int, y: int):
    """Y u of a row."""
    total = float(0.0)
    for g in range(jt.block_segments[block]):
        segment = jt.block_segment[block] + g
        a = t.environment_articulation[environment] + jt.segment_articulation[segment]
        start = t.articulation_velocity[a]
        first = y + jt.segment_offset[segment]
        for p in range(jt.segment_supports[segment]):
            i = jt.support[jt.segment_support[segment] + p]
            total += jr.y[first + i] * w.u[start + i]
    return total


@wp.func
def push_row(
    t: Tables,
    jt: JointTables,
    jr: JointRows,
    environment: int,
    block: int,
    y: int,
    impulse: float,
    u: wp.array[wp.float32],
):
    """u ← u + Y λ of a row."""
    for g in range(jt.block_segments[block]):
        segment = jt.block_segment[block] + g
        a = t.environment_articulation[environment] + jt.segment_articulation[segment]
        start = t.articulation_velocity[a]
        first = y + jt.segment_offset[segment]
        for p in range(jt.segment_supports[segment]):
            i = jt.support[jt.segment_support[segment] + p]
            u[start + i] = u[start + i] + jr.y[first + i] * impulse


@wp.func
def row_errors(t: Tables, w: Scratch, jt: JointTables, jr: JointRows, environment: int, biased: int):
    """Missing velocity of every row into `row_step`."""
    structure = jt.environment_structure[environment]
    for block in range(jt.structure_block[structure], jt.structure_block[structure + 1]):
        for k in range(jt.block_rows[block]):
            row = jt.environment_row[environment] + jt.block_row[block] + k
            error = float(0.0)
            if jr.row_law[row] != IDLE:
                y = jt.environment_y[environment] + jt.block_y[block] + k * jt.block_width[block]
                wanted = wp.where(biased == 1, jr.row_biased[row], jr.row_target[row])
                v = row_velocity(t, w, jt, jr, environment, block, y) + jr.row_prescribed[row]
                error = wanted - v - jr.row_compliance[row] * jr.row_impulse[row]
            jr.row_step[row] = error


@wp.func
def release_rows(jt: JointTables, jr: JointRows, environment: int, late: int):
    """Take rows back that would leave their bounds; returns 1 where any did, and 2 more where others stay."""
    changed = int(0)
    stays = int(0)
    for row in range(jt.environment_row[environment], jt.environment_row[environment + 1]):
        state = jr.row_state[row]
        if state != 0:
            error = jr.row_step[row]
            if late == 0 and float(state) * error < 0.0 and jr.row_law[row] != IDLE:
                jr.row_state[row] = 0
                changed = 1
            else:
                jr.row_step[row] = 0.0
                stays = 2
    return changed + stays


@wp.func
def solve_joints(jt: JointTables, jr: JointRows, environment: int):
    """`row_step` ← A⁻¹ of it over the active rows."""
    structure = jt.environment_structure[environment]
    rows = jt.environment_row[environment]
    count = jt.environment_row[environment + 1] - rows
    shift = jt.environment_value[environment] - jt.column_first[structure]
    starts = jt.structure_row[structure] + structure
    for k in range(count):
        value = jr.row_step[rows + k]
        if value != 0.0:
            for at in range(jt.column_start[starts + k], jt.column_start[starts + k + 1]):
                other = rows + jt.column_row[at]
                jr.row_step[other] = jr.row_step[other] - jr.factor[at + shift] * value
    for step in range(count):
        k = count - 1 - step
        value = jr.row_step[rows + k] * jr.row_pivot[rows + k]
        for at in range(jt.column_start[starts + k], jt.column_start[starts + k + 1]):
            value -= jr.factor[at + shift] * jr.row_step[rows + jt.column_row[at]]
        jr.row_step[rows + k] = value


@wp.func
def apply_joints(t: Tables, w: Scratch, jt: JointTables, jr: JointRows, environment: int):
    """Apply the solved impulses as far as the bounds allow; returns whether a row met its bound."""
    met = int(0)
    structure = jt.environment_structure[environment]
    for block in range(jt.structure_block[structure], jt.structure_block[structure + 1]):
        for k in range(jt.block_rows[block]):
            row = jt.environment_row[environment] + jt.block_row[block] + k
            if row_active(jr, row) == 1:
                old = jr.row_impulse[row]
                new = old + jr.row_step[row]
                if new < jr.row_lowest[row]:
                    new = jr.row_lowest[row]
                    jr.row_state[row] = -1
                    met = 1
                elif new > jr.row_highest[row]:
                    new = jr.row_highest[row]
                    jr.row_state[row] = 1
                    met = 1
                jr.row_impulse[row] = new
                y = jt.environment_y[environment] + jt.block_y[block] + k * jt.block_width[block]
                push_row(t, jt, jr, environment, block, y, new - old, w.u)
    return met


@wp.func
def warm_joints(t: Tables, w: Scratch, jt: JointTables, jr: JointRows, environment: int):
    """Rows that stand at a bound start with the impulse of that bound; all others are solved exactly anyway."""
    structure = jt.environment_structure[environment]
    for block in range(jt.structure_block[structure], jt.structure_block[structure + 1]):
        for k in range(jt.block_rows[block]):
            row = jt.environment_row[environment] + jt.block_row[block] + k
            if jr.row_state[row] != 0 and jr.row_law[row] != IDLE:
                new = wp.where(jr.row_state[row] < 0, jr.row_lowest[row], jr.row_highest[row])
                if wp.abs(new) < 1.0e29:
                    jr.row_impulse[row] = new
                    y = jt.environment_y[environment] + jt.block_y[block] + k * jt.block_width[block]
                    push_row(t, jt, jr, environment, block, y, new, w.u)
                else:
                    jr.row_state[row] = 0


@wp.func
def joint_pass(t: Tables, w: Scratch, jt: JointTables, jr: JointRows, environment: int, biased: int):
    """Solve all joint rows of an environment for the velocities that stand in u."""
    if jt.environment_row[environment + 1] > jt.environment_row[environment]:
        for attempt in range(CHANGES):
            row_errors(t, w, jt, jr, environment, biased)
            bounds = release_rows(jt, jr, environment, wp.where(attempt >= LATE, 1, 0))
            if (bounds & 1) == 1 or jr.stale[environment] == 1:
                factorize_joints(jt, jr, environment)
            solve_joints(jt, jr, environment)
            met = apply_joints(t, w, jt, jr, environment)
            if met == 1:
                jr.stale[environment] = 1
            # rows at a bound are looked at again once the others are solved
            if met == 0 and (bounds == 0 or (bounds == 2 and attempt > 0)):
                break
