"""Exceptions and warnings of tensorphys_fem, each kind under one base class."""

from __future__ import annotations


class FemError(Exception):
    """Base class of every error that this package raises."""


class MeshError(FemError, ValueError):
    """A mesh cannot be simulated; the message names its elements or nodes."""


class MaterialError(FemError, ValueError):
    """A material constant is impossible."""


class ModelError(FemError, ValueError):
    """Bodies, nodes or frames of a model are described wrongly."""


class ArrayError(FemError, ValueError):
    """An array has another dtype, shape or device than is needed."""


class SettingsError(FemError, ValueError):
    """A setting of the solver is impossible."""


class MissingPackageError(FemError, ImportError):
    """A function needs an optional package that is not installed."""


class FemWarning(UserWarning):
    """Base class of every warning that this package gives."""


class MeshRepairWarning(FemWarning):
    """Elements were turned or dropped before the mesh was made; the message names them."""
