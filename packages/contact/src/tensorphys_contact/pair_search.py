"""Broad phase of one large world: a search for the pairs of shapes that are near each other."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._kernels import pair_search as kernels
from ._kernels import reduction
from .errors import PairError
from .shapes import Families, PairFamily, ShapeType

if TYPE_CHECKING:
    from .contacts import Contacts
    from .model import Model

MOST_SHAPES = 46340
"""Shapes of one world, so that a pair of them is a 32-bit number."""


@dataclasses.dataclass(frozen=True)
class PairSearch:
    """Ask :func:`build_model` to look for the near pairs of one world in each step.

    Attributes:
        capacity: Largest number of near pairs; what does not fit is dropped and flagged.
        filtered_pairs: Shape pairs that never touch, shape [count, 2].
        filtered_body_pairs: Body pairs that never touch, −1 for static, shape [count, 2].
        sampled_capacity: Largest number of near pairs with a signed distance field or a set of spheres, which
            take much more room.
        fixed_shapes: Shapes that stand still and never touch each other, as static ones, shape [count].
        idle_shapes: Shapes that touch nothing, shape [count].
    """

    capacity: int
    filtered_pairs: npt.ArrayLike | None = None
    filtered_body_pairs: npt.ArrayLike | None = None
    sampled_capacity: int = 4096
    fixed_shapes: npt.ArrayLike | None = None
    idle_shapes: npt.ArrayLike | None = None


@dataclasses.dataclass
class BroadPhase:
    """Arrays of the search; S shapes, N of them no planes, P the capacity.

    Attributes:
        solid: int32 [N], shapes that are no planes.
        plane: int32, planes.
        rank: int32 [S], order by size; the smaller shape of a pair looks for the larger.
        row: int32 [S], row of each shape in ``Model.local_pose``.
        filtered: int64, sorted codes (shape 0 × S + shape 1) of pairs that never touch.
        role: int32 [S], 1 for fixed shapes, 2 for idle ones.
        family_of: int32, kernel family of two shape types, −1 for none.
        room_of: int32, largest manifold of two shape types.
        lower, upper: vec3 [N], boxes of this step, contact offset and margin included.
        bvh: Tree of these boxes, rebuilt in each step.
        count: int32 [N], pairs found by each shape.
        end: int32 [N], their running sum.
        near: int64 [32 N], codes of the first of them.
        code: int64 [2 P], codes of the pairs, ascending in the first half.
        order: int32 [2 P], scratch of the sort.
        required: int32 [2], largest number of pairs that a step wanted, and of those among them that are found by
            samples, sticky.
        overflow: int32 [2], 1 once such pairs were dropped, sticky.
        request: What was asked for, with the present capacities.
        families: Kernel family and manifold of each pair of types.
        flag, place, slots: int32 [P], scratch where pairs are found by samples, else empty.
    """

    solid: wp.array[wp.int32]
    plane: wp.array[wp.int32]
    rank: wp.array[wp.int32]
    row: wp.array[wp.int32]
    filtered: wp.array[wp.int64]
    role: wp.array[wp.int32]
    family_of: wp.array[wp.int32]
    room_of: wp.array[wp.int32]
    lower: wp.array[wp.vec3]
    upper: wp.array[wp.vec3]
    bvh: wp.Bvh
    count: wp.array[wp.int32]
    end: wp.array[wp.int32]
    near: wp.array[wp.int64]
    code: wp.array[wp.int64]
    order: wp.array[wp.int32]
    required: wp.array[wp.int32]
    overflow: wp.array[wp.int32]
    request: PairSearch
    families: Families
    flag: wp.array[wp.int32]
    place: wp.array[wp.int32]
    slots: wp.array[wp.int32]

    @property
    def sampled_capacity(self) -> int:
        """Pairs that are found by samples, at most."""
        return min(self.request.sampled_capacity, self.request.capacity)


def make_broad_phase(
    search: PairSearch,
    *,
    kind: npt.NDArray[np.int32],
    body: npt.NDArray[np.int32],
    environment: npt.NDArray[np.int32],
    radius: npt.NDArray[np.floating[Any]],
    families: Families,
    device: Any,
) -> BroadPhase:
    """Allocate the search.

    Raises:
        PairError: more than 46,340 shapes, or no shape but planes.
    """
    count = len(kind)
    if count > MOST_SHAPES:
        raise PairError(f"pairs are searched among at most {MOST_SHAPES} shapes, given {count}")
    solid = np.flatnonzero(kind != ShapeType.PLANE)
    if not len(solid):
        raise PairError("there is no shape but planes to search pairs of")
    rank = np.empty(count, dtype=np.int32)
    rank[np.lexsort((np.arange(count), radius))] = np.arange(count)
    row = np.arange(count)
    row[environment < 0] = count + np.arange(int((environment < 0).sum()))
    types = max(ShapeType) + 1
    family_of = np.full((types, types), -1, dtype=np.int32)
    room_of = np.zeros((types, types), dtype=np.int32)
    for (low, high), (family, room) in families.items():
        family_of[low, high] = family_of[high, low] = family
        room_of[low, high] = room_of[high, low] = room

    def put(data: npt.ArrayLike, dtype: Any) -> Any:
        return wp.array(np.ascontiguousarray(data), dtype=dtype, device=device)

    def zeros(length: int, dtype: Any) -> Any:
        return wp.zeros(length, dtype=dtype, device=device)

    scratch = search.capacity if (kind >= ShapeType.SDF).any() else 0
    lower, upper = zeros(len(solid), wp.vec3), zeros(len(solid), wp.vec3)
    return BroadPhase(
        solid=put(solid, wp.int32),
        plane=put(np.flatnonzero(kind == ShapeType.PLANE), wp.int32),
        rank=put(rank, wp.int32),
        row=put(row, wp.int32),
        filtered=put(_filtered_codes(search, body), wp.int64),
        role=put(_roles(search, count), wp.int32),
        family_of=put(family_of.ravel(), wp.int32),
        room_of=put(room_of.ravel(), wp.int32),
        lower=lower,
        upper=upper,
        bvh=wp.Bvh(lower, upper),
        count=zeros(len(solid), wp.int32),
        end=zeros(len(solid), wp.int32),
        near=zeros(int(kernels.NEAR) * len(solid), wp.int64),
        code=zeros(2 * search.capacity, wp.int64),
        order=zeros(2 * search.capacity, wp.int32),
        required=zeros(2, wp.int32),
        overflow=zeros(2, wp.int32),
        request=search,
        families=families,
        flag=zeros(scratch, wp.int32),
        place=zeros(scratch, wp.int32),
        slots=zeros(scratch, wp.int32),
    )


def _roles(search: PairSearch, count: int) -> npt.NDArray[np.int32]:
    """0 for shapes that may touch all others, 1 for fixed ones, 2 for idle ones."""
    role: npt.NDArray[np.int32] = np.zeros(count, dtype=np.int32)
    for value, shapes in ((1, search.fixed_shapes), (2, search.idle_shapes)):
        rows = np.asarray([] if shapes is None else shapes, dtype=np.int64)
        if rows.size and (rows.min() < 0 or rows.max() >= count):
            raise PairError(f"a search of pairs names shapes outside of 0..{count - 1}")
        role[rows] = value
    return role


def _filtered_codes(search: PairSearch, body: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    count = len(body)
    blocks = [np.zeros((0, 2), dtype=np.int64)]
    if search.filtered_pairs is not None:
        blocks.append(np.asarray(search.filtered_pairs, dtype=np.int64).reshape(-1, 2))
    if search.filtered_body_pairs is not None:
        for first, second in np.asarray(search.filtered_body_pairs, dtype=np.int64).reshape(-1, 2):
            a, b = np.flatnonzero(body == first), np.flatnonzero(body == second)
            blocks.append(np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2))
    pairs = np.sort(np.concatenate(blocks), axis=1)
    return np.unique(pairs[:, 0] * count + pairs[:, 1])


def find_pairs(
    model: Model, search: BroadPhase, body_pose: wp.array[wp.transform], margin: Any, contacts: Contacts
) -> None:
    """Fill the pairs of a model: launches, a tree rebuild, a scan and a sort; nothing waits."""
    device = model.device
    count = len(search.solid)
    capacity = model.pair_count
    wp.launch(
        kernels.bound_solids,
        dim=count,
        inputs=[
            search.solid,
            search.row,
            model.shape_half,
            model.shape_body,
            model.shape_center,
            model.local_pose,
            model.contact_offset,
            margin,
            body_pose,
        ],
        outputs=[search.lower, search.upper],
        device=device,
    )
    search.bvh.rebuild()
    world = [
        search.bvh.id,
        search.solid,
        search.plane,
        search.rank,
        search.row,
        search.filtered,
        search.role,
        search.family_of,
        search.lower,
        search.upper,
        model.shape_type,
        model.shape_body,
        contacts.manifolds.bound,
    ]
    wp.launch(kernels.count_near, dim=count, inputs=world, outputs=[search.count, search.near], device=device)
    wp.utils.array_scan(search.count, search.end, inclusive=True)
    wp.launch(
        kernels.clear_codes,
        dim=capacity,
        inputs=[search.end],
        outputs=[
            search.code,
            search.order,
            contacts.manifolds.count,
            search.required,
            search.overflow,
            contacts.overflow,
        ],
        device=device,
    )
    wp.launch(
        kernels.write_near,
        dim=count,
        inputs=[*world, search.count, search.end, search.near, capacity],
        outputs=[search.code],
        device=device,
    )
    wp.utils.radix_sort_pairs(search.code, search.order, capacity)
    for family, members in model.family_pairs.items():
        if family == PairFamily.SAMPLED:
            _assign_sampled(model, search, members, contacts)
            continue
        wp.launch(
            kernels.assign_family,
            dim=capacity,
            inputs=[int(family), search.code, search.family_of, model.shape_type],
            outputs=[members],
            device=device,
        )
    wp.launch(
        kernels.assign_pairs,
        dim=capacity,
        inputs=[search.code, search.row, model.shape_type, model.shape_radius],
        outputs=[model.pair_shape0, model.pair_shape1, model.pair_item, model.pair_key],
        device=device,
    )


def _assign_sampled(model: Model, search: BroadPhase, members: Any, contacts: Contacts) -> None:
    """Give the pairs that are found by samples their few places, and all pairs their slots."""
    capacity = model.pair_count
    wp.launch(
        kernels.flag_family,
        dim=capacity,
        inputs=[int(PairFamily.SAMPLED), search.code, search.family_of, model.shape_type],
        outputs=[search.flag],
        device=model.device,
    )
    wp.utils.array_scan(search.flag, search.place, inclusive=True)
    wp.launch(
        kernels.assign_few,
        dim=capacity,
        inputs=[search.flag, search.place, search.code, search.room_of, model.shape_type],
        outputs=[
            members,
            search.slots,
            search.required,
            search.overflow,
            contacts.overflow,
        ],
        device=model.device,
    )
    wp.utils.array_scan(search.slots, model.slot_start[1:], inclusive=True)


def grow_search(model: Model, *, capacity: int, sampled_capacity: int) -> None:
    """Put arrays for more pairs into a model; those that it had are not written any more.

    Args:
        model: A model that searches its pairs.
        capacity, sampled_capacity: As in :class:`PairSearch`; not less than before.
    """
    from ._layout import lay_out_search, put_layout

    search = model.search
    assert search is not None  # the caller has one that overflowed
    request = dataclasses.replace(search.request, capacity=capacity, sampled_capacity=sampled_capacity)
    kind = model.shape_type.numpy()
    layout = lay_out_search(request, kind, model.environment_count, search.families)

    def put(data: npt.ArrayLike, dtype: Any) -> Any:
        return wp.array(np.ascontiguousarray(data), dtype=dtype, device=model.device)

    def zeros(length: int, dtype: Any) -> Any:
        return wp.zeros(length, dtype=dtype, device=model.device)

    for name, value in put_layout(layout, put).items():
        setattr(model, name, value)
    scratch = capacity if (kind >= ShapeType.SDF).any() else 0
    model.search = dataclasses.replace(
        search,
        request=request,
        code=zeros(2 * capacity, wp.int64),
        order=zeros(2 * capacity, wp.int32),
        required=zeros(2, wp.int32),
        overflow=zeros(2, wp.int32),
        flag=zeros(scratch, wp.int32),
        place=zeros(scratch, wp.int32),
        slots=zeros(scratch, wp.int32),
    )
    if model.sampled is not None:
        members = len(model.family_pairs[PairFamily.SAMPLED])
        model.sampled = dataclasses.replace(
            model.sampled,
            code=zeros(members * model.sampled.stride, wp.int64),
            cell=zeros(members * int(reduction.DIRECTIONS), wp.int32),
            choice=zeros(members * model.sampled.room, wp.int32),
        )
