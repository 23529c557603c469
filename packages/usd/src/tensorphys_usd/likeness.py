"""Which environments are equal up to numbers, and which numbers differ; found for all environments at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tensorphys_scene import SoftData
from tensorphys_usd.rows import TableRows

IntArray = npt.NDArray[np.int64]

# Relative difference below which two authored numbers are one: subtracting origins costs a few roundings.
_SAME = 1e-9
# Columns that count within an environment what is numbered over the whole stage.
_COUNTED = ("mesh", "material")


class SplitRows(Protocol):
    """Rows of a stage by environment, as `environments.Splitter` has them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tables."""

    def table(self, name: str) -> TableRows:
        """Rows of a table for the whole stage."""

    def rows_of(self, name: str, environment: int) -> IntArray:
        """Rows of a table that an environment holds."""

    def row_counts(self, name: str, environments: IntArray) -> IntArray:
        """Their numbers, shape [environments]."""

    def rows_of_all(self, name: str, environments: IntArray) -> IntArray:
        """Rows of a table of environments that hold equally many, shape [environments, rows]."""

    def local(self, name: str, column: str, rows: IntArray) -> npt.NDArray[Any]:
        """Values of a column, references counted within their environment."""

    def places(self, name: str, rows: IntArray) -> IntArray:
        """Where the prims of rows stand below the root of their environment, in depth-first order."""

    def numbers(self, name: str, column: str, environments: IntArray) -> npt.NDArray[Any] | None:
        """Values of a float column, shape [environments, rows, ...]; None where all are surely equal."""

    def prims(self, environment: int) -> tuple[str, ...]:
        """Relative paths of all prims of an environment."""

    def pairs(self, environment: int) -> npt.NDArray[np.int32]:
        """Filtered pairs of local shapes."""


def equal_groups(split: SplitRows, environments: IntArray) -> list[IntArray]:
    """Environments that can share a template: equal in all but floats.

    Args:
        split: The rows.
        environments: Environments that were parsed, ascending.

    Returns:
        Groups in the order of their first members, each ascending.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for batch in _equally_long(split, environments):
        for environment, key in zip(batch.tolist(), _keys(split, batch), strict=True):
            groups.setdefault(key, []).append(environment)
    return [np.array(members) for members in sorted(groups.values())]


def differences(split: SplitRows, readers: IntArray) -> dict[str, npt.NDArray[np.float64]]:
    """Float columns that differ between environments of one template, by "table.column", one row an environment.

    Args:
        split: The rows.
        readers: Environments whose numbers count, the one that the template is made of first.
    """
    result: dict[str, npt.NDArray[np.float64]] = {}
    for name in split.names:
        table = split.table(name)
        for column, values in table.columns.items():
            if values.dtype.kind != "f" or not table.count:
                continue
            stacked = split.numbers(name, column, readers)
            if stacked is None or not stacked.size:
                continue
            first = stacked[0]
            with np.errstate(invalid="ignore"):
                same = np.abs(stacked - first) <= _SAME * (1.0 + np.abs(first))
            same |= (stacked == first) | (np.isnan(stacked) & np.isnan(first))
            if not same.all():
                result[f"{name}.{column}"] = stacked
    return result


def _equally_long(split: SplitRows, environments: IntArray) -> Iterator[IntArray]:
    """Environments that hold equally many rows of each table."""
    counts = np.stack([split.row_counts(name, environments) for name in split.names], axis=1)
    _, kind = np.unique(counts, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    order = np.argsort(kind, kind="stable")
    yield from np.split(environments[order], np.flatnonzero(np.diff(kind[order])) + 1)


def _keys(split: SplitRows, batch: IntArray) -> Iterator[tuple[Any, ...]]:
    """What must be equal for two environments of one batch to share a template."""
    numbers, named, counted = [], [], []
    for name in split.names:
        table = split.table(name)
        rows = split.rows_of_all(name, batch) if table.count else np.zeros((len(batch), 0), np.int64)
        if not rows.size:
            continue
        numbers.append(_bytes(split.places(name, rows)))
        for column, values in table.columns.items():
            if column in _COUNTED:
                if values.max() >= 0:
                    counted.append((name, column))
            elif values.dtype.kind != "f":
                numbers.append(_bytes(split.local(name, column, rows.reshape(-1)).reshape(len(batch), -1)))
        if table.names is not None:
            named.append((name, table.names, rows))
    data = np.concatenate(numbers, axis=1) if numbers else np.zeros((len(batch), 0), np.uint8)
    for index, environment in enumerate(batch.tolist()):
        yield (
            split.prims(environment),
            data[index].tobytes(),
            split.pairs(environment).tobytes(),
            *(_digests(names, rows[index]) for _, names, rows in named),
            *(_counted(split, environment, name, column) for name, column in counted),
        )


def _bytes(values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8)


def _digests(names: tuple[Any, ...], rows: IntArray) -> tuple[Any, ...]:
    items = (names[row] for row in rows)
    return tuple(item.digest if isinstance(item, SoftData) else item for item in items)


def _counted(split: SplitRows, environment: int, name: str, column: str) -> tuple[Any, ...]:
    """Which mesh or material each row has: meshes are shared by all, materials are those of the environment."""
    values = split.local(name, column, split.rows_of(name, environment))
    if column == "mesh":
        return tuple(values.tolist())
    local = np.searchsorted(split.rows_of("materials", environment), values)
    return tuple(np.where(values >= 0, local, -1).tolist())
