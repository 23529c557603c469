"""Cooking of meshes, spatial tendons and soft prims, written to a stage and read again, are the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from tensorphys_scene import ShapeType, SoftKind, Table, Template
from tensorphys_usd import parse_stage

_T = Sdf.ValueTypeNames
_APPROXIMATIONS = {
    ShapeType.CONVEX_HULL: "convexHull",
    ShapeType.CONVEX_DECOMPOSITION: "convexDecomposition",
    ShapeType.SDF: "sdf",
    ShapeType.SPHERES: "sphereFill",
    ShapeType.TRIANGLE_MESH: "none",
}
_WHOLE, _PART = st.integers(8, 256), st.floats(0.125, 4.0, width=32)
# Attribute, its type, values to try; by column.
_COOKING: dict[str, tuple[str, Any, st.SearchStrategy[Any]]] = {
    "hull_vertex_limit": ("physxConvexHullCollision:hullVertexLimit", _T.Int, _WHOLE),
    "hull_min_thickness": ("physxConvexHullCollision:minThickness", _T.Float, _PART),
    "decomposition_error": ("physxConvexDecompositionCollision:errorPercentage", _T.Float, _PART),
    "decomposition_hull_vertex_limit": ("physxConvexDecompositionCollision:hullVertexLimit", _T.Int, _WHOLE),
    "decomposition_max_hulls": ("physxConvexDecompositionCollision:maxConvexHulls", _T.Int, _WHOLE),
    "decomposition_min_thickness": ("physxConvexDecompositionCollision:minThickness", _T.Float, _PART),
    "decomposition_shrink_wrap": ("physxConvexDecompositionCollision:shrinkWrap", _T.Bool, st.booleans()),
    "decomposition_voxels": ("physxConvexDecompositionCollision:voxelResolution", _T.Int, _WHOLE),
    "sphere_fill_count": ("physxSphereFillCollision:maxSpheres", _T.Int, _WHOLE),
    "sphere_fill_seeds": ("physxSphereFillCollision:seedCount", _T.Int, _WHOLE),
    "sphere_fill_voxels": ("physxSphereFillCollision:voxelResolution", _T.Int, _WHOLE),
    "weld_tolerance": ("physxTriangleMeshCollision:weldTolerance", _T.Float, _PART),
    "simplification_metric": ("physxTriangleMeshSimplificationCollision:metric", _T.Float, _PART),
    "sdf_resolution": ("physxSDFMeshCollision:sdfResolution", _T.Int, _WHOLE),
    "sdf_subgrid_resolution": ("physxSDFMeshCollision:sdfSubgridResolution", _T.Int, _WHOLE),
    "sdf_margin": ("physxSDFMeshCollision:sdfMargin", _T.Float, _PART),
    "sdf_narrow_band": ("physxSDFMeshCollision:sdfNarrowBandThickness", _T.Float, _PART),
    "sdf_remeshing": ("physxSDFMeshCollision:sdfEnableRemeshing", _T.Bool, st.booleans()),
    "sdf_triangle_reduction": ("physxSDFMeshCollision:sdfTriangleCountReductionFactor", _T.Float, _PART),
}
_FILL_MODES = ("flood", "raycast", "surface")
_BITS = {8: "BitsPerPixel8", 16: "BitsPerPixel16", 32: "BitsPerPixel32"}
_TETRAHEDRON = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
_FACES = [0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3]
_SPRINGS = {
    "stiffness": "stiffness",
    "damping": "damping",
    "limit_stiffness": "limitStiffness",
    "offset": "offset",
}
_VECTOR = st.tuples(*[st.floats(-4.0, 4.0, width=32)] * 3)


def put(prim: Usd.Prim, name: str, kind: Any, value: Any) -> None:
    prim.CreateAttribute(name, kind).Set(value)


def empty() -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdPhysics.Scene.Define(stage, "/Scene")
    return stage


def mesh(stage: Usd.Stage, path: str, points: Any, faces: Any) -> Usd.Prim:
    prim = stage.DefinePrim(path, "Mesh")
    prim.GetAttribute("points").Set([Gf.Vec3f(*point) for point in points])
    prim.GetAttribute("faceVertexCounts").Set([3] * (len(faces) // 3))
    prim.GetAttribute("faceVertexIndices").Set(faces)
    return prim


def body(stage: Usd.Stage, path: str, pose: Any, scale: float = 1.0) -> Usd.Prim:
    """A body of which nothing is computed."""
    prim = stage.DefinePrim(path, "Xform")
    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp().Set(Gf.Vec3d(*(float(x) for x in pose[:3])))
    turn = Gf.Quatd(float(pose[6]), *(float(x) for x in pose[3:6]))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(turn)
    if scale != 1.0:
        xform.AddScaleOp().Set(Gf.Vec3f(scale))
    UsdPhysics.RigidBodyAPI.Apply(prim)
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(2.0)
    mass.CreateCenterOfMassAttr((0.0, 0.0, 0.0))
    mass.CreateDiagonalInertiaAttr((1.0, 1.0, 1.0))
    mass.CreatePrincipalAxesAttr(Gf.Quatf(1.0))
    return prim


# What is generated.


def draw_scene(data: st.DataObject) -> Usd.Stage:
    stage = empty()
    for name in ("a", "b"):
        pose = np.array([*data.draw(_VECTOR), *data.draw(_VECTOR), 1.0])
        pose[3:] /= np.linalg.norm(pose[3:])
        body(stage, f"/{name}", pose, data.draw(st.sampled_from([1.0, 0.5])))
        hook = UsdGeom.Xform.Define(stage, f"/{name}/hook")
        hook.AddTranslateOp().Set(Gf.Vec3d(*data.draw(_VECTOR)))
        hook.AddRotateXYZOp().Set(Gf.Vec3f(*data.draw(_VECTOR)))
    for path in ("/a/mesh", "/b/mesh", "/ground"):
        prim = mesh(stage, path, _TETRAHEDRON, _FACES)
        UsdPhysics.CollisionAPI.Apply(prim)
        kinds = [kind for kind in _APPROXIMATIONS if path == "/ground" or kind is not ShapeType.TRIANGLE_MESH]
        token = _APPROXIMATIONS[data.draw(st.sampled_from(kinds))]
        UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(token)
        for attribute, kind, values in _COOKING.values():
            if data.draw(st.booleans()):
                put(prim, attribute, kind, data.draw(values))
        if data.draw(st.booleans()):
            mode = data.draw(st.sampled_from(_FILL_MODES))
            put(prim, "physxSphereFillCollision:fillMode", _T.Token, mode)
            bits = data.draw(st.sampled_from(list(_BITS.values())))
            put(prim, "physxSDFMeshCollision:sdfBitsPerSubgridPixel", _T.Token, bits)
    for index in range(data.draw(st.integers(0, 2))):
        draw_tendon(stage, f"t{index}", data)
    draw_soft(stage, data)
    return stage


def draw_tendon(stage: Usd.Stage, name: str, data: st.DataObject) -> None:
    places = ["/a", "/a/hook", "/b", "/b/hook"]
    root = stage.GetPrimAtPath(data.draw(st.sampled_from(places)))
    root.AddAppliedSchema(f"PhysxTendonAttachmentRootAPI:{name}_0")
    for attribute in _SPRINGS.values():
        put(root, f"physxTendon:{name}_0:{attribute}", _T.Float, data.draw(_PART))
    put(root, f"physxTendon:{name}_0:tendonEnabled", _T.Bool, data.draw(st.booleans()))
    made = [(root, f"{name}_0")]
    for index in range(1, data.draw(st.integers(2, 4))):
        parent, parent_name = data.draw(st.sampled_from(made))
        prim = stage.GetPrimAtPath(data.draw(st.sampled_from(places)))
        own = f"{name}_{index}"
        is_leaf = data.draw(st.booleans())
        prim.AddAppliedSchema(f"PhysxTendonAttachment{'Leaf' if is_leaf else ''}API:{own}")
        prim.CreateRelationship(f"physxTendon:{own}:parentLink").SetTargets([parent.GetPath()])
        put(prim, f"physxTendon:{own}:parentAttachment", _T.Token, parent_name)
        put(prim, f"physxTendon:{own}:localPos", _T.Point3f, Gf.Vec3f(*data.draw(_VECTOR)))
        put(prim, f"physxTendon:{own}:gearing", _T.Float, data.draw(_PART))
        if is_leaf and data.draw(st.booleans()):
            put(prim, f"physxTendon:{own}:restLength", _T.Float, data.draw(_PART))
            put(prim, f"physxTendon:{own}:lowerLimit", _T.Float, -data.draw(_PART))
            put(prim, f"physxTendon:{own}:upperLimit", _T.Float, data.draw(_PART))
        made.append((prim, own))


def draw_soft(stage: Usd.Stage, data: st.DataObject) -> None:
    material = UsdShade.Material.Define(stage, "/soft_material")
    material.GetPrim().AddAppliedSchema("PhysxDeformableBodyMaterialAPI")
    young = "physxDeformableBodyMaterial:youngsModulus"
    put(material.GetPrim(), young, _T.Float, data.draw(_PART))
    system = stage.DefinePrim("/system", "PhysxParticleSystem")
    put(system, "particleContactOffset", _T.Float, data.draw(_PART))
    put(system, "maxNeighborhood", _T.Int, data.draw(_WHOLE))
    for index in range(data.draw(st.integers(0, 2))):
        path = f"/jelly{index}"
        if data.draw(st.booleans()):
            prim = stage.DefinePrim(path, "TetMesh")
            prim.GetAttribute("points").Set([Gf.Vec3f(*data.draw(_VECTOR)) for _ in range(4)])
            prim.GetAttribute("tetVertexIndices").Set([Gf.Vec4i(0, 1, 2, 3)])
        else:
            prim = mesh(stage, path, _TETRAHEDRON, _FACES)
        UsdGeom.Xformable(prim).AddTranslateOp().Set(Gf.Vec3d(*data.draw(_VECTOR)))
        UsdGeom.Xformable(prim).AddScaleOp().Set(Gf.Vec3f(data.draw(_PART)))
        prim.AddAppliedSchema("PhysxDeformableBodyAPI")
        put(prim, "physxDeformable:solverPositionIterationCount", _T.UInt, data.draw(_WHOLE))
        put(prim, "physxDeformable:vertexVelocityDamping", _T.Float, data.draw(_PART))
        put(prim, "physxDeformable:selfCollision", _T.Bool, data.draw(st.booleans()))
        speeds = [Gf.Vec3f(*data.draw(_VECTOR)) for _ in range(4)]
        put(prim, "physxDeformable:simulationVelocities", _T.Vector3fArray, speeds)
        if data.draw(st.booleans()):
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, materialPurpose="physics")
    if data.draw(st.booleans()):
        drops = stage.DefinePrim("/drops", "Points")
        drops.GetAttribute("points").Set([Gf.Vec3f(*data.draw(_VECTOR)) for _ in range(3)])
        drops.AddAppliedSchema("PhysxParticleSetAPI")
        put(drops, "physxParticle:fluid", _T.Bool, data.draw(st.booleans()))
        drops.CreateRelationship("physxParticle:particleSystem").SetTargets([system.GetPath()])


# What is written from a template.


def author(template: Template) -> Usd.Stage:
    stage = empty()
    rows = {path: ("body", row) for row, path in enumerate(template.bodies.path)}
    rows.update({path: ("shape", row) for row, path in enumerate(template.shapes.path)})
    rows.update({path: ("soft", row) for row, path in enumerate(template.soft_prims.path)})
    for path in template.prims[1:]:
        kind, row = rows.get(path, ("", 0))
        if kind == "body":
            body(stage, path, template.bodies.pose[row])
        elif kind == "shape":
            author_shape(stage, path, template, row)
        elif kind == "soft":
            author_soft(stage, path, template, row)
        elif path != "/Scene":
            UsdGeom.Xform.Define(stage, path)
    for row, data in enumerate(template.soft_prims.data):
        if data.material:
            prim = stage.GetPrimAtPath(template.soft_prims.path[row])
            material = UsdShade.Material.Get(stage, data.material)
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, materialPurpose="physics")
    for row in range(template.tendon_attachments.count):
        author_attachment(stage, template, row)
    return stage


def author_shape(stage: Usd.Stage, path: str, template: Template, row: int) -> None:
    table = template.shapes
    content = template.meshes[int(table.mesh[row])]
    prim = mesh(stage, path, content.points.tolist(), content.triangles.ravel().tolist())
    assert np.abs(table.pose[row] - [0, 0, 0, 0, 0, 0, 1]).max() < 1e-6
    UsdGeom.Xformable(prim).AddScaleOp().Set(Gf.Vec3f(*table.size[row].tolist()))
    UsdPhysics.CollisionAPI.Apply(prim)
    token = _APPROXIMATIONS[ShapeType(int(table.type[row]))]
    UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(token)
    for column, (attribute, kind, _) in _COOKING.items():
        value = getattr(table, column)[row].item()
        if value == value:
            put(prim, attribute, kind, value)
    put(prim, "physxSphereFillCollision:fillMode", _T.Token, _FILL_MODES[table.sphere_fill_mode[row]])
    bits = _BITS[int(table.sdf_bits_per_pixel[row])]
    put(prim, "physxSDFMeshCollision:sdfBitsPerSubgridPixel", _T.Token, bits)


def author_attachment(stage: Usd.Stage, template: Template, row: int) -> None:
    table, tendons = template.tendon_attachments, template.spatial_tendons
    prim, name = stage.GetPrimAtPath(table.path[row]), table.names[row]
    prefix = f"physxTendon:{name}:"
    parent, tendon = int(table.parent[row]), int(table.tendon[row])
    kind = "Root" if parent < 0 else "Leaf" if table.leaf[row] else ""
    prim.AddAppliedSchema(f"PhysxTendonAttachment{kind}API:{name}")
    if parent < 0:
        assert (tendons.path[tendon], tendons.names[tendon]) == (table.path[row], name)
        for column, attribute in _SPRINGS.items():
            put(prim, prefix + attribute, _T.Float, float(getattr(tendons, column)[tendon]))
        put(prim, f"{prefix}tendonEnabled", _T.Bool, bool(tendons.enabled[tendon]))
    else:
        prim.CreateRelationship(f"{prefix}parentLink").SetTargets([table.path[parent]])
        put(prim, f"{prefix}parentAttachment", _T.Token, table.names[parent])
    put(prim, f"{prefix}localPos", _T.Point3f, Gf.Vec3f(*table.position[row].tolist()))
    put(prim, f"{prefix}gearing", _T.Float, float(table.gearing[row]))
    if np.isfinite(table.rest_length[row]):
        put(prim, f"{prefix}restLength", _T.Float, float(table.rest_length[row]))
    for column, attribute in (("lower", "lowerLimit"), ("upper", "upperLimit")):
        put(prim, prefix + attribute, _T.Float, float(getattr(table, column)[row]))


def author_soft(stage: Usd.Stage, path: str, template: Template, row: int) -> None:
    data, kind = template.soft_prims.data[row], SoftKind(int(template.soft_prims.kind[row]))
    if data.elements.shape[1] == 4:
        prim = stage.DefinePrim(path, "TetMesh")
        prim.GetAttribute("points").Set([Gf.Vec3f(*point) for point in data.points.tolist()])
        prim.GetAttribute("tetVertexIndices").Set([Gf.Vec4i(*tet) for tet in data.elements.tolist()])
    elif len(data.elements):
        prim = mesh(stage, path, data.points.tolist(), data.elements.ravel().tolist())
    elif kind is SoftKind.PARTICLE_SET:
        prim = stage.DefinePrim(path, "Points")
        prim.GetAttribute("points").Set([Gf.Vec3f(*point) for point in data.points.tolist()])
    elif kind is SoftKind.MATERIAL:
        prim = stage.DefinePrim(path, "Material")
    else:
        prim = stage.DefinePrim(path, data.schemas[0])
    for schema in data.schemas:
        if schema != prim.GetTypeName():
            prim.AddAppliedSchema(schema)
    if UsdGeom.Xformable(prim):
        matrix = Gf.Matrix4d(template.soft_prims.transform[row].T.tolist())
        UsdGeom.Xformable(prim).AddTransformOp().Set(matrix)
    for name, value in data.values.items():
        if isinstance(value, np.ndarray):
            put(prim, name, _T.Vector3fArray, [Gf.Vec3f(*item) for item in value.tolist()])
        else:
            types = {bool: _T.Bool, int: _T.Int, float: _T.Float, str: _T.Token}
            put(prim, name, types[type(value)], value)
    for name, targets in data.targets.items():
        prim.CreateRelationship(name).SetTargets(list(targets))


def assert_same(first: Template, second: Template) -> None:
    assert first.prims == second.prims
    for item in dataclasses.fields(Template):
        one, other = getattr(first, item.name), getattr(second, item.name)
        if not isinstance(one, Table):
            continue
        assert one.path == other.path, item.name
        assert getattr(one, "names", ()) == getattr(other, "names", ()), item.name
        for column in dataclasses.fields(one):
            if "dtype" in column.metadata:
                values = getattr(one, column.name), getattr(other, column.name)
                np.testing.assert_allclose(
                    *values, rtol=2e-6, atol=2e-5, err_msg=f"{item.name}.{column.name}"
                )
    for row, data in enumerate(first.soft_prims.data):
        assert data.digest == second.soft_prims.data[row].digest, first.soft_prims.path[row]


@settings(max_examples=40)
@given(data=st.data())
def test_cooking_tendons_and_soft_prims_survive(data: st.DataObject) -> None:
    first = parse_stage(draw_scene(data))
    second = parse_stage(author(first.templates[0]))
    assert not [text for _, text in (*first.findings, *second.findings) if "tendon" in text]
    assert_same(first.templates[0], second.templates[0])


def test_every_cooking_column_is_written() -> None:
    columns = {item.name for item in dataclasses.fields(Template().shapes) if "dtype" in item.metadata}
    others = {
        name
        for name in columns
        if name.startswith(("hull", "decomposition", "sphere_fill", "weld", "simplification", "sdf"))
    }
    assert others == {*_COOKING, "sphere_fill_mode", "sdf_bits_per_pixel"}
