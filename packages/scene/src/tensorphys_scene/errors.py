"""Errors of a scene that cannot be simulated as described."""


class SceneError(Exception):
    """Base class of all errors of this package."""


class SceneValueError(SceneError, ValueError):
    """A column of a scene table has a wrong shape, type or value; the text names table, row and value."""
