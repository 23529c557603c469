"""Joints that break, as events, against the loads of statics."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tensorphys_engine import Simulation
from tensorphys_engine.testing import pendulum_scene
from tensorphys_scene import Bodies, Joints, JointType, Scene, Settings, Template, replicate

G = 9.81
MASS = 2.0
ARM = 0.3
UNIT = [0.0, 0.0, 0.0, 1.0]


def table(kind: Any, **columns: Any) -> Any:
    return kind(**columns)


def hanging_scene(*loads: tuple[float, float], mass: float = MASS, environments: int = 1) -> Scene:
    """Bodies fixed to the world, each by a joint with bounds of force and torque, its weight at an arm along X."""
    count = len(loads)
    paths = tuple(f"/body{i}" for i in range(count))
    template = Template(
        prims=("", *paths, *(f"{path}/joint" for path in paths)),
        bodies=table(
            Bodies,
            path=paths,
            mass=[mass] * count,
            inertia=[np.eye(3) * 0.01] * count,
            pose=[[2.0 * i + ARM, 0, 3, *UNIT] for i in range(count)],
        ),
        joints=table(
            Joints,
            path=tuple(f"{path}/joint" for path in paths),
            type=[int(JointType.FIXED)] * count,
            body0=[-1] * count,
            body1=np.arange(count),
            frame0=[[2.0 * i, 0, 3, *UNIT] for i in range(count)],
            frame1=[[-ARM, 0, 0, *UNIT]] * count,
            break_force=[load[0] for load in loads],
            break_torque=[load[1] for load in loads],
        ),
    )
    scene = Scene(templates=(template,), settings=Settings(steps_per_second=60.0))
    return scene if environments == 1 else replicate(scene, environments, spacing=50.0)


def run(simulation: Simulation, count: int) -> Simulation:
    for _ in range(count):
        simulation.step()
    return simulation


@pytest.mark.parametrize(("force", "torque"), [(1.001, 9.0), (9.0, 1.001)])
def test_a_joint_breaks_exactly_where_its_load_is_beyond_the_bound(
    device: str, force: float, torque: float
) -> None:
    """m g and m g times the arm: 0.1 % above each the joint holds, 0.1 % below it breaks, once."""
    weight = MASS * G
    bound = (force * weight, torque * weight * ARM)
    below = tuple(0.999 / 1.001 * b if b < 2.0 * weight else b for b in bound)
    simulation = Simulation(hanging_scene(bound, below), device=device)
    found = []
    for _ in range(120):
        simulation.step()
        found += simulation.take_joint_breaks()
    assert [event.path for event in found] == ["/body1/joint"]
    event = found[0]
    assert (event.environment, event.joint, event.step) == (0, 1, 1)
    assert 0.0 < event.time <= 1 / 60 + 1e-6
    np.testing.assert_allclose(event.force, [0, 0, weight], atol=2e-4 * weight)
    # the joint turns the body against its weight, which hangs at +X: about −Y
    np.testing.assert_allclose(event.torque, [0, -weight * ARM, 0], atol=2e-4 * weight)
    height = simulation.state.link_pose.numpy()[:, 2]
    assert height[0] == pytest.approx(3.0, abs=1e-5)
    assert height[1] == pytest.approx(3.0 - 0.5 * G * (2.0 - event.time) ** 2, rel=5e-3)


def test_a_growing_load_breaks_in_the_step_in_which_it_passes_the_bound(device: str) -> None:
    weight = MASS * G
    simulation = Simulation(hanging_scene((weight + 5.0, np.inf)), device=device)
    for number in range(1, 12):
        pull = np.zeros((1, 3), np.float32)
        pull[0, 2] = -0.7 * number
        simulation.control.link_force.assign(pull)
        simulation.step()
        found = simulation.take_joint_breaks()
        # a changed force acts at its mean in the kick that straddles the change: the bound is passed at 8 · 0.7
        assert [event.step for event in found] == ([8] if number == 8 else [])
    assert simulation.take_joint_breaks() == []


def test_events_follow_steps_and_environments_and_come_again_after_a_reset(device: str) -> None:
    weak = (0.5 * MASS * G, np.inf)
    simulation = Simulation(hanging_scene((np.inf, np.inf), weak, environments=3), device=device)
    saved = simulation.save_state()
    first = run(simulation, 3).take_joint_breaks()
    prefix = simulation.scene.environments.path
    assert [event.path for event in first] == [f"{p}/body1/joint" for p in prefix]
    assert [event.environment for event in first] == [0, 1, 2]
    assert [event.joint for event in first] == [1, 3, 5]
    assert run(simulation, 3).take_joint_breaks() == []
    broken = simulation.save_state()
    simulation.load_state(saved)
    assert run(simulation, 3).take_joint_breaks() == first
    simulation.reset()
    assert run(simulation, 3).take_joint_breaks() == first
    simulation.load_state(broken)  # a state in which they are broken already
    assert run(simulation, 3).take_joint_breaks() == []


def test_joints_of_trees_do_not_break_and_are_reported() -> None:
    scene = pendulum_scene()
    template = scene.templates[0]
    joints = dataclasses.replace(template.joints, break_force=np.full(template.joints.count, 1e-3))
    template = dataclasses.replace(template, joints=joints)
    simulation = Simulation(dataclasses.replace(scene, templates=(template,)))
    said = {
        path
        for path, text in simulation.findings
        if text.startswith("joints of articulation trees do not break")
    }
    prefix = scene.environments.path[0]
    assert {prefix + path for path in template.joints.path} <= said
    assert run(simulation, 5).take_joint_breaks() == []
