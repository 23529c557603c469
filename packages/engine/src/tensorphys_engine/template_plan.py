"""What a template becomes: articulations, links, degrees of freedom and shapes in flat order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_contact import Hull
from tensorphys_dynamics import ArticulationType
from tensorphys_engine.decompositions import SimulatedShapes
from tensorphys_engine.errors import BuildError
from tensorphys_engine.findings import Findings
from tensorphys_engine.hulls import simulated_shapes
from tensorphys_scene import AxisType, JointType, Template

IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

_TREE_JOINTS = frozenset(
    {JointType.FIXED, JointType.REVOLUTE, JointType.PRISMATIC, JointType.SPHERICAL, JointType.D6}
)


@dataclass(frozen=True)
class TemplatePlan:
    """Numbering of one template; "local" counts from 0 within one environment.

    Articulations: the authored ones in scene order, then one for each free body. Links: those of the
    articulations, in this order. Degrees of freedom: by link, then joint, then axis. Shapes: rows of the
    template whose type is supported. A joint that turns about all three axes is a ball joint, whose rotations act at
    once; others act one after the other. Where a joint to the world can move, a link without body, the *base*,
    stands before the authored root and is the fixed root of the articulation.

    Attributes:
        types: Topology of each authored articulation.
        articulation_row: Row in ``articulations``, −1 for a free body, shape [articulations].
        articulation_fixed: Whether the root is tied to the world or kinematic, shape [articulations].
        articulation_start: First local link of each articulation, one more at the end.
        articulation_dof_start: First local degree of freedom of each articulation, one more at the end.
        link_body: Row in ``bodies``, −1 for a base, shape [links].
        link_articulation: Local articulation, shape [links].
        link_parent: Local link of the parent, −1 for a root, shape [links].
        link_joint: Row in ``joints`` of the first joint to the parent, −1 for a root, shape [links].
        link_flipped: Whether body 1 of that joint is the parent, shape [links].
        dof_axis_row: Row in ``axes``, shape [dofs].
        dof_joint: Row in ``joints``, shape [dofs].
        dof_link: Local link that the degree of freedom moves, shape [dofs].
        dof_flipped: Whether body 1 of the joint is the parent, shape [dofs].
        body_link: Local link of each row in ``bodies``, −1 where the body is disabled, shape [bodies].
        joint_link: Local child link of each row in ``joints``, −1 outside of trees, shape [joints].
        shape_row: Row in ``shapes`` of each local shape; one that is decomposed has several.
        shape_part: Hull of each part of a decomposition, None for other shapes.
        shape_link: Local link of each local shape, −1 static.
        shape_base: Row of the disabled body that a local shape was authored on, else −1.
    """

    types: tuple[ArticulationType, ...]
    articulation_row: IntArray
    articulation_fixed: BoolArray
    articulation_start: IntArray
    articulation_dof_start: IntArray
    link_body: IntArray
    link_articulation: IntArray
    link_parent: IntArray
    link_joint: IntArray
    link_flipped: BoolArray
    dof_axis_row: IntArray
    dof_joint: IntArray
    dof_link: IntArray
    dof_flipped: BoolArray
    body_link: IntArray
    joint_link: IntArray
    shape_row: IntArray
    shape_part: tuple[Hull | None, ...]
    shape_link: IntArray
    shape_base: IntArray

    @property
    def link_immovable(self) -> BoolArray:
        """Whether a link is the root of a fixed or kinematic articulation, shape [links]."""
        return np.asarray(self.articulation_fixed[self.link_articulation] & (self.link_parent < 0))

    def link_path(self, template: Template, link: int) -> str:
        """Path of a local link relative to the environment; a base is the "world" below the root prim."""
        body = int(self.link_body[link])
        if body >= 0:
            return template.bodies.path[body]
        row = int(self.articulation_row[self.link_articulation[link]])
        return f"{template.articulations.path[row]}/world"


def plan_template(template: Template, prefix: str, findings: Findings) -> TemplatePlan:
    """Number the parts of a template.

    Args:
        template: The template.
        prefix: Path of an environment that uses it, for messages.
        findings: Takes what is left out or changed.

    Returns:
        The plan.

    Raises:
        BuildError: If the tables contradict each other.
        UnsupportedError: If something is not supported and ``findings`` raises.
    """
    return _Planner(template, prefix, findings).plan()


def _ints(values: Any) -> IntArray:
    return np.asarray(values, dtype=np.int32).reshape(-1)


class _Planner:
    def __init__(self, template: Template, prefix: str, findings: Findings) -> None:
        self._template = template
        self._prefix = prefix
        self._findings = findings
        axes = template.axes
        self._axes_order = np.argsort(axes.joint, kind="stable")
        self._axes_start = np.searchsorted(axes.joint[self._axes_order], np.arange(template.joints.count + 1))

    def plan(self) -> TemplatePlan:
        template, links = self._template, self._template.links
        order = np.argsort(links.articulation, kind="stable")
        self._check_links(order)
        rows, articulation = self._rows(order)
        authored = template.articulations.count
        free = self._free_bodies()
        parent = np.concatenate((self._parents(rows, articulation), np.full(len(free), -1, np.int32)))
        # The row of a base is −1 and picks the last one, which is not used.
        body = np.where(rows >= 0, links.body[rows], -1) if links.count else rows
        link_body = _ints(np.concatenate((body, free)))
        link_articulation = _ints(np.concatenate((articulation, authored + np.arange(len(free)))))
        body_link = np.full(template.bodies.count, -1, np.int32)
        body_link[link_body[link_body >= 0]] = np.flatnonzero(link_body >= 0)
        start = _ints(np.searchsorted(link_articulation, np.arange(authored + len(free) + 1)))
        fixed = np.concatenate((self._fixed_bases(order), template.bodies.kinematic[free]))
        fixed[link_articulation[link_body < 0]] = True
        joints = _TreeJoints(template.joints.count, len(link_body))
        self._walk_joints(rows, parent, joints)
        dof_link = _ints(joints.dof_link)
        dof_start = _ints(np.searchsorted(dof_link, start))
        self._note_idle_joints(joints.joint_link)
        simulated, shape_link, shape_base = self._shapes(body_link)
        return TemplatePlan(
            types=_types(template, start, dof_start, fixed, parent, joints),
            articulation_row=_ints(np.concatenate((np.arange(authored), np.full(len(free), -1)))),
            articulation_fixed=fixed.astype(bool),
            articulation_start=start,
            articulation_dof_start=dof_start,
            link_body=link_body,
            link_articulation=link_articulation,
            link_parent=parent,
            link_joint=joints.link_joint,
            link_flipped=joints.link_flipped,
            dof_axis_row=_ints(joints.axis_row),
            dof_joint=_ints(joints.joint),
            dof_link=dof_link,
            dof_flipped=np.asarray(joints.flipped, dtype=bool),
            body_link=body_link,
            joint_link=joints.joint_link,
            shape_row=simulated.row,
            shape_part=simulated.hull,
            shape_link=shape_link,
            shape_base=shape_base,
        )

    def _rows(self, order: npt.NDArray[np.intp]) -> tuple[IntArray, IntArray]:
        """Row in ``links`` and articulation of each link, bases with row −1 before their authored roots."""
        links = self._template.links
        on_world = (links.parent[order] < 0) & (links.joint[order] >= 0)
        first = links.joint[order]
        end = first + links.joint_count[order]
        movable = on_world & (
            self._axes_start[np.where(on_world, end, 0)] > self._axes_start[np.where(on_world, first, 0)]
        )
        before = np.searchsorted(links.articulation[order], links.articulation[order][movable])
        rows = np.insert(order, before, -1)
        return _ints(rows), _ints(
            np.insert(links.articulation[order], before, links.articulation[order][movable])
        )

    def _parents(self, rows: IntArray, articulation: IntArray) -> IntArray:
        links = self._template.links
        local_of_row = np.empty(links.count, np.int32)
        local_of_row[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
        base = np.full(self._template.articulations.count, -1, np.int32)
        base[articulation[rows < 0]] = np.flatnonzero(rows < 0)
        parent = np.full(len(rows), -1, np.int32)
        for local in np.flatnonzero(rows >= 0):
            row = int(links.parent[rows[local]])
            parent[local] = local_of_row[row] if row >= 0 else base[articulation[local]]
        return parent

    def _path(self, path: str) -> str:
        return self._prefix + path

    def _check_links(self, order: npt.NDArray[np.intp]) -> None:
        links, bodies = self._template.links, self._template.bodies
        counts = np.bincount(links.body, minlength=bodies.count)
        for body in np.flatnonzero(counts > 1):
            raise BuildError(f"{self._path(bodies.path[body])} is a link of two articulations")
        empty = np.setdiff1d(np.arange(self._template.articulations.count), links.articulation)
        if empty.size:
            path = self._template.articulations.path[int(empty[0])]
            raise BuildError(f"articulation {self._path(path)} has no links")
        roots = np.bincount(
            links.articulation[links.parent < 0], minlength=self._template.articulations.count
        )
        for articulation in np.flatnonzero(roots != 1):
            path = self._path(self._template.articulations.path[articulation])
            raise BuildError(f"articulation {path} has {roots[articulation]} root links, expected 1")
        for row in order:
            parent = int(links.parent[row])
            if parent >= 0 and links.articulation[parent] != links.articulation[row]:
                raise BuildError(f"link {self._path(links.path[row])} has its parent in another articulation")
            if not bodies.enabled[links.body[row]]:
                self._findings.note(
                    self._path(links.path[row]),
                    "a link of an articulation cannot be disabled; it is simulated",
                )

    def _free_bodies(self) -> npt.NDArray[np.intp]:
        is_free = self._template.bodies.enabled.copy()
        is_free[self._template.links.body] = False
        return np.flatnonzero(is_free)

    def _fixed_bases(self, order: npt.NDArray[np.intp]) -> BoolArray:
        """Whether each authored articulation is fixed; a kinematic root link counts as fixed."""
        template, links = self._template, self._template.links
        fixed = template.articulations.fixed_base.copy()
        for row in order[template.bodies.kinematic[links.body[order]]]:
            path = self._path(links.path[row])
            if links.parent[row] >= 0:
                self._findings.note(path, "a link below the root cannot be kinematic; it is dynamic")
            elif not fixed[links.articulation[row]]:
                fixed[links.articulation[row]] = True
                self._findings.note(path, "a kinematic root link makes the articulation a fixed base")
        return fixed

    def _walk_joints(self, rows: IntArray, parent: IntArray, joints: _TreeJoints) -> None:
        """Collect the degrees of freedom of each link."""
        links = self._template.links
        for local in np.flatnonzero(rows >= 0):
            row = rows[local]
            first = int(links.joint[row])
            if parent[local] < 0:
                if first >= 0:
                    joints.joint_link[first] = local
                continue
            if first < 0:
                raise BuildError(f"link {self._path(links.path[row])} has a parent but no joint")
            up = int(links.parent[row])
            child, parent_body = int(links.body[row]), int(links.body[up]) if up >= 0 else -1
            joints.link_joint[local] = first
            for joint in range(first, first + int(links.joint_count[row])):
                flipped = self._orientation(joint, child, parent_body)
                if joint == first:
                    joints.link_flipped[local] = flipped
                self._check_type(joint)
                joints.joint_link[joint] = local
                axes = self._axes_order[self._axes_start[joint] : self._axes_start[joint + 1]]
                joints.add(axes, self._template.axes.axis, joint, int(local), flipped)

    def _orientation(self, joint: int, child: int, parent: int) -> bool:
        """Whether body 1 of a joint is the parent."""
        ends = (int(self._template.joints.body0[joint]), int(self._template.joints.body1[joint]))
        if ends == (parent, child):
            return False
        if ends == (child, parent):
            return True
        names = self._template.bodies.path
        first = self._path(names[parent]) if parent >= 0 else "the world"
        raise BuildError(
            f"joint {self._path(self._template.joints.path[joint])} does not join "
            f"{first} and {self._path(names[child])}, as the articulation says"
        )

    def _check_type(self, joint: int) -> None:
        kind = JointType(int(self._template.joints.type[joint]))
        if kind not in _TREE_JOINTS:
            self._findings.refuse(
                f"{kind.name.lower()} joints in articulations, left out",
                self._path(self._template.joints.path[joint]),
                f"a {kind.name.lower()} joint in an articulation is not supported",
            )

    def _note_idle_joints(self, joint_link: IntArray) -> None:
        """Report joints outside of trees of which neither end can move."""
        joints, bodies = self._template.joints, self._template.bodies
        moves = np.append(bodies.enabled & ~bodies.kinematic, False)
        idle = joints.enabled & (joint_link < 0) & ~moves[joints.body0] & ~moves[joints.body1]
        for row in np.flatnonzero(idle & ((joints.body0 >= 0) | (joints.body1 >= 0))):
            self._findings.note(self._path(joints.path[row]), "this joint joins nothing that moves")

    def _shapes(self, body_link: IntArray) -> tuple[SimulatedShapes, IntArray, IntArray]:
        shapes = self._template.shapes
        simulated = simulated_shapes(self._template, self._prefix, self._findings)
        rows = simulated.row
        body = shapes.body[rows]
        link = np.where(body >= 0, body_link[body], -1) if len(body_link) else np.full(len(rows), -1)
        return simulated, _ints(link), _ints(np.where(link < 0, body, -1))


_ROTATIONS = [int(AxisType.ROT_X), int(AxisType.ROT_Y), int(AxisType.ROT_Z)]


class _TreeJoints:
    """Degrees of freedom in the order of the links."""

    def __init__(self, joint_count: int, link_count: int) -> None:
        self.axis_row: list[int] = []
        self.joint: list[int] = []
        self.dof_link: list[int] = []
        self.flipped: list[bool] = []
        self.joint_link = np.full(joint_count, -1, np.int32)
        self.link_joint = np.full(link_count, -1, np.int32)
        self.link_flipped = np.zeros(link_count, bool)
        self.balls: list[int] = []

    def add(self, rows: npt.NDArray[np.intp], axis: IntArray, joint: int, link: int, flipped: bool) -> None:
        turns = axis[rows] >= int(AxisType.ROT_X)
        is_ball = sorted(axis[rows[turns]].tolist()) == _ROTATIONS
        # Axes compose from body 0 to body 1, the tree from parent to child.
        order = rows[::-1] if flipped else rows
        if is_ball:
            moves = axis[order] < int(AxisType.ROT_X)
            ball = rows[turns][np.argsort(axis[rows[turns]])]
            parts = (ball, order[moves]) if flipped else (order[moves], ball)
            self.balls.append(len(self.axis_row) + (0 if flipped else int(moves.sum())))
            order = np.concatenate(parts)
        self._append(order, joint, link, flipped)

    def _append(self, rows: npt.NDArray[np.intp], joint: int, link: int, flipped: bool) -> None:
        self.axis_row += rows.tolist()
        self.joint += [joint] * len(rows)
        self.dof_link += [link] * len(rows)
        self.flipped += [flipped] * len(rows)


def _types(
    template: Template,
    start: IntArray,
    dof_start: IntArray,
    fixed: BoolArray,
    parent: IntArray,
    joints: _TreeJoints,
) -> tuple[ArticulationType, ...]:
    """Topology of each authored articulation."""
    rotational = template.axes.axis[_ints(joints.axis_row)] >= int(AxisType.ROT_X)
    types = []
    for articulation in range(template.articulations.count):
        first, end = start[articulation : articulation + 2]
        dofs = slice(*dof_start[articulation : articulation + 2])
        balls = _ints(joints.balls)
        types.append(
            ArticulationType(
                fixed_base=bool(fixed[articulation]),
                parent=np.where(parent[first:end] >= 0, parent[first:end] - first, -1).astype(np.int32),
                dof_link=_ints(joints.dof_link)[dofs] - first,
                dof_rotational=rotational[dofs],
                balls=balls[(balls >= dofs.start) & (balls < dofs.stop)] - dofs.start,
            )
        )
    return tuple(types)
