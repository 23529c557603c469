"""Which instances and items a call means, and the numbers that come with it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_assets._kernels.rows import narrow_indices
from tensorphys_assets.dtypes import as_numbers, element_width
from tensorphys_assets.proxy import ProxyArray

__all__ = ["Axis", "Choice", "FinderCache", "is_tensor", "payload_numbers", "payload_shape", "plain_array"]


def is_tensor(value: Any) -> bool:
    """Whether something is a tensor of torch, which need not be installed."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "data_ptr")


def plain_array(value: Any) -> Any:
    """The Warp array of a proxy, anything else as it is."""
    return value.warp if isinstance(value, ProxyArray) else value


@dataclass(frozen=True)
class Choice:
    """Chosen entries of an axis.

    Attributes:
        count: Entries that a payload has: the chosen ones, or with a mask all.
        ids: Chosen entries, int32; with a mask all.
        mask: Mask of bool, if that was given.
        everything: Whether nothing is left out.
    """

    count: int
    ids: wp.array
    mask: wp.array | None
    everything: bool

    @property
    def rows(self) -> wp.array | None:
        """What setters of views take for indices."""
        if self.everything:
            return None
        return self.ids if self.mask is None else self.mask

    def host(self) -> npt.NDArray[np.int32]:
        """Chosen entries in host memory; waits for the device."""
        if self.mask is not None:
            return np.flatnonzero(self.mask.numpy()).astype(np.int32)
        return np.asarray(self.ids.numpy(), dtype=np.int32)


class Axis:
    """Entries of one kind: instances, bodies, joints or tendons.

    Args:
        count: How many there are.
        device: Where indices and masks lie.
        label: Name, for messages.
    """

    def __init__(self, count: int, device: str, label: str) -> None:
        self.count, self.device, self.label = count, device, label
        self.indices = wp.array(np.arange(count, dtype=np.int32), dtype=wp.int32, device=device)
        self.mask = wp.full(count, True, dtype=wp.bool, device=device)
        self._all = Choice(count, self.indices, None, True)

    def choose(self, ids: Any = None, mask: Any = None) -> Choice:
        """Entries that ids or a mask name; the mask wins.

        Args:
            ids: ``None`` for all, a slice, a sequence, or an array of int32 or int64 of NumPy, torch or Warp.
            mask: Array of bool, an entry for each.

        Raises:
            TypeError: Neither of these.
            IndexError: An index of the host is out of range.
            ValueError: A mask has another length.
        """
        if mask is not None:
            return self._masked(mask)
        if ids is None or (isinstance(ids, slice) and ids.indices(self.count) == (0, self.count, 1)):
            return self._all
        array = self._ids(ids)
        return Choice(int(array.size), array, None, False)

    def _masked(self, mask: Any) -> Choice:
        array = plain_array(mask)
        if is_tensor(array):
            array = wp.from_torch((array != 0).contiguous(), dtype=wp.bool)
        elif not isinstance(array, wp.array):
            array = wp.array(np.asarray(array, dtype=np.bool_), dtype=wp.bool, device=self.device)
        if array.dtype is not wp.bool:
            raise TypeError(f"{self.label} mask: expected bool, given {array.dtype.__name__}")
        if array.shape != (self.count,):
            raise ValueError(f"{self.label} mask: expected {self.count} entries, given {tuple(array.shape)}")
        if str(array.device) != self.device:
            raise ValueError(f"{self.label} mask: expected one on {self.device}, given one on {array.device}")
        return Choice(self.count, self.indices, array if array.is_contiguous else array.contiguous(), False)

    def _ids(self, ids: Any) -> wp.array:
        if isinstance(ids, ProxyArray):
            if ids.dtype is not wp.int32:
                raise TypeError(
                    f"{self.label} ids: expected indices, given a ProxyArray of {ids.dtype.__name__}"
                )
            ids = ids.warp
        if isinstance(ids, slice):
            return self._host(np.arange(self.count, dtype=np.int64)[ids])
        if is_tensor(ids):
            if str(ids.dtype) not in ("torch.int32", "torch.int64"):
                raise TypeError(f"{self.label} ids: expected int32 or int64, given {ids.dtype}")
            return self._checked(wp.from_torch(ids.reshape(-1).int().contiguous(), dtype=wp.int32))
        if isinstance(ids, wp.array):
            if ids.dtype not in (wp.int32, wp.int64):
                raise TypeError(f"{self.label} ids: expected int32 or int64, given {ids.dtype.__name__}")
            if ids.dtype is wp.int64:
                narrow = wp.empty(ids.size, dtype=wp.int32, device=ids.device)
                wp.launch(narrow_indices, ids.size, [ids], [narrow], device=ids.device)
                return self._checked(narrow)
            return self._checked(ids if ids.is_contiguous else ids.contiguous())
        try:
            host = np.asarray(ids)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self.label} ids: expected indices, given {type(ids).__name__}") from error
        if host.size and host.dtype.kind not in "iu":
            raise TypeError(f"{self.label} ids: expected integers, given {host.dtype}")
        return self._host(host.reshape(-1).astype(np.int64))

    def _checked(self, array: wp.array) -> wp.array:
        """Indices on the device; those on the host are looked at, and others by the kernels that read them."""
        if str(array.device) != self.device:
            raise ValueError(f"{self.label} ids: expected them on {self.device}, given on {array.device}")
        if self.device == "cpu":
            self._check(array.numpy())
        return array

    def _check(self, host: npt.NDArray[Any]) -> None:
        bad = (host < 0) | (host >= self.count)
        if bad.any():
            raise IndexError(
                f"{self.label} ids: expected indices from 0 to {self.count - 1}, given {int(host[bad][0])}"
            )

    def _host(self, host: npt.NDArray[Any]) -> wp.array:
        self._check(host)
        return wp.array(host.astype(np.int32), dtype=wp.int32, device=self.device)


class FinderCache:
    """Index proxies that finders hand out: the same one for the same answer, the latest 128 of them.

    Args:
        device: Where they lie.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._proxies: OrderedDict[tuple[str, tuple[int, ...]], Any] = OrderedDict()

    def get(self, kind: str, places: Sequence[int]) -> Any:
        """Proxy of int32 indices.

        Args:
            kind: What they number.
            places: The indices.
        """
        key = (kind, tuple(places))
        proxy = self._proxies.pop(key, None)
        if proxy is None:
            host = np.asarray(key[1], dtype=np.int32)
            proxy = ProxyArray(wp.array(host, dtype=wp.int32, device=self._device))
        self._proxies[key] = proxy
        if len(self._proxies) > 128:
            self._proxies.popitem(last=False)
        return proxy


def payload_shape(value: Any) -> tuple[tuple[int, ...], str]:
    """Shape of a payload in numbers, and its type of numbers."""
    if isinstance(value, wp.array):
        scalar = getattr(value.dtype, "_wp_scalar_type_", value.dtype)
        shape = getattr(value.dtype, "_shape_", ())
        return (*value.shape, *shape), scalar.__name__
    return tuple(value.shape), str(value.dtype).rpartition(".")[2]


def payload_numbers(value: Any, shape: tuple[int, int, int], device: str, what: str) -> wp.array:
    """Numbers of a payload as float32, shape [rows, items, numbers of an item], without a copy where possible.

    Args:
        value: Tensor, Warp array, proxy or NumPy array.
        shape: Shape of the result.
        device: Where it must lie.
        what: Call and argument, for messages.

    Raises:
        TypeError: It is none of these.
        ValueError: It has another number of elements, or lies elsewhere.
    """
    value = plain_array(value)
    if is_tensor(value):
        array = wp.from_torch(value.detach().contiguous().reshape(-1), dtype=wp.float32)
    elif isinstance(value, wp.array):
        array = value if value.is_contiguous else value.contiguous()
    elif isinstance(value, np.ndarray):
        array = wp.array(np.ascontiguousarray(value, dtype=np.float32), dtype=wp.float32, device=device)
    else:
        raise TypeError(f"{what}: expected a tensor or a Warp array, given {type(value).__name__}")
    if str(array.device) != device:
        raise ValueError(f"{what}: expected an array on {device}, given one on {array.device}")
    if array.size * element_width(array.dtype) != shape[0] * shape[1] * shape[2]:
        raise ValueError(f"{what}: expected {shape} numbers, given an array of shape {tuple(value.shape)}")
    return as_numbers(array, shape)
