"""Sleep of bodies and articulations at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels import sleeping
from tensorphys_dynamics._kernels.arrays import ContactData, Scratch
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.joints import JointModel
from tensorphys_dynamics.model import Model
from tensorphys_dynamics.state import Control, State

_KEPT = (
    "asleep",
    "wake_counter",
    "quiet_energy",
    "request",
    "kept_support",
    "kept_gravity",
    "kept_position_target",
    "kept_velocity_target",
    "kept_actuation",
)


class Sleep:
    """Which articulations sleep; give it to a `Solver`, whose steps then let them fall asleep and wake.

    An articulation may fall asleep when the kinetic energy of each of its links, by its mass, was below the threshold
    for 0.4 s without doubling, and no drive is to move at a speed. Islands, of articulations that touch or that joints
    outside of the trees connect, fall asleep and wake together. A sleeping one stays where it is, bit for bit, at zero
    velocity, and carries the loads that hold it. It wakes when an awake one touches it or is about to, when a support is gone,
    when what is moved by hand touches it, when its state is written, when a target, actuation or gravity is another one than
    when it fell asleep or a wrench another one than in the step before, and by `wake_up`. Whoever writes other parameters (masses, gains, limits) calls that.

    Attributes:
        threshold: Kinetic energy by mass below which an articulation may fall asleep [m²/s²], 0 for never, float32,
            [articulation_count].
        asleep: Steps that it has slept, counted up to 16; 0 where it is awake, int32, [articulation_count].
        wake_counter: Time that it has still to be quiet [s], float32, [articulation_count].
        label: Island in the last step, by its first articulation, int32, [articulation_count].
    """

    threshold: wp.array[wp.float32]
    asleep: wp.array[wp.int32]
    wake_counter: wp.array[wp.float32]
    label: wp.array[wp.int32]

    def __init__(self, model: Model, state: State, control: Control, threshold: npt.ArrayLike) -> None:
        """Allocate; everything is awake.

        Args:
            model: Constants.
            state: State that the solver steps.
            control: Inputs.
            threshold: Threshold of each articulation [m²/s²], shape [articulation_count].

        Raises:
            ModelError: If a threshold is negative or NaN, or the shape does not fit.
        """
        host = np.asarray(threshold, np.float32)
        if host.shape != (model.articulation_count,) or not (host >= 0.0).all():
            raise ModelError(
                f"sleep thresholds: expected {model.articulation_count} numbers that are not negative, given "
                f"shape {host.shape}, least {host.min(initial=np.inf)}"
            )
        self._model, self._state, self._control = model, state, control
        self.data = _allocate(model)
        self.data.threshold.assign(host)
        self.data.wake_counter.fill_(sleeping.WAKEFUL)
        for name in ("threshold", "asleep", "wake_counter", "label"):
            setattr(self, name, getattr(self.data, name))
        everything = np.arange(model.articulation_count, dtype=np.int32)
        self._all = wp.array(everything, dtype=wp.int32, device=model.device)
        self._launched = 0

    def state_arrays(self) -> dict[str, wp.array]:
        """Arrays that a step changes and the next one reads, for saving and loading a state."""
        return {name: getattr(self.data, name) for name in _KEPT}

    def wake_up(self, articulations: wp.array | None = None) -> None:
        """Wake articulations now, and their islands in the next step; those awake begin to count anew.

        Args:
            articulations: Numbers on the device, int32, negative ones left out; None for all.
        """
        rows = self._all if articulations is None else articulations
        self._launch(sleeping.wake_up, rows.shape[0], [rows], [self.data])

    def put_to_sleep(self, articulations: wp.array | None = None) -> None:
        """Have articulations sleep where they are, at zero velocity, until something wakes them.

        Args:
            articulations: Numbers on the device, int32, negative ones left out; None for all.
        """
        rows = self._all if articulations is None else articulations
        inputs = [rows, self._model.tables, self._model.data, self._control.data]
        self._launch(sleeping.put_to_sleep, rows.shape[0], inputs, [self._state.data, self.data])

    def begin_step(
        self,
        contact: ContactData,
        previous_count: wp.array,
        joints: JointModel,
        time_step: wp.array,
        large: wp.array,
        scratch: Scratch,
    ) -> int:
        """Wake what is to wake, after contacts were found and before the substeps; returns kernel launches.

        Args:
            contact: Contacts of the step.
            previous_count: Contacts that are remembered of the step before, by environment.
            joints: Joints beside the trees.
            time_step: Length of the step [s].
            large: 1 for environments whose contacts are solved in parallel.
            scratch: Takes which articulations stand idle.
        """
        m, z, state = self._model, self.data, self._state.data
        self._launched, count = 0, m.articulation_count
        inputs = [m.tables, m.data, self._control.data, previous_count]
        self._launch(sleeping.stir, count, inputs, [state, z])
        slots = contact.body0.shape[0]
        if slots:
            self._launch(sleeping.join_contacts, slots, [m.tables, m.data, state, contact, time_step], [z])
        j = joints
        if j.block_count:
            inputs = [m.tables, m.data, state, j.tables, j.parameters, j.rows]
            self._launch(sleeping.join_blocks, j.block_count, inputs, [z])
        self._launch(sleeping.spread, count, [m.tables, m.data], [z])
        self._launch(sleeping.wake_islands, count, [m.tables, m.data, scratch.coupled], [state, z])
        self._launch(sleeping.mark_idle, count, [m.tables, z, large], [scratch])
        return self._launched

    def end_step(self, time_step: wp.array) -> int:
        """Put back what sleeps, and let fall asleep what was quiet for long enough; returns kernel launches.

        Args:
            time_step: Length of the step [s].
        """
        m, z, state = self._model, self.data, self._state.data
        self._launched = 0
        inputs = [m.tables, m.data, self._control.data]
        self._launch(sleeping.settle, m.articulation_count, [*inputs, time_step], [state, z])
        self._launch(sleeping.fall_asleep, m.articulation_count, inputs, [state, z])
        return self._launched

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self._model.device)
        self._launched += 1


def _allocate(model: Model) -> sleeping.SleepData:
    data = sleeping.SleepData()
    counts = {
        "kept_position_target": model.dof_count,
        "kept_velocity_target": model.dof_count,
        "kept_actuation": model.dof_count,
        "unsettled": model.environment_count,
        "rest_dof_position": model.dof_count,
        "rest_ball_turn": model.ball_count,
        "rest_link_pose": model.link_count,
    }
    fields: Any = sleeping.SleepData
    for name, kind in fields.vars.items():
        count = counts.get(name, model.articulation_count)
        setattr(data, name, wp.zeros(count, dtype=kind.type.dtype, device=model.device))
    return data
