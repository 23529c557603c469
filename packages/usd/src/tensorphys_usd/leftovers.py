"""Physics schemas and attributes that nothing used."""

from __future__ import annotations

from typing import Any

from pxr import Sdf, Usd, UsdPhysics

from tensorphys_usd.coupling_joints import is_coupling_joint
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.soft import StageSoft
from tensorphys_usd.stage import Reading

_NOT_APPLIED = {
    "physics:mass": "PhysicsMassAPI",
    "physics:density": "PhysicsMassAPI",
    "physics:centerOfMass": "PhysicsMassAPI",
    "physics:diagonalInertia": "PhysicsMassAPI",
    "physics:principalAxes": "PhysicsMassAPI",
}


def report_leftovers(reading: Reading, descriptors: Descriptors, soft: StageSoft) -> None:
    """Report every authored physics schema or attribute that no part of the parser used, by prim."""
    shapes = {path for path, _ in descriptors.shapes}
    known = set(soft.paths)
    for (kind, *_), rows in reading.types.items():
        first = reading.prims[rows[0]]
        if first.HasAPI(UsdPhysics.CollisionAPI):
            for path in (reading.paths[row] for row in rows):
                if path not in shapes and not soft.owns(path):
                    text = f"PhysicsCollisionAPI on a prim of type {kind or 'none'}, which is no collider: ignored"
                    reading.report.add(path, text)
        if kind.startswith(("Mjc", "Newton", "Physx")) and not (
            kind in ("MjcActuator", "MjcTendon") or is_coupling_joint(kind)
        ):
            for path in (reading.paths[row] for row in rows):
                if path not in known:
                    reading.report.add(path, f"prims of type {kind} are not supported: ignored")
        fallbacks = _Fallbacks(first)
        for row in rows:
            _report_types(reading, reading.paths[row], reading.prims[row], fallbacks)
    for path in reading.paths:
        if reading.has_unused(path):
            _report_attributes(reading, path)


class _Fallbacks(dict[str, Any]):
    """Fallbacks of the attributes of prims of one type, None where it has none; filled as they are asked for."""

    def __init__(self, prim: Usd.Prim) -> None:
        self._definition = prim.GetPrimDefinition()

    def __missing__(self, name: str) -> Any:
        value = self[name] = self._definition.GetAttributeFallbackValue(name)
        return value


def _report_types(reading: Reading, path: Sdf.Path, prim: Usd.Prim, fallbacks: _Fallbacks) -> None:
    """Report values that OpenUSD's parser dropped, since their type is not the one that the schema says."""
    for name in sorted(reading.passed(path)):
        expected = fallbacks[name]
        if expected is None:
            continue
        value = prim.GetAttribute(name).Get()
        same = type(value) is type(expected) or (
            isinstance(value, (int, float)) and isinstance(expected, (int, float))
        )
        if value is not None and not same:
            shown = " ".join(str(value).split())[:80]
            reading.report.add(path, f"{name} is {shown}, which is not of the type of the schema: ignored")


def _report_attributes(reading: Reading, path: Sdf.Path) -> None:
    attributes = reading.attributes(path)
    for name in attributes.unused():
        schema = _NOT_APPLIED.get(name)
        if schema is None:
            reading.report.add(path, f"{name} is not supported: ignored")
        elif not attributes.applied(schema):
            reading.report.add(path, f"{name} is ignored: {schema} is not applied")
        # Where the schema is applied nobody needs the mass, as on a static collider.
