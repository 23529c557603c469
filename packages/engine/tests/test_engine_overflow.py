"""Contact buffers that are too small: growing, raising, warning, and looking only when asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics.testing import History
from tensorphys_engine import ContactOverflowError, ContactOverflowWarning, Simulation, StepError
from tensorphys_engine.testing import walker_scene

DT = 1.0 / 240.0
# Room for about 3 contacts in each of 3 environments.
SMALL = 6000


def run(simulation: Simulation, steps: int) -> Simulation:
    for _ in range(steps):
        simulation.step(DT)
    return simulation


def small(device: str, **options: Any) -> Simulation:
    return Simulation(walker_scene(3), device=device, contact_budget=SMALL, **options)


def arrays_of(simulation: Simulation) -> tuple[wp.array, ...]:
    state = simulation.state
    return state.link_pose, state.velocity, state.dof_position


def state_of(simulation: Simulation) -> list[bytes]:
    return [array.numpy().tobytes() for array in arrays_of(simulation)]


def states_of(simulation: Simulation, steps: int) -> list[list[bytes]]:
    """States after each of some steps."""
    history = History(arrays_of(simulation), steps)
    for _ in range(steps):
        simulation.step(DT)
        history.keep()
    return [[array.tobytes() for array in row] for row in history.read()]


def slots(simulation: Simulation) -> list[int]:
    return np.diff(simulation.contacts.slot_start.numpy()).tolist()


@pytest.fixture(scope="module")
def reference(device: str) -> list[list[bytes]]:
    """States after each of 120 steps with buffers that hold everything."""
    simulation = Simulation(walker_scene(3), device=device, contact_budget=None)
    states = states_of(simulation, 120)
    fewest = int(simulation.contacts.count.numpy().min())
    assert fewest >= 6
    return states


def test_the_default_budget_holds_everything(device: str) -> None:
    simulation = Simulation(walker_scene(3), device=device)
    full = Simulation(walker_scene(3), device=device, contact_budget=None)
    assert slots(simulation) == slots(full) == simulation.contact_model.environment_capacity.tolist()


def test_strict_growth_gives_the_steps_of_large_buffers(device: str, reference: list[list[bytes]]) -> None:
    simulation = small(device, strict=True)
    first = slots(simulation)
    assert max(first) < 6
    for step, state in enumerate(states_of(simulation, 120)):
        assert state == reference[step], step
    assert min(slots(simulation)) > max(first)
    assert simulation.step_count == 120
    assert not simulation.contacts.overflow.numpy().any()


def test_raising_leaves_the_state_before_the_step(device: str, reference: list[list[bytes]]) -> None:
    simulation = small(device, strict=True, on_overflow="raise")
    with pytest.raises(
        ContactOverflowError, match=r"contact buffer: 3 environments .*env_\d \d+ contacts where \d fit"
    ):
        run(simulation, 120)
    assert simulation.step_count > 0
    assert state_of(simulation) == reference[simulation.step_count - 1]
    with pytest.raises(ContactOverflowError):
        simulation.step(DT)


def test_warning_goes_on_with_the_deepest_contacts(device: str) -> None:
    simulation = small(device, strict=True, on_overflow="warn")
    with pytest.warns(ContactOverflowWarning, match="the deepest were kept"):
        run(simulation, 120)
    assert simulation.step_count == 120
    assert simulation.contacts.count.numpy().tolist() == slots(simulation)
    assert np.isfinite(simulation.state.link_pose.numpy()).all()


def test_without_strict_steps_are_looked_at_when_asked(device: str, reference: list[list[bytes]]) -> None:
    simulation = small(device, strict=False)
    first = slots(simulation)
    run(simulation, 120)
    assert slots(simulation) == first
    assert state_of(simulation) != reference[119]
    simulation.check_contacts()
    grown = slots(simulation)
    assert min(grown) > max(first)
    simulation.check_contacts()
    run(simulation, 60)
    simulation.check_contacts()
    assert min(slots(simulation)) >= min(grown)
    lenient = small(device, strict=False, on_overflow="raise")
    run(lenient, 120)
    with pytest.raises(ContactOverflowError):
        lenient.check_contacts()
    # The look clears the marks.
    lenient.check_contacts()


def test_a_state_saved_before_growth_continues_after_it(device: str) -> None:
    simulation = small(device, strict=True)
    while simulation.contacts.count.numpy().sum() == 0:
        simulation.step(DT)
    run(simulation, 1)
    saved = simulation.save_state()
    room = slots(simulation)
    states = states_of(simulation, 100)
    assert slots(simulation) != room
    simulation.load_state(saved)
    assert states_of(simulation, 100) == states


def test_growth_keeps_what_the_user_set(device: str) -> None:
    simulation = small(device, strict=True)
    simulation.solver.bounce_threshold.fill_(7.0)
    simulation.set_gravity((0.0, 0.0, -12.0))
    solver = simulation.solver
    run(simulation, 120)
    assert simulation.solver is not solver
    assert simulation.solver.bounce_threshold.numpy()[0] == 7.0
    assert simulation.solver.time_step.numpy()[0] == np.float32(DT)
    assert simulation.gravity[0].tolist() == [0.0, 0.0, -12.0]
    simulation.reset()
    assert simulation.solver.bounce_threshold.numpy()[0] == np.float32(0.2)
    assert isinstance(simulation.solver.time_step, wp.array)


def test_an_unknown_policy_is_refused(device: str) -> None:
    with pytest.raises(StepError, match="on_overflow"):
        small(device, on_overflow="ignore")


def test_a_write_after_growth_forgets_the_impulses_of_the_solver_that_is_there_now(device: str) -> None:
    simulation = run(small(device, strict=True), 120)
    counts = simulation.solver.warm_start()["previous_count"]
    assert counts.numpy().max() > 0
    simulation.state.fresh.fill_(1)
    simulation.refresh()
    assert not counts.numpy().any()


def test_a_graph_of_the_user_is_recorded_anew_after_growth(device: str) -> None:
    """Steps in a graph of somebody else never look: what overflowed is seen at the next look, and then fits."""
    simulation = run(small(device, strict=False), 60)
    with wp.ScopedCapture(device=device) as capture:
        simulation.step(DT)
    wp.capture_launch(capture.graph)
    assert simulation.contacts.overflow.numpy().any()
    before = simulation.contacts
    simulation.check_contacts()
    assert simulation.contacts is not before
    simulation.step(DT)
    with wp.ScopedCapture(device=device) as capture:
        simulation.step(DT)
    for _ in range(30):
        wp.capture_launch(capture.graph)
    assert not simulation.contacts.overflow.numpy().any()
    assert int(simulation.contacts.count.numpy().min()) >= 6
