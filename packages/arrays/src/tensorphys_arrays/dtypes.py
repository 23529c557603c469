"""The scalar types that cross the border between a view and its user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from .errors import ArrayTypeError

__all__ = ["ScalarType", "scalar_type"]


@dataclass(frozen=True)
class ScalarType:
    """One scalar type in every library.

    Attributes:
        name: Its name, as in ``float32``.
        warp: Warp scalar type.
        numpy: NumPy dtype.
        torch: Name of the torch dtype; unsigned integers above 8 bits are the signed ones of the same
            width there, with the same bits.
        aliases: Warp scalar types that are accepted in its place without a cast.
    """

    name: str
    warp: Any
    numpy: np.dtype[Any]
    torch: str
    aliases: tuple[Any, ...]


_TYPES = {
    wp.float32: ScalarType("float32", wp.float32, np.dtype(np.float32), "float32", (wp.float32,)),
    wp.int32: ScalarType("int32", wp.int32, np.dtype(np.int32), "int32", (wp.int32, wp.uint32)),
    wp.uint32: ScalarType("uint32", wp.uint32, np.dtype(np.uint32), "int32", (wp.int32, wp.uint32)),
    wp.uint8: ScalarType("uint8", wp.uint8, np.dtype(np.uint8), "uint8", (wp.uint8, wp.int8, wp.bool)),
    wp.uint64: ScalarType("uint64", wp.uint64, np.dtype(np.uint64), "int64", (wp.uint64, wp.int64)),
}


def scalar_type(dtype: Any) -> ScalarType:
    """Table entry of a Warp scalar type.

    Args:
        dtype: ``wp.float32``, ``wp.int32``, ``wp.uint32``, ``wp.uint8`` or ``wp.uint64``.

    Returns:
        The entry.

    Raises:
        ArrayTypeError: Another type.
    """
    entry = _TYPES.get(dtype)
    if entry is None:
        choices = ", ".join(f"wp.{known.name}" for known in _TYPES.values())
        raise ArrayTypeError(f"expected one of {choices}, given {dtype!r}")
    return entry
