"""How meshes are to be made into collision geometry, as vendor schemas say."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorphys_scene import SphereFillMode
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.errors import StageError

_FILL_MODES = {
    "flood": SphereFillMode.FLOOD,
    "raycast": SphereFillMode.RAYCAST,
    "surface": SphereFillMode.SURFACE,
}
_DECOMPOSITION = "physxConvexDecompositionCollision:"
_FILL = "physxSphereFillCollision:"
_SDF = "physxSDFMeshCollision:"
# Column, attribute and the value where it is not authored, whose type is the attribute's.
_COLUMNS: tuple[tuple[str, str, bool | int | float], ...] = (
    ("hull_vertex_limit", "physxConvexHullCollision:hullVertexLimit", 64),
    ("hull_min_thickness", "physxConvexHullCollision:minThickness", 0.001),
    ("decomposition_error", f"{_DECOMPOSITION}errorPercentage", 10.0),
    ("decomposition_hull_vertex_limit", f"{_DECOMPOSITION}hullVertexLimit", 64),
    ("decomposition_max_hulls", f"{_DECOMPOSITION}maxConvexHulls", 32),
    ("decomposition_min_thickness", f"{_DECOMPOSITION}minThickness", 0.001),
    ("decomposition_shrink_wrap", f"{_DECOMPOSITION}shrinkWrap", False),
    ("decomposition_voxels", f"{_DECOMPOSITION}voxelResolution", 500_000),
    ("sphere_fill_count", f"{_FILL}maxSpheres", 128),
    ("sphere_fill_seeds", f"{_FILL}seedCount", 1000),
    ("sphere_fill_voxels", f"{_FILL}voxelResolution", 50_000),
    ("weld_tolerance", "physxTriangleMeshCollision:weldTolerance", float("-inf")),
    ("simplification_metric", "physxTriangleMeshSimplificationCollision:metric", 0.55),
    ("sdf_resolution", f"{_SDF}sdfResolution", 256),
    ("sdf_subgrid_resolution", f"{_SDF}sdfSubgridResolution", 6),
    ("sdf_margin", f"{_SDF}sdfMargin", 0.01),
    ("sdf_narrow_band", f"{_SDF}sdfNarrowBandThickness", 0.01),
    ("sdf_remeshing", f"{_SDF}sdfEnableRemeshing", False),
    ("sdf_triangle_reduction", f"{_SDF}sdfTriangleCountReductionFactor", 1.0),
)
_BITS = {"8": 8, "16": 16, "32": 32, "BitsPerPixel8": 8, "BitsPerPixel16": 16, "BitsPerPixel32": 32}
_OTHERS = {
    "sphere_fill_mode": int(SphereFillMode.FLOOD),
    "sdf_bits_per_pixel": 16,
}
DEFAULTS: dict[str, Any] = {name: value for name, _, value in _COLUMNS} | _OTHERS
DEFAULTS["weld_tolerance"] = float("nan")
_PREFIXES = (
    "physxConvex",
    "physxSphereFill",
    "physxTriangleMesh",
    "physxSDF",
    "newton:maxHull",
    "mjc:maxhull",
)


def read_cooking(attributes: Attributes) -> dict[str, Any]:
    """Columns of the shape table that differ from their defaults.

    Raises:
        StageError: If a value cannot be.
    """
    if not any(name.startswith(_PREFIXES) for name in attributes.names):
        return {}
    values: dict[str, Any] = {}
    for column, name, default in _COLUMNS:
        if attributes.has(name):
            values[column] = _value(attributes, name, default)
    for name in ("newton:maxHullVertices", "mjc:maxhullvert"):  # −1 there means as many as it takes
        limit = attributes.integer(name, -1)
        if limit > 0:
            values.setdefault("hull_vertex_limit", limit)
    # The simplifying schema has a tolerance of its own.
    weld = "physxTriangleMeshSimplificationCollision:weldTolerance"
    if attributes.has(weld):
        values["weld_tolerance"] = _value(attributes, weld, float("-inf"))
    mode = attributes.token(f"{_FILL}fillMode", "flood")
    if mode not in _FILL_MODES:
        raise StageError(
            f"{attributes.prim.GetPath()}: {_FILL}fillMode is {mode!r}, expected one of {', '.join(_FILL_MODES)}"
        )
    values["sphere_fill_mode"] = int(_FILL_MODES[mode])
    bits = attributes.token(f"{_SDF}sdfBitsPerSubgridPixel", "BitsPerPixel16")
    if bits not in _BITS:
        raise StageError(
            f"{attributes.prim.GetPath()}: {_SDF}sdfBitsPerSubgridPixel is {bits!r}, expected one of {', '.join(_BITS)}"
        )
    values["sdf_bits_per_pixel"] = _BITS[bits]
    return values


def _value(attributes: Attributes, name: str, default: bool | int | float) -> Any:
    if isinstance(default, bool):
        return attributes.flag(name, default)
    value: float = (
        attributes.integer(name, default) if isinstance(default, int) else attributes.number(name, default)
    )
    if value == float("-inf") and default == value:
        return float("nan")
    if not 0.0 <= value < np.inf:
        raise StageError(
            f"{attributes.prim.GetPath()}: {name} is {value}, expected a finite number that is not negative"
        )
    return value
