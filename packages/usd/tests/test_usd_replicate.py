"""Environments of one prim of a stage, equal to those that the stage authors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene, SceneValueError, equal, replicate
from tensorphys_spatial import quaternion_rotate
from tensorphys_usd import parse_stage

# Initial velocities of the box, linear and angular, before its environment turns.
_SPEEDS = np.array([[1.0, 0.5, -2.0], [0.25, -1.0, 3.0]])


def stage(count: int, motions: np.ndarray | None = None) -> Usd.Stage:
    """Copies of a two-link robot and a box under `/World/envs/env_i`, a ground that stands outside.

    With motions the roots have these poses, and hold a static ramp, a post on a rail of the world, and speeds.
    """
    made = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(made, 1.0)
    UsdGeom.SetStageUpAxis(made, UsdGeom.Tokens.z)
    UsdPhysics.Scene.Define(made, "/World/scene")
    ground = UsdGeom.Plane.Define(made, "/World/ground")
    UsdPhysics.CollisionAPI.Apply(ground.GetPrim())
    for index in range(count):
        root = f"/World/envs/env_{index}"
        xform = UsdGeom.Xform.Define(made, root)
        if motions is None:
            xform.AddTranslateOp().Set((3.0 * index, -1.0 * index, 0.0))
        else:
            xform.AddTranslateOp().Set(Gf.Vec3d(*motions[index, :3].tolist()))
            x, y, z, w = motions[index, 3:].tolist()
            xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(w, x, y, z))
            _extras(made, root)
            speeds = quaternion_rotate(motions[index, 3:], _SPEEDS)
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
        moving = UsdPhysics.RigidBodyAPI.Apply(box.GetPrim())
        UsdPhysics.CollisionAPI.Apply(box.GetPrim())
        if motions is not None:
            moving.CreateVelocityAttr(Gf.Vec3f(*speeds[0].tolist()))
            moving.CreateAngularVelocityAttr(Gf.Vec3f(*np.degrees(speeds[1]).tolist()))
    return made


def _extras(made: Usd.Stage, root: str) -> None:
    ramp = UsdGeom.Cube.Define(made, f"{root}/ramp")
    ramp.AddTranslateOp().Set((-4.0, 1.0, 0.0))
    ramp.AddRotateYOp().Set(20.0)
    UsdPhysics.CollisionAPI.Apply(ramp.GetPrim())
    post = UsdGeom.Cube.Define(made, f"{root}/post")
    post.AddTranslateOp().Set((0.0, 6.0, 1.0))
    post.AddRotateXOp().Set(35.0)
    UsdPhysics.RigidBodyAPI.Apply(post.GetPrim())
    UsdPhysics.CollisionAPI.Apply(post.GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(post.GetPrim())
    rail = UsdPhysics.PrismaticJoint.Define(made, f"{root}/rail")
    rail.CreateBody0Rel().SetTargets([root])
    rail.CreateBody1Rel().SetTargets([f"{root}/post"])
    rail.CreateAxisAttr("Y")
    rail.CreateLocalPos0Attr((0.0, 6.0, 1.0))
    rail.CreateLocalRot0Attr(Gf.Quatf(Gf.Rotation((1, 0, 0), 35.0).GetQuat()))


def effective(scene: Scene, environment: int, name: str) -> np.ndarray:
    """A column as it is in an environment."""
    template = int(scene.environments.template[environment])
    values = scene.overrides.get((template, name))
    if values is not None:
        row = int((scene.environments.template[:environment] == template).sum())
        return values[row]
    table, _, column = name.partition(".")
    return getattr(getattr(scene.templates[template], table), column)


def up_to_sign(poses: np.ndarray) -> np.ndarray:
    """Poses with quaternions of one sign."""
    largest = np.take_along_axis(
        poses[..., 3:], np.abs(poses[..., 3:]).argmax(axis=-1, keepdims=True), axis=-1
    )
    return np.concatenate((poses[..., :3], poses[..., 3:] * np.sign(largest)), axis=-1)


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
    made = replicate(one, "/World/envs/env_0", 3, origins=origins)
    assert_same(made, parse_stage(stage(3), environments="/World/envs/*"))
    assert made.shared.shapes.path == ("/World/ground",)
    assert made.templates[0].axes.names == ("hinge",)


_MOTION = st.tuples(
    *[st.floats(-64.0, 64.0, width=32)] * 3, *[st.sampled_from([-1.0, -0.5, 0.125, 0.75])] * 4
)


@given(motions=st.lists(_MOTION, min_size=1, max_size=3))
def test_turned_copies_equal_authored_ones(motions: list[tuple[float, ...]]) -> None:
    rest = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    transforms = np.array([rest, *motions])
    transforms[:, 3:] /= np.linalg.norm(transforms[:, 3:], axis=1, keepdims=True)
    one = parse_stage(stage(1, transforms[:1]))
    made = replicate(one, "/World/envs/env_0", transforms=transforms)
    authored = parse_stage(stage(len(transforms), transforms), environments="/World/envs/*")
    assert made.environments.path == authored.environments.path
    assert len(authored.templates) == 1
    assert made.templates[0].joints.path == authored.templates[0].joints.path
    np.testing.assert_array_equal(made.environments.origin, authored.environments.origin)
    for environment in range(len(transforms)):
        for name in ("bodies.pose", "shapes.pose", "joints.frame0", "joints.frame1"):
            np.testing.assert_allclose(
                up_to_sign(effective(made, environment, name)),
                up_to_sign(effective(authored, environment, name)),
                atol=1e-6,  # the rail's rotation is authored in float32
            )
        for name in ("bodies.linear_velocity", "bodies.angular_velocity"):
            moving = effective(made, environment, name)
            assert np.abs(moving).max() > 0.5
            np.testing.assert_allclose(moving, effective(authored, environment, name), atol=2e-6)
        for name in ("bodies.mass", "bodies.com", "bodies.inertia", "shapes.size"):
            np.testing.assert_allclose(
                effective(made, environment, name), effective(authored, environment, name), atol=1e-9
            )
    np.testing.assert_array_equal(made.shared.shapes.pose, authored.shared.shapes.pose)


def test_copies_that_do_not_turn_need_no_columns() -> None:
    one = parse_stage(stage(1))
    rest = [[2.0 * index, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] for index in range(3)]
    made = replicate(one, "/World/envs/env_0", transforms=rest)
    assert not made.overrides
    half = replicate(one, "/World/envs/env_0", transforms=[*rest, [0, 0, 0, 0, 0, 1, 0]])
    moved = half.overrides[0, "bodies.pose"]
    np.testing.assert_array_equal(moved[:3], np.repeat(one.templates[0].bodies.pose[None], 3, axis=0))
    np.testing.assert_allclose(moved[3, :, :2], -moved[0, :, :2], atol=1e-12)


def test_what_moves_elsewhere_cannot_be_shared() -> None:
    one = parse_stage(stage(1))
    with pytest.raises(
        SceneValueError, match=r"/World/envs/env_0/box moves and is not below /World/envs/env_0/robot"
    ):
        replicate(one, "/World/envs/env_0/robot", 2)
    with pytest.raises(SceneValueError, match="the scene has no prim /World/envs/env_7"):
        replicate(one, "/World/envs/env_7", 2)


def test_colliders_of_disabled_bodies_elsewhere_are_shared_where_they_stand() -> None:
    made = stage(1)
    wall = UsdGeom.Xform.Define(made, "/World/wall")
    wall.AddTranslateOp().Set((0.0, 9.0, 0.0))
    wall.AddRotateZOp().Set(90.0)
    UsdPhysics.RigidBodyAPI.Apply(wall.GetPrim()).CreateRigidBodyEnabledAttr(False)
    part = UsdGeom.Cube.Define(made, "/World/wall/part")
    part.AddTranslateOp().Set((2.0, 0.0, 1.0))
    UsdPhysics.CollisionAPI.Apply(part.GetPrim())
    scene = replicate(parse_stage(made), "/World/envs/env_0", 2, spacing=20.0)
    row = scene.shared.shapes.row("/World/wall/part")
    turn = np.sqrt(0.5)
    np.testing.assert_allclose(
        scene.shared.shapes.pose[row], [0.0, 11.0, 1.0, 0.0, 0.0, turn, turn], atol=1e-12
    )
    assert scene.shared.shapes.body[row] == -1
