"""Masses, gravity flags and collision shapes, which articulations and rigid bodies have alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import warp as wp

from tensorphys.compliant_materials import CompliantMaterials
from tensorphys.core import Core
from tensorphys.properties import in_host_memory
from tensorphys.rows import Layout
from tensorphys.view import TensorView

if TYPE_CHECKING:
    from tensorphys_arrays import Buffer

__all__ = ["BodyPropertyView"]


class BodyPropertyView(TensorView):
    """A view of bodies: the links of articulations, or one body a row.

    All arrays here lie on the CPU, whatever the simulation device; indices do, too. Below, *bodies* is
    ``count, max_links`` for articulations; for rigid bodies it is ``count``, with an axis of length 1 behind it
    where an item is one number.
    """

    def __init__(self, core: Core, layout: Layout | None) -> None:
        super().__init__(core, layout)
        if layout is not None:
            self._compliant = CompliantMaterials(self._properties)

    # Masses.

    def get_masses(self) -> Any:
        """Mass of each body [kg], shape [bodies]."""
        return self._get("masses")

    def set_masses(self, data: Any, indices: Any) -> None:
        """Set masses; inertias stay as they are."""
        self._set("masses", data, indices)

    def get_inv_masses(self) -> Any:
        """Reciprocal of each mass [1/kg], shape [bodies]."""
        return self._get("inv_masses")

    def get_coms(self) -> Any:
        """Centre of mass [m] and principal axes (quaternion) in the body frame, shape [bodies, 7]."""
        return self._get("coms")

    def set_coms(self, data: Any, indices: Any) -> None:
        """Set centres of mass; turning the principal axes turns the inertia with them."""
        self._set("coms", data, indices)

    def get_inertias(self) -> Any:
        """Inertia about the centre of mass in body axes [kg m²], 3×3, shape [bodies, 9]."""
        return self._get("inertias")

    def set_inertias(self, data: Any, indices: Any) -> None:
        """Set inertias; the principal axes that ``get_coms`` reports follow."""
        self._set("inertias", data, indices)

    def get_inv_inertias(self) -> Any:
        """Inverse of each inertia [1/(kg m²)], shape [bodies, 9]."""
        return self._get("inv_inertias")

    def get_disable_gravities(self) -> Any:
        """1 where gravity does not act on a body, uint8, shape [bodies]."""
        return self._get("disable_gravities")

    def set_disable_gravities(self, data: Any, indices: Any) -> None:
        """Switch gravity off (1) or on (0) by body."""
        self._set("disable_gravities", data, indices)

    # Sleep. A link sleeps and wakes with its articulation, and that with all that it touches.

    def wake_up(self, indices: Any = None) -> None:
        """Wake sleeping bodies; nothing happens where nothing sleeps.

        Args:
            indices: Rows on any device, ``None`` for all.
        """
        self._core.simulation.wake_up(self._articulations_of("wake_up", indices))

    def put_to_sleep(self, indices: Any = None) -> None:
        """Have bodies sleep where they are until something wakes them (an extension).

        Args:
            indices: Rows on any device, ``None`` for all.

        Raises:
            StepError: If nothing in this simulation sleeps, see ``tensorphys_engine.Simulation``.
        """
        self._core.simulation.put_to_sleep(self._articulations_of("put_to_sleep", indices))

    def get_sleep_states(self) -> Any:
        """1 where a body sleeps, else 0, uint8, shape [count, 1], on the CPU (an extension)."""
        rows = self._rows("get_sleep_states")
        if self._sleep_buffer is None:
            self._sleep_buffer = self._core.frontend.allocate((rows.count, 1), wp.uint8, "cpu")
        sleep = self._core.simulation.sleep
        values = self._sleep_buffer.warp.numpy()
        values[:] = 0
        if sleep is not None and rows.count:
            values[:, 0] = sleep.asleep.numpy()[rows.layout.articulations] > 0
        return self._sleep_buffer.array

    def _articulations_of(self, what: str, indices: Any) -> Any:
        rows = self._rows(what)
        name = f"{type(self).__name__}.{what}(indices)"
        chosen = self._core.indices(in_host_memory(indices), rows.count, "cpu", name).numpy()
        return rows.layout.articulations[chosen]

    _sleep_buffer: Buffer | None = None

    # Collision shapes, by body and then in the order of the scene; those that the simulation leaves out do not count.

    @property
    def max_shapes(self) -> int:
        """Collision shapes of the row that has most."""
        return 0 if self._backend is None else int(self._backend.layout.slots["shape"].shape[1])

    def get_material_properties(self) -> Any:
        """Static friction, dynamic friction and restitution of each shape, shape [count, max_shapes, 3]."""
        return self._get("material_properties")

    def set_material_properties(self, data: Any, indices: Any) -> None:
        """Set materials of shapes; from then on they are rigid and combine with others by the average."""
        self._set("material_properties", data, indices)

    def get_compliant_material_properties(self) -> tuple[Any, Any]:
        """Springs of the contacts of shapes.

        Returns:
            Stiffness, infinite for a rigid shape, and damping [N/m, N s/m], shape [count, max_shapes, 2]; modes by which
            stiffnesses (that of restitutions) and dampings combine with those of another compliant shape, uint8, the
            same shape: 0 average, 1 min, 2 multiply, 3 max.
        """
        self._rows("get_compliant_material_properties")
        return self._compliant.get()

    def set_compliant_material_properties(self, data: Any, combination_data: Any, indices: Any) -> None:
        """Set materials whose contacts are springs; they act from the next step on.

        Args:
            data: Static and dynamic friction, stiffness and damping [-, -, N/m, N s/m], shape
                [count, max_shapes, 4]; a stiffness of 0 or infinity is a rigid shape.
            combination_data: Modes of friction, restitution and damping, uint8, shape [count, max_shapes, 3].
            indices: Rows.
        """
        self._rows("set_compliant_material_properties")
        label = f"{type(self).__name__}.set_compliant_material_properties"
        self._compliant.set(data, combination_data, indices, label)

    def get_contact_offsets(self) -> Any:
        """Distance below which a shape makes contacts [m], shape [count, max_shapes]."""
        return self._get("contact_offsets")

    def set_contact_offsets(self, data: Any, indices: Any) -> None:
        """Set contact offsets; each must exceed the rest offset."""
        self._set("contact_offsets", data, indices)

    def get_rest_offsets(self) -> Any:
        """Distance at which a shape rests [m], shape [count, max_shapes]."""
        return self._get("rest_offsets")

    def set_rest_offsets(self, data: Any, indices: Any) -> None:
        """Set rest offsets; each must be below the contact offset."""
        self._set("rest_offsets", data, indices)
