"""Meshes that collide by signed distance fields or by spheres."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tensorphys_contact
from tensorphys_contact import MeshError, SdfGeometry, SphereSet, cook_sdf, fill_spheres
from tensorphys_engine.errors import BuildError
from tensorphys_engine.findings import Findings
from tensorphys_engine.hulls import contact_types
from tensorphys_engine.layout import Array, IntArray
from tensorphys_scene import Shapes, Template
from tensorphys_sdf import FieldParameters, SdfError

_SDF = int(tensorphys_contact.ShapeType.SDF)
_SPHERES = int(tensorphys_contact.ShapeType.SPHERES)


class FieldBook:
    """Cooks the field of each mesh once; shapes that differ by a uniform scale share it.

    Attributes:
        sdfs: All fields so far.
        sphere_sets: All sets of spheres so far.
    """

    def __init__(self, findings: Findings, device: Any) -> None:
        self._findings, self._device = findings, device
        self._fields: dict[tuple[Any, ...], int] = {}
        self._sets: dict[tuple[Any, ...], int] = {}
        self.sdfs: list[SdfGeometry] = []
        self.sphere_sets: list[SphereSet] = []

    def fields_of(self, tables: Template, rows: IntArray, prefix: str) -> IntArray:
        """Number of the field of each listed shape, −1 where it has none.

        Raises:
            BuildError: If a shape has no mesh or no field can be made of it.
        """
        shapes = tables.shapes
        result = np.full(len(rows), -1, np.int32)
        for local in np.flatnonzero(contact_types(shapes.type[rows]) == _SDF):
            row = int(rows[local])
            path = prefix + shapes.path[row]
            mesh = _mesh(tables, row, path)
            scale = shapes.size[row]
            # A field cannot be stretched, the points that it is made of can.
            baked = np.ones(3) if _is_uniform(scale) else scale
            try:
                key = id(mesh.points), tuple(baked.tolist()), _parameters(shapes, row)
            except SdfError as error:
                raise BuildError(f"{path}: {error}") from error
            if key not in self._fields:
                self._fields[key] = len(self.sdfs)
                self.sdfs.append(self._field(mesh.points * baked, mesh.triangles, shapes, row, path))
            result[local] = self._fields[key]
        return result

    def spheres_of(self, tables: Template, rows: IntArray, prefix: str) -> IntArray:
        """Number of the set of spheres of each listed shape, −1 where it has none.

        Raises:
            BuildError: If a shape has no mesh or no sphere fits in it.
        """
        shapes = tables.shapes
        result = np.full(len(rows), -1, np.int32)
        for local in np.flatnonzero(contact_types(shapes.type[rows]) == _SPHERES):
            row = int(rows[local])
            path = prefix + shapes.path[row]
            mesh = _mesh(tables, row, path)
            scale, most = shapes.size[row], max(int(shapes.sphere_fill_count[row]), 1)
            key = (id(mesh.points), tuple(scale.tolist()), most)
            if key not in self._sets:
                try:
                    filled = fill_spheres(
                        mesh.points * scale, mesh.triangles, sphere_limit=most, device=self._device
                    )
                except (MeshError, SdfError) as error:
                    raise BuildError(f"{path}: no spheres fill its mesh: {error}") from error
                self._sets[key] = len(self.sphere_sets)
                self.sphere_sets.append(filled)
            result[local] = self._sets[key]
        return result

    def _field(self, points: Array, triangles: IntArray, shapes: Shapes, row: int, path: str) -> SdfGeometry:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                made = cook_sdf(points, triangles, parameters=_parameters(shapes, row), device=self._device)
            except (MeshError, SdfError) as error:
                raise BuildError(f"{path}: no signed distance field can be made of it: {error}") from error
        for warning in given:
            self._findings.note(path, str(warning.message))
        return made


def _parameters(shapes: Shapes, row: int) -> FieldParameters:
    return FieldParameters(
        resolution=int(shapes.sdf_resolution[row]),
        subgrid_resolution=int(shapes.sdf_subgrid_resolution[row]),
        bits_per_subgrid_pixel=int(shapes.sdf_bits_per_pixel[row]),
        margin=float(shapes.sdf_margin[row]),
        narrow_band_thickness=float(shapes.sdf_narrow_band[row]),
    )


def _mesh(tables: Template, row: int, path: str) -> Any:
    if tables.shapes.mesh[row] < 0:
        raise BuildError(f"{path}: a signed distance field or a filling by spheres needs a mesh")
    return tables.meshes[int(tables.shapes.mesh[row])]


def _is_uniform(scale: Array) -> bool:
    return bool(np.ptp(scale) <= 1e-6 * np.abs(scale).max() and scale.min() > 0.0)


def contact_sizes(kind: IntArray, size: Array) -> Array:
    """Sizes as the contact pipeline takes them: of fields and spheres the scale that is not in their points yet."""
    result = size.copy()
    baked = kind == _SPHERES
    scaled = np.flatnonzero(kind == _SDF)
    baked[scaled] = [not _is_uniform(size[shape]) for shape in scaled]
    result[baked] = 1.0
    uniform = np.setdiff1d(scaled, np.flatnonzero(baked))
    result[uniform] = size[uniform, :1]
    return result
