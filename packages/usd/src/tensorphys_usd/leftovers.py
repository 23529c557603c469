"""Physics schemas and attributes that nothing used."""

from __future__ import annotations

from pxr import Usd, UsdPhysics

from tensorphys_usd.attributes import is_physics
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.stage import Reading

_NOT_APPLIED = {
    "physics:mass": "PhysicsMassAPI",
    "physics:density": "PhysicsMassAPI",
    "physics:centerOfMass": "PhysicsMassAPI",
    "physics:diagonalInertia": "PhysicsMassAPI",
    "physics:principalAxes": "PhysicsMassAPI",
}


def report_leftovers(reading: Reading, descriptors: Descriptors) -> None:
    """Report every authored physics schema or attribute that no part of the parser used, by prim."""
    shapes = {path for path, _ in descriptors.shapes}
    for path, prim in zip(reading.paths, reading.prims, strict=True):
        if path not in shapes and prim.HasAPI(UsdPhysics.CollisionAPI):
            reading.report.add(
                path, f"PhysicsCollisionAPI on a prim of type {_type(prim)}, which is no collider: ignored"
            )
        if not any(is_physics(name) for name in prim.GetAuthoredPropertyNames()):
            continue
        attributes = reading.attributes(path)
        for name in attributes.unused():
            schema = _NOT_APPLIED.get(name)
            if schema and not attributes.applied(schema):
                reading.report.add(path, f"{name} is ignored: {schema} is not applied")
            elif schema:
                # The schema is applied to a prim whose mass nobody needs, such as a static collider.
                continue
            else:
                reading.report.add(path, f"{name} is not supported: ignored")
        kind = str(prim.GetTypeName())
        if kind.startswith(("Mjc", "Newton", "Physx")) and kind != "MjcActuator":
            reading.report.add(path, f"prims of type {kind} are not supported: ignored")


def _type(prim: Usd.Prim) -> str:
    return str(prim.GetTypeName()) or "none"
