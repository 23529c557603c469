"""Warp arrays over memory that something else owns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from .dtypes import ScalarType
from .errors import ArrayDeviceError, ArrayTypeError, ArrayValueError

__all__ = [
    "cast_to_host",
    "check_count",
    "check_device",
    "host_to_warp",
    "reshape",
    "scalar_view",
    "warp_to_input",
]


def check_count(given: int, expected: int, what: str) -> None:
    """Raise :class:`ArrayValueError` unless the numbers of elements agree."""
    if given != expected:
        raise ArrayValueError(f"{what}: expected {expected} elements, given {given}")


def check_device(given: str, expected: Any, what: str) -> None:
    """Raise :class:`ArrayDeviceError` unless the device alias names the expected device."""
    if given != str(wp.get_device(expected)):
        raise ArrayDeviceError(
            f"{what}: expected an array on {wp.get_device(expected)}, given one on {given}"
        )


def scalar_view(array: Any, dtype: Any) -> Any:
    """Flat array of scalars over the memory of a contiguous Warp array of scalars, vectors or matrices.

    Args:
        array: Contiguous Warp array; it is kept alive by the result.
        dtype: Warp scalar type of the same width as the array's.

    Returns:
        Flat Warp array.
    """
    scalars = getattr(array.dtype, "_length_", 1)
    size = array.size * scalars
    if size == 0:
        return wp.empty(0, dtype=dtype, device=array.device)
    view = wp.array(ptr=array.ptr, dtype=dtype, shape=(size,), device=array.device, copy=False)
    view._owner = array
    return view


def reshape(array: Any, shape: tuple[int, ...] | None) -> Any:
    """A flat Warp array in another shape of the same size."""
    if shape is None or shape == array.shape:
        return array
    if math.prod(shape) == 0:
        return wp.empty(shape, dtype=array.dtype, device=array.device)
    return array.reshape(shape)


def host_to_warp(array: npt.NDArray[Any], dtype: ScalarType) -> Any:
    """Flat CPU Warp array over a contiguous NumPy array of the right dtype, which it keeps alive."""
    if array.size == 0:
        return wp.empty(0, dtype=dtype.warp, device="cpu")
    return wp.array(array.reshape(-1), dtype=dtype.warp, device="cpu", copy=False)


def warp_to_input(data: Any, *, dtype: ScalarType, element_count: int, device: Any, what: str) -> Any:
    """Flat contiguous array of a user's Warp array; other scalar types are refused, not cast.

    Args:
        data: Warp array of the scalar type, or of vectors, quaternions, transforms or matrices of it.
        dtype: What the kernels read.
        element_count: Number of scalars that it must have.
        device: Where it must lie.
        what: Call and argument, for errors.

    Returns:
        Flat Warp array, over the same memory if that is contiguous.

    Raises:
        ArrayTypeError: No Warp array, or another scalar type.
        ArrayDeviceError: It lies elsewhere.
        ArrayValueError: It has another number of scalars.
    """
    if not isinstance(data, wp.array):
        raise ArrayTypeError(f"{what}: expected a wp.array of {dtype.name}, given {type(data).__name__}")
    scalar = getattr(data.dtype, "_wp_scalar_type_", data.dtype)
    if scalar not in dtype.aliases:
        raise ArrayTypeError(
            f"{what}: expected a wp.array of {dtype.name} (or vectors of it), given one of "
            f"{getattr(data.dtype, '__name__', data.dtype)}; Warp arrays are not cast"
        )
    check_device(str(data.device), device, what)
    check_count(data.size * getattr(data.dtype, "_length_", 1), element_count, what)
    return scalar_view(data if data.is_contiguous else data.contiguous(), dtype.warp)


def cast_to_host(data: Any, *, dtype: ScalarType, what: str) -> npt.NDArray[Any]:
    """Contiguous NumPy array of anything that NumPy reads, cast to the dtype.

    Raises:
        ArrayTypeError: No array of real numbers.
        ArrayDeviceError: A Warp array on another device.
    """
    if isinstance(data, wp.array):
        # NumPy would fetch a device array without a word.
        check_device(str(data.device), "cpu", what)
    try:
        given = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise ArrayTypeError(
            f"{what}: expected a numpy array of {dtype.name}, given {type(data).__name__}"
        ) from error
    if given.dtype.kind not in "biuf":
        raise ArrayTypeError(f"{what}: expected numbers ({dtype.name}), given dtype {given.dtype.name}")
    return np.ascontiguousarray(given, dtype=dtype.numpy)
