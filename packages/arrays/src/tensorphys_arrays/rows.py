"""Rows that a device array of indices selects."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from .errors import ArrayIndexError

__all__ = ["IndexFlag", "RowSelection"]

_CLEAR = np.array([0, np.iinfo(np.int32).max, np.iinfo(np.int32).min], dtype=np.int32)


class IndexFlag:
    """Sticky note of the invalid indices that kernels met.

    Attributes:
        array: Shape [3], int32, for :func:`tensorphys_arrays.device.valid_index`: how many, the
            smallest, the largest.
    """

    def __init__(self, device: Any) -> None:
        self.array = wp.array(_CLEAR, dtype=wp.int32, device=device)
        self._clear = wp.array(_CLEAR, dtype=wp.int32, device=device)

    def clear(self) -> None:
        """Forget what was noted; queued like a launch."""
        wp.copy(self.array, self._clear)

    def check(self, *, count: int, what: str) -> None:
        """Raise if an invalid index was met since the last check, and forget it.

        Reads the device, so it belongs to a point where the host waits anyway.

        Args:
            count: Number of rows, for the text.
            what: What wrote, for the text.

        Raises:
            ArrayIndexError: The rows of the valid indices were written, the others skipped.
        """
        number, smallest, largest = (int(value) for value in self.array.numpy())
        if number == 0:
            return
        self.clear()
        extremes = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
        raise ArrayIndexError(
            f"{what}: expected indices in [0, {count}), given {number} outside of it ({extremes}); "
            "those rows were skipped"
        )


class RowSelection:
    """Table of the rows that a device array of indices selects, without host access or allocation.

    A kernel over all rows reads ``owner[row] >= 0``: each row is then written once, in no matter which
    order its index came or how often.

    Attributes:
        count: Number of rows.
        owner: Shape [count], int32: last position that names the row, -1 for rows that are not selected.
        flag: Note of the invalid indices.
    """

    def __init__(self, count: int, device: Any) -> None:
        self.count = count
        self.flag = IndexFlag(device)
        self.owner = wp.empty(count, dtype=wp.int32, device=device)
        self._device = wp.get_device(device)

    def select(self, indices: Any) -> Any:
        """Fill the table; two launches, which a graph may record.

        Args:
            indices: Flat int32 Warp array on the device of the table.

        Returns:
            The table, :attr:`owner`.
        """
        from ._kernels.rows import claim_rows

        self.owner.fill_(-1)
        wp.launch(
            claim_rows,
            dim=indices.size,
            inputs=[indices, self.count],
            outputs=[self.owner, self.flag.array],
            device=self._device,
        )
        return self.owner

    def select_mask(self, mask: Any) -> Any:
        """Fill the table from a mask; one launch, which a graph may record.

        Args:
            mask: Warp array of bool on the device of the table, shape [count].

        Returns:
            The table, :attr:`owner`.
        """
        from ._kernels.rows import claim_masked_rows

        wp.launch(claim_masked_rows, dim=self.count, inputs=[mask], outputs=[self.owner], device=self._device)
        return self.owner

    def check(self, *, what: str) -> None:
        """Raise if an invalid index was met since the last check; see :meth:`IndexFlag.check`."""
        self.flag.check(count=self.count, what=what)
