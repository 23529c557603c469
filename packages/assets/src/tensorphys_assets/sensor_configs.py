"""Configurations of sensors, with the names and fields that Isaac Lab gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorphys_assets.config import MISSING, Config

__all__ = [
    "ContactSensorCfg",
    "FrameTransformerCfg",
    "ImuCfg",
    "JointWrenchSensorCfg",
    "PvaCfg",
    "SensorBaseCfg",
    "SensorOffsetCfg",
    "TargetFrameCfg",
]


class SensorBaseCfg(Config):
    """What all sensors are configured with.

    Attributes:
        class_type: Class of the sensor.
        prim_path: Path expression of the bodies that carry it, of the articulations for joint wrenches.
        update_period: Time between two measurements [s]; 0 for one each step.
        debug_vis: Taken for compatibility: nothing is drawn.
    """

    class_type: Any = None
    prim_path: str = MISSING
    update_period: float = 0.0
    debug_vis: bool = False


class SensorOffsetCfg(Config):
    """Place of a frame on a body.

    Attributes:
        pos: Position in the link frame [m].
        rot: Orientation in the link frame, xyzw.
    """

    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rot: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)


class ContactSensorCfg(SensorBaseCfg):
    """Contact forces on bodies.

    Attributes:
        track_pose: Whether poses of the bodies are measured.
        track_contact_points: Whether the mean point of contact with each filter is measured.
        track_friction_forces: Whether friction is shown apart, by filters where there are some; totals have it in any case.
        max_contact_data_count_per_prim: Room for contact points of each body; 4 where it is left out.
        track_air_time: Whether times in the air and in contact are measured.
        force_threshold: Normal force above which a body is in contact [N]; 0 where it is left out.
        history_length: Measurements of the past that are kept.
        filter_prim_paths_expr: Path expressions of the bodies or colliders that forces are told apart by.
    """

    track_pose: bool = False
    track_contact_points: bool = False
    track_friction_forces: bool = False
    max_contact_data_count_per_prim: int | None = None
    track_air_time: bool = False
    force_threshold: float | None = None
    history_length: int = 0
    filter_prim_paths_expr: Sequence[str] = ()


class ImuCfg(SensorBaseCfg):
    """Angular velocity and acceleration on a body.

    Attributes:
        offset: Frame of the sensor on the body, or on the prim below a body that ``prim_path`` names.
    """

    offset: SensorOffsetCfg = SensorOffsetCfg()

    OffsetCfg = SensorOffsetCfg


class PvaCfg(SensorBaseCfg):
    """Pose, velocity and acceleration of a frame on a body.

    Attributes:
        offset: Frame of the sensor on the body, or on the prim below a body that ``prim_path`` names.
    """

    offset: SensorOffsetCfg = SensorOffsetCfg()

    OffsetCfg = SensorOffsetCfg


class JointWrenchSensorCfg(SensorBaseCfg):
    """Loads of the joints of an articulation.

    Attributes:
        convention: ``"incoming_joint_frame"``: about the origin and in the axes of the joint frame on the child.
    """

    convention: str = "incoming_joint_frame"


class TargetFrameCfg(Config):
    """A frame on bodies.

    Attributes:
        prim_path: Path expression of the bodies.
        name: Name; that of the body where it is left out.
        offset: Frame on the body.
    """

    prim_path: str = MISSING
    name: str | None = None
    offset: SensorOffsetCfg = SensorOffsetCfg()


class FrameTransformerCfg(SensorBaseCfg):
    """Poses of frames relative to one.

    Attributes:
        source_frame_offset: Source frame on its body.
        target_frames: The other frames.
    """

    source_frame_offset: SensorOffsetCfg = SensorOffsetCfg()
    target_frames: Sequence[TargetFrameCfg] = MISSING

    FrameCfg = TargetFrameCfg
