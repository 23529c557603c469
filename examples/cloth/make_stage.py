"""Write cloth_over_sphere.usda: a square cloth of 32 × 32 particles above a ball that stands on the ground.

python examples/cloth/make_stage.py
"""

from __future__ import annotations

import pathlib

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

SIDE = 32
SIZE = 1.2
HEIGHT = 0.85
RADIUS = 0.3
FILE = pathlib.Path(__file__).with_name("cloth_over_sphere.usda")
_TYPES = Sdf.ValueTypeNames


def main() -> None:
    """Write the stage."""
    stage = Usd.Stage.CreateNew(str(FILE))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
    UsdPhysics.Scene.Define(stage, "/World/PhysicsScene")
    ground = UsdGeom.Plane.Define(stage, "/World/Ground")
    ground.CreateAxisAttr("Z")
    ball = UsdGeom.Sphere.Define(stage, "/World/Ball")
    ball.CreateRadiusAttr(RADIUS)
    ball.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.5))
    for shape in (ground, ball):
        UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    system = stage.DefinePrim("/World/System", "PhysxParticleSystem")
    system.CreateAttribute("particleContactOffset", _TYPES.Float).Set(0.02)
    system.CreateAttribute("solverPositionIterationCount", _TYPES.Int).Set(64)
    fabric = UsdShade.Material.Define(stage, "/World/Fabric")
    fabric.GetPrim().AddAppliedSchema("PhysxPBDMaterialAPI")
    for name, value in (("friction", 0.6), ("damping", 0.5)):
        fabric.GetPrim().CreateAttribute(f"physxPBDMaterial:{name}", _TYPES.Float).Set(value)
    cloth = UsdGeom.Mesh.Define(stage, "/World/Cloth")
    line = np.linspace(-0.5 * SIZE, 0.5 * SIZE, SIDE)
    x, y = np.meshgrid(line, line, indexing="ij")
    points = np.stack((x, y, np.zeros_like(x)), axis=-1).reshape(-1, 3)
    cloth.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
    first = (np.arange(SIDE - 1)[:, None] * SIDE + np.arange(SIDE - 1)).ravel()
    corners = np.stack((first, first + SIDE, first + SIDE + 1, first, first + SIDE + 1, first + 1), axis=-1)
    cloth.CreateFaceVertexCountsAttr([3] * (2 * len(first)))
    cloth.CreateFaceVertexIndicesAttr(corners.ravel().tolist())
    cloth.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, HEIGHT))
    prim = cloth.GetPrim()
    for schema in ("PhysxParticleClothAPI", "PhysxAutoParticleClothAPI"):
        prim.AddAppliedSchema(schema)
    prim.CreateRelationship("physxParticle:particleSystem").SetTargets([system.GetPath()])
    for kind, stiffness in (("Stretch", 1.0e4), ("Shear", 100.0), ("Bend", 50.0)):
        prim.CreateAttribute(f"physxAutoParticleCloth:spring{kind}Stiffness", _TYPES.Float).Set(stiffness)
    prim.CreateAttribute("physxAutoParticleCloth:springDamping", _TYPES.Float).Set(0.2)
    UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(0.3)
    binding = UsdShade.MaterialBindingAPI.Apply(prim)
    binding.Bind(fabric, UsdShade.Tokens.weakerThanDescendants, "physics")
    stage.GetRootLayer().Save()


if __name__ == "__main__":
    main()
