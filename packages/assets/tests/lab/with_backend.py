"""Adds this package to the backends of Isaac Lab's interface suites; copied there as ``conftest.py``."""

from __future__ import annotations

import sys
import types

import warp as wp
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

NAME = "tensorphys"
_FLOAT, _FLOATS, _TOKEN = Sdf.ValueTypeNames.Float, Sdf.ValueTypeNames.FloatArray, Sdf.ValueTypeNames.Token

if "omni" not in sys.modules:
    try:
        import omni  # noqa: F401
    except ImportError:
        # The suites put their stand-ins of Kit below this name.
        sys.modules["omni"] = types.ModuleType("omni")

import tensorphys_assets as ta  # noqa: E402


def _stage(count: int) -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/physicsScene")
    for number in range(count):
        UsdGeom.Xform.Define(stage, f"/World/envs/env_{number}").AddTranslateOp().Set(
            Gf.Vec3d(3.0 * number, 0, 0)
        )
    return stage


def _body(stage: Usd.Stage, path: str, at: tuple[float, float, float]) -> None:
    xform = UsdGeom.Xform.Define(stage, path)
    xform.AddTranslateOp().Set(Gf.Vec3d(*at))
    UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
    mass = UsdPhysics.MassAPI.Apply(xform.GetPrim())
    mass.CreateMassAttr(1.0)
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(0.1, 0.2, 0.25))
    mass.CreateCenterOfMassAttr(Gf.Vec3f(0.02, 0.01, -0.03))


def _tendons(joints: list[Usd.Prim], fixed: int, spatial: int, bodies: list[Usd.Prim]) -> None:
    for number in range(fixed):
        root, other = joints[number % len(joints)], joints[(number + 1) % len(joints)]
        root.AddAppliedSchema(f"PhysxTendonAxisRootAPI:fixed{number}")
        for name, value in (("stiffness", 10.0), ("damping", 1.0), ("restLength", 0.1)):
            root.CreateAttribute(f"physxTendon:fixed{number}:{name}", _FLOAT).Set(value)
        root.CreateAttribute(f"physxTendon:fixed{number}:gearing", _FLOATS).Set([1.0])
        other.AddAppliedSchema(f"PhysxTendonAxisAPI:fixed{number}")
        other.CreateAttribute(f"physxTendon:fixed{number}:gearing", _FLOATS).Set([1.0])
    for number in range(spatial):
        first, last = bodies[number % len(bodies)], bodies[(number + 1) % len(bodies)]
        first.AddAppliedSchema(f"PhysxTendonAttachmentRootAPI:spatial{number}")
        first.CreateAttribute(f"physxTendon:spatial{number}:stiffness", _FLOAT).Set(10.0)
        last.AddAppliedSchema(f"PhysxTendonAttachmentLeafAPI:spatial{number}")
        last.CreateRelationship(f"physxTendon:spatial{number}:parentLink").SetTargets([first.GetPath()])
        last.CreateAttribute(f"physxTendon:spatial{number}:parentAttachment", _TOKEN).Set(f"spatial{number}")


def make_articulation(
    num_instances: int = 2,
    num_joints: int = 6,
    num_bodies: int = 7,
    num_fixed_tendons: int = 0,
    num_spatial_tendons: int = 0,
    device: str = "cpu",
    is_fixed_base: bool = False,
    joint_ordering: tuple[str, ...] | None = None,
    body_ordering: tuple[str, ...] | None = None,
) -> tuple[ta.Articulation, object]:
    """A chain with driven joints; bodies beyond the joints hang on fixed ones."""
    stage = _stage(num_instances)
    for number in range(num_instances):
        root = f"/World/envs/env_{number}/Robot"
        UsdGeom.Xform.Define(stage, root)
        bodies, joints = [], []
        for place in range(num_bodies):
            _body(stage, f"{root}/body_{place}", (0.3 * place, 0, 1))
            bodies.append(stage.GetPrimAtPath(f"{root}/body_{place}"))
        UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(root) if is_fixed_base else bodies[0])
        if is_fixed_base:
            anchor = UsdPhysics.FixedJoint.Define(stage, f"{root}/anchor")
            anchor.CreateBody1Rel().SetTargets([f"{root}/body_0"])
            anchor.CreateLocalPos0Attr(Gf.Vec3f(3.0 * number, 0, 1))
        for place in range(num_bodies - 1):
            moving = place < num_joints
            name = f"joint_{place}" if moving else f"weld_{place}"
            kind = UsdPhysics.RevoluteJoint if moving else UsdPhysics.FixedJoint
            joint = kind.Define(stage, f"{root}/{name}")
            joint.CreateBody0Rel().SetTargets([f"{root}/body_{place}"])
            joint.CreateBody1Rel().SetTargets([f"{root}/body_{place + 1}"])
            joint.CreateLocalPos0Attr(Gf.Vec3f(0.15, 0, 0))
            joint.CreateLocalPos1Attr(Gf.Vec3f(-0.15, 0, 0))
            if moving:
                joint.CreateAxisAttr("Y")
                joint.CreateLowerLimitAttr(-170.0)
                joint.CreateUpperLimitAttr(170.0)
                drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular")
                drive.CreateStiffnessAttr(1.0)
                drive.CreateDampingAttr(0.1)
                drive.CreateMaxForceAttr(100.0)
                joints.append(joint.GetPrim())
        _tendons(joints, num_fixed_tendons, num_spatial_tendons, bodies)
    cfg = ta.ArticulationCfg(
        prim_path="/World/envs/env_.*/Robot", joint_ordering=joint_ordering, body_ordering=body_ordering
    )
    with ta.AssetScene(stage, environments="/World/envs/env_.*", device=device) as scene:
        asset = ta.Articulation(cfg)
    scene.reset()
    return asset, asset.root_view


def make_rigid_object(num_instances: int = 2, device: str = "cpu") -> tuple[ta.RigidObject, object]:
    """A free body in each environment."""
    stage = _stage(num_instances)
    for number in range(num_instances):
        _body(stage, f"/World/envs/env_{number}/Object", (0, 0, 1))
    with ta.AssetScene(stage, environments="/World/envs/env_.*", device=device) as scene:
        asset = ta.RigidObject(ta.RigidObjectCfg(prim_path="/World/envs/env_.*/Object"))
    scene.reset()
    return asset, asset.root_view


def make_collection(
    num_instances: int = 2, num_bodies: int = 3, device: str = "cpu"
) -> tuple[ta.RigidObjectCollection, object]:
    """Free bodies in each environment."""
    stage = _stage(num_instances)
    names = [f"object_{place}" for place in range(num_bodies)]
    for number in range(num_instances):
        for place, name in enumerate(names):
            _body(stage, f"/World/envs/env_{number}/{name}", (0.5 * place, 0, 1))
    cfgs = {name: ta.RigidObjectCfg(prim_path=f"/World/envs/env_.*/{name}") for name in names}
    with ta.AssetScene(stage, environments="/World/envs/env_.*", device=device) as scene:
        asset = ta.RigidObjectCollection(ta.RigidObjectCollectionCfg(rigid_objects=cfgs))
    scene.reset()
    return asset, asset.root_view


def _install() -> None:
    import _articulation_iface_test_utils as articulation
    import _rigid_object_collection_iface_test_utils as collection
    import _rigid_object_iface_test_utils as rigid

    for module, factory, name in (
        (articulation, make_articulation, "get_articulation"),
        (rigid, make_rigid_object, "get_rigid_object"),
        (collection, make_collection, "get_rigid_object_collection"),
    ):
        module.BACKENDS[:] = [NAME]
        if hasattr(module, "BACKEND_UNAVAILABLE_REASONS"):
            module.BACKEND_UNAVAILABLE_REASONS.clear()

        def get(backend: str, *arguments: object, _factory: object = factory, **options: object) -> object:
            return _factory(*arguments, **options)  # type: ignore[operator]

        setattr(module, name, get)


_install()
wp.config.log_level = wp.LOG_WARNING
