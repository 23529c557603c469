"""Joints that turn about all three axes, from the tables of a scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorphys_engine import Simulation
from tensorphys_scene import (
    Articulations,
    Axes,
    AxisType,
    Bodies,
    FixedTendonAxes,
    FixedTendons,
    Joints,
    JointType,
    Links,
    MimicJoints,
    Scene,
    Settings,
    Template,
    replicate,
)
from tensorphys_spatial import quaternion_multiply

UNIT = np.array([0.0, 0.0, 0.0, 1.0])
HALF = np.sqrt(0.5)
DT = 1.0 / 240.0
ROTATIONS = [AxisType.ROT_X, AxisType.ROT_Y, AxisType.ROT_Z]


def table(kind: Any, **columns: Any) -> Any:
    return kind(**columns)


def arm_template(axes: list[AxisType], kind: JointType, *, flipped: bool = False, **columns: Any) -> Template:
    """A fixed base and an arm on one joint, whose frames are turned against the bodies."""
    frames = [np.array([0.1, 0.2, 0.3, HALF, 0, 0, HALF]), np.array([-0.4, 0.0, 0.0, 0, HALF, 0, HALF])]
    return Template(
        prims=("", "/base", "/arm"),
        bodies=table(
            Bodies,
            path=("/base", "/arm"),
            mass=[1.0, 2.0],
            inertia=[np.eye(3) * 0.1, np.diag([0.02, 0.03, 0.04])],
            pose=[[0, 0, 0, *UNIT]] * 2,
        ),
        joints=table(
            Joints,
            path=("/joint",),
            type=[int(kind)],
            body0=[1 if flipped else 0],
            body1=[0 if flipped else 1],
            frame0=[frames[1 if flipped else 0]],
            frame1=[frames[0 if flipped else 1]],
        ),
        axes=table(
            Axes,
            path=("/joint",) * len(axes),
            joint=[0] * len(axes),
            axis=[int(axis) for axis in axes],
            names=tuple(f"joint:{k}" for k in range(len(axes))),
            **columns,
        ),
        articulations=table(Articulations, path=("/base",), fixed_base=[True]),
        links=table(
            Links,
            path=("/base", "/arm"),
            articulation=[0, 0],
            body=[0, 1],
            parent=[-1, 0],
            joint=[-1, 0],
            joint_count=[0, 1],
        ),
    )


def simulation_of(template: Template, count: int = 1, **options: Any) -> Simulation:
    settings = table(Settings, gravity=(0.0, 0.0, -9.81))
    scene = Scene(templates=(template,), settings=settings)
    return Simulation(replicate(scene, count, path="/e{}"), **options)


def turn_of(r: np.ndarray) -> np.ndarray:
    """Quaternion of a rotation vector."""
    angle = np.linalg.norm(r)
    return np.append(r * 0.5 * np.sinc(angle / 2 / np.pi), np.cos(angle / 2))


@pytest.mark.parametrize("kind", [JointType.SPHERICAL, JointType.D6])
@pytest.mark.parametrize("flipped", [False, True])
def test_position_is_the_rotation_vector_of_body_1_in_body_0(kind: JointType, flipped: bool) -> None:
    r = np.array([0.4, -1.1, 0.7])
    template = arm_template(ROTATIONS, kind, flipped=flipped, position=r)
    simulation = simulation_of(template)
    assert simulation.model.types[0].balls.tolist() == [0]
    pose = simulation.state.link_pose.numpy()[:2].astype(float)
    joints = template.joints
    ends = (int(joints.body0[0]), int(joints.body1[0]))
    first, second = (
        quaternion_multiply(pose[body, 3:], frame[0, 3:])
        for body, frame in zip(ends, (joints.frame0, joints.frame1), strict=True)
    )
    found = quaternion_multiply(first * [-1, -1, -1, 1], second)
    assert abs(found @ turn_of(r)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("first", ["translations", "rotations"])
def test_translations_of_a_d6_joint_are_along_the_frame_of_body_0(first: str) -> None:
    flipped = first == "rotations"
    axes = [AxisType.TRANS_X, AxisType.TRANS_Z, *ROTATIONS]
    position = np.array([0.2, -0.3, 0.4, -1.1, 0.7])
    template = arm_template(axes, JointType.D6, flipped=flipped, position=position)
    simulation = simulation_of(template)
    assert simulation.model.types[0].balls.tolist() == [0 if flipped else 2]
    labels = simulation.articulation_info(0).labels
    own = [
        axes.index(AxisType(a + 3 * r)) for a, r in zip(labels.dof_axes, labels.dof_rotational, strict=True)
    ]
    assert own == ([2, 3, 4, 1, 0] if flipped else [0, 1, 2, 3, 4])
    np.testing.assert_allclose(simulation.state.dof_position.numpy(), position[own], rtol=1e-6)
    pose = simulation.state.link_pose.numpy()[:2].astype(float)
    joints = template.joints
    ends = (int(joints.body0[0]), int(joints.body1[0]))

    def placed(body: int, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        turn = quaternion_multiply(pose[body, 3:], frame[3:])
        arm = quaternion_multiply(
            quaternion_multiply(pose[body, 3:], np.append(frame[:3], 0.0)), pose[body, 3:] * [-1, -1, -1, 1]
        )
        return pose[body, :3] + arm[:3], turn

    place0, turn0 = placed(ends[0], joints.frame0[0])
    place1, turn1 = placed(ends[1], joints.frame1[0])
    back = turn0 * [-1, -1, -1, 1]
    shift = quaternion_multiply(quaternion_multiply(back, np.append(place1 - place0, 0.0)), turn0)[:3]
    np.testing.assert_allclose(shift, [0.2, 0.0, -0.3], atol=1e-6)
    assert abs(quaternion_multiply(back, turn1) @ turn_of(position[2:])) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)])
def test_joints_with_two_rotations_are_universal(axes: tuple[int, int], flipped: bool) -> None:
    """Frame 1 in frame 0 turns about the first axis, then about the second, whichever body the tree moves."""
    q = np.array([0.7, -0.5])
    template = arm_template([ROTATIONS[k] for k in axes], JointType.D6, flipped=flipped, position=q)
    template = template.replace(axes=template.axes.replace(velocity=[1.0, -2.0]))
    simulation = simulation_of(template)
    assert simulation.model.types[0].balls.tolist() == []
    joints = template.joints
    ends = (int(joints.body0[0]), int(joints.body1[0]))

    def turned() -> np.ndarray:
        pose = simulation.state.link_pose.numpy()[:2].astype(float)
        turns = [
            quaternion_multiply(pose[body, 3:], frame[0, 3:])
            for body, frame in zip(ends, (joints.frame0, joints.frame1), strict=True)
        ]
        return np.asarray(quaternion_multiply(turns[0] * [-1, -1, -1, 1], turns[1]))

    def composed(angles: np.ndarray) -> np.ndarray:
        first, second = (turn_of(np.eye(3)[k] * angle) for k, angle in zip(axes, angles, strict=True))
        return np.asarray(quaternion_multiply(first, second))

    labels = simulation.articulation_info(0).labels
    order = [axes.index(int(k)) for k in labels.dof_axes]
    assert order == ([1, 0] if flipped else [0, 1])
    for _ in range(30):
        now = np.empty(2)
        now[order] = simulation.state.dof_position.numpy()
        assert abs(turned() @ composed(now)) == pytest.approx(1.0, abs=1e-6)
        simulation.step(DT)
    assert np.abs(now - q).max() > 0.01


def test_swapped_bodies_fall_alike() -> None:
    r = np.array([0.4, -1.1, 0.7])
    poses = []
    for flipped in (False, True):
        position = -r if flipped else r
        template = arm_template(ROTATIONS, JointType.SPHERICAL, flipped=flipped, position=position)
        simulation = simulation_of(template)
        for _ in range(120):
            simulation.step(DT)
        poses.append(simulation.state.link_pose.numpy()[1].astype(float))
    np.testing.assert_allclose(poses[0][:3], poses[1][:3], atol=1e-5)
    assert abs(poses[0][3:] @ poses[1][3:]) == pytest.approx(1.0, abs=1e-6)


def test_environments_are_equal_and_a_saved_state_goes_on_alike() -> None:
    template = arm_template(ROTATIONS, JointType.SPHERICAL, position=[0.4, -1.1, 2.8], velocity=[5.0, 3, 1])
    simulation = simulation_of(template, 3)
    for _ in range(20):
        simulation.step(DT)
    turns = simulation.state.ball_turn.numpy()
    assert np.array_equal(turns[0], turns[1]) and np.array_equal(turns[0], turns[2])
    saved = simulation.save_state()
    for _ in range(20):
        simulation.step(DT)
    first = simulation.state.ball_turn.numpy().copy(), simulation.state.velocity.numpy().copy()
    simulation.load_state(saved)
    for _ in range(20):
        simulation.step(DT)
    assert np.array_equal(first[0], simulation.state.ball_turn.numpy())
    assert np.array_equal(first[1], simulation.state.velocity.numpy())
    simulation.reset()
    np.testing.assert_allclose(simulation.state.dof_position.numpy()[:3], [0.4, -1.1, 2.8], rtol=1e-6)


def test_cone_angles_bound_the_swing() -> None:
    cone = [np.inf, 0.4, 0.4]
    template = arm_template(ROTATIONS, JointType.SPHERICAL, lower=[-c for c in cone], upper=cone)
    template = template.replace(axes=template.axes.replace(velocity=[15.0, 2.0, 3.0]))
    simulation = simulation_of(template)
    swings = []
    for _ in range(480):
        simulation.step(DT)
        x, y, z, w = simulation.state.ball_turn.numpy()[0].astype(float)
        swings.append(np.arctan2(np.hypot(2 * (x * y + w * z), 2 * (x * z - w * y)), 1 - 2 * (y * y + z * z)))
    assert 0.399 < max(swings) < 0.4005


@pytest.mark.parametrize("flipped", [False, True])
def test_couplings_of_their_axes_act(flipped: bool) -> None:
    """A mimic joint keeps the sum of two components; a tendon over one component holds it at its length."""
    template = arm_template(ROTATIONS, JointType.D6, flipped=flipped, position=[0.3, -0.2, 0.5])
    mimic = table(MimicJoints, path=("/joint",), axis=[0], reference=[1], gearing=[1.0], offset=[-0.1])
    simulation = simulation_of(template.replace(mimic_joints=mimic))
    moved = 0.0
    for _ in range(60):
        simulation.step(DT)
        q = simulation.state.dof_position.numpy()
        assert np.linalg.norm(q) < 3.0, "half a turn"
        assert abs(q[0] + q[1] - 0.1) < 1e-5
        moved = max(moved, abs(float(q[0]) - 0.3))
    assert moved > 0.1
    tendon = {
        "fixed_tendons": table(
            FixedTendons,
            path=("/tendon",),
            names=("tendon",),
            stiffness=[4000.0],
            damping=[100.0],
            rest_length=[-0.2],
        ),
        "fixed_tendon_axes": table(
            FixedTendonAxes,
            path=("/tendon",),
            tendon=[0],
            axis=[1],
            gearing=[1.0],
            force_coefficient=[1.0],
        ),
    }
    simulation = simulation_of(template.replace(**tendon))
    for _ in range(120):
        simulation.step(DT)
        q = simulation.state.dof_position.numpy()
        assert abs(q[1] + 0.2) < 0.02
    assert abs(q[0] - 0.3) > 0.1
