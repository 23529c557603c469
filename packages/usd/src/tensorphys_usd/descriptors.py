"""OpenUSD's own physics parser, and every correction of what it returns.

Corrections made here or by the modules named:
- The parser may be called by either of two names; the older one warns where the newer one exists.
- Descriptors come grouped by kind; they are put into stage order here, since link and DOF order follow it.
- Poses, joint frames and sizes in descriptors are float32: `bodies`, `shapes` and `joints` take them from the prims
  in float64 by the same rules.
- `ArticulationDesc` lists joints that are excluded from articulations, and two roots in one tree each list all of
  it: `articulations` builds the trees from the joints, and takes only the choice of the root link from here.
- Mass computation in OpenUSD does not see instance proxies: `masses` computes it from the shapes.
- A joint whose targets do not exist is returned as one to the world: `joints` refuses it.
"""

from __future__ import annotations

from typing import Any

from pxr import Sdf, Tf, Usd, UsdPhysics

from tensorphys_usd.errors import StageError
from tensorphys_usd.geometry_values import bad_transform
from tensorphys_usd.stage import Reading

# One row: prim path and the parser's descriptor.
Row = tuple[Sdf.Path, Any]

_SHAPES = (
    "SphereShape",
    "CubeShape",
    "CapsuleShape",
    "Capsule1Shape",
    "CylinderShape",
    "Cylinder1Shape",
    "ConeShape",
    "PlaneShape",
    "MeshShape",
    "SpherePointsShape",
    "CustomShape",
)
_JOINTS = (
    "FixedJoint",
    "RevoluteJoint",
    "PrismaticJoint",
    "SphericalJoint",
    "DistanceJoint",
    "D6Joint",
    "CustomJoint",
)


def _load(stage: Usd.Stage, skip: list[str]) -> dict[Any, Any]:
    load = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
    if load is None:
        load = UsdPhysics.LoadUsdPhysicsFromRange
    return load(stage, ["/"], skip) if skip else load(stage, ["/"])


class Descriptors:
    """Descriptors of one stage by kind, each kind in stage order.

    Attributes:
        scenes, bodies, shapes, joints, materials, groups, articulations: Rows of (prim path, descriptor).
    """

    def __init__(self, reading: Reading) -> None:
        try:
            loaded = _load(reading.stage, [str(path) for path in reading.skip])
        except Tf.ErrorException as error:
            # It reads transforms, and stops where one is of a wrong type.
            culprits = (bad_transform(prim) for prim in reading.prims)
            reason = f"OpenUSD's physics parser: {' '.join(str(error).split())}"
            raise StageError(next(filter(None, culprits), reason)) from None
        self._order = reading.order
        self.scenes = self._rows(loaded, ("Scene",))
        self.bodies = self._rows(loaded, ("RigidBody",))
        self.shapes = self._rows(loaded, _SHAPES)
        self.joints = self._rows(loaded, _JOINTS)
        self.materials = self._rows(loaded, ("RigidBodyMaterial",))
        self.groups = self._rows(loaded, ("CollisionGroup",))
        self.articulations = self._rows(loaded, ("Articulation",))

    def _rows(self, loaded: dict[Any, Any], kinds: tuple[str, ...]) -> list[Row]:
        rows: list[Row] = []
        for kind in kinds:
            key = getattr(UsdPhysics.ObjectType, kind, None)
            if key is None or key not in loaded:
                continue
            paths, descriptors = loaded[key]
            rows.extend(zip(paths, descriptors, strict=True))
        last = len(self._order)
        rows.sort(key=lambda row: self._order.get(row[0], last))
        return rows
