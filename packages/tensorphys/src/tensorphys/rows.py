"""Where the rows of a view stand in the flat arrays of the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_arrays import RowSelection

__all__ = ["Layout", "Rows", "offset_pair"]

IntArray = npt.NDArray[np.int32]


def offset_pair(offset: npt.NDArray[np.float64], device: str) -> tuple[wp.array, wp.array]:
    """Offsets as unevaluated sums of two float32 vectors on the device.

    Args:
        offset: Offsets [m], float64, shape [count, 3].
        device: Device of the results.

    Returns:
        Leading and trailing part, each of ``wp.vec3``, shape [count].
    """
    hi = offset.astype(np.float32)
    lo = (offset - hi.astype(np.float64)).astype(np.float32)
    return wp.array(hi, dtype=wp.vec3, device=device), wp.array(lo, dtype=wp.vec3, device=device)


def _later_rows(objects: IntArray) -> tuple[IntArray, IntArray]:
    """Next row of the same object (-1: none) and first row of it, for each row."""
    count = len(objects)
    order = np.argsort(objects, kind="stable")
    same = objects[order[1:]] == objects[order[:-1]]
    later = np.full(count, -1, np.int32)
    later[order[:-1][same]] = order[1:][same]
    first = np.arange(count, dtype=np.int32)
    if count and same.any():
        start = np.concatenate(([True], ~same))
        first[order] = order[np.flatnonzero(start)][np.cumsum(start) - 1]
    return later, first


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Host side of the rows of a view.

    Attributes:
        objects: What each row stands for (an articulation or a link), shape [rows].
        articulations: Articulation that owns it, shape [rows].
        slots: Flat index of each item by numbering, shape [rows, items], -1 where a row has fewer items.
        origins: Translation of the row's environment in the world [m], float64, shape [rows, 3].
        subspaces: Origin of the frame that the row is reported in [m], float64, shape [rows, 3].
    """

    objects: IntArray
    articulations: IntArray
    slots: Mapping[str, IntArray]
    origins: npt.NDArray[np.float64]
    subspaces: npt.NDArray[np.float64]


class Rows:
    """Rows of a view on the simulation device.

    Args:
        layout: Numbering of the rows.
        device: Warp device alias.

    Attributes:
        count: Number of rows.
        layout: Numbering on the host.
        slots: Flat index of each item by numbering, int32, shape [rows, items].
        articulations: Articulation of each row, int32, shape [rows].
        next_same: Next row of the same object, -1 if there is none, int32, shape [rows].
        first_same: First row of the same object, int32, shape [rows].
        view_offset: From the environment's frame to the frame of the view, as a pair, shape [rows].
        world_offset: From the environment's frame to the world, as a pair, shape [rows].
        has_repeats: Whether an object has several rows.
        everything: Row numbers, int32, shape [rows]: the selection of all rows.
        selection: Table of the rows that indices name.
        nothing: Stands for an array that was not given.
    """

    def __init__(self, layout: Layout, device: str) -> None:
        self.layout = layout
        self.count = len(layout.objects)

        def upload(values: npt.NDArray[Any]) -> wp.array:
            return wp.array(np.ascontiguousarray(values, dtype=np.int32), dtype=wp.int32, device=device)

        later, first = _later_rows(layout.objects)
        self.has_repeats = bool((later >= 0).any())
        self._runs: dict[str, int | None] = {}
        self.next_same = upload(later)
        self.first_same = upload(first)
        self.articulations = upload(layout.articulations)
        self.slots = {name: upload(values) for name, values in layout.slots.items()}
        self.view_offset = offset_pair(layout.origins - layout.subspaces, device)
        self.world_offset = offset_pair(layout.origins, device)
        self.everything = upload(np.arange(self.count))
        self.selection = RowSelection(self.count, device)
        self.nothing = wp.zeros((0, 0, 0), dtype=wp.float32, device=device)

    def run(self, slots: str) -> int | None:
        """First flat index of a numbering whose items follow one another through all rows, so that a copy reads or
        writes them; None for any other."""
        if slots not in self._runs:
            found = self.layout.slots[slots].ravel()
            follows = found.size > 0 and found[0] >= 0 and bool((np.diff(found) == 1).all())
            self._runs[slots] = int(found[0]) if follows else None
        return self._runs[slots]

    @property
    def same(self) -> tuple[wp.array, wp.array]:
        """First and next row of each row's object, as the kernels take them."""
        return self.first_same, self.next_same
