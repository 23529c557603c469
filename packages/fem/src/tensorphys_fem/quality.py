"""How good the elements of a tetrahedral mesh are."""

from __future__ import annotations

import dataclasses

import numpy as np

from tensorphys_fem.mesh import FloatArray, TetMesh

_EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
# Pairs of faces that meet in each edge, by the node opposite to the face.
_FACE_PAIRS = ((2, 3), (1, 3), (1, 2), (0, 3), (0, 2), (0, 1))


@dataclasses.dataclass(frozen=True)
class QualityReport:
    """Measures of a tetrahedral mesh.

    Attributes:
        element_count, node_count: Sizes.
        volume: Sum of the volumes [m³].
        smallest_volume: [m³].
        mean_ratio: 12 (3 V)^(2/3) / Σ edge², 1 for a regular tetrahedron and 0 for a flat one, float64 ``(M,)``
            [Liu & Joe 1994].
        smallest_angle, largest_angle: Extreme dihedral angles of each element [rad], float64 ``(M,)``.
        shortest_edge, longest_edge: [m].
        worst: Element of the smallest mean ratio.
    """

    element_count: int
    node_count: int
    volume: float
    smallest_volume: float
    mean_ratio: FloatArray
    smallest_angle: FloatArray
    largest_angle: FloatArray
    shortest_edge: float
    longest_edge: float
    worst: int

    def __str__(self) -> str:
        """A few lines for a log."""
        return (
            f"{self.element_count} tetrahedra, {self.node_count} nodes, volume {self.volume:.6g} m³\n"
            f"mean ratio {self.mean_ratio.min():.3f} (element {self.worst}) to {self.mean_ratio.max():.3f}, "
            f"median {np.median(self.mean_ratio):.3f}\n"
            f"dihedral angles {np.degrees(self.smallest_angle.min()):.1f}° to "
            f"{np.degrees(self.largest_angle.max()):.1f}°\n"
            f"edges {self.shortest_edge:.4g} m to {self.longest_edge:.4g} m"
        )


def measure_quality(mesh: TetMesh) -> QualityReport:
    """Measure a mesh in its rest shape."""
    corners = mesh.points[mesh.tets]
    lengths = np.stack([np.linalg.norm(corners[:, a] - corners[:, b], axis=1) for a, b in _EDGES], axis=1)
    volumes = mesh.volumes
    ratio = 12.0 * np.cbrt(3.0 * volumes) ** 2 / np.square(lengths).sum(axis=1)
    normals = np.stack([_outward_normal(corners, opposite) for opposite in range(4)], axis=1)
    angles = np.stack(
        [
            np.pi - np.arccos(np.clip(np.einsum("ij,ij->i", normals[:, a], normals[:, b]), -1.0, 1.0))
            for a, b in _FACE_PAIRS
        ],
        axis=1,
    )
    return QualityReport(
        element_count=len(mesh.tets),
        node_count=mesh.node_count,
        volume=float(volumes.sum()),
        smallest_volume=float(volumes.min()),
        mean_ratio=ratio,
        smallest_angle=angles.min(axis=1),
        largest_angle=angles.max(axis=1),
        shortest_edge=float(lengths.min()),
        longest_edge=float(lengths.max()),
        worst=int(ratio.argmin()),
    )


def _outward_normal(corners: FloatArray, opposite: int) -> FloatArray:
    a, b, c = (corners[:, i] for i in range(4) if i != opposite)
    normal = np.cross(b - a, c - a)
    inward = np.einsum("ij,ij->i", normal, corners[:, opposite] - a) > 0.0
    normal[inward] *= -1.0
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))
