"""What the substeps of a step went through: positions, velocities and changes of velocity, one state a substep."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.balls import ball_place

wp.set_module_options({"enable_backward": False})


@wp.func
def copy_positions(t: Tables, m: ModelData, s: StateData, y: StateData, a: int):
    """Copy what kinematics reads of one articulation from state `s` to `y`, roots that are moved by hand left out."""
    kind = t.articulation_type[a]
    y.root_pose[a] = s.root_pose[a]
    for i in range(t.type_velocities[kind]):
        index = t.articulation_velocity[a] + i
        y.velocity[index] = s.velocity[index]
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        dof = t.articulation_dof[a] + i
        y.dof_position[dof] = s.dof_position[dof]
        if ball_place(m, dof) == 0:
            ball = m.dof_ball[dof] / 3
            y.ball_turn[ball] = s.ball_turn[ball]


@wp.func
def keep_substep(t: Tables, m: ModelData, s: StateData, w: Scratch, y: StateData, a: int, unblended: int):
    """Keep positions and velocities of a substep, and its kick over its whole length.

    The half of a kick that a synchronised velocity already has counts to it. Where the root alone felt what is newly
    applied, the kick is that of all velocities, left in `force`.
    """
    copy_positions(t, m, s, y, a)
    kind = t.articulation_type[a]
    for i in range(t.type_velocities[kind]):
        index = t.articulation_velocity[a] + i
        change = w.kick[index] - w.free_velocity[index]
        if unblended == 1 and i >= t.type_root[kind]:
            change += w.force[index]
        y.velocity_change[index] = change


@wp.func
def keep_change(t: Tables, w: Scratch, y: StateData, a: int):
    """Add what the sweep changed, with the velocity after it in `free_velocity`."""
    start = t.articulation_velocity[a]
    for i in range(start, start + t.type_velocities[t.articulation_type[a]]):
        change = y.velocity_change[i] + w.free_velocity[i]
        # of what diverged nothing is known
        y.velocity_change[i] = wp.where(wp.isfinite(change), change, 0.0)
