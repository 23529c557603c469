"""Pairs with signed distance fields or sets of spheres: their arrays, and the launches that collide them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_sdf import FieldTable

from ._kernels import distances, reduction
from ._kernels import sampled as kernels
from ._kernels import sampled_parallel as parallel_kernels
from ._kernels import samples as sample_kernels
from .errors import ShapeError
from .hulls import Hull
from .meshes import TriangleMesh
from .sampling import SampleSet, sample_shape
from .sdf_shapes import SdfGeometry
from .shapes import PairFamily, ShapeType
from .sphere_sets import SphereSet

if TYPE_CHECKING:
    from .contacts import Manifolds
    from .model import Model

# Cells of the grid of a pair along each axis, where a manifold has up to 32 contacts, and where it has more.
_FEW, _MANY = 3, 4
# Threads of all pairs that fill a GPU, and the least and most of one pair; a CPU walks the chunks of a pair in one.
_THREADS, _LEAST_LANES, _MOST_LANES = 1 << 16, 32, 2048


@dataclasses.dataclass(frozen=True)
class SampledColumns:
    """Which geometry each shape has; host side of :class:`SampledPairs`.

    Attributes:
        kind, size: Types and sizes of all shapes.
        hull, mesh, sdf, spheres: Index into the geometry of each kind, −1 without, shape [S].
        hulls, meshes, sdfs, sphere_sets: The geometry.
    """

    kind: npt.NDArray[np.int32]
    size: npt.NDArray[np.float64]
    hull: npt.NDArray[np.int64]
    mesh: npt.NDArray[np.int64]
    sdf: npt.NDArray[np.int64]
    spheres: npt.NDArray[np.int64]
    hulls: Sequence[Hull]
    meshes: Sequence[TriangleMesh]
    sdfs: Sequence[SdfGeometry]
    sphere_sets: Sequence[SphereSet]


@dataclasses.dataclass
class SampledPairs:
    """Arrays of the pairs that are found by samples.

    Attributes:
        columns, geometry, samples: What the kernels read.
        cells: Cells of the grid of a pair along each axis.
        code: int64 [pairs × cells], deepest contact of each cell; zero between calls.
        cell: int32 [pairs × directions], cells of the deepest contacts.
        choice: int32 [pairs × room], chosen cells.
        room: Largest manifold of these pairs.
        parallel: Whether several threads share the choice of a pair, as on a GPU; the result is the same.
        table: Stored fields; they live as long as the model.
    """

    columns: Any
    geometry: Any
    samples: Any
    cells: int
    code: wp.array[wp.int64]
    cell: wp.array[wp.int32]
    choice: wp.array[wp.int32]
    room: int
    parallel: bool
    table: FieldTable

    @property
    def stride(self) -> int:
        """Cells of a pair."""
        return int(reduction.DIRECTIONS) * (1 + self.cells**3)


def make_sampled_pairs(
    columns: SampledColumns,
    model: Model,
    put: Any,
    *,
    asked: npt.NDArray[np.bool_],
    room: int,
) -> SampledPairs:
    """Sample the shapes that need it, and put everything on a device.

    Args:
        columns: Host columns.
        model: The model with all other arrays.
        put: Makes a device array of an array and a dtype.
        asked: Shapes whose surface is sampled, shape [S].
        room: Largest manifold of the pairs that are found by samples.

    Raises:
        ShapeError: a field on another device.
    """
    device = model.device
    member_count = len(model.family_pairs[PairFamily.SAMPLED])
    for index, sdf in enumerate(columns.sdfs):
        if sdf.field.device != device:
            raise ShapeError(f"sdfs: field {index} is on {sdf.field.device}, the model on {device}")
    table = FieldTable([sdf.field for sdf in columns.sdfs], device=device)
    geometry = distances.Geometry()
    for name in ("hull_vertex", "face_range", "face_normal", "face_vertex", "sphere"):
        setattr(geometry, name, getattr(model, name))
    names = ("field_reals", "field_counts", "field_coarse", "field_record", "field_fine")
    for name, array in zip(names, table.arrays, strict=True):
        setattr(geometry, name, array)
    device_columns = kernels.Columns()
    for name in (
        "shape_type",
        "shape_body",
        "shape_size",
        "shape_vertices",
        "shape_faces",
        "shape_mesh",
        "shape_spheres",
        "shape_center",
        "shape_half",
        "shape_radius",
        "local_pose",
    ):
        setattr(device_columns, name, getattr(model, name))
    device_columns.shape_field = put(columns.sdf, wp.int32)
    cells = _MANY if room > 32 else _FEW
    return SampledPairs(
        columns=device_columns,
        geometry=geometry,
        samples=_put_samples(columns, asked, put),
        cells=cells,
        code=wp.zeros(
            member_count * int(reduction.DIRECTIONS) * (1 + cells**3), dtype=wp.int64, device=device
        ),
        cell=wp.zeros(member_count * int(reduction.DIRECTIONS), dtype=wp.int32, device=device),
        choice=wp.zeros(member_count * room, dtype=wp.int32, device=device),
        room=room,
        parallel=device.is_cuda,
        table=table,
    )


def _put_samples(columns: SampledColumns, asked: npt.NDArray[np.bool_], put: Any) -> Any:
    """Sample each geometry once for each size."""
    ranges = np.zeros((len(columns.kind), 2), dtype=np.int32)
    sets: list[SampleSet] = []
    chunks: list[tuple[int, int]] = []
    known: dict[tuple[Any, ...], int] = {}
    for shape in np.flatnonzero(asked):
        kind, size = ShapeType(int(columns.kind[shape])), columns.size[shape]
        hull, mesh = int(columns.hull[shape]), int(columns.mesh[shape])
        sdf, spheres = int(columns.sdf[shape]), int(columns.spheres[shape])
        key = (kind, *size.tolist(), hull, mesh, sdf, spheres)
        if key not in known:
            known[key] = len(sets)
            sets.append(
                sample_shape(
                    kind,
                    size,
                    hull=columns.hulls[hull] if hull >= 0 else None,
                    mesh=columns.meshes[mesh] if mesh >= 0 else None,
                    sdf=columns.sdfs[sdf] if sdf >= 0 else None,
                    spheres=columns.sphere_sets[spheres] if spheres >= 0 else None,
                )
            )
            first = chunks[-1][1] if chunks else 0
            chunks.append((first, first + len(sets[-1].chunk_sphere)))
        ranges[shape] = chunks[known[key]]
    start = np.cumsum([0] + [len(s.radius) for s in sets])
    spans = [np.zeros((0, 2), dtype=np.int64)]
    for first, s in zip(start[:-1], sets, strict=True):
        spans.append(first + np.stack([s.chunk_start[:-1], s.chunk_start[1:]], axis=1))
    samples = sample_kernels.Samples()
    samples.corner = put(_joined([s.corner.reshape(-1, 3) for s in sets], 3), wp.vec3)
    samples.normal = put(_joined([s.normal for s in sets], 3), wp.vec3)
    samples.radius = put(_joined([s.radius[:, None] for s in sets], 1).ravel(), wp.float32)
    samples.chunk_sphere = put(_joined([s.chunk_sphere for s in sets], 4), wp.vec4)
    samples.chunk_range = put(np.concatenate(spans).astype(np.int32), wp.vec2i)
    samples.shape_chunks = put(ranges, wp.vec2i)
    return samples


def _joined(blocks: list[npt.NDArray[np.float64]], width: int) -> npt.NDArray[np.float32]:
    return np.concatenate([np.zeros((0, width)), *blocks]).astype(np.float32)


def collide_sampled(
    model: Model,
    sampled: SampledPairs,
    members: Any,
    manifolds: Manifolds,
    margin: Any,
    body_pose: Any,
) -> None:
    """Find the manifolds of these pairs in two launches, or four and a clearing of memory in parallel."""
    count = len(members)
    lanes = 1
    if model.device.is_cuda:
        lanes = min(max(_THREADS // max(count, 1), _LEAST_LANES), _MOST_LANES)
    world = [model.contact_offset, margin, body_pose, sampled.columns, sampled.geometry, sampled.samples]
    wp.launch(
        kernels.find_deepest,
        dim=(count, lanes),
        inputs=[
            members,
            manifolds.bound,
            model.pair_item,
            model.pair_environment,
            *world,
            sampled.cells,
            sampled.stride,
            lanes,
        ],
        outputs=[sampled.code],
        device=model.device,
    )
    if sampled.parallel:
        _keep_in_parallel(model, sampled, members, manifolds, world)
        return
    wp.launch(
        kernels.keep_contacts,
        dim=count,
        inputs=[
            members,
            manifolds.bound,
            model.pair_item,
            model.pair_environment,
            model.slot_start,
            *world,
            sampled.cells,
            sampled.stride,
        ],
        outputs=[
            sampled.code,
            manifolds.count,
            manifolds.anchor,
            manifolds.normal,
            manifolds.separation,
            manifolds.feature,
        ],
        device=model.device,
    )


def _keep_in_parallel(
    model: Model, sampled: SampledPairs, members: Any, manifolds: Manifolds, world: list[Any]
) -> None:
    """Choose and write the contacts that the search left in the cells, and empty these."""
    _offset, _margin, body_pose, columns, _geometry, _samples = world
    shape = [sampled.cells, sampled.stride]
    count = len(members)
    wp.launch(
        parallel_kernels.place_deepest,
        dim=(count, int(reduction.DIRECTIONS)),
        inputs=[members, model.pair_item, model.pair_environment, *world, *shape, sampled.code],
        outputs=[sampled.cell],
        device=model.device,
    )
    wp.launch(
        parallel_kernels.choose_cells,
        dim=count,
        inputs=[
            members,
            manifolds.bound,
            model.pair_item,
            model.slot_start,
            body_pose,
            columns,
            *shape,
            sampled.room,
            sampled.cell,
        ],
        outputs=[sampled.code, sampled.choice, manifolds.count],
        device=model.device,
    )
    wp.launch(
        parallel_kernels.write_chosen,
        dim=(count, sampled.room),
        inputs=[
            members,
            model.pair_item,
            model.pair_environment,
            model.slot_start,
            *world,
            sampled.stride,
            sampled.room,
            sampled.code,
            sampled.choice,
            manifolds.count,
        ],
        outputs=[manifolds.anchor, manifolds.normal, manifolds.separation, manifolds.feature],
        device=model.device,
    )
    sampled.code.zero_()
