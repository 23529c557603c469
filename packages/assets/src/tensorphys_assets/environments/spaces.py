"""Spaces of observations and actions, with or without Gymnasium."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from typing import Any

import numpy as np

__all__ = ["Bounds", "make_box"]


@dataclasses.dataclass(frozen=True)
class Bounds:
    """What stands for ``gymnasium.spaces.Box`` where Gymnasium is not installed."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any = np.dtype(np.float32)

    def contains(self, value: Any) -> bool:
        """Whether an array has the shape and its numbers are within."""
        array = np.asarray(value)
        return array.shape == self.shape and bool(((array >= self.low) & (array <= self.high)).all())


def make_box(bound: float, shape: tuple[int, ...]) -> Any:
    """Numbers from -bound to bound.

    Args:
        bound: The largest number, infinite for none.
        shape: Shape.
    """
    if importlib.util.find_spec("gymnasium") is None:
        return Bounds(-bound, bound, shape)
    return importlib.import_module("gymnasium.spaces").Box(-bound, bound, shape, np.float32)
