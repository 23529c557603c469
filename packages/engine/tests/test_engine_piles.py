"""One world of many bodies: a search for pairs, contacts solved in parallel, and a pile that comes to rest."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tensorphys_dynamics.direct as direct
import tensorphys_engine.candidates as candidates
from tensorphys_dynamics.testing import History
from tensorphys_engine import ContactOverflowError, ContactOverflowWarning, Simulation
from tensorphys_engine.testing import pile_scene, walker_scene
from tensorphys_scene import Scene, replicate

GRAVITY = 9.81
EDGE = 0.2
MASS = 125.0 * EDGE**3
RATE = 60


def state_of(simulation: Simulation, count: int | None = None) -> list[bytes]:
    state = simulation.state
    return [array.numpy()[:count].tobytes() for array in (state.link_pose, state.link_velocity)]


def energy_of(simulation: Simulation) -> float:
    """Kinetic and potential energy of equal cubes [J]."""
    return energy_at(simulation.state.link_pose.numpy(), simulation.state.link_velocity.numpy())


def highest_energy(simulation: Simulation, count: int) -> float:
    """The highest one after any of some steps [J]."""
    state = simulation.state
    history = History((state.link_pose, state.link_velocity), count)
    for _ in range(count):
        simulation.step(1.0 / RATE)
        history.keep()
    return max(energy_at(*row) for row in history.read())


def energy_at(pose: np.ndarray, velocity: np.ndarray) -> float:
    velocity, height = velocity.astype(np.float64), pose[:, 2].astype(np.float64)
    kinetic = 0.5 * (velocity[:, :3] ** 2).sum() + EDGE**2 / 12.0 * (velocity[:, 3:] ** 2).sum()
    return float(MASS * (kinetic + GRAVITY * height.sum()))


def momentum_of(simulation: Simulation) -> float:
    """Upward momentum of all boxes [N s]."""
    return float(MASS * simulation.state.link_velocity.numpy()[:, 2].astype(float).sum())


def ground_force(simulation: Simulation) -> float:
    count = int(simulation.contacts.count.numpy()[0])
    impulse = simulation.solver.contact_impulse.numpy()[:count, 2].astype(np.float64)
    body0, body1 = (a.numpy()[:count] for a in (simulation.contacts.body0, simulation.contacts.body1))
    return float(impulse[body1 < 0].sum() - impulse[body0 < 0].sum()) * RATE


def steps(simulation: Simulation, count: int) -> Simulation:
    for _ in range(count):
        simulation.step()
    return simulation


def test_pile_of_two_thousand_boxes_settles(device: str) -> None:
    """5 s to settle, 1 s to measure: the ground bears the weight and changes what momentum boxes that still roll have, to 0.01 %;
    depth below 1 % of the edge, energy never above."""
    simulation = Simulation(pile_scene((13, 13, 12)), device=device)
    count = 13 * 13 * 12
    start = energy_of(simulation)
    assert highest_energy(simulation, 5 * RATE) <= 1.001 * start
    forces, depths = [], []
    before = momentum_of(simulation)
    for _ in range(RATE):
        simulation.step()
        forces.append(ground_force(simulation))
        separation = simulation.contacts.separation.numpy()[: int(simulation.contacts.count.numpy()[0])]
        depths.append(-separation[separation < 0.0].mean())
    weight = count * MASS * GRAVITY
    change = momentum_of(simulation) - before
    assert abs((np.mean(forces) - change) / weight - 1.0) < 1e-4
    assert np.mean(forces) > 0.999 * weight and abs(change) < 5e-3 * weight
    assert np.mean(depths) < 0.01 * EDGE
    pose = simulation.state.link_pose.numpy()
    assert np.isfinite(pose).all() and pose[:, 2].min() > 0.45 * EDGE


def test_a_large_world_equals_one_among_several(device: str) -> None:
    """A search for pairs beside a table of all pairs, and environments that do not know of each other: bit for bit."""
    one = pile_scene((7, 6, 7))
    both = replicate(Scene(templates=one.templates, shared=one.shared, settings=one.settings), 2)
    alone, twins = Simulation(one, device=device), Simulation(both, device=device)
    assert alone.contact_model.search is not None and twins.contact_model.search is None
    for _ in range(3):
        steps(alone, 12), steps(twins, 12)
        assert state_of(alone) == state_of(twins, 7 * 6 * 7)
    assert int(alone.contacts.count.numpy()[0]) == int(twins.contacts.count.numpy()[1]) > 500


def test_runs_repeat_and_resume(device: str) -> None:
    simulation = Simulation(pile_scene((7, 6, 7)), device=device)
    steps(simulation, 25)
    saved = simulation.save_state()
    expected = state_of(steps(simulation, 10))
    simulation.load_state(saved)
    assert state_of(steps(simulation, 10)) == expected
    simulation.reset()
    assert state_of(steps(simulation, 35)) == expected
    assert state_of(steps(Simulation(pile_scene((7, 6, 7)), device=device), 35)) == expected


def test_a_search_without_room_grows_raises_or_warns(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = state_of(steps(Simulation(pile_scene((7, 6, 7)), device=device), 12))
    monkeypatch.setattr(candidates, "_PAIRS_PER_SHAPE", 1)

    def small(**options: Any) -> Simulation:
        return Simulation(pile_scene((7, 6, 7)), device=device, strict=True, **options)

    grown = small()
    before = grown.contact_model.pair_count
    assert state_of(steps(grown, 12)) == expected
    assert grown.contact_model.pair_count > before
    strict = small(on_overflow="raise")
    with pytest.raises(ContactOverflowError, match="near pairs"):
        steps(strict, 12)
    loud = small(on_overflow="warn")
    with pytest.warns(ContactOverflowWarning, match="near pairs"):
        steps(loud, 12)


def test_pairs_of_a_search_are_those_of_the_table(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Self-collisions, welds, kinematic bodies and filters, as contacts of a robot beside a crate and a platform."""
    scene = walker_scene()
    template = scene.templates[0]
    shapes = template.shapes
    # the torso and a shin are told apart, and the crate is not there
    changed = dataclasses.replace(
        template,
        filtered_pairs=np.array([[0, 3]], np.int32),
        shapes=dataclasses.replace(shapes, enabled=np.arange(shapes.count) != 5),
    )
    scene = dataclasses.replace(scene, templates=(changed,))
    table = Simulation(scene, device=device)
    monkeypatch.setattr(candidates, "LARGE", 1)
    search = Simulation(scene, device=device, substeps=table.substeps)
    assert search.contact_model.search is not None
    # every shape reaches every other one
    for simulation in (table, search):
        simulation.contact_offset.fill_(10.0)
        simulation.apply_disabled()
        steps(simulation, 1)
    expected = np.stack(
        (table.contact_model.pair_shape0.numpy(), table.contact_model.pair_shape1.numpy()), -1
    )
    count = int(search.contact_model.search.required.numpy()[0])
    found = np.stack((search.contact_model.pair_shape0.numpy(), search.contact_model.pair_shape1.numpy()), -1)
    assert len(expected) > 5 and found[:count].tolist() == expected.tolist()


def test_a_disabled_body_of_a_large_world_touches_nothing(device: str) -> None:
    simulation = steps(Simulation(pile_scene((7, 6, 7)), device=device), 20)
    lowest = 0
    bodies = simulation.contacts.body0.numpy()[: int(simulation.contacts.count.numpy()[0])]
    assert (bodies == lowest).any()
    disabled = simulation.model.link_disabled.numpy()
    disabled[lowest] = 1
    simulation.model.link_disabled.assign(disabled)
    simulation.apply_disabled()
    steps(simulation, 1)
    count = int(simulation.contacts.count.numpy()[0])
    touched = np.append(simulation.contacts.body0.numpy()[:count], simulation.contacts.body1.numpy()[:count])
    assert count > 500 and (touched != lowest).all()


def test_a_small_grid_lands_without_gaining_energy(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Impacts for which the contacts cannot be solved at once are swept instead.

    CUDA solves a small environment in one thread: there the grid is smaller, and so is what may be solved at once.
    """
    size = (3, 3, 4) if device == "cpu" else (2, 2, 2)
    if device != "cpu":
        monkeypatch.setattr(direct, "ENVIRONMENT_VALUES", 500)
    simulation = Simulation(pile_scene(size), device=device)
    start = energy_of(simulation)
    assert highest_energy(simulation, 90) <= 1.001 * start
