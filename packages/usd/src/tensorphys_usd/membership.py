"""Which prim of a stage belongs to which environment, and where it stands there."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_usd.roots import EnvironmentRoots
from tensorphys_usd.stage import Reading

IntArray = npt.NDArray[np.int64]

OUTSIDE = -1


class Roots:
    """Environments of one pass over a stage: which prim belongs to which.

    Attributes:
        paths: Root paths in stage order; one empty path where the whole stage is one environment.
        origins: Translation of each root in the world, shape [count, 3].
        source: The environment whose rows stand for each one, shape [count].
        numbers: The environment whose masses and sizes stand for each one, shape [count].
    """

    def __init__(self, reading: Reading, found: EnvironmentRoots) -> None:
        self._reading = reading
        self.paths = found.paths
        self.origins = found.origins
        self.source = found.source
        self.numbers = found.numbers
        self._parsed = np.unique(found.source)
        self._starts = [reading.order[self.paths[row]] for row in self._parsed] if self.paths else []

    @property
    def count(self) -> int:
        """Number of environments."""
        return len(self.origins)

    def names(self) -> tuple[str, ...]:
        """Root paths as text, "" for the whole stage."""
        return tuple(str(path) for path in self.paths) if self.paths else ("",)

    def of(self, path: Sdf.Path) -> int:
        """Environment of a prim, −1 outside of all."""
        if not self.paths:
            return 0
        position = self._reading.order.get(path)
        if position is None:
            return OUTSIDE
        index = bisect.bisect_right(self._starts, position) - 1
        environment = int(self._parsed[index]) if index >= 0 else OUTSIDE
        return environment if index >= 0 and path.HasPrefix(self.paths[environment]) else OUTSIDE

    def relative(self, environment: int, path: Sdf.Path) -> str:
        """Path below the environment's root; the whole path for a prim outside of it."""
        text = str(path)
        if environment == OUTSIDE or not self.paths or not path.HasPrefix(self.paths[environment]):
            return text
        return text[len(str(self.paths[environment])) :]

    def prims(self, environment: int) -> tuple[str, ...]:
        """Paths of all prims of an environment, relative, depth-first; the root is ""."""
        if not self.paths:
            return ("", *(str(path) for path in self._reading.paths))
        root, paths = self.paths[environment], self._reading.paths
        start = self._reading.order[root]
        next_root = bisect.bisect_right(self._starts, start)
        end = self._starts[next_root] if next_root < len(self._starts) else len(paths)
        # Prims below the root stand together.
        end = bisect.bisect_left(paths, True, start + 1, end, key=lambda path: not path.HasPrefix(root))
        length = len(str(root))
        return ("", *[str(path)[length:] for path in paths[start + 1 : end]])

    def places(self, paths: Sequence[Sdf.Path], environments: IntArray) -> IntArray:
        """Depth-first positions of prims, counted from the roots of their environments; −1 − position outside of them."""
        order = self._reading.order
        position = np.array([order.get(path, -1) for path in paths], np.int64)
        if not self.paths:
            return position
        start = np.append([order.get(path, -1) for path in self.paths], -1)[environments]
        inside = [
            environment != OUTSIDE and path.HasPrefix(self.paths[environment])
            for path, environment in zip(paths, environments.tolist(), strict=True)
        ]
        return np.where(np.array(inside, bool), position - start, -1 - position)
