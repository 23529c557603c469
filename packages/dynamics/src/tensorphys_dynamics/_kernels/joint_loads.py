"""Mean wrenches of joints outside of trees, gears and spatial tendons on links, for the loads of a step."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, StateData, Tables
from tensorphys_dynamics._kernels.joint_arrays import (
    BODY,
    GEAR,
    SPATIAL_TENDON,
    JointParameters,
    JointRows,
    JointTables,
)
from tensorphys_dynamics._kernels.joint_frames import unit_axis
from tensorphys_dynamics._kernels.quantities_step import middle_point, middle_rotation
from tensorphys_dynamics._kernels.step_start import StepData

wp.set_module_options({"enable_backward": False})


@wp.func
def add_load(d: StepData, link: int, point: wp.vec3, force: wp.vec3, torque: wp.vec3):
    """Add a wrench at a point to that of the contacts of a link."""
    if link >= 0:
        d.contact_force[link] = d.contact_force[link] + force
        d.contact_torque[link] = d.contact_torque[link] + torque + wp.cross(point - d.com[link], force)


@wp.func
def middle_place(m: ModelData, s: StateData, d: StepData, link: int, point: wp.vec3):
    """Where a point of a link, or of the world for −1, was at the middle of the step."""
    place = point
    if link >= 0:
        place = middle_point(m, s, d, link, point)
    return place


@wp.func
def turned(s: StateData, d: StepData, link: int, v: wp.vec3):
    """A vector of a link, or of the world for −1, in environment axes at the middle of the step."""
    result = v
    if link >= 0:
        first = wp.transform_get_rotation(d.start_pose[link])
        result = wp.quat_rotate(middle_rotation(first, wp.transform_get_rotation(s.link_pose[link])), v)
    return result


@wp.func
def flat_link(jt: JointTables, base: int, end: int):
    """Flat link of an end, −1 for the world."""
    return wp.where(jt.end_link[end] >= 0, base + jt.end_link[end], -1)


@wp.func
def gear_load(
    m: ModelData,
    s: StateData,
    jt: JointTables,
    jp: JointParameters,
    d: StepData,
    base: int,
    end: int,
    joint: int,
    axis: int,
    size: float,
):
    """One of the two joints of a gear."""
    link0 = flat_link(jt, base, end)
    link1 = flat_link(jt, base, end + 1)
    frame0 = jp.joint_frame0[joint]
    frame1 = jp.joint_frame1[joint]
    point = middle_place(m, s, d, link1, wp.transform_get_translation(frame1))
    force = wp.vec3(0.0, 0.0, 0.0)
    torque = wp.vec3(0.0, 0.0, 0.0)
    if axis < 3:
        force = size * turned(s, d, link0, wp.quat_rotate(wp.transform_get_rotation(frame0), unit_axis(axis)))
    else:
        torque = size * turned(
            s, d, link1, wp.quat_rotate(wp.transform_get_rotation(frame1), unit_axis(axis - 3))
        )
    add_load(d, link1, point, force, torque)
    add_load(d, link0, point, -force, -torque)


@wp.kernel
def joint_loads(
    # inputs
    t: Tables,
    m: ModelData,
    s: StateData,
    jt: JointTables,
    jp: JointParameters,
    jr: JointRows,
    time_step: wp.array[wp.float32],
    # outputs
    d: StepData,
):
    """Add the mean wrenches of an environment's joints to those of its contacts, in the order of the blocks."""
    environment = wp.tid()
    structure = jt.environment_structure[environment]
    base = t.articulation_link[t.environment_articulation[environment]]
    rate = 1.0 / time_step[0]
    for block in range(jt.structure_block[structure], jt.structure_block[structure + 1]):
        item = jt.flat_item[jt.environment_block[environment] + block - jt.structure_block[structure]]
        end = jt.block_end[block]
        total = float(0.0)
        for k in range(jt.block_rows[block]):
            total += rate * jr.row_total[jt.environment_row[environment] + jt.block_row[block] + k]
        if jt.block_kind[block] == BODY or jt.block_kind[block] == SPATIAL_TENDON:
            flat = jt.environment_end[environment] - jt.structure_end[structure]
            for k in range(end, end + jt.block_ends[block]):
                link = flat_link(jt, base, k)
                if link >= 0:
                    load = rate * jr.end_impulse[flat + k]
                    d.contact_force[link] = d.contact_force[link] + wp.spatial_top(load)
                    d.contact_torque[link] = d.contact_torque[link] + wp.spatial_bottom(load)
        elif jt.block_kind[block] == GEAR:
            first = jp.gear_factor0[item] * total
            second = jp.gear_factor1[item] * total
            gear_load(m, s, jt, jp, d, base, end, jp.gear_joint0[item], jp.gear_axis0[item], first)
            gear_load(m, s, jt, jp, d, base, end + 2, jp.gear_joint1[item], jp.gear_axis1[item], second)
