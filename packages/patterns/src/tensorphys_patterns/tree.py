"""The trees that patterns are matched against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

__all__ = ["FindableTree", "NameTree", "PathTree"]

NodeT = TypeVar("NodeT")
NodeT_co = TypeVar("NodeT_co", covariant=True)


@runtime_checkable
class NameTree(Protocol[NodeT]):
    """Any tree whose nodes have named children, for instance the prims of a stage.

    A node may be any object. Names contain no ``/``; the root has no name and the path ``/``.
    """

    @property
    def root(self) -> NodeT:
        """Node of the path ``/``."""

    def children(self, node: NodeT, /) -> Sequence[tuple[str, NodeT]]:
        """Name and node of each child, in authored order."""


@runtime_checkable
class FindableTree(Protocol[NodeT_co]):
    """Optional ability of a tree: the node of a whole path, without a walk.

    It is asked for paths without pattern characters only. Names of siblings must be unique.
    """

    def find(self, path: str, /) -> NodeT_co | None:
        """Node at an absolute path without trailing slash, ``None`` when there is none."""


class PathTree:
    """Tree spanned by a list of absolute paths; a node is its own path.

    Parents that are not listed exist too. Siblings keep the order of first mention.

    Args:
        paths: Absolute paths such as ``/World/envs/env_0``.

    Raises:
        ValueError: A path is not absolute or has an empty segment.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        children: dict[str, list[tuple[str, str]]] = {"/": []}
        for path in paths:
            missing = []
            while path not in children:
                parent, slash, name = path.rpartition("/")
                if not slash or not name:
                    raise ValueError(f"not an absolute path with plain segments: {path!r}")
                parent = parent or "/"
                missing.append((parent, name, path))
                path = parent
            for parent, name, child in reversed(missing):
                children[parent].append((name, child))
                children[child] = []
        self._children = children

    @property
    def root(self) -> str:
        """The path ``/``."""
        return "/"

    def children(self, node: str, /) -> Sequence[tuple[str, str]]:
        """Name and path of each child, in the order of first mention."""
        return self._children[node]

    def find(self, path: str, /) -> str | None:
        """The path itself when it is in the tree."""
        return path if path in self._children else None
