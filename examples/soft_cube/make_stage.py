"""Write soft_cube.usda: a Panda above a table with a soft cube of 0.2 kg on it.

python examples/soft_cube/make_stage.py
"""

from __future__ import annotations

import pathlib

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from tensorphys_fem import box_mesh

EDGE = 0.05
PLACE = (0.4336, 0.0, 0.439)
FILE = pathlib.Path(__file__).with_name("soft_cube.usda")
_FLOAT = Sdf.ValueTypeNames.Float


def main() -> None:
    """Write the stage."""
    stage = Usd.Stage.CreateNew(str(FILE))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/scene")
    stage.DefinePrim("/panda").GetReferences().AddReference("../panda/panda.usdc")
    for prim in stage.Traverse():
        angular, linear = prim.IsA(UsdPhysics.RevoluteJoint), prim.IsA(UsdPhysics.PrismaticJoint)
        if angular or linear:
            drive = UsdPhysics.DriveAPI.Apply(prim, "angular" if angular else "linear")
            drive.CreateTypeAttr("force")
            # an angle is in degrees here
            drive.CreateStiffnessAttr(np.radians(4000.0) if angular else 2000.0)
            drive.CreateDampingAttr(np.radians(400.0) if angular else 100.0)
            drive.CreateMaxForceAttr(87.0 if angular else 10.0)
    mesh = box_mesh((3, 3, 3), EDGE / 3, origin=(-EDGE / 2,) * 3)
    cube = UsdGeom.TetMesh.Define(stage, "/cube")
    cube.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(mesh.points.astype(np.float32)))
    cube.CreateTetVertexIndicesAttr(Vt.Vec4iArray.FromNumpy(mesh.tets.astype(np.int32)))
    cube.AddTranslateOp().Set(Gf.Vec3d(*PLACE))
    for schema in ("OmniPhysicsDeformableBodyAPI", "OmniPhysicsVolumeDeformableSimAPI"):
        cube.GetPrim().AddAppliedSchema(schema)
    cube.GetPrim().CreateAttribute("omniphysics:mass", _FLOAT).Set(0.2)
    rubber = UsdShade.Material.Define(stage, "/rubber")
    rubber.GetPrim().AddAppliedSchema("OmniPhysicsDeformableMaterialAPI")
    for name, value in (("youngsModulus", 5.0e4), ("poissonsRatio", 0.4), ("dynamicFriction", 0.7)):
        rubber.GetPrim().CreateAttribute(f"omniphysics:{name}", _FLOAT).Set(value)
    binding = UsdShade.MaterialBindingAPI.Apply(cube.GetPrim())
    binding.Bind(rubber, UsdShade.Tokens.weakerThanDescendants, "physics")
    table = UsdGeom.Cube.Define(stage, "/table")
    table.CreateSizeAttr(1.0)
    table.AddTranslateOp().Set(Gf.Vec3d(PLACE[0], PLACE[1], PLACE[2] - EDGE / 2 - 0.01))
    table.AddScaleOp().Set(Gf.Vec3f(0.1, 0.1, 0.02))
    UsdPhysics.CollisionAPI.Apply(table.GetPrim())
    stage.GetRootLayer().Save()


if __name__ == "__main__":
    main()
