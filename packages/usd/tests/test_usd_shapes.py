"""Colliders against the parser's descriptors and simple geometry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene, ShapeType
from tensorphys_spatial import quaternion_rotate, transform_point
from tensorphys_usd import StageError, parse_stage

# The older of the two names warns where the newer one exists.
_LOAD = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None) or UsdPhysics.LoadUsdPhysicsFromRange
_SCALE = st.floats(0.25, 4.0, width=32)


@given(
    kind=st.sampled_from(["Cube", "Sphere", "Capsule", "Cylinder", "Cone"]),
    axis=st.sampled_from("XYZ"),
    scale=st.tuples(_SCALE, _SCALE, _SCALE),
    angles=st.tuples(*[st.floats(-180.0, 180.0, width=32)] * 3),
    body_scale=_SCALE,
)
def test_sizes_and_places_are_those_of_the_descriptors(
    kind: str, axis: str, scale: tuple[float, ...], angles: tuple[float, ...], body_scale: float
) -> None:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/Scene")
    xform = UsdGeom.Xform.Define(stage, "/Body")
    xform.AddTranslateOp().Set((1.0, 2.0, 3.0))
    xform.AddRotateXYZOp().Set(Gf.Vec3f(30.0, -20.0, 50.0))
    xform.AddScaleOp().Set(Gf.Vec3f(body_scale))
    UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
    shape = getattr(UsdGeom, kind).Define(stage, "/Body/Shape")
    shape.AddTranslateOp().Set((0.5, -0.25, 1.0))
    shape.AddRotateXYZOp().Set(Gf.Vec3f(*angles))
    shape.AddScaleOp().Set(Gf.Vec3f(*scale))
    if kind not in ("Cube", "Sphere"):
        shape.CreateAxisAttr(axis)
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    descriptors = _LOAD(stage, ["/"])
    (expected,) = descriptors[getattr(UsdPhysics.ObjectType, f"{kind}Shape")][1]
    shapes = parse_stage(stage).templates[0].shapes
    size = shapes.size[0]
    if kind == "Cube":
        np.testing.assert_allclose(size, expected.halfExtents, rtol=1e-5)
    elif kind == "Sphere":
        # The descriptor has the largest radius; the shape is the ellipsoid itself.
        semi_axes = np.abs(scale) * body_scale
        if np.ptp(semi_axes) > 2e-6 * semi_axes.max():
            assert shapes.type[0] == ShapeType.ELLIPSOID
            np.testing.assert_allclose(size, semi_axes, rtol=1e-5)
        assert size.max() == pytest.approx(expected.radius, rel=1e-5)
    else:
        assert tuple(size[:2]) == pytest.approx((expected.radius, expected.halfHeight), rel=1e-5)
    np.testing.assert_allclose(shapes.pose[0, :3], expected.localPos, atol=1e-4)
    along = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}[axis if kind not in ("Cube", "Sphere") else "Z"]
    rotation = (*expected.localRot.GetImaginary(), expected.localRot.GetReal())
    np.testing.assert_allclose(
        quaternion_rotate(shapes.pose[0, 3:], (0.0, 0.0, 1.0)), quaternion_rotate(rotation, along), atol=1e-4
    )


def _mesh(body: str, approximation: str, *, scale: str = "(1, 1, 1)", extra: str = "") -> str:
    points = ", ".join(f"({x}, {y}, {z})" for x in (0, 2) for y in (0, 1) for z in (0, 1))
    return f"""
        def Xform "B" ({body}) {{
            def Mesh "M" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {{
                uniform token physics:approximation = "{approximation}"
                point3f[] points = [{points}]
                int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
                int[] faceVertexIndices = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
                float3 xformOp:scale = {scale}
                uniform token[] xformOpOrder = ["xformOp:scale"]
                {extra}
            }}
        }}"""


_DYNAMIC = 'prepend apiSchemas = ["PhysicsRigidBodyAPI"]'


@pytest.mark.parametrize(
    ("approximation", "static", "dynamic"),
    [
        ("none", ShapeType.TRIANGLE_MESH, ShapeType.CONVEX_HULL),
        ("meshSimplification", ShapeType.TRIANGLE_MESH, ShapeType.CONVEX_HULL),
        ("convexHull", ShapeType.CONVEX_HULL, ShapeType.CONVEX_HULL),
        ("convexDecomposition", ShapeType.CONVEX_DECOMPOSITION, ShapeType.CONVEX_DECOMPOSITION),
        ("sdf", ShapeType.SDF, ShapeType.SDF),
        ("sphereFill", ShapeType.SPHERES, ShapeType.SPHERES),
        ("boundingCube", ShapeType.BOX, ShapeType.BOX),
        ("boundingSphere", ShapeType.SPHERE, ShapeType.SPHERE),
    ],
)
def test_mesh_approximations(
    scene_of: Callable[..., Scene], approximation: str, static: ShapeType, dynamic: ShapeType
) -> None:
    for body, expected in (("", static), (_DYNAMIC, dynamic)):
        scene = scene_of(_mesh(body, approximation))
        assert scene.templates[0].shapes.type.tolist() == [expected]
        warned = [text for path, text in scene.findings if path == "/B/M"]
        assert bool(warned) == (
            approximation in ("none", "meshSimplification") and not (body == "" and approximation == "none")
        )


def test_bounding_shapes(scene_of: Callable[..., Scene]) -> None:
    box = scene_of(_mesh("", "boundingCube", scale="(1, 2, 3)")).templates[0].shapes
    np.testing.assert_allclose(box.pose[0, :3], (1.0, 1.0, 1.5))
    np.testing.assert_allclose(box.size[0], (1.0, 1.0, 1.5))
    ball = scene_of(_mesh("", "boundingSphere", scale="(1, 2, 3)")).templates[0].shapes
    assert ball.size[0, 0] == pytest.approx(np.sqrt(1.0 + 1.0 + 1.5**2))


def test_equal_meshes_are_kept_once_and_scale_stays_a_column(scene_of: Callable[..., Scene]) -> None:
    second = _mesh("", "convexHull", scale="(1, 2, 3)").replace('"B"', '"C"')
    template = scene_of(_mesh("", "convexHull") + second).templates[0]
    assert len(template.meshes) == 1
    np.testing.assert_allclose(template.shapes.size, [(1, 1, 1), (1, 2, 3)])


def test_left_handed_faces_are_turned(scene_of: Callable[..., Scene]) -> None:
    def volume(extra: str) -> float:
        (mesh,) = scene_of(_mesh("", "none", extra=extra)).templates[0].meshes
        corners = mesh.points[mesh.triangles]
        return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)

    authored = volume("")
    assert abs(authored) == pytest.approx(2.0)
    assert volume('uniform token orientation = "leftHanded"') == pytest.approx(-authored)


def test_a_sheared_mesh_keeps_its_world_points(scene_of: Callable[..., Scene]) -> None:
    text = """
        def Xform "P" {
            float3 xformOp:scale = (1, 3, 1)
            uniform token[] xformOpOrder = ["xformOp:scale"]
            def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
                double xformOp:rotateZ = 30
                uniform token[] xformOpOrder = ["xformOp:rotateZ"]
                def Mesh "M" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {
                    uniform token physics:approximation = "convexHull"
                    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
                    int[] faceVertexCounts = [3, 3, 3, 3]
                    int[] faceVertexIndices = [0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3]
                }
            }
        }"""
    template = scene_of(text).templates[0]
    points = template.meshes[0].points * template.shapes.size[0]
    world = transform_point(template.bodies.pose[0], transform_point(template.shapes.pose[0], points))
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    np.testing.assert_allclose(world, [(0, 0, 0), (c, 3 * s, 0), (-s, 3 * c, 0), (0, 0, 1)], atol=1e-7)
    assert template.bodies.mass[0] == pytest.approx(1000.0 * 3.0 / 6.0)


@pytest.mark.parametrize(("axis", "normal"), [("X", (1, 0, 0)), ("Y", (0, 1, 0)), ("Z", (0, 0, 1))])
def test_plane_normals_and_mirrored_cones(
    scene_of: Callable[..., Scene], axis: str, normal: tuple[int, ...]
) -> None:
    text = f"""
        def Plane "Ground" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ uniform token axis = "{axis}"; }}
        def Xform "Mirror" {{
            float3 xformOp:scale = (-1, -1, -1)
            uniform token[] xformOpOrder = ["xformOp:scale"]
            def Cone "Cone" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ uniform token axis = "{axis}"; }}
        }}"""
    shapes = scene_of(text).templates[0].shapes
    np.testing.assert_allclose(quaternion_rotate(shapes.pose[0, 3:], (0, 0, 1)), normal, atol=1e-12)
    np.testing.assert_allclose(
        quaternion_rotate(shapes.pose[1, 3:], (0, 0, 1)), -np.array(normal), atol=1e-12
    )


def test_offsets_and_materials(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(
        """
        def Material "Ice" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {
            float physics:staticFriction = 0.25
            float physics:dynamicFriction = 0.125
            token physxMaterial:frictionCombineMode = "max"
        }
        def Material "Paint" {}
        def Cube "A" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]) {
            rel material:binding:physics = </Ice>
            rel material:binding = </Paint>
            float physxCollision:contactOffset = 0.0625
            float physxCollision:restOffset = 0.03125
            bool physics:collisionEnabled = 0
        }
        def Cube "B" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]) {
            rel material:binding = </Paint>
            float physxCollision:contactOffset = 0.5
            float physxCollision:restOffset = 0.5
        }"""
    )
    template = scene.templates[0]
    shapes, materials = template.shapes, template.materials
    assert shapes.material.tolist() == [0, -1]
    assert (materials.static_friction[0], materials.dynamic_friction[0]) == (0.25, 0.125)
    assert materials.friction_combine[0] == 3
    assert (shapes.contact_offset[0], shapes.rest_offset[0]) == (0.0625, 0.03125)
    assert np.isnan(shapes.contact_offset[1])
    assert shapes.enabled.tolist() == [False, True]
    assert [path for path, text in scene.findings if "contactOffset" in text] == ["/B"]


def test_the_material_of_the_physics_scene_is_the_default(stage_of: Callable[[str], Usd.Stage]) -> None:
    stage = stage_of(
        """
        def PhysicsScene "S" (prepend apiSchemas = ["MaterialBindingAPI"]) { rel material:binding:physics = </M>; }
        def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:restitution = 0.5; }
        def Cube "A" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}"""
    )
    assert parse_stage(stage).templates[0].shapes.material.tolist() == [0]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("int[] holeIndices = [0]", 10),
        ("", 12),
    ],
)
def test_holes_are_left_out(scene_of: Callable[..., Scene], extra: str, expected: int) -> None:
    (mesh,) = scene_of(_mesh("", "none", extra=extra)).templates[0].meshes
    assert len(mesh.triangles) == expected


def test_broken_meshes_are_named(scene_of: Callable[..., Scene]) -> None:
    with pytest.raises(StageError, match=r"^/B/M: faceVertexIndices holds 9, the mesh has 8 points$"):
        scene_of(_mesh("", "none").replace("0, 1, 3, 2", "0, 1, 9, 2"))
    with pytest.raises(StageError, match=r"^/B/M: point 0 is not finite"):
        scene_of(_mesh("", "none").replace("[(0, 0, 0)", "[(nan, 0, 0)"))
    with pytest.raises(StageError, match=r"^/B/M: physics:approximation is 'hull'"):
        scene_of(_mesh("", "hull"))
