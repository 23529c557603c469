"""Contacts of large environments, solved in parallel inside each of them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels import (
    activity,
    body_words,
    coloring,
    heads,
    joints_parallel,
    newton,
    sweep_flow,
    sweep_grid,
    sweep_parallel,
)
from tensorphys_dynamics._kernels.arrays import ContactData, ContactRows, Scratch
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.joints import JointModel
from tensorphys_dynamics.model import Model, has_bounded_impulses
from tensorphys_dynamics.state import State

Form = Literal["serial", "colors", "grid", "flow"]
LARGE = 256
"""Articulations that move from which on the contacts of an environment are solved in parallel."""
ROUNDS = 16
"""Rounds of colouring; each leaves some half of the manifolds without a colour."""
REBOUND_ROUNDS = 4
REPEATS = 2
"""Times that a pass is repeated where impulses change suddenly."""
# Colours with a launch of their own; the others are few enough for one block of threads.
_LAUNCHED = 28
_BLOCK = 256
_MOST_THREADS = 1 << 17
# Blocks of a launch over all colours: one for so many bodies, at most one a multiprocessor.
_BODIES_PER_BLOCK = 150
_BODIES_PER_FLOW = 16


def large_environments(model: Model, threshold: int) -> npt.NDArray[np.int32]:
    """1 for each environment with at least `threshold` articulations that move."""
    counts = np.diff(model.articulation_velocity_start.numpy())
    environment = model.articulation_environment.numpy()
    moving = np.bincount(environment, weights=counts > 0, minlength=model.environment_count)
    return (moving >= threshold).astype(np.int32)


class ParallelSweep:
    """Colours the manifolds of large environments in each step, and sweeps them colour by colour.

    Where bodies have no joints, bounds of impulses or torsional friction, one launch takes all passes of a kind on the CPU, in
    one thread, and one pass on CUDA. Elsewhere each colour of each pass is a launch on CUDA.

    Attributes:
        form: "grid" for a launch of several passes, on CUDA with barriers between the colours; "flow" for a launch a pass whose
            manifolds wait for each other, on CUDA alone; "serial" for one thread a pass, "colors" for a launch a colour.
        manifolds: Colouring of the last step; `totals` counts manifolds, colours, and manifolds without a colour.
        color_start, color_order: Manifolds sorted by colour, and where each colour starts.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        contact: ContactData,
        joints: JointModel,
        large: npt.NDArray[np.int32],
        *,
        form: Form | None = None,
        blocks: int | None = None,
    ) -> None:
        """Allocate the colouring.

        Args:
            model: Constants.
            state: State that the steps advance.
            contact: Contacts.
            joints: Joints beside the trees.
            large: 1 for the environments that are solved here.
            form: See `form`; default what suits the device and the bodies.
            blocks: Blocks of a launch of the forms "grid" and "flow"; default by the number of bodies.

        Raises:
            ModelError: If manifolds shall wait for each other on a CPU.
        """
        self._model, self._state, self._contact, self._joints = model, state, contact, joints
        device = model.device
        if form == "flow" and device.is_cpu:
            raise ModelError("form='flow' needs a CUDA device")
        slots = contact.body0.shape[0]
        self._slots = slots
        inside = large[model.articulation_environment.numpy()] == 1
        roots = np.array([kind.root_count for kind in model.types])[model.articulation_type.numpy()]
        velocities = np.diff(model.articulation_velocity_start.numpy())
        self._dofs = bool(((velocities > roots) & inside).any())
        special = contact.patch_radius.shape[0] > 0 or has_bounded_impulses(model)
        general: Literal["serial", "colors"] = "colors" if device.is_cuda else "serial"
        alone: Literal["flow", "grid"] = "flow" if device.is_cuda else "grid"
        best = general if self._dofs or joints.block_count or special else alone
        self.form: Form = form or best
        self._packs = self.form in ("grid", "flow")
        moving = inside & (velocities > 0)
        self._nodes = int(moving.sum())
        self._threads = min(slots, _MOST_THREADS) if device.is_cuda or self.form == "colors" else 1
        self._blocks = blocks or min(-(-self._nodes // _BODIES_PER_BLOCK), getattr(device, "sm_count", 1))

        def zeros(count: int, dtype: Any) -> wp.array:
            return wp.zeros(count, dtype=dtype, device=device)

        f = coloring.Manifolds()
        for name in ("leader", "place", "first", "last", "end0", "end1", "start", "color", "wish"):
            setattr(f, name, zeros(slots, wp.int32))
        f.best = zeros(self._nodes * coloring.COLORS, wp.int64)
        for name, dtype in (("mask", wp.int64), ("degree", wp.int32), ("stamp", wp.int32)):
            setattr(f, name, zeros(self._nodes, dtype))
        node = np.where(moving, np.cumsum(moving) - 1, -1)
        f.node = wp.array(node.astype(np.int32), dtype=wp.int32, device=device)
        # nodes are numbered as articulations are: environment by environment
        home = model.articulation_environment.numpy()[moving]
        starts = np.searchsorted(home, np.arange(model.environment_count))
        f.node_start = wp.array(starts.astype(np.int32), dtype=wp.int32, device=device)
        f.large = wp.array(large, dtype=wp.int32, device=device)
        f.totals, f.flags = zeros(4, wp.int32), zeros(2, wp.int32)
        for name, dtype in (("pace", wp.vec4), ("part", wp.int32), ("parts", wp.int32)):
            setattr(f, name, zeros(slots, dtype))
        f.push, f.active = zeros(self._nodes, wp.float32), zeros(self._nodes, wp.int64)
        f.articulation = wp.array(np.flatnonzero(moving), dtype=wp.int32, device=device)
        self.manifolds = f
        self._key = zeros(2 * slots, wp.int32)
        self.color_order = zeros(2 * slots, wp.int32)
        self.color_start = zeros(coloring.COLORS + 2, wp.int32)
        self._order, self._start = zeros(slots, wp.int32), zeros(coloring.COLORS + 2, wp.int32)
        self._scratch = newton.NewtonData()
        self._scratch.start = zeros(slots, wp.vec3)
        self._scratch.target = zeros(slots, wp.float32)
        d = heads.Heads()
        places = slots if self._packs else 0
        for name in ("slots", "end0", "end1", "turns"):
            setattr(d, name, zeros(places, wp.vec4i))
        d.packed = zeros(int(sweep_grid.PACKED) * places, wp.vec4)
        self._heads = d
        self._barrier = zeros(4, wp.int32)
        self._words = zeros(self._nodes * int(body_words.WORDS) if self.form == "flow" else 0, wp.int64)
        flowing = min(-(-self._nodes // _BODIES_PER_FLOW), getattr(device, "sm_count", 1))
        self._flowing = blocks or flowing
        self._flow_block = sweep_flow.FLOW_BLOCK
        self._flow_kernel = sweep_flow.flow_kernel(sweep_flow.FETCHED, self._flow_block)
        self._launched = self._turn = 0

    def color(self, scratch: Scratch) -> int:
        """Colour the manifolds of this step; returns kernel launches.

        Args:
            scratch: Tells which articulations stand idle in this step.
        """
        m, k, f = self._model, self._contact, self.manifolds
        self._launched, self._turn = 0, 0
        marks = [m.tables, k, f.large, scratch.idle]
        self._launch(coloring.mark_manifolds, self._slots, marks, [f.leader])
        wp.utils.array_scan(f.leader, f.place, inclusive=True)
        order = [self._key, self.color_order]
        self._launch(coloring.clear_nodes, self._nodes, [], [f])
        self._launch(coloring.list_manifolds, self._slots, [m.tables, k], [f, *order])
        for turn in range(ROUNDS):
            inputs = [turn, self._threads]
            self._launch(coloring.propose, self._threads, inputs, [f])
            self._launch(coloring.accept, self._threads, inputs, [f])
        for color in range(coloring.COLORS - 1, 0, -1):
            self._launch(coloring.lower, self._threads, [color, self._threads], [f])
        self._launch(coloring.list_colors, self._threads, [self._threads], [f, *order])
        # the keys are colours
        wp.utils.radix_sort_pairs(
            self._key, self.color_order, self._slots, end_bit=int(coloring.COLORS + 1).bit_length()
        )
        keys = self._key[: self._slots]
        self._launch(coloring.find_starts, coloring.COLORS + 2, [keys], [self.color_start, f])
        return self._launched

    def select(self, scratch: Scratch, rows: ContactRows, timing: list[Any]) -> int:
        """List the manifolds that take part in a substep, before rows are made; returns kernel launches.

        Args:
            scratch: Quantities of the substep, after its free velocities.
            rows: Rows of contacts; those that are left out are told.
            timing: Time step and number of substeps.
        """
        m, k, f = self._model, self._contact, self.manifolds
        threads, self._launched = self._threads, 0
        self._launch(activity.clear_nodes, self._nodes, [], [f])
        inputs = [m.tables, m.data, self._state.data, k, scratch, rows, *timing, threads]
        self._launch(activity.pace_manifolds, threads, inputs, [f])
        self._launch(activity.mark_active, threads, [self.color_order, *timing, threads], [f, rows])
        wp.utils.array_scan(f.part, f.parts, inclusive=True)
        listing = max(threads, int(coloring.COLORS) + 2)
        inputs = [m.tables, k, scratch, self.color_order, self.color_start, listing]
        self._launch(activity.list_active, listing, inputs, [f, self._heads, self._order, self._start])
        return self._launched

    def sweep(
        self,
        scratch: Scratch,
        rows: ContactRows,
        timing: list[Any],
        bounce_threshold: wp.array,
        velocity_passes: int,
    ) -> int:
        """Solve all rows of a substep; returns kernel launches.

        Args:
            scratch: Quantities of the substep, after its free velocities.
            rows: Rows of contacts.
            timing: Time step and number of substeps.
            bounce_threshold: Approach speed above which restitution acts, one value on the device.
            velocity_passes: Passes without position bias.
        """
        self._launched = 0
        self._passing = (scratch, rows, timing, bounce_threshold)
        m, k, large = self._model, self._contact, self.manifolds.large
        articulations = m.articulation_count
        state = self._state.data
        # before impulses are warm: what they throw one body at another is no approach before the passes have balanced it
        self._rebound()
        if self._packs:
            self._pack(1)
        self._load()
        self._visit(sweep_parallel.WARM)
        if self._dofs:
            inputs = [m.tables, m.data, large, *timing]
            self._launch(sweep_parallel.start_dofs, articulations, inputs, [state, scratch])
        self._pass_joints(-1)
        for biased in (1, 0):
            self._pass_joints(biased)
            first = 1 if biased else velocity_passes
            if self._packs:
                self._visit_bodies(sweep_parallel.SOLVE, first, first + REPEATS, biased)
            for turn in range(0 if self._packs else first + REPEATS):
                self._turn += 1
                self._visit(sweep_parallel.SOLVE, again=int(turn >= first), biased=biased)
                if self._dofs:
                    inputs = [m.tables, m.data, large, *timing, biased]
                    self._launch(sweep_parallel.pass_dofs, articulations, inputs, [state, scratch])
                self._pass_joints(biased)
            self._unload()
            if biased:
                self._launch(sweep_parallel.keep_drift, articulations, [m.tables, large], [scratch])
                inputs = [m.tables, k, large, bounce_threshold, *timing, state]
                self._launch(sweep_parallel.move_contacts, self._slots, inputs, [scratch, rows])
                if self._packs:
                    self._pack(0)
        self._launch(sweep_parallel.add_loads, self._slots, [k, large], [scratch, rows])
        if self._dofs:
            inputs = [m.tables, m.data, large, *timing]
            self._launch(sweep_parallel.keep_loads, articulations, inputs, [state, scratch])
        return self._launched

    def _pass_joints(self, biased: int) -> None:
        if self._joints.block_count:
            inputs = [self._model.tables, self._joints.tables, self.manifolds.large, biased]
            outputs = [self._passing[0], self._joints.rows]
            self._launch(joints_parallel.pass_joints, self._model.environment_count, inputs, outputs)

    def _pack(self, biased: int) -> None:
        """Lay constants of contacts out for passes with or without bias."""
        _, rows, timing, _ = self._passing
        threads = self._threads
        inputs = [self._model.data, self._contact, rows, self.manifolds, *timing, biased, threads]
        self._launch(sweep_grid.pack_contacts, threads, inputs, [self._heads])

    def _load(self) -> None:
        """Carry velocities to where manifolds wait for them."""
        if self.form == "flow":
            inputs = [self._model.tables, self._passing[0], self.manifolds]
            self._launch(sweep_flow.load_bodies, self._words.size, inputs, [self._words])

    def _unload(self) -> None:
        """Carry velocities back from there."""
        if self.form == "flow":
            outputs = [self._passing[0], self.manifolds]
            inputs = [self._model.tables, self._words]
            self._launch(sweep_flow.unload_bodies, self._words.size, inputs, outputs)

    def _rebound(self) -> None:
        if not self._packs or self._model.device.is_cpu:
            for _ in range(REBOUND_ROUNDS):
                self._visit(sweep_parallel.REBOUND)
            return
        scratch, rows, timing, bounce_threshold = self._passing
        inputs = [self._model.tables, self._contact, self.manifolds, self._start, self._order]
        inputs += [bounce_threshold, *timing, REBOUND_ROUNDS]
        outputs = [self._barrier, scratch, rows, self._scratch]
        block = int(sweep_grid.BLOCK)
        self._launch(sweep_grid.rebound_bodies, self._blocks * block, inputs, outputs, block_dim=block)

    def _visit_bodies(self, kind: int, passes: int, turns: int, biased: int) -> None:
        """Visit all manifolds `turns` times, those behind the first `passes` only where impulses change suddenly."""
        scratch, rows, timing, bounce_threshold = self._passing
        m = self._model
        shared = [m.tables, m.data, self.manifolds, self._heads]
        rest = [bounce_threshold, *timing, int(kind), self._turn + 1, passes, turns, biased]
        if m.device.is_cpu:
            self._launch(sweep_grid.sweep_alone, 1, [*shared, *rest], [scratch, rows])
        elif self.form == "flow":
            block, kernel = self._flow_block, self._flow_kernel
            for turn in range(turns):
                given = [m.data, self.manifolds, self._heads, bounce_threshold, *timing, int(kind)]
                # warm starts have a number of their own
                number = self._turn + 1 + turn if kind == sweep_parallel.SOLVE else 0
                given += [number, int(turn >= passes), biased]
                outputs = [self._barrier, self._words, rows]
                self._launch(kernel, self._flowing * block, given, outputs, block_dim=block)
        else:
            inputs = [*shared, self._start, *rest]
            outputs = [self._barrier, scratch, rows]
            block = int(sweep_grid.BLOCK)
            self._launch(sweep_grid.sweep_bodies, self._blocks * block, inputs, outputs, block_dim=block)
        if kind == sweep_parallel.SOLVE:
            self._turn += turns

    def _visit(self, kind: int, *, again: int = 0, biased: int = 1) -> None:
        """Visit all manifolds once, colour by colour."""
        if self._packs and kind != sweep_parallel.REBOUND:
            self._visit_bodies(kind, 1, 1, biased)
            return
        scratch, rows, timing, bounce_threshold = self._passing
        m = self._model
        shared = [m.tables, m.data, self._contact, self._start, self._order, bounce_threshold]
        shared += [*timing, int(kind), self._turn, again, biased]
        outputs = [scratch, rows, self._scratch, self.manifolds]
        launched = _LAUNCHED if self.form == "colors" else 0
        for color in range(launched):
            inputs = [*shared, color, self._threads]
            self._launch(sweep_parallel.visit_color, self._threads, inputs, outputs)
        block = _BLOCK if self.form == "colors" else 1
        self._launch(sweep_parallel.visit_rest, block, [*shared, launched, block], outputs, block_dim=_BLOCK)

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any], **options: Any) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self._model.device, **options)
        self._launched += 1
