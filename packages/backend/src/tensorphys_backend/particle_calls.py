"""The part of the backend that makes, fills and empties particle systems; beside the interface."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_backend.interface import PhysicsBackend
from tensorphys_backend.live import LiveStage
from tensorphys_backend.particle_systems import (
    authored_particles,
    define_system,
    points_path,
    system_path,
    write_particles,
)
from tensorphys_backend.world import host_array, to_numpy

__all__ = ["ParticleCalls"]


class ParticleCalls(PhysicsBackend):
    """Particle systems by name; positions and velocities are in the world frame, in stage lengths and seconds.

    What :meth:`generate_particles` and :meth:`remove_particles` leave is authored, and is where the next play starts.
    """

    @property
    @abstractmethod
    def live(self) -> LiveStage:
        """The stage and its simulation."""

    @property
    @abstractmethod
    def frontend_name(self) -> str:
        """Array library of views and handles."""

    def create_particle_system(
        self, system_name: str, *, contact_offset: float = 0.02, fluid: bool = True
    ) -> str:
        """Make a particle system without particles; one that is there stays as it is.

        Args:
            system_name: Its name, or the path of its prim.
            contact_offset: Half of the distance within which particles act on each other [m].
            fluid: Whether they are a fluid, and not grains.

        Returns:
            Path of its prim.

        Raises:
            PrimPathError: It is no name and no path, or another prim is there.
            ValueError: The offset is not positive.
        """
        path = system_path(self.stage, system_name)
        define_system(self.stage, path, contact_offset=contact_offset, fluid=fluid)
        return path

    def generate_particles(self, system_name: str, positions: Any, velocities: Any = None) -> None:
        """Add particles behind those of a system; while the simulation plays they take part from the next step on.

        Args:
            system_name: The system.
            positions: Positions, shape [N, 3].
            velocities: Velocities, shape [N, 3]; None for rest.

        Raises:
            PrimPathError: There is no such system.
            ValueError: Arrays of another shape, or that are not finite.
        """
        system, places, motion = self._particles(system_name)
        added = _rows("positions", positions, None)
        speeds = np.zeros_like(added) if velocities is None else _rows("velocities", velocities, len(added))
        self._author(system, np.concatenate([places, added]), np.concatenate([motion, speeds]))

    def remove_particles(self, system_name: str, idxs: Any) -> None:
        """Take particles out of a system; those behind them move up.

        Args:
            system_name: The system.
            idxs: Numbers of particles.

        Raises:
            PrimPathError: There is no such system.
            IndexError: A particle that it lacks.
        """
        system, places, motion = self._particles(system_name)
        stays = np.ones(len(places), bool)
        stays[_indices(system, idxs, len(places))] = False
        self._author(system, places[stays], motion[stays])

    def get_particle_positions(self, system_name: str) -> Any:
        """Positions of the particles of a system, float32, shape [N, 3]; while stopped where they start.

        Raises:
            PrimPathError: There is no such system.
        """
        return self._given(self._particles(system_name)[1])

    def get_particle_velocities(self, system_name: str) -> Any:
        """Velocities of the particles of a system, float32, shape [N, 3]; errors as of the positions."""
        return self._given(self._particles(system_name)[2])

    def set_particle_positions(self, system_name: str, positions: Any, idxs: Any = None) -> None:
        """Set positions of the particles of a system, or of those in ``idxs``; while stopped where they start.

        Raises:
            PrimPathError: There is no such system.
            IndexError: A particle that it lacks.
            ValueError: Positions of another shape, or that are not finite.
        """
        self._set(system_name, positions, idxs, "positions")

    def set_particle_velocities(self, system_name: str, velocities: Any, idxs: Any = None) -> None:
        """Set velocities of the particles of a system, or of those in ``idxs``; errors as of the positions."""
        self._set(system_name, velocities, idxs, "velocities")

    def _particles(self, name: str) -> tuple[str, npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Path of a system, positions and velocities of its particles as they are now."""
        system, live = system_path(self.stage, name), self.live
        authored = authored_particles(self.stage, system)
        if live.world is None or not len(authored[0]):
            return system, *authored
        live.flush()
        sets, path = live.particle_sets, points_path(system)
        return system, sets.values(path, "positions"), sets.values(path, "velocities")

    def _author(self, system: str, places: Any, motion: Any) -> None:
        write_particles(self.stage, system, places, motion)
        self.live.flush()

    def _set(self, name: str, data: Any, idxs: Any, what: str) -> None:
        system, *state = self._particles(name)
        rows = np.arange(len(state[0])) if idxs is None else _indices(system, idxs, len(state[0]))
        values = _rows(what, data, len(rows))
        if self.live.world is not None and len(state[0]):
            self.live.particle_sets.write(points_path(system), what, values, rows)
            return
        state[0 if what == "positions" else 1][rows] = values
        write_particles(self.stage, system, state[0], state[1])

    def _given(self, values: npt.NDArray[np.float32]) -> Any:
        world = self.live.world
        return host_array(values, self.frontend_name) if world is None else world.array(values, values.shape)


def _rows(name: str, data: Any, count: int | None) -> npt.NDArray[np.float32]:
    values = np.asarray(to_numpy(data), np.float32)
    values = values.reshape(0, 3) if not values.size else values
    if values.ndim != 2 or values.shape[1] != 3 or (count is not None and len(values) != count):
        raise ValueError(f"{name}: expected [{'N' if count is None else count}, 3], given {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: expected finite numbers")
    return values


def _indices(system: str, idxs: Any, count: int) -> npt.NDArray[np.int64]:
    chosen = np.asarray(to_numpy(idxs), np.int64).reshape(-1)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < count):
        raise IndexError(f"{system}: particles are 0 to {count - 1}, given {chosen.min()} to {chosen.max()}")
    return chosen
