"""Environments of one prim of a stage, equal to those that the stage authors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene, SceneValueError, equal, replicate
from tensorphys_usd import parse_stage


def stage(count: int) -> Usd.Stage:
    """Copies of a two-link robot and a box under `/World/envs/env_i`, a ground that stands outside."""
    made = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(made, 1.0)
    UsdGeom.SetStageUpAxis(made, UsdGeom.Tokens.z)
    UsdPhysics.Scene.Define(made, "/World/scene")
    ground = UsdGeom.Plane.Define(made, "/World/ground")
    UsdPhysics.CollisionAPI.Apply(ground.GetPrim())
    for index in range(count):
        root = f"/World/envs/env_{index}"
        UsdGeom.Xform.Define(made, root).AddTranslateOp().Set((3.0 * index, -1.0 * index, 0.0))
        robot = UsdGeom.Xform.Define(made, f"{root}/robot")
        UsdPhysics.ArticulationRootAPI.Apply(robot.GetPrim())
        for row, name in enumerate(("base", "arm")):
            link = UsdGeom.Cube.Define(made, f"{root}/robot/{name}")
            link.AddTranslateOp().Set((0.0, 0.0, 1.0 + 2.5 * row))
            UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
            UsdPhysics.CollisionAPI.Apply(link.GetPrim())
        hinge = UsdPhysics.RevoluteJoint.Define(made, f"{root}/robot/hinge")
        hinge.CreateBody0Rel().SetTargets([f"{root}/robot/base"])
        hinge.CreateBody1Rel().SetTargets([f"{root}/robot/arm"])
        hinge.CreateLocalPos1Attr((0.0, 0.0, -2.5))
        box = UsdGeom.Cube.Define(made, f"{root}/box")
        box.AddTranslateOp().Set((5.0, 0.0, 1.0))
        UsdPhysics.RigidBodyAPI.Apply(box.GetPrim())
        UsdPhysics.CollisionAPI.Apply(box.GetPrim())
    return made


def assert_same(first: Scene, second: Scene) -> None:
    assert first.environments.path == second.environments.path
    np.testing.assert_allclose(first.environments.origin, second.environments.origin)
    pairs = zip((*first.templates, first.shared), (*second.templates, second.shared), strict=True)
    for one, other in pairs:
        assert one.prims == other.prims
        np.testing.assert_array_equal(one.filtered_pairs, other.filtered_pairs)
        for item in dataclasses.fields(one):
            table = getattr(one, item.name)
            if hasattr(table, "path"):
                assert equal(table, getattr(other, item.name)), item.name


def test_replicated_environments_equal_authored_ones() -> None:
    origins = [(3.0 * index, -1.0 * index, 0.0) for index in range(3)]
    one = parse_stage(stage(1))
    made = replicate(one, 3, source="/World/envs/env_0", origins=origins)
    assert_same(made, parse_stage(stage(3), environments="/World/envs/*"))
    assert made.shared.shapes.path == ("/World/ground",)
    assert made.templates[0].axes.names == ("hinge",)


def test_what_moves_elsewhere_cannot_be_shared() -> None:
    one = parse_stage(stage(1))
    with pytest.raises(
        SceneValueError, match=r"/World/envs/env_0/box moves and is not below /World/envs/env_0/robot"
    ):
        replicate(one, 2, source="/World/envs/env_0/robot")
    with pytest.raises(SceneValueError, match="the scene has no prim /World/envs/env_7"):
        replicate(one, 2, source="/World/envs/env_7")


def test_colliders_of_disabled_bodies_elsewhere_are_shared_where_they_stand() -> None:
    made = stage(1)
    wall = UsdGeom.Xform.Define(made, "/World/wall")
    wall.AddTranslateOp().Set((0.0, 9.0, 0.0))
    wall.AddRotateZOp().Set(90.0)
    UsdPhysics.RigidBodyAPI.Apply(wall.GetPrim()).CreateRigidBodyEnabledAttr(False)
    part = UsdGeom.Cube.Define(made, "/World/wall/part")
    part.AddTranslateOp().Set((2.0, 0.0, 1.0))
    UsdPhysics.CollisionAPI.Apply(part.GetPrim())
    scene = replicate(parse_stage(made), 2, source="/World/envs/env_0", spacing=20.0)
    row = scene.shared.shapes.row("/World/wall/part")
    turn = np.sqrt(0.5)
    np.testing.assert_allclose(
        scene.shared.shapes.pose[row], [0.0, 11.0, 1.0, 0.0, 0.0, turn, turn], atol=1e-12
    )
    assert scene.shared.shapes.body[row] == -1
