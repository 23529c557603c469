"""Members of data classes of assets: what each is, and how it is found in the others.

:class:`tensorphys_assets.buffers.AssetData` reads them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import warp as wp

from tensorphys_assets.dtypes import DTYPES, reinterpret, slice_elements

if TYPE_CHECKING:
    from tensorphys_assets.buffers import AssetData

__all__ = [
    "Column",
    "Described",
    "FirstValue",
    "Part",
    "Quantity",
    "Reshaped",
    "Same",
    "warn_deprecated",
]


def warn_deprecated(owner: Any, name: str, target: str) -> None:
    """Warn that a member is deprecated and say what to use."""
    warnings.warn(
        f"{type(owner).__name__}.{name} is deprecated; use {target}", DeprecationWarning, stacklevel=3
    )


class Described:
    """Member of a data class that says what it is.

    Args:
        doc: Meaning.
    """

    name = ""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Quantity(Described):
    """A buffer.

    Args:
        doc: Meaning.
        axes: Axes, one letter each (see :meth:`AssetData.size`), or numbers.
        dtype: Name of the element type.
        kernel: Kernel over all elements that fills it from the quantities that it reads.
        reads: Quantities that are brought up to date before it, and whose change makes it stale.
        follows: Quantities whose change makes it stale.
        fill: What fills it instead of a kernel: called with the data object and the array.
        source: Getter of the engine's view, without ``get_``, whose array it is.
        own: Whether it has memory of its own all the same, since it holds what is not written yet.
        static: Whether it does not change by itself: time does not make it stale.
        constant: Whether nothing fills it but the user.
        deprecated: What to use instead.
    """

    def __init__(
        self,
        doc: str,
        *,
        axes: str,
        dtype: str,
        kernel: Any = None,
        reads: tuple[str, ...] = (),
        follows: tuple[str, ...] = (),
        fill: Callable[[Any, wp.array], None] | None = None,
        source: str = "",
        own: bool = False,
        static: bool = False,
        constant: bool = False,
        deprecated: str = "",
    ) -> None:
        super().__init__(doc)
        self.axes, self.dtype = axes, dtype
        self.kernel, self.reads, self.follows, self.fill = kernel, reads, follows, fill
        self.source, self.own, self.static, self.constant, self.deprecated = (
            source,
            own,
            static,
            constant,
            deprecated,
        )

    def __get__(self, data: Any, owner: type | None = None) -> Any:
        if data is None:
            return self
        if self.deprecated:
            warn_deprecated(data, self.name, self.deprecated)
        return data.read(self.name)


class Part(Described):
    """A part of each element of a quantity, over the same memory.

    Args:
        doc: Meaning.
        whole: The quantity.
        dtype: Name of the type of the part.
        first: Number in the element where it begins.
    """

    def __init__(self, doc: str, whole: str, dtype: str, first: int) -> None:
        super().__init__(doc)
        self.whole, self.dtype, self.first = whole, dtype, first

    def __get__(self, data: Any, owner: type | None = None) -> Any:
        return self if data is None else data.read(self.name)

    def view(self, data: AssetData, whole: wp.array) -> wp.array:
        """The part of an array of the whole."""
        return slice_elements(whole, DTYPES[self.dtype], self.first)


class Column(Described):
    """One item of each row of a quantity, over the same memory.

    Args:
        doc: Meaning.
        whole: The quantity.
        place: What tells the item, given the data object.
    """

    def __init__(self, doc: str, whole: str, place: Callable[[Any], int]) -> None:
        super().__init__(doc)
        self.whole, self.place = whole, place

    def __get__(self, data: Any, owner: type | None = None) -> Any:
        return self if data is None else data.read(self.name)

    def view(self, data: AssetData, whole: wp.array) -> wp.array:
        """The items of an array of the whole."""
        place = self.place(data)
        view = wp.array(
            ptr=whole.ptr + place * whole.strides[1],
            dtype=whole.dtype,
            shape=whole.shape[:1],
            strides=whole.strides[:1],
            device=whole.device,
            copy=False,
        )
        view._owner = whole
        return view


class Reshaped(Described):
    """The array of a quantity in another shape.

    Args:
        doc: Meaning.
        whole: The quantity.
        axes: As of a :class:`Quantity`.
        deprecated: Whether using it warns.
    """

    def __init__(self, doc: str, whole: str, axes: str, *, deprecated: bool = False) -> None:
        super().__init__(doc)
        self.whole, self.axes, self.deprecated = whole, axes, deprecated

    def __get__(self, data: Any, owner: type | None = None) -> Any:
        if data is None:
            return self
        if self.deprecated:
            warn_deprecated(data, self.name, self.whole)
        return data.read(self.name)

    def view(self, data: AssetData, whole: wp.array) -> wp.array:
        """The array of the whole in this shape."""
        return reinterpret(whole, whole.dtype, data.shape(self.axes))


class Same(Described):
    """Another name of a member.

    Args:
        target: The member.
        deprecated: Whether using it warns.
    """

    def __init__(self, target: str, *, deprecated: bool = False) -> None:
        super().__init__(f"Same as ``{target}``." + (" Deprecated." if deprecated else ""))
        self.target, self.deprecated = target, deprecated

    def __get__(self, data: Any, owner: type | None = None) -> Any:
        if data is None:
            return self
        if self.deprecated:
            warn_deprecated(data, self.name, self.target)
        return data.resolve(self.target)


class FirstValue(Described):
    """Copy of a quantity as it was at the first access; deprecated.

    Args:
        target: The quantity.
    """

    def __init__(self, target: str) -> None:
        super().__init__(f"Copy of ``{target}`` as it was at the first access. Deprecated.")
        self.target = target

    def __get__(self, data: Any, owner: type | None = None) -> Any:
        if data is None:
            return self
        warn_deprecated(data, self.name, f"a copy of {self.target}")
        return data.first_value(self.name, self.target)
