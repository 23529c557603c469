"""Degrees of freedom of joints: limits, drives, initial state, friction, armature; degrees end here."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Sdf

from tensorphys_scene import AxisType, DriveType
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.errors import StageError
from tensorphys_usd.stage import Reading

_RADIANS = float(np.pi / 180.0)
_INF = float("inf")
TOKENS = {
    "transX": AxisType.TRANS_X,
    "transY": AxisType.TRANS_Y,
    "transZ": AxisType.TRANS_Z,
    "rotX": AxisType.ROT_X,
    "rotY": AxisType.ROT_Y,
    "rotZ": AxisType.ROT_Z,
}
_BIG = 3.0e38  # stands for infinity in float32 descriptors


@dataclass(kw_only=True)
class AxisRow:
    """One degree of freedom; fields are the columns of the axis table of the same names."""

    axis: AxisType
    name: str
    lower: float = -_INF
    upper: float = _INF
    limit_stiffness: float = 0.0
    limit_damping: float = 0.0
    limit_restitution: float = 0.0
    limit_bounce_threshold: float = 0.0
    position: float = 0.0
    velocity: float = 0.0
    has_state: bool = False
    drive_type: DriveType = DriveType.NONE
    stiffness: float = 0.0
    damping: float = 0.0
    target_position: float = 0.0
    target_velocity: float = 0.0
    max_force: float = _INF
    armature: float = 0.0
    max_velocity: float = _INF
    static_friction: float = 0.0
    dynamic_friction: float = 0.0
    viscous_friction: float = 0.0
    passive_damping: float = 0.0
    passive_stiffness: float = 0.0
    spring_reference: float = 0.0
    effort_limit: float = _INF
    source_offset: float = 0.0
    envelope: tuple[float, float, float] = (0.0, _INF, 0.0)
    has_envelope: bool = False

    @property
    def rotates(self) -> bool:
        """Whether the axis is a rotation."""
        return self.axis >= AxisType.ROT_X

    @property
    def unit(self) -> float:
        """Radians in the authored angle unit; 1 for lengths."""
        return _RADIANS if self.rotates else 1.0


def read_axes(reading: Reading, path: Sdf.Path, kind: str, descriptor: Any) -> list[AxisRow]:
    """Degrees of freedom of a joint in the order in which their motions compose: translations, then rotations.

    Args:
        reading: The pass over the stage.
        path: Joint prim.
        kind: Name of the descriptor without its suffix.
        descriptor: The parser's descriptor.
    """
    attributes = reading.attributes(path)
    name = path.name
    if kind in ("Revolute", "Prismatic"):
        first = AxisType.ROT_X if kind == "Revolute" else AxisType.TRANS_X
        row = AxisRow(axis=AxisType(first + "XYZ".index(str(descriptor.axis))), name=name)
        instance = "angular" if kind == "Revolute" else "linear"
        if not _limit(path, row, descriptor.limit):
            reading.report.correct(
                path, "lower limit above upper limit: the joint is locked and has no degree of freedom"
            )
            return []
        _drive(path, row, descriptor.drive)
        _vendor(reading, path, attributes, row, (instance, _token(row.axis)))
        _shift(reading, path, attributes, row)
        return [row]
    if kind == "Spherical":
        return _spherical(reading, path, descriptor, attributes)
    if kind == "D6":
        return _d6(reading, path, descriptor, attributes)
    return []


def _token(axis: AxisType) -> str:
    return next(token for token, value in TOKENS.items() if value is axis)


def _limit(path: Sdf.Path, row: AxisRow, limit: Any) -> bool:
    """Set the limits; False where the axis is locked."""
    lower, upper = float(limit.lower), float(limit.upper)
    if math.isnan(lower) or math.isnan(upper):
        raise StageError(f"{path}: limits of {row.axis.name} are ({lower}, {upper})")
    if lower > upper:
        return False
    row.lower = -_INF if lower <= -_BIG else lower * row.unit
    row.upper = _INF if upper >= _BIG else upper * row.unit
    return True


def _drive(path: Sdf.Path, row: AxisRow, drive: Any) -> None:
    if not drive.enabled:
        return
    values = {
        "stiffness": float(drive.stiffness) / row.unit,
        "damping": float(drive.damping) / row.unit,
        "target_position": float(drive.targetPosition) * row.unit,
        "target_velocity": float(drive.targetVelocity) * row.unit,
    }
    for name, value in values.items():
        if not math.isfinite(value):
            raise StageError(f"{path}: {name} of the drive of {row.axis.name} is {value}")
        setattr(row, name, value)
    if math.isnan(drive.forceLimit):
        raise StageError(f"{path}: max_force of the drive of {row.axis.name} is nan")
    row.drive_type = DriveType.ACCELERATION if drive.acceleration else DriveType.FORCE
    row.max_force = _INF if drive.forceLimit >= _BIG else float(drive.forceLimit)


@functools.cache
def _plain(instances: tuple[str, ...]) -> frozenset[str]:
    """Names on a joint that say nothing about an axis beyond what OpenUSD's parser returns."""
    drive = ("type", "stiffness", "damping", "targetPosition", "targetVelocity", "maxForce")
    names = {"lowerLimit", "upperLimit", "axis", "body0", "body1", "jointEnabled", "collisionEnabled"}
    names |= {"localPos0", "localPos1", "localRot0", "localRot1", "excludeFromArticulation"}
    return frozenset(f"physics:{name}" for name in names).union(
        *({f"drive:{instance}:physics:{name}" for name in drive} for instance in instances),
        *({f"limit:{instance}:physics:{name}" for name in ("low", "high")} for instance in instances),
    )


def _use_drives(attributes: Attributes, instance: str) -> None:
    for name in ("type", "stiffness", "damping", "targetPosition", "targetVelocity", "maxForce"):
        attributes.use(f"drive:{instance}:physics:{name}")


def _vendor(
    reading: Reading, path: Sdf.Path, attributes: Attributes, row: AxisRow, instances: tuple[str, ...]
) -> None:
    """Initial state and vendor attributes of an axis; instances are the schema instance names that mean it."""
    if attributes.names <= _plain(instances):
        attributes.use_all()
        return  # the defaults of the row are those of unauthored attributes
    unit = row.unit
    for instance in instances:
        _use_drives(attributes, instance)
        attributes.use(f"limit:{instance}:physics:low", f"limit:{instance}:physics:high")
        _soft_limit(path, attributes, row, f"physxLimit:{instance}:")
        state = f"state:{instance}:physics:"
        row.has_state |= attributes.has(f"{state}position")
        row.position = attributes.number(f"{state}position", row.position / unit) * unit
        row.velocity = attributes.number(f"{state}velocity", row.velocity / unit) * unit
        if not (np.isfinite(row.position) and np.isfinite(row.velocity)):
            raise StageError(
                f"{path}: {state}position, velocity are {row.position / unit}, {row.velocity / unit}"
            )
    _joint_wide(attributes, row)
    for instance in instances:
        _per_axis(attributes, row, f"physxJointAxis:{instance}:", f"PhysxJointAxisAPI:{instance}")
        _envelope(attributes, row, f"physxDrivePerformanceEnvelope:{instance}:")
    _mujoco(reading, attributes, row)
    _urdf(attributes, row)


def _soft_limit(path: Sdf.Path, attributes: Attributes, row: AxisRow, prefix: str) -> None:
    fields = (
        ("limit_stiffness", "stiffness", 1.0 / row.unit),
        ("limit_damping", "damping", 1.0 / row.unit),
        ("limit_restitution", "restitution", 1.0),
        ("limit_bounce_threshold", "bounceThreshold", row.unit),
    )
    for column, field, factor in fields:
        if attributes.has(prefix + field):
            value = attributes.number(prefix + field, 0.0) * factor
            if not np.isfinite(value):
                raise StageError(f"{path}: {prefix}{field} is {value / factor}")
            setattr(row, column, value)


def _joint_wide(attributes: Attributes, row: AxisRow) -> None:
    unit = row.unit
    row.armature = attributes.number("physxJoint:armature", attributes.number("newton:armature", 0.0))
    limit = attributes.number("physxJoint:maxJointVelocity", attributes.number("newton:velocityLimit", _INF))
    # The vendor schema's fallback of 1e6 stands for "no bound".
    row.max_velocity = limit * unit if limit < 1.0e6 else _INF
    friction = attributes.number("newton:friction", 0.0)
    row.static_friction = row.dynamic_friction = friction
    row.passive_damping = attributes.number("newton:damping", 0.0) / unit
    for column, name in (("limit_stiffness", "limitStiffness"), ("limit_damping", "limitDamping")):
        gain = attributes.number(f"newton:{name}", -_INF)
        # An infinite one is a hard limit, a negative one the default.
        if 0.0 < gain < _INF and getattr(row, column) == 0.0:
            setattr(row, column, gain / unit)


def _per_axis(attributes: Attributes, row: AxisRow, prefix: str, schema: str) -> None:
    """Per-axis attributes; where their schema is applied they stand in for those of the whole joint."""
    unit = row.unit
    fields = (
        "armature",
        "maxJointVelocity",
        "staticFrictionEffort",
        "dynamicFrictionEffort",
        "viscousFrictionCoefficient",
    )
    if not (attributes.applied(schema) or any(attributes.has(prefix + field) for field in fields)):
        return
    row.armature = attributes.number(f"{prefix}armature", 0.0)
    limit = attributes.number(f"{prefix}maxJointVelocity", 1.0e6)
    row.max_velocity = limit * unit if limit < 1.0e6 else _INF
    row.static_friction = attributes.number(f"{prefix}staticFrictionEffort", 0.0)
    row.dynamic_friction = attributes.number(f"{prefix}dynamicFrictionEffort", 0.0)
    row.viscous_friction = attributes.number(f"{prefix}viscousFrictionCoefficient", 0.0) / unit


def _envelope(attributes: Attributes, row: AxisRow, prefix: str) -> None:
    fields = ("maxActuatorVelocity", "speedEffortGradient", "velocityDependentResistance")
    if not any(attributes.has(prefix + field) for field in fields):
        return
    unit = row.unit
    row.has_envelope = True
    row.envelope = (
        attributes.number(f"{prefix}speedEffortGradient", 0.0) * unit,
        attributes.number(f"{prefix}maxActuatorVelocity", _INF) * unit,
        attributes.number(f"{prefix}velocityDependentResistance", 0.0) / unit,
    )


def _mujoco(reading: Reading, attributes: Attributes, row: AxisRow) -> None:
    """MuJoCo joint attributes: radians, except angles of a model whose compiler reads degrees (the default)."""
    row.armature = attributes.number("mjc:armature", row.armature)
    row.passive_damping = attributes.number("mjc:damping", row.passive_damping)
    row.passive_stiffness = attributes.number("mjc:stiffness", 0.0)
    if attributes.has("mjc:frictionloss"):
        row.static_friction = row.dynamic_friction = attributes.number("mjc:frictionloss", 0.0)
    if attributes.has("mjc:springref"):
        angle = _RADIANS if row.rotates and not reading.mujoco_radians else 1.0
        row.spring_reference = attributes.number("mjc:springref", 0.0) * angle
    for bound in ("min", "max"):
        if attributes.has(f"mjc:actuatorfrcrange:{bound}"):
            effort = abs(attributes.number(f"mjc:actuatorfrcrange:{bound}", 0.0))
            row.effort_limit = effort if row.effort_limit == _INF else max(row.effort_limit, effort)


def _shift(reading: Reading, path: Sdf.Path, attributes: Attributes, row: AxisRow) -> None:
    """Count positions from the pose on the stage, where MuJoCo's coordinate has the value of its reference.

    Its converter authors limits and spring references in that coordinate.
    """
    if not attributes.has("mjc:ref"):
        return
    angle = _RADIANS if row.rotates and not reading.mujoco_radians else 1.0
    offset = attributes.number("mjc:ref", 0.0) * angle
    if not np.isfinite(offset):
        raise StageError(f"{path}: mjc:ref is {offset / angle}")
    if offset == 0.0:
        return
    row.source_offset = offset
    row.lower, row.upper = row.lower - offset, row.upper - offset
    row.spring_reference -= offset
    reading.report.correct(
        path, "mjc:ref: limits and spring reference are moved to where 0 is the pose on the stage"
    )


def _urdf(attributes: Attributes, row: AxisRow) -> None:
    effort = attributes.number("urdf:limit:effort", _INF)
    if effort > 0.0:
        row.effort_limit = min(row.effort_limit, effort)


def _spherical(reading: Reading, path: Sdf.Path, descriptor: Any, attributes: Attributes) -> list[AxisRow]:
    rows = []
    cone = (_INF, float(descriptor.limit.lower), float(descriptor.limit.upper))
    for index, axis in enumerate((AxisType.ROT_X, AxisType.ROT_Y, AxisType.ROT_Z)):
        row = AxisRow(axis=axis, name=_axis_name(attributes, path, axis))
        if descriptor.limit.enabled and 0.0 <= cone[index] < _BIG:
            row.lower, row.upper = -cone[index] * _RADIANS, cone[index] * _RADIANS
            _soft_limit(path, attributes, row, "physxLimit:cone:")
        _vendor(reading, path, attributes, row, (_token(axis),))
        rows.append(row)
    return rows


def _d6(reading: Reading, path: Sdf.Path, descriptor: Any, attributes: Attributes) -> list[AxisRow]:
    limits = {str(pair.first).rpartition(".")[2]: pair.second for pair in descriptor.jointLimits}
    drives = {str(pair.first).rpartition(".")[2]: pair.second for pair in descriptor.jointDrives}
    rows = []
    for token, axis in TOKENS.items():
        key = token[0].upper() + token[1:]
        row = AxisRow(axis=axis, name=_axis_name(attributes, path, axis))
        if key in limits and limits[key].enabled and not _limit(path, row, limits[key]):
            attributes.use_prefix(f"limit:{token}:")
            continue
        if key in drives:
            _drive(path, row, drives[key])
        _vendor(reading, path, attributes, row, (token,))
        rows.append(row)
    if len(rows) == 1:
        rows[0].name = path.name
    return rows


def _axis_name(attributes: Attributes, path: Sdf.Path, axis: AxisType) -> str:
    """Name of one axis of a joint with several: an authored one, else the joint's with the axis index."""
    token = _token(axis)
    index = int(axis) % 3 if axis >= AxisType.ROT_X else int(axis) + 3
    return str(attributes.get(f"mjcf:{token}:name", f"{path.name}:{index}"))
