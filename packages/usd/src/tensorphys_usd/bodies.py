"""Rigid bodies: poses, velocities, flags and vendor settings."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
from pxr import Sdf

from tensorphys_usd.attributes import Attributes
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import Frame
from tensorphys_usd.stage import Reading

_RADIANS = float(np.pi / 180.0)
_ZERO = np.zeros(3)
# Default of the vendor schemas [m²/s²].
_SLEEP_THRESHOLD = 5e-5
_READ_BY_OPENUSD = (
    "physics:rigidBodyEnabled",
    "physics:kinematicEnabled",
    "physics:startsAsleep",
    "physics:simulationOwner",
    "physics:filteredPairs",
)
# Names that say nothing about the settings of a body.
_PLAIN = frozenset(_READ_BY_OPENUSD) | {
    "physics:mass",
    "physics:density",
    "physics:centerOfMass",
    "physics:diagonalInertia",
    "physics:principalAxes",
    "newton:inertia",
}


class StageBodies:
    """All rigid bodies of a stage.

    Attributes:
        paths: Prim paths, in stage order.
        row: Row by prim path.
        frames: World transform of each body, scale kept.
        enabled, kinematic: Flags of each body.
        columns: Columns of the body table except `path`, `pose`, `enabled`, `kinematic` and the mass properties.
    """

    def __init__(self, reading: Reading, descriptors: Descriptors) -> None:
        self.paths: list[Sdf.Path] = []
        self.row: dict[Sdf.Path, int] = {}
        self.frames: list[Frame] = []
        self.enabled: list[bool] = []
        self.kinematic: list[bool] = []
        self.columns: dict[str, list[Any]] = {}
        self._position = reading.order
        self._order = [reading.order.get(path, 0) for path, _ in descriptors.bodies]
        reading.read_frames(path for path, _ in descriptors.bodies)
        settings: list[dict[str, Any]] = []
        plain: dict[str, Any] | None = None  # settings of bodies that author none
        asleep: list[bool] = []
        for path, descriptor in descriptors.bodies:
            self.row[path] = len(self.paths)
            self.paths.append(path)
            frame = reading.frame(path)
            if frame.sheared:
                reading.report.correct(
                    path, "rigid body under a shearing transform: shear stays in its shapes and anchors"
                )
            self.frames.append(frame)
            self.enabled.append(bool(descriptor.rigidBodyEnabled))
            self.kinematic.append(bool(descriptor.kinematicBody))
            attributes = reading.attributes(path)
            attributes.use(*_READ_BY_OPENUSD)
            if attributes.names <= _PLAIN and not attributes.applied("PhysxRigidBodyAPI"):
                plain = plain or self._settings(attributes, reading)
                settings.append(plain)
            else:
                settings.append(self._settings(attributes, reading))
            asleep.append(bool(descriptor.startsAsleep))
        for name in settings[0] if settings else ():
            self.columns[name] = [values[name] for values in settings]
        self.columns["starts_asleep"] = asleep

    def below(self, path: Sdf.Path) -> list[int]:
        """Rows of the bodies at or below a prim."""
        first = bisect.bisect_left(self._order, self._position.get(path, 0))
        rows = []
        for row in range(first, len(self.paths)):
            if not self.paths[row].HasPrefix(path):
                break
            rows.append(row)
        return rows

    def of_collider(self, path: Sdf.Path, named: Sdf.Path) -> int:
        """Body of a collider, given the one that the parser names; −1 where it is static.

        The parser names no body for the colliders of a disabled one; the table keeps them with it.
        """
        if named in self.row:
            return self.row[named]
        while not path.isEmpty and path != Sdf.Path.absoluteRootPath:
            row = self.row.get(path, -1)
            if row >= 0:
                return -1 if self.enabled[row] else row
            path = path.GetParentPath()
        return -1

    def above(self, path: Sdf.Path) -> int:
        """Body at or above a prim; −1 where there is none or it is disabled."""
        for ancestor in reversed(path.GetPrefixes()):
            row = self.row.get(ancestor, -1)
            if row >= 0:
                return row if self.enabled[row] else -1
        return -1

    @staticmethod
    def _settings(attributes: Attributes, reading: Reading) -> dict[str, Any]:
        # Defaults of the vendor schema hold only where it is applied; without it there is no damping and no bound.
        applied = attributes.applied("PhysxRigidBodyAPI")
        infinite = float("inf")
        number = attributes.number

        def vendor(name: str, where_applied: float, otherwise: float) -> float:
            return number(f"physxRigidBody:{name}", where_applied if applied else otherwise)

        velocity, turning, local = _surface_velocity(attributes)
        position_bits = attributes.integer("physxRigidBody:lockedPosAxis", 0) & 7
        rotation_bits = attributes.integer("physxRigidBody:lockedRotAxis", 0) & 7
        settings = {
            "linear_velocity": attributes.vector("physics:velocity", (0.0, 0.0, 0.0)),
            "angular_velocity": attributes.vector("physics:angularVelocity", (0.0, 0.0, 0.0)) * _RADIANS,
            "disable_gravity": attributes.flag("physxRigidBody:disableGravity", False),
            "linear_damping": vendor("linearDamping", 0.0, 0.0),
            "angular_damping": vendor("angularDamping", 0.05, 0.0),
            "max_linear_velocity": vendor("maxLinearVelocity", infinite, infinite),
            "max_angular_velocity": vendor("maxAngularVelocity", 100.0 / _RADIANS, infinite) * _RADIANS,
            "max_depenetration_velocity": vendor(
                "maxDepenetrationVelocity", 3.0 / reading.meters_per_unit, infinite
            ),
            "max_contact_impulse": vendor("maxContactImpulse", infinite, infinite),
            "sleep_threshold": vendor("sleepThreshold", _SLEEP_THRESHOLD / reading.meters_per_unit**2, 0.0),
            "stabilization_threshold": number("physxRigidBody:stabilizationThreshold", 0.0),
            "position_iterations": attributes.integer("physxRigidBody:solverPositionIterationCount", -1),
            "velocity_iterations": attributes.integer("physxRigidBody:solverVelocityIterationCount", -1),
            "gyroscopic": attributes.flag("physxRigidBody:enableGyroscopicForces", True),
            "retain_forces": attributes.flag("physxRigidBody:retainAccelerations", False),
            "ccd": attributes.flag("physxRigidBody:enableCCD", False),
            "speculative_ccd": attributes.flag("physxRigidBody:enableSpeculativeCCD", False),
            "locked_axes": position_bits | rotation_bits << 3,
            "cfm_scale": _cfm_scale(attributes),
            "contact_slop_coefficient": number("physxRigidBody:contactSlopCoefficient", 0.0),
            "solve_contact": attributes.flag("physxRigidBody:solveContact", True),
            "surface_velocity": velocity,
            "surface_angular_velocity": turning,
            "surface_velocity_local": local,
        }
        # The tensor API makes every body a contact sensor, so the authored threshold changes nothing.
        attributes.use("physxContactReport:threshold")
        return settings


def _cfm_scale(attributes: Attributes) -> float:
    """Authored softness of contacts, NaN where none is authored."""
    name = "physxRigidBody:cfmScale"
    value = attributes.number(name, 0.0)
    if not 0.0 <= value < float("inf"):
        path = attributes.prim.GetPath()
        raise StageError(f"{path}: {name} is {value}, expected a finite number that is not negative")
    return value if attributes.has(name) else float("nan")


def _surface_velocity(attributes: Attributes) -> tuple[Any, Any, bool]:
    """Velocity of the surface of a conveyor, 0 where there is none, and whether it is in body axes."""
    prefix = "physxSurfaceVelocity:"
    if not attributes.applied("PhysxSurfaceVelocityAPI"):
        return _ZERO, _ZERO, True
    linear = attributes.vector(f"{prefix}surfaceVelocity", (0.0, 0.0, 0.0))
    angular = attributes.vector(f"{prefix}surfaceAngularVelocity", (0.0, 0.0, 0.0)) * _RADIANS
    local = attributes.flag(f"{prefix}surfaceVelocityLocalSpace", True)
    if not attributes.flag(f"{prefix}surfaceVelocityEnabled", True):
        return _ZERO, _ZERO, local
    return linear, angular, local
