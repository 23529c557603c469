"""Checks of row indices on the host, shared by the frontends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from .errors import ArrayIndexError, ArrayTypeError

__all__ = ["AllRows", "check_index_kind", "resolve_host_indices"]

_MASK_HINT = "convert a mask with nonzero()"


class AllRows:
    """The indices of all rows, made once for each row count and device."""

    def __init__(self) -> None:
        self._cache: dict[tuple[int, str], Any] = {}

    def get(self, count: int, device: Any) -> Any:
        """``0, 1, ... count - 1`` as an int32 Warp array that nobody may write."""
        key = (count, str(device))
        rows = self._cache.get(key)
        if rows is None:
            rows = wp.array(np.arange(count, dtype=np.int32), dtype=wp.int32, device=device)
            self._cache[key] = rows
        return rows


def check_index_kind(dtype_name: str, what: str) -> None:
    """Refuse what is no integer of 16 bits or more.

    Args:
        dtype_name: Name as in ``int64``, without a library's prefix.
        what: Call and argument, for the error.

    Raises:
        ArrayTypeError: A mask, 8-bit integers (masks of old) or other numbers.
    """
    if dtype_name.lstrip("u") in ("int16", "int32", "int64"):
        return
    hint = f" ({_MASK_HINT})" if dtype_name in ("bool", "uint8", "int8") else ""
    raise ArrayTypeError(
        f"{what}: expected int32, int64, uint32 or a list of row indices, given {dtype_name}{hint}"
    )


def resolve_host_indices(indices: Any, *, count: int, what: str) -> npt.NDArray[np.int32]:
    """Row indices of a host array or sequence: checked, flat, each row once.

    Args:
        indices: Integers of any shape; an empty sequence of any type.
        count: Number of rows.
        what: Call and argument, for errors.

    Returns:
        Contiguous int32 array. It shares memory with an input that already is one and has no repeated
        rows; otherwise of each repeated row the last mention stays, in the order of those.

    Raises:
        ArrayTypeError: Not integers.
        ArrayIndexError: An index is out of range.
    """
    try:
        given = np.asarray(indices)
    except (TypeError, ValueError) as error:
        raise ArrayTypeError(f"{what}: expected row indices, given {type(indices).__name__}") from error
    if given.size == 0 and not isinstance(indices, np.ndarray):
        return np.zeros(0, dtype=np.int32)
    check_index_kind(given.dtype.name, what)
    flat = given.reshape(-1)
    if flat.size == 0:
        return np.zeros(0, dtype=np.int32)
    bad = (flat < 0) | (flat >= count)
    if bad.any():
        position = int(np.argmax(bad))
        raise ArrayIndexError(
            f"{what}: expected indices in [0, {count}), given {int(flat[position])} at position {position}"
        )
    rows = np.ascontiguousarray(flat, dtype=np.int32)
    if rows.size > 1 and not np.all(rows[1:] > rows[:-1]):
        last = np.full(count, -1, dtype=np.int64)
        # Of repeated subscripts numpy keeps the last assignment.
        last[rows] = np.arange(rows.size)
        kept = last[rows] == np.arange(rows.size)
        if not kept.all():
            rows = np.ascontiguousarray(rows[kept])
    return rows
