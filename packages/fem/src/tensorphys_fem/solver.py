"""Steps of a model in time, and static equilibria."""

from __future__ import annotations

import enum
from typing import Literal

import warp as wp

from tensorphys_fem._kernels import finish, fused, steps, structs
from tensorphys_fem.control import FemControl
from tensorphys_fem.energies import launch_energy_gains
from tensorphys_fem.errors import ModelError, SettingsError
from tensorphys_fem.model import FemModel
from tensorphys_fem.parallel import ParallelSolve
from tensorphys_fem.protocols import ROW_FIELDS, NodeRows, NoRows, check_rows
from tensorphys_fem.settings import SolverSettings
from tensorphys_fem.state import FemState, check_array

_LANES = 128

Path = Literal["auto", "body", "parallel"]


class Status(enum.IntEnum):
    """What became of a step of a body."""

    SOLVED = 0
    UNSOLVED = 1
    """The residual is above the tolerance. Momentum is exact; in the damped scheme the total energy has not risen."""
    FAILED = 2
    """Something was not finite: the body stays where it was, at rest."""
    REPLACED = 3
    """The conserving scheme found no solution, the damped one took this step."""


class FemSolver:
    """Implicit solver of all bodies of a model, with constraints of single nodes where rows are given.

    A step is :meth:`begin`, :meth:`solve`, :meth:`finish`. Whoever couples bodies to something else writes
    its rows (:class:`~tensorphys_fem.NodeRows`), or ``control.impulse`` from :attr:`candidate_velocity` and
    :attr:`response`, and solves again, as often as it wants, before it finishes. No call returns to the host; all of them can be captured in a CUDA graph (`dt` given as an
    array, or frozen).

    Attributes:
        residual_norm, load_norm: ‖r‖ and what it is compared with (see :class:`SolverSettings`), float64 ``[B]``.
        newton_count, linear_count: Iterations of the last solve, int32 ``[B]``.
        status: What became of the last step of each body, a :class:`Status`, int32 ``[B]``.
        reaction: Force that holds driven nodes [N], vec3 ``[N]``.
        response: Effective inverse mass of each node in its body [1/kg]: the change of its velocity at the end of
            the step by an impulse on it, its neighbours held (inverse of the diagonal block, over h), mat33 ``[N]``.
    """

    def __init__(
        self,
        model: FemModel,
        settings: SolverSettings | None = None,
        *,
        path: Path = "auto",
        rows: NodeRows | None = None,
    ) -> None:
        """Allocate the work arrays.

        Args:
            model: Bodies.
            settings: Budgets and tolerance.
            path: ``body``: one group of lanes (a thread on the CPU) solves a body from start to end. ``parallel``:
                kernels over all nodes and elements of all bodies. ``auto``: the first on the CPU, the second on CUDA,
                where the one kernel of the first takes the compiler many minutes.
            rows: Contacts and attachments of nodes, read by each solve; default: none.
        """
        if path not in ("auto", "body", "parallel"):
            raise SettingsError(f"path: expected auto, body or parallel, got {path!r}")
        self.model = model
        self.settings = settings or SolverSettings()
        self.device = model.device
        self.path: Path = ("parallel" if self.device.is_cuda else "body") if path == "auto" else path
        self.lanes = _LANES if self.device.is_cuda else 1
        self.limits = _limits(self.settings, model, self.settings.newton_iterations)
        self.static_limits = _limits(self.settings, model, self.settings.static_iterations)
        self.work = _allocate_work(model)
        self.rows: NodeRows = NoRows(model) if rows is None else rows
        if rows is not None:
            check_rows(rows, model)
        for name in ROW_FIELDS:
            setattr(self.work.rows, name, getattr(self.rows, name))
        self._parallel = ParallelSolve(model, self.work, self.lanes) if self.path == "parallel" else None
        self.residual_norm = self.work.residual_norm
        self.load_norm = self.work.load_norm
        self.newton_count = self.work.newton_count
        self.linear_count = self.work.linear_count
        self.status = self.work.status
        self.reaction = self.work.reaction
        count = model.node_count
        self.response = wp.zeros(count, dtype=wp.mat33, device=self.device)
        self.candidate_velocity = wp.zeros(count, dtype=wp.vec3, device=self.device)

    def step(self, state: FemState, control: FemControl, dt: float | wp.array) -> None:
        """Advance the state in place.

        Writes :attr:`candidate_velocity` and :attr:`response` only where there are rows.

        Args:
            state: Positions and velocities.
            control: What acts from outside.
            dt: Time step [s], a number or a float32 array ``[1]`` on the device.
        """
        self.begin(state, control, dt)
        if isinstance(self.rows, NoRows):
            self._solve(control, self.limits)
        else:
            self.solve(control)
        self.finish(state, control)

    def begin(self, state: FemState, control: FemControl, dt: float | wp.array) -> None:
        """Take the start of a step from the state, and the first guess."""
        self._check(state, control)
        if isinstance(dt, wp.array):
            check_array("dt", dt, wp.float32, (1,), self.device)
            wp.copy(self.work.time_step, dt)
        else:
            if not dt > 0.0:
                raise SettingsError(f"dt: expected a positive number [s], got {dt}")
            self.work.time_step.fill_(dt)
        self._begin(state, control, static=False)

    def solve(self, control: FemControl) -> None:
        """Solve the step for the loads as they are now, from where the last call has come.

        Also writes :attr:`candidate_velocity`, the velocity at the end of the step [m/s], and :attr:`response`.
        """
        self._solve(control, self.limits)
        wp.launch(
            steps.write_response,
            dim=self.model.node_count,
            inputs=[self.model.mesh],
            outputs=[self.work, self.candidate_velocity, self.response],
            device=self.device,
            block_dim=self.lanes,
        )

    def finish(self, state: FemState, control: FemControl) -> None:
        """Make momenta exact, see to it that the damped scheme gains no energy, and write the state."""
        if self._parallel is not None:
            self._parallel.finish(state, control)
            return
        mesh, materials = self.model.mesh, self.model.materials
        wp.launch(
            steps.take_counterforces,
            dim=self.model.node_count,
            inputs=[],
            outputs=[self.work],
            device=self.device,
            block_dim=self.lanes,
        )
        launch_energy_gains(self.model, self.work)
        wp.launch(
            finish.finish_bodies,
            dim=self.model.body_count * self.lanes,
            inputs=[mesh, materials, control.loads(), self.limits.patches],
            outputs=[self.work, state.position, state.velocity, state.positions, state.velocities],
            device=self.device,
            block_dim=self.lanes,
        )

    def solve_static(self, state: FemState, control: FemControl) -> None:
        """Go to the equilibrium of the loads; velocities become zero.

        Starts from the state. Needs nodes that are held; a body without them drifts and ends with status 1.
        """
        self._check(state, control)
        self.work.time_step.fill_(1.0)
        self._begin(state, control, static=True)
        self._solve(control, self.static_limits)
        self.finish(state, control)

    def _begin(self, state: FemState, control: FemControl, *, static: bool) -> None:
        wp.launch(
            steps.begin_nodes,
            dim=self.model.node_count,
            inputs=[self.model.mesh, control.loads(), state.position, state.velocity],
            outputs=[self.work],
            device=self.device,
            block_dim=self.lanes,
        )
        if self._parallel is not None:
            self._parallel.begin(static=static)
            return
        wp.launch(
            steps.begin_bodies,
            dim=self.model.body_count * self.lanes,
            inputs=[self.model.mesh, self.model.materials, int(static)],
            outputs=[self.work],
            device=self.device,
            block_dim=self.lanes,
        )

    def _solve(self, control: FemControl, limits: structs.Limits) -> None:
        if self._parallel is not None:
            self._parallel.solve(control, limits)
            return
        wp.launch(
            fused.solve_bodies,
            dim=self.model.body_count * self.lanes,
            inputs=[self.model.mesh, self.model.materials, control.loads(), limits],
            outputs=[self.work],
            device=self.device,
            block_dim=self.lanes,
        )

    def _check(self, state: FemState, control: FemControl) -> None:
        if state.model is not self.model or control.model is not self.model:
            raise ModelError("state and control must be made from the model of the solver")


def _limits(settings: SolverSettings, model: FemModel, newton_iterations: int) -> structs.Limits:
    limits = structs.Limits()
    for name in (*("tolerance", "linear_tolerance", "linear_iterations", "search_iterations"),):
        setattr(limits, name, getattr(settings, name))
    limits.newton_iterations = newton_iterations
    limits.patches = int(model.nodal_dilatation)
    return limits


def _allocate_work(model: FemModel) -> structs.Work:
    nodes = {
        **dict.fromkeys(("start", "start_velocity", "increment", "trial", "residual", "anchor"), wp.vec3d),
        "contact_force": wp.vec3d,
        **dict.fromkeys(("x", "r", "z", "p", "q", "p_odd", "reaction"), wp.vec3),
        "driven": wp.int32,
        "spring": wp.vec2d,
        "inverse_diagonal": wp.mat33,
        "stiffness": wp.float32,
    }
    elements = {"energy_gain": wp.float64}
    if model.nodal_dilatation:
        nodes |= {"patch_dilatation": wp.float64, "patch_gain": wp.float64, "patch_value": wp.float32}
        nodes |= {"patch_matrix": wp.mat33d, "patch_change": wp.mat33}
        elements |= {"dilatation": wp.float64, "patch_stiffness": wp.float32}
        elements |= dict.fromkeys(("gradient", "smooth", "smooth_before", "stress"), wp.mat33d)
        elements |= dict.fromkeys(("stress_change", "basis", "right", "stretch"), wp.mat33)
        elements |= dict.fromkeys(("symmetric", "twist"), wp.vec3)
    bodies = {"residual_norm": wp.float64, "load_norm": wp.float64}
    bodies |= dict.fromkeys(("newton_count", "linear_count", "status", "scheme"), wp.int32)
    work = structs.Work()
    device = model.device
    sizes = ((model.node_count, nodes), (model.element_count, elements), (model.body_count, bodies))
    for count, fields in sizes:
        for name, dtype in fields.items():
            setattr(work, name, wp.zeros(count, dtype=dtype, device=device))
    count = model.element_count
    work.time_step = wp.zeros(1, dtype=wp.float32, device=device)
    work.corner_force = wp.zeros((count, 4), dtype=wp.vec3d, device=device)
    work.element_block = wp.zeros((count, 10), dtype=wp.mat33, device=device)
    work.block = wp.zeros(model.block_count, dtype=wp.mat33, device=device)
    if model.nodal_dilatation:
        work.dilatation_gradient = wp.zeros((count, 4), dtype=wp.vec3, device=device)
    return work
