"""Rows of the limits of ball joints: each bounds a function of the attitude, which all three velocities change."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.balls import ball_limit, ball_place, three

wp.set_module_options({"enable_backward": False})

# A joint that starts outside of its limits returns at this rate [1/s].
RECOVERY = wp.constant(10.0)
# What the attitude passes a limit by because it turns within the substep, at most DRIFT [rad], is taken back by this
# share in the next one.
DRIFT = wp.constant(2.0e-3)
SHARE = wp.constant(0.3)
# Rates of rotation vectors are up to 1.6 times the speed; a limit is looked at this many substeps ahead.
AHEAD = wp.constant(6.0)


@wp.func
def row_place(t: Tables, m: ModelData, a: int, i: int):
    """Where the row of velocity index i of a ball joint stands, as (first entry, row of the topology tables of its
    last velocity)."""
    kind = t.articulation_type[a]
    dof = t.articulation_dof[a] + i - t.type_root[kind]
    place = ball_place(m, dof)
    last = t.type_velocity[kind] + i + 2 - place
    return t.ball_row[m.dof_ball[dof] / 3] + place * (t.velocity_depth[last] + 1), last


@wp.func
def may_reach_ball_limit(
    t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, i: int, h: float, fastest: float
):
    """Whether a degree of freedom of a ball joint may come to a limit in the substep, or was at one."""
    dof = t.articulation_dof[a] + i - t.type_root[t.articulation_type[a]]
    speed = wp.length(three(w.free_velocity, t.articulation_velocity[a] + i - ball_place(m, dof)))
    reach = h * wp.max(AHEAD * speed, 2.0 * fastest)
    _rates, below, above = ball_limit(m, s, dof)
    return below <= reach or above <= reach or s.dof_limit_force[dof] != 0.0


@wp.func
def make_ball_row(t: Tables, m: ModelData, s: StateData, w: Scratch, a: int, i: int):
    """Row D^-½ L^-T Jᵀ of the limit of velocity index i, and its room."""
    kind = t.articulation_type[a]
    index = t.articulation_velocity[a] + i
    dof = t.articulation_dof[a] + i - t.type_root[kind]
    rates, below, above = ball_limit(m, s, dof)
    w.ball_room[index] = wp.vec2(below, above)
    row, last = row_place(t, m, a, i)
    depth = t.velocity_depth[last]
    chain = t.type_entry[kind] + t.velocity_entry[last]
    for p in range(depth - 2):
        w.ball_row[row + p] = 0.0
    for k in range(3):
        w.ball_row[row + depth - 2 + k] = rates[k]
    total = float(0.0)
    for step in range(depth + 1):
        p = depth - step
        velocity = t.chain[chain + p]
        other = t.articulation_entry[a] + t.velocity_entry[t.type_velocity[kind] + velocity]
        value = w.ball_row[row + p]
        for j in range(p):
            w.ball_row[row + j] = w.ball_row[row + j] - w.factor_entry[other + j] * value
        value = value * w.inverse_root[t.articulation_velocity[a] + velocity]
        w.ball_row[row + p] = value
        total += value * value
    w.ball_row_mass[index] = 1.0 / wp.max(total, 1.0e-30)


@wp.func
def apply_ball(t: Tables, m: ModelData, w: Scratch, a: int, i: int, impulse: float):
    """u ← u + Y λ of the row of one limit."""
    row, last = row_place(t, m, a, i)
    chain = t.type_entry[t.articulation_type[a]] + t.velocity_entry[last]
    for p in range(t.velocity_depth[last] + 1):
        index = t.articulation_velocity[a] + t.chain[chain + p]
        w.u[index] = w.u[index] + w.ball_row[row + p] * impulse


@wp.func
def recovery(depth: float, h: float):
    """Speed of the return from outside of a limit."""
    return wp.max(RECOVERY * depth, SHARE * wp.min(depth, DRIFT) / h)


@wp.func
def solve_ball_limit(t: Tables, m: ModelData, w: Scratch, a: int, i: int, h: float, biased: int):
    """Keep a limit of a ball joint over the substep, without rebound; returns how far that moves the position."""
    index = t.articulation_velocity[a] + i
    row, last = row_place(t, m, a, i)
    chain = t.type_entry[t.articulation_type[a]] + t.velocity_entry[last]
    v = float(0.0)
    for p in range(t.velocity_depth[last] + 1):
        v += w.ball_row[row + p] * w.u[t.articulation_velocity[a] + t.chain[chain + p]]
    below = -w.ball_room[index][0]
    above = w.ball_room[index][1]
    lowest = below / h
    if below > 0.0:
        lowest = float(biased) * recovery(below, h)
    highest = above / h
    if above < 0.0:
        highest = -float(biased) * recovery(-above, h)
    old = w.dof_limit_impulse[index]
    free = v - old / w.ball_row_mass[index]
    new = (wp.clamp(free, lowest, highest) - free) * w.ball_row_mass[index]
    apply_ball(t, m, w, a, i, new - old)
    w.dof_limit_impulse[index] = new
    return h * wp.abs(new - old) / w.ball_row_mass[index]
