"""Gear and rack joints as descriptors; OpenUSD's parser does not know their vendor types."""

from __future__ import annotations

from dataclasses import dataclass

from pxr import Sdf, UsdPhysics

from tensorphys_usd.stage import Reading


@dataclass(frozen=True)
class GearJointDesc:
    """What the parser says of every joint."""

    rel0: Sdf.Path
    rel1: Sdf.Path
    body0: Sdf.Path
    body1: Sdf.Path
    jointEnabled: bool
    collisionEnabled: bool
    excludeFromArticulation: bool
    breakForce: float
    breakTorque: float


class RackAndPinionJointDesc(GearJointDesc):
    """As a gear joint."""


_KINDS: dict[str, type[GearJointDesc]] = {
    "PhysxPhysicsGearJoint": GearJointDesc,
    "PhysxPhysicsRackAndPinionJoint": RackAndPinionJointDesc,
}


def is_coupling_joint(kind: str) -> bool:
    """Whether a prim type is a gear or a rack joint."""
    return kind in _KINDS


def coupling_joints(reading: Reading) -> list[tuple[Sdf.Path, GearJointDesc]]:
    """Gear and rack joints of a stage, in stage order."""
    rows = []
    found = [(path, name, kind) for name, kind in _KINDS.items() for path, _ in reading.of_type(name)]
    found.sort(key=lambda row: reading.order[row[0]])
    for path, name, kind in found:
        attributes = reading.attributes(path)
        ends = []
        for side in ("physics:body0", "physics:body1"):
            targets = attributes.targets(side)
            ends.append(targets[0] if targets else Sdf.Path.emptyPath)
        if not any(ends):
            reading.report.add(path, f"{name} without bodies is left out")
            attributes.use_prefix("physics:")
            continue
        rows.append(
            (
                path,
                kind(
                    rel0=ends[0],
                    rel1=ends[1],
                    body0=_body(reading, ends[0]),
                    body1=_body(reading, ends[1]),
                    jointEnabled=attributes.flag("physics:jointEnabled", True),
                    collisionEnabled=attributes.flag("physics:collisionEnabled", False),
                    excludeFromArticulation=attributes.flag("physics:excludeFromArticulation", False),
                    breakForce=attributes.number("physics:breakForce", float("inf")),
                    breakTorque=attributes.number("physics:breakTorque", float("inf")),
                ),
            )
        )
    return rows


def _body(reading: Reading, target: Sdf.Path) -> Sdf.Path:
    """The rigid body at or above a target."""
    if target.isEmpty:
        return target
    for path in reversed(target.GetPrefixes()):
        if path in reading.order and reading.prim(path).HasAPI(UsdPhysics.RigidBodyAPI):
            return path
    return Sdf.Path.emptyPath
