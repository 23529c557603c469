"""Base classes of Isaac Lab, where it is installed; nothing of it is needed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
from typing import Any, TypeVar

__all__ = ["complete", "lab_class", "lab_installed"]

T = TypeVar("T", bound=type)
_LOGGER = logging.getLogger("tensorphys.assets")


@functools.cache
def lab_installed() -> bool:
    """Whether the package ``isaaclab`` can be found."""
    try:
        return importlib.util.find_spec("isaaclab") is not None
    except (ImportError, ValueError):
        return False


@functools.cache
def lab_class(module: str, name: str) -> Any:
    """A class of Isaac Lab.

    Args:
        module, name: Where it is defined.

    Returns:
        The class, or ``None`` where Isaac Lab is not installed or cannot be imported, which is logged.
    """
    if not lab_installed():
        return None
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        _LOGGER.warning(
            "isaaclab is installed, but %s.%s cannot be imported (%s); assets go without", module, name, error
        )
        return None


def complete(cls: T) -> T:
    """Say that a class lacks nothing of its base in Isaac Lab.

    What is left abstract are the private steps of Isaac Lab's own life cycle, which :class:`AssetScene` replaces.

    Raises:
        TypeError: A public member is abstract.
    """
    left = frozenset(getattr(cls, "__abstractmethods__", ()))
    public = sorted(name for name in left if not name.startswith("_"))
    if public:
        raise TypeError(f"{cls.__name__} lacks {', '.join(public)}")
    if left:
        cls.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    return cls
