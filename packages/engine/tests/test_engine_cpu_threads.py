"""Environments shared between threads of the CPU: the same bits whatever their number."""

from typing import Any
from unittest import mock

import numpy as np
import pytest
import warp as wp

from tensorphys_engine import Simulation
from tensorphys_engine.saved_state import state_arrays
from tensorphys_engine.testing import ball_scene, pendulum_scene, walker_scene
from tensorphys_engine.threads import ThreadedStep, range_bounds

DT = 1.0 / 240.0


def run(scene: Any, threads: int, steps: int, **options: Any) -> tuple[Simulation, dict[str, np.ndarray]]:
    """Everything that a run leaves behind; a push wakes differences between environments."""
    simulation = Simulation(scene, device="cpu", threads=threads, **options)
    force = np.random.default_rng(3).uniform(-0.5, 0.5, (simulation.control.link_force.shape[0], 3))
    simulation.control.link_force.assign(force.astype(np.float32))
    for _ in range(steps):
        simulation.step(DT)
    simulation.loads.evaluate()
    arrays = state_arrays(simulation.state, simulation.control, simulation.joints.model)
    arrays |= simulation.solver.warm_start()
    arrays |= {"count": simulation.contacts.count, "impulse": simulation.solver.contact_impulse}
    return simulation, {name: array.numpy().copy() for name, array in arrays.items()}


@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    scene = walker_scene(101, alone=True)
    alone, one = run(scene, 1, 80)
    shared, several = run(scene, threads, 80)
    assert isinstance(shared._graph, ThreadedStep)
    assert not isinstance(alone._graph, ThreadedStep)
    assert one["count"].max() > 0
    assert [name for name in one if one[name].tobytes() != several[name].tobytes()] == []
    assert alone.launch_count == shared.launch_count


def test_a_strict_step_that_overflows_is_repeated_on_threads_too() -> None:
    """The start of a step is kept before any range runs."""
    scene = walker_scene(64, alone=True)
    budget = {"contact_budget": 0, "on_overflow": "grow", "strict": True}
    _, one = run(scene, 1, 80, **budget)
    _, two = run(scene, 2, 80, **budget)
    for name in ("count", "state.velocity"):
        np.testing.assert_array_equal(one[name], two[name])


def test_ranges_run_on_threads_of_their_own() -> None:
    import threading

    simulation = Simulation(walker_scene(96, alone=True), device="cpu", threads=3)
    simulation.step(DT)
    seen, replay = set(), wp.capture_launch

    def noting(graph: Any) -> None:
        seen.add(threading.get_ident())
        replay(graph)

    with mock.patch.object(wp, "capture_launch", noting):
        for _ in range(20):
            simulation.step()
    assert len(seen) > 1


def test_ranges_cover_all_environments_and_are_never_small() -> None:
    assert range_bounds(10, 8) == [0, 10]
    assert range_bounds(64, 8) == [0, 32, 64]
    bounds = range_bounds(1000, 7)
    assert bounds[0] == 0
    assert bounds[-1] == 1000
    assert np.diff(bounds).min() >= 32


def test_a_failure_in_a_range_is_told() -> None:
    simulation = Simulation(walker_scene(64, alone=True), device="cpu", threads=2)
    simulation.step(DT)
    graph = simulation._graph
    graph._ranges[1] = None
    with pytest.raises(AttributeError):
        simulation.step()


@pytest.mark.parametrize("scene", [ball_scene(64), pendulum_scene(), walker_scene(64)])
def test_scenes_of_any_kind_run_with_many_threads(scene: Any) -> None:
    _, one = run(scene, 1, 20)
    _, many = run(scene, 16, 20)
    assert [name for name in one if one[name].tobytes() != many[name].tobytes()] == []
