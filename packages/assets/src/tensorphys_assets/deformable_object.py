"""Deformable objects: one volume or surface an instance."""

from __future__ import annotations

import warnings
from typing import Any

import warp as wp

from tensorphys_assets.asset import DataAsset
from tensorphys_assets.deformable_object_data import DeformableObjectData
from tensorphys_assets.errors import ConfigurationError, PrimError
from tensorphys_assets.lab import complete, lab_class
from tensorphys_assets.scene import AssetScene, glob_of
from tensorphys_assets.selection import Axis, Choice, payload_numbers
from tensorphys_assets.view_data import EngineAccess

__all__ = ["DeformableObject"]

_Lab: Any = (
    lab_class("isaaclab.assets.deformable_object.base_deformable_object", "BaseDeformableObject") or object
)


@complete
class DeformableObject(DataAsset, _Lab):
    """A deformable body in each environment, on any device."""

    __backend_name__ = "tensorphys"
    _data: DeformableObjectData

    def _initialize(self, scene: AssetScene) -> None:
        import tensorphys

        pattern = glob_of(self.cfg.prim_path)
        refused = (tensorphys.NoMatchError, tensorphys.NotSuitableError)
        self._is_surface = False
        try:
            view = scene.view.create_volume_deformable_body_view(pattern)
        except refused:
            self._is_surface = True
            try:
                view = scene.view.create_surface_deformable_body_view(pattern)
            except refused as error:
                raise PrimError(
                    f"{self.cfg.prim_path}: expected a deformable body, found none: {error}"
                ) from error
        count, node_count = view.count, view.max_simulation_nodes_per_body
        if (view._places(view._simulation, "nodes").numpy() < 0).any():
            raise ConfigurationError(
                f"{self.cfg.prim_path}: expected uniform simulation-node counts, found bodies of different sizes"
            )
        self._view, self._device = view, scene.device
        self._axes = {"env": Axis(count, self._device, "env"), "node": Axis(node_count, self._device, "node")}
        self._data = DeformableObjectData(
            EngineAccess(view, scene.simulation, [0] * count), count, node_count
        )
        setters = {
            "nodal_pos_w": view.set_simulation_nodal_positions,
            "nodal_vel_w": view.set_simulation_nodal_velocities,
            "nodal_kinematic_target": view.set_simulation_nodal_kinematic_targets,
        }

        def push(quantity: str, setter: Any) -> Any:
            return lambda rows: setter(self._data.numbers(quantity).flatten(), rows.rows)

        self._pushes = {quantity: push(quantity, setter) for quantity, setter in setters.items()}
        own = set(view.prim_paths)
        materials = [body.material for body in scene.simulation.soft.bodies if body.path in own]
        paths = list(dict.fromkeys(path for path in materials if path))
        self._materials = scene.view.create_deformable_material_view(paths) if paths else None
        self._is_initialized = True
        wp.copy(self._data.array("default_nodal_state_w"), self._data.array("nodal_state_w"))
        self.update(0.0)

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)

    @property
    def num_bodies(self) -> int:
        """Bodies of each instance: one."""
        return 1

    @property
    def material_physx_view(self) -> Any:
        """View of the materials that are bound to the bodies, ``None`` where none is."""
        self._require("material_physx_view")
        return self._materials

    @property
    def root_physx_view(self) -> Any:
        """Deprecated; use ``root_view``."""
        warnings.warn(
            "DeformableObject.root_physx_view is deprecated; use root_view", DeprecationWarning, stacklevel=2
        )
        return self.root_view

    @property
    def max_sim_vertices_per_body(self) -> int:
        """Nodes of the simulation mesh."""
        return self._axes["node"].count

    @property
    def max_sim_elements_per_body(self) -> int:
        """Elements of the simulation mesh."""
        return int(self.root_view.max_simulation_elements_per_body)

    @property
    def max_collision_vertices_per_body(self) -> int:
        """Nodes of the collision mesh."""
        return int(self.root_view.max_collision_nodes_per_body)

    @property
    def max_collision_elements_per_body(self) -> int:
        """Elements of the collision mesh."""
        return int(self.root_view.max_collision_elements_per_body)

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Do nothing: no state is restored, and there is nothing that an instance remembers.

        Args:
            env_ids: Instances.
            env_mask: Mask of them.
        """
        self._require("reset")

    def write_data_to_sim(self) -> None:
        """Do nothing: writers act at once."""
        self._require("write_data_to_sim")

    # Writers. With full_data the payload has all instances and env_ids choose among them.

    def write_nodal_state_to_sim_index(
        self, nodal_state: Any, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Set positions [m] and velocities [m/s] of nodes in the world.

        Args:
            nodal_state: Shape [chosen instances, nodes, 6].
            env_ids: Instances, ``None`` for all.
            full_data: Whether the payload has all instances.
        """
        self._write_states(nodal_state, self._env(env_ids), full_data)

    def write_nodal_state_to_sim_mask(self, nodal_state: Any, env_mask: Any = None) -> None:
        """As ``write_nodal_state_to_sim_index``, with all instances and a mask that chooses."""
        self._write_states(nodal_state, self._env(None, env_mask), False)

    def write_nodal_pos_to_sim_index(
        self, nodal_pos: Any, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Set positions of nodes in the world [m], shape [chosen instances, nodes, 3]; arguments as of states."""
        self._write_nodes("nodal_pos_w", nodal_pos, self._env(env_ids), full_data)

    def write_nodal_pos_to_sim_mask(self, nodal_pos: Any, env_mask: Any = None) -> None:
        """As ``write_nodal_pos_to_sim_index``, with all instances and a mask that chooses."""
        self._write_nodes("nodal_pos_w", nodal_pos, self._env(None, env_mask), False)

    def write_nodal_velocity_to_sim_index(
        self, nodal_vel: Any, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Set velocities of nodes in world axes [m/s], shape [chosen instances, nodes, 3]; arguments as of states."""
        self._write_nodes("nodal_vel_w", nodal_vel, self._env(env_ids), full_data)

    def write_nodal_velocity_to_sim_mask(self, nodal_vel: Any, env_mask: Any = None) -> None:
        """As ``write_nodal_velocity_to_sim_index``, with all instances and a mask that chooses."""
        self._write_nodes("nodal_vel_w", nodal_vel, self._env(None, env_mask), False)

    def write_nodal_kinematic_target_to_sim_index(
        self, targets: Any, env_ids: Any = None, full_data: bool = False
    ) -> None:
        """Set targets of nodes: world position [m] and 0 to follow it or 1 to be free.

        Args:
            targets: Shape [chosen instances, nodes, 4].
            env_ids: Instances, ``None`` for all.
            full_data: Whether the payload has all instances.

        Raises:
            ConfigurationError: It is a surface.
        """
        self._write_targets(targets, self._env(env_ids), full_data)

    def write_nodal_kinematic_target_to_sim_mask(self, targets: Any, env_mask: Any = None) -> None:
        """As ``write_nodal_kinematic_target_to_sim_index``, with all instances and a mask that chooses."""
        self._write_targets(targets, self._env(None, env_mask), False)

    def write_nodal_state_to_sim(self, nodal_state: Any, env_ids: Any = None) -> None:
        """Deprecated; use ``write_nodal_state_to_sim_index``."""
        _deprecated("write_nodal_state_to_sim")
        self.write_nodal_state_to_sim_index(nodal_state, env_ids)

    def write_nodal_pos_to_sim(self, nodal_pos: Any, env_ids: Any = None) -> None:
        """Deprecated; use ``write_nodal_pos_to_sim_index``."""
        _deprecated("write_nodal_pos_to_sim")
        self.write_nodal_pos_to_sim_index(nodal_pos, env_ids)

    def write_nodal_velocity_to_sim(self, nodal_vel: Any, env_ids: Any = None) -> None:
        """Deprecated; use ``write_nodal_velocity_to_sim_index``."""
        _deprecated("write_nodal_velocity_to_sim")
        self.write_nodal_velocity_to_sim_index(nodal_vel, env_ids)

    def write_nodal_kinematic_target_to_sim(self, targets: Any, env_ids: Any = None) -> None:
        """Deprecated; use ``write_nodal_kinematic_target_to_sim_index``."""
        _deprecated("write_nodal_kinematic_target_to_sim")
        self.write_nodal_kinematic_target_to_sim_index(targets, env_ids)

    def _env(self, ids: Any, mask: Any = None) -> Choice:
        self._require("writing")
        return self._axes["env"].choose(ids, mask)

    def _write_nodes(self, quantity: str, value: Any, rows: Choice, full: bool) -> None:
        what = f"DeformableObject: {quantity}"
        self._write(quantity, value, rows, self._axes["node"].choose(), what, full=full)
        self._data.invalidate((quantity,))

    def _write_states(self, value: Any, rows: Choice, full: bool) -> None:
        what, count = "DeformableObject: nodal_state", self.max_sim_vertices_per_body
        state = self._data.array("nodal_state_w")
        shape = tuple(state.shape) if full else (rows.count, count)
        self.assert_shape_and_dtype(value, shape, state.dtype, what)
        numbers = payload_numbers(value, (*shape, 6), self._device, what)
        for quantity, part in (("nodal_pos_w", numbers[:, :, :3]), ("nodal_vel_w", numbers[:, :, 3:])):
            self._write_nodes(quantity, part.contiguous(), rows, full)

    def _write_targets(self, value: Any, rows: Choice, full: bool) -> None:
        if self._is_surface:
            raise ConfigurationError(f"{self.cfg.prim_path}: surface deformables have no kinematic targets")
        self._write_nodes("nodal_kinematic_target", value, rows, full)

    def transform_nodal_pos(self, nodal_pos: Any, pos: Any = None, quat: Any = None) -> Any:
        """Turn nodes about their mean and shift them.

        Args:
            nodal_pos: Tensor of positions [m], shape [instances, nodes, 3].
            pos: Tensor of shifts [m], shape [instances, 3]; ``None`` for none.
            quat: Tensor of rotations, xyzw, shape [instances, 4]; ``None`` for none.

        Returns:
            Tensor of positions [m], shape [instances, nodes, 3].
        """
        mean = nodal_pos.mean(dim=1, keepdim=True)
        local = nodal_pos - mean
        if quat is not None:
            axis = quat[:, None, :3].expand_as(local)
            twice = 2.0 * axis.cross(local, dim=-1)
            local = local + quat[:, None, 3:] * twice + axis.cross(twice, dim=-1)
        return mean + local + (0.0 if pos is None else pos[:, None])


def _deprecated(name: str) -> None:
    warnings.warn(
        f"DeformableObject.{name} is deprecated; use {name}_index", DeprecationWarning, stacklevel=3
    )
