"""Members of the tensor API that this version does not have, and what each of them waits for.

Names go without ``get_`` and ``set_``.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ARTICULATION_ABSENT", "RIGID_BODY_ABSENT"]

_COMPLIANT = "the compliant contacts of tensorphys_contact"

ARTICULATION_ABSENT: Mapping[str, str] = {
    "compliant_material_properties": _COMPLIANT,
}

RIGID_BODY_ABSENT: Mapping[str, str] = {
    "compliant_material_properties": _COMPLIANT,
}
