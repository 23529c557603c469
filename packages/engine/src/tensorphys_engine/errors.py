"""Errors and warnings of this package, all errors under one base class."""


class EngineError(Exception):
    """Base class of every error that this package raises."""


class BuildError(EngineError, ValueError):
    """A scene contradicts itself, so no simulation can be built; the text names the prim."""


class UnsupportedError(EngineError, NotImplementedError):
    """A scene asks for something that this version does not simulate; the text names the prim."""


class StepError(EngineError, ValueError):
    """A step, a setting or a saved state that cannot be applied."""


class PathError(EngineError, KeyError):
    """No prim has this path."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnsupportedWarning(UserWarning):
    """Something of the scene is left out of the simulation; ``Simulation.findings`` lists all of it by prim."""


class ContactOverflowError(EngineError, RuntimeError):
    """More contacts than the buffers hold; the text names the buffer, an environment and the needed size."""


class ContactOverflowWarning(UserWarning):
    """More contacts than the buffers hold; the deepest were kept."""


class ParticleOverflowError(EngineError, RuntimeError):
    """A particle had more neighbours, or touched more shapes, than are kept."""


class ParticleOverflowWarning(UserWarning):
    """A particle had more neighbours, or touched more shapes, than are kept; the others were passed by."""


class DivergenceWarning(UserWarning):
    """Velocities came out beyond all bounds; the articulation was stopped where it stood."""
