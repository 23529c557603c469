"""Articulations: bodies that joints connect, one tree an instance."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets._kernels.limits import clamp_between
from tensorphys_assets._kernels.rows import take_items
from tensorphys_assets.actuators import ActuatorCollection
from tensorphys_assets.articulation_data import ArticulationData
from tensorphys_assets.articulation_writers import ArticulationWriters
from tensorphys_assets.errors import ConfigurationError, PrimError
from tensorphys_assets.lab import complete, lab_class
from tensorphys_assets.names import match_values
from tensorphys_assets.ordering import ArticulationNameMap, depth_first, make_order, map_ids
from tensorphys_assets.robot_schema import authored_order
from tensorphys_assets.scene import AssetScene
from tensorphys_assets.selection import Axis, Choice
from tensorphys_assets.view_data import EngineAccess
from tensorphys_assets.wrench import WrenchComposer
from tensorphys_assets.writers import name_writers

__all__ = ["Articulation"]

_LOGGER = logging.getLogger("tensorphys.assets")
_Lab: Any = lab_class("isaaclab.assets.articulation.base_articulation", "BaseArticulation") or object

_STATE_SETTERS = {
    "root_link_pose_w": "set_root_transforms",
    "root_com_vel_w": "set_root_velocities",
    "joint_pos": "set_dof_positions",
    "joint_vel": "set_dof_velocities",
}
_PROPERTY_SETTERS = {
    "joint_stiffness": "set_dof_stiffnesses",
    "joint_damping": "set_dof_dampings",
    "joint_armature": "set_dof_armatures",
    "_joint_friction": "set_dof_friction_properties",
    "joint_pos_limits": "set_dof_limits",
    "joint_vel_limits": "set_dof_max_velocities",
    "joint_effort_limits": "set_dof_max_forces",
    "body_mass": "set_masses",
    "body_com_pose_b": "set_coms",
    "body_inertia": "set_inertias",
}


@complete
@name_writers
class Articulation(ArticulationWriters, _Lab):
    """An articulation in each environment, with its actuators."""

    __backend_name__ = "tensorphys"
    __backend_native_orderings__ = ("physx",)
    actuators: ActuatorCollection
    _data: ArticulationData

    # Building.

    def _initialize(self, scene: AssetScene) -> None:
        import tensorphys

        explicit = getattr(self.cfg, "articulation_root_prim_path", None)
        roots = scene.articulation_roots(self.cfg.prim_path, explicit)
        try:
            view = scene.view.create_articulation_view(roots)
        except (tensorphys.NoMatchError, tensorphys.NotSuitableError) as error:
            raise PrimError(f"{self.cfg.prim_path}: no articulation at {roots}: {error}") from error
        meta = view.shared_metatype
        if meta is None:
            raise PrimError(
                f"{self.cfg.prim_path}: expected articulations of one kind, found different trees or joints"
            )
        self._view, self._device, self._meta = view, scene.device, meta
        maps = self._orders(meta)
        tendons = {kind: scene.tendon_names(view, kind) for kind in ("fixed", "spatial")}
        bodies = list(maps["B"].user_names) if "B" in maps else list(meta.link_names)
        joints = list(maps["J"].user_names) if "J" in maps else list(meta.dof_names)
        counts = {
            "env": view.count,
            "body": len(bodies),
            "joint": len(joints),
            "fixed_tendon": len(tendons["fixed"]),
            "spatial_tendon": len(tendons["spatial"]),
        }
        self._axes = {name: Axis(count, self._device, name) for name, count in counts.items()}
        base = 0 if meta.fixed_base else 6
        sizes = {
            "N": view.count, "B": len(bodies), "J": len(joints), "F": counts["fixed_tendon"],
            "S": counts["spatial_tendon"], "G": len(joints) + base, "R": len(bodies) - int(meta.fixed_base),
        }  # fmt: skip
        engine = EngineAccess(view, scene.simulation, scene.environments_of(view), maps)
        self._data = ArticulationData(
            engine,
            sizes,
            (bodies, joints, tendons["fixed"], tendons["spatial"]),
            root_body=bodies.index(meta.link_names[0]),
            soft_limit_factor=float(self.cfg.soft_joint_pos_limit_factor),
        )
        self._pushes = self._make_pushes(view)
        self._staging.clear()
        self._is_initialized = True
        self._set_defaults()
        self._set_joint_defaults()
        self._instantaneous, self._permanent = WrenchComposer(self), WrenchComposer(self)
        self.actuators = ActuatorCollection(self, self.cfg.actuators)
        self._data.bind_actuator_collection(self.actuators)
        self.update(0.0)
        self._data.is_primed = True

    def _orders(self, meta: Any) -> dict[str, ArticulationNameMap]:
        """Orders of bodies and joints, where they are not those of the engine."""
        links = depth_first(meta.link_names, meta.link_parents)
        dofs: list[str] = []
        # A joint stands where the link does that it carries.
        of_link = dict(zip(meta.link_names[1:], range(meta.joint_count), strict=True))
        for link in links:
            if link in of_link:
                joint = of_link[link]
                first = meta.joint_dof_offsets[joint]
                dofs += meta.dof_names[first : first + meta.joint_dof_counts[joint]]
        root, stage = self._view.prim_paths[0], self._scene.view._core.stage
        maps = {}
        for axis, kind, names, depth in (
            ("B", "body", meta.link_names, links),
            ("J", "joint", meta.dof_names, dofs),
        ):
            wanted = getattr(self.cfg, f"{kind}_ordering", None)
            authored = partial(authored_order, stage, root, kind, names)
            maps[axis] = make_order(wanted, names, depth, kind, self._device, authored=authored)
        bodies = maps["B"]
        if bodies is not None and meta.fixed_base and bodies.user_names[0] != meta.link_names[0]:
            raise ConfigurationError(
                f"body_ordering: the root {meta.link_names[0]!r} of a fixed base must come first, "
                f"given {bodies.user_names[0]!r}"
            )
        return {axis: order for axis, order in maps.items() if order is not None}

    def _make_pushes(self, view: Any) -> dict[str, Callable[[Choice], None]]:
        def state(quantity: str, setter: Any) -> Callable[[Choice], None]:
            return lambda rows: setter(self._in_engine_order(quantity), rows.rows)

        def constant(quantity: str, setter: Any) -> Callable[[Choice], None]:
            def push(rows: Choice) -> None:
                values = self._in_engine_order(quantity)
                setter(values if values.device.is_cpu else values.to("cpu"), self._host_rows(rows))

            return push

        pushes = {name: state(name, getattr(view, setter)) for name, setter in _STATE_SETTERS.items()}
        pushes.update(
            {name: constant(name, getattr(view, setter)) for name, setter in _PROPERTY_SETTERS.items()}
        )
        for name in ("joint_friction_coeff", "joint_dynamic_friction_coeff", "joint_viscous_friction_coeff"):
            pushes[name] = pushes["_joint_friction"]
        return pushes

    def _in_engine_order(self, quantity: str) -> wp.array:
        """Numbers of a buffer with its items in the order of the engine, one axis."""
        order = self._data.order_of(quantity)
        if order is None:
            return self._numbers(quantity)
        return self._permuted(self._data.numbers(quantity), order, f"engine {quantity}")

    def _permuted(self, values: wp.array, order: ArticulationNameMap, label: str) -> wp.array:
        staging = self._staging.get(label)
        if staging is None:
            staging = self._staging[label] = wp.zeros(values.shape, dtype=wp.float32, device=self._device)
        inputs = [values, order.backend_to_user]
        wp.launch(take_items, values.shape, inputs, [staging], device=self._device)
        return staging.flatten()

    def _engine_numbers(self, quantity: str) -> wp.array:
        return self._in_engine_order(quantity)

    def _engine_body_order(self) -> wp.array:
        order = self._data.body_ordering
        if order is None:
            return super()._engine_body_order()
        return order.backend_to_user

    def _set_joint_defaults(self) -> None:
        """Defaults of joints from the configuration, looked at against their limits."""
        data, names = self._data, self._data.joint_names
        position = np.zeros(len(names), np.float32)
        velocity = np.zeros(len(names), np.float32)
        for target, field in ((position, "joint_pos"), (velocity, "joint_vel")):
            values = getattr(self.cfg.init_state, field)
            if names and values:
                places, _, numbers = match_values(values, names)
                target[places] = numbers
        count = self.num_instances
        if names:
            limits = data.array("joint_pos_limits").numpy()
            speeds = data.array("joint_vel_limits").numpy()
            bad = ((position < limits[..., 0] - 1e-5) | (position > limits[..., 1] + 1e-5)).any(axis=0)
            bad_speed = (np.abs(velocity) > speeds.astype(np.float64) * (1.0 + 1e-6)).any(axis=0)
            for what, wrong, values in (("joint_pos", bad, position), ("joint_vel", bad_speed, velocity)):
                if wrong.any():
                    place = int(np.argmax(wrong))
                    bound = limits[0, place].tolist() if what == "joint_pos" else float(speeds[0, place])
                    raise ConfigurationError(
                        f"{self.cfg.prim_path}: init_state.{what} of {names[place]!r} is {values[place]}, "
                        f"outside of the limit {bound}"
                    )
        data.array("default_joint_pos").assign(np.tile(position, (count, 1)))
        data.array("default_joint_vel").assign(np.tile(velocity, (count, 1)))

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)

    # What it is made of.

    @property
    def is_fixed_base(self) -> bool:
        """Whether the root is tied to the world."""
        self._require("is_fixed_base")
        return bool(self._meta.fixed_base)

    @property
    def num_joints(self) -> int:
        """Number of degrees of freedom."""
        return self._axes["joint"].count

    @property
    def num_base_dofs(self) -> int:
        """Generalized velocities before those of joints: 6 with a floating base."""
        return 0 if self.is_fixed_base else 6

    @property
    def num_fixed_tendons(self) -> int:
        """Number of fixed tendons."""
        return self._axes["fixed_tendon"].count

    @property
    def num_spatial_tendons(self) -> int:
        """Number of spatial tendons."""
        return self._axes["spatial_tendon"].count

    @property
    def joint_names(self) -> list[str]:
        """Names of degrees of freedom, in the order of users."""
        return list(self.data.joint_names)

    @property
    def fixed_tendon_names(self) -> list[str]:
        """Names of fixed tendons."""
        return list(self.data.fixed_tendon_names)

    @property
    def spatial_tendon_names(self) -> list[str]:
        """Names of spatial tendons."""
        return list(self.data.spatial_tendon_names)

    @property
    def backend_joint_names(self) -> list[str]:
        """Names of degrees of freedom, in the order of the engine."""
        self._require("backend_joint_names")
        return list(self._meta.dof_names)

    @property
    def backend_body_names(self) -> list[str]:
        """Names of bodies, in the order of the engine."""
        self._require("backend_body_names")
        return list(self._meta.link_names)

    @property
    def backend_num_shapes_per_body(self) -> list[int]:
        """Shapes of each body of an instance, in the order of the engine; properties of shapes stand by body in it."""
        self._require("backend_num_shapes_per_body")
        catalog = self._view._core.catalog
        first = int(catalog.link_start[self._view._backend.layout.articulations[0]])
        starts = catalog.directory.link_shape_start[first : first + self.num_bodies + 1]
        counts: list[int] = np.diff(starts).tolist()
        return counts

    @property
    def num_shapes_per_body(self) -> list[int]:
        """Shapes of each body of an instance, in the order of users."""
        counts, order = self.backend_num_shapes_per_body, self.body_ordering
        return counts if order is None else [counts[place] for place in order.user_to_backend_indices]

    @property
    def joint_ordering(self) -> ArticulationNameMap | None:
        """Order of joints, ``None`` where it is that of the engine."""
        order: ArticulationNameMap | None = self.data.joint_ordering
        return order

    @property
    def body_ordering(self) -> ArticulationNameMap | None:
        """Order of bodies, ``None`` where it is that of the engine."""
        order: ArticulationNameMap | None = self.data.body_ordering
        return order

    def map_joint_ids_to_backend(self, joint_ids: Sequence[int] | slice) -> Sequence[int] | slice:
        """Engine's places of joints.

        Args:
            joint_ids: Places in the order of users.
        """
        return map_ids(self.joint_ordering, joint_ids)

    def map_body_ids_to_backend(self, body_ids: Sequence[int] | slice) -> Sequence[int] | slice:
        """Engine's places of bodies.

        Args:
            body_ids: Places in the order of users.
        """
        return map_ids(self.body_ordering, body_ids)

    def find_joints(
        self,
        name_keys: str | Sequence[str],
        joint_subset: list[str] | None = None,
        preserve_order: bool = False,
        *,
        as_proxy: bool = False,
    ) -> tuple[Any, list[str]]:
        """Joints whose names expressions match wholly; arguments as of ``find_bodies``.

        Args:
            name_keys: Regular expression, or several.
            joint_subset: Names to choose from; plain places are then those within it, proxies are not.
            preserve_order: Whether the result stands in the order of the expressions.
            as_proxy: Whether places come as a proxy of int32 instead of a list.
        """
        return self._find("joint", name_keys, self.joint_names, preserve_order, as_proxy, joint_subset)

    def find_fixed_tendons(
        self,
        name_keys: str | Sequence[str],
        tendon_subsets: list[str] | None = None,
        preserve_order: bool = False,
        *,
        as_proxy: bool = False,
    ) -> tuple[Any, list[str]]:
        """Fixed tendons whose names expressions match wholly; arguments as of ``find_joints``."""
        return self._find(
            "fixed_tendon", name_keys, self.fixed_tendon_names, preserve_order, as_proxy, tendon_subsets
        )

    def find_spatial_tendons(
        self,
        name_keys: str | Sequence[str],
        tendon_subsets: list[str] | None = None,
        preserve_order: bool = False,
        *,
        as_proxy: bool = False,
    ) -> tuple[Any, list[str]]:
        """Spatial tendons whose names expressions match wholly; arguments as of ``find_joints``."""
        return self._find(
            "spatial_tendon", name_keys, self.spatial_tendon_names, preserve_order, as_proxy, tendon_subsets
        )

    # Steps.

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Drop wrenches and the memory of actuators of instances; no state is restored.

        Args:
            env_ids: Instances, ``None`` for all.
            env_mask: Mask of them, which wins.
        """
        super().reset(env_ids, env_mask)
        self.actuators.reset(env_ids, env_mask)

    def write_data_to_sim(self) -> None:
        """Hand wrenches, what the actuators make of the commands, and targets of tendons to the simulation."""
        super().write_data_to_sim()
        self.actuators.compute(self._scene.dt)
        self.actuators.submit_commands()
        self._flush_tendon_targets()

    def _write_limits(
        self,
        quantity: str,
        value: Any,
        selectors: Mapping[str, Any],
        items: str,
        what: str,
        *,
        warn_limit_violation: bool,
    ) -> None:
        """Write limits, and bring the default positions into them."""
        self._write_property(quantity, value, selectors, items, what)
        data = self._data
        clamped = wp.zeros(1, dtype=wp.int32, device=self._device)
        limits = data.array(quantity)
        outputs = [data.array("default_joint_pos"), clamped]
        wp.launch(clamp_between, limits.shape, [limits], outputs, device=self._device)
        count = int(clamped.numpy()[0])
        if count:
            level = logging.WARNING if warn_limit_violation else logging.INFO
            _LOGGER.log(level, "%s: %d default positions were outside and are clamped", what, count)
