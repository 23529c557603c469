"""Tetrahedral simulation meshes of voxels around a surface, which the surface is embedded in."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_fem.embedding import Embedding, embed_points
from tensorphys_fem.errors import MeshError
from tensorphys_fem.mesh import FloatArray, TetMesh
from tensorphys_sdf import Surface

# Six tetrahedra about one diagonal of a cell, conforming from cell to cell; corners numbered 4 x + 2 y + z.
_CELL_TETS = np.array(((0, 4, 6, 7), (0, 6, 2, 7), (0, 2, 3, 7), (0, 3, 1, 7), (0, 1, 5, 7), (0, 5, 4, 7)))
_CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])
_PAIRS_AT_ONCE = 200_000
_CELL_LIMIT = 50_000_000


@dataclasses.dataclass(frozen=True)
class VoxelMesh:
    """A simulation mesh and the surface in it.

    Attributes:
        mesh: Tetrahedra, six in each cell.
        embedding: Vertices of the surface in the mesh.
        cell_size: Edge of a cell [m].
        fill: Volume of the surface over that of the mesh. A density times this gives the mass of the surface.
    """

    mesh: TetMesh
    embedding: Embedding
    cell_size: float
    fill: float


def box_mesh(cells: tuple[int, int, int], cell_size: Any, *, origin: Any = (0.0, 0.0, 0.0)) -> TetMesh:
    """A box of cells, six tetrahedra in each.

    Args:
        cells: Number of cells along x, y, z.
        cell_size: Edge of a cell [m], a number or three.
        origin: Least corner [m].
    """
    if min(cells) < 1:
        raise MeshError(f"cells: expected at least one along each axis, got {cells}")
    size = np.broadcast_to(np.asarray(cell_size, dtype=np.float64), (3,))
    filled = np.stack(np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"), axis=-1).reshape(-1, 3)
    return _mesh_of_cells(filled, np.asarray(origin, dtype=np.float64), size)


def voxel_mesh(
    vertices: Any,
    triangles: Any,
    *,
    resolution: int = 10,
    cell_size: float | None = None,
    device: Any = None,
) -> VoxelMesh:
    """Fill a surface with cells: all that are inside of it or that it passes through.

    The result depends on the numbers alone (no random choice). Where the surface is no closed solid, inside is where
    its generalised winding number exceeds one half.

    Args:
        vertices: Surface [m], ``(V, 3)``.
        triangles: Corners, ``(F, 3)``, counter-clockwise seen from outside.
        resolution: Cells along the longest side of the bounding box.
        cell_size: Edge of a cell [m], instead of a resolution.
        device: Warp device that computes winding numbers; default: the CPU. The cells are the same.

    Raises:
        MeshError: The surface is no mesh, or asks for too many cells.
    """
    vertices = np.asarray(vertices, dtype=np.float64)
    triangles = np.asarray(triangles)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or triangles.ndim != 2 or triangles.shape[1] != 3:
        raise MeshError(
            f"expected vertices (V, 3) and triangles (F, 3), got {vertices.shape}, {triangles.shape}"
        )
    surface = Surface(vertices, triangles, device=device or "cpu")
    lower, upper = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    extent = upper - lower
    if cell_size is None:
        if resolution < 1:
            raise MeshError(f"resolution: expected at least 1, got {resolution}")
        # A hair more than the box, so that faces on its sides have one layer of cells and not two.
        cell_size = float(extent.max()) * (1.0 + 1e-6) / resolution
    shape = np.maximum(1, np.ceil(extent / cell_size - 1e-6).astype(int))
    if not cell_size > 0.0 or shape.astype(float).prod() > _CELL_LIMIT:
        raise MeshError(f"cell_size {cell_size}: gives {shape.tolist()} cells, more than {_CELL_LIMIT}")
    origin = 0.5 * (lower + upper - shape * cell_size)
    touched = _touched_cells((surface.vertices - origin) / cell_size, surface.triangles, shape)
    filled = np.zeros(shape, dtype=bool)
    filled[tuple(touched.T)] = True
    open_cells = np.argwhere(~filled)
    if len(open_cells):
        inside = surface.winding_number(origin + (open_cells + 0.5) * cell_size) > 0.5
        filled[tuple(open_cells[inside].T)] = True
    mesh = _mesh_of_cells(np.argwhere(filled), origin, np.full(3, cell_size))
    corners = surface.vertices[surface.triangles]
    volume = abs(
        float(np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum()) / 6.0
    )
    return VoxelMesh(mesh, embed_points(mesh, vertices), float(cell_size), volume / float(mesh.volumes.sum()))


def _mesh_of_cells(cells: npt.NDArray[np.int64], origin: FloatArray, size: FloatArray) -> TetMesh:
    corners = (cells[:, None, :] + _CORNERS).reshape(-1, 3)
    used, number = np.unique(corners, axis=0, return_inverse=True)
    tets = number.reshape(-1, 8)[:, _CELL_TETS].reshape(-1, 4)
    return TetMesh.from_arrays(origin + used * size, tets, on_inverted="raise")


def _touched_cells(
    vertices: FloatArray, triangles: npt.NDArray[np.int64], shape: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Cells that triangles pass through (units of cells): separating axes of boxes and triangles [Akenine-Möller 2001]."""
    corners = vertices[triangles]
    first = np.clip(np.floor(corners.min(axis=1) - 1e-9).astype(int), 0, shape - 1)
    last = np.clip(np.floor(corners.max(axis=1) + 1e-9).astype(int), 0, shape - 1)
    counts = (last - first + 1).prod(axis=1)
    found = np.zeros(shape, dtype=bool)
    start = 0
    while start < len(corners):
        end = start + max(1, int(np.searchsorted(np.cumsum(counts[start:]), _PAIRS_AT_ONCE)))
        chosen = np.repeat(np.arange(start, min(end, len(corners))), counts[start:end])
        offset = np.arange(len(chosen)) - np.repeat(
            np.cumsum(counts[start:end]) - counts[start:end], counts[start:end]
        )
        span = (last - first + 1)[chosen]
        cell = first[chosen] + np.column_stack(
            (offset // (span[:, 1] * span[:, 2]), offset // span[:, 2] % span[:, 1], offset % span[:, 2])
        )
        hit = cell[_overlap(corners[chosen] - (cell + 0.5)[:, None])]
        found[tuple(hit.T)] = True
        start = end
    return np.argwhere(found)


def _overlap(corners: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether triangles ``(n, 3, 3)`` meet the unit box about the origin."""
    edges = np.roll(corners, -1, axis=1) - corners
    axes = [np.cross(edges[:, i], unit) for i in range(3) for unit in np.eye(3)]
    axes.append(np.cross(edges[:, 0], edges[:, 1]))
    result = (corners.min(axis=1) <= 0.5).all(axis=1) & (corners.max(axis=1) >= -0.5).all(axis=1)
    for axis in axes:
        along = np.einsum("nij,nj->ni", corners, axis)
        radius = 0.5 * np.abs(axis).sum(axis=1) + 1e-12
        result &= (along.min(axis=1) <= radius) & (along.max(axis=1) >= -radius)
    return np.asarray(result)
