"""What scene queries report: the objects that are hit, and their paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pxr import Sdf, UsdGeom

from tensorphys_backend.world import World

__all__ = ["NO_INSTANCE", "HitNames", "OverlapHit", "RayHit"]

NO_INSTANCE = 0xFFFFFFFF
"""``protoIndex`` of what is no instance of a point instancer."""


@dataclass(frozen=True)
class OverlapHit:
    """A shape that a query shape overlaps.

    Attributes:
        rigid_body: Prim path of its body; of the collider itself where it never moves.
        collision: Prim path of its collider.
        proto_index: Number of the instance, where a point instancer made it, else :data:`NO_INSTANCE`.
    """

    rigid_body: str
    collision: str
    proto_index: int


@dataclass(frozen=True)
class RayHit(OverlapHit):
    """A shape that a ray hits.

    Attributes:
        position: Point [m], world frame.
        normal: Normal of the surface, world frame.
        distance: Way along the ray [m].
        face_index: Triangle of a mesh, else -1.
        material: Prim path of its physics material, empty where none is bound.
    """

    position: tuple[float, float, float]
    normal: tuple[float, float, float]
    distance: float
    face_index: int
    material: str


class HitNames:
    """Paths of the shapes of a simulation, by number; what was asked for is kept.

    Args:
        world: The simulation.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._paths = world.simulation.directory.shape_paths
        self._instances: dict[str, int] = {}

    def collision(self, shape: int) -> str:
        """Path of a collider."""
        return self._paths[shape]

    def owner(self, shape: int) -> str:
        """Path of its body; its own where it never moves."""
        return self._world.owner_path(shape)

    def material(self, shape: int) -> str:
        """Path of its physics material, empty where none is bound."""
        return self._world.material_path(shape)

    def instance(self, shape: int) -> int:
        """Number of the instance that it belongs to, :data:`NO_INSTANCE` where a point instancer has none to do with it."""
        path = self._paths[shape]
        known = self._instances.get(path)
        if known is None:
            known = self._instances[path] = _instance_of(self._world.stage, path)
        return known

    def overlap(self, shape: int) -> OverlapHit:
        """Report of a shape that is overlapped."""
        return OverlapHit(self.owner(shape), self.collision(shape), self.instance(shape))


def _instance_of(stage: Any, path: str) -> int:
    """Number at the end of the name of the instance that a path leads through."""
    if stage.GetPrimAtPath(path):
        return NO_INSTANCE
    for prefix in Sdf.Path(path).GetPrefixes():
        if not stage.GetPrimAtPath(prefix):
            number = prefix.name.rpartition("_")[2]
            made = stage.GetPrimAtPath(prefix.GetParentPath()).IsA(UsdGeom.PointInstancer)
            return int(number) if made and number.isdigit() else NO_INSTANCE
    return NO_INSTANCE
