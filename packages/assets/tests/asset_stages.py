"""Stages for the tests, authored by hand, and what is made in them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np
import warp as wp
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

import tensorphys_assets as ta

HAS_TORCH = importlib.util.find_spec("torch") is not None
ENVS = "/World/envs/env_.*"


# Where scenes and arrays are made unless a test says otherwise; the fixture `everywhere` sets it.
_DEVICE = ["cpu"]


def here() -> str:
    """The device of this run of the test."""
    return _DEVICE[-1]


class Stage:
    """Environments in a row, 2 m apart, with what is authored into each of them."""

    def __init__(
        self, count: int, *, gravity: float = 9.81, ground: bool = False, friction: float = 0.5
    ) -> None:
        self.usd = Usd.Stage.CreateInMemory()
        self.count = count
        UsdGeom.SetStageUpAxis(self.usd, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(self.usd, 1.0)
        scene = UsdPhysics.Scene.Define(self.usd, "/physicsScene")
        scene.CreateGravityDirectionAttr(Gf.Vec3f(0, 0, -1))
        scene.CreateGravityMagnitudeAttr(gravity)
        for number in range(count):
            self.xform(f"/World/envs/env_{number}", (2.0 * number, 0, 0))
        if ground:
            plane = UsdGeom.Plane.Define(self.usd, "/World/ground")
            plane.CreateAxisAttr("Z")
            UsdPhysics.CollisionAPI.Apply(plane.GetPrim())

    def paths(self, name: str) -> list[str]:
        return [f"/World/envs/env_{number}/{name}" for number in range(self.count)]

    def xform(self, path: str, at: Sequence[float] = (0, 0, 0)) -> Usd.Prim:
        xform = UsdGeom.Xform.Define(self.usd, path)
        xform.AddTranslateOp().Set(Gf.Vec3d(*map(float, at)))
        return xform.GetPrim()

    def body(
        self,
        path: str,
        at: Sequence[float] = (0, 0, 0),
        *,
        mass: float = 1.0,
        inertia: Sequence[float] = (0.1, 0.1, 0.1),
        com: Sequence[float] = (0, 0, 0),
        box: float = 0.0,
        kinematic: bool = False,
    ) -> Usd.Prim:
        prim = self.xform(path, at)
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        if kinematic:
            body.CreateKinematicEnabledAttr(True)
        masses = UsdPhysics.MassAPI.Apply(prim)
        masses.CreateMassAttr(mass)
        masses.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, inertia)))
        masses.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, com)))
        if box:
            cube = UsdGeom.Cube.Define(self.usd, f"{path}/collider")
            cube.CreateSizeAttr(box)
            UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
        return prim

    def joint(
        self,
        path: str,
        kind: str,
        body0: str | None,
        body1: str,
        *,
        axis: str = "Y",
        at0: Sequence[float] = (0, 0, 0),
        at1: Sequence[float] = (0, 0, 0),
        limits: tuple[float, float] | None = None,
        drive: dict[str, float] | None = None,
    ) -> Usd.Prim:
        joint = getattr(UsdPhysics, f"{kind}Joint").Define(self.usd, path)
        if body0 is not None:
            joint.CreateBody0Rel().SetTargets([body0])
        joint.CreateBody1Rel().SetTargets([body1])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*map(float, at0)))
        joint.CreateLocalPos1Attr(Gf.Vec3f(*map(float, at1)))
        joint.CreateLocalRot0Attr(Gf.Quatf(1))
        joint.CreateLocalRot1Attr(Gf.Quatf(1))
        if kind != "Fixed":
            joint.CreateAxisAttr(axis)
        if limits is not None:
            joint.CreateLowerLimitAttr(limits[0])
            joint.CreateUpperLimitAttr(limits[1])
        if drive is not None:
            api = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "linear" if kind == "Prismatic" else "angular")
            for name, value in drive.items():
                getattr(api, f"Create{name}Attr")(value)
        return joint.GetPrim()

    def cubes(self, name: str = "Cube", at: Sequence[float] = (0, 0, 1), **options: object) -> Stage:
        """A free cube of 0.2 m in each environment."""
        for path in self.paths(name):
            self.body(path, at, **{"box": 0.2, "inertia": (1 / 150,) * 3, **options})
        return self

    def arms(self, name: str = "Robot", *, fixed: bool = True, drive: bool = True) -> Stage:
        """A branching tree: base, two arms of two links each; breadth first and depth first differ."""
        gains = {"Stiffness": 0.0, "Damping": 0.0, "MaxForce": 100.0} if drive else None
        for number, root in enumerate(self.paths(name)):
            x = 2.0 * number
            self.xform(root)
            base = self.body(f"{root}/base", (0, 0, 1), mass=2.0)
            target = self.usd.GetPrimAtPath(root) if not fixed else base
            UsdPhysics.ArticulationRootAPI.Apply(target)
            if fixed:
                self.joint(f"{root}/base_anchor", "Fixed", None, f"{root}/base", at0=(x, 0, 1))
            for side, y in (("left", 0.2), ("right", -0.2)):
                upper, lower = f"{root}/{side}_upper", f"{root}/{side}_lower"
                self.body(upper, (0.25, y, 1), mass=1.0, inertia=(0.01, 0.02, 0.03), com=(0.05, 0.01, 0.0))
                self.body(lower, (0.75, y, 1), mass=0.5, inertia=(0.01, 0.02, 0.03))
                self.joint(
                    f"{root}/{side}_shoulder",
                    "Revolute",
                    f"{root}/base",
                    upper,
                    at0=(0, y, 0),
                    at1=(-0.25, 0, 0),
                    limits=(-120, 120),
                    drive=gains,
                )
                self.joint(
                    f"{root}/{side}_elbow",
                    "Revolute",
                    upper,
                    lower,
                    at0=(0.25, 0, 0),
                    at1=(-0.25, 0, 0),
                    limits=(-90, 90),
                    drive=gains,
                )
        return self

    def softs(self, name: str = "Soft", height: float = 1.0) -> Stage:
        """A soft cube of 0.2 m in each environment: 2 × 2 × 2 cells of six tetrahedra each."""
        grid = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        corners = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)]
        cell = [(0, 4, 6, 7), (0, 6, 2, 7), (0, 2, 3, 7), (0, 3, 1, 7), (0, 1, 5, 7), (0, 5, 4, 7)]
        tets = []
        for x, y, z in np.ndindex(2, 2, 2):
            nodes = [9 * (x + i) + 3 * (y + j) + z + k for i, j, k in corners]
            tets += [[nodes[place] for place in tet] for tet in cell]
        kinds = Sdf.ValueTypeNames
        for path in self.paths(name):
            material = UsdShade.Material.Define(self.usd, f"{path}_material")
            material.GetPrim().AddAppliedSchema("OmniPhysicsDeformableMaterialAPI")
            for key, value in {"density": 1000.0, "youngsModulus": 2e5, "poissonsRatio": 0.3}.items():
                material.GetPrim().CreateAttribute(f"omniphysics:{key}", kinds.Float).Set(value)
            root = self.xform(path, (0, 0, height))
            root.AddAppliedSchema("OmniPhysicsDeformableBodyAPI")
            mesh = self.usd.DefinePrim(f"{path}/sim", "TetMesh")
            points = Vt.Vec3fArray.FromNumpy((0.1 * (grid - 1)).astype(np.float32))
            mesh.CreateAttribute("points", kinds.Point3fArray).Set(points)
            mesh.CreateAttribute("tetVertexIndices", kinds.Int4Array).Set(
                Vt.Vec4iArray.FromNumpy(np.asarray(tets, np.int32))
            )
            mesh.AddAppliedSchema("OmniPhysicsVolumeDeformableSimAPI")
            mesh.AddAppliedSchema("PhysicsCollisionAPI")
            binding = UsdShade.MaterialBindingAPI.Apply(root)
            binding.Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")
        return self

    def tendons(self, name: str = "Robot") -> Stage:
        """Two fixed tendons and a spatial one on the arms."""
        kinds = Sdf.ValueTypeNames
        for root in self.paths(name):
            for side in ("left", "right"):
                first = self.usd.GetPrimAtPath(f"{root}/{side}_shoulder")
                second = self.usd.GetPrimAtPath(f"{root}/{side}_elbow")
                first.AddAppliedSchema(f"PhysxTendonAxisRootAPI:{side}")
                second.AddAppliedSchema(f"PhysxTendonAxisAPI:{side}")
                values = {"stiffness": 20.0, "damping": 2.0, "restLength": 0.1, "offset": 0.05}
                for key, value in values.items():
                    first.CreateAttribute(f"physxTendon:{side}:{key}", kinds.Float).Set(value)
                for joint in (first, second):
                    joint.CreateAttribute(f"physxTendon:{side}:gearing", kinds.FloatArray).Set([1.0])
            base = self.usd.GetPrimAtPath(f"{root}/base")
            lower = self.usd.GetPrimAtPath(f"{root}/left_lower")
            base.AddAppliedSchema("PhysxTendonAttachmentRootAPI:rope")
            base.CreateAttribute("physxTendon:rope:stiffness", kinds.Float).Set(5.0)
            lower.AddAppliedSchema("PhysxTendonAttachmentLeafAPI:rope")
            lower.CreateRelationship("physxTendon:rope:parentLink").SetTargets([base.GetPath()])
            lower.CreateAttribute("physxTendon:rope:parentAttachment", kinds.Token).Set("rope")
        return self


def make(stage: Stage, *cfgs: object, dt: float = 0.01, device: str | None = None) -> tuple:
    """A scene that is ready, and what the configurations make in it."""
    classes = {
        "RigidObjectCfg": ta.RigidObject,
        "ArticulationCfg": ta.Articulation,
        "RigidObjectCollectionCfg": ta.RigidObjectCollection,
        "DeformableObjectCfg": ta.DeformableObject,
        "ContactSensorCfg": ta.ContactSensor,
        "ImuCfg": ta.Imu,
        "FrameTransformerCfg": ta.FrameTransformer,
        "PvaCfg": ta.Pva,
        "JointWrenchSensorCfg": ta.JointWrenchSensor,
    }
    with ta.AssetScene(stage.usd, environments=ENVS, dt=dt, device=device or here()) as scene:
        made = [classes[type(cfg).__name__](cfg) for cfg in cfgs]
    scene.reset()
    return (scene, *made)


def cube_cfg(name: str = "Cube", **options: object) -> ta.RigidObjectCfg:
    return ta.RigidObjectCfg(prim_path=f"{ENVS}/{name}", **options)


def arm_cfg(**options: object) -> ta.ArticulationCfg:
    return ta.ArticulationCfg(prim_path=f"{ENVS}/Robot", **options)


def pair_cfg() -> ta.RigidObjectCollectionCfg:
    return ta.RigidObjectCollectionCfg(rigid_objects={"a": cube_cfg("A"), "b": cube_cfg("B")})


def soft_cfg() -> ta.DeformableObjectCfg:
    return ta.DeformableObjectCfg(prim_path=f"{ENVS}/Soft")


def pair_stage(count: int = 2, **options: object) -> Stage:
    """Two bodies that touch nothing."""
    stage = Stage(count, **options)
    return stage.cubes("A", (0, 0, 1), com=(0.1, 0, 0), box=0.0).cubes("B", (0.5, 0, 1), mass=2.0, box=0.0)


def host(value: object) -> np.ndarray:
    """Values of a proxy or an array, as they are now."""
    array = getattr(value, "warp", value)
    return np.array(array.numpy())


def to(library: str, values: object, device: str | None = None, dtype: object = np.float32) -> object:
    """Values in arrays of a library."""
    array, device = np.ascontiguousarray(values, dtype=dtype), device or here()
    if library == "torch":
        import torch

        return torch.as_tensor(array, device=device)
    if library == "warp":
        return wp.array(array, dtype=wp.dtype_from_numpy(array.dtype), device=device)
    return array


LIBRARIES = ["numpy", "warp", *(["torch"] if HAS_TORCH else [])]
