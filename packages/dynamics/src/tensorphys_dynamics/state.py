"""State and inputs of a simulation of rigid bodies and articulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels.arrays import ControlData, StateData
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.model import Model

# What kinematics reads, and the change of velocity over a substep.
TRAIL_FIELDS = ("root_pose", "velocity", "dof_position", "ball_turn", "velocity_change")


class State:
    """All that the next step reads, and the link state derived from it. Frames are those of the environments.

    Truth is `root_pose`, `velocity`, `dof_position` and, for roots that are moved by hand, `root_velocity`.
    Whoever writes truth sets `fresh` of the articulation to 1 and calls `Solver.update_kinematics`.

    Attributes:
        root_pose: Pose of the root link, transform, [articulation_count].
        root_velocity: Velocity of a root of a fixed base that is moved by hand,
            [linear at the centre of mass, angular], spatial_vector, [articulation_count].
        root_target: Pose that a root moved by hand is to reach at the end of the next step where `root_aimed` is 1,
            transform, [articulation_count].
        root_aimed: 1 where a target waits for the next step, 2 during that step, [articulation_count].
        velocity: Generalized velocities, float, [velocity_count]: root [linear at the centre of mass, angular],
            then degrees of freedom [m/s, rad/s].
        dof_position: Joint positions [rad or m], [dof_count]; of a ball joint the components of its rotation vector,
            at most half a turn long after a step.
        ball_turn: Attitude of each ball joint, that of the joint frame of body 1 in that of body 0; truth in place
            of its positions, except where `fresh` is 1, quat, [ball_count].
        fresh: 1 where a setter wrote the articulation since the last step, [articulation_count].
        link_pose: Pose of each link, transform, [link_count].
        link_velocity: [linear at the centre of mass, angular], spatial_vector, [link_count].
        dof_friction_force: Force of friction in the last substep, positive along the motion [N m or N], [dof_count].
        root_remainder: What rounding has left out of the place of a floating root's centre of mass [m], vec3,
            [articulation_count].
        diverged: 1 where velocities of a substep came out beyond all bounds or as no numbers since the articulation
            was written: it was stopped where it stood, or its root slowed to 1e9 lengths a second, [articulation_count].
        half_kick, root_synced, dof_saturation, dof_limit_force, dof_sliding, velocity_change, previous_actuation,
        previous_force, previous_torque: What the integrator carries from one substep to the next, see `docs/architecture.md`.
    """

    root_pose: wp.array[wp.transform]
    root_velocity: wp.array[wp.spatial_vector]
    root_target: wp.array[wp.transform]
    root_aimed: wp.array[wp.int32]
    velocity: wp.array[wp.float32]
    dof_position: wp.array[wp.float32]
    ball_turn: wp.array[wp.quat]
    half_kick: wp.array[wp.float32]
    root_remainder: wp.array[wp.vec3]
    diverged: wp.array[wp.int32]
    root_synced: wp.array[wp.int32]
    fresh: wp.array[wp.int32]
    dof_saturation: wp.array[wp.int32]
    dof_limit_force: wp.array[wp.float32]
    dof_friction_force: wp.array[wp.float32]
    dof_sliding: wp.array[wp.int32]
    velocity_change: wp.array[wp.float32]
    link_pose: wp.array[wp.transform]
    link_velocity: wp.array[wp.spatial_vector]
    previous_actuation: wp.array[wp.float32]
    previous_force: wp.array[wp.vec3]
    previous_torque: wp.array[wp.vec3]

    def __init__(self, model: Model) -> None:
        n, device = model, model.device
        shapes: dict[str, tuple[Any, int]] = {
            "root_pose": (wp.transform, n.articulation_count),
            "root_velocity": (wp.spatial_vector, n.articulation_count),
            "root_target": (wp.transform, n.articulation_count),
            "root_aimed": (wp.int32, n.articulation_count),
            "velocity": (wp.float32, n.velocity_count),
            "dof_position": (wp.float32, n.dof_count),
            "ball_turn": (wp.quat, n.ball_count),
            "half_kick": (wp.float32, n.velocity_count),
            "root_remainder": (wp.vec3, n.articulation_count),
            "diverged": (wp.int32, n.articulation_count),
            "root_synced": (wp.int32, n.articulation_count),
            "fresh": (wp.int32, n.articulation_count),
            "dof_saturation": (wp.int32, n.dof_count),
            "dof_limit_force": (wp.float32, n.dof_count),
            "dof_friction_force": (wp.float32, n.dof_count),
            "dof_sliding": (wp.int32, n.dof_count),
            "velocity_change": (wp.float32, n.velocity_count),
            "link_pose": (wp.transform, n.link_count),
            "link_velocity": (wp.spatial_vector, n.link_count),
            "previous_actuation": (wp.float32, n.dof_count),
            "previous_force": (wp.vec3, n.link_count),
            "previous_torque": (wp.vec3, n.link_count),
        }
        self.names = tuple(shapes)
        self.data = StateData()
        for name, (dtype, count) in shapes.items():
            array = wp.zeros(count, dtype=dtype, device=device)
            setattr(self, name, array)
            setattr(self.data, name, array)
        self._model = model
        identity = np.tile(np.array([0, 0, 0, 0, 0, 0, 1], np.float32), (n.articulation_count, 1))
        self.root_pose.assign(identity)
        self.ball_turn.assign(np.tile(np.array([0, 0, 0, 1], np.float32), (n.ball_count, 1)))
        self.fresh.fill_(1)

    def set_initial(
        self,
        *,
        root_pose: npt.ArrayLike | None = None,
        velocity: npt.ArrayLike | None = None,
        dof_position: npt.ArrayLike | None = None,
    ) -> None:
        """Write truth from the host and mark all articulations fresh.

        Args:
            root_pose: Poses [m, -], shape [articulation_count, 7].
            velocity: Generalized velocities, shape [velocity_count].
            dof_position: Joint positions, shape [dof_count].

        Raises:
            ModelError: If a shape does not fit or a value is not finite.
        """
        for name, values, shape in (
            ("root_pose", root_pose, (self._model.articulation_count, 7)),
            ("velocity", velocity, (self._model.velocity_count,)),
            ("dof_position", dof_position, (self._model.dof_count,)),
        ):
            if values is None:
                continue
            host = np.asarray(values, np.float32)
            if host.shape != shape:
                raise ModelError(f"{name}: expected shape {shape}, given {host.shape}")
            if not np.isfinite(host).all():
                raise ModelError(f"{name} holds a value that is not finite")
            if host.size:
                getattr(self, name).assign(host)
        self.fresh.fill_(1)

    def copy(self) -> State:
        """An independent state with the same values."""
        result = State(self._model)
        result.assign(self)
        return result

    def assign(self, other: State) -> None:
        """Take over all values of another state of the same model."""
        for name in self.names:
            wp.copy(getattr(self, name), getattr(other, name))


def create_trail(state: State, substeps: int) -> tuple[StateData, list[StateData]]:
    """States of the substeps of a step: their arrays one after another, and those of each substep.

    Args:
        state: State that is stepped.
        substeps: Substeps of a step.
    """
    everything, parts = StateData(), [StateData() for _ in range(substeps)]
    for name in TRAIL_FIELDS:
        array = getattr(state, name)
        count = array.shape[0]
        whole = wp.zeros(substeps * count, dtype=array.dtype, device=array.device)
        setattr(everything, name, whole)
        for number, part in enumerate(parts):
            first = number * count
            setattr(part, name, whole[first : first + count] if count else whole)
    for part in parts:
        part.fresh = wp.zeros(state.fresh.shape[0], dtype=wp.int32, device=state.fresh.device)
    return everything, parts


class Control:
    """Inputs of a step.

    Attributes:
        position_target, velocity_target: Targets of the drives, [dof_count].
        actuation: Actuation forces [N m or N], kept until they are overwritten, [dof_count].
        link_force, link_torque: External wrench about the link's centre of mass, environment axes [N, N m], for
            one step; the step clears it, vec3, [link_count].
    """

    position_target: wp.array[wp.float32]
    velocity_target: wp.array[wp.float32]
    actuation: wp.array[wp.float32]
    link_force: wp.array[wp.vec3]
    link_torque: wp.array[wp.vec3]

    def __init__(self, model: Model) -> None:
        self.data = ControlData()
        for name, dtype, count in (
            ("position_target", wp.float32, model.dof_count),
            ("velocity_target", wp.float32, model.dof_count),
            ("actuation", wp.float32, model.dof_count),
            ("link_force", wp.vec3, model.link_count),
            ("link_torque", wp.vec3, model.link_count),
        ):
            array = wp.zeros(count, dtype=dtype, device=model.device)
            setattr(self, name, array)
            setattr(self.data, name, array)
