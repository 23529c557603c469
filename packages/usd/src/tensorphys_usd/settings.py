"""Settings of the physics scene."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Sdf

from tensorphys_scene import Settings
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.stage import Reading

_STANDARD_GRAVITY = 9.81


def read_settings(reading: Reading, descriptors: Descriptors, *, require_scene: bool) -> Settings:
    """Gravity, units and step rate.

    Raises:
        StageError: If a scene is required and the stage has none, or gravity is not finite.
    """
    units: dict[str, Any] = {
        "meters_per_unit": reading.meters_per_unit,
        "kilograms_per_unit": reading.kilograms_per_unit,
        "up_axis": reading.up_axis,
    }
    up = np.array([0.0, 1.0, 0.0]) if reading.up_axis == "Y" else np.array([0.0, 0.0, 1.0])
    default = 0.0 - up * _STANDARD_GRAVITY / reading.meters_per_unit
    if not descriptors.scenes:
        if require_scene:
            raise StageError(
                f"{reading.stage.GetRootLayer().identifier}: no active PhysicsScene prim on the stage"
            )
        return Settings(gravity=tuple(default.tolist()), **units)
    path = descriptors.scenes[0][0]
    for other, _ in descriptors.scenes[1:]:
        reading.report.add(other, f"only one PhysicsScene is used, {path}; this one is ignored")
    attributes = reading.attributes(path)
    attributes.use("mjc:compiler:angle")  # read where an angle asks for it
    direction = np.array(attributes.get("physics:gravityDirection", (0.0, 0.0, 0.0)), dtype=np.float64)
    magnitude = attributes.number("physics:gravityMagnitude", float("-inf"))
    if np.isnan(magnitude) or magnitude == float("inf"):
        raise StageError(f"{path}: physics:gravityMagnitude is {magnitude}")
    if not np.isfinite(direction).all():
        raise StageError(f"{path}: physics:gravityDirection is {direction.tolist()}")
    length = float(np.sqrt(direction @ direction))
    if length == 0.0:
        direction, length = 0.0 - up, 1.0
    if magnitude < 0.0:
        magnitude = _STANDARD_GRAVITY / reading.meters_per_unit
    rate = attributes.number("newton:timeStepsPerSecond", 60.0)
    rate = attributes.number("physxScene:timeStepsPerSecond", rate)
    if not (np.isfinite(rate) and rate > 0.0):
        reading.report.add(path, f"timeStepsPerSecond {rate} is not positive: 60 is used")
        rate = 60.0
    gravity = direction / length * magnitude
    return Settings(
        gravity=(float(gravity[0]), float(gravity[1]), float(gravity[2])),
        steps_per_second=max(rate, 1.0),
        bounce_threshold=attributes.number("physxScene:bounceThreshold", float("nan")),
        path=str(path),
        **units,
    )


def scene_path(descriptors: Descriptors) -> Sdf.Path | None:
    """Path of the physics scene that is used."""
    return descriptors.scenes[0][0] if descriptors.scenes else None
