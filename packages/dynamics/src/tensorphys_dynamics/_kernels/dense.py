"""Dense mass matrices and Jacobians of articulations, for those who ask for them."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables
from tensorphys_dynamics._kernels.kinematics import articulation_kinematics
from tensorphys_dynamics._kernels.quantities import composite_inertias
from tensorphys_dynamics._kernels.smooth import mass_rows

wp.set_module_options({"enable_backward": False})


@wp.kernel
def dense_mass_matrix(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    armature: wp.int32,
    # outputs
    w: Scratch,
    mass_matrix_out: wp.array3d[wp.float32],
):
    """Mass matrix of one articulation, rows and columns in the order of its velocities."""
    row = wp.tid()
    a = rows[row]
    kind = t.articulation_type[a]
    first = t.type_velocity[kind]
    articulation_kinematics(t, m, s, w, a)
    composite_inertias(t, m, w, a)
    mass_rows(t, m, w, a)
    for i in range(t.type_velocities[kind]):
        for j in range(t.type_velocities[kind]):
            mass_matrix_out[row, i, j] = 0.0
    for i in range(t.type_velocities[kind]):
        local = t.velocity_entry[first + i]
        for p in range(t.velocity_depth[first + i] + 1):
            j = t.chain[t.type_entry[kind] + local + p]
            value = w.mass_entry[t.articulation_entry[a] + local + p]
            mass_matrix_out[row, i, j] = value
            mass_matrix_out[row, j, i] = value
        if armature == 0 and i >= t.type_root[kind]:
            added = m.dof_armature[t.articulation_dof[a] + i - t.type_root[kind]]
            mass_matrix_out[row, i, i] = mass_matrix_out[row, i, i] - added


@wp.kernel
def dense_jacobian(
    # inputs
    rows: wp.array[wp.int32],
    t: Tables,
    m: ModelData,
    s: StateData,
    first_link: wp.int32,
    # outputs
    w: Scratch,
    jacobian_out: wp.array4d[wp.float32],
):
    """Jacobians of the links of one articulation, rows [linear at the centre of mass, angular]."""
    tid = wp.tid()
    a = rows[tid]
    kind = t.articulation_type[a]
    articulation_kinematics(t, m, s, w, a)
    for local in range(first_link, t.type_links[kind]):
        body = local - first_link
        for i in range(6):
            for j in range(t.type_velocities[kind]):
                jacobian_out[tid, body, i, j] = 0.0
        last = t.link_chain[t.type_link[kind] + local]
        if last >= 0:
            com = w.link_com_offset[t.articulation_link[a] + local]
            row = t.type_velocity[kind] + last
            for p in range(t.velocity_depth[row] + 1):
                j = t.chain[t.type_entry[kind] + t.velocity_entry[row] + p]
                angular = w.motion_angular[t.articulation_velocity[a] + j]
                linear = w.motion_linear[t.articulation_velocity[a] + j] + wp.cross(angular, com)
                for axis in range(3):
                    jacobian_out[tid, body, axis, j] = linear[axis]
                    jacobian_out[tid, body, 3 + axis, j] = angular[axis]
