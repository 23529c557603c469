"""Colliders of a simulation that ask what they overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from tensorphys_backend.errors import PrimPathError, QueryError
from tensorphys_backend.world import World
from tensorphys_contact import (
    MeshQuery,
    QueryShapes,
    ShapeType,
    TriangleMesh,
    cook_mesh,
    create_mesh_query,
    create_query_shapes,
)

__all__ = ["AskingColliders"]

_CONVEX = tuple(kind for kind in ShapeType if ShapeType.SPHERE <= kind <= ShapeType.ELLIPSOID)


class AskingColliders:
    """Query shapes of the colliders of one simulation, at the poses of the moment.

    Args:
        world: The simulation.
    """

    def __init__(self, world: World) -> None:
        self._paths = world.simulation.directory.shape_paths
        self._model, self._pose = world.simulation.contact_model, world.simulation.state.link_pose
        self._meshes: dict[int, TriangleMesh] = {}

    def has(self, path: str) -> bool:
        """Whether a collider has a path."""
        return path in self._paths

    def ask(self, path: str) -> tuple[list[QueryShapes | MeshQuery], list[int]]:
        """Query shapes of the collider at a path, and its numbers.

        Triangle meshes ask by their triangles, and where they are closed, like signed distance fields, by their inside.

        Raises:
            PrimPathError: No collider of the simulation is there.
            QueryError: It is a plane, which no scene query asks by.
        """
        numbers = [shape for shape, other in enumerate(self._paths) if other == path]
        if not numbers:
            raise PrimPathError(f"{path}: no collider of the simulation has this path")
        kinds, poses = self._model.shape_type.numpy()[numbers], self._poses(numbers)
        if (kinds == ShapeType.PLANE).any():
            raise QueryError(f"{path}: the collider is a PLANE, which is endless; ask by a box instead")
        asked: list[QueryShapes | MeshQuery] = []
        convex = np.isin(kinds, _CONVEX)
        if convex.any():
            asked.append(self._convex(np.asarray(numbers)[convex], kinds[convex], poses[convex]))
        for number, kind, pose in zip(numbers, kinds.tolist(), poses, strict=True):
            if kind == ShapeType.SPHERES:
                asked.append(self._spheres(number, pose))
            elif kind not in _CONVEX:
                asked.append(create_mesh_query(self._mesh(number), pose, device=self._model.device))
        return asked, numbers

    def _poses(self, numbers: list[int]) -> Any:
        """Poses of shapes in the world, shape [n, 7]."""
        local, body = self._model.local_pose.numpy()[numbers], self._model.shape_body.numpy()[numbers]
        link = self._pose.numpy()
        return np.asarray(
            [
                _compose(link[int(owner)], own) if owner >= 0 else own
                for own, owner in zip(local, body, strict=True)
            ]
        )

    def _convex(self, numbers: Any, kinds: Any, poses: Any) -> QueryShapes:
        return create_query_shapes(
            kind=kinds,
            size=self._model.shape_size.numpy()[numbers],
            pose=poses,
            environment=np.zeros(len(numbers), np.int32),
            hull=numbers,
            device=self._model.device,
        )

    def _spheres(self, number: int, pose: Any) -> QueryShapes:
        first, end = self._model.shape_spheres.numpy()[number]
        balls = self._model.sphere.numpy()[int(first) : int(end)]
        size = np.zeros((len(balls), 3), np.float32)
        size[:, 0] = balls[:, 3]
        poses = [_compose(pose, [*ball[:3], 0.0, 0.0, 0.0, 1.0]) for ball in balls]
        return create_query_shapes(
            kind=np.full(len(balls), int(ShapeType.SPHERE)),
            size=size,
            pose=np.asarray(poses),
            environment=np.zeros(len(balls), np.int32),
            device=self._model.device,
        )

    def _mesh(self, number: int) -> TriangleMesh:
        """Triangles of a shape, in its frame."""
        identity = int(self._model.shape_mesh.numpy()[number])
        if identity not in self._meshes:
            found = next(mesh for mesh in self._model.warp_meshes if mesh.id == identity)
            corners = found.indices.numpy().reshape(-1, 3)
            self._meshes[identity] = cook_mesh(found.points.numpy(), corners)
        return self._meshes[identity]


def _compose(outer: Any, inner: Any) -> Any:
    """Pose of an inner frame, given in an outer one, both xyzw."""
    a, b = wp.transform(*[float(x) for x in outer]), wp.transform(*[float(x) for x in inner])
    return np.asarray(wp.transform_multiply(a, b), np.float32).reshape(7)
