"""Launches that fill the arrays of one contact view."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import warp as wp

from tensorphys._kernels import contact_gather as gather
from tensorphys._kernels.contact_index import (
    ContactIndex,
    ContactSource,
    find_owners,
    index_environments,
    key_ends,
)
from tensorphys.contact_fields import CONTACT_ARRAYS, CONTACT_GETTERS
from tensorphys.contact_sensors import SensorNumbers
from tensorphys.core import Core
from tensorphys.rows import offset_pair
from tensorphys_arrays import Buffer

__all__ = ["ContactReports"]

Indexing = Literal["auto", "environment", "sorted"]
# On CUDA, contact slots of an environment beyond which one thread takes longer than a sort of all slots.
_MOST_SLOTS = 4096
_LEAST_CHUNK = 64

_SOURCE = (
    "slot_start", "count", "environment", "shape0", "shape1", "anchor0", "anchor1", "normal", "separation",
    "rest_distance",
)  # fmt: skip


class _Program:
    """Recorded launches; those with a time step take it when they are run."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._steps: list[Any] = []
        self._timed: list[Any] = []
        self._arrays: list[Any] = []

    def add(self, kernel: Any, count: int | tuple[int, ...], inputs: list[Any], timed: bool = False) -> None:
        """Append a launch; nothing for no threads."""
        if math.prod(count if isinstance(count, tuple) else (count,)) == 0:
            return
        launch = wp.launch(kernel, count, inputs, device=self._device, record_cmd=True)
        # Arrays are kept here: the recorded launch holds pointers only.
        self._arrays.append(inputs)
        self._steps.append(launch.launch)
        if timed:
            self._timed.append(launch)

    def call(self, function: Any, *arguments: Any) -> None:
        """Append a call."""
        self._steps.append(lambda: function(*arguments))

    def run(self, dt: float) -> None:
        """Run all for a time step [s]."""
        for launch in self._timed:
            launch.set_param_by_name("inverse_dt", 1.0 / dt)
        for step in self._steps:
            step()


class ContactReports:
    """Arrays of a contact view and what fills them.

    Args:
        core: What all views share.
        numbers: Sensors and filters.
        capacity: Rows of the contact buffers.
        indexing: How contacts are sorted by sensor: by one thread an environment, by a stable sort of all slots,
            or as suits the device and the size.
    """

    def __init__(
        self, core: Core, numbers: SensorNumbers, capacity: int, indexing: Indexing = "auto"
    ) -> None:
        self._core = core
        self._numbers = numbers
        self.capacity = capacity
        self._indexing: Indexing = indexing
        self.sensor_count = int(numbers.tables.owner.shape[0])
        self.filter_count = int(numbers.tables.column_count)
        self._buffers: dict[str, Buffer] = {}
        self._programs: dict[str, _Program] = {}
        self._cells: dict[str, Any] = {}
        self._contacts: Any = None
        self._solver: Any = None
        self._origin = offset_pair(core.catalog.scene.environments.origin, core.device)

    def get(self, getter: str, dt: float) -> tuple[Any, ...]:
        """Fill the arrays of a getter and return them; they are the same objects on every call.

        Args:
            getter: Name in the table of getters.
            dt: Time that impulses are divided by [s].
        """
        with self._core.frontend.ordered_with_caller(self._core.device):
            self._core.settle()  # contact points are told where the bodies are now
            self._follow_growth()
            program = self._programs.get(getter)
            if program is None:
                program = self._programs[getter] = self._program(getter)
            program.run(dt)
        return tuple(self._buffer(name).array for name in CONTACT_GETTERS[getter])

    def needed(self, kind: str) -> int:
        """Largest number of contact points that the arrays of ``"filtered"`` or ``"raw"`` had to take so far.

        Waits for the device.
        """
        cells = self._cells.get(kind)
        return int(cells.needed.numpy()[0]) if cells is not None else 0

    def forget_needed(self) -> None:
        """Start to look for the largest number anew."""
        for cells in self._cells.values():
            cells.needed.zero_()

    def _follow_growth(self) -> None:
        """Make all launches anew where contacts or solver were replaced."""
        simulation = self._core.simulation
        if simulation.contacts is self._contacts and simulation.solver is self._solver:
            return
        self._contacts, self._solver = simulation.contacts, simulation.solver
        self._programs = {}
        self._source = self._make_source()
        self._index, self._key = self._make_index()

    def _make_source(self) -> Any:
        simulation, source = self._core.simulation, ContactSource()
        source.environment_count = simulation.environment_count
        source.slot_count = int(self._contacts.capacity)
        for name in _SOURCE:
            setattr(source, name, getattr(self._contacts, name))
        source.impulse = self._solver.contact_impulse
        source.normal_impulse = self._solver.contact_normal_impulse
        source.link_pose = simulation.raw_state.link_pose
        source.origin_hi, source.origin_lo = self._origin
        return source

    @property
    def _sorts(self) -> bool:
        if self._indexing != "auto":
            return self._indexing == "sorted"
        if self._core.on_host:
            return False
        largest = int(np.diff(self._contacts.slot_start.numpy()).max(initial=0))
        return largest > _MOST_SLOTS or self._numbers.has_shared

    def _make_index(self) -> tuple[Any, Any]:
        device, numbers, slots = self._core.device, self._numbers, int(self._contacts.capacity)
        index = ContactIndex()
        index.owner_count = numbers.owner_count
        index.owner_start = wp.array(numbers.owner_start, dtype=wp.int32, device=device)
        index.shape_owner = wp.array(numbers.shape_owner, dtype=wp.int32, device=device)
        index.entry_first = wp.zeros(numbers.owner_count, dtype=wp.int32, device=device)
        index.entry_count = wp.zeros(numbers.owner_count, dtype=wp.int32, device=device)
        sorts = self._sorts
        # The sort needs its input twice. Shared owners have at most one end of each contact.
        entries = 4 * slots if sorts else (3 if numbers.has_shared else 2) * slots
        index.entry = wp.empty(entries, dtype=wp.int32, device=device)
        key = wp.empty(4 * slots, dtype=wp.int32, device=device) if sorts else None
        return index, key

    def _buffer(self, name: str) -> Buffer:
        known = self._buffers.get(name)
        if known is None:
            field = CONTACT_ARRAYS[name]
            shape = field.shape(self.sensor_count, self.filter_count, self.capacity)
            dtype = {"float32": wp.float32, "uint32": wp.uint32, "uint64": wp.uint64}[field.dtype]
            known = self._buffers[name] = self._core.frontend.allocate(shape, dtype, self._core.device)
        return known

    def _program(self, getter: str) -> _Program:
        program = _Program(self._core.device)
        self._add_index(program)
        common = [self._source, self._index]
        tables = self._numbers.tables
        if getter == "net_contact_forces":
            out = self._buffer("net_force").warp
            program.add(gather.net_forces, self.sensor_count, [*common, tables, 0, 0.0, out], timed=True)
            soft = self._core.simulation.soft
            if soft is not None:
                device, numbers = self._core.device, self._numbers
                shapes = [
                    wp.array(values, dtype=wp.int32, device=device)
                    for values in (numbers.sensor_start, numbers.sensor_shape)
                ]
                inputs = [*shapes, soft.coupling.shape_impulse, 0.0, out]
                program.add(gather.add_soft_forces, self.sensor_count, inputs, timed=True)
        elif getter == "net_friction_contact_forces":
            inputs = [*common, tables, 1, 0.0, self._buffer("net_friction").warp]
            program.add(gather.net_forces, self.sensor_count, inputs, timed=True)
        elif getter in ("contact_force_matrix", "friction_contact_force_matrix"):
            friction = getter != "contact_force_matrix"
            out = self._buffer("friction_matrix" if friction else "matrix").warp
            program.add(gather.clear_matrix, (self.sensor_count, self.filter_count), [out])
            inputs = [*common, tables, int(friction), 0.0, out]
            program.add(gather.force_matrix, self.sensor_count, inputs, timed=True)
        else:
            self._add_points(program, getter)
        return program

    def _add_index(self, program: _Program) -> None:
        numbers, slots = self._numbers, int(self._contacts.capacity)
        if self._key is None:
            count = self._core.simulation.environment_count + 1
            program.add(index_environments, count, [self._source, self._index])
        elif slots:
            bits = max(numbers.owner_count.bit_length(), 1)
            program.add(key_ends, slots, [self._source, self._index, self._key])
            program.call(wp.utils.radix_sort_pairs, self._key, self._index.entry, 2 * slots, 0, bits)
            program.add(find_owners, numbers.owner_count, [self._key, 2 * slots, self._index])

    def _add_points(self, program: _Program, getter: str) -> None:
        """Counts, starts and rows of contact points."""
        raw = getter == "raw_contact_data"
        kind = "raw" if raw else "filtered"
        tables = self._numbers.raw_tables if raw else self._numbers.tables
        cells = self._cells.get(kind)
        if cells is None:
            cells = self._cells[kind] = self._make_cells(self.sensor_count * int(tables.column_count))
        points = self._make_points(
            {"contact_data": "contact", "friction_data": "friction"}.get(getter, "raw")
        )
        prefix = "raw_" if raw else ""
        shown = [self._buffer(prefix + name).warp.flatten() for name in ("count", "start")]
        cell_count, chunk_count = cells.count.shape[0], cells.chunk.shape[0]
        common = [self._source, self._index, tables]
        program.add(gather.clear_cells, cell_count, [cells])
        program.add(gather.count_contacts, self.sensor_count, [*common, cells])
        program.add(gather.sum_chunks, chunk_count, [cells])
        program.add(gather.scan_chunks, 1, [cells])
        program.add(gather.place_cells, chunk_count, [cells, *shown])
        program.add(gather.write_contacts, self.sensor_count, [*common, 0.0, cells, points], timed=True)
        program.add(gather.clear_unused, self.capacity, [cells, points])

    def _make_cells(self, count: int) -> Any:
        device, cells = self._core.device, gather.Cells()
        cells.chunk_size = max(_LEAST_CHUNK, math.isqrt(count))
        cells.capacity = self.capacity
        cells.bounded = int(self._core.conventions != "runtime")
        for name in ("count", "start", "written"):
            setattr(cells, name, wp.zeros(count, dtype=wp.int32, device=device))
        cells.chunk = wp.zeros(-(-count // cells.chunk_size), dtype=wp.int32, device=device)
        cells.total = wp.zeros(1, dtype=wp.int32, device=device)
        cells.needed = wp.zeros(1, dtype=wp.int32, device=device)
        return cells

    def _make_points(self, prefix: str) -> Any:
        device, points = self._core.device, gather.ContactPoints()
        for name in ("force", "point", "normal", "separation"):
            has_it = f"{prefix}_{name}" in CONTACT_ARRAYS
            array = (
                self._buffer(f"{prefix}_{name}").warp
                if has_it
                else wp.zeros((0, 0), dtype=wp.float32, device=device)
            )
            setattr(points, name, array)
        other = (
            self._buffer("raw_other").warp if prefix == "raw" else wp.zeros(0, dtype=wp.uint64, device=device)
        )
        points.other = other
        return points
