"""Tensors of PyTorch, which is imported when the frontend is made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import warp as wp

from .dtypes import scalar_type
from .errors import ArrayTypeError, FrontendDeviceError, FrontendNotInstalledError
from .indices import AllRows, check_index_kind, resolve_host_indices
from .protocols import Buffer
from .warp_memory import cast_to_host, check_count, check_device, host_to_warp, reshape

if TYPE_CHECKING:
    import torch

__all__ = ["TorchFrontend", "import_torch"]


def import_torch(what: str = "the torch frontend", instead: str = "") -> Any:
    """The module ``torch``, imported now.

    Args:
        what: What needs it, for the error.
        instead: What can be done without it, for the error.

    Raises:
        FrontendNotInstalledError: It cannot be imported.
    """
    try:
        import torch
    except ImportError as error:
        raise FrontendNotInstalledError(
            f"{what} needs PyTorch, which is not installed: pip install 'tensorphys-arrays[torch]' "
            f"(or 'pip install torch'){instead}"
        ) from error
    return torch


class TorchFrontend:
    """Torch tensors on the CPU or CUDA, sharing memory with Warp. Inputs are cast and made contiguous.

    Unsigned 32- and 64-bit outputs are int32 and int64 tensors with the same bits.

    Raises:
        FrontendNotInstalledError: torch cannot be imported.
    """

    name = "torch"

    def __init__(self) -> None:
        self._torch = import_torch(instead=", or use the frontend 'numpy' or 'warp'")
        self._all_rows = AllRows()
        self._streams: dict[tuple[str, int], Any] = {}

    def _torch_device(self, device: Any) -> Any:
        return self._torch.device(wp.device_to_torch(wp.get_device(device)))

    def check_simulation_device(self, device: Any) -> None:
        """Refuse CUDA when this build of torch lacks it; see :meth:`Frontend.check_simulation_device`."""
        found = wp.get_device(device)
        if found.is_cuda and not self._torch.cuda.is_available():
            raise FrontendDeviceError(
                f"this installation of torch has no CUDA, given device {found}: install a CUDA build of "
                "torch, use the frontend 'warp', or simulate on 'cpu'"
            )

    def report_device(self, device: Any) -> torch.device:
        """The ``torch.device``."""
        return self._torch_device(device)

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: Any) -> Buffer:
        """Zeros; see :meth:`Frontend.allocate`."""
        self.check_simulation_device(device)
        kind = scalar_type(dtype)
        tensor = self._torch.zeros(
            shape, dtype=getattr(self._torch, kind.torch), device=self._torch_device(device)
        )
        return Buffer(tensor, self._to_warp(tensor, kind.warp, device, shape))

    def _to_warp(self, tensor: Any, dtype: Any, device: Any, shape: tuple[int, ...] | None) -> Any:
        if tensor.numel() == 0:
            return wp.empty(0 if shape is None else shape, dtype=dtype, device=device)
        return reshape(wp.from_torch(tensor.reshape(-1), dtype=dtype, requires_grad=False), shape)

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
        """Cast, contiguous data; see :meth:`Frontend.as_input`. On the CPU also NumPy arrays."""
        kind = scalar_type(dtype)
        if not isinstance(data, self._torch.Tensor):
            if not wp.get_device(device).is_cpu:
                raise ArrayTypeError(
                    f"{what}: expected a torch tensor of {kind.name} on {wp.get_device(device)}, "
                    f"given {type(data).__name__}"
                )
            host = cast_to_host(data, dtype=kind, what=what)
            check_count(host.size, element_count, what)
            return reshape(host_to_warp(host, kind), shape)
        if data.is_complex():
            raise ArrayTypeError(f"{what}: expected numbers ({kind.name}), given {data.dtype}")
        self._check_device(data, device, what)
        check_count(data.numel(), element_count, what)
        tensor = data.detach().to(getattr(self._torch, kind.torch)).contiguous()
        return self._to_warp(tensor, kind.warp, device, shape)

    def _check_device(self, tensor: Any, device: Any, what: str) -> None:
        given = "cpu" if tensor.device.type == "cpu" else str(tensor.device)
        check_device(given, device, what)

    def as_indices(self, indices: Any, *, count: int, device: Any, what: str) -> Any:
        """Integer tensors, sequences and NumPy arrays; see :meth:`Frontend.as_indices`."""
        target = wp.get_device(device)
        if indices is None:
            return self._all_rows.get(count, target)
        torch = self._torch
        kind = scalar_type(wp.int32)
        if not isinstance(indices, torch.Tensor):
            # A host sequence has no device of its own: it is checked here and sent where it is needed.
            rows = resolve_host_indices(indices, count=count, what=what)
            if target.is_cpu:
                return host_to_warp(rows, kind)
            return self._to_warp(torch.as_tensor(rows).to(self._torch_device(target)), wp.int32, target, None)
        check_index_kind(str(indices.dtype).removeprefix("torch."), what)
        self._check_device(indices, target, what)
        if target.is_cpu:
            return host_to_warp(resolve_host_indices(indices.numpy(), count=count, what=what), kind)
        if indices.dtype not in (torch.int32, torch.uint32):
            # A cut to 32 bits could turn a huge index into a valid one.
            indices = indices.to(torch.int64).clamp(-1, 2**31 - 1)
        if indices.dtype == torch.uint32:
            indices = indices.view(torch.int32)
        return self._to_warp(indices.to(torch.int32).contiguous(), wp.int32, target, None)

    @contextlib.contextmanager
    def ordered_with_caller(self, device: Any) -> Iterator[None]:
        """Launch on torch's current stream; Warp's own stream waits for it and it for Warp's, by events."""
        target = wp.get_device(device)
        if target.is_cpu or target.is_capturing:
            # A graph that the caller records with Warp takes the launches where Warp records them.
            yield
            return
        current = self._torch.cuda.current_stream(self._torch_device(target))
        if (wp.get_stream(target).cuda_stream or 0) == current.cuda_stream:
            yield
            return
        key = (str(target), int(current.cuda_stream))
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = wp.stream_from_torch(current)
        # A stream that torch records must not wait for one that it does not record.
        free = not self._torch.cuda.is_current_stream_capturing()
        with wp.ScopedStream(stream, sync_enter=free, sync_exit=free):
            yield
