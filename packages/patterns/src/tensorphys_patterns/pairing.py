"""Contact sensors and their filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import PairingError, PatternError
from .matching import explain_no_match, match
from .tree import NameTree

__all__ = ["FilterPairing", "pair_filter_lists", "pair_filters", "pair_patterns"]


@dataclass(frozen=True)
class FilterPairing:
    """Filters of each sensor.

    Attributes:
        sensors: Path of each sensor, in order.
        filters: ``[sensor][filter]`` path; ``""`` in a column that could not be paired.
        problems: One text for each such column.
    """

    sensors: tuple[str, ...]
    filters: tuple[tuple[str, ...], ...]
    problems: tuple[str, ...] = ()

    @property
    def filter_count(self) -> int:
        """Filters per sensor."""
        return len(self.filters[0]) if self.filters else 0


def pair_filters(
    sensors: Sequence[str],
    filters: Sequence[Sequence[str]],
    *,
    labels: Sequence[str] | None = None,
) -> FilterPairing:
    """Pair the hits of one sensor pattern with the hits of each filter pattern.

    As many filter hits as sensors pair one to one; a single hit serves every sensor; any other number
    leaves that column empty and is reported.

    Args:
        sensors: Paths that the sensor pattern matched, before any are dropped as no sensors.
        filters: Paths that each filter pattern matched.
        labels: Name of each filter in the reports; default its number.

    Returns:
        The pairing.

    Raises:
        PairingError: ``labels`` and ``filters`` differ in length.
    """
    if labels is not None and len(labels) != len(filters):
        raise PairingError(f"{len(labels)} labels for {len(filters)} filters")
    columns: list[Sequence[str]] = []
    problems = []
    for number, hits in enumerate(filters):
        if len(hits) == len(sensors):
            columns.append(hits)
        elif len(hits) == 1:
            columns.append([hits[0]] * len(sensors))
        else:
            label = labels[number] if labels is not None else str(number)
            problems.append(
                f"filter {label} matches {len(hits)} paths for {len(sensors)} sensors: "
                f"expected {len(sensors)} (one each) or 1 (shared by all); its column stays empty"
            )
            columns.append([""] * len(sensors))
    rows = tuple(tuple(column[i] for column in columns) for i in range(len(sensors)))
    return FilterPairing(tuple(sensors), rows, tuple(problems))


def pair_filter_lists(
    sensors: str | Sequence[str],
    filters: Sequence[str] | Sequence[Sequence[str]] | None,
) -> list[tuple[str, tuple[str, ...]]]:
    """Sort out the arguments of a contact view: each sensor pattern with its filter patterns.

    Args:
        sensors: One sensor pattern, or a list.
        filters: Flat list for one sensor pattern, list of lists for a list, ``None`` for no filters.

    Returns:
        Sensor pattern and filter patterns, one entry for each sensor pattern.

    Raises:
        PairingError: The two do not fit: a flat list beside a list of sensors or the reverse, other
            lengths, or numbers of filters that differ between the sensor patterns.
    """
    single = isinstance(sensors, str)
    patterns: list[str] = [sensors] if isinstance(sensors, str) else list(sensors)
    if filters is None:
        return [(pattern, ()) for pattern in patterns]
    if isinstance(filters, str):
        raise PairingError(f"filter patterns are a list, given the text {filters!r}")
    entries: list[Any] = list(filters)
    if single:
        nested = [entry for entry in entries if not isinstance(entry, str)]
        if nested:
            raise PairingError(
                f"one sensor pattern takes a flat list of filter patterns, given an entry {nested[0]!r}"
            )
        return [(patterns[0], tuple(entries))]
    flat = [entry for entry in entries if isinstance(entry, str)]
    if flat:
        raise PairingError(
            f"a list of sensor patterns takes one list of filter patterns for each, given {flat[0]!r}"
        )
    if len(entries) != len(patterns):
        raise PairingError(f"{len(patterns)} sensor patterns need as many filter lists, given {len(entries)}")
    counts = [len(entry) for entry in entries]
    if len(set(counts)) > 1:
        raise PairingError(f"every sensor pattern needs the same number of filters, given {counts}")
    return [(pattern, tuple(entry)) for pattern, entry in zip(patterns, entries, strict=True)]


def pair_patterns(
    sensors: str | Sequence[str],
    filters: Sequence[str] | Sequence[Sequence[str]] | None,
    tree: NameTree[Any],
) -> FilterPairing:
    """Match sensor and filter patterns in a tree and pair them.

    Args:
        sensors: One sensor pattern, or a list.
        filters: Flat list for one sensor pattern, list of lists for a list, ``None`` for no filters.
        tree: Tree to search.

    Returns:
        All sensors that the patterns match, in order, with their filters. A filter pattern that is
        invalid, or matches an unfit number of paths, leaves an empty column and a problem text.

    Raises:
        PairingError: The two arguments do not fit together.
        PatternError: A sensor pattern is invalid.
        NoMatchError: A sensor pattern matches nothing.
    """
    all_sensors: list[str] = []
    rows: list[tuple[str, ...]] = []
    problems: list[str] = []
    for sensor_pattern, filter_patterns in pair_filter_lists(sensors, filters):
        paths = match(sensor_pattern, tree).paths
        if not paths:
            raise explain_no_match(sensor_pattern, tree)
        hits: list[list[str]] = []
        labels = []
        for pattern in filter_patterns:
            label = repr(pattern)
            try:
                hits.append(match(pattern, tree).paths)
            except PatternError as error:
                hits.append([])
                label += f" ({error})"
            labels.append(label)
        pairing = pair_filters(paths, hits, labels=labels)
        all_sensors += pairing.sensors
        rows += pairing.filters
        problems += pairing.problems
    return FilterPairing(tuple(all_sensors), tuple(rows), tuple(problems))
