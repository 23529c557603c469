"""Loads of joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets._kernels.sensors import joint_wrenches
from tensorphys_assets.errors import ConfigurationError
from tensorphys_assets.names import match_names
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.selection import Axis
from tensorphys_assets.sensors.sensor import SensorBase

__all__ = ["JointWrenchSensor", "JointWrenchSensorData"]


class JointWrenchSensorData:
    """Loads of joints in the last step.

    Attributes:
        force: Force that the joint to its parent gave each link [N], in the axes of the joint frame on the link, shape [N, B] of
            vec3f; ``None`` before the scene was reset.
        torque: Torque about the origin of that frame [N m], likewise.
    """

    def __init__(self) -> None:
        self.force: Any = None
        self.torque: Any = None


class JointWrenchSensor(SensorBase):
    """Force and torque that each link of an articulation gets from its parent, as a load cell in the joint would measure.

    All that the joint gives is in it: what holds it together, drives, actuation, limits and friction. A root, which has no parent,
    has zeros, as has everything before the first step and what was written since the last one.
    """

    _data: JointWrenchSensorData

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        if cfg.convention != "incoming_joint_frame":
            raise ConfigurationError(
                f"JointWrenchSensorCfg.convention: expected 'incoming_joint_frame', given {cfg.convention!r}"
            )
        self._data = JointWrenchSensorData()
        super().__init__(cfg, scene=scene)

    def _build(self, scene: AssetScene) -> None:
        roots = scene.articulation_roots(self.cfg.prim_path, None)
        self._view = view = scene.view.create_articulation_view(roots)
        meta = view.shared_metatype
        if meta is None:
            raise ConfigurationError(f"{self.cfg.prim_path}: expected articulations of one kind")
        self._names = list(meta.link_names)
        assert view._backend is not None
        links = np.asarray(view._backend.layout.slots["link"])
        self._links = wp.array(links, dtype=wp.int32, device=self._device)
        frames, carried = scene.view._core.catalog.child_frames()
        self._frames = wp.array(frames.astype(np.float32), dtype=wp.transformf, device=self._device)
        self._carried = wp.array(carried, dtype=wp.int32, device=self._device)
        self._rows = Axis(view.count, self._device, "env")
        data = self._data
        data.force, data.torque = (
            ProxyArray(wp.zeros(links.shape, dtype=wp.vec3f, device=self._device)) for _ in range(2)
        )

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)

    @property
    def data(self) -> JointWrenchSensorData:
        """What was measured."""
        if not self._is_initialized:
            return self._data
        measured: JointWrenchSensorData = super().data
        return measured

    @property
    def num_bodies(self) -> int:
        """Number of links."""
        return len(self.body_names)

    @property
    def body_names(self) -> list[str]:
        """Names of the links."""
        return list(self._names)

    def find_bodies(
        self, name_keys: str | Sequence[str], preserve_order: bool = False
    ) -> tuple[list[int], list[str]]:
        """Links whose names expressions match wholly.

        Args:
            name_keys: Regular expression, or several.
            preserve_order: Whether the result stands in the order of the expressions.
        """
        return match_names(name_keys, self._names, preserve_order)

    def _arrays(self) -> list[wp.array]:
        return [self._data.force.warp, self._data.torque.warp]

    def _measure(self) -> None:
        simulation = self._scene.simulation
        state, loads = simulation.state, simulation.loads
        loads.evaluate()
        inputs = [
            loads.joint_wrench, self._links, state.link_pose, simulation.model.link_com, self._frames, self._carried,
        ]  # fmt: skip
        wp.launch(joint_wrenches, self._links.shape, inputs, self._arrays(), device=self._device)
