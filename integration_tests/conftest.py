"""Stages for whole-scene tests, and measured numbers that end up in the JUnit report.

`tools/verification_table.py` makes the table of `docs/verification.md` from that report.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

DATA = pathlib.Path(__file__).parent / "data"


class Author:
    """Writes a stage: metres, kilograms, Z up; angles in degrees as USD has them. No solver setting is authored."""

    def __init__(self, gravity: float = 9.81, up: str = "Z") -> None:
        from pxr import Gf, Usd, UsdGeom, UsdPhysics

        self.stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(self.stage, up)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        scene = UsdPhysics.Scene.Define(self.stage, "/physicsScene")
        scene.CreateGravityDirectionAttr(Gf.Vec3f(0, 0, -1))
        scene.CreateGravityMagnitudeAttr(gravity)

    def xform(
        self, path: str, position: Sequence[float] = (0, 0, 0), rotation: tuple[str, float] | None = None
    ) -> Any:
        """An Xform; ``rotation`` is an axis letter and an angle [degree]."""
        from pxr import Gf, UsdGeom

        xform = UsdGeom.Xform.Define(self.stage, path)
        xform.AddTranslateOp().Set(Gf.Vec3d(*map(float, position)))
        if rotation is not None:
            getattr(xform, f"AddRotate{rotation[0]}Op")().Set(float(rotation[1]))
        return xform.GetPrim()

    def body(
        self,
        path: str,
        position: Sequence[float] = (0, 0, 0),
        *,
        mass: float = 1.0,
        inertia: Sequence[float] = (0.1, 0.1, 0.1),
        com: Sequence[float] = (0, 0, 0),
        velocity: Sequence[float] | None = None,
        angular_velocity: Sequence[float] | None = None,
        rotation: tuple[str, float] | None = None,
    ) -> Any:
        """A rigid body with authored mass; angular velocity [degree/s] in the axes that USD gives it."""
        from pxr import Gf, UsdPhysics

        prim = self.xform(path, position, rotation)
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        if velocity is not None:
            body.CreateVelocityAttr(Gf.Vec3f(*map(float, velocity)))
        if angular_velocity is not None:
            body.CreateAngularVelocityAttr(Gf.Vec3f(*map(float, angular_velocity)))
        masses = UsdPhysics.MassAPI.Apply(prim)
        masses.CreateMassAttr(mass)
        masses.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, inertia)))
        masses.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, com)))
        return prim

    def box_body(self, path: str, position: Sequence[float], edge: float = 0.2, **options: Any) -> Any:
        """A cube of 1 kg with its collider."""
        inertia = (edge * edge / 6.0,) * 3
        prim = self.body(path, position, mass=1.0, inertia=inertia, **options)
        self.cube(f"{path}/shape", edge)
        return prim

    def ball_body(self, path: str, position: Sequence[float], radius: float = 0.1, **options: Any) -> Any:
        """A ball of 1 kg with its collider."""
        prim = self.body(path, position, mass=1.0, inertia=(0.4 * radius**2,) * 3, **options)
        self.ball(f"{path}/shape", radius)
        return prim

    def cube(self, path: str, edge: float) -> Any:
        """A cubic collider."""
        from pxr import UsdGeom

        cube = UsdGeom.Cube.Define(self.stage, path)
        cube.CreateSizeAttr(edge)
        return self._collider(cube.GetPrim())

    def ball(self, path: str, radius: float) -> Any:
        """A spherical collider."""
        from pxr import UsdGeom

        ball = UsdGeom.Sphere.Define(self.stage, path)
        ball.CreateRadiusAttr(radius)
        return self._collider(ball.GetPrim())

    def ground(self, path: str = "/ground", tilt: float = 0.0) -> Any:
        """A static plane through the origin, tilted about Y by an angle [degree]: it falls towards +X."""
        from pxr import UsdGeom

        plane = UsdGeom.Plane.Define(self.stage, path)
        plane.CreateAxisAttr("Z")
        plane.AddRotateYOp().Set(float(tilt))
        return self._collider(plane.GetPrim())

    def _collider(self, prim: Any) -> Any:
        from pxr import UsdPhysics

        UsdPhysics.CollisionAPI.Apply(prim)
        return prim

    def material(self, path: str, *, friction: float = 0.5, restitution: float = 0.0) -> Any:
        """A material with equal static and dynamic friction."""
        from pxr import UsdPhysics, UsdShade

        material = UsdShade.Material.Define(self.stage, path)
        api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
        api.CreateStaticFrictionAttr(friction)
        api.CreateDynamicFrictionAttr(friction)
        api.CreateRestitutionAttr(restitution)
        return material

    def bind(self, material: Any, *prims: Any) -> None:
        """Bind a physics material to colliders."""
        from pxr import UsdShade

        for prim in prims:
            binding = UsdShade.MaterialBindingAPI.Apply(prim)
            binding.Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")

    def joint(
        self,
        path: str,
        kind: str,
        parent: str | None,
        child: str,
        *,
        axis: str = "Y",
        at_parent: Sequence[float] = (0, 0, 0),
        at_child: Sequence[float] = (0, 0, 0),
        drive: dict[str, Any] | None = None,
        position: float | None = None,
        limits: tuple[float, float] | None = None,
    ) -> Any:
        """A joint; ``kind`` is ``"Fixed"``, ``"Revolute"`` or ``"Prismatic"``; ``position`` [m or degree] its state."""
        from pxr import Gf, Sdf, UsdPhysics

        joint = getattr(UsdPhysics, f"{kind}Joint").Define(self.stage, path)
        if parent is not None:
            joint.CreateBody0Rel().SetTargets([Sdf.Path(parent)])
        joint.CreateBody1Rel().SetTargets([Sdf.Path(child)])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*map(float, at_parent)))
        joint.CreateLocalPos1Attr(Gf.Vec3f(*map(float, at_child)))
        prim = joint.GetPrim()
        if kind == "Fixed":
            return prim
        joint.CreateAxisAttr(axis)
        if limits is not None:
            joint.CreateLowerLimitAttr(limits[0])
            joint.CreateUpperLimitAttr(limits[1])
        instance = "angular" if kind == "Revolute" else "linear"
        if drive is not None:
            api = UsdPhysics.DriveAPI.Apply(prim, instance)
            for name, value in drive.items():
                getattr(api, f"Create{name[0].upper()}{name[1:]}Attr")(value)
        if position is not None:
            prim.AddAppliedSchema(f"PhysicsJointStateAPI:{instance}")
            attribute = prim.CreateAttribute(f"state:{instance}:physics:position", Sdf.ValueTypeNames.Float)
            attribute.Set(float(position))
        return prim

    def fixed_base(self, path: str, position: Sequence[float] = (0, 0, 0)) -> None:
        """A body welded to the world, which is the root of an articulation."""
        from pxr import UsdPhysics

        self.body(path, position)
        weld = self.joint(f"{path}_weld", "Fixed", None, path, at_parent=position)
        UsdPhysics.ArticulationRootAPI.Apply(weld)

    def view(self, device: str = "cpu", **options: Any) -> Any:
        """Simulation of the stage, seen through NumPy on the CPU and through Warp on CUDA."""
        import tensorphys

        frontend = "numpy" if device == "cpu" else "warp"
        return tensorphys.create_simulation_view(frontend, stage=self.stage, device=device, **options)


@pytest.fixture
def author() -> type[Author]:
    """The author of stages."""
    return Author


@pytest.fixture
def host() -> Callable[[Any], np.ndarray]:
    """Copy of an array of a view as NumPy."""
    return lambda array: np.array(array if isinstance(array, np.ndarray) else array.numpy(), dtype=np.float64)


Measure = Callable[..., None]


@pytest.fixture
def measure(request: pytest.FixtureRequest) -> Measure:
    """Record a measured number with its bound in the JUnit report, and fail where it exceeds the bound."""

    def check(what: str, value: float, bound: float, unit: str = "") -> None:
        value = float(value)
        # `record_property` warns of the default flavour of the report, which keeps the property all the same.
        request.node.user_properties.append(("measured", f"{what}|{value:.3g}|{bound:.3g}|{unit}"))
        assert math.isfinite(value) and value <= bound, f"{what}: {value:.6g} {unit}, at most {bound:g}"

    return check


@pytest.fixture
def data() -> pathlib.Path:
    """Folder of recorded data and of robots that others made."""
    return DATA
