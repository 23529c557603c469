"""Inertial measurement units, and the motion of frames on bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets._kernels.sensors import frame_motions, inertial_measurements
from tensorphys_assets.attachment import attach
from tensorphys_assets.dtypes import DTYPES, as_numbers, reinterpret, slice_elements
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.selection import Axis
from tensorphys_assets.sensors.sensor import SensorBase

__all__ = ["Imu", "ImuData", "Pva", "PvaData"]


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


class PvaData:
    """Pose, velocity and acceleration of a frame on a body.

    Args:
        count: Instances.
        device: Warp device.

    Attributes:
        pose_w, pos_w, quat_w: Pose of the sensor in the world [m, xyzw], shape [N], and its parts over the same memory.
        projected_gravity_b: Direction of gravity in the axes of the sensor, shape [N] of vec3f; zero where there is none.
        lin_vel_b, ang_vel_b: Velocity of the sensor in its axes [m/s, rad/s], likewise.
        lin_acc_b, ang_acc_b: Acceleration of the sensor in its axes [m/s², rad/s²], likewise: that of gravity in free fall, zero at
            rest.
    """

    def __init__(self, count: int, device: str) -> None:
        pose = wp.zeros(count, dtype=wp.transformf, device=device)
        self.pose_w = ProxyArray(pose)
        self.pos_w = ProxyArray(slice_elements(pose, DTYPES["vec3f"], 0))
        self.quat_w = ProxyArray(slice_elements(pose, DTYPES["quatf"], 3))
        (
            self.projected_gravity_b, self.lin_vel_b, self.ang_vel_b, self.lin_acc_b, self.ang_acc_b,
        ) = (ProxyArray(wp.zeros(count, dtype=wp.vec3f, device=device)) for _ in range(5))  # fmt: skip


class BodyFrameSensor(SensorBase):
    """A sensor at a frame on a body, or on a prim below it, which moves with it."""

    def _build(self, scene: AssetScene) -> None:
        paths, places = attach(scene, self.cfg.prim_path)
        count = len(paths)
        self._view = view = scene.view.create_rigid_body_view(paths)
        self._rows = Axis(count, self._device, "env")
        shapes = ((view.get_transforms(), wp.transformf), (view.get_velocities(), wp.spatial_vectorf))
        pose, velocity = (reinterpret(array, dtype, (count,)) for array, dtype in shapes)
        acceleration = reinterpret(view.get_accelerations(), wp.spatial_vectorf, (count,))
        environments = wp.array(scene.environments_of(view), dtype=wp.int32, device=self._device)
        assert view._backend is not None
        links = wp.array(view._backend.layout.objects, dtype=wp.int32, device=self._device)
        offset = self.cfg.offset
        compose: Any = wp.transform_multiply
        own = wp.transformf(*offset.pos, *offset.rot)
        frames = np.array([compose(wp.transformf(*place), own) for place in places.tolist()], np.float32)
        # The engine's own array of centres of mass: those that are written are seen without asking the host.
        self._inputs = [
            pose, scene.simulation.model.link_com, links, wp.array(frames, dtype=wp.transformf, device=self._device),
            velocity, acceleration, scene.simulation.model.gravity, environments,
        ]  # fmt: skip

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)

    def _launch(self, kernel: Any, outputs: list[wp.array]) -> None:
        view = self._view
        view.get_transforms()
        view.get_velocities()
        view.get_accelerations()
        wp.launch(kernel, view.count, self._inputs, outputs, device=self._device)


class Imu(BodyFrameSensor):
    """Angular velocity and acceleration at a frame on a body.

    The acceleration is that of the last step, from the forces in it: setting a velocity is no acceleration.
    """

    _data: ImuData

    def _build(self, scene: AssetScene) -> None:
        super()._build(scene)
        self._data = ImuData(self.num_instances, self._device)

    def _arrays(self) -> list[wp.array]:
        return [self._data.ang_vel_b.warp, self._data.lin_acc_b.warp]

    def _measure(self) -> None:
        self._launch(inertial_measurements, self._arrays())


class Pva(BodyFrameSensor):
    """Pose, velocity and acceleration of a frame on a body.

    The accelerations are those of the last step, from the forces in it: setting a velocity is no acceleration.
    """

    _data: PvaData

    def _build(self, scene: AssetScene) -> None:
        super()._build(scene)
        self._data = PvaData(self.num_instances, self._device)
        self.reset()

    def _arrays(self) -> list[wp.array]:
        data = self._data
        proxies = (
            data.pose_w, data.projected_gravity_b, data.lin_vel_b, data.ang_vel_b, data.lin_acc_b, data.ang_acc_b,
        )  # fmt: skip
        return [proxy.warp for proxy in proxies]

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Forget what was measured of instances: zeros, no turn, and gravity along -Z until the next measurement.

        Args:
            env_ids: Instances, ``None`` for all.
            env_mask: Mask of them, which wins.
        """
        super().reset(env_ids, env_mask)
        rows, count = self._rows.choose(env_ids, env_mask), self.num_instances
        self._fill(as_numbers(self._data.pose_w.warp, (count, 7))[:, 6:], rows, 1.0)
        self._fill(as_numbers(self._data.projected_gravity_b.warp, (count, 3))[:, 2:], rows, -1.0)

    def _measure(self) -> None:
        self._launch(frame_motions, self._arrays())
