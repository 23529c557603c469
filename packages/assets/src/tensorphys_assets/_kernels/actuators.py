"""Efforts of actuator models. A group has its joints on the second axis of its own arrays."""

import warp as wp

wp.set_module_options({"enable_backward": False})

IMPLICIT = wp.constant(0)
BOUNDED = wp.constant(1)
MOTOR = wp.constant(2)
LOOKUP = wp.constant(3)


@wp.func
def motor_bounds(velocity: float, stall: float, fastest: float, limit: float) -> wp.vec2f:
    """Least and greatest effort of a motor at a velocity: lines from the stall effort to none at full speed.

    Where a line leaves the limit on the braking side, at more than full speed, the motor brakes with the limit.
    """
    ratio = velocity / fastest
    upper = wp.clamp(stall * (1.0 - ratio), -limit, limit)
    lower = wp.clamp(stall * (-1.0 - ratio), -limit, limit)
    return wp.vec2f(lower, upper)


@wp.func
def table_limit(table: wp.array2d[wp.float32], position: float) -> float:
    """Third column at a position, between rows by a line, beyond them the last one's."""
    last = table.shape[0] - 1
    if position <= table[0, 0]:
        return table[0, 2]
    for row in range(last):
        if position < table[row + 1, 0]:
            share = (position - table[row, 0]) / (table[row + 1, 0] - table[row, 0])
            return table[row, 2] + share * (table[row + 1, 2] - table[row, 2])
    return table[last, 2]


@wp.func
def bounded_effort(
    effort: float, velocity: float, position: float, model: int, limit: float, stall: float, fastest: float,
    table: wp.array2d[wp.float32],
) -> float:  # fmt: skip
    """Effort within what the model can do."""
    if model == MOTOR:
        bounds = motor_bounds(velocity, stall, fastest, limit)
        return wp.clamp(effort, bounds[0], bounds[1])
    most = limit
    if model == LOOKUP:
        most = table_limit(table, position)
    return wp.clamp(effort, -most, most)


@wp.kernel
def pd_efforts(
    # inputs
    joints: wp.array[wp.int32],
    target_position: wp.array2d[wp.float32],
    target_velocity: wp.array2d[wp.float32],
    target_effort: wp.array2d[wp.float32],
    position: wp.array2d[wp.float32],
    velocity: wp.array2d[wp.float32],
    stiffness: wp.array2d[wp.float32],
    damping: wp.array2d[wp.float32],
    limit: wp.array2d[wp.float32],
    fastest: wp.array2d[wp.float32],
    stall: wp.array2d[wp.float32],
    table: wp.array2d[wp.float32],
    model: int,
    # outputs
    computed_out: wp.array2d[wp.float32],
    applied_out: wp.array2d[wp.float32],
    effort_out: wp.array2d[wp.float32],
):
    """Spring, damper and the commanded effort. Drives of the engine get that alone, what they do is estimated."""
    row, k = wp.tid()
    j = joints[k]
    q = position[row, j]
    v = velocity[row, j]
    wanted = target_effort[row, j]
    effort = stiffness[row, k] * (target_position[row, j] - q)
    effort = effort + damping[row, k] * (target_velocity[row, j] - v) + wanted
    applied = bounded_effort(effort, v, q, model, limit[row, k], stall[row, k], fastest[row, k], table)
    computed_out[row, j] = effort
    applied_out[row, j] = applied
    effort_out[row, j] = wp.where(model == IMPLICIT, wanted, applied)


@wp.kernel
def network_efforts(
    # inputs
    joints: wp.array[wp.int32],
    effort: wp.array2d[wp.float32],
    velocity: wp.array2d[wp.float32],
    limit: wp.array2d[wp.float32],
    fastest: wp.array2d[wp.float32],
    stall: wp.array2d[wp.float32],
    # outputs
    computed_out: wp.array2d[wp.float32],
    applied_out: wp.array2d[wp.float32],
    effort_out: wp.array2d[wp.float32],
):
    """Efforts that a network gave, within the curve of a motor."""
    row, k = wp.tid()
    j = joints[k]
    bounds = motor_bounds(velocity[row, j], stall[row, k], fastest[row, k], limit[row, k])
    computed_out[row, j] = effort[row, k]
    applied_out[row, j] = wp.clamp(effort[row, k], bounds[0], bounds[1])
    effort_out[row, j] = applied_out[row, j]


@wp.kernel
def delay_commands(
    # inputs
    joints: wp.array[wp.int32],
    target_position: wp.array2d[wp.float32],
    target_velocity: wp.array2d[wp.float32],
    target_effort: wp.array2d[wp.float32],
    lag: wp.array[wp.int32],
    age: wp.array[wp.int32],
    step: wp.array[wp.int32],
    # outputs
    ring_inout: wp.array4d[wp.float32],
    position_out: wp.array2d[wp.float32],
    velocity_out: wp.array2d[wp.float32],
    effort_out: wp.array2d[wp.float32],
):
    """Keep the commands of now and give those of some steps ago; of a row that is younger, its first ones."""
    row, k = wp.tid()
    j = joints[k]
    depth = ring_inout.shape[0]
    now = step[0] % depth
    ring_inout[now, row, k, 0] = target_position[row, j]
    ring_inout[now, row, k, 1] = target_velocity[row, j]
    ring_inout[now, row, k, 2] = target_effort[row, j]
    back = wp.min(lag[row], age[row])
    then = (now + depth - back) % depth
    position_out[row, j] = ring_inout[then, row, k, 0]
    velocity_out[row, j] = ring_inout[then, row, k, 1]
    effort_out[row, j] = ring_inout[then, row, k, 2]


@wp.kernel
def advance_delays(
    # inputs
    depth: int,
    # outputs
    age_inout: wp.array[wp.int32],
    step_inout: wp.array[wp.int32],
):
    """One step later."""
    row = wp.tid()
    age_inout[row] = wp.min(age_inout[row] + 1, depth)
    if row == 0:
        step_inout[0] = (step_inout[0] + 1) % depth


@wp.kernel
def draw_delays(
    # inputs
    rows: wp.array[wp.int32],
    mask: wp.array[wp.bool],
    least: int,
    most: int,
    seed: int,
    # outputs
    draws_inout: wp.array[wp.int32],
    lag_out: wp.array[wp.int32],
    age_out: wp.array[wp.int32],
):
    """Draw the delays of chosen rows anew; a row's numbers depend on its place and on how often it was reset."""
    row = rows[wp.tid()]
    if not mask[row]:
        return
    state = wp.rand_init(seed + 9781 * draws_inout[row], row)
    lag_out[row] = wp.randi(state, least, most + 1)
    age_out[row] = 0
    draws_inout[row] = draws_inout[row] + 1


@wp.kernel
def spread_group(
    # inputs
    joints: wp.array[wp.int32],
    values: wp.array2d[wp.float32],
    # outputs
    target_out: wp.array2d[wp.float32],
):
    """Values of a group into an array of all joints."""
    row, k = wp.tid()
    target_out[row, joints[k]] = values[row, k]
