"""Tetrahedral and triangle meshes that can be simulated: validation, repair, volumes, boundary."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tensorphys_fem.errors import MeshError, MeshRepairWarning

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]

# A tetrahedron is flat when its volume is below this part of its longest edge cubed (a regular one has 0.118).
FLAT_TET = 1e-6
# A triangle is degenerate when its area is below this part of its longest edge squared.
FLAT_TRIANGLE = 1e-6
_FACES = np.array(((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)))
_NAMED = 8  # elements that a message lists before it goes on to count


@dataclasses.dataclass(frozen=True)
class MeshReport:
    """What was found in a mesh, and what was done about it.

    Attributes:
        turned: Elements (input numbering) whose node order was changed to give them a positive volume, int32.
        dropped: Elements (input numbering) without volume or area, which were left out, int32.
        unused_nodes: Nodes of no element, int32. They keep their numbers, have no mass and never move.
    """

    turned: IntArray
    dropped: IntArray
    unused_nodes: IntArray


@dataclasses.dataclass(frozen=True)
class TetMesh:
    """A tetrahedral simulation mesh in its rest shape.

    Make one with :meth:`from_arrays`, which checks it.

    Attributes:
        points: Rest positions of the nodes, body frame [m], float64 ``(N, 3)``.
        tets: Nodes of each element, int32 ``(M, 4)``, all of positive volume.
        report: What was found in the input.
    """

    points: FloatArray
    tets: IntArray
    report: MeshReport

    @classmethod
    def from_arrays(
        cls,
        points: Any,
        tets: Any,
        *,
        on_inverted: Literal["turn", "raise"] = "turn",
        on_degenerate: Literal["raise", "drop"] = "raise",
    ) -> TetMesh:
        """Check node positions and elements.

        Args:
            points: Rest positions [m], shape ``(N, 3)``.
            tets: Node indices, shape ``(M, 4)``.
            on_inverted: ``turn`` swaps two nodes of elements of negative volume (the numbering of the nodes is
                kept) and says so by a :class:`MeshRepairWarning`; ``raise`` refuses them.
            on_degenerate: ``raise`` refuses elements that repeat a node or are flat; ``drop`` leaves them out
                with a :class:`MeshRepairWarning`.

        Raises:
            MeshError: Wrong shapes, indices out of range, positions that are not finite, or elements as above.
        """
        points, tets = _checked(points, tets, 4, "tets")
        volumes = tet_volumes(points, tets)
        flat = np.abs(volumes) <= FLAT_TET * _longest_edges(points, tets) ** 3
        tets, kept, dropped = _without_degenerate(tets, flat, on_degenerate, "tetrahedra without volume")
        negative = volumes[kept] < 0.0
        if negative.any():
            if on_inverted == "raise":
                raise MeshError(
                    f"{_named('tetrahedra of negative volume', kept[negative])}: swap two of their nodes, "
                    "or pass on_inverted='turn'"
                )
            tets = tets.copy()
            tets[negative] = tets[negative][:, [0, 2, 1, 3]]
            _warn(_named("turned tetrahedra of negative volume", kept[negative]))
        report = MeshReport(_int32(kept[negative]), _int32(dropped), _unused(len(points), tets))
        return cls(points, tets, report)

    @property
    def node_count(self) -> int:
        """Number of nodes, unused ones included."""
        return len(self.points)

    @property
    def volumes(self) -> FloatArray:
        """Rest volume of each element [m³], float64 ``(M,)``."""
        return tet_volumes(self.points, self.tets)

    @property
    def boundary(self) -> IntArray:
        """Triangles of the surface, outward, int32 ``(F, 3)``, ordered by element."""
        return boundary_triangles(self.tets)


@dataclasses.dataclass(frozen=True)
class ShellMesh:
    """A triangle mesh of a thin shell in its rest shape, with the hinges that it bends about.

    Attributes:
        points: Rest positions of the nodes, body frame [m], float64 ``(N, 3)``.
        triangles: Nodes of each element, int32 ``(M, 3)``.
        hinges: Interior edges, int32 ``(H, 4)``: the two nodes of the edge in the order of the first of its
            triangles, then the opposite nodes of the two triangles.
        rest_angles: Angle from the first to the second triangle of each hinge at rest [rad], 0 flat, positive where
            the second bends away from the normal of the first, float64 ``(H,)``.
        report: What was found in the input.
    """

    points: FloatArray
    triangles: IntArray
    hinges: IntArray
    rest_angles: FloatArray
    report: MeshReport

    @classmethod
    def from_arrays(
        cls,
        points: Any,
        triangles: Any,
        *,
        on_degenerate: Literal["raise", "drop"] = "raise",
        flat_rest: bool = False,
    ) -> ShellMesh:
        """Check node positions and triangles, and find the hinges.

        Args:
            points: Rest positions [m], shape ``(N, 3)``.
            triangles: Node indices, shape ``(M, 3)``. Neighbours should agree in orientation; a hinge between two
                that do not is measured with one of them turned.
            on_degenerate: As for :meth:`TetMesh.from_arrays`.
            flat_rest: Let the shell be flat at rest whatever ``points`` say about its angles.

        Raises:
            MeshError: As for :meth:`TetMesh.from_arrays`, or an edge of more than two triangles.
        """
        points, triangles = _checked(points, triangles, 3, "triangles")
        flat = triangle_areas(points, triangles) <= FLAT_TRIANGLE * _longest_edges(points, triangles) ** 2
        triangles, _, dropped = _without_degenerate(triangles, flat, on_degenerate, "triangles without area")
        hinges = _hinges(triangles)
        angles = np.zeros(len(hinges)) if flat_rest else hinge_angles(points, hinges)
        report = MeshReport(_int32([]), _int32(dropped), _unused(len(points), triangles))
        return cls(points, triangles, hinges, angles, report)

    @property
    def node_count(self) -> int:
        """Number of nodes, unused ones included."""
        return len(self.points)

    @property
    def areas(self) -> FloatArray:
        """Rest area of each triangle [m²], float64 ``(M,)``."""
        return triangle_areas(self.points, self.triangles)


def tet_volumes(points: FloatArray, tets: IntArray) -> FloatArray:
    """Signed volumes [m³]: positive where nodes 1, 2, 3 turn counter-clockwise seen from outside of node 0."""
    a, b, c, d = (points[tets[:, i]] for i in range(4))
    return np.asarray(np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0)


def triangle_areas(points: FloatArray, triangles: IntArray) -> FloatArray:
    """Areas [m²] of triangles."""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return np.asarray(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1))


def hinge_angles(points: FloatArray, hinges: IntArray) -> FloatArray:
    """Dihedral angles [rad] in (−π, π], 0 flat, of hinges ``(edge 0, edge 1, opposite 0, opposite 1)``."""
    if not len(hinges):
        return np.zeros(0)
    a, b, c, d = (points[hinges[:, i]] for i in range(4))
    axis = b - a
    first, second = np.cross(axis, c - a), np.cross(d - a, axis)
    length = np.linalg.norm(axis, axis=1)
    sine = np.einsum("ij,ij->i", np.cross(first, second), axis) / length
    return np.asarray(np.arctan2(sine, np.einsum("ij,ij->i", first, second)))


def boundary_triangles(tets: IntArray) -> IntArray:
    """Faces that belong to one element alone, outward, int32 ``(F, 3)``."""
    faces = tets[:, _FACES].reshape(-1, 3)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return _int32(faces[np.sort(first[count == 1])])


def _hinges(triangles: IntArray) -> IntArray:
    edges = triangles[:, ((0, 1), (1, 2), (2, 0))].reshape(-1, 2)
    opposite = triangles[:, (2, 0, 1)].reshape(-1)
    key = np.sort(edges, axis=1)
    order = np.lexsort((np.arange(len(key)), key[:, 1], key[:, 0]))
    same = (key[order][1:] == key[order][:-1]).all(axis=1)
    if len(same) > 1 and (same[1:] & same[:-1]).any():
        at = int(np.flatnonzero(same[1:] & same[:-1])[0])
        raise MeshError(f"edge {tuple(key[order[at]].tolist())}: more than two triangles share it")
    first, second = order[:-1][same], order[1:][same]
    return _int32(np.column_stack((edges[first], opposite[first], opposite[second])))


def _checked(points: Any, elements: Any, width: int, name: str) -> tuple[FloatArray, IntArray]:
    points = np.array(points, dtype=np.float64)
    elements = np.asarray(elements)
    if points.ndim != 2 or points.shape[1] != 3:
        raise MeshError(f"points: expected shape (N, 3), got {points.shape}")
    if elements.ndim != 2 or elements.shape[1] != width or not len(elements):
        raise MeshError(f"{name}: expected shape (M, {width}) with M > 0, got {elements.shape}")
    if not np.issubdtype(elements.dtype, np.integer):
        raise MeshError(f"{name}: expected integers, got {elements.dtype}")
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        raise MeshError(f"{_named('nodes', np.flatnonzero(~finite))}: positions are not finite")
    outside = ((elements < 0) | (elements >= len(points))).any(axis=1)
    if outside.any():
        raise MeshError(
            f"{_named('elements', np.flatnonzero(outside))}: nodes outside of 0..{len(points) - 1}"
        )
    return points, elements.astype(np.int32)


def _without_degenerate(
    elements: IntArray, flat: npt.NDArray[np.bool_], rule: str, what: str
) -> tuple[IntArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    ordered = np.sort(elements, axis=1)
    bad = flat | (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    dropped = np.flatnonzero(bad)
    if len(dropped):
        if rule == "raise":
            raise MeshError(f"{_named(what, dropped)}: remove them, or pass on_degenerate='drop'")
        if bad.all():
            raise MeshError(f"{what}: all {len(bad)} elements, nothing is left")
        _warn(_named(f"dropped {what}", dropped))
    kept = np.flatnonzero(~bad)
    return elements[kept], kept, dropped


def _longest_edges(points: FloatArray, elements: IntArray) -> FloatArray:
    corners = points[elements]
    edges = corners[:, :, None, :] - corners[:, None, :, :]
    return np.asarray(np.linalg.norm(edges, axis=-1).max(axis=(1, 2)))


def _unused(count: int, elements: IntArray) -> IntArray:
    used = np.zeros(count, dtype=bool)
    used[elements.reshape(-1)] = True
    return _int32(np.flatnonzero(~used))


def _int32(values: Any) -> IntArray:
    return np.asarray(values, dtype=np.int32)


def _named(what: str, indices: npt.NDArray[np.int64]) -> str:
    listed = ", ".join(map(str, indices[:_NAMED]))
    more = f" and {len(indices) - _NAMED} more" if len(indices) > _NAMED else ""
    return f"{what} {listed}{more}"


def _warn(text: str) -> None:
    warnings.warn(text, MeshRepairWarning, stacklevel=4)
