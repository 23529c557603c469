"""Inertial measurement units."""

from __future__ import annotations

import warp as wp

from tensorphys_assets._kernels.sensors import inertial_measurements
from tensorphys_assets.dtypes import reinterpret
from tensorphys_assets.errors import PrimError
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.selection import Axis
from tensorphys_assets.sensors.sensor import SensorBase

__all__ = ["Imu", "ImuData"]


class ImuData:
    """What an inertial measurement unit measures.

    Args:
        count: Instances.
        device: Warp device.

    Attributes:
        ang_vel_b: Angular velocity in the axes of the sensor [rad/s], shape [N] of vec3f.
        lin_acc_b: Acceleration less gravity in the axes of the sensor [m/s²], likewise: at rest it points up.
    """

    def __init__(self, count: int, device: str) -> None:
        self.ang_vel_b = ProxyArray(wp.zeros(count, dtype=wp.vec3f, device=device))
        self.lin_acc_b = ProxyArray(wp.zeros(count, dtype=wp.vec3f, device=device))


class Imu(SensorBase):
    """Angular velocity and acceleration at a frame on a body.

    The acceleration is that of the last step, from the forces in it: setting a velocity is no acceleration.
    """

    _data: ImuData

    def _build(self, scene: AssetScene) -> None:
        rows = scene.bodies(self.cfg.prim_path)
        if len(rows[0]) != 1:
            raise PrimError(
                f"{self.cfg.prim_path}: expected one body, found {len(rows[0])} in an environment"
            )
        count = len(rows)
        self._view = view = scene.view.create_rigid_body_view([row[0] for row in rows])
        self._rows = Axis(count, self._device, "env")
        shapes = ((view.get_transforms(), wp.transformf), (view.get_velocities(), wp.spatial_vectorf))
        self._pose, self._velocity = (reinterpret(array, dtype, (count,)) for array, dtype in shapes)
        self._acceleration = reinterpret(view.get_accelerations(), wp.spatial_vectorf, (count,))
        self._environments = wp.array(scene.environments_of(view), dtype=wp.int32, device=self._device)
        self._gravity = scene.simulation.model.gravity
        # The engine's own array: centres of mass that are written are seen without asking the host.
        self._coms = scene.simulation.model.link_com
        assert view._backend is not None
        self._links = wp.array(view._backend.layout.objects, dtype=wp.int32, device=self._device)
        offset = self.cfg.offset
        self._offset = wp.transformf(*offset.pos, *offset.rot)
        self._data = ImuData(count, self._device)

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)

    def _arrays(self) -> list[wp.array]:
        return [self._data.ang_vel_b.warp, self._data.lin_acc_b.warp]

    def _measure(self) -> None:
        view = self._view
        view.get_transforms()
        view.get_velocities()
        view.get_accelerations()
        wp.launch(
            inertial_measurements,
            view.count,
            [
                self._pose,
                self._coms,
                self._links,
                self._velocity,
                self._acceleration,
                self._gravity,
                self._environments,
                self._offset,
            ],
            [self._data.ang_vel_b.warp, self._data.lin_acc_b.warp],
            device=self._device,
        )
