"""The table of what contact views hand out: one entry an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CONTACT_ARRAYS", "CONTACT_GETTERS", "ContactArray"]

Axis = Literal["sensor", "filter", "data"] | int


@dataclass(frozen=True)
class ContactArray:
    """One array of a contact view.

    Attributes:
        name: Name in the table.
        axes: Its axes: one entry a sensor, a filter column or a row of the contact buffers, or a fixed number.
        unit: Unit; lengths and masses are in stage units.
        dtype: Type of the numbers.
    """

    name: str
    axes: tuple[Axis, ...]
    unit: str
    dtype: Literal["float32", "uint32", "uint64"] = "float32"

    def shape(self, sensors: int, filters: int, rows: int) -> tuple[int, ...]:
        """Shape for a view of some size.

        Args:
            sensors: Number of sensors.
            filters: Number of filter columns.
            rows: ``max_contact_data_count``.
        """
        sizes: dict[Axis, int] = {"sensor": sensors, "filter": filters, "data": rows}
        return tuple(sizes.get(axis, axis if isinstance(axis, int) else 0) for axis in self.axes)


_POINTS = (
    ContactArray("{}_force", ("data", 1), "N"),
    ContactArray("{}_point", ("data", 3), "m"),
    ContactArray("{}_normal", ("data", 3), "-"),
    ContactArray("{}_separation", ("data", 1), "m"),
)


def _named(prefix: str) -> tuple[ContactArray, ...]:
    return tuple(ContactArray(each.name.format(prefix), each.axes, each.unit, each.dtype) for each in _POINTS)


CONTACT_ARRAYS: dict[str, ContactArray] = {
    array.name: array
    for array in (
        ContactArray("net_force", ("sensor", 3), "N"),
        ContactArray("matrix", ("sensor", "filter", 3), "N"),
        ContactArray("net_friction", ("sensor", 3), "N"),
        ContactArray("friction_matrix", ("sensor", "filter", 3), "N"),
        *_named("contact"),
        ContactArray("friction_force", ("data", 3), "N"),
        ContactArray("friction_point", ("data", 3), "m"),
        ContactArray("count", ("sensor", "filter"), "-", "uint32"),
        ContactArray("start", ("sensor", "filter"), "-", "uint32"),
        *_named("raw"),
        ContactArray("raw_count", ("sensor",), "-", "uint32"),
        ContactArray("raw_start", ("sensor",), "-", "uint32"),
        ContactArray("raw_other", ("data",), "-", "uint64"),
    )
}

_CONTACT = ("contact_force", "contact_point", "contact_normal", "contact_separation", "count", "start")
_RAW = ("raw_force", "raw_point", "raw_normal", "raw_separation", "raw_count", "raw_start", "raw_other")

CONTACT_GETTERS: dict[str, tuple[str, ...]] = {
    "net_contact_forces": ("net_force",),
    "contact_force_matrix": ("matrix",),
    "net_friction_contact_forces": ("net_friction",),
    "friction_contact_force_matrix": ("friction_matrix",),
    "contact_data": _CONTACT,
    "friction_data": ("friction_force", "friction_point", "count", "start"),
    "raw_contact_data": _RAW,
}
"""Arrays that each getter returns, in their order."""
