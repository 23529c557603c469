"""A field whose items follow one another is read and written by a copy; every other one item by item, with the same result."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import warp as wp

import tensorphys

ROOTS = "/envs/*/ant/torso"


def _ants(
    stages: SimpleNamespace, device: str, paths: Any = ROOTS
) -> tuple[tensorphys.SimulationView, tensorphys.ArticulationView]:
    stage = stages.Author.new()
    stage.environments(3, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 5)), spacing=5.0)
    sim = tensorphys.create_simulation_view("warp", stage=stage.stage, environments="/envs/*", device=device)
    return sim, sim.create_articulation_view(paths)


def _numbers() -> np.ndarray:
    return np.random.default_rng(2).uniform(-0.4, 0.4, (3, 8)).astype(np.float32)


ORDERS: dict[str, tuple[int, ...]] = {"all": (0, 1, 2), "last two": (1, 2), "turned": (2, 0), "twice": (1, 1)}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_any_choice_of_rows_reads_and_writes_its_own(
    stages: SimpleNamespace, device: str, order: tuple[int, ...]
) -> None:
    sim, everything = _ants(stages, device)
    view = sim.create_articulation_view([ROOTS.replace("*", path) for path in _names(everything, order)])
    given = _numbers()
    for field in ("dof_positions", "dof_position_targets", "dof_actuation_forces", "dof_stiffnesses"):
        data = wp.array(np.abs(given), dtype=wp.float32, device=device)
        if field == "dof_stiffnesses":
            everything.set_dof_stiffnesses(data, None)
        else:
            getattr(everything, f"set_{field}")(data, None)
        read = getattr(view, f"get_{field}")().numpy()
        np.testing.assert_array_equal(read, np.abs(given)[list(order)], err_msg=field)
    written = np.arange(8 * len(order), dtype=np.float32).reshape(-1, 8)
    view.set_dof_position_targets(wp.array(written, dtype=wp.float32, device=device), None)
    expected = np.abs(given)
    for row, environment in enumerate(order):
        expected[environment] = written[row]
    np.testing.assert_array_equal(everything.get_dof_position_targets().numpy(), expected)


def _names(view: tensorphys.ArticulationView, order: tuple[int, ...]) -> list[str]:
    return [view.prim_paths[row].split("/")[2] for row in order]


def test_some_rows_of_a_view_are_written_alone(stages: SimpleNamespace, device: str) -> None:
    _, view = _ants(stages, device)
    given = _numbers()
    view.set_dof_position_targets(wp.array(given, dtype=wp.float32, device=device), None)
    rows = wp.array(np.array([2], np.int32), dtype=wp.int32, device=device)
    view.set_dof_position_targets(wp.zeros((3, 8), dtype=wp.float32, device=device), rows)
    given[2] = 0.0
    np.testing.assert_array_equal(view.get_dof_position_targets().numpy(), given)


def test_a_field_in_order_needs_no_kernel(stages: SimpleNamespace, device: str) -> None:
    _, view = _ants(stages, device)
    data = wp.array(_numbers(), dtype=wp.float32, device=device)
    with mock.patch.object(wp, "launch", side_effect=AssertionError("a kernel was launched")):
        view.get_dof_positions()
        view.get_dof_position_targets()
        view.set_dof_position_targets(data, None)
        view.set_dof_actuation_forces(data, None)
        with pytest.raises(AssertionError, match="launched"):
            view.get_dof_velocities()  # behind those of the free root
    with mock.patch.object(wp, "launch", side_effect=wp.launch) as launch:
        view.set_dof_positions(data, None)
    assert launch.call_count == 2  # the positions, and the poses of the links
