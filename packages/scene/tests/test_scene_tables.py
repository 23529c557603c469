"""Columns: types, shapes, defaults, checks."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tensorphys_scene import (
    Articulations,
    Axes,
    Bodies,
    Joints,
    Links,
    Materials,
    SceneError,
    SceneValueError,
    Shapes,
    Table,
    equal,
)

_KINDS: tuple[type[Table], ...] = (Bodies, Shapes, Materials, Joints, Axes, Links, Articulations)


def columns(kind: type[Table]) -> list[dataclasses.Field[object]]:
    return [field for field in dataclasses.fields(kind) if "dtype" in field.metadata]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A table of any kind whose columns hold random numbers."""
    kind = draw(st.sampled_from(_KINDS))
    count = draw(st.integers(0, 4))
    values = {}
    for field in columns(kind):
        shape, dtype = (count, *field.metadata["shape"]), field.metadata["dtype"]
        elements = st.floats(-1024, 1024) if dtype.kind == "f" else None
        values[field.name] = draw(arrays.arrays(dtype, shape, elements=elements))
    return kind(path=tuple(f"/p{row}" for row in range(count)), **values)


@given(table=tables())
def test_columns_have_the_declared_type_and_shape_and_are_read_only(table: Table) -> None:
    for field in columns(type(table)):
        values = getattr(table, field.name)
        assert values.dtype == field.metadata["dtype"]
        assert values.shape == (table.count, *field.metadata["shape"])
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0


@given(table=tables())
def test_equal_after_pickling_and_after_taking_all_rows(table: Table) -> None:
    assert equal(table, pickle.loads(pickle.dumps(table)))
    assert equal(table, table.take(range(table.count)))


@given(table=tables(), data=st.data())
def test_take_moves_rows(table: Table, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, max(table.count - 1, 0)), max_size=5 if table.count else 0))
    taken = table.take(rows)
    assert taken.path == tuple(table.path[row] for row in rows)
    for field in columns(type(table)):
        np.testing.assert_array_equal(getattr(taken, field.name), getattr(table, field.name)[rows])


@given(table=tables(), data=st.data())
def test_one_changed_number_makes_tables_differ(table: Table, data: st.DataObject) -> None:
    if not table.count:
        return
    field = data.draw(st.sampled_from(columns(type(table))))
    values = getattr(table, field.name).copy()
    index = tuple(data.draw(st.integers(0, size - 1)) for size in values.shape)
    kind = values.dtype.kind
    values[index] = (
        not values[index] if kind == "b" else values[index] ^ 1 if kind in "iu" else values[index] - 1
    )
    assert not equal(table, table.replace(**{field.name: values}))
    assert not equal(table, Bodies() if not isinstance(table, Bodies) else Shapes())


def test_defaults_and_required_columns() -> None:
    bodies = Bodies(path=("/a", "/b"), mass=[1.0, 2.0], inertia=np.stack([np.eye(3)] * 2))
    np.testing.assert_array_equal(bodies.pose, [(0, 0, 0, 0, 0, 0, 1)] * 2)
    assert np.isinf(bodies.max_linear_velocity).all()
    assert bodies.row("/b") == 1
    with pytest.raises(SceneValueError, match=r"Bodies.mass is required: expected an array of shape \(1,\)"):
        Bodies(path=("/a",), inertia=[np.eye(3)])
    with pytest.raises(SceneValueError, match="Bodies has no row /c"):
        bodies.row("/c")


def test_the_caller_keeps_its_array() -> None:
    mass = np.ones(1)
    bodies = Bodies(path=("/a",), mass=mass, inertia=[np.eye(3)])
    mass[0] = 7.0
    assert bodies.mass[0] == 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mass": [1.0, 2.0]}, r"Bodies.mass: expected shape \(1,\), given \(2,\)"),
        ({"mass": [np.nan]}, "Bodies.mass of /a is not finite: nan"),
        ({"pose": [[0, 0, 0, 0, 0, np.inf, 1]]}, "Bodies.pose of /a is not finite"),
        ({"position_iterations": [1.5]}, "Bodies.position_iterations: expected int32, given float64"),
        ({"kinematic": [2]}, "Bodies.kinematic: expected bool, given int64"),
    ],
)
def test_wrong_columns_are_named(values: dict[str, object], message: str) -> None:
    given = {"mass": [1.0], "inertia": [np.eye(3)], **values}
    with pytest.raises(SceneValueError, match=message) as caught:
        Bodies(path=("/a",), **given)  # type: ignore[arg-type]
    assert isinstance(caught.value, SceneError)
    assert isinstance(caught.value, ValueError)
