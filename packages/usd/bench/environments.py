"""Time and memory of parsing many environments of an 8-DOF arm, about 20 prims each.

Usage: ``python packages/usd/bench/environments.py [COUNT] [--form referenced|authored|different]``
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tensorphys_usd import parse_stage

_DOFS = 8


def author_arm(stage: Usd.Stage, root: str, density: float) -> None:
    """Author an arm of capsules on a fixed base below a prim."""
    for index in range(_DOFS + 1):
        link = UsdGeom.Xform.Define(stage, f"{root}/link{index}")
        link.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.25 * index))
        UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
        UsdPhysics.MassAPI.Apply(link.GetPrim()).CreateDensityAttr(density)
        capsule = UsdGeom.Capsule.Define(stage, f"{root}/link{index}/collider")
        capsule.CreateRadiusAttr(0.05)
        capsule.CreateHeightAttr(0.125)
        UsdPhysics.CollisionAPI.Apply(capsule.GetPrim())
        if index == 0:
            joint = UsdPhysics.FixedJoint.Define(stage, f"{root}/link0/joint")
        else:
            joint = UsdPhysics.RevoluteJoint.Define(stage, f"{root}/link{index}/joint")
            joint.CreateAxisAttr("XYZ"[index % 3])
            joint.CreateBody0Rel().SetTargets([f"{root}/link{index - 1}"])
            joint.CreateLocalPos0Attr(Gf.Vec3f(0.0, 0.0, 0.25))
            drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular")
            drive.CreateStiffnessAttr(10.0)
            drive.CreateDampingAttr(1.0)
        joint.CreateBody1Rel().SetTargets([f"{root}/link{index}"])
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(f"{root}/link0"))


def author(count: int, form: str, folder: Path) -> Usd.Stage:
    """A stage of many arms."""
    arm = Usd.Stage.CreateNew(str(folder / "arm.usda"))
    author_arm(arm, "/arm", 1000.0)
    arm.GetRootLayer().Save()
    source = arm.GetRootLayer()
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.Scene.Define(stage, "/scene")
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Plane.Define(stage, "/ground").GetPrim())
    UsdGeom.Scope.Define(stage, "/World/envs")
    layer = stage.GetRootLayer()
    with Sdf.ChangeBlock():
        for index in range(count):
            root = Sdf.CreatePrimInLayer(layer, f"/World/envs/env_{index}")
            root.specifier, root.typeName = Sdf.SpecifierDef, "Xform"
            place = Sdf.AttributeSpec(root, "xformOp:translate", Sdf.ValueTypeNames.Double3)
            place.default = Gf.Vec3d(2.0 * (index % 64), 2.0 * (index // 64), 0.0)
            order = Sdf.AttributeSpec(
                root, "xformOpOrder", Sdf.ValueTypeNames.TokenArray, Sdf.VariabilityUniform
            )
            order.default = ["xformOp:translate"]
            if form == "referenced":
                prim = Sdf.CreatePrimInLayer(layer, f"{root.path}/arm")
                prim.specifier = Sdf.SpecifierDef
                prim.referenceList.Prepend(Sdf.Reference(str(folder / "arm.usda"), "/arm"))
            else:
                Sdf.CopySpec(source, "/arm", layer, f"{root.path}/arm")
            if form == "different":
                path = f"{root.path}/arm/link4.physics:density"
                layer.GetAttributeAtPath(path).default = 1000.0 + index
    return stage


def main() -> None:
    """Parse and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1024)
    parser.add_argument("--form", choices=("referenced", "authored", "different"), default="referenced")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stage = author(arguments.count, arguments.form, Path(folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, busy = time.perf_counter(), time.process_time()
        scene = parse_stage(stage, environments="/World/envs/env_*")
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    prims = len(scene.templates[0].prims) * arguments.count
    print(
        f"{arguments.form}: {arguments.count} environments, {prims} prims, {len(scene.templates)} templates, "
        f"{len(scene.overrides)} columns that differ: {seconds:.2f} s ({busy:.2f} s of CPU), "
        f"{after / 1024:.0f} MiB in all, {(after - before) / 1024:.0f} MiB of it while parsing"
    )


if __name__ == "__main__":
    main()
