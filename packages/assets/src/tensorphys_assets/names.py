"""Names that regular expressions choose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tensorphys_assets.errors import ConfigurationError

__all__ = ["match_names", "match_values"]


def _compile(key: str) -> re.Pattern[str]:
    try:
        return re.compile(key)
    except re.error as error:
        raise ConfigurationError(f"{key!r} is no regular expression: {error}") from error


def _owners(keys: Sequence[str], names: Sequence[str]) -> list[int]:
    """Number of the key that matches each name wholly, -1 where none does."""
    owner = [-1] * len(names)
    for number, key in enumerate(keys):
        pattern, found = _compile(key), False
        for place, name in enumerate(names):
            if not pattern.fullmatch(name):
                continue
            if owner[place] >= 0 and owner[place] != number:
                raise ConfigurationError(
                    f"{name!r} is matched by {keys[owner[place]]!r} and by {key!r}; expected one of them"
                )
            owner[place], found = number, True
        if not found:
            raise ConfigurationError(f"{key!r} matches none of {list(names)}")
    return owner


def match_names(
    keys: str | Sequence[str], names: Sequence[str], preserve_order: bool = False
) -> tuple[list[int], list[str]]:
    """Names that expressions match wholly.

    Args:
        keys: Regular expression, or several.
        names: What to choose from.
        preserve_order: Whether the result stands in the order of the expressions instead of that of the names.

    Returns:
        Positions and names.

    Raises:
        ConfigurationError: An expression matches nothing, two match one name, or one is none.
    """
    listed = [keys] if isinstance(keys, str) else list(keys)
    owner = _owners(listed, names)
    places = [place for place, number in enumerate(owner) if number >= 0]
    if preserve_order:
        places.sort(key=lambda place: owner[place])
    return places, [names[place] for place in places]


def match_values(values: Mapping[str, Any], names: Sequence[str]) -> tuple[list[int], list[str], list[Any]]:
    """Values given by expressions over names.

    Args:
        values: Value of each expression.
        names: What to choose from.

    Returns:
        Positions, names and values, in the order of the names.

    Raises:
        ConfigurationError: As for :func:`match_names`.
    """
    keys = list(values)
    owner = _owners(keys, names)
    places = [place for place, number in enumerate(owner) if number >= 0]
    return places, [names[place] for place in places], [values[keys[owner[place]]] for place in places]
