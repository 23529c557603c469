"""Bodies that are moved to targets, and bodies that are out of the simulation."""

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

G = 9.81


def _quaternion(angle: float) -> list[float]:
    """Rotation about z, xyzw."""
    return [0.0, 0.0, float(np.sin(angle / 2)), float(np.cos(angle / 2))]


@pytest.fixture
def scene(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    """A kinematic pusher and a free ball beside it, no gravity, in two environments."""

    def fill(path: str, number: int) -> None:
        stage.body(f"{path}/pusher", (0, 0, 1), radius=0.2, kinematic=True)
        stage.body(f"{path}/ball", (0.5, 0, 1), radius=0.2, inertia=(0.02, 0.02, 0.02))

    stage = stages.Author.new(gravity=0.0)
    stage.environments(2, fill, spacing=10.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    return SimpleNamespace(
        sim=sim,
        arrays=arrays,
        dt=stages.DT,
        pusher=sim.create_rigid_body_view("/envs/*/pusher"),
        ball=sim.create_rigid_body_view("/envs/*/ball"),
    )


def test_a_kinematic_body_reaches_its_target_in_one_step_and_rests(scene: SimpleNamespace) -> None:
    host, make = scene.arrays.host, scene.arrays.make
    start = host(scene.pusher.get_transforms())
    target = start.copy()
    target[:, :3] += [-0.3, 0.2, 0.1]
    target[:, 3:] = _quaternion(2.5)
    scene.pusher.set_kinematic_targets(make(target), scene.arrays.rows([1]))
    np.testing.assert_array_equal(host(scene.pusher.get_transforms()), start)
    scene.sim.step(scene.dt)
    reached = host(scene.pusher.get_transforms())
    np.testing.assert_allclose(reached[1], target[1], atol=2e-6)
    np.testing.assert_array_equal(reached[0], start[0])
    expected = np.array([-0.3, 0.2, 0.1, 0.0, 0.0, 2.5]) / scene.dt
    np.testing.assert_allclose(host(scene.pusher.get_velocities())[1], expected, rtol=1e-5, atol=1e-4)
    scene.sim.step(scene.dt)
    np.testing.assert_array_equal(host(scene.pusher.get_transforms()), reached)
    np.testing.assert_array_equal(host(scene.pusher.get_velocities()), np.zeros((2, 6)))


def test_a_quaternion_and_its_negative_are_one_target(scene: SimpleNamespace) -> None:
    target = scene.arrays.host(scene.pusher.get_transforms()).copy()
    target[0, 3:] = _quaternion(0.4)
    target[1, 3:] = -np.array(_quaternion(0.4))
    scene.pusher.set_kinematic_targets(scene.arrays.make(target), None)
    scene.sim.step(scene.dt)
    rates = scene.arrays.host(scene.pusher.get_velocities())[:, 5]
    np.testing.assert_allclose(rates, 0.4 / scene.dt, rtol=1e-5)


def test_a_kinematic_body_on_its_way_pushes_others(scene: SimpleNamespace) -> None:
    host = scene.arrays.host
    target = host(scene.pusher.get_transforms()).copy()
    for _ in range(60):
        target[0, 0] += 0.01
        scene.pusher.set_kinematic_targets(scene.arrays.make(target), scene.arrays.rows([0]))
        scene.sim.step(scene.dt)
    place = host(scene.ball.get_transforms())[:, 0] - [0.0, 10.0]
    # the pusher has come to 0.6, the ball is in front of it, two radii away and more
    assert place[0] > 0.6 + 0.4 - 1e-3
    assert place[1] == pytest.approx(0.5, abs=1e-6)
    speed = host(scene.ball.get_velocities())[0, 0]
    assert speed == pytest.approx(0.01 / scene.dt, rel=0.02)


def test_targets_of_bodies_that_are_not_kinematic_are_left_out(
    scene: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    before = scene.arrays.host(scene.ball.get_transforms())
    with caplog.at_level(logging.WARNING):
        scene.ball.set_kinematic_targets(scene.arrays.make(before + np.float32(1.0)), None)
    assert "set_kinematic_targets: 2 rows are not kinematic" in caplog.text
    scene.sim.step(scene.dt)
    np.testing.assert_allclose(scene.arrays.host(scene.ball.get_transforms()), before, atol=1e-6)


@pytest.fixture
def balls(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    """Eight environments of four balls that fall, after one step."""

    def fill(path: str, number: int) -> None:
        for i in range(4):
            stage.body(f"{path}/ball{i}", (i, 0, 5), radius=0.2)

    stage = stages.Author.new(gravity=10.0)
    stage.environments(8, fill, spacing=10.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    sim.step(stages.DT)
    return SimpleNamespace(
        sim=sim, arrays=arrays, dt=stages.DT, view=sim.create_rigid_body_view("/envs/*/ball*")
    )


def test_disabled_bodies_stand_still_and_come_back_from_rest(balls: SimpleNamespace) -> None:
    arrays, view, dt = balls.arrays, balls.view, balls.dt
    even = (np.arange(32) % 2 == 0).astype(np.uint8)[:, None]
    rows = arrays.cpu.rows(range(32))
    view.set_disable_simulations(arrays.cpu.make(even, np.uint8), rows)
    np.testing.assert_array_equal(arrays.host(view.get_disable_simulations()), even)
    still = arrays.host(view.get_transforms())
    balls.sim.step(dt)
    speed = arrays.host(view.get_velocities())[:, 2]
    np.testing.assert_allclose(speed, np.where(even[:, 0] == 1, 0.0, -2 * dt * 10.0), atol=1e-5)
    np.testing.assert_array_equal(arrays.host(view.get_transforms())[::2], still[::2])
    view.set_disable_simulations(arrays.cpu.make(1 - even, np.uint8), rows)
    view.wake_up(rows)
    balls.sim.step(dt)
    speed = arrays.host(view.get_velocities())[:, 2]
    np.testing.assert_allclose(speed, np.where(even[:, 0] == 1, -dt * 10.0, 0.0), atol=1e-5)


def test_a_disabled_body_touches_nothing_and_touches_again_afterwards(
    stages: SimpleNamespace, arrays: Any
) -> None:
    stage = stages.Author.new()
    stage.ground()
    stage.solid("/World/low", (0, 0, 0.5), "cube", 1.0)
    stage.solid("/World/high", (0, 0, 1.5), "cube", 1.0)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/*ow")
    high = sim.create_rigid_body_view("/World/high")
    offsets = arrays.host(view.get_contact_offsets())
    view.set_disable_simulations(arrays.cpu.make([[1]], np.uint8), None)
    np.testing.assert_array_equal(arrays.host(view.get_contact_offsets()), offsets)
    for _ in range(90):
        sim.step(stages.DT)
    # the upper cube has fallen through the lower one onto the ground
    assert arrays.host(high.get_transforms())[0, 2] == pytest.approx(0.5, abs=2e-3)
    assert arrays.host(view.get_transforms())[0, 2] == pytest.approx(0.5, abs=1e-6)
    high.set_transforms(arrays.make([[0, 0, 1.6, 0, 0, 0, 1]]), None)
    view.set_disable_simulations(arrays.cpu.make([[0]], np.uint8), None)
    for _ in range(90):
        sim.step(stages.DT)
    assert arrays.host(high.get_transforms())[0, 2] == pytest.approx(1.5, abs=5e-3)


def test_disabling_is_saved_and_reset_with_the_parameters(balls: SimpleNamespace) -> None:
    arrays, view = balls.arrays, balls.view
    simulation = balls.sim.simulation
    view.set_disable_simulations(arrays.cpu.make(np.ones((32, 1)), np.uint8), None)
    saved = simulation.save_state()
    simulation.reset()
    assert not arrays.host(view.get_disable_simulations()).any()
    assert (simulation.contact_model.contact_offset.numpy() > 0).all()
    simulation.load_state(saved)
    assert arrays.host(view.get_disable_simulations()).all()
    assert (simulation.contact_model.contact_offset.numpy() < 0).all()


def test_links_of_articulations_stay_in(
    stages: SimpleNamespace, arrays: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stage = stages.Author.new()
    stage.ant("/World/ant", (0, 0, 2))
    view = stages.view(arrays, stage).create_rigid_body_view("/World/ant/torso")
    with caplog.at_level(logging.WARNING):
        view.set_disable_simulations(arrays.cpu.make([[1]], np.uint8), None)
    assert "1 bodies are links of articulations" in caplog.text
    assert not arrays.host(view.get_disable_simulations()).any()


def test_wake_up_wants_rows_of_the_view(balls: SimpleNamespace) -> None:
    before = balls.arrays.host(balls.view.get_velocities())
    assert balls.view.wake_up() is None
    balls.view.wake_up(balls.arrays.cpu.rows([0, 31]))
    np.testing.assert_array_equal(balls.arrays.host(balls.view.get_velocities()), before)
    with pytest.raises(IndexError, match=r"wake_up\(indices\)"):
        balls.view.wake_up(balls.arrays.cpu.rows([32]))
