"""Exceptions of tensorphys_contact, all under one base class."""

from __future__ import annotations


class ContactError(Exception):
    """Base class of every error that this package raises."""


class ShapeError(ContactError, ValueError):
    """A shape array has a wrong length, a wrong index or an impossible size."""


class UnsupportedShapeError(ContactError, NotImplementedError):
    """A shape type is known by name but this version has no geometry for it."""


class UnsupportedPairError(ContactError, NotImplementedError):
    """A pair of shape types has no narrow-phase routine in this version."""


class PairError(ContactError, ValueError):
    """A candidate pair names a shape that is not there, or couples two environments."""


class HullError(ContactError, ValueError):
    """Points that span no volume, or are not finite, cannot be made into a convex hull."""


class MeshError(ContactError, ValueError):
    """A triangle mesh or height field that has no triangle with an area, or bad values."""


class MissingLibraryError(ContactError, ImportError):
    """An optional library that a cooking step needs is not installed."""


class ArrayError(ContactError, ValueError):
    """An array handed to :func:`collide` has the wrong dtype, length or device."""


class CapacityError(ContactError, RuntimeError):
    """A buffer was too small, and its owner wanted to be told."""


class CapacityWarning(UserWarning):
    """A buffer was too small; what did not fit was dropped."""
