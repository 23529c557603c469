"""Mass properties against OpenUSD's own computation, on bodies that it can see."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade

from tensorphys_scene import Scene
from tensorphys_spatial import inertia_from_principal
from tensorphys_usd import parse_stage

# The older of the two names warns where the newer one exists.
_LOAD = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None) or UsdPhysics.LoadUsdPhysicsFromRange
# Bounds that float32 holds exactly.
_LENGTH = st.floats(0.125, 2.0, width=32)
_POSITION = st.tuples(*[st.floats(-2.0, 2.0, width=32)] * 3)
_ANGLES = st.tuples(*[st.floats(-180.0, 180.0, width=32)] * 3)
_SOMETIMES_MASS = st.one_of(st.just(0.0), st.floats(0.125, 8.0, width=32))


@st.composite
def collider(draw: st.DrawFn) -> dict[str, object]:
    return {
        "kind": draw(st.sampled_from(["Cube", "Sphere", "Capsule", "Cylinder", "Cone"])),
        "axis": draw(st.sampled_from("XYZ")),
        "sizes": draw(st.tuples(_LENGTH, _LENGTH)),
        "scale": draw(st.tuples(_LENGTH, _LENGTH, _LENGTH)),
        "position": draw(_POSITION),
        "angles": draw(_ANGLES),
        "mass": draw(_SOMETIMES_MASS),
        "density": draw(_SOMETIMES_MASS),
        "com": draw(st.one_of(st.none(), _POSITION)),
        "diagonal": draw(st.one_of(st.none(), st.tuples(*[st.floats(1.0, 1.5, width=32)] * 3))),
    }


def _place(prim: UsdGeom.Xformable, spec: dict[str, object]) -> None:
    prim.AddTranslateOp().Set(Gf.Vec3d(*spec["position"]))
    prim.AddRotateXYZOp().Set(Gf.Vec3f(*spec["angles"]))
    if "scale" in spec:
        prim.AddScaleOp().Set(Gf.Vec3f(*spec["scale"]))


def _weigh(prim: Usd.Prim, spec: dict[str, object]) -> None:
    api = UsdPhysics.MassAPI.Apply(prim)
    api.CreateMassAttr(spec["mass"])
    api.CreateDensityAttr(spec["density"])
    if spec["com"] is not None:
        api.CreateCenterOfMassAttr(Gf.Vec3f(*spec["com"]))
    if spec["diagonal"] is not None:
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*spec["diagonal"]))


def _information(stage: Usd.Stage) -> Callable[[Usd.Prim], UsdPhysics.RigidBodyAPI.MassInformation]:
    """Volumes and moments of colliders from the parser's descriptors and closed forms."""
    found = {}
    for paths, descriptors in _LOAD(stage, ["/"]).values():
        found.update(zip(paths, descriptors, strict=True))

    def information(prim: Usd.Prim) -> UsdPhysics.RigidBodyAPI.MassInformation:
        shape = found[prim.GetPath()]
        kind = str(prim.GetTypeName())
        com = np.zeros(3)
        if kind == "Cube":
            x, y, z = (2.0 * h for h in shape.halfExtents)
            volume = x * y * z
            moments = volume / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        elif kind == "Sphere":
            # The descriptor knows spheres only; an ellipsoid keeps its semi-axes.
            scale = np.array(prim.GetAttribute("xformOp:scale").Get()) * 2.0
            x, y, z = prim.GetAttribute("radius").Get() * scale
            volume = 4.0 / 3.0 * np.pi * x * y * z
            moments = volume / 5.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        else:
            r, h = shape.radius, 2.0 * shape.halfHeight
            if kind == "Cone":
                volume = np.pi * r * r * h / 3.0
                along, across = 0.3 * volume * r * r, volume * (0.15 * r * r + 0.0375 * h * h)
            else:
                volume = np.pi * r * r * h
                along, across = 0.5 * volume * r * r, volume * (r * r / 4.0 + h * h / 12.0)
            if kind == "Capsule":
                ball = 4.0 / 3.0 * np.pi * r**3
                volume += ball
                along += 0.4 * ball * r * r
                across += ball * (0.4 * r * r + h * h / 4.0 + 3.0 / 8.0 * h * r)
            index = "XYZ".index(str(shape.axis))
            moments = np.full(3, across)
            moments[index] = along
            com[index] = -h / 4.0 if kind == "Cone" else 0.0
        result = UsdPhysics.RigidBodyAPI.MassInformation()
        result.volume = float(volume)
        result.inertia = Gf.Matrix3f(*np.diag(moments).ravel().tolist())
        result.centerOfMass = Gf.Vec3f(*com.tolist())
        result.localPos, result.localRot = shape.localPos, shape.localRot
        return result

    return information


@given(
    colliders=st.lists(collider(), min_size=1, max_size=3),
    body=collider(),
    meters_per_unit=st.sampled_from([1.0, 0.01]),
    material_density=_SOMETIMES_MASS,
)
def test_equal_to_openusd(
    colliders: list[dict[str, object]],
    body: dict[str, object],
    meters_per_unit: float,
    material_density: float,
) -> None:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, meters_per_unit)
    UsdPhysics.Scene.Define(stage, "/Scene")
    xform = UsdGeom.Xform.Define(stage, "/Body")
    _place(xform, {key: body[key] for key in ("position", "angles")})
    xform.AddScaleOp().Set(Gf.Vec3f(2.0))
    prim = xform.GetPrim()
    api = UsdPhysics.RigidBodyAPI.Apply(prim)
    _weigh(prim, body)
    if body["diagonal"] is not None:
        # Without authored axes OpenUSD pairs the moments with axes that it computes: noise where those are equal.
        turn = Gf.Rotation(Gf.Vec3d(1.0, 2.0, 3.0), 40.0).GetQuat()
        UsdPhysics.MassAPI(prim).CreatePrincipalAxesAttr(Gf.Quatf(turn))
    material = UsdShade.Material.Define(stage, "/Material")
    UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDensityAttr(material_density)
    for index, spec in enumerate(colliders):
        shape = getattr(UsdGeom, str(spec["kind"])).Define(stage, f"/Body/Shape{index}")
        _place(shape, spec)
        if spec["kind"] == "Cube":
            shape.CreateSizeAttr(spec["sizes"][0])
        else:
            shape.CreateRadiusAttr(spec["sizes"][0])
        if spec["kind"] not in ("Cube", "Sphere"):
            shape.CreateHeightAttr(spec["sizes"][1])
            shape.CreateAxisAttr(spec["axis"])
        UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
        if index:
            UsdShade.MaterialBindingAPI.Apply(shape.GetPrim()).Bind(material, materialPurpose="physics")
        _weigh(shape.GetPrim(), spec)
    mass, diagonal, com, axes = api.ComputeMassProperties(_information(stage))
    bodies = parse_stage(stage).templates[0].bodies
    inertia = inertia_from_principal((*axes.GetImaginary(), axes.GetReal()), diagonal)
    assert bodies.mass[0] == pytest.approx(mass, rel=1e-4)
    np.testing.assert_allclose(bodies.com[0], com, atol=1e-4)
    np.testing.assert_allclose(bodies.inertia[0], inertia, atol=2e-3 * np.abs(inertia).max())


def test_principal_rotation_diagonalises_the_inertia(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(
        """
        def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
            def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
                double3 xformOp:rotateXYZ = (10, 20, 30)
                float3 xformOp:scale = (1, 2, 3)
                uniform token[] xformOpOrder = ["xformOp:rotateXYZ", "xformOp:scale"]
            }
        }"""
    )
    bodies = scene.templates[0].bodies
    moments = 8000.0 * 6.0 / 3.0 * np.array([4.0 + 9.0, 1.0 + 9.0, 1.0 + 4.0])
    back = inertia_from_principal(bodies.principal_rotation[0], moments)
    np.testing.assert_allclose(bodies.inertia[0], back, rtol=1e-6, atol=1e-6 * moments.max())


def test_a_hull_mesh_weighs_like_the_box_that_it_spans(scene_of: Callable[..., Scene]) -> None:
    points = ", ".join(f"({x}, {y}, {z})" for x in (0, 2) for y in (0, 3) for z in (-1, 1))
    scene = scene_of(
        f"""
        def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
            def Mesh "M" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {{
                uniform token physics:approximation = "convexHull"
                point3f[] points = [{points}, (1, 1, 0.5)]
                int[] faceVertexCounts = [3]
                int[] faceVertexIndices = [0, 1, 2]
                float3 xformOp:scale = (1, 1, 2)
                uniform token[] xformOpOrder = ["xformOp:scale"]
            }}
        }}"""
    )
    bodies = scene.templates[0].bodies
    assert bodies.mass[0] == pytest.approx(2 * 3 * 4 * 1000.0)
    np.testing.assert_allclose(bodies.com[0], (1.0, 1.5, 0.0), atol=1e-9)
    expected = 24000.0 / 12.0 * np.diag([9.0 + 16.0, 4.0 + 16.0, 4.0 + 9.0])
    np.testing.assert_allclose(bodies.inertia[0], expected, rtol=1e-9, atol=1e-6)
