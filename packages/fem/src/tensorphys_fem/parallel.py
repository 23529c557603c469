"""Solve of a step by kernels over all nodes and elements, for bodies that one block of lanes is too few for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import warp as wp

from tensorphys_fem._kernels import chunks, gradients, structs, whole
from tensorphys_fem.control import FemControl
from tensorphys_fem.energies import launch_energy_gains
from tensorphys_fem.model import FemModel
from tensorphys_fem.state import FemState

# Conjugate gradients between two looks at who is done; even, as the sums alternate between two rows. The first look
# comes early, for steps that inertia rules.
_FIRST_BLOCK, _BLOCK = 2, 8


class ParallelSolve:
    """The same iterations as `_kernels.fused.solve_bodies`, one stage a launch.

    Loops end on the device: inside a CUDA capture they are conditional nodes, and outside of one the solve is captured
    once for each control and replayed. On the CPU the flag is read where it lies, in a view that was made at the start.
    """

    def __init__(self, model: FemModel, work: structs.Work, lanes: int) -> None:
        """Allocate the sums."""
        self.model, self.work, self.lanes = model, work, lanes
        self.device = model.device
        self.sums = sums = structs.Sums()
        chunk_count, bodies = model.chunk_count, model.body_count
        for name in ("norm", "load", "rounding", "slope"):
            setattr(sums, name, wp.zeros(chunk_count, dtype=wp.float64, device=self.device))
        for name in ("reached", "pq"):
            setattr(sums, name, wp.zeros(4 * chunk_count, dtype=wp.float64, device=self.device))
        for name, columns in (("motion", 16), ("ending", 17), ("closing", 7)):
            setattr(sums, name, wp.zeros((columns, chunk_count), dtype=wp.float64, device=self.device))
        sums.rz = wp.zeros((2, chunk_count), dtype=wp.float64, device=self.device)
        for name in ("scale", "goal", "wanted", "length"):
            setattr(sums, name, wp.zeros(bodies, dtype=wp.float64, device=self.device))
        for name in ("searches", "attempt", "iteration", "active", "linear_active", "search_active"):
            setattr(sums, name, wp.zeros(bodies, dtype=wp.int32, device=self.device))
        sums.flag = wp.zeros(4, dtype=wp.int32, device=self.device)
        self._flags = [sums.flag[k : k + 1] for k in range(4)]
        self._view = None if self.device.is_cuda else sums.flag.numpy()
        self._graphs: dict[tuple[int, int], tuple[wp.Graph, FemControl]] = {}

    def begin(self, *, static: bool) -> None:
        """Schemes, and the rigid motion that a step starts from."""
        model, work, sums = self.model, self.work, self.sums
        self._groups(whole.motion_parts, model.chunk_count, [model.mesh, work], [sums])
        inputs = [model.mesh, model.materials, sums, int(static)]
        self._groups(whole.guess_motions, model.chunk_count, inputs, [work])

    def finish(self, state: FemState, control: FemControl) -> None:
        """Balance momenta, bound the energy of the damped scheme, write the state."""
        model, work, sums, patches = self.model, self.work, self.sums, int(self.model.nodal_dilatation)
        mesh, materials, loads, count = model.mesh, model.materials, control.loads(), model.chunk_count
        self._groups(whole.end_parts, count, [mesh, materials, loads], [work, sums])
        self._groups(whole.balance, count, [mesh, materials, sums], [work])
        launch_energy_gains(model, work)
        self._groups(whole.energy_parts, count, [mesh, loads, patches, work], [sums])
        outputs = [work, state.position, state.velocity, state.positions, state.velocities]
        self._groups(whole.finish_chunks, count, [mesh, sums], outputs)

    def solve(self, control: FemControl, limits: structs.Limits) -> None:
        """Solve from the present increments."""
        if not self.device.is_cuda or self.device.is_capturing:
            self.run(control.loads(), limits)
            return
        key = (id(control), id(limits))
        if key not in self._graphs:
            for module in (chunks, gradients):  # nothing may be compiled inside of a capture
                wp.load_module(module, device=self.device, block_dim=self.lanes)
            # The caller's stream may be the legacy default stream (torch's), which cannot be captured.
            with wp.ScopedStream(wp.Stream(self.device)), wp.ScopedCapture(self.device) as capture:
                self.run(control.loads(), limits)
            self._graphs[key] = (capture.graph, control)
        wp.capture_launch(self._graphs[key][0])

    def run(self, loads: structs.Loads, limits: structs.Limits) -> None:
        """Launch the iterations one by one; in a capture, record them."""
        self._loads, self._limits = loads, limits
        # The first threads clear the flags.
        self._launch(chunks.start_bodies, max(self.model.body_count, 4), [1], [self.work, self.sums])
        if limits.patches:
            self._smooth(self.work.increment, before=1)
        self._iterate()
        self._when(int(chunks.REPLACE), self._again, once=True)

    def _again(self) -> None:
        mesh = self.model.mesh
        self._groups(chunks.replace_schemes, self.model.body_count, [mesh], [self.work, self.sums])
        self._iterate()

    def _iterate(self) -> None:
        self._residual(self.work.increment)
        self._newton_step()
        self._when(int(chunks.NEWTON), self._newton_step)

    def _newton_step(self) -> None:
        model, work, sums = self.model, self.work, self.sums
        mesh, materials, patches = model.mesh, model.materials, self._limits.patches
        self._launch(chunks.tangents, model.element_count, [mesh, materials, patches, sums], [work])
        self._launch(chunks.blocks, model.block_count, [mesh, patches, sums], [work])
        inputs = [mesh, materials, self._loads, patches]
        self._groups(chunks.norms, model.chunk_count, inputs, [work, sums])
        inputs = [mesh, materials, self._limits]
        self._groups(chunks.judge, model.body_count, [*inputs, 0], [work, sums])
        self._linear_block(_FIRST_BLOCK)
        self._when(int(chunks.LINEAR), self._linear_block)
        self._groups(chunks.first_trials, model.chunk_count, [mesh], [work, sums])
        self._judge_search()
        self._when(int(chunks.SEARCH), self._search_step)
        self._groups(chunks.accept_steps, model.chunk_count, [mesh], [work, sums])
        self._groups(chunks.judge, model.body_count, [*inputs, 1], [work, sums])

    def _search_step(self) -> None:
        self._launch(chunks.trials, self.model.node_count, [self.model.mesh, self.sums], [self.work])
        self._judge_search()

    def _judge_search(self) -> None:
        model, work, sums = self.model, self.work, self.sums
        self._residual(work.trial)
        self._groups(chunks.judge_search, model.body_count, [model.mesh, self._limits], [sums])

    def _linear_block(self, iterations: int = _BLOCK) -> None:
        model, work, sums = self.model, self.work, self.sums
        mesh, materials, patches = model.mesh, model.materials, self._limits.patches
        for parity in (0, 1) * (iterations // 2):
            if not patches:
                before, following = (work.p_odd, work.p) if parity == 0 else (work.p, work.p_odd)
                outputs = [work, sums, following]
                self._groups(gradients.product_ahead, 4 * model.chunk_count, [mesh, parity, before], outputs)
                self._groups(gradients.advance, model.chunk_count, [mesh, parity, following], [work, sums])
                continue
            self._launch(gradients.patch_changes, model.node_count, [mesh, sums], [work])
            self._launch(gradients.stress_changes, model.element_count, [mesh, materials, sums], [work])
            self._launch(gradients.mean_stress_changes, model.node_count, [mesh, sums], [work])
            inputs = [mesh, materials, patches, parity]
            self._groups(gradients.product, 4 * model.chunk_count, inputs, [work, sums])
            self._groups(gradients.advance, model.chunk_count, [mesh, parity, work.p], [work, sums])
            self._groups(gradients.direction, model.chunk_count, [mesh, parity], [work, sums])
        self._groups(gradients.judge, model.body_count, [mesh, self._limits], [work, sums])

    def _smooth(self, increment: wp.array, *, before: int) -> None:
        model, work, sums = self.model, self.work, self.sums
        mesh, materials = model.mesh, model.materials
        inputs = [mesh, materials, increment, before, sums]
        self._launch(chunks.gradients, model.element_count, inputs, [work])
        self._launch(chunks.means, model.node_count, [mesh, sums], [work])
        self._launch(chunks.smooth_stresses, model.element_count, [mesh, materials, before, sums], [work])
        if not before:
            self._launch(chunks.mean_stresses, model.node_count, [mesh, sums], [work])

    def _residual(self, increment: wp.array) -> None:
        model, work, sums = self.model, self.work, self.sums
        if self._limits.patches:
            self._smooth(increment, before=0)
        inputs = [model.mesh, model.materials, increment, self._limits.patches, sums]
        self._launch(chunks.forces, model.element_count, inputs, [work])
        inputs = [model.mesh, model.materials, self._loads, increment]
        self._groups(chunks.residuals, 4 * model.chunk_count, inputs, [work, sums])

    def _launch(self, kernel: wp.Kernel, dim: int, inputs: list[Any], outputs: list[Any]) -> None:
        # One size of blocks for all: each size is compiled by itself, and these modules take long.
        wp.launch(kernel, dim=dim, inputs=inputs, outputs=outputs, device=self.device, block_dim=self.lanes)

    def _groups(self, kernel: wp.Kernel, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(
            kernel,
            dim=count * self.lanes,
            inputs=inputs,
            outputs=outputs,
            device=self.device,
            block_dim=self.lanes,
        )

    def _when(self, index: int, body: Callable[[], None], *, once: bool = False) -> None:
        """Run a part while a flag is raised, or once if it is."""
        flag = self._flags[index]
        if self._view is not None:
            while self._view[index]:
                body()
                if once:
                    return
        elif once:
            wp.capture_if(flag, on_true=body)
        else:
            wp.capture_while(flag, while_body=body)
