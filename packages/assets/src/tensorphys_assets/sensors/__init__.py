"""Sensors on bodies."""

from tensorphys_assets.sensors.contact import ContactSensor, ContactSensorData
from tensorphys_assets.sensors.frames import FrameTransformer, FrameTransformerData
from tensorphys_assets.sensors.inertial import Imu, ImuData, Pva, PvaData
from tensorphys_assets.sensors.joint_wrench import JointWrenchSensor, JointWrenchSensorData

__all__ = [
    "ContactSensor",
    "ContactSensorData",
    "FrameTransformer",
    "FrameTransformerData",
    "Imu",
    "ImuData",
    "JointWrenchSensor",
    "JointWrenchSensorData",
    "Pva",
    "PvaData",
]
