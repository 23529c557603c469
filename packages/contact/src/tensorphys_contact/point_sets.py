"""Points beside shapes: nodes and particles find the surfaces that are near them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_sdf import FieldTable

from ._kernels import distances, sampled
from ._kernels import point_sets as kernels
from .errors import ArrayError, ShapeError
from .model import Model
from .queries import QueryTree
from .sdf_shapes import SdfGeometry
from .shapes import ShapeType

_GEOMETRY = ("hull_vertex", "face_range", "face_normal", "face_vertex", "sphere")
_FIELDS = ("field_reals", "field_counts", "field_coarse", "field_record", "field_fine")
_COLUMNS = (
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
)


@dataclasses.dataclass
class PointShapes:
    """What distances of points from the shapes of a model are read from; made by :func:`create_point_shapes`.

    Attributes:
        columns, geometry: Arrays for the kernels.
        table: Stored fields; they live as long as this.
    """

    columns: Any
    geometry: Any
    table: FieldTable | None


@dataclasses.dataclass
class PointContacts:
    """Surfaces near each of N points, at most C a point, the nearest first.

    Attributes:
        environment: Environment of each point, int32 [N].
        ignored_body: Flat body whose shapes a point passes through, −1 for none, int32 [N].
        count: Rows of each point, int32 [N].
        shape: Flat shape of a row, int32 [N, C].
        normal: Out of the shape, environment frame, vec3 [N, C].
        point: Nearest point of the surface, environment frame [length], vec3 [N, C]; it belongs to the body of the
            shape and moves with it.
        distance: Signed distance from the surface, negative inside, offsets not included [length], float [N, C].
        needed: Most rows that a point wanted where that is more than C, since it was zeroed, int32 [1].
    """

    environment: wp.array[wp.int32]
    ignored_body: wp.array[wp.int32]
    count: wp.array[wp.int32]
    shape: wp.array2d[wp.int32]
    normal: wp.array2d[wp.vec3]
    point: wp.array2d[wp.vec3]
    distance: wp.array2d[wp.float32]
    needed: wp.array[wp.int32]


def create_point_shapes(
    model: Model, *, shape_sdf: npt.ArrayLike | None = None, sdfs: Sequence[SdfGeometry] = ()
) -> PointShapes:
    """Put the shapes of a model where points can ask for their distance.

    Args:
        model: The model.
        shape_sdf: Index of each shape into ``sdfs``, −1 for none, as given to :func:`build_model`; needed where a
            shape is a signed distance field.
        sdfs: The fields.

    Raises:
        ShapeError: A shape is a signed distance field, and the fields were not given.
    """
    kind = model.shape_type.numpy()
    index = np.full(len(kind), -1, np.int32) if shape_sdf is None else np.asarray(shape_sdf, np.int32)
    missing = (kind == ShapeType.SDF) & ((index < 0) | (index >= len(sdfs)))
    if missing.any():
        raise ShapeError(
            f"shape {int(np.argmax(missing))} is a signed distance field, whose field was not given; "
            "pass shape_sdf and sdfs as to build_model"
        )
    device = model.device
    columns, geometry = sampled.Columns(), distances.Geometry()
    for name in _COLUMNS:
        setattr(columns, name, getattr(model, name))
    columns.shape_field = wp.array(index, dtype=wp.int32, device=device)
    for name in _GEOMETRY:
        setattr(geometry, name, getattr(model, name))
    table = FieldTable([sdf.field for sdf in sdfs], device=device)
    for name, array in zip(_FIELDS, table.arrays, strict=True):
        setattr(geometry, name, array)
    return PointShapes(columns, geometry, table)


def create_point_contacts(environment: npt.ArrayLike, rows: int, device: Any = None) -> PointContacts:
    """Room for the surfaces near points.

    Args:
        environment: Environment of each point.
        rows: Rows a point, C.
        device: Warp device.

    Raises:
        ArrayError: ``rows`` is not positive.
    """
    if rows < 1:
        raise ArrayError(f"rows: expected at least one a point, given {rows}")
    homes = np.asarray(environment, dtype=np.int32)
    count = len(homes)
    return PointContacts(
        environment=wp.array(homes, dtype=wp.int32, device=device),
        ignored_body=wp.full(count, -1, dtype=wp.int32, device=device),
        count=wp.zeros(count, dtype=wp.int32, device=device),
        shape=wp.zeros((count, rows), dtype=wp.int32, device=device),
        normal=wp.zeros((count, rows), dtype=wp.vec3, device=device),
        point=wp.zeros((count, rows), dtype=wp.vec3, device=device),
        distance=wp.zeros((count, rows), dtype=wp.float32, device=device),
        needed=wp.zeros(1, dtype=wp.int32, device=device),
    )


def collide_points(
    model: Model,
    tree: QueryTree,
    shapes: PointShapes,
    body_pose: wp.array[wp.transform],
    contacts: PointContacts,
    *,
    position: wp.array[wp.vec3],
    margin: wp.array[wp.float32],
) -> None:
    """Find the surfaces near each point in one launch; nothing is allocated or waited for.

    The result depends on the arguments alone, not on the order of threads. A point that is not finite finds nothing.

    Args:
        model: Shapes; those whose contact offset says that they touch nothing are passed by.
        tree: Their boxes at ``body_pose``.
        shapes: Their geometry.
        body_pose: Poses of the bodies, as in :func:`collide`.
        contacts: Overwritten.
        position: Points, environment frames [length], [N].
        margin: Distance within which surfaces are wanted [length], negative for never, [N].

    Raises:
        ArrayError: An array of another length than the contacts.
    """
    count = len(contacts.count)
    for name, array in (("position", position), ("margin", margin)):
        if array.shape != (count,) or array.device != model.device:
            raise ArrayError(
                f"{name}: expected [{count}] on {model.device}, given {array.shape} on {array.device}"
            )
    wp.launch(
        kernels.collide_points,
        dim=count,
        inputs=[
            tree.bvh.id,
            tree.row,
            tree.plane_start,
            tree.plane_row,
            model.row_shape,
            shapes.columns,
            shapes.geometry,
            model.contact_offset,
            body_pose,
            contacts.environment,
            contacts.ignored_body,
            position,
            margin,
        ],
        outputs=[
            contacts.count,
            contacts.shape,
            contacts.normal,
            contacts.point,
            contacts.distance,
            contacts.needed,
        ],
        device=model.device,
    )
