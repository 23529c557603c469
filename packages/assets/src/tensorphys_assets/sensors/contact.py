"""Contact sensors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import warp as wp

from tensorphys_assets._kernels import sensors as kernels
from tensorphys_assets.dtypes import DTYPES, reinterpret, slice_elements
from tensorphys_assets.errors import ConfigurationError
from tensorphys_assets.names import match_names
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.scene import AssetScene, glob_of
from tensorphys_assets.selection import Axis
from tensorphys_assets.sensors.sensor import SensorBase

__all__ = ["ContactSensor", "ContactSensorData"]

_POINTS_EACH = 4


class ContactSensorData:
    """What a contact sensor measures; what is not asked for in the configuration is ``None``.

    Args:
        sizes: Instances, sensors of each, filters of each, length of the history.
        cfg: Configuration.
        device: Warp device.

    Attributes:
        net_normal_forces_w: Normal force on each sensor by everything [N], shape [N, S] of vec3f.
        net_friction_forces_w, friction_forces_w: Friction force on each sensor by everything but deformables [N], likewise.
        net_forces_w: Both together [N], likewise, whether friction is tracked or not.
        normal_force_matrix_w, friction_force_matrix_w, force_matrix_w: The same by each filter [N], [N, S, F].
        net_normal_forces_w_history, net_friction_forces_w_history, net_forces_w_history: The latest ones, the last first,
            [N, H, S].
        normal_force_matrix_w_history, friction_force_matrix_w_history, force_matrix_w_history: Likewise, [N, H, S, F].
        contact_pos_w: Mean point of contact with each filter [m], [N, S, F]; not a number where there is none.
        pose_w, pos_w, quat_w: Poses of the sensors, [N, S].
        current_air_time, current_contact_time: How long a sensor is in the air or in contact now [s], [N, S].
        last_air_time, last_contact_time: How long the last finished phases were [s], [N, S].
    """

    def __init__(self, sizes: tuple[int, int, int, int], cfg: Any, device: str) -> None:
        count, sensors, filters, depth = sizes

        def proxy(wanted: bool, *shape: int, dtype: Any = wp.vec3f) -> Any:
            return ProxyArray(wp.zeros(shape, dtype=dtype, device=device)) if wanted else None

        matrix, times, friction = filters > 0, bool(cfg.track_air_time), bool(cfg.track_friction_forces)
        self.net_normal_forces_w = proxy(True, count, sensors)
        self.net_friction_forces_w = self.friction_forces_w = proxy(friction, count, sensors)
        self.net_forces_w = proxy(True, count, sensors)
        self.normal_force_matrix_w = proxy(matrix, count, sensors, filters)
        self.friction_force_matrix_w = proxy(matrix and friction, count, sensors, filters)
        self.force_matrix_w = proxy(matrix, count, sensors, filters)
        kept = depth > 0
        self.net_normal_forces_w_history = proxy(kept, count, depth, sensors)
        self.net_friction_forces_w_history = proxy(kept and friction, count, depth, sensors)
        self.net_forces_w_history = proxy(kept, count, depth, sensors)
        self.normal_force_matrix_w_history = proxy(kept and matrix, count, depth, sensors, filters)
        self.friction_force_matrix_w_history = proxy(
            kept and matrix and friction, count, depth, sensors, filters
        )
        self.force_matrix_w_history = proxy(kept and matrix, count, depth, sensors, filters)
        self.contact_pos_w = proxy(bool(cfg.track_contact_points), count, sensors, filters)
        self.pose_w = proxy(bool(cfg.track_pose), count, sensors, dtype=wp.transformf)
        self.pos_w = self.quat_w = None
        if self.pose_w is not None:
            self.pos_w = ProxyArray(slice_elements(self.pose_w.warp, DTYPES["vec3f"], 0))
            self.quat_w = ProxyArray(slice_elements(self.pose_w.warp, DTYPES["quatf"], 3))
        self.last_air_time, self.current_air_time, self.last_contact_time, self.current_contact_time = (
            proxy(times, count, sensors, dtype=wp.float32) for _ in range(4)
        )

    @property
    def forces(self) -> list[tuple[Any, Any]]:
        """Forces of now with their histories; either may be ``None``."""
        names = [f"net_{part}forces_w" for part in ("normal_", "friction_", "")]
        names += [f"{part}force_matrix_w" for part in ("normal_", "friction_", "")]
        return [(getattr(self, name), getattr(self, f"{name}_history")) for name in names]


class ContactSensor(SensorBase):
    """Contact forces on bodies, told apart by what they touch where filters are given.

    With air times or a history it measures at each update, else when its data are asked for.
    """

    _data: ContactSensorData

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        if cfg.track_contact_points and not cfg.filter_prim_paths_expr:
            raise ConfigurationError("ContactSensorCfg.track_contact_points: it needs filter_prim_paths_expr")
        room = cfg.max_contact_data_count_per_prim
        if room is not None and room < 1:
            raise ConfigurationError(
                f"ContactSensorCfg.max_contact_data_count_per_prim: expected a positive number, given {room}"
            )
        if cfg.history_length < 0:
            raise ConfigurationError(
                f"ContactSensorCfg.history_length: expected no negative number, given {cfg.history_length}"
            )
        super().__init__(cfg, scene=scene)

    def _build(self, scene: AssetScene) -> None:
        rows = scene.bodies(self.cfg.prim_path)
        count, sensors = len(rows), len(rows[0])
        paths = [path for row in rows for path in row]
        self._names = [path.rpartition("/")[2] for path in rows[0]]
        filters = [glob_of(expression) for expression in self.cfg.filter_prim_paths_expr]
        data_count = 0
        if self.cfg.track_contact_points:
            data_count = (
                (self.cfg.max_contact_data_count_per_prim or _POINTS_EACH) * len(paths) * len(filters)
            )
        # A list for each sensor, since sensors are given one by one: filters stay in the sensor's environment.
        columns = [self._filters_of(scene, path, filters) for path in paths]
        self._view = scene.view.create_rigid_contact_view(paths, columns if filters else None, data_count)
        self._capacity = data_count
        self._body_view = scene.view.create_rigid_body_view(paths) if self.cfg.track_pose else None
        self._rows = Axis(count, self._device, "env")
        sizes = (count, sensors, self._view.filter_count, int(self.cfg.history_length))
        self._data = ContactSensorData(sizes, self.cfg, self._device)
        self._threshold = float(self.cfg.force_threshold or 0.0)
        self._dt = scene.dt
        self._elapsed = 0.0
        self._begun = ProxyArray(wp.zeros((count, sensors), dtype=wp.bool, device=self._device))

    def _forget_replayed(self) -> None:
        # What is measured at each update is so in the graph; once more would be kept twice in times and history.
        self._stale = not self._measures_always

    @property
    def _measures_always(self) -> bool:
        return bool(self.cfg.track_air_time) or self.cfg.history_length > 0

    @staticmethod
    def _filters_of(scene: AssetScene, path: str, filters: list[str]) -> list[str]:
        """Filter patterns of a sensor: of those that name several environments, the part in its own."""
        environments = scene.simulation.scene.environments.path
        own = [root for root in environments if root and path.startswith(f"{root}/")]
        if not own:
            return filters
        result = []
        for pattern in filters:
            head = "/".join(pattern.split("/")[: own[0].count("/") + 1])
            inside = "*" in head and pattern.count("/") >= own[0].count("/")
            result.append(own[0] + pattern[len(head) :] if inside else pattern)
        return result

    def _prim_paths(self) -> list[str]:
        return list(self._view.sensor_paths)

    @property
    def num_sensors(self) -> int:
        """Number of sensors of each instance."""
        return len(self._names)

    @property
    def body_names(self) -> list[str]:
        """Names of the bodies that carry the sensors."""
        return list(self._names)

    @property
    def num_bodies(self) -> int:
        """Deprecated; use ``num_sensors``."""
        warnings.warn(
            "ContactSensor.num_bodies is deprecated; use num_sensors", DeprecationWarning, stacklevel=2
        )
        return self.num_sensors

    @property
    def contact_view(self) -> Any:
        """View of the tensor API; its sensors stand by instance, then by body."""
        return self._view

    def find_sensors(
        self, name_keys: str | Sequence[str], preserve_order: bool = False
    ) -> tuple[list[int], list[str]]:
        """Sensors whose bodies' names expressions match wholly.

        Args:
            name_keys: Regular expression, or several.
            preserve_order: Whether the result stands in the order of the expressions.
        """
        return match_names(name_keys, self._names, preserve_order)

    def find_bodies(
        self, name_keys: str | Sequence[str], preserve_order: bool = False
    ) -> tuple[list[int], list[str]]:
        """Deprecated; use ``find_sensors``."""
        warnings.warn(
            "ContactSensor.find_bodies is deprecated; use find_sensors", DeprecationWarning, stacklevel=2
        )
        return self.find_sensors(name_keys, preserve_order)

    def update(self, dt: float, force_recompute: bool = False) -> None:
        """Tell the sensor that time has passed; see the class for when it measures.

        Args:
            dt: Time [s].
            force_recompute: Whether it measures now, whatever its period.
        """
        self._elapsed += dt
        super().update(dt, force_recompute)
        if self._stale and dt > 0.0 and self._measures_always:
            _ = self.data

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Forget forces, times and the history of instances.

        Args:
            env_ids: Instances, ``None`` for all.
            env_mask: Mask of them, which wins.
        """
        super().reset(env_ids, env_mask)
        self._stale = False
        if self._data.contact_pos_w is not None:
            self._clear(self._data.contact_pos_w.warp, self._rows.choose(env_ids, env_mask), float("nan"))

    def _arrays(self) -> list[wp.array]:
        data = self._data
        times = (
            data.last_air_time, data.current_air_time, data.last_contact_time, data.current_contact_time,
        )  # fmt: skip
        forces = [proxy for pair in data.forces for proxy in pair]
        return [proxy.warp for proxy in (*forces, *times) if proxy is not None]

    def compute_first_contact(self, dt: float, abs_tol: float | None = None) -> Any:
        """Which sensors came into contact within a time, a proxy of bool, shape [N, S]; the same one on each call.

        Args:
            dt: Time [s].
            abs_tol: What is added to it [s]; half a step where it is left out.

        Raises:
            ConfigurationError: Times are not measured.
        """
        return self._first(self._data.current_contact_time, dt, abs_tol)

    def compute_first_air(self, dt: float, abs_tol: float | None = None) -> Any:
        """Which sensors left a contact within a time; see ``compute_first_contact``."""
        return self._first(self._data.current_air_time, dt, abs_tol)

    def _first(self, times: Any, dt: float, abs_tol: float | None) -> Any:
        if times is None:
            raise ConfigurationError("ContactSensorCfg.track_air_time: it must be set for first contacts")
        slack = 0.5 * self._dt if abs_tol is None else abs_tol
        wp.launch(
            kernels.begun_within,
            times.shape,
            [times.warp, dt + slack],
            [self._begun.warp],
            device=self._device,
        )
        return self._begun

    def _measure(self) -> None:
        data, view, device = self._data, self._view, self._device
        shape = data.net_normal_forces_w.shape
        if self._scene.simulation.step_count == 0:
            return
        self._take(
            view.get_net_contact_forces(self._dt),
            view.get_net_friction_contact_forces(self._dt),
            (data.net_normal_forces_w, data.net_friction_forces_w, data.net_forces_w),
        )
        if data.force_matrix_w is not None:
            self._take(
                view.get_contact_force_matrix(self._dt),
                view.get_friction_contact_force_matrix(self._dt),
                (data.normal_force_matrix_w, data.friction_force_matrix_w, data.force_matrix_w),
            )
        flat = (view.sensor_count, view.filter_count)
        if data.contact_pos_w is not None:
            _, points, _, _, number, start = view.get_contact_data(self._dt)
            target = reinterpret(data.contact_pos_w.warp, wp.vec3f, flat)
            wp.launch(
                kernels.mean_points, flat, [points, number, start, self._capacity], [target], device=device
            )
        if self._body_view is not None:
            wp.copy(data.pose_w.warp, reinterpret(self._body_view.get_transforms(), wp.transformf, shape))
        self._keep_times_and_history()

    def _take(self, normal: wp.array, friction: wp.array, into: tuple[Any, Any, Any]) -> None:
        """Keep normal and friction forces and their total; friction alone where it is asked for."""
        size = (into[2].warp.size,)
        parts = [reinterpret(array, wp.vec3f, size) for array in (normal, friction)]
        for part, target in zip(parts, into[:2], strict=True):
            if target is not None:
                wp.copy(target.warp, part)
        total = reinterpret(into[2].warp, wp.vec3f, size)
        wp.launch(kernels.add_forces, size, parts, [total], device=self._device)

    def _keep_times_and_history(self) -> None:
        data, device = self._data, self._device
        if data.current_air_time is not None and self._elapsed > 0.0:
            times = (
                data.current_air_time,
                data.current_contact_time,
                data.last_air_time,
                data.last_contact_time,
            )
            inputs = [data.net_normal_forces_w.warp, self._threshold, self._elapsed]
            outputs = [proxy.warp for proxy in times]
            wp.launch(kernels.contact_times, data.net_normal_forces_w.shape, inputs, outputs, device=device)
        self._elapsed = 0.0
        for now, history in data.forces:
            if history is None:
                continue
            count, depth, sensors = history.shape[:3]
            filters = history.shape[3] if len(history.shape) > 3 else 1
            latest = reinterpret(now.warp, wp.vec3f, (count, sensors, filters))
            kept = reinterpret(history.warp, wp.vec3f, (count, depth, sensors, filters))
            wp.launch(kernels.push_history, latest.shape, [latest], [kept], device=device)
