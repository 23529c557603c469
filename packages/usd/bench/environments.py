"""CPU time and memory of parsing many environments of an 8-DOF arm, 29 prims each, by phase.

Usage: ``python packages/usd/bench/environments.py [COUNT] [--form FORM] [--build]``

Forms: arms that are ``referenced`` or ``authored`` in full and all equal; in full, and all different in the ``mass`` of
one link, in masses and ``sizes`` of all links, or in the drive ``gains`` of all joints; one arm ``replicated``.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene, replicate
from tensorphys_usd import open_stage, parse, parse_stage

_DOFS = 8
_FORMS = ("referenced", "authored", "mass", "sizes", "gains", "replicated")


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


def author(count: int, form: str, folder: Path) -> Path:
    """A file of many arms, or of one that is to be copied."""
    arm = Usd.Stage.CreateNew(str(folder / "arm.usda"))
    author_arm(arm, "/arm", 1000.0)
    arm.GetRootLayer().Save()
    source = arm.GetRootLayer()
    path = folder / "stage.usdc"
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.Scene.Define(stage, "/scene")
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Plane.Define(stage, "/ground").GetPrim())
    UsdGeom.Scope.Define(stage, "/World/envs")
    layer = stage.GetRootLayer()
    with Sdf.ChangeBlock():
        for index in range(1 if form == "replicated" else count):
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
                prim.referenceList.Prepend(Sdf.Reference("./arm.usda", "/arm"))
            else:
                Sdf.CopySpec(source, "/arm", layer, f"{root.path}/arm")
            _vary(layer, f"{root.path}/arm", form, index)
    layer.Save()
    return path


def _vary(layer: Sdf.Layer, root: str, form: str, index: int) -> None:
    """Make an arm different from all others."""
    if form == "mass":
        layer.GetAttributeAtPath(f"{root}/link4.physics:density").default = 1000.0 + index
    elif form == "sizes":
        for link in range(_DOFS + 1):
            layer.GetAttributeAtPath(f"{root}/link{link}.physics:density").default = 1000.0 + index + link
            collider = f"{root}/link{link}/collider"
            layer.GetAttributeAtPath(f"{collider}.radius").default = 0.05 + 1e-6 * index
            layer.GetAttributeAtPath(f"{collider}.height").default = 0.125 + 1e-6 * index
    elif form == "gains":
        for link in range(1, _DOFS + 1):
            name = f"{root}/link{link}/joint.drive:angular:physics:stiffness"
            layer.GetAttributeAtPath(name).default = 10.0 + 0.01 * index


class Phases:
    """CPU time of the parts of a parse."""

    _PARTS: ClassVar[dict[str, str]] = {
        "find_roots": "comparing environments",
        "Descriptors": "OpenUSD's parser",
        "Variants": "masses and sizes",
        "split": "templates",
    }

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(self._PARTS.values(), 0.0)
        for name, phase in self._PARTS.items():
            setattr(parse, name, self._timed(getattr(parse, name), phase))

    def _timed(self, call: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            result = call(*arguments, **options)
            self.seconds[phase] += time.process_time() - start
            return result

        return timed


def main() -> None:
    """Open, parse, build and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=4096)
    parser.add_argument("--form", choices=_FORMS, default="authored")
    parser.add_argument(
        "--build", action="store_true", help="build the simulation, too; needs tensorphys-engine"
    )
    arguments = parser.parse_args()
    phases = Phases()
    times: dict[str, float] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = call()
        times[name] = time.process_time() - start
        return result

    with tempfile.TemporaryDirectory() as folder:
        path = author(arguments.count, arguments.form, Path(folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        stage = timed("opening the stage", lambda: open_stage(path))
        if arguments.form == "replicated":
            one = timed("parsing", lambda: parse_stage(stage))
            scene = timed(
                "replicating", lambda: replicate(one, "/World/envs/env_0", arguments.count, spacing=2.0)
            )
        else:
            scene = timed("parsing", lambda: parse_stage(stage, environments="/World/envs/env_*"))
        if arguments.build:
            from tensorphys_engine import Simulation

            Simulation(replicate(Scene(templates=scene.templates), 1))  # compiles, or loads what was compiled
            timed("building", lambda: Simulation(scene))
    parts = {name: seconds for name, seconds in phases.seconds.items() if seconds > 0.005}
    parts["tables and the rest"] = times["parsing"] - sum(parts.values())
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    prims = len(scene.templates[0].prims) * arguments.count
    print(
        f"{arguments.form}: {arguments.count} environments, {prims} prims, {len(scene.templates)} templates, "
        f"{len(scene.overrides)} columns that differ"
    )
    for name, seconds in times.items():
        print(f"  {name}: {seconds:.2f} s")
        if name == "parsing":
            print("".join(f"    {part}: {value:.2f} s\n" for part, value in parts.items()), end="")
    print(
        f"  in all: {sum(times.values()):.2f} s of CPU, {after / 1024:.0f} MiB ({before / 1024:.0f} before)"
    )


if __name__ == "__main__":
    main()
