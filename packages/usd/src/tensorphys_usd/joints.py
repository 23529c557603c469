"""Joints as authored: bodies, frames in float64, flags."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf, UsdPhysics

from tensorphys_scene import JointType
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.axes import AxisRow, read_axes
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.coupling_joints import coupling_joints
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import Frame, Rigid, joined, rotation_of, stacked
from tensorphys_usd.stage import Reading

Array = npt.NDArray[np.float64]

_TYPES = {
    "Fixed": JointType.FIXED,
    "Revolute": JointType.REVOLUTE,
    "Prismatic": JointType.PRISMATIC,
    "Spherical": JointType.SPHERICAL,
    "Distance": JointType.DISTANCE,
    "D6": JointType.D6,
    "Gear": JointType.GEAR,
    "RackAndPinion": JointType.RACK_AND_PINION,
}
# Columns 0, 1, 2 are the joint axis X and two across it, for a joint whose axis token is Y or Z.
_AXIS_TO_X = {
    "X": np.eye(3),
    "Y": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "Z": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
}
_NO_TURN = np.eye(3)
_ORIGIN = (0.0, 0.0, 0.0)
_DISTANCE_COLUMNS = ("min_distance", "max_distance", "distance_stiffness", "distance_damping")
_NUMBERS_READ_BY_OPENUSD = (
    "physics:breakForce",
    "physics:breakTorque",
    "physics:lowerLimit",
    "physics:upperLimit",
    "physics:coneAngle0Limit",
    "physics:coneAngle1Limit",
    "physics:minDistance",
    "physics:maxDistance",
)
_READ_BY_OPENUSD = (
    "physics:axis",
    "physics:body0",
    "physics:body1",
    "physics:jointEnabled",
    "physics:collisionEnabled",
    "physics:excludeFromArticulation",
    *_NUMBERS_READ_BY_OPENUSD,
)


@dataclass(slots=True)
class _Anchor:
    """A joint frame as authored: in a target prim, in the world without one; wanted in a body, without one in the world."""

    rotation: Array
    position: tuple[float, ...]
    target: Frame | None
    body: Frame | None


def _in_bodies(anchors: list[_Anchor]) -> list[Rigid]:
    """Rotation and translation of each anchor in its body."""
    if not anchors:
        return []
    rotation = joined([anchor.rotation for anchor in anchors])
    translation = np.array([anchor.position for anchor in anchors], np.float64)
    rows = [row for row, anchor in enumerate(anchors) if anchor.target is not None]
    frames = [anchor.target for anchor in anchors if anchor.target is not None]
    if frames:
        turn, origin = stacked(frames)
        linear = turn @ joined([frame.stretch for frame in frames])
        translation[rows] = origin + (linear @ translation[rows][:, :, None])[:, :, 0]
        rotation[rows] = turn @ rotation[rows]
    rows = [row for row, anchor in enumerate(anchors) if anchor.body is not None]
    frames = [anchor.body for anchor in anchors if anchor.body is not None]
    if frames:
        turn, origin = stacked(frames)
        inverse = np.swapaxes(turn, 1, 2)
        translation[rows] = (inverse @ (translation[rows] - origin)[:, :, None])[:, :, 0]
        rotation[rows] = inverse @ rotation[rows]
    return list(zip(rotation, translation, strict=True))


class StageJoints:
    """All joints of a stage.

    Attributes:
        paths: Prim paths, in stage order.
        row: Row by prim path.
        body0, body1: Rows of the bodies, −1 for the world.
        frames0, frames1: Rotation and translation of the joint frame in each body, in the world on the world's side.
        columns: The other columns of the joint table.
        axes: Degrees of freedom of each joint, none where it has none.
    """

    def __init__(self, reading: Reading, descriptors: Descriptors, bodies: StageBodies) -> None:
        self.paths: list[Sdf.Path] = []
        self.row: dict[Sdf.Path, int] = {}
        self.body0: list[int] = []
        self.body1: list[int] = []
        self._anchors: tuple[list[_Anchor], list[_Anchor]] = ([], [])
        self.columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self.axes: list[list[AxisRow]] = []
        self._reading = reading
        self._bodies = bodies
        rows = sorted(
            [*descriptors.joints, *coupling_joints(reading)],
            key=lambda row: reading.order.get(row[0], len(reading.order)),
        )
        targets = [target for _, row in rows for target in (row.rel0, row.rel1) if target]
        reading.read_frames(target for target in targets if target in reading.order)
        for path, descriptor in rows:
            self._add(path, descriptor)
        self.frames0 = _in_bodies(self._anchors[0])
        self.frames1 = _in_bodies(self._anchors[1])

    @property
    def count(self) -> int:
        """Number of joints."""
        return len(self.paths)

    def _add(self, path: Sdf.Path, descriptor: Any) -> None:
        reading = self._reading
        attributes = reading.attributes(path)
        attributes.use(*_READ_BY_OPENUSD)
        kind = type(descriptor).__name__.removesuffix("JointDesc")
        if kind not in _TYPES:
            reading.report.add(
                path, f"joint of type {reading.prim(path).GetTypeName()} is not supported and left out"
            )
            return
        for name in sorted(attributes.names.intersection(_NUMBERS_READ_BY_OPENUSD)):
            attributes.number(name, 0.0)  # its parser drops what is no number
        sides = [self._side(path, attributes, side, descriptor) for side in (0, 1)]
        rows = [row for row, _ in sides]
        if rows == [-1, -1]:
            if not descriptor.rel0 and not descriptor.rel1:
                raise StageError(
                    f"{path}: joint to nothing: neither physics:body0 nor physics:body1 has a target"
                )
            reading.report.add(path, "joint without a rigid body on either side is left out")
            return
        if rows[0] == rows[1]:
            reading.report.add(
                path, f"joint whose two sides are the same body {self._bodies.paths[rows[0]]} is left out"
            )
            return
        for anchors, (_, anchor) in zip(self._anchors, sides, strict=True):
            if kind == "Spherical":
                anchor.rotation = anchor.rotation @ _AXIS_TO_X[str(descriptor.axis)]
            anchors.append(anchor)
        add = self.columns
        self.row[path] = len(self.paths)
        self.paths.append(path)
        self.body0.append(rows[0])
        self.body1.append(rows[1])
        add["type"].append(int(_TYPES[kind]))
        add["enabled"].append(bool(descriptor.jointEnabled))
        add["collision_enabled"].append(bool(descriptor.collisionEnabled))
        add["excluded"].append(bool(descriptor.excludeFromArticulation))
        add["break_force"].append(_bound(descriptor.breakForce))
        add["break_torque"].append(_bound(descriptor.breakTorque))
        for name, value in zip(_DISTANCE_COLUMNS, _distance(path, attributes, kind, descriptor), strict=True):
            add[name].append(value)
        add["friction_coefficient"].append(attributes.number("physxJoint:jointFriction", 0.0))
        self.axes.append(read_axes(reading, path, kind, descriptor))

    def _side(
        self, path: Sdf.Path, attributes: Attributes, side: int, descriptor: Any
    ) -> tuple[int, _Anchor]:
        """Body row and joint frame of one side."""
        name, position = f"physics:localPos{side}", _ORIGIN
        if attributes.has(name):
            position = tuple(attributes.vector(name, _ORIGIN).tolist())
        authored = attributes.quaternion(f"physics:localRot{side}")
        rotation = _NO_TURN
        if authored is not None:
            found = rotation_of(authored)
            if found is None:
                raise StageError(
                    f"{path}: physics:localRot{side} is {authored} (w, x, y, z), which is no rotation"
                )
            rotation = found
        if not all(map(math.isfinite, position)):
            raise StageError(f"{path}: physics:localPos{side} is {list(position)}")
        target = descriptor.rel0 if side == 0 else descriptor.rel1
        if not target:
            return -1, _Anchor(rotation, position, None, None)
        body = self._bodies.row.get(target, -1)  # most often the target is the body itself
        if body >= 0 and self._bodies.enabled[body]:
            frame = self._bodies.frames[body]
            return body, _Anchor(rotation, position, frame, frame)
        if target not in self._reading.order:
            raise StageError(
                f"{path}: joint to nothing: physics:body{side} is {target}, which is no active prim"
            )
        frame = self._reading.frame(target)
        body = self._bodies.row.get(descriptor.body0 if side == 0 else descriptor.body1, -1)
        if body < 0 or not self._bodies.enabled[body]:  # a disabled body is part of the world
            return -1, _Anchor(rotation, position, frame, None)
        return body, _Anchor(rotation, position, frame, self._bodies.frames[body])

    def relative(self, row: int) -> tuple[Array, Array]:
        """Rotation and position of frame 1 in frame 0, as the bodies stand on the stage."""
        rotation0, translation0 = self._world(self.body0[row], self.frames0[row])
        rotation1, translation1 = self._world(self.body1[row], self.frames1[row])
        return rotation0.T @ rotation1, rotation0.T @ (translation1 - translation0)

    def relative_all(self, rows: Sequence[int]) -> tuple[Array, Array]:
        """The same for many joints at once, shapes [rows, 3, 3] and [rows, 3]."""
        rotation0, translation0 = self._worlds([(self.body0[row], self.frames0[row]) for row in rows])
        rotation1, translation1 = self._worlds([(self.body1[row], self.frames1[row]) for row in rows])
        inverse = np.swapaxes(rotation0, 1, 2)
        return inverse @ rotation1, (inverse @ (translation1 - translation0)[:, :, None])[:, :, 0]

    def _worlds(self, sides: Sequence[tuple[int, Rigid]]) -> Rigid:
        """World rotations and translations of frames in bodies, −1 for the world itself."""
        rotation = joined([frame[0] for _, frame in sides])
        translation = np.concatenate([frame[1] for _, frame in sides]).reshape(-1, 3)
        on_body = [row for row, (body, _) in enumerate(sides) if body >= 0]
        if on_body:
            turn, origin = stacked([self._bodies.frames[sides[row][0]] for row in on_body])
            translation[on_body] = origin + (turn @ translation[on_body][:, :, None])[:, :, 0]
            rotation[on_body] = turn @ rotation[on_body]
        return rotation, translation

    def _world(self, body: int, frame: Rigid) -> Rigid:
        if body < 0:
            return frame
        base = self._bodies.frames[body]
        return base.rotation @ frame[0], base.translation + base.rotation @ frame[1]

    def disable(self, row: int) -> None:
        """Switch a joint off."""
        self.columns["enabled"][row] = False

    def fit_world_frame(self, row: int) -> None:
        """Move the world side of a joint onto its body, so that the body keeps the pose that it has on the stage."""
        if self.body0[row] < 0:
            self.frames0[row] = self._world(self.body1[row], self.frames1[row])
        else:
            self.frames1[row] = self._world(self.body0[row], self.frames0[row])


def is_joint(prim: Any) -> bool:
    """Whether a prim is a joint of the standard schema."""
    return bool(prim.IsA(UsdPhysics.Joint))


def _distance(
    path: Sdf.Path, attributes: Attributes, kind: str, descriptor: Any
) -> tuple[float, float, float, float]:
    """Bounds of the distance of the two frames, NaN where off, and the stiffness and damping of their spring."""
    low = high = float("nan")
    stiffness = damping = 0.0
    if kind not in ("Distance", "D6") and not any("istance" in name for name in attributes.names):
        return low, high, stiffness, damping
    if kind == "Distance":
        low = float(descriptor.limit.lower) if descriptor.minEnabled else low
        high = _bound(descriptor.limit.upper) if descriptor.maxEnabled else high
        high = high if high < float("inf") else float("nan")
        prefix = "physxPhysicsDistanceJoint:spring"
        spring = (
            attributes.number(f"{prefix}Stiffness", 0.0),
            attributes.number(f"{prefix}Damping", 0.0),
        )
        if attributes.get(f"{prefix}Enabled", False):
            stiffness, damping = spring
    elif kind == "D6":
        # Read by name: the parser's descriptor does not say which of the two bounds is authored.
        authored_low = attributes.number("limit:distance:physics:low", float("-inf"))
        authored_high = attributes.number("limit:distance:physics:high", float("inf"))
        low = authored_low if authored_low > 0.0 else low
        high = authored_high if 0.0 <= authored_high < float("inf") else high
    if low > high or _bound(low) == float("inf"):
        raise StageError(f"{path}: limits of the distance are ({low}, {high})")
    stiffness = attributes.number("physxLimit:distance:stiffness", stiffness)
    damping = attributes.number("physxLimit:distance:damping", damping)
    if not (np.isfinite(stiffness) and np.isfinite(damping)):
        raise StageError(f"{path}: stiffness, damping of the distance limit are {stiffness}, {damping}")
    return low, high, stiffness, damping


def _bound(value: float) -> float:
    return float("inf") if value >= 3.0e38 else float(value)


_COLUMNS = (
    "type",
    "enabled",
    "collision_enabled",
    "excluded",
    "break_force",
    "break_torque",
    "min_distance",
    "max_distance",
    "distance_stiffness",
    "distance_damping",
    "friction_coefficient",
)
