"""What changes from step to step: positions and velocities."""

from __future__ import annotations

import warp as wp

from tensorphys_particles._kernels import motion
from tensorphys_particles.model import ParticleModel, check_array


class ParticleState:
    """Positions and velocities of all particles.

    Attributes:
        positions: [length], environment frame, vec3 ``[N]``.
        velocities: [length/s], vec3 ``[N]``.
    """

    def __init__(self, model: ParticleModel) -> None:
        """Start of the model."""
        self.model = model
        self.positions = wp.clone(model.initial_positions)
        self.velocities = wp.clone(model.initial_velocities)

    def reset(self) -> None:
        """Back to the start."""
        wp.copy(self.positions, self.model.initial_positions)
        wp.copy(self.velocities, self.model.initial_velocities)

    def set_positions(self, values: wp.array, mask: wp.array | None = None) -> None:
        """Write positions of systems; velocities stay.

        Args:
            values: [length], environment frame, vec3 ``[N]``.
            mask: Systems to write, int32 ``[S]``, not 0 means yes. Default: all.
        """
        self._write(values, mask, self.positions)

    def set_velocities(self, values: wp.array, mask: wp.array | None = None) -> None:
        """Write velocities of systems [length/s]; arguments as for :meth:`set_positions`."""
        self._write(values, mask, self.velocities)

    def copy_from(self, other: ParticleState) -> None:
        """Take over everything that the next step reads."""
        wp.copy(self.positions, other.positions)
        wp.copy(self.velocities, other.velocities)

    def _write(self, values: wp.array, mask: wp.array | None, target: wp.array) -> None:
        model = self.model
        check_array("values", values, wp.vec3, (model.particle_count,), model.device)
        if mask is not None:
            check_array("mask", mask, wp.int32, (model.system_count,), model.device)
        wp.launch(
            motion.write_vectors,
            dim=model.particle_count,
            inputs=[mask, model.particles.system, values],
            outputs=[target],
            device=model.device,
        )
