"""From prim path patterns to the rows of views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tensorphys.catalog import Catalog, spread
from tensorphys.core import Core
from tensorphys.matching import NotSuitableError, match_prims, shorten
from tensorphys.rows import IntArray, Layout
from tensorphys_engine import Role
from tensorphys_patterns import Matches

__all__ = ["Selected", "articulation_layout", "rigid_body_layout", "select"]

OnNoMatch = Literal["raise", "empty"]
_AUTHORED = int(Role.ARTICULATION | Role.LINK | Role.ROOT_LINK | Role.JOINT)


@dataclass(frozen=True)
class Selected:
    """Objects that patterns select, in order, repeated ones included.

    Attributes:
        paths: Path that was matched.
        objects: Articulation or link.
        role: Bits of :class:`tensorphys_engine.Role` of the matched prim.
    """

    paths: list[str]
    objects: IntArray
    role: IntArray


def select(
    core: Core,
    patterns: str | Sequence[str],
    kind: Literal["articulation", "rigid body"],
    on_no_match: OnNoMatch,
) -> Selected | None:
    """Objects of one kind at the prims that patterns match.

    Args:
        core: What all views share.
        patterns: One pattern or a list.
        kind: What is selected.
        on_no_match: Whether a pattern without hits, or patterns without a suitable hit, are errors.

    Returns:
        The objects; ``None`` if there are none and that is no error.

    Raises:
        PatternError: A text is no pattern.
        NoMatchError: A pattern matches nothing.
        NotSuitableError: No matched prim is suitable.
    """
    tree = core.catalog.directory.tree
    skip: Literal["raise", "skip"] = "raise" if on_no_match == "raise" else "skip"
    matches = match_prims(patterns, tree, skip)
    found = _articulations(core, matches) if kind == "articulation" else _rigid_bodies(core, matches)
    suitable = found.objects >= 0
    rejected = [path for path, good in zip(found.paths, suitable.tolist(), strict=True) if not good]
    if suitable.any():
        if rejected:
            text = "pattern %r: %d matched prims are no %s: %s"
            core.warn(text, patterns, len(rejected), kind, shorten(rejected))
            kept = [path for path, good in zip(found.paths, suitable.tolist(), strict=True) if good]
            return Selected(kept, found.objects[suitable], found.role[suitable])
        return found
    article = "an articulation, its link or its joint" if kind == "articulation" else "a rigid body"
    error = NotSuitableError(repr(patterns), article, rejected, _hint(core, matches, kind))
    if on_no_match == "raise":
        raise error
    core.warn("%s", error)
    return None


def _articulations(core: Core, matches: Matches) -> Selected:
    columns = core.catalog.directory.entities(_nodes(matches))
    objects = np.where((columns.role & _AUTHORED) != 0, columns.articulation, -1)
    return Selected(matches.paths, objects.astype(np.int32), columns.role)


def _rigid_bodies(core: Core, matches: Matches) -> Selected:
    columns = core.catalog.directory.entities(_nodes(matches))
    is_root_prim = (columns.link < 0) & ((columns.role & int(Role.ARTICULATION)) != 0)
    objects = columns.link.copy()
    objects[is_root_prim] = core.catalog.link_start[columns.articulation[is_root_prim]]
    return Selected(matches.paths, objects.astype(np.int32), columns.role)


def _nodes(matches: Matches) -> npt.NDArray[np.int64]:
    return np.asarray(matches.nodes, dtype=np.int64)


def _hint(core: Core, matches: Matches, kind: str) -> str:
    """Where suitable prims stand below the first match."""
    if not matches.nodes:
        return ""
    directory = core.catalog.directory
    wanted = int(Role.ARTICULATION) if kind == "articulation" else int(Role.LINK | Role.FREE_BODY)
    pending: list[tuple[str, Any]] = [(matches.paths[0], matches.nodes[0])]
    while pending:
        path, node = pending.pop(0)
        if int(directory.entities([node]).role[0]) & wanted:
            return f"; the nearest one below is {path}"
        children = directory.tree.children(node)
        pending += [(f"{path.rstrip('/')}/{name}", child) for name, child in children]
    return f"; there is no {kind} below {matches.paths[0]}"


def _only(values: npt.NDArray[Any], condition: npt.NDArray[np.bool_]) -> IntArray:
    return np.where(condition[:, None], values, -1).astype(np.int32)


def articulation_layout(
    catalog: Catalog, articulations: IntArray, subspaces: npt.NDArray[np.float64]
) -> Layout:
    """Rows of a view of articulations."""
    a = articulations
    floating = catalog.floating[a]
    slots = {
        "root": catalog.link_start[a][:, None],
        "link": spread(catalog.link_start[a], catalog.link_count[a]),
        "dof": spread(catalog.dof_start[a], catalog.dof_count[a]),
        "dof_velocity": spread(catalog.velocity_start[a] + 6 * floating, catalog.dof_count[a]),
        "root_pose": a[:, None],
        "shape": catalog.shapes(catalog.link_start[a], catalog.link_count[a]),
        "fixed_tendon": catalog.tendons("fixed", a),
        "spatial_tendon": catalog.tendons("spatial", a),
    }
    slots["generalized"] = slots["dof_velocity"]
    if floating.any():
        root = catalog.velocity_start[a][:, None] + np.arange(6, dtype=np.int32)
        slots["root_velocity"] = _only(root, floating)
        slots["generalized"] = np.concatenate((slots["root_velocity"], slots["dof_velocity"]), axis=1)
    return Layout(
        objects=a,
        articulations=a,
        slots=slots,
        origins=catalog.scene.environments.origin[catalog.articulation_environment[a]],
        subspaces=subspaces,
    )


def rigid_body_layout(catalog: Catalog, selected: Selected, subspaces: npt.NDArray[np.float64]) -> Layout:
    """Rows of a view of rigid bodies. Only root links and free bodies have a pose and velocity of their own."""
    links = selected.objects
    a = catalog.link_articulation[links]
    is_root = catalog.link_start[a] == links
    floating = catalog.floating[a]
    kinematic = (selected.role & int(Role.KINEMATIC)) != 0
    slots = {
        "link": links[:, None],
        "root_pose": _only(a[:, None], is_root),
        "shape": catalog.shapes(links, np.ones_like(links)),
    }
    if (is_root & floating).any():
        root = catalog.velocity_start[a][:, None] + np.arange(6, dtype=np.int32)
        slots["root_velocity"] = _only(root, is_root & floating)
    if kinematic.any():
        slots["root_prescribed"] = _only(a[:, None], kinematic)
    return Layout(
        objects=links,
        articulations=a,
        slots=slots,
        origins=catalog.scene.environments.origin[catalog.articulation_environment[a]],
        subspaces=subspaces,
    )
