"""Flat numbers of everything in all environments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_contact import Hull
from tensorphys_dynamics import ArticulationType
from tensorphys_engine.findings import Findings
from tensorphys_engine.hulls import simulated_shapes
from tensorphys_engine.layout import Array, Columns, IntArray, Layout
from tensorphys_engine.template_plan import TemplatePlan, plan_template
from tensorphys_scene import Scene

_NO_DOFS = np.zeros(0, np.int32)
_FREE = ArticulationType(False, np.array([-1], np.int32), _NO_DOFS, np.zeros(0, bool))
_KINEMATIC = ArticulationType(True, np.array([-1], np.int32), _NO_DOFS, np.zeros(0, bool))


@dataclass(frozen=True)
class Numbering:
    """Plans of the templates and the layouts that make flat numbers of their rows.

    Attributes:
        scene: The scene.
        plans: One plan a template.
        articulations, links, dofs, shapes, joints: Layouts; joints are the rows of the table, in trees or not.
        shared_shape_row: Rows of ``scene.shared.shapes`` that are simulated; their flat numbers follow those of
            the shapes of all environments.
        shared_shape_part: Hull of each part of a decomposition among them, None for other shapes.
    """

    scene: Scene
    plans: tuple[TemplatePlan, ...]
    articulations: Layout
    links: Layout
    dofs: Layout
    shapes: Layout
    joints: Layout
    shared_shape_row: IntArray
    shared_shape_part: tuple[Hull | None, ...]

    @property
    def environment_count(self) -> int:
        """Number of environments."""
        return self.scene.environments.count

    @property
    def shape_count(self) -> int:
        """Number of simulated shapes, shared ones counted once."""
        return self.shapes.total + len(self.shared_shape_row)

    @cached_property
    def columns(self) -> Columns:
        """Columns of the templates, overrides included."""
        return Columns(self.scene)

    @cached_property
    def _typed(self) -> tuple[tuple[ArticulationType, ...], tuple[IntArray, ...]]:
        known: dict[tuple[Any, ...], int] = {}
        types: list[ArticulationType] = []
        indices = []
        for plan in self.plans:
            authored = [_register(kind, known, types) for kind in plan.types]
            is_free = plan.articulation_row < 0
            index = np.zeros(len(is_free), np.int32)
            index[: len(authored)] = authored
            for kind, chosen in (
                (_FREE, is_free & ~plan.articulation_fixed),
                (_KINEMATIC, is_free & plan.articulation_fixed),
            ):
                if chosen.any():
                    index[chosen] = _register(kind, known, types)
            indices.append(index)
        return tuple(types), tuple(indices)

    @property
    def types(self) -> tuple[ArticulationType, ...]:
        """Distinct topologies."""
        return self._typed[0]

    @property
    def articulation_type(self) -> IntArray:
        """Index into ``types`` of each articulation, shape [articulations]."""
        return self.articulations.fill([index[None] for index in self._typed[1]], np.int32)

    def links_of(self, template: int, local: npt.ArrayLike) -> Array:
        """Flat links of local ones in each environment of a template, −1 kept, shape [members, ...]."""
        return _offset(local, self.links.first(template))

    def fill(
        self, layout: Layout, name: str, rows: str, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()
    ) -> Array:
        """Flat values of a column for the rows that each plan lists.

        Args:
            layout: Layout of the result.
            name: Column as "table.column".
            rows: Attribute of the plan with the row of each local item.
            dtype: Type of the result.
            shape: Shape of one row.

        Returns:
            Values, shape [layout.total, *shape].
        """
        parts = [self.columns(t, name)[:, getattr(plan, rows)] for t, plan in enumerate(self.plans)]
        return layout.fill(parts, dtype, shape)


def _offset(local: npt.ArrayLike, first: npt.NDArray[np.int64]) -> Array:
    values = np.asarray(local)
    return np.where(values >= 0, values + first, -1)


def _register(
    kind: ArticulationType, known: dict[tuple[Any, ...], int], types: list[ArticulationType]
) -> int:
    tables = (kind.parent, kind.dof_link, kind.dof_rotational, kind.balls)
    key = (kind.fixed_base, *(table.tobytes() for table in tables))
    if key not in known:
        known[key] = len(types)
        types.append(kind)
    return known[key]


def number_scene(scene: Scene, findings: Findings) -> Numbering:
    """Plan every template that an environment uses and number all environments.

    Args:
        scene: The scene.
        findings: Takes what is left out or changed.

    Returns:
        The numbering.

    Raises:
        BuildError: If the scene contradicts itself.
        UnsupportedError: If something is not supported and ``findings`` raises.
    """
    environments = scene.environments
    plans = []
    for index, template in enumerate(scene.templates):
        users = np.flatnonzero(environments.template == index)
        prefix = environments.path[int(users[0])] if users.size else ""
        plans.append(plan_template(template, prefix, findings))
    shared = simulated_shapes(scene.shared, "", findings)

    def layout(counts: list[int]) -> Layout:
        return Layout(environments.template, counts)

    return Numbering(
        scene=scene,
        plans=tuple(plans),
        articulations=layout([len(plan.articulation_row) for plan in plans]),
        links=layout([len(plan.link_body) for plan in plans]),
        dofs=layout([len(plan.dof_axis_row) for plan in plans]),
        shapes=layout([len(plan.shape_row) for plan in plans]),
        joints=layout([template.joints.count for template in scene.templates]),
        shared_shape_row=shared.row,
        shared_shape_part=shared.hull,
    )
