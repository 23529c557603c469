"""Battery of tests that every frontend passes, for frontends of one's own.

Each function asserts; call them from tests of any framework with a frontend, a device, and two functions
that turn a NumPy array into an array of the frontend on that device and back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_arrays.dtypes import scalar_type
from tensorphys_arrays.errors import ArrayIndexError, ArrayTypeError, ArrayValueError
from tensorphys_arrays.protocols import Frontend

__all__ = ["check_frontend", "check_indices", "check_input", "check_output", "check_refusals"]

FromNumpy = Callable[[npt.NDArray[Any]], Any]
ToNumpy = Callable[[Any], npt.NDArray[Any]]


def _equal(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> bool:
    """Same shape and bits; signed and unsigned integers of one width count as the same."""
    return found.shape == expected.shape and found.tobytes() == expected.tobytes()


def check_output(frontend: Frontend, values: npt.NDArray[Any], *, device: Any, to_numpy: ToNumpy) -> None:
    """An output buffer starts with zeros, and what kernels write the user's array shows, and back."""
    dtype = wp.dtype_from_numpy(values.dtype)
    with frontend.ordered_with_caller(device):
        buffer = frontend.allocate(values.shape, dtype, device)
        assert buffer.warp.dtype == dtype
        assert buffer.warp.shape == values.shape
        assert str(buffer.warp.device) == str(wp.get_device(device))
        assert _equal(to_numpy(buffer.array), np.zeros_like(values))
        source = wp.array(values, dtype=dtype, device=device)
        if values.size:
            wp.copy(buffer.warp, source)
    assert _equal(to_numpy(buffer.array), values)


def check_input(
    frontend: Frontend, values: npt.NDArray[Any], *, device: Any, from_numpy: FromNumpy, to_numpy: ToNumpy
) -> None:
    """Data arrive unchanged, flat or in the wanted shape, and an output buffer can be handed back in."""
    dtype = wp.dtype_from_numpy(values.dtype)
    wanted: dict[str, Any] = {
        "dtype": dtype,
        "element_count": values.size,
        "device": device,
        "what": "test(data)",
    }
    with frontend.ordered_with_caller(device):
        data = from_numpy(values)
        flat = frontend.as_input(data, **wanted)
        assert flat.shape == (values.size,)
        assert flat.is_contiguous
        assert flat.dtype == dtype
        shaped = frontend.as_input(data, shape=values.shape, **wanted)
        assert _equal(shaped.numpy(), values)
        assert _equal(flat.numpy(), values.reshape(-1))
        buffer = frontend.allocate(values.shape, dtype, device)
        again = frontend.as_input(buffer.array, **wanted)
        if values.size:
            assert again.ptr == buffer.warp.ptr, "a buffer of ours came back as a copy"


def check_indices(frontend: Frontend, *, device: Any, from_numpy: FromNumpy) -> None:
    """Integer indices arrive as int32, ``None`` is every row, an empty array is no row."""
    with frontend.ordered_with_caller(device):
        for dtype in (np.int32, np.uint32):
            rows = frontend.as_indices(
                from_numpy(np.array([[4], [0]], dtype=dtype)), count=5, device=device, what="test(indices)"
            )
            assert rows.dtype == wp.int32
            assert rows.numpy().tolist() == [4, 0]
        everything = frontend.as_indices(None, count=5, device=device, what="test(indices)")
        assert everything.numpy().tolist() == [0, 1, 2, 3, 4]
        nothing = frontend.as_indices(
            from_numpy(np.zeros(0, dtype=np.int32)), count=5, device=device, what="test(indices)"
        )
        assert nothing.shape == (0,)


def _raises(error: type[Exception], call: Callable[[], Any], *texts: str) -> None:
    text = None
    try:
        call()
    except error as caught:
        text = str(caught)
    assert text is not None, f"expected {error.__name__}, nothing was raised"
    missing = [part for part in texts if part not in text]
    assert not missing, f"{missing} not in the error text {text!r}"


def check_refusals(frontend: Frontend, *, device: Any, from_numpy: FromNumpy) -> None:
    """Wrong numbers of elements, masks, floating point and (on the host) far indices are refused by name."""

    def as_input(data: Any) -> Any:
        return frontend.as_input(data, dtype=wp.float32, element_count=6, device=device, what="set_it(data)")

    def as_indices(data: Any) -> Any:
        return frontend.as_indices(data, count=3, device=device, what="set_it(indices)")

    seven = from_numpy(np.zeros(7, dtype=np.float32))
    _raises(ArrayValueError, lambda: as_input(seven), "set_it(data)", "expected 6", "given 7")
    _raises(ArrayTypeError, lambda: as_input(object()), "set_it(data)", "object")
    mask = from_numpy(np.array([True, False, True]))
    _raises(ArrayTypeError, lambda: as_indices(mask), "set_it(indices)", "bool")
    numbers = from_numpy(np.zeros(2, dtype=np.float32))
    _raises(ArrayTypeError, lambda: as_indices(numbers), "set_it(indices)", "float32")
    if wp.get_device(device).is_cpu:
        for bad in (3, -1):
            far = from_numpy(np.array([0, bad], dtype=np.int32))
            call = functools.partial(as_indices, far)
            _raises(ArrayIndexError, call, "set_it(indices)", f"given {bad}", "[0, 3)")


def check_frontend(frontend: Frontend, *, device: Any, from_numpy: FromNumpy, to_numpy: ToNumpy) -> None:
    """The whole battery over shapes and dtypes.

    Args:
        frontend: What is tested.
        device: Device of all arrays.
        from_numpy: NumPy array to an array of the frontend on the device.
        to_numpy: Array of the frontend to NumPy.
    """
    frontend.check_simulation_device(device)
    for dtype in (wp.float32, wp.int32, wp.uint32, wp.uint8, wp.uint64):
        for shape in ((5,), (2, 3, 4), (3, 1), (0, 7), (4, 0)):
            count = int(np.prod(shape))
            values = (np.arange(count).reshape(shape) + 1).astype(scalar_type(dtype).numpy)
            check_output(frontend, values, device=device, to_numpy=to_numpy)
            check_input(frontend, values, device=device, from_numpy=from_numpy, to_numpy=to_numpy)
    check_indices(frontend, device=device, from_numpy=from_numpy)
    check_refusals(frontend, device=device, from_numpy=from_numpy)
