"""The output of the contact pipeline, and its scratch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import warp as wp

from .errors import ArrayError
from .model import Model

_SLOT_FIELDS: Final[dict[str, Any]] = {
    "shape0": wp.int32,
    "shape1": wp.int32,
    "body0": wp.int32,
    "body1": wp.int32,
    "anchor0": wp.vec3,
    "anchor1": wp.vec3,
    "normal": wp.vec3,
    "separation": wp.float32,
    "rest_distance": wp.float32,
    "key": wp.int64,
    "static_friction": wp.float32,
    "dynamic_friction": wp.float32,
    "restitution": wp.float32,
    "stiffness": wp.float32,
    "damping": wp.float32,
    "spring_per_mass": wp.int32,
    "patch_radius": wp.float32,
    "least_patch_radius": wp.float32,
    "torsional_friction": wp.float32,
}
PATCH_FIELDS: Final = ("patch_radius", "least_patch_radius", "torsional_friction")
SLOT_BYTES: Final = 4 + sum(wp.types.type_size_in_bytes(dtype) for dtype in _SLOT_FIELDS.values())
"""Bytes of one contact in all arrays of :class:`Contacts`."""


@dataclasses.dataclass
class Manifolds:
    """Scratch of the narrow phase: fixed slots of each pair, see ``Model.slot_start``.

    Attributes:
        bound: vec4 [rows of ``Model.local_pose``], bounding sphere or plane of each shape
            as its environment sees it, in this step.
        count: int32 [P], contact points of each pair in this step.
        anchor: vec3 [2 × slots], anchor on shape 0 then on shape 1 of each slot.
        normal: vec3 [slots].
        separation: float [slots].
        feature: int32 [slots], ascending inside a pair.
        target: int32 [slots], where the compaction puts the slot, −1 dropped.
        chunk_target: int32 [chunks], first target of each chunk of pairs.
        near: int32 [P], pairs of one family that need a closer look, in any order.
        near_count: int32 [2], their number, for boxes and for convex shapes.
    """

    bound: wp.array[wp.vec4]
    count: wp.array[wp.int32]
    anchor: wp.array[wp.vec3]
    normal: wp.array[wp.vec3]
    separation: wp.array[wp.float32]
    feature: wp.array[wp.int32]
    target: wp.array[wp.int32]
    chunk_target: wp.array[wp.int32]
    near: wp.array[wp.int32]
    near_count: wp.array[wp.int32]


@dataclasses.dataclass
class Contacts:
    """Contacts of one step. Environment e owns slots ``slot_start[e] .. slot_start[e+1]``,
    of which the first ``count[e]`` are in use; the others hold leftovers.

    Slots are ordered by (pair, feature). Lengths are stage lengths.

    Attributes:
        capacity: Number of slots of all environments.
        slot_start: int32 [E + 1].
        count: int32 [E].
        required: int32 [E], largest number of contacts that a step wanted, sticky.
        overflow: int32 [E], 1 once contacts were dropped, sticky.
        shape0, shape1: int32 [capacity], flat shapes, ``shape0 < shape1``.
        body0, body1: int32 [capacity], flat bodies, −1 static.
        anchor0, anchor1: vec3, points on the surface of each shape, in its body frame
            (environment frame if static).
        normal: vec3, unit, environment frame, from shape 1 to shape 0.
        separation: float, ``normal · (p0 − p1)``, negative where shapes penetrate; of a swept pair the way that is
            left until the touch, along the velocity of the contact.
        rest_distance: float, sum of the two rest offsets; of a swept pair ``normal · (p0 − p1)`` less what is left
            until it rests.
        key: int64, (pair index in the environment << 32) | feature.
        static_friction, dynamic_friction, restitution: float, combined; no restitution where there is a stiffness.
        stiffness, damping: float, combined spring of a compliant contact, 0 where it is rigid.
        spring_per_mass: int32, 1 where that spring acts per unit of the mass that the contact moves.
        patch_radius, least_patch_radius, torsional_friction: float, the larger one of both shapes; empty where the model
            was built without any.
        environment: int32 [capacity].
        manifolds: Scratch.
    """

    capacity: int
    slot_start: wp.array[wp.int32]
    count: wp.array[wp.int32]
    required: wp.array[wp.int32]
    overflow: wp.array[wp.int32]
    shape0: wp.array[wp.int32]
    shape1: wp.array[wp.int32]
    body0: wp.array[wp.int32]
    body1: wp.array[wp.int32]
    anchor0: wp.array[wp.vec3]
    anchor1: wp.array[wp.vec3]
    normal: wp.array[wp.vec3]
    separation: wp.array[wp.float32]
    rest_distance: wp.array[wp.float32]
    key: wp.array[wp.int64]
    static_friction: wp.array[wp.float32]
    dynamic_friction: wp.array[wp.float32]
    restitution: wp.array[wp.float32]
    stiffness: wp.array[wp.float32]
    damping: wp.array[wp.float32]
    spring_per_mass: wp.array[wp.int32]
    patch_radius: wp.array[wp.float32]
    least_patch_radius: wp.array[wp.float32]
    torsional_friction: wp.array[wp.float32]
    environment: wp.array[wp.int32]
    manifolds: Manifolds


def create_contacts(
    model: Model, *, byte_budget: int | None = None, capacity: npt.ArrayLike | None = None
) -> Contacts:
    """Allocate the contacts of a model.

    Without a budget every environment gets a slot for each possible contact of its
    candidate pairs, and overflow is impossible. A smaller budget is shared among the
    environments in proportion to what each could need; where it does not suffice in a
    step, the deepest contacts are kept and ``overflow`` is set.

    Args:
        model: Shapes and pairs.
        byte_budget: Largest size of the contact arrays [byte].
        capacity: Slots of each environment instead, shape [E]; see :func:`settle_overflow` for what happens where
            they do not suffice.

    Returns:
        Contacts with zero counts.

    Raises:
        ArrayError: capacities of another number of environments, or negative ones.
    """
    wanted = model.environment_capacity
    if capacity is not None:
        wanted = np.asarray(capacity, dtype=np.int64)
        if wanted.shape != (model.environment_count,) or (wanted < 0).any():
            raise ArrayError(
                f"capacity: expected {model.environment_count} numbers of at least 0, given {capacity}"
            )
    total = int(wanted.sum())
    if byte_budget is not None and total * SLOT_BYTES > byte_budget:
        share = max(byte_budget // SLOT_BYTES, 0) / max(total, 1)
        wanted = np.minimum(wanted, np.floor(wanted * share).astype(np.int64))
    start = np.concatenate([[0], np.cumsum(wanted)]).astype(np.int32)
    device = model.device
    total_slots = int(start[-1])

    def zeros(count: int, dtype: Any) -> Any:
        return wp.zeros(count, dtype=dtype, device=device)

    environment: npt.NDArray[np.int32] = np.repeat(
        np.arange(model.environment_count, dtype=np.int32), np.diff(start)
    )
    return Contacts(
        capacity=total_slots,
        slot_start=wp.array(start, dtype=wp.int32, device=device),
        count=zeros(model.environment_count, wp.int32),
        required=zeros(model.environment_count, wp.int32),
        overflow=zeros(model.environment_count, wp.int32),
        environment=wp.array(environment, dtype=wp.int32, device=device),
        manifolds=_manifolds(model, zeros),
        **{
            name: zeros(0 if name in PATCH_FIELDS and not model.has_patches else total_slots, dtype)
            for name, dtype in _SLOT_FIELDS.items()
        },
    )


def _manifolds(model: Model, zeros: Callable[[int, Any], Any]) -> Manifolds:
    total = int(model.environment_capacity.sum())
    return Manifolds(
        bound=zeros(len(model.row_shape), wp.vec4),
        count=zeros(model.pair_count, wp.int32),
        anchor=zeros(2 * total, wp.vec3),
        normal=zeros(total, wp.vec3),
        separation=zeros(total, wp.float32),
        feature=zeros(total, wp.int32),
        target=zeros(total, wp.int32),
        chunk_target=zeros(0 if model.chunk_pair is None else len(model.chunk_pair) - 1, wp.int32),
        near=zeros(model.pair_count if model.filtered else 0, wp.int32),
        near_count=zeros(2, wp.int32),
    )
