"""Joints outside of trees, gears, mimic joints and tendons, from the tables of a scene."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tensorphys_engine import Simulation, UnsupportedWarning
from tensorphys_engine.testing import walker_scene
from tensorphys_scene import (
    Articulations,
    Axes,
    AxisType,
    Bodies,
    FixedTendonAxes,
    FixedTendons,
    JointCouplings,
    Joints,
    JointType,
    Links,
    MimicJoints,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    SpatialTendons,
    Template,
    TendonAttachments,
    replicate,
)
from tensorphys_spatial import transform_point

UNIT = [0.0, 0.0, 0.0, 1.0]


def table(kind: Any, **columns: Any) -> Any:
    return kind(**columns)


def chain_scene(count: int, environments: int = 1, **joints: Any) -> Scene:
    """Overlapping boxes on hinges about Y, one after the other from the world, lying along X; no articulation."""
    names = [f"/box_{k}" for k in range(count)]
    rows = tuple(f"/joint_{k}" for k in range(count))
    template = Template(
        prims=("", *names),
        bodies=table(
            Bodies,
            path=tuple(names),
            mass=[1.0] * count,
            inertia=[np.eye(3) * 0.01] * count,
            pose=[[0.2 * k + 0.1, 0, 3, *UNIT] for k in range(count)],
        ),
        shapes=table(
            Shapes,
            path=tuple(f"{name}/geometry" for name in names),
            body=np.arange(count),
            type=[int(ShapeType.BOX)] * count,
            size=[[0.12, 0.05, 0.05]] * count,
        ),
        joints=table(
            Joints,
            path=rows,
            type=[int(JointType.REVOLUTE)] * count,
            body0=np.arange(-1, count - 1),
            body1=np.arange(count),
            frame0=[[0, 0, 3, *UNIT]] + [[0.1, 0, 0, *UNIT]] * (count - 1),
            frame1=[[-0.1, 0, 0, *UNIT]] * count,
            **joints,
        ),
        axes=table(Axes, path=rows, joint=np.arange(count), axis=[int(AxisType.ROT_Y)] * count, names=rows),
    )
    scene = Scene(templates=(template,), settings=Settings(steps_per_second=240.0))
    return replicate(scene, environments, spacing=2.0)


def test_bodies_on_joints_swing_without_colliding_and_without_coming_apart() -> None:
    simulation = Simulation(chain_scene(3, 2))
    assert simulation.solver.path == "generic"
    assert simulation.findings == ()
    assert simulation.contact_model.pair_shape0.shape[0] == 2
    for _ in range(120):
        simulation.step()
    pose = simulation.state.link_pose.numpy().reshape(2, 3, 7)
    np.testing.assert_array_equal(pose[0], pose[1])
    angle = 2 * np.arctan2(pose[0, :, 4], pose[0, :, 6])
    arm = 0.1 * np.stack((np.cos(angle), 0 * angle, -np.sin(angle)), axis=-1)
    np.testing.assert_allclose(pose[0, 0, :3] - arm[0], [0, 0, 3], atol=1e-5)
    np.testing.assert_allclose(pose[0, 1:, :3] - arm[1:], pose[0, :-1, :3] + arm[:-1], atol=1e-5)
    assert pose[0, 2, 2] < 2.8
    colliding = Simulation(chain_scene(3, collision_enabled=[True] * 3))
    assert colliding.contact_model.pair_shape0.shape[0] == 3


def test_an_initial_state_that_bodies_do_not_have_is_a_finding() -> None:
    chain = chain_scene(2)
    template = chain.templates[0]

    def found(**axes: Any) -> list[str]:
        changed = template.replace(axes=template.axes.replace(**axes))
        findings = Simulation(chain.replace(templates=(changed,))).findings
        return [
            path for path, text in findings if "initial state of a joint outside of an articulation" in text
        ]

    assert found() == []
    assert found(position=np.array([0.0, 0.3])) == ["/World/envs/env_0/joint_1"]
    assert found(velocity=np.array([1.0, 0.0])) == ["/World/envs/env_0/joint_0"]
    # what the bodies show is no contradiction
    half = 0.15
    turned = template.bodies.pose.copy()
    turned[1] = [0.2 + 0.1 * math.cos(0.3), 0, 3 - 0.1 * math.sin(0.3), 0, math.sin(half), 0, math.cos(half)]
    template = template.replace(bodies=template.bodies.replace(pose=turned))
    assert found(position=np.array([0.0, 0.3])) == []


def test_a_joint_on_a_disabled_body_is_one_on_the_world() -> None:
    scene = chain_scene(2)
    template = scene.templates[0]
    joints = template.joints.replace(enabled=[False, True])
    changed = template.replace(bodies=template.bodies.replace(enabled=[False, True]), joints=joints)
    simulation = Simulation(scene.replace(templates=(changed,)))
    for _ in range(60):
        simulation.step()
    pose = simulation.state.link_pose.numpy()[0]
    angle = 2 * np.arctan2(pose[4], pose[6])
    arm = 0.1 * np.array([np.cos(angle), 0.0, -np.sin(angle)])
    np.testing.assert_allclose(pose[:3] - arm, [0.2, 0, 3], atol=1e-5)
    assert angle > 0.2


def test_a_joint_of_two_bodies_breaks_at_its_bound_and_stays_broken_over_a_saved_state() -> None:
    simulation = Simulation(chain_scene(2, break_force=[np.inf, 0.5]))
    simulation.step()
    saved = simulation.save_state()
    for _ in range(9):
        simulation.step()
    assert simulation.joints.model.joint_broken.numpy().tolist() == [0, 1]
    fallen = simulation.state.link_pose.numpy().copy()
    simulation.load_state(saved)
    for _ in range(9):
        simulation.step()
    np.testing.assert_array_equal(simulation.state.link_pose.numpy(), fallen)
    simulation.reset()
    assert not simulation.joints.model.joint_broken.numpy().any()


def test_a_reset_simulation_equals_a_fresh_one() -> None:
    simulation = Simulation(chain_scene(4))
    for _ in range(10):
        simulation.step()
    expected = simulation.state.link_pose.numpy().copy()
    simulation.reset()
    for _ in range(10):
        simulation.step()
    np.testing.assert_array_equal(simulation.state.link_pose.numpy(), expected)


def coupled_scene(**tables: Any) -> Scene:
    """The walker with further tables; its hips are axes 0 and 1, its knees 2 and 3."""
    scene = walker_scene(2, spacing=3.0)
    return scene.replace(templates=(scene.templates[0].replace(**tables),))


def test_mimic_joints_follow_in_every_environment() -> None:
    mimic = MimicJoints(
        path=("/walker/joints/left_knee",),
        axis=np.array([2]),
        reference=np.array([3]),
        gearing=np.array([-1.0]),
        offset=np.array([0.1]),
    )
    simulation = Simulation(coupled_scene(mimic_joints=mimic))
    assert simulation.findings == Simulation(coupled_scene()).findings
    for _ in range(60):
        simulation.step()
    q = simulation.state.dof_position.numpy().reshape(2, 4)
    np.testing.assert_allclose(q[:, 2] - q[:, 3] + 0.1, 0.0, atol=1e-5)


def test_a_mimic_joint_over_two_trees_is_left_out_with_a_warning() -> None:
    chain = chain_scene(2)
    mimic = MimicJoints(path=("/joint_0",), axis=np.array([0]), reference=np.array([1]))
    with pytest.warns(UnsupportedWarning, match="mimic joints between joints of no common articulation"):
        simulation = Simulation(chain.replace(templates=(chain.templates[0].replace(mimic_joints=mimic),)))
    assert simulation.joints.model.mimic_count == 0


def test_fixed_tendons_pull_in_every_environment() -> None:
    tendon = FixedTendons(
        path=("/walker/joints/left_hip",), stiffness=np.array([1e4]), damping=np.array([100.0]), names=("t",)
    )
    axes = FixedTendonAxes(
        path=("/walker/joints/left_hip", "/walker/joints/right_hip"),
        tendon=np.array([0, 0]),
        axis=np.array([0, 1]),
        gearing=np.array([1.0, -1.0]),
        force_coefficient=np.array([1.0, -1.0]),
    )
    simulation = Simulation(coupled_scene(fixed_tendons=tendon, fixed_tendon_axes=axes))
    for _ in range(240):
        simulation.step()
    q = simulation.state.dof_position.numpy().reshape(2, 4)
    free = Simulation(coupled_scene())
    for _ in range(240):
        free.step()
    apart = abs(free.state.dof_position.numpy()[0] - free.state.dof_position.numpy()[1])
    assert np.abs(q[:, 0] - q[:, 1]).max() < 0.1 * apart
    assert simulation.joints.model.fixed_tendon_count == 2


def test_a_spatial_tendon_without_rest_length_rests_where_it_starts() -> None:
    tendon = SpatialTendons(path=("/walker/torso",), stiffness=np.array([500.0]), names=("t",))
    attachments = TendonAttachments(
        path=("/walker/torso", "/walker/left_thigh", "/walker/left_shin"),
        tendon=np.zeros(3, int),
        body=np.array([0, 1, 3]),
        parent=np.array([-1, 0, 1]),
        position=np.array([[0.1, 0.1, 0], [0.1, 0, 0], [0.1, 0, 0]]),
        leaf=np.array([False, False, True]),
        names=("a", "b", "c"),
    )
    simulation = Simulation(coupled_scene(spatial_tendons=tendon, tendon_attachments=attachments))
    pose = simulation.state.link_pose.numpy().astype(float)
    points = transform_point(pose[[0, 1, 3]], attachments.position)
    length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    np.testing.assert_allclose(simulation.joints.model.leaf_rest_length.numpy(), [length] * 2, rtol=1e-6)
    free = Simulation(coupled_scene())
    for s in (simulation, free):
        for _ in range(60):
            s.step()
    knees = [s.state.dof_position.numpy()[2] for s in (simulation, free)]
    assert abs(knees[0] - knees[1]) > 1e-3


def gear_scene(kind: JointType, ratio: float) -> Scene:
    """Two wheels, or a wheel and a rack, on joints to the world, and what couples them."""
    rack = kind == JointType.RACK_AND_PINION
    template = Template(
        bodies=table(
            Bodies,
            path=("/a", "/b"),
            mass=[1.0, 1.0],
            inertia=[np.eye(3) * 0.1] * 2,
            pose=[[0, 0, 1, *UNIT], [1, 0, 1, *UNIT]],
            disable_gravity=[True, True],
            angular_velocity=[[0, 0, 3.0], [0, 0, 0]],
        ),
        joints=table(
            Joints,
            path=("/ja", "/jb", "/gear"),
            type=[
                int(JointType.REVOLUTE),
                int(JointType.PRISMATIC if rack else JointType.REVOLUTE),
                int(kind),
            ],
            body0=[-1, -1, 0],
            body1=[0, 1, 1],
            frame0=[[0, 0, 1, *UNIT], [1, 0, 1, *UNIT], [0, 0, 0, *UNIT]],
        ),
        axes=table(
            Axes,
            path=("/ja", "/jb"),
            joint=[0, 1],
            axis=[int(AxisType.ROT_Z), int(AxisType.TRANS_X if rack else AxisType.ROT_Z)],
            names=("a", "b"),
        ),
        joint_couplings=table(
            JointCouplings, path=("/gear",), joint=[2], joint0=[0], joint1=[1], ratio=[ratio]
        ),
    )
    return Scene(templates=(template,), settings=Settings(steps_per_second=240.0))


def test_gears_turn_against_each_other_and_racks_move_along() -> None:
    simulation = Simulation(gear_scene(JointType.GEAR, 2.0))
    for _ in range(480):
        simulation.step()
    velocity = simulation.state.link_velocity.numpy()
    assert velocity[1, 5] == pytest.approx(-2.0 * velocity[0, 5], rel=1e-4)
    # the impulse that starts wheel b: 0.1 (3 - w) = 2 · 0.1 · 2 w
    assert velocity[0, 5] == pytest.approx(3.0 / 5.0, rel=1e-3)
    simulation = Simulation(gear_scene(JointType.RACK_AND_PINION, 4.0))
    for _ in range(480):
        simulation.step()
    velocity = simulation.state.link_velocity.numpy()
    assert velocity[0, 5] == pytest.approx(4.0 * velocity[1, 0], rel=1e-4)
    assert velocity[1, 0] > 0.1


def test_a_gear_in_one_tree_couples_its_degrees_of_freedom() -> None:
    """Knees of the walker on a gear: ratio · left + right keeps its value."""
    scene = coupled_scene()
    template = scene.templates[0]
    joints = table(
        Joints,
        **{
            name: np.concatenate((getattr(template.joints, name), [value]))
            for name, value in (("type", int(JointType.GEAR)), ("body0", 3), ("body1", 4))
        },
        path=(*template.joints.path, "/walker/gear"),
        frame0=[*template.joints.frame0, [0, 0, 0, *UNIT]],
        frame1=[*template.joints.frame1, [0, 0, 0, *UNIT]],
    )
    gear = table(JointCouplings, path=("/walker/gear",), joint=[4], joint0=[2], joint1=[3], ratio=[2.0])
    simulation = Simulation(scene.replace(templates=(template.replace(joints=joints, joint_couplings=gear),)))
    assert simulation.joints.model.mimic_count == 2
    start = simulation.state.dof_position.numpy().reshape(2, 4).copy()
    for _ in range(60):
        simulation.step()
    q = simulation.state.dof_position.numpy().reshape(2, 4)
    np.testing.assert_allclose(2 * q[:, 2] + q[:, 3], 2 * start[:, 2] + start[:, 3], atol=1e-5)
    assert np.abs(q - start).max() > 0.01


def test_fingers_of_one_drive_hold_a_cube() -> None:
    """A drive of 20 N on one finger, the other follows by a mimic joint: each presses with half of it."""
    template = Template(
        bodies=table(
            Bodies,
            path=("/base", "/left", "/right", "/cube"),
            mass=[1.0, 0.1, 0.1, 0.5],
            inertia=[np.eye(3) * 1e-2] + [np.eye(3) * 1e-4] * 2 + [np.eye(3) * 2e-4],
            pose=[[0, 0, 1, *UNIT], [0.05, 0, 1, *UNIT], [-0.05, 0, 1, *UNIT], [0, 0, 1, *UNIT]],
        ),
        shapes=table(
            Shapes,
            path=("/s0", "/s1", "/s2"),
            body=[1, 2, 3],
            type=[int(ShapeType.BOX)] * 3,
            size=[[0.02, 0.03, 0.03]] * 2 + [[0.03, 0.03, 0.03]],
        ),
        joints=table(
            Joints, path=("/j0", "/j1"), type=[int(JointType.PRISMATIC)] * 2, body0=[0, 0], body1=[1, 2]
        ),
        axes=table(
            Axes,
            path=("/j0", "/j1"),
            joint=[0, 1],
            axis=[int(AxisType.TRANS_X)] * 2,
            names=("a", "b"),
            position=[0.0501, -0.0501],
            drive_type=[1, 0],
            stiffness=[1000.0, 0.0],
            damping=[50.0, 0.0],
            target_position=[0.03, 0.0],
        ),
        links=table(
            Links,
            path=("/base", "/left", "/right"),
            articulation=[0] * 3,
            body=[0, 1, 2],
            parent=[-1, 0, 0],
            joint=[-1, 0, 1],
        ),
        articulations=table(Articulations, path=("/base",), fixed_base=[True]),
        mimic_joints=table(MimicJoints, path=("/j1",), axis=[1], reference=[0], gearing=[1.0]),
    )
    simulation = Simulation(Scene(templates=(template,)))
    for _ in range(300):
        simulation.step(1 / 60)
    assert np.abs(simulation.state.link_pose.numpy()[3, :3] - [0, 0, 1]).max() < 1e-4
    assert simulation.solver.contact_normal_impulse.numpy().sum() * 60 == pytest.approx(20.0, rel=1e-2)


def test_a_ball_on_a_spherical_joint_stays_in_its_cone() -> None:
    scene = chain_scene(1)
    template = scene.templates[0]
    cone = table(
        Axes,
        path=("/joint_0",) * 3,
        joint=[0, 0, 0],
        axis=[int(AxisType.ROT_X), int(AxisType.ROT_Y), int(AxisType.ROT_Z)],
        lower=[-np.inf, -0.3, -0.3],
        upper=[np.inf, 0.3, 0.3],
        names=("x", "y", "z"),
    )
    changed = template.replace(axes=cone, joints=template.joints.replace(type=[int(JointType.SPHERICAL)]))
    simulation = Simulation(scene.replace(templates=(changed,)))
    for _ in range(240):
        simulation.step()
    pose = simulation.state.link_pose.numpy()[0]
    assert 2 * np.arctan2(pose[4], pose[6]) == pytest.approx(0.3, abs=2e-3)
