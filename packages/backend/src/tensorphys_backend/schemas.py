"""What is authored on a stage for this engine, and the ground.

The vendor's applied schemas are authored by name: their attributes are what the parser reads, and need no plug-in.
"""

from __future__ import annotations

from typing import Any

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tensorphys_backend.errors import PrimPathError
from tensorphys_backend.paths import is_prim_path

__all__ = [
    "CollisionSettings",
    "applied_schemas",
    "apply_articulation",
    "apply_collision",
    "apply_contact_report",
    "apply_rigid_body",
    "collision_settings",
    "configure_approximation",
    "define_ground",
    "is_mimic",
    "strip_articulation",
]

_MIMIC = ("PhysxMimicJointAPI", "NewtonMimicAPI")
_APPROXIMATION_SCHEMAS = {
    "convexHull": "PhysxConvexHullCollisionAPI",
    "convexDecomposition": "PhysxConvexDecompositionCollisionAPI",
    "meshSimplification": "PhysxTriangleMeshSimplificationCollisionAPI",
    "sdf": "PhysxSDFMeshCollisionAPI",
    "none": "PhysxTriangleMeshCollisionAPI",
    "boundingCube": "",
    "boundingSphere": "",
}
# The vendor cooks hulls of at most 64 vertices, and of 60 without warnings.
_HULL_VERTICES = 60


class CollisionSettings:
    """Settings of a collider that UsdPhysics has no attributes for; made by :func:`collision_settings`.

    Args:
        prim: The collider.
    """

    def __init__(self, prim: Usd.Prim) -> None:
        self._prim = prim

    def GetPrim(self) -> Usd.Prim:
        """The collider."""
        return self._prim

    def GetContactOffsetAttr(self) -> Usd.Attribute:
        """Distance below which contacts are made [m]; an invalid attribute where it was never authored."""
        return self._prim.GetAttribute("physxCollision:contactOffset")

    def CreateContactOffsetAttr(self, value: float | None = None) -> Usd.Attribute:
        """That attribute, made and set where a value is given."""
        return self._create("physxCollision:contactOffset", value)

    def GetRestOffsetAttr(self) -> Usd.Attribute:
        """Distance at which the collider rests [m]; an invalid attribute where it was never authored."""
        return self._prim.GetAttribute("physxCollision:restOffset")

    def CreateRestOffsetAttr(self, value: float | None = None) -> Usd.Attribute:
        """That attribute, made and set where a value is given."""
        return self._create("physxCollision:restOffset", value)

    def _create(self, name: str, value: float | None) -> Usd.Attribute:
        attribute = self._prim.CreateAttribute(name, Sdf.ValueTypeNames.Float, False)
        if value is not None:
            attribute.Set(float(value))
        return attribute


def collision_settings(prim: Usd.Prim) -> CollisionSettings | None:
    """Settings of a collider, None of what is none."""
    if not prim.HasAPI(UsdPhysics.CollisionAPI):
        return None
    prim.AddAppliedSchema("PhysxCollisionAPI")
    return CollisionSettings(prim)


def apply_rigid_body(prim: Usd.Prim) -> None:
    """Apply the schema with thresholds of sleep and damping, whose defaults hold from then on."""
    prim.AddAppliedSchema("PhysxRigidBodyAPI")


def apply_collision(prim: Usd.Prim) -> None:
    """Apply the schema with contact offsets."""
    prim.AddAppliedSchema("PhysxCollisionAPI")


def configure_approximation(prim: Usd.Prim, approximation: str) -> None:
    """Apply the schema of an approximation, and bound the vertices of hulls.

    Raises:
        ValueError: The approximation is none.
    """
    if approximation not in _APPROXIMATION_SCHEMAS:
        known = ", ".join(_APPROXIMATION_SCHEMAS)
        raise ValueError(f"{prim.GetPath()}: approximation {approximation!r} is none of {known}")
    schema = _APPROXIMATION_SCHEMAS[approximation]
    if schema:
        prim.AddAppliedSchema(schema)
    if approximation == "convexHull":
        name = "physxConvexHullCollision:hullVertexLimit"
        prim.CreateAttribute(name, Sdf.ValueTypeNames.Int, False).Set(_HULL_VERTICES)


def apply_articulation(prim: Usd.Prim, self_collisions: bool) -> None:
    """Apply the schema of articulations with their self-collisions."""
    prim.AddAppliedSchema("PhysxArticulationAPI")
    name = "physxArticulation:enabledSelfCollisions"
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Bool, False).Set(bool(self_collisions))


def strip_articulation(prim: Usd.Prim) -> None:
    """Take off what :func:`apply_articulation` authored."""
    prim.RemoveAppliedSchema("PhysxArticulationAPI")
    prim.RemoveProperty("physxArticulation:enabledSelfCollisions")


def apply_contact_report(prim: Usd.Prim) -> None:
    """Apply the schema of contact reports with a threshold of zero."""
    prim.AddAppliedSchema("PhysxContactReportAPI")
    name = "physxContactReport:threshold"
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Float, False).Set(0.0)


def applied_schemas(prim: Usd.Prim) -> set[str]:
    """Names of applied schemas without their instances; those that no plug-in knows are among them."""
    names = [str(name) for name in prim.GetAppliedSchemas()]
    authored = prim.GetMetadata("apiSchemas")
    if authored is not None:
        names += [str(name) for name in authored.GetAddedOrExplicitItems()]
    return {name.partition(":")[0] for name in names}


def is_mimic(prim: Usd.Prim) -> bool:
    """Whether a joint follows another one."""
    applied = applied_schemas(prim)
    return any(name in applied for name in _MIMIC) or bool(prim.GetRelationship("newton:mimicJoint"))


def define_ground(stage: Usd.Stage, path: str, *, visible: bool, color: Any, size: float = 50.0) -> Usd.Prim:
    """Define a ground: an infinite static plane through the origin, and a square that shows it.

    Args:
        stage: The stage.
        path: Prim to define; the collider is ``collisionPlane`` below it.
        visible: Whether the square is shown.
        color: Red, green and blue from 0 to 1; None for grey.
        size: Half of the side of the square [m].

    Raises:
        PrimPathError: The path is none of a prim, or taken.
    """
    if not is_prim_path(path):
        raise PrimPathError(
            f"{path}: the path of a ground must be that of a prim, such as /World/ground_plane"
        )
    if stage.GetPrimAtPath(f"{path}/collisionPlane"):
        raise PrimPathError(f"{path}/collisionPlane: there is such a prim already")
    up = str(UsdGeom.GetStageUpAxis(stage))
    half = size / UsdGeom.GetStageMetersPerUnit(stage)
    UsdGeom.Xform.Define(stage, path)
    plane = UsdGeom.Plane.Define(stage, f"{path}/collisionPlane")
    plane.CreateAxisAttr(up)
    plane.CreatePurposeAttr(UsdGeom.Tokens.guide)
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
    apply_collision(plane.GetPrim())
    square = UsdGeom.Mesh.Define(stage, f"{path}/surface")
    corners = ((-half, -half), (half, -half), (half, half), (-half, half))
    # Counter-clockwise from above, along either up axis.
    places = [(x, y, 0.0) if up == "Z" else (y, 0.0, x) for x, y in corners]
    square.CreatePointsAttr([Gf.Vec3f(*place) for place in places])
    square.CreateFaceVertexCountsAttr([4])
    square.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    square.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(square.GetPointsAttr().Get()))
    tint = (0.5, 0.5, 0.5) if color is None else tuple(float(value) for value in color)
    square.CreateDisplayColorAttr([Gf.Vec3f(*tint)])
    if not visible:
        square.MakeInvisible()
    return plane.GetPrim()
