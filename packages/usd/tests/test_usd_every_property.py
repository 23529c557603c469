"""Every property and prim of stages of every kind is broken, one at a time, in every way.

Each broken stage gives an error of one line that names a prim of the stage, or a scene without NaN. A NaN that was
authored into a physics property is never swallowed: it is in the error, or a finding names the prim, or the property
is one that nobody simulates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from pxr import Gf, Sdf, Tf, Usd, UsdGeom

from tensorphys_scene import Table, Template
from tensorphys_usd import StageError, parse_stage

_SCENE = """
def PhysicsScene "Scene" {
    vector3f physics:gravityDirection = (0, 0, -1)
    float physics:gravityMagnitude = 9.81
    uint physxScene:timeStepsPerSecond = 120
    float physxScene:bounceThreshold = 0.5
    float physxScene:frictionOffsetThreshold = 0.5
    bool physxScene:enableCCD = 0
    token physxScene:solverType = "TGS"
}
"""
_BODY = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'
_COLLIDES = 'prepend apiSchemas = ["PhysicsCollisionAPI"]'
_TET = """
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    int4[] tetVertexIndices = [(0, 1, 2, 3)]
"""


def _link(name: str, inner: str = "", schemas: str = '"PhysicsRigidBodyAPI", "PhysicsMassAPI"') -> str:
    return f"""
    def Xform "{name}" (prepend apiSchemas = [{schemas}]) {{
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
        {inner}
    }}"""


def _joint(kind: str, name: str, ends: str, lines: str = "", schemas: str = "") -> str:
    applied = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    return f"""
    def {kind} "{name}" {applied} {{
        rel physics:body0 = </{ends[0]}>
        rel physics:body1 = </{ends[1]}>
        point3f physics:localPos0 = (1, 0, 0)
        quatf physics:localRot0 = (1, 0, 0, 0)
        {lines}
    }}"""


_ROOT = '"PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsArticulationRootAPI"'
_CHAIN = _link("A", schemas=_ROOT) + _link("B") + _link("C")
_MIMIC = """
    rel physxMimicJoint:rotX:referenceJoint = </hinge>
    float physxMimicJoint:rotX:gearing = 2
    float physxMimicJoint:rotX:offset = 1"""

STAGES: dict[str, str] = {
    "body": f"""
    def Xform "Parent" ({_BODY}) {{
        float physics:mass = 2
        float physics:density = 100
        point3f physics:centerOfMass = (0, 0, 1)
        float3 physics:diagonalInertia = (1, 1, 1)
        quatf physics:principalAxes = (1, 0, 0, 0)
        double[] newton:inertia = [1, 1, 1, 0, 0, 0]
        vector3f physics:velocity = (1, 0, 0)
        vector3f physics:angularVelocity = (1, 0, 0)
        bool physics:kinematicEnabled = 0
        float physxRigidBody:linearDamping = 0.5
        float physxRigidBody:maxAngularVelocity = 90
        float physxRigidBody:cfmScale = 0.5
        int physxRigidBody:lockedPosAxis = 1
        int physxRigidBody:solverPositionIterationCount = 4
        double3 xformOp:translate = (0, 0, 1)
        quatf xformOp:orient = (1, 0, 0, 0)
        float3 xformOp:scale = (1, 1, 1)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]
        def Cube "Geometry" ({_COLLIDES}) {{
            double size = 2
        }}
    }}
    def Xform "Other" ({_BODY}) {{
        def Cube "Geometry" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]) {{
            float physics:density = 3
            float physics:mass = 0
            point3f physics:centerOfMass = (0, 0, 1)
        }}
    }}""",
    "loads": """
    def Xform "Belt" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysxSurfaceVelocityAPI", "PhysxForceAPI"]) {
        vector3f physxSurfaceVelocity:surfaceVelocity = (1, 0, 0)
        vector3f physxForce:force = (1, 0, 0)
        vector3f physxForce:torque = (1, 0, 0)
        token physxForce:mode = "force"
        def Sphere "Geometry" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}
    }""",
    "primitives": f"""
    def Sphere "Sphere" ({_COLLIDES}) {{
        double radius = 1
        float physxCollision:contactOffset = 0.5
        float physxCollision:restOffset = 0.25
        float newton:contactMargin = 0.25
        float3 xformOp:scale = (1, 2, 1)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }}
    def Capsule "Capsule" ({_COLLIDES}) {{
        double radius = 1
        double height = 1
        uniform token axis = "X"
    }}
    def Cone "Cone" ({_COLLIDES}) {{
        double radius = 1
        double height = 1
    }}
    def Cylinder_1 "Cylinder" ({_COLLIDES}) {{
        double radiusTop = 1
        double radiusBottom = 0.5
        double height = 1
    }}
    def Plane "Plane" ({_COLLIDES}) {{
        uniform token axis = "Z"
        double width = 2
    }}
    def Points "Points" ({_COLLIDES}) {{
        point3f[] points = [(0, 0, 0), (1, 0, 0)]
        float[] widths = [1, 1]
    }}""",
    "mesh": """
    def Xform "Body" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
        bool physics:kinematicEnabled = 1
        def Mesh "Mesh" (
            prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI", "MaterialBindingAPI"]
        ) {
            uniform token physics:approximation = "none"
            int physxSDFMeshCollision:sdfResolution = 64
            float physxTriangleMeshCollision:weldTolerance = 0.5
            rel material:binding:physics = </Material>
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
            int[] faceVertexCounts = [3, 3, 3, 3]
            int[] faceVertexIndices = [0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3]
            int[] holeIndices = []
            def GeomSubset "Faces" (prepend apiSchemas = ["MaterialBindingAPI"]) {
                uniform token elementType = "face"
                uniform token familyName = "materialBind"
                int[] indices = [1]
                rel material:binding:physics = </Other>
            }
        }
    }
    def Material "Material" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {
        float physics:staticFriction = 0.5
        float physics:density = 10
        float physxMaterial:compliantContactStiffness = 5
        token physxMaterial:frictionCombineMode = "max"
        float newton:torsionalFriction = 0.5
    }
    def Material "Other" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {}""",
    "filters": """
    def Sphere "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsFilteredPairsAPI"]) {
        rel physics:filteredPairs = </B>
        int mjc:contype = 1
    }
    def Sphere "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}
    def PhysicsCollisionGroup "G" (prepend apiSchemas = ["CollectionAPI:colliders"]) {
        rel collection:colliders:includes = </A>
        rel physics:filteredGroups = </H>
        string physics:mergeGroup = "one"
        bool physics:invertFilteredGroups = 0
    }
    def PhysicsCollisionGroup "H" (prepend apiSchemas = ["CollectionAPI:colliders"]) {
        rel collection:colliders:includes = </B>
    }""",
    "hinges": _CHAIN
    + _joint(
        "PhysicsRevoluteJoint",
        "hinge",
        "AB",
        """
        uniform token physics:axis = "X"
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
        float physics:breakForce = 100
        float drive:angular:physics:stiffness = 5
        float drive:angular:physics:maxForce = 7
        float drive:angular:physics:targetPosition = 1
        float state:angular:physics:position = 10
        float physxJoint:armature = 0.5
        float physxJoint:maxJointVelocity = 90
        float physxLimit:angular:stiffness = 3
        float physxDrivePerformanceEnvelope:angular:maxActuatorVelocity = 4
        float newton:friction = 0.5
        double mjc:ref = 10
        double mjc:springref = 10
        float urdf:limit:effort = 5""",
        '"PhysicsDriveAPI:angular"',
    )
    + _joint("PhysicsPrismaticJoint", "slide", "BC", 'uniform token physics:axis = "Z"'),
    "other joints": _CHAIN
    + _joint("PhysicsSphericalJoint", "ball", "AB", "float physics:coneAngle0Limit = 30")
    + _joint(
        "PhysicsJoint",
        "free",
        "BC",
        """
        float limit:transX:physics:low = -1
        float limit:transX:physics:high = 1
        float limit:rotY:physics:low = 1
        float limit:rotY:physics:high = -1
        float drive:rotX:physics:damping = 2
        float physxJointAxis:rotX:armature = 1""",
        '"PhysicsLimitAPI:transX", "PhysicsLimitAPI:rotY", "PhysicsDriveAPI:rotX"',
    )
    + _joint(
        "PhysicsDistanceJoint", "rope", "AC", "float physics:minDistance = 1\nfloat physics:maxDistance = 2"
    )
    + _joint("PhysicsFixedJoint", "weld", "AC", "bool physics:excludeFromArticulation = 1"),
    "couplings": _CHAIN
    + _joint(
        "PhysicsRevoluteJoint",
        "hinge",
        "AB",
        """
        float physxTendon:one:stiffness = 3
        float physxTendon:one:lowerLimit = -1
        float physxTendon:one:upperLimit = 1
        float[] physxTendon:one:gearing = [1]
        token[] physxTendon:one:jointAxis = ["rotX"]""",
        '"PhysxTendonAxisRootAPI:one"',
    )
    + _joint(
        "PhysicsRevoluteJoint",
        "second",
        "BC",
        _MIMIC + "\nfloat[] physxTendon:one:gearing = [2]",
        '"PhysxMimicJointAPI:rotX", "PhysxTendonAxisAPI:one"',
    )
    + """
    def PhysxPhysicsGearJoint "gear" {
        rel physics:body0 = </A>
        rel physics:body1 = </C>
        rel physics:hinge0 = </hinge>
        rel physics:hinge1 = </second>
        float physics:gearRatio = 2
    }""",
    "strings": _link(
        "A",
        "float physxTendon:s:stiffness = 2\nfloat physxTendon:s:offset = 1",
        '"PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysxTendonAttachmentRootAPI:s"',
    )
    + _link(
        "B",
        """
        rel physxTendon:t:parentLink = </A>
        token physxTendon:t:parentAttachment = "s"
        point3f physxTendon:t:localPos = (1, 0, 0)
        float physxTendon:t:gearing = 1
        float physxTendon:t:restLength = 1
        float physxTendon:t:upperLimit = 2""",
        '"PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysxTendonAttachmentLeafAPI:t"',
    ),
    "mujoco": _CHAIN
    + _joint("PhysicsRevoluteJoint", "hinge", "AB")
    + """
    def MjcTendon "Sum" {
        token mjc:type = "fixed"
        rel mjc:path = </hinge>
        int[] mjc:path:indices = [0]
        double[] mjc:path:coef = [2]
        double mjc:stiffness = 0
        double[] mjc:springlength = [1, 1]
        double mjc:range:min = -1
        double mjc:range:max = 1
    }
    def MjcActuator "Servo" {
        rel mjc:target = </Sum>
        token mjc:biasType = "affine"
        double[] mjc:gear = [2]
        double[] mjc:gainPrm = [1]
        double[] mjc:biasPrm = [0, -2, -1]
        double mjc:forceRange:min = -1
        double mjc:forceRange:max = 1
    }""",
    "soft": f"""
    def Xform "Soft" (prepend apiSchemas = ["OmniPhysicsDeformableBodyAPI", "MaterialBindingAPI"]) {{
        float omniphysics:mass = 2
        rel material:binding:physics = </Rubber>
        def TetMesh "Sim" (prepend apiSchemas = ["OmniPhysicsVolumeDeformableSimAPI", "PhysicsCollisionAPI"]) {{
            {_TET}
            point3f[] omniphysics:restShapePoints = [(0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2)]
        }}
    }}
    def Material "Rubber" (prepend apiSchemas = ["OmniPhysicsDeformableMaterialAPI"]) {{
        float omniphysics:youngsModulus = 1e5
    }}
    def OmniPhysicsVtxXformAttachment "Pin" {{
        rel omniphysics:src0 = </Soft/Sim>
        int[] omniphysics:vtxIndicesSrc0 = [0, 3]
    }}
    def Mesh "Old" (prepend apiSchemas = ["PhysxDeformableBodyAPI", "PhysicsCollisionAPI"]) {{
        point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        float physxDeformable:vertexVelocityDamping = 0.5
    }}""",
    "particles": """
    def PhysxParticleSystem "System" {
        float contactOffset = 0.5
        int maxNeighborhood = 64
        rel simulationOwner = </Scene>
    }
    def Points "Fluid" (prepend apiSchemas = ["PhysxParticleSetAPI"]) {
        point3f[] points = [(0, 0, 0), (1, 0, 0)]
        vector3f[] velocities = [(0, 0, 0), (1, 0, 0)]
        rel physxParticle:particleSystem = </System>
        int physxParticle:particleGroup = 1
    }
    def Material "Water" (prepend apiSchemas = ["PhysxPBDMaterialAPI"]) {
        float physxPBDMaterial:viscosity = 0.5
    }""",
    "instancer": """
    def PointInstancer "Crowd" {
        int[] protoIndices = [0, 0]
        point3f[] positions = [(1, 0, 0), (2, 0, 0)]
        quatf[] orientationsf = [(1, 0, 0, 0), (0, 1, 0, 0)]
        float3[] scales = [(1, 1, 1), (2, 2, 2)]
        vector3f[] velocities = [(1, 0, 0), (0, 0, 0)]
        int64[] ids = [3, 4]
        rel prototypes = </Crowd/Box>
        def Cube "Box" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}
    }""",
}

# Columns in which NaN stands for "not authored".
_MAY_BE_NAN = {
    "shapes.contact_offset",
    "shapes.weld_tolerance",
    "bodies.cfm_scale",
    "joints.min_distance",
    "joints.max_distance",
    "tendon_attachments.rest_length",
}
# Columns in which an infinite number stands for "no bound".
_BOUNDS = {
    *(f"axes.{name}" for name in ("effort_limit", "envelope", "lower", "max_force", "max_velocity", "upper")),
    *(f"bodies.max_{name}" for name in ("angular_velocity", "contact_impulse", "linear_velocity")),
    "bodies.max_depenetration_velocity",
    *(f"fixed_tendons.{name}" for name in ("lower", "max_force", "upper")),
    *("joints.break_force", "joints.break_torque", "tendon_attachments.lower", "tendon_attachments.upper"),
}
_PHYSICS = ("physics:", "physx", "newton:", "mjc:", "urdf:", "drive:", "state:", "limit:", "omniphysics:")
_TYPES = ("Xform", "Mesh", "PointInstancer", "PhysicsRevoluteJoint", "")


def _filled(value: object, number: float) -> object | None:
    """The value with its first number replaced, None where it holds none that can be."""
    if isinstance(value, float):
        return number
    if isinstance(value, (Gf.Vec3f, Gf.Vec3d)):
        return type(value)(number, *list(value)[1:])
    if isinstance(value, (Gf.Quatf, Gf.Quatd)):
        return type(value)(number, *value.GetImaginary())
    if isinstance(value, bool) or number != number or number in (float("inf"), float("-inf")):
        whole = None
    else:
        whole = int(number) if isinstance(value, int) else None
    if whole is not None:
        return whole
    if hasattr(value, "__len__") and not isinstance(value, str) and len(value):
        first = _filled(value[0], number)
        return None if first is None else type(value)([first, *list(value)[1:]])
    return None


def _retyped(attribute: Usd.Attribute, kind: Sdf.ValueTypeName, value: object) -> None:
    """Author an attribute as one of another type."""
    layer = attribute.GetStage().GetRootLayer()
    prim = layer.GetPrimAtPath(attribute.GetPrim().GetPath())
    prim.RemoveProperty(prim.properties[attribute.GetName()])
    Sdf.AttributeSpec(prim, attribute.GetName(), kind).default = value


def _of_attribute(name: str, attribute: str) -> Iterator[tuple[str, Callable[[Usd.Stage], bool]]]:
    def found(stage: Usd.Stage) -> Usd.Attribute:
        return stage.GetPrimAtPath(name).GetAttribute(attribute)

    def fill(number: float) -> Callable[[Usd.Stage], bool]:
        def mutate(stage: Usd.Stage) -> bool:
            value = _filled(found(stage).Get(), number)
            try:
                return value is not None and bool(found(stage).Set(value))
            except Tf.ErrorException:  # a negative number of an unsigned type
                return False

        return mutate

    for number in (float("nan"), float("inf"), float("-inf"), 0.0, -1.0):
        yield f"{number}", fill(number)

    def retype(kind: Sdf.ValueTypeName, value: object) -> Callable[[Usd.Stage], bool]:
        def mutate(stage: Usd.Stage) -> bool:
            _retyped(found(stage), kind, value)
            return True

        return mutate

    yield "text", retype(Sdf.ValueTypeNames.String, "odd")
    yield "array", retype(Sdf.ValueTypeNames.FloatArray, [1.0, 2.0])

    def block(stage: Usd.Stage) -> bool:
        found(stage).Block()
        return True

    yield "blocked", block


def _of_relationship(name: str, relationship: str) -> Iterator[tuple[str, Callable[[Usd.Stage], bool]]]:
    def point(*targets: str) -> Callable[[Usd.Stage], bool]:
        def mutate(stage: Usd.Stage) -> bool:
            return bool(stage.GetPrimAtPath(name).GetRelationship(relationship).SetTargets(list(targets)))

        return mutate

    yield "nothing", point()
    yield "nowhere", point("/Nowhere/at/all")
    yield "itself", point(name)
    yield "property", point("/Scene.physics:gravityMagnitude")


def _of_prim(name: str) -> Iterator[tuple[str, Callable[[Usd.Stage], bool]]]:
    def deactivate(stage: Usd.Stage) -> bool:
        return bool(stage.GetPrimAtPath(name).SetActive(False))

    yield "inactive", deactivate

    def retype(kind: str) -> Callable[[Usd.Stage], bool]:
        return lambda stage: bool(stage.GetPrimAtPath(name).SetTypeName(kind))

    for kind in _TYPES:
        yield f"type {kind or 'none'}", retype(kind)

    def scale(value: tuple[float, float, float]) -> Callable[[Usd.Stage], bool]:
        def mutate(stage: Usd.Stage) -> bool:
            xform = UsdGeom.Xformable(stage.GetPrimAtPath(name))
            if not xform:
                return False
            xform.ClearXformOpOrder()
            xform.AddScaleOp(opSuffix="odd").Set(Gf.Vec3f(*value))
            return True

        return mutate

    yield "flat", scale((1.0, 0.0, 1.0))
    yield "nan", scale((1.0, float("nan"), 1.0))
    yield "mirror", scale((1.0, -1.0, 1.0))


_FIRST: dict[tuple[object, ...], tuple[str, str]] = {}


def _stage(text: str) -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    assert stage.GetRootLayer().ImportFromString(
        '#usda 1.0\n(\n    upAxis = "Z"\n    metersPerUnit = 1\n)\n' + _SCENE + text
    )
    return stage


def _mutations(text: str) -> Iterator[tuple[str, str, str, Callable[[Usd.Stage], bool]]]:
    """Prim, property, what is done and how."""
    stage = _stage(text)
    for prim in stage.TraverseAll():
        name, schemas = str(prim.GetPath()), (str(prim.GetTypeName()), *prim.GetAppliedSchemas())
        of_prim = [("", what, mutate) for what, mutate in _of_prim(name)]
        of_properties = [
            (attribute.GetName(), what, mutate)
            for attribute in prim.GetAuthoredAttributes()
            for what, mutate in _of_attribute(name, attribute.GetName())
        ] + [
            (relationship.GetName(), what, mutate)
            for relationship in prim.GetAuthoredRelationships()
            for what, mutate in _of_relationship(name, relationship.GetName())
        ]
        for attribute, what, mutate in of_prim + of_properties:
            # The same on an equal prim of this or another stage says nothing new.
            key = (schemas, attribute, what)
            if _FIRST.setdefault(key, (text, name)) == (text, name):
                yield name, attribute, what, mutate


def _odd(template: Template, is_odd: Callable[[np.ndarray], np.ndarray], allowed: set[str]) -> list[str]:
    """Columns with odd numbers where they mean nothing."""
    found = []
    for name, table in vars(template).items():
        for column, values in vars(table).items() if isinstance(table, Table) else ():
            if isinstance(values, np.ndarray) and values.dtype.kind == "f" and is_odd(values).any():
                found.append(f"{name}.{column}")
    found += ["mesh" for mesh in template.meshes if not np.isfinite(mesh.points).all()]
    return [name for name in found if name not in allowed]


def _is_named(text: str, stage: Usd.Stage) -> bool:
    """Whether a word of a text is a prim of the stage, or an instance below one."""
    for word in text.replace(":", " ").split():
        if word == "/":
            return True
        if word.startswith("/") and Sdf.Path.IsValidPathString(word):
            path = Sdf.Path(word)
            if stage.GetPrimAtPath(path) or stage.GetPrimAtPath(path.GetParentPath()).IsA(
                UsdGeom.PointInstancer
            ):
                return True
    return False


def _problem(stage: Usd.Stage, name: str, attribute: str, what: str) -> str:
    """What is wrong with how a broken stage is read; nothing where all is well."""
    try:
        scene = parse_stage(stage)
    except StageError as error:
        text = str(error)
        if "\n" in text:
            return f"several lines: {text}"
        return "" if "no active PhysicsScene" in text or _is_named(text, stage) else f"names no prim: {text}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    nans = _odd(scene.templates[0], np.isnan, _MAY_BE_NAN)
    if nans:
        return f"NaN in {nans}"
    infinite = _odd(scene.templates[0], np.isinf, _BOUNDS)
    if infinite:
        return f"infinite numbers in {infinite}"
    if what == "nan" and attribute.startswith(_PHYSICS):
        if not any(path == name and attribute in text for path, text in scene.findings):
            return "NaN was swallowed"
    return ""


@pytest.mark.parametrize("kind", list(STAGES))
def test_every_property_broken_in_every_way(kind: str) -> None:
    text = STAGES[kind]
    assert _problem(_stage(text), "", "", "") == ""
    problems, count = [], 0
    for name, attribute, what, mutate in _mutations(text):
        stage = _stage(text)
        if mutate(stage):
            count += 1
            problem = _problem(stage, name, attribute, what)
            if problem:
                problems.append(f"{name} {attribute} {what}: {problem}")
    assert not problems, "\n".join(problems)
    assert count > 10


_OF_BODIES = ("Xform", "Cube", "Sphere", "Mesh", "PointInstancer")


@pytest.mark.parametrize("kind", list(STAGES))
def test_unloaded_payloads(kind: str) -> None:
    """What is behind a payload that is not loaded is not there; the rest of the stage is."""
    stage = _stage(STAGES[kind])  # it owns the layer
    source = stage.GetRootLayer()
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.TransferContent(source)
    payloads = [prim.path for prim in source.rootPrims if prim.typeName in _OF_BODIES]
    for path in payloads:
        del layer.rootPrims[path.name]
        holder = Sdf.CreatePrimInLayer(layer, path)
        holder.specifier = Sdf.SpecifierDef
        holder.payloadList.prependedItems = [Sdf.Payload(source.identifier, path)]
    assert payloads or kind == "particles"
    loaded, whole = (
        parse_stage(Usd.Stage.Open(layer)).templates[0],
        parse_stage(_stage(STAGES[kind])).templates[0],
    )
    for name in ("bodies", "shapes", "joints", "soft_prims"):
        assert set(getattr(loaded, name).path) == set(getattr(whole, name).path)
    joints = [str(prim.path) for prim in source.rootPrims if str(prim.typeName).endswith("Joint")]
    for path in [*payloads, None]:
        partial = Usd.Stage.Open(layer, Usd.Stage.LoadNone)
        if path is not None:
            partial.Load(path)
        if joints:  # some body of a joint is not there
            with pytest.raises(StageError, match=r"^/\w+: joint to nothing: .* which is no active prim$"):
                parse_stage(partial)
            continue
        template = parse_stage(partial).templates[0]
        assert _odd(template, np.isnan, _MAY_BE_NAN) == []
        expected = {body for body in whole.bodies.path if path is not None and Sdf.Path(body).HasPrefix(path)}
        assert set(template.bodies.path) == expected
