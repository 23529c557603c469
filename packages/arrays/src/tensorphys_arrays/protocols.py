"""What a view asks of the array library of its user."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

__all__ = ["Buffer", "Frontend"]


class Buffer(NamedTuple):
    """One block of memory seen from two libraries, owned by whoever allocated it.

    Attributes:
        array: The user's array.
        warp: Warp array of the same memory and shape, for kernels.
    """

    array: Any
    warp: Any


class Frontend(Protocol):
    """An array library behind the views: outputs are allocated once, inputs are checked and converted.

    ``what`` names the call and argument for error texts, as in ``"set_transforms(data)"``. ``device`` is
    anything that Warp takes for a device. Conversions queue their work on the caller's stream, so they are
    called inside :meth:`ordered_with_caller`.
    """

    @property
    def name(self) -> str:
        """Canonical name, as in ``"numpy"``."""

    def check_simulation_device(self, device: Any) -> None:
        """Refuse a simulation device whose state the frontend cannot hand out.

        Raises:
            FrontendDeviceError: The device is refused; the text says what to use.
        """

    def report_device(self, device: Any) -> Any:
        """The library's own notion of a device: text, or ``torch.device``."""

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: Any) -> Buffer:
        """Zero-filled output buffer; the caller keeps it and refills it on each read.

        Args:
            shape: Shape; zeros are allowed.
            dtype: Warp scalar type.
            device: Where it lies.

        Returns:
            The user's array and a Warp array that shares its memory.

        Raises:
            FrontendDeviceError: The library has no arrays on that device.
        """

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
        """Contiguous Warp array of a user's data; shares memory where nothing has to change.

        Args:
            data: The user's array; its shape is irrelevant.
            dtype: Warp scalar type that the kernels read.
            element_count: Number of elements that it must have.
            device: Where it must lie.
            what: Call and argument, for errors.
            shape: Shape of the result; default flat.

        Returns:
            Warp array of the scalar type.

        Raises:
            ArrayTypeError: The type or dtype cannot be taken.
            ArrayDeviceError: It lies on another device.
            ArrayValueError: It has another number of elements.
        """

    def as_indices(self, indices: Any, *, count: int, device: Any, what: str) -> Any:
        """Row indices as a flat int32 Warp array.

        Arrays on the host are checked here and repeated rows are dropped, the last one staying. Arrays on
        a device are checked by the kernels that read them
        (:func:`tensorphys_arrays.device.valid_index`) or by :class:`tensorphys_arrays.RowSelection`.

        Args:
            indices: Row indices of any shape, or ``None`` for all rows.
            count: Number of rows of the view.
            device: Where the result must lie.
            what: Call and argument, for errors.

        Returns:
            Warp array of int32.

        Raises:
            ArrayTypeError: Not integers: a mask or floating point numbers.
            ArrayIndexError: An index of a host array is out of range.
            ArrayDeviceError: The array lies on another device.
        """

    def ordered_with_caller(self, device: Any) -> AbstractContextManager[None]:
        """Context in which Warp launches come after what the caller queued, and before what comes next."""
