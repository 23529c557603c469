"""Spatial tendons: trees of points on bodies."""

from __future__ import annotations

from collections import deque

import numpy as np
from pxr import Sdf

from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.coupling_rows import CouplingRows, check_bounds
from tensorphys_usd.errors import StageError
from tensorphys_usd.stage import Reading

_ROOT, _INNER, _LEAF = (
    "PhysxTendonAttachmentRootAPI",
    "PhysxTendonAttachmentAPI",
    "PhysxTendonAttachmentLeafAPI",
)
# Of a tendon of another source format only.
_PLAIN = {"dead_band": 0.0, "friction": 0.0, "armature": 0.0, "hard_limits": False}
# Prim and instance name of an attachment.
_Node = tuple[Sdf.Path, str]


class StageSpatialTendons:
    """All spatial tendons of a stage.

    Attributes:
        spatial_tendons, tendon_attachments: Rows by table.
    """

    def __init__(self, reading: Reading, bodies: StageBodies) -> None:
        self.spatial_tendons = CouplingRows()
        self.tendon_attachments = CouplingRows()
        self._reading = reading
        self._bodies = bodies
        roots: list[_Node] = []
        leaves: set[_Node] = set()
        nodes: dict[_Node, int] = {}
        for path, _ in reading.with_schema("PhysxTendonAttachment"):
            attributes = reading.attributes(path)
            own = attributes.instances(_ROOT)
            roots += [(path, name) for name in own]
            leaves |= {(path, name) for name in attributes.instances(_LEAF)}
            body = bodies.above(path)
            for name in dict.fromkeys((*own, *attributes.instances(_INNER), *attributes.instances(_LEAF))):
                if body < 0:
                    attributes.use_prefix(f"physxTendon:{name}:")
                    reading.report.add(path, f"tendon attachment {name} is on no rigid body: ignored")
                else:
                    nodes[path, name] = body
        children: dict[_Node, list[_Node]] = {}
        for node in nodes:
            if node not in roots:
                children.setdefault(self._parent(node), []).append(node)
        reached: set[_Node] = set()
        for root in roots:
            if root in nodes:
                self._tree(root, nodes, children, leaves, reached)
        for path, name in nodes:
            if (path, name) not in reached:
                reading.attributes(path).use_prefix(f"physxTendon:{name}:")
                reading.report.add(path, f"tendon attachment {name} hangs on no root: ignored")

    def _parent(self, node: _Node) -> _Node:
        path, name = node
        attributes = self._reading.attributes(path)
        targets = attributes.targets(f"physxTendon:{name}:parentLink")
        parent = attributes.token(f"physxTendon:{name}:parentAttachment", "")
        return (targets[0] if targets else Sdf.Path.emptyPath), parent

    def _tree(
        self,
        root: _Node,
        nodes: dict[_Node, int],
        children: dict[_Node, list[_Node]],
        leaves: set[_Node],
        reached: set[_Node],
    ) -> None:
        path, name = root
        attributes = self._reading.attributes(path)
        prefix = f"physxTendon:{name}:"
        numbers = {
            column: attributes.number(prefix + attribute, 0.0)
            for column, attribute in (
                ("stiffness", "stiffness"),
                ("damping", "damping"),
                ("limit_stiffness", "limitStiffness"),
                ("offset", "offset"),
            )
        }
        for column, value in numbers.items():
            if not np.isfinite(value):
                raise StageError(f"{path}: {column} of the spatial tendon {name} is {value}")
        enabled = attributes.flag(f"{prefix}tendonEnabled", True)
        self.spatial_tendons.names.append(name)
        tendon = self.spatial_tendons.add(path, enabled=enabled, **_PLAIN, **numbers)
        queue = deque([(root, -1)])
        while queue:
            node, parent = queue.popleft()
            reached.add(node)
            row = self._attachment(node, nodes[node], tendon, parent, node in leaves)
            queue.extend((child, row) for child in children.get(node, []))

    def _attachment(self, node: _Node, body: int, tendon: int, parent: int, leaf: bool) -> int:
        path, name = node
        attributes = self._reading.attributes(path)
        prefix = f"physxTendon:{name}:"
        authored = attributes.vector(f"{prefix}localPos", (0.0, 0.0, 0.0))
        gearing = attributes.number(f"{prefix}gearing", 1.0)
        if not np.isfinite(gearing):
            raise StageError(f"{path}: gearing of the tendon attachment {name} is {gearing}")
        prim, base = self._reading.frame(path), self._bodies.frames[body]
        point = prim.translation + prim.linear @ authored
        rest = attributes.number(f"{prefix}restLength", float("-inf"))
        lower = attributes.number(f"{prefix}lowerLimit", float("-inf"))
        upper = attributes.number(f"{prefix}upperLimit", float("inf"))
        check_bounds(path, f"the tendon attachment {name}", lower, upper)
        self.tendon_attachments.names.append(name)
        return self.tendon_attachments.add(
            path,
            tendon=tendon,
            body=body,
            parent=parent,
            position=base.rotation.T @ (point - base.translation),
            gearing=gearing,
            leaf=leaf,
            rest_length=rest if leaf and np.isfinite(rest) else float("nan"),
            lower=lower if leaf else float("-inf"),
            upper=upper if leaf else float("inf"),
        )
