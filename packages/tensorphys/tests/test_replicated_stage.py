"""Copies of a prim in the views are those that a stage authors; what is recorded of them is what the views say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

import tensorphys
from tensorphys_scene import replicate
from tensorphys_usd import Recorder, parse_stage

_TURN = np.sqrt(0.5)
_MOTIONS = np.array(
    [[0, 0, 0, 0, 0, 0, 1], [6, 1, 0, 0, 0, _TURN, _TURN], [-3, 8, 0.5, 0, 0, -_TURN, _TURN]], np.float64
)


def author(stage: Usd.Stage, root: str, motion: np.ndarray) -> None:
    """A swinging arm on a base of the world and a ball over a tilted slab, below a prim with a pose."""
    place = UsdGeom.Xform.Define(stage, root)
    place.AddTranslateOp().Set(Gf.Vec3d(*motion[:3].tolist()))
    x, y, z, w = motion[3:].tolist()
    place.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(w, x, y, z))
    for name, height in (("base", 2.0), ("arm", 1.4)):
        link = UsdGeom.Cube.Define(stage, f"{root}/robot/{name}")
        link.CreateSizeAttr(0.2)
        link.AddTranslateOp().Set((0.0, 0.0, height))
        UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
        UsdPhysics.CollisionAPI.Apply(link.GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(f"{root}/robot/base"))
    weld = UsdPhysics.FixedJoint.Define(stage, f"{root}/robot/weld")
    weld.CreateBody1Rel().SetTargets([f"{root}/robot/base"])
    weld.CreateBody0Rel().SetTargets([root])
    weld.CreateLocalPos0Attr((0.0, 0.0, 2.0))
    hinge = UsdPhysics.RevoluteJoint.Define(stage, f"{root}/robot/hinge")
    hinge.CreateBody0Rel().SetTargets([f"{root}/robot/base"])
    hinge.CreateBody1Rel().SetTargets([f"{root}/robot/arm"])
    hinge.CreateAxisAttr("X")
    hinge.CreateLocalPos1Attr((0.0, 0.0, 0.6))
    hinge.GetPrim().AddAppliedSchema("PhysicsJointStateAPI:angular")
    hinge.GetPrim().CreateAttribute("state:angular:physics:velocity", Sdf.ValueTypeNames.Float).Set(90.0)
    ball = UsdGeom.Sphere.Define(stage, f"{root}/ball")
    ball.CreateRadiusAttr(0.1)
    ball.AddTranslateOp().Set((1.5, 0.0, 0.6))
    UsdPhysics.RigidBodyAPI.Apply(ball.GetPrim())
    UsdPhysics.CollisionAPI.Apply(ball.GetPrim())
    slab = UsdGeom.Cube.Define(stage, f"{root}/slab")
    slab.CreateSizeAttr(1.0)
    slab.AddTranslateOp().Set((1.5, 0.0, 0.0))
    slab.AddRotateYOp().Set(20.0)
    UsdPhysics.CollisionAPI.Apply(slab.GetPrim())


def stage_of(path: Path, motions: np.ndarray) -> Path:
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.Scene.Define(stage, "/World/scene")
    UsdGeom.Scope.Define(stage, "/World/envs")
    for index, motion in enumerate(motions):
        author(stage, f"/World/envs/env_{index}", motion)
    stage.GetRootLayer().Save()
    return path


def test_turned_copies_move_as_authored_ones_and_are_recorded_as_the_views_say(tmp_path: Path) -> None:
    one = stage_of(tmp_path / "one.usda", _MOTIONS[:1])
    many = stage_of(tmp_path / "many.usda", _MOTIONS)
    copied = replicate(parse_stage(one), "/World/envs/env_0", transforms=_MOTIONS)
    authored = parse_stage(many, environments="/World/envs/*")
    views = {}
    for name, scene in (("copied", copied), ("authored", authored)):
        sim = tensorphys.create_simulation_view("numpy", scene=scene, device="cpu")
        views[name] = (
            sim,
            sim.create_articulation_view("/World/envs/env_*/robot/base"),
            sim.create_rigid_body_view("/World/envs/*/ball"),
        )
    (sim, arms, balls), (other, other_arms, other_balls) = views["copied"], views["authored"]
    assert list(arms.prim_paths) == list(other_arms.prim_paths)
    assert list(balls.prim_paths) == [f"/World/envs/env_{index}/ball" for index in range(3)]
    assert arms.dof_paths == other_arms.dof_paths
    assert arms.link_paths == other_arms.link_paths
    template = copied.templates[0]
    links = [row for row in range(3) if template.bodies.path[row] != "/ball"]
    with Recorder(tmp_path / "out.usda", one, copied, root="/World/envs/env_0") as recorder:
        for _ in range(60):
            sim.step(1.0 / 60.0)
            other.step(1.0 / 60.0)
        np.testing.assert_allclose(balls.get_transforms(), other_balls.get_transforms(), atol=2e-4)
        np.testing.assert_allclose(arms.get_link_transforms(), other_arms.get_link_transforms(), atol=2e-4)
        np.testing.assert_allclose(arms.get_dof_positions(), other_arms.get_dof_positions(), atol=2e-4)
        assert np.abs(arms.get_dof_velocities()).max() > 0.1
        poses = np.zeros((3, 3, 7))
        poses[:, links] = arms.get_link_transforms()
        poses[:, template.bodies.row("/ball")] = balls.get_transforms()
        recorder.record(
            1.0,
            poses,
            joint_positions=arms.get_dof_positions(),
            joint_velocities=arms.get_dof_velocities(),
        )
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    cache = UsdGeom.XformCache(60.0)
    for index, path in enumerate(copied.environments.path):
        for row, name in enumerate(template.bodies.path):
            world = cache.GetLocalToWorldTransform(stage.GetPrimAtPath(path + name))
            turn = world.ExtractRotationQuat()
            read = np.array([*world.ExtractTranslation(), *turn.GetImaginary(), turn.GetReal()])
            given = poses[index, row]
            np.testing.assert_allclose(read[:3], given[:3], atol=1e-6)
            assert abs(read[3:] @ given[3:]) > 1.0 - 1e-6
        hinge = stage.GetPrimAtPath(f"{path}/robot/hinge")
        for name, values in (("position", arms.get_dof_positions()), ("velocity", arms.get_dof_velocities())):
            read = hinge.GetAttribute(f"state:angular:physics:{name}").Get(60.0)
            np.testing.assert_allclose(np.radians(read), values[index, 0], rtol=1e-5)
