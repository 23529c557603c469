"""Which pairs of shapes may touch."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from tensorphys_contact import ShapeType, candidate_pairs, pair_is_supported
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


def _supported_table() -> npt.NDArray[np.bool_]:
    table = np.zeros((len(_TYPES), len(_TYPES)), dtype=bool)
    for a, b in combinations_with_replacement(_TYPES, 2):
        table[int(a), int(b)] = table[int(b), int(a)] = pair_is_supported(a, b)
    return table


def shape_pairs(numbering: Numbering, findings: Findings) -> IntArray:
    """Pairs of flat shapes that the contact pipeline looks at, sorted by environment.

    Left out are pairs on one link, pairs of which neither side can move, disabled shapes, filtered pairs,
    a link and its parent (links that fixed joints weld together counting as one), links of an articulation
    without self-collision, and pairs of types that have no narrow phase, which become findings.

    Args:
        numbering: Flat numbers.
        findings: Takes the pairs without a narrow phase.

    Returns:
        Pairs, lower index first, shape [pairs, 2].
    """
    templates = [_template_pairs(numbering, t, findings) for t in range(len(numbering.plans))]
    layout = Layout(numbering.scene.environments.template, [len(pairs) for pairs in templates])
    own = numbering.shapes
    blocks = []
    for t, pairs in enumerate(templates):
        is_shared = pairs >= own.counts[t]
        shared = pairs - own.counts[t] + own.total
        blocks.append(np.where(is_shared, shared, pairs + own.first(t)[:, :, None]))
    return layout.fill(blocks, np.int32, (2,))


def _template_pairs(numbering: Numbering, template: int, findings: Findings) -> npt.NDArray[np.int64]:
    """Pairs of one environment, in local numbers; shared shapes follow the own ones."""
    plan, tables = numbering.plans[template], numbering.scene.templates[template]
    users = numbering.shapes.members(template)
    own = len(plan.shape_row)
    if not users.size or not own:
        return np.zeros((0, 2), np.int64)
    shared = numbering.scene.shared.shapes
    shared_rows = numbering.shared_shape_row
    prefix = numbering.scene.environments.path[int(users[0])]
    if own * (own - 1) // 2 + own * len(shared_rows) > _MOST_PAIRS:
        raise UnsupportedError(
            f"environment {prefix or '/'} has {own} shapes; every pair of them is looked at in each step, "
            f"and more than {_MOST_PAIRS} pairs are not supported"
        )
    none = np.full(len(shared_rows), -1, np.int32)
    link = np.concatenate((plan.shape_link, none))
    pairs = candidate_pairs(
        link,
        np.concatenate((np.zeros(own, np.int32), none)),
        filtered_pairs=_local_filters(tables.filtered_pairs, plan.shape_row, tables.shapes.count),
    ).astype(np.int64)
    enabled = np.concatenate((tables.shapes.enabled[plan.shape_row], shared.enabled[shared_rows]))
    keep = enabled[pairs].all(axis=1) & _may_touch(numbering, template, link[pairs])
    keep &= ~_joined(tables, plan, np.concatenate((tables.shapes.body[plan.shape_row], none))[pairs])
    pairs = pairs[keep]
    kind = contact_types(np.concatenate((tables.shapes.type[plan.shape_row], shared.type[shared_rows])))
    supported = _supported_table()[kind[pairs[:, 0]], kind[pairs[:, 1]]]
    paths = [prefix + tables.shapes.path[row] for row in plan.shape_row]
    paths += [shared.path[row] for row in shared_rows]
    _note_missing(pairs[~supported], kind, paths, findings)
    return pairs[supported]


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
