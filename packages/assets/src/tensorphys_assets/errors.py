"""Errors of this package."""

from __future__ import annotations

__all__ = ["AssetError", "ConfigurationError", "NotReadyError", "PrimError"]


class AssetError(Exception):
    """Base class of the errors of this package."""


class ConfigurationError(AssetError, ValueError):
    """A configuration says something that cannot be; the text names the field, what was expected and given."""


class NotReadyError(AssetError, RuntimeError):
    """Something was asked of an asset or a sensor before its scene was reset for the first time."""


class PrimError(AssetError, RuntimeError):
    """The prims that a path expression names are not what an asset needs."""
