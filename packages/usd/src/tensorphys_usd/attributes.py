"""Authored physics attributes of prims by name, and which of them somebody used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Gf, Sdf, Usd

from tensorphys_usd.errors import StageError
from tensorphys_usd.geometry_values import wrong

_PREFIXES = (
    "physics:",
    "physx",
    "newton:",
    "mjc:",
    "urdf:",
    "drive:",
    "state:",
    "mjcf:",
    "limit:",
    "omniphysics:",
)


def _is_number(value: float) -> bool:
    return not math.isnan(value)


def is_physics(name: str) -> bool:
    """Whether an attribute or relationship of this name belongs to a physics schema."""
    return name.startswith(_PREFIXES)


class Attributes:
    """Authored physics attributes of one prim.

    Vendor schemas are read by name, since plain OpenUSD does not register them. A name counts as used once it was
    asked for; what nobody asked for is reported.

    Args:
        prim: The prim.
        schemas: API schemas applied to it, registered or not, in order; None where they are to be read.
    """

    def __init__(self, prim: Usd.Prim, schemas: tuple[str, ...] | None = None) -> None:
        self.prim = prim
        self.names = {name for name in prim.GetAuthoredPropertyNames() if name.startswith(_PREFIXES)}
        self._unused = set(self.names)
        self._passed: set[str] = set()
        self._schemas = schemas

    def has(self, name: str) -> bool:
        """Whether the name is authored; marks nothing as used."""
        return name in self.names

    def applied(self, schema: str) -> bool:
        """Whether an API schema is applied, registered or not."""
        return schema in self._applied()

    def _applied(self) -> tuple[str, ...]:
        if self._schemas is None:
            self._schemas = tuple(map(str, self.prim.GetPrimTypeInfo().GetAppliedAPISchemas()))
        return self._schemas

    def instances(self, schema: str) -> list[str]:
        """Instance names of a multiple-apply schema, registered or not, in the order in which they are applied."""
        found = (item.partition(":") for item in self._applied() if item.startswith(schema))
        return [instance for name, _, instance in found if name == schema and instance]

    def spaces(self, prefix: str) -> list[str]:
        """What stands between a prefix and the next colon in authored names, sorted."""
        return sorted(
            {name[len(prefix) :].partition(":")[0] for name in self.names if name.startswith(prefix)}
        )

    def get(self, name: str, default: Any = None) -> Any:
        """Authored value, or the default where none is authored or it is blocked."""
        if name not in self.names:
            return default
        self._unused.discard(name)
        value = self.prim.GetAttribute(name).Get()
        return default if value is None else value

    def number(self, name: str, default: float) -> float:
        """Authored number, 3.4e38 and above being infinite, or the default as it is.

        Raises:
            StageError: If it is no number, or NaN.
        """
        if name not in self.names:
            return default
        value = self.get(name, default)
        if not isinstance(value, (bool, int, float)):
            raise self._wrong(name, value, "a number")
        number = float(value)
        if number != number:
            raise StageError(f"{self.prim.GetPath()}: {name} is nan")
        if abs(number) >= 3.0e38:
            return float("inf") if number > 0.0 else float("-inf")
        return number

    def flag(self, name: str, default: bool) -> bool:
        """Authored truth value, or the default.

        Raises:
            StageError: If it is none.
        """
        value = self.get(name, default)
        if isinstance(value, (bool, int, float)) and value in (0, 1):
            return bool(value)
        raise self._wrong(name, value, "true or false")

    def integer(self, name: str, default: int) -> int:
        """Authored whole number, or the default.

        Raises:
            StageError: If it is none.
        """
        value = self.get(name, default)
        if isinstance(value, (bool, int)) or (isinstance(value, float) and value.is_integer()):
            return int(value)
        raise self._wrong(name, value, "a whole number")

    def vector(self, name: str, default: Sequence[float], *, finite: bool = True) -> npt.NDArray[np.float64]:
        """Authored numbers, as many as the default has, or the default.

        Args:
            name: The attribute.
            default: Where none is authored.
            finite: Whether infinite numbers are refused, as NaN is.

        Raises:
            StageError: If they are something else.
        """
        if name not in self.names:
            return np.array(default, dtype=np.float64)
        value = self.get(name, default)
        try:
            given = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._wrong(name, value, f"{len(default)} numbers") from None
        if given.shape != (len(default),):
            raise self._wrong(name, value, f"{len(default)} numbers")
        usual = math.isfinite if finite else _is_number
        if not all(map(usual, given.tolist())):
            raise StageError(f"{self.prim.GetPath()}: {name} is {given.tolist()}")
        return given

    def quaternion(self, name: str) -> Any | None:
        """Authored `Gf` quaternion, None where none is authored.

        Raises:
            StageError: If it is something else.
        """
        value = self.get(name)
        if value is None or isinstance(value, (Gf.Quatf, Gf.Quatd, Gf.Quath)):
            return value
        raise self._wrong(name, value, "a quaternion")

    def tokens(self, name: str) -> tuple[str, ...]:
        """Authored list of texts, none where none is authored; a single one counts as one.

        Raises:
            StageError: If it is something else.
        """
        value = self.get(name, ())
        if isinstance(value, str):
            return (value,)
        if hasattr(value, "__len__") and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self._wrong(name, value, "texts")

    def numbers(self, name: str, default: Sequence[float]) -> npt.NDArray[np.float64]:
        """Authored numbers, however many, or the default; a single one counts as one.

        Raises:
            StageError: If they are something else or not finite.
        """
        value = self.get(name, default)
        try:
            given = np.atleast_1d(np.array(value, dtype=np.float64))
        except (TypeError, ValueError):
            raise self._wrong(name, value, "numbers") from None
        if given.ndim != 1:
            raise self._wrong(name, value, "numbers")
        if not np.isfinite(given).all():
            raise StageError(f"{self.prim.GetPath()}: {name} is {given.tolist()}")
        return given

    def token(self, name: str, default: str) -> str:
        """Authored text, or the default.

        Raises:
            StageError: If it is something else.
        """
        value = self.get(name, default)
        if isinstance(value, str):
            return value
        raise self._wrong(name, value, "text")

    def _wrong(self, name: str, value: object, expected: str) -> StageError:
        return wrong(self.prim, name, value, expected)

    def targets(self, name: str) -> list[Sdf.Path]:
        """Targets of an authored relationship, paths in prototypes resolved by OpenUSD."""
        if name not in self.names:
            return []
        self._unused.discard(name)
        relationship = self.prim.GetRelationship(name)
        return list(relationship.GetTargets()) if relationship else []

    def use(self, *names: str) -> None:
        """Mark names as used that were read by OpenUSD's own parser."""
        found = self._unused.intersection(names)
        self._unused -= found
        self._passed |= found

    def use_all(self) -> None:
        """Mark all names as used, likewise."""
        self._passed |= self._unused
        self._unused = set()

    @property
    def passed(self) -> set[str]:
        """Authored names that were marked as used without a look at their values here."""
        return self._passed

    def use_prefix(self, *prefixes: str) -> None:
        """Mark all names with these prefixes as used."""
        self.use(*(name for name in self._unused if name.startswith(prefixes)))

    def used(self) -> tuple[str, ...]:
        """Authored names that somebody asked for, sorted."""
        return tuple(sorted(self.names - self._unused))

    @property
    def has_unused(self) -> bool:
        """Whether nobody asked for some authored name."""
        return bool(self._unused)

    def unused(self) -> list[str]:
        """Authored names that nobody asked for, sorted."""
        return sorted(self._unused)
