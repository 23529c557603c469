"""What this package consumes: obstacles, as planes beside each particle."""

from __future__ import annotations

from typing import Protocol

import warp as wp


class Obstacles(Protocol):
    """Obstacles of all environments, seen from the particles.

    A row is the tangent plane of an obstacle where it is nearest to a particle. There are at most C rows a particle.
    All arrays are on the device of the model and stay the same objects.

    Attributes:
        count: Rows of each particle, int32 ``[N]``.
        normal: Unit normal out of the obstacle, vec3 ``[N, C]``.
        point: Nearest point of the surface [length], environment frame, at the start of the substep,
            vec3 ``[N, C]``.
        velocity: Velocity of that point [length/s], vec3 ``[N, C]``.
        friction: Coulomb coefficient, averaged with that of the particle; negative: the particle's alone,
            float32 ``[N, C]``.
        response: Effective inverse mass of the obstacle at the row [1/mass]; 0: it does not yield. An owner whose
            body is touched by n particles at once states n times the inverse mass of the body, as if each particle
            had its share of it [Tonge, Benevolenski & Voroshilov 2012]. float32 ``[N, C]``.
        impulse: Written by the solver: impulse on the obstacle at the row in the substep [mass·length/s],
            vec3 ``[N, C]``.
    """

    count: wp.array
    normal: wp.array
    point: wp.array
    velocity: wp.array
    friction: wp.array
    response: wp.array
    impulse: wp.array

    def collide(self, positions: wp.array, margin: wp.array, time: wp.array) -> None:
        """Write the rows of a substep.

        Args:
            positions: Where particles are at its end if nothing holds them [length], vec3 ``[N]``.
            margin: Distance from which a particle wants a row [length]; −inf: never. float32 ``[N]``.
            time: Length of the substep [s], float32 ``[1]`` on the device.
        """
        ...

    def advance(self, time: wp.array) -> None:
        """Take the impulses of a substep, and move by it."""
        ...
