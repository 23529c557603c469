"""What the deformables of a scene become before they go to a device."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tensorphys_fem import Body, ShellMesh, TetMesh


@dataclass(frozen=True)
class CollisionMesh:
    """A mesh that follows a simulation mesh.

    Attributes:
        points: At rest, in the axes of the simulation mesh [length], shape [P, 3].
        elements: Tetrahedra or triangles, int32, shape [E, 4] or [E, 3].
        nodes, weights: Nodes of the simulation mesh that carry each point and their weights, shape [P, 4].
    """

    points: npt.NDArray[np.float64]
    elements: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float64]


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
        material: Prim path of its material, "" where none is bound.
        simulation_path, collision_path: Prims of the simulation and of the collision mesh.
        collision: Collision mesh where the prim has one of its own, embedded in the simulation mesh; it is what views
            show, contacts are those of the simulation mesh.
    """

    path: str
    body: Body
    self_collision: bool = False
    filter_distance: float | None = None
    max_push: float = 1.0
    velocities: npt.NDArray[np.float64] | None = field(default=None, compare=False)
    material: str = ""
    simulation_path: str = ""
    collision_path: str = ""
    collision: CollisionMesh | None = field(default=None, compare=False)

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
