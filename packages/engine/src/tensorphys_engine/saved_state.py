"""Copies of what the next step reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import warp as wp

from tensorphys_contact import Model as ContactModel
from tensorphys_dynamics import DOF_COLUMNS, LINK_COLUMNS, Control, JointModel, Model, Sleep, Solver, State
from tensorphys_engine.errors import StepError

_CONTROL = ("position_target", "velocity_target", "actuation", "link_force", "link_torque")
_CONTACT_PARAMETERS = (
    "static_friction",
    "dynamic_friction",
    "restitution",
    "friction_combine",
    "restitution_combine",
    "damping_combine",
    "stiffness",
    "damping",
    "spring_per_mass",
    "patch_radius",
    "least_patch_radius",
    "torsional_friction",
    "contact_offset",
    "rest_offset",
)


@dataclass(frozen=True)
class SavedState:
    """State of a simulation at one time; arrays are on the device of the simulation.

    Attributes:
        state: State and inputs by name.
        warm_start: Contact impulses that the next step starts from, by name, one value a slot.
        slot_start: First contact slot of each environment.
        parameters: Masses, gains, limits, materials, gravity and the like by name; empty where they were not saved.
        time: Simulated time [s].
        step_count: Steps so far.
    """

    state: Mapping[str, Any]
    warm_start: Mapping[str, Any]
    slot_start: Any
    parameters: Mapping[str, Any]
    time: float
    step_count: int


def state_arrays(
    state: State, control: Control, joints: JointModel, sleep: Sleep | None = None
) -> dict[str, Any]:
    """Arrays of state and inputs that the next step reads, warm starts aside."""
    result = {f"state.{name}": getattr(state, name) for name in state.names}
    result |= {f"control.{name}": getattr(control, name) for name in _CONTROL}
    if sleep is not None:
        result |= {f"sleep.{name}": array for name, array in sleep.state_arrays().items()}
    return result | {f"joints.{name}": array for name, array in joints.state_arrays().items()}


def parameter_arrays(model: Model, contact_model: ContactModel, solver: Solver) -> dict[str, Any]:
    """Arrays that only the user changes."""
    result = {f"link_{name}": getattr(model, f"link_{name}") for name in LINK_COLUMNS}
    result |= {f"dof_{name}": getattr(model, f"dof_{name}") for name in DOF_COLUMNS}
    result |= {f"shape_{name}": getattr(contact_model, name) for name in _CONTACT_PARAMETERS}
    result |= solver.joints.parameter_arrays()
    return result | {"gravity": model.gravity, "bounce_threshold": solver.bounce_threshold}


def copies(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Independent copies."""
    return {name: wp.clone(array) for name, array in arrays.items()}


def check_match(arrays: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    """Check that saved values fit.

    Raises:
        StepError: If they are of another scene.
    """
    for name, array in arrays.items():
        other = saved.get(name)
        if other is None or other.shape != array.shape or other.dtype != array.dtype:
            found = "nothing" if other is None else f"shape {other.shape}"
            raise StepError(f"saved state of another scene: {name} has shape {array.shape}, saved is {found}")


def overwrite(arrays: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    """Write saved values into arrays in place."""
    for name, array in arrays.items():
        wp.copy(array, saved[name])
