"""What is ignored is said, by prim."""

from __future__ import annotations

from collections.abc import Callable

from tensorphys_scene import Scene
from tensorphys_usd import Report, report_text


def test_unsupported_attributes_are_reported_by_prim(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(
        """
        def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
            float physics:mass = 2
            float physxRigidBody:oddScale = 0.5
            float physxRigidBody:linearDamping = 0.25
            def Sphere "S" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { float newton:contactOdd = 1; }
        }
        def Xform "Plain" { float physxVehicle:mass = 1; float size = 2; }"""
    )
    assert set(scene.findings) == {
        ("/B", "physics:mass is ignored: PhysicsMassAPI is not applied"),
        ("/B", "physxRigidBody:oddScale is not supported: ignored"),
        ("/B/S", "newton:contactOdd is not supported: ignored"),
        ("/Plain", "physxVehicle:mass is not supported: ignored"),
    }
    assert scene.templates[0].bodies.linear_damping[0] == 0.25


def test_text_gathers_equal_remarks() -> None:
    report = Report()
    for name in "abcde":
        report.add(f"/{name}", "odd")
    report.add("/a", "odd")
    report.add("/a", "even")
    assert len(report) == 6
    assert report.text() == "odd: /a, /b, /c and 2 more\neven: /a"
    assert report_text(()) == ""


def test_unsupported_prim_types_are_reported(scene_of: Callable[..., Scene]) -> None:
    text = 'def MjcKeyframe "T" { double[] mjc:qpos = [1]; }\ndef PhysxPhysicsGearJoint "G" { float physics:gearRatio = 2; }'
    found = scene_of(text).findings
    assert ("/T", "prims of type MjcKeyframe are not supported: ignored") in found
    assert ("/G", "PhysxPhysicsGearJoint without bodies is left out") in found


def test_colliders_without_geometry_are_reported(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of('def Xform "X" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}')
    assert scene.templates[0].shapes.count == 0
    assert (
        dict(scene.findings)["/X"]
        == "PhysicsCollisionAPI on a prim of type Xform, which is no collider: ignored"
    )
