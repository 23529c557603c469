"""Errors of the spatial package."""

from __future__ import annotations

__all__ = ["DegenerateMeshError", "InertiaError", "SpatialError"]


class SpatialError(Exception):
    """Base of every error of this package."""


class DegenerateMeshError(SpatialError, ValueError):
    """A mesh has no usable volume, or indices that do not fit its vertices."""


class InertiaError(SpatialError, ValueError):
    """An inertia or a mass that no body can have."""
