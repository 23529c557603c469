"""Members of the tensor API that this version does not have, and what each of them waits for.

Names go without ``get_`` and ``set_``.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ARTICULATION_ABSENT", "RIGID_BODY_ABSENT"]

_FRICTION = "the joint friction and drive envelope models of tensorphys_dynamics"
_KINEMATIC = "the kinematic targets of tensorphys_dynamics"
_COMPLIANT = "the compliant contacts of tensorphys_contact"
_SLEEPING = "the sleeping and disabling of bodies in tensorphys_engine"

ARTICULATION_ABSENT: Mapping[str, str] = {
    "dof_friction_coefficients": _FRICTION,
    "dof_friction_properties": _FRICTION,
    "dof_drive_model_properties": _FRICTION,
    "compliant_material_properties": _COMPLIANT,
}

RIGID_BODY_ABSENT: Mapping[str, str] = {
    "kinematic_targets": _KINEMATIC,
    "disable_simulations": _SLEEPING,
    "wake_up": _SLEEPING,
    "compliant_material_properties": _COMPLIANT,
}
