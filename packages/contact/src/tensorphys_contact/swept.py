"""Continuous collision detection: contacts where fast bodies first touch something in a step."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._kernels import swept as kernels
from ._kernels import swept_mesh, swept_pair
from .contacts import Contacts
from .errors import ArrayError
from .model import Model
from .queries import shape_arrays
from .shapes import PairFamily

_EXTENTS = (
    "shape_center",
    "shape_radius",
    "shape_half",
    "rest_offset",
    "shape_fold",
    "triangle_fold",
    "triangle_neighbour",
)
_MANIFOLD = ("count", "anchor", "normal", "separation", "feature")


@dataclasses.dataclass
class SweptPairs:
    """Pairs of which one body asks for continuous collision detection; made by :func:`create_swept_pairs`.

    :func:`collide` sweeps such pairs from the given poses along ``body_motion``. A pair that cannot come nearer in the step than its
    contact offsets allow for keeps its contacts, and so does one that touches already; of the others, those that meet have the
    contacts of the first touch, those that do not have none. Pairs with a signed distance field or a set of
    spheres are not swept.

    Attributes:
        family_pairs: Pairs by kernel family, int32; those of all bodies where the model searches its pairs.
        body_com: vec3 [B], centre of mass in the body frame [length].
        body_motion: spatial_vector [B], way of the centre of mass in the step [length] and rotation vector [rad],
            environment axes; written by the caller before :func:`collide` and before :func:`hold_swept`.
        body_swept: int32 [B], 1 where a body asks.
        body_time: float [B], part of its motion after which a body was at a surface that it went through, else 1;
            written by :func:`hold_swept`.
        offset: float [S], contact offsets that tell slow from fast [length].
        fate: int32 [P], scratch.
        arrays: What kernels read.
    """

    family_pairs: dict[PairFamily, wp.array[wp.int32]]
    body_com: wp.array[wp.vec3]
    body_motion: wp.array[wp.spatial_vector]
    body_swept: wp.array[wp.int32]
    body_time: wp.array[wp.float32]
    offset: wp.array[wp.float32]
    fate: wp.array[wp.int32]
    arrays: tuple[Any, Any]


def create_swept_pairs(
    model: Model,
    *,
    body_swept: npt.ArrayLike,
    body_com: wp.array[wp.vec3],
    offset: wp.array[wp.float32] | None = None,
) -> SweptPairs:
    """Find the pairs of bodies that ask for continuous collision detection.

    To be called again after the pairs of a model have grown.

    Args:
        model: Shapes and pairs.
        body_swept: Whether each body asks, shape [B].
        body_com: Centres of mass [length], shape [B]; kept.
        offset: Contact offsets of shapes [length], shape [S], where those of the model hold something else, too; kept.

    Raises:
        ArrayError: an array of another length or device.
    """
    asked = np.asarray(body_swept, dtype=bool)
    given = model.contact_offset if offset is None else offset
    for name, length, wanted in (
        ("body_swept", len(asked), model.body_count),
        ("body_com", len(body_com), model.body_count),
        ("offset", len(given), model.shape_count),
    ):
        if length < wanted:
            raise ArrayError(f"{name}: expected {wanted} values, given {length}")
    if body_com.device != model.device or given.device != model.device:
        raise ArrayError(f"body_com and offset must be on {model.device}")
    body = model.shape_body.numpy()
    of_shape = np.append(asked, False)[body]
    pairs: dict[PairFamily, Any] = dict(model.family_pairs)
    pairs.pop(PairFamily.SAMPLED, None)
    if model.search is None:
        wanted_pairs = of_shape[model.pair_shape0.numpy()] | of_shape[model.pair_shape1.numpy()]
        members = {family: array.numpy() for family, array in pairs.items()}
        pairs = {
            family: wp.array(rows[wanted_pairs[rows]], dtype=wp.int32, device=model.device)
            for family, rows in members.items()
            if wanted_pairs[rows].any()
        }
    extents = swept_pair.Extents()
    for name in _EXTENTS:
        setattr(extents, name, getattr(model, name))
    count = len(asked)

    def zeros(length: int, dtype: Any) -> Any:
        return wp.zeros(length, dtype=dtype, device=model.device)

    return SweptPairs(
        family_pairs=pairs,
        body_com=body_com,
        body_motion=zeros(count, wp.spatial_vector),
        body_swept=wp.array(asked, dtype=wp.int32, device=model.device),
        body_time=wp.ones(count, dtype=wp.float32, device=model.device),
        offset=given,
        fate=zeros(model.pair_count, wp.int32),
        arrays=(shape_arrays(model), extents),
    )


def _bodies(swept: SweptPairs, body_pose: Any) -> Any:
    bodies = swept_pair.Bodies()
    bodies.pose, bodies.com, bodies.motion = body_pose, swept.body_com, swept.body_motion
    bodies.swept, bodies.offset = swept.body_swept, swept.offset
    return bodies


def _sweep(model: Model, swept: SweptPairs, body_pose: Any, contacts: Contacts, *, made: int) -> None:
    manifold = swept_pair.Manifold()
    for name in _MANIFOLD:
        setattr(manifold, name, getattr(contacts.manifolds, name))
    bodies = _bodies(swept, body_pose)
    for family, members in swept.family_pairs.items():
        wp.launch(
            swept_mesh.sweep_meshes if family == PairFamily.MESH else kernels.sweep_convex,
            dim=len(members),
            inputs=[members, model.pair_item, model.slot_start, *swept.arrays, bodies, made],
            outputs=[manifold, swept.fate, swept.body_time],
            device=model.device,
            block_dim=128,
        )


def sweep_pairs(
    model: Model, swept: SweptPairs, body_pose: wp.array[wp.transform], contacts: Contacts
) -> None:
    """Put the manifolds of first touches in place of those of the start; called by :func:`collide`."""
    if len(swept.fate) != model.pair_count:
        raise ArrayError("the swept pairs were made before the pairs of the model grew")
    _sweep(model, swept, body_pose, contacts, made=0)


def fit_swept(model: Model, swept: SweptPairs, body_pose: wp.array[wp.transform], contacts: Contacts) -> None:
    """Make the distances of rest of swept contacts those that vanish at the touch; called by :func:`collide`."""
    names = ("body0", "body1", "anchor0", "anchor1", "normal", "separation")
    for members in swept.family_pairs.values():
        wp.launch(
            kernels.fit_rest_distances,
            dim=len(members),
            inputs=[
                members,
                model.slot_start,
                swept.fate,
                contacts.manifolds.count,
                contacts.manifolds.target,
                body_pose,
                *(getattr(contacts, name) for name in names),
            ],
            outputs=[contacts.rest_distance],
            device=model.device,
        )


def hold_swept(
    model: Model, swept: SweptPairs, body_pose: wp.array[wp.transform], contacts: Contacts
) -> None:
    """Find how far bodies may go along ``body_motion`` before they are through a surface, after a step.

    The contacts of a step follow the motion of its start. Where a body rebounds and meets something else in the same
    step, ``body_time`` tells the part of its way after which it was there. Nothing is allocated or waited for.

    Args:
        model: Shapes and pairs.
        swept: Of the last :func:`collide`, with the motion that the bodies have made.
        body_pose: Poses at the start of the step.
        contacts: Of that :func:`collide`.
    """
    swept.body_time.fill_(1.0)
    _sweep(model, swept, body_pose, contacts, made=1)
