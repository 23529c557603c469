"""Surfaces that change their shape, as sets of triangles: points of one find triangles of others, or of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._kernels import surface_sets as kernels
from .errors import ArrayError


class SurfaceSet:
    """Triangles of the surfaces of all environments over one array of points.

    Attributes:
        triangle: Nearest triangle of each point within its margin, −1 for none, int32 [N].
        weight: Weights of its corners at the nearest point, vec3 [N].
        normal: From there to the point, out of solids, environment frame, vec3 [N].
        distance: Signed distance along it, negative inside of another solid [length], float [N].
        corner: Points of each triangle, vec3i [T].
        owner: Surface of each triangle, int32 [T].
    """

    def __init__(
        self,
        triangles: npt.ArrayLike,
        owner: npt.ArrayLike,
        *,
        point_owner: npt.ArrayLike,
        point_environment: npt.ArrayLike,
        rest: npt.ArrayLike,
        solid: npt.ArrayLike,
        meets_itself: npt.ArrayLike,
        apart: npt.ArrayLike,
        device: Any = None,
    ) -> None:
        """Put the surfaces on a device.

        Args:
            triangles: Points of each triangle, counter-clockwise seen from outside, [T, 3].
            owner: Surface of each triangle, [T].
            point_owner: Surface that each point lies on, −1 for points that do not collide, [N].
            point_environment: Environment of each point, [N].
            rest: Points at rest [length], [N, 3].
            solid: Whether each surface encloses a solid; the others have two sides, [surfaces].
            meets_itself: Whether each surface collides with itself, [surfaces].
            apart: Distance at rest within which it does not [length], [surfaces].
            device: Warp device.

        Raises:
            ArrayError: Lengths that do not fit, or a triangle of a point that does not exist.
        """
        self.device = wp.get_device(device)
        corners = np.ascontiguousarray(triangles, dtype=np.int32).reshape(-1, 3)
        owners = np.asarray(owner, dtype=np.int32)
        homes = np.asarray(point_environment, dtype=np.int32)
        points = np.asarray(rest, dtype=np.float32)
        if len(owners) != len(corners) or points.shape != (len(homes), 3) or len(homes) == 0:
            raise ArrayError(
                f"expected an owner for each of {len(corners)} triangles and a rest position for each of "
                f"{len(homes)} points (at least one), given {len(owners)} and {points.shape}"
            )
        if corners.size and (corners.min() < 0 or corners.max() >= len(homes)):
            raise ArrayError(f"triangles: expected points 0 to {len(homes) - 1}, given {corners.max()}")
        count = len(homes)

        def put(data: npt.ArrayLike, dtype: Any) -> Any:
            return wp.array(np.ascontiguousarray(data), dtype=dtype, device=self.device)

        groups = homes[corners[:, 0]]
        order = np.argsort(groups, kind="stable")
        corners, owners, groups = corners[order], owners[order], groups[order]
        self.triangle_count = len(corners)
        self._surface = kernels.Surface()
        if not self.triangle_count:
            # An empty tree is one box of a group that no environment has.
            corners, owners = np.zeros((1, 3), np.int32), np.zeros(1, np.int32)
            groups = np.array([int(homes.max()) + 1])
        self.corner = self._surface.corner = put(corners, wp.vec3i)
        self.owner = self._surface.owner = put(owners, wp.int32)
        self._surface.solid = put(np.asarray(solid, np.int32), wp.int32)
        self._surface.meets_itself = put(np.asarray(meets_itself, np.int32), wp.int32)
        self._surface.apart = put(np.asarray(apart, np.float32), wp.float32)
        self._surface.rest = put(points, wp.vec3)
        self._environment = put(homes, wp.int32)
        self._point_owner = put(np.asarray(point_owner, np.int32), wp.int32)
        vectors: Any = wp.vec3
        self._lower = wp.zeros(len(corners), dtype=vectors, device=self.device)
        self._upper = wp.zeros(len(corners), dtype=vectors, device=self.device)
        self._bound(self._surface.rest)
        self._bvh = wp.Bvh(self._lower, self._upper, groups=put(groups.astype(np.int32), wp.int32))
        self.triangle: Any = wp.full(count, -1, dtype=wp.int32, device=self.device)
        self.weight: Any = wp.zeros(count, dtype=vectors, device=self.device)
        self.normal: Any = wp.zeros(count, dtype=vectors, device=self.device)
        self.distance: Any = wp.zeros(count, dtype=wp.float32, device=self.device)

    def collide(self, position: wp.array[wp.vec3], margin: wp.array[wp.float32]) -> None:
        """Follow the points and find the nearest triangle of each; allocates nothing and never waits.

        Args:
            position: Points, environment frames [length], [N].
            margin: Distance within which triangles are wanted [length], negative for never, [N].

        Raises:
            ArrayError: An array of another length than the points.
        """
        count = len(self.triangle)
        for name, array in (("position", position), ("margin", margin)):
            if array.shape != (count,) or array.device != self.device:
                raise ArrayError(
                    f"{name}: expected [{count}] on {self.device}, given {array.shape} on {array.device}"
                )
        self._bound(position)
        self._bvh.refit()
        wp.launch(
            kernels.collide_surfaces,
            dim=count,
            inputs=[
                self._bvh.id,
                self._surface,
                self._environment,
                self._point_owner,
                position,
                margin,
            ],
            outputs=[self.triangle, self.weight, self.normal, self.distance],
            device=self.device,
        )

    def _bound(self, position: Any) -> None:
        wp.launch(
            kernels.bound_triangles,
            dim=len(self._lower),
            inputs=[self.corner, position],
            outputs=[self._lower, self._upper],
            device=self.device,
        )
