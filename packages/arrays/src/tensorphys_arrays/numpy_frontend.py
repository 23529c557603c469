"""Arrays of NumPy."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import warp as wp

from .dtypes import scalar_type
from .errors import FrontendDeviceError
from .indices import AllRows, resolve_host_indices
from .protocols import Buffer
from .warp_memory import cast_to_host, check_count, host_to_warp, reshape

__all__ = ["NumpyFrontend"]


class NumpyFrontend:
    """NumPy arrays; for simulations on the CPU. Inputs are cast and made contiguous."""

    name = "numpy"

    def __init__(self) -> None:
        self._all_rows = AllRows()

    def check_simulation_device(self, device: Any) -> None:
        """Refuse CUDA; see :meth:`Frontend.check_simulation_device`."""
        found = wp.get_device(device)
        if not found.is_cpu:
            raise FrontendDeviceError(
                f"the numpy frontend serves simulations on the CPU, given device {found}: use the frontend "
                "'torch' or 'warp', or simulate on 'cpu'"
            )

    def report_device(self, device: Any) -> str:
        """Alias of the device, ``"cpu"``."""
        return str(wp.get_device(device))

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: Any) -> Buffer:
        """Zeros; see :meth:`Frontend.allocate`."""
        self.check_simulation_device(device)
        kind = scalar_type(dtype)
        array = np.zeros(shape, dtype=kind.numpy)
        return Buffer(array, reshape(host_to_warp(array, kind), shape))

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
        """Cast, contiguous data; see :meth:`Frontend.as_input`."""
        self.check_simulation_device(device)
        kind = scalar_type(dtype)
        array = cast_to_host(data, dtype=kind, what=what)
        check_count(array.size, element_count, what)
        return reshape(host_to_warp(array, kind), shape)

    def as_indices(self, indices: Any, *, count: int, device: Any, what: str) -> Any:
        """Checked rows; see :meth:`Frontend.as_indices`."""
        self.check_simulation_device(device)
        if indices is None:
            return self._all_rows.get(count, wp.get_device(device))
        rows = resolve_host_indices(indices, count=count, what=what)
        return host_to_warp(rows, scalar_type(wp.int32))

    def ordered_with_caller(self, device: Any) -> contextlib.AbstractContextManager[None]:
        """Nothing to order: work on the CPU is done when a call returns."""
        return contextlib.nullcontext()
