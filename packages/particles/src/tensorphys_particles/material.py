"""Constants of a particle material."""

from __future__ import annotations

import dataclasses
import math

from tensorphys_particles.errors import MaterialError


@dataclasses.dataclass(frozen=True)
class ParticleMaterial:
    """Material of particles, with the names and the defaults of ``PhysxPBDMaterialAPI``.

    Attributes:
        friction: Coulomb coefficient against obstacles, and, times `particle_friction_scale`, between particles.
        damping: Rate of the exponential decay of all velocities [1/s].
        gravity_scale: Factor on gravity.
        lift, drag: Coefficients of the aerodynamic force on each triangle of a cloth:
            ½ · air density · coefficient · area · speed² (:mod:`tensorphys_particles._kernels.air`).
        viscosity: Kinematic viscosity of a fluid [length²/s].
        cohesion: Attraction between the particles of a fluid, as an acceleration [length/s²]
            [Akinci, Akinci & Teschner 2013, eq. 1].
        surface_tension: Smoothing of the surface of a fluid, as an acceleration [length/s²]
            [Akinci, Akinci & Teschner 2013, eq. 4]. It works on top of cohesion, at about a tenth of it.
        adhesion: Acceleration toward an obstacle, and, times `particle_adhesion_scale`, between solid particles
            [length/s²].
        adhesion_offset_scale: Reach of adhesion beyond the rest distance, in rest distances.
        vorticity_confinement: Strength of the confinement of swirls [1], in units of the interaction distance
            [Macklin & Müller 2013, eq. 16].
        cfl_coefficient: A fluid particle moves in a substep by at most this many interaction distances.
        particle_friction_scale, particle_adhesion_scale: Factors for contacts between particles.
        density: Mass density of what is made without masses [mass/length³]; 0: unknown.
    """

    friction: float = 0.2
    damping: float = 0.0
    gravity_scale: float = 1.0
    lift: float = 0.0
    drag: float = 0.0
    viscosity: float = 0.0
    cohesion: float = 0.0
    surface_tension: float = 0.0
    adhesion: float = 0.0
    adhesion_offset_scale: float = 0.0
    vorticity_confinement: float = 0.0
    cfl_coefficient: float = 1.0
    particle_friction_scale: float = 1.0
    particle_adhesion_scale: float = 1.0
    density: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is not a number, and what must not be negative."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value):
                raise MaterialError(f"{field.name}: expected a finite number, got {value}")
            if value < 0.0 and field.name != "gravity_scale":
                raise MaterialError(f"{field.name}: expected at least 0, got {value}")


DEFAULT_DENSITY = 1000.0
"""Density in kg/m³ of a set whose masses and density are both unknown, as UsdPhysics has it."""
