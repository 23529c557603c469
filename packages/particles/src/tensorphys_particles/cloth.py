"""Meshes of cloths."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tensorphys_particles.errors import MeshError
from tensorphys_particles.springs import (
    FloatArray,
    IntArray,
    SpringSet,
    _checked_mesh,
    make_grid_springs,
    make_springs,
)


@dataclasses.dataclass(frozen=True)
class ClothMesh:
    """A cloth in its rest shape.

    Attributes:
        points: Rest places [length], float64 ``[n, 3]``.
        triangles: Corners, int32 ``[t, 3]``, counter-clockwise seen from outside where the cloth is closed.
        springs: What holds it together.
    """

    points: FloatArray
    triangles: IntArray
    springs: SpringSet

    def __post_init__(self) -> None:
        """Check that triangles and springs name particles that are there."""
        points, triangles = _checked_mesh(self.points, self.triangles)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "triangles", triangles)
        ends = self.springs.indices
        wrong = ((ends < 0) | (ends >= len(points))).any(axis=1)
        if wrong.any():
            bad = int(np.argmax(wrong))
            raise MeshError(
                f"spring {bad} names {ends[bad].tolist()}, expected particles below {len(points)}"
            )

    @classmethod
    def from_triangles(
        cls,
        points: npt.ArrayLike,
        triangles: npt.ArrayLike,
        *,
        stretch_stiffness: float = 1.5,
        shear_stiffness: float = 1.5,
        bend_stiffness: float = 1.5,
        damping: float = 10.0,
    ) -> ClothMesh:
        """Cloth of a triangle mesh, with the springs of :func:`make_springs`."""
        springs = make_springs(
            points,
            triangles,
            stretch_stiffness=stretch_stiffness,
            shear_stiffness=shear_stiffness,
            bend_stiffness=bend_stiffness,
            damping=damping,
        )
        return cls(np.asarray(points), np.asarray(triangles), springs)

    @classmethod
    def grid(
        cls,
        shape: tuple[int, int],
        size: tuple[float, float],
        *,
        stretch_stiffness: float = 1.5,
        shear_stiffness: float = 1.5,
        bend_stiffness: float = 1.5,
        damping: float = 10.0,
    ) -> ClothMesh:
        """Rectangle in the x–y plane around the origin.

        Args:
            shape: Rows (along x) and columns (along y) of particles; particle of row r and column c is number
                r · columns + c.
            size: Lengths along x and y [length].
            stretch_stiffness, shear_stiffness, bend_stiffness: [force/length].
            damping: Of all springs [force·time/length].
        """
        if min(shape) < 1 or not min(size) >= 0.0:
            raise MeshError(
                f"grid of {shape} particles and size {size}: expected at least one particle a side"
            )
        x = np.linspace(-0.5, 0.5, shape[0]) * size[0] if shape[0] > 1 else np.zeros(1)
        y = np.linspace(-0.5, 0.5, shape[1]) * size[1] if shape[1] > 1 else np.zeros(1)
        points = np.zeros((shape[0], shape[1], 3))
        points[..., 0], points[..., 1] = x[:, None], y
        number = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
        a, b = number[:-1, :-1].ravel(), number[1:, :-1].ravel()
        c, d = number[1:, 1:].ravel(), number[:-1, 1:].ravel()
        triangles = np.concatenate((np.column_stack((a, b, c)), np.column_stack((a, c, d))))
        springs = make_grid_springs(
            points.reshape(-1, 3),
            shape,
            stretch_stiffness=stretch_stiffness,
            shear_stiffness=shear_stiffness,
            bend_stiffness=bend_stiffness,
            damping=damping,
        )
        return cls(points.reshape(-1, 3), triangles, springs)

    @property
    def areas(self) -> FloatArray:
        """Rest area of each triangle [length²], float64 ``[t]``."""
        a, b, c = (self.points[self.triangles[:, k]] for k in range(3))
        return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)

    @property
    def closed(self) -> bool:
        """Whether every edge has one triangle on each side, turned alike, so that there is an inside."""
        edges = np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
        if not len(edges):
            return False
        forward = {(a, b) for a, b in edges.tolist()}
        return len(forward) == len(edges) and all((b, a) in forward for a, b in forward)

    @property
    def volume(self) -> float:
        """Signed volume inside the rest shape [length³]; meaningful for a closed mesh."""
        a, b, c = (self.points[self.triangles[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)

    def masses(self, area_density: float) -> FloatArray:
        """Mass of each particle [mass], float64 ``[n]``: a third of that of each triangle at it.

        A particle of no triangle has mass 0 and is held fixed.
        """
        masses = np.zeros(len(self.points))
        np.add.at(masses, self.triangles.ravel(), np.repeat(area_density * self.areas / 3.0, 3))
        return masses
