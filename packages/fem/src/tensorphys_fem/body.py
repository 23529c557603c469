"""Description of a deformable body, before it goes to a device."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_fem.errors import ModelError
from tensorphys_fem.material import Material
from tensorphys_fem.mesh import ShellMesh, TetMesh


class Scheme(enum.IntEnum):
    """How a body is integrated in time; the value is what kernels read."""

    DAMPED = 0
    """Backward Euler: L-stable, first order. A free spin of ω loses h² ω² of its angular momentum a step."""
    CONSERVING = 1
    """Energy and momentum [Simo & Tarnow 1992, Gonzalez 2000]: second order, no dissipation of its own."""


@dataclasses.dataclass(frozen=True)
class Body:
    """A deformable body at its place.

    Attributes:
        mesh: Rest shape.
        material: Constants.
        scheme: Integration in time.
        thickness: Of a shell [m]; not read for tetrahedra.
        environment: Environment that the body belongs to.
        position: Where the origin of the mesh starts, environment frame [m].
        rotation: Quaternion ``(x, y, z, w)`` that turns the mesh at the start.
        name: What messages call the body.
    """

    mesh: TetMesh | ShellMesh
    material: Material = dataclasses.field(default_factory=Material)
    scheme: Scheme = Scheme.DAMPED
    thickness: float = 1e-3
    environment: int = 0
    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = (0.0, 0.0, 0.0, 1.0)
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse impossible descriptions."""
        if not isinstance(self.mesh, (TetMesh, ShellMesh)):
            raise ModelError(
                f"body {self.name!r}: expected a TetMesh or ShellMesh, got {type(self.mesh).__name__}"
            )
        if isinstance(self.mesh, ShellMesh) and not self.thickness > 0.0:
            raise ModelError(
                f"body {self.name!r}: thickness: expected a positive number [m], got {self.thickness}"
            )
        if self.environment < 0:
            raise ModelError(f"body {self.name!r}: environment: expected an index, got {self.environment}")
        rotation = np.asarray(self.rotation, dtype=np.float64)
        position = np.asarray(self.position, dtype=np.float64)
        if position.shape != (3,) or not np.isfinite(position).all():
            raise ModelError(f"body {self.name!r}: position: expected 3 finite numbers, got {self.position}")
        if rotation.shape != (4,) or not 0.5 < float(rotation @ rotation) < 2.0:
            raise ModelError(
                f"body {self.name!r}: rotation: expected a unit quaternion (x, y, z, w), got {self.rotation}"
            )

    def placed_points(self) -> npt.NDArray[np.float64]:
        """Nodes at the start, environment frame [m], float64 ``(N, 3)``."""
        quaternion = np.asarray(self.rotation, dtype=np.float64)
        x, y, z, w = quaternion / np.linalg.norm(quaternion)
        axis = np.array((x, y, z))
        points = self.mesh.points
        turned = np.cross(axis, points) * (2.0 * w) + 2.0 * np.cross(axis, np.cross(axis, points))
        if not axis.any():
            turned = np.zeros_like(points)
        return points + turned + np.asarray(self.position, dtype=np.float64)
