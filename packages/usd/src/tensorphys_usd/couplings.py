"""Mimic joints, gears and fixed tendons: what couples degrees of freedom of several joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Sdf

from tensorphys_usd.articulations import StageArticulations
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.axes import TOKENS
from tensorphys_usd.coupling_rows import CouplingRows, check_bounds
from tensorphys_usd.errors import StageError
from tensorphys_usd.joints import StageJoints
from tensorphys_usd.stage import Reading

_RADIANS = float(np.pi / 180.0)
# Of a tendon of another source format only.
_PLAIN = {
    "dead_band": 0.0,
    "friction": 0.0,
    "armature": 0.0,
    "max_force": float("inf"),
    "hard_limits": False,
}
# Joint in stage order and position of the degree of freedom within it.
AxisKey = tuple[int, int]


class StageCouplings:
    """All couplings of degrees of freedom of a stage.

    Attributes:
        mimic_joints, joint_couplings, fixed_tendons, fixed_tendon_axes: Rows by table.
    """

    def __init__(self, reading: Reading, joints: StageJoints, articulations: StageArticulations) -> None:
        self.mimic_joints = CouplingRows()
        self.joint_couplings = CouplingRows()
        self.fixed_tendons = CouplingRows()
        self.fixed_tendon_axes = CouplingRows()
        self._reading = reading
        self._joints = joints
        self._tree_of = {
            joint: index
            for index, tree in enumerate(articulations.trees)
            for link in tree.links
            for joint in link.joints
        }
        for joint, path in enumerate(joints.paths):
            attributes = reading.attributes(path)
            if attributes.names:
                self._mimic(joint, path, attributes)
                self._gear(joint, path, attributes)
        self._tendons()

    def _mimic(self, joint: int, path: Sdf.Path, attributes: Attributes) -> None:
        schemas = attributes.instances("PhysxMimicJointAPI")
        for instance in dict.fromkeys((*schemas, *attributes.spaces("physxMimicJoint:"))):
            prefix = f"physxMimicJoint:{instance}:"
            targets = attributes.targets(f"{prefix}referenceJoint")
            token = attributes.token(f"{prefix}referenceJointAxis", "rotX")
            numbers = {
                "gearing": attributes.number(f"{prefix}gearing", 1.0),
                "offset": attributes.number(f"{prefix}offset", 0.0),
                "natural_frequency": attributes.number(f"{prefix}naturalFrequency", 0.0),
                "damping_ratio": attributes.number(f"{prefix}dampingRatio", 0.0),
                "enabled": True,
            }
            self._follow(joint, path, instance, targets, token, numbers)
        if attributes.applied("NewtonMimicAPI") or attributes.has("newton:mimicJoint"):
            # This schema says q = coefficient 0 + coefficient 1 · q of the reference, in the stage's own units.
            numbers = {
                "gearing": -attributes.number("newton:mimicCoef1", 1.0),
                "offset": -attributes.number("newton:mimicCoef0", 0.0),
                "natural_frequency": 0.0,
                "damping_ratio": 0.0,
                "enabled": attributes.flag("newton:mimicEnabled", True),
            }
            self._follow(joint, path, "", attributes.targets("newton:mimicJoint"), "", numbers)

    def _follow(
        self,
        joint: int,
        path: Sdf.Path,
        instance: str,
        targets: list[Sdf.Path],
        token: str,
        numbers: dict[str, Any],
    ) -> None:
        reference = self._joints.row.get(targets[0]) if targets else None
        if reference is None:
            named = f"{targets[0]}, which is no joint" if targets else "no joint"
            self._reading.report.add(path, f"mimic joint that follows {named}: ignored")
            return
        own, other = self._axis(joint, instance), self._axis(reference, token)
        if own is None or other is None:
            lacking = path if own is None else targets[0]
            self._reading.report.add(
                path, f"mimic joint: {lacking} has no such degree of freedom to couple: ignored"
            )
            return
        if own == other:
            self._reading.report.add(path, "mimic joint that follows itself: ignored")
            return
        unit, reference_unit = self._unit(own), self._unit(other)
        _check_finite(path, "mimic joint", numbers)
        numbers = {
            **numbers,
            "gearing": numbers["gearing"] * unit / reference_unit,
            "offset": numbers["offset"] * unit,
        }
        self.mimic_joints.add(path, axis=own, reference=other, **numbers)

    def _axis(self, joint: int, token: str) -> AxisKey | None:
        """The degree of freedom that a token names; that of a joint with one whatever the token says."""
        axes = self._joints.axes[joint]
        if len(axes) == 1:
            return joint, 0
        for index, axis in enumerate(axes):
            if TOKENS.get(token) is axis.axis:
                return joint, index
        return None

    def _unit(self, key: AxisKey) -> float:
        return self._joints.axes[key[0]][key[1]].unit

    def _gear(self, joint: int, path: Sdf.Path, attributes: Attributes) -> None:
        kind = self._reading.type_of(path)[0]
        if kind == "PhysxPhysicsGearJoint":
            names, ratio = ("physics:hinge0", "physics:hinge1"), attributes.number("physics:gearRatio", 1.0)
        elif kind == "PhysxPhysicsRackAndPinionJoint":
            names = ("physics:hinge", "physics:prismatic")
            ratio = attributes.number("physics:ratio", 1.0) * _RADIANS
        else:
            return
        _check_finite(path, kind, {"ratio": ratio})
        coupled = []
        for name in names:
            targets = attributes.targets(name)
            row = self._joints.row.get(targets[0], -1) if targets else -1
            if row < 0:
                self._reading.report.add(path, f"{kind}: {name} names no joint")
            coupled.append(row)
        self.joint_couplings.add(path, joint=joint, joint0=coupled[0], joint1=coupled[1], ratio=ratio)

    def _tendons(self) -> None:
        tendon_of: dict[tuple[int, str], int] = {}
        carried: list[tuple[int, Sdf.Path, str]] = []
        for joint, path in enumerate(self._joints.paths):
            attributes = self._reading.attributes(path)
            roots = attributes.instances("PhysxTendonAxisRootAPI")
            for name in dict.fromkeys((*roots, *attributes.instances("PhysxTendonAxisAPI"))):
                key = (self._tree_of.get(joint, -1), name)
                if key[0] < 0:
                    attributes.use_prefix(f"physxTendon:{name}:")
                    self._reading.report.add(
                        path, f"fixed tendon {name}: the joint is in no articulation: ignored"
                    )
                    continue
                carried.append((joint, path, name))
                if name not in roots:
                    continue
                if key in tendon_of:
                    self._reading.report.add(path, f"fixed tendon {name} has a second root: ignored")
                    continue
                tendon_of[key] = self._tendon(path, name, attributes)
        for joint, path, name in carried:
            self._tendon_axis(joint, path, name, tendon_of.get((self._tree_of[joint], name)))
        self._drop_empty_tendons()

    def _tendon(self, path: Sdf.Path, name: str, attributes: Attributes) -> int:
        prefix = f"physxTendon:{name}:"
        numbers = {
            "stiffness": attributes.number(f"{prefix}stiffness", 0.0),
            "damping": attributes.number(f"{prefix}damping", 0.0),
            "limit_stiffness": attributes.number(f"{prefix}limitStiffness", 0.0),
            "rest_length": attributes.number(f"{prefix}restLength", 0.0),
            "offset": attributes.number(f"{prefix}offset", 0.0),
        }
        _check_finite(path, f"fixed tendon {name}", numbers)
        lower = attributes.number(f"{prefix}lowerLimit", float("-inf"))
        upper = attributes.number(f"{prefix}upperLimit", float("inf"))
        check_bounds(path, f"fixed tendon {name}", lower, upper)
        enabled = attributes.flag(f"{prefix}tendonEnabled", True)
        self.fixed_tendons.names.append(name)
        return self.fixed_tendons.add(path, lower=lower, upper=upper, enabled=enabled, **_PLAIN, **numbers)

    def _tendon_axis(self, joint: int, path: Sdf.Path, name: str, tendon: int | None) -> None:
        attributes = self._reading.attributes(path)
        prefix = f"physxTendon:{name}:"
        gearing = _first(attributes, f"{prefix}gearing")
        coefficient = _first(attributes, f"{prefix}forceCoefficient")
        tokens = attributes.tokens(f"{prefix}jointAxis")
        key = self._axis(joint, tokens[0] if tokens else "rotX")
        if tendon is None:
            self._reading.report.add(path, f"fixed tendon {name} has no root: ignored")
        elif key is None:
            self._reading.report.add(
                path, f"fixed tendon {name}: the joint has no such degree of freedom: ignored"
            )
        else:
            self.fixed_tendon_axes.add(
                path,
                tendon=tendon,
                axis=key,
                gearing=gearing / self._unit(key),
                force_coefficient=coefficient,
            )

    def _drop_empty_tendons(self) -> None:
        used = set(self.fixed_tendon_axes.columns.get("tendon", ()))
        kept = [row for row in range(len(self.fixed_tendons.paths)) if row in used]
        if len(kept) == len(self.fixed_tendons.paths):
            return
        table = self.fixed_tendons
        for row in set(range(len(table.paths))) - set(kept):
            self._reading.report.add(
                table.paths[row], f"fixed tendon {table.names[row]} runs over nothing: ignored"
            )
        self.fixed_tendons = CouplingRows(
            [table.paths[row] for row in kept],
            {name: [values[row] for row in kept] for name, values in table.columns.items()},
            [table.names[row] for row in kept],
        )
        number = {row: new for new, row in enumerate(kept)}
        columns = self.fixed_tendon_axes.columns
        columns["tendon"] = [number[row] for row in columns.get("tendon", ())]


def _first(attributes: Attributes, name: str) -> float:
    """First of an array of numbers, one per axis of a joint; tendons run over joints with one axis."""
    values = attributes.numbers(name, (1.0,))
    return float(values[0]) if values.size else 1.0


def _check_finite(path: Sdf.Path, what: str, numbers: dict[str, Any]) -> None:
    for name, value in numbers.items():
        if not np.isfinite(value):
            raise StageError(f"{path}: {name} of the {what} is {value}")
