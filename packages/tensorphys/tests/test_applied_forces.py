"""External forces and torques on links and bodies."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorphys

COUNT = 4


def _ball(stages: SimpleNamespace, arrays: Any, count: int = 1, **options: Any) -> SimpleNamespace:
    """Free bodies of 2 kg with the centre of mass half a metre off the origin, yawed by 90°."""
    stage = stages.Author.new(gravity=0.0)
    for i in range(count):
        stage.body(f"/World/ball{i}", (3.0 * i, 0, 0), mass=2.0, inertia=(0.5, 0.5, 0.5), com=(0.5, 0, 0))
    sim = stages.view(arrays, stage, **options)
    view = sim.create_rigid_body_view("/World/ball*")
    poses = arrays.host(view.get_transforms())
    poses[:, 3:] = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    view.set_transforms(arrays.make(poses), None)
    return SimpleNamespace(
        sim=sim, view=view, host=arrays.host, make=arrays.make, rows=arrays.rows, cpu=arrays.cpu
    )


def _kick(rig: SimpleNamespace, dt: float = 1e-3) -> np.ndarray:
    """Momentum and angular momentum about the centre of mass that one step gives."""
    rig.sim.step(dt)
    return rig.host(rig.view.get_velocities()) * [2, 2, 2, 0.5, 0.5, 0.5] / dt


def test_points_and_axes(stages: SimpleNamespace, arrays: Any) -> None:
    """The link origin is the default point, positions are points of the link or of the world."""
    # The centre of mass lies at (0, 0.5, 0) in the world.
    rig = _ball(stages, arrays)
    force, torque, point = rig.make([[0, 0, 4]]), rig.make([[0, 1, 0]]), rig.make([[1, 0, 0]])
    still = rig.make(np.zeros((1, 6)))
    apply = rig.view.apply_forces_and_torques_at_position
    for arguments, expected in (
        # Force at the origin: lever (0, -0.5, 0) × (0, 0, 4).
        ((force, None, None, None, True), [0, 0, 4, -2, 0, 0]),
        ((None, torque, None, None, True), [0, 0, 0, 0, 1, 0]),
        # Local torque (0, 1, 0) is (-1, 0, 0) in the world.
        ((None, torque, None, None, False), [0, 0, 0, -1, 0, 0]),
        # Global point (1, 0, 0): lever (1, -0.5, 0).
        ((force, None, point, None, True), [0, 0, 4, -2, -4, 0]),
        # Local point (1, 0, 0) is (0, 1, 0) in the world: lever (0, 0.5, 0).
        ((force, None, point, None, False), [0, 0, 4, 2, 0, 0]),
        ((force, torque, point, None, True), [0, 0, 4, -2, -3, 0]),
    ):
        assert apply(*arguments)
        np.testing.assert_allclose(_kick(rig)[0], expected, atol=2e-3)
        rig.view.set_velocities(still, None)
    rig.view.apply_forces(rig.make([[1, 0, 0]]), None, is_global=False)
    np.testing.assert_allclose(_kick(rig)[0, :3], [0, 1, 0], atol=1e-4)


def test_runtime_convention_acts_at_the_centre_of_mass(stages: SimpleNamespace, arrays: Any) -> None:
    rig = _ball(stages, arrays, conventions="runtime")
    rig.view.apply_forces(rig.make([[0, 0, 4]]), None)
    np.testing.assert_allclose(_kick(rig)[0], [0, 0, 4, 0, 0, 0], atol=1e-3)


def test_calls_add_up_and_last_one_step(stages: SimpleNamespace, arrays: Any) -> None:
    rig = _ball(stages, arrays, 3)
    at_com = np.array([[0, 0.5, 0], [3, 0.5, 0], [6, 0.5, 0]])
    up = np.array([[0, 0, 1.0], [0, 0, 2.0], [0, 0, 4.0]])
    for rows in ([0, 1, 2], [2], [1, 1]):
        rig.view.apply_forces_and_torques_at_position(
            rig.make(up), None, rig.make(at_com), rig.rows(rows), True
        )
    momentum = _kick(rig)
    np.testing.assert_allclose(momentum[:, 2], [1, 4, 8], rtol=1e-4)
    # Nothing is left for the next step.
    np.testing.assert_allclose(_kick(rig)[:, 2], [1, 4, 8], rtol=1e-4)
    rig.view.apply_forces(rig.make(up), None)
    rig.sim.clear_forces()
    np.testing.assert_allclose(_kick(rig)[:, 2], [1, 4, 8], rtol=1e-4)


def test_rows_of_one_body_add_up(stages: SimpleNamespace, arrays: Any) -> None:
    """Overlapping patterns give repeated rows: forces of all rows act, of states the row named last stays."""
    rig = _ball(stages, arrays, 2)
    view = rig.sim.create_rigid_body_view(["/World/ball*", "/World/ball1", "/World/ball1"])
    assert view.prim_paths == [f"/World/ball{i}" for i in (0, 1, 1, 1)]
    force = np.zeros((4, 3))
    force[:, 1] = [1, 10, 100, 1000]
    view.apply_forces(rig.make(force), rig.rows([0, 1, 3]))
    np.testing.assert_allclose(_kick(rig)[:, 1], [1, 1010], rtol=1e-4)
    poses = rig.host(view.get_transforms())
    poses[:, 2] = [1, 2, 3, 4]
    for rows, expected in ((None, 4), ([3, 1, 2], 3), ([3, 2, 1], 2)):
        view.set_transforms(rig.make(poses), None if rows is None else rig.rows(rows))
        np.testing.assert_array_equal(rig.host(view.get_transforms())[1:, 2], [expected] * 3)
    masses = rig.cpu.make([[1], [2], [3], [4]])
    view.set_masses(masses, rig.cpu.rows([3, 1, 2]))
    np.testing.assert_array_equal(rig.host(view.get_masses()).ravel(), [2, 3, 3, 3])


@pytest.mark.parametrize("is_global", [True, False])
def test_forces_on_links(stages: SimpleNamespace, arrays: Any, is_global: bool) -> None:
    """Behaviour 23: all links rise, then those of some rows only; the other view sees the same."""
    stage = stages.Author.new(gravity=0.0)
    stage.environments(COUNT, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 1)), spacing=8.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_articulation_view("/envs/*/ant/torso")
    part = sim.create_articulation_view("/envs/env[12]/ant/torso")
    force = np.zeros((COUNT, 9, 3), np.float32)
    force[..., 2] = arrays.host(view.get_masses()) * 10.0  # all links accelerate alike
    where = np.zeros_like(force)
    if is_global:
        where[...] = arrays.host(view.get_link_transforms())[..., :3]
    where[..., 2] += 1.0
    height = arrays.host(view.get_link_transforms())[..., 2]

    def run(target: Any, rows: Any) -> np.ndarray:
        count = target.count
        for _ in range(10):
            target.apply_forces_and_torques_at_position(
                arrays.make(force[:count]), None, arrays.make(where[:count]), rows, is_global
            )
            sim.step(stages.DT)
        after = arrays.host(view.get_link_transforms())[..., 2]
        view.set_root_velocities(arrays.make(np.zeros((COUNT, 6))), None)
        view.set_dof_velocities(arrays.make(np.zeros((COUNT, 8))), None)
        return after

    # Along Z the point does not matter: a vertical force 1 m above has no lever.
    risen = run(view, None)
    fall = 0.5 * 10.0 * (10 * stages.DT) ** 2
    np.testing.assert_allclose(risen - height, fall, rtol=2e-2)
    some = run(view, arrays.rows([3, 0]))
    np.testing.assert_allclose((some - risen)[[0, 3]], fall, rtol=2e-2)
    np.testing.assert_allclose((some - risen)[[1, 2]], 0.0, atol=1e-5)
    if not is_global:
        last = run(part, arrays.rows([1]))
        np.testing.assert_allclose((last - some)[2], fall, rtol=2e-2)
        np.testing.assert_allclose((last - some)[[0, 1, 3]], 0.0, atol=1e-5)


def test_links_through_a_rigid_view_feel_the_same(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviours 25 and 73: an ant pushed through a rigid view moves like one pushed through its own."""
    stage = stages.Author.new()
    stage.environments(2, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 5)), spacing=8.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_articulation_view("/envs/*/ant/torso")
    bodies = sim.create_rigid_body_view(view.link_paths[1])
    rng = np.random.default_rng(3)
    force = rng.uniform(-20, 20, (9, 3)).astype(np.float32)
    offset = arrays.host(view.get_link_transforms())[:, :, :3] + np.float32([0, 0.1, 0.3])
    both = np.zeros((2, 9, 3), np.float32)
    both[0] = force
    for _ in range(9):
        view.apply_forces_and_torques_at_position(
            arrays.make(both), None, arrays.make(offset), arrays.rows([0]), True
        )
        bodies.apply_forces_and_torques_at_position(
            arrays.make(force), None, arrays.make(offset[1]), None, True
        )
        sim.step(stages.DT)
    poses = arrays.host(view.get_link_transforms())
    poses[1, :, 0] -= 8.0
    np.testing.assert_allclose(poses[0], poses[1], atol=2e-4)
    assert np.abs(poses[0, :, :3] - offset[0]).max() > 0.1


def test_each_row_is_the_body_that_its_path_names(stages: SimpleNamespace, arrays: Any) -> None:
    """Pattern-major order; a force of row + 1 newtons for a second gives each body its own speed."""

    def fill(path: str, number: int) -> None:
        stage.body(f"{path}/Cube")
        stage.body(f"{path}/Ball", (2, 0, 0))

    stage = stages.Author.new(gravity=0.0)
    stage.environments(11, fill, spacing=5.0)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view(["/envs/*/Cube", "/envs/*/Ball"])
    paths = [f"/envs/env{i}/{name}" for name in ("Cube", "Ball") for i in range(11)]
    assert view.prim_paths == paths
    force = np.zeros((22, 3))
    force[:, 0] = np.arange(22) + 1
    for _ in range(60):
        view.apply_forces(arrays.make(force), None)
        sim.step(stages.DT)
    for row in (0, 9, 10, 21):
        alone = sim.create_rigid_body_view(paths[row])
        np.testing.assert_allclose(arrays.host(alone.get_velocities())[0, 0], row + 1, rtol=1e-3)


def test_what_is_missing_is_named(stages: SimpleNamespace, arrays: Any) -> None:
    rig = _ball(stages, arrays)
    apply, some = rig.view.apply_forces_and_torques_at_position, rig.make([[0, 0, 1]])
    with pytest.raises(tensorphys.ViewError, match="expected force_data or torque_data"):
        apply(None, None, some, None, True)
    with pytest.raises(tensorphys.ViewError, match="position_data says where forces act"):
        apply(None, some, some, None, True)
    with pytest.raises(ValueError, match=r"\(position_data\): expected 3 elements, given 6"):
        apply(some, None, rig.make(np.zeros((2, 3))), None, True)
    rig.sim.step(1e-3)
    np.testing.assert_array_equal(rig.host(rig.view.get_velocities()), np.zeros((1, 6)))
