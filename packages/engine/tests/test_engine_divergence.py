"""Articulations whose velocities come out beyond all bounds: stopped, named once, alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tensorphys_engine import DivergenceWarning, Simulation
from tensorphys_engine.testing import walker_scene

DT = 1.0 / 240.0


def pushed(device: str, strict: bool) -> Simulation:
    """Three environments, on the walker of the second a force of which no number can hold the effect."""
    simulation = Simulation(walker_scene(3), device=device, strict=strict)
    force = np.zeros((simulation.model.link_count, 3), np.float32)
    force[simulation.directory.numbering.links.start[1]] = 3e38
    simulation.control.link_force.assign(force)
    return simulation


def test_a_strict_step_names_what_was_stopped(device: str) -> None:
    simulation = pushed(device, True)
    free = Simulation(walker_scene(3), device=device)
    with pytest.warns(DivergenceWarning, match="/World/envs/env_1/walker/torso"):
        simulation.step(DT)
    free.step(DT)
    # named once; no other environment feels it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(10):
            simulation.step(DT)
            free.step(DT)
    environment = simulation.model.articulation_environment.numpy()
    assert (environment[simulation.state.diverged.numpy() == 1] == 1).all()
    pose, expected = simulation.state.link_pose.numpy(), free.state.link_pose.numpy()
    assert np.isfinite(pose).all()
    start = simulation.directory.numbering.links.start
    np.testing.assert_array_equal(pose[: start[1]], expected[: start[1]])
    np.testing.assert_array_equal(pose[start[2] :], expected[start[2] :])
    simulation.reset()
    assert not simulation.state.diverged.numpy().any()
    simulation.step(DT)


def test_others_tell_when_they_are_asked(device: str) -> None:
    simulation = pushed(device, False)
    simulation.step(DT)
    with pytest.warns(DivergenceWarning, match="stopped where it stood"):
        simulation.check_diverged()
    simulation.check_diverged()
