"""One scene in metres and kilograms, centimetres, grams and inches is one scene."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Usd

from tensorphys_scene import Scene
from tensorphys_usd import parse_stage


def _scene(length: float, mass: float) -> Scene:
    """A slider with a drive on a hinge, in units of so many metres and kilograms."""

    def metres(value: float) -> float:
        return value / length

    def force(value: float) -> float:  # [kg m/s²]
        return value / (mass * length)

    def torque(value: float) -> float:  # [kg m²/s²]
        return value / (mass * length * length)

    text = f"""#usda 1.0
(
    upAxis = "Z"
    metersPerUnit = {length!r}
    kilogramsPerUnit = {mass!r}
)
def PhysicsScene "Scene" {{}}
def Xform "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsArticulationRootAPI", "PhysxRigidBodyAPI"]) {{
    def Cube "Geometry" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{ double size = {metres(0.5)!r}; }}
}}
def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {{
    double3 xformOp:translate = ({metres(1.0)!r}, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    vector3f physics:velocity = ({metres(2.0)!r}, 0, 0)
    vector3f physics:angularVelocity = (90, 0, 0)
    def Cone "Geometry" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
        double radius = {metres(0.25)!r}
        double height = {metres(0.75)!r}
    }}
}}
def Xform "C" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
    double3 xformOp:translate = ({metres(2.0)!r}, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    float physics:mass = {3.0 / mass!r}
}}
def PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"]) {{
    rel physics:body0 = </A>
    rel physics:body1 = </B>
    point3f physics:localPos0 = ({metres(1.0)!r}, 0, 0)
    float physics:upperLimit = 60
    float drive:angular:physics:stiffness = {torque(4.0)!r}
    float drive:angular:physics:maxForce = {torque(8.0)!r}
    float physxJoint:maxJointVelocity = 90
}}
def PhysicsPrismaticJoint "slide" (prepend apiSchemas = ["PhysicsDriveAPI:linear"]) {{
    rel physics:body0 = </B>
    rel physics:body1 = </C>
    point3f physics:localPos0 = ({metres(1.0)!r}, 0, 0)
    float physics:upperLimit = {metres(0.5)!r}
    float drive:linear:physics:stiffness = {4.0 / mass!r}
    float drive:linear:physics:maxForce = {force(8.0)!r}
    float physxJoint:maxJointVelocity = {metres(0.5)!r}
}}
"""
    stage = Usd.Stage.CreateInMemory()
    assert stage.GetRootLayer().ImportFromString(
        text.replace("{ double size", "{\ndouble size").replace("; }", "\n}")
    )
    return parse_stage(stage)


_UNITS: dict[str, Callable[[float, float], float]] = {
    "bodies.mass": lambda length, mass: mass,
    "bodies.inertia": lambda length, mass: mass * length**2,
    "bodies.com": lambda length, mass: length,
    "bodies.linear_velocity": lambda length, mass: length,
    "bodies.angular_velocity": lambda length, mass: 1.0,
    "bodies.max_depenetration_velocity": lambda length, mass: length,
    "bodies.max_angular_velocity": lambda length, mass: 1.0,
    "shapes.size": lambda length, mass: length,
}


@pytest.mark.parametrize(("length", "mass"), [(0.01, 1.0), (1.0, 0.001), (0.01, 0.001), (0.0254, 0.45359237)])
def test_units_do_not_change_a_scene(length: float, mass: float) -> None:
    si, other = _scene(1.0, 1.0), _scene(length, mass)
    np.testing.assert_allclose(np.array(other.settings.gravity) * length, si.settings.gravity)
    one, two = si.templates[0], other.templates[0]
    for name, unit in _UNITS.items():
        table, column = name.split(".")
        values = getattr(getattr(two, table), column) * unit(length, mass)
        np.testing.assert_allclose(
            values, getattr(getattr(one, table), column), rtol=1e-5, atol=1e-9, err_msg=name
        )
    for table, columns in (("bodies", ("pose",)), ("joints", ("frame0", "frame1"))):
        for column in columns:
            a, b = getattr(getattr(one, table), column), getattr(getattr(two, table), column)
            np.testing.assert_allclose(b[:, :3] * length, a[:, :3], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(b[:, 3:], a[:, 3:], atol=1e-9)
    angle, distance = one.axes, two.axes
    hinge, slide = (mass * length**2, 1.0), (mass, length)
    for row, (effort, unit) in enumerate((hinge, slide)):
        assert distance.stiffness[row] * effort == pytest.approx(angle.stiffness[row], rel=1e-5)
        assert distance.max_force[row] * effort * (unit if row else 1.0) == pytest.approx(
            angle.max_force[row], rel=1e-5
        )
        assert distance.upper[row] * unit == pytest.approx(angle.upper[row], rel=1e-5)
        assert distance.max_velocity[row] * unit == pytest.approx(angle.max_velocity[row], rel=1e-5)
    np.testing.assert_array_equal(one.filtered_pairs, two.filtered_pairs)
    assert [text for _, text in si.findings] == [text for _, text in other.findings]
