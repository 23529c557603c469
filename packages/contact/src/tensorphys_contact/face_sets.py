"""Faces of surfaces that change their shape beside convex shapes: an edge, a corner or a small shape between nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._kernels import face_sets as kernels
from .errors import ArrayError
from .model import Model
from .point_sets import PointContacts, PointShapes
from .queries import QueryTree


class FaceSet:
    """Triangles over one array of points, and the convex shape that each of them meets between its corners, at up to four points.

    A face is met where it is deeper in a shape than its corners are, by more than a thousandth of its longest edge. Boxes,
    spheres, capsules, cylinders, cones, ellipsoids and hulls are met so; planes cannot be, and triangle meshes, signed
    distance fields and sets of spheres are met by points alone.

    Attributes:
        corner: Points of each face, vec3i [T].
        shape: Flat shape at each of up to four points of a face, −1 for none, the same at all, int32 [T, 4].
        weight: Weights of the corners there, vec3 [T, 4].
        normal: Of the face, away from the shape, environment frame, vec3 [T].
        distance: Signed distance along it, negative inside, offsets not included [length], float [T, 4].
        kept, kept_weight: Shape that a point met before and where, int32 [T, 4] and vec3 [T, 4], written by the caller: −1 for
            none, or where the point is to be given up. A face of such points is met also where its corners are as deep, and
            they stay where they are while they are near the shape; −1 is written where another point takes the place.
    """

    def __init__(
        self, triangles: npt.ArrayLike, *, solid: npt.ArrayLike, point_count: int, device: Any = None
    ) -> None:
        """Put the faces on a device.

        Args:
            triangles: Points of each face, counter-clockwise seen from outside, [T, 3].
            solid: Whether each face bounds a solid; the others have two sides, [T].
            point_count: Number of points.
            device: Warp device.

        Raises:
            ArrayError: A triangle of a point that does not exist, or lengths that do not fit.
        """
        corners = np.ascontiguousarray(triangles, dtype=np.int32).reshape(-1, 3)
        sides = np.asarray(solid, dtype=np.int32)
        if corners.size and (corners.min() < 0 or corners.max() >= point_count):
            raise ArrayError(f"triangles: expected points 0 to {point_count - 1}, given {corners.max()}")
        if len(sides) != len(corners):
            raise ArrayError(f"solid: expected one for each of {len(corners)} triangles, given {len(sides)}")
        self.device, self.count = wp.get_device(device), len(corners)
        vectors: Any = wp.vec3
        self.corner: Any = wp.array(corners, dtype=wp.vec3i, device=self.device)
        places = (self.count, int(kernels.PLACES))
        self.shape: Any = wp.full(places, -1, dtype=wp.int32, device=self.device)
        self.weight: Any = wp.zeros(places, dtype=vectors, device=self.device)
        self.normal: Any = wp.zeros(self.count, dtype=vectors, device=self.device)
        self.distance: Any = wp.zeros(places, dtype=wp.float32, device=self.device)
        self.kept: Any = wp.full(places, -1, dtype=wp.int32, device=self.device)
        self.kept_weight: Any = wp.zeros(places, dtype=vectors, device=self.device)
        self._faces = kernels.Faces()
        self._faces.corner, self._faces.kept = self.corner, self.kept
        self._faces.kept_weight = self.kept_weight
        self._faces.solid = wp.array(sides, dtype=wp.int32, device=self.device)

    def collide(
        self,
        model: Model,
        tree: QueryTree,
        shapes: PointShapes,
        body_pose: wp.array[wp.transform],
        points: PointContacts,
        *,
        position: wp.array[wp.vec3],
        margin: wp.array[wp.float32],
    ) -> None:
        """Find the shape of each face in one launch; nothing is allocated or waited for.

        Args:
            model: Shapes.
            tree: Their boxes at ``body_pose``.
            shapes: Their geometry.
            body_pose: Poses of the bodies.
            points: Environments of the points, and the bodies that they pass through; a face passes through a body that
                one of its corners passes through.
            position: Points, environment frames [length], [N].
            margin: Distance within which shapes are wanted [length], negative for never, [N]; the largest of the corners counts.
        """
        wp.launch(
            kernels.collide_faces,
            dim=self.count,
            inputs=[
                tree.bvh.id,
                tree.row,
                model.row_shape,
                shapes.columns,
                shapes.geometry,
                model.contact_offset,
                body_pose,
                points.environment,
                points.ignored_body,
                self._faces,
                position,
                margin,
            ],
            outputs=[self.shape, self.weight, self.normal, self.distance],
            device=self.device,
        )
