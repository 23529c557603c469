"""Settings of the physics scene."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Sdf

from tensorphys_scene import Settings
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.stage import Reading

_STANDARD_GRAVITY = 9.81
_TOKENS = (
    ("solver", "solverType", ("TGS", "PGS")),
    ("collision_system", "collisionSystem", ("PCM", "SAT")),
    ("friction_type", "frictionType", ("patch",)),
    ("update", "updateType", ("Synchronous", "Asynchronous", "Disabled")),
)
_FLAGS = (
    ("stabilization", "enableStabilization", False),
    ("ccd", "enableCCD", False),
    ("enhanced_determinism", "enableEnhancedDeterminism", False),
    ("external_forces_every_iteration", "enableExternalForcesEveryIteration", False),
    ("solve_articulation_contact_last", "solveArticulationContactLast", False),
    ("scene_queries", "enableSceneQuerySupport", True),
    ("report_kinematic_pairs", "reportKinematicKinematicPairs", False),
    ("report_kinematic_static_pairs", "reportKinematicStaticPairs", False),
)
_COUNTS = (
    ("min_position_iterations", "minPositionIterationCount", 1),
    ("max_position_iterations", "maxPositionIterationCount", 255),
    ("min_velocity_iterations", "minVelocityIterationCount", 0),
    ("max_velocity_iterations", "maxVelocityIterationCount", 255),
)
_NUMBERS = (
    ("friction_correlation_distance", "frictionCorrelationDistance", float("-inf")),
    ("friction_offset_threshold", "frictionOffsetThreshold", float("-inf")),
    ("max_bias_coefficient", "maxBiasCoefficient", float("inf")),
)


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
    solver = _solver(path, attributes, reading)
    attributes.use("mjc:compiler:angle")  # read where an angle asks for it
    direction = attributes.vector("physics:gravityDirection", (0.0, 0.0, 0.0))
    magnitude = attributes.number("physics:gravityMagnitude", float("-inf"))
    if np.isnan(magnitude) or magnitude == float("inf"):
        raise StageError(f"{path}: physics:gravityMagnitude is {magnitude}")
    length = float(np.sqrt(direction @ direction))
    if length == 0.0:
        direction, length = 0.0 - up, 1.0
    if magnitude < 0.0:
        magnitude = _STANDARD_GRAVITY / reading.meters_per_unit
    rate = attributes.number("newton:timeStepsPerSecond", 60.0)
    rate = attributes.number("physxScene:timeStepsPerSecond", rate)
    if not (np.isfinite(rate) and rate > 0.0):
        reading.report.correct(path, f"timeStepsPerSecond {rate} is not positive: 60 is used")
        rate = 60.0
    gravity = direction / length * magnitude
    if not attributes.flag("newton:gravityEnabled", True):
        gravity = np.zeros(3)
    return Settings(
        gravity=(float(gravity[0]), float(gravity[1]), float(gravity[2])),
        steps_per_second=max(rate, 1.0),
        bounce_threshold=attributes.number("physxScene:bounceThreshold", float("nan")),
        path=str(path),
        **units,
        **solver,
    )


def _solver(path: Sdf.Path, attributes: Attributes, reading: Reading) -> dict[str, Any]:
    """Settings of the solver by their names in :class:`Settings`."""
    values: dict[str, Any] = {}
    for name, attribute, known in _TOKENS:
        token = attributes.token(f"physxScene:{attribute}", known[0])
        if token not in known:
            reading.report.correct(path, f"physxScene:{attribute} {token!r} is unknown: {known[0]} is used")
            token = known[0]
        values[name] = token
    for name, attribute, flag in _FLAGS:
        values[name] = attributes.flag(f"physxScene:{attribute}", flag)
    values["sleeping"] = not attributes.flag("physxScene:disableSleeping", False)
    if attributes.applied("PhysxSceneQuasistaticAPI"):
        values["quasistatic"] = attributes.flag("physxSceneQuasistatic:enableQuasistatic", True)
    for name, attribute, count in _COUNTS:
        values[name] = attributes.integer(f"physxScene:{attribute}", count)
    for name, attribute, number in _NUMBERS:
        values[name] = attributes.number(f"physxScene:{attribute}", number)
        if np.isnan(values[name]):
            raise StageError(f"{path}: physxScene:{attribute} is {values[name]}")
    gpu = sorted(name for name in attributes.names if name.startswith("physxScene:gpu"))
    values["gpu_capacities"] = {
        name.removeprefix("physxScene:"): attributes.number(name, 0.0) for name in gpu
    }
    # What device or broad phase the other runtime takes says nothing of the scene.
    attributes.use("physxScene:broadphaseType", "physxScene:enableGPUDynamics")
    attributes.use("physxScene:invertCollisionGroupFilter")  # read with the groups
    return values


def scene_path(descriptors: Descriptors) -> Sdf.Path | None:
    """Path of the physics scene that is used."""
    return descriptors.scenes[0][0] if descriptors.scenes else None
