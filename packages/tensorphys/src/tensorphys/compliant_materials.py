"""Materials of shapes whose contacts are springs: two arrays each way, which belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorphys.errors import DataError
from tensorphys.fields import Field
from tensorphys.properties import Properties, Values

__all__ = ["CompliantMaterials"]

# What the getter hands out, and what the setter takes.
_SPRINGS = Field("compliant_materials", "shape", 2, "N/m, N s/m", "", "shape", group="property")
_SPRING_MODES = Field(
    "compliant_combine_modes", "shape", 2, "-, -", "", "shape", dtype="uint8", group="property"
)
_MATERIALS = Field("compliant_material_data", "shape", 4, "-, -, N/m, N s/m", "", "shape", group="property")
_MODES = Field(
    "compliant_material_modes", "shape", 3, "-, -, -", "", "shape", dtype="uint8", group="property"
)
_COMBINE = ("friction_combine", "restitution_combine", "damping_combine")
_LAST_MODE = 3  # tensorphys_scene.CombineMode


class CompliantMaterials:
    """Reads and writes compliant materials of the shapes of one view.

    Args:
        properties: Properties of that view.
    """

    def __init__(self, properties: Properties) -> None:
        self._properties = properties

    def get(self) -> tuple[Any, Any]:
        """Fill the two buffers and return them; the stiffness of a rigid shape is infinite."""
        properties = self._properties
        properties.settle()
        springs, spring_values = properties.buffer(_SPRINGS)
        modes, mode_values = properties.buffer(_SPRING_MODES)
        slots = properties.slots("shape")
        present = slots >= 0
        shapes = slots[present]
        stiffness = properties.host("contact_model.stiffness")[shapes]
        damping = properties.host("contact_model.damping")[shapes]
        spring_values[present] = np.stack((np.where(stiffness > 0.0, stiffness, np.inf), damping), axis=1)
        codes = [properties.host(f"contact_model.{name}")[shapes] for name in _COMBINE[1:]]
        mode_values[present] = np.stack(codes, axis=1)
        return springs, modes

    def set(self, data: Any, combination_data: Any, indices: Any, what: str) -> None:
        """Give the shapes of the selected rows materials of their own.

        Raises:
            DataError: If a value is impossible; nothing is written.
        """
        properties = self._properties
        properties.settle()
        rows = properties.selected(indices, what)
        shapes, values = properties.taken(_MATERIALS, data, rows, f"{what}(data)")
        _, modes = properties.taken(_MODES, combination_data, rows, f"{what}(combination_data)")
        _require(np.isfinite(values[:, [0, 1, 3]]) & (values[:, [0, 1, 3]] >= 0.0), values, what)
        _require(values[:, 2:3] >= 0.0, values, what)
        known = (modes <= _LAST_MODE).all(axis=1)
        if not known.all():
            raise DataError(
                f"{what}: expected combine modes 0 average, 1 min, 2 multiply or 3 max, "
                f"given {modes[int(np.argmin(known))].tolist()}; nothing was written"
            )
        columns = {
            "static_friction": values[:, 0],
            "dynamic_friction": values[:, 1],
            "stiffness": np.where(np.isfinite(values[:, 2]), values[:, 2], 0.0),
            "damping": values[:, 3],
            # a material of its own has no restitution beside its spring, which acts as a force
            "restitution": np.zeros(len(shapes)),
            "spring_per_mass": np.zeros(len(shapes)),
            **{name: modes[:, column] for column, name in enumerate(_COMBINE)},
        }
        for name, column in columns.items():
            properties.store(f"contact_model.{name}", shapes, column)
        properties.wake(rows)


def _require(good: Values, values: Values, what: str) -> None:
    rows = np.asarray(good).all(axis=1)
    if not rows.all():
        raise DataError(
            f"{what}: expected frictions, a stiffness (infinite for a rigid shape) and a damping that are not "
            f"negative, given {values[int(np.argmin(rows))].tolist()}; nothing was written"
        )
