"""From prim paths to flat numbers and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine.articulation_info import ArticulationInfo, ArticulationLabels, label_articulations
from tensorphys_engine.layout import Array, IntArray
from tensorphys_engine.name_tree import ROOT, SceneTree
from tensorphys_engine.names import PrimNames, Role, name_prims
from tensorphys_engine.numbering import Numbering


@dataclass(frozen=True)
class EntityColumns:
    """What many prims are in the simulation; flat numbers, −1 for none; each of shape [count].

    Attributes:
        environment: Environment, −1 for shared prims and prims above the environments.
        role: Bits of :class:`Role`.
        articulation: Articulation that the prim is or belongs to; that of a free body as well.
        link: Link, the body index of contacts and link arrays; free bodies are links.
        joint: Joint of an articulation tree.
        dof_start, dof_count: Degrees of freedom of that joint.
        shape: Shape.
    """

    environment: IntArray
    role: IntArray
    articulation: IntArray
    link: IntArray
    joint: IntArray
    dof_start: IntArray
    dof_count: IntArray
    shape: IntArray


@dataclass(frozen=True)
class Entity:
    """What one prim is in the simulation.

    Attributes:
        path: Prim path.
        role: All its roles.
        environment: Environment, None for shared prims and prims above the environments.
        articulation: Flat articulation that the prim is or belongs to.
        link: Flat link, the body index of contacts and link arrays, of any rigid body.
        joint: Flat joint of an articulation tree.
        dofs: Flat degrees of freedom of that joint.
        shape: Flat shape that the prim is.
        shapes: Flat shapes of the rigid body that the prim is.
    """

    path: str
    role: Role
    environment: int | None
    articulation: int | None
    link: int | None
    joint: int | None
    dofs: range
    shape: int | None
    shapes: tuple[int, ...]


class Directory:
    """Paths, names and flat numbers of a scene; everything here is made on first use.

    Attributes:
        numbering: Flat numbers of the scene.
    """

    def __init__(self, numbering: Numbering) -> None:
        self.numbering = numbering

    @cached_property
    def _names(self) -> tuple[PrimNames, ...]:
        numbering = self.numbering
        return tuple(
            name_prims(template, plan, plan.shape_row)
            for template, plan in zip(numbering.scene.templates, numbering.plans, strict=True)
        )

    @cached_property
    def _shared(self) -> PrimNames:
        numbering = self.numbering
        return name_prims(numbering.scene.shared, None, numbering.shared_shape_row)

    @cached_property
    def tree(self) -> SceneTree:
        """All prims of all environments, and the shared ones."""
        environments = self.numbering.scene.environments
        return SceneTree(self._names, self._shared, environments.path, environments.template)

    def entities(self, nodes: npt.ArrayLike) -> EntityColumns:
        """What the prims of many nodes of the tree are.

        Args:
            nodes: Nodes of :attr:`tree`.

        Returns:
            Columns, one row a node.
        """
        numbering = self.numbering
        places = self.tree.places(np.asarray(nodes, dtype=np.int64))
        count = len(places.prim)
        fields = ("role", "articulation", "link", "joint", "dof_start", "dof_count", "shape")
        result = {
            name: np.full(count, 0 if name in ("role", "dof_count") else -1, np.int32) for name in fields
        }
        shared = (places.template < 0) & (places.prim >= 0)
        prim = places.prim[shared]
        result["role"][shared] = self._shared.role[prim]
        result["shape"][shared] = _offset(self._shared.shape[prim], numbering.shapes.total)
        for template in np.unique(places.template[places.template >= 0]):
            rows = np.flatnonzero(places.template == template)
            environment, prim = places.environment[rows], places.prim[rows]
            names, plan = self._names[template], numbering.plans[template]
            result["role"][rows] = names.role[prim]
            for name, layout in (
                ("articulation", numbering.articulations),
                ("link", numbering.links),
                ("joint", numbering.joints),
                ("shape", numbering.shapes),
            ):
                result[name][rows] = _offset(getattr(names, name)[prim], layout.start[environment])
            joint = names.joint[prim]
            start, dof_count = _joint_dofs(plan.dof_joint, numbering.scene.templates[template].joints.count)
            result["dof_start"][rows] = np.where(
                joint >= 0, np.append(start, -1)[joint] + numbering.dofs.start[environment], -1
            )
            result["dof_count"][rows] = np.append(dof_count, 0)[joint]
        return EntityColumns(environment=places.environment, **result)

    def lookup(self, path: str) -> Entity:
        """What the prim at a path is.

        Raises:
            PathError: If there is no such prim.
        """
        node = self.tree.node(path)
        columns = self.entities([node])

        def number(values: IntArray) -> int | None:
            return int(values[0]) if values[0] >= 0 else None

        link = number(columns.link)
        start = max(int(columns.dof_start[0]), 0)
        return Entity(
            path=self.tree.path(node),
            role=Role(int(columns.role[0])),
            environment=number(columns.environment),
            articulation=number(columns.articulation),
            link=link,
            joint=number(columns.joint),
            dofs=range(start, start + int(columns.dof_count[0])),
            shape=number(columns.shape),
            shapes=() if link is None else tuple(self.link_shapes(link).tolist()),
        )

    @cached_property
    def link_shape_start(self) -> npt.NDArray[np.int64]:
        """First entry of each link in ``link_shape``, one more at the end, shape [links + 1]."""
        counts = [
            np.bincount(plan.shape_link[plan.shape_link >= 0], minlength=len(plan.link_body))[None]
            for plan in self.numbering.plans
        ]
        flat = self.numbering.links.fill(counts, np.int64)
        return np.concatenate(([0], np.cumsum(flat)))

    @cached_property
    def link_shape(self) -> IntArray:
        """Flat shapes by link, in the order in which a link's shapes stand in the scene."""
        layout = self.numbering.shapes
        link = layout.fill(
            [self.numbering.links_of(t, plan.shape_link) for t, plan in enumerate(self.numbering.plans)],
            np.int64,
        )
        moving = np.flatnonzero(link >= 0)
        return moving[np.argsort(link[moving], kind="stable")].astype(np.int32)

    def link_shapes(self, link: int) -> IntArray:
        """Flat shapes of a link."""
        return self.link_shape[self.link_shape_start[link] : self.link_shape_start[link + 1]]

    @cached_property
    def _labels(self) -> tuple[tuple[ArticulationLabels, ...], ...]:
        numbering = self.numbering
        return tuple(
            label_articulations(template, plan)
            for template, plan in zip(numbering.scene.templates, numbering.plans, strict=True)
        )

    def articulation_info(self, articulation: int) -> ArticulationInfo | None:
        """Names, paths and kinds of an articulation's links and joints; None for a free body."""
        environment, template, local = self._place(self.numbering.articulations, articulation)
        labels = self._labels[template]
        if local >= len(labels):
            return None
        numbering = self.numbering
        plan = numbering.plans[template]
        return ArticulationInfo(
            articulation=articulation,
            environment=environment,
            prefix=numbering.scene.environments.path[environment],
            link_start=int(numbering.links.start[environment] + plan.articulation_start[local]),
            dof_start=int(numbering.dofs.start[environment] + plan.articulation_dof_start[local]),
            labels=labels[local],
        )

    def _place(self, layout: Any, item: int) -> tuple[int, int, int]:
        if not 0 <= item < layout.total:
            raise IndexError(f"expected 0 to {layout.total - 1}, given {item}")
        environment = int(np.searchsorted(layout.start, item, side="right")) - 1
        template = int(self.numbering.scene.environments.template[environment])
        return environment, template, int(item - layout.start[environment])

    def link_path(self, link: int) -> str:
        """Prim path of a flat link, free bodies included."""
        environment, template, local = self._place(self.numbering.links, link)
        scene = self.numbering.scene
        relative = self.numbering.plans[template].link_path(scene.templates[template], local)
        return scene.environments.path[environment] + relative

    @cached_property
    def link_paths(self) -> list[str]:
        """Prim path of every link, free bodies included."""
        scene = self.numbering.scene
        relative = [
            [plan.link_path(template, link) for link in range(len(plan.link_body))]
            for template, plan in zip(scene.templates, self.numbering.plans, strict=True)
        ]
        return _spread(scene.environments.path, scene.environments.template, relative)

    @cached_property
    def shape_paths(self) -> list[str]:
        """Prim path of every simulated shape, shared ones last."""
        scene, numbering = self.numbering.scene, self.numbering
        relative = [
            [template.shapes.path[row] for row in plan.shape_row]
            for template, plan in zip(scene.templates, numbering.plans, strict=True)
        ]
        own = _spread(scene.environments.path, scene.environments.template, relative)
        return own + [scene.shared.shapes.path[row] for row in numbering.shared_shape_row]


def _spread(prefixes: tuple[str, ...], templates: IntArray, relative: list[list[str]]) -> list[str]:
    return [
        (prefix + path) or ROOT
        for prefix, template in zip(prefixes, templates.tolist(), strict=True)
        for path in relative[template]
    ]


def _offset(local: Array, first: npt.NDArray[np.int64] | int) -> Array:
    return np.where(local >= 0, local + first, -1)


def _joint_dofs(dof_joint: IntArray, joint_count: int) -> tuple[IntArray, IntArray]:
    """First local degree of freedom and their number for each joint; −1 and 0 without any."""
    count = np.bincount(dof_joint, minlength=joint_count).astype(np.int32)
    start = np.full(joint_count, -1, np.int32)
    # Written from the back, so that the first one stays.
    start[dof_joint[::-1]] = np.arange(len(dof_joint) - 1, -1, -1)
    return start, count
