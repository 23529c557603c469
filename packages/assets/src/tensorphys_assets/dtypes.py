"""Structured element types of buffers, and how payloads of any library become rows of float32."""

from __future__ import annotations

import math
from typing import Any

import warp as wp

__all__ = ["DTYPES", "as_numbers", "element_width", "reinterpret", "vec6f", "vec13f"]


class vec6f(wp.types.vector(length=6, dtype=wp.float32)):  # type: ignore[misc]
    """Position and velocity of a node [m, m/s]."""


class vec13f(wp.types.vector(length=13, dtype=wp.float32)):  # type: ignore[misc]
    """Position, quaternion xyzw, linear and angular velocity [m, -, m/s, rad/s]."""


DTYPES: dict[str, Any] = {
    "float32": wp.float32,
    "vec2f": wp.vec2f,
    "vec3f": wp.vec3f,
    "vec4f": wp.vec4f,
    "quatf": wp.quatf,
    "transformf": wp.transformf,
    "spatial_vectorf": wp.spatial_vectorf,
    "vec6f": vec6f,
    "vec13f": vec13f,
}
"""Element types by the names that the interface table uses."""


def element_width(dtype: Any) -> int:
    """Numbers of one element; 1 for scalars."""
    return int(getattr(dtype, "_length_", 1))


def _alias(array: wp.array, dtype: Any, shape: tuple[int, ...], offset: int = 0) -> wp.array:
    """Contiguous alias of the memory of a contiguous array."""
    if math.prod(shape) == 0:
        return wp.empty(shape, dtype=dtype, device=array.device)
    view = wp.array(ptr=array.ptr + offset, dtype=dtype, shape=shape, device=array.device, copy=False)
    view._owner = array
    return view


def as_numbers(array: wp.array, shape: tuple[int, ...]) -> wp.array:
    """The same memory as float32 in another shape.

    Args:
        array: Contiguous array of float32 scalars, vectors, quaternions, transforms or matrices.
        shape: Shape with as many numbers.
    """
    return _alias(array, wp.float32, shape)


def reinterpret(array: wp.array, dtype: Any, shape: tuple[int, ...]) -> wp.array:
    """The same memory with elements of another type.

    Args:
        array: Contiguous array of float32 numbers.
        dtype: Type of the elements.
        shape: Shape in elements.
    """
    return _alias(array, dtype, shape)


def slice_elements(array: wp.array, dtype: Any, first: int) -> wp.array:
    """A part of each element of an array, as an alias with the strides of the whole.

    Args:
        array: Array of structured elements.
        dtype: Type of the part.
        first: Number within the element where the part begins.
    """
    if array.size == 0:
        return wp.empty(array.shape, dtype=dtype, device=array.device)
    view = wp.array(
        ptr=array.ptr + 4 * first,
        dtype=dtype,
        shape=array.shape,
        strides=array.strides,
        device=array.device,
        copy=False,
    )
    view._owner = array
    return view
