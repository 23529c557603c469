"""Launches of the gather and scatter kernels for the state group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys._kernels.gather import gather_joint_wrenches, gather_poses, gather_values
from tensorphys._kernels.items import gather_item_points, gather_masses, scatter_item_points, scatter_masses
from tensorphys._kernels.scatter import scatter_poses, scatter_values
from tensorphys._kernels.wrench import AT_COM, HAS_FORCE, HAS_POSITION, HAS_TORQUE, IS_GLOBAL, add_wrenches
from tensorphys.core import Core
from tensorphys.errors import DataError, ViewError
from tensorphys.fields import Field
from tensorphys.rows import Rows
from tensorphys_arrays import Buffer

__all__ = ["Transfer", "as_numbers"]

_ITEM_SCATTERS = {"points": scatter_item_points, "particle_mass": scatter_masses}


def as_numbers(array: wp.array) -> wp.array:
    """The same memory as an array of float32 with one row for each element.

    Args:
        array: Contiguous array of a float32 scalar, vector, matrix, quaternion or transform.

    Returns:
        Alias that keeps the memory alive, float32, shape [elements, numbers of one element].
    """
    width = getattr(array.dtype, "_length_", 1)
    alias = wp.array(
        ptr=array.ptr, dtype=wp.float32, shape=(array.size, width), device=array.device, copy=False
    )
    alias._owner = array
    return alias


class _Gather:
    """A recorded launch that fills the output buffer of one field; a copy where its items follow one another."""

    def __init__(self, core: Core, rows: Rows, field: Field, source: wp.array, buffer: Buffer) -> None:
        self.source = source
        self.buffer = buffer
        self._launch: Any = None
        self._copied: tuple[wp.array, wp.array, int, int] | None = None
        slots = rows.slots[field.slots]
        shape = (*slots.shape, max(field.width, 1))
        if math.prod(shape) == 0:
            return
        # Arrays are kept here: the recorded launch holds pointers only.
        self._values = buffer.warp.reshape(shape)
        if field.conversion == "pose":
            self._inputs = [source, slots, *rows.view_offset]
            kernel, dim = gather_poses, slots.shape
        elif field.conversion == "points":
            self._inputs = [source, slots, *rows.view_offset]
            kernel, dim = gather_item_points, slots.shape
        elif field.conversion == "particle_mass":
            self._inputs = [source, slots]
            kernel, dim = gather_masses, slots.shape
        elif field.conversion == "joint_wrench":
            places = [core.array("state.link_pose"), core.array("model.link_com"), *core.joint_frames]
            self._inputs = [source, slots, *places]
            kernel, dim = gather_joint_wrenches, slots.shape
        else:
            numbers, first = as_numbers(source), rows.run(field.slots)
            if first is not None and numbers.shape[1] == shape[2]:
                self._copied = (self._values, numbers, first * shape[2], self._values.size)
                return
            self._inputs = [numbers, slots]
            kernel, dim = gather_values, shape
        self._launch = wp.launch(
            kernel, dim, self._inputs, [self._values], device=core.device, record_cmd=True
        )

    def __call__(self) -> Any:
        if self._copied is not None:
            values, source, first, count = self._copied
            wp.copy(values, source, src_offset=first, count=count)
        elif self._launch is not None:
            self._launch.launch()
        return self.buffer.array


class Transfer:
    """Reads and writes the state of the rows of one view.

    Args:
        core: What all views share.
        rows: Rows of the view.
        label: Name of the view's class, for messages.
    """

    def __init__(self, core: Core, rows: Rows, label: str) -> None:
        self._core = core
        self._rows = rows
        self._label = label
        self._gathers: dict[str, _Gather] = {}

    def items(self, field: Field) -> int:
        """Items of the widest row."""
        return int(self._rows.slots[field.slots].shape[1])

    def gather(self, field: Field) -> Any:
        """Fill the buffer of a field and return it; it is the same object on every call."""
        source = self._core.array(field.source)
        gather = self._gathers.get(field.name)
        if gather is None or gather.source is not source:
            buffer = gather.buffer if gather else self._buffer(field)
            gather = self._gathers[field.name] = _Gather(self._core, self._rows, field, source, buffer)
        with self._core.frontend.ordered_with_caller(self._core.device):
            if field.is_derived:
                self._core.settle()
            if field.measured:
                self._core.simulation.loads.evaluate()
            return gather()

    def _buffer(self, field: Field) -> Buffer:
        shape = field.shape(self._rows.count, self.items(field))
        buffer: Buffer = self._core.frontend.allocate(shape, wp.float32, self._core.device)
        return buffer

    def select(self, indices: Any, what: str) -> wp.array | None:
        """Table of the selected rows on the device, ``None`` if there is none.

        Args:
            indices: Rows, ``None`` for all; or a Warp array of bool with an entry for each row.
            what: What asks, for messages.

        Raises:
            ViewError: A mask has another length, or lies elsewhere.
        """
        rows, core = self._rows, self._core
        if indices is None:
            return rows.everything if rows.count else None
        if isinstance(indices, wp.array) and indices.dtype is wp.bool:
            if indices.shape != (rows.count,) or str(indices.device) != core.device:
                raise ViewError(
                    f"{what}(indices): expected a mask of {rows.count} rows on {core.device}, "
                    f"given one of shape {tuple(indices.shape)} on {indices.device}"
                )
            return rows.selection.select_mask(indices) if rows.count else None
        index = core.indices(indices, rows.count, core.device, f"{what}(indices)")
        return rows.selection.select(index) if index.size and rows.count else None

    def input(self, data: Any, shape: tuple[int, ...], what: str) -> wp.array:
        """A contiguous float32 array on the device with the numbers of a full view, in the given shape."""
        return self._core.frontend.as_input(
            data,
            dtype=wp.float32,
            element_count=math.prod(shape),
            device=self._core.device,
            what=what,
            shape=shape,
        )

    def scatter(self, field: Field, data: Any, indices: Any) -> None:
        """Write the selected rows of a field; what derives from them is updated at once."""
        core, rows = self._core, self._rows
        what = f"{self._label}.set_{field.name}"
        width = max(field.width, 1)
        items = self.items(field)
        with core.frontend.ordered_with_caller(core.device):
            values = self.input(data, (rows.count, items, width), f"{what}(data)")
            selected = self.select(indices, what)
            if selected is None or values.size == 0:
                return
            if field.conversion == "pose":
                self._scatter_poses(values.reshape((rows.count, width)), selected, what)
            elif field.conversion == "target":
                if "root_prescribed" in rows.slots:
                    self._scatter_poses(
                        values.reshape((rows.count, width)),
                        selected,
                        what,
                        slots="root_prescribed",
                        target="state.root_target",
                        mark="state.root_aimed",
                    )
            elif field.conversion in _ITEM_SCATTERS:
                kernel = _ITEM_SCATTERS[field.conversion]
                places = rows.view_offset if field.conversion == "points" else ()
                wp.launch(
                    kernel,
                    rows.slots[field.slots].shape,
                    [values, rows.slots[field.slots], selected, *rows.same, *places],
                    [core.array(field.source)],
                    device=core.device,
                )
            elif field.conversion == "root_velocity":
                self._scatter_values(
                    values.reshape((rows.count, 6, 1)), "root_velocity", "state.velocity", selected
                )
                self._scatter_values(values, "root_prescribed", "state.root_velocity", selected)
            else:
                self._scatter_values(values, field.slots, field.source, selected, is_state=field.is_state)
            if field.is_state:
                core.simulation.refresh()

    def scatter_all(self, values: Mapping[Field, Any], indices: Any, what: str) -> None:
        """Write the selected rows of several plain fields, once all of their data are found good.

        Args:
            values: Data of each field.
            indices: Rows, ``None`` for all.
            what: What asks, for messages.
        """
        core, rows = self._core, self._rows
        with core.frontend.ordered_with_caller(core.device):
            arrays = {
                field: self.input(
                    data,
                    (rows.count, self.items(field), max(field.width, 1)),
                    f"{what}({field.name.partition('_tendon_')[2]})",
                )
                for field, data in values.items()
            }
            selected = self.select(indices, what)
            if selected is None:
                return
            core.simulation.wake_up(rows.articulations)
            for field, array in arrays.items():
                if array.size:
                    self._scatter_values(array, field.slots, field.source, selected, is_state=field.is_state)

    def _scatter_values(
        self, values: wp.array, slots: str, target: str, selected: wp.array, *, is_state: bool = True
    ) -> None:
        core, rows = self._core, self._rows
        if slots not in rows.slots:  # no row of this view has such items
            return
        numbers = as_numbers(core.array(target))
        first = rows.run(slots) if selected is rows.everything and not rows.has_repeats else None
        if first is not None and not is_state and numbers.shape[1] == values.shape[2]:
            wp.copy(numbers, values, dest_offset=first * values.shape[2], count=values.size)
            return
        wp.launch(
            scatter_values,
            values.shape,
            [values, rows.slots[slots], selected, *rows.same, rows.articulations, int(is_state)],
            [numbers, core.array("state.fresh")],
            device=core.device,
        )

    def _scatter_poses(
        self,
        poses: wp.array,
        selected: wp.array,
        what: str,
        *,
        slots: str = "root_pose",
        target: str = "state.root_pose",
        mark: str = "state.fresh",
    ) -> None:
        core, rows = self._core, self._rows
        if core.on_host and not wp.get_device(core.device).is_capturing:
            self._check_poses(poses.numpy(), selected.numpy() >= 0, what)
        wp.launch(
            scatter_poses,
            rows.count,
            [poses, rows.slots[slots], selected, *rows.same, *rows.view_offset],
            [core.array(target), core.array(mark), core.faults],
            device=core.device,
        )

    def _check_poses(
        self, poses: npt.NDArray[np.float32], selected: npt.NDArray[np.bool_], what: str
    ) -> None:
        good = np.isfinite(poses).all(axis=1) & (np.linalg.norm(poses[:, 3:], axis=1) > 1e-6)
        bad = np.flatnonzero(selected & ~good)
        if bad.size:
            row = int(bad[0])
            raise DataError(
                f"{what}: row {row} is no pose: expected finite numbers and a quaternion [qx qy qz qw] that is "
                f"not zero, given {poses[row].tolist()}; nothing was written"
            )

    def apply(self, force: Any, torque: Any, position: Any, indices: Any, is_global: bool, what: str) -> None:
        """Add forces and torques to what acts during the next step.

        Args:
            force, torque, position: Three numbers an item, or ``None``.
            indices: Rows, ``None`` for all.
            is_global: Whether all are in world axes and world positions, else in the frame of each link.
            what: What asks, for messages.

        Raises:
            ViewError: Neither forces nor torques are given, or positions without forces.
        """
        core, rows = self._core, self._rows
        if force is None and torque is None:
            raise ViewError(f"{what}: expected force_data or torque_data, given neither")
        if position is not None and force is None:
            raise ViewError(f"{what}: position_data says where forces act, but force_data is None")
        slots = rows.slots["link"]
        shape = (*slots.shape, 3)
        with core.frontend.ordered_with_caller(core.device):
            nothing = rows.nothing
            arrays = [
                nothing if data is None else self.input(data, shape, f"{what}({name})")
                for data, name in (
                    (force, "force_data"),
                    (torque, "torque_data"),
                    (position, "position_data"),
                )
            ]
            selected = self.select(indices, what)
            if selected is None or slots.size == 0:
                return
            core.settle()  # where a force acts depends on where its link is now
            given = ((force, HAS_FORCE), (torque, HAS_TORQUE), (position, HAS_POSITION))
            flags = sum(int(bit) for data, bit in given if data is not None)
            flags += int(IS_GLOBAL) * bool(is_global) + int(AT_COM) * (core.conventions == "runtime")
            wp.launch(
                add_wrenches,
                slots.shape,
                [
                    *arrays,
                    flags,
                    slots,
                    selected,
                    *rows.same,
                    *rows.world_offset,
                    core.array("state.link_pose"),
                    core.array("model.link_com"),
                ],
                [core.array("control.link_force"), core.array("control.link_torque")],
                device=core.device,
            )
