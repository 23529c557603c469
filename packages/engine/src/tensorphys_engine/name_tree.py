"""The prims of all environments as one tree, without an object for each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorphys_engine.errors import BuildError, PathError
from tensorphys_engine.layout import IntArray
from tensorphys_engine.names import PrimNames

ROOT = "/"


@dataclass(frozen=True)
class PrimPlaces:
    """Where prims stand.

    Attributes:
        environment: Environment, −1 for shared prims and prims above the environments, shape [count].
        template: Template of that environment, −1 likewise, shape [count].
        prim: Number in the names of that template, or in the shared names where ``environment`` is −1;
            −1 for a prim that belongs to neither, shape [count].
    """

    environment: IntArray
    template: IntArray
    prim: IntArray


class SceneTree:
    """Name tree over shared prims and the prims of all environments; satisfies the protocol of the patterns.

    A node is an integer. Prims of environment e have the numbers ``start[e] + prim``; what lies above or
    beside the environments has its own numbers behind them. Only the latter exist as objects, so that
    the cost does not grow with environments times prims.

    Args:
        templates: Names of each template.
        shared: Names of the shared prims; absolute paths.
        environment_path: Root prim path of each environment; "" for the root of the stage.
        environment_template: Template of each environment.
    """

    def __init__(
        self,
        templates: Sequence[PrimNames],
        shared: PrimNames,
        environment_path: Sequence[str],
        environment_template: IntArray,
    ) -> None:
        self._templates = templates
        self._shared = shared
        self._environment_path = environment_path
        self._environment_template = environment_template
        counts = np.array([names.count for names in templates], np.int64)[environment_template]
        self.start: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(counts)))
        self._start: list[int] = self.start.tolist()
        self._total = int(self.start[-1])
        # Explicit nodes: those above, beside and between environments.
        self._explicit: dict[str, int] = {}
        self._paths: list[str] = []
        self._children: list[list[tuple[str, int]]] = []
        self._prim: list[int] = []  # node of an environment's prim at the same path, or −1
        self._shared_prim: list[int] = []
        self._leaf: dict[str, int] = {}
        self._add(ROOT)
        for prim, path in enumerate(shared.paths):
            self._shared_prim[self._add(path or ROOT) - self._total] = prim
        for environment, path in enumerate(environment_path):
            self._add_environment(environment, path)

    @property
    def root(self) -> int:
        """Node of the path ``/``."""
        return self._total

    def children(self, node: int, /) -> Sequence[tuple[str, int]]:
        """Name and node of each child, in authored order."""
        if node >= self._total:
            return self._children[node - self._total]
        environment = bisect_right(self._start, node) - 1
        first = self._start[environment]
        names = self._templates[int(self._environment_template[environment])]
        return [(name, first + prim) for name, prim in names.children[node - first]]

    def find(self, path: str, /) -> int | None:
        """Node at an absolute path without trailing slash, ``None`` when there is none."""
        node = self._explicit.get(path)
        if node is not None:
            return node
        end = len(path)
        while end > 0:
            environment = self._leaf.get(path[:end])
            if environment is not None:
                names = self._templates[int(self._environment_template[environment])]
                prim = names.index.get(path[end:])
                return None if prim is None else self._start[environment] + prim
            end = path.rfind("/", 0, end)
        return None

    def node(self, path: str) -> int:
        """Node at a path; a trailing slash is ignored.

        Raises:
            PathError: If there is none.
        """
        node = self.find(path.rstrip("/") or ROOT)
        if node is None:
            raise PathError(f"no prim {path!r} in the simulation")
        return node

    def path(self, node: int) -> str:
        """Absolute path of a node."""
        if node >= self._total:
            return self._paths[node - self._total]
        environment = bisect_right(self._start, node) - 1
        names = self._templates[int(self._environment_template[environment])]
        return self._environment_path[environment] + names.paths[node - self._start[environment]]

    def places(self, nodes: Sequence[int] | npt.NDArray[np.int64]) -> PrimPlaces:
        """Where nodes stand, for many at once."""
        node = np.array(nodes, dtype=np.int64).reshape(-1)
        above = np.flatnonzero(node >= self._total)
        shared = np.full(len(node), -1, np.int64)
        if above.size:
            explicit = node[above] - self._total
            node[above] = np.asarray(self._prim)[explicit]
            shared[above] = np.asarray(self._shared_prim)[explicit]
        environment = np.searchsorted(self.start, node, side="right") - 1
        inside = node >= 0
        prim = np.where(inside, node - self.start[np.maximum(environment, 0)], shared)
        template = np.full(len(node), -1, np.int32)
        template[inside] = self._environment_template[environment[inside]]
        return PrimPlaces(np.where(inside, environment, -1).astype(np.int32), template, prim.astype(np.int32))

    def _add(self, path: str) -> int:
        """Explicit node of a path; an environment in its way becomes explicit as well."""
        known = self._explicit.get(path)
        if known is not None:
            return known
        environment = self._leaf.get(path)
        if environment is not None:
            self._make_explicit(environment)
            return self._explicit[path]
        parent = -1 if path == ROOT else self._add(path.rpartition("/")[0] or ROOT)
        # Adding the parent may have made this path explicit.
        return self._explicit[path] if path in self._explicit else self._append(path, parent)

    def _append(self, path: str, parent: int) -> int:
        node = self._total + len(self._paths)
        self._explicit[path] = node
        self._paths.append(path)
        self._children.append([])
        self._prim.append(-1)
        self._shared_prim.append(-1)
        if parent >= 0:
            self._children[parent - self._total].append((path.rpartition("/")[2], node))
        return node

    def _add_environment(self, environment: int, path: str) -> None:
        # The parent first: it may lie in another environment, which then becomes explicit.
        parent = self._add(path.rpartition("/")[0] or ROOT)
        known = self._explicit.get(path)
        if path in self._leaf or (known is not None and self._prim[known - self._total] >= 0):
            raise BuildError(f"environments overlap at {path or ROOT}")
        if path == "" or known is not None:
            self._make_explicit(environment)
            return
        self._leaf[path] = environment
        self._children[parent - self._total].append((path.rpartition("/")[2], self._start[environment]))

    def _make_explicit(self, environment: int) -> None:
        """Give every prim of an environment an explicit node, so that others can lie beside them."""
        root = self._environment_path[environment]
        if self._leaf.pop(root, None) is not None:
            parent = self._explicit[root.rpartition("/")[0] or ROOT]
            siblings = self._children[parent - self._total]
            place = siblings.index((root.rpartition("/")[2], self._start[environment]))
            node = self._append(root, -1)
            siblings[place] = (siblings[place][0], node)
        names = self._templates[int(self._environment_template[environment])]
        for prim, path in enumerate(names.paths):
            node = self._add((root + path) or ROOT)
            self._prim[node - self._total] = self._start[environment] + prim
