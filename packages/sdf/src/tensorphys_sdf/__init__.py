"""Signed distance fields of meshes, functions and voxels: robust sign, sparse grids, batched queries."""

from tensorphys_sdf.build import (
    content_key,
    extract_surface,
    field_from_function,
    field_from_mesh,
    field_from_voxels,
)
from tensorphys_sdf.cache import FieldCache, default_cache_folder
from tensorphys_sdf.errors import (
    ArrayError,
    FieldFileError,
    MeshError,
    MeshRepairWarning,
    NoInsideWarning,
    NoSurfaceError,
    OpenMeshWarning,
    ParameterError,
    SdfError,
    SdfWarning,
)
from tensorphys_sdf.field import SignedDistanceField
from tensorphys_sdf.field_set import FieldSet
from tensorphys_sdf.mesh import MeshReport, clean_mesh
from tensorphys_sdf.parameters import FieldParameters
from tensorphys_sdf.storage import load_field, load_nanovdb, save_field, save_nanovdb
from tensorphys_sdf.surface import Surface
from tensorphys_sdf.table import FieldTable

__all__ = [
    "ArrayError",
    "FieldCache",
    "FieldFileError",
    "FieldParameters",
    "FieldSet",
    "FieldTable",
    "MeshError",
    "MeshRepairWarning",
    "MeshReport",
    "NoInsideWarning",
    "NoSurfaceError",
    "OpenMeshWarning",
    "ParameterError",
    "SdfError",
    "SdfWarning",
    "SignedDistanceField",
    "Surface",
    "clean_mesh",
    "content_key",
    "default_cache_folder",
    "extract_surface",
    "field_from_function",
    "field_from_mesh",
    "field_from_voxels",
    "load_field",
    "load_nanovdb",
    "save_field",
    "save_nanovdb",
]
