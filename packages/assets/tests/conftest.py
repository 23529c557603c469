"""Stages for the tests, authored by hand."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

HAS_TORCH = importlib.util.find_spec("torch") is not None
ENVS = "/World/envs/env_.*"


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
            self.body(path, at, box=0.2, inertia=(1 / 150,) * 3, **options)
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


@pytest.fixture
def needs_torch() -> None:
    if not HAS_TORCH:
        pytest.skip("torch is not installed")
