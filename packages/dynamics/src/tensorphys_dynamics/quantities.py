"""Mass matrices and Jacobians of all articulations at the present state."""

from __future__ import annotations

import warp as wp

from tensorphys_dynamics._kernels.dense import dense_jacobian, dense_mass_matrix
from tensorphys_dynamics.model import Model
from tensorphys_dynamics.solver import create_scratch
from tensorphys_dynamics.state import Control, State


class Quantities:
    """Evaluates dense quantities on request; what is never asked for is never allocated.

    Attributes:
        max_velocities, max_links: Sizes of the largest articulation, to which the arrays are padded with zeros.
    """

    def __init__(self, model: Model, state: State) -> None:
        self._model, self._state = model, state
        self._scratch = create_scratch(model)
        # quantities without applied forces: the inputs stay zero
        self._no_control = Control(model)
        self.max_velocities = max((t.velocity_count for t in model.types), default=0)
        self.max_links = max((t.link_count for t in model.types), default=0)
        self._mass_matrix: wp.array | None = None
        self._jacobian: wp.array | None = None

    def mass_matrix(self, *, armature: bool = True) -> wp.array:
        """Generalized mass matrices M with M dv/dt = force, refilled on each call.

        Args:
            armature: Whether the armature stands on the diagonal, as in the equation of motion.

        Returns:
            float32, shape [articulation_count, max_velocities, max_velocities]; a floating base has its root first,
            [linear at the centre of mass, angular], environment axes. By composite inertias [Featherstone 2008, §6.2].
        """
        count, size = self._model.articulation_count, self.max_velocities
        if self._mass_matrix is None:
            self._mass_matrix = wp.zeros((count, size, size), dtype=wp.float32, device=self._model.device)
        m = self._model
        inputs = [m.tables, m.data, self._state.data, self._no_control.data, int(armature)]
        outputs = [self._scratch, self._mass_matrix]
        wp.launch(dense_mass_matrix, dim=count, inputs=inputs, outputs=outputs, device=m.device)
        return self._mass_matrix

    def jacobian(self) -> wp.array:
        """Jacobians J with [linear velocity of the centre of mass, angular velocity] = J v, refilled on each call.

        Returns:
            float32, shape [articulation_count, max_links, 6, max_velocities], environment axes.
        """
        count = self._model.articulation_count
        shape = (count, self.max_links, 6, self.max_velocities)
        if self._jacobian is None:
            self._jacobian = wp.zeros(shape, dtype=wp.float32, device=self._model.device)
        m = self._model
        inputs = [m.tables, m.data, self._state.data]
        wp.launch(
            dense_jacobian, dim=count, inputs=inputs, outputs=[self._scratch, self._jacobian], device=m.device
        )
        return self._jacobian
