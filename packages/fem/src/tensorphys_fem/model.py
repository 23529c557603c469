"""Bodies on a device: constant arrays, materials that may change, and the start state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_fem._kernels import structs
from tensorphys_fem.body import Body
from tensorphys_fem.errors import ModelError
from tensorphys_fem.material import LOCKING_POISSON
from tensorphys_fem.topology import Topology, build_topology

CHUNK = 128  # nodes that one group of lanes takes in the path for large bodies


class FemModel:
    """Bodies of all environments, concatenated in the order given.

    Node, element and matrix arrays of a body are contiguous; ``node_start`` and ``element_start`` say where. Elements
    of a shell are its triangles, then its hinges.

    Attributes:
        bodies: The descriptions.
        device: Where the arrays live.
        body_count, node_count, element_count, environment_count: Sizes.
        node_start, element_start: First node and element of each body and the end, NumPy int32 ``(B + 1,)``.
        node_mass: [kg], float64 ``[N]``; 0 for nodes of no element.
        node_slope: Stiffness of a node with its neighbours held, over Young's modulus, roughly [m], float32 ``[N]``.
        element_nodes: Node indices in the concatenated arrays, vec4i ``[M]``; the fourth of a triangle repeats the
            third.
        element_measure: Volume [m³], area times thickness [m³], of hinges thickness³ edge² / area [m³], float64
            ``[M]``.
        rest_points: Nodes at the start, environment frame [m], vec3d ``[N]``.
        materials: Arrays of one value a body, read at the next step (``youngs_modulus``, ``poissons_ratio``,
            ``damping``, ``damping_scale``, ``velocity_damping`` float32, ``law`` and ``scheme`` int32). Writing an
            impossible value here is not noticed.
        nodal_dilatation: Whether the cure of volumetric locking is built in.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        *,
        environment_count: int | None = None,
        nodal_dilatation: bool | None = None,
        device: Any = None,
    ) -> None:
        """Build the arrays.

        Args:
            bodies: At least one. Equal meshes (the same object, and for shells the same thickness) are cooked once.
            environment_count: Default: as many as the bodies name.
            nodal_dilatation: Build the cure of volumetric locking in, which acts from ν = 0.4 on. Default: when a
                body has such a material. Without it a Poisson's ratio that is raised later locks.
            device: Warp device.

        Raises:
            ModelError: No bodies, or an environment out of range.
        """
        if not bodies:
            raise ModelError("bodies: expected at least one")
        self.bodies = tuple(bodies)
        self.device = wp.get_device(device)
        highest = max(body.environment for body in bodies) + 1
        self.environment_count = highest if environment_count is None else environment_count
        if highest > self.environment_count:
            raise ModelError(f"environment_count: {self.environment_count}, but a body is in {highest - 1}")
        if nodal_dilatation is None:
            nodal_dilatation = any(b.material.poissons_ratio > LOCKING_POISSON[0] for b in bodies)
        self.nodal_dilatation = nodal_dilatation
        topologies = _cook(bodies)
        self.body_count = len(bodies)
        self.node_start = _starts([t.node_count for t in topologies])
        self.element_start = _starts([len(t.kind) for t in topologies])
        self.node_count = int(self.node_start[-1])
        self.element_count = int(self.element_start[-1])
        self._build(topologies)
        self.materials = self._build_materials()
        points = np.concatenate([body.placed_points() for body in bodies])
        self.rest_points = wp.array(points, dtype=wp.vec3d, device=self.device)

    def _build(self, topologies: Sequence[Topology]) -> None:
        density = np.array([body.material.density for body in self.bodies])
        counts = np.diff(self.node_start)
        node_body = np.repeat(np.arange(self.body_count), counts)
        volume = np.concatenate([t.volume for t in topologies])
        block_start = _starts([len(t.column) for t in topologies])
        corner_start = _starts([len(t.corner) for t in topologies])
        source_start = _starts([len(t.source) for t in topologies])
        chunk_count = -(-counts // CHUNK)
        chunks = np.concatenate(
            [
                np.minimum(start + CHUNK * np.arange(number), end)
                for start, end, number in zip(self.node_start, self.node_start[1:], chunk_count, strict=False)
            ]
            + [self.node_start[-1:]]
        )

        def joined(name: str, offsets: Any, factor: int = 1) -> Any:
            parts = [getattr(t, name) + factor * o for t, o in zip(topologies, offsets, strict=False)]
            return np.concatenate(parts)

        def joined_starts(name: str, offsets: Any) -> Any:
            parts = [getattr(t, name)[:-1] + o for t, o in zip(topologies, offsets, strict=False)]
            return np.concatenate([*parts, offsets[-1:]])

        mesh = structs.Mesh()
        self._set(mesh, "node_start", self.node_start)
        self._set(mesh, "element_start", self.element_start)
        self._set(mesh, "node_body", node_body)
        self._set(mesh, "node_mass", volume * density[node_body], wp.float64)
        self._set(mesh, "patch_volume", joined("patch_volume", np.zeros(self.body_count + 1)), wp.float64)
        self._set(mesh, "element_body", np.repeat(np.arange(self.body_count), np.diff(self.element_start)))
        self._set(mesh, "element_kind", joined("kind", np.zeros(self.body_count + 1, dtype=int)))
        self._set(mesh, "element_nodes", joined("nodes", self.node_start), wp.vec4i)
        self._set(mesh, "element_rest", joined("rest", np.zeros(self.body_count + 1)), wp.mat33d)
        self._set(mesh, "element_measure", joined("measure", np.zeros(self.body_count + 1)), wp.float64)
        self._set(mesh, "corner_start", joined_starts("corner_start", corner_start))
        self._set(mesh, "corner", joined("corner", self.element_start, 4))
        mesh_rows = joined_starts("row_start", block_start)
        self._set(mesh, "row_start", mesh_rows)
        self._set(mesh, "column", joined("column", self.node_start))
        self._set(mesh, "block_row", np.repeat(np.arange(self.node_count), np.diff(mesh_rows)))
        self._set(mesh, "source_start", joined_starts("source_start", source_start))
        self._set(mesh, "source", joined("source", self.element_start, 20))
        self._set(mesh, "chunk_start", chunks)
        self._set(mesh, "chunk_body", np.repeat(np.arange(self.body_count), chunk_count))
        self._set(mesh, "body_chunk", _starts(chunk_count.tolist()))
        self.chunk_count = len(chunks) - 1
        self.block_count = int(block_start[-1])
        self.mesh = mesh
        self.node_mass = mesh.node_mass
        slope = joined("slope", np.zeros(self.body_count + 1)).astype(np.float32)
        self.node_slope = wp.array(slope, dtype=wp.float32, device=self.device)
        self.element_nodes = mesh.element_nodes
        self.element_measure = mesh.element_measure

    def _set(self, mesh: structs.Mesh, name: str, values: Any, dtype: Any = wp.int32) -> None:
        host = np.ascontiguousarray(values, dtype=np.int32 if dtype in (wp.int32, wp.vec4i) else np.float64)
        setattr(mesh, name, wp.array(host, dtype=dtype, device=self.device))

    def _build_materials(self) -> structs.Materials:
        arrays = structs.Materials()
        for name in ("youngs_modulus", "poissons_ratio", "damping", "damping_scale", "velocity_damping"):
            values = np.array([getattr(body.material, name) for body in self.bodies], dtype=np.float32)
            setattr(arrays, name, wp.array(values, dtype=wp.float32, device=self.device))
        laws = np.array([body.material.elasticity for body in self.bodies], dtype=np.int32)
        schemes = np.array([body.scheme for body in self.bodies], dtype=np.int32)
        arrays.law = wp.array(laws, dtype=wp.int32, device=self.device)
        arrays.scheme = wp.array(schemes, dtype=wp.int32, device=self.device)
        return arrays

    def nodes_of(self, body: int) -> slice:
        """Range of the nodes of a body in the concatenated arrays."""
        return slice(int(self.node_start[body]), int(self.node_start[body + 1]))

    def elements_of(self, body: int) -> slice:
        """Range of the elements of a body in the concatenated arrays."""
        return slice(int(self.element_start[body]), int(self.element_start[body + 1]))


def _cook(bodies: Sequence[Body]) -> list[Topology]:
    cooked: dict[tuple[int, float], Topology] = {}
    result = []
    for body in bodies:
        key = (id(body.mesh), body.thickness)
        if key not in cooked:
            cooked[key] = build_topology(body.mesh, body.thickness)
        result.append(cooked[key])
    return result


def _starts(counts: Sequence[int]) -> Any:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
