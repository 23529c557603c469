"""Deformables of a simulation: state, inputs and parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_contact import SurfaceSet
from tensorphys_engine._kernels import soft_structs, soft_sums
from tensorphys_engine.errors import StepError
from tensorphys_engine.soft_columns import SoftBody
from tensorphys_engine.soft_coupling import SoftCoupling
from tensorphys_engine.soft_rows import SoftRows
from tensorphys_fem import FemControl, FemMeasures, FemModel, FemSolver, FemState, SolverSettings

# Surfaces are looked for within this part of the mean edge, beside the way of a node in a substep.
_REACH = 0.5
_PARAMETERS = (
    "youngs_modulus",
    "poissons_ratio",
    "damping",
    "damping_scale",
    "velocity_damping",
    "law",
    "scheme",
)


class SoftBodies:
    """All deformables of all environments, environment by environment; ``Simulation.soft``.

    Whoever writes ``state`` by hand uses :meth:`set_positions` and :meth:`set_velocities`, which also forget the
    forces that contacts would start from. Targets are written into ``control.target``, forces into ``control.force``.

    Attributes:
        bodies: Descriptions, B of them.
        paths: Prim path of each body.
        body_environment, node_environment: Environment of each body and node, NumPy int32.
        model: Meshes, masses; ``model.materials`` may be written between steps.
        state: Positions and velocities of N nodes, environment frames.
        control: Targets, forces; gravity is that of the simulation. A target is reached at the end of the step, on a line.
        substep_control: What the solver reads in a substep; written by the coupling.
        fem: Solver; ``fem.status`` says what became of each body, ``fem.reaction`` what holds driven nodes.
        measures: Stresses, energies, momenta and the like on request.
        rows: Contacts and attachments of nodes in the last substep.
        dynamic_friction: Coefficient of each body, averaged with that of a shape unless the shape says how; float32 [B].
        contact_force: Mean force of all contacts on each node in the last step [force], environment axes, vec3 [N].
        attachment_force: Mean force of its attachment on each node in the last step [force], vec3 [N].
        coupling: Contacts with bodies; ``coupling.near`` and ``rows`` are those of the last substep. Set by whoever
            couples them.
        exchanges: What was asked for: times that forces go to and fro in a substep.
    """

    coupling: SoftCoupling

    def __init__(
        self,
        bodies: Sequence[SoftBody],
        *,
        environment_count: int,
        gravity: Any,
        exchanges: int | None = None,
        settings: SolverSettings | None = None,
        device: Any = None,
    ) -> None:
        """Put deformables on a device.

        Args:
            bodies: At least one, ordered by environment.
            environment_count: Environments of the simulation.
            gravity: Gravity of each environment, vec3 on the device; read by each step.
            exchanges: Exchanges of forces in a substep; default 4, and 8 where deformables can meet each other.
            settings: Budgets and tolerance of the implicit solver.
            device: Warp device.
        """
        self.bodies = tuple(bodies)
        self.paths = tuple(body.path for body in bodies)
        self.exchanges = exchanges
        self.model = FemModel(
            [body.body for body in bodies], environment_count=environment_count, device=device
        )
        self.state = FemState(self.model)
        self.control = FemControl(self.model)
        self.control.gravity = gravity
        # what a substep reads: the same, but targets on the way
        self.substep_control = FemControl(self.model)
        for name in ("gravity", "force", "impulse"):
            setattr(self.substep_control, name, getattr(self.control, name))
        count, start = self.model.node_count, self.model.node_start
        self.body_environment = np.array([body.body.environment for body in bodies], np.int32)
        self._node_body = np.repeat(np.arange(len(bodies), dtype=np.int32), np.diff(start))
        self.node_environment = self.body_environment[self._node_body]
        self.rows = SoftRows(count, self.model.device)
        self.fem = FemSolver(self.model, settings, rows=self.rows)
        self.measures = FemMeasures(self.model)
        vectors: Any = wp.vec3
        self.contact_force = wp.zeros(count, dtype=vectors, device=self.model.device)
        self.attachment_force = wp.zeros(count, dtype=vectors, device=self.model.device)
        self.dynamic_friction = self._put([b.body.material.dynamic_friction for b in bodies], wp.float32)
        self.attachments = self._no_attachments()
        # bodies whose shapes a node passes through
        self.ignored_body = wp.full(count, -1, dtype=wp.int32, device=self.model.device)
        self.nodes = self._node_arrays()
        self._write_velocities()

    def _put(self, values: npt.ArrayLike, dtype: Any) -> Any:
        return wp.array(np.asarray(values), dtype=dtype, device=self.model.device)

    def _no_attachments(self) -> Any:
        a, count, device = soft_structs.Attachments(), self.model.node_count, self.model.device
        a.active = wp.zeros(count, dtype=wp.int32, device=device)
        a.link = wp.full(count, -1, dtype=wp.int32, device=device)
        a.point = wp.zeros(count, dtype=wp.vec3, device=device)
        a.stiffness = wp.zeros(count, dtype=wp.float32, device=device)
        a.damping = wp.zeros(count, dtype=wp.float32, device=device)
        return a

    def _node_arrays(self) -> Any:
        nodes, model = soft_structs.Nodes(), self.model
        body = self._node_body
        on_surface = np.zeros(model.node_count, np.int32)
        for index, item in enumerate(self.bodies):
            on_surface[int(model.node_start[index]) + np.unique(item.triangles)] = 1
        edge = np.array([item.edge for item in self.bodies])
        thickness = np.array([item.body.thickness if item.is_shell else 0.0 for item in self.bodies])
        nodes.body = self._put(body, wp.int32)
        nodes.mass, nodes.slope = model.node_mass, model.node_slope
        nodes.radius = self._put((0.5 * thickness)[body], wp.float32)
        nodes.size = self._put((_REACH * edge)[body], wp.float32)
        nodes.on_surface = self._put(on_surface, wp.int32)
        nodes.environment = self._put(self.node_environment, wp.int32)
        nodes.target = self.control.target
        for name in ("youngs_modulus", "poissons_ratio", "scheme"):
            setattr(nodes, name, getattr(model.materials, name))
        nodes.dynamic_friction = self.dynamic_friction
        nodes.max_push = self._put([item.max_push for item in self.bodies], wp.float32)
        mass = np.bincount(body, weights=model.node_mass.numpy(), minlength=len(self.bodies))
        nodes.body_mass = self._put(mass, wp.float32)
        sizes = [
            0.0 if b.is_shell else (m / b.body.material.density) ** (1 / 3)
            for b, m in zip(self.bodies, mass, strict=True)
        ]
        nodes.body_size = self._put(sizes, wp.float32)
        return nodes

    def _write_velocities(self) -> None:
        values = np.zeros((self.model.node_count, 3), np.float32)
        for index, item in enumerate(self.bodies):
            if item.velocities is not None:
                values[self.model.nodes_of(index)] = item.velocities
        if values.any():
            self.state.set_velocities(self._put(values, wp.vec3))

    def make_surfaces(self) -> SurfaceSet | None:
        """Surfaces that can meet each other, None where none can: one deformable an environment, not with itself."""
        most = np.bincount(self.body_environment).max()
        itself = np.array([body.self_collision for body in self.bodies])
        if most < 2 and not itself.any():
            return None
        start = self.model.node_start
        counts = [len(body.triangles) for body in self.bodies]
        corners = np.concatenate(
            [body.triangles + first for body, first in zip(self.bodies, start[:-1], strict=True)]
        )
        owner = self._node_body.copy()
        owner[self.nodes.on_surface.numpy() == 0] = -1
        apart = [body.edge if body.filter_distance is None else body.filter_distance for body in self.bodies]
        return SurfaceSet(
            corners,
            np.repeat(np.arange(len(self.bodies)), counts),
            point_owner=owner,
            point_environment=self.node_environment,
            rest=self.model.rest_points.numpy(),
            solid=[not body.is_shell for body in self.bodies],
            meets_itself=itself,
            apart=apart,
            device=self.model.device,
        )

    @property
    def body_count(self) -> int:
        """Number of deformables, B."""
        return len(self.bodies)

    def nodes_of(self, body: int) -> slice:
        """Range of the nodes of a body."""
        return self.model.nodes_of(body)

    def set_positions(self, values: Any, mask: Any = None) -> None:
        """Write positions of bodies, which start without contact forces; velocities stay.

        Args:
            values: Environment frame [length], vec3 [N] on the device.
            mask: Bodies to write, int32 [B] on the device; default all.
        """
        self.state.set_positions(values, mask)
        self.forget(mask)

    def set_velocities(self, values: Any, mask: Any = None) -> None:
        """Write velocities of bodies [length/s]; arguments as for :meth:`set_positions`."""
        self.state.set_velocities(values, mask)
        self.forget(mask)

    def forget(self, mask: Any = None) -> None:
        """Have the contacts and attachments of bodies start from no forces."""
        wp.launch(
            soft_sums.forget_rows,
            dim=self.model.node_count,
            inputs=[self.nodes.body, mask],
            outputs=[self.rows.previous_count],
            device=self.model.device,
        )
        if self.coupling.faces is not None:
            self.coupling.faces.forget(mask)

    def attach(
        self,
        nodes: npt.ArrayLike,
        points: npt.ArrayLike,
        *,
        link: int = -1,
        stiffness: float = math.inf,
        damping: float = 0.0,
    ) -> None:
        """Attach nodes to a link or to the world; a node has one attachment, the last one given, and passes through
        the shapes of its link.

        Args:
            nodes: Indices over all nodes.
            points: Where each node is held, in the frame of the link, else of the environment [length].
            link: Flat link, −1 for the world.
            stiffness: Force by distance; infinite holds exactly.
            damping: Force by relative velocity, of attachments that are not rigid.

        Raises:
            StepError: Nodes, points or constants out of range.
        """
        index = np.asarray(nodes, np.int64).reshape(-1)
        places = np.asarray(points, np.float32).reshape(-1, 3)
        if index.size and (index.min() < 0 or index.max() >= self.model.node_count):
            raise StepError(f"attach: expected nodes 0 to {self.model.node_count - 1}, given {index}")
        if len(places) != len(index) or not np.isfinite(places).all():
            raise StepError(f"attach: expected {len(index)} finite points, given {places.shape}")
        if not stiffness > 0.0 or not 0.0 <= damping < math.inf:
            raise StepError(
                f"attach: expected a positive stiffness and no negative damping, given {stiffness}, {damping}"
            )
        values = (
            ("active", 1),
            ("link", link),
            ("point", places),
            ("stiffness", stiffness),
            ("damping", damping),
        )
        for name, value in values:
            _write(getattr(self.attachments, name), index, value)
        _write(self.ignored_body, index, link)

    def detach(self, nodes: npt.ArrayLike) -> None:
        """Let nodes go."""
        index = np.asarray(nodes, np.int64).reshape(-1)
        _write(self.attachments.active, index, 0)
        _write(self.ignored_body, index, -1)

    def state_arrays(self) -> dict[str, Any]:
        """Arrays that the next step reads."""
        result = {f"soft.{name}": getattr(self.state, name) for name in _STATE}
        result |= {f"soft.{name}": getattr(self.control, name) for name in ("force", "target")}
        result |= {f"soft.{name}": array for name, array in self.rows.warm_start().items()}
        if self.coupling.faces is not None:
            result |= {f"soft.{name}": a for name, a in self.coupling.faces.warm_start().items()}
        names = ("active", "link", "point", "stiffness", "damping")
        result |= {f"soft.attachment_{name}": getattr(self.attachments, name) for name in names}
        return result | {"soft.ignored_body": self.ignored_body}

    def parameter_arrays(self) -> dict[str, Any]:
        """Arrays that only the user changes."""
        result = {f"soft_{name}": getattr(self.model.materials, name) for name in _PARAMETERS}
        return result | {"soft_dynamic_friction": self.dynamic_friction}

    def forget_reports(self) -> None:
        """Have all reports zero until the next step."""
        self.contact_force.zero_()
        self.attachment_force.zero_()
        self.coupling.shape_impulse.zero_()
        self.rows.count.zero_()
        if self.coupling.faces is not None:
            self.coupling.faces.faces.shape.fill_(-1)


_STATE = ("position", "velocity", "positions", "velocities")


def _write(array: Any, index: npt.NDArray[np.int64], value: Any) -> None:
    host = array.numpy()
    host[index] = value
    array.assign(host)
