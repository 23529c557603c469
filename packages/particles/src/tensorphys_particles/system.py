"""Descriptions of particle systems, from which a model is built."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tensorphys_particles.cloth import ClothMesh
from tensorphys_particles.errors import ModelError
from tensorphys_particles.material import DEFAULT_DENSITY, ParticleMaterial
from tensorphys_particles.offsets import Offsets, derive_offsets

Vector = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class ParticleSet:
    """Loose particles: a fluid, or grains.

    Attributes:
        positions: [length], environment frame, ``[n, 3]``.
        velocities: [length/s], ``[n, 3]``; None: at rest.
        masses: [mass], ``[n]`` or a number; ≤ 0 holds a particle fixed. None: density of the material times the
            volume that a particle stands for (the cube of its rest distance).
        fluid: Whether they hold a density, or a distance.
        material: Constants.
        group: Number of the set inside the system, for `self_collision`.
        self_collision: Whether particles of this group see each other.
    """

    positions: npt.ArrayLike
    velocities: npt.ArrayLike | None = None
    masses: npt.ArrayLike | None = None
    fluid: bool = True
    material: ParticleMaterial = ParticleMaterial()
    group: int = 0
    self_collision: bool = True


@dataclasses.dataclass(frozen=True)
class ParticleCloth:
    """A cloth.

    Attributes:
        mesh: Rest shape, triangles and springs.
        masses: [mass], ``[n]`` or a number; ≤ 0 holds a particle fixed. None: the density of the material is taken
            as an area density.
        positions: [length], environment frame, ``[n, 3]``; None: the rest shape.
        velocities: [length/s], ``[n, 3]``; None: at rest.
        material: Constants.
        pressure: Volume to hold, in rest volumes; 0: none. Needs a closed mesh.
        group, self_collision: As for :class:`ParticleSet`.
        self_collision_filter: Leave out pairs that touch in the rest shape.
    """

    mesh: ClothMesh
    masses: npt.ArrayLike | None = None
    positions: npt.ArrayLike | None = None
    velocities: npt.ArrayLike | None = None
    material: ParticleMaterial = ParticleMaterial()
    pressure: float = 0.0
    group: int = 0
    self_collision: bool = True
    self_collision_filter: bool = True


@dataclasses.dataclass(frozen=True)
class ParticleSystem:
    """Particles that interact with each other, with the names and the defaults of ``PhysxParticleSystem``.

    Attributes:
        sets, cloths: What it holds; particles are numbered in this order.
        environment: Number of its environment.
        particle_contact_offset, contact_offset, rest_offset, solid_rest_offset, fluid_rest_offset: Distances
            [length]; −inf: derived (:func:`derive_offsets`).
        max_velocity: Bound of the speed of a particle [length/s].
        max_depenetration_velocity: Bound of the speed at which an overlap is taken apart [length/s].
        max_neighborhood: Neighbours that a particle keeps.
        neighborhood_scale: Size of a cell of the grid, in interaction distances.
        wind: Velocity of the air [length/s].
        air_density: [mass/length³].
        gravity: [length/s²].
        global_self_collision: Whether its particles see each other at all.
        obstacle_collision: Whether they see obstacles.
    """

    sets: Sequence[ParticleSet] = ()
    cloths: Sequence[ParticleCloth] = ()
    environment: int = 0
    particle_contact_offset: float = 0.05
    contact_offset: float = -math.inf
    rest_offset: float = -math.inf
    solid_rest_offset: float = -math.inf
    fluid_rest_offset: float = -math.inf
    max_velocity: float = math.inf
    max_depenetration_velocity: float = math.inf
    max_neighborhood: int = 96
    neighborhood_scale: float = 1.01
    wind: Vector = (0.0, 0.0, 0.0)
    air_density: float = 1.225
    gravity: Vector = (0.0, 0.0, -9.81)
    global_self_collision: bool = True
    obstacle_collision: bool = True

    @property
    def offsets(self) -> Offsets:
        """Its distances, derived where they are not given."""
        return derive_offsets(
            self.particle_contact_offset,
            self.contact_offset,
            self.rest_offset,
            self.solid_rest_offset,
            self.fluid_rest_offset,
        )


@dataclasses.dataclass(frozen=True)
class Block:
    """Checked particles of one set or cloth, float64."""

    positions: npt.NDArray[np.float64]
    velocities: npt.NDArray[np.float64]
    masses: npt.NDArray[np.float64]


def block_of(member: ParticleSet | ParticleCloth, offsets: Offsets, where: str) -> Block:
    """Places, velocities and masses of a set or cloth.

    Raises:
        ModelError: An array has the wrong shape or a value that is not finite.
    """
    density = member.material.density or DEFAULT_DENSITY
    if isinstance(member, ParticleCloth):
        given = member.mesh.points if member.positions is None else member.positions
        count: int | None = len(member.mesh.points)
        masses = member.mesh.masses(density) if member.masses is None else member.masses
    else:
        given, count = member.positions, None
        half = offsets.fluid_rest if member.fluid else offsets.solid_rest
        masses = density * (2.0 * half) ** 3 if member.masses is None else member.masses
    positions = np.asarray(given, dtype=np.float64).reshape(-1, 3)
    if count is not None and len(positions) != count:
        raise ModelError(f"{where}: {len(positions)} positions for the {count} points of the mesh")
    count = len(positions)
    velocities = np.zeros((count, 3))
    if member.velocities is not None:
        velocities = np.asarray(member.velocities, dtype=np.float64)
    if velocities.shape != (count, 3):
        raise ModelError(f"{where}: expected velocities [{count}, 3], got {list(velocities.shape)}")
    mass = np.asarray(masses, dtype=np.float64)
    if mass.ndim and mass.shape != (count,):
        raise ModelError(f"{where}: expected {count} masses, got {list(mass.shape)}")
    mass = np.broadcast_to(mass, (count,))
    for name, values in (("positions", positions), ("velocities", velocities), ("masses", mass)):
        if np.isnan(values).any() or (name != "masses" and not np.isfinite(values).all()):
            raise ModelError(f"{where}: {name} that are not finite")
    return Block(positions, velocities, mass)
