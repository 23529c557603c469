"""Errors of the array frontends."""

from __future__ import annotations

__all__ = [
    "ArrayDeviceError",
    "ArrayError",
    "ArrayIndexError",
    "ArrayTypeError",
    "ArrayValueError",
    "FrontendDeviceError",
    "FrontendNotInstalledError",
    "UnknownFrontendError",
]


class ArrayError(Exception):
    """Base of every error of this package."""


class ArrayValueError(ArrayError, ValueError):
    """An array has another number of elements than the call needs."""


class ArrayDeviceError(ArrayValueError):
    """An array lies on another device than the call needs."""


class ArrayTypeError(ArrayError, TypeError):
    """An array has a type or dtype that the call does not take."""


class ArrayIndexError(ArrayError, IndexError):
    """An index is outside of a view's rows."""


class UnknownFrontendError(ArrayError, ValueError):
    """No frontend has the given name."""


class FrontendNotInstalledError(ArrayError, ImportError):
    """The library of a frontend is not installed."""


class FrontendDeviceError(ArrayError, ValueError):
    """A frontend cannot serve a simulation on the given device."""
