"""Many fields in plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tensorphys_sdf as ts
from tensorphys_sdf.testing import box_mesh, sphere_mesh, torus_mesh


def test_a_table_gives_what_its_fields_give(device: str) -> None:
    meshes = [box_mesh(), torus_mesh(around=16, along=32), sphere_mesh(cuts=6), sphere_mesh(cuts=4)]
    parameters = [
        ts.FieldParameters(resolution=24),
        ts.FieldParameters(resolution=40, bits_per_subgrid_pixel=8),
        ts.FieldParameters(resolution=16, subgrid_resolution=0),
        ts.FieldParameters(resolution=20, subgrid_resolution=4, bits_per_subgrid_pixel=32),
    ]
    fields = [
        ts.field_from_mesh(*m, parameters=p, device=device) for m, p in zip(meshes, parameters, strict=True)
    ]
    order = [2, 0, 1, 3, 1]
    table = ts.FieldTable([fields[k] for k in order])
    assert table.field_count == 5
    for name in ("coarse", "record", "fine"):  # a field in two rows is copied once
        size = sum(f.grid.arrays[name].size for f in fields if name in f.grid.arrays)
        assert size <= getattr(table, name).size < size + 4 * len(fields)
    rng = np.random.default_rng(0)
    for row, k in enumerate(order):
        layout = fields[k].grid.layout
        low, high = layout.lower + layout.cell, layout.upper - layout.cell
        p = rng.uniform(low, high, (2000, 3)).astype(np.float32)
        expected = fields[k].distance_and_gradient(p)
        r = table.distance_and_gradient(np.full(2000, row), p)
        np.testing.assert_allclose(r[:, 0], expected[:, 0], atol=2e-6)
        assert np.mean(np.abs(r - expected).max(axis=1) < 1e-4) > 0.999
        bound = table.reals.numpy()[row, 8]
        assert bound == pytest.approx(fields[k].error_bound)
        beyond = layout.upper + np.array([0.3, 0.4, 0.0])
        edge = table.distance_and_gradient([row], [layout.upper])[0, 0]
        assert table.distance_and_gradient([row], [beyond])[0, 0] == pytest.approx(edge + 0.5, abs=1e-5)


def test_tables_of_nothing_and_wrong_rows(device: str) -> None:
    empty = ts.FieldTable([], device=device)
    assert empty.field_count == 0 and empty.distance_and_gradient(np.zeros(0), np.zeros((0, 3))).shape == (
        0,
        4,
    )
    field = ts.field_from_mesh(*box_mesh(), parameters=ts.FieldParameters(resolution=12), device=device)
    table = ts.FieldTable([field])
    with pytest.raises(ts.ArrayError, match="0 to 0, got 1 to 1"):
        table.distance_and_gradient([1], [(0.0, 0.0, 0.0)])
    with pytest.raises(ts.ArrayError, match="N rows"):
        table.distance_and_gradient([0, 0], [(0.0, 0.0, 0.0)])
