"""From patterns to contact sensors and the filters of each."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import tensorphys_patterns
from tensorphys.core import Core
from tensorphys.matching import NoMatchError, NotSuitableError, PairingError, match_prims, shorten
from tensorphys_patterns import Matches, pair_filter_lists, pair_filters

__all__ = ["ContactPairs", "pair_contacts"]

OnNoMatch = Literal["raise", "empty"]
IntArray = npt.NDArray[np.int32]
_LOGGER = logging.getLogger("tensorphys")


@dataclass(frozen=True)
class ContactPairs:
    """Sensors and their filters; each is a rigid body (a link) or else a collider (a shape).

    Attributes:
        sensor_paths: Path of each sensor.
        filter_paths: ``[sensor][filter]`` path, ``""`` for a column that is empty.
        sensor_link, sensor_shape: Link of a body, or shape of a collider, the other -1, shape [sensors].
        filter_link, filter_shape: Likewise, both -1 where the column is empty, shape [sensors, filters].
    """

    sensor_paths: list[str]
    filter_paths: list[list[str]]
    sensor_link: IntArray
    sensor_shape: IntArray
    filter_link: IntArray
    filter_shape: IntArray


class _Objects:
    """What patterns match; each pattern is resolved once, however many sensors it is given for."""

    def __init__(self, core: Core, on_no_match: OnNoMatch) -> None:
        self._directory = core.catalog.directory
        self._on_no_match: OnNoMatch = on_no_match
        self._hits: dict[str, Matches] = {}
        self._node: dict[str, int] = {}

    def hits(self, pattern: str) -> Matches:
        """Prims that a pattern matches; none for one that is no pattern, where that is no error."""
        known = self._hits.get(pattern)
        if known is not None:
            return known
        node = self._directory.tree.find(pattern)
        if node is not None:
            found = Matches([pattern], [node])
        else:
            found = self._match(pattern)
        self._node.update(zip(found.paths, found.nodes, strict=True))
        self._hits[pattern] = found
        return found

    def _match(self, pattern: str) -> Matches:
        if self._on_no_match == "raise":
            return match_prims(pattern, self._directory.tree)
        try:
            return match_prims(pattern, self._directory.tree, "skip")
        except tensorphys_patterns.PatternError as error:
            _LOGGER.error("%s", error)
            return Matches()

    def numbers(self, rows: Iterable[Sequence[str]]) -> tuple[IntArray, IntArray]:
        """Links and shapes of paths, flat, in the order of rows; a body before its collider; -1 for neither."""
        place = {path: number for number, path in enumerate(self._node)}
        place[""] = -1  # the row behind the last
        flat = np.array([place[path] for row in rows for path in row], dtype=np.int64)
        columns = self._directory.entities(np.fromiter(self._node.values(), np.int64, len(self._node)))
        link = np.append(columns.link, -1).astype(np.int32)
        shape = np.append(np.where(columns.link >= 0, -1, columns.shape), -1).astype(np.int32)
        return link[flat], shape[flat]


def pair_contacts(
    core: Core,
    patterns: str | Sequence[str],
    filters: Sequence[str] | Sequence[Sequence[str]],
    on_no_match: OnNoMatch,
) -> ContactPairs | None:
    """Sensors that patterns match, with their filters.

    Args:
        core: What all views share.
        patterns: One sensor pattern or a list.
        filters: Filter patterns, or a list of them for each sensor pattern of a list.
        on_no_match: ``"raise"``; with ``"empty"`` patterns that do not fit are logged as errors, filters of that
            kind are empty columns, and there is no result where no sensor is left or the lists do not fit.

    Returns:
        The sensors in the order of the patterns, repeated ones included.

    Raises:
        PatternError: A text is no pattern.
        NoMatchError: A pattern matches nothing.
        NotSuitableError: A pattern matches neither bodies nor colliders.
        PairingError: Sensor and filter patterns do not fit together.
    """
    objects = _Objects(core, on_no_match)
    paths: list[str] = []
    rows: list[tuple[str, ...]] = []
    try:
        for pattern, filter_patterns in pair_filter_lists(patterns, filters if len(filters) else None):
            sensors = objects.hits(pattern)
            columns = [objects.hits(each).paths for each in filter_patterns]
            pairing = pair_filters(sensors.paths, columns, labels=[repr(each) for each in filter_patterns])
            if pairing.problems:
                _refuse(f"sensors {pattern!r}: " + "; ".join(pairing.problems), on_no_match)
            paths += pairing.sensors
            rows += pairing.filters
    except tensorphys_patterns.PairingError as error:
        _refuse(str(error), on_no_match)
        return None
    return _suitable(core, objects, patterns, paths, rows, on_no_match)


def _refuse(text: str, on_no_match: OnNoMatch) -> None:
    """Raise a pairing error, or log it where a view without these objects is wanted."""
    if on_no_match == "raise":
        raise PairingError(text)
    _LOGGER.error("%s", text)


def _suitable(
    core: Core,
    objects: _Objects,
    patterns: str | Sequence[str],
    paths: list[str],
    rows: list[tuple[str, ...]],
    on_no_match: OnNoMatch,
) -> ContactPairs | None:
    """Leave out prims that are neither bodies nor colliders."""
    link, shape = objects.numbers([paths])
    good = (link >= 0) | (shape >= 0)
    if not good.any():
        error = NotSuitableError(repr(patterns), "a rigid body or a collider", paths, "")
        if on_no_match == "raise":
            raise error
        core.warn("%s", error)
        return None
    if not good.all():
        rejected = [path for path, keep in zip(paths, good.tolist(), strict=True) if not keep]
        core.warn(
            "pattern %r: %d matched prims are no contact sensors: %s",
            patterns, len(rejected), shorten(rejected),
        )  # fmt: skip
        paths = [path for path, keep in zip(paths, good.tolist(), strict=True) if keep]
        rows = [row for row, keep in zip(rows, good.tolist(), strict=True) if keep]
        link, shape = link[good], shape[good]
    filter_link, filter_shape = objects.numbers(rows)
    filter_paths = [list(row) for row in rows]
    named = np.array([bool(path) for row in rows for path in row], dtype=bool)
    _check_filters(filter_paths, named & (filter_link < 0) & (filter_shape < 0), on_no_match)
    grid = (len(paths), len(rows[0]))
    return ContactPairs(
        sensor_paths=paths,
        filter_paths=filter_paths,
        sensor_link=link,
        sensor_shape=shape,
        filter_link=filter_link.reshape(grid),
        filter_shape=filter_shape.reshape(grid),
    )


def _check_filters(paths: list[list[str]], bad: npt.NDArray[Any], on_no_match: OnNoMatch) -> None:
    if not bad.any():
        return
    flat = [path for row in paths for path in row]
    rejected = list(dict.fromkeys(flat[index] for index in np.flatnonzero(bad)))
    error: NoMatchError = NotSuitableError(
        f"of a filter ({rejected[0]!r})", "a rigid body or a collider", rejected, ""
    )
    if on_no_match == "raise":
        raise error
    _LOGGER.error("%s", error)
    width = len(paths[0])
    for index in np.flatnonzero(bad):
        paths[index // width][index % width] = ""
