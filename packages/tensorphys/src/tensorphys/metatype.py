"""Static facts of an articulation: names, tree, joints and degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorphys.kinds import DofType, JointType

if TYPE_CHECKING:
    from tensorphys_engine import ArticulationLabels

__all__ = ["ArticulationMetatype", "dof_paths_of", "metatype_of", "unique_names"]


def unique_names(names: Iterable[str]) -> list[str]:
    """Names, all different: one that was there before gets the first of ``_0``, ``_1``, ... that is free.

    Args:
        names: Names, repeated or not.

    Returns:
        As many names, in order.
    """
    result: dict[str, None] = {}
    for name in names:
        unique, number = name, 0
        while unique in result:
            unique, number = f"{name}_{number}", number + 1
        result[unique] = None
    return list(result)


def _leaf(path: str) -> str:
    return path.rpartition("/")[2]


@dataclass(frozen=True)
class ArticulationMetatype:
    """Static facts that articulations of one kind share.

    Links stand in breadth-first order, the root first; joints in the order of the links that they carry;
    degrees of freedom in the order of the joints.

    Attributes:
        link_names, joint_names, dof_names: Names, unique within the articulation.
        link_parents: Name of each link's parent, ``""`` for the root.
        link_indices, joint_indices, dof_indices: Position of each name.
        link_parent_indices: Position of each link's parent by the link's name; the root is absent.
        joint_types: Type of each joint.
        joint_dof_offsets, joint_dof_counts: First degree of freedom of each joint, and their number.
        dof_types: Type of each degree of freedom.
        fixed_base: Whether the root is tied to the world.
        joint_flipped: Whether body 1 of each joint is the parent in the tree.
    """

    link_names: list[str]
    link_parents: list[str]
    joint_names: list[str]
    dof_names: list[str]
    joint_types: list[JointType]
    joint_dof_offsets: list[int]
    joint_dof_counts: list[int]
    dof_types: list[DofType]
    fixed_base: bool
    joint_flipped: list[bool]
    link_indices: dict[str, int] = field(init=False)
    link_parent_indices: dict[str, int] = field(init=False)
    joint_indices: dict[str, int] = field(init=False)
    dof_indices: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        def positions(names: Sequence[str]) -> dict[str, int]:
            return {name: i for i, name in enumerate(names)}

        set_ = object.__setattr__
        set_(self, "link_indices", positions(self.link_names))
        set_(self, "joint_indices", positions(self.joint_names))
        set_(self, "dof_indices", positions(self.dof_names))
        parents = {
            name: self.link_indices[parent]
            for name, parent in zip(self.link_names, self.link_parents, strict=True)
            if parent
        }
        set_(self, "link_parent_indices", parents)

    @property
    def link_count(self) -> int:
        """Number of links."""
        return len(self.link_names)

    @property
    def joint_count(self) -> int:
        """Number of joints between links; a joint that ties the root to the world is none of them."""
        return len(self.joint_names)

    @property
    def dof_count(self) -> int:
        """Number of degrees of freedom."""
        return len(self.dof_names)


def _joint_type(rotational: Sequence[bool]) -> JointType:
    if not rotational:
        return JointType.Fixed
    if len(rotational) == 1:
        return JointType.Revolute if rotational[0] else JointType.Prismatic
    return JointType.Spherical if all(rotational) else JointType.Invalid


def metatype_of(labels: ArticulationLabels) -> ArticulationMetatype:
    """Metatype of an articulation from the names and kinds that the engine gives it."""
    of_joint: list[list[bool]] = [[] for _ in labels.joint_paths]
    for joint, rotational in zip(labels.dof_joints.tolist(), labels.dof_rotational.tolist(), strict=True):
        of_joint[joint].append(rotational)
    counts = [len(kinds) for kinds in of_joint]
    names = unique_names(map(_leaf, labels.link_paths))
    return ArticulationMetatype(
        link_names=names,
        link_parents=[names[parent] if parent >= 0 else "" for parent in labels.link_parents.tolist()],
        joint_names=unique_names(map(_leaf, labels.joint_paths)),
        dof_names=unique_names(labels.dof_names),
        joint_types=[_joint_type(kinds) for kinds in of_joint],
        joint_dof_offsets=[sum(counts[:joint]) for joint in range(len(counts))],
        joint_dof_counts=counts,
        dof_types=[
            DofType.Rotation if rotational else DofType.Translation
            for rotational in labels.dof_rotational.tolist()
        ],
        fixed_base=labels.fixed_base,
        joint_flipped=labels.joint_flipped.tolist(),
    )


def dof_paths_of(labels: ArticulationLabels, *, numbered: bool) -> list[str]:
    """Path of each degree of freedom, relative to the environment: that of its joint.

    Args:
        labels: Names and kinds of the articulation.
        numbered: Whether a number follows the path of a joint that has several: that of the axis (``:0`` for X)
            where all are rotations, as in the names, else a running one.
    """
    joints = labels.dof_joints.tolist()
    paths = []
    for dof, joint in enumerate(joints):
        own = [other for other, owner in enumerate(joints) if owner == joint]
        suffix = ""
        if numbered and len(own) > 1:
            turns = bool(labels.dof_rotational[own].all())
            suffix = f":{int(labels.dof_axes[dof]) if turns else own.index(dof)}"
        paths.append(labels.joint_paths[joint] + suffix)
    return paths
