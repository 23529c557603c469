"""Stepping: recorded graphs, what may change between steps, saved states, environments that do not interact."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics.testing import History
from tensorphys_engine import DivergenceWarning, Simulation, StepError
from tensorphys_engine.saved_state import state_arrays
from tensorphys_engine.testing import ball_scene, pendulum_scene, walker_scene
from tensorphys_scene import Bodies, Scene, Template

DT = 1.0 / 240.0


class Forbidden(Exception):
    """A call that a step must not make."""


@contextlib.contextmanager
def no_host_access(device: Any) -> Iterator[None]:
    """Make reads of device arrays, allocations and synchronisation raise."""

    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise Forbidden

    allocator = type(wp.get_device_allocator(device))
    with contextlib.ExitStack() as stack:
        for owner, name in (
            (wp.array, "numpy"),
            (wp.array, "list"),
            (allocator, "allocate"),
            *((wp, name) for name in dir(wp) if name.startswith("synchronize")),
        ):
            stack.enter_context(mock.patch.object(owner, name, refuse))
        yield


def everything(simulation: Simulation) -> dict[str, np.ndarray]:
    """All state, inputs and warm starts, and the contacts of the last step."""
    arrays = (
        state_arrays(simulation.state, simulation.control, simulation.joints.model)
        | simulation.solver.warm_start()
    )
    result = {name: array.numpy().copy() for name, array in arrays.items()}
    result["contact count"] = simulation.contacts.count.numpy().copy()
    result["contact impulse"] = simulation.solver.contact_impulse.numpy().copy()
    return result


def assert_same_bits(first: Simulation, second: Simulation) -> None:
    a, b = everything(first), everything(second)
    assert [name for name in a if a[name].tobytes() != b[name].tobytes()] == []


def run(simulation: Simulation, steps: int, dt: float = DT) -> Simulation:
    for _ in range(steps):
        simulation.step(dt)
    return simulation


def run_and_look(simulation: Simulation, steps: int) -> None:
    """Steps, and a look at what diverged; on a GPU no step waits for the device to look."""
    run(simulation, steps)
    simulation.check_diverged()


def test_a_recorded_step_neither_reads_nor_allocates_nor_waits(device: str) -> None:
    simulation = Simulation(walker_scene(2), device=device)
    simulation.record()
    with no_host_access(device):
        run(simulation, 3)
        run(simulation, 2, dt=1.0 / 120.0)
        simulation.set_gravity((0.0, 0.0, -1.0))
        run(simulation, 2)
    assert simulation.step_count == 7


def test_launching_the_kernels_of_a_step_neither_reads_nor_allocates_nor_waits(device: str) -> None:
    simulation = Simulation(walker_scene(2), device=device, use_graph=False)
    run(simulation, 1)
    with no_host_access(device):
        run(simulation, 3)


@pytest.mark.parametrize(
    "access",
    [
        lambda simulation: simulation.state.link_pose.numpy(),
        lambda simulation: wp.zeros(3, dtype=wp.float32, device=simulation.device),
        lambda simulation: wp.synchronize(),
        lambda simulation: wp.synchronize_device(simulation.device),
        lambda simulation: simulation.save_state(),
        lambda simulation: simulation.gravity,
    ],
)
def test_host_access_is_caught_where_it_happens(device: str, access: Any) -> None:
    simulation = Simulation(ball_scene(), device=device)
    with no_host_access(device), pytest.raises(Forbidden):
        access(simulation)


def test_replay_equals_direct_launches_whatever_changes_between_steps(device: str) -> None:
    pair = [Simulation(walker_scene(3), device=device, use_graph=use) for use in (True, False)]
    for simulation in pair:
        run(simulation, 10)
        simulation.set_gravity((0.5, 0.0, -12.0))
        run(simulation, 10)
        run(simulation, 10, dt=1.0 / 120.0)
        model, control = simulation.model, simulation.control
        model.dof_stiffness.assign(model.dof_stiffness.numpy() * 3.0)
        model.dof_damping.fill_(0.2)
        model.link_mass.assign(model.link_mass.numpy() * 1.5)
        simulation.contact_model.dynamic_friction.fill_(0.1)
        control.position_target.fill_(-0.4)
        control.actuation.fill_(0.3)
        control.link_force.fill_(wp.vec3(0.0, 1.0, 0.0))
        run(simulation, 10, dt=1.0 / 120.0)
    assert_same_bits(*pair)
    assert pair[0].time == pair[1].time


def test_each_change_between_replays_changes_the_motion(device: str) -> None:
    def gravity(simulation: Simulation) -> None:
        simulation.set_gravity((0.0, 0.0, -3.0))

    def stiffness(simulation: Simulation) -> None:
        simulation.model.dof_stiffness.fill_(5.0)

    def mass(simulation: Simulation) -> None:
        simulation.model.link_mass.fill_(3.0)

    def friction(simulation: Simulation) -> None:
        simulation.contact_model.static_friction.fill_(0.0)
        simulation.contact_model.dynamic_friction.fill_(0.0)

    simulation = Simulation(walker_scene(), device=device)
    run(simulation, 60)
    start = simulation.save_state()
    plain = everything(run(simulation, 20))["state.velocity"]
    for change in (gravity, stiffness, mass, friction):
        simulation.load_state(start)
        change(simulation)
        assert not np.array_equal(everything(run(simulation, 20))["state.velocity"], plain), change.__name__
    simulation.load_state(start)
    assert np.array_equal(everything(run(simulation, 20))["state.velocity"], plain)


def test_launches_of_a_step_are_counted(device: str) -> None:
    simulation = Simulation(walker_scene(), device=device, use_graph=False)
    with mock.patch.object(wp, "launch", side_effect=wp.launch) as launch:
        simulation.step(DT)
    assert simulation.launch_count == launch.call_count
    assert simulation.launch_count < 30


def test_a_scene_without_pairs_of_shapes_looks_for_no_contacts(device: str) -> None:
    bodies = Bodies(path=("/ball",), pose=[[0, 0, 3, 0, 0, 0, 1]], mass=[1.0], inertia=[0.1 * np.eye(3)])
    scene = Scene(templates=(Template(prims=("", "/ball"), bodies=bodies),))
    simulation = Simulation(scene, device=device, use_graph=False)
    with mock.patch.object(wp, "launch", side_effect=wp.launch) as launch:
        simulation.step(DT)
    assert simulation.launch_count == launch.call_count == 2


def test_launches_do_not_grow_with_environments(device: str) -> None:
    counts = set()
    for environments in (1, 8):
        simulation = Simulation(walker_scene(environments), device=device)
        simulation.record()
        counts.add(simulation.launch_count)
    assert len(counts) == 1


def test_reset_equals_a_fresh_build(device: str) -> None:
    simulation = Simulation(walker_scene(3), device=device)
    run(simulation, 80)
    simulation.model.link_mass.fill_(2.0)
    simulation.set_gravity((1.0, 0.0, 0.0))
    simulation.control.position_target.fill_(0.7)
    simulation.reset()
    fresh = Simulation(walker_scene(3), device=device)
    assert_same_bits(simulation, fresh)
    assert (simulation.time, simulation.step_count) == (0.0, 0)
    run(simulation, 80)
    run(fresh, 80)
    assert_same_bits(simulation, fresh)


def test_reset_can_keep_parameters(device: str) -> None:
    simulation = Simulation(ball_scene(), device=device)
    simulation.set_gravity((0.0, 0.0, -2.0))
    run(simulation, 10)
    simulation.reset(parameters=False)
    assert simulation.gravity.tolist() == [[0.0, 0.0, -2.0]]
    assert simulation.state.root_pose.numpy()[0, 2] == 1.0


def test_a_saved_state_continues_bit_for_bit(device: str) -> None:
    simulation = Simulation(walker_scene(2), device=device)
    run(simulation, 70)
    saved = simulation.save_state()
    reached = everything(run(simulation, 40))
    run(simulation, 10)
    simulation.load_state(saved)
    assert simulation.step_count == 70
    assert simulation.contacts.count.numpy().tolist() == [0, 0]
    again = everything(run(simulation, 40))
    assert [name for name in reached if reached[name].tobytes() != again[name].tobytes()] == []


def test_a_saved_state_of_another_scene_is_refused(device: str) -> None:
    saved = Simulation(ball_scene(), device=device).save_state()
    simulation = Simulation(walker_scene(), device=device)
    before = everything(simulation)
    with pytest.raises(StepError, match="another scene"):
        simulation.load_state(saved)
    after = everything(simulation)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def moving_arrays(simulation: Simulation) -> tuple[Any, ...]:
    """Poses, velocities and joint positions."""
    state = simulation.state
    return state.link_pose, state.link_velocity, state.dof_position


def local_rows(simulation: Simulation, environment: int, rows: Any = None) -> list[np.ndarray]:
    """The same of one environment, as they are now or as they were read."""
    numbering = simulation.directory.numbering
    rows = [array.numpy() for array in moving_arrays(simulation)] if rows is None else rows
    result = []
    for layout, values in zip((numbering.links, numbering.links, numbering.dofs), rows, strict=True):
        first, end = layout.start[environment : environment + 2]
        result.append(values[first:end])
    return result


@pytest.mark.parametrize(("count", "environment"), [(7, 3), (4096, 4095)])
def test_an_environment_moves_as_if_it_were_alone(device: str, count: int, environment: int) -> None:
    alone = Simulation(walker_scene(), device=device)
    many = Simulation(walker_scene(count, spacing=2.0), device=device)
    assert np.abs(many.environment_origin[environment]).max() > 0.5
    for simulation in (alone, many):
        run(simulation, 24, dt=1.0 / 120.0)
    assert alone.contacts.count.numpy()[0] > 0
    for a, b in zip(local_rows(alone, 0), local_rows(many, environment), strict=True):
        assert a.tobytes() == b.tobytes()


def test_what_happens_in_one_environment_stays_there(device: str) -> None:
    plain, disturbed = (Simulation(walker_scene(3), device=device) for _ in range(2))
    links = disturbed.directory.numbering.links
    force = np.zeros((links.total, 3), np.float32)
    force[links.start[1] : links.start[2]] = np.nan
    disturbed.control.link_force.assign(force)
    run(plain, 30)
    with pytest.warns(DivergenceWarning):
        run_and_look(disturbed, 30)
    assert disturbed.state.diverged.numpy().any()
    for environment in (0, 2):
        for a, b in zip(local_rows(plain, environment), local_rows(disturbed, environment), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("flipped", [False, True])
def test_pendulum_swings_with_its_period(device: str, flipped: bool) -> None:
    simulation = Simulation(pendulum_scene(flipped=flipped), device=device)
    history = History((simulation.state.dof_position,), 700)
    for _ in range(700):
        simulation.step(DT)
        history.keep()
    q = np.array([position[0] for (position,) in history.read()], float)
    down = np.flatnonzero((q[:-1] > 0.0) & (q[1:] <= 0.0))
    crossing = down + q[down] / (q[down] - q[down + 1])
    assert len(crossing) == 2
    period = 2.0 * math.pi / math.sqrt(9.81) * (1.0 + 0.1**2 / 16.0)
    assert np.diff(crossing)[0] * DT == pytest.approx(period, rel=1e-3)


def test_a_flipped_joint_gives_the_same_motion_with_the_opposite_sign(device: str) -> None:
    straight = Simulation(pendulum_scene(angle=0.4), device=device)
    flipped = Simulation(pendulum_scene(flipped=True, angle=-0.4), device=device)
    for simulation in (straight, flipped):
        run(simulation, 100)
    a, b = (simulation.state.link_pose.numpy() for simulation in (straight, flipped))
    np.testing.assert_allclose(a, b, atol=1e-5)
    q = [float(simulation.state.dof_position.numpy()[0]) for simulation in (straight, flipped)]
    assert q[0] == pytest.approx(-q[1], abs=1e-5)
    assert abs(q[0] - 0.4) > 0.05


def test_a_ball_falls_and_comes_to_rest_on_the_shared_ground(device: str) -> None:
    simulation = Simulation(ball_scene(2, spacing=3.0), device=device)
    run(simulation, 48)
    fall = 0.5 * 9.81 * 0.2**2
    assert simulation.state.root_pose.numpy()[:, 2] == pytest.approx(1.0 - fall, abs=0.005 * fall)
    run(simulation, 400)
    assert simulation.state.root_pose.numpy()[:, 2] == pytest.approx(0.1, abs=5e-4)
    impulse = simulation.solver.contact_normal_impulse.numpy()[simulation.contacts.slot_start.numpy()[:2]]
    assert impulse == pytest.approx(9.81 * DT, rel=5e-3)


def test_a_fast_body_does_not_pass_through_the_ground(device: str) -> None:
    simulation = Simulation(ball_scene(), device=device)
    velocity = np.array([0, 0, -80.0, 0, 0, 0], np.float32)
    simulation.state.velocity.assign(velocity)
    simulation.state.fresh.fill_(1)
    simulation.refresh()
    lowest = 1.0
    for _ in range(30):
        simulation.step(1.0 / 60.0)
        lowest = min(lowest, float(simulation.state.root_pose.numpy()[0, 2]))
    assert lowest > 0.05
    assert simulation.state.root_pose.numpy()[0, 2] > 0.099


def test_time_and_step_length(device: str) -> None:
    simulation = Simulation(ball_scene(), device=device)
    assert simulation.time_step == pytest.approx(DT)
    simulation.step()
    simulation.step(0.5 * DT)
    simulation.step()
    assert simulation.time == pytest.approx(2.0 * DT)
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(StepError, match="dt"):
            simulation.step(bad)


def test_gravity_of_each_environment(device: str) -> None:
    simulation = Simulation(ball_scene(2), device=device)
    simulation.set_gravity([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    run(simulation, 24)
    x = simulation.state.root_pose.numpy()
    assert x[0, :3].tolist() == [0.0, 0.0, 1.0]
    assert x[1, 0] == pytest.approx(0.5 * 0.1**2, rel=5e-3)
    assert simulation.gravity.tolist() == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    simulation.gravity = (0.0, 2.0, 0.0)
    assert simulation.gravity.tolist() == [[0.0, 2.0, 0.0]] * 2
    for bad in ([1.0, 2.0], [[0.0] * 3] * 3, [math.nan, 0.0, 0.0]):
        with pytest.raises(StepError, match="gravity"):
            simulation.set_gravity(bad)


def test_refresh_derives_link_poses_of_written_articulations_only(device: str) -> None:
    simulation = Simulation(pendulum_scene(2), device=device)
    before = simulation.state.link_pose.numpy().copy()
    simulation.state.dof_position.assign(np.array([0.5, 0.5], np.float32))
    simulation.state.fresh.assign(np.array([0, 1], np.int32))
    simulation.refresh()
    after = simulation.state.link_pose.numpy()
    assert np.array_equal(after[:2], before[:2])
    rod = after[3]
    assert rod[0] == pytest.approx(-math.sin(0.5), abs=1e-6)
    assert rod[2] == pytest.approx(2.0 - math.cos(0.5), abs=1e-6)


def test_a_kinematic_body_follows_its_prescribed_velocity(device: str) -> None:
    simulation = Simulation(walker_scene(), device=device)
    platform = simulation.lookup("/World/envs/env_0/platform")
    velocity = np.zeros((simulation.model.articulation_count, 6), np.float32)
    velocity[platform.articulation, 0] = 0.5
    simulation.state.root_velocity.assign(velocity)
    run(simulation, 24)
    x = simulation.state.link_pose.numpy()[platform.link]
    assert x[:3] == pytest.approx([0.55, 0.0, 0.1], abs=1e-5)


@pytest.mark.parametrize("poison", [False, True])
def test_an_environment_written_back_to_its_start_equals_a_fresh_one(device: str, poison: bool) -> None:
    simulation = Simulation(walker_scene(3), device=device)
    state, links = simulation.state, simulation.directory.numbering.links
    truth = {name: getattr(state, name).numpy().copy() for name in ("root_pose", "velocity", "dof_position")}
    run(simulation, 70)
    if poison:
        force = np.zeros((links.total, 3), np.float32)
        force[links.start[1] : links.start[2]] = np.nan
        simulation.control.link_force.assign(force)
        with pytest.warns(DivergenceWarning):
            run_and_look(simulation, 5)
        assert np.isfinite(local_rows(simulation, 1)[0]).all()
    else:
        assert simulation.contacts.count.numpy()[1] > 0
    for name, values in truth.items():
        current = getattr(state, name).numpy().copy()
        own = slice(len(values) // 3, 2 * len(values) // 3)
        current[own] = values[own]
        getattr(state, name).assign(current)
    fresh = state.fresh.numpy().copy()
    fresh[3:6] = 1
    state.fresh.assign(fresh)
    simulation.refresh()
    again = Simulation(walker_scene(3), device=device)
    histories = [History(moving_arrays(each), 70) for each in (again, simulation)]
    for _ in range(70):
        simulation.step(DT)
        again.step(DT)
        for history in histories:
            history.keep()
    for rows in zip(*(history.read() for history in histories), strict=True):
        for a, b in zip(*(local_rows(again, 1, row) for row in rows), strict=True):
            assert a.tobytes() == b.tobytes()
