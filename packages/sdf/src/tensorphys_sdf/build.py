"""Fields of meshes, functions and voxels."""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from typing import Any, Literal

import numpy as np
import warp as wp

from tensorphys_sdf.cache import FieldCache
from tensorphys_sdf.errors import NoInsideWarning, ParameterError
from tensorphys_sdf.field import SignedDistanceField
from tensorphys_sdf.filling import Guard, build_grid
from tensorphys_sdf.grid import Grid, plan_layout, shape_room, store_dense
from tensorphys_sdf.mesh import Array, read_mesh
from tensorphys_sdf.parameters import FieldParameters
from tensorphys_sdf.sources import DistanceFunction, evaluate_function, evaluate_surface, fill_by_surface
from tensorphys_sdf.surface import SignRule, Surface

_FORMAT = "tensorphys-sdf 3"
_EXTRACTION = 128  # cells along the longest side of the surface that is extracted from values


def content_key(
    vertices: Any,
    triangles: Any,
    parameters: FieldParameters,
    *,
    sign: SignRule = "auto",
    repair: bool = True,
) -> str:
    """Hash of everything that decides the field of a mesh; 32 hexadecimal digits."""
    v, f = read_mesh(vertices, triangles)
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((_FORMAT, parameters, sign, repair, v.shape, f.shape)).encode())
    digest.update(v.tobytes())
    digest.update(f.tobytes())
    return digest.hexdigest()


def field_from_mesh(
    vertices: Any,
    triangles: Any,
    *,
    parameters: FieldParameters | None = None,
    sign: SignRule = "auto",
    repair: bool = True,
    cache: FieldCache | None = None,
    device: Any = None,
) -> SignedDistanceField:
    """Signed distance field of a triangle mesh.

    The sign comes from the generalised winding number [Jacobson et al. 2013; Barill et al. 2018], after faces
    that disagree with their neighbours were turned and repeated ones dropped: it is right for closed meshes that
    overlap themselves, and degrades gently at holes. A surface that encloses nothing is signed by the side of its
    faces, with a :class:`NoInsideWarning`.

    Args:
        vertices: Positions, shape ``(V, 3)``, in the frame of the shape.
        triangles: Corners, shape ``(F, 3)``, counter-clockwise seen from outside.
        parameters: How finely the field is stored.
        sign: ``auto``, ``winding``, ``normal`` or ``unsigned``; see :class:`Surface`.
        repair: Turn faces that disagree with their neighbours and drop repeated ones.
        cache: Where fields of equal content are looked up and kept.
        device: Warp device.

    Raises:
        MeshError: The arrays are no mesh.
        ParameterError: A parameter is impossible.
    """
    parameters = parameters or FieldParameters()
    device = wp.get_device(device)
    key = content_key(vertices, triangles, parameters, sign=sign, repair=repair)
    if cache is not None:
        known = cache.holds(key, device)
        found = cache.get(key, device)
        if found is not None:
            if found.surface is not None and not known:
                found.surface.warn(sign, stacklevel=4)  # a file keeps no warnings
            return found
    surface = Surface(vertices, triangles, sign=sign, repair=repair, device=device)
    layout = plan_layout(surface.lower, surface.upper, parameters, blend=1)
    diagonal = float(np.linalg.norm(surface.upper - surface.lower))
    grid = build_grid(
        evaluate_surface(surface),
        layout,
        parameters,
        _guard(surface.lower, surface.upper, parameters),
        diagonal=diagonal,
        device=device,
        fill=fill_by_surface(surface) if device.is_cpu and surface.sign != "normal" else None,
    )
    field = SignedDistanceField(grid, surface, parameters, exact=True, key=key)
    if cache is not None:
        cache.put(field)
    return field


def field_from_function(
    function: DistanceFunction,
    lower: Any,
    upper: Any,
    *,
    parameters: FieldParameters | None = None,
    device: Any = None,
) -> SignedDistanceField:
    """Field of a function of position.

    Error bounds and ``conservative`` hold for functions that are true distances. Beyond the grid the distance is
    that of the surface extracted from the stored values.

    Args:
        function: A Warp function ``f(p: wp.vec3) -> float``, or a function of float64 positions ``(N, 3)`` that
            returns N distances.
        lower: Lower corner of the bounds of the shape, shape ``(3,)``.
        upper: Upper corner, shape ``(3,)``.
        parameters: How finely the field is stored.
        device: Warp device.

    Raises:
        ParameterError: The bounds are empty, or the function returns another number of values.
    """
    parameters = parameters or FieldParameters()
    device = wp.get_device(device)
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    layout = plan_layout(low, high, parameters, blend=1)
    diagonal = float(np.linalg.norm(high - low))
    evaluate = evaluate_function(function, device)
    # a NumPy function of the caller need not be fit for threads
    threads = None if isinstance(function, wp.Function) else 1
    grid = build_grid(
        evaluate,
        layout,
        parameters,
        _guard(low, high, parameters),
        diagonal=diagonal,
        device=device,
        threads=threads,
    )
    return _with_extracted_surface(grid, parameters)


def _guard(lower: Array, upper: Array, parameters: FieldParameters) -> Guard:
    room = shape_room(lower, upper, parameters)
    return Guard(lower - room, upper + room)


def field_from_voxels(
    values: Any,
    origin: Any = (0.0, 0.0, 0.0),
    spacing: Any = 1.0,
    *,
    outside: Literal["nearest", "surface"] = "nearest",
    device: Any = None,
) -> SignedDistanceField:
    """Field of distances that are given at the nodes of a regular grid, stored densely and unchanged.

    Args:
        values: Distances at the nodes, shape ``(nx, ny, nz)``.
        origin: Position of node ``(0, 0, 0)``, shape ``(3,)``.
        spacing: Distance of the nodes, one number or three.
        outside: What lies beyond the grid. ``nearest``: the value at the nearest point of the grid plus the way
            to it. ``surface``: the distance to the surface extracted from the values.
        device: Warp device.

    Raises:
        ParameterError: An axis has fewer than two nodes, or the spacing is not positive.
    """
    if outside not in ("nearest", "surface"):
        raise ParameterError(f"outside: expected 'nearest' or 'surface', got {outside!r}")
    shape = np.shape(values)
    parameters = FieldParameters(
        resolution=min(max(max(shape, default=2) - 1, 2), 2048),
        subgrid_resolution=0,
        bits_per_subgrid_pixel=32,
    )
    grid = store_dense(values, origin, spacing, device=device)
    if outside == "nearest":
        return SignedDistanceField(grid, None, parameters, exact=False)
    return _with_extracted_surface(_with_blend(grid, 1), parameters)


def _with_blend(grid: Grid, blend: int) -> Grid:
    layout = dataclasses.replace(grid.layout, blend=blend)
    return Grid(layout, grid.arrays, grid.fine_offset, grid.fine_scale)


def _with_extracted_surface(grid: Grid, parameters: FieldParameters) -> SignedDistanceField:
    """Attach the zero level of the stored values, so that points beyond the grid have a distance."""
    plain = SignedDistanceField(_with_blend(grid, 0), None, parameters, exact=False)
    mesh = extract_surface(plain)
    if mesh is None:
        warnings.warn(
            "the values never change their sign: beyond the grid, distances are those of its nearest point plus "
            "the way to it",
            NoInsideWarning,
            stacklevel=3,
        )
        return plain
    surface = Surface(*mesh, sign="winding", repair=False, quiet=True, device=grid.device)
    return SignedDistanceField(grid, surface, parameters, exact=False)


def extract_surface(
    field: SignedDistanceField, *, resolution: int = _EXTRACTION
) -> tuple[Array, Array] | None:
    """Triangles of the zero level of a field, by marching cubes.

    Args:
        field: The field.
        resolution: Cells along the longest side of its grid.

    Returns:
        Vertices float64 ``(V, 3)`` in the frame of the shape and triangles int64 ``(F, 3)``, outward; None when
        the field has one sign everywhere.
    """
    from warp.geometry import IsoSurfaceMarchingCubes

    layout = field.grid.layout
    extent = layout.upper - layout.lower
    cells = np.maximum(np.ceil(extent / extent.max() * resolution).astype(int), 1)
    axes = [np.linspace(layout.lower[k], layout.upper[k], cells[k] + 1) for k in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = wp.array(field.distance(points), dtype=wp.float32, device=field.device)
    vertices, indices = IsoSurfaceMarchingCubes.extract(values, threshold=0.0)
    if len(indices) == 0:
        return None
    v = layout.lower + vertices.numpy().astype(np.float64) * (extent / cells)
    f = indices.numpy().astype(np.int64).reshape(-1, 3)
    corners = v[f] - v.mean(axis=0)
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum()
    return v, f if volume > 0.0 else f[:, ::-1]
