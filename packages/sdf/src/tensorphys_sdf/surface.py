"""A triangle surface on a device: closest points, winding numbers, and the rule for its sign."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import exact as kernels
from tensorphys_sdf.errors import (
    MeshRepairWarning,
    NoInsideWarning,
    OpenMeshWarning,
    ParameterError,
    SdfWarning,
)
from tensorphys_sdf.mesh import Array, MeshReport, clean_mesh
from tensorphys_sdf.structs import SdfSurface

SignRule = Literal["auto", "winding", "normal", "unsigned"]

_LEAF = 4  # triangles a leaf; LEAF of the kernels
_RULES = {"winding": 0, "normal": 1, "unsigned": 2}
# Radii beyond which a node of the tree counts as a dipole. At 1.5 the winding number of closed surfaces erred by
# at most 0.14 (2: 0.10, 4: 0.02) in trials; one half decides.
_ACCURACY_CLOSED = 1.5
_ACCURACY_OPEN = 2.0
_ACCURACY_ASKED = 4.0
_SHEET = 0.15  # a closed solid gives 0.5, a flat sheet 0
_PROBES = 128


class Surface:
    """A cleaned triangle mesh with the trees of its exact queries.

    Attributes:
        vertices: Positions in the frame of the shape, float64 ``(V, 3)``.
        triangles: Corners, int64 ``(F, 3)``, outward.
        report: What was found in the mesh.
        sign: The rule in use: ``winding``, ``normal`` or ``unsigned``.
        enclosure: Median over the faces of twice the winding number that the rest of the surface has there:
            1 for closed solids, 0 for a flat sheet.
        struct: What kernels take, :class:`~tensorphys_sdf.device.SdfSurface`.
    """

    def __init__(
        self,
        vertices: Any,
        triangles: Any,
        *,
        sign: SignRule = "auto",
        repair: bool = True,
        accuracy: float | None = None,
        quiet: bool = False,
        device: Any = None,
    ) -> None:
        """Clean a mesh, decide the rule for its sign and build its trees.

        Args:
            vertices: Positions, shape ``(V, 3)``, frame of the shape.
            triangles: Corners, shape ``(F, 3)``, counter-clockwise seen from outside.
            sign: ``winding``: inside is where the generalised winding number exceeds 1/2. ``normal``: the side
                of the nearest face. ``unsigned``: no sign. ``auto``: winding, or normal with a warning when the
                surface encloses nothing.
            repair: Turn faces that disagree with their neighbours and drop repeated ones first.
            accuracy: For the sign, groups of triangles count as one dipole beyond this many of their radii;
                default 1.5 for closed surfaces and 2 for open ones.
            quiet: Give no warnings.
            device: Warp device.

        Raises:
            MeshError: The arrays are no mesh.
            ParameterError: ``sign`` names no rule.
        """
        if sign != "auto" and sign not in _RULES:
            raise ParameterError(f"sign: expected auto, {', '.join(_RULES)}, got {sign!r}")
        self.vertices, self.triangles, self.report = clean_mesh(vertices, triangles, repair=repair)
        self.device = wp.get_device(device)
        corners = self.vertices[self.triangles]
        self.lower, self.upper = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
        center = 0.5 * (self.lower + self.upper)
        local = (self.vertices - center).astype(np.float32)
        self.mesh = wp.Mesh(
            points=wp.array(local, dtype=wp.vec3, device=self.device),
            indices=wp.array(self.triangles.reshape(-1).astype(np.int32), device=self.device),
        )
        self.struct = SdfSurface()
        self.struct.mesh = self.mesh.id
        self.struct.center = wp.vec3(*center)
        self.struct.lower, self.struct.upper = wp.vec3(*self.lower), wp.vec3(*self.upper)
        self.struct.closed = int(self.report.closed)
        default = _ACCURACY_CLOSED if self.report.closed else _ACCURACY_OPEN
        self.struct.accuracy = default if accuracy is None else accuracy
        spheres, dipoles, tree_corners = winding_tree(corners - center)
        self.struct.leaves = len(spheres) // 2
        self.struct.node_sphere = wp.array(spheres.astype(np.float32), dtype=wp.vec4, device=self.device)
        self.struct.node_dipole = wp.array(dipoles.astype(np.float32), dtype=wp.vec3, device=self.device)
        self.struct.corner = wp.array(tree_corners.astype(np.float32), dtype=wp.vec3, device=self.device)
        self.enclosure = 1.0 if self.report.closed else self._measure_enclosure(corners)
        self.sign = self._decide(sign, quiet)
        self.struct.sign = _RULES[self.sign]
        normals = pseudonormals(self.vertices, self.triangles) if self.sign == "normal" else np.empty((0, 3))
        self.struct.pseudonormal = wp.array(normals.astype(np.float32), dtype=wp.vec3, device=self.device)

    def winding_number(self, points: Any, *, accuracy: float = _ACCURACY_ASKED) -> Array:
        """Generalised winding number.

        Args:
            points: Positions in the frame of the shape, shape ``(N, 3)``.
            accuracy: Groups of triangles count as one dipole beyond this many of their radii.

        Returns:
            1 inside and 0 outside of closed surfaces, fractions at open ones; float32, shape ``(N,)``.
        """
        p = wp.array(np.asarray(points, dtype=np.float32).reshape(-1, 3), dtype=wp.vec3, device=self.device)
        out = wp.empty(len(p), dtype=wp.float32, device=self.device)
        wp.launch(
            kernels.winding_numbers,
            dim=len(p),
            inputs=[self.struct, p, accuracy],
            outputs=[out],
            device=self.device,
        )
        result: Array = out.numpy()
        return result

    def _measure_enclosure(self, corners: Array) -> float:
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = np.linalg.norm(normal, axis=1)
        at = np.searchsorted(np.cumsum(area), (np.arange(_PROBES) + 0.5) / _PROBES * area.sum())
        at = np.minimum(at, len(area) - 1)
        step = 1e-3 * np.sqrt(area[at])[:, None] * normal[at] / area[at][:, None]
        middle = corners[at].mean(axis=1)
        w = self.winding_number(np.concatenate([middle - step, middle + step]))
        return float(np.median(w[:_PROBES] + w[_PROBES:]))

    def _decide(self, sign: SignRule, quiet: bool) -> str:
        if not quiet:
            self.warn(sign, stacklevel=6)
        if sign != "auto":
            return sign
        return "normal" if self.enclosure < 2.0 * _SHEET else "winding"

    def warn(self, sign: SignRule = "auto", *, stacklevel: int = 2) -> None:
        """Give the warnings about what was found in the mesh, for the rule that was asked for."""
        for category, text in self._findings(sign):
            warnings.warn(text, category, stacklevel=stacklevel)

    def _findings(self, sign: SignRule) -> list[tuple[type[SdfWarning], str]]:
        r = self.report
        found: list[tuple[type[SdfWarning], str]] = []
        if r.duplicate_count or r.turned_count:
            text = (
                f"mesh of {r.triangle_count} triangles: {r.duplicate_count} repeated faces dropped, "
                f"{r.turned_count} turned"
            )
            found.append((MeshRepairWarning, text))
        if sign not in ("auto", "winding"):
            return found
        if self.enclosure < 2.0 * _SHEET:
            consequence = (
                "distances are signed by the side of the nearest face (positive where its normal points)"
                if sign == "auto"
                else "sign='winding' was asked for and finds little or no inside"
            )
            text = (
                f"the mesh is open and encloses nothing ({r.boundary_edge_count} boundary edges, "
                f"enclosure {self.enclosure:.2f} of 1): {consequence}; sign='unsigned' gives plain distances"
            )
            found.append((NoInsideWarning, text))
        elif not r.closed:
            text = (
                f"the mesh is open ({r.boundary_edge_count} boundary edges): inside is where its generalised "
                "winding number exceeds 1/2"
            )
            found.append((OpenMeshWarning, text))
        return found


def pseudonormals(vertices: Array, triangles: Array) -> Array:
    """Normals that tell the side at every feature of a surface [Baerentzen & Aanaes 2005].

    Args:
        vertices: Positions, shape ``(V, 3)``, without repetition.
        triangles: Corners, shape ``(F, 3)``.

    Returns:
        Seven vectors a face, shape ``(7 F, 3)``: its normal, the sums of the normals at its edges 01, 12, 20,
        and the angle-weighted sums at its vertices 0, 1, 2.
    """
    corners = vertices[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    result = np.empty((len(triangles), 7, 3))
    result[:, 0] = normal
    start, end = triangles, np.roll(triangles, -1, axis=1)
    _, edge = np.unique(np.minimum(start, end) * len(vertices) + np.maximum(start, end), return_inverse=True)
    edge = edge.reshape(-1, 3)
    side = np.stack([corners[:, (k + 1) % 3] - corners[:, k] for k in range(3)], axis=1)
    side /= np.linalg.norm(side, axis=2, keepdims=True)
    angle = np.arccos(np.clip(-(side * np.roll(side, 1, axis=1)).sum(axis=2), -1.0, 1.0))
    for axis in range(3):
        of_edge = np.bincount(edge.ravel(), weights=np.repeat(normal[:, axis], 3))
        result[:, 1:4, axis] = of_edge[edge]
        of_vertex = np.bincount(triangles.ravel(), weights=(angle * normal[:, axis : axis + 1]).ravel())
        result[:, 4:7, axis] = of_vertex[triangles]
    return result.reshape(-1, 3)


def winding_tree(corners: Array) -> tuple[Array, Array, Array]:
    """Complete binary tree of triangles in Morton order.

    Args:
        corners: Corners of the triangles, shape ``(F, 3, 3)``.

    Returns:
        Sphere ``(2 L, 4)`` and dipole ``(2 L, 3)`` of each node (row 0 is not used, row 1 is the root), and the
        corners in tree order ``(12 L, 3)``, filled up with repeated points.
    """
    count = len(corners)
    levels = max(int(np.ceil(np.log2(max(count / _LEAF, 1.0)))), 0)
    leaves = 1 << levels
    corners = corners[np.argsort(_morton(corners.mean(axis=1)), kind="stable")]
    # spread evenly, so that no leaf is empty while others are full
    slot = np.arange(count) * (leaves * _LEAF) // count
    padded = np.repeat(corners[:1, :1], leaves * _LEAF, axis=0).repeat(3, axis=1)
    used = np.zeros(leaves * _LEAF, dtype=bool)
    padded[slot], used[slot] = corners, True
    vectors = 0.5 * np.cross(padded[:, 1] - padded[:, 0], padded[:, 2] - padded[:, 0])
    weight = np.linalg.norm(vectors, axis=1)
    moment = weight[:, None] * padded.mean(axis=1)
    spheres, dipoles = np.zeros((2 * leaves, 4)), np.zeros((2 * leaves, 3))
    group = _LEAF
    for level in range(levels, -1, -1):
        nodes = 1 << level
        vectors, moment = (x.reshape(nodes, group, 3).sum(axis=1) for x in (vectors, moment))
        weight = weight.reshape(nodes, group).sum(axis=1)
        middle = np.where(weight[:, None] > 0.0, moment / np.maximum(weight, 1e-300)[:, None], 0.0)
        reach = np.linalg.norm(padded.reshape(nodes, -1, 3, 3) - middle[:, None, None], axis=3)
        rows = slice(nodes, 2 * nodes)
        spheres[rows, :3], dipoles[rows] = middle, vectors
        spheres[rows, 3] = np.where(used.reshape(nodes, -1, 1), reach, 0.0).max(axis=(1, 2))
        group = 2
    return spheres, dipoles, padded.reshape(-1, 3)


def _morton(points: Array) -> Array:
    low, high = points.min(axis=0), points.max(axis=0)
    scaled = ((points - low) / max(float((high - low).max()), 1e-300) * 1023.0).astype(np.int64)
    code = np.zeros(len(points), dtype=np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((scaled[:, axis] >> bit) & 1) << (3 * bit + axis)
    return code


__all__ = ["MeshReport", "SignRule", "Surface", "pseudonormals", "winding_tree"]
