"""Names and kinds of the links, joints and degrees of freedom of an articulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorphys_engine.layout import IntArray
from tensorphys_engine.template_plan import BoolArray, TemplatePlan
from tensorphys_scene import AxisType, JointType, Template


@dataclass(frozen=True)
class ArticulationLabels:
    """What all copies of an articulation have in common; indices count from 0 within the articulation.

    Attributes:
        path: Path of the prim with the root schema, relative to the environment, like all paths here.
        fixed_base: Whether the root is tied to the world.
        link_paths, link_names: Links, root first. Where a joint to the world can move, link 0 is a fixed base named
            ``world`` that has no prim.
        link_parents: Parent of each link, −1 for the root.
        joint_paths, joint_names: Joints of the tree, in the order of the links they move.
        joint_types: :class:`tensorphys_scene.JointType` of each joint.
        joint_links: Link that each joint moves.
        joint_flipped: Whether body 1 of each joint is the parent.
        dof_names: Names of the degrees of freedom.
        dof_joints: Joint of each degree of freedom.
        dof_links: Link that each degree of freedom moves.
        dof_axes: Axis of the joint frame, 0 to 2 for x to z, of each degree of freedom.
        dof_rotational: Whether each degree of freedom is a rotation.
    """

    path: str
    fixed_base: bool
    link_paths: tuple[str, ...]
    link_names: tuple[str, ...]
    link_parents: IntArray
    joint_paths: tuple[str, ...]
    joint_names: tuple[str, ...]
    joint_types: tuple[JointType, ...]
    joint_links: IntArray
    joint_flipped: BoolArray
    dof_names: tuple[str, ...]
    dof_joints: IntArray
    dof_links: IntArray
    dof_axes: IntArray
    dof_rotational: BoolArray


@dataclass(frozen=True)
class ArticulationInfo:
    """One articulation of the simulation.

    Attributes:
        articulation: Flat articulation.
        environment: Its environment.
        prefix: Root path of that environment.
        link_start: Flat number of its root link.
        dof_start: Flat number of its first degree of freedom.
        labels: Names and kinds, the same object for all copies.
    """

    articulation: int
    environment: int
    prefix: str
    link_start: int
    dof_start: int
    labels: ArticulationLabels

    @property
    def path(self) -> str:
        """Path of the prim with the root schema."""
        return (self.prefix + self.labels.path) or "/"

    @property
    def link_paths(self) -> list[str]:
        """Path of each link."""
        return [self.prefix + path for path in self.labels.link_paths]

    @property
    def joint_paths(self) -> list[str]:
        """Path of each joint."""
        return [self.prefix + path for path in self.labels.joint_paths]

    @property
    def dof_paths(self) -> list[str]:
        """Path of the joint of each degree of freedom."""
        joints = self.joint_paths
        return [joints[joint] for joint in self.labels.dof_joints]


def _leaf_names(paths: Sequence[str]) -> tuple[str, ...]:
    """Last part of each path, with _0, _1, … where several are equal."""
    names = [path.rpartition("/")[2] for path in paths]
    total, seen = Counter(names), Counter[str]()
    result = []
    for name in names:
        result.append(f"{name}_{seen[name]}" if total[name] > 1 else name)
        seen[name] += 1
    return tuple(result)


def label_articulations(template: Template, plan: TemplatePlan) -> tuple[ArticulationLabels, ...]:
    """Labels of each authored articulation of a template."""
    return tuple(_label(template, plan, a) for a in range(template.articulations.count))


def _label(template: Template, plan: TemplatePlan, articulation: int) -> ArticulationLabels:
    first, end = (int(k) for k in plan.articulation_start[articulation : articulation + 2])
    dofs = slice(*plan.articulation_dof_start[articulation : articulation + 2])
    joints, axes = template.joints, template.axes
    link_paths = tuple(plan.link_path(template, link) for link in range(first, end))
    moves = (plan.joint_link >= first) & (plan.joint_link < end)
    moves[moves] = plan.link_parent[plan.joint_link[moves]] >= 0
    rows = np.flatnonzero(moves)
    rows = rows[np.argsort(plan.joint_link[rows], kind="stable")]
    place = np.zeros(joints.count, np.int32)
    place[rows] = np.arange(len(rows))
    joint_links = plan.joint_link[rows] - first
    joint_paths = tuple(joints.path[row] for row in rows)
    axis_rows = plan.dof_axis_row[dofs]
    return ArticulationLabels(
        path=template.articulations.path[articulation],
        fixed_base=bool(plan.articulation_fixed[articulation]),
        link_paths=link_paths,
        link_names=_leaf_names(link_paths),
        link_parents=plan.types[articulation].parent,
        joint_paths=joint_paths,
        joint_names=_leaf_names(joint_paths),
        joint_types=tuple(JointType(int(kind)) for kind in joints.type[rows]),
        joint_links=joint_links,
        joint_flipped=joints.body0[rows] == plan.link_body[plan.joint_link[rows]],
        dof_names=tuple(axes.names[row] for row in axis_rows),
        dof_joints=place[plan.dof_joint[dofs]],
        dof_links=plan.types[articulation].dof_link,
        dof_axes=(axes.axis[axis_rows] % 3).astype(np.int32),
        dof_rotational=axes.axis[axis_rows] >= int(AxisType.ROT_X),
    )
