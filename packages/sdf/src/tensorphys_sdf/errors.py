"""Exceptions and warnings of tensorphys_sdf, each kind under one base class."""

from __future__ import annotations


class SdfError(Exception):
    """Base class of every error that this package raises."""


class MeshError(SdfError, ValueError):
    """Vertices or triangles cannot be read as a triangle mesh (shape, index, not finite, no area)."""


class ParameterError(SdfError, ValueError):
    """A parameter of a field has an impossible value."""


class ArrayError(SdfError, ValueError):
    """An array handed to a query has the wrong dtype, shape or device."""


class NoSurfaceError(SdfError, ValueError):
    """A query needs the surface, and the field was made of values alone."""


class FieldFileError(SdfError, ValueError):
    """A file holds no field that this version reads."""


class SdfWarning(UserWarning):
    """Base class of every warning that this package gives."""


class OpenMeshWarning(SdfWarning):
    """The mesh has holes; inside is where its generalised winding number exceeds one half."""


class NoInsideWarning(SdfWarning):
    """The mesh encloses nothing (a sheet); the sign tells the side of the faces instead."""


class MeshRepairWarning(SdfWarning):
    """Faces were dropped or turned before the field was made."""
