"""Poses of frames relative to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets._kernels.sensors import frame_poses, relative_poses
from tensorphys_assets.dtypes import DTYPES, reinterpret, slice_elements
from tensorphys_assets.errors import PrimError
from tensorphys_assets.names import match_names
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.selection import Axis
from tensorphys_assets.sensors.sensor import SensorBase

__all__ = ["FrameTransformer", "FrameTransformerData"]


class FrameTransformerData:
    """Poses of frames.

    Args:
        count: Instances.
        names: Names of the target frames.
        device: Warp device.

    Attributes:
        target_frame_names: Names of the target frames.
        source_pose_w: Pose of the source frame in the world, shape [N] of transformf.
        target_pose_w: Pose of each target frame in the world, shape [N, M] of transformf.
        target_pose_source: Pose of each target frame in the source frame, shape [N, M] of transformf.
        source_pos_w, source_quat_w, target_pos_w, target_quat_w, target_pos_source, target_quat_source: Their parts.
    """

    def __init__(self, count: int, names: list[str], device: str) -> None:
        self.target_frame_names = names

        def poses(width: int) -> wp.array:
            return wp.zeros((count, width), dtype=wp.transformf, device=device)

        self._source, self._target, self._relative = poses(1), poses(len(names)), poses(len(names))
        source = reinterpret(self._source, wp.transformf, (count,))
        self.source_pose_w, self.source_pos_w, self.source_quat_w = _proxies(source)
        self.target_pose_w, self.target_pos_w, self.target_quat_w = _proxies(self._target)
        self.target_pose_source, self.target_pos_source, self.target_quat_source = _proxies(self._relative)


def _proxies(poses: wp.array) -> tuple[Any, Any, Any]:
    """Proxies of poses, positions and quaternions over one memory."""
    parts = (poses, slice_elements(poses, DTYPES["vec3f"], 0), slice_elements(poses, DTYPES["quatf"], 3))
    return tuple(ProxyArray(part) for part in parts)


class FrameTransformer(SensorBase):
    """Poses of frames on bodies relative to a source frame on another body."""

    _data: FrameTransformerData

    def _build(self, scene: AssetScene) -> None:
        sources = scene.bodies(self.cfg.prim_path)
        if len(sources[0]) != 1:
            raise PrimError(
                f"{self.cfg.prim_path}: expected one source body, found {len(sources[0])} in an environment"
            )
        paths = [list(row) for row in sources]
        body, names, offsets = [0], ["source"], [self.cfg.source_frame_offset]
        for frame in self.cfg.target_frames:
            targets = scene.bodies(frame.prim_path)
            if len(targets) != len(sources):
                raise PrimError(
                    f"{frame.prim_path}: expected bodies in {len(sources)} environments, found {len(targets)}"
                )
            several = len(targets[0]) > 1
            for place, path in enumerate(targets[0]):
                leaf = path.rpartition("/")[2]
                body.append(len(paths[0]) + place)
                names.append(
                    leaf if frame.name is None else (f"{frame.name}_{leaf}" if several else frame.name)
                )
                offsets.append(frame.offset)
            for row, found in zip(paths, targets, strict=True):
                row.extend(found)
        count, width = len(paths), len(paths[0])
        self._view = scene.view.create_rigid_body_view([path for row in paths for path in row])
        self._poses = reinterpret(self._view.get_transforms(), wp.transformf, (count, width))
        values = np.asarray([[*offset.pos, *offset.rot] for offset in offsets], dtype=np.float32)
        self._offsets = wp.array(values, dtype=wp.transformf, device=self._device)
        self._bodies = wp.array(body, dtype=wp.int32, device=self._device)
        self._rows = Axis(count, self._device, "env")
        self._data = FrameTransformerData(count, names[1:], self._device)

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)[:: self._poses.shape[1]]

    @property
    def num_bodies(self) -> int:
        """Number of target frames."""
        return len(self._data.target_frame_names)

    @property
    def body_names(self) -> list[str]:
        """Names of the target frames."""
        return list(self._data.target_frame_names)

    def find_bodies(
        self, name_keys: str | Sequence[str], preserve_order: bool = False
    ) -> tuple[list[int], list[str]]:
        """Target frames whose names expressions match wholly.

        Args:
            name_keys: Regular expression, or several.
            preserve_order: Whether the result stands in the order of the expressions.
        """
        return match_names(name_keys, self.body_names, preserve_order)

    def _measure(self) -> None:
        data, device = self._data, self._device
        self._view.get_transforms()
        for first, target in ((0, data._source), (1, data._target)):
            last = first + target.shape[1]
            inputs = [self._poses, self._bodies[first:last], self._offsets[first:last]]
            wp.launch(frame_poses, target.shape, inputs, [target], device=device)
        wp.launch(
            relative_poses, data._target.shape, [data._source, data._target], [data._relative], device=device
        )
