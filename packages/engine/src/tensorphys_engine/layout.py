"""Where the rows of templates stand in flat arrays over all environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine.errors import BuildError
from tensorphys_scene import Scene

IntArray = npt.NDArray[np.int32]
Array = npt.NDArray[Any]


class Layout:
    """Flat numbering of one kind of row: environment by environment, in the order of the template.

    Args:
        environment_template: Template of each environment, shape [environment_count].
        counts: Rows that each template has, shape [template_count].

    Attributes:
        start: First row of each environment, one more at the end, int64, shape [environment_count + 1].
        counts: Rows of each template, shape [template_count].
    """

    def __init__(self, environment_template: IntArray, counts: Sequence[int]) -> None:
        self._template = environment_template
        self.counts = np.asarray(counts, dtype=np.int64).reshape(-1)
        self.start = np.concatenate(([0], np.cumsum(self.counts[environment_template])))
        self._members = [np.flatnonzero(environment_template == t) for t in range(len(self.counts))]

    @property
    def total(self) -> int:
        """Number of rows of all environments."""
        return int(self.start[-1])

    @property
    def environment(self) -> IntArray:
        """Environment of each row, shape [total]."""
        return np.repeat(np.arange(len(self._template), dtype=np.int32), np.diff(self.start))

    def members(self, template: int) -> npt.NDArray[np.int64]:
        """Environments of a template, ascending."""
        return self._members[template]

    def first(self, template: int) -> npt.NDArray[np.int64]:
        """First row of each environment of a template, shape [members, 1]."""
        return self.start[self._members[template]][:, None]

    def fill(
        self, parts: Sequence[npt.ArrayLike], dtype: npt.DTypeLike, shape: tuple[int, ...] = ()
    ) -> Array:
        """Make a flat array from one block a template.

        Args:
            parts: Block of each template, shape [1 or members, rows, *shape]; one environment stands for all.
            dtype: Type of the result.
            shape: Shape of one row.

        Returns:
            Values, shape [total, *shape].
        """
        blocks = [
            np.broadcast_to(np.asarray(part), (len(members), int(count), *shape))
            for part, members, count in zip(parts, self._members, self.counts, strict=True)
        ]
        if len(blocks) == 1:
            return np.array(blocks[0], dtype=dtype, order="C").reshape(self.total, *shape)
        result = np.zeros((self.total, *shape), dtype=dtype)
        for template, block in enumerate(blocks):
            rows = self.first(template) + np.arange(self.counts[template])
            result[rows.reshape(-1)] = block.reshape(-1, *shape)
        return result


# Columns that say what others were made from, or that this engine has no use for.
_MAY_DIFFER = frozenset(
    {
        "bodies.principal_rotation",
        "bodies.stabilization_threshold",
        "articulations.stabilization_threshold",
        "materials.density",
        "soft_prims.transform",
    }
)


class Columns:
    """Columns of the templates of a scene, with what differs between environments.

    Args:
        scene: The scene.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._read: set[tuple[int, str]] = set()

    def __call__(self, template: int, name: str) -> Array:
        """Values of a column "table.column" of a template, shape [1 or members, rows, ...]."""
        key = (template, name)
        self._read.add(key)
        if key in self._scene.overrides:
            return self._scene.overrides[key]
        table, column = name.split(".")
        return np.asarray(getattr(getattr(self._scene.templates[template], table), column))[None]

    def check_all_read(self) -> None:
        """Refuse overrides of columns that the simulation uses, but takes to be equal in all environments.

        Raises:
            BuildError: If there is one.
        """
        unread = [
            name
            for key in self._scene.overrides
            if key not in self._read and (name := key[1]) not in _MAY_DIFFER
        ]
        if unread:
            raise BuildError(
                f"override {unread[0]}: this column must be equal in all environments of a template; "
                "make a template for each variant"
            )
