"""What the last step did to links and joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from tensorphys_dynamics._kernels import joint_loads, quantities, quantities_step, step_start
from tensorphys_dynamics.ends import LinkEnds
from tensorphys_dynamics.solver import Solver


class StepLoads:
    """Mean accelerations and joint loads of the last step of a solver.

    Call `keep_start` before each step; it belongs to the step and may be recorded with it. `evaluate` works the
    loads out from the states of the substeps and from the impulses of the contacts, with the masses and
    the gravity that then hold: for each link, mass times acceleration is the sum of gravity, contacts (friction
    included), applied forces, damping and joints, as means over the step. So drives, limits and joint friction
    are in the wrench of the joint, whatever made it. All values are zero before the first step, and for an
    articulation whose state was written since the last one.

    Attributes:
        link_acceleration: [linear at the centre of mass, angular], environment axes [m/s², rad/s²], gravity
            included (a falling body has that of gravity), spatial_vector, [link_count].
        joint_wrench: [force, torque about the link's centre of mass] that the link got from its parent,
            environment axes at the end of the step [N, N m], spatial_vector, [link_count]. The root of a fixed
            base got it from its support; that of a floating base, where nothing is, has what is left over.
        joint_force: Components of these wrenches along the free axes: torque about a rotation's, force along a
            translation's [N m, N], zero for roots, float32, [velocity_count].
    """

    link_acceleration: wp.array[wp.spatial_vector]
    joint_wrench: wp.array[wp.spatial_vector]
    joint_force: wp.array[wp.float32]

    def __init__(self, solver: Solver, *, ends: LinkEnds | None = None) -> None:
        """Allocate.

        Args:
            solver: Solver whose steps are looked at.
            ends: Impulses from outside that its links got; they count as contacts.
        """
        self._solver = solver
        self._ends = ends
        m = solver.model
        self._data = step_start.StepData()
        self._data.known = wp.zeros(1, dtype=wp.int32, device=m.device)
        fields: tuple[tuple[str, Any], ...] = (
            ("start_pose", wp.transform),
            ("start_velocity", wp.spatial_vector),
            ("start_force", wp.vec3),
            ("start_torque", wp.vec3),
            ("acceleration", wp.spatial_vector),
            ("torque_rate", wp.vec3),
            ("velocity", wp.spatial_vector),
            ("spin", wp.vec3),
            ("com", wp.vec3),
            ("contact_force", wp.vec3),
            ("contact_torque", wp.vec3),
            ("force", wp.vec3),
            ("torque", wp.vec3),
        )
        for name, dtype in fields:
            setattr(self._data, name, wp.zeros(m.link_count, dtype=dtype, device=m.device))
        for name in ("start_synced", "start_fresh"):
            setattr(self._data, name, wp.zeros(m.articulation_count, dtype=wp.int32, device=m.device))
        self._data.root_velocity = wp.zeros_like(solver.state.root_velocity)
        for part in solver.trail:
            part.root_velocity = self._data.root_velocity
        spatial: Any = wp.spatial_vector
        self.link_acceleration = wp.zeros(m.link_count, dtype=spatial, device=m.device)
        self.joint_wrench = wp.zeros(m.link_count, dtype=spatial, device=m.device)
        self.joint_force = wp.zeros(m.velocity_count, dtype=wp.float32, device=m.device)
        everything = np.arange(m.articulation_count, dtype=np.int32)
        self._rows = wp.array(everything, dtype=wp.int32, device=m.device)

    def kernels(self) -> list[Any]:
        """Kernels of every step, for compiling them side by side before the first one."""
        return [step_start.keep_start]

    def keep_start(self) -> None:
        """Keep what the loads of the step that follows are measured from."""
        m = self._solver.model
        inputs = [m.tables, self._solver.state.data]
        self._launch(step_start.keep_start, m.link_count, inputs, [self._data])

    def forget(self) -> None:
        """Have all loads zero until the next step, as where the state was replaced."""
        self._data.known.zero_()

    def evaluate(self) -> None:
        """Work out the loads of the last step; nothing waits for the device."""
        s = self._solver
        m, state = s.model, s.state.data
        inputs = [m.tables, m.data, state, s._contact, s.contact_impulse, s.contact_spin_impulse, s.time_step]
        self._launch(quantities_step.contact_loads, m.environment_count, inputs, [self._data])
        if self._ends is not None:
            inputs = [self._ends.total, s.time_step]
            self._launch(quantities_step.end_loads, m.link_count, inputs, [self._data])
        j = s.joints
        if j.block_count:
            inputs = [m.tables, m.data, state, j.tables, j.parameters, j.rows, s.time_step]
            self._launch(joint_loads.joint_loads, m.environment_count, inputs, [self._data])
        timing, d = [s.time_step, s.substeps], self._data
        for number, part in enumerate(s.trail):
            inputs = [m.tables, m.data, part, *timing, int(number == 0)]
            self._launch(quantities_step.add_substep, m.articulation_count, inputs, [s._scratch, d])
        outputs = [d, self.link_acceleration, self.joint_wrench]
        inputs = [m.tables, m.data, state, *timing]
        self._launch(quantities_step.step_loads, m.articulation_count, inputs, outputs)
        inputs = [self._rows, m.tables, m.data, state, self.joint_wrench]
        outputs = [s._scratch, self.joint_force]
        self._launch(quantities.projected_wrenches, m.articulation_count, inputs, outputs)

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self._solver.model.device)
