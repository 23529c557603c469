"""Stages for the tests, authored by hand, and the array frontends that this environment has."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

import tensorphys

FRONTENDS = ["numpy", "warp", *(["torch"] if importlib.util.find_spec("torch") else [])]
DT = 1.0 / 60.0


class Arrays:
    """Arrays of one frontend on one device, made from and turned into NumPy."""

    def __init__(self, name: str, device: str = "cpu") -> None:
        self.name, self.device = name, device

    @property
    def cpu(self) -> Arrays:
        """The same library on the CPU, where properties live."""
        return Arrays(self.name)

    def make(self, values: Any, dtype: Any = np.float32) -> Any:
        host = np.ascontiguousarray(values, dtype=dtype)
        if self.name == "warp":
            import warp as wp

            return wp.array(host, dtype=wp.dtype_from_numpy(host.dtype), device=self.device)
        if self.name == "torch":
            import torch

            return torch.as_tensor(host, device=self.device)
        return host

    def rows(self, values: Sequence[int]) -> Any:
        return self.make(values, np.int32)

    def host(self, array: Any) -> np.ndarray:
        if self.name == "torch":
            array = array.cpu()
        return np.array(array if self.name == "numpy" else array.numpy())

    def device_of(self, array: Any) -> str:
        """Where an array lies, named as `device` is; the library of the array must be this one."""
        kind = type(array).__module__.partition(".")[0]
        assert kind == self.name, f"an array of {kind}"
        return "cpu" if self.name == "numpy" else str(array.device)

    def data_pointer(self, array: Any) -> int:
        if self.name == "torch":
            return array.data_ptr()
        return array.ptr if self.name == "warp" else array.ctypes.data

    def clear(self, array: Any) -> None:
        """Write zeros into an array."""
        if self.name == "numpy":
            array[...] = 0
        else:
            array.zero_()


@pytest.fixture(params=FRONTENDS)
def arrays(request: pytest.FixtureRequest, device: str) -> Arrays:
    """Arrays of each installed frontend on each device that it serves."""
    if request.param == "numpy" and device != "cpu":
        pytest.skip("the numpy frontend serves the CPU")
    if request.param == "torch" and device != "cpu":
        import torch

        if not torch.cuda.is_available():
            pytest.skip("this torch has no CUDA")
    return Arrays(request.param, device)


@dataclass
class Author:
    """Writes a stage; lengths in metres, Z up, angles in degrees as USD has them."""

    stage: Usd.Stage

    @classmethod
    def new(cls, gravity: float = 9.81) -> Author:
        stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        scene = UsdPhysics.Scene.Define(stage, "/physicsScene")
        scene.CreateGravityDirectionAttr(Gf.Vec3f(0, 0, -1))
        scene.CreateGravityMagnitudeAttr(gravity)
        return cls(stage)

    def xform(self, path: str, position: Sequence[float] = (0, 0, 0)) -> Usd.Prim:
        xform = UsdGeom.Xform.Define(self.stage, path)
        if any(position):
            xform.AddTranslateOp().Set(Gf.Vec3d(*map(float, position)))
        return xform.GetPrim()

    def body(
        self,
        path: str,
        position: Sequence[float] = (0, 0, 0),
        *,
        mass: float = 1.0,
        inertia: Sequence[float] = (0.1, 0.1, 0.1),
        com: Sequence[float] = (0, 0, 0),
        axes: Sequence[float] | None = None,
        radius: float = 0.0,
        kinematic: bool = False,
    ) -> Usd.Prim:
        """A rigid body; ``axes`` is the rotation of its principal axes, real part first as in USD."""
        prim = self.xform(path, position)
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        if kinematic:
            body.CreateKinematicEnabledAttr(True)
        masses = UsdPhysics.MassAPI.Apply(prim)
        masses.CreateMassAttr(mass)
        masses.CreateDiagonalInertiaAttr(Gf.Vec3f(*inertia))
        masses.CreateCenterOfMassAttr(Gf.Vec3f(*com))
        if axes is not None:
            masses.CreatePrincipalAxesAttr(Gf.Quatf(*axes))
        if radius:
            ball = UsdGeom.Sphere.Define(self.stage, f"{path}/collider")
            ball.CreateRadiusAttr(radius)
            UsdPhysics.CollisionAPI.Apply(ball.GetPrim())
        return prim

    def joint(
        self,
        path: str,
        kind: str,
        body0: str | None,
        body1: str,
        *,
        axis: str = "X",
        at0: Sequence[float] = (0, 0, 0),
        at1: Sequence[float] = (0, 0, 0),
        limits: tuple[float, float] | None = None,
        drive: dict[str, Any] | None = None,
        state: tuple[float, float] | None = None,
        flipped: bool = False,
    ) -> Usd.Prim:
        """A joint from body 0 to body 1; ``flipped`` writes the two the other way round."""
        schema = {
            "fixed": UsdPhysics.FixedJoint,
            "revolute": UsdPhysics.RevoluteJoint,
            "prismatic": UsdPhysics.PrismaticJoint,
        }[kind]
        joint = schema.Define(self.stage, path)
        ends = [(body0, at0), (body1, at1)]
        (first, first_at), (second, second_at) = reversed(ends) if flipped else ends
        if first is not None:
            joint.CreateBody0Rel().SetTargets([Sdf.Path(first)])
        if second is not None:
            joint.CreateBody1Rel().SetTargets([Sdf.Path(second)])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*map(float, first_at)))
        joint.CreateLocalPos1Attr(Gf.Vec3f(*map(float, second_at)))
        prim = joint.GetPrim()
        if kind != "fixed":
            joint.CreateAxisAttr(axis)
        if limits is not None:
            joint.CreateLowerLimitAttr(limits[0])
            joint.CreateUpperLimitAttr(limits[1])
        instance = "angular" if kind == "revolute" else "linear"
        if drive is not None:
            api = UsdPhysics.DriveAPI.Apply(prim, instance)
            for name, value in drive.items():
                getattr(api, f"Create{name[0].upper()}{name[1:]}Attr")(value)
        if state is not None:
            prim.AddAppliedSchema(f"PhysicsJointStateAPI:{instance}")
            for name, value in zip(("position", "velocity"), state, strict=True):
                attribute = f"state:{instance}:physics:{name}"
                prim.CreateAttribute(attribute, Sdf.ValueTypeNames.Float).Set(value)
        return prim

    def articulation(self, path: str) -> None:
        UsdPhysics.ArticulationRootAPI.Apply(self.stage.GetPrimAtPath(path))

    # Colliders and bodies whose inertia comes from them.

    def ground(self, path: str = "/World/Ground") -> None:
        """A static plane at height 0."""
        plane = UsdGeom.Plane.Define(self.stage, path)
        plane.CreateAxisAttr("Z")
        UsdPhysics.CollisionAPI.Apply(plane.GetPrim())

    def collider(self, path: str, kind: str, size: float, position: Sequence[float] = (0, 0, 0)) -> None:
        """A cube of an edge length or a sphere of a radius."""
        if kind == "cube":
            shape = UsdGeom.Cube.Define(self.stage, path)
            shape.CreateSizeAttr(size)
        else:
            shape = UsdGeom.Sphere.Define(self.stage, path)
            shape.CreateRadiusAttr(size)
        if any(position):
            shape.AddTranslateOp().Set(Gf.Vec3d(*map(float, position)))
        UsdPhysics.CollisionAPI.Apply(shape.GetPrim())

    def solid(
        self,
        path: str,
        position: Sequence[float],
        kind: str,
        size: float,
        mass: float = 1.0,
        *,
        velocity: Sequence[float] = (0, 0, 0),
        asleep: bool = False,
        substeps: int | None = None,
    ) -> None:
        """A rigid body with one collider ``<path>/Col``: a cube of an edge length or a sphere of a radius."""
        prim = self.xform(path, position)
        api = UsdPhysics.RigidBodyAPI.Apply(prim)
        api.CreateVelocityAttr(Gf.Vec3f(*map(float, velocity)))
        if asleep:
            api.CreateStartsAsleepAttr(True)
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(mass)
        if substeps is not None:
            prim.AddAppliedSchema("PhysxRigidBodyAPI")
            name = "physxRigidBody:solverPositionIterationCount"
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Int).Set(substeps)
        self.collider(f"{path}/Col", kind, size)

    # Whole objects.

    def ant(self, path: str, position: Sequence[float] = (0, 0, 0)) -> None:
        """Floating base; the root schema is on the torso, not on the ant: 9 links, 8 degrees of freedom."""
        self.xform(path, position)
        torso = f"{path}/torso"
        self.body(torso, mass=2.0, inertia=(0.05, 0.05, 0.08))
        self.articulation(torso)
        for name, x, y in (
            ("front_left", 1, 1),
            ("front_right", 1, -1),
            ("left_back", -1, 1),
            ("right_back", -1, -1),
        ):
            leg, foot = f"{path}/{name}_leg", f"{path}/{name}_foot"
            self.body(leg, (0.3 * x, 0.3 * y, 0), mass=0.3, inertia=(0.004, 0.004, 0.004))
            self.body(foot, (0.6 * x, 0.6 * y, 0), mass=0.2, inertia=(0.003, 0.003, 0.003))
            self.joint(
                f"{path}/joints/{name}_hip", "revolute", torso, leg,
                axis="Z", at0=(0.15 * x, 0.15 * y, 0), at1=(-0.15 * x, -0.15 * y, 0), limits=(-60, 60),
            )  # fmt: skip
            self.joint(
                f"{path}/joints/{name}_ankle", "revolute", leg, foot,
                axis="Y", at0=(0.15 * x, 0.15 * y, 0), at1=(-0.15 * x, -0.15 * y, 0), limits=(-90, 90),
            )  # fmt: skip

    def cart_pole(
        self,
        path: str,
        position: Sequence[float] = (0, 0, 0),
        *,
        cart: dict[str, Any] | None = None,
        pole: dict[str, Any] | None = None,
        radius: float = 0.0,
        flipped: bool = False,
    ) -> None:
        """Fixed rail, cart along Y, pole about X: 3 links, 2 degrees of freedom. Options go to the joints."""
        self.xform(path, position)
        self.articulation(path)
        rail, cart_path, pole_path = (f"{path}/{name}" for name in ("rail", "cart", "pole"))
        self.body(rail, (0, 0, 2), mass=5.0)
        self.body(cart_path, (0, 0, 2), mass=1.0, inertia=(0.02, 0.02, 0.02), radius=radius)
        self.body(pole_path, (0, 0, 2.5), mass=0.5, inertia=(0.05, 0.05, 0.001), radius=radius)
        place = UsdGeom.XformCache().GetLocalToWorldTransform(self.stage.GetPrimAtPath(rail))
        self.joint(f"{path}/rootJoint", "fixed", None, rail, at0=place.ExtractTranslation())
        cart = {"limits": (-4.0, 4.0), **(cart or {})}
        self.joint(f"{path}/cartJoint", "prismatic", rail, cart_path, axis="Y", flipped=flipped, **cart)
        self.joint(
            f"{path}/poleJoint", "revolute", cart_path, pole_path,
            axis="X", at1=(0, 0, -0.5), flipped=flipped, **(pole or {}),
        )  # fmt: skip

    def environments(self, count: int, fill: Callable[[str, int], None], spacing: float = 2.0) -> Author:
        """Roots ``/envs/env0`` ... on a grid, each filled with objects at its origin."""
        self.xform("/envs")
        columns = int(np.ceil(np.sqrt(count)))
        for number in range(count):
            path = f"/envs/env{number}"
            self.xform(path, (spacing * (number % columns), spacing * (number // columns), 0))
            fill(path, number)
        return self


def _view(arrays: Arrays | str, author: Author, **options: Any) -> Any:
    if isinstance(arrays, str):
        arrays = Arrays(arrays)
    return tensorphys.create_simulation_view(arrays.name, stage=author.stage, device=arrays.device, **options)


def _set_and_look(view: Any, name: str, data: Any, indices: Any) -> None:
    """Call a setter and look at the view: what the host cannot see of device arrays is told then."""
    getattr(view, f"set_{name}")(data, indices)
    view.check()


@pytest.fixture
def stages() -> SimpleNamespace:
    """The author of stages and how views are made from them."""
    return SimpleNamespace(Author=Author, Arrays=Arrays, view=_view, set_and_look=_set_and_look, DT=DT)


@pytest.fixture(scope="session")
def author() -> type[Author]:
    """The author of stages, for fixtures that serve a whole module."""
    return Author


@pytest.fixture(scope="session")
def open_view() -> Callable[..., Any]:
    """How views are made from stages, for fixtures that serve a whole module."""
    return _view
