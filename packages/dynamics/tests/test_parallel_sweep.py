"""Contacts of large environments: colours of manifolds, and sweeps by them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_dynamics import ModelError, Solver
from tensorphys_dynamics.parallel import Form, ParallelSweep
from tensorphys_dynamics.testing import bodies_model, link_energy

COLORS = 62
TYPES: dict[str, Any] = {"anchor0": wp.vec3, "anchor1": wp.vec3, "normal": wp.vec3, "key": wp.int64}
INTEGERS = ("slot_start", "count", "environment", "body0", "body1")


def contacts_between(pairs: np.ndarray, starts: list[int], device: str, **fields: Any) -> SimpleNamespace:
    """Contacts of body pairs, shape [slots, 2], environment by environment; body −1 stands still."""
    slots = len(pairs)
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    values: dict[str, Any] = {
        "slot_start": starts,
        "count": np.diff(starts),
        "environment": owner,
        "body0": pairs[:, 0],
        "body1": pairs[:, 1],
        "anchor0": np.zeros((slots, 3)),
        "anchor1": np.zeros((slots, 3)),
        "normal": np.tile([0.0, 0.0, 1.0], (slots, 1)),
        "rest_distance": np.zeros(slots),
        "key": np.arange(slots),
        "static_friction": np.full(slots, 0.5),
        "dynamic_friction": np.full(slots, 0.5),
        "restitution": np.zeros(slots),
    } | fields
    arrays = {}
    for name, data in values.items():
        dtype = TYPES.get(name, wp.int32 if name in INTEGERS else wp.float32)
        kind = {wp.int32: np.int32, wp.int64: np.int64}.get(dtype, np.float32)
        arrays[name] = wp.array(np.asarray(data, kind), dtype=dtype, device=device)
    return SimpleNamespace(**arrays)


def colored(pairs: np.ndarray, count: int, device: str, copies: int = 1) -> tuple[ParallelSweep, np.ndarray]:
    """The same as `solver_of`, of its sweep."""
    solver, color = solver_of(pairs, count, device, copies)
    assert solver.parallel is not None
    return solver.parallel, color


def solver_of(pairs: np.ndarray, count: int, device: str, copies: int = 1) -> tuple[Solver, np.ndarray]:
    """Colour of each contact of `copies` environments with equal pairs among `count` bodies."""
    model, state, control = bodies_model(
        np.ones(count), np.tile(np.eye(3), (count, 1, 1)), device, copies=copies
    )
    shift = np.repeat(np.arange(copies) * count, len(pairs))[:, None]
    every = np.tile(pairs, (copies, 1))
    every = np.where(every >= 0, every + shift, -1)
    starts = [len(pairs) * e for e in range(copies + 1)]
    solver = Solver(model, state, control, contacts_between(every, starts, device), large_from=1)
    sweep = solver.parallel
    assert sweep is not None
    sweep.color(solver._scratch)
    start, order = sweep.color_start.numpy(), sweep.color_order.numpy()
    slots = sweep.manifolds.first.numpy()
    color = np.full(len(every), -1)
    for c in range(COLORS + 1):
        first = slots[order[start[c] : start[c + 1]]]
        assert (color[first] == -1).all() and (np.diff(first) > 0).all()
        color[first] = c
    assert start[0] == 0
    return solver, color


@st.composite
def graphs(draw: Any) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, edges = draw(st.integers(2, 60)), draw(st.integers(1, 200))
    pairs = rng.integers(-1, count, (edges, 2))
    pairs[pairs[:, 0] == pairs[:, 1], 1] = -1
    pairs = pairs[pairs[:, 0] >= 0]
    if not len(pairs):
        pairs = np.array([[0, -1]])
    # some pairs have several contacts
    return np.repeat(pairs, rng.integers(1, 5, len(pairs)), axis=0), count


def leaders(pairs: np.ndarray) -> np.ndarray:
    return np.append(True, (np.diff(pairs, axis=0) != 0).any(axis=1))


@given(graph=graphs())
def test_manifolds_of_one_color_share_no_body(device: str, graph: tuple[np.ndarray, int]) -> None:
    pairs, count = graph
    sweep, color = colored(pairs, count, device)
    first = leaders(pairs)
    # exactly one colour for each manifold, named by its first contact
    assert (color[first] >= 0).all() and (color[~first] == -1).all()
    totals = sweep.manifolds.totals.numpy()
    assert totals[0] == first.sum() and totals[2] == (color == COLORS).sum()
    assert totals[1] == color[first & (color < COLORS)].max(initial=-1) + 1
    for c in range(COLORS):
        bodies = pairs[first & (color == c)].ravel()
        bodies = bodies[bodies >= 0]
        assert len(bodies) == len(np.unique(bodies))


@given(graph=graphs())
def test_colors_do_not_depend_on_other_environments(device: str, graph: tuple[np.ndarray, int]) -> None:
    pairs, count = graph
    _, alone = colored(pairs, count, device)
    _, both = colored(pairs, count, device, copies=3)
    assert (both.reshape(3, -1) == alone).all()


def test_a_body_with_more_neighbours_than_colors(device: str) -> None:
    """What finds no colour is counted, and solved all the same: a plate on 100 posts."""
    count = 101
    pairs = np.array([(0, i) for i in range(1, count)] + [(i, -1) for i in range(1, count)])
    sweep, color = colored(pairs, count, device)
    assert sweep.manifolds.totals.numpy()[2] == 100 - COLORS
    assert (color[100:] < COLORS).all()


@given(graph=graphs())
def test_manifolds_know_how_many_come_before_them_at_their_bodies(
    device: str, graph: tuple[np.ndarray, int]
) -> None:
    check_turns(*graph, device)


def test_turns_where_colors_do_not_suffice(device: str) -> None:
    plate = np.array([(0, i) for i in range(1, 90)] + [(i, -1) for i in range(1, 90)])
    check_turns(plate, 90, device)


def check_turns(pairs: np.ndarray, count: int, device: str) -> None:
    """Bodies at rest that touch: all take part, and at each body they are numbered in the order of a pass."""
    solver, color = solver_of(pairs, count, device)
    sweep = solver.parallel
    assert sweep is not None
    sweep.select(solver._scratch, solver._rows, [solver.time_step, solver.substeps])
    total = int(sweep.manifolds.totals.numpy()[3])
    assert total == leaders(pairs).sum()
    slots, turns = sweep._heads.slots.numpy()[:total], sweep._heads.turns.numpy()[:total]
    assert (np.diff(color[slots[:, 0]]) >= 0).all()
    before = np.zeros(count, int)
    for head, turn in zip(slots, turns, strict=True):
        for node, rank in zip(head[2:], turn[:2], strict=True):
            if node >= 0:
                assert rank == before[node]
                before[node] += 1


def test_what_no_substep_reaches_is_left_out_until_it_does(device: str) -> None:
    """Pairs of cubes 5 cm above the ground and each other: they fall for 0.1 s before anything takes part."""
    solver, (_, state) = stacks(20, device, drop=0.05)
    assert solver.parallel is not None
    parts = []
    for _ in range(60):
        solver.step()
        parts.append(int(solver.parallel.manifolds.totals.numpy()[3]))
        left_out = solver._rows.left_out.numpy()
        assert (solver._rows.impulse.numpy()[left_out == 1] == 0.0).all()
        assert (solver._rows.separation.numpy() > -1e-3).all()
    assert parts[:5] == [0] * 5 and parts[-1] == 40
    assert np.abs(state.link_velocity.numpy()).max() < 1e-3


def test_manifolds_that_wait_for_each_other_need_cuda() -> None:
    solver, (model, state) = stacks(2, "cpu")
    with pytest.raises(ModelError, match="needs a CUDA device"):
        ParallelSweep(model, state, solver._contact, solver.joints, np.ones(1, np.int32), form="flow")


def stacks(count: int, device: str, *, drop: float = 0.0) -> tuple[Solver, Any]:
    """Pairs of unit cubes on each other, without neighbours; contacts hold for small motions."""
    mass = np.ones(2 * count)
    model, state, control = bodies_model(mass, np.tile(np.eye(3) / 6, (2 * count, 1, 1)), device)
    corners = np.array([(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    below = np.column_stack((corners, np.full(4, -0.5)))
    above = np.column_stack((corners, np.full(4, 0.5)))
    pairs, anchor0, anchor1 = [], [], []
    pose = np.zeros((2 * count, 7))
    pose[:, 6] = 1.0
    for i in range(count):
        pose[2 * i, :3] = (2.0 * i, 0, 0.5 + drop)
        pose[2 * i + 1, :3] = (2.0 * i, 0, 1.5 + 2 * drop)
        pairs += [(2 * i, -1)] * 4 + [(2 * i + 1, 2 * i)] * 4
        anchor0 += [*below, *below]
        anchor1 += [*(below + pose[2 * i, :3] - (0, 0, drop)), *above]
    state.set_initial(root_pose=pose, velocity=np.zeros(12 * count), dof_position=np.zeros(0))
    contacts = contacts_between(np.array(pairs), [0, 8 * count], device, anchor0=anchor0, anchor1=anchor1)
    solver = Solver(model, state, control, contacts, large_from=1)
    solver.update_kinematics(every=True)
    return solver, (model, state)


def test_forces_of_stacks_carry_their_weight(device: str) -> None:
    solver, (_, state) = stacks(150, device)
    for _ in range(30):
        solver.step()
    force = solver.contact_impulse.numpy().reshape(150, 2, 4, 3).sum(axis=2) * 60.0
    assert np.abs(force[:, 0] - [0, 0, 2 * 9.81]).max() < 2e-3 * 9.81
    assert np.abs(force[:, 1] - [0, 0, 9.81]).max() < 2e-3 * 9.81
    assert np.abs(state.link_velocity.numpy()).max() < 1e-4


def test_energy_of_falling_stacks_never_rises(device: str) -> None:
    solver, (model, state) = stacks(20, device, drop=0.02)
    last = sum(link_energy(model, state))
    for _ in range(60):
        solver.step()
        energy = sum(link_energy(model, state))
        assert energy <= last + 1e-4 * abs(last)
        last = energy


def test_colors_launched_alone_give_what_one_launch_gives(device: str) -> None:
    """The order within a colour does not matter: bit-equal states, also run to run, and from packed constants."""
    results = []
    forms = ("serial", "colors", "colors") if device != "cpu" else ("serial", "colors", "grid")
    for form in forms:
        solver, (model, state) = stacks(40, device, drop=0.01)
        large = np.ones(1, np.int32)
        solver.parallel = ParallelSweep(model, state, solver._contact, solver.joints, large, form=form)
        for _ in range(20):
            solver.step()
        results.append(state.link_pose.numpy().tobytes() + state.velocity.numpy().tobytes())
    assert results[0] == results[1] == results[2]


def test_seats_of_a_launch_do_not_matter(device: str) -> None:
    """Barriers and waiting give the same bits for any number of blocks, and what a launch a colour gives to rounding."""
    kinds: list[tuple[Form, int | None]] = [("grid", None), ("grid", None)]
    if device != "cpu":
        kinds = [(form, blocks) for form in ("grid", "flow") for blocks in (1, 2, 7, 64, None)]
    results = []
    for form, blocks in kinds:
        solver, (model, state) = stacks(40, device, drop=0.01)
        large = np.ones(1, np.int32)
        solver.parallel = ParallelSweep(
            model, state, solver._contact, solver.joints, large, form=form, blocks=blocks
        )
        for _ in range(20):
            solver.step()
        results.append(np.append(state.link_pose.numpy().ravel(), state.velocity.numpy()))
    assert all(result.tobytes() == results[0].tobytes() for result in results)
    solver, (model, state) = stacks(40, device, drop=0.01)
    solver.parallel = ParallelSweep(model, state, solver._contact, solver.joints, large, form="colors")
    for _ in range(20):
        solver.step()
    colors = np.append(state.link_pose.numpy().ravel(), state.velocity.numpy())
    assert np.abs(colors - results[0]).max() < 1e-5


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_pairs_rebound(device: str, restitution: float) -> None:
    """Two balls that meet head on, in each of many pairs; nothing else acts."""
    count = 60
    model, state, control = bodies_model(
        np.ones(2 * count), np.tile(np.eye(3), (2 * count, 1, 1)), device, gravity=(0.0, 0.0, 0.0)
    )
    pose = np.zeros((2 * count, 7))
    pose[:, 6] = 1.0
    pose[0::2, 0] = 4.0 * np.arange(count)
    pose[:, 2] = np.where(np.arange(2 * count) % 2, 1.001, 0.0)
    velocity = np.zeros((2 * count, 6))
    velocity[0::2, 2], velocity[1::2, 2] = 1.0, -1.0
    pose[1::2, 0] = pose[0::2, 0]
    state.set_initial(root_pose=pose, velocity=velocity.ravel(), dof_position=np.zeros(0))
    pairs = np.array([(2 * i + 1, 2 * i) for i in range(count)])
    contacts = contacts_between(
        pairs,
        [0, count],
        device,
        anchor0=np.tile([0, 0, -0.5], (count, 1)),
        anchor1=np.tile([0, 0, 0.5], (count, 1)),
        restitution=np.full(count, restitution),
    )
    solver = Solver(model, state, control, contacts, large_from=1)
    solver.update_kinematics(every=True)
    solver.step()
    speed = state.link_velocity.numpy()[:, 2]
    assert np.abs(speed[1::2] - restitution).max() < 1e-5
    assert np.abs(speed[0::2] + restitution).max() < 1e-5
