"""Buffers that are filled when they are read: what data classes of assets are declared with.

A :class:`Quantity` owns one array for as long as its data object lives. It is filled again when time has passed, or when
something was written that it depends on, and only when it is read. What is written to the simulation is written into the
array as well, so that a quantity never has to be fetched again because of a write to itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import warp as wp

from tensorphys_assets.dtypes import DTYPES, reinterpret
from tensorphys_assets.members import Column, Described, FirstValue, Part, Quantity, Reshaped, Same
from tensorphys_assets.proxy import ProxyArray

__all__ = ["AssetData", "Slot"]

STALE = -1.0


class Slot:
    """Array, proxy and time of a member that has memory."""

    __slots__ = ("array", "fills", "launch", "proxy", "timestamp")

    def __init__(self, array: wp.array) -> None:
        self.array = array
        self.proxy = ProxyArray(array)
        self.timestamp = STALE
        self.launch: Any = None
        self.fills = 0


class AssetData:
    """Base of data classes: members declared in the class body, filled when they are read.

    Args:
        sizes: Length of each axis by its letter: N instances, B bodies, J joints, ...
        device: Warp device.
    """

    _members: ClassVar[Mapping[str, Described]] = {}
    _dependants: ClassVar[Mapping[str, frozenset[str]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        members: dict[str, Described] = {}
        for base in reversed(cls.__mro__):
            members.update(
                {name: value for name, value in vars(base).items() if isinstance(value, Described)}
            )
        cls._members = members
        cls._dependants = _closure(members)

    def __init__(self, sizes: Mapping[str, int], device: Any) -> None:
        self._sizes = dict(sizes)
        self.device = str(device)
        self._sim_timestamp = 0.0
        self._slots: dict[str, Slot] = {}
        self._warp_device = wp.get_device(self.device)
        self._recorded: set[str] = set()

    def shape(self, axes: str) -> tuple[int, ...]:
        """Lengths of axes; digits stand for themselves."""
        return tuple(int(axis) if axis.isdigit() else self._sizes[axis] for axis in axes)

    def update(self, dt: float) -> None:
        """Let time pass: what is read next is fetched anew.

        Args:
            dt: Time since the last update [s].
        """
        self._sim_timestamp += dt

    # Reading.

    def read(self, name: str) -> Any:
        """Bring a member up to date and return its proxy, the same object on each call."""
        return self.refresh(name).proxy

    def resolve(self, name: str) -> Any:
        """What a member means, without warnings that it is deprecated."""
        member = self._members[name]
        if isinstance(member, Same):
            return self.resolve(member.target)
        if isinstance(member, FirstValue):
            return self.first_value(name, member.target)
        return self.read(name)

    def array(self, name: str) -> wp.array:
        """The array of a member, brought up to date."""
        return self.refresh(name).array

    def refresh(self, name: str) -> Slot:
        """Bring a member up to date; while a graph is captured, in that graph."""
        if self._recorded and not self._warp_device.is_capturing:
            self._leave_capture()
        member = self._members[name]
        if isinstance(member, (Part, Column, Reshaped)):
            whole = self.refresh(member.whole)
            slot = self._slots.get(name)
            if slot is None:
                slot = self._slots[name] = Slot(member.view(self, whole.array))
            return slot
        assert isinstance(member, Quantity)
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = self._allocate(member)
        if slot.timestamp < self._sim_timestamp:
            for other in member.reads:
                self.refresh(other)
            self._fill(member, slot)
            slot.fills += 1
            if self._warp_device.is_capturing:
                self._recorded.add(name)
            slot.timestamp = math.inf if member.static or member.constant else self._sim_timestamp
        return slot

    def _leave_capture(self) -> None:
        """What was filled in a graph that was captured was not filled yet."""
        for name in self._recorded:
            self._slots[name].timestamp = STALE
        self._recorded.clear()

    def first_value(self, name: str, target: str) -> Any:
        """The copy behind a :class:`FirstValue`."""
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = Slot(wp.clone(self.resolve(target).warp))
        return slot.proxy

    def fill_count(self, name: str) -> int:
        """How often a member was filled; for tests of laziness."""
        slot = self._slots.get(name)
        return slot.fills if slot else 0

    def is_fresh(self, name: str) -> bool:
        """Whether reading a quantity would fetch nothing."""
        slot = self._slots.get(name)
        return slot is not None and slot.timestamp >= self._sim_timestamp

    # Writing.

    def invalidate(self, names: Iterable[str], *, themselves: bool = False) -> None:
        """Make what depends on quantities stale.

        Args:
            names: Quantities that were written.
            themselves: Whether they are stale, too.
        """
        for name in names:
            stale = self._dependants.get(name, frozenset())
            for other in (name, *stale) if themselves else stale:
                slot = self._slots.get(other)
                if slot is not None:
                    slot.timestamp = STALE

    def invalidate_all(self) -> None:
        """Make everything stale, as after writing to the engine past this object."""
        self._forget(static=True)

    def invalidate_state(self) -> None:
        """Make everything stale that time changes, as after a replayed graph; properties stay."""
        self._forget(static=False)

    def _forget(self, *, static: bool) -> None:
        for name, slot in self._slots.items():
            member = self._members[name]
            if isinstance(member, Quantity) and not member.constant and (static or not member.static):
                slot.timestamp = STALE

    # For subclasses.

    def _allocate(self, member: Quantity) -> Slot:
        return Slot(wp.zeros(self.shape(member.axes), dtype=DTYPES[member.dtype], device=self.device))

    def _fill(self, member: Quantity, slot: Slot) -> None:
        if member.fill is not None:
            member.fill(self, slot.array)
        elif member.kernel is not None and slot.array.size:
            if slot.launch is None:
                inputs = [_flat(self._slots[name].array) for name in member.reads]
                slot.launch = wp.launch(
                    member.kernel,
                    slot.array.size,
                    inputs,
                    [_flat(slot.array)],
                    device=self.device,
                    record_cmd=True,
                )
                slot.launch._arrays = (inputs, slot.array)  # a recorded launch holds pointers only
            slot.launch.launch()


def _flat(array: wp.array) -> wp.array:
    """One axis over the elements of an array."""
    if array.ndim == 1 or array.size == 0:
        return array if array.ndim == 1 else wp.empty(0, dtype=array.dtype, device=array.device)
    return reinterpret(array, array.dtype, (array.size,))


def _closure(members: Mapping[str, Described]) -> dict[str, frozenset[str]]:
    """Quantities that depend on each member, directly or not."""
    direct: dict[str, set[str]] = {name: set() for name in members}
    for name, member in members.items():
        if isinstance(member, Quantity):
            causes: tuple[str, ...] = (*member.reads, *member.follows)
        elif isinstance(member, (Part, Column, Reshaped)):
            causes = (member.whole,)
        else:
            continue
        for cause in causes:
            direct.setdefault(cause, set()).add(name)
    closed = {}
    for name in members:
        found: set[str] = set()
        pending = list(direct.get(name, ()))
        while pending:
            other = pending.pop()
            if other not in found:
                found.add(other)
                pending += direct.get(other, ())
        closed[name] = frozenset(found)
    return closed
