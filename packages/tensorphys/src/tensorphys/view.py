"""What all views of objects have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from tensorphys.core import Core
from tensorphys.errors import ViewError
from tensorphys.fields import Field
from tensorphys.properties import Properties
from tensorphys.rows import Layout, Rows
from tensorphys.transfer import Transfer

__all__ = ["TensorView"]


class TensorView(ABC):
    """A set of objects, one row each.

    Getters own one array each and hand out that same array on every call, filled anew: a second call
    overwrites what the first one returned. Setters take data for all rows of the view and write those that
    ``indices`` names: row i of the view takes row i of the data.

    Attributes:
        _backend: ``None`` when the pattern of the view matched nothing, as in the known implementation.
    """

    _fields: ClassVar[Mapping[str, Field]] = {}

    def __init__(self, core: Core, layout: Layout | None) -> None:
        self._core = core
        self._backend: Rows | None = None
        self._warned: set[str] = set()
        if layout is not None:
            self._backend = Rows(layout, core.device)
            label = type(self).__name__
            self._transfer = Transfer(core, self._backend, label)
            self._properties = Properties(core, self._backend, label)

    @property
    def count(self) -> int:
        """Number of rows."""
        return self._backend.count if self._backend is not None else 0

    @property
    @abstractmethod
    def prim_paths(self) -> list[str]:
        """Prim path of each row."""

    def _rows(self, what: str) -> Rows:
        self._core.require_valid(f"{type(self).__name__}.{what}")
        if self._backend is None:
            raise ViewError(f"{type(self).__name__}.{what}: the pattern of this view matched nothing")
        return self._backend

    def _get(self, name: str) -> Any:
        self._rows(f"get_{name}")
        field = self._fields[name]
        return self._properties.get(field) if field.group == "property" else self._transfer.gather(field)

    def _set(self, name: str, data: Any, indices: Any) -> None:
        self._rows(f"set_{name}")
        field = self._fields[name]
        if field.group == "property":
            self._properties.set(field, data, indices)
        else:
            self._transfer.scatter(field, data, indices)

    def _warn_left_out(self, what: str, numberings: Sequence[str], why: str) -> None:
        """Log once that a setter leaves rows out: those that none of the numberings has."""
        layout = self._rows(what).layout
        if what in self._warned:
            return
        self._warned.add(what)
        settable = np.zeros(self.count, bool)
        for name in numberings:
            if name in layout.slots:
                settable |= layout.slots[name][:, 0] >= 0
        if not settable.all():
            first = self.prim_paths[int(np.argmin(settable))]
            self._core.warn(
                "%s.%s: %d rows %s and are left out (first: %s)",
                type(self).__name__,
                what,
                int((~settable).sum()),
                why,
                first,
            )

    def check(self) -> bool:
        """Whether the objects of this view still exist in the simulation.

        Returns:
            False after the simulation view was invalidated, or when the view matched nothing.

        Raises:
            DataError: A setter was given a pose that is none, on a device whose arrays the host cannot see.
            IndexError: It was given an index outside of the view.
        """
        if not self._core.valid or self._backend is None:
            return False
        self._core.raise_faults(self._backend.selection, type(self).__name__)
        return True
