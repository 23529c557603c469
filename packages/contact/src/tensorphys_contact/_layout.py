"""Order of candidate pairs in memory: environments, kernel families, manifold slots."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import warp as wp

from .errors import PairError
from .shapes import SIMPLE_FAMILIES, Families, PairFamily, ShapeType

if TYPE_CHECKING:
    from .pair_search import PairSearch


@dataclasses.dataclass(frozen=True)
class PairLayout:
    """Arrays of :class:`~tensorphys_contact.Model` that describe pairs; see there."""

    shapes: npt.NDArray[np.int32]
    environment: npt.NDArray[np.int32]
    pair_start: npt.NDArray[np.int32]
    item: npt.NDArray[np.int32]
    family: npt.NDArray[np.uint8]
    spare: tuple[int, int]
    slot_start: npt.NDArray[np.int32]
    family_pairs: dict[PairFamily, npt.NDArray[np.int32]]
    unsupported: npt.NDArray[np.int32]
    environment_capacity: npt.NDArray[np.int64]
    chunk_start: npt.NDArray[np.int32] | None
    chunk_pair: npt.NDArray[np.int32] | None
    key: npt.NDArray[np.int32]
    sampled_shapes: npt.NDArray[np.bool_]
    sampled_room: int


LARGE_ENVIRONMENT = 512
"""Pairs of one environment above which its compaction is parallel over chunks."""

LEAST_CHUNK = 64
"""Least number of pairs of a chunk."""


def lay_out_pairs(
    pairs: npt.ArrayLike,
    kind: npt.NDArray[np.int32],
    body: npt.NDArray[np.int32],
    environment: npt.NDArray[np.int32],
    radius: npt.NDArray[np.floating],
    environment_count: int,
    families: Families,
    *,
    by_type: bool,
) -> PairLayout:
    """Check the pairs, drop those without a narrow phase, and sort the rest into kernels.

    Args:
        by_type: For threads that run side by side: pairs of one kernel are sorted by their types first, so that the
            threads of a warp run alike; else they stay in order, so that one thread reads memory in order.
    """
    wanted = np.sort(np.asarray(pairs, dtype=np.int32).reshape(-1, 2), axis=1)
    home = _check_pairs(wanted, body, environment)
    type_count = max(ShapeType) + 1
    family_of = np.full(type_count * type_count, -1, dtype=np.int32)
    size_of = np.zeros(type_count * type_count, dtype=np.int32)
    for (low, high), (family, size) in families.items():
        for entry in (low * type_count + high, high * type_count + low):
            family_of[entry] = family
            size_of[entry] = size
    code = kind[wanted[:, 0]] * type_count + kind[wanted[:, 1]]
    supported = family_of[code] >= 0
    unsupported = wanted[~supported]
    wanted, home, code = wanted[supported], home[supported], code[supported]
    pair_start = np.searchsorted(home, np.arange(environment_count + 1)).astype(np.int32)
    slot_start = np.concatenate([[0], np.cumsum(size_of[code], dtype=np.int64)])
    if slot_start[-1] > np.iinfo(np.int32).max:
        raise PairError(f"{slot_start[-1]} manifold slots exceed 32-bit indices")
    family_pairs = {}
    for family in PairFamily:
        members = np.flatnonzero(family_of[code] == family)
        if len(members) and not by_type:
            family_pairs[family] = members.astype(np.int32)
        elif len(members):
            low_high = np.sort(np.stack(np.divmod(code[members], type_count)), axis=0)
            order = np.lexsort((members, low_high[1], low_high[0]))
            family_pairs[family] = members[order].astype(np.int32)
    chunk_start, chunk_pair = _chunks(pair_start)
    return PairLayout(
        shapes=wanted,
        environment=home,
        pair_start=pair_start,
        family=family_of[code].astype(np.uint8),
        spare=(-1, -1)
        if by_type
        else spare_places(pair_start, slot_start, family_of[code], 0, environment_count),
        item=_items(wanted, kind, environment, home, radius),
        slot_start=slot_start.astype(np.int32),
        family_pairs=family_pairs,
        unsupported=unsupported,
        environment_capacity=slot_start[pair_start[1:]] - slot_start[pair_start[:-1]],
        chunk_start=chunk_start,
        chunk_pair=chunk_pair,
        key=(np.arange(len(home)) - pair_start[home]).astype(np.int32),
        sampled_shapes=_sampled_shapes(wanted, kind),
        sampled_room=int(size_of[code[family_of[code] == PairFamily.SAMPLED]].max(initial=0)),
    )


def spare_places(
    pair_start: npt.NDArray[np.int32],
    slot_start: npt.NDArray[np.int32],
    family: npt.NDArray[np.uint8],
    first: int,
    end: int,
) -> tuple[int, int]:
    """Slots that some environments lend to each other where their threads run one after another.

    Args:
        pair_start, slot_start, family: See :class:`~tensorphys_contact.Model`.
        first, end: First environment, and the one behind the last.

    Returns:
        First slot of the largest manifold of simple shapes, and first slot of the environment of most pairs, which has
        room for a list of the pairs of each.
    """
    pairs = slice(pair_start[first], pair_start[end])
    simple = family[pairs] <= max(SIMPLE_FAMILIES)
    if not simple.any():
        return -1, -1
    sizes = np.diff(slot_start)[pairs] * simple
    most = first + int(np.argmax(np.diff(pair_start[first : end + 1])))
    return int(slot_start[pair_start[first] + np.argmax(sizes)]), int(slot_start[pair_start[most]])


def _sampled_shapes(pairs: npt.NDArray[np.int32], kind: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Shapes whose surface is sampled: fields, sets of spheres, and what meets a field, but planes."""
    result = np.zeros(len(kind), dtype=bool)
    first, second = pairs[:, 0], pairs[:, 1]
    for own, other in ((first, second), (second, first)):
        result[own[(kind[own] >= ShapeType.SDF) | (kind[other] == ShapeType.SDF)]] = True
    return result & (kind != ShapeType.PLANE)


def lay_out_search(
    search: PairSearch, kind: npt.NDArray[np.int32], environment_count: int, families: Families
) -> PairLayout:
    """Room for the pairs that a search will find, each with as many slots as any may need.

    Pairs that are found by samples need more slots than others; there is room for few of them.
    """
    capacity = search.capacity
    if environment_count != 1:
        raise PairError(
            f"pairs are searched in one world; {environment_count} environments need lists of pairs"
        )
    if capacity < 1 or search.sampled_capacity < 1:
        raise PairError(
            f"the capacity of a pair search must be positive, given {capacity} and {search.sampled_capacity}"
        )
    present = set(np.unique(kind).tolist())
    used = [entry for pair, entry in families.items() if set(pair) <= present]
    most = {
        sampled: max((e[1] for e in used if (e[0] == PairFamily.SAMPLED) == sampled), default=0)
        for sampled in (False, True)
    }
    few = min(search.sampled_capacity, capacity) if most[True] else 0
    size = max(most[False], 1)
    total = capacity * size + few * most[True]
    if total > np.iinfo(np.int32).max:
        raise PairError(f"{total} manifold slots exceed 32-bit indices")
    pair_start = np.array([0, capacity], dtype=np.int32)
    chunk_start, chunk_pair = _chunks(pair_start)
    none = np.full(capacity, -1, dtype=np.int32)
    return PairLayout(
        shapes=np.zeros((capacity, 2), dtype=np.int32),
        environment=np.zeros(capacity, dtype=np.int32),
        pair_start=pair_start,
        item=np.zeros((capacity, 4), dtype=np.int32),
        family=np.zeros(0, dtype=np.uint8),
        spare=(-1, -1),
        slot_start=(np.arange(capacity + 1) * size).astype(np.int32),
        family_pairs={
            family: none[:few] if family == PairFamily.SAMPLED else none
            for family in sorted({e[0] for e in used})
        },
        unsupported=np.zeros((0, 2), dtype=np.int32),
        environment_capacity=np.array([total], dtype=np.int64),
        chunk_start=chunk_start,
        chunk_pair=chunk_pair,
        key=none,
        sampled_shapes=(kind >= ShapeType.SDF) | ((kind != ShapeType.PLANE) & (ShapeType.SDF in present)),
        sampled_room=most[True],
    )


def _chunks(
    pair_start: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int32] | None, npt.NDArray[np.int32] | None]:
    """Cut the pairs of large environments into chunks; None where all are small."""
    sizes = np.diff(pair_start)
    if sizes.max(initial=0) <= LARGE_ENVIRONMENT:
        return None, None
    # One thread walks a chunk and one thread the chunks of an environment: the root balances both.
    length = np.maximum(LEAST_CHUNK, np.ceil(np.sqrt(sizes)).astype(np.int64))
    counts = -(-sizes // length)
    start = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(start[-1]) - np.repeat(start[:-1], counts)
    pair = np.repeat(pair_start[:-1], counts) + within * np.repeat(length, counts)
    return start.astype(np.int32), np.append(pair, pair_start[-1]).astype(np.int32)


def _check_pairs(
    wanted: npt.NDArray[np.int32],
    body: npt.NDArray[np.int32],
    environment: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    """Return the environment of each pair, or raise PairError for the first bad one."""
    if wanted.size and (wanted.min() < 0 or wanted.max() >= len(body)):
        raise PairError(f"pairs name shapes outside of 0..{len(body) - 1}")
    first, second = environment[wanted[:, 0]], environment[wanted[:, 1]]
    home = np.maximum(first, second)
    faults = (
        ((first >= 0) & (second >= 0) & (first != second), "couples two environments"),
        (home < 0, "joins two shared static shapes"),
        (
            (body[wanted[:, 0]] == body[wanted[:, 1]]) | (wanted[:, 0] == wanted[:, 1]),
            "joins two shapes of one body (or two static ones)",
        ),
    )
    for bad, what in faults:
        if bad.any():
            index = int(np.argmax(bad))
            raise PairError(f"pair {index} {wanted[index].tolist()} {what}")
    if (np.diff(home) < 0).any():
        raise PairError("pairs must be sorted by environment")
    return home


def _items(
    wanted: npt.NDArray[np.int32],
    kind: npt.NDArray[np.int32],
    environment: npt.NDArray[np.int32],
    home: npt.NDArray[np.int32],
    radius: npt.NDArray[np.floating],
) -> npt.NDArray[np.int32]:
    """Choose the frame shape of each pair and the rows of its two local poses.

    The plane, else the higher type, else the larger shape, else shape 0 gives the frame.
    """
    rank = kind.copy()
    rank[kind == ShapeType.PLANE] = max(ShapeType) + 1
    rank0, rank1 = rank[wanted[:, 0]], rank[wanted[:, 1]]
    larger = radius[wanted[:, 1]] > radius[wanted[:, 0]]
    swap = (rank1 > rank0) | ((rank1 == rank0) & larger)
    ordered = np.where(swap[:, None], wanted[:, ::-1], wanted)
    shared = np.flatnonzero(environment < 0)
    row = np.zeros(len(kind), dtype=np.int64)
    row[shared] = np.arange(len(shared))
    copies = len(kind) + home[:, None].astype(np.int64) * len(shared) + row[ordered]
    rows = np.where(environment[ordered] < 0, copies, ordered)
    return np.concatenate([ordered, rows], axis=1).astype(np.int32)


def put_layout(layout: PairLayout, put: Any) -> dict[str, Any]:
    """Device arrays of a layout by their names in :class:`~tensorphys_contact.Model`."""
    return {
        "pair_start": put(layout.pair_start, wp.int32),
        "pair_shape0": put(layout.shapes[:, 0], wp.int32),
        "pair_shape1": put(layout.shapes[:, 1], wp.int32),
        "pair_environment": put(layout.environment, wp.int32),
        "pair_key": put(layout.key, wp.int32),
        "pair_item": put(layout.item, wp.vec4i),
        "spare": layout.spare,
        "pair_family": put(layout.family, wp.uint8),
        "slot_start": put(layout.slot_start, wp.int32),
        "family_pairs": {k: put(v, wp.int32) for k, v in layout.family_pairs.items()},
        "unsupported_pairs": layout.unsupported,
        "environment_capacity": layout.environment_capacity,
        "chunk_start": None if layout.chunk_start is None else put(layout.chunk_start, wp.int32),
        "chunk_pair": None if layout.chunk_pair is None else put(layout.chunk_pair, wp.int32),
    }
