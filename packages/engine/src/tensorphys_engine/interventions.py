"""What a user does to single objects of a simulation, beside writing their state."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import warp as wp

from tensorphys_contact import Contacts
from tensorphys_contact import Model as ContactModel
from tensorphys_dynamics import Model, Sleep, State
from tensorphys_engine._kernels import offsets
from tensorphys_engine.errors import StepError
from tensorphys_engine.joint_events import JointBreak, JointEvents
from tensorphys_engine.one_pass import OnePass


class Interventions:
    """State, sleep, joints that broke, and bodies out of the simulation; part of :class:`Simulation`, whose attributes it uses."""

    device: Any
    model: Model
    raw_state: State
    one_refresh: OnePass
    contact_model: ContactModel
    contact_offset: wp.array
    sleep: Sleep | None
    contacts: Contacts
    substeps: int
    velocity_passes: int
    _joint_events: JointEvents

    @abstractmethod
    def _replace_contacts(self, wanted: Contacts) -> None:
        """Make the solver anew, with the impulses of the last step."""

    @property
    def state(self) -> State:
        """State of the dynamics, with link poses and velocities as they follow from all that was written.

        Ask again after writes that leave kinematics for later, as those of assets do: an array that was kept from before shows
        them after the next read, step or :meth:`refresh`.
        """
        self.one_refresh.settle()
        return self.raw_state

    def refresh(self) -> None:
        """Derive link poses and velocities of articulations marked in ``state.fresh``; in ``one_refresh`` at its end."""
        self.one_refresh()

    def wake_up(self, articulations: Any = None) -> None:
        """Wake articulations, and in the next step all that touch them; does nothing where nothing ever sleeps.

        Setters of state, targets, forces and gravity wake what they change; whoever writes parameters (masses, gains,
        limits, materials) calls this.

        Args:
            articulations: Numbers, int32 Warp array on the device, or any sequence; None for all.
        """
        if self.sleep is not None:
            self.sleep.wake_up(self._numbers(articulations))

    def put_to_sleep(self, articulations: Any = None) -> None:
        """Have articulations sleep where they are, until something wakes them.

        Args:
            articulations: As for :meth:`wake_up`.

        Raises:
            StepError: If nothing in this simulation sleeps.
        """
        if self.sleep is None:
            raise StepError("nothing in this simulation sleeps: build it with sleeping=True")
        self.sleep.put_to_sleep(self._numbers(articulations))

    def _numbers(self, articulations: Any) -> Any:
        if articulations is None or isinstance(articulations, wp.array):
            return articulations
        numbers = np.asarray(articulations, np.int32).reshape(-1)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.model.articulation_count):
            raise StepError(
                f"articulations: expected 0 to {self.model.articulation_count - 1}, given {numbers}"
            )
        return wp.array(numbers, dtype=wp.int32, device=self.device)

    def set_iterations(self, substeps: int | None = None, velocity_passes: int | None = None) -> None:
        """Take other counts of a step from now on; state and the impulses of the last step stay, steps are recorded anew.

        Args:
            substeps, velocity_passes: Counts, at least 1; None leaves one.

        Raises:
            StepError: If a count is less than 1.
        """
        wanted = (substeps or self.substeps, velocity_passes or self.velocity_passes)
        if min(wanted) < 1 or 0 in (substeps, velocity_passes):
            raise StepError(f"expected counts of at least 1, given {substeps} and {velocity_passes}")
        if wanted == (self.substeps, self.velocity_passes):
            return
        self.substeps, self.velocity_passes = wanted
        self._replace_contacts(self.contacts)

    def take_joint_breaks(self) -> list[JointBreak]:
        """Joints that broke since the last call, each once; waits for the device.

        A joint outside of articulation trees breaks when its load of a substep is beyond its break force or torque, and
        does not act any more, until the simulation is reset or a state from before is loaded.
        """
        return self._joint_events.take()

    def apply_disabled(self) -> None:
        """Take bodies out of the simulation, or back in, after ``model.link_disabled`` or ``contact_offset`` was written.

        A body that is out stands still and touches nothing. Only roots can be, with all that hangs on them.
        """
        if self.contact_offset.size:
            wp.launch(
                offsets.effective_offsets,
                dim=self.contact_offset.size,
                inputs=[self.contact_offset, self.contact_model.shape_body, self.model.link_disabled],
                outputs=[self.contact_model.contact_offset],
                device=self.device,
            )
