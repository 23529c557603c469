"""Planes and spheres as obstacles, fixed, driven or free to be pushed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import warp as wp

from tensorphys_particles.errors import CapacityError
from tensorphys_particles.model import ParticleModel
from tensorphys_particles.testing import _kernels

Vector = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class Plane:
    """Half-space below a plane.

    Attributes:
        normal: Unit normal out of it.
        point: A point of the surface [length].
        friction: Coulomb coefficient; negative: the particle's alone.
        velocity: [length/s].
        environment: Whose obstacle; −1: of all.
    """

    normal: Vector = (0.0, 0.0, 1.0)
    point: Vector = (0.0, 0.0, 0.0)
    friction: float = -1.0
    velocity: Vector = (0.0, 0.0, 0.0)
    environment: int = -1


@dataclasses.dataclass(frozen=True)
class Sphere:
    """A ball that does not turn.

    Attributes:
        center: [length].
        radius: [length].
        friction: Coulomb coefficient; negative: the particle's alone.
        velocity: [length/s].
        inverse_mass: [1/mass]; 0: it keeps its velocity.
        gravity: Its acceleration when it has a mass [length/s²].
        environment: Whose obstacle; −1: of all.
    """

    center: Vector
    radius: float
    friction: float = -1.0
    velocity: Vector = (0.0, 0.0, 0.0)
    inverse_mass: float = 0.0
    gravity: Vector = (0.0, 0.0, 0.0)
    environment: int = -1


class SolidObstacles:
    """Planes and spheres that satisfy :class:`tensorphys_particles.Obstacles`.

    Attributes:
        center, body_velocity: Of each body, vec3 ``[B]``.
        body_impulse: Sum of the impulses on each body since it was last cleared [mass·length/s], vec3 ``[B]``.
    """

    def __init__(self, model: ParticleModel, bodies: Sequence[Plane | Sphere], *, capacity: int = 4) -> None:
        """Bring the bodies to the device of a model, with room for `capacity` rows a particle."""
        device, count = model.device, model.particle_count
        self.device = device

        def array(values: list, dtype: type) -> wp.array:
            return wp.array(np.asarray(values), dtype=dtype, device=device)

        planes = [isinstance(body, Plane) for body in bodies]
        self._kind = array([0 if plane else 1 for plane in planes], wp.int32)
        shapes = [(*b.normal, 0.0) if isinstance(b, Plane) else (0.0, 0.0, 0.0, b.radius) for b in bodies]
        self._shape = array(shapes, wp.vec4)
        self._environment = array([b.environment for b in bodies], wp.int32)
        self._friction = array([b.friction for b in bodies], wp.float32)
        free = [0.0 if isinstance(b, Plane) else b.inverse_mass for b in bodies]
        self._inverse_mass = array(free, wp.float32)
        self._gravity = array([(0.0,) * 3 if isinstance(b, Plane) else b.gravity for b in bodies], wp.vec3)
        self.center = array([b.point if isinstance(b, Plane) else b.center for b in bodies], wp.vec3)
        self.body_velocity = array([b.velocity for b in bodies], wp.vec3)
        self.body_impulse = wp.zeros(len(bodies), dtype=wp.vec3, device=device)
        environments = model.environment[model.particles.system.numpy()]
        self._particle_environment = array(list(environments), wp.int32)
        self._touching = wp.zeros(len(bodies), dtype=wp.int32, device=device)
        self._needed = wp.zeros(1, dtype=wp.int32, device=device)
        self.count = wp.zeros(count, dtype=wp.int32, device=device)
        shape = (count, capacity)
        self.body = wp.zeros(shape, dtype=wp.int32, device=device)
        self.normal, self.point, self.velocity, self.impulse = (
            wp.zeros(shape, dtype=wp.vec3, device=device) for _ in range(4)
        )
        self.friction, self.response = (wp.zeros(shape, dtype=wp.float32, device=device) for _ in range(2))

    def collide(self, positions: wp.array, margin: wp.array, time: wp.array) -> None:
        """Write the rows; bodies are convex, so a plane that a particle passed in a substep still holds it."""
        del time
        self._touching.zero_()
        wp.launch(
            _kernels.collide,
            dim=positions.shape[0],
            inputs=[
                self._kind,
                self._shape,
                self._environment,
                self._friction,
                self._inverse_mass,
                self.center,
                self.body_velocity,
                self._particle_environment,
                positions,
                margin,
            ],
            outputs=[
                self.count,
                self.body,
                self.normal,
                self.point,
                self.velocity,
                self.friction,
                self.response,
                self._touching,
                self._needed,
            ],
            device=self.device,
        )
        wp.launch(
            _kernels.share_masses,
            dim=positions.shape[0],
            inputs=[self.count, self.body, self._touching],
            outputs=[self.response],
            device=self.device,
        )

    def advance(self, time: wp.array) -> None:
        """Sum the impulses of each body in the order of particles, and move the bodies."""
        wp.launch(
            _kernels.advance,
            dim=self.center.shape[0],
            inputs=[self.count, self.body, self.impulse, self._inverse_mass, self._gravity, time],
            outputs=[self.center, self.body_velocity, self.body_impulse],
            device=self.device,
        )

    def check_overflow(self) -> None:
        """Look whether a particle met more bodies than there are rows.

        Raises:
            CapacityError: One did; the message says how many.
        """
        needed = int(self._needed.numpy()[0])
        if needed:
            raise CapacityError(f"obstacle rows: {self.normal.shape[1]} a particle, {needed} were needed")
