"""Data objects whose sources are the getters of a view of the tensor API."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import warp as wp

from tensorphys_assets._kernels.motion import unit_directions
from tensorphys_assets._kernels.rows import take_items
from tensorphys_assets.buffers import AssetData, Slot
from tensorphys_assets.dtypes import DTYPES, as_numbers, element_width, reinterpret
from tensorphys_assets.members import Quantity
from tensorphys_assets.ordering import ArticulationNameMap

__all__ = ["EngineAccess", "ViewData"]


# What writers of poses, velocities and joints write: the pass of kinematics after them waits for the first read of something
# that derives from them. None of these changes by it but through another object over the same prims.
_WRITTEN = frozenset(
    {"root_transforms", "root_velocities", "dof_positions", "dof_velocities", "transforms", "velocities"}
)


class EngineAccess:
    """What a data object asks of the simulation.

    Args:
        view: View of the tensor API with the frontend ``warp``.
        simulation: The simulation behind it.
        environments: Environment of each row of the data.
        maps: Order of bodies ("B") and joints ("J") where it is not that of the engine.
    """

    def __init__(
        self,
        view: Any,
        simulation: Any,
        environments: list[int],
        maps: Mapping[str, ArticulationNameMap] | None = None,
    ) -> None:
        self.view = view
        self.simulation = simulation
        self.maps = dict(maps or {})
        self.device = str(simulation.device)
        self._environments = wp.array(environments, dtype=wp.int32, device=self.device)
        self._others = {
            source: frozenset((id(view), other) for other in _WRITTEN - {source}) for source in _WRITTEN
        }

    def get(self, source: str) -> wp.array:
        """Array of a getter of the view, filled anew, with all that was written in it.

        The view makes the pass of kinematics that writes have left; of what was written through this very view, other quantities
        that are written need none.
        """
        getter = getattr(self.view, f"get_{source}")
        if source not in _WRITTEN:
            return getter()
        with self.simulation.one_refresh.held_for(self._others[source]):
            return getter()

    def writing(self, source: str) -> AbstractContextManager[None]:
        """``with engine.writing(source):`` a setter of the view leaves its pass of kinematics to the first read that needs it.

        Args:
            source: Quantity of the view that is written, by its name after ``set_``.
        """
        if source not in _WRITTEN:
            return nullcontext()
        later: AbstractContextManager[None] = self.simulation.one_refresh.later((id(self.view), source))
        return later

    def gravity_direction(self, target: wp.array) -> None:
        """Direction of gravity of each row; zero where there is none."""
        flat = target if target.ndim == 1 else reinterpret(target, wp.vec3f, (target.size,))
        inputs = [self.simulation.model.gravity, self._environments]
        wp.launch(unit_directions, flat.size, inputs, [flat], device=self.device)


class ViewData(AssetData):
    """Data object over a view; quantities with a source share the memory of its getter where orders agree.

    Args:
        engine: The view.
        sizes: Length of each axis by its letter.
    """

    def __init__(self, engine: EngineAccess, sizes: Mapping[str, int]) -> None:
        super().__init__(sizes, engine.device)
        self._engine = engine

    def _map(self, member: Quantity) -> ArticulationNameMap | None:
        return self._engine.maps.get(member.axes[1:2])

    def order_of(self, name: str) -> ArticulationNameMap | None:
        """Map of the items of a quantity, ``None`` where they stand as in the engine."""
        member = self._members[name]
        assert isinstance(member, Quantity)
        return self._map(member)

    def numbers(self, name: str) -> wp.array:
        """Numbers of a member, shape [rows, items, numbers]: what writers write to. It is brought up to date."""
        slot = self.refresh(name)
        array = slot.array
        rows = array.shape[0]
        items = array.shape[1] if array.ndim > 1 else 1
        width = element_width(array.dtype) * (array.shape[2] if array.ndim > 2 else 1)
        if array.is_contiguous or array.size == 0:
            return as_numbers(array, (rows, items, width))
        strides = (array.strides[0], array.strides[1] if array.ndim > 1 else 4 * width, 4)
        view = wp.array(
            ptr=array.ptr,
            dtype=wp.float32,
            shape=(rows, items, width),
            strides=strides,
            device=array.device,
            copy=False,
        )
        view._owner = array
        return view

    def flat(self, name: str) -> wp.array:
        """The array of a member with one axis, as it is: not brought up to date."""
        array = self._slots[name].array
        return array if array.ndim == 1 else reinterpret(array, array.dtype, (array.size,))

    def writing(self, name: str) -> AbstractContextManager[None]:
        """``with data.writing(name):`` the setter of a quantity leaves its pass of kinematics to a read."""
        member = self._members[name]
        return self._engine.writing(member.source if isinstance(member, Quantity) else "")

    def mark_fresh(self, name: str) -> None:
        """Say that the array of a member holds what is now."""
        self._slots[name].timestamp = self._sim_timestamp

    def _allocate(self, member: Quantity) -> Slot:
        if not member.source:
            return super()._allocate(member)
        shape = self.shape(member.axes)
        array = self._engine.get(member.source)
        if not member.own and self._map(member) is None and str(array.device) == self.device and array.size:
            return Slot(reinterpret(array, DTYPES[member.dtype], shape))
        return super()._allocate(member)

    def _fill(self, member: Quantity, slot: Slot) -> None:
        if not member.source:
            super()._fill(member, slot)
            return
        array = self._engine.get(member.source)
        if array.size == 0 or array.ptr == slot.array.ptr:
            return
        if str(array.device) != self.device:
            array = array.to(self.device)
        order = self._map(member)
        shape = (slot.array.shape[0], self.shape(member.axes[1:2] or "1")[0], -1)
        width = array.size // (shape[0] * shape[1])
        source = as_numbers(array, (shape[0], shape[1], width))
        target = as_numbers(slot.array, (shape[0], shape[1], width))
        if order is None:
            wp.copy(target, source)
        else:
            wp.launch(
                take_items, target.shape, [source, order.user_to_backend], [target],
                device=self.device,
            )  # fmt: skip
