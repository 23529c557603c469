"""Errors of stages that cannot be read as described."""


class UsdError(Exception):
    """Base class of all errors of this package."""


class StageError(UsdError, ValueError):
    """A stage cannot be opened or simulated as authored; the text is one line that names the prim and the value."""
