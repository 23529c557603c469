"""Settings of bodies, constant loads, conveyors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Usd

from tensorphys_scene import Scene, replicate
from tensorphys_usd import StageError, parse_stage


def body(name: str, lines: str = "", schemas: str = "") -> str:
    listed = ", ".join(filter(None, ['"PhysicsRigidBodyAPI", "PhysicsCollisionAPI"', schemas]))
    return f'def Cube "{name}" (prepend apiSchemas = [{listed}]) {{\n{lines}\n}}\n'


def test_vendor_settings(scene_of: Callable[..., Scene]) -> None:
    lines = """
        bool physics:startsAsleep = 1
        vector3f physics:velocity = (1, 2, 3)
        vector3f physics:angularVelocity = (180, 0, 90)
        float physxRigidBody:linearDamping = 0.5
        float physxRigidBody:maxLinearVelocity = 7
        float physxRigidBody:maxAngularVelocity = 360
        float physxRigidBody:maxDepenetrationVelocity = 2
        float physxRigidBody:maxContactImpulse = 3
        float physxRigidBody:sleepThreshold = 0.25
        float physxRigidBody:stabilizationThreshold = 0.125
        int physxRigidBody:solverPositionIterationCount = 8
        int physxRigidBody:solverVelocityIterationCount = 2
        bool physxRigidBody:enableCCD = 1
        bool physxRigidBody:enableSpeculativeCCD = 1
        bool physxRigidBody:disableGravity = 1
        bool physxRigidBody:enableGyroscopicForces = 0
        bool physxRigidBody:retainAccelerations = 1
        int physxRigidBody:lockedPosAxis = 5
        int physxRigidBody:lockedRotAxis = 2
        float physxRigidBody:cfmScale = 0.0625
        float physxRigidBody:contactSlopCoefficient = 0.5
        bool physxRigidBody:solveContact = 0"""
    scene = scene_of(
        body("A", lines, '"PhysxRigidBodyAPI"') + body("B") + body("C", "", '"PhysxRigidBodyAPI"')
    )
    assert scene.findings == ()
    bodies = scene.templates[0].bodies
    np.testing.assert_allclose(bodies.linear_velocity[0], (1, 2, 3))
    np.testing.assert_allclose(bodies.angular_velocity[0], (np.pi, 0, np.pi / 2))
    expected = {
        "starts_asleep": (True, False, False),
        "linear_damping": (0.5, 0.0, 0.0),
        "angular_damping": (0.05, 0.0, 0.05),  # the vendor's default where its schema is applied
        "max_linear_velocity": (7.0, np.inf, np.inf),
        "max_angular_velocity": (2.0 * np.pi, np.inf, 100.0),
        "max_depenetration_velocity": (2.0, np.inf, 3.0),
        "max_contact_impulse": (3.0, np.inf, np.inf),
        "sleep_threshold": (0.25, 0.0, 5e-5),
        "stabilization_threshold": (0.125, 0.0, 0.0),
        "position_iterations": (8, -1, -1),
        "velocity_iterations": (2, -1, -1),
        "ccd": (True, False, False),
        "speculative_ccd": (True, False, False),
        "disable_gravity": (True, False, False),
        "gyroscopic": (False, True, True),
        "retain_forces": (True, False, False),
        "locked_axes": (0b010101, 0, 0),
        "cfm_scale": (0.0625, np.nan, np.nan),
        "contact_slop_coefficient": (0.5, 0.0, 0.0),
        "solve_contact": (False, True, True),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(bodies, name), values, rtol=1e-6, err_msg=name)


def test_conveyors(scene_of: Callable[..., Scene]) -> None:
    lines = """
        vector3f physxSurfaceVelocity:surfaceVelocity = (1, 0, 0)
        vector3f physxSurfaceVelocity:surfaceAngularVelocity = (0, 0, 90)
        bool physxSurfaceVelocity:surfaceVelocityLocalSpace = 0
        %s"""
    schema = '"PhysxSurfaceVelocityAPI"'
    off = "bool physxSurfaceVelocity:surfaceVelocityEnabled = 0"
    scene = scene_of(body("A", lines % "", schema) + body("B", lines % off, schema) + body("C"))
    bodies = scene.templates[0].bodies
    assert scene.findings == ()
    np.testing.assert_allclose(bodies.surface_velocity, [(1, 0, 0), (0, 0, 0), (0, 0, 0)])
    np.testing.assert_allclose(bodies.surface_angular_velocity[:, 2], (np.pi / 2, 0, 0))
    assert bodies.surface_velocity_local.tolist() == [False, False, True]


_FORCES = """
    def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysxForceAPI"]) {
        vector3f physxForce:force = (0, 0, 10)
        vector3f physxForce:torque = (0, 90, 0)
        double3 xformOp:translate = (5, 0, 0)
        double xformOp:rotateZ = 90
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ"]
        def Sphere "S" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}
        def Xform "Jet" (prepend apiSchemas = ["PhysxForceAPI"]) {
            token physxForce:mode = "force"
            vector3f physxForce:force = (1, 2, 3)
            vector3f physxForce:torque = (0, 90, 0)
            bool physxForce:worldFrameEnabled = 1
            bool physxForce:forceEnabled = 0
            double3 xformOp:translate = (0, 2, 0)
            double xformOp:rotateX = 90
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX"]
        }
    }
"""


def test_constant_loads(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(_FORCES + 'def Xform "Alone" (prepend apiSchemas = ["PhysxForceAPI"]) {}')
    forces = scene.templates[0].body_forces
    assert (forces.path, forces.body.tolist()) == (("/B", "/B/Jet"), [0, 0])
    np.testing.assert_allclose(forces.position, [(0, 0, 0), (0, 2, 0)], atol=1e-12)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(forces.rotation, [(0, 0, 0, 1), (half, 0, 0, half)], atol=1e-12)
    np.testing.assert_allclose(forces.force, [(0, 0, 10), (1, 2, 3)])
    np.testing.assert_allclose(forces.torque, [(0, np.pi / 2, 0), (0, 90, 0)])
    assert (forces.acceleration.tolist(), forces.world.tolist(), forces.enabled.tolist()) == (
        [True, False],
        [False, True],
        [True, False],
    )
    assert scene.findings == (("/Alone", "PhysxForceAPI on a prim of no moving body: ignored"),)
    with pytest.raises(StageError, match=r"^/B: physxForce:force is \[0.0, nan, 10.0\]$"):
        scene_of(_FORCES.replace("(0, 0, 10)", "(0, nan, 10)"))
    with pytest.raises(
        StageError, match=r"^/B/Jet: physxForce:mode is 'push', expected acceleration or force$"
    ):
        scene_of(_FORCES.replace('"force"', '"push"'))


def test_loads_and_materials_of_faces_follow_their_environments(stage_of: Callable[[str], Usd.Stage]) -> None:
    def environment(row: int, root: str) -> str:
        return f"""
        def Xform "E{row}" {{
            double3 xformOp:translate = ({7 * row}, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            {_FORCES}
            def Mesh "Floor" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
                point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
                int[] faceVertexCounts = [3, 3]
                int[] faceVertexIndices = [0, 1, 2, 1, 3, 2]
                def GeomSubset "Wet" (prepend apiSchemas = ["MaterialBindingAPI"]) {{
                    uniform token elementType = "face"
                    uniform token familyName = "materialBind"
                    int[] indices = [1]
                    rel material:binding:physics = </Water>
                }}
            }}
        }}
        """

    scenery = (
        'def PhysicsScene "S" {}\ndef Material "Water" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {}\n'
    )
    many = parse_stage(
        stage_of(scenery + "".join(environment(row, f"/E{row}") for row in range(3))), environments="/E*"
    )
    one = parse_stage(stage_of(scenery + environment(0, "/E0")))
    copied = replicate(one, "/E0", 3)
    for scene in (many, copied):
        (template,) = scene.templates
        assert template.body_forces.path == ("/B", "/B/Jet")
        assert template.face_materials.path == ("/Floor/Wet",)
        assert template.materials.path[template.face_materials.material[0]] == "/Water"
        assert template.shapes.path[template.face_materials.shape[0]] == "/Floor"


def test_floors_outside_of_environments_keep_materials_of_faces(stage_of: Callable[[str], Usd.Stage]) -> None:
    text = """
    def PhysicsScene "S" {}
    def Material "Water" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {}
    def Mesh "Floor" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
        int[] faceVertexCounts = [3, 3]
        int[] faceVertexIndices = [0, 1, 2, 1, 3, 2]
        def GeomSubset "Wet" (prepend apiSchemas = ["MaterialBindingAPI"]) {
            uniform token elementType = "face"
            uniform token familyName = "materialBind"
            int[] indices = [1]
            rel material:binding:physics = </Water>
        }
    }
    def Xform "E" { def Sphere "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {} }"""
    text = text.replace("{ def Sphere", "{\ndef Sphere").replace("{} }", "{}\n}")
    for shared in (
        parse_stage(stage_of(text), environments="/E").shared,
        replicate(parse_stage(stage_of(text)), "/E", 2).shared,
    ):
        assert shared.face_materials.path == ("/Floor/Wet",)
        assert shared.materials.path[shared.face_materials.material[0]] == "/Water"
        assert shared.shapes.path[shared.face_materials.shape[0]] == "/Floor"
