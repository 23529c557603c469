"""Distances of a particle system, derived where they are not given."""

from __future__ import annotations

import dataclasses
import math

from tensorphys_particles.errors import ModelError

_REST_PART = 0.99
_FLUID_PART = 0.6


@dataclasses.dataclass(frozen=True)
class Offsets:
    """Distances of a particle system [length].

    Attributes:
        particle_contact: Half of the distance at which two particles begin to interact.
        contact: Distance at which a particle begins to see an obstacle.
        rest: Distance at which a particle rests on an obstacle.
        solid_rest: Half of the distance of two solid or cloth particles in touch.
        fluid_rest: Half of the distance of two particles of a fluid at rest density.
    """

    particle_contact: float
    contact: float
    rest: float
    solid_rest: float
    fluid_rest: float


def derive_offsets(
    particle_contact_offset: float = 0.05,
    contact_offset: float = -math.inf,
    rest_offset: float = -math.inf,
    solid_rest_offset: float = -math.inf,
    fluid_rest_offset: float = -math.inf,
) -> Offsets:
    """Fill in the offsets that are −inf.

    Solid particles and obstacles rest at 0.99 of the contact offset, so that contact is found before it is
    reached; particles of a fluid at 0.6 of that, which puts about 18 neighbours inside the interaction distance.

    Args:
        particle_contact_offset: Half of the interaction distance [length].
        contact_offset: −inf: that of particles.
        rest_offset: −inf: 0.99 of the contact offset of particles.
        solid_rest_offset: −inf: 0.99 of the contact offset of particles.
        fluid_rest_offset: −inf: 0.594 of the contact offset of particles.

    Raises:
        ModelError: An offset is not positive, or a rest offset is not below its contact offset.
    """
    if not (math.isfinite(particle_contact_offset) and particle_contact_offset > 0.0):
        raise ModelError(
            f"particle_contact_offset: expected a positive length, got {particle_contact_offset}"
        )

    def derived(value: float, default: float) -> float:
        return default if value == -math.inf else value

    rest = _REST_PART * particle_contact_offset
    offsets = Offsets(
        particle_contact=particle_contact_offset,
        contact=derived(contact_offset, particle_contact_offset),
        rest=derived(rest_offset, rest),
        solid_rest=derived(solid_rest_offset, rest),
        fluid_rest=derived(fluid_rest_offset, _FLUID_PART * rest),
    )
    for name, value, bound in (
        ("rest_offset", offsets.rest, offsets.contact),
        ("solid_rest_offset", offsets.solid_rest, particle_contact_offset),
        ("fluid_rest_offset", offsets.fluid_rest, particle_contact_offset),
    ):
        if not (math.isfinite(value) and 0.0 <= value < bound):
            raise ModelError(f"{name}: expected 0 ≤ offset < {bound} (its contact offset), got {value}")
    return offsets
