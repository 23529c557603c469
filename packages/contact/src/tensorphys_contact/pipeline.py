"""The device call: poses in, contacts out."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import warp as wp

from ._kernels import (
    box_box,
    compaction,
    convex,
    environments,
    gather,
    mesh,
    near,
    plane,
    rounded,
    rounded_box,
)
from .contacts import Contacts, Manifolds
from .errors import ArrayError
from .model import Model
from .pair_search import find_pairs
from .sampled_pairs import collide_sampled
from .shapes import SIMPLE_FAMILIES, PairFamily
from .swept import SweptPairs, fit_swept, sweep_pairs

_CONVEX_ARRAYS: Final = (
    "shape_type",
    "shape_radius",
    "shape_vertices",
    "shape_faces",
    "hull_vertex",
    "face_range",
    "face_normal",
    "face_vertex",
)
_BOXES: Final = ("shape_center", "shape_half")
_FAMILIES: Final[dict[PairFamily, tuple[ModuleType, str, tuple[str, ...]]]] = {
    PairFamily.PLANE: (plane, "collide_planes", ()),
    PairFamily.ROUND: (rounded, "collide_rounded", ()),
    PairFamily.ROUND_BOX: (rounded_box, "collide_rounded_boxes", ()),
    PairFamily.BOX_BOX: (box_box, "collide_boxes", _BOXES),
    PairFamily.CONVEX: (convex, "collide_convex", (*_BOXES, *_CONVEX_ARRAYS)),
    PairFamily.MESH: (
        mesh,
        "collide_meshes",
        (*_CONVEX_ARRAYS, "shape_mesh", "shape_fold", "triangle_fold", "triangle_neighbour"),
    ),
}
"""Module and kernel of each family, and the arrays of the model that it alone reads, beside ``World`` for simple shapes."""


def _family_kernel(family: PairFamily) -> Any:
    """Kernel of a family; its module is loaded now."""
    module, name, _ = _FAMILIES[family]
    return getattr(module, name)


# Families with a test of their own for far pairs, and the place of the number of their near ones.
_NEAR: Final = {PairFamily.BOX_BOX: 0, PairFamily.CONVEX: 1}
# Pairs of a family for each thread that walks through the near ones, and the least number of these threads.
_SHARE, _LEAST_THREADS = 8, 2**14


def collide(
    model: Model,
    body_pose: wp.array[wp.transform],
    contacts: Contacts,
    *,
    margin: wp.array[wp.float32] | None = None,
    motion: tuple[wp.array[wp.spatial_vector], wp.array[wp.float32]] | None = None,
    swept: SweptPairs | None = None,
) -> None:
    """Find all contacts nearer than the sum of the two contact offsets and the margin.

    Launches one kernel for the bounds, one for each family of shape pairs that the model
    has (two for those with signed distance fields or sets of spheres, four on a GPU; two for many pairs of boxes or of
    convex shapes on a GPU), and two for the compaction (four where an environment has more than 512 pairs); a
    model that searches its pairs adds five and a sort. On a CPU the pairs of spheres and capsules, and of planes and
    boxes with them, and the compaction are one kernel where no environment is that large. It allocates nothing and never waits, so it can be captured. Results
    do not depend on the order of threads.

    Args:
        model: Shapes and pairs.
        body_pose: Poses of the body origins, environment frame, ``[x y z, qx qy qz qw]``
            with unit quaternions, shape [body_count].
        contacts: Overwritten; made by :func:`create_contacts` for this model.
        margin: Added distance of each environment [length], shape [E].
        motion: How bodies move in the step, translation of the point at the origin of the environment and turn
            [length, rad], shape [body_count]; and least margins of environments [length], shape [E]. Pairs of boxes and
            of convex shapes then have smaller margins: what their bodies move relative to each other, and the least one.
        swept: Pairs with continuous collision detection, their motion written; two launches more a family. The
            margin must cover the motion.

    Raises:
        ArrayError: an array with a wrong dtype, length or device.
    """
    _check(model, body_pose, contacts, margin)
    extra = model.no_margin if margin is None else margin
    manifolds = contacts.manifolds
    at_once = swept is None and whole_environments(model)
    if not (at_once and is_simple(model)):
        bound_rows(model, manifolds, extra, body_pose, 0, len(model.row_shape))
    if model.filtered:
        manifolds.near_count.zero_()
    if model.search is not None:
        find_pairs(model, model.search, body_pose, extra, contacts)
    for family, members in model.family_pairs.items():
        if family == PairFamily.SAMPLED and model.sampled is not None:
            collide_sampled(model, model.sampled, members, manifolds, extra, body_pose)
        elif not (at_once and family in SIMPLE_FAMILIES):
            collide_family(model, manifolds, family, members, extra, body_pose, motion)
    if at_once:
        collide_environments(model, contacts, 0, model.environment_count, extra, body_pose, model.spare)
        return
    if swept is not None:
        sweep_pairs(model, swept, body_pose, contacts)
    _assign_targets(model, contacts)
    wp.launch(
        compaction.write_contacts,
        dim=model.pair_count,
        inputs=_write_inputs(model, contacts),
        outputs=[_filled(compaction.Slots, contacts)],
        device=model.device,
    )
    if swept is not None:
        fit_swept(model, swept, body_pose, contacts)


def whole_environments(model: Model) -> bool:
    """Whether one thread collides the simple pairs of an environment and writes all of its contacts: on CPUs."""
    return bool(model.device.is_cpu) and model.chunk_pair is None and model.search is None


def is_simple(model: Model) -> bool:
    """Whether all pairs are of simple shapes."""
    return set(SIMPLE_FAMILIES).issuperset(model.family_pairs)


def _environment_kernel(model: Model) -> Any:
    """Kernel of the simple pairs of all environments."""
    others = set(SIMPLE_FAMILIES) - {PairFamily.PLANE}
    return environments.environment_kernel(planes_alone=others.isdisjoint(model.family_pairs))


def collide_kernels(model: Model) -> list[Any]:
    """Kernels that :func:`collide` launches for a model without swept pairs, for compiling them side by side before the
    first call; those of samples and of the search for pairs are left out.
    """
    whole = whole_environments(model)
    own = [f for f in model.family_pairs if f in _FAMILIES and not (whole and f in SIMPLE_FAMILIES)]
    kernels = [_family_kernel(family) for family in own]
    if model.filtered:
        kernels.append(near.gather_near)
    if not (whole and is_simple(model)):
        kernels.append(gather.bound_shapes)
    return [_environment_kernel(model) if whole else compaction.write_contacts, *kernels]


def collide_launch_count(model: Model, *, swept: bool = False) -> int:
    """Number of kernels that :func:`collide` launches for a model of given pairs without samples, but those for swept
    pairs; a search for pairs comes on top.

    Args:
        model: Shapes and pairs.
        swept: Whether it is called with swept pairs.
    """
    families = len(model.family_pairs) + len(model.filtered)
    if not swept and whole_environments(model):
        others = families - len([family for family in model.family_pairs if family in SIMPLE_FAMILIES])
        return 1 + others + (not is_simple(model))
    return 1 + families + (2 if model.chunk_pair is None else 4)


def bound_rows(
    model: Model, manifolds: Manifolds, extra: wp.array, body_pose: wp.array, first: int, end: int
) -> None:
    """Bound the shapes of some rows of ``local_pose``."""
    wp.launch(
        gather.bound_shapes,
        dim=end - first,
        inputs=[
            part(model.row_shape, first, end),
            part(model.row_environment, first, end),
            model.shape_type,
            model.shape_body,
            model.shape_center,
            model.shape_radius,
            part(model.local_pose, first, end),
            model.contact_offset,
            extra,
            body_pose,
        ],
        outputs=[part(manifolds.bound, first, end)],
        device=model.device,
    )


def part(array: wp.array, first: int, end: int) -> wp.array:
    """Rows of an array, sharing its memory; the array itself if these are all, as no array of Warp is cut to nothing."""
    return array if first == 0 and end == len(array) else array[first:end]


def collide_family(
    model: Model,
    manifolds: Manifolds,
    family: PairFamily,
    members: wp.array,
    extra: wp.array,
    body_pose: wp.array,
    motion: tuple[wp.array, wp.array] | None = None,
) -> None:
    """Fill the manifolds of some pairs of one family, which is none of samples."""
    if family in SIMPLE_FAMILIES:
        wp.launch(
            _family_kernel(family),
            dim=len(members),
            inputs=[members, manifolds.bound, _world(model, extra, body_pose)],
            outputs=[_filled(gather.Points, manifolds)],
            device=model.device,
        )
        return
    moved = (model.no_motion, model.no_margin) if motion is None else motion
    names = _FAMILIES[family][2]
    walk: list[Any] = []
    threads = len(members)
    if family in _NEAR:
        walk = [manifolds.near_count, -1, threads]
        if family in model.filtered:
            gather_near(model, manifolds, family, members, extra, body_pose, moved)
            members = manifolds.near
            threads = max(threads // _SHARE, _LEAST_THREADS)
            walk = [manifolds.near_count, _NEAR[family], threads]
    wp.launch(
        _family_kernel(family),
        dim=threads,
        inputs=[
            members,
            *walk,
            manifolds.bound,
            *_pair_inputs(model),
            extra,
            body_pose,
            *(moved if family in _NEAR else ()),
            *(getattr(model, name) for name in names),
        ],
        outputs=_manifold_outputs(manifolds),
        device=model.device,
    )


def gather_near(
    model: Model,
    manifolds: Manifolds,
    family: PairFamily,
    members: wp.array,
    extra: wp.array,
    body_pose: wp.array,
    motion: tuple[wp.array, wp.array],
) -> None:
    """Pick the near pairs of a family into ``manifolds.near``; the others have no contacts."""
    wp.launch(
        near.gather_near,
        dim=len(members),
        inputs=[
            members,
            _NEAR[family],
            manifolds.bound,
            model.pair_item,
            model.pair_environment,
            model.shape_body,
            model.shape_center,
            model.shape_half,
            model.local_pose,
            model.contact_offset,
            extra,
            *motion,
            body_pose,
        ],
        outputs=[manifolds.count, manifolds.near, manifolds.near_count],
        device=model.device,
    )


def collide_environments(
    model: Model,
    contacts: Contacts,
    first: int,
    end: int,
    extra: wp.array,
    body_pose: wp.array,
    spare: tuple[int, int],
) -> None:
    """Collide the simple pairs of environments from one to the one before another, of few pairs each, and write all of
    their contacts. Where there are no other pairs, shapes are bounded, too.
    """
    totals = (contacts.count, contacts.required, contacts.overflow)
    pairs, points, surfaces = _write_inputs(model, contacts)
    wp.launch(
        _environment_kernel(model),
        dim=end - first,
        inputs=[
            first,
            *spare,
            part(model.environment_row_start, first, end + 1),
            model.environment_rows if is_simple(model) else None,
            part(model.pair_start, first, end + 1),
            part(contacts.slot_start, first, end + 1),
            model.pair_family,
            _world(model, extra, body_pose),
            pairs,
            surfaces,
        ],
        outputs=[
            contacts.manifolds.bound,
            points,
            _filled(compaction.Slots, contacts),
            *(part(total, first, end) for total in totals),
        ],
        device=model.device,
    )


def _world(model: Model, extra: wp.array, body_pose: wp.array) -> Any:
    """What kernels of simple shapes read."""
    struct: Any = gather.World
    world = struct()
    for name in struct.vars:
        if name not in ("margin", "body_pose"):
            setattr(world, name, getattr(model, name))
    world.margin, world.body_pose = extra, body_pose
    return world


def _write_inputs(model: Model, contacts: Contacts) -> list[Any]:
    return [
        _filled(compaction.Pairs, model),
        _filled(gather.Points, contacts.manifolds),
        _filled(compaction.Surfaces, model),
    ]


def _filled(struct: Any, owner: Any) -> Any:
    """An instance of a struct, with the arrays of the same names."""
    filled = struct()
    for name in struct.vars:
        setattr(filled, name, getattr(owner, name))
    return filled


def _assign_targets(model: Model, contacts: Contacts) -> None:
    """Count the contacts of each environment and give each manifold point its slot."""
    manifolds = contacts.manifolds
    points = [model.slot_start, manifolds.count]
    totals = [contacts.count, contacts.required, contacts.overflow]
    if model.chunk_pair is None or model.chunk_start is None:
        wp.launch(
            compaction.scan_environments,
            dim=model.environment_count,
            inputs=[model.pair_start, *points, manifolds.separation, contacts.slot_start],
            outputs=[manifolds.target, *totals],
            device=model.device,
        )
        return
    chunk_count = len(manifolds.chunk_target)
    wp.launch(
        compaction.count_chunks,
        dim=chunk_count,
        inputs=[model.chunk_pair, manifolds.count],
        outputs=[manifolds.chunk_target],
        device=model.device,
    )
    wp.launch(
        compaction.scan_chunks,
        dim=model.environment_count,
        inputs=[
            model.chunk_start,
            model.pair_start,
            *points,
            manifolds.separation,
            contacts.slot_start,
        ],
        outputs=[manifolds.chunk_target, manifolds.target, *totals],
        device=model.device,
    )
    wp.launch(
        compaction.aim_chunks,
        dim=chunk_count,
        inputs=[model.chunk_pair, *points, manifolds.chunk_target],
        outputs=[manifolds.target],
        device=model.device,
    )


def _check(
    model: Model,
    body_pose: wp.array[wp.transform],
    contacts: Contacts,
    margin: wp.array[wp.float32] | None,
) -> None:
    if body_pose.dtype is not wp.transform or body_pose.ndim != 1:
        raise ArrayError(f"body_pose: expected a vector of wp.transform, given {body_pose.dtype}")
    if len(body_pose) < model.body_count:
        raise ArrayError(f"body_pose: expected {model.body_count} bodies, given {len(body_pose)}")
    if body_pose.device != model.device:
        raise ArrayError(f"body_pose is on {body_pose.device}, the model on {model.device}")
    if len(contacts.manifolds.count) != model.pair_count:
        raise ArrayError("contacts were made for another model")
    if margin is not None and (
        margin.dtype is not wp.float32
        or margin.shape != (model.environment_count,)
        or margin.device != model.device
    ):
        raise ArrayError(
            f"margin: expected float32 [{model.environment_count}] on {model.device}, "
            f"given {margin.dtype} {margin.shape} on {margin.device}"
        )


def _pair_inputs(model: Model) -> list[Any]:
    return [
        model.pair_item,
        model.pair_environment,
        model.slot_start,
        model.shape_body,
        model.shape_size,
        model.local_pose,
        model.contact_offset,
    ]


def _manifold_outputs(manifolds: Manifolds) -> list[Any]:
    return [
        manifolds.count,
        manifolds.anchor,
        manifolds.normal,
        manifolds.separation,
        manifolds.feature,
    ]
