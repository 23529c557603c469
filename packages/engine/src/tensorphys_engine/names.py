"""Prims of a template by path, and what each of them is in the simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntFlag

import numpy as np

from tensorphys_engine.layout import Array, IntArray
from tensorphys_engine.template_plan import TemplatePlan
from tensorphys_scene import Template


class Role(IntFlag):
    """What a prim is; one prim may have several roles.

    ``ARTICULATION`` is the prim that carries the root schema, ``JOINT`` a joint of an articulation tree,
    ``LINK`` a rigid body in an articulation, ``FREE_BODY`` any other simulated rigid body, kinematic ones
    included, ``SHAPE`` a simulated collider, ``STATIC`` a collider that never moves.
    """

    NONE = 0
    ARTICULATION = 1
    LINK = 2
    ROOT_LINK = 4
    JOINT = 8
    FREE_BODY = 16
    KINEMATIC = 32
    SHAPE = 64
    STATIC = 128
    MATERIAL = 256


@dataclass(frozen=True)
class PrimNames:
    """Tree of the prims of one template, the root first, and their roles.

    Attributes:
        paths: Path of each prim, relative to the root of the environment, "" for the root itself.
        index: Prim of each path.
        children: Name and prim of the children of each prim, in authored order.
        role: :class:`Role` of each prim.
        articulation: Local articulation that a prim is or belongs to, −1 for none.
        link: Local link of a rigid body, −1 for none.
        joint: Row in ``joints`` of a joint of an articulation, −1 for none.
        shape: Local shape, −1 for none.
        material: Row in ``materials``, −1 for none.
    """

    paths: list[str] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)
    children: list[list[tuple[str, int]]] = field(default_factory=list)
    role: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    articulation: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    link: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    joint: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    shape: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))
    material: IntArray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def count(self) -> int:
        """Number of prims."""
        return len(self.paths)


def _spanned(template: Template) -> PrimNames:
    """All listed prims, those that only a table names, and their parents."""
    names = PrimNames()

    def add(path: str) -> int:
        known = names.index.get(path)
        if known is not None:
            return known
        parent = add(path.rpartition("/")[0]) if path else -1
        number = len(names.paths)
        names.index[path] = number
        names.paths.append(path)
        names.children.append([])
        if parent >= 0:
            names.children[parent].append((path.rpartition("/")[2], number))
        return number

    add("")
    for path in template.prims:
        add(path)
    for table in (
        template.articulations,
        template.bodies,
        template.joints,
        template.shapes,
        template.materials,
    ):
        for path in table.path:
            add(path)
    return names


def name_prims(template: Template, plan: TemplatePlan | None, shape_row: IntArray) -> PrimNames:
    """Tree and roles of the prims of a template.

    Args:
        template: The template, or the static part that all environments share.
        plan: Its plan; None for the shared part, which has shapes and materials only.
        shape_row: Rows of the simulated shapes.

    Returns:
        The names.
    """
    names = _spanned(template)
    role = np.zeros(names.count, np.int32)
    numbers = {
        name: np.full(names.count, -1, np.int32)
        for name in ("articulation", "link", "joint", "shape", "material")
    }

    def prims(paths: tuple[str, ...], rows: Array) -> IntArray:
        return np.array([names.index[paths[row]] for row in rows], dtype=np.int32).reshape(-1)

    materials = prims(template.materials.path, np.arange(template.materials.count))
    numbers["material"][materials] = np.arange(template.materials.count)
    role[materials] |= Role.MATERIAL
    shapes = prims(template.shapes.path, shape_row)
    numbers["shape"][shapes] = np.arange(len(shape_row))
    role[shapes] |= Role.SHAPE
    is_static = np.ones(len(shape_row), bool) if plan is None else plan.shape_link < 0
    role[shapes[is_static]] |= Role.STATIC
    if plan is not None:
        _name_bodies(template, plan, role, numbers, prims)
    return PrimNames(names.paths, names.index, names.children, role, **numbers)


def _name_bodies(
    template: Template,
    plan: TemplatePlan,
    role: IntArray,
    numbers: dict[str, IntArray],
    prims: Callable[[tuple[str, ...], Array], IntArray],
) -> None:
    joints = np.flatnonzero(plan.joint_link >= 0)
    prim = prims(template.joints.path, joints)
    numbers["joint"][prim] = joints
    numbers["articulation"][prim] = plan.link_articulation[plan.joint_link[joints]]
    role[prim] |= Role.JOINT
    link = np.flatnonzero(plan.link_body >= 0)  # a base has no prim
    prim = prims(template.bodies.path, plan.link_body[link])
    articulation = plan.link_articulation[link]
    numbers["link"][prim] = link
    numbers["articulation"][prim] = articulation
    is_free = plan.articulation_row[articulation] < 0
    role[prim] |= np.where(is_free, Role.FREE_BODY, Role.LINK).astype(np.int32)
    role[prim[~is_free & (plan.link_parent[link] < 0)]] |= Role.ROOT_LINK
    role[prim[is_free & plan.articulation_fixed[articulation]]] |= Role.KINEMATIC
    # Last: a prim that carries the root schema stands for that articulation, whatever else it is.
    prim = prims(template.articulations.path, np.arange(template.articulations.count))
    numbers["articulation"][prim] = np.arange(len(prim))
    role[prim] |= Role.ARTICULATION
