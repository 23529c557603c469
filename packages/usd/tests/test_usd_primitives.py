"""Primitive colliders under transforms that leave their type, sets of spheres, tapered and sheared shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Usd, UsdGeom, UsdPhysics
from scipy.spatial import ConvexHull

from tensorphys_scene import Scene, Shapes, ShapeType, Template
from tensorphys_spatial import quaternion_rotate, quaternion_to_matrix, transform_point
from tensorphys_usd import StageError, parse_stage

_SCALE = st.floats(0.25, 4.0, width=32)
_SIGNED = st.one_of(_SCALE, _SCALE.map(lambda value: -value))
_ANGLES = st.tuples(*[st.floats(-180.0, 180.0, width=32)] * 3)


def _world(stage: Usd.Stage, path: str) -> np.ndarray:
    return np.array(UsdGeom.XformCache().GetLocalToWorldTransform(stage.GetPrimAtPath(path))).T


def _sheared(
    kind: str, scales: tuple[float, ...], angles: tuple[float, ...], inner: tuple[float, ...]
) -> Usd.Stage:
    """A collider whose ancestors scale it before and after a turn."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/Scene")
    outer = UsdGeom.Xform.Define(stage, "/Outer")
    outer.AddTranslateOp().Set((1.0, 2.0, 3.0))
    outer.AddScaleOp().Set(Gf.Vec3f(*scales))
    shape = getattr(UsdGeom, kind).Define(stage, "/Outer/Shape")
    shape.AddTranslateOp().Set((0.5, -0.25, 1.0))
    shape.AddRotateXYZOp().Set(Gf.Vec3f(*angles))
    shape.AddScaleOp().Set(Gf.Vec3f(*inner))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    return stage


@given(scales=st.tuples(_SIGNED, _SCALE, _SCALE), angles=_ANGLES, inner=st.tuples(_SCALE, _SIGNED, _SCALE))
def test_every_transform_of_a_sphere_is_its_ellipsoid(
    scales: tuple[float, ...], angles: tuple[float, ...], inner: tuple[float, ...]
) -> None:
    stage = _sheared("Sphere", scales, angles, inner)
    shapes = parse_stage(stage).templates[0].shapes
    matrix = _world(stage, "/Outer/Shape")
    np.testing.assert_allclose(shapes.pose[0, :3], matrix[:3, 3], atol=1e-9)
    semi = np.full(3, shapes.size[0, 0]) if shapes.type[0] == ShapeType.SPHERE else shapes.size[0]
    turn = quaternion_to_matrix(shapes.pose[0, 3:])
    # A x with |x| = r is the ellipsoid yᵀ (A Aᵀ)⁻¹ y = r², whatever rotation or mirror is within A.
    expected = matrix[:3, :3] @ matrix[:3, :3].T
    np.testing.assert_allclose((turn * semi**2) @ turn.T, expected, atol=1e-5 * np.abs(expected).max())


@given(scales=st.tuples(_SIGNED, _SCALE, _SCALE), angles=_ANGLES, inner=st.tuples(_SCALE, _SIGNED, _SCALE))
def test_every_transform_of_a_cube_keeps_its_corners(
    scales: tuple[float, ...], angles: tuple[float, ...], inner: tuple[float, ...]
) -> None:
    stage = _sheared("Cube", scales, angles, inner)
    template = parse_stage(stage).templates[0]
    shapes = template.shapes
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    if shapes.type[0] == ShapeType.BOX:
        points = signs * shapes.size[0]
    else:
        assert shapes.type[0] == ShapeType.CONVEX_HULL
        points = template.meshes[0].points * shapes.size[0]
    found = transform_point(shapes.pose[0], points)
    matrix = _world(stage, "/Outer/Shape")
    expected = signs @ matrix[:3, :3].T + matrix[:3, 3]
    scale = np.abs(expected).max()
    # Every corner is met by one of the other set.
    distance = np.linalg.norm(found[:, None] - expected[None], axis=2)
    assert distance.min(axis=1).max() < 1e-4 * scale
    assert distance.min(axis=0).max() < 1e-4 * scale


@given(
    kind=st.sampled_from(["Capsule", "Cylinder", "Cone"]),
    axis=st.sampled_from("XYZ"),
    scales=st.tuples(_SIGNED, _SIGNED, _SIGNED),
)
def test_scales_of_round_shapes_are_exact_or_reported_with_their_values(
    kind: str, axis: str, scales: tuple[float, ...]
) -> None:
    stage = _sheared(kind, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), scales)
    stage.GetPrimAtPath("/Outer/Shape").GetAttribute("axis").Set(axis)
    scene = parse_stage(stage)
    index = "XYZ".index(axis)
    across = np.delete(np.abs(scales), index)
    size = scene.templates[0].shapes.size[0]
    height = {"Capsule": 1.0, "Cylinder": 2.0, "Cone": 2.0}[kind]
    radius = {"Capsule": 0.5, "Cylinder": 1.0, "Cone": 1.0}[kind]
    np.testing.assert_allclose(
        size[:2], (radius * across.max(), 0.5 * height * abs(scales[index])), rtol=1e-6
    )
    # The apex of a cone goes where the transform carries it, the world's X and Y turned over by the rest of a mirror.
    direction = quaternion_rotate(scene.templates[0].shapes.pose[0, 3:], (0.0, 0.0, 1.0))
    assert direction[index] == pytest.approx(np.sign(scales[index]) if kind == "Cone" else direction[index])
    uneven = np.ptp(across) > 2e-6 * across.max()
    texts = [text for path, text in scene.corrected if path == "/Outer/Shape"]
    assert bool(texts) == uneven
    if uneven:
        assert f"{across[0]:.6g} and {across[1]:.6g}" in texts[0]


def _points(extra: str, body: str = "") -> str:
    return f"""
    def Xform "B" ({body}) {{
        def Points "P" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]) {{
            point3f[] points = [(0, 0, 0), (3, 0, 0), (0, 3, 0)]
            {extra}
        }}
    }}"""


_DYNAMIC = 'prepend apiSchemas = ["PhysicsRigidBodyAPI"]'


def test_points_are_spheres(scene_of: Callable[..., Scene]) -> None:
    shapes = scene_of(_points("float[] widths = [1, 2, 0.5]")).templates[0].shapes
    assert shapes.path == ("/B/P",) * 3
    assert shapes.type.tolist() == [ShapeType.SPHERE] * 3
    assert shapes.size[:, 0].tolist() == [0.5, 1.0, 0.25]
    np.testing.assert_array_equal(shapes.pose[:, :3], [(0, 0, 0), (3, 0, 0), (0, 3, 0)])
    one = scene_of(_points('float[] widths = [1] (interpolation = "constant")')).templates[0].shapes
    assert one.size[:, 0].tolist() == [0.5] * 3
    primvar = scene_of(_points('float[] primvars:widths = [1, 2, 3] (interpolation = "vertex")'))
    assert primvar.templates[0].shapes.size[:, 0].tolist() == [0.5, 1.0, 1.5]


def test_points_under_a_scale_are_ellipsoids(scene_of: Callable[..., Scene]) -> None:
    scale = 'float3 xformOp:scale = (2, 1, 1)\nuniform token[] xformOpOrder = ["xformOp:scale"]'
    shapes = scene_of(_points(f"float[] widths = [1, 2, 4]\n{scale}")).templates[0].shapes
    assert shapes.type.tolist() == [ShapeType.ELLIPSOID] * 3
    np.testing.assert_allclose(shapes.size, [(1, 0.5, 0.5), (2, 1, 1), (4, 2, 2)])
    np.testing.assert_allclose(shapes.pose[:, :3], [(0, 0, 0), (6, 0, 0), (0, 3, 0)])


def test_points_weigh_together_what_their_prim_says(scene_of: Callable[..., Scene]) -> None:
    free = scene_of(_points("float[] widths = [2, 2, 2]", _DYNAMIC)).templates[0].bodies
    assert free.mass[0] == pytest.approx(3.0 * 4000.0 * np.pi / 3.0)
    np.testing.assert_allclose(free.com[0], (1.0, 1.0, 0.0), atol=1e-12)
    said = (
        scene_of(_points("float[] widths = [2, 2, 2]\nfloat physics:mass = 6", _DYNAMIC)).templates[0].bodies
    )
    assert said.mass[0] == pytest.approx(6.0)
    np.testing.assert_allclose(said.inertia[0] / 6.0, free.inertia[0] / free.mass[0], rtol=1e-9)
    placed = scene_of(
        _points(
            "float[] widths = [2, 2, 2]\nfloat physics:mass = 6\npoint3f physics:centerOfMass = (0, 0, 1)",
            _DYNAMIC,
        )
    )
    np.testing.assert_allclose(placed.templates[0].bodies.com[0], (0.0, 0.0, 1.0))


@pytest.mark.parametrize("widths", ["", "float[] widths = [1, 2]", "float[] widths = []"])
def test_points_without_matching_widths_are_left_out(scene_of: Callable[..., Scene], widths: str) -> None:
    scene = scene_of(_points(widths))
    assert scene.templates[0].shapes.count == 0
    ((path, text),) = scene.findings
    assert path == "/B/P"
    assert text.startswith("collider of 3 points with")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("float[] widths = [1, 0, 1]", "width is 0.0"),
        ("float[] widths = [1, nan, 1]", r"widths of entry 1 is not finite: \[nan\]"),
        ("float[] widths = [1]\npoint3f[] points = [(inf, 0, 0)]", "point 0 is not finite"),
    ],
)
def test_points_with_odd_numbers_are_named(scene_of: Callable[..., Scene], extra: str, message: str) -> None:
    text = _points(extra)
    if "point3f[] points = [(inf" in extra:
        text = text.replace("point3f[] points = [(0, 0, 0), (3, 0, 0), (0, 3, 0)]", "")
    with pytest.raises(StageError, match=f"^/B/P: {message}"):
        scene_of(text)


def test_filters_hold_for_all_spheres_of_a_prim(scene_of: Callable[..., Scene]) -> None:
    other = """
    def Sphere "S" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsFilteredPairsAPI"]) {
        rel physics:filteredPairs = </B/P>
    }"""
    template = scene_of(_points("float[] widths = [1, 1, 1]", _DYNAMIC) + other).templates[0]
    assert template.filtered_pairs.tolist() == [[0, 3], [1, 3], [2, 3]]


def _tapered(kind: str, top: float, bottom: float, axis: str = "Z") -> str:
    return f"""
    def Xform "B" ({_DYNAMIC}) {{
        def {kind} "S" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
            double radiusTop = {top}
            double radiusBottom = {bottom}
            double height = 4
            uniform token axis = "{axis}"
        }}
    }}"""


def _row(template: Template) -> tuple[ShapeType, Shapes]:
    return ShapeType(int(template.shapes.type[0])), template.shapes


def test_newer_capsules_and_cylinders(scene_of: Callable[..., Scene]) -> None:
    for kind, expected in (("Capsule_1", ShapeType.CAPSULE), ("Cylinder_1", ShapeType.CYLINDER)):
        scene = scene_of(_tapered(kind, 0.5, 0.5))
        found, shapes = _row(scene.templates[0])
        assert (found, shapes.size[0].tolist(), scene.findings) == (expected, [0.5, 2.0, 0.0], ())
    for top, bottom, along in ((0.0, 1.0, 1.0), (1.0, 0.0, -1.0)):
        found, shapes = _row(scene_of(_tapered("Cylinder_1", top, bottom)).templates[0])
        assert (found, shapes.size[0].tolist()) == (ShapeType.CONE, [1.0, 2.0, 0.0])
        np.testing.assert_allclose(
            quaternion_rotate(shapes.pose[0, 3:], (0, 0, 1)), (0, 0, along), atol=1e-12
        )


def test_tapered_shapes_are_hulls_of_points_on_them(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(_tapered("Cylinder_1", 0.5, 1.0))
    template = scene.templates[0]
    assert template.shapes.type.tolist() == [ShapeType.CONVEX_HULL]
    points = template.meshes[0].points
    radius = np.hypot(points[:, 0], points[:, 1])
    np.testing.assert_allclose(radius, np.where(points[:, 2] > 0.0, 0.5, 1.0))
    frustum = np.pi * 4.0 / 3.0 * (0.25 + 0.5 + 1.0)
    assert template.bodies.mass[0] == pytest.approx(1000.0 * frustum, rel=0.01)
    assert "radii 0.5 and 1" in scene.corrected[0][1]
    capsule = scene_of(_tapered("Capsule_1", 0.5, 1.0, "X")).templates[0]
    points = capsule.meshes[0].points
    centre = np.where(points[:, 2:] > 0.0, (0.0, 0.0, 2.0), (0.0, 0.0, -2.0))
    distance = np.linalg.norm(points - centre, axis=1)
    np.testing.assert_allclose(distance, np.where(points[:, 2] > 0.0, 0.5, 1.0))
    assert len(points) <= capsule.shapes.hull_vertex_limit[0]
    assert ConvexHull(points).vertices.size == len(points)
    np.testing.assert_allclose(
        quaternion_rotate(capsule.shapes.pose[0, 3:], (0, 0, 1)), (1, 0, 0), atol=1e-12
    )
    with pytest.raises(StageError, match=r"^/B/S: radiusBottom is -1.0"):
        scene_of(_tapered("Capsule_1", 0.5, -1.0))


def test_planes_are_infinite_and_stand_still(scene_of: Callable[..., Scene]) -> None:
    plane = 'def Plane "P" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double width = 3; }'
    scene = scene_of(plane)
    assert scene.templates[0].shapes.type.tolist() == [ShapeType.PLANE]
    assert [path for path, text in scene.corrected if "infinite" in text] == ["/P"]
    moving = scene_of(f'def Xform "B" ({_DYNAMIC}) {{\n{plane}\n}}')
    assert moving.templates[0].shapes.count == 0
    assert [path for path, text in moving.findings if "moving body" in text] == ["/B/P"]


def test_cooking_settings_are_columns(scene_of: Callable[..., Scene]) -> None:
    mesh = """
    def Mesh "M" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {
        uniform token physics:approximation = "sdf"
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3]
        %s
    }"""
    lines = """
        int physxSDFMeshCollision:sdfResolution = 64
        token physxSDFMeshCollision:sdfBitsPerSubgridPixel = "BitsPerPixel32"
        float physxSDFMeshCollision:sdfMargin = 0.25
        int physxConvexDecompositionCollision:maxConvexHulls = 8
        bool physxConvexDecompositionCollision:shrinkWrap = 1
        token physxSphereFillCollision:fillMode = "surface"
        float physxTriangleMeshCollision:weldTolerance = 0.5
        int newton:maxHullVertices = 24"""
    scene = scene_of(mesh % lines + '\ndef Sphere "S" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}')
    shapes = scene.templates[0].shapes
    assert scene.findings == ()
    assert (shapes.sdf_resolution.tolist(), shapes.sdf_bits_per_pixel.tolist()) == ([64, 256], [32, 16])
    assert (shapes.sdf_margin.tolist(), shapes.sdf_narrow_band.tolist()) == ([0.25, 0.01], [0.01, 0.01])
    assert (shapes.decomposition_max_hulls[0], shapes.decomposition_shrink_wrap[0]) == (8, True)
    assert (shapes.sphere_fill_mode.tolist(), shapes.hull_vertex_limit.tolist()) == ([2, 0], [24, 64])
    assert shapes.weld_tolerance[0] == 0.5
    assert np.isnan(shapes.weld_tolerance[1])
    for line, message in (
        ("int physxSDFMeshCollision:sdfResolution = -1", "sdfResolution is -1, expected a finite number"),
        ('token physxSphereFillCollision:fillMode = "all"', "fillMode is 'all', expected one of flood"),
    ):
        with pytest.raises(StageError, match=f"^/M: .*{message}"):
            scene_of(mesh % line)


_FACES = """
    def Xform "B" (%s) {
        def Mesh "M" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI", "MaterialBindingAPI"]) {
            rel material:binding:physics = </Ice>
            point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0)]
            int[] faceVertexCounts = [4, 4, 3]
            int[] faceVertexIndices = [0, 1, 2, 3, 1, 4, 5, 2, 0, 2, 1]
            def GeomSubset "Rough" (prepend apiSchemas = ["MaterialBindingAPI"]) {
                uniform token elementType = "face"
                uniform token familyName = "materialBind"
                int[] indices = %s
                rel material:binding:physics = </Rubber>
            }
            def GeomSubset "Painted" (prepend apiSchemas = ["MaterialBindingAPI"]) {
                uniform token elementType = "face"
                uniform token familyName = "materialBind"
                int[] indices = [2]
                rel material:binding = </Paint>
            }
        }
    }
    def Material "Ice" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:staticFriction = 0.125; }
    def Material "Rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:staticFriction = 1; }
    def Material "Paint" {}
"""


def test_materials_of_faces(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(_FACES % ("", "[1]"))
    template = scene.templates[0]
    faces = template.face_materials
    assert (faces.path, faces.shape.tolist(), faces.group.tolist()) == (("/B/M/Rough",), [0], [0])
    assert template.materials.path[faces.material[0]] == "/Rubber"
    assert template.materials.path[template.shapes.material[0]] == "/Ice"
    # Two triangles of each of the quads, one of the triangle, which belongs to a subset without a physics material.
    assert template.meshes[0].groups.tolist() == [-1, -1, 0, 0, 1]
    assert scene.findings == ()
    with pytest.raises(StageError, match=r"^/B/M/Rough: indices hold 7, the mesh has 3 faces$"):
        scene_of(_FACES % ("", "[7]"))


def test_hulls_have_one_material(scene_of: Callable[..., Scene]) -> None:
    text = (_FACES % (_DYNAMIC, "[1]")).replace("(2, 1, 0)]", "(2, 1, 3)]")
    scene = scene_of(text)
    template = scene.templates[0]
    assert (template.face_materials.count, template.meshes[0].groups.size) == (0, 0)
    assert template.materials.path[template.shapes.material[0]] == "/Ice"
    assert [path for path, text in scene.findings if "no triangle mesh" in text] == ["/B/M/Rough"]


@pytest.mark.parametrize(
    ("strength", "purpose", "expected"),
    [
        ("", ":physics", "/Rubber"),
        ('(bindMaterialAs = "strongerThanDescendants")', ":physics", "/Ice"),
        # A binding for physics stands above one for all purposes, however strong that is.
        ('(bindMaterialAs = "strongerThanDescendants")', "", "/Rubber"),
    ],
)
def test_binding_strength_and_purpose(
    scene_of: Callable[..., Scene], strength: str, purpose: str, expected: str
) -> None:
    text = f"""
    def Xform "Parent" (prepend apiSchemas = ["MaterialBindingAPI"]) {{
        rel material:binding{purpose} = </Ice> {strength}
        def Cube "Child" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]) {{
            rel material:binding:physics = </Rubber>
        }}
    }}
    def Material "Ice" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {{}}
    def Material "Rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {{}}"""
    template = scene_of(text).templates[0]
    assert template.materials.path[template.shapes.material[0]] == expected


def test_a_material_for_all_purposes_is_used_where_there_is_none_for_physics(
    scene_of: Callable[..., Scene],
) -> None:
    text = """
    def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]) { rel material:binding = </Ice>; }
    def Material "Ice" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {
        float physxMaterial:compliantContactStiffness = 5
        float physxMaterial:compliantContactDamping = 2
        bool physxMaterial:compliantContactAccelerationSpring = 1
        token physxMaterial:restitutionCombineMode = "min"
        token physxMaterial:dampingCombineMode = "multiply"
    }"""
    template = scene_of(text).templates[0]
    materials = template.materials
    assert template.shapes.material.tolist() == [0]
    assert (materials.compliant_stiffness[0], materials.compliant_damping[0]) == (5.0, 2.0)
    assert materials.compliant_acceleration.tolist() == [True]
    assert (materials.restitution_combine[0], materials.damping_combine[0]) == (1, 2)
    # Where the schema is applied and nothing is authored there is no friction.
    assert materials.static_friction.tolist() == [0.0]
