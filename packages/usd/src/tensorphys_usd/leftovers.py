"""Physics schemas and attributes that nothing used."""

from __future__ import annotations

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
    for path, prim in zip(reading.paths, reading.prims, strict=True):
        kind = str(prim.GetTypeName())
        if path not in shapes and not soft.owns(path) and prim.HasAPI(UsdPhysics.CollisionAPI):
            text = f"PhysicsCollisionAPI on a prim of type {kind or 'none'}, which is no collider: ignored"
            reading.report.add(path, text)
        if kind.startswith(("Mjc", "Newton", "Physx")) and not (
            kind in ("MjcActuator", "MjcTendon") or is_coupling_joint(kind) or path in known
        ):
            reading.report.add(path, f"prims of type {kind} are not supported: ignored")
        _report_types(reading, path, prim)
        if reading.has_unused(path):
            _report_attributes(reading, path)


def _report_types(reading: Reading, path: Sdf.Path, prim: Usd.Prim) -> None:
    """Report values that OpenUSD's parser dropped, since their type is not the one that the schema says."""
    definition = prim.GetPrimDefinition()
    for name in reading.used(path):
        expected = definition.GetAttributeFallbackValue(name)
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
