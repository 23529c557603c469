"""Matrices of articulations of several kinds in one view."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from tensorphys import ArticulationView
from tensorphys.selection import articulation_layout

__all__ = ["MixedArticulationView"]


@dataclass(frozen=True)
class _Kind:
    """Rows of one kind.

    Attributes:
        rows: Rows in the mixed view, as its array library takes them.
        view: View of these alone.
        links, dofs: Their sizes.
        floats: Whether their bases float.
    """

    rows: Any
    view: ArticulationView
    links: int
    dofs: int
    floats: bool


class MixedArticulationView(ArticulationView):
    """An :class:`tensorphys.ArticulationView` whose matrices are padded with zeros where rows are of several kinds.

    As with the compensation forces, six columns of the root stand first as soon as one base floats, zero in rows with a
    fixed one; the root link then has its rows in all Jacobians, zero where it is fixed.
    """

    @cached_property
    def _groups(self) -> list[_Kind]:
        core = self._core
        groups = []
        for number, info in enumerate(self._metatypes):
            rows = np.flatnonzero(np.asarray(self._kinds[1]) == number)
            chosen = self._articulations[rows]
            # Matrices know no places, so none of subspaces.
            layout = articulation_layout(core.catalog, chosen, np.zeros((len(rows), 3)))
            view = ArticulationView(core, chosen, layout)
            floats = bool(self._reader.floating[rows[0]])
            groups.append(_Kind(self._indices(rows), view, info.link_count, info.dof_count, floats))
        return groups

    @cached_property
    def _padded(self) -> dict[str, Any]:
        return {}

    def _indices(self, rows: Any) -> Any:
        numbers = np.asarray(rows, np.int32)
        if self._core.frontend.name != "torch":
            return numbers
        return wp.to_torch(wp.array(numbers, dtype=wp.int32, device=self._core.device)).long()

    @property
    def _floats(self) -> bool:
        return bool(self._reader.floating.any())

    def _root_count(self, what: str) -> int:
        return super()._root_count(what) if self.is_homogeneous else 6 * self._floats

    def get_jacobians(self) -> Any:
        """Velocities of links per generalized velocity, shape [count, jacobian_shape[0] // 6, 6, jacobian_shape[1]]."""
        if self.is_homogeneous:
            return super().get_jacobians()
        rows, columns = self.jacobian_shape
        result = self._blank("jacobians", (self.count, rows // 6, 6, columns))
        for kind in self._groups:
            link = int(self._floats and not kind.floats)
            first = 6 * link
            own = kind.dofs + 6 * kind.floats
            height = kind.links - (not kind.floats)
            result[kind.rows, link : link + height, :, first : first + own] = kind.view.get_jacobians()
        return result

    def get_generalized_mass_matrices(self) -> Any:
        """Matrices from generalized accelerations to generalized forces, shape [count, size, size]."""
        return self._square("generalized_mass_matrices", self.generalized_mass_matrix_shape, root=True)

    def get_mass_matrices(self) -> Any:
        """Mass matrices of the joints alone, shape [count, max_dofs, max_dofs]."""
        return self._square("mass_matrices", self.mass_matrix_shape, root=False)

    def _square(self, name: str, shape: tuple[int, int], *, root: bool) -> Any:
        if self.is_homogeneous:
            return getattr(super(), f"get_{name}")()
        result = self._blank(name, (self.count, *shape))
        for kind in self._groups:
            first = 6 if root and self._floats and not kind.floats else 0
            own = slice(first, first + kind.dofs + (6 if root and kind.floats else 0))
            result[kind.rows, own, own] = getattr(kind.view, f"get_{name}")()
        return result

    def _blank(self, name: str, shape: tuple[int, ...]) -> Any:
        """Zeros that are kept: what is never written stays so."""
        self._rows(f"get_{name}")
        if name not in self._padded:
            buffer = self._core.frontend.allocate(shape, wp.float32, self._core.device)
            buffer.warp.zero_()
            self._padded[name] = buffer.array
        return self._padded[name]
