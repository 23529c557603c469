"""Configurations: values by name, checked, copied on construction."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, TypeVar

from tensorphys_assets.errors import ConfigurationError

__all__ = ["MISSING", "Config"]

T = TypeVar("T", bound="Config")


class _Missing:
    """Stands for a value that has to be given."""

    def __repr__(self) -> str:
        return "MISSING"

    def __copy__(self) -> _Missing:
        return self

    def __deepcopy__(self, memo: Any) -> _Missing:
        return self


MISSING: Any = _Missing()


class Config:
    """Base of configurations.

    Fields are the annotated attributes of the class and its bases; a subclass changes a default by assigning it, and needs
    no decorator. Defaults are copied into each object.

    Args:
        values: Values by field.

    Raises:
        ConfigurationError: There is no such field.
    """

    def __init__(self, **values: Any) -> None:
        names = self.field_names()
        unknown = [name for name in values if name not in names]
        if unknown:
            raise ConfigurationError(
                f"{type(self).__name__}: there is no field {unknown[0]!r}; expected any of {', '.join(names)}"
            )
        for name in names:
            value = values[name] if name in values else getattr(type(self), name, MISSING)
            setattr(self, name, copy.deepcopy(value) if name not in values else value)

    @classmethod
    def field_names(cls) -> list[str]:
        """Names of the fields, those of bases first."""
        names: dict[str, None] = {}
        for base in reversed(cls.__mro__):
            for name, kind in vars(base).get("__annotations__", {}).items():
                if not name.startswith("_") and not str(kind).startswith(("ClassVar", "typing.ClassVar")):
                    names[name] = None
        return list(names)

    def validate(self) -> None:
        """Look for values that are missing, here and in configurations below.

        Raises:
            ConfigurationError: Some are.
        """
        missing = [name for name in self.field_names() if getattr(self, name) is MISSING]
        if missing:
            raise ConfigurationError(f"{type(self).__name__}: missing {', '.join(missing)}")
        for name in self.field_names():
            value = getattr(self, name)
            for part in value.values() if isinstance(value, dict) else (value,):
                if isinstance(part, Config):
                    part.validate()

    def copy(self: T) -> T:
        """A copy that shares nothing that can be changed."""
        return copy.deepcopy(self)

    def replace(self: T, **values: Any) -> T:
        """A copy with other values."""
        fields = {name: copy.deepcopy(getattr(self, name)) for name in self.field_names()}
        return type(self)(**{**fields, **values})

    def to_dict(self) -> dict[str, Any]:
        """All values by name, configurations below as dictionaries."""

        def plain(value: Any) -> Any:
            if isinstance(value, Config):
                return value.to_dict()
            return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else value

        return {name: plain(getattr(self, name)) for name in self.field_names()}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.field_names())
        return f"{type(self).__name__}({fields})"
