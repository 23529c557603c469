"""Rows of tables that are gathered one at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pxr import Sdf

from tensorphys_usd.errors import StageError


@dataclass
class CouplingRows:
    """Rows of one table.

    Attributes:
        paths: Prim of each row.
        columns: Columns by name; those that name a degree of freedom hold an :data:`AxisKey`, those that name a joint
            its place in stage order.
        names: Instance names, where the table has them.
    """

    paths: list[Sdf.Path] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def add(self, path: Sdf.Path, **values: Any) -> int:
        """Add a row; its number."""
        self.paths.append(path)
        for name, value in values.items():
            self.columns.setdefault(name, []).append(value)
        return len(self.paths) - 1


def check_bounds(path: Sdf.Path, what: str, lower: float, upper: float) -> None:
    """Refuse bounds that are no numbers or cross.

    Raises:
        StageError: If they do.
    """
    if not lower <= upper:
        raise StageError(f"{path}: limits of {what} are ({lower}, {upper})")
