"""Rigid bodies and reduced-coordinate articulations: joints, drives, limits and the constraint solver."""

from tensorphys_dynamics.ends import LinkEnds
from tensorphys_dynamics.errors import DynamicsError, ModelError, TopologyError
from tensorphys_dynamics.joint_columns import (
    ATTACHMENT_COLUMNS,
    FIXED_TENDON_COLUMNS,
    GEAR_COLUMNS,
    JOINT_COLUMNS,
    MIMIC_COLUMNS,
    SPATIAL_TENDON_COLUMNS,
    TENDON_AXIS_COLUMNS,
)
from tensorphys_dynamics.joint_frames import dof_axis, link_rest_pose
from tensorphys_dynamics.joints import JointModel
from tensorphys_dynamics.model import DOF_COLUMNS, LINK_COLUMNS, Model, build_model
from tensorphys_dynamics.quantities import Quantities
from tensorphys_dynamics.sleeping import Sleep
from tensorphys_dynamics.solver import Solver
from tensorphys_dynamics.state import Control, State
from tensorphys_dynamics.step_loads import StepLoads
from tensorphys_dynamics.topology import ArticulationType

__all__ = [
    "ATTACHMENT_COLUMNS",
    "DOF_COLUMNS",
    "FIXED_TENDON_COLUMNS",
    "GEAR_COLUMNS",
    "JOINT_COLUMNS",
    "LINK_COLUMNS",
    "MIMIC_COLUMNS",
    "SPATIAL_TENDON_COLUMNS",
    "TENDON_AXIS_COLUMNS",
    "ArticulationType",
    "Control",
    "DynamicsError",
    "JointModel",
    "LinkEnds",
    "Model",
    "ModelError",
    "Quantities",
    "Sleep",
    "Solver",
    "State",
    "StepLoads",
    "TopologyError",
    "build_model",
    "dof_axis",
    "link_rest_pose",
]
