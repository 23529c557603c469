"""Mimic joints on the fused path: which scenes have no other couplings, and what its kernel reads of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels.arrays import MimicData
from tensorphys_dynamics._kernels.joint_arrays import MIMIC
from tensorphys_dynamics.joints import JointModel
from tensorphys_dynamics.model import Model

# The kernel solves them as one dense system, every lane of a group for itself.
MOST_MIMICS = 16


def mimics_of_an_environment(joints: JointModel) -> int:
    """How many mimic joints each environment has."""
    return joints.mimic_count // max(joints.model.environment_count, 1)


def refuses_joints(model: Model, joints: JointModel) -> str | None:
    """Why the fused path cannot take what is beside the trees, or None where it can.

    Args:
        model: Constants, with one articulation in each environment.
        joints: Joints, couplings and tendons; None of them is what it can take, and the same mimic joints everywhere.
    """
    if joints.block_count == 0:
        return None
    if (joints.tables.block_kind.numpy() != int(MIMIC)).any():
        return "there are joints beside the trees, gears or tendons"
    if len(np.unique(joints.tables.environment_structure.numpy())) != 1:
        return "environments have different mimic joints"
    count = mimics_of_an_environment(joints)
    if count > MOST_MIMICS:
        return f"an environment has {count} mimic joints, more than {MOST_MIMICS}"
    return None


def mimic_table(joints: JointModel) -> npt.NDArray[np.int32]:
    """Number of mimic joints of an environment; for each row both velocities, and its place among the parameters."""
    count = mimics_of_an_environment(joints)
    if count == 0:
        return np.zeros(0, np.int32)
    velocity = joints.tables.term_velocity.numpy().reshape(-1, 2)
    items = joints.tables.flat_item.numpy()[:count]
    return np.concatenate(([count], np.column_stack((velocity, items)).ravel())).astype(np.int32)


def mimic_data(joints: JointModel) -> MimicData:
    """The arrays that the kernel reads and writes; those of the joints themselves, so that they may be written."""
    p, data = joints.parameters, MimicData()
    data.gearing = wp.array(
        joints.tables.term_gearing.numpy()[1::2] if mimics_of_an_environment(joints) else np.zeros(0),
        dtype=wp.float32,
        device=joints.model.device,
    )
    data.offset, data.enabled = p.mimic_offset, p.mimic_enabled
    data.natural_frequency, data.damping_ratio = p.mimic_natural_frequency, p.mimic_damping_ratio
    data.total = joints.rows.row_total
    return data
