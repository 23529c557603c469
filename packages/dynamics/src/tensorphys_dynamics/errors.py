"""Errors of the dynamics package."""


class DynamicsError(Exception):
    """Base class of all errors of this package."""


class TopologyError(DynamicsError, ValueError):
    """The links and degrees of freedom of an articulation do not form a tree."""


class ModelError(DynamicsError, ValueError):
    """A column of the model has a wrong shape or an impossible value."""
