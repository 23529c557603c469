"""Configurations of assets, with the names and fields that Isaac Lab gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensorphys_assets.actuator_configs import ActuatorBaseCfg
from tensorphys_assets.config import MISSING, Config

__all__ = [
    "ArticulationCfg",
    "ArticulationInitialStateCfg",
    "AssetBaseCfg",
    "DeformableObjectCfg",
    "InitialStateCfg",
    "RigidInitialStateCfg",
    "RigidObjectCfg",
    "RigidObjectCollectionCfg",
]


class InitialStateCfg(Config):
    """Where an asset is after a reset, relative to its environment.

    Attributes:
        pos: Position [m].
        rot: Orientation, quaternion xyzw.
    """

    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rot: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)


class RigidInitialStateCfg(InitialStateCfg):
    """And how it moves.

    Attributes:
        lin_vel: Velocity of the centre of mass [m/s].
        ang_vel: Angular velocity [rad/s].
    """

    lin_vel: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ang_vel: tuple[float, float, float] = (0.0, 0.0, 0.0)


class ArticulationInitialStateCfg(RigidInitialStateCfg):
    """And what its joints do.

    Attributes:
        joint_pos: Positions [m or rad] by expressions over names.
        joint_vel: Velocities [m/s or rad/s] likewise.
    """

    joint_pos: dict[str, float] = {".*": 0.0}  # noqa: RUF012 - copied into each object
    joint_vel: dict[str, float] = {".*": 0.0}  # noqa: RUF012


class AssetBaseCfg(Config):
    """What all assets are configured with.

    Attributes:
        class_type: Class of the asset, for code that makes assets from configurations.
        cloning_contexts: Taken for compatibility; cloning is done in the stage.
        prim_path: Path expression of the prims.
        spawn: Configuration with a ``func`` that makes the prims; ``None`` where the stage has them.
        init_state: State after a reset.
        collision_group: Taken for compatibility: environments never collide.
        debug_vis: Taken for compatibility: nothing is drawn.
        disable_shape_checks: Whether payloads of writers are not looked at.
    """

    class_type: Any = None
    cloning_contexts: Any = None
    prim_path: str = MISSING
    spawn: Any = None
    init_state: InitialStateCfg = InitialStateCfg()
    collision_group: int = 0
    debug_vis: bool = False
    disable_shape_checks: bool | None = None

    InitialStateCfg = InitialStateCfg


class RigidObjectCfg(AssetBaseCfg):
    """A rigid object."""

    init_state: RigidInitialStateCfg = RigidInitialStateCfg()

    InitialStateCfg = RigidInitialStateCfg


class RigidObjectCollectionCfg(Config):
    """Several rigid objects in each environment.

    Attributes:
        class_type: Class of the asset.
        rigid_objects: Configuration of each by its name.
        disable_shape_checks: Whether payloads of writers are not looked at.
    """

    class_type: Any = None
    rigid_objects: dict[str, RigidObjectCfg] = MISSING
    disable_shape_checks: bool | None = None


class ArticulationCfg(AssetBaseCfg):
    """An articulation.

    Attributes:
        articulation_root_prim_path: Path of the articulation's root below the prim, with its leading slash; ``None`` to look
            for the only one.
        soft_joint_pos_limit_factor: Share of the range of positions that soft limits keep.
        joint_ordering, body_ordering: Order of joints and bodies: ``None`` or ``"physx"`` (breadth first, the engine's),
            ``"mjwarp"`` (depth first), ``"robot_schema"`` (that of ``isaac:physics:robotJoints`` and ``robotLinks`` on the
            stage), or all names.
        actuators: Groups of joints and the models that drive them.
        actuator_value_resolution_debug_print: Whether what the groups resolve to is logged.
    """

    articulation_root_prim_path: str | None = None
    init_state: ArticulationInitialStateCfg = ArticulationInitialStateCfg()
    soft_joint_pos_limit_factor: float = 1.0
    joint_ordering: str | Sequence[str] | None = None
    body_ordering: str | Sequence[str] | None = None
    actuators: Mapping[str, ActuatorBaseCfg] = {}
    actuator_value_resolution_debug_print: bool = False

    InitialStateCfg = ArticulationInitialStateCfg


class DeformableObjectCfg(AssetBaseCfg):
    """A deformable object.

    Attributes:
        visualizer_cfg: Taken for compatibility: nothing is drawn.
    """

    visualizer_cfg: Any = None
