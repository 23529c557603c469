"""Bodies and colliders of point instancers against prims that stand where OpenUSD puts the instances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene
from tensorphys_spatial import quaternion_to_matrix
from tensorphys_usd import StageError, parse_stage

_FLOAT = st.floats(-4.0, 4.0, width=32)
_VECTOR = st.tuples(_FLOAT, _FLOAT, _FLOAT)
_SCALE = st.floats(0.25, 4.0, width=32)

_BOX = """
    def Xform "Box" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
        double3 xformOp:translate = (0, 0.5, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Cube "Geometry" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}
    }"""


def instancer(arrays: str, prototypes: str = _BOX, targets: str = "</World/I/Box>", name: str = "I") -> str:
    return f"""
    def Xform "World" {{
        double3 xformOp:translate = (0, 0, 5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def PointInstancer "{name}" {{
            {arrays}
            rel prototypes = [{targets}]
            {prototypes}
        }}
    }}"""


@given(data=st.data(), count=st.integers(1, 4))
def test_instances_stand_where_openusd_puts_them(data: st.DataObject, count: int) -> None:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdPhysics.Scene.Define(stage, "/Scene")
    made = UsdGeom.PointInstancer.Define(stage, "/Crowd")
    UsdGeom.Xformable(made).AddTranslateOp().Set(Gf.Vec3d(*data.draw(_VECTOR)))
    UsdGeom.Xformable(made).AddRotateXYZOp().Set(Gf.Vec3f(10.0, 20.0, 30.0))
    box = UsdGeom.Cube.Define(stage, "/Crowd/Box")
    box.AddTranslateOp().Set(Gf.Vec3d(*data.draw(_VECTOR)))
    UsdPhysics.RigidBodyAPI.Apply(box.GetPrim())
    UsdPhysics.CollisionAPI.Apply(box.GetPrim())
    ball = UsdGeom.Sphere.Define(stage, "/Elsewhere/Ball")
    UsdPhysics.CollisionAPI.Apply(ball.GetPrim())
    stage.GetPrimAtPath("/Elsewhere").SetSpecifier(Sdf.SpecifierOver)
    made.CreatePrototypesRel().SetTargets(["/Crowd/Box", "/Elsewhere/Ball"])
    indices = data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    made.CreateProtoIndicesAttr(indices)
    made.CreatePositionsAttr([Gf.Vec3f(*data.draw(_VECTOR)) for _ in range(count)])
    made.CreateOrientationsfAttr(
        [Gf.Quatf(1.0, Gf.Vec3f(*data.draw(_VECTOR))).GetNormalized() for _ in range(count)]
    )
    scales = [data.draw(_SCALE) for _ in range(count)]
    made.CreateScalesAttr([Gf.Vec3f(scale) for scale in scales])
    template = parse_stage(stage).templates[0]
    world = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(made.GetPrim()))
    expected = made.ComputeInstanceTransformsAtTime(0.0, 0.0)
    bodies = dict(zip(template.bodies.path, template.bodies.pose, strict=True))
    shapes = dict(zip(template.shapes.path, template.shapes.pose, strict=True))
    assert len(shapes) == count
    assert len(bodies) == indices.count(0)
    for row, (index, scale) in enumerate(zip(indices, scales, strict=True)):
        pose = bodies[f"/Crowd/Box_{row}"] if index == 0 else shapes[f"/Crowd/Ball_{row}"]
        matrix = np.array(expected[row]) @ world
        np.testing.assert_allclose(pose[:3], matrix[3, :3], atol=1e-4)
        np.testing.assert_allclose(quaternion_to_matrix(pose[3:]), matrix[:3, :3].T / scale, atol=1e-5)
    sizes = dict(zip(template.shapes.path, template.shapes.size, strict=True))
    for row, (index, scale) in enumerate(zip(indices, scales, strict=True)):
        name = f"/Crowd/{'Box' if index == 0 else 'Ball'}_{row}"
        assert sizes[name][0] == pytest.approx(scale, rel=1e-5)


def test_inactive_instances_are_left_out_and_velocities_are_those_of_the_instances(
    scene_of: Callable[..., Scene],
) -> None:
    arrays = """
        int[] protoIndices = [0, 0, 0]
        point3f[] positions = [(1, 0, 0), (2, 0, 0), (3, 0, 0)]
        int64[] ids = [7, 8, 9]
        int64[] invisibleIds = [9]
        vector3f[] velocities = [(1, 0, 0), (2, 0, 0), (0, 3, 0)]
        vector3f[] angularVelocities = [(90, 0, 0), (0, 0, 0), (0, 180, 0)]"""
    text = instancer(arrays).replace('PointInstancer "I" {', 'PointInstancer "I" (inactiveIds = [8]) {')
    scene = scene_of(text)
    bodies = scene.templates[0].bodies
    assert bodies.path == ("/World/I/Box_0", "/World/I/Box_2")
    np.testing.assert_allclose(bodies.pose[:, :3], [(1, 0.5, 5), (3, 0.5, 5)])
    np.testing.assert_allclose(bodies.linear_velocity, [(1, 0, 0), (0, 3, 0)])
    np.testing.assert_allclose(bodies.angular_velocity, [(np.pi / 2, 0, 0), (0, np.pi, 0)])
    assert scene.corrected == (
        ("/World/I", "point instancer: its 2 instances are prims, the first one /World/I/Box_0"),
    )


def test_the_given_stage_stays_as_it_is(stage_of: Callable[[str], Usd.Stage]) -> None:
    arrays = "int[] protoIndices = [0]\npoint3f[] positions = [(1, 0, 0)]"
    stage = stage_of('def PhysicsScene "S" {}' + instancer(arrays))
    before = [layer.ExportToString() for layer in stage.GetUsedLayers()]
    assert parse_stage(stage).templates[0].bodies.count == 1
    assert [layer.ExportToString() for layer in stage.GetUsedLayers()] == before
    assert not stage.GetPrimAtPath("/World/I/Box_0")


def test_instancers_without_physics_are_left_alone(scene_of: Callable[..., Scene]) -> None:
    arrays = "int[] protoIndices = [0]\npoint3f[] positions = [(1, 0, 0)]"
    scene = scene_of(instancer(arrays, 'def Cube "Box" {}'))
    assert scene.findings == ()
    assert "/World/I/Box_0" not in scene.templates[0].prims


def test_a_compound_of_instances(scene_of: Callable[..., Scene]) -> None:
    arrays = "int[] protoIndices = [0, 0]\npoint3f[] positions = [(1, 0, 0), (-1, 0, 0)]"
    ball = 'def Sphere "Ball" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double radius = 0.5; }'
    text = instancer(arrays, ball, "</World/I/Ball>").replace(
        'PointInstancer "I" {', 'PointInstancer "I" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {'
    )
    template = scene_of(text).templates[0]
    assert template.bodies.path == ("/World/I",)
    assert template.shapes.body.tolist() == [0, 0]
    assert template.bodies.mass[0] == pytest.approx(2.0 * 1000.0 * np.pi / 6.0)


def test_nested_and_instanced_instancers(scene_of: Callable[..., Scene]) -> None:
    text = """
    def Xform "Copy" (
        instanceable = true
        prepend references = </Source>
    ) {}
    class Xform "Source" {
        def PointInstancer "Outer" {
            int[] protoIndices = [0, 0]
            point3f[] positions = [(0, 0, 0), (10, 0, 0)]
            rel prototypes = </Source/Outer/Inner>
            def PointInstancer "Inner" {
                int[] protoIndices = [0, 0, 0]
                point3f[] positions = [(1, 0, 0), (2, 0, 0), (3, 0, 0)]
                rel prototypes = </Source/Outer/Inner/Box>
                def Cube "Box" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}
            }
        }
    }"""
    bodies = scene_of(text).templates[0].bodies
    assert sorted(bodies.pose[:, 0].tolist()) == [1.0, 2.0, 3.0, 11.0, 12.0, 13.0]
    assert bodies.path[0] == "/Copy/Outer/Inner_0/Box_0"


def test_environments_of_instancers_share_a_template(stage_of: Callable[[str], Usd.Stage]) -> None:
    def environment(row: int) -> str:
        return f"""
        def Xform "env_{row}" {{
            double3 xformOp:translate = ({10 * row}, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def PointInstancer "I" {{
                int[] protoIndices = [0, 0]
                point3f[] positions = [(1, 0, 0), (2, 0, 0)]
                rel prototypes = </envs/env_{row}/I/Box>
                {_BOX}
            }}
        }}"""

    text = 'def PhysicsScene "S" {}\ndef Scope "envs" {' + environment(0) + "\n" + environment(1) + "\n}"
    scene = parse_stage(stage_of(text), environments="/envs/env_*")
    assert len(scene.templates) == 1
    assert scene.templates[0].bodies.path == ("/I/Box_0", "/I/Box_1")
    np.testing.assert_allclose(scene.environments.origin[:, 0], (0.0, 10.0))


@pytest.mark.parametrize(
    ("arrays", "targets", "message"),
    [
        (
            "int[] protoIndices = [0, 0]\npoint3f[] positions = [(1, 0, 0)]",
            "</World/I/Box>",
            "positions has 1",
        ),
        (
            "int[] protoIndices = [2]\npoint3f[] positions = [(1, 0, 0)]",
            "</World/I/Box>",
            "protoIndices holds 2, there are 1 prototypes",
        ),
        (
            "int[] protoIndices = [0]\npoint3f[] positions = [(1, nan, 0)]",
            "</World/I/Box>",
            r"positions of instance 0 is \[1.0, nan, 0.0\]",
        ),
        (
            "int[] protoIndices = [0]\npoint3f[] positions = [(1, 0, 0)]\nfloat3[] scales = [(1, 0, 1)]",
            "</World/I/Box>",
            "scales of instance 0",
        ),
        (
            "int[] protoIndices = [0]\npoint3f[] positions = [(1, 0, 0)]\nquath[] orientations = [(0, 0, 0, 0)]",
            "</World/I/Box>",
            "orientations of instance 0",
        ),
        (
            "int[] protoIndices = [0]\npoint3f[] positions = [(1, 0, 0)]",
            "</World/I/Nothing>",
            "prototypes names /World/I/Nothing, which is no prim",
        ),
        (
            "int[] protoIndices = [0]\npoint3f[] positions = [(1, 0, 0)]",
            "</World>",
            "prototypes names /World, which holds the instancer /World/I itself",
        ),
    ],
)
def test_broken_instancers_are_named(
    scene_of: Callable[..., Scene], arrays: str, targets: str, message: str
) -> None:
    with pytest.raises(StageError, match=f"^/World/I: {message}"):
        scene_of(instancer(arrays, targets=targets))


def test_instancers_that_hold_each_other_end_in_an_error(scene_of: Callable[..., Scene]) -> None:
    text = """
    def PointInstancer "A" {
        int[] protoIndices = [0]
        point3f[] positions = [(0, 0, 1)]
        rel prototypes = </Q>
        def Cube "Box" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}
    }
    def Xform "Q" {
        def PointInstancer "B" {
            int[] protoIndices = [0]
            point3f[] positions = [(0, 0, 1)]
            rel prototypes = </R>
        }
    }
    def Xform "R" {
        def PointInstancer "C" {
            int[] protoIndices = [0]
            point3f[] positions = [(0, 0, 1)]
            rel prototypes = </Q>
        }
    }"""
    with pytest.raises(
        StageError, match=r"^/R/C: prototypes names /Q, which holds the instancer /Q/B itself$"
    ):
        scene_of(text)
