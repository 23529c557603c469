"""All actuators of an articulation, and the commands that they work from."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_assets._kernels import actuators as kernels
from tensorphys_assets.actuators import models, networks
from tensorphys_assets.errors import ConfigurationError
from tensorphys_assets.names import match_names
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.selection import Choice

if TYPE_CHECKING:
    from tensorphys_assets.articulation import Articulation

__all__ = ["ActuatorCollection", "ActuatorOutputCommand", "ActuatorTargetCommand"]

_LOGGER = logging.getLogger("tensorphys.assets")
_MODELS: dict[str, type[models.ActuatorBase]] = {
    "ImplicitActuatorCfg": models.ImplicitActuator,
    "IdealPDActuatorCfg": models.IdealPDActuator,
    "DCMotorCfg": models.DCMotor,
    "DelayedPDActuatorCfg": models.DelayedPDActuator,
    "RemotizedPDActuatorCfg": models.RemotizedPDActuator,
    "ActuatorNetLSTMCfg": networks.ActuatorNetLSTM,
    "ActuatorNetMLPCfg": networks.ActuatorNetMLP,
}
# Field of a configuration, and what it sets in the simulation.
_PROPERTIES = {
    "armature": "joint_armature",
    "friction": "joint_friction_coeff",
    "dynamic_friction": "joint_dynamic_friction_coeff",
    "viscous_friction": "joint_viscous_friction_coeff",
    "joint_velocity_limit": "joint_vel_limits",
    "joint_effort_limit": "joint_effort_limits",
}
_OLD_NAMES = {"effort_limit_sim": "joint_effort_limit", "velocity_limit_sim": "joint_velocity_limit"}


def _model_of(name: str, cfg: Any) -> type[models.ActuatorBase]:
    """Model of a configuration: its own class, else that of the nearest known configuration class."""
    wanted = getattr(cfg, "class_type", None)
    if isinstance(wanted, type) and issubclass(wanted, models.ActuatorBase):
        return wanted
    for base in type(cfg).__mro__:
        if base.__name__ in _MODELS:
            return _MODELS[base.__name__]
    raise ConfigurationError(f"actuators[{name!r}]: there is no model for {type(cfg).__name__}")


def _value(cfg: Any, field: str) -> Any:
    value = getattr(cfg, field, None)
    for old, new in _OLD_NAMES.items():
        given = getattr(cfg, old, None)
        if new == field and value is None and given is not None:
            warnings.warn(
                f"{type(cfg).__name__}.{old} is deprecated; use {new}", DeprecationWarning, stacklevel=4
            )
            return given
    return value


class ActuatorTargetCommand:
    """What users command, shape [instances, joints], in the order of users.

    Args:
        collection: The collection.
    """

    def __init__(self, collection: ActuatorCollection) -> None:
        self._collection = collection
        self.position, self.velocity, self.effort = (collection.zeros() for _ in range(3))

    def set_position_index(
        self, *, value: Any, joint_ids: Any = None, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Command positions [m or rad] of chosen joints of chosen instances."""
        self._set(self.position, value, {"joint_ids": joint_ids, "env_ids": env_ids}, full_data)

    def set_velocity_index(
        self, *, value: Any, joint_ids: Any = None, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Command velocities [m/s or rad/s] of chosen joints of chosen instances."""
        self._set(self.velocity, value, {"joint_ids": joint_ids, "env_ids": env_ids}, full_data)

    def set_effort_index(
        self, *, value: Any, joint_ids: Any = None, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Command efforts [N or N m] of chosen joints of chosen instances."""
        self._set(self.effort, value, {"joint_ids": joint_ids, "env_ids": env_ids}, full_data)

    def set_position_mask(self, *, value: Any, joint_mask: Any = None, env_mask: Any = None) -> None:
        """Command positions [m or rad] where masks choose."""
        self._set(self.position, value, {"joint_mask": joint_mask, "env_mask": env_mask}, False)

    def set_velocity_mask(self, *, value: Any, joint_mask: Any = None, env_mask: Any = None) -> None:
        """Command velocities [m/s or rad/s] where masks choose."""
        self._set(self.velocity, value, {"joint_mask": joint_mask, "env_mask": env_mask}, False)

    def set_effort_mask(self, *, value: Any, joint_mask: Any = None, env_mask: Any = None) -> None:
        """Command efforts [N or N m] where masks choose."""
        self._set(self.effort, value, {"joint_mask": joint_mask, "env_mask": env_mask}, False)

    def _set(self, proxy: Any, value: Any, selectors: Mapping[str, Any], full: bool) -> None:
        asset = self._collection.asset
        rows, joints = asset._choose(selectors, "joint")
        assert joints is not None
        array = proxy.warp
        shape = tuple(array.shape) if full else (rows.count, joints.count)
        asset.assert_shape_and_dtype(value, shape, wp.float32, "target_command(value)")
        target = array.reshape((*array.shape, 1))
        asset._store(target, value, rows, joints, "target_command(value)", full=full)


class ActuatorOutputCommand:
    """What goes to the simulation, shape [instances, joints], in the order of users.

    Args:
        collection: The collection.
    """

    def __init__(self, collection: ActuatorCollection) -> None:
        self.position, self.velocity = collection.target_command.position, collection.target_command.velocity
        self.effort = collection.zeros()


class ActuatorCollection(Mapping[str, models.ActuatorBase]):
    """Groups of joints by name. A joint belongs to one group at most; one in none gets commands without a model.

    Args:
        asset: The articulation.
        cfgs: Configuration of each group by its name.

    Attributes:
        target_command: What users command.
        output_command: What goes to the simulation.
        computed_effort, applied_effort: Efforts of the models before and within their limits [N or N m].

    Raises:
        ConfigurationError: A joint is in two groups, or a value fits no joint.
    """

    def __init__(self, asset: Articulation, cfgs: Mapping[str, Any]) -> None:
        self.asset = asset
        self.device = asset.device
        self.joint_names = asset.data.joint_names
        self.num_instances, self.num_joints = asset.num_instances, asset.num_joints
        self.all_instances: Choice = asset._axes["env"].choose()
        self.all_mask: wp.array = asset._axes["env"].mask
        self.target_command = ActuatorTargetCommand(self)
        self.output_command = ActuatorOutputCommand(self)
        self.computed_effort, self.applied_effort = self.zeros(), self.zeros()
        self._velocity_limits = ProxyArray(wp.clone(asset.data.array("joint_vel_limits")))
        self.commands: list[wp.array] = [
            proxy.warp
            for proxy in (
                self.target_command.position,
                self.target_command.velocity,
                self.target_command.effort,
            )
        ]
        self.outputs: list[wp.array] = [
            proxy.warp for proxy in (self.computed_effort, self.applied_effort, self.output_command.effort)
        ]
        self._groups: dict[str, models.ActuatorBase] = {}
        covered: dict[int, str] = {}
        for name, cfg in cfgs.items():
            try:
                places, _ = match_names(list(cfg.joint_names_expr), self.joint_names)
            except ConfigurationError as error:
                raise ConfigurationError(f"actuators[{name!r}].joint_names_expr: {error}") from error
            for place in places:
                if place in covered:
                    raise ConfigurationError(
                        f"joint {self.joint_names[place]!r} is in the groups {covered[place]!r} and {name!r}"
                    )
                covered[place] = name
            self._groups[name] = self._build(name, cfg, places)
        left_out = [self.joint_names[place] for place in range(self.num_joints) if place not in covered]
        if left_out and cfgs:
            _LOGGER.warning("%s: joints without an actuator: %s", asset.cfg.prim_path, ", ".join(left_out))
        self._first_targets(sorted(covered))

    def _first_targets(self, covered: list[int]) -> None:
        """Until there is a command, drives of groups hold the default position and others what the stage says."""
        if not self.num_joints:
            return
        asset = self.asset
        engine = asset.root_view.get_dof_position_targets().numpy()
        order = asset.data.joint_ordering
        values = np.array(engine if order is None else engine[:, list(order.user_to_backend_indices)])
        values[:, covered] = asset.data.array("default_joint_pos").numpy()[:, covered]
        self.target_command.position.warp.assign(values)

    def zeros(self) -> Any:
        """A number a joint."""
        return ProxyArray(
            wp.zeros((self.num_instances, self.num_joints), dtype=wp.float32, device=self.device)
        )

    def _build(self, name: str, cfg: Any, places: list[int]) -> models.ActuatorBase:
        data, asset = self.asset.data, self.asset
        group = _model_of(name, cfg)(name, cfg, self, places)
        host = np.asarray(places, dtype=np.int32)
        selectors = {"joint_ids": host}
        for field, quantity in _PROPERTIES.items():
            value = _value(cfg, field)
            if field.startswith("joint_") and value is None and group.is_implicit_model:
                # Drives of the engine have no limits of their own: the model's are the engine's.
                value = getattr(cfg, "effort_limit" if "effort" in field else "velocity_limit", None)
            if value is None:
                continue
            given = data.array(quantity).numpy()[:, places]
            numbers = models.resolve(value, group.joint_names, given, f"actuators[{name!r}].{field}")
            asset._write_property(quantity, numbers, selectors, "joint", f"actuators[{name!r}].{field}")
        gains: Any = (group.stiffness.warp, group.damping.warp) if group.is_implicit_model else (0.0, 0.0)
        for quantity, numbers in zip(("joint_stiffness", "joint_damping"), gains, strict=True):
            asset._write_property(quantity, numbers, selectors, "joint", f"actuators[{name!r}]")
        if group.is_implicit_model:
            kinds = np.asarray(asset.root_view.get_drive_types().numpy())[0]
            order = data.joint_ordering
            engine = places if order is None else [order.user_to_backend_indices[place] for place in places]
            bare = [
                joint for joint, place in zip(group.joint_names, engine, strict=True) if kinds[place] == 0
            ]
            if bare:
                _LOGGER.warning(
                    "actuators[%r]: the stage gives no drive to %s, so that there is nothing to act",
                    name,
                    ", ".join(bare),
                )
        wp.launch(
            kernels.spread_group,
            (self.num_instances, len(places)),
            [group.joint_indices.warp, group.actuator_velocity_limit.warp],
            [self._velocity_limits.warp],
            device=self.device,
        )
        return group

    def given_properties(self, places: list[int]) -> dict[str, npt.NDArray[np.float32]]:
        """What the stage says about joints, shape [instances, joints]."""
        names = ("joint_stiffness", "joint_damping", "joint_effort_limits", "joint_vel_limits")
        return {name: self.property_of_joints(name).numpy()[:, places, 0] for name in names}

    def property_of_joints(self, quantity: str) -> wp.array:
        """What the simulation has for all joints now, shape [instances, joints, 1]."""
        values: wp.array = self.asset.data.numbers(quantity)
        return values

    @staticmethod
    def model_limits(cfg: Any, implicit: bool) -> tuple[Any, Any]:
        """Effort and velocity limits that a configuration gives its model."""
        effort, velocity = cfg.actuator_effort_limit, cfg.actuator_velocity_limit
        if effort is None:
            effort = getattr(cfg, "effort_limit", None)
        if effort is None and implicit:
            effort = _value(cfg, "joint_effort_limit")
        if velocity is None:
            velocity = getattr(cfg, "velocity_limit", None)
        if velocity is None:
            velocity = _value(cfg, "joint_velocity_limit")
        return effort, velocity

    def __getitem__(self, name: str) -> models.ActuatorBase:
        return self._groups[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def has_implicit_actuators(self) -> bool:
        """Whether a group uses the drives of the engine."""
        return any(group.is_implicit_model for group in self._groups.values())

    @property
    def velocity_limits(self) -> Any:
        """Velocity limits of the models; of joints without one that of the solver. Shape [instances, joints]."""
        return self._velocity_limits

    @property
    def joint_state(self) -> list[wp.array]:
        """Positions and velocities of the joints now."""
        return [self.asset.data.array("joint_pos"), self.asset.data.array("joint_vel")]

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Forget what the models remember of instances, and their commanded velocities and efforts.

        Args:
            env_ids: Instances, ``None`` for all.
            env_mask: Mask of them, which wins.
        """
        rows = self.asset._axes["env"].choose(env_ids, env_mask)
        for group in self._groups.values():
            group.reset(rows)

    def compute(self, dt: float = 0.0) -> None:
        """Make efforts from commands.

        Args:
            dt: Time of a step [s].
        """
        if self.num_joints:
            wp.copy(self.output_command.effort.warp, self.target_command.effort.warp)
        for group in self._groups.values():
            group.compute(dt)

    def submit_commands(self) -> None:
        """Hand targets of drives and efforts to the simulation."""
        if not self.num_joints:
            return
        view = self.asset.root_view
        for name, proxy in (
            ("position_targets", self.output_command.position),
            ("velocity_targets", self.output_command.velocity),
            ("actuation_forces", self.output_command.effort),
        ):
            getattr(view, f"set_dof_{name}")(self._engine_order(proxy.warp, name), None)

    def _engine_order(self, values: wp.array, name: str) -> wp.array:
        order = self.asset.data.joint_ordering
        if order is None:
            return values
        return self.asset._permuted(values.reshape((*values.shape, 1)), order, f"command {name}")
