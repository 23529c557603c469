"""Pairs of colliders that never collide."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf, UsdPhysics

from tensorphys_usd.articulations import StageArticulations
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.joints import StageJoints
from tensorphys_usd.settings import scene_path
from tensorphys_usd.shapes import StageShapes
from tensorphys_usd.stage import Reading

Pairs = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]

_NO_ROWS: Rows = np.zeros(0, np.int64)


def _product(first: Rows, second: Rows) -> Pairs:
    """All pairs of two sets of rows."""
    return np.stack((np.repeat(first, len(second)), np.tile(second, len(first))), axis=1)


class _Filters:
    """Filters of one stage."""

    def __init__(
        self,
        reading: Reading,
        descriptors: Descriptors,
        bodies: StageBodies,
        shapes: StageShapes,
        joints: StageJoints,
        articulations: StageArticulations,
    ) -> None:
        self._reading = reading
        self._descriptors = descriptors
        self._bodies = bodies
        self._shapes = shapes
        self._joints = joints
        self._articulations = articulations
        self._shape_rows: dict[Sdf.Path, list[int]] = {}
        for row, path in enumerate(shapes.paths):
            self._shape_rows.setdefault(path, []).append(row)
        grouped: dict[int, list[int]] = {}
        for shape, body in enumerate(shapes.bodies):
            grouped.setdefault(body, []).append(shape)
        self._of_body = {body: np.array(rows, np.int64) for body, rows in grouped.items()}
        self._tree_of_path = {tree.path: tree for tree in articulations.trees}

    def body(self, row: int) -> Rows:
        """Shapes of a body."""
        return self._of_body.get(row, _NO_ROWS)

    def authored(self) -> list[Pairs]:
        """Pairs of `PhysicsFilteredPairsAPI`."""
        pairs = []
        rows = [*self._descriptors.bodies, *self._descriptors.shapes, *self._descriptors.articulations]
        for path, descriptor in rows:
            for target in descriptor.filteredCollisions:
                pairs.append(_product(self._under(path), self._filtered(path, target)))
        return pairs

    def _filtered(self, owner: Sdf.Path, target: Sdf.Path) -> Rows:
        rows = self._under(target)
        if not rows.size:
            self._reading.report.add(
                owner, f"physics:filteredPairs names {target}, which has no collider: ignored"
            )
        return rows

    def _under(self, path: Sdf.Path) -> Rows:
        if path in self._shape_rows:
            return np.array(self._shape_rows[path], np.int64)
        tree = self._tree_of_path.get(path)
        if tree is not None:
            return np.concatenate([self.body(link.body) for link in tree.links])
        if path in self._bodies.row:
            return self.body(self._bodies.row[path])
        return _NO_ROWS

    def groups(self) -> list[Pairs]:
        """Pairs of collision groups that filter each other."""
        if not self._descriptors.groups:
            return []
        for path, _ in self._descriptors.groups:
            self._reading.attributes(path).use_prefix("physics:")
        table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(self._reading.stage)
        scene = scene_path(self._descriptors)
        inverted = scene is not None and self._reading.attributes(scene).flag(
            "physxScene:invertCollisionGroupFilter", False
        )
        members: dict[tuple[Any, ...], list[int]] = {}
        for row, descriptor in enumerate(self._shapes.descriptors):
            members.setdefault(tuple(descriptor.collisionGroups), []).append(row)
        sets = [(groups, np.array(rows, np.int64)) for groups, rows in members.items()]
        pairs = []
        for index, (groups, rows) in enumerate(sets):
            for others, other_rows in sets[index:]:
                # Inverted, groups collide only where one lists the other; the table says which do not collide.
                if any(table.IsCollisionEnabled(a, b) == inverted for a in groups for b in others):
                    pairs.append(_product(rows, other_rows))
        return pairs

    def bits(self) -> list[Pairs]:
        """Pairs of colliders whose MuJoCo bit masks let neither see the other; without masks all bits are 1."""
        masks: dict[tuple[int, int], list[int]] = {}
        for row, path in enumerate(self._shapes.paths):
            attributes = self._reading.attributes(path)
            mask = attributes.integer("mjc:contype", 1), attributes.integer("mjc:conaffinity", 1)
            masks.setdefault(mask, []).append(row)
        if masks.keys() <= {(1, 1)}:
            return []
        sets = [(mask, np.array(rows, np.int64)) for mask, rows in masks.items()]
        return [
            _product(rows, other_rows)
            for index, (mask, rows) in enumerate(sets)
            for other, other_rows in sets[index:]
            if not (mask[0] & other[1] or other[0] & mask[1])
        ]

    def joined(self) -> list[Pairs]:
        """Pairs of bodies that a joint keeps from colliding; inside a tree that is every link and its parent."""
        pairs = []
        in_tree: set[int] = set()
        for tree in self._articulations.trees:
            for link in tree.links:
                in_tree.update(link.joints)
                if link.parent >= 0:
                    pairs.append(_product(self.body(link.body), self.body(tree.links[link.parent].body)))
            if not tree.settings["self_collisions"]:
                everything = np.concatenate([self.body(link.body) for link in tree.links])
                pairs.append(_product(everything, everything))
        columns = self._joints.columns
        for joint in range(self._joints.count):
            body0, body1 = self._joints.body0[joint], self._joints.body1[joint]
            collides = columns["collision_enabled"][joint] or not columns["enabled"][joint]
            if joint in in_tree or collides or body0 < 0 or body1 < 0:
                continue
            pairs.append(_product(self.body(body0), self.body(body1)))
        return pairs


def filtered_pairs(
    reading: Reading,
    descriptors: Descriptors,
    bodies: StageBodies,
    shapes: StageShapes,
    joints: StageJoints,
    articulations: StageArticulations,
) -> Pairs:
    """Pairs of shape rows that never collide, each once, the smaller row first, sorted; shape [pair_count, 2].

    Two shapes of one body and two static shapes never collide anyway and are left out.
    """
    filters = _Filters(reading, descriptors, bodies, shapes, joints, articulations)
    found = [*filters.authored(), *filters.groups(), *filters.bits(), *filters.joined()]
    if not found:
        return np.zeros((0, 2), np.int64)
    pairs = np.sort(np.concatenate(found), axis=1)
    body = np.array(shapes.bodies, np.int64)
    pairs = pairs[(body[pairs[:, 0]] != body[pairs[:, 1]])] if pairs.size else pairs.reshape(0, 2)
    return np.unique(pairs, axis=0)
