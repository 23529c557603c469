"""Actuator models: what turns commands into efforts of joints."""

from tensorphys_assets.actuators.collection import (
    ActuatorCollection,
    ActuatorOutputCommand,
    ActuatorTargetCommand,
)
from tensorphys_assets.actuators.models import (
    ActuatorBase,
    DCMotor,
    DelayedPDActuator,
    IdealPDActuator,
    ImplicitActuator,
    RemotizedPDActuator,
)
from tensorphys_assets.actuators.networks import ActuatorNetLSTM, ActuatorNetMLP

__all__ = [
    "ActuatorBase",
    "ActuatorCollection",
    "ActuatorNetLSTM",
    "ActuatorNetMLP",
    "ActuatorOutputCommand",
    "ActuatorTargetCommand",
    "DCMotor",
    "DelayedPDActuator",
    "IdealPDActuator",
    "ImplicitActuator",
    "RemotizedPDActuator",
]
