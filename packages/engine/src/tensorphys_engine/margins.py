"""How far bodies may come nearer to each other within a step: margins of environments, offsets of shapes in large ones."""

from __future__ import annotations

from typing import Any

import warp as wp

from tensorphys_contact import Model as ContactModel
from tensorphys_dynamics import Model, State
from tensorphys_engine._kernels import margins, offsets
from tensorphys_engine.build import BuiltScene


class MotionMargins:
    """Works out margins before contacts are found.

    Attributes:
        margin: Margin of each environment [m], shape [environments].
        motion: Motion of each link in the step about the origin of its environment [m, rad], and what margins are at
            least [m], see :func:`tensorphys_contact.collide`.
        has_large: Whether there are large environments, whose shapes have margins of their own.
    """

    def __init__(self, built: BuiltScene, state: State, contact_offset: wp.array) -> None:
        """Keep what is read.

        Args:
            built: The scene.
            state: State of the dynamics.
            contact_offset: Contact offset that each shape was given.
        """
        self._model: Model = built.model
        self._contact_model: ContactModel = built.contact_model
        self._state, self._contact_offset = state, contact_offset
        self._environment_link, self._link_radius = built.environment_link, built.link_radius
        self._large, self.has_large = built.large, built.has_large
        self._device = built.model.device
        environments = built.model.environment_count
        self.margin = wp.zeros(environments, dtype=wp.float32, device=self._device)
        spatial: Any = wp.spatial_vector
        self.motion = (
            wp.zeros(max(built.model.link_count, 1), dtype=spatial, device=self._device),
            wp.zeros(environments, dtype=wp.float32, device=self._device),
        )

    @property
    def given(self) -> dict[str, Any]:
        """Arguments of :func:`tensorphys_contact.collide`."""
        return {"margin": self.margin, "motion": self.motion}

    def kernels(self) -> list[Any]:
        """Kernels of a step, for compiling them side by side before the first one."""
        return [margins.motion_margin, *([offsets.reaching_offsets] if self.has_large else [])]

    def launch(self, time_step: wp.array, first: int, end: int) -> None:
        """Margins of environments from one to the one before another."""
        wp.launch(
            margins.motion_margin,
            dim=end - first,
            inputs=[
                self._large[first:end],
                self._environment_link[first : end + 1],
                self._link_radius,
                self._state.link_velocity,
                self._state.link_pose,
                self._model.link_com,
                self._model.gravity[first:end],
                time_step,
            ],
            outputs=[self.margin[first:end], self.motion[1][first:end], self.motion[0]],
            device=self._device,
        )

    def reach(self, time_step: wp.array) -> None:
        """Add to the offsets of shapes in large environments what their bodies can cover in a step."""
        wp.launch(
            offsets.reaching_offsets,
            dim=self._contact_offset.size,
            inputs=[
                self._contact_offset,
                self._contact_model.shape_body,
                self._contact_model.shape_environment,
                self._model.link_disabled,
                self._large,
                self._link_radius,
                self._state.link_velocity,
                self._model.gravity,
                time_step,
            ],
            outputs=[self._contact_model.contact_offset],
            device=self._device,
        )
