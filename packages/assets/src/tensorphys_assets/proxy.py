"""Arrays that two libraries see: Warp memory with a cached view of torch."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import warp as wp

from tensorphys_assets.lab import lab_class

__all__ = ["ProxyArray"]

_WXYZ_VARIABLE = "WARN_ON_TORCH_QUATF_ACCESS"


def _tell() -> None:
    """Say once a session that the torch view was meant."""
    if not _Proxy._deprecation_warned:
        _Proxy._deprecation_warned = True
        warnings.warn(
            "a ProxyArray was used as if it were a torch tensor, which is deprecated: write .torch",
            DeprecationWarning,
            stacklevel=4,
        )


def _plain(value: Any) -> Any:
    """What torch takes for a value: proxies become tensors, at any depth of lists and tuples."""
    if isinstance(value, (_Proxy, ProxyArray)):
        return value.torch
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return value


class _Proxy:
    """A Warp array, and the tensor of torch over the same memory.

    The two never change places: an asset hands out the same proxy for as long as it lives, and what it reads from
    the simulation appears in the memory behind it. Operators, indexing and methods of tensors work on the torch view and
    are deprecated.

    Args:
        array: The array.

    Raises:
        TypeError: It is no Warp array.
    """

    __slots__ = ("__weakref__", "_tensor", "_warp")
    _deprecation_warned: ClassVar[bool] = False
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: wp.array) -> None:
        if not isinstance(array, wp.array):
            raise TypeError(f"ProxyArray: expected a warp.array, given {type(array).__name__}")
        object.__setattr__(self, "_warp", array)
        object.__setattr__(self, "_tensor", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a ProxyArray is immutable; {name!r} was not set")

    @property
    def warp(self) -> wp.array:
        """The array."""
        return self._warp

    @property
    def torch(self) -> Any:
        """Tensor over the same memory; structured elements are its last axis. Made once."""
        if self._warp.dtype is wp.quatf and os.environ.get(_WXYZ_VARIABLE) == "1":
            warnings.warn(
                "a quatf holds (x, y, z, w), not (w, x, y, z) as in Isaac Lab 2", UserWarning, stacklevel=2
            )
        if self._tensor is None:
            object.__setattr__(self, "_tensor", wp.to_torch(self._warp))
        return self._tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape in elements."""
        return tuple(self._warp.shape)

    @property
    def dtype(self) -> Any:
        """Warp type of the elements."""
        return self._warp.dtype

    @property
    def device(self) -> Any:
        """Warp device."""
        return self._warp.device

    def __len__(self) -> int:
        return int(self._warp.shape[0])

    def __repr__(self) -> str:
        name = getattr(self.dtype, "__name__", str(self.dtype))
        return f"ProxyArray(shape={self.shape}, dtype={name}, device={self.device})"

    @property
    def __array_interface__(self) -> Any:
        return self._warp.__array_interface__

    @property
    def __cuda_array_interface__(self) -> Any:
        return self._warp.__cuda_array_interface__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"ProxyArray has no attribute {name!r}")
        _tell()
        return getattr(self.torch, name)

    def __getitem__(self, key: Any) -> Any:
        _tell()
        return self.torch[_plain(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        _tell()
        self.torch[_plain(key)] = _plain(value)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _tell()
        named = {name: _plain(value) for name, value in (kwargs or {}).items()}
        return func(*_plain(tuple(args)), **named)


def _binary(function: Callable[[Any, Any], Any], *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        _tell()
        mine, given = self.torch, _plain(other)
        return function(given, mine) if swapped else function(mine, given)

    return method


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        _tell()
        return function(self.torch)

    return method


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(_Proxy, f"__{_name}__", _binary(getattr(operator, _name)))
    setattr(_Proxy, f"__r{_name}__", _binary(getattr(operator, _name), swapped=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Proxy, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "abs"):
    setattr(_Proxy, f"__{_name}__", _unary(getattr(operator, _name)))
_Proxy.__name__ = _Proxy.__qualname__ = "ProxyArray"

# Where Isaac Lab is installed its own class is used, since its code asks for instances of it.
ProxyArray: Any = lab_class("isaaclab.utils.warp", "ProxyArray") or _Proxy
