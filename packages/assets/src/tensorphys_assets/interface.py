"""The interface of the asset classes as a table: what conformance tests and the documentation are made from.

The table was read from the base classes of Isaac Lab 3.0.0; the session ``isaaclab`` of nox compares it with an
installed copy.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Member", "Parameter", "interface", "missing_members"]


@dataclass(frozen=True)
class Parameter:
    """Parameter of a method.

    Attributes:
        name: Name.
        default: Source text of the default, ``None`` where there is none.
        keyword_only: Whether it is given by name.
    """

    name: str
    default: str | None = None
    keyword_only: bool = False


@dataclass(frozen=True)
class Member:
    """Public member of an asset class or of its data class.

    Attributes:
        owner: Class, without the prefix ``Base``.
        name: Name.
        kind: Method, property, or attribute set at construction.
        abstract: Whether the base class leaves it to the implementation.
        deprecated: Whether using it warns.
        parameters: Parameters of a method, in order.
        shape: Axes of the value, or of a method's first argument: N instances, B bodies, J joints, T tendons,
            V nodes; E and K chosen instances and items.
        dtype: Warp type of an element; see :data:`tensorphys_assets.dtypes.DTYPES`.
        frame: World, link, or environment (without its origin).
        unit: Unit of its numbers.
        alias: Member that it means.
        clone: Member of which it is a copy taken at the first access.
    """

    owner: str
    name: str
    kind: Literal["method", "property", "attribute"]
    abstract: bool = False
    deprecated: bool = False
    parameters: tuple[Parameter, ...] = ()
    shape: str | None = None
    dtype: str | None = None
    frame: str | None = None
    unit: str | None = None
    alias: str | None = None
    clone: str | None = None


@functools.cache
def interface() -> dict[str, dict[str, Member]]:
    """All members, by class and name."""
    text = (
        importlib.resources.files("tensorphys_assets").joinpath("interface.json").read_text(encoding="utf-8")
    )
    classes: dict[str, dict[str, dict[str, Any]]] = json.loads(text)["classes"]
    return {
        owner: {
            name: Member(
                owner=owner,
                name=name,
                parameters=tuple(Parameter(**entry) for entry in fields.pop("parameters", ())),
                **fields,
            )
            for name, fields in members.items()
        }
        for owner, members in classes.items()
    }


def missing_members(classes: dict[str, type]) -> dict[str, list[str]]:
    """Members of the table that classes do not have.

    Args:
        classes: Class by its name in the table; annotations count as attributes.

    Returns:
        Names by class; all of them where a class is not given.
    """

    def known(cls: type) -> set[str]:
        return {
            name for base in cls.__mro__ for name in (*vars(base), *vars(base).get("__annotations__", ()))
        }

    result = {}
    for owner, members in interface().items():
        have = known(classes[owner]) if owner in classes else set()
        result[owner] = [name for name in members if name not in have]
    return result
