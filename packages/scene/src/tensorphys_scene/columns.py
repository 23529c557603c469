"""Tables: frozen dataclasses whose fields are NumPy columns of one common length."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tensorphys_scene.errors import SceneValueError

_T = TypeVar("_T", bound="Table")


def column(
    dtype: npt.DTypeLike, shape: tuple[int, ...] = (), *, default: Any = None, finite: bool = False
) -> Any:
    """Declare a column of a table.

    Args:
        dtype: Type that the column is stored in.
        shape: Shape of one row.
        default: Value of every row when the column is not given; without it the column is required.
        finite: Whether NaN and infinities are refused.
    """
    metadata = {"dtype": np.dtype(dtype), "shape": shape, "default": default, "finite": finite}
    return dataclasses.field(default=None, metadata=metadata)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of equal kind, stored as read-only NumPy columns.

    ``path`` names every row by its prim path, relative to the root of the template that the table
    belongs to; its length is the row count. Every other field is declared with :func:`column`.

    Raises:
        SceneValueError: If a column has a wrong length, row shape or type, or holds NaN where it must not.
    """

    path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", tuple(self.path))
        for field in dataclasses.fields(self):
            if "dtype" in field.metadata:
                object.__setattr__(self, field.name, self._checked(field))

    def _checked(self, field: dataclasses.Field[Any]) -> npt.NDArray[Any]:
        value = getattr(self, field.name)
        shape = (self.count, *field.metadata["shape"])
        dtype = field.metadata["dtype"]
        name = f"{type(self).__name__}.{field.name}"
        if value is None:
            if field.metadata["default"] is None and self.count:
                raise SceneValueError(f"{name} is required: expected an array of shape {shape}")
            filler = 0 if field.metadata["default"] is None else field.metadata["default"]
            result = np.broadcast_to(np.asarray(filler, dtype), shape).copy()
        else:
            given = np.asarray(value)
            if given.size == 0 and self.count == 0:
                given = given.reshape(shape).astype(dtype)
            if given.shape != shape:
                raise SceneValueError(f"{name}: expected shape {shape}, given {given.shape}")
            if not np.can_cast(given.dtype, dtype, casting="same_kind"):
                raise SceneValueError(f"{name}: expected {dtype}, given {given.dtype}")
            result = np.array(given, dtype=dtype)
        if field.metadata["finite"] and not np.isfinite(result).all():
            row = int(np.argwhere(~np.isfinite(result))[0][0])
            raise SceneValueError(f"{name} of {self.path[row]} is not finite: {result[row].tolist()}")
        result.flags.writeable = False
        return result

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.path)

    def row(self, path: str) -> int:
        """Index of the row with this path.

        Raises:
            SceneValueError: If no row has it.
        """
        try:
            return self.path.index(path)
        except ValueError:
            raise SceneValueError(f"{type(self).__name__} has no row {path}") from None

    def replace(self: _T, **columns: Any) -> _T:
        """A copy with other columns, checked again."""
        return dataclasses.replace(self, **columns)

    def take(self: _T, rows: Sequence[int] | npt.NDArray[np.integer[Any]]) -> _T:
        """A table of the given rows, in the given order."""
        index = np.asarray(rows, dtype=np.intp)
        values: dict[str, Any] = {"path": tuple(self.path[i] for i in index)}
        for field in dataclasses.fields(self):
            if "dtype" in field.metadata:
                values[field.name] = getattr(self, field.name)[index]
            elif field.name != "path":
                values[field.name] = getattr(self, field.name)
        return type(self)(**values)


def equal(first: Table, second: Table) -> bool:
    """Whether two tables have the same type, paths and columns, NaN equal to NaN."""
    if type(first) is not type(second) or first.path != second.path:
        return False
    for field in dataclasses.fields(first):
        if "dtype" not in field.metadata:
            continue
        a, b = getattr(first, field.name), getattr(second, field.name)
        if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            return False
    return True
