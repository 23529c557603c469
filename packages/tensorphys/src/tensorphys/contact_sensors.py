"""Numbering of contact sensors and filters on the simulation device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys._kernels.contact_gather import SensorTables
from tensorphys.catalog import Catalog
from tensorphys.contact_pairs import ContactPairs

__all__ = ["SensorNumbers", "number_sensors", "shape_colliders"]

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class SensorNumbers:
    """Sensors, filters and the owners behind them, see ``_kernels.contact_index`` and ``contact_gather``.

    Attributes:
        tables: Sensors with their filters.
        raw_tables: The same sensors with one column that takes every contact.
        owner_start: First owner of each environment, then of the shared ones, and the end, shape [environments + 2].
        shape_owner: Owner of each shape, -1 where nobody looks, shape [shapes].
        sensor_start, sensor_shape: First of the shapes of each sensor and the end, and the shapes.
    """

    tables: Any
    raw_tables: Any
    owner_start: IntArray
    shape_owner: IntArray
    sensor_start: IntArray
    sensor_shape: IntArray

    @property
    def owner_count(self) -> int:
        """Number of owners."""
        return int(self.owner_start[-1])

    @property
    def has_shared(self) -> bool:
        """Whether a sensor is a static collider that all environments share."""
        return bool(self.owner_start[-1] > self.owner_start[-2])


def shape_colliders(catalog: Catalog) -> IntArray:
    """First shape of the collider prim that each shape belongs to, shape [shapes]."""
    numbering = catalog.directory.numbering
    scene = catalog.scene

    def firsts(paths: list[str]) -> IntArray:
        known: dict[str, int] = {}
        return np.array([known.setdefault(path, row) for row, path in enumerate(paths)], np.int32)

    own = [
        firsts([template.shapes.path[row] for row in plan.shape_row])
        for template, plan in zip(scene.templates, numbering.plans, strict=True)
    ]
    layout = numbering.shapes
    blocks = [first + layout.first(number) for number, first in enumerate(own)]
    shared = firsts([scene.shared.shapes.path[row] for row in numbering.shared_shape_row])
    return np.concatenate((layout.fill(blocks, np.int32), shared + layout.total)).astype(np.int32)


def number_sensors(catalog: Catalog, pairs: ContactPairs, shape_link: IntArray, device: str) -> SensorNumbers:
    """Number the owners of sensors by environment and put all tables on the device.

    Args:
        catalog: What flat numbers stand for.
        pairs: Sensors and filters.
        shape_link: Link of each shape, -1 static, shape [shapes].
        device: Warp device alias.
    """
    collider = shape_colliders(catalog)
    links = len(catalog.link_articulation)
    environments = catalog.scene.environments.count
    is_body = pairs.sensor_link >= 0
    # A collider of a body is looked up among the contacts of the body.
    of_shape = np.where(shape_link >= 0, shape_link, links + collider)
    sensed = np.where(is_body, pairs.sensor_link, of_shape[pairs.sensor_shape])
    objects, owner = np.unique(sensed, return_inverse=True)
    layout = catalog.directory.numbering.shapes
    shape_environment = np.append(layout.environment, np.full(len(collider) - layout.total, environments))
    home = np.append(catalog.articulation_environment[catalog.link_articulation], shape_environment)[objects]
    order = np.argsort(home, kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    row = np.minimum(np.searchsorted(objects, of_shape), len(objects) - 1)
    shape_owner = np.where(objects[row] == of_shape, place[row], -1).astype(np.int32)
    owner_start = np.searchsorted(home[order], np.arange(environments + 2)).astype(np.int32)

    def upload(values: npt.NDArray[Any]) -> Any:
        return wp.array(np.ascontiguousarray(values, dtype=np.int32), dtype=wp.int32, device=device)

    # Of the two tables only the filters differ.
    common = {
        "link_count": links,
        "shape_link": upload(shape_link),
        "shape_collider": upload(collider),
        "owner": upload(place[owner.reshape(-1)]),
        "collider": upload(np.where(is_body, -1, collider[pairs.sensor_shape])),
    }
    count = len(pairs.sensor_paths)
    start, named, column = _sorted_filters(pairs, links, collider)
    tables = _tables(
        common,
        column_count=pairs.filter_link.shape[1],
        accept_all=0,
        filter_start=upload(start),
        filter_object=upload(named),
        filter_column=upload(column),
    )
    zeros = np.zeros(count, np.int32)
    raw = _tables(
        common,
        column_count=1,
        accept_all=1,
        filter_start=upload(np.arange(count + 1)),
        filter_object=upload(zeros),
        filter_column=upload(zeros),
    )
    shapes = _sensor_shapes(pairs, shape_link, collider)
    return SensorNumbers(tables, raw, owner_start, shape_owner, *shapes)


def _sensor_shapes(
    pairs: ContactPairs, shape_link: IntArray, collider: IntArray
) -> tuple[IntArray, IntArray]:
    """Start and shapes of each sensor, a body with all its shapes or a collider with its parts."""
    is_body = pairs.sensor_link >= 0
    parts = []
    for named, wanted in (
        (shape_link, np.where(is_body, pairs.sensor_link, -2)),
        (collider, np.where(is_body, -2, collider[pairs.sensor_shape])),
    ):
        order = np.argsort(named, kind="stable")
        first, last = (np.searchsorted(named[order], wanted, side) for side in ("left", "right"))
        parts.append((order, first, last))
    (by_link, *of_link), (by_collider, *of_collider) = parts
    count = np.where(is_body, of_link[1] - of_link[0], of_collider[1] - of_collider[0])
    start = np.concatenate(([0], np.cumsum(count))).astype(np.int32)
    shapes = [
        by_link[of_link[0][s] : of_link[1][s]]
        if is_body[s]
        else by_collider[of_collider[0][s] : of_collider[1][s]]
        for s in range(len(is_body))
    ]
    return start, np.concatenate([*shapes, np.zeros(0, np.int64)]).astype(np.int32)


def _tables(common: dict[str, Any], **values: Any) -> Any:
    tables = SensorTables()
    for name, value in (common | values).items():
        setattr(tables, name, value)
    return tables


def _sorted_filters(
    pairs: ContactPairs, links: int, collider: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Filters of all sensors, those of one sorted by object: first of each sensor, object, column."""
    link, shape = pairs.filter_link, pairs.filter_shape
    named = np.where(link >= 0, link, links + collider[shape]).reshape(-1).astype(np.int64)
    sensor, column = np.divmod(np.arange(named.size), max(link.shape[1], 1))
    used = ((link >= 0) | (shape >= 0)).reshape(-1)
    sensor, column, named = sensor[used], column[used], named[used]
    order = np.lexsort((column, named, sensor))
    start = np.searchsorted(sensor[order], np.arange(len(link) + 1))
    return start.astype(np.int32), named[order].astype(np.int32), column[order].astype(np.int32)
