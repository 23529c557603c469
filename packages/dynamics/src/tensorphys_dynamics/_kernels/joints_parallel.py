"""Joints beside the trees in large environments, a thread an environment."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import Scratch, Tables
from tensorphys_dynamics._kernels.joint_arrays import JointRows, JointTables
from tensorphys_dynamics._kernels.joint_solve import joint_pass, warm_joints

wp.set_module_options({"enable_backward": False})


@wp.kernel
def pass_joints(
    t: Tables,
    jt: JointTables,
    large: wp.array[wp.int32],
    biased: wp.int32,
    # outputs
    w: Scratch,
    jr: JointRows,
):
    """One environment: its joints beside the trees; warm starts where `biased` is −1."""
    environment = wp.tid()
    if large[environment] == 1:
        if biased < 0:
            warm_joints(t, w, jt, jr, environment)
        else:
            joint_pass(t, w, jt, jr, environment, biased)
