"""`MjcTendon` prims: weighted sums of joint positions, and strings through sites.

MuJoCo's length counts positions with their references: Σ coefficient · (q + reference). Its spring is slack between
the two spring lengths; −1 stands for the length at the start. Its limits are hard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Sdf

from tensorphys_usd.actuators import Actuator, actuators_on
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.coupling_rows import check_bounds
from tensorphys_usd.couplings import StageCouplings
from tensorphys_usd.errors import StageError
from tensorphys_usd.joints import StageJoints
from tensorphys_usd.spatial_tendons import StageSpatialTendons
from tensorphys_usd.stage import Reading

_KIND = "MjcTendon"
_SHOWN_ONLY = ("mjc:rgba", "mjc:width", "mjc:group")


@dataclass(frozen=True)
class _Spring:
    """Columns that both kinds have, rest length and bounds."""

    columns: dict[str, Any]
    rest: float | None
    lower: float
    upper: float


def read_mujoco_tendons(
    reading: Reading,
    bodies: StageBodies,
    joints: StageJoints,
    couplings: StageCouplings,
    tendons: StageSpatialTendons,
) -> None:
    """Add the rows of all `MjcTendon` prims to the tables of tendons.

    Raises:
        StageError: If a number cannot be.
    """
    for path, _ in reading.of_type(_KIND):
        attributes = reading.attributes(path)
        attributes.use(*_SHOWN_ONLY)
        targets = attributes.targets("mjc:path")
        indices = attributes.numbers("mjc:path:indices", range(len(targets))).astype(int)
        if indices.size == 0 or indices.min() < 0 or indices.max() >= len(targets):
            reading.report.add(
                path,
                f"{_KIND} whose path has {len(targets)} targets and the indices {indices.tolist()}: ignored",
            )
            attributes.use_prefix("mjc:")
            continue
        steps = [targets[index] for index in indices]
        kind = attributes.token("mjc:type", "spatial")
        if kind == "fixed":
            why = _fixed(reading, path, attributes, steps, joints, couplings)
        elif kind == "spatial":
            why = _spatial(reading, path, attributes, steps, bodies, tendons)
        else:
            raise StageError(f"{path}: mjc:type is {kind!r}, expected fixed or spatial")
        if why:
            attributes.use_prefix("mjc:")
            reading.report.add(path, f"{_KIND} {why}: ignored")


def _spring(path: Sdf.Path, attributes: Attributes) -> _Spring:
    numbers = {
        "stiffness": attributes.number("mjc:stiffness", 0.0),
        "damping": attributes.number("mjc:damping", 0.0),
        "friction": attributes.number("mjc:frictionloss", 0.0),
        "armature": attributes.number("mjc:armature", 0.0),
    }
    for name, value in numbers.items():
        if not np.isfinite(value):
            raise StageError(f"{path}: {name} of the tendon is {value}")
    lengths = attributes.numbers("mjc:springlength", (-1.0, -1.0))
    first, last = (float(lengths[0]), float(lengths[-1])) if lengths.size else (-1.0, -1.0)
    lower = attributes.number("mjc:range:min", 0.0)
    upper = attributes.number("mjc:range:max", 0.0)
    limited = attributes.token("mjc:limited", "auto")
    if limited == "false" or (limited == "auto" and lower == upper):
        lower, upper = -np.inf, np.inf
    check_bounds(path, "the tendon", lower, upper)
    columns = {**numbers, "dead_band": max(last - first, 0.0) if first >= 0.0 else 0.0}
    return _Spring(columns, first if first >= 0.0 else None, lower, upper)


def _fixed(
    reading: Reading,
    path: Sdf.Path,
    attributes: Attributes,
    steps: list[Sdf.Path],
    joints: StageJoints,
    couplings: StageCouplings,
) -> str:
    """Add a sum of positions; why that is impossible, else nothing."""
    coefficients = attributes.numbers("mjc:path:coef", [1.0] * len(steps))
    if len(coefficients) != len(steps):
        return f"with {len(coefficients)} coefficients over {len(steps)} joints"
    rows = [joints.row.get(step, -1) for step in steps]
    for step, row in zip(steps, rows, strict=True):
        if row < 0 or len(joints.axes[row]) != 1:
            return f"over {step}, which is no joint with one degree of freedom"
    spring = _spring(path, attributes)
    start = sum(
        float(factor) * joints.axes[row][0].source_offset
        for factor, row in zip(coefficients, rows, strict=True)
    )
    columns = {**spring.columns, "rest_length": start if spring.rest is None else spring.rest}
    max_force = float("inf")
    for actuator in actuators_on(reading, path):
        servo = _servo(reading, actuator, columns)
        if servo is not None:
            columns |= servo
            max_force = actuator.max_force
    tendon = couplings.fixed_tendons.add(
        path,
        limit_stiffness=0.0,
        hard_limits=bool(np.isfinite(spring.lower) or np.isfinite(spring.upper)),
        lower=spring.lower,
        upper=spring.upper,
        offset=start,
        max_force=max_force,
        enabled=True,
        **columns,
    )
    couplings.fixed_tendons.names.append(path.name)
    for step, row, factor in zip(steps, rows, coefficients.tolist(), strict=True):
        couplings.fixed_tendon_axes.add(
            step, tendon=tendon, axis=(row, 0), gearing=factor, force_coefficient=factor
        )
    return ""


def _servo(reading: Reading, actuator: Actuator, columns: dict[str, Any]) -> dict[str, Any] | None:
    """Spring of a servo on a tendon's length, None where there is no place for it."""
    if not actuator.is_servo:
        reading.report.add(actuator.path, "MjcActuator without a servo on a tendon: ignored")
        return None
    if columns["stiffness"] > 0.0:
        reading.report.add(
            actuator.path,
            "MjcActuator on a tendon that has a spring: the spring is kept, the actuator ignored",
        )
        return None
    return {
        "stiffness": actuator.stiffness,
        "damping": columns["damping"] + actuator.damping,
        "rest_length": actuator.target,
        "dead_band": 0.0,
    }


def _spatial(
    reading: Reading,
    path: Sdf.Path,
    attributes: Attributes,
    steps: list[Sdf.Path],
    bodies: StageBodies,
    tendons: StageSpatialTendons,
) -> str:
    """Add a string through sites; why that is impossible, else nothing."""
    segments = attributes.numbers("mjc:path:segments", [0.0] * len(steps))
    if np.ptp(segments) != 0.0:
        return "with pulleys"
    rows = []
    for step in steps:
        applied = reading.prim(step).GetPrimTypeInfo().GetAppliedAPISchemas() if reading.prim(step) else []
        if not {"MjcSiteAPI", "NewtonSiteAPI"} & {str(name) for name in applied}:
            return f"over {step}, which is no site"
        rows.append(bodies.above(step))
        if rows[-1] < 0:
            return f"over {step}, which is on no moving body"
    if len(steps) < 2:
        return "through one site only"
    for actuator in actuators_on(reading, path):
        reading.report.add(actuator.path, "MjcActuator on a spatial tendon: ignored")
    divisors = attributes.numbers("mjc:path:divisors", (1.0,))
    if not divisors.size or divisors[0] == 0.0:
        return f"with the divisors {divisors.tolist()}"
    attributes.targets("mjc:sideSites")
    attributes.use("mjc:sideSites:indices")  # of geometry that a string wraps; there is none
    spring = _spring(path, attributes)
    tendon = tendons.spatial_tendons.add(
        path, limit_stiffness=0.0, offset=0.0, enabled=True, hard_limits=True, **spring.columns
    )
    tendons.spatial_tendons.names.append(path.name)
    parent = -1
    for place, (step, body) in enumerate(zip(steps, rows, strict=True)):
        frame, base = reading.frame(step), bodies.frames[body]
        leaf = place == len(steps) - 1
        parent = tendons.tendon_attachments.add(
            step,
            tendon=tendon,
            body=body,
            parent=parent,
            position=base.rotation.T @ (frame.translation - base.translation),
            gearing=1.0 / float(divisors[0]),
            leaf=leaf,
            rest_length=spring.rest if leaf and spring.rest is not None else float("nan"),
            lower=spring.lower if leaf else float("-inf"),
            upper=spring.upper if leaf else float("inf"),
        )
        tendons.tendon_attachments.names.append(f"{path.name}:{place}")
    return ""
