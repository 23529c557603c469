"""Contacts of spheres on links with a plane, without a collision package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels.obstacles import touch_plane
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.model import Model
from tensorphys_dynamics.protocols import OPTIONAL_CONTACT_FIELDS, PATCH_FIELDS


class SpheresOnPlane:
    """Spheres on links above the plane z = 0; satisfies `protocols.Contacts`.

    Attributes are those of the protocol.
    """

    def __init__(
        self,
        model: Model,
        *,
        link: npt.ArrayLike,
        center: npt.ArrayLike,
        radius: npt.ArrayLike,
        friction: float = 0.5,
        restitution: float = 0.0,
        reach: float = 0.02,
        dynamic_friction: float | None = None,
        **surface: float,
    ) -> None:
        """Place spheres.

        Args:
            model: Model whose environments all hold the same links.
            link: Link of each sphere in its environment, shape [sphere_count].
            center: Centre in the link frame [m], shape [sphere_count, 3].
            radius: Radius [m], shape [sphere_count].
            friction: Static friction coefficient, and dynamic where that is not given.
            restitution: Restitution coefficient.
            reach: Distance below which a contact is made [m].
            dynamic_friction: Dynamic friction coefficient.
            **surface: Optional fields of the protocol; there is torsional friction where one of its fields is given.
        """
        environments, device = model.environment_count, model.device
        links = np.asarray(link, np.int32)
        self._count = len(links)
        per_environment = model.link_count // environments
        flat = (np.arange(environments)[:, None] * per_environment + links).ravel().astype(np.int32)
        self._link = wp.array(flat, dtype=wp.int32, device=device)
        self._center = wp.array(np.asarray(center, np.float32), dtype=wp.vec3, device=device)
        self._radius = wp.array(np.asarray(radius, np.float32), dtype=wp.float32, device=device)
        self._reach = reach
        slots = self._count * environments
        starts = np.arange(environments + 1, dtype=np.int32) * self._count
        self.slot_start = wp.array(starts, dtype=wp.int32, device=device)
        self.count = wp.zeros(environments, dtype=wp.int32, device=device)
        owner = np.repeat(np.arange(environments, dtype=np.int32), self._count)
        self.environment = wp.array(owner, dtype=wp.int32, device=device)
        self.body0 = wp.zeros(slots, dtype=wp.int32, device=device)
        self.body1 = wp.full(slots, -1, dtype=wp.int32, device=device)
        self.anchor0 = wp.zeros(slots, dtype=wp.vec3, device=device)
        self.anchor1 = wp.zeros(slots, dtype=wp.vec3, device=device)
        self.normal = wp.full(slots, wp.vec3(0.0, 0.0, 1.0), dtype=wp.vec3, device=device)
        self.rest_distance = wp.zeros(slots, dtype=wp.float32, device=device)
        self.key = wp.zeros(slots, dtype=wp.int64, device=device)
        self.static_friction = wp.full(slots, friction, dtype=wp.float32, device=device)
        sliding = friction if dynamic_friction is None else dynamic_friction
        self.dynamic_friction = wp.full(slots, sliding, dtype=wp.float32, device=device)
        self.restitution = wp.full(slots, restitution, dtype=wp.float32, device=device)
        has_patches = any(name in surface for name in PATCH_FIELDS)
        for name, dtype in OPTIONAL_CONTACT_FIELDS.items():
            count = slots if has_patches or name not in PATCH_FIELDS else 0
            setattr(self, name, wp.full(count, surface.pop(name, 0), dtype=dtype, device=device))
        if surface:
            raise ModelError(f"unknown fields of contacts {sorted(surface)}")

    def collide(self, link_pose: wp.array) -> None:
        """Refresh the contacts.

        Args:
            link_pose: Poses of all links [m, -], transform, environment frame.
        """
        wp.launch(
            touch_plane,
            dim=self.count.shape[0],
            inputs=[link_pose, self._link, self._center, self._radius, self._count, self._reach],
            outputs=[self.count, self.body0, self.anchor0, self.anchor1, self.key],
            device=self.count.device,
        )
