"""Which shapes of a model any of many query shapes overlaps; triangle meshes that ask."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._kernels import overlap_marks as kernels
from .errors import ArrayError
from .meshes import TriangleMesh
from .model import Model
from .queries import QueryTree
from .shapes import ShapeType
from .volumes import BLOCK, QueryShapes, create_query_shapes, query_inputs, world_inputs


@dataclasses.dataclass
class MeshQuery:
    """A triangle mesh that asks; made by :func:`create_mesh_query`.

    Attributes:
        triangles: Its triangles as query shapes.
        solid: Its surface, where it is closed and its inside asks as well; else None.
        pose: Pose in the environment frame, ``x y z qx qy qz qw``.
        environment: Environment.
    """

    triangles: QueryShapes
    solid: wp.Mesh | None
    pose: npt.NDArray[np.float32]
    environment: int


def is_closed(mesh: TriangleMesh) -> bool:
    """Whether a surface has no border: each edge joins two triangles that agree on their fronts."""
    return bool((mesh.neighbour >= 0).all())


def _volume(mesh: TriangleMesh) -> float:
    """Volume that a closed surface encloses, negative where its fronts look inward."""
    corners = mesh.vertices[mesh.triangles] - mesh.center
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6.0


def create_mesh_query(
    mesh: TriangleMesh, pose: npt.ArrayLike, *, environment: int = 0, solid: bool = True, device: Any = None
) -> MeshQuery:
    """Put a triangle mesh that asks on a device.

    Args:
        mesh: The mesh.
        pose: Its pose in the environment frame, ``x y z qx qy qz qw``.
        environment: Environment it asks in.
        solid: Whether its inside asks as well, where it is closed; see :func:`is_closed`. Which side its fronts look to
            does not matter.
        device: Warp device of the model.
    """
    count = len(mesh.triangles)
    placed = np.asarray(pose, np.float32).reshape(7)
    corners = mesh.vertices[mesh.triangles].astype(np.float32)
    size = np.zeros((count, 3), np.float32)
    size[:, 0] = np.linalg.norm(corners, axis=2).max(axis=1)
    triangles = create_query_shapes(
        kind=np.full(count, int(ShapeType.CONVEX_HULL)),
        size=size,
        pose=np.tile(placed, (count, 1)),
        environment=np.full(count, environment),
        corner=corners.reshape(-1, 3),
        corner_start=3 * np.arange(count + 1),
        device=device,
    )
    surface = None
    if solid and is_closed(mesh):
        outward = mesh.triangles if _volume(mesh) > 0.0 else mesh.triangles[:, ::-1]
        surface = wp.Mesh(
            wp.array(mesh.vertices.astype(np.float32), dtype=wp.vec3, device=device),
            wp.array(outward.reshape(-1), dtype=wp.int32, device=device),
        )
    return MeshQuery(triangles, surface, placed, environment)


def mark_overlaps(
    model: Model,
    tree: QueryTree,
    body_pose: wp.array[wp.transform],
    shapes: QueryShapes | MeshQuery,
    marks: wp.array[wp.int32],
) -> None:
    """Mark the shapes that any of some query shapes overlaps.

    A query shape wholly inside of a triangle mesh of the model does not overlap its surface. A closed mesh that asks
    overlaps what lies wholly inside of it. Nothing is allocated or waited for.

    Args:
        model, tree, body_pose: As of :func:`find_overlaps`.
        shapes: What asks.
        marks: int32 [S]; 1 is written for shapes that are overlapped, others stay.

    Raises:
        ArrayError: marks for another number of shapes.
    """
    if marks.shape != (model.shape_count,) or marks.device != model.device:
        raise ArrayError(f"marks: expected [{model.shape_count}] on {model.device}, given {marks.shape}")
    asked = shapes.triangles if isinstance(shapes, MeshQuery) else shapes
    wp.launch(
        kernels.mark_overlaps,
        dim=len(asked.kind),
        inputs=[*world_inputs(tree, body_pose), *query_inputs(asked)],
        outputs=[marks],
        device=model.device,
        block_dim=BLOCK,
    )
    if isinstance(shapes, MeshQuery) and shapes.solid is not None:
        wp.launch(
            kernels.mark_enclosed,
            dim=len(tree.row),
            inputs=[
                shapes.solid.id,
                wp.transform(*shapes.pose.tolist()),
                shapes.environment,
                tree.row,
                model.row_environment,
                tree.shapes,
                body_pose,
            ],
            outputs=[marks],
            device=model.device,
            block_dim=BLOCK,
        )
