"""Mimic joints of both schemas, closed loops and joints without an articulation, from a stage to the views."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdPhysics


def sliders(stage: Any, path: str) -> list[Any]:
    """A fixed base and two bodies that slide along Y; returns the joints."""
    stage.xform(path)
    stage.articulation(path)
    stage.body(f"{path}/base", (0, 0, 2), mass=5.0)
    stage.joint(f"{path}/root", "fixed", None, f"{path}/base", at0=(0, 0, 2))
    joints = []
    for k in range(2):
        stage.body(f"{path}/body{k}", (k, 0, 2))
        joints.append(
            stage.joint(
                f"{path}/j{k}", "prismatic", f"{path}/base", f"{path}/body{k}", axis="Y", at0=(k, 0, 0)
            )
        )
    return joints


def physx_mimic(joint: Any, reference: Any) -> None:
    joint.AddAppliedSchema("PhysxMimicJointAPI:rotX")
    joint.CreateRelationship("physxMimicJoint:rotX:referenceJoint").SetTargets([reference.GetPath()])
    joint.CreateAttribute("physxMimicJoint:rotX:gearing", Sdf.ValueTypeNames.Float).Set(2.0)
    joint.CreateAttribute("physxMimicJoint:rotX:offset", Sdf.ValueTypeNames.Float).Set(-0.1)


def newton_mimic(joint: Any, reference: Any) -> None:
    """The other sign convention: q = coefficient 0 + coefficient 1 · q of the reference."""
    joint.AddAppliedSchema("NewtonMimicAPI")
    joint.CreateRelationship("newton:mimicJoint").SetTargets([reference.GetPath()])
    joint.CreateAttribute("newton:mimicCoef0", Sdf.ValueTypeNames.Float).Set(0.1)
    joint.CreateAttribute("newton:mimicCoef1", Sdf.ValueTypeNames.Float).Set(-2.0)


@pytest.mark.parametrize("author", [physx_mimic, newton_mimic])
def test_mimic_joints_of_both_schemas_follow(stages: SimpleNamespace, author: Any) -> None:
    stage = stages.Author.new()
    follower, reference = sliders(stage, "/World/robot")
    author(follower, reference)
    sim = stages.view("numpy", stage)
    view = sim.create_articulation_view("/World/robot")
    view.set_dof_positions(np.array([[0.1, 0.0]], np.float32), None)
    view.set_dof_actuation_forces(np.array([[0.0, 3.0]], np.float32), None)
    for _ in range(60):
        sim.step(1.0 / 60.0)
    q = view.get_dof_positions()[0]
    assert q[0] + 2.0 * q[1] - 0.1 == pytest.approx(0.0, abs=1e-6)
    assert q[1] == pytest.approx(0.5 * 3.0 / 5.0, rel=1e-4)


def test_an_excluded_joint_closes_a_loop(stages: SimpleNamespace) -> None:
    """Two cranks and a coupler: the loop joint is no degree of freedom, and holds."""
    stage = stages.Author.new()
    stage.xform("/World/bar")
    stage.articulation("/World/bar")
    stage.body("/World/bar/frame", (0, 0, 2))
    stage.joint("/World/bar/root", "fixed", None, "/World/bar/frame", at0=(0, 0, 2))
    inertia = (0.02, 0.02, 0.001)
    for name, x in (("a", 0.0), ("b", 1.0)):
        stage.body(f"/World/bar/{name}", (x, 0, 2), com=(0, 0, -0.25), inertia=inertia)
        stage.joint(
            f"/World/bar/hinge_{name}",
            "revolute",
            "/World/bar/frame",
            f"/World/bar/{name}",
            axis="Y",
            at0=(x, 0, 0),
        )
    stage.body("/World/bar/coupler", (0, 0, 1.5), com=(0.5, 0, 0), inertia=(0.001, 0.08, 0.08))
    stage.joint(
        "/World/bar/hinge_c", "revolute", "/World/bar/a", "/World/bar/coupler", axis="Y", at0=(0, 0, -0.5)
    )
    loop = stage.joint(
        "/World/bar/loop", "revolute", "/World/bar/b", "/World/bar/coupler",
        axis="Y", at0=(0, 0, -0.5), at1=(1, 0, 0),
    )  # fmt: skip
    UsdPhysics.Joint(loop).CreateExcludeFromArticulationAttr(True)
    sim = stages.view("numpy", stage)
    view = sim.create_articulation_view("/World/bar")
    assert (view.max_links, view.max_dofs) == (4, 3)
    names = view.shared_metatype.dof_names
    place = {name: names.index(name) for name in ("hinge_a", "hinge_b", "hinge_c")}
    start = np.zeros((1, 3), np.float32)
    for name, value in (("hinge_a", 0.4), ("hinge_b", 0.4), ("hinge_c", -0.4)):
        start[0, place[name]] = value
    view.set_dof_positions(start, None)
    least = 0.4
    for _ in range(60):
        sim.step(1.0 / 60.0)
        q = view.get_dof_positions()[0]
        assert q[place["hinge_a"]] == pytest.approx(q[place["hinge_b"]], abs=1e-5)
        assert q[place["hinge_a"]] == pytest.approx(-q[place["hinge_c"]], abs=1e-5)
        least = min(least, float(q[place["hinge_a"]]))
    assert least < -0.35


def test_bodies_on_joints_without_an_articulation(stages: SimpleNamespace) -> None:
    """Two bodies hang on a spherical and a fixed joint; each is a rigid body of its own."""
    stage = stages.Author.new()
    stage.body("/World/upper", (0, 0, 2), com=(0, 0, 0))
    stage.body("/World/lower", (0, 0.5, 2))
    ball = UsdPhysics.SphericalJoint.Define(stage.stage, "/World/ball")
    ball.CreateBody1Rel().SetTargets([Sdf.Path("/World/upper")])
    ball.CreateLocalPos0Attr(Gf.Vec3f(0, -0.5, 2))
    ball.CreateLocalPos1Attr(Gf.Vec3f(0, -0.5, 0))
    stage.joint("/World/weld", "fixed", "/World/upper", "/World/lower", at0=(0, 0.5, 0))
    sim = stages.view("numpy", stage)
    view = sim.create_rigid_body_view(["/World/upper", "/World/lower"])
    for _ in range(30):
        sim.step(1.0 / 60.0)
    upper, lower = (np.asarray(row, float) for row in view.get_transforms())
    np.testing.assert_allclose(upper[3:], lower[3:], atol=1e-5)
    arm = upper[:3] - [0, -0.5, 2]
    np.testing.assert_allclose(lower[:3] - upper[:3], arm, atol=1e-4)
    assert np.linalg.norm(arm) == pytest.approx(0.5, abs=1e-5)
    # 2 masses of 1 kg at 0.5 and 1 m, inertia 0.1 each about their centres: sagged by more than half
    assert upper[2] < 1.8
