"""Points that follow a tetrahedral mesh: a surface or a collision mesh inside a simulation mesh."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_fem._kernels import states as kernels
from tensorphys_fem.errors import MeshError, ModelError
from tensorphys_fem.mesh import FloatArray, IntArray, TetMesh
from tensorphys_fem.model import FemModel
from tensorphys_fem.state import FemState

_NEIGHBOURS = 48  # elements by centre that are tried first for a point


@dataclasses.dataclass(frozen=True)
class Embedding:
    """Where points lie in a tetrahedral mesh.

    Attributes:
        tets: Element of each point, int32 ``(P,)``.
        nodes: Its nodes, int32 ``(P, 4)``.
        weights: Barycentric weights, float64 ``(P, 4)``; they add up to 1. Some are negative for points outside of
            the mesh, which then follow the nearest element by extrapolation.
        outside: Largest of −weight over each point, 0 where it is inside, float64 ``(P,)``.
    """

    tets: IntArray
    nodes: IntArray
    weights: FloatArray
    outside: FloatArray

    def interpolate(self, values: Any) -> FloatArray:
        """Values at the points from values at the nodes, ``(N, ...)`` to ``(P, ...)``, on the host."""
        return np.asarray(np.einsum("pa,pa...->p...", self.weights, np.asarray(values)[self.nodes]))


def embed_points(mesh: TetMesh, points: Any) -> Embedding:
    """Find the element of each point, or the one that it is least outside of.

    Args:
        mesh: Simulation mesh in its rest shape.
        points: [m], frame of the mesh, ``(P, 3)``.

    Raises:
        MeshError: Points of a wrong shape or not finite.
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise MeshError(f"points: expected finite values of shape (P, 3), got shape {points.shape}")
    corners = mesh.points[mesh.tets]
    origin = corners[:, 0]
    inverse = np.asarray(np.linalg.inv(np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)), dtype=np.float64)
    count = min(_NEIGHBOURS, len(mesh.tets))
    from scipy.spatial import cKDTree  # scenes without embedded points need no SciPy

    _, near = cKDTree(corners.mean(axis=1)).query(points, k=count)
    near = np.asarray(near).reshape(len(points), count)
    weights = _weights(points, origin, inverse, near)
    tets = near[np.arange(len(points)), weights.min(axis=2).argmax(axis=1)]
    best = _weights(points, origin, inverse, tets[:, None])[:, 0]
    lost = np.flatnonzero(best.min(axis=1) < -1e-9)
    for point in lost:  # elements of very different sizes: look at all of them
        everything = _weights(points[point : point + 1], origin, inverse, np.arange(len(mesh.tets))[None])[0]
        tets[point] = everything.min(axis=1).argmax()
        best[point] = everything[tets[point]]
    return Embedding(tets.astype(np.int32), mesh.tets[tets], best, np.maximum(0.0, -best.min(axis=1)))


def _weights(
    points: FloatArray, origin: FloatArray, inverse: FloatArray, tets: npt.NDArray[np.int64]
) -> FloatArray:
    local = np.einsum("pkij,pkj->pki", inverse[tets], points[:, None] - origin[tets])
    return np.concatenate((1.0 - local.sum(axis=2, keepdims=True), local), axis=2)


class EmbeddedPoints:
    """Embedded points of a body of a model, on its device.

    Attributes:
        nodes: Nodes in the concatenated arrays, vec4i ``[P]``.
        weights: vec4 ``[P]``.
        positions, velocities: Written by :meth:`update`, vec3 ``[P]``.
    """

    def __init__(self, model: FemModel, body: int, embedding: Embedding) -> None:
        """Put an embedding of the mesh of a body on the device.

        Raises:
            ModelError: The body has no tetrahedra, or other ones.
        """
        mesh = model.bodies[body].mesh
        if not isinstance(mesh, TetMesh) or embedding.tets.max(initial=0) >= len(mesh.tets):
            raise ModelError(f"body {body}: the embedding was not made for its mesh")
        self.model = model
        nodes = (embedding.nodes + model.node_start[body]).astype(np.int32)
        self.nodes = wp.array(nodes, dtype=wp.vec4i, device=model.device)
        self.weights = wp.array(embedding.weights.astype(np.float32), dtype=wp.vec4, device=model.device)
        self.positions = wp.zeros(len(nodes), dtype=wp.vec3, device=model.device)
        self.velocities = wp.zeros(len(nodes), dtype=wp.vec3, device=model.device)

    def update(self, state: FemState) -> None:
        """Follow a state."""
        wp.launch(
            kernels.interpolate,
            dim=len(self.nodes),
            inputs=[self.nodes, self.weights, state.position, state.velocity],
            outputs=[self.positions, self.velocities],
            device=self.model.device,
        )
