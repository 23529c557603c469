"""Models of a group of joints that are all arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_assets._kernels import actuators as kernels
from tensorphys_assets._kernels.rows import take_items
from tensorphys_assets.errors import ConfigurationError
from tensorphys_assets.members import warn_deprecated
from tensorphys_assets.names import match_values
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.selection import Choice

if TYPE_CHECKING:
    from tensorphys_assets.actuators.collection import ActuatorCollection

__all__ = [
    "ActuatorBase",
    "DCMotor",
    "DelayedPDActuator",
    "IdealPDActuator",
    "ImplicitActuator",
    "RemotizedPDActuator",
]

_IMPLICIT, _BOUNDED, _MOTOR, _LOOKUP = range(4)
Floats = npt.NDArray[np.float32]


def resolve(value: Any, names: list[str], fallback: Floats, what: str) -> Floats:
    """Values of the joints of a group.

    Args:
        value: Number, numbers by expression, or ``None``.
        names: Names of the joints.
        fallback: Values where none is given, shape [instances, joints].
        what: Field, for messages.
    """
    result = np.array(fallback, dtype=np.float32)
    if value is None:
        return result
    if isinstance(value, (int, float)):
        result[...] = value
        return result
    try:
        places, _, numbers = match_values(value, names)
    except ConfigurationError as error:
        raise ConfigurationError(f"{what}: {error}") from error
    result[:, places] = numbers
    return result


def _renamed(target: str) -> Any:
    """A deprecated name of an attribute."""

    def get(self: ActuatorBase) -> Any:
        warn_deprecated(self, target.removeprefix("actuator_"), target)
        return getattr(self, target)

    return property(get, doc=f"Deprecated; use ``{target}``.")


def _of_joints(quantity: str, meaning: str) -> Any:
    """What the simulation has for the joints of a group."""

    def get(self: ActuatorBase) -> Any:
        return self._columns(quantity, self._collection.property_of_joints(quantity))

    return property(get, doc=f"{meaning}, shape [instances, joints]; as they are when it is read.")


def _items(array: wp.array) -> wp.array:
    """An array of numbers as one of items of one number each."""
    return array.reshape((*array.shape, 1))


class ActuatorBase:
    """A group of joints and the model that drives them.

    Args:
        name: Name of the group.
        cfg: Configuration.
        collection: Collection that it belongs to.
        places: Places of its joints.

    Attributes:
        cfg: Configuration.
        joint_names: Names of its joints.
        joint_indices: Their places, int32.
        stiffness, damping: Gains of the model, shape [instances, joints]; may be written.
        actuator_effort_limit, actuator_velocity_limit: Limits of the model, likewise.
    """

    is_implicit_model: ClassVar[bool] = False
    _model: ClassVar[int] = _BOUNDED

    def __init__(self, name: str, cfg: Any, collection: ActuatorCollection, places: list[int]) -> None:
        self.name, self.cfg = name, cfg
        self._collection = collection
        self.device = collection.device
        self.joint_names = [collection.joint_names[place] for place in places]
        self.places = places
        host = np.asarray(places, dtype=np.int32)
        self.joint_indices = ProxyArray(wp.array(host, dtype=wp.int32, device=self.device))
        given = collection.given_properties(places)
        self.stiffness = self._array("stiffness", cfg.stiffness, given["joint_stiffness"])
        self.damping = self._array("damping", cfg.damping, given["joint_damping"])
        effort, velocity = collection.model_limits(cfg, self.is_implicit_model)
        self.actuator_effort_limit = self._array(
            "actuator_effort_limit", effort, given["joint_effort_limits"]
        )
        self.actuator_velocity_limit = self._array(
            "actuator_velocity_limit", velocity, given["joint_vel_limits"]
        )
        self._stall = self._array(
            "saturation_effort", getattr(cfg, "saturation_effort", None), given["joint_effort_limits"]
        )
        self._table = self._make_table()
        self._gathered: dict[str, Any] = {}

    @property
    def num_joints(self) -> int:
        """Number of joints."""
        return len(self.places)

    @property
    def saturation_effort(self) -> Any:
        """Effort at standstill of a motor, shape [instances, joints]."""
        return self._stall

    effort_limit = _renamed("actuator_effort_limit")
    velocity_limit = _renamed("actuator_velocity_limit")

    @property
    def computed_effort(self) -> Any:
        """Efforts of its joints before the limits [N or N m], shape [instances, joints]; as they are when it is read."""
        return self._columns("computed_effort", _items(self._collection.outputs[0]))

    @property
    def applied_effort(self) -> Any:
        """Efforts of its joints within the limits [N or N m], likewise."""
        return self._columns("applied_effort", _items(self._collection.outputs[1]))

    joint_effort_limit = _of_joints("joint_effort_limits", "Effort limits of the solver [N or N m]")
    joint_velocity_limit = _of_joints("joint_vel_limits", "Speed limits of the solver [m/s or rad/s]")
    armature = _of_joints("joint_armature", "Inertias added to its joints [kg or kg m²]")
    friction = _of_joints("joint_friction_coeff", "Static friction [N or N m]")
    dynamic_friction = _of_joints("joint_dynamic_friction_coeff", "Dynamic friction [N or N m]")
    viscous_friction = _of_joints("joint_viscous_friction_coeff", "Viscous friction [N s/m or N m s/rad]")

    def _columns(self, name: str, source: wp.array) -> Any:
        """Its joints' columns of an array [instances, all joints, 1], in an array that stays the same."""
        proxy = self._gathered.get(name)
        shape = (self._collection.num_instances, self.num_joints)
        if proxy is None:
            values = wp.zeros(shape, dtype=wp.float32, device=self.device)
            proxy = self._gathered[name] = ProxyArray(values)
        if 0 not in shape:
            inputs = [source, self.joint_indices.warp]
            wp.launch(take_items, (*shape, 1), inputs, [_items(proxy.warp)], device=self.device)
        return proxy

    def _array(self, what: str, value: Any, fallback: Floats) -> Any:
        host = resolve(value, self.joint_names, fallback, f"actuators[{self.name!r}].{what}")
        return ProxyArray(wp.array(host, dtype=wp.float32, device=self.device))

    def _make_table(self) -> wp.array:
        return wp.zeros((1, 3), dtype=wp.float32, device=self.device)

    def reset(self, rows: Choice) -> None:
        """Forget what the model remembers of instances; this one remembers nothing."""

    def compute(self, dt: float) -> None:
        """Make efforts from the commands of the collection.

        Args:
            dt: Time of a step [s].
        """
        self._launch(self._collection.commands)

    def _launch(self, commands: list[wp.array]) -> None:
        c = self._collection
        shape = (c.num_instances, self.num_joints)
        if 0 in shape:
            return
        own = [
            self.stiffness, self.damping, self.actuator_effort_limit, self.actuator_velocity_limit, self._stall,
        ]  # fmt: skip
        wp.launch(
            kernels.pd_efforts,
            shape,
            [
                self.joint_indices.warp, *commands, *c.joint_state, *(array.warp for array in own), self._table,
                self._model,
            ],
            c.outputs,
            device=self.device,
        )  # fmt: skip


class ImplicitActuator(ActuatorBase):
    """The drives of the engine; the effort that is reported is an estimate from the state before the step."""

    is_implicit_model = True
    _model = _IMPLICIT


class IdealPDActuator(ActuatorBase):
    """kp (q* − q) + kd (q̇* − q̇) + τ*, within the effort limit."""


class DCMotor(IdealPDActuator):
    """The same between τs (−1 − q̇ / q̇max) and τs (1 − q̇ / q̇max), both within the effort limit."""

    _model = _MOTOR


class DelayedPDActuator(IdealPDActuator):
    """An ideal actuator whose commands come some steps late."""

    def __init__(self, name: str, cfg: Any, collection: ActuatorCollection, places: list[int]) -> None:
        super().__init__(name, cfg, collection, places)
        self._least, self._most = int(cfg.min_delay), int(cfg.max_delay)
        if not 0 <= self._least <= self._most:
            raise ConfigurationError(
                f"actuators[{name!r}]: expected 0 <= min_delay <= max_delay, given {self._least}, {self._most}"
            )
        count, device = collection.num_instances, self.device
        self._depth = self._most + 1

        def numbers() -> wp.array:
            return wp.zeros(count, dtype=wp.int32, device=device)

        self.time_lags, self._age, self._draws = ProxyArray(numbers()), numbers(), numbers()
        self._step = wp.zeros(1, dtype=wp.int32, device=device)
        self._ring = wp.zeros((self._depth, count, len(places), 3), dtype=wp.float32, device=device)
        self._delayed = [wp.zeros_like(array) for array in collection.commands]
        self.reset(collection.all_instances)

    def reset(self, rows: Choice) -> None:
        """Draw the delays of instances anew and forget their commands."""
        mask = rows.mask if rows.mask is not None else self._collection.all_mask
        wp.launch(
            kernels.draw_delays,
            rows.count,
            [rows.ids, mask, self._least, self._most, 1 + self.places[0]],
            [self._draws, self.time_lags.warp, self._age],
            device=self.device,
        )

    def compute(self, dt: float) -> None:
        """Make efforts from delayed commands."""
        c = self._collection
        shape = (c.num_instances, self.num_joints)
        lags = [self.time_lags.warp, self._age, self._step]
        wp.launch(
            kernels.delay_commands,
            shape,
            [self.joint_indices.warp, *c.commands, *lags],
            [self._ring, *self._delayed],
            device=self.device,
        )
        wp.launch(
            kernels.advance_delays, shape[0], [self._depth], [self._age, self._step], device=self.device
        )
        self._launch(self._delayed)


class RemotizedPDActuator(DelayedPDActuator):
    """A delayed actuator whose effort limit follows a table over the position."""

    _model = _LOOKUP

    def _make_table(self) -> wp.array:
        table = np.asarray(self.cfg.joint_parameter_lookup, dtype=np.float32)
        if table.ndim != 2 or table.shape[1] != 3 or (np.diff(table[:, 0]) <= 0).any():
            raise ConfigurationError(
                f"actuators[{self.name!r}].joint_parameter_lookup: expected rows of three numbers with growing "
                f"positions, given an array of shape {table.shape}"
            )
        return wp.array(table, dtype=wp.float32, device=self.device)
