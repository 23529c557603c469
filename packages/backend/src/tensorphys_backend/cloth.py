"""Particles and springs of cloths."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_backend.carried import particle_ranges
from tensorphys_backend.errors import BackendError, PrimPathError
from tensorphys_backend.world import World, to_numpy

__all__ = ["KINDS", "ClothRows", "ParticleRows", "author_stiffness", "authored_stiffness"]

KINDS = {
    "bend": "springBendStiffness",
    "damping": "springDamping",
    "shear": "springShearStiffness",
    "stretch": "springStretchStiffness",
}
_DEFAULTS = {"bend": 1.5, "damping": 10.0, "shear": 1.5, "stretch": 1.5}


class ParticleRows:
    """Positions and velocities of the particles of cloths and sets, world frame.

    Args:
        world: The simulation.
    """

    _kind, _sets = "set of particles", True

    def __init__(self, world: World) -> None:
        self._world = world
        self._ranges = particle_ranges(world.simulation, sets=self._sets)

    def read(self, path: str, name: str, rows: Any = None) -> Any:
        """Values of particles as an array of the frontend that nothing else writes.

        Args:
            path: Prim of the cloth.
            name: ``"positions"`` [m] or ``"velocities"`` [m/s].
            rows: Particles; None for all.

        Raises:
            PrimPathError: No simulated cloth is there.
            IndexError: A particle that the cloth lacks.
        """
        values = self.values(path, name)
        if rows is not None:
            values = values[_indices(path, rows, len(values))]
        return self._world.array(values, values.shape)

    def values(self, path: str, name: str) -> npt.NDArray[np.float32]:
        """Values of all particles, a copy on the host; see :meth:`read`."""
        place = self._place(path)
        return np.array(self._array(name).numpy()[place.start : place.stop], np.float32)

    def write(self, path: str, name: str, data: Any, rows: Any = None) -> None:
        """Set values of particles.

        Args:
            path, name, rows: As of :meth:`read`.
            data: Values, shape [particles, 3].

        Raises:
            PrimPathError: No simulated cloth is there.
            IndexError: A particle that the cloth lacks.
            ValueError: Values of another shape, or that are not finite.
        """
        place, array = self._place(path), self._array(name)
        chosen = np.arange(len(place)) if rows is None else _indices(path, rows, len(place))
        values = np.asarray(to_numpy(data), np.float32)
        if values.shape != (len(chosen), 3) or not np.isfinite(values).all():
            raise ValueError(
                f"{path}: expected finite {name} of shape {(len(chosen), 3)}, given {values.shape}"
            )
        everything = np.array(array.numpy())
        everything[place.start + chosen] = values
        array.assign(everything)

    def _array(self, name: str) -> Any:
        return getattr(self._world.simulation.particles.state, name)  # type: ignore[union-attr]

    def _place(self, path: str) -> range:
        place = self._ranges.get(path)
        if place is None:
            raise PrimPathError(f"{path}: no simulated {self._kind} has this path")
        return place


class ClothRows(ParticleRows):
    """Positions and velocities of the particles of cloths alone."""

    _kind, _sets = "cloth", False


def authored_stiffness(prim: Any) -> dict[str, float]:
    """Springs of a cloth that the stage asks for: ``bend``, ``shear``, ``stretch`` [N/m] and ``damping`` [N s/m]."""
    result = {}
    for kind, name in KINDS.items():
        value = prim.GetAttribute(f"physxAutoParticleCloth:{name}").Get()
        result[kind] = _DEFAULTS[kind] if value is None else float(value)
    return result


def author_stiffness(prim: Any, values: dict[str, float | None]) -> None:
    """Write springs of a cloth to the stage.

    Raises:
        ValueError: A value is negative or not finite.
        BackendError: The springs of the cloth are authored one by one.
    """
    springs = prim.GetAttribute("physxParticle:springIndices").Get()
    if springs is not None and len(springs):
        raise BackendError(
            f"{prim.GetPath()}: its springs are authored one by one; set them by create_particle_cloth_view"
        )
    for kind, value in values.items():
        if value is not None and not (np.isfinite(value) and value >= 0.0):
            raise ValueError(
                f"{prim.GetPath()}: {kind}: expected a stiffness that is not negative, given {value}"
            )
    for kind, value in values.items():
        if value is not None:
            name = f"physxAutoParticleCloth:{KINDS[kind]}"
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Float, False).Set(float(value))


def _indices(path: str, rows: Any, count: int) -> npt.NDArray[np.int64]:
    chosen = np.asarray(to_numpy(rows), np.int64).reshape(-1)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < count):
        raise IndexError(f"{path}: particles are 0 to {count - 1}, given {chosen.min()} to {chosen.max()}")
    return chosen
