"""Tendons, mimic joints, gears, soft limits and bounds of distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Usd

from tensorphys_scene import JointType, Scene
from tensorphys_usd import StageError, parse_stage

_RADIAN = np.pi / 180.0


def arm(joints: str, *, extra: str = "") -> str:
    """A fixed base `A` with the links `B`, `C` and `D` in a chain; C is scaled by two."""
    links = "".join(
        f"""
        def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{schemas}]) {{
            float physics:mass = 1
            float3 physics:diagonalInertia = (1, 1, 1)
            {body}
        }}"""
        for name, schemas, body in (
            ("A", "", ""),
            ("B", extra and ', "PhysxTendonAttachmentRootAPI:cable"', extra and _ROOT),
            ("C", extra and ', "PhysxTendonAttachmentAPI:middle"', _SCALE + (extra and _MIDDLE)),
            ("D", extra and ', "PhysxTendonAttachmentLeafAPI:end"', extra),
        )
    )
    return f"""
    def Xform "Robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"]) {{
        {links}
        def PhysicsFixedJoint "Base" {{ rel physics:body1 = </Robot/A>; }}
        {joints}
    }}"""


_SCALE = """
            double3 xformOp:scale = (2, 2, 2)
            uniform token[] xformOpOrder = ["xformOp:scale"]"""
_ROOT = """
            float physxTendon:cable:stiffness = 5
            float physxTendon:cable:offset = 0.5
            point3f physxTendon:cable:localPos = (0, 0, 1)"""
_MIDDLE = """
            rel physxTendon:middle:parentLink = </Robot/B>
            token physxTendon:middle:parentAttachment = "cable"
            point3f physxTendon:middle:localPos = (0, 0, 1)
            float physxTendon:middle:gearing = 2"""
_LEAF = """
            rel physxTendon:end:parentLink = </Robot/C>
            token physxTendon:end:parentAttachment = "middle"
            float physxTendon:end:upperLimit = 3"""


def joint(kind: str, name: str, ends: str, schemas: str = "", body: str = "") -> str:
    applied = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    return f"""
        def Physics{kind}Joint "{name}" {applied} {{
            rel physics:body0 = </Robot/{ends[0]}>
            rel physics:body1 = </Robot/{ends[1]}>
            {body}
        }}"""


_PLAIN = joint("Revolute", "J1", "AB") + joint("Prismatic", "J2", "BC") + joint("Revolute", "J3", "CD")


def test_mimic_joints_convert_degrees_by_the_kinds_of_both_sides(scene_of: Callable[..., Scene]) -> None:
    mimic = """
            rel physxMimicJoint:rotX:referenceJoint = </Robot/J2>
            float physxMimicJoint:rotX:gearing = 90
            float physxMimicJoint:rotX:offset = 45
            float physxMimicJoint:rotX:naturalFrequency = 10
            float physxMimicJoint:rotX:dampingRatio = 0.5"""
    joints = joint("Prismatic", "J2", "BC") + joint("Revolute", "J3", "CD")
    first = joint("Revolute", "J1", "AB", '"PhysxMimicJointAPI:rotX"', mimic)
    template = scene_of(arm(first + joints)).templates[0]
    table = template.mimic_joints
    assert table.path == ("/Robot/J1",)
    names = [template.axes.names[row] for row in (table.axis[0], table.reference[0])]
    assert names == ["J1", "J2"]
    np.testing.assert_allclose(
        (table.gearing[0], table.offset[0]), (90.0 * _RADIAN, 45.0 * _RADIAN), rtol=1e-12
    )
    assert (table.natural_frequency[0], table.damping_ratio[0]) == (10.0, 0.5)


def test_newton_mimics_have_the_opposite_sign(scene_of: Callable[..., Scene]) -> None:
    mimic = "rel newton:mimicJoint = </Robot/J1>\nfloat newton:mimicCoef1 = 2\nfloat newton:mimicCoef0 = 30"
    joints = joint("Revolute", "J1", "AB") + joint("Revolute", "J2", "BC", '"NewtonMimicAPI"', mimic)
    scene = scene_of(arm(joints))
    table = scene.templates[0].mimic_joints
    np.testing.assert_allclose((table.gearing[0], table.offset[0]), (-2.0, -30.0 * _RADIAN), rtol=1e-12)
    assert not [text for _, text in scene.findings if "newton" in text]


@pytest.mark.parametrize(
    ("target", "text"),
    [("</Robot/J1>", "follows itself"), ("</Robot/A>", "which is no joint"), ("</Robot/Base>", "no such")],
)
def test_mimics_of_nothing_are_reported(scene_of: Callable[..., Scene], target: str, text: str) -> None:
    mimic = f"rel physxMimicJoint:rotX:referenceJoint = {target}"
    scene = scene_of(arm(joint("Revolute", "J1", "AB", '"PhysxMimicJointAPI:rotX"', mimic)))
    assert scene.templates[0].mimic_joints.count == 0
    assert any(path == "/Robot/J1" and text in said for path, said in scene.findings)


def test_gears_and_racks_couple_joints(scene_of: Callable[..., Scene]) -> None:
    couplings = """
        def PhysxPhysicsGearJoint "Gear" {
            rel physics:body0 = </Robot/B>
            rel physics:body1 = </Robot/D>
            rel physics:hinge0 = </Robot/J1>
            rel physics:hinge1 = </Robot/J3>
            float physics:gearRatio = -3
        }
        def PhysxPhysicsRackAndPinionJoint "Rack" {
            rel physics:body0 = </Robot/B>
            rel physics:body1 = </Robot/C>
            rel physics:hinge = </Robot/J1>
            rel physics:prismatic = </Robot/J2>
            float physics:ratio = 180
        }"""
    scene = scene_of(arm(_PLAIN + couplings))
    template = scene.templates[0]
    table = template.joint_couplings
    assert table.path == ("/Robot/Gear", "/Robot/Rack")
    kinds = [JointType(int(template.joints.type[row])) for row in table.joint]
    assert kinds == [JointType.GEAR, JointType.RACK_AND_PINION]
    path = template.joints.path
    coupled = [(path[a], path[b]) for a, b in zip(table.joint0, table.joint1, strict=True)]
    assert coupled == [("/Robot/J1", "/Robot/J3"), ("/Robot/J1", "/Robot/J2")]
    np.testing.assert_allclose(table.ratio, [-3.0, np.pi], rtol=1e-6)
    assert template.links.count == 4
    assert not scene.findings


def tendon(name: str, gearing: str, *, root: bool = False) -> tuple[str, str]:
    kind = "PhysxTendonAxisRootAPI" if root else "PhysxTendonAxisAPI"
    body = f"float[] physxTendon:{name}:gearing = [{gearing}]\n"
    if root:
        body += f"float physxTendon:{name}:stiffness = 30\nfloat physxTendon:{name}:lowerLimit = -0.5\n"
    return f'"{kind}:{name}"', body + f"float[] physxTendon:{name}:forceCoefficient = [0.25]"


def test_fixed_tendons_gather_axes_by_instance(scene_of: Callable[..., Scene]) -> None:
    joints = (
        joint("Revolute", "J1", "AB", *tendon("t", "2", root=True))
        + joint("Prismatic", "J2", "BC", *tendon("t", "4"))
        + joint("Revolute", "J3", "CD", *tendon("lost", "1"))
    )
    scene = scene_of(arm(joints))
    template = scene.templates[0]
    tendons, axes = template.fixed_tendons, template.fixed_tendon_axes
    assert (tendons.path, tendons.names) == (("/Robot/J1",), ("t",))
    assert (tendons.stiffness[0], tendons.lower[0], tendons.upper[0]) == (30.0, -0.5, np.inf)
    assert [template.axes.names[row] for row in axes.axis] == ["J1", "J2"]
    np.testing.assert_allclose(axes.gearing, [2.0 / _RADIAN, 4.0], rtol=1e-12)
    np.testing.assert_allclose(axes.force_coefficient, 0.25)
    assert scene.findings == (("/Robot/J3", "fixed tendon lost has no root: ignored"),)


def test_tendons_of_two_robots_do_not_mix(stage_of: Callable[[str], Usd.Stage]) -> None:
    joints = joint("Revolute", "J1", "AB", *tendon("t", "2", root=True))
    joints += joint("Prismatic", "J2", "BC", *tendon("t", "4")) + joint("Revolute", "J3", "CD")
    one = arm(joints)
    text = 'def PhysicsScene "S" {}\n' + "".join(
        f'def Xform "Env{index}" {{\n{one.replace("</Robot", f"</Env{index}/Robot")}\n}}\n'
        for index in range(2)
    )
    stage = stage_of(text)
    together = parse_stage(stage).templates[0]
    assert together.fixed_tendons.count == 2
    assert together.fixed_tendon_axes.tendon.tolist() == [0, 0, 1, 1]
    split = parse_stage(stage, environments="/Env*")
    assert (len(split.templates), split.environments.count) == (1, 2)
    assert split.templates[0].fixed_tendons.path == ("/Robot/J1",)
    assert split.templates[0].fixed_tendon_axes.axis.tolist() == [0, 1]


def test_spatial_tendons_are_trees_of_points_in_body_frames(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(arm(_PLAIN, extra=_LEAF))
    template = scene.templates[0]
    assert (template.spatial_tendons.path, template.spatial_tendons.names) == (("/Robot/B",), ("cable",))
    assert (template.spatial_tendons.stiffness[0], template.spatial_tendons.offset[0]) == (5.0, 0.5)
    points = template.tendon_attachments
    assert points.names == ("cable", "middle", "end")
    assert points.parent.tolist() == [-1, 0, 1]
    assert [template.bodies.path[row] for row in points.body] == ["/Robot/B", "/Robot/C", "/Robot/D"]
    np.testing.assert_allclose(points.position[:, 2], [1.0, 2.0, 0.0])  # C is scaled by two
    assert points.leaf.tolist() == [False, False, True]
    assert np.isnan(points.rest_length[2])
    assert points.upper[2] == 3.0
    assert not scene.findings


def test_attachments_in_a_cycle_are_reported(scene_of: Callable[..., Scene]) -> None:
    cycle = _LEAF + "\nrel physxTendon:middle:parentLink = </Robot/D>"
    text = arm(_PLAIN, extra=cycle).replace(
        'parentLink = </Robot/B>\n            token physxTendon:middle:parentAttachment = "cable"',
        'parentLink = </Robot/D>\n            token physxTendon:middle:parentAttachment = "end"',
    )
    scene = scene_of(text)
    assert scene.templates[0].tendon_attachments.count == 1
    said = {path for path, text in scene.findings if "hangs on no root" in text}
    assert said == {"/Robot/C", "/Robot/D"}


def test_soft_limits_are_read_per_radian(scene_of: Callable[..., Scene]) -> None:
    soft = """
            float physics:lowerLimit = -10
            float physics:upperLimit = 10
            float physxLimit:angular:stiffness = 2
            float physxLimit:angular:damping = 1
            float physxLimit:angular:restitution = 0.5
            float physxLimit:angular:bounceThreshold = 180"""
    scene = scene_of(arm(joint("Revolute", "J1", "AB", '"PhysxLimitAPI:angular"', soft)))
    axes = scene.templates[0].axes
    np.testing.assert_allclose(axes.limit_stiffness, 2.0 / _RADIAN)
    np.testing.assert_allclose(axes.limit_damping, 1.0 / _RADIAN)
    np.testing.assert_allclose((axes.limit_restitution[0], axes.limit_bounce_threshold[0]), (0.5, np.pi))
    assert not scene.findings


def test_distances_of_distance_and_generic_joints(scene_of: Callable[..., Scene]) -> None:
    spring = """
            float physics:maxDistance = 2
            bool physxPhysicsDistanceJoint:springEnabled = 1
            float physxPhysicsDistanceJoint:springStiffness = 7
            float physxPhysicsDistanceJoint:springDamping = 3"""
    limit = "float limit:distance:physics:high = 4"
    text = arm(
        joint("Distance", "Rope", "AC", "", spring)
        + joint("", "Free", "AD", '"PhysicsLimitAPI:distance"', limit)
    )
    scene = scene_of(text)
    joints = scene.templates[0].joints
    rope, free = joints.row("/Robot/Rope"), joints.row("/Robot/Free")
    assert np.isnan(joints.min_distance[[rope, free]]).all()
    assert joints.max_distance[[rope, free]].tolist() == [2.0, 4.0]
    assert joints.distance_stiffness[[rope, free]].tolist() == [7.0, 0.0]
    assert joints.distance_damping[rope] == 3.0
    assert not scene.findings


@pytest.mark.parametrize(
    "body",
    [
        "float physxTendon:t:lowerLimit = 1\nfloat physxTendon:t:upperLimit = 0",
        "float physxTendon:t:stiffness = nan",
        "float[] physxTendon:t:gearing = [inf]",
    ],
)
def test_impossible_tendons_name_their_prim(scene_of: Callable[..., Scene], body: str) -> None:
    with pytest.raises(StageError, match=r"^/Robot/J1: "):
        scene_of(arm(joint("Revolute", "J1", "AB", '"PhysxTendonAxisRootAPI:t"', body)))
