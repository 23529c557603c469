"""Links as ends of constraints whose other end is none of this package: nodes, particles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import warp as wp

from tensorphys_dynamics._kernels import ends as kernels
from tensorphys_dynamics.errors import ModelError

if TYPE_CHECKING:
    from tensorphys_dynamics.solver import Solver

# What a sweep changes and the next one of the same substep must find as the first one did.
_SCRATCH = ("u", "loaded", "rubbed", "dof_slack_impulse", "dof_limit_impulse", "dof_friction_impulse")
_STATE = ("dof_saturation", "dof_limit_force", "dof_friction_force", "dof_sliding")
_ROWS = ("impulse", "total", "normal_total", "separation", "bounce", "spin_impulse", "spin_total")


class LinkEnds:
    """Velocity and response of all links, and impulses for them; arrays alone, so that any owner can use them.

    Inside a :class:`~tensorphys_dynamics.protocols.Coupling`: :meth:`observe` once a substep, then as often as wanted write
    ``impulse``, :meth:`sweep` (which starts from the beginning of the substep each time) and read ``velocity``. The
    impulses of the last sweep are those that act.

    Attributes:
        pose: Links at the start of the substep, environment frame, transform, [link_count].
        com: Their centres of mass [m], vec3, [link_count].
        velocity: [linear at the centre of mass, angular] that positions move by in the substep, spatial_vector,
            [link_count].
        response: Velocity by impulse, both about the centre of mass, contacts and limits left out, spatial_matrix,
            [link_count].
        impulse: To be given in the substep, [linear, angular about the centre of mass] [N s, N m s], environment
            axes, spatial_vector, [link_count].
        total: Impulses given over the step, spatial_vector, [link_count].
        group: Articulation of each link, int32, [link_count]: links of one yield together.
    """

    pose: wp.array[wp.transform]
    com: wp.array[wp.vec3]
    velocity: wp.array[wp.spatial_vector]
    response: wp.array[wp.spatial_matrix]
    impulse: wp.array[wp.spatial_vector]
    total: wp.array[wp.spatial_vector]
    group: wp.array[wp.int32]

    def __init__(self, solver: Solver) -> None:
        """Allocate.

        Args:
            solver: Solver on the generic path.

        Raises:
            ModelError: If it is on the fused path, which knows no impulses from outside.
        """
        if solver.path != "generic":
            raise ModelError("links take impulses of others on the generic path alone; give path='generic'")
        self.solver = solver
        m = solver.model
        links, device = m.link_count, m.device
        fields: tuple[tuple[str, Any], ...] = (
            ("pose", wp.transform),
            ("com", wp.vec3),
            ("velocity", wp.spatial_vector),
            ("response", wp.spatial_matrix),
            ("impulse", wp.spatial_vector),
            ("total", wp.spatial_vector),
        )
        for name, dtype in fields:
            setattr(self, name, wp.zeros(links, dtype=dtype, device=device))
        self.group = m.tables.link_articulation
        spatial: Any = wp.spatial_vector
        self._row = wp.zeros((links, max(m.max_chain, 1)), dtype=spatial, device=device)
        self._rate = wp.zeros(m.velocity_count, dtype=wp.float32, device=device)
        self._kept = [(array, wp.clone(array)) for array in self._swept_arrays() if array.size]

    def _swept_arrays(self) -> list[Any]:
        s = self.solver
        arrays = [getattr(s._scratch, name) for name in _SCRATCH]
        arrays += [getattr(s.state, name) for name in _STATE]
        arrays += [getattr(s._rows, name) for name in _ROWS]
        if s.joints.block_count:
            arrays += [s.joints.rows.row_state, s.joints.rows.row_impulse]
        return arrays

    def begin(self) -> None:
        """Begin a step."""
        self.total.zero_()
        self._launch(kernels.expose_all, self.solver.model.articulation_count, [], [self.solver._scratch])

    def observe(self) -> None:
        """Write `pose`, `com` and `response` of the substep, and keep what sweeps start from."""
        s = self.solver
        m = s.model
        for array, kept in self._kept:
            wp.copy(kept, array)
        inputs = [m.tables, m.data, s.state.data, s._scratch]
        outputs = [self.pose, self.com, self._row, self.response]
        self._launch(kernels.observe_links, m.link_count, inputs, outputs)

    def sweep(self, sweep: Callable[[], None]) -> None:
        """Solve the rows of this package from the start of the substep, with `impulse`; writes `velocity`.

        Args:
            sweep: What the solver handed to the coupling.
        """
        s = self.solver
        m = s.model
        for array, kept in self._kept:
            wp.copy(array, kept)
        if s.joints.block_count:
            s.joints.rows.stale.fill_(1)
        outputs = [s._scratch, self._rate]
        self._launch(kernels.push_links, m.articulation_count, [m.tables, m.data, self.impulse], outputs)
        sweep()
        inputs = [m.tables, m.data, s.state.data, s._scratch]
        self._launch(kernels.measure_links, m.articulation_count, inputs, [self._rate, self.velocity])

    def keep(self) -> None:
        """Count the impulses of the last sweep to those of the step."""
        self._launch(
            kernels.keep_impulses,
            self.solver.model.link_count,
            [self.solver.model.data, self.impulse],
            [self.total],
        )

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        self.solver._launch(kernel, count, inputs, outputs)
