"""Exceptions and warnings of tensorphys_particles, each kind under one base class."""

from __future__ import annotations


class ParticleError(Exception):
    """Base class of every error that this package raises."""


class MaterialError(ParticleError, ValueError):
    """A material constant is impossible."""


class MeshError(ParticleError, ValueError):
    """A cloth mesh or its springs cannot be simulated."""


class ModelError(ParticleError, ValueError):
    """Particles, cloths or systems are described wrongly."""


class SettingsError(ParticleError, ValueError):
    """A setting of the solver, or a time step, is impossible."""


class ArrayError(ParticleError, ValueError):
    """An array has another dtype, shape or device than is needed."""


class CapacityError(ParticleError, RuntimeError):
    """A buffer was too small; the message names it, the system and the size that was needed."""


class ParticleWarning(UserWarning):
    """Base class of the warnings of this package."""


class CapacityWarning(ParticleWarning):
    """A buffer was too small; what did not fit was left out of the interaction."""
