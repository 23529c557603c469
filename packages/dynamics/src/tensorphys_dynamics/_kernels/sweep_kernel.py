"""The sweep over all rows of an environment, one thread each."""

import functools
from typing import Any

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ContactRows,
    ModelData,
    Scratch,
    StateData,
    Tables,
)
from tensorphys_dynamics._kernels.collisions import collide_pairs
from tensorphys_dynamics._kernels.joint_arrays import JointRows, JointTables
from tensorphys_dynamics._kernels.joint_solve import joint_pass, warm_joints
from tensorphys_dynamics._kernels.newton import NewtonData, solve_contacts
from tensorphys_dynamics._kernels.skyline import Skyline
from tensorphys_dynamics._kernels.sweep import (
    UNREACHED,
    UNSOLVED,
    add_load,
    apply_contact,
    contact_pass,
    contact_target,
    keep_dof_loads,
    limit_passes,
    move_contact,
    slack_pass,
    warm_dofs,
)
from tensorphys_dynamics._kernels.thresholds import EXTRA, IS_RESTLESS, WAS_SUDDEN

wp.set_module_options({"enable_backward": False})

# Contacts solved at once take turns with limits and joints this often.
ROUNDS = wp.constant(4)


@wp.func
def limit_pass(t: Tables, m: ModelData, s: StateData, w: Scratch, environment: int, h: float, biased: int):
    """Friction and limits of all articulations of an environment; returns how many limits bear a load, and whether any
    impulse did not stay."""
    active = int(0)
    told = int(0)
    for a in range(t.environment_articulation[environment], t.environment_articulation[environment + 1]):
        found = limit_passes(t, m, s, w, a, h, biased)
        active += found[0]
        told |= found[1]
    return wp.vec2i(active, told)


@wp.func
def warm_start(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    environment: int,
    h: float,
):
    """Start from the impulses of the last substep, and solve the drive rows."""
    start = k.slot_start[environment]
    first = t.environment_articulation[environment]
    end = t.environment_articulation[environment + 1]
    for slot in range(start, start + k.count[environment]):
        apply_contact(t, w, r, slot, r.impulse[slot])
    for a in range(first, end):
        warm_dofs(t, m, s, w, a, h)
    for a in range(first, end):
        slack_pass(t, w, a, h)


@wp.func
def keep_loads(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    environment: int,
    h: float,
):
    """Keep what contacts and joints carried in the substep."""
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        add_load(w, k, r, slot)
    for a in range(t.environment_articulation[environment], t.environment_articulation[environment + 1]):
        keep_dof_loads(t, m, s, w, a, h)


@wp.func
def move_environment(
    t: Tables,
    w: Scratch,
    k: ContactData,
    r: ContactRows,
    environment: int,
    h: float,
    threshold: float,
    bounce_threshold: float,
):
    """The velocity that positions move by is the one after the biased pass; separations advance with it."""
    first = t.environment_articulation[environment]
    last = t.environment_articulation[environment + 1]
    for i in range(t.articulation_velocity[first], t.articulation_velocity[last]):
        w.u_drift[i] = w.u[i]
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        move_contact(t, w, k, r, slot, h, threshold, bounce_threshold)


@wp.func
def set_targets(k: ContactData, r: ContactRows, x: NewtonData, environment: int, h: float, biased: int):
    """Separating speeds that contacts solved at once ask for."""
    start = k.slot_start[environment]
    for slot in range(start, start + k.count[environment]):
        x.target[slot] = contact_target(r, slot, h, biased)


@functools.cache
def sweep_kernel(joints: bool, direct: bool) -> Any:
    """The kernel of one pass over the rows of an environment and of the passes without bias.

    Every solve is called in one place, so that it is compiled once; what a model never has is left out.

    Args:
        joints: Whether there are joints beside the trees.
        direct: Whether environments may solve their contacts at once.
    """

    def sweep_environment(
        t: Tables,
        m: ModelData,
        k: ContactData,
        bounce_threshold: wp.array[wp.float32],
        time_step: wp.array[wp.float32],
        substeps: wp.int32,
        relaxations: wp.int32,
        jt: JointTables,
        # outputs
        s: StateData,
        w: Scratch,
        r: ContactRows,
        jr: JointRows,
        z: Skyline,
        x: NewtonData,
    ):
        environment = wp.tid()
        if z.capacity[environment] < 0:
            return  # solved in parallel
        if w.environment_idle[environment] == 1:
            keep_loads(t, m, s, w, k, r, environment, time_step[0] / float(substeps))
            return
        h = time_step[0] / float(substeps)
        warm_start(t, m, s, w, k, r, environment, h)
        at_once = int(0)
        if wp.static(direct):
            at_once = z.used[environment]
        held = int(0)
        if wp.static(joints):
            held = jt.environment_row[environment + 1] - jt.environment_row[environment]
            warm_joints(t, w, jt, jr, environment)
        extra = int(0)
        for stage in range(2):
            biased = 1 - stage
            turns = wp.where(stage == 0, 1, extra + relaxations)
            # joints come once by themselves before the first turn
            turn = int(-1)
            attempt = int(0)
            while turn < turns:
                told = int(IS_RESTLESS)
                limits = wp.vec2i()
                if turn >= 0:
                    passes = wp.where(at_once == 0, 1, 0)
                    if wp.static(direct):
                        if at_once == 1:
                            if solve_contacts(t, m, w, k, r, z, x, environment, h) == 0:
                                passes = UNSOLVED
                    for number in range(passes):
                        told = contact_pass(t, m, w, k, r, environment, h, biased)
                    limits = limit_pass(t, m, s, w, environment, h, biased)
                if wp.static(joints):
                    joint_pass(t, w, jt, jr, environment, biased)
                if at_once == 0:
                    if stage == 0 and turn == 0:
                        extra = wp.where((told & WAS_SUDDEN) != 0, EXTRA, 0)
                        turns += extra
                    turn += 1
                    if ((told | limits[1]) & IS_RESTLESS) == 0 and held == 0:
                        turns = wp.min(turns, wp.max(turn, wp.where(stage == 0, 1, relaxations)))
                else:
                    # contacts take turns with limits and joints while these bear a load
                    attempt += 1
                    if turn < 0 or attempt == ROUNDS or limits[0] + held == 0:
                        turn += 1
                        attempt = 0
                    if wp.static(direct):
                        if turn == 0 and attempt == 0 and stage == 0:
                            collide_pairs(t, w, k, r, x, environment, h, bounce_threshold[0])
                        if attempt == 0:
                            set_targets(k, r, x, environment, h, biased)
            if stage == 0:
                threshold = wp.where(at_once == 1, UNREACHED, bounce_threshold[0])
                move_environment(t, w, k, r, environment, h, threshold, bounce_threshold[0])
        keep_loads(t, m, s, w, k, r, environment, h)

    return wp.kernel(sweep_environment, module="unique", enable_backward=False)
