"""Sensors on bodies."""

from tensorphys_assets.sensors.contact import ContactSensor, ContactSensorData
from tensorphys_assets.sensors.frames import FrameTransformer, FrameTransformerData
from tensorphys_assets.sensors.inertial import Imu, ImuData

__all__ = ["ContactSensor", "ContactSensorData", "FrameTransformer", "FrameTransformerData", "Imu", "ImuData"]
