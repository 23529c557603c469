"""Assets with a root: what articulations and rigid objects have in common."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import warp as wp

from tensorphys_assets._kernels import motion
from tensorphys_assets._kernels.wrench import wrenches_at_origins
from tensorphys_assets.asset import DataAsset, broadcast_initial
from tensorphys_assets.dtypes import as_numbers
from tensorphys_assets.members import warn_deprecated
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.selection import Choice, payload_numbers, payload_shape, plain_array
from tensorphys_assets.wrench import WrenchComposer
from tensorphys_assets.writers import deprecated_writer, name_writers, property_writers, state_writers

__all__ = ["BodyAsset", "RootAsset"]


@name_writers
class BodyAsset(DataAsset):
    """Assets of bodies: masses, wrenches, finders."""

    _instantaneous: WrenchComposer
    _permanent: WrenchComposer

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        # Of each pose or velocity that another one is made from: that one, the kernel, and what it reads.
        self._conversions: dict[str, tuple[str, Any, tuple[str, ...]]] = {}
        self._staging: dict[str, wp.array] = {}
        super().__init__(cfg, scene=scene)

    @property
    def num_bodies(self) -> int:
        """Number of bodies of each instance."""
        return self._axes["body"].count

    @property
    def body_names(self) -> list[str]:
        """Names of the bodies."""
        return list(self.data.body_names)

    @property
    def instantaneous_wrench_composer(self) -> WrenchComposer:
        """Wrenches that act in the next step alone."""
        self._require("instantaneous_wrench_composer")
        return self._instantaneous

    @property
    def root_physx_view(self) -> Any:
        """Deprecated; use ``root_view``."""
        warn_deprecated(self, "root_physx_view", "root_view")
        return self.root_view

    @property
    def permanent_wrench_composer(self) -> WrenchComposer:
        """Wrenches that act until they are reset."""
        self._require("permanent_wrench_composer")
        return self._permanent

    def find_bodies(
        self, name_keys: str | Sequence[str], preserve_order: bool = False, *, as_proxy: bool = False
    ) -> tuple[Any, list[str]]:
        """Bodies whose names expressions match wholly.

        Args:
            name_keys: Regular expression, or several.
            preserve_order: Whether the result stands in the order of the expressions.
            as_proxy: Whether places come as a proxy of int32 instead of a list.

        Returns:
            Places and names.
        """
        return self._find("body", name_keys, self.body_names, preserve_order, as_proxy)

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Drop the wrenches of instances; no state is restored.

        Args:
            env_ids: Instances, ``None`` for all.
            env_mask: Mask of them, which wins.
        """
        self._require("reset")
        self._instantaneous.reset(env_ids, env_mask)
        self._permanent.reset(env_ids, env_mask)

    def write_data_to_sim(self) -> None:
        """Hand wrenches to the simulation; those for one step are dropped then."""
        self._require("write_data_to_sim")
        self._apply_wrenches()

    def _apply_wrenches(self) -> None:
        once, always = self._instantaneous, self._permanent
        composer = always
        if once.active:
            once.add_raw_buffers_from(always)
            composer = once
        if composer.active:
            force, torque, _ = composer.get_forces_and_torques()
            rows, bodies = force.shape
            if "force" not in self._staging:
                for name in ("force", "torque"):
                    self._staging[name] = wp.zeros((rows, bodies), dtype=wp.vec3f, device=self._device)
            outputs = [self._staging["force"], self._staging["torque"]]
            inputs = [force, torque, self._data.array("body_com_pose_b"), self._engine_body_order()]
            wp.launch(wrenches_at_origins, force.shape, inputs, outputs, device=self._device)
            numbers = [as_numbers(array, (rows * bodies * 3,)) for array in outputs]
            self._view.apply_forces_and_torques_at_position(*numbers, None, None, False)
        if once.active:
            once.reset()

    def _engine_body_order(self) -> wp.array:
        """User's place of each body of the engine."""
        return self._axes["body"].indices

    def set_external_force_and_torque(
        self,
        forces: Any,
        torques: Any,
        positions: Any = None,
        body_ids: Any = None,
        env_ids: Any = None,
        is_global: bool = False,
    ) -> None:
        """Deprecated; use ``permanent_wrench_composer``."""
        warnings.warn(
            f"{type(self).__name__}.set_external_force_and_torque is deprecated; use permanent_wrench_composer",
            DeprecationWarning,
            stacklevel=2,
        )
        self.permanent_wrench_composer.set_forces_and_torques_index(
            forces, torques, positions, body_ids, env_ids, is_global
        )

    set_masses_index, set_masses_mask = property_writers(
        "body_mass", "masses", items="body", scalar=False, doc="Set masses [kg]; inertias stay."
    )
    set_coms_index, set_coms_mask = property_writers(
        "body_com_pose_b",
        "coms",
        items="body",
        scalar=False,
        hook="_write_coms",
        doc="Set centres of mass in link frames: poses, or positions alone. Turned principal axes turn the inertia.",
    )
    set_inertias_index, set_inertias_mask = property_writers(
        "body_inertia",
        "inertias",
        items="body",
        scalar=False,
        doc="Set inertias about centres of mass in link axes [kg m²], row by row.",
    )
    set_masses = deprecated_writer("set_masses_index", "masses", "body_ids", "env_ids")
    set_coms = deprecated_writer("set_coms_index", "coms", "body_ids", "env_ids")
    set_inertias = deprecated_writer("set_inertias_index", "inertias", "body_ids", "env_ids")

    def _write_coms(
        self, quantity: str, value: Any, selectors: Mapping[str, Any], items: str, what: str
    ) -> None:
        """Centres of mass with or without principal axes."""
        self._require(what)
        rows, chosen = self._choose(selectors, items)
        assert chosen is not None
        shape, _ = payload_shape(plain_array(value))
        if shape and shape[-1] == 3:
            self._check_payload(value, wp.vec3f, rows, chosen, (), what)
            target = self._data.numbers(quantity)[:, :, :3]
            self._store(target, value, rows, chosen, what)
            self._push(quantity, rows)
        else:
            self._write(quantity, value, rows, chosen, what)
        self._data.invalidate((quantity,))

    def _numbers(self, quantity: str) -> wp.array:
        """Numbers of a quantity for setters of views, one axis."""
        array = self._data._slots[quantity].array
        return as_numbers(array, (array.size * getattr(array.dtype, "_length_", 1),))

    def _host_numbers(self, quantity: str) -> wp.array:
        array = self._numbers(quantity)
        return array if array.device.is_cpu else array.to("cpu")

    def _body_pushes(self, view: Any) -> dict[str, Callable[[Choice], None]]:
        """Setters of masses."""
        setters = {
            "body_mass": view.set_masses,
            "body_com_pose_b": view.set_coms,
            "body_inertia": view.set_inertias,
        }

        def push(quantity: str, setter: Any) -> Callable[[Choice], None]:
            return lambda rows: setter(self._engine_numbers(quantity), self._host_rows(rows))

        return {quantity: push(quantity, setter) for quantity, setter in setters.items()}

    def _engine_numbers(self, quantity: str) -> wp.array:
        """Numbers of a property in the order of the engine, in host memory."""
        return self._host_numbers(quantity)

    # Poses and velocities that are converted.

    def _write_state(
        self, quantity: str, value: Any, selectors: Mapping[str, Any], items: str, skip: bool, what: str
    ) -> None:
        conversion = self._conversions.get(quantity)
        if conversion is None:
            super()._write_state(quantity, value, selectors, items, skip, what)
            return
        self._require(what)
        base, kernel, reads = conversion
        data = self._data
        rows, chosen = self._choose(selectors, items)
        for name in (*reads, base):
            data.refresh(name)
        self._write(quantity, value, rows, chosen, what)
        target = data.array(base)
        scratch = self._staging.get(base)
        if scratch is None:
            scratch = self._staging[base] = wp.zeros(target.size, dtype=target.dtype, device=self._device)
        inputs = [data.flat(name) for name in reads]
        wp.launch(kernel, target.size, inputs, [scratch], device=self._device)
        one = self._one if chosen is None else chosen
        numbers = data.numbers(base)
        self._store(numbers, as_numbers(scratch, numbers.shape), rows, one, what, full=True)
        self._push(base, rows)
        if not skip:
            data.invalidate((base,))
            data.mark_fresh(quantity)

    def _write_both(
        self, state: Any, selectors: Mapping[str, Any], items: str, pose: str, velocity: str
    ) -> None:
        """Write pose and velocity from 13 numbers an element."""
        self._require("write_state_to_sim")
        rows, chosen = self._choose(selectors, items)
        count = 1 if chosen is None else chosen.count
        what = f"{type(self).__name__}: state of 13 numbers"
        numbers = payload_numbers(state, (rows.count, count, 13), self._device, what)
        shape = (rows.count,) if chosen is None else (rows.count, count)
        with self._scene.one_pass():
            for quantity, part in ((pose, numbers[:, :, :7]), (velocity, numbers[:, :, 7:])):
                values = part.contiguous().reshape((*shape, part.shape[2]))
                self._write_state(quantity, values, selectors, items, False, what)


@name_writers
class RootAsset(BodyAsset):
    """Assets whose state begins with the pose and velocity of a root."""

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        super().__init__(cfg, scene=scene)
        self._conversions = {
            "root_com_pose_w": (
                "root_link_pose_w",
                motion.link_poses_of_coms,
                ("root_com_pose_w", "_root_com"),
            ),
            "root_link_vel_w": (
                "root_com_vel_w",
                motion.com_velocities,
                ("root_link_pose_w", "_root_com", "root_link_vel_w"),
            ),
        }

    def _set_defaults(self) -> None:
        """Defaults of the root from the configuration."""
        count, state = self.num_instances, self.cfg.init_state
        pose = broadcast_initial([*state.pos, *state.rot], count)
        velocity = broadcast_initial([*state.lin_vel, *state.ang_vel], count)
        self._data.array("default_root_pose").assign(pose)
        self._data.array("default_root_vel").assign(velocity)

    write_root_pose_to_sim_index, write_root_pose_to_sim_mask = state_writers(
        "root_link_pose_w", "root_pose", doc="Set the world pose of root links [m, xyzw]."
    )
    write_root_link_pose_to_sim_index, write_root_link_pose_to_sim_mask = state_writers(
        "root_link_pose_w", "root_pose", doc="Set the world pose of root links [m, xyzw]."
    )
    write_root_com_pose_to_sim_index, write_root_com_pose_to_sim_mask = state_writers(
        "root_com_pose_w", "root_pose", doc="Set the world pose of the roots' centres of mass."
    )
    write_root_velocity_to_sim_index, write_root_velocity_to_sim_mask = state_writers(
        "root_com_vel_w", "root_velocity", doc="Set the velocity of the roots' centres of mass."
    )
    write_root_com_velocity_to_sim_index, write_root_com_velocity_to_sim_mask = state_writers(
        "root_com_vel_w", "root_velocity", doc="Set the velocity of the roots' centres of mass."
    )
    write_root_link_velocity_to_sim_index, write_root_link_velocity_to_sim_mask = state_writers(
        "root_link_vel_w", "root_velocity", doc="Set the velocity of the root links' origins."
    )
    write_root_pose_to_sim = deprecated_writer("write_root_pose_to_sim_index", "root_pose", "env_ids")
    write_root_link_pose_to_sim = deprecated_writer(
        "write_root_link_pose_to_sim_index", "root_pose", "env_ids"
    )
    write_root_com_pose_to_sim = deprecated_writer("write_root_com_pose_to_sim_index", "root_pose", "env_ids")
    write_root_velocity_to_sim = deprecated_writer(
        "write_root_velocity_to_sim_index", "root_velocity", "env_ids"
    )
    write_root_com_velocity_to_sim = deprecated_writer(
        "write_root_com_velocity_to_sim_index", "root_velocity", "env_ids"
    )
    write_root_link_velocity_to_sim = deprecated_writer(
        "write_root_link_velocity_to_sim_index", "root_velocity", "env_ids"
    )
    write_root_state_to_sim = deprecated_writer(
        "_write_root_state",
        "root_state",
        "env_ids",
        advice="write_root_link_pose_to_sim_index and write_root_com_velocity_to_sim_index",
    )
    write_root_com_state_to_sim = deprecated_writer(
        "_write_root_com_state",
        "root_state",
        "env_ids",
        advice="write_root_com_pose_to_sim_index and write_root_com_velocity_to_sim_index",
    )
    write_root_link_state_to_sim = deprecated_writer(
        "_write_root_link_state",
        "root_state",
        "env_ids",
        advice="write_root_link_pose_to_sim_index and write_root_link_velocity_to_sim_index",
    )

    def _write_root_state(self, root_state: Any, env_ids: Any = None) -> None:
        self._write_both(root_state, {"env_ids": env_ids}, "", "root_link_pose_w", "root_com_vel_w")

    def _write_root_com_state(self, root_state: Any, env_ids: Any = None) -> None:
        self._write_both(root_state, {"env_ids": env_ids}, "", "root_com_pose_w", "root_com_vel_w")

    def _write_root_link_state(self, root_state: Any, env_ids: Any = None) -> None:
        self._write_both(root_state, {"env_ids": env_ids}, "", "root_link_pose_w", "root_link_vel_w")
