"""The end of a step: last positions, published link state, inputs of one step cleared."""

import warp as wp

from tensorphys_dynamics._kernels.advance import advance_articulation, keep_remainder
from tensorphys_dynamics._kernels.arrays import ControlData, ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics, publish_links
from tensorphys_dynamics._kernels.trail import keep_change

wp.set_module_options({"enable_backward": False})


@wp.func
def turn_over_inputs(t: Tables, s: StateData, c: ControlData, a: int):
    """Remember the applied forces for the kick that straddles the next change, and clear those of one step."""
    kind = t.articulation_type[a]
    for i in range(t.type_velocities[kind] - t.type_root[kind]):
        dof = t.articulation_dof[a] + i
        s.previous_actuation[dof] = c.actuation[dof]
    for i in range(t.type_links[kind]):
        link = t.articulation_link[a] + i
        s.previous_force[link] = c.link_force[link]
        s.previous_torque[link] = c.link_torque[link]
        c.link_force[link] = wp.vec3(0.0, 0.0, 0.0)
        c.link_torque[link] = wp.vec3(0.0, 0.0, 0.0)


@wp.kernel
def finish_step(
    t: Tables,
    m: ModelData,
    time_step: wp.array[wp.float32],
    substeps: wp.int32,
    # outputs
    s: StateData,
    c: ControlData,
    w: Scratch,
    y: StateData,
):
    """One articulation from the last sweep to the state that the user sees."""
    a = wp.tid()
    if w.idle[a] == 0:
        advance_articulation(t, m, s, w, a, time_step[0] / float(substeps))
        keep_change(t, w, y, a)
        articulation_kinematics(t, m, s, w, a)
        keep_remainder(t, m, s, w, a)
        publish_links(t, s, w, a)
    turn_over_inputs(t, s, c, a)
    w.momentum_known[a] = 0
