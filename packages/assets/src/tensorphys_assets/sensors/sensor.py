"""What all sensors have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import warp as wp

from tensorphys_assets._kernels.sensors import clear_rows
from tensorphys_assets.asset import AssetCore
from tensorphys_assets.dtypes import as_numbers
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.selection import Axis, Choice

__all__ = ["SensorBase"]


class SensorBase(AssetCore):
    """A sensor; it measures when its data are asked for, once its period is over.

    Args:
        cfg: Configuration.
        scene: Scene; the current one where it is left out.
    """

    _data: Any
    _rows: Axis

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        if hasattr(cfg, "validate"):
            cfg.validate()
        self._since = 0.0
        self._stale = True
        super().__init__(cfg, scene=scene)

    def _spawn(self) -> None:
        """Sensors are not authored: they look at bodies."""

    def _initialize(self, scene: AssetScene) -> None:
        self._device = scene.device
        self._build(scene)
        self._is_initialized, self._stale, self._since = True, True, 0.0

    @abstractmethod
    def _build(self, scene: AssetScene) -> None:
        """Make the views and buffers."""

    @abstractmethod
    def _measure(self) -> None:
        """Fill the buffers."""

    @property
    def num_instances(self) -> int:
        """Number of instances."""
        return self._rows.count

    @property
    def data(self) -> Any:
        """What was measured."""
        if self._stale:
            self._stale = False
            self._measure()
        return self._data

    def _forget_replayed(self) -> None:
        self._stale = True

    def write_data_to_sim(self) -> None:
        """Sensors write nothing."""

    def update(self, dt: float, force_recompute: bool = False) -> None:
        """Tell the sensor that time has passed.

        Args:
            dt: Time [s].
            force_recompute: Whether it measures now, whatever its period.
        """
        self._since += dt
        if self._since + 1e-6 >= self.cfg.update_period or force_recompute:
            self._since = 0.0
            self._stale = True
        if force_recompute:
            _ = self.data

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Forget what was measured of instances.

        Args:
            env_ids: Instances, ``None`` for all.
            env_mask: Mask of them, which wins.
        """
        rows = self._rows.choose(env_ids, env_mask)
        for array in self._arrays():
            self._clear(array, rows, 0.0)
        self._stale = True

    def _arrays(self) -> list[wp.array]:
        """Arrays that a reset clears."""
        return []

    def _clear(self, array: wp.array, rows: Choice, value: float) -> None:
        if array.size == 0:
            return
        width = array.size * getattr(array.dtype, "_length_", 1) // array.shape[0]
        self._fill(as_numbers(array, (array.shape[0], width)), rows, value)

    def _fill(self, numbers: wp.array, rows: Choice, value: float) -> None:
        """Set all numbers of chosen rows, shape [N, numbers]."""
        mask = rows.mask if rows.mask is not None else self._rows.mask
        dim = (rows.count, numbers.shape[1])
        wp.launch(clear_rows, dim, [rows.ids, mask, value], [numbers], device=self._device)
