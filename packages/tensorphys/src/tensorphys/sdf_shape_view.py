"""Signed distance fields of colliders as batches."""

from __future__ import annotations

import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import warp as wp

from tensorphys.errors import ViewError
from tensorphys.matching import NotSuitableError, match_prims, shorten
from tensorphys.rows import Layout, Rows
from tensorphys.view import TensorView
from tensorphys_scene import ShapeType
from tensorphys_sdf import (
    FieldCache,
    FieldParameters,
    FieldSet,
    ParameterError,
    default_cache_folder,
    field_from_mesh,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorphys.core import Core
    from tensorphys_scene import Template
    from tensorphys_sdf import SignedDistanceField

__all__ = ["SdfShapeView", "create_sdf_shape_view"]

# Fields are made once a simulation, whatever the number of views and environments.
_CACHES: weakref.WeakKeyDictionary[Core, FieldCache] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class _Shape:
    """A collider with approximation ``sdf``."""

    path: str
    template: Template
    row: int


class _SdfRows(Rows):
    """Rows of shapes; they stand in no array of the state."""

    def __init__(self, count: int, device: str, max_num_points: int) -> None:
        none = np.full(count, -1, np.int32)
        zeros = np.zeros((count, 3))
        super().__init__(
            Layout(
                objects=np.arange(count, dtype=np.int32),
                articulations=none,
                slots={},
                origins=zeros,
                subspaces=zeros,
            ),
            device,
        )
        self.max_num_points = max_num_points


class SdfShapeView(TensorView):
    """Colliders with approximation ``sdf``, one row each.

    Made by ``SimulationView.create_sdf_shape_view``. Fields are kept between runs, by the hash of their content, in the
    folder that ``tensorphys_sdf.default_cache_folder`` names (``TENSORPHYS_SDF_CACHE``). Query points are in the frame of the shape's mesh without
    scale, and so are distances; ``scaled=True`` means the frame with scale, where lengths are those of the stage.
    """

    def __init__(self, core: Core, shapes: Sequence[_Shape], num_points: int) -> None:
        super().__init__(core, None)
        self._shapes = tuple(shapes)
        self._num_points = num_points
        self._sets: dict[bool, FieldSet] = {}
        if shapes:
            rows = _SdfRows(len(shapes), core.device, num_points)
            self._attach(rows)
            self._sets[False] = self._make_fields(scaled=False)

    def _attach(self, rows: Rows) -> None:
        from tensorphys.transfer import Transfer

        self._backend = rows
        self._transfer = Transfer(self._core, rows, type(self).__name__)
        shape = (rows.count, self._num_points, 4)
        self._buffer = self._core.frontend.allocate(shape, wp.float32, self._core.device)

    @property
    def prim_paths(self) -> list[str]:
        """Path of the collider of each row."""
        return [shape.path for shape in self._shapes]

    @property
    def object_paths(self) -> list[str]:
        """Path of the collider of each row."""
        return self.prim_paths

    @property
    def max_num_points(self) -> int:
        """Query points of each shape."""
        return self._num_points

    def get_sdf_and_gradients(self, data: Any, scaled: bool = False) -> Any:
        """Signed distance, negative inside, and its unit gradient at points of each shape.

        Args:
            data: Points in the frame of each shape's mesh, shape [count, max_num_points, 3].
            scaled: Whether points, distances and gradients are in the frame with the scale of the shape.

        Returns:
            ``[distance, gx, gy, gz]`` (with ``conventions="runtime"``: ``[gx, gy, gz, distance]``), float32,
            shape [count, max_num_points, 4]; the same array on every call.
        """
        rows = self._rows("get_sdf_and_gradients")
        core = self._core
        scaled = bool(scaled)
        if scaled not in self._sets:
            self._sets[scaled] = self._make_fields(scaled=scaled)
        shape = (rows.count, self._num_points)
        with core.frontend.ordered_with_caller(core.device):
            points = self._transfer.input(data, (*shape, 3), "SdfShapeView.get_sdf_and_gradients(data)")
            if self._num_points:
                self._sets[scaled].distance_and_gradient(
                    _vectors(points, wp.vec3, shape),
                    unit=True,
                    gradient_first=core.conventions == "runtime",
                    out=_vectors(self._buffer.warp, wp.vec4, shape),
                )
        return self._buffer.array

    def _make_fields(self, *, scaled: bool) -> FieldSet:
        """Fields of all rows; colliders that share mesh and parameters share one."""
        known: dict[Any, int] = {}
        fields: list[SignedDistanceField] = []
        of_row = []
        for shape in self._shapes:
            shapes = shape.template.shapes
            mesh = int(shapes.mesh[shape.row])
            scale = tuple(shapes.size[shape.row].tolist()) if scaled else (1.0, 1.0, 1.0)
            parameters = _parameters(self._core, shape)
            key = (id(shape.template), mesh, scale, parameters)
            if key not in known:
                known[key] = len(fields)
                fields.append(_field(self._core, shape, scale, parameters))
            of_row.append(known[key])
        return FieldSet(fields, of_row, device=self._core.device)


def create_sdf_shape_view(
    core: Core, pattern: str, num_points: int, on_no_match: Literal["raise", "empty"]
) -> SdfShapeView:
    """View of the colliders with approximation ``sdf`` that a pattern matches.

    Args:
        core: What all views share.
        pattern: Prim path pattern.
        num_points: Query points of each shape.
        on_no_match: Whether a pattern without such a collider is an error.

    Raises:
        PatternError: The text is no pattern.
        NoMatchError: It matches nothing.
        NotSuitableError: It matches prims, none of which is such a collider.
        ViewError: ``num_points`` is negative or no whole number.
    """
    if isinstance(num_points, bool) or int(num_points) != num_points or num_points < 0:
        raise ViewError(
            f"create_sdf_shape_view: num_points is {num_points!r}, expected a whole number from 0"
        )
    skip: Literal["raise", "skip"] = "raise" if on_no_match == "raise" else "skip"
    matches = match_prims(pattern, core.catalog.directory.tree, skip)
    found = _shapes(core, matches)
    if not found:
        kind = "a collider with physics:approximation = sdf"
        error = NotSuitableError(repr(pattern), kind, matches.paths, "")
        if on_no_match == "raise":
            raise error
        core.warn("%s", error)
    elif len(found) < len(matches.paths):
        paths = {shape.path for shape in found}
        rejected = [path for path in matches.paths if path not in paths]
        text = "pattern %r: %d matched prims are no colliders with approximation sdf: %s"
        core.warn(text, pattern, len(rejected), shorten(rejected))
    return SdfShapeView(core, found, int(num_points))


def _shapes(core: Core, matches: Any) -> list[_Shape]:
    scene = core.catalog.scene
    environments = scene.environments
    of_node = core.catalog.directory.entities(np.asarray(matches.nodes, dtype=np.int64)).environment
    rows: dict[int, dict[str, int]] = {}
    found = []
    for path, environment in zip(matches.paths, of_node.tolist(), strict=True):
        template = scene.shared
        relative = path
        if environment >= 0:
            template = scene.templates[int(environments.template[environment])]
            relative = path[len(environments.path[environment]) :]
        if id(template) not in rows:
            table = template.shapes
            is_sdf = np.flatnonzero(table.type == int(ShapeType.SDF))
            rows[id(template)] = {table.path[row]: int(row) for row in is_sdf}
        row = rows[id(template)].get(relative)
        if row is not None:
            found.append(_Shape(path, template, row))
    return found


def _parameters(core: Core, shape: _Shape) -> FieldParameters:
    """What the scene says about the collider's field."""
    shapes, row = shape.template.shapes, shape.row
    if shapes.sdf_remeshing[row]:
        core.warn("%s: sdfEnableRemeshing is ignored: the mesh is taken as it is", shape.path)
    if shapes.sdf_triangle_reduction[row] != 1.0:
        text = "%s: sdfTriangleCountReductionFactor = %s is ignored: the mesh is taken as it is"
        core.warn(text, shape.path, float(shapes.sdf_triangle_reduction[row]))
    try:
        return FieldParameters(
            resolution=int(shapes.sdf_resolution[row]),
            subgrid_resolution=int(shapes.sdf_subgrid_resolution[row]),
            bits_per_subgrid_pixel=int(shapes.sdf_bits_per_pixel[row]),
            narrow_band_thickness=float(shapes.sdf_narrow_band[row]),
            margin=float(shapes.sdf_margin[row]),
        )
    except ParameterError as error:
        raise ViewError(f"{shape.path}: attributes of its signed distance field: {error}") from error


def _field(
    core: Core, shape: _Shape, scale: tuple[float, ...], parameters: FieldParameters
) -> SignedDistanceField:
    mesh = shape.template.meshes[int(shape.template.shapes.mesh[shape.row])]
    triangles = mesh.triangles if np.prod(scale) >= 0.0 else mesh.triangles[:, ::-1]
    cache = _CACHES.get(core)
    if cache is None:
        cache = _CACHES[core] = FieldCache(default_cache_folder())
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        field = field_from_mesh(
            mesh.points * np.asarray(scale), triangles, parameters=parameters, cache=cache, device=core.device
        )
    for warning in given:
        core.warn("%s: %s", shape.path, warning.message)
    return field


def _vectors(array: wp.array, dtype: Any, shape: tuple[int, int]) -> wp.array:
    """The same memory as an array of vectors."""
    alias = wp.array(ptr=array.ptr, dtype=dtype, shape=shape, device=array.device, copy=False)
    alias._owner = array
    return alias
