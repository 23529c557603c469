"""Sleep and breaking joints of a stage, through the views."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdPhysics

import tensorphys_engine

G = 9.81


def run(sim: Any, count: int, dt: float) -> None:
    for _ in range(count):
        sim.step(dt)


def asleep(arrays: Any, view: Any) -> list[int]:
    return arrays.host(view.get_sleep_states())[:, 0].tolist()


def stacked(stages: SimpleNamespace, *, api: bool = True) -> Any:
    """Two cubes on each other and a third beside them; the vendor's schema brings its default threshold."""
    stage = stages.Author.new()
    stage.ground()
    for name, x, z in (("low", 0, 0.15), ("high", 0, 0.45), ("apart", 2, 0.15)):
        stage.solid(f"/World/{name}", (x, 0, z), "cube", 0.3)
        if api:
            stage.stage.GetPrimAtPath(f"/World/{name}").AddAppliedSchema("PhysxRigidBodyAPI")
    return stage


def test_bodies_sleep_as_the_stage_says_and_wake_by_the_view(stages: SimpleNamespace, arrays: Any) -> None:
    sim = stages.view(arrays, stacked(stages))
    view = sim.create_rigid_body_view(["/World/low", "/World/high", "/World/apart"])
    contact = sim.create_rigid_contact_view(["/World/low", "/World/high", "/World/apart"])
    assert asleep(arrays, view) == [0, 0, 0]
    run(sim, 60, stages.DT)
    assert asleep(arrays, view) == [1, 1, 1]
    pose = arrays.host(view.get_transforms()).copy()
    run(sim, 60, stages.DT)
    np.testing.assert_array_equal(arrays.host(view.get_transforms()), pose)
    assert not arrays.host(view.get_velocities()).any()
    np.testing.assert_allclose(arrays.host(contact.get_net_contact_forces(stages.DT))[:, 2], G, rtol=1e-3)
    view.wake_up(arrays.cpu.rows([1]))
    assert asleep(arrays, view) == [1, 0, 1]
    sim.step(stages.DT)
    assert asleep(arrays, view) == [0, 0, 1]
    view.put_to_sleep()
    assert asleep(arrays, view) == [1, 1, 1]
    sim.step(stages.DT)
    force = np.zeros((3, 3), np.float32)
    force[2, 0] = 1.0
    view.apply_forces(arrays.make(force), arrays.rows([2]))
    sim.step(stages.DT)
    assert asleep(arrays, view) == [1, 1, 0]
    view.set_masses(arrays.cpu.make([[2.0]] * 3), arrays.cpu.rows([0]))
    assert asleep(arrays, view) == [0, 1, 0]
    run(sim, 60, stages.DT)
    assert asleep(arrays, view) == [1, 1, 1]
    np.testing.assert_allclose(
        arrays.host(contact.get_net_contact_forces(stages.DT))[:, 2], [2 * G, G, G], rtol=1e-3
    )
    target = pose.copy()
    target[2, 0] += 1.0
    view.set_transforms(arrays.make(target), arrays.rows([2]))
    sim.step(stages.DT)
    assert asleep(arrays, view) == [1, 1, 0]


def test_nothing_sleeps_without_a_schema_that_says_so(stages: SimpleNamespace) -> None:
    sim = stages.view("numpy", stacked(stages, api=False))
    view = sim.create_rigid_body_view("/World/low")
    run(sim, 60, stages.DT)
    assert not view.get_sleep_states().any()
    view.wake_up()
    with pytest.raises(tensorphys_engine.StepError, match="sleeping=True"):
        view.put_to_sleep()
    sim = stages.view("numpy", stacked(stages, api=False), sleeping=True)
    view = sim.create_rigid_body_view("/World/low")
    run(sim, 60, stages.DT)
    assert not view.get_sleep_states().any()
    view.put_to_sleep()
    sim.step(stages.DT)
    assert not view.get_sleep_states().any()  # what lies on it is awake


def test_a_scene_may_disable_sleep(stages: SimpleNamespace) -> None:
    stage = stacked(stages)
    scene = next(prim for prim in stage.stage.Traverse() if prim.IsA(UsdPhysics.Scene))
    scene.AddAppliedSchema("PhysxSceneAPI")
    scene.CreateAttribute("physxScene:disableSleeping", Sdf.ValueTypeNames.Bool).Set(True)
    sim = stages.view("numpy", stage)
    run(sim, 60, stages.DT)
    assert not sim.create_rigid_body_view("/World/low").get_sleep_states().any()


def test_joints_of_a_stage_break_by_name(stages: SimpleNamespace, arrays: Any) -> None:
    """A lamp of 3 kg on two hooks, one that bears it and one that does not."""
    stage = stages.Author.new()
    for name, x, bound in (("held", 0.0, 3.0 * G * 1.001), ("falls", 2.0, 3.0 * G * 0.999)):
        stage.solid(f"/World/{name}", (x, 0, 2), "cube", 0.2, mass=3.0)
        joint = UsdPhysics.FixedJoint.Define(stage.stage, f"/World/{name}/hook")
        joint.CreateBody1Rel().SetTargets([f"/World/{name}"])
        joint.CreateLocalPos0Attr(Gf.Vec3f(x, 0, 2))
        joint.CreateBreakForceAttr(bound)
    sim = stages.view(arrays, stage)
    assert sim.get_joint_breaks() == []
    run(sim, 5, stages.DT)
    events = sim.get_joint_breaks()
    assert [event.path for event in events] == ["/World/falls/hook"]
    assert events[0].force[2] == pytest.approx(3.0 * G, rel=1e-3)
    run(sim, 55, stages.DT)
    assert sim.get_joint_breaks() == []
    height = arrays.host(sim.create_rigid_body_view(["/World/held", "/World/falls"]).get_transforms())[:, 2]
    assert height[0] == pytest.approx(2.0, abs=1e-4)
    assert height[1] < -2.0
