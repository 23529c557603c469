"""What environments with equal joints share: where rows stand, the order of elimination and the pattern of the factor."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from tensorphys_dynamics.topology import ArticulationType


@dataclass
class Block:
    """Rows that are made together.

    Attributes:
        kind: Code of the kind, see `_kernels.joint_arrays`.
        item: Row in the parameters of the kind, counted within the environment.
        rows: Kind and axis of each row.
        ends: Link (within the environment, −1 for the world) of each end.
        positions, gearings: Attachment and factor of each end of a tendon.
        terms: (velocity index, degree of freedom, factor of the length, factor of the force) of the articulation.
        segments: Velocities that rows are not zero at, by articulation of the environment.
        end_articulations: Articulation of each end, −1 for the world.
        offsets: First entry of each articulation in a row.
    """

    kind: int
    item: int
    rows: list[tuple[int, int]]
    ends: list[int] = field(default_factory=list)
    positions: list[tuple[float, float, float]] = field(default_factory=list)
    gearings: list[float] = field(default_factory=list)
    terms: list[tuple[int, int, float, float]] = field(default_factory=list)
    segments: dict[int, set[int]] = field(default_factory=dict)
    end_articulations: list[int] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)


@dataclass
class Structure:
    """Blocks in the order of their elimination.

    Attributes:
        blocks: Blocks.
        below: For each block, the later blocks that its elimination reaches, ascending.
        pairs: (block, block that is not earlier, segment of the first, segment of the second) with a common product.
        row_start: First row of each block, one more at the end.
        y_start: First entry of each block in the rows Y, one more at the end.
        widths: Length of a row Y of each block.
    """

    blocks: list[Block]
    below: list[list[int]]
    pairs: list[tuple[int, int, int, int]]
    row_start: list[int]
    y_start: list[int]
    widths: list[int]

    @property
    def value_count(self) -> int:
        """Entries of the factor below its diagonal."""
        return sum(len(column) for column in self.columns())

    def columns(self) -> list[list[int]]:
        """Rows below the diagonal of each column, ascending."""
        result = []
        for block, below in enumerate(self.below):
            first, last = self.row_start[block], self.row_start[block + 1]
            reached = [row for b in below for row in range(self.row_start[b], self.row_start[b + 1])]
            result += [[*range(row + 1, last), *reached] for row in range(first, last)]
        return result


def make_structure(blocks: list[Block], types: list[ArticulationType]) -> Structure:
    """Order blocks and find the pattern of their factor.

    Blocks couple where they act on a common velocity. The next block is always one of those with the fewest coupled
    rows [minimum degree, George & Liu 1989]; chains and trees of joints get no fill by it.

    Args:
        blocks: Blocks of one environment.
        types: Topology of each articulation of the environment.
    """
    coupled = _couplings(blocks)
    order, reached = _eliminate(coupled, [len(b.rows) for b in blocks])
    place = {block: k for k, block in enumerate(order)}
    ordered = [blocks[k] for k in order]
    below = [sorted(place[b] for b in reached[k]) for k in order]
    widths = [sum(types[a].velocity_count for a in block.segments) for block in ordered]
    rows = np.array([len(b.rows) for b in ordered], np.int64)
    row_start = [0, *np.cumsum(rows).tolist()]
    y_start = [0, *np.cumsum(rows * np.array(widths, np.int64)).tolist()]
    pairs = []
    for k, block in enumerate(ordered):
        for other in (k, *sorted(place[b] for b in coupled[order[k]] if place[b] > k)):
            for segment0, (articulation, support) in enumerate(block.segments.items()):
                match = list(ordered[other].segments)
                if articulation in match and support & ordered[other].segments[articulation]:
                    pairs.append((k, other, segment0, match.index(articulation)))
    return Structure(ordered, below, pairs, row_start, y_start, widths)


def _couplings(blocks: list[Block]) -> list[set[int]]:
    """For each block, the others that act on a common velocity."""
    users: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k, block in enumerate(blocks):
        for articulation, support in block.segments.items():
            for velocity in support:
                users[articulation, velocity].append(k)
    coupled: list[set[int]] = [set() for _ in blocks]
    for group in {tuple(g) for g in users.values()}:
        for k in group:
            coupled[k].update(group)
    for k, others in enumerate(coupled):
        others.discard(k)
    return coupled


def _eliminate(coupled: list[set[int]], sizes: list[int]) -> tuple[list[int], list[set[int]]]:
    """Order of elimination, and for each block the blocks after it that it reaches."""
    graph = [set(others) for others in coupled]
    degree = [sum(sizes[b] for b in others) for others in graph]
    left = set(range(len(graph)))
    buckets: dict[int, set[int]] = defaultdict(set)
    for k, d in enumerate(degree):
        buckets[d].add(k)
    order: list[int] = []
    reached: list[set[int]] = [set() for _ in graph]
    while left:
        smallest = min(d for d, members in buckets.items() if members)
        block = min(buckets[smallest])
        buckets[smallest].discard(block)
        if not buckets[smallest]:
            del buckets[smallest]
        left.discard(block)
        order.append(block)
        reached[block] = set(graph[block])
        for other in graph[block]:
            buckets[degree[other]].discard(other)
            graph[other].discard(block)
            graph[other] |= graph[block]
            graph[other].discard(other)
            degree[other] = sum(sizes[b] for b in graph[other])
            buckets[degree[other]].add(other)
        graph[block] = set()
    return order, reached
