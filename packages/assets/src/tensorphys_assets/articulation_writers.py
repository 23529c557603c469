"""What can be written to articulations: joints, and commands of earlier versions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import warp as wp

from tensorphys_assets.members import warn_deprecated
from tensorphys_assets.root_asset import RootAsset
from tensorphys_assets.selection import Axis, payload_numbers, plain_array
from tensorphys_assets.tendon_writers import TendonWriters
from tensorphys_assets.writers import (
    deprecated_writer,
    name_writers,
    property_writer,
    property_writers,
    state_writers,
)

__all__ = ["ArticulationWriters"]


@name_writers
class ArticulationWriters(TendonWriters, RootAsset):
    """Writers of joints."""

    actuators: Any

    write_joint_position_to_sim_index, write_joint_position_to_sim_mask = state_writers(
        "joint_pos", "position", items="joint", doc="Set joint positions [m or rad]."
    )
    write_joint_velocity_to_sim_index, write_joint_velocity_to_sim_mask = state_writers(
        "joint_vel",
        "velocity",
        items="joint",
        doc="Set joint velocities [m/s or rad/s]; their accelerations start anew.",
    )
    write_joint_stiffness_to_sim_index, write_joint_stiffness_to_sim_mask = property_writers(
        "joint_stiffness", "stiffness", items="joint", doc="Set the stiffness of drives [N/m or N m/rad]."
    )
    write_joint_damping_to_sim_index, write_joint_damping_to_sim_mask = property_writers(
        "joint_damping", "damping", items="joint", doc="Set the damping of drives [N s/m or N m s/rad]."
    )
    write_joint_position_limit_to_sim_index, write_joint_position_limit_to_sim_mask = property_writers(
        "joint_pos_limits",
        "limits",
        items="joint",
        scalar=False,
        extra=(("warn_limit_violation", True),),
        hook="_write_limits",
        doc="Set lower and upper limits [m or rad]; default positions are brought into them.",
    )
    write_joint_velocity_limit_to_sim_index, write_joint_velocity_limit_to_sim_mask = property_writers(
        "joint_vel_limits", "limits", items="joint", doc="Set speed limits of the solver [m/s or rad/s]."
    )
    write_joint_effort_limit_to_sim_index, write_joint_effort_limit_to_sim_mask = property_writers(
        "joint_effort_limits", "limits", items="joint", doc="Set effort limits of drives [N or N m]."
    )
    write_joint_armature_to_sim_index, write_joint_armature_to_sim_mask = property_writers(
        "joint_armature", "armature", items="joint", doc="Set the inertia added to joints [kg or kg m²]."
    )
    write_joint_friction_coefficient_to_sim_index = property_writer(
        "joint_friction_coeff",
        "joint_friction_coeff",
        items="joint",
        form="index",
        extra=(("joint_dynamic_friction_coeff", None), ("joint_viscous_friction_coeff", None)),
        hook="_write_frictions",
        doc="Set static friction [N or N m]; dynamic and viscous friction may come with it.",
    )
    write_joint_friction_coefficient_to_sim_mask = property_writer(
        "joint_friction_coeff",
        "joint_friction_coeff",
        items="joint",
        form="mask",
        doc="Set static friction [N or N m]; dynamic and viscous friction may come with it.",
    )
    (
        write_joint_dynamic_friction_coefficient_to_sim_index,
        write_joint_dynamic_friction_coefficient_to_sim_mask,
    ) = property_writers(
        "joint_dynamic_friction_coeff",
        "joint_dynamic_friction_coeff",
        items="joint",
        doc="Set dynamic friction [N or N m].",
    )
    (
        write_joint_viscous_friction_coefficient_to_sim_index,
        write_joint_viscous_friction_coefficient_to_sim_mask,
    ) = property_writers(
        "joint_viscous_friction_coeff",
        "joint_viscous_friction_coeff",
        items="joint",
        doc="Set viscous friction [N s/m or N m s/rad].",
    )
    write_joint_position_to_sim = deprecated_writer(
        "write_joint_position_to_sim_index", "position", "joint_ids", "env_ids"
    )
    write_joint_velocity_to_sim = deprecated_writer(
        "write_joint_velocity_to_sim_index", "velocity", "joint_ids", "env_ids"
    )
    write_joint_stiffness_to_sim = deprecated_writer(
        "write_joint_stiffness_to_sim_index", "stiffness", "joint_ids", "env_ids"
    )
    write_joint_damping_to_sim = deprecated_writer(
        "write_joint_damping_to_sim_index", "damping", "joint_ids", "env_ids"
    )
    write_joint_position_limit_to_sim = deprecated_writer(
        "write_joint_position_limit_to_sim_index",
        "limits",
        "joint_ids",
        "env_ids",
        "warn_limit_violation",
        defaults={"warn_limit_violation": True},
    )
    write_joint_velocity_limit_to_sim = deprecated_writer(
        "write_joint_velocity_limit_to_sim_index", "limits", "joint_ids", "env_ids"
    )
    write_joint_effort_limit_to_sim = deprecated_writer(
        "write_joint_effort_limit_to_sim_index", "limits", "joint_ids", "env_ids"
    )
    write_joint_armature_to_sim = deprecated_writer(
        "write_joint_armature_to_sim_index", "armature", "joint_ids", "env_ids"
    )
    write_joint_friction_coefficient_to_sim = deprecated_writer(
        "write_joint_friction_coefficient_to_sim_index", "joint_friction_coeff", "joint_ids", "env_ids"
    )
    write_joint_dynamic_friction_coefficient_to_sim = deprecated_writer(
        "write_joint_dynamic_friction_coefficient_to_sim_index",
        "joint_dynamic_friction_coeff",
        "joint_ids",
        "env_ids",
    )
    write_joint_viscous_friction_coefficient_to_sim = deprecated_writer(
        "write_joint_viscous_friction_coefficient_to_sim_index",
        "joint_viscous_friction_coeff",
        "joint_ids",
        "env_ids",
    )
    write_joint_friction_to_sim = deprecated_writer(
        "_write_joint_friction",
        "joint_friction",
        "joint_ids",
        "env_ids",
        advice="write_joint_friction_coefficient_to_sim_index",
    )
    write_joint_limits_to_sim = deprecated_writer(
        "write_joint_position_limit_to_sim_index",
        "limits",
        "joint_ids",
        "env_ids",
        "warn_limit_violation",
        defaults={"warn_limit_violation": True},
    )
    write_joint_state_to_sim = deprecated_writer(
        "write_joint_state_to_sim_index", "position", "velocity", "joint_ids", "env_ids", first=2
    )

    def _write_joint_friction(self, joint_friction: Any, joint_ids: Any = None, env_ids: Any = None) -> None:
        self.write_joint_friction_coefficient_to_sim_index(
            joint_friction_coeff=joint_friction, joint_ids=joint_ids, env_ids=env_ids
        )

    def write_joint_state_to_sim_index(
        self,
        *,
        position: Any,
        velocity: Any,
        joint_ids: Any = None,
        env_ids: Any = None,
        skip_forward: bool = False,
    ) -> None:
        """Set joint positions and velocities; arguments as of the methods for one of them."""
        selectors = {"joint_ids": joint_ids, "env_ids": env_ids, "skip_forward": skip_forward}
        with self._scene.one_pass():
            self.write_joint_position_to_sim_index(position=position, **selectors)
            self.write_joint_velocity_to_sim_index(velocity=velocity, **selectors)

    def write_joint_state_to_sim_mask(
        self,
        *,
        position: Any,
        velocity: Any,
        joint_mask: Any = None,
        env_mask: Any = None,
        skip_forward: bool = False,
    ) -> None:
        """Set joint positions and velocities; arguments as of the methods for one of them."""
        selectors = {"joint_mask": joint_mask, "env_mask": env_mask, "skip_forward": skip_forward}
        with self._scene.one_pass():
            self.write_joint_position_to_sim_mask(position=position, **selectors)
            self.write_joint_velocity_to_sim_mask(velocity=velocity, **selectors)

    def _write_state(
        self, quantity: str, value: Any, selectors: Mapping[str, Any], items: str, skip: bool, what: str
    ) -> None:
        super()._write_state(quantity, value, selectors, items, skip, what)
        if quantity == "joint_vel":
            # A velocity that was set is no acceleration.
            rows, chosen = self._choose(selectors, items)
            assert chosen is not None
            self._store(self._data.numbers("_previous_joint_vel"), value, rows, chosen, what)
            self._store(self._data.numbers("joint_acc"), 0.0, rows, chosen, what)

    def write_actuator_stiffness_to_sim(self, *, stiffness: Any, env_ids: Any, joint_ids: Any) -> None:
        """Deprecated; write ``actuators[name].stiffness``. Sets the stiffness of explicit models [N/m or N m/rad].

        Args:
            stiffness: Numbers, shape [env_ids, joint_ids].
            env_ids: Instances.
            joint_ids: Joints; those of implicit groups have their drives written.
        """
        self._write_gains("stiffness", stiffness, env_ids, joint_ids)

    def write_actuator_damping_to_sim(self, *, damping: Any, env_ids: Any, joint_ids: Any) -> None:
        """Deprecated; write ``actuators[name].damping``. Sets the damping of explicit models [N s/m or N m s/rad].

        Args:
            damping: Numbers, shape [env_ids, joint_ids].
            env_ids: Instances.
            joint_ids: Joints; those of implicit groups have their drives written.
        """
        self._write_gains("damping", damping, env_ids, joint_ids)

    def _write_gains(self, gain: str, value: Any, env_ids: Any, joint_ids: Any) -> None:
        writer = f"write_actuator_{gain}_to_sim"
        warn_deprecated(self, writer, f"actuators[name].{gain}")
        what = f"{type(self).__name__}.{writer}({gain})"
        rows, joints = self._choose({"env_ids": env_ids, "joint_ids": joint_ids}, "joint")
        assert joints is not None
        self.assert_shape_and_dtype(value, (rows.count, joints.count), wp.float32, what)
        chosen = joints.host().tolist()
        given = payload_numbers(value, (rows.count, joints.count, 1), self._device, what)
        for group in self.actuators.values():
            places = [group.places.index(joint) for joint in chosen if joint in group.places]
            columns = [column for column, joint in enumerate(chosen) if joint in group.places]
            if not places:
                continue
            part = wp.array(given.numpy()[:, columns, 0], dtype=wp.float32, device=self._device)
            target = getattr(group, gain).warp
            items = Axis(group.num_joints, self._device, "joint").choose(places)
            self._store(target.reshape((*target.shape, 1)), part, rows, items, what)
            if group.is_implicit_model:
                ids = [group.places[place] for place in places]
                self._write_property(
                    f"joint_{gain}", part, {"env_ids": env_ids, "joint_ids": ids}, "joint", what
                )

    def _write_frictions(
        self,
        quantity: str,
        value: Any,
        selectors: Mapping[str, Any],
        items: str,
        what: str,
        *,
        joint_dynamic_friction_coeff: Any,
        joint_viscous_friction_coeff: Any,
    ) -> None:
        """Write static friction, and the other two where they are given."""
        values = {
            "joint_dynamic_friction_coeff": joint_dynamic_friction_coeff,
            "joint_viscous_friction_coeff": joint_viscous_friction_coeff,
            quantity: value,
        }
        for name, given in values.items():
            if given is not None:
                self._write_property(name, given, selectors, items, what)

    # Commands as they were given before there was a collection of actuators.

    def set_joint_position_target_index(
        self, *, target: Any, joint_ids: Any = None, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Deprecated; use ``actuators.target_command.set_position_index``."""
        self._command("position", "index", target, joint_ids, env_ids, full_data)

    def set_joint_position_target_mask(
        self, *, target: Any, joint_mask: Any = None, env_mask: Any = None
    ) -> None:
        """Deprecated; use ``actuators.target_command.set_position_mask``."""
        self._command("position", "mask", target, joint_mask, env_mask)

    def set_joint_velocity_target_index(
        self, *, target: Any, joint_ids: Any = None, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Deprecated; use ``actuators.target_command.set_velocity_index``."""
        self._command("velocity", "index", target, joint_ids, env_ids, full_data)

    def set_joint_velocity_target_mask(
        self, *, target: Any, joint_mask: Any = None, env_mask: Any = None
    ) -> None:
        """Deprecated; use ``actuators.target_command.set_velocity_mask``."""
        self._command("velocity", "mask", target, joint_mask, env_mask)

    def set_joint_effort_target_index(
        self, *, target: Any, joint_ids: Any = None, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Deprecated; use ``actuators.target_command.set_effort_index``."""
        self._command("effort", "index", target, joint_ids, env_ids, full_data)

    def set_joint_effort_target_mask(
        self, *, target: Any, joint_mask: Any = None, env_mask: Any = None
    ) -> None:
        """Deprecated; use ``actuators.target_command.set_effort_mask``."""
        self._command("effort", "mask", target, joint_mask, env_mask)

    def set_joint_position_target(self, target: Any, joint_ids: Any = None, env_ids: Any = None) -> None:
        """Deprecated; use ``actuators.target_command.set_position_index``."""
        self._command("position", "index", target, joint_ids, env_ids)

    def set_joint_velocity_target(self, target: Any, joint_ids: Any = None, env_ids: Any = None) -> None:
        """Deprecated; use ``actuators.target_command.set_velocity_index``."""
        self._command("velocity", "index", target, joint_ids, env_ids)

    def set_joint_effort_target(self, target: Any, joint_ids: Any = None, env_ids: Any = None) -> None:
        """Deprecated; use ``actuators.target_command.set_effort_index``."""
        self._command("effort", "index", target, joint_ids, env_ids)

    def _command(
        self, kind: str, form: str, target: Any, joints: Any, envs: Any, full_data: bool = False
    ) -> None:
        self._require(f"set_joint_{kind}_target")
        new = f"set_{kind}_{form}"
        warnings.warn(
            f"{type(self).__name__}.set_joint_{kind}_target is deprecated; use actuators.target_command.{new}",
            DeprecationWarning,
            stacklevel=3,
        )
        suffix = "ids" if form == "index" else "mask"
        options = {"full_data": True} if full_data else {}
        setter = getattr(self.actuators.target_command, new)
        setter(value=plain_array(target), **{f"joint_{suffix}": joints, f"env_{suffix}": envs}, **options)
