"""Articulations, rigid and deformable objects, actuators and sensors for robot learning."""

from tensorphys_assets.actuator_configs import (
    ActuatorBaseCfg,
    ActuatorNetLSTMCfg,
    ActuatorNetMLPCfg,
    DCMotorCfg,
    DelayedPDActuatorCfg,
    IdealPDActuatorCfg,
    ImplicitActuatorCfg,
    RemotizedPDActuatorCfg,
)
from tensorphys_assets.actuators import (
    ActuatorCollection,
    ActuatorNetLSTM,
    ActuatorNetMLP,
    DCMotor,
    DelayedPDActuator,
    IdealPDActuator,
    ImplicitActuator,
    RemotizedPDActuator,
)
from tensorphys_assets.articulation import Articulation
from tensorphys_assets.articulation_data import ArticulationData
from tensorphys_assets.configs import (
    ArticulationCfg,
    AssetBaseCfg,
    DeformableObjectCfg,
    RigidObjectCfg,
    RigidObjectCollectionCfg,
)
from tensorphys_assets.deformable_object import DeformableObject
from tensorphys_assets.deformable_object_data import DeformableObjectData
from tensorphys_assets.errors import (
    AssetError,
    ConfigurationError,
    NotReadyError,
    PrimError,
)
from tensorphys_assets.interface import Member, interface, missing_members
from tensorphys_assets.ordering import ArticulationNameMap
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.rigid_object import RigidObject
from tensorphys_assets.rigid_object_collection import RigidObjectCollection
from tensorphys_assets.rigid_object_collection_data import RigidObjectCollectionData
from tensorphys_assets.rigid_object_data import RigidObjectData
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.sensor_configs import (
    ContactSensorCfg,
    FrameTransformerCfg,
    ImuCfg,
    JointWrenchSensorCfg,
    PvaCfg,
    SensorBaseCfg,
    SensorOffsetCfg,
    TargetFrameCfg,
)
from tensorphys_assets.sensors import (
    ContactSensor,
    ContactSensorData,
    FrameTransformer,
    FrameTransformerData,
    Imu,
    ImuData,
    JointWrenchSensor,
    JointWrenchSensorData,
    Pva,
    PvaData,
)
from tensorphys_assets.wrench import WrenchComposer

__all__ = [
    "ActuatorBaseCfg",
    "ActuatorCollection",
    "ActuatorNetLSTM",
    "ActuatorNetLSTMCfg",
    "ActuatorNetMLP",
    "ActuatorNetMLPCfg",
    "Articulation",
    "ArticulationCfg",
    "ArticulationData",
    "ArticulationNameMap",
    "AssetBaseCfg",
    "AssetError",
    "AssetScene",
    "ConfigurationError",
    "ContactSensor",
    "ContactSensorCfg",
    "ContactSensorData",
    "DCMotor",
    "DCMotorCfg",
    "DeformableObject",
    "DeformableObjectCfg",
    "DeformableObjectData",
    "DelayedPDActuator",
    "DelayedPDActuatorCfg",
    "FrameTransformer",
    "FrameTransformerCfg",
    "FrameTransformerData",
    "IdealPDActuator",
    "IdealPDActuatorCfg",
    "ImplicitActuator",
    "ImplicitActuatorCfg",
    "Imu",
    "ImuCfg",
    "ImuData",
    "JointWrenchSensor",
    "JointWrenchSensorCfg",
    "JointWrenchSensorData",
    "Member",
    "NotReadyError",
    "PrimError",
    "ProxyArray",
    "Pva",
    "PvaCfg",
    "PvaData",
    "RemotizedPDActuator",
    "RemotizedPDActuatorCfg",
    "RigidObject",
    "RigidObjectCfg",
    "RigidObjectCollection",
    "RigidObjectCollectionCfg",
    "RigidObjectCollectionData",
    "RigidObjectData",
    "SensorBaseCfg",
    "SensorOffsetCfg",
    "TargetFrameCfg",
    "WrenchComposer",
    "interface",
    "missing_members",
]
