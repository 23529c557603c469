"""Contacts of spheres on links with a plane, without a collision package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics.model import Model

wp.set_module_options({"enable_backward": False})


@wp.kernel
def touch_plane(
    link_pose: wp.array[wp.transform],
    sphere_link: wp.array[wp.int32],
    sphere_center: wp.array[wp.vec3],
    sphere_radius: wp.array[wp.float32],
    sphere_count: wp.int32,
    reach: wp.float32,
    # outputs
    count_out: wp.array[wp.int32],
    body0_out: wp.array[wp.int32],
    anchor0_out: wp.array[wp.vec3],
    anchor1_out: wp.array[wp.vec3],
    key_out: wp.array[wp.int64],
):
    """One environment: the spheres that are nearer to the plane z = 0 than `reach`, in the order of the spheres."""
    environment = wp.tid()
    used = int(0)
    for i in range(sphere_count):
        link = sphere_link[environment * sphere_count + i]
        centre = wp.transform_point(link_pose[link], sphere_center[i])
        if centre[2] - sphere_radius[i] < reach:
            slot = environment * sphere_count + used
            lowest = centre - wp.vec3(0.0, 0.0, sphere_radius[i])
            body0_out[slot] = link
            anchor0_out[slot] = wp.transform_point(wp.transform_inverse(link_pose[link]), lowest)
            anchor1_out[slot] = wp.vec3(centre[0], centre[1], 0.0)
            key_out[slot] = wp.int64(i)
            used += 1
    count_out[environment] = used


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
    ) -> None:
        """Place spheres.

        Args:
            model: Model whose environments all hold the same links.
            link: Link of each sphere in its environment, shape [sphere_count].
            center: Centre in the link frame [m], shape [sphere_count, 3].
            radius: Radius [m], shape [sphere_count].
            friction: Static and dynamic friction coefficient.
            restitution: Restitution coefficient.
            reach: Distance below which a contact is made [m].
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
        self.dynamic_friction = wp.full(slots, friction, dtype=wp.float32, device=device)
        self.restitution = wp.full(slots, restitution, dtype=wp.float32, device=device)

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
