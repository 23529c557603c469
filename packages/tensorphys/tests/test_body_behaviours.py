"""Single bodies, and what ends a simulation view, as the known suite has them [behaviours 62, 69 to 73, 113 to 115]."""

import gc
import math
import warnings
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Sdf, UsdPhysics

import tensorphys

COUNT = 16
RADIUS = 0.15
MASS = 1000 * 4 / 3 * math.pi * RADIUS**3  # of the default density


@pytest.fixture
def balls(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    """A ball in each environment, no gravity."""
    stage = stages.Author.new(gravity=0.0)
    stage.environments(COUNT, lambda path, _: stage.body(f"{path}/ball", (0, 0, 1), radius=0.2))
    sim = stages.view(arrays, stage, environments="/envs/*")
    return SimpleNamespace(
        sim=sim, view=sim.create_rigid_body_view("/envs/*/ball"), arrays=arrays, dt=stages.DT
    )


def test_a_view_of_a_ball_in_each_environment(balls: SimpleNamespace) -> None:
    """Behaviour 62."""
    assert isinstance(balls.view, tensorphys.RigidBodyView)
    assert (balls.view.count, balls.view.max_shapes) == (COUNT, 1)
    assert balls.view.prim_paths == [f"/envs/env{k}/ball" for k in range(COUNT)]
    assert balls.view._backend is not None
    assert balls.view.check()


def test_transforms_over_a_step(balls: SimpleNamespace) -> None:
    """Behaviour 69."""
    host, make = balls.arrays.host, balls.arrays.make
    wanted = host(balls.view.get_transforms())
    wanted[:, 2] = np.linspace(0.5, 2.0, COUNT)
    balls.view.set_transforms(make(wanted), None)
    balls.sim.step(balls.dt)
    np.testing.assert_allclose(host(balls.view.get_transforms()), wanted, rtol=1e-6, atol=1e-6)


def test_velocities_over_ten_steps(balls: SimpleNamespace) -> None:
    """Behaviour 70."""
    host, make = balls.arrays.host, balls.arrays.make
    start = host(balls.view.get_transforms())
    wanted = np.zeros((COUNT, 6), np.float32)
    wanted[:, 2] = np.linspace(-1, 1, COUNT)
    balls.view.set_velocities(make(wanted), None)
    for _ in range(10):
        balls.sim.step(balls.dt)
    np.testing.assert_allclose(host(balls.view.get_velocities()), wanted, rtol=1e-6, atol=1e-7)
    moved = host(balls.view.get_transforms()) - start
    np.testing.assert_allclose(moved[:, 2], 10 * balls.dt * wanted[:, 2], atol=1e-5)


@pytest.mark.parametrize("is_global", [True, False])
def test_a_kick_of_one_step(stages: SimpleNamespace, arrays: Any, is_global: bool) -> None:
    """Behaviour 72: 4000 N upwards for a step, in the world or along −X of a ball pitched by 90°."""
    stage = stages.Author.new()
    prim = stage.xform("/World/ball", (0, 0, 0.5))
    UsdPhysics.RigidBodyAPI.Apply(prim)
    stage.collider("/World/ball/shape", "sphere", RADIUS)
    sim = stages.view(arrays, stage)
    view, host = sim.create_rigid_body_view("/World/ball"), arrays.host
    np.testing.assert_allclose(host(view.get_masses()), [[MASS]], rtol=1e-5)
    pose = host(view.get_transforms())
    pose[0, 3:] = [0, math.sqrt(0.5), 0, math.sqrt(0.5)]
    view.set_transforms(arrays.make(pose), None)
    view.apply_forces(arrays.make([[0, 0, 4000] if is_global else [-4000, 0, 0]]), None, is_global)
    heights = []
    for _ in range(60):
        sim.step(stages.DT)
        heights.append(float(host(view.get_transforms())[0, 2]))
    time = stages.DT * np.arange(1, 61)
    kick = 4000 / MASS * stages.DT
    expected = 0.5 + kick * (time - 0.5 * stages.DT) - 0.5 * 9.81 * time**2
    np.testing.assert_allclose(heights, expected, atol=1e-4)
    assert heights[0] > 0.5
    assert heights[26] > 1.5


@pytest.mark.parametrize("is_global", [True, False])
def test_ants_pushed_through_both_kinds_of_views(
    stages: SimpleNamespace, arrays: Any, is_global: bool
) -> None:
    """Behaviour 73: 100 N a metre beside the torso, through a view of the articulation or of four patterns of links."""
    stage = stages.Author.new(gravity=0.0)
    stage.environments(2, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 1)), spacing=8.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    sim.set_subspace_roots("/envs/*")
    view, host = sim.create_articulation_view("/envs/*/ant/torso"), arrays.host
    patterns = [f"/envs/env1/ant/{name}" for name in ("torso", "front_left_*", "*_back_*", "front_right_*")]
    links = sim.create_rigid_body_view(patterns)
    assert links.count == 9
    torso = links.prim_paths.index("/envs/env1/ant/torso")
    force, at = np.zeros((2, 9, 3), np.float32), np.zeros((2, 9, 3), np.float32)
    force[0, 0], at[0, 0] = [0, 0, 100], [1, 0, 0]
    start = host(view.get_root_transforms())
    for _ in range(9):
        places = host(view.get_link_transforms())[..., :3] if is_global else 0.0
        # positions of forces are those of the world, and the view reads those of its environment
        away = np.array([[0, 0, 0], [8, 0, 0]], np.float32)[:, None] if is_global else 0.0
        where = at + places + away
        view.apply_forces_and_torques_at_position(
            arrays.make(force), None, arrays.make(where), arrays.rows([0]), is_global
        )
        body_force, body_at = np.zeros((9, 3), np.float32), np.zeros((9, 3), np.float32)
        body_force[torso] = force[0, 0]
        body_at[torso] = at[0, 0] + (places[1, 0] + away[1, 0] if is_global else 0.0)
        links.apply_forces_and_torques_at_position(
            arrays.make(body_force), None, arrays.make(body_at), None, is_global
        )
        sim.step(stages.DT)
    poses = host(view.get_root_transforms())
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-4)
    assert poses[0, 2] - start[0, 2] > 0.1
    assert abs(poses[0, 4]) > 0.05  # it pitches


@pytest.mark.parametrize("gone", ["/envs/env1/ball", "/envs/env1", "/envs/env1/ball/collider"])
@pytest.mark.parametrize("how", ["deactivated", "removed"])
def test_a_prim_that_leaves_the_stage_ends_the_views(stages: SimpleNamespace, gone: str, how: str) -> None:
    """Behaviour 113: the whole simulation view ends at once."""
    stage = stages.Author.new()
    stage.environments(3, lambda path, _: stage.body(f"{path}/ball", (0, 0, 5), radius=0.1))
    stage.xform("/World/looks")
    sim = stages.view("numpy", stage)
    view = sim.create_rigid_body_view("/envs/*/ball")
    sim.step(stages.DT)
    sim.step(stages.DT)
    stage.stage.GetPrimAtPath("/World/looks").SetActive(False)  # nobody simulates it
    stage.body("/World/later")
    assert sim.is_valid
    if how == "removed":
        assert stage.stage.RemovePrim(gone)
    else:
        stage.stage.GetPrimAtPath(gone).SetActive(False)
    assert not sim.is_valid
    assert not view.check()
    with pytest.raises(tensorphys.InvalidViewError):
        view.get_transforms()
    assert view.prim_paths == [f"/envs/env{k}/ball" for k in range(3)]


def test_a_joint_that_leaves_the_stage_ends_the_views(stages: SimpleNamespace) -> None:
    stage = stages.Author.new()
    stage.cart_pole("/World/cartpole")
    sim = stages.view("numpy", stage)
    stage.stage.GetPrimAtPath("/World/cartpole/poleJoint").SetActive(False)
    assert not sim.is_valid


def test_prims_may_leave_after_the_views_have_ended(
    stages: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """Behaviour 114: neither a warning nor an error."""
    stage = stages.Author.new()
    stage.body("/World/ball", radius=0.1)
    stage.body("/World/other", (2, 0, 0), radius=0.1)
    sim = stages.view("numpy", stage)
    view = sim.create_rigid_body_view("/World/ball")
    sim.step(stages.DT)
    sim.invalidate()
    assert not sim.is_valid
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stage.stage.RemovePrim("/World/ball")
    assert not caplog.records
    assert view.prim_paths == ["/World/ball"]
    # a stage does not keep a simulation alive that nobody uses
    known = weakref.ref(sim)
    del sim, view
    gc.collect()
    assert known() is None
    assert stage.stage.RemovePrim("/World/other")


def test_limits_for_a_joint_of_three_free_rotations(
    stages: SimpleNamespace, arrays: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Behaviour 115: limits of free axes are left out with a warning, nothing is raised."""
    stage = stages.Author.new()
    stage.xform("/World/arm")
    stage.articulation("/World/arm")
    stage.body("/World/arm/base")
    stage.body("/World/arm/link", (0.5, 0, 0))
    stage.joint("/World/arm/tie", "fixed", None, "/World/arm/base")
    joint = UsdPhysics.Joint.Define(stage.stage, "/World/arm/ball")
    joint.CreateBody0Rel().SetTargets([Sdf.Path("/World/arm/base")])
    joint.CreateBody1Rel().SetTargets([Sdf.Path("/World/arm/link")])
    joint.CreateLocalPos1Attr((-0.5, 0, 0))
    for axis in "XYZ":
        limit = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), f"trans{axis}")
        limit.CreateLowAttr(1.0)
        limit.CreateHighAttr(-1.0)
    view = stages.view(arrays, stage).create_articulation_view("/World/arm")
    before = arrays.host(view.get_dof_limits())
    largest = np.finfo(np.float32).max
    np.testing.assert_array_equal(before, np.tile([-largest, largest], (1, 3, 1)))
    view.set_dof_limits(arrays.cpu.make(np.tile([-1.0, 1.0], (1, 3, 1))), None)
    assert "3 degrees of freedom have no limits" in caplog.text
    np.testing.assert_array_equal(arrays.host(view.get_dof_limits()), before)


def test_envelopes_stay_on_joints_that_have_one(
    stages: SimpleNamespace, arrays: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Behaviour 4: values of a joint without the schema are left out with a warning."""
    stage = stages.Author.new()
    stage.cart_pole("/World/cartpole")
    prim = stage.stage.GetPrimAtPath("/World/cartpole/cartJoint")
    prim.AddAppliedSchema("PhysxDrivePerformanceEnvelopeAPI:linear")
    name = "physxDrivePerformanceEnvelope:linear:maxActuatorVelocity"
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(3.0)
    view = stages.view(arrays, stage).create_articulation_view("/World/cartpole")
    before = arrays.host(view.get_dof_drive_model_properties())
    assert before[0, 0, 1] == 3.0
    wanted = np.full((1, 2, 3), 0.5, np.float32)
    view.set_dof_drive_model_properties(arrays.cpu.make(wanted), arrays.cpu.rows([0]))
    expected = before.copy()
    expected[0, 0] = 0.5
    np.testing.assert_array_equal(arrays.host(view.get_dof_drive_model_properties()), expected)
    assert "envelope" in caplog.text
