"""What changes from step to step: node positions and velocities."""

from __future__ import annotations

import warp as wp

from tensorphys_fem._kernels import states as kernels
from tensorphys_fem.errors import ArrayError
from tensorphys_fem.model import FemModel


class FemState:
    """Positions and velocities of all nodes.

    The truth is float64 (`_kernels/__init__.py` says why); the float32 arrays are what others read, and are written
    together with it.

    Attributes:
        position: [m], environment frame, vec3d ``[N]``.
        velocity: [m/s], vec3d ``[N]``.
        positions: The same rounded, vec3 ``[N]``.
        velocities: The same rounded, vec3 ``[N]``.
    """

    def __init__(self, model: FemModel) -> None:
        """Rest shape at the places of the bodies, without velocity."""
        self.model = model
        count, device = model.node_count, model.device
        self.position = wp.zeros(count, dtype=wp.vec3d, device=device)
        self.velocity = wp.zeros(count, dtype=wp.vec3d, device=device)
        self.positions = wp.zeros(count, dtype=wp.vec3, device=device)
        self.velocities = wp.zeros(count, dtype=wp.vec3, device=device)
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        wp.copy(self.position, self.model.rest_points)
        self.velocity.zero_()
        self.publish()

    def publish(self) -> None:
        """Round the truth into the float32 arrays."""
        wp.launch(
            kernels.publish,
            dim=self.model.node_count,
            inputs=[self.position, self.velocity],
            outputs=[self.positions, self.velocities],
            device=self.model.device,
        )

    def set_positions(self, values: wp.array, mask: wp.array | None = None) -> None:
        """Write positions of bodies; velocities stay.

        Args:
            values: [m], environment frame, vec3 ``[N]``.
            mask: Bodies to write, int32 ``[B]``, not 0 means yes. Default: all.
        """
        self._write(values, mask, self.position, self.positions)

    def set_velocities(self, values: wp.array, mask: wp.array | None = None) -> None:
        """Write velocities of bodies [m/s]; arguments as for :meth:`set_positions`."""
        self._write(values, mask, self.velocity, self.velocities)

    def copy_from(self, other: FemState) -> None:
        """Take over everything that the next step reads."""
        wp.copy(self.position, other.position)
        wp.copy(self.velocity, other.velocity)
        wp.copy(self.positions, other.positions)
        wp.copy(self.velocities, other.velocities)

    def _write(self, values: wp.array, mask: wp.array | None, exact: wp.array, rounded: wp.array) -> None:
        check_array("values", values, wp.vec3, (self.model.node_count,), self.model.device)
        if mask is not None:
            check_array("mask", mask, wp.int32, (self.model.body_count,), self.model.device)
        wp.launch(
            kernels.write_nodes,
            dim=self.model.node_count,
            inputs=[self.model.mesh.node_body, mask, values],
            outputs=[exact, rounded],
            device=self.model.device,
        )


def check_array(name: str, array: wp.array, dtype: type, shape: tuple[int, ...], device: wp.Device) -> None:
    """Refuse an array of another dtype, shape or device.

    Raises:
        ArrayError: The message says what was expected and given.
    """
    if not isinstance(array, wp.array):
        raise ArrayError(f"{name}: expected a Warp array, got {type(array).__name__}")
    if array.dtype is not dtype or array.shape != shape or array.device != device:
        raise ArrayError(
            f"{name}: expected {dtype.__name__}{list(shape)} on {device}, "
            f"got {array.dtype.__name__}{list(array.shape)} on {array.device}"
        )
