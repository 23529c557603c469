"""What CUDA gives is what the CPU gave.

The results of the CPU are recorded, so that a CUDA machine without a compiler for its CPU can compare; a test on the
CPU sees that they are still what it gives.
"""

from __future__ import annotations

import importlib.util
import pathlib
from types import ModuleType

import numpy as np
import pytest

import tensorphys_sdf as ts


def _load() -> ModuleType:
    path = pathlib.Path(__file__).with_name("recorded_sdf.py")
    spec = importlib.util.spec_from_file_location("recorded_sdf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


recorded = _load()


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray]:
    with np.load(recorded.RESULTS) as file:
        return dict(file)


def compare(given: dict[str, np.ndarray], expected: dict[str, np.ndarray], bound: float) -> None:
    """Numbers within ``bound`` of the largest one of their kind; booleans equal."""
    for name, values in given.items():
        want = expected[name]
        if want.dtype == bool:
            np.testing.assert_array_equal(values, want, err_msg=name)
            continue
        finite = np.isfinite(want)
        np.testing.assert_array_equal(np.isfinite(values), finite, err_msg=name)
        largest = float(np.abs(want[finite]).max())
        assert np.abs(values[finite] - want[finite]).max() <= bound * largest, name


def test_the_record_is_what_the_cpu_gives(expected: dict[str, np.ndarray]) -> None:
    mesh = expected["vertices"], expected["triangles"]
    field = ts.field_from_mesh(*mesh, parameters=recorded.PARAMETERS, device="cpu")
    compare(recorded.compute(field, expected["points"], expected["ways"]), expected, 1e-6)
    stored = ts.load_field(recorded.FIELD, device="cpu")
    assert stored.key == field.key
    # records hold distances too, whose last bit another compiler may round otherwise
    for given, known in zip(field.grid.bricks(), stored.grid.bricks(), strict=True):
        np.testing.assert_array_equal(given, known)
    for name in ("fine", "exact"):
        np.testing.assert_array_equal(
            field.grid.arrays[name].numpy(), stored.grid.arrays[name].numpy(), err_msg=name
        )


@pytest.mark.parametrize("source", ["stored", "built"])
def test_a_device_gives_what_the_cpu_gave(device: str, expected: dict[str, np.ndarray], source: str) -> None:
    stored = ts.load_field(recorded.FIELD, device=device)
    field = stored
    if source == "built":
        field = ts.field_from_mesh(
            expected["vertices"], expected["triangles"], parameters=recorded.PARAMETERS, device=device
        )
        assert field.key == stored.key and field.grid.layout == stored.grid.layout
        for given, known in zip(field.grid.bricks(), stored.grid.bricks(), strict=True):
            np.testing.assert_array_equal(given, known)
        np.testing.assert_array_equal(field.grid.arrays["exact"].numpy(), stored.grid.arrays["exact"].numpy())
        # one stored unit may be rounded to either side
        unit = field.grid.fine_scale / float(np.abs(expected["sampled_field"][:, 0]).max())
        cell = float(field.grid.layout.fine_cell.min())
        results = recorded.compute(field, expected["points"], expected["ways"])
        for name, values in results.items():
            if name.startswith("exact"):
                compare({name: values}, expected, 1e-5)
        d = np.abs(results["sampled_field"] - expected["sampled_field"])
        assert d[:, 0].max() <= (1e-5 + 1.1 * unit) * np.abs(expected["sampled_field"][:, 0]).max()
        assert d[:, 1:].max() <= 1e-5 + 2.2 * field.grid.fine_scale / cell
        np.testing.assert_array_equal(results["sampled_inside"], expected["sampled_inside"])
        return
    compare(recorded.compute(field, expected["points"], expected["ways"]), expected, 1e-5)
