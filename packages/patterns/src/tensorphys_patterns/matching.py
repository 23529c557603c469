"""Patterns against a tree."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, overload

from .errors import NoMatchError
from .pattern import Pattern, Segment, compile_pattern, is_plain
from .tree import FindableTree, NameTree

__all__ = ["Match", "Matches", "explain_no_match", "match", "match_all", "resolve"]

_LOGGER = logging.getLogger(__name__)
# An explanation looks at this many parents and shows this many names.
_EXPLAINED_PARENTS = 64
_SHOWN_NAMES = 6


class Match(NamedTuple):
    """One hit: the path and the tree's own node."""

    path: str
    node: Any


class Matches(Sequence[Match]):
    """Hits in order, kept as two columns: an object for each hit would triple the time of a large match.

    Equal to any list of the same hits.

    Attributes:
        paths: Path of each hit.
        nodes: The tree's own node of each hit.
    """

    __slots__ = ("nodes", "paths")

    def __init__(self, paths: Iterable[str] = (), nodes: Iterable[Any] = ()) -> None:
        self.paths = list(paths)
        self.nodes = list(nodes)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, index: int, /) -> Match: ...
    @overload
    def __getitem__(self, index: slice, /) -> Matches: ...
    def __getitem__(self, index: int | slice, /) -> Match | Matches:
        if isinstance(index, slice):
            return Matches(self.paths[index], self.nodes[index])
        return Match(self.paths[index], self.nodes[index])

    def __iter__(self) -> Iterator[Match]:
        return map(Match, self.paths, self.nodes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Matches):
            return self.paths == other.paths and self.nodes == other.nodes
        return list(self) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Matches({list(self)!r})"


class _Walk:
    """Matching in one tree; remembers the children by name while a list of plain paths is resolved."""

    def __init__(self, tree: NameTree[Any]) -> None:
        self._tree = tree
        self._find = tree.find if isinstance(tree, FindableTree) else None
        self._index: dict[str, dict[str, list[Any]]] = {}

    def match(self, pattern: str | Pattern) -> Matches:
        if self._find is not None and isinstance(pattern, str) and is_plain(pattern):
            # Thousands of plain paths in one call are common: no compilation for those that exist.
            node = self._find(pattern)
            if node is not None:
                return Matches([pattern], [node])
        pattern = _compiled(pattern)
        if not pattern.literal:
            return self.levels(pattern.segments)[-1]
        if pattern.path == "/":
            return Matches(["/"], [self._tree.root])
        if self._find is not None:
            node = self._find(pattern.path)
            return Matches() if node is None else Matches([pattern.path], [node])
        return self._match_literal(pattern)

    def _match_literal(self, pattern: Pattern) -> Matches:
        parent_path, _, name = pattern.path.rpartition("/")
        index = self._index.get(parent_path)
        if index is None:
            index = self._index[parent_path] = {}
            for parent in self.levels(pattern.segments[:-1])[-1].nodes:
                for child_name, child in self._tree.children(parent):
                    index.setdefault(child_name, []).append(child)
        found = index.get(name, [])
        return Matches([pattern.path] * len(found), found)

    def levels(self, segments: Sequence[Segment]) -> list[Matches]:
        """Hits of each leading part of the segments, the root first, up to the first empty level."""
        children = self._tree.children
        level = Matches(["/"], [self._tree.root])
        levels = [level]
        for segment in segments:
            accept = segment.accept
            found = Matches()
            paths, nodes = found.paths, found.nodes
            for path, node in zip(level.paths, level.nodes, strict=True):
                prefix = path + "/" if len(path) > 1 else "/"
                entries = children(node)
                if accept is not None:
                    entries = [entry for entry in entries if accept(entry[0])]
                paths += [prefix + name for name, _ in entries]
                nodes += [child for _, child in entries]
            level = found
            levels.append(level)
            if not found:
                break
        return levels

    def explain(self, pattern: Pattern) -> NoMatchError:
        levels = [level for level in self.levels(pattern.segments) if level]
        parents = levels[-1]
        depth = min(len(levels) - 1, len(pattern.segments) - 1)
        segment = pattern.segments[depth].text
        names: dict[str, None] = {}
        for node in parents.nodes[:_EXPLAINED_PARENTS]:
            names.update((name, None) for name, _ in self._tree.children(node))
        near = difflib.get_close_matches(segment, names, n=_SHOWN_NAMES, cutoff=0.4)
        near += [name for name in names if name not in near][: _SHOWN_NAMES - len(near)]
        return NoMatchError(
            pattern.text,
            nearest_parent=parents.paths[0],
            segment=segment,
            near_names=near,
            hint=pattern.hint,
        )


def _compiled(pattern: str | Pattern) -> Pattern:
    return pattern if isinstance(pattern, Pattern) else compile_pattern(pattern)


def match(pattern: str | Pattern, tree: NameTree[Any]) -> Matches:
    """All hits of one pattern.

    A hit lies as many levels below the root as the pattern has segments. Hits are grouped by parent,
    parents and children in authored order; names are not sorted.

    Args:
        pattern: Pattern, as text or compiled.
        tree: Tree to search; its ``find``, if it has one, answers plain paths.

    Returns:
        The hits, possibly none.

    Raises:
        PatternError: The text is no pattern.
    """
    return _Walk(tree).match(pattern)


def match_all(patterns: Sequence[str | Pattern], tree: NameTree[Any]) -> list[Matches]:
    """Hits of several patterns, one list for each, in their order.

    Args:
        patterns: Patterns, as text or compiled.
        tree: Tree to search.

    Returns:
        One list of hits for each pattern; a node that several patterns match appears in each.

    Raises:
        PatternError: A text is no pattern.
    """
    walk = _Walk(tree)
    return [walk.match(pattern) for pattern in patterns]


def explain_no_match(pattern: str | Pattern, tree: NameTree[Any]) -> NoMatchError:
    """The error for a pattern that matches nothing useful, with the nearest parent and near names.

    Args:
        pattern: Pattern, as text or compiled.
        tree: The tree that was searched.

    Returns:
        The error, not raised.
    """
    compiled = _compiled(pattern)
    if not compiled.segments:
        return NoMatchError(compiled.text, nearest_parent="/", segment="/", near_names=())
    return _Walk(tree).explain(compiled)


def resolve(
    patterns: str | Pattern | Sequence[str | Pattern],
    tree: NameTree[Any],
    *,
    on_no_match: Literal["raise", "skip"] = "raise",
) -> Matches:
    """Hits of one pattern or of a list, concatenated in list order.

    Nothing is removed: overlapping patterns give repeated hits.

    Args:
        patterns: One pattern or a list.
        tree: Tree to search.
        on_no_match: ``"raise"``, or ``"skip"`` to log a pattern without hits as an error and go on.

    Returns:
        The hits.

    Raises:
        PatternError: A text is no pattern.
        NoMatchError: A pattern matches nothing and ``on_no_match`` is ``"raise"``.
    """
    items = [patterns] if isinstance(patterns, (str, Pattern)) else list(patterns)
    walk = _Walk(tree)
    hits = Matches()
    for pattern in items:
        found = walk.match(pattern)
        if not found:
            error = explain_no_match(pattern, tree)
            if on_no_match == "raise":
                raise error
            _LOGGER.error("%s", error)
        hits.paths += found.paths
        hits.nodes += found.nodes
    return hits
