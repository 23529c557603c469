"""Configurations of actuators, with the names and fields that Isaac Lab gives them.

A value is a number, numbers by expressions over joint names, or ``None`` for what the stage says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tensorphys_assets.config import MISSING, Config

__all__ = [
    "ActuatorBaseCfg",
    "ActuatorNetLSTMCfg",
    "ActuatorNetMLPCfg",
    "DCMotorCfg",
    "DelayedPDActuatorCfg",
    "IdealPDActuatorCfg",
    "ImplicitActuatorCfg",
    "RemotizedPDActuatorCfg",
]

Value = dict[str, float] | float | None


class ActuatorBaseCfg(Config):
    """A group of joints.

    Attributes:
        class_type: Class of the model; that which belongs to the configuration where it is left out.
        joint_names_expr: Expressions over joint names.
        actuator_effort_limit: Largest effort of the model [N or N m].
        actuator_velocity_limit: Largest speed of the model [m/s or rad/s].
        joint_effort_limit: Effort limit of the drives in the solver [N or N m].
        joint_velocity_limit: Speed limit in the solver [m/s or rad/s].
        stiffness: Stiffness [N/m or N m/rad].
        damping: Damping [N s/m or N m s/rad].
        armature: Inertia added to the joints [kg or kg m²].
        friction, dynamic_friction: Static and dynamic friction [N or N m].
        viscous_friction: Viscous friction [N s/m or N m s/rad].
        effort_limit, velocity_limit, effort_limit_sim, velocity_limit_sim: Earlier names, deprecated.
    """

    class_type: Any = None
    joint_names_expr: Sequence[str] = MISSING
    actuator_effort_limit: Value = None
    actuator_velocity_limit: Value = None
    joint_effort_limit: Value = None
    joint_velocity_limit: Value = None
    effort_limit_sim: Value = None
    velocity_limit_sim: Value = None
    stiffness: Value = MISSING
    damping: Value = MISSING
    armature: Value = None
    friction: Value = None
    dynamic_friction: Value = None
    viscous_friction: Value = None
    effort_limit: Value = None
    velocity_limit: Value = None


class ImplicitActuatorCfg(ActuatorBaseCfg):
    """Drives of the engine, which act implicitly within its steps."""


class IdealPDActuatorCfg(ActuatorBaseCfg):
    """Effort of a spring and a damper, within a limit."""


class DCMotorCfg(IdealPDActuatorCfg):
    """The same within the torque-speed curve of a motor.

    Attributes:
        saturation_effort: Effort at standstill [N or N m].
    """

    saturation_effort: Value = MISSING


class DelayedPDActuatorCfg(IdealPDActuatorCfg):
    """Commands that come some steps late; how many is drawn at each reset.

    Attributes:
        min_delay, max_delay: Least and greatest delay [steps].
    """

    min_delay: int = 0
    max_delay: int = 0


class RemotizedPDActuatorCfg(DelayedPDActuatorCfg):
    """Delayed commands, and an effort limit that depends on the joint's position.

    Attributes:
        joint_parameter_lookup: Rows of position [rad], transmission ratio and largest effort [N m], by position.
    """

    joint_parameter_lookup: Sequence[Sequence[float]] = MISSING


class ActuatorNetLSTMCfg(DCMotorCfg):
    """A recurrent network that makes efforts from position errors and velocities, within the curve of a motor.

    Attributes:
        network_file: TorchScript file.
    """

    stiffness: Value = None
    damping: Value = None
    network_file: str = MISSING


class ActuatorNetMLPCfg(DCMotorCfg):
    """A network that makes efforts from past position errors and velocities, within the curve of a motor.

    Attributes:
        network_file: TorchScript file.
        pos_scale, vel_scale, torque_scale: Factors of its inputs and its output.
        input_order: Whether position errors or velocities come first.
        input_idx: Which steps of the past it sees; 0 is now.
    """

    stiffness: Value = None
    damping: Value = None
    network_file: str = MISSING
    pos_scale: float = MISSING
    vel_scale: float = MISSING
    torque_scale: float = MISSING
    input_order: Literal["pos_vel", "vel_pos"] = MISSING
    input_idx: Sequence[int] = MISSING
