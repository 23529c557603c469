"""Attributes and prims that the converters of other formats write."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tensorphys_scene import DriveType, Scene
from tensorphys_usd import StageError

_RADIANS = np.pi / 180.0


def body(name: str, extra: str = "") -> str:
    return f"""
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
        {extra}
    }}"""


def joint(name: str, ends: tuple[str, str], extra: str = "", kind: str = "Revolute") -> str:
    return f"""
    def Physics{kind}Joint "{name}" {{
        rel physics:body0 = </{ends[0]}>
        rel physics:body1 = </{ends[1]}>
        {extra}
    }}"""


def chain(first: str = "", second: str = "", more: str = "") -> str:
    """Three bodies on a hinge and a slide."""
    root = body("A").replace('"PhysicsMassAPI"]', '"PhysicsMassAPI", "PhysicsArticulationRootAPI"]')
    joints = joint("hinge", ("A", "B"), first) + joint("slide", ("B", "C"), second, kind="Prismatic")
    return root + body("B") + body("C") + joints + more


def test_positions_count_from_the_pose_on_the_stage(scene_of: Callable[..., Scene]) -> None:
    first = """
        double mjc:ref = 30
        double mjc:springref = 90
        double mjc:stiffness = 2
        float physics:lowerLimit = -60
        float physics:upperLimit = 60"""
    servo = """
    def MjcActuator "Servo" {
        rel mjc:target = </slide>
        token mjc:biasType = "affine"
        double[] mjc:gainPrm = [8]
        double[] mjc:biasPrm = [0, -8, -1]
    }"""
    scene = scene_of(chain(first, "double mjc:ref = 1.25", servo))
    axes = scene.templates[0].axes
    np.testing.assert_allclose(axes.source_offset, (30 * _RADIANS, 1.25))
    np.testing.assert_allclose(axes.lower, (-90 * _RADIANS, -np.inf))
    np.testing.assert_allclose(axes.upper, (30 * _RADIANS, np.inf))
    np.testing.assert_allclose(axes.spring_reference, (60 * _RADIANS, -1.25))
    # The servo holds MuJoCo's coordinate at its control, 0, which is 1.25 below the pose on the stage.
    assert axes.target_position.tolist() == [0.0, -1.25]
    assert [path for path, text in scene.corrected if text.startswith("mjc:ref")] == ["/hinge", "/slide"]


def test_a_tendon_over_joints(scene_of: Callable[..., Scene]) -> None:
    tendon = """
    def MjcTendon "Sum" {
        token mjc:type = "fixed"
        rel mjc:path = [</hinge>, </slide>]
        int[] mjc:path:indices = [1, 0]
        double[] mjc:path:coef = [0.5, 2]
        double mjc:stiffness = 100
        double mjc:damping = 3
        double[] mjc:springlength = [0.25, 0.75]
        double mjc:range:min = -1
        double mjc:range:max = 4
        double mjc:frictionloss = 0.125
        double mjc:armature = 0.0625
        color4f mjc:rgba = (1, 0, 0, 1)
    }"""
    scene = scene_of(chain("double mjc:ref = 30", "", tendon))
    template = scene.templates[0]
    tendons, parts = template.fixed_tendons, template.fixed_tendon_axes
    assert (tendons.path, tendons.names) == (("/Sum",), ("Sum",))
    assert (tendons.stiffness[0], tendons.damping[0], tendons.rest_length[0]) == (100.0, 3.0, 0.25)
    assert (tendons.dead_band[0], tendons.friction[0], tendons.armature[0]) == (0.5, 0.125, 0.0625)
    assert (tendons.lower[0], tendons.upper[0], tendons.hard_limits[0]) == (-1.0, 4.0, True)
    assert tendons.offset[0] == pytest.approx(2.0 * 30.0 * _RADIANS)
    assert parts.path == ("/slide", "/hinge")
    assert parts.axis.tolist() == [1, 0]
    np.testing.assert_allclose(parts.gearing, (0.5, 2.0))
    np.testing.assert_allclose(parts.force_coefficient, (0.5, 2.0))
    assert [text for path, text in scene.findings if path == "/Sum"] == []


def test_a_tendon_without_a_spring_length_rests_at_the_start(scene_of: Callable[..., Scene]) -> None:
    tendon = """
    def MjcTendon "Sum" {
        token mjc:type = "fixed"
        rel mjc:path = </slide>
        double[] mjc:path:coef = [3]
        double mjc:stiffness = 1
    }"""
    tendons = scene_of(chain("", "double mjc:ref = 2", tendon)).templates[0].fixed_tendons
    assert (tendons.rest_length[0], tendons.offset[0]) == (6.0, 6.0)
    assert (tendons.upper[0], tendons.hard_limits[0]) == (np.inf, False)


def test_a_servo_on_a_tendon_is_its_spring(scene_of: Callable[..., Scene]) -> None:
    tendon = """
    def MjcTendon "Sum" {
        token mjc:type = "fixed"
        rel mjc:path = [</hinge>, </slide>]
        double[] mjc:path:coef = [1, 1]
        double mjc:damping = 1
    }
    def MjcActuator "Grip" {
        rel mjc:target = </Sum>
        token mjc:biasType = "affine"
        double[] mjc:gainPrm = [0.5]
        double[] mjc:biasPrm = [10, -100, -4]
        double mjc:forceRange:min = -20
        double mjc:forceRange:max = 20
    }"""
    scene = scene_of(chain(more=tendon))
    tendons = scene.templates[0].fixed_tendons
    assert (tendons.stiffness[0], tendons.damping[0]) == (100.0, 5.0)
    assert (tendons.rest_length[0], tendons.max_force[0]) == (0.1, 20.0)
    assert [path for path, _ in scene.findings if path == "/Grip"] == []


def test_a_string_through_sites(scene_of: Callable[..., Scene]) -> None:
    def site(name: str, place: str) -> str:
        return f"""
        def Sphere "{name}" (prepend apiSchemas = ["MjcSiteAPI"]) {{
            double3 xformOp:translate = {place}
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }}"""

    tendon = """
    def MjcTendon "String" {
        token mjc:type = "spatial"
        rel mjc:path = [</A/a>, </B/b>, </C/c>]
        int[] mjc:path:indices = [0, 1, 2]
        int[] mjc:path:segments = [0, 0, 0]
        double[] mjc:path:divisors = [2]
        double mjc:stiffness = 5
        double[] mjc:springlength = [0.5, 0.5]
        double mjc:range:max = 3
    }"""
    bodies = "".join(body(name, site(name.lower(), f"({index}, 0, 1)")) for index, name in enumerate("ABC"))
    scene = scene_of(bodies + tendon)
    template = scene.templates[0]
    tendons, points = template.spatial_tendons, template.tendon_attachments
    assert (tendons.names, tendons.stiffness.tolist(), tendons.hard_limits.tolist()) == (
        ("String",),
        [5.0],
        [True],
    )
    assert points.path == ("/A/a", "/B/b", "/C/c")
    assert points.parent.tolist() == [-1, 0, 1]
    assert points.leaf.tolist() == [False, False, True]
    np.testing.assert_allclose(points.position, [(0, 0, 1), (1, 0, 1), (2, 0, 1)])
    np.testing.assert_allclose(points.gearing, 0.5)
    assert (points.rest_length[2], points.lower[2], points.upper[2]) == (0.5, 0.0, 3.0)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            'token mjc:type = "fixed"\nrel mjc:path = </A>',
            "over /A, which is no joint with one degree of freedom",
        ),
        ('token mjc:type = "spatial"\nrel mjc:path = [</A>, </B>]', "over /A, which is no site"),
        (
            'token mjc:type = "spatial"\nrel mjc:path = [</A>, </B>]\nint[] mjc:path:segments = [0, 1]',
            "with pulleys",
        ),
        ('token mjc:type = "fixed"', "whose path has 0 targets and the indices []"),
        (
            'token mjc:type = "fixed"\nrel mjc:path = </hinge>\nint[] mjc:path:indices = [3]',
            "whose path has 1 targets and the indices [3]",
        ),
        (
            'token mjc:type = "fixed"\nrel mjc:path = </hinge>\ndouble[] mjc:path:coef = [1, 2]',
            "with 2 coefficients over 1 joints",
        ),
    ],
)
def test_tendons_that_cannot_be_are_findings(scene_of: Callable[..., Scene], lines: str, text: str) -> None:
    scene = scene_of(chain(more=f'\ndef MjcTendon "T" {{\n{lines}\n}}'))
    assert scene.findings == (("/T", f"MjcTendon {text}: ignored"),)
    assert scene.templates[0].fixed_tendons.count + scene.templates[0].spatial_tendons.count == 0


def test_tendons_with_odd_numbers_are_errors(scene_of: Callable[..., Scene]) -> None:
    lines = 'token mjc:type = "fixed"\nrel mjc:path = </hinge>\ndouble mjc:{} = nan'
    for name in ("stiffness", "frictionloss"):
        with pytest.raises(StageError, match=rf"^/T: mjc:{name} is nan$"):
            scene_of(chain(more=f'\ndef MjcTendon "T" {{\n{lines.format(name)}\n}}'))
    with pytest.raises(StageError, match=r"^/T: mjc:type is 'loop', expected fixed or spatial$"):
        scene_of(chain(more='\ndef MjcTendon "T" {\ntoken mjc:type = "loop"\nrel mjc:path = </hinge>\n}'))


def test_bit_masks_of_colliders(scene_of: Callable[..., Scene]) -> None:
    def ball(name: str, lines: str = "") -> str:
        schemas = '"PhysicsRigidBodyAPI", "PhysicsCollisionAPI"'
        return f'def Sphere "{name}" (prepend apiSchemas = [{schemas}]) {{\n{lines}\n}}\n'

    text = ball("A", "int mjc:contype = 2\nint mjc:conaffinity = 0")
    text += ball("B", "int mjc:contype = 1\nint mjc:conaffinity = 2")
    text += ball("C", "int mjc:contype = 2\nint mjc:conaffinity = 0") + ball("D")
    template = scene_of(text).templates[0]
    names = {"".join(template.shapes.path[row][-1] for row in pair) for pair in template.filtered_pairs}
    # A sees B alone (bit 2); B and D see each other (bit 1); A and C see neither each other nor D.
    assert names == {"AC", "AD", "CD"}


def test_newton_joints_materials_and_offsets(scene_of: Callable[..., Scene]) -> None:
    text = (
        chain("float newton:limitStiffness = 4\nfloat newton:limitDamping = inf")
        + """
    def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {
        float newton:torsionalFriction = 0.25
        float newton:rollingFriction = 0.125
    }
    def Cube "Ground" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
        float newton:contactMargin = 0.25
        float newton:contactGap = 0.5
    }
    def Cube "Other" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
        float newton:contactMargin = 0.25
        float newton:contactGap = 0
        float physxCollision:restOffset = 0.125
    }"""
    )
    template = scene_of(text).templates[0]
    assert template.axes.limit_stiffness[0] == pytest.approx(4.0 / _RADIANS)
    assert template.axes.limit_damping.tolist() == [0.0, 0.0]
    assert (template.materials.torsional_friction[0], template.materials.rolling_friction[0]) == (0.25, 0.125)
    assert template.shapes.rest_offset.tolist() == [0.25, 0.125]
    assert template.shapes.contact_offset[0] == 0.75
    assert np.isnan(template.shapes.contact_offset[1])


def test_a_mimic_offset_is_in_degrees(scene_of: Callable[..., Scene]) -> None:
    """The schema: this joint = coefficient 0 + coefficient 1 · the other, in degrees where they turn."""
    root = body("A").replace('"PhysicsMassAPI"]', '"PhysicsMassAPI", "PhysicsArticulationRootAPI"]')
    follower = "rel newton:mimicJoint = </one>\nfloat newton:mimicCoef0 = 90\nfloat newton:mimicCoef1 = 2"
    text = root + body("B") + body("C") + joint("one", ("A", "B")) + joint("two", ("B", "C"), follower)
    mimic = scene_of(text).templates[0].mimic_joints
    # q₂ − 2 q₁ − π/2 = 0
    assert (mimic.gearing[0], mimic.offset[0]) == (-2.0, pytest.approx(-np.pi / 2.0))


def test_the_tensor_of_the_converters_stands_above_the_diagonal_form(scene_of: Callable[..., Scene]) -> None:
    tensor = [[2.0, 0.25, 0.0], [0.25, 3.0, -0.5], [0.0, -0.5, 4.0]]
    text = body("A", "double[] newton:inertia = [2, 3, 4, 0.25, 0, -0.5]")
    bodies = scene_of(text).templates[0].bodies
    np.testing.assert_allclose(bodies.inertia[0], tensor)
    with pytest.raises(StageError, match=r"^/A: newton:inertia has 2 entries, expected 6$"):
        scene_of(body("A", "double[] newton:inertia = [1, 2]"))
    scene = scene_of(body("A", "double[] newton:inertia = [1, 1, 1, 1, 1, 1]"))
    np.testing.assert_allclose(scene.templates[0].bodies.inertia[0], np.eye(3))
    assert [path for path, text in scene.findings if "is not positive definite: ignored" in text] == ["/A"]


def test_a_drive_stands_above_a_servo(scene_of: Callable[..., Scene]) -> None:
    servo = """
    def MjcActuator "Servo" {
        rel mjc:target = </hinge>
        token mjc:biasType = "affine"
        double[] mjc:biasPrm = [0, -8, 0]
    }"""
    hinge = "float drive:angular:physics:stiffness = 1"
    text = chain(hinge, more=servo).replace(
        'PhysicsRevoluteJoint "hinge" {',
        'PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"]) {',
    )
    scene = scene_of(text)
    assert scene.templates[0].axes.drive_type[0] == DriveType.FORCE
    assert scene.templates[0].axes.stiffness[0] == pytest.approx(1.0 / _RADIANS)
    assert [path for path, _ in scene.findings] == ["/Servo"]
