"""Dense mass matrices and Jacobians of all articulations, for those who ask for them."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ControlData, ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics
from tensorphys_dynamics._kernels.smooth import mass_rows, wrenches

wp.set_module_options({"enable_backward": False})


@wp.kernel
def dense_mass_matrix(
    t: Tables,
    m: ModelData,
    s: StateData,
    c: ControlData,
    armature: wp.int32,
    # outputs
    w: Scratch,
    mass_matrix_out: wp.array3d[wp.float32],
):
    """Mass matrix of one articulation, rows and columns in the order of its velocities."""
    a = wp.tid()
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    articulation_kinematics(t, m, s, w, a)
    wrenches(t, m, s, c, w, a, 0.0, 0)
    mass_rows(t, m, w, a)
    w.momentum_known[a] = 0
    for i in range(t.type_velocities[kind]):
        for j in range(t.type_velocities[kind]):
            mass_matrix_out[a, i, j] = 0.0
    for i in range(t.type_velocities[kind]):
        local = t.velocity_entry[first + i]
        for p in range(t.velocity_depth[first + i] + 1):
            j = t.chain[t.type_entry[kind] + local + p]
            value = w.mass_entry[t.articulation_entry[a] + local + p]
            mass_matrix_out[a, i, j] = value
            mass_matrix_out[a, j, i] = value
        if armature == 0 and i >= t.type_root[kind]:
            added = m.dof_armature[t.articulation_dof[a] + i - t.type_root[kind]]
            mass_matrix_out[a, i, i] = mass_matrix_out[a, i, i] - added


@wp.kernel
def dense_jacobian(
    t: Tables,
    m: ModelData,
    s: StateData,
    # outputs
    w: Scratch,
    jacobian_out: wp.array4d[wp.float32],
):
    """Jacobians of the links of one articulation, rows [linear at the centre of mass, angular]."""
    a = wp.tid()
    kind = t.articulation_type[a]
    articulation_kinematics(t, m, s, w, a)
    for local in range(t.type_links[kind]):
        for j in range(t.type_velocities[kind]):
            for row in range(6):
                jacobian_out[a, local, row, j] = 0.0
        last = t.link_chain[t.type_link[kind] + local]
        if last >= 0:
            com = w.link_com_offset[t.articulation_link[a] + local]
            row = t.type_velocity[kind] + last
            for p in range(t.velocity_depth[row] + 1):
                j = t.chain[t.type_entry[kind] + t.velocity_entry[row] + p]
                angular = w.motion_angular[t.articulation_velocity[a] + j]
                linear = w.motion_linear[t.articulation_velocity[a] + j] + wp.cross(angular, com)
                for i in range(3):
                    jacobian_out[a, local, i, j] = linear[i]
                    jacobian_out[a, local, 3 + i, j] = angular[i]
