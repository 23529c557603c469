"""Joints: frames, degrees of freedom, vendor attributes, actuators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tensorphys_scene import AxisType, DriveType, JointType, Scene
from tensorphys_spatial import quaternion_rotate, transform_point
from tensorphys_usd import StageError, parse_stage

_BODIES = """
    def Xform "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }
    def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }
"""


def joint(kind: str, body: str = "", schemas: str = "", name: str = "J") -> str:
    applied = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    return f"""
    def Physics{kind}Joint "{name}" {applied} {{
        rel physics:body0 = </A>
        rel physics:body1 = </B>
        {body}
    }}
"""


@given(
    angles=st.tuples(*[st.floats(-180.0, 180.0, width=32)] * 3),
    scale=st.floats(0.25, 4.0, width=32),
    anchor=st.tuples(*[st.floats(-2.0, 2.0, width=32)] * 3),
)
def test_anchors_meet_in_the_world_whatever_the_prims_scale(
    angles: tuple[float, ...], scale: float, anchor: tuple[float, ...]
) -> None:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/Scene")
    body = UsdGeom.Xform.Define(stage, "/B")
    body.AddTranslateOp().Set((100.0, -50.0, 25.0))
    body.AddRotateXYZOp().Set(Gf.Vec3f(*angles))
    body.AddScaleOp().Set(Gf.Vec3f(scale, 2.0 * scale, 0.5 * scale))
    UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
    mount = UsdGeom.Xform.Define(stage, "/B/Mount")  # a target below a body means the body
    mount.AddTranslateOp().Set((0.5, 0.25, -0.125))
    joint = UsdPhysics.RevoluteJoint.Define(stage, "/J")
    joint.CreateBody1Rel().SetTargets(["/B/Mount"])
    joint.CreateLocalPos1Attr(Gf.Vec3f(*anchor))
    template = parse_stage(stage).templates[0]
    assert (template.joints.body0[0], template.joints.body1[0]) == (-1, 0)
    world = UsdGeom.XformCache().GetLocalToWorldTransform(mount.GetPrim()).Transform(Gf.Vec3d(*anchor))
    np.testing.assert_allclose(
        transform_point(template.bodies.pose[0], template.joints.frame1[0, :3]), world, atol=1e-4
    )


@pytest.mark.parametrize(
    ("kind", "axis", "expected"),
    [
        ("Revolute", "X", AxisType.ROT_X),
        ("Revolute", "Y", AxisType.ROT_Y),
        ("Revolute", "Z", AxisType.ROT_Z),
        ("Prismatic", "X", AxisType.TRANS_X),
        ("Prismatic", "Z", AxisType.TRANS_Z),
    ],
)
def test_axis_tokens(scene_of: Callable[..., Scene], kind: str, axis: str, expected: AxisType) -> None:
    template = scene_of(_BODIES + joint(kind, f'uniform token physics:axis = "{axis}"')).templates[0]
    assert template.axes.axis.tolist() == [expected]
    assert np.isinf(template.axes.lower[0])
    assert template.axes.drive_type.tolist() == [DriveType.NONE]


def test_lower_above_upper_locks_the_joint(scene_of: Callable[..., Scene]) -> None:
    limits = "float physics:lowerLimit = 1\nfloat physics:upperLimit = -1"
    scene = scene_of(_BODIES + joint("Revolute", limits))
    assert scene.templates[0].joints.count == 1
    assert scene.templates[0].axes.count == 0
    assert any(path == "/J" and "locked" in text for path, text in scene.findings)


def test_generic_joint_is_free_where_nothing_limits_it(scene_of: Callable[..., Scene]) -> None:
    schemas = (
        '"PhysicsLimitAPI:transX", "PhysicsLimitAPI:transY", "PhysicsLimitAPI:rotZ", "PhysicsDriveAPI:rotX"'
    )
    body = """
        float limit:transX:physics:low = 1
        float limit:transX:physics:high = -1
        float limit:transY:physics:low = -0.5
        float limit:transY:physics:high = 0.25
        float limit:rotZ:physics:low = -90
        float limit:rotZ:physics:high = 180
        float drive:rotX:physics:stiffness = 2
        float drive:rotX:physics:targetPosition = 90
        uniform token drive:rotX:physics:type = "acceleration"
        float state:rotY:physics:position = 45
        string mjcf:rotX:name = "twist"
    """
    template = scene_of(_BODIES + joint("", body, schemas)).templates[0]
    axes = template.axes
    assert template.joints.type.tolist() == [JointType.D6]
    assert axes.axis.tolist() == [
        AxisType.TRANS_Y,
        AxisType.TRANS_Z,
        AxisType.ROT_X,
        AxisType.ROT_Y,
        AxisType.ROT_Z,
    ]
    assert axes.names == ("J:4", "J:5", "twist", "J:1", "J:2")
    np.testing.assert_allclose(axes.lower, (-0.5, -np.inf, -np.inf, -np.inf, -np.pi / 2))
    np.testing.assert_allclose(axes.upper, (0.25, np.inf, np.inf, np.inf, np.pi))
    assert axes.drive_type.tolist() == [0, 0, DriveType.ACCELERATION, 0, 0]
    assert axes.stiffness[2] == pytest.approx(2.0 * 180.0 / np.pi)
    assert axes.target_position[2] == pytest.approx(np.pi / 2)
    assert axes.position[3] == pytest.approx(np.pi / 4)


@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_spherical_joint_turns_about_its_axis_first(scene_of: Callable[..., Scene], axis: str) -> None:
    body = f"""
        uniform token physics:axis = "{axis}"
        float physics:coneAngle0Limit = 30
        float physics:coneAngle1Limit = 60
    """
    template = scene_of(_BODIES + joint("Spherical", body)).templates[0]
    assert template.axes.axis.tolist() == [AxisType.ROT_X, AxisType.ROT_Y, AxisType.ROT_Z]
    np.testing.assert_allclose(template.axes.upper, (np.inf, np.pi / 6, np.pi / 3))
    np.testing.assert_allclose(template.axes.lower, -template.axes.upper)
    for frame in (template.joints.frame0[0], template.joints.frame1[0]):
        expected = np.eye(3)["XYZ".index(axis)]
        np.testing.assert_allclose(quaternion_rotate(frame[3:], (1, 0, 0)), expected, atol=1e-12)


def test_distance_joint(scene_of: Callable[..., Scene]) -> None:
    template = scene_of(_BODIES + joint("Distance", "float physics:maxDistance = 2")).templates[0]
    assert np.isnan(template.joints.min_distance[0])
    assert template.joints.max_distance[0] == 2.0
    assert template.links.count == 0


def test_vendor_attributes(scene_of: Callable[..., Scene]) -> None:
    body = """
        float physics:breakForce = 5
        bool physics:excludeFromArticulation = 1
        float physxJoint:armature = 0.5
        float physxJoint:maxJointVelocity = 180
        float physxJoint:jointFriction = 0.25
        float physxDrivePerformanceEnvelope:angular:maxActuatorVelocity = 360
        float physxDrivePerformanceEnvelope:angular:speedEffortGradient = 90
        float physxDrivePerformanceEnvelope:angular:velocityDependentResistance = 2
    """
    template = scene_of(_BODIES + joint("Revolute", body)).templates[0]
    axes, joints = template.axes, template.joints
    assert joints.break_force[0] == 5.0
    assert np.isinf(joints.break_torque[0])
    assert joints.excluded[0]
    assert joints.friction_coefficient[0] == 0.25
    assert axes.armature[0] == 0.5
    assert axes.max_velocity[0] == pytest.approx(np.pi)
    np.testing.assert_allclose(axes.envelope[0], (np.pi / 2, 2 * np.pi, 2 * 180 / np.pi))
    assert axes.has_envelope[0]


def test_per_axis_attributes_stand_in_for_those_of_the_joint(scene_of: Callable[..., Scene]) -> None:
    body = """
        float physxJoint:armature = 0.5
        float physxJoint:maxJointVelocity = 180
        float physxJointAxis:angular:staticFrictionEffort = 3
        float physxJointAxis:angular:dynamicFrictionEffort = 2
        float physxJointAxis:angular:viscousFrictionCoefficient = 1
    """
    axes = scene_of(_BODIES + joint("Revolute", body)).templates[0].axes
    assert (axes.armature[0], axes.max_velocity[0]) == (0.0, np.inf)
    assert (axes.static_friction[0], axes.dynamic_friction[0]) == (3.0, 2.0)
    assert axes.viscous_friction[0] == pytest.approx(180 / np.pi)


def test_converter_attributes(scene_of: Callable[..., Scene]) -> None:
    body = """
        float newton:armature = 0.125
        float newton:damping = 0.05235988
        float newton:velocityLimit = 90
        float newton:friction = 0.5
        double mjc:stiffness = 120
        double mjc:springref = 90
        float urdf:limit:effort = 87
    """
    axes = scene_of(_BODIES + joint("Revolute", body)).templates[0].axes
    assert axes.armature[0] == 0.125
    assert axes.passive_damping[0] == pytest.approx(3.0)
    assert axes.passive_stiffness[0] == 120.0
    assert axes.spring_reference[0] == pytest.approx(np.pi / 2)
    assert axes.max_velocity[0] == pytest.approx(np.pi / 2)
    assert (axes.static_friction[0], axes.dynamic_friction[0]) == (0.5, 0.5)
    assert axes.effort_limit[0] == 87.0


def test_mujoco_angles_follow_the_compiler(stage_of: Callable[[str], Usd.Stage]) -> None:
    scene = 'def PhysicsScene "S" { uniform token mjc:compiler:angle = "radian"; }\n'
    text = scene + _BODIES + joint("Revolute", "double mjc:springref = 1.5")
    assert parse_stage(stage_of(text)).templates[0].axes.spring_reference[0] == 1.5


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            "double[] mjc:gear = [150, 0, 0]\ndouble mjc:ctrlRange:min = -1\ndouble mjc:ctrlRange:max = 0.5",
            {"effort_limit": 150.0},
        ),
        ('uniform token mjc:ctrlLimited = "false"\ndouble mjc:ctrlRange:max = 1', {"effort_limit": np.inf}),
        (
            "double mjc:forceRange:min = -3\ndouble mjc:forceRange:max = 3\ndouble[] mjc:gear = [2]",
            {"effort_limit": 6.0},
        ),
        (
            'uniform token mjc:biasType = "affine"\ndouble[] mjc:gainPrm = [50]\ndouble[] mjc:biasPrm = [0, -50, -4]\n'
            "double[] mjc:gear = [2]\ndouble mjc:forceRange:min = -10\ndouble mjc:forceRange:max = 10",
            {"drive_type": DriveType.FORCE, "stiffness": 200.0, "damping": 16.0, "max_force": 20.0},
        ),
        (
            'uniform token mjc:biasType = "affine"\ndouble[] mjc:gainPrm = [7]\ndouble[] mjc:biasPrm = [0, 0, -7]',
            {"drive_type": DriveType.FORCE, "stiffness": 0.0, "damping": 7.0},
        ),
    ],
)
def test_mujoco_actuators(
    scene_of: Callable[..., Scene], attributes: str, expected: dict[str, float]
) -> None:
    actuator = f'def MjcActuator "M" {{\nrel mjc:target = </J>\n{attributes}\n}}\n'
    axes = scene_of(_BODIES + joint("Revolute") + actuator).templates[0].axes
    for name, value in expected.items():
        assert getattr(axes, name)[0] == value, name


def test_an_actuator_on_nothing_is_reported(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(_BODIES + 'def MjcActuator "M" { rel mjc:target = </Tendon>; }\n')
    assert [path for path, text in scene.findings if "MjcActuator" in text] == ["/M"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'def PhysicsFixedJoint "J" { rel physics:body1 = </Nowhere>; }',
            r"^/J: joint to nothing: physics:body1 is /Nowhere, which is no active prim$",
        ),
        ('def PhysicsFixedJoint "J" {}', r"^/J: joint to nothing: neither"),
        (
            _BODIES + joint("Revolute", "float physics:lowerLimit = nan"),
            r"^/J: physics:lowerLimit is nan$",
        ),
        (
            _BODIES + joint("Revolute", "point3f physics:localPos0 = (0, inf, 0)"),
            r"^/J: physics:localPos0 is",
        ),
        (_BODIES + joint("Revolute", "quatf physics:localRot1 = (0, 0, 0, 0)"), r"^/J: physics:localRot1 is"),
        (_BODIES + joint("Revolute", "float state:angular:physics:position = inf"), r"^/J: state:angular"),
    ],
)
def test_joints_that_cannot_be_simulated_are_named(
    scene_of: Callable[..., Scene], text: str, message: str
) -> None:
    with pytest.raises(StageError, match=message):
        scene_of(text)


def test_joints_that_hold_nothing_are_left_out(scene_of: Callable[..., Scene]) -> None:
    text = _BODIES + 'def Xform "X" {}\ndef PhysicsFixedJoint "J" { rel physics:body1 = </X>; }'
    text += '\ndef PhysicsFixedJoint "K" { rel physics:body0 = </A>; rel physics:body1 = </A>; }'
    scene = scene_of(text)
    assert scene.templates[0].joints.count == 0
    assert {path for path, _ in scene.findings if path in ("/J", "/K")} == {"/J", "/K"}


def test_a_disabled_body_is_part_of_the_world(scene_of: Callable[..., Scene]) -> None:
    text = _BODIES.replace(
        'def Xform "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {',
        'def Xform "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {\n'
        "bool physics:rigidBodyEnabled = 0\ndouble3 xformOp:translate = (1, 2, 3)\n"
        'uniform token[] xformOpOrder = ["xformOp:translate"]',
    )
    template = scene_of(text + joint("Revolute", "point3f physics:localPos0 = (0, 0, 1)")).templates[0]
    assert template.joints.body0[0] == -1
    np.testing.assert_allclose(template.joints.frame0[0, :3], (1, 2, 4))
    assert template.bodies.enabled.tolist() == [False, True]
