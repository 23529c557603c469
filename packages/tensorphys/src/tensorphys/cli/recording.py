"""Poses and points of a run written over the input stage."""

from __future__ import annotations

import logging
import pathlib
from typing import Any

import numpy as np

from tensorphys.cli.errors import CommandError
from tensorphys.cli.points import point_tracks, world_points
from tensorphys_engine import Simulation
from tensorphys_usd import Recorder

_LOGGER = logging.getLogger("tensorphys")
_MOST_ENVIRONMENTS = 16


class PoseRecording:
    """Hands the world poses of the first environments, and the points of what is soft, to a recorder.

    Args:
        path: File to write.
        stage: The input.
        simulation: The simulation.
        environment_count: Number of environments to record; default all, at most 16.
        frames_per_second: Frames in a simulated second.

    Attributes:
        environment_count: Number of environments that are recorded.

    Raises:
        CommandError: If there are fewer environments.
        StageError: If the file cannot be written.
    """

    def __init__(
        self,
        path: pathlib.Path,
        stage: Any,
        simulation: Simulation,
        *,
        environment_count: int | None,
        frames_per_second: float,
    ) -> None:
        scene = simulation.scene
        total = scene.environments.count
        if environment_count is not None and environment_count > total:
            raise CommandError(f"--record-envs {environment_count}: there are {total} environments")
        self.environment_count = environment_count or min(total, _MOST_ENVIRONMENTS)
        chosen = range(self.environment_count)
        self._recorder = Recorder(
            path, stage, scene, environments=chosen, frames_per_second=frames_per_second
        )
        numbering = simulation.directory.numbering
        plan = numbering.plans[int(scene.environments.template[0])]
        self._links = plan.body_link[self._recorder.body_rows]
        self._origins = scene.environments.origin[: self.environment_count, None]
        self._simulation = simulation
        self._tracks, left = point_tracks(simulation, self.environment_count)
        if left:
            text = "a mesh that is not simulated itself stays as it is in the recording: %s"
            _LOGGER.warning(text, ", ".join(left))

    def record(self, time: float, link_pose: Any) -> None:
        """Add a frame.

        Args:
            time: Simulated time [s].
            link_pose: Poses in environment frames, shape [environments, links, 7].
        """
        poses = link_pose[: self.environment_count, self._links].astype(np.float64)
        poses[..., :3] += self._origins
        points = world_points(self._simulation, self._tracks) if self._tracks else None
        self._recorder.record(time, poses if poses.size else None, points=points)

    def close(self) -> None:
        """Write the file."""
        self._recorder.close()
