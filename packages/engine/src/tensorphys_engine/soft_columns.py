"""What the deformables of a scene become before they go to a device."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tensorphys_fem import Body, ShellMesh, TetMesh


@dataclass(frozen=True)
class SoftBody:
    """A deformable of one environment.

    Attributes:
        path: Prim path.
        body: Mesh, material and place; the environment is in it.
        self_collision: Whether its surface collides with itself.
        filter_distance: Distance at rest within which it does not [length]; None: the mean edge of its surface.
        max_push: Bound of the speed that removes penetration [length/s].
        velocities: Nodes at the start [length/s], None at rest.
        prim_points: Number of nodes that the prim itself has, where the mesh was made from it; else that of the mesh.
    """

    path: str
    body: Body
    self_collision: bool = False
    filter_distance: float | None = None
    max_push: float = 1.0
    velocities: npt.NDArray[np.float64] | None = field(default=None, compare=False)

    @property
    def triangles(self) -> npt.NDArray[np.int32]:
        """Surface in nodes of the mesh, counter-clockwise seen from outside, shape [F, 3]."""
        mesh = self.body.mesh
        if isinstance(mesh, TetMesh):
            return np.asarray(mesh.boundary, np.int32)
        return np.asarray(mesh.triangles, np.int32)

    @property
    def is_shell(self) -> bool:
        """Whether it is a surface without an inside."""
        return isinstance(self.body.mesh, ShellMesh)

    @property
    def edge(self) -> float:
        """Mean edge of the surface [length]."""
        corners = self.body.mesh.points[self.triangles]
        return float(np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2).mean())
