"""Arrays of Warp."""

from __future__ import annotations

import contextlib
from typing import Any

import warp as wp

from .dtypes import scalar_type
from .errors import ArrayTypeError
from .indices import AllRows, check_index_kind, resolve_host_indices
from .protocols import Buffer
from .warp_memory import check_device, host_to_warp, reshape, scalar_view, warp_to_input

__all__ = ["WarpFrontend"]


class WarpFrontend:
    """Warp arrays on any device. Other dtypes are refused, not cast; vectors of the dtype are taken."""

    name = "warp"

    def __init__(self) -> None:
        self._all_rows = AllRows()

    def check_simulation_device(self, device: Any) -> None:
        """Every device of Warp is served."""
        wp.get_device(device)

    def report_device(self, device: Any) -> str:
        """Alias of the device, as in ``"cuda:0"``."""
        return str(wp.get_device(device))

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: Any) -> Buffer:
        """Zeros of a scalar dtype; see :meth:`Frontend.allocate`."""
        array = wp.zeros(shape, dtype=scalar_type(dtype).warp, device=device)
        return Buffer(array, array)

    def as_input(
        self,
        data: Any,
        *,
        dtype: Any,
        element_count: int,
        device: Any,
        what: str,
        shape: tuple[int, ...] | None = None,
    ) -> Any:
        """Contiguous data; see :meth:`Frontend.as_input`."""
        flat = warp_to_input(
            data, dtype=scalar_type(dtype), element_count=element_count, device=device, what=what
        )
        return reshape(flat, shape)

    def as_indices(self, indices: Any, *, count: int, device: Any, what: str) -> Any:
        """int32 and uint32 Warp arrays; see :meth:`Frontend.as_indices`."""
        if indices is None:
            return self._all_rows.get(count, wp.get_device(device))
        if not isinstance(indices, wp.array):
            raise ArrayTypeError(f"{what}: expected a wp.array of int32, given {type(indices).__name__}")
        if indices.dtype not in (wp.int32, wp.uint32):
            name = getattr(indices.dtype, "__name__", str(indices.dtype))
            check_index_kind(name, what)
            raise ArrayTypeError(
                f"{what}: expected a wp.array of int32 or uint32, given {name}; Warp arrays are not cast"
            )
        check_device(str(indices.device), device, what)
        if indices.device.is_cpu:
            rows = resolve_host_indices(indices.numpy(), count=count, what=what)
            if rows.size != indices.size or not indices.is_contiguous:
                return host_to_warp(rows, scalar_type(wp.int32))
        # The caller's own memory, so that a recorded graph reads what the caller writes there later.
        return scalar_view(indices if indices.is_contiguous else indices.contiguous(), wp.int32)

    def ordered_with_caller(self, device: Any) -> contextlib.AbstractContextManager[None]:
        """Nothing to do: launches go to the device's current Warp stream, which is the caller's."""
        return contextlib.nullcontext()
