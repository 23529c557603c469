"""Joints that broke, as events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics import JointModel
from tensorphys_engine.loose_joints import LooseJoints
from tensorphys_scene import Scene


@dataclass(frozen=True)
class JointBreak:
    """A joint outside of articulation trees that stopped acting because its load was beyond its bounds.

    Attributes:
        path: Prim path of the joint.
        environment: Number of its environment.
        joint: Row in the joints of the dynamics.
        step: Number of the step in which it broke, counted from 1 at the start of the simulation.
        time: End of the substep in which it broke [s].
        force, torque: Load on body 1 in that substep, environment axes, the torque about the joint's frame there [N, N m].
    """

    path: str
    environment: int
    joint: int
    step: int
    time: float
    force: tuple[float, float, float]
    torque: tuple[float, float, float]


class JointEvents:
    """Hands out each break once.

    The device notes for each joint whether, when and under which load it broke; this class knows what it has told.

    Args:
        scene: The scene.
        model: Joints of the dynamics.
        loose: Where they come from.

    Attributes:
        told: Whether the break of each joint was told, shape [joints].
    """

    def __init__(self, scene: Scene, model: JointModel, loose: LooseJoints) -> None:
        self._scene, self._model, self._loose = scene, model, loose
        self.told = np.zeros(model.joint_count, bool)

    def forget(self) -> None:
        """Tell of all breaks before now no more, and of joints that are whole again when they break anew."""
        self.told = self._broken()

    def path(self, joint: int) -> tuple[str, int]:
        """Prim path and environment of a joint."""
        layout, environments = self._loose.layout, self._scene.environments
        environment = int(np.searchsorted(layout.start, joint, side="right")) - 1
        template = int(environments.template[environment])
        row = int(self._loose.rows[template][joint - int(layout.start[environment])])
        return environments.path[environment] + self._scene.templates[template].joints.path[row], environment

    def take(self) -> list[JointBreak]:
        """Breaks since the last call, in the order of steps and then of joints; waits for the device."""
        if not self._model.joint_count:
            return []
        broken = self._broken()
        fresh = np.flatnonzero(broken & ~self.told)
        self.told = broken
        if not fresh.size:
            return []
        rows = self._model.rows
        step, time, load = (
            a.numpy() for a in (rows.joint_break_step, rows.joint_break_time, rows.joint_break_load)
        )
        order = fresh[np.lexsort((fresh, step[fresh]))]
        return [self._event(int(j), int(step[j]), float(time[j]), load[j]) for j in order]

    def _broken(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self._model.joint_broken.numpy() != 0)

    def _event(self, joint: int, step: int, time: float, load: npt.NDArray[np.float32]) -> JointBreak:
        path, environment = self.path(joint)
        x = [float(value) for value in load]
        return JointBreak(
            path, environment, joint, step, time, force=(x[0], x[1], x[2]), torque=(x[3], x[4], x[5])
        )
