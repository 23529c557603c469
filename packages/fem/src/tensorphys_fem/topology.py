"""Element tables and the sparsity of one mesh, in the numbering of its own nodes."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tensorphys_fem.mesh import FloatArray, IntArray, ShellMesh, TetMesh, triangle_areas

TET, TRIANGLE, HINGE = 0, 1, 2
_PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]


@dataclasses.dataclass(frozen=True)
class Topology:
    """What kernels need of a mesh; see `_kernels.structs.Mesh` for the meaning of the fields."""

    node_count: int
    volume: FloatArray
    """Share of a node in the volume, or area × thickness [m³], ``(N,)``."""
    patch_volume: FloatArray
    slope: FloatArray
    """Sum of the measure of the elements of a node times the square of the gradient of its shape function [m]."""
    kind: IntArray
    nodes: IntArray
    rest: FloatArray
    measure: FloatArray
    corner_start: IntArray
    corner: IntArray
    row_start: IntArray
    column: IntArray
    source_start: IntArray
    source: IntArray


def build_topology(mesh: TetMesh | ShellMesh, thickness: float) -> Topology:
    """Tables of a mesh; `thickness` [m] is read for shells."""
    if isinstance(mesh, TetMesh):
        kind, nodes, rest, measure = _solid_elements(mesh)
    else:
        kind, nodes, rest, measure = _shell_elements(mesh, thickness)
    count = mesh.node_count
    share = np.where(kind == TET, 0.25, np.where(kind == TRIANGLE, 1.0 / 3.0, 0.0)) * measure
    width = np.where(kind == TRIANGLE, 3, 4)
    element = np.repeat(np.arange(len(kind)), width)
    local = (
        np.concatenate([np.arange(w) for w in width])
        if len(set(width.tolist())) > 1
        else np.tile(np.arange(int(width[0])), len(kind))
    )
    node = nodes[element, local]
    volume = _sums(node, share[element], count)
    patch = _sums(node, np.where(kind == TET, share, 0.0)[element], count)
    order = np.argsort(node, kind="stable")
    corner_start = _offsets(np.bincount(node, minlength=count))
    rows = _sparsity(kind, nodes, count)
    corner = (4 * element + local)[order].astype(np.int32)
    return Topology(
        count,
        volume,
        patch,
        _slopes(kind, nodes, rest, measure, count),
        kind,
        nodes,
        rest,
        measure,
        corner_start,
        corner,
        *rows,
    )


def _slopes(kind: IntArray, nodes: IntArray, rest: FloatArray, measure: FloatArray, count: int) -> FloatArray:
    total = np.zeros(count)
    for chosen, width in ((kind == TET, 4), (kind == TRIANGLE, 3)):
        # Rows of the inverse edge matrix are the gradients of all corners but the first.
        gradients = rest[chosen][:, : width - 1, :]
        gradients = np.concatenate((-gradients.sum(axis=1, keepdims=True), gradients), axis=1)
        values = np.square(gradients).sum(axis=2) * measure[chosen, None]
        total += np.bincount(nodes[chosen, :width].reshape(-1), weights=values.reshape(-1), minlength=count)
    return total


def _solid_elements(mesh: TetMesh) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    corners = mesh.points[mesh.tets]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    kind = np.zeros(len(mesh.tets), dtype=np.int32)
    return kind, mesh.tets, np.asarray(np.linalg.inv(edges), dtype=np.float64), mesh.volumes


def _shell_elements(mesh: ShellMesh, thickness: float) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    a, b, c = (mesh.points[mesh.triangles[:, i]] for i in range(3))
    first = b - a
    length = np.linalg.norm(first, axis=1)
    along = first / length[:, None]
    across = (c - a) - np.einsum("ij,ij->i", c - a, along)[:, None] * along
    planar = np.zeros((len(mesh.triangles), 2, 2))
    planar[:, 0, 0] = length
    planar[:, 0, 1] = np.einsum("ij,ij->i", c - a, along)
    planar[:, 1, 1] = np.linalg.norm(across, axis=1)
    rest = np.zeros((len(mesh.triangles) + len(mesh.hinges), 3, 3))
    rest[: len(planar), :2, :2] = np.linalg.inv(planar)
    rest[len(planar) :, 0, 0] = mesh.rest_angles
    hinges = mesh.hinges
    edge = mesh.points[hinges[:, 1]] - mesh.points[hinges[:, 0]]
    around = triangle_areas(mesh.points, hinges[:, :3]) + triangle_areas(mesh.points, hinges[:, [0, 1, 3]])
    # ½ D θ² |e|² / (A0 + A1): exact for a plate rolled along a row of right triangles, and in every direction of an
    # equilateral mesh, where it is the energy of [Seung & Nelson 1988].
    factor = thickness**3 * np.square(edge).sum(axis=1) / around
    kind = np.repeat(np.array((TRIANGLE, HINGE), dtype=np.int32), (len(planar), len(hinges)))
    nodes = np.concatenate((mesh.triangles[:, [0, 1, 2, 2]], hinges)).astype(np.int32)
    return kind, nodes, rest, np.concatenate((mesh.areas * thickness, factor))


def _sparsity(kind: IntArray, nodes: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Rows of the matrix, diagonal first and columns ascending, and the element blocks that each block sums."""
    rows, columns, sources = [], [], []
    element = np.arange(len(kind))
    for number, (i, j) in enumerate(_PAIRS):
        used = element[kind != TRIANGLE] if j == 3 else element
        slot = 2 * (10 * used + number)
        rows.append(nodes[used, i])
        columns.append(nodes[used, j])
        sources.append(slot)
        if i != j:
            rows.append(nodes[used, j])
            columns.append(nodes[used, i])
            sources.append(slot + 1)
    # Every node has a diagonal block, also the unused ones.
    row = np.concatenate(rows + [np.arange(count)]).astype(np.int64)
    column = np.concatenate(columns + [np.arange(count)]).astype(np.int64)
    source = np.concatenate(sources + [np.full(count, -1)]).astype(np.int64)
    diagonal_first = np.where(row == column, -1, column)
    order = np.lexsort((source, diagonal_first, row))
    row, column, source = row[order], column[order], source[order]
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    block = np.cumsum(new) - 1
    real = source >= 0
    source_count = np.bincount(block[real], minlength=int(block[-1]) + 1)
    return (
        _offsets(np.bincount(row[new], minlength=count)),
        column[new].astype(np.int32),
        _offsets(source_count),
        source[real].astype(np.int32),
    )


def _sums(index: npt.NDArray[np.int64], weights: FloatArray, count: int) -> FloatArray:
    return np.asarray(np.bincount(index, weights=weights, minlength=count), dtype=np.float64)


def _offsets(counts: npt.NDArray[np.int64]) -> IntArray:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
