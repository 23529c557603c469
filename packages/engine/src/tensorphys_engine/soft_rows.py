"""Rows of the nodes of deformables: arrays."""

from __future__ import annotations

from typing import Any

import warp as wp

from tensorphys_engine._kernels import soft_structs

# Shapes that a node can meet at once; one row more is for another deformable, one for its attachment.
SHAPE_ROWS = 3
ROWS = SHAPE_ROWS + 2

_BY_NODE = {"count": wp.int32, "previous_count": wp.int32}
_BY_ROW = {
    "normal": wp.vec3,
    "offset": wp.vec3,
    "multiplier": wp.vec3,
    "stiffness": wp.vec2,
    "bound": wp.float32,
    "force": wp.vec3,
    "key": wp.int32,
    "end": wp.int32,
    "point": wp.vec3,
    "gap": wp.vec3,
    "friction": wp.float32,
    "previous_key": wp.int32,
    "previous_force": wp.vec3,
}


class SoftRows:
    """Contacts and attachments of N nodes in a substep, at most :data:`ROWS` a node.

    Has the structure of ``tensorphys_fem.NodeRows``, and beside it what the engine knows of each row.

    Attributes:
        count, normal, offset, multiplier, stiffness, bound, force, counterforce: As the protocol has them.
        key: What a row is matched by from one substep to the next: the flat shape, from 2²⁹ on the other deformable,
            2³⁰ the attachment; int32 [N, ROWS].
        end: Flat link at the far end, −1 for what never moves, −2 for a triangle of a deformable; int32 [N, ROWS].
        point: Where a row ends at the start of the substep, environment frame [length], vec3 [N, ROWS].
        gap: Distance along the normal at the start, of attachments in all directions [length], vec3 [N, ROWS].
        friction: Coefficient, −1 for attachments, float32 [N, ROWS].
        previous_count, previous_key, previous_force: What the next substep starts from.
    """

    count: Any
    normal: Any
    offset: Any
    multiplier: Any
    stiffness: Any
    bound: Any
    force: Any
    counterforce: Any
    key: Any
    end: Any
    point: Any
    gap: Any
    friction: Any
    previous_count: Any
    previous_key: Any
    previous_force: Any

    def __init__(self, node_count: int, device: Any) -> None:
        self.data = soft_structs.Rows()
        for names, shape in ((_BY_NODE, node_count), (_BY_ROW, (node_count, ROWS))):
            for name, dtype in names.items():
                array = wp.zeros(shape, dtype=dtype, device=device)
                setattr(self, name, array)
                setattr(self.data, name, array)
        self.counterforce = wp.zeros(node_count, dtype=wp.vec3, device=device)

    def warm_start(self) -> dict[str, Any]:
        """Arrays that the next step reads."""
        names = ("previous_count", "previous_key", "previous_force")
        return {name: getattr(self, name) for name in names}
