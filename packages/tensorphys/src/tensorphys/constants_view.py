"""Views of prims that stand for constants: materials and particle systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys.core import Core
from tensorphys.errors import DataError
from tensorphys.matching import NotSuitableError, match_prims, shorten
from tensorphys.properties import in_host_memory
from tensorphys.rows import Layout
from tensorphys.view import TensorView
from tensorphys_arrays import Buffer

__all__ = ["Constant", "ConstantsView", "plain_layout", "suitable_paths"]

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Constant:
    """A constant of prims that stand for many entries of an array; always a CPU array.

    Attributes:
        name: Name after ``get_`` and ``set_``.
        width: Numbers of a prim.
        unit: Unit; lengths and masses are in stage units.
        source: Attribute path of the array below the simulation.
        signed: Whether it may be negative.
        positive: Whether it must be above zero.
        below: What it must be below.
    """

    name: str
    width: int
    unit: str
    source: str
    signed: bool = False
    positive: bool = False
    below: float = math.inf

    @property
    def expected(self) -> str:
        """What values may be, for messages."""
        kind = (
            "finite numbers"
            if self.signed
            else "finite numbers " + ("above 0" if self.positive else "from 0")
        )
        return kind if self.below == math.inf else f"{kind} and below {self.below}"

    def accepts(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
        """Which values are possible."""
        good = np.isfinite(values) & (values < self.below)
        if self.signed:
            return good
        return good & (values > 0.0 if self.positive else values >= 0.0)


class ConstantsView(TensorView):
    """Prims, one row each, whose values stand in one or more entries of arrays of the simulation.

    Getters tell the value of the first entry. Arrays are always those of the CPU; setters take data and indices from
    any device.
    """

    _constants: ClassVar[Mapping[str, Constant]] = {}

    def __init__(self, core: Core, paths: Sequence[str], entries: Sequence[Sequence[int]] | None) -> None:
        """Make the view.

        Args:
            core: What all views share.
            paths: Prim of each row.
            entries: Entries of each row; None for a view of nothing.
        """
        super().__init__(core, None if entries is None else plain_layout(len(paths), {}))
        self._paths = list(paths)
        self._entries = [np.asarray(entry, np.int64) for entry in entries or ()]
        self._buffers: dict[str, Buffer] = {}

    @property
    def prim_paths(self) -> list[str]:
        """Prim of each row."""
        return self._paths

    def _changed(self, name: str) -> None:
        """Have what depends on a constant follow it."""

    def _get(self, name: str) -> Any:
        self._rows(f"get_{name}")
        constant = self._constants[name]
        if name not in self._buffers:
            shape = (self.count, constant.width)
            self._buffers[name] = self._core.frontend.allocate(shape, wp.float32, "cpu")
        buffer, host = self._buffers[name], self._host(constant)
        values = buffer.warp.numpy()
        for row, entry in enumerate(self._entries):
            values[row] = host[entry[0]] if len(entry) else 0.0
        return buffer.array

    def _set(self, name: str, data: Any, indices: Any) -> None:
        self._rows(f"set_{name}")
        constant = self._constants[name]
        what = f"{type(self).__name__}.set_{name}"
        shape = (self.count, constant.width)
        values = self._core.frontend.as_input(
            in_host_memory(data),
            dtype=wp.float32,
            element_count=self.count * constant.width,
            device="cpu",
            what=f"{what}(data)",
            shape=shape,
        ).numpy()
        rows = self._core.indices(in_host_memory(indices), self.count, "cpu", f"{what}(indices)").numpy()
        chosen = values[rows]
        good = constant.accepts(chosen)
        if not good.all():
            row = int(rows[np.flatnonzero(~good.all(axis=1))[0]])
            raise DataError(
                f"{what}: expected {constant.expected}, given {values[row].tolist()} for {self._paths[row]}; "
                "nothing was written"
            )
        array: wp.array = self._core.array(constant.source)
        host = np.array(array.numpy())
        flat = host.reshape(len(host), -1)
        for row in rows.tolist():
            flat[self._entries[row]] = values[row]
        self._check_change(constant, flat, what)
        array.assign(host)
        self._changed(name)

    def _check_change(self, constant: Constant, values: npt.NDArray[np.float32], what: str) -> None:
        """Refuse values that contradict other constants."""

    def _host(self, constant: Constant) -> npt.NDArray[np.float32]:
        array: wp.array = self._core.array(constant.source)
        host = array.numpy()
        return host.reshape(len(host), -1)


def plain_layout(count: int, slots: Mapping[str, IntArray]) -> Layout:
    """Rows of objects that are no bodies and whose values have no place in the world."""
    nowhere = np.zeros((count, 3))
    return Layout(
        objects=np.arange(count, dtype=np.int32),
        articulations=np.full(count, -1, np.int32),
        slots=slots,
        origins=nowhere,
        subspaces=nowhere,
    )


def suitable_paths(
    core: Core,
    pattern: str | Sequence[str],
    is_suitable: Callable[[str], bool],
    kind: str,
    on_no_match: Literal["raise", "empty"],
) -> list[str]:
    """Prims that a pattern matches and that are of a kind, in order; others are logged.

    Args:
        core: What all views share.
        pattern: Prim path pattern, or a list.
        is_suitable: Whether the prim at a path is of the kind.
        kind: What is wanted, for messages.
        on_no_match: Whether it is an error when there is none.

    Raises:
        PatternError: The text is no pattern.
        NoMatchError: It matches nothing.
        NotSuitableError: It matches prims, none of which is of the kind.
    """
    skip: Literal["raise", "skip"] = "raise" if on_no_match == "raise" else "skip"
    paths = match_prims(pattern, core.catalog.directory.tree, skip).paths
    found = [path for path in paths if is_suitable(path)]
    rejected = [path for path in paths if not is_suitable(path)]
    if not found:
        error = NotSuitableError(repr(pattern), kind, rejected, "")
        if on_no_match == "raise":
            raise error
        core.warn("%s", error)
    elif rejected:
        text = "pattern %r: %d matched prims are not %s: %s"
        core.warn(text, pattern, len(rejected), kind, shorten(rejected))
    return found
