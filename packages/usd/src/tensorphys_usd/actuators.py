"""MuJoCo actuator prims: servos become drives, motors become effort limits of their degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pxr import Sdf

from tensorphys_scene import DriveType
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.axes import AxisRow
from tensorphys_usd.joints import StageJoints
from tensorphys_usd.stage import Reading

_INF = float("inf")


@dataclass(frozen=True)
class Actuator:
    """One actuator prim.

    Attributes:
        path: Its prim.
        is_servo: Whether it is a servo; otherwise a motor.
        effort: Largest effort of a motor [N or N m].
        stiffness, damping: Gains of a servo on what it moves.
        target: Where a servo pulls without control [m or rad].
        max_force: Bound of a servo's effort.
    """

    path: Sdf.Path
    is_servo: bool
    effort: float = _INF
    stiffness: float = 0.0
    damping: float = 0.0
    target: float = 0.0
    max_force: float = _INF


def apply_actuators(reading: Reading, joints: StageJoints) -> None:
    """Read every `MjcActuator` prim of the stage into the axes of the joint that it acts on.

    An actuator's force is gear · (g₀ u + b₀ + b₁ gear q + b₂ gear q̇) with control u. With b₁ = b₂ = 0 it is a motor,
    whose range gear · g₀ · control range bounds the effort; otherwise it is a drive with stiffness −gear² b₁ and
    damping −gear² b₂.
    """
    row_of = {path: row for row, path in enumerate(joints.paths)}
    for path in _actuators(reading):
        attributes = reading.attributes(path)
        targets = attributes.targets("mjc:target")
        target = reading.prim(targets[0]) if targets else None
        if target and target.GetTypeName() == "MjcTendon":
            continue  # read with the tendon
        axes = joints.axes[row_of[targets[0]]] if targets and targets[0] in row_of else []
        if len(axes) != 1:
            where = targets[0] if targets else "nothing"
            attributes.use_prefix("mjc:")
            reading.report.add(
                path, f"MjcActuator on {where}, which is no joint with one degree of freedom: ignored"
            )
            continue
        _apply(reading, _read(path, attributes), axes[0])


def actuators_on(reading: Reading, target: Sdf.Path) -> list[Actuator]:
    """Actuators of one prim, in stage order."""
    return [
        _read(path, reading.attributes(path))
        for path in _actuators(reading)
        if reading.attributes(path).targets("mjc:target")[:1] == [target]
    ]


def _actuators(reading: Reading) -> list[Sdf.Path]:
    return [path for path, _ in reading.of_type("MjcActuator")]


def _read(path: Sdf.Path, attributes: Attributes) -> Actuator:
    gear = _first(attributes, "mjc:gear")
    gain = _first(attributes, "mjc:gainPrm")
    bias = np.zeros(3)
    given = attributes.numbers("mjc:biasPrm", ())[:3]
    bias[: given.size] = given
    if attributes.token("mjc:biasType", "none") != "affine":
        bias[:] = 0.0
    force = _range(attributes, "force")
    control = _range(attributes, "ctrl")
    if bias[1] == 0.0 and bias[2] == 0.0:
        effort = _INF
        if control is not None:
            effort = abs(gear * gain) * control
        if force is not None:
            effort = min(effort, abs(gear) * force)
        return Actuator(path, False, effort)
    # With no control the servo pulls to where b₀ and b₁ gear q cancel.
    target = float(-bias[0] / (bias[1] * gear)) if gear and bias[1] < 0.0 else 0.0
    return Actuator(
        path,
        True,
        stiffness=max(-gear * gear * float(bias[1]), 0.0),
        damping=max(-gear * gear * float(bias[2]), 0.0),
        target=target,
        max_force=_INF if force is None else abs(gear) * force,
    )


def _apply(reading: Reading, actuator: Actuator, axis: AxisRow) -> None:
    if not actuator.is_servo:
        axis.effort_limit = min(axis.effort_limit, actuator.effort)
        return
    if axis.drive_type is not DriveType.NONE:
        reading.report.add(
            actuator.path, "MjcActuator on a joint that has a drive: the drive is kept, the actuator ignored"
        )
        return
    axis.drive_type = DriveType.FORCE
    axis.stiffness, axis.damping = actuator.stiffness, actuator.damping
    if actuator.stiffness > 0.0:  # the servo counts positions as the source format does
        axis.target_position = actuator.target - axis.source_offset
    axis.max_force = actuator.max_force


def _first(attributes: Attributes, name: str) -> float:
    values = attributes.numbers(name, (1.0,))
    return float(values[0]) if values.size else 1.0


def _range(attributes: Attributes, kind: str) -> float | None:
    """Larger end of a range of control or force, None where it is not limited."""
    low = attributes.number(f"mjc:{kind}Range:min", 0.0)
    high = attributes.number(f"mjc:{kind}Range:max", 0.0)
    limited = attributes.token(f"mjc:{kind}Limited", "auto")
    if limited == "false" or (limited == "auto" and low == high):
        return None
    return max(abs(low), abs(high))
