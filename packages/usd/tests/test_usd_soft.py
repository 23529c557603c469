"""Deformables of both schema generations and particles, as data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Usd

from tensorphys_scene import Scene, SceneValueError, SoftKind, replicate
from tensorphys_usd import StageError, parse_stage

_TET = """
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    int4[] tetVertexIndices = [(0, 1, 2, 3)]
"""
_SHEET = """
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
"""


def newer(root: str) -> str:
    return f"""
    def Xform "Soft" (prepend apiSchemas = ["OmniPhysicsDeformableBodyAPI", "MaterialBindingAPI"]) {{
        float omniphysics:mass = 2
        rel material:binding:physics = <{root}/Rubber>
        double3 xformOp:translate = (0, 0, 5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def TetMesh "Sim" (prepend apiSchemas = ["OmniPhysicsVolumeDeformableSimAPI", "PhysicsCollisionAPI"]) {{
            {_TET}
            point3f[] omniphysics:restShapePoints = [(0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2)]
        }}
    }}
    def Material "Rubber" (prepend apiSchemas = ["OmniPhysicsDeformableMaterialAPI"]) {{
        float omniphysics:youngsModulus = 1e5
    }}
    def OmniPhysicsVtxXformAttachment "Pin" {{
        rel omniphysics:src0 = <{root}/Soft/Sim>
        int[] omniphysics:vtxIndicesSrc0 = [0, 3]
        float omniphysics:stiffness = inf
    }}"""


def test_newer_deformables_are_data(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(newer(""))
    soft = scene.templates[0].soft_prims
    kinds = {path: SoftKind(int(kind)) for path, kind in zip(soft.path, soft.kind, strict=True)}
    assert kinds == {
        "/Soft": SoftKind.VOLUME_BODY,
        "/Soft/Sim": SoftKind.GEOMETRY,
        "/Rubber": SoftKind.MATERIAL,
        "/Pin": SoftKind.ATTACHMENT,
    }
    body, geometry, rubber, pin = (soft.data[soft.row(path)] for path in kinds)
    assert (body.values["omniphysics:mass"], body.material) == (2.0, "/Rubber")
    assert geometry.elements.tolist() == [[0, 1, 2, 3]]
    assert geometry.values["omniphysics:restShapePoints"].shape == (4, 3)
    assert rubber.values["omniphysics:youngsModulus"] == 1e5
    assert pin.targets["omniphysics:src0"] == ("/Soft/Sim",)
    assert pin.values["omniphysics:stiffness"] == np.inf
    np.testing.assert_array_equal(soft.transform[soft.row("/Soft/Sim"), :3, 3], [0.0, 0.0, 5.0])
    assert scene.templates[0].shapes.count == 0
    assert [text for _, text in scene.findings if "omniphysics" in text] == []


@pytest.mark.parametrize(
    ("prim", "schema", "attribute", "kind"),
    [
        ("Mesh", "PhysxDeformableBodyAPI", "physxDeformable:vertexVelocityDamping", SoftKind.VOLUME_BODY),
        ("Mesh", "PhysxDeformableSurfaceAPI", "physxDeformableSurface:maxVelocity", SoftKind.SURFACE_BODY),
        ("Mesh", "PhysxParticleClothAPI", "physxParticle:pressure", SoftKind.PARTICLE_CLOTH),
        ("Points", "PhysxParticleSetAPI", "physxParticle:restOffset", SoftKind.PARTICLE_SET),
    ],
)
def test_older_schemas_are_data(
    scene_of: Callable[..., Scene], prim: str, schema: str, attribute: str, kind: SoftKind
) -> None:
    geometry = _SHEET if prim == "Mesh" else "point3f[] points = [(0, 0, 0), (1, 0, 0)]"
    text = f"""
    def {prim} "P" (prepend apiSchemas = ["{schema}", "PhysicsCollisionAPI"]) {{
        {geometry}
        float {attribute} = 0.5
    }}"""
    scene = scene_of(text)
    soft = scene.templates[0].soft_prims
    assert (soft.path, soft.kind.tolist()) == (("/P",), [int(kind)])
    assert soft.data[0].values == {attribute: 0.5}
    assert soft.data[0].schemas == (schema,)
    assert len(soft.data[0].points) == (4 if prim == "Mesh" else 2)
    assert scene.templates[0].shapes.count == 0


def test_particle_systems_keep_their_own_attributes(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(
        'def PhysxParticleSystem "Sys" { float contactOffset = 0.1; int maxNeighborhood = 64; rel simulationOwner = </PhysicsScene>; }'
    )
    data = scene.templates[0].soft_prims.data[0]
    assert data.values == {"contactOffset": pytest.approx(0.1), "maxNeighborhood": 64}
    assert data.targets == {"simulationOwner": ("/PhysicsScene",)}
    assert not scene.findings


def test_environments_share_soft_data(stage_of: Callable[[str], Usd.Stage]) -> None:
    roots = "".join(
        f"""def Xform "E{index}" {{
            double3 xformOp:translate = ({index * 7.0}, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            {newer(f"/E{index}")}
        }}\n"""
        for index in range(3)
    )
    text = 'def PhysicsScene "S" {}\n' + roots
    made = parse_stage(stage_of(text), environments="/E*")
    assert (len(made.templates), made.environments.count) == (1, 3)
    soft = made.templates[0].soft_prims
    assert soft.data[soft.row("/Pin")].targets["omniphysics:src0"] == ("/Soft/Sim",)
    assert soft.data[soft.row("/Soft")].material == "/Rubber"
    one = parse_stage(stage_of('def PhysicsScene "S" {}\ndef Xform "E0" {\n' + newer("/E0") + "\n}"))
    copied = replicate(one, "/E0", 3).templates[0].soft_prims
    assert copied.path == soft.path
    assert [item.digest for item in copied.data] == [item.digest for item in soft.data]


@pytest.mark.parametrize(
    "body",
    [
        "point3f[] points = [(0, 0, 0)]\nint4[] tetVertexIndices = [(0, 1, 2, 3)]",
        "point3f[] points = [(nan, 0, 0)]",
        _TET + "float omniphysics:mass = nan",
    ],
)
def test_broken_soft_prims_name_themselves(scene_of: Callable[..., Scene], body: str) -> None:
    schemas = '"OmniPhysicsDeformableBodyAPI", "OmniPhysicsVolumeDeformableSimAPI"'
    with pytest.raises(StageError, match=r"^/T: "):
        scene_of(f'def TetMesh "T" (prepend apiSchemas = [{schemas}]) {{\n{body}\n}}')


def test_unauthored_values_are_those_of_the_schemas(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(newer("") + '\ndef PhysxParticleSystem "Sys" { int maxNeighborhood = 64; }')
    soft = scene.templates[0].soft_prims
    body, rubber, system = (soft.data[soft.row(path)] for path in ("/Soft", "/Rubber", "/Sys"))
    assert (body.value("omniphysics:mass"), body.value("omniphysics:deformableBodyEnabled")) == (2.0, True)
    assert (rubber.value("omniphysics:youngsModulus"), rubber.value("omniphysics:poissonsRatio")) == (
        1e5,
        0.25,
    )
    assert (system.value("maxNeighborhood"), system.value("particleContactOffset")) == (64, 0.05)
    with pytest.raises(SceneValueError, match=r"^omniphysics:oddness is not authored"):
        body.value("omniphysics:oddness")


def test_a_particle_set_of_a_point_instancer(scene_of: Callable[..., Scene]) -> None:
    text = """
    def PointInstancer "Fluid" (prepend apiSchemas = ["PhysxParticleSetAPI"]) {
        point3f[] positions = [(0, 0, 1), (0, 0, 2)]
        vector3f[] velocities = [(1, 0, 0), (0, 1, 0)]
        int[] protoIndices = [0, 0]
        rel prototypes = </Fluid/Ball>
        rel physxParticle:particleSystem = </Sys>
        def Sphere "Ball" {}
    }
    def PhysxParticleSystem "Sys" {}"""
    soft = scene_of(text).templates[0].soft_prims
    data = soft.data[soft.row("/Fluid")]
    assert data.points.tolist() == [[0, 0, 1], [0, 0, 2]]
    assert data.values["velocities"].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert data.targets["physxParticle:particleSystem"] == ("/Sys",)


def test_curves_and_beams_keep_their_vertex_counts(scene_of: Callable[..., Scene]) -> None:
    schemas = '"OmniPhysicsDeformableBodyAPI", "OmniPhysicsCurvesDeformableSimAPI"'
    text = f"""
    def BasisCurves "Rope" (prepend apiSchemas = [{schemas}]) {{
        point3f[] points = [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
        int[] curveVertexCounts = [3]
    }}"""
    soft = scene_of(text).templates[0].soft_prims
    assert soft.kind.tolist() == [int(SoftKind.CURVES_BODY)]
    assert soft.data[0].values["curveVertexCounts"].tolist() == [3]
