"""Which pairs of shapes may touch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from tensorphys_contact import PairSearch, ShapeType, candidate_pairs, pair_is_supported
from tensorphys_contact.pair_search import MOST_SHAPES
from tensorphys_engine.errors import UnsupportedError
from tensorphys_engine.findings import Findings
from tensorphys_engine.hulls import contact_types
from tensorphys_engine.layout import Array, IntArray, Layout
from tensorphys_engine.loose_joints import joined_bodies
from tensorphys_engine.numbering import Numbering
from tensorphys_engine.template_plan import TemplatePlan
from tensorphys_scene import Template

_TYPES = tuple(ShapeType)
# Pairs of one environment; without spatial sorting more would take minutes and all memory.
_MOST_PAIRS = 2**24
# Own shapes from which on an environment is large: bodies have margins of their own, and where it is the only
# environment, near pairs are searched in each step.
LARGE = 256
# Near pairs that a search has room for at first, for each shape.
_PAIRS_PER_SHAPE = 16


def large_environments(numbering: Numbering) -> npt.NDArray[np.bool_]:
    """Whether each environment is large, shape [environments]."""
    counts = np.array([len(plan.shape_row) for plan in numbering.plans])
    return np.asarray(counts[numbering.scene.environments.template] >= LARGE)


def _supported_table() -> npt.NDArray[np.bool_]:
    table = np.zeros((len(_TYPES), len(_TYPES)), dtype=bool)
    for a, b in combinations_with_replacement(_TYPES, 2):
        table[int(a), int(b)] = table[int(b), int(a)] = pair_is_supported(a, b)
    return table


def shape_pairs(numbering: Numbering, findings: Findings) -> IntArray | PairSearch:
    """Pairs of flat shapes that the contact pipeline looks at, sorted by environment; of one large world, a search.

    Left out are pairs on one link, pairs of which neither side can move, disabled shapes, filtered pairs,
    a link and its parent (links that fixed joints weld together counting as one), links of an articulation
    without self-collision, and pairs of types that have no narrow phase, which become findings.

    Args:
        numbering: Flat numbers.
        findings: Takes the pairs without a narrow phase.

    Returns:
        Pairs, lower index first, shape [pairs, 2], or what a search for near pairs needs to know.
    """
    if numbering.environment_count == 1 and large_environments(numbering).all():
        return _search(numbering, int(numbering.scene.environments.template[0]), findings)
    templates = [_template_pairs(numbering, t, findings) for t in range(len(numbering.plans))]
    layout = Layout(numbering.scene.environments.template, [len(pairs) for pairs in templates])
    own = numbering.shapes
    blocks = []
    for t, pairs in enumerate(templates):
        is_shared = pairs >= own.counts[t]
        shared = pairs - own.counts[t] + own.total
        blocks.append(np.where(is_shared, shared, pairs + own.first(t)[:, :, None]))
    return layout.fill(blocks, np.int32, (2,))


@dataclass(frozen=True)
class _World:
    """Own and shared shapes of one environment in local numbers; shared ones follow the own."""

    numbering: Numbering
    template: int

    @cached_property
    def plan(self) -> TemplatePlan:
        return self.numbering.plans[self.template]

    @cached_property
    def tables(self) -> Template:
        return self.numbering.scene.templates[self.template]

    def _joint(self, own: Array, shared: Array) -> Array:
        return np.concatenate((own, shared))

    @cached_property
    def shared_rows(self) -> Array:
        return np.asarray(self.numbering.shared_shape_row)

    @cached_property
    def link(self) -> Array:
        """Link of each shape, −1 static."""
        return self._joint(self.plan.shape_link, np.full(len(self.shared_rows), -1, np.int32))

    @cached_property
    def body(self) -> Array:
        """Row of its body, −1 static."""
        own = self.tables.shapes.body[self.plan.shape_row]
        return self._joint(own, np.full(len(self.shared_rows), -1, np.int32))

    @cached_property
    def enabled(self) -> Array:
        shared = self.numbering.scene.shared.shapes
        return self._joint(self.tables.shapes.enabled[self.plan.shape_row], shared.enabled[self.shared_rows])

    @cached_property
    def kind(self) -> IntArray:
        shared = self.numbering.scene.shared.shapes
        own = self.tables.shapes.type[self.plan.shape_row]
        return contact_types(self._joint(own, shared.type[self.shared_rows]))

    @cached_property
    def paths(self) -> list[str]:
        users = self.numbering.shapes.members(self.template)
        prefix = self.numbering.scene.environments.path[int(users[0])]
        paths = [prefix + self.tables.shapes.path[row] for row in self.plan.shape_row]
        return paths + [self.numbering.scene.shared.shapes.path[row] for row in self.shared_rows]

    @cached_property
    def filters(self) -> npt.NDArray[np.int64]:
        """Filtered pairs."""
        tables = self.tables
        return _local_filters(tables.filtered_pairs, self.plan.shape_row, tables.shapes.count)

    def kept(self, pairs: Array) -> npt.NDArray[np.bool_]:
        """Whether pairs on two bodies that no filter names may touch."""
        keep = self.enabled[pairs].all(axis=1)
        keep &= _may_touch(self.numbering, self.template, self.link[pairs])
        return np.asarray(keep & ~_joined(self.tables, self.plan, self.body[pairs]))


def _template_pairs(numbering: Numbering, template: int, findings: Findings) -> npt.NDArray[np.int64]:
    """Pairs of one environment, in local numbers; shared shapes follow the own ones."""
    world = _World(numbering, template)
    users = numbering.shapes.members(template)
    own, shared = len(world.plan.shape_row), len(world.shared_rows)
    if not users.size or not own:
        return np.zeros((0, 2), np.int64)
    if own * (own - 1) // 2 + own * shared > _MOST_PAIRS:
        prefix = numbering.scene.environments.path[int(users[0])]
        raise UnsupportedError(
            f"environment {prefix or '/'} has {own} shapes; beside other environments every pair of them is "
            f"looked at in each step, and more than {_MOST_PAIRS} pairs are not supported"
        )
    home = np.concatenate((np.zeros(own, np.int32), np.full(shared, -1, np.int32)))
    pairs = candidate_pairs(world.link, home, filtered_pairs=world.filters).astype(np.int64)
    pairs = pairs[world.kept(pairs)]
    supported = _supported_table()[world.kind[pairs[:, 0]], world.kind[pairs[:, 1]]]
    _note_missing(pairs[~supported], world.kind, world.paths, findings)
    return pairs[supported]


def _search(numbering: Numbering, template: int, findings: Findings) -> PairSearch:
    """What a search for the near pairs of the only environment needs to know."""
    world = _World(numbering, template)
    count = len(world.link)
    if count > MOST_SHAPES:
        raise UnsupportedError(
            f"the scene has {count} shapes in one world; more than {MOST_SHAPES} are not supported"
        )
    immovable = np.append(world.plan.link_immovable[_welds(world.plan)], True)[world.link]
    # Types that have no narrow phase with some other: few shapes are of them.
    table = _supported_table()
    lacking = np.flatnonzero(~table[world.kind][:, np.unique(world.kind)].all(axis=1))
    pairs = _pairs_among([lacking])
    pairs = pairs[(world.link[pairs[:, 0]] != world.link[pairs[:, 1]]) & world.kept(pairs)]
    missing = ~table[world.kind[pairs[:, 0]], world.kind[pairs[:, 1]]]
    _note_missing(pairs[missing], world.kind, world.paths, findings)
    # Pairs within an articulation, and on bodies that a joint beside the trees connects, may be kept apart.
    articulation = np.append(world.plan.link_articulation, -1)[world.link]
    groups = [np.flatnonzero(articulation == a) for a in _repeated(articulation[articulation >= 0])]
    joined = joined_bodies(world.tables, world.plan)
    shapes_of = {int(b): np.flatnonzero(world.body == b) for b in np.unique(joined)}
    within = [_pairs_among(groups)]
    for a, b in joined.tolist():
        within.append(
            np.stack(np.meshgrid(shapes_of[a], shapes_of[b], indexing="ij"), axis=-1).reshape(-1, 2)
        )
    apart = np.sort(np.concatenate(within), axis=1)
    apart = apart[world.link[apart[:, 0]] != world.link[apart[:, 1]]]
    apart = apart[~world.kept(apart)]
    return PairSearch(
        capacity=min(_PAIRS_PER_SHAPE * count, max(count * (count - 1) // 2, 1)),
        filtered_pairs=np.concatenate((apart, world.filters)),
        fixed_shapes=np.flatnonzero(immovable),
        idle_shapes=np.flatnonzero(~world.enabled),
    )


def _repeated(values: Array) -> list[int]:
    """Values that occur more than once."""
    found, counts = np.unique(values, return_counts=True)
    return [int(value) for value in found[counts > 1]]


def _pairs_among(groups: list[Array]) -> npt.NDArray[np.int64]:
    """All pairs of two members of one group.

    Raises:
        UnsupportedError: If there are too many to list.
    """
    total = sum(len(members) * (len(members) - 1) // 2 for members in groups)
    if total > _MOST_PAIRS:
        raise UnsupportedError(
            f"{total} pairs of shapes within articulations, or of planes and meshes, are to be looked at; more than "
            f"{_MOST_PAIRS} are not supported"
        )
    blocks = [np.zeros((0, 2), np.int64)]
    for members in groups:
        first, second = np.triu_indices(len(members), k=1)
        blocks.append(np.stack((members[first], members[second]), axis=-1))
    return np.concatenate(blocks)


def _note_missing(pairs: Array, kind: IntArray, paths: list[str], findings: Findings) -> None:
    """One finding for each shape that is the first of pairs without a narrow phase."""
    for first in np.unique(pairs[:, 0]):
        others = pairs[pairs[:, 0] == first, 1]
        names = [_TYPES[int(code)].name.lower().replace("_", " ") for code in np.unique(kind[others])]
        named = paths[others[0]] + (f" and {len(others) - 1} more" if len(others) > 1 else "")
        findings.omit(
            "shapes of which some pairs have no contacts in this version, left out",
            paths[first],
            f"a {_TYPES[int(kind[first])].name.lower().replace('_', ' ')} has no contacts "
            f"with {named} ({', '.join(names)})",
        )


def _local_filters(filtered: IntArray, rows: IntArray, count: int) -> npt.NDArray[np.int64]:
    """Filtered pairs in local numbers; a row that is decomposed has several."""
    places: list[list[int]] = [[] for _ in range(count)]
    for local, row in enumerate(rows.tolist()):
        places[row].append(local)
    pairs = [(a, b) for first, second in filtered.tolist() for a in places[first] for b in places[second]]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _joined(tables: Template, plan: TemplatePlan, bodies: Array) -> npt.NDArray[np.bool_]:
    """Whether a joint outside of trees keeps the bodies of each pair from colliding."""
    rows, count = np.sort(bodies, axis=1), tables.bodies.count
    joined = joined_bodies(tables, plan) @ [count, 1]
    return np.asarray((rows[:, 0] >= 0) & np.isin(rows @ [count, 1], joined))


def _may_touch(numbering: Numbering, template: int, links: Array) -> npt.NDArray[np.bool_]:
    """Whether the links of each pair, −1 static, are neither both immovable nor filtered by their articulation.

    Links that fixed joints weld together count as one: nothing in them can move against each other.
    """
    plan, tables = numbering.plans[template], numbering.scene.templates[template]
    weld = _welds(plan)
    # The value for −1 (static) stands last.
    immovable = np.append(plan.link_immovable[weld], True)
    articulation = np.append(plan.link_articulation, -1)
    body = np.append(weld, -1)
    above = plan.link_parent[weld]
    parent = np.append(np.where(above >= 0, weld[above], -2), -2)
    self_collisions = np.ones(len(plan.articulation_row) + 1, bool)
    self_collisions[: tables.articulations.count] = tables.articulations.self_collisions
    first, second = links[:, 0], links[:, 1]
    joined = (body[first] == body[second]) | (parent[first] == body[second]) | (parent[second] == body[first])
    same = (articulation[first] == articulation[second]) & (first >= 0)
    filtered = joined | (same & ~self_collisions[articulation[first]])
    return np.asarray(~(immovable[first] & immovable[second] | filtered))


def _welds(plan: TemplatePlan) -> IntArray:
    """The link nearest to the root that each link is welded to, itself where its joint can move."""
    moves = np.zeros(len(plan.link_parent), bool)
    moves[plan.dof_link] = True
    weld = np.arange(len(plan.link_parent), dtype=np.int32)
    for link in np.flatnonzero((plan.link_parent >= 0) & ~moves):
        weld[link] = weld[plan.link_parent[link]]  # parents stand before their children
    return weld
