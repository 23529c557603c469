"""Writes the robots of tensorphys_assets.environments: of capsules, spheres and boxes, one stage each.

python packages/assets/examples/make_robots.py [FOLDER]
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

import tensorphys_assets.environments

Point = tuple[float, float, float]


def empty_stage(ground: bool = False, friction: float = 1.0) -> Usd.Stage:
    """A stage in metres with z up and gravity.

    Args:
        ground: Whether there is a plane at z = 0.
        friction: Its coefficient, and that of shapes bound to no material.
    """
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/physicsScene")
    if ground:
        plane = UsdGeom.Plane.Define(stage, "/ground")
        plane.CreateAxisAttr("Z")
        UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
        material = UsdShade.Material.Define(stage, "/materials/ground")
        surface = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
        surface.CreateStaticFrictionAttr(friction)
        surface.CreateDynamicFrictionAttr(friction)
        UsdShade.MaterialBindingAPI.Apply(plane.GetPrim()).Bind(
            material, UsdShade.Tokens.weakerThanDescendants, "physics"
        )
    return stage


def _link(stage: Usd.Stage, path: str, at: Point) -> Usd.Prim:
    link = UsdGeom.Xform.Define(stage, path)
    link.AddTranslateOp().Set(Gf.Vec3d(*at))
    UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
    return link.GetPrim()


def _collide(prim: Any, density: float) -> None:
    UsdPhysics.CollisionAPI.Apply(prim)
    UsdPhysics.MassAPI.Apply(prim).CreateDensityAttr(density)


def _capsule(stage: Usd.Stage, path: str, start: Point, end: Point, radius: float, density: float) -> None:
    a, b = Gf.Vec3d(*start), Gf.Vec3d(*end)
    capsule = UsdGeom.Capsule.Define(stage, path)
    capsule.CreateAxisAttr("Z")
    capsule.CreateRadiusAttr(radius)
    capsule.CreateHeightAttr((b - a).GetLength())
    capsule.AddTranslateOp().Set((a + b) * 0.5)
    turn = Gf.Rotation(Gf.Vec3d(0, 0, 1), b - a).GetQuat()
    capsule.AddOrientOp().Set(Gf.Quatf(turn))
    _collide(capsule.GetPrim(), density)


def _hinge(
    stage: Usd.Stage, path: str, bodies: tuple[str, str], at: Point, axis: Point, limits: tuple[float, float]
) -> Usd.Prim:
    """A hinge at the origin of the second body, whose axes are those of the first one at rest; limits in degrees."""
    joint = UsdPhysics.RevoluteJoint.Define(stage, path)
    joint.CreateBody0Rel().SetTargets([bodies[0]])
    joint.CreateBody1Rel().SetTargets([bodies[1]])
    joint.CreateAxisAttr("X")
    turn = Gf.Quatf(Gf.Rotation(Gf.Vec3d(1, 0, 0), Gf.Vec3d(*axis)).GetQuat())
    joint.CreateLocalPos0Attr(Gf.Vec3f(*at))
    joint.CreateLocalRot0Attr(turn)
    joint.CreateLocalRot1Attr(turn)
    joint.CreateLowerLimitAttr(limits[0])
    joint.CreateUpperLimitAttr(limits[1])
    return joint.GetPrim()


def author_cartpole() -> Usd.Stage:
    """A cart of 1 kg on a rail along y at z = 2 m, with a pole of 0.5 kg, its centre 0.47 m above the hinge; at ``/Robot``."""
    stage = empty_stage()
    robot = UsdGeom.Xform.Define(stage, "/Robot").GetPrim()
    UsdPhysics.ArticulationRootAPI.Apply(robot)
    for name, height, mass, inertia in (
        ("rail", 2.0, 1.0, (1.0, 1.0, 1.0)),
        ("cart", 2.0, 1.0, (0.1, 0.1, 0.1)),
        ("pole", 2.47, 0.5, (0.0367, 0.0367, 0.001)),
    ):
        api = UsdPhysics.MassAPI.Apply(_link(stage, f"/Robot/{name}", (0.0, 0.0, height)))
        api.CreateMassAttr(mass)
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*inertia))
    anchor = UsdPhysics.FixedJoint.Define(stage, "/Robot/anchor")
    anchor.CreateBody1Rel().SetTargets(["/Robot/rail"])
    anchor.CreateLocalPos0Attr(Gf.Vec3f(0, 0, 2))
    slider = UsdPhysics.PrismaticJoint.Define(stage, "/Robot/slider_to_cart")
    slider.CreateBody0Rel().SetTargets(["/Robot/rail"])
    slider.CreateBody1Rel().SetTargets(["/Robot/cart"])
    slider.CreateAxisAttr("Y")
    slider.CreateLowerLimitAttr(-4.0)
    slider.CreateUpperLimitAttr(4.0)
    hinge = UsdPhysics.RevoluteJoint.Define(stage, "/Robot/cart_to_pole")
    hinge.CreateBody0Rel().SetTargets(["/Robot/cart"])
    hinge.CreateBody1Rel().SetTargets(["/Robot/pole"])
    hinge.CreateAxisAttr("X")
    hinge.CreateLocalPos1Attr(Gf.Vec3f(0, 0, -0.47))
    return stage


def author_ant(height: float = 0.75) -> Usd.Stage:
    """The four-legged ant on a plane: a ball, and four legs of a hip about z and an ankle; at ``/Robot``.

    The measures are those of Gymnasium's ant with the density, armature and limits that GPU simulators use.

    Args:
        height: Height of the torso's centre [m].
    """
    stage = empty_stage(ground=True, friction=1.0)
    UsdGeom.Xform.Define(stage, "/Robot")
    torso = _link(stage, "/Robot/torso", (0.0, 0.0, height))
    UsdPhysics.ArticulationRootAPI.Apply(torso)
    ball = UsdGeom.Sphere.Define(stage, "/Robot/torso/ball")
    ball.CreateRadiusAttr(0.25)
    _collide(ball.GetPrim(), 5.0)
    for number, (x, y) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1)), start=1):
        hip = (0.2 * x, 0.2 * y, 0.0)
        _capsule(stage, f"/Robot/torso/shoulder_{number}", (0.0, 0.0, 0.0), hip, 0.08, 5.0)
        leg, foot = f"/Robot/leg_{number}", f"/Robot/foot_{number}"
        _link(stage, leg, (hip[0], hip[1], height))
        _capsule(stage, f"{leg}/capsule", (0.0, 0.0, 0.0), hip, 0.08, 5.0)
        _link(stage, foot, (2 * hip[0], 2 * hip[1], height))
        _capsule(stage, f"{foot}/capsule", (0.0, 0.0, 0.0), (2 * hip[0], 2 * hip[1], 0.0), 0.08, 5.0)
        joints = (
            _hinge(stage, f"/Robot/hip_{number}", ("/Robot/torso", leg), hip, (0, 0, 1), (-40.0, 40.0)),
            # About the horizontal across the leg, so that positive angles press the foot down.
            _hinge(stage, f"/Robot/ankle_{number}", (leg, foot), hip, (-y, x, 0), (30.0, 100.0)),
        )
        for joint in joints:
            joint.AddAppliedSchema("PhysxJointAPI")
            _number(joint, "physxJoint:armature", 0.01)
    return stage


def _number(prim: Any, name: str, value: float) -> None:
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(value)


def author_quadruped(height: float = 0.36) -> Usd.Stage:
    """A dog-like robot of 13 kg on a plane: a box, and four legs of an abduction, a thigh and a knee; at ``/Robot``.

    All angles are zero with straight legs; names are ``<leg>_abduction``, ``_thigh``, ``_knee`` for the legs FL, FR, RL, RR,
    and ``<leg>_foot`` is the ball at the end of a shank.

    Args:
        height: Height of the trunk's centre [m].
    """
    stage = empty_stage(ground=True, friction=1.0)
    UsdGeom.Xform.Define(stage, "/Robot")
    trunk = _link(stage, "/Robot/trunk", (0.0, 0.0, height))
    UsdPhysics.ArticulationRootAPI.Apply(trunk)
    box = UsdGeom.Cube.Define(stage, "/Robot/trunk/box")
    box.CreateSizeAttr(1.0)
    box.AddScaleOp().Set(Gf.Vec3f(0.38, 0.16, 0.11))
    _collide(box.GetPrim(), 1000.0)
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("RL", -1, 1), ("RR", -1, -1)):
        hip = (0.19 * x, 0.05 * y, 0.0)
        out = (0.0, 0.08 * y, 0.0)
        down = (0.0, 0.0, -0.2)
        parts = [f"/Robot/{name}_{part}" for part in ("hip", "upper", "lower")]
        place = [hip, tuple(a + b for a, b in zip(hip, out, strict=True))]
        place.append((place[1][0], place[1][1], -0.2))
        for path, (px, py, pz) in zip(parts, place, strict=True):
            _link(stage, path, (px, py, height + pz))
        mass = UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath(parts[0]))
        mass.CreateMassAttr(0.5)
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(5e-4, 7e-4, 5e-4))
        _capsule(stage, f"{parts[1]}/capsule", (0.0, 0.0, 0.0), down, 0.03, 1000.0)
        _capsule(stage, f"{parts[2]}/capsule", (0.0, 0.0, 0.0), down, 0.02, 700.0)
        joints = (
            _hinge(stage, f"/Robot/{name}_abduction", ("/Robot/trunk", parts[0]), hip, (1, 0, 0), (-45.0, 45.0)),
            _hinge(stage, f"/Robot/{name}_thigh", (parts[0], parts[1]), out, (0, 1, 0), (-60.0, 150.0)),
            _hinge(stage, f"/Robot/{name}_knee", (parts[1], parts[2]), down, (0, 1, 0), (-155.0, -10.0)),
        )  # fmt: skip
        for joint in joints:
            joint.AddAppliedSchema("PhysxJointAPI")
            _number(joint, "physxJoint:armature", 0.01)
    return stage


def main() -> None:
    """Write all of them."""
    standard = pathlib.Path(tensorphys_assets.environments.__file__).parent / "robots"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else standard
    for author in (author_cartpole, author_ant, author_quadruped):
        name = author.__name__.removeprefix("author_")
        stage = author()
        stage.GetRootLayer().Export(str(folder / f"{name}.usda"))


if __name__ == "__main__":
    main()
