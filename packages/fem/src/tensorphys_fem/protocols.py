"""What this package consumes: contacts and attachments, as rows beside each node."""

from __future__ import annotations

from typing import Protocol

import warp as wp

from tensorphys_fem.errors import ModelError
from tensorphys_fem.model import FemModel


class NodeRows(Protocol):
    """Constraints of single nodes that act inside of the implicit solve; at most C rows a node.

    With the increment u of a node over the step, a row exerts the force

        f = P(multiplier − K (offset + u)),   K = k_n n nᵀ + k_t (1 − n nᵀ)

    on it: the step of an augmented Lagrangian [Simo & Laursen 1992]. P makes the normal part not negative and the
    tangential part not longer than ``bound``; a negative bound stands for a row that holds in both senses, without P.
    Whoever owns the rows puts the force of one solve into the multiplier of the next: where both agree, the constraint
    holds whatever the stiffness is. All arrays are on the device of the model and stay the same objects.

    Attributes:
        count: Rows of each node, int32 ``[N]``.
        normal: Unit direction that pushes the node off, vec3 ``[N, C]``.
        offset: Violation at a zero increment [m], environment axes: normal part the gap at the end of the step if the
            node stayed, tangential part less the slip of the obstacle in the step, vec3 ``[N, C]``.
        multiplier: Force that is expected [N], vec3 ``[N, C]``.
        stiffness: Along and across the normal [N/m], vec2 ``[N, C]``.
        bound: Largest tangential force [N], negative without any bound, float32 ``[N, C]``.
        counterforce: Forces on nodes from rows of other nodes [N], constant in a solve, vec3 ``[N]``.
        force: Written at the end of each solve: force of each row on its node [N], vec3 ``[N, C]``.
    """

    count: wp.array
    normal: wp.array
    offset: wp.array
    multiplier: wp.array
    stiffness: wp.array
    bound: wp.array
    counterforce: wp.array
    force: wp.array


ROW_FIELDS: dict[str, type] = {
    "count": wp.int32,
    "normal": wp.vec3,
    "offset": wp.vec3,
    "multiplier": wp.vec3,
    "stiffness": wp.vec2,
    "bound": wp.float32,
    "counterforce": wp.vec3,
    "force": wp.vec3,
}
"""Arrays of :class:`NodeRows` and their types."""


class NoRows:
    """No constraints; satisfies :class:`NodeRows`."""

    count: wp.array
    normal: wp.array
    offset: wp.array
    multiplier: wp.array
    stiffness: wp.array
    bound: wp.array
    counterforce: wp.array
    force: wp.array

    def __init__(self, model: FemModel) -> None:
        for name, dtype in ROW_FIELDS.items():
            shape: int | tuple[int, int] = model.node_count if name in ("count", "counterforce") else (1, 1)
            setattr(self, name, wp.zeros(shape, dtype=dtype, device=model.device))


def check_rows(rows: NodeRows, model: FemModel) -> None:
    """Refuse rows of another shape, type or device.

    Raises:
        ModelError: The message names the array.
    """
    width = rows.normal.shape[1] if rows.normal.ndim == 2 else 0
    for name, dtype in ROW_FIELDS.items():
        array = getattr(rows, name)
        shape = (model.node_count,) if name in ("count", "counterforce") else (model.node_count, width)
        if array.dtype is not dtype or array.shape != shape or array.device != model.device:
            raise ModelError(
                f"rows.{name}: expected {dtype.__name__}{list(shape)} on {model.device}, "
                f"got {array.dtype.__name__}{list(array.shape)} on {array.device}"
            )
