"""Counts of a step that change while a simulation goes on."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_engine import Simulation, StepError
from tensorphys_engine.testing import walker_scene

DT = 1.0 / 240.0


def states(simulation: Simulation, steps: int) -> list[bytes]:
    result = []
    for _ in range(steps):
        simulation.step(DT)
        state = simulation.state
        result += [array.numpy().tobytes() for array in (state.link_pose, state.velocity, state.dof_position)]
    return result


def test_steps_are_those_of_a_simulation_that_was_built_with_the_counts(device: str) -> None:
    changed = Simulation(walker_scene(2), device=device)
    changed.set_iterations(9, 2)
    built = Simulation(walker_scene(2), device=device, substeps=9, velocity_passes=2)
    assert (changed.substeps, changed.velocity_passes) == (9, 2)
    assert states(changed, 40) == states(built, 40)
    # What carries to the next step stays: back and forth between two steps changes nothing.
    changed.set_iterations(substeps=3)
    assert (changed.substeps, changed.velocity_passes) == (3, 2)
    changed.set_iterations(9)
    assert changed.contacts.count.numpy().min() > 0
    assert states(changed, 5) == states(built, 5)
    changed.reset()
    built.reset()
    assert states(changed, 5) == states(built, 5)


def test_counts_below_one_are_refused(device: str) -> None:
    simulation = Simulation(walker_scene(1), device=device)
    before = (simulation.substeps, simulation.velocity_passes)
    for wrong in ({"substeps": 0}, {"velocity_passes": -1}):
        with pytest.raises(StepError, match="at least 1"):
            simulation.set_iterations(**wrong)
    assert (simulation.substeps, simulation.velocity_passes) == before
    solver = simulation.solver
    simulation.set_iterations(*before)
    assert simulation.solver is solver and np.isfinite(simulation.state.link_pose.numpy()).all()
