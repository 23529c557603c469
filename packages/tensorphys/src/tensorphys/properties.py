"""The property group: constants of the model, read through CPU arrays and written from arrays of any device.

Values are converted in NumPy. A write sends the whole array of the model back, which is a copy on CUDA and
nothing at all on the CPU, where the model's memory is written in place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys.catalog import FLOAT_MAX
from tensorphys.core import Core
from tensorphys.errors import DataError
from tensorphys.fields import Field
from tensorphys.rows import Rows
from tensorphys_arrays import Buffer
from tensorphys_spatial import inertia_rotate, principal_axes, quaternion_conjugate, quaternion_multiply

__all__ = ["Properties", "in_host_memory"]

Values = npt.NDArray[Any]
_MATERIAL = ("static_friction", "dynamic_friction", "restitution")
_AVERAGE = 0  # tensorphys_scene.CombineMode
_DTYPES = {"float32": wp.float32, "uint8": wp.uint8}


def in_host_memory(data: Any) -> Any:
    """Arrays of Warp and tensors of torch in host memory, whatever device they lie on; all else as it is."""
    if isinstance(data, wp.array):
        return data if data.device.is_cpu else wp.array(data.numpy(), dtype=data.dtype, device="cpu")
    return data.cpu() if getattr(data, "is_cuda", False) else data


class Properties:
    """Reads and writes properties of the rows of one view. Setters take data and indices from any device.

    Args:
        core: What all views share.
        rows: Rows of the view.
        label: Name of the view's class, for messages.
    """

    def __init__(self, core: Core, rows: Rows, label: str) -> None:
        self._core = core
        self._rows = rows
        self._label = label
        self._buffers: dict[str, Buffer] = {}

    def buffer(self, field: Field) -> tuple[Any, Values]:
        """The array handed out for a field, and the same memory as a NumPy array."""
        if field.name not in self._buffers:
            shape = field.shape(*self._rows.layout.slots[field.slots].shape)
            self._buffers[field.name] = self._core.frontend.allocate(shape, _DTYPES[field.dtype], "cpu")
        buffer = self._buffers[field.name]
        return buffer.array, buffer.warp.numpy()

    def get(self, field: Field) -> Any:
        """Fill the buffer of a field and return it; items that a row lacks stay zero."""
        self.settle()
        values, host = self.buffer(field)
        slots = self._rows.layout.slots[field.slots]
        present = slots >= 0
        if present.any():
            host.reshape(*slots.shape, -1)[present] = self._read(field, slots[present])
        return values

    def set(self, field: Field, data: Any, indices: Any) -> None:
        """Write the selected rows of a field; of rows of one object the one that is named last wins."""
        self.settle()
        what = f"{self._label}.set_{field.name}"
        rows = self.selected(indices, what)
        slots, values = self.taken(field, data, rows, f"{what}(data)")
        if slots.size:
            self._write(field, slots, values, what)
            self.wake(rows)

    def slots(self, name: str) -> Values:
        """Places of the items of all rows in the arrays of a numbering, −1 where a row has none."""
        return self._rows.layout.slots[name]

    def selected(self, indices: Any, what: str) -> Values:
        """Rows that a setter is to write."""
        count = len(self._rows.layout.articulations)
        given: Values = self._core.indices(in_host_memory(indices), count, "cpu", f"{what}(indices)").numpy()
        return given

    def wake(self, rows: Values) -> None:
        """Have what sleeps in some rows feel what was written."""
        self._core.simulation.wake_up(np.unique(self._rows.layout.articulations[rows]))

    def taken(self, field: Field, data: Any, rows: Values, what: str) -> tuple[Values, Values]:
        """Places of the items of the selected rows, and what was given for them.

        Args:
            field: What the data is.
            data: Data for all rows.
            rows: Selected rows.
            what: Name of the data, for messages.

        Returns:
            Places, shape [items], and numbers, shape [items, width].
        """
        slots = self.slots(field.slots)
        shape = (*slots.shape, max(field.width, 1))
        values = self._core.frontend.as_input(
            in_host_memory(data),
            dtype=_DTYPES[field.dtype],
            element_count=math.prod(shape),
            device="cpu",
            what=what,
            shape=shape,
        ).numpy()
        slots, values = slots[rows], values[rows]
        present = slots >= 0
        return slots[present], values[present]

    def settle(self) -> None:
        """Raise what earlier setters of device arrays found; the host waits for the device here anyway."""
        if not self._core.on_host:
            self._core.raise_faults(self._rows.selection, self._label)
            self._core.simulation.check_contacts()

    # Between the array of the model and rows of numbers, shape [items, width].

    def _read(self, field: Field, slots: Values) -> Values:
        source = self.host(field.source)[slots].reshape(len(slots), -1)
        if field.conversion == "bounded":
            return np.clip(source, -FLOAT_MAX, FLOAT_MAX)
        if field.conversion == "limits":
            upper = self.host("model.dof_upper")[slots]
            return np.clip(np.stack((source[:, 0], upper), axis=1), -FLOAT_MAX, FLOAT_MAX)
        if field.conversion == "flag":
            return source == 0.0
        if field.conversion == "disabled":
            return source != 0
        if field.columns:
            values = np.stack([self.host(name)[slots] for name in field.columns], axis=1)
            return np.clip(values, -FLOAT_MAX, FLOAT_MAX)
        if field.conversion == "com":
            return np.concatenate((source, self._core.principal_rotation[slots]), axis=1)
        if field.conversion == "material":
            return np.stack([self.host(f"contact_model.{name}")[slots] for name in _MATERIAL], axis=1)
        if field.conversion == "inverse":
            if field.width != 9:
                return 1.0 / source
            return np.linalg.inv(source.reshape(-1, 3, 3).astype(np.float64)).reshape(-1, 9)
        return source

    def _write(self, field: Field, slots: Values, values: Values, what: str) -> None:
        if field.conversion == "limits":
            self._write_limits(slots, values, what)
        elif field.conversion == "com":
            self._write_coms(slots, values, what)
        elif field.conversion == "inertia":
            self._write_inertias(slots, values, what)
        elif field.conversion == "material":
            self._write_materials(slots, values, what)
        elif field.conversion == "offset":
            self._write_offsets(field, slots, values, what)
        elif field.columns:
            self._write_columns(field, slots, values, what)
        elif field.conversion == "disabled":
            self._write_disabled(slots, values[:, 0], what)
        elif field.conversion == "flag":
            self.store(field.source, slots, np.where(values[:, 0] != 0, 0.0, 1.0))
        else:
            positive = field.name == "masses"
            good = (values > 0.0) & np.isfinite(values) if positive else values >= 0.0
            self._require(
                good.all(axis=1), values, what, "a positive number" if positive else "no negative number"
            )
            if field.conversion == "bounded":
                values = np.minimum(values, FLOAT_MAX)
            self.store(field.source, slots, values[:, 0])

    def _write_columns(self, field: Field, slots: Values, values: Values, what: str) -> None:
        self._require((values >= 0.0).all(axis=1), values, what, "no negative numbers")
        if field.conversion == "envelope":
            has = self.host("model.dof_envelope")[slots] != 0
            if not has.all():
                self._core.warn(
                    "%s: %d degrees of freedom have no performance envelope; theirs are left as they are",
                    what,
                    (~has).sum(),
                )
            slots, values = slots[has], values[has]
        for column, name in enumerate(field.columns):
            self.store(name, slots, np.minimum(values[:, column], FLOAT_MAX))

    def _write_disabled(self, slots: Values, flags: Values, what: str) -> None:
        core = self._core
        articulations = core.catalog.link_articulation[slots]
        alone = core.catalog.link_count[articulations] == 1
        if not alone.all():
            core.warn(
                "%s: %d bodies are links of articulations, which stay in the simulation", what, (~alone).sum()
            )
        slots, flags = slots[alone], (flags[alone] != 0).astype(np.int32)
        changed = self.host("model.link_disabled")[slots] != flags
        self.store("model.link_disabled", slots, flags)
        core.simulation.apply_disabled()
        if changed.any():
            # Nothing of what moved or touched it before is of use to a body that comes back.
            self._touch(core.catalog.link_articulation[slots[changed]])

    def _write_limits(self, slots: Values, values: Values, what: str) -> None:
        self._require(np.asarray(values[:, 0] <= values[:, 1]), values, what, "lower ≤ upper")
        limited = self._core.catalog.dof_limited[slots]
        if not limited.all():
            self._core.warn(
                "%s: %d degrees of freedom have no limits; theirs are left as they are",
                what,
                (~limited).sum(),
            )
        bounded = np.clip(values, -FLOAT_MAX, FLOAT_MAX)
        self.store("model.dof_lower", slots[limited], bounded[limited, 0])
        self.store("model.dof_upper", slots[limited], bounded[limited, 1])

    def _write_coms(self, slots: Values, values: Values, what: str) -> None:
        norm = np.linalg.norm(values[:, 3:], axis=1)
        self._require(
            np.isfinite(values).all(axis=1) & (norm > 1e-6), values, what, "finite numbers and a quaternion"
        )
        core = self._core
        rotation = values[:, 3:].astype(np.float64)
        # Rounding to float32 is no new orientation: what was read is written back unchanged.
        old = core.principal_rotation[slots]
        moved = np.abs(rotation - old).max(axis=1) > 1e-6
        if moved.any():
            turned = slots[moved]
            rotation = rotation[moved] / norm[moved, None]
            inertia = self.host("model.link_inertia")[turned].astype(np.float64)
            turn = quaternion_multiply(rotation, quaternion_conjugate(old[moved]))
            self.store("model.link_inertia", turned, inertia_rotate(inertia, turn))
            core.principal_rotation[turned] = rotation
        self.store("model.link_com", slots, values[:, :3])
        # Velocities of links are those of their centres of mass.
        self._touch(core.catalog.link_articulation[slots])

    def _write_inertias(self, slots: Values, values: Values, what: str) -> None:
        matrices = values.reshape(-1, 3, 3).astype(np.float64)
        finite = np.isfinite(matrices).all(axis=(1, 2))
        self._require(finite, values, what, "finite numbers")
        matrices = 0.5 * (matrices + matrices.transpose(0, 2, 1))
        self._require(
            np.asarray(np.linalg.eigvalsh(matrices)[:, 0] > 0.0), values, what, "a positive definite matrix"
        )
        core = self._core
        # The axes stay where they still are principal ones.
        seen = inertia_rotate(matrices, quaternion_conjugate(core.principal_rotation[slots]))
        rest = np.abs(seen - seen * np.eye(3)).max(axis=(1, 2))
        changed = rest > 1e-5 * np.abs(seen).max(axis=(1, 2))
        core.principal_rotation[slots[changed]] = principal_axes(matrices[changed])[0]
        self.store("model.link_inertia", slots, matrices)

    def _write_materials(self, slots: Values, values: Values, what: str) -> None:
        good = (values >= 0.0).all(axis=1) & np.isfinite(values).all(axis=1) & (values[:, 2] <= 1.0)
        self._require(good, values, what, "frictions ≥ 0 and a restitution from 0 to 1")
        for column, name in enumerate(_MATERIAL):
            self.store(f"contact_model.{name}", slots, values[:, column])
        # The shape has a material of its own from now on, which combines as the known implementation makes it do.
        for name in ("friction_combine", "restitution_combine", "damping_combine"):
            self.store(f"contact_model.{name}", slots, np.full(len(slots), _AVERAGE))
        for name in ("stiffness", "damping", "spring_per_mass"):
            self.store(f"contact_model.{name}", slots, np.zeros(len(slots)))

    def _write_offsets(self, field: Field, slots: Values, values: Values, what: str) -> None:
        own = values[:, 0]
        if field.name == "contact_offsets":
            good = own > np.maximum(self.host("contact_model.rest_offset")[slots], 0.0)
            expected = "a contact offset above zero and above the rest offset"
        else:
            good = own < self.host("contact_offset")[slots]
            expected = "a rest offset below the contact offset"
        self._require(good & np.isfinite(own), values, what, expected)
        self.store(field.source, slots, own)
        if field.name == "contact_offsets":
            self._core.simulation.apply_disabled()

    def _require(self, good: Any, values: Values, what: str, expected: str) -> None:
        bad = np.flatnonzero(~np.asarray(good))
        if bad.size:
            raise DataError(
                f"{what}: expected {expected}, given {values[bad[0]].tolist()}; nothing was written"
            )

    def host(self, source: str) -> Values:
        """An array of the simulation, below the attribute path, in host memory."""
        array: wp.array = self._core.array(source)
        return np.asarray(array.numpy())

    def store(self, target: str, slots: Values, values: Values) -> None:
        """Write some places of an array of the simulation."""
        array: wp.array = self._core.array(target)
        host = array.numpy()
        host[slots] = values
        if not array.device.is_cpu:
            array.assign(host)

    def _touch(self, articulations: Values) -> None:
        """Have everything that derives from the state of articulations updated."""
        fresh: wp.array = self._core.array("state.fresh")
        host = fresh.numpy()
        host[articulations] = 1
        if not fresh.device.is_cpu:
            fresh.assign(host)
        self._core.simulation.refresh()
