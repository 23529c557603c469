"""Collections of rigid objects: several free bodies an instance."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets._kernels import motion
from tensorphys_assets.errors import ConfigurationError, PrimError
from tensorphys_assets.lab import complete, lab_class
from tensorphys_assets.rigid_object_collection_data import RigidObjectCollectionData
from tensorphys_assets.root_asset import BodyAsset
from tensorphys_assets.scene import AssetScene, glob_of
from tensorphys_assets.selection import Axis, Choice
from tensorphys_assets.view_data import EngineAccess
from tensorphys_assets.wrench import WrenchComposer
from tensorphys_assets.writers import deprecated_writer, name_writers, object_writer, state_writers

__all__ = ["RigidObjectCollection"]

_Lab: Any = (
    lab_class(
        "isaaclab.assets.rigid_object_collection.base_rigid_object_collection", "BaseRigidObjectCollection"
    )
    or object
)
_LINK_POSE = "Set world poses of links [m, xyzw]."
_COM_POSE = "Set world poses of centres of mass."
_COM_VELOCITY = "Set velocities of centres of mass."
_LINK_VELOCITY = "Set velocities of the links' origins."


@complete
@name_writers
class RigidObjectCollection(BodyAsset, _Lab):
    """Rigid bodies in each environment, free or kinematic, one for each configuration."""

    __backend_name__ = "tensorphys"
    _data: RigidObjectCollectionData

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        super().__init__(cfg, scene=scene)
        self._conversions = {
            "body_com_pose_w": (
                "body_link_pose_w",
                motion.link_poses_of_coms,
                ("body_com_pose_w", "body_com_pose_b"),
            ),
            "body_link_vel_w": (
                "body_com_vel_w",
                motion.com_velocities,
                ("body_link_pose_w", "body_com_pose_b", "body_link_vel_w"),
            ),
        }

    def _spawn(self) -> None:
        for cfg in self.cfg.rigid_objects.values():
            if cfg.spawn is not None:
                cfg.spawn.func(
                    cfg.prim_path, cfg.spawn, translation=cfg.init_state.pos, orientation=cfg.init_state.rot
                )

    def _initialize(self, scene: AssetScene) -> None:
        import tensorphys

        paths: list[list[str]] = []
        for name, cfg in self.cfg.rigid_objects.items():
            try:
                paths.append(list(scene.view.create_rigid_body_view(glob_of(cfg.prim_path)).prim_paths))
            except (tensorphys.NoMatchError, tensorphys.NotSuitableError) as error:
                raise PrimError(
                    f"{name} ({cfg.prim_path}): Expected 1 prims with a rigid body, found 0: {error}"
                ) from error
        counts = {name: len(found) for name, found in zip(self.cfg.rigid_objects, paths, strict=True)}
        if len(set(counts.values())) != 1:
            raise PrimError(f"rigid_objects: expected as many prims of each, found {counts}")
        count, names = len(paths[0]), list(self.cfg.rigid_objects)
        # By instance, then by object: rows of the view are then elements of arrays [instances, objects].
        view = scene.view.create_rigid_body_view([found[row] for row in range(count) for found in paths])
        assert view._backend is not None
        layout = view._backend.layout
        if not (layout.slots["root_pose"] >= 0).all():
            raise PrimError("rigid_objects: some bodies are links of articulations; use Articulation")
        self._view, self._device = view, scene.device
        self._axes = {"env": Axis(count, self._device, "env"), "body": Axis(len(names), self._device, "body")}
        engine = EngineAccess(view, scene.simulation, scene.environments_of(view))
        self._data = RigidObjectCollectionData(engine, count, names)
        self._pushes = {
            "body_link_pose_w": lambda rows: self._push_state(view.set_transforms, "body_link_pose_w", rows),
            "body_com_vel_w": lambda rows: self._push_state(view.set_velocities, "body_com_vel_w", rows),
            **self._body_pushes(view),
        }
        self._staging.clear()
        self._is_initialized = True
        self._set_defaults()
        self._instantaneous, self._permanent = WrenchComposer(self), WrenchComposer(self)
        self.update(0.0)
        self._data.is_primed = True

    def _set_defaults(self) -> None:
        states = [cfg.init_state for cfg in self.cfg.rigid_objects.values()]
        count = self.num_instances
        pose = np.asarray([[*state.pos, *state.rot] for state in states], dtype=np.float32)
        velocity = np.asarray([[*state.lin_vel, *state.ang_vel] for state in states], dtype=np.float32)
        if not (np.isfinite(pose).all() and np.isfinite(velocity).all()):
            raise ConfigurationError("rigid_objects: init_state holds numbers that are not finite")
        self._data.array("default_body_pose").assign(np.tile(pose, (count, 1, 1)))
        self._data.array("default_body_vel").assign(np.tile(velocity, (count, 1, 1)))

    # The rows of the view are instances times objects, so that what was chosen is worked out there.

    def _write(
        self, quantity: str, value: Any, rows: Choice, items: Choice | None, what: str, *, full: bool = False
    ) -> None:
        self._chosen = (rows, items)
        super()._write(quantity, value, rows, items, what, full=full)

    def _row_mask(self, rows: Choice) -> wp.array | None:
        """Mask over the rows of the view; ``None`` for all of them."""
        items = self._chosen[1]
        if rows.everything and (items is None or items.everything):
            return None
        target = self._staging.get("mask")
        if target is None:
            target = self._staging["mask"] = wp.zeros(
                (self.num_instances, self.num_bodies), dtype=wp.bool, device=self._device
            )
        target.zero_()
        chosen = self._axes["body"].choose() if items is None else items
        row_mask = rows.mask if rows.mask is not None else self._axes["env"].mask
        item_mask = chosen.mask if chosen.mask is not None else self._axes["body"].mask
        wp.launch(
            motion.cross_masks,
            (rows.count, chosen.count),
            [rows.ids, chosen.ids, row_mask, item_mask],
            [target],
            device=self._device,
        )
        return target.flatten()

    def _push_state(self, setter: Any, quantity: str, rows: Choice) -> None:
        setter(self._numbers(quantity), self._row_mask(rows))

    def _host_rows(self, rows: Choice) -> wp.array | None:
        mask = self._row_mask(rows)
        if mask is None:
            return None
        return wp.array(np.flatnonzero(mask.numpy()).astype(np.int32), dtype=wp.int32, device="cpu")

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)

    def reshape_data_to_view_2d(self, data: Any, device: str | None = None) -> Any:
        """Data of all objects as rows of the view, which stand by instance and then by object.

        Args:
            data: Array or tensor of shape [instances, objects, ...].
            device: Taken for compatibility.
        """
        shape = tuple(data.shape)
        return data.reshape((shape[0] * shape[1], *shape[2:]))

    reshape_data_to_view_3d = reshape_data_to_view_2d

    def reset(  # type: ignore[override]
        self, env_ids: Any = None, object_ids: Any = None, env_mask: Any = None
    ) -> None:
        """Drop the wrenches of instances; no state is restored.

        Args:
            env_ids: Instances, ``None`` for all.
            object_ids: Taken for compatibility: all objects of an instance are reset.
            env_mask: Mask of instances, which wins.
        """
        super().reset(env_ids, env_mask)

    def find_bodies(
        self, name_keys: str | Sequence[str], preserve_order: bool = False, *, as_proxy: bool = False
    ) -> tuple[Any, list[str]]:
        """Objects whose names expressions match wholly.

        Args:
            name_keys: Regular expression, or several.
            preserve_order: Whether the result stands in the order of the expressions.
            as_proxy: Whether places come as a proxy of int32 instead of a tensor.

        Returns:
            Places, a tensor of int32, and names.
        """
        proxy, names = self._find("body", name_keys, self.body_names, preserve_order, True)
        return (proxy if as_proxy else proxy.torch), names

    def find_objects(
        self, name_keys: str | Sequence[str], preserve_order: bool = False, *, as_proxy: bool = False
    ) -> tuple[Any, list[str]]:
        """Deprecated; use ``find_bodies``."""
        _deprecated("find_objects", "find_bodies")
        return self.find_bodies(name_keys, preserve_order, as_proxy=as_proxy)

    @property
    def num_objects(self) -> int:
        """Deprecated; use ``num_bodies``."""
        _deprecated("num_objects", "num_bodies")
        return self.num_bodies

    @property
    def object_names(self) -> list[str]:
        """Deprecated; use ``body_names``."""
        _deprecated("object_names", "body_names")
        return self.body_names

    def _write_body_state(self, body_states: Any, env_ids: Any = None, body_ids: Any = None) -> None:
        chosen = {"env_ids": env_ids, "body_ids": body_ids}
        self._write_both(body_states, chosen, "body", "body_link_pose_w", "body_com_vel_w")

    def _write_body_com_state(self, body_states: Any, env_ids: Any = None, body_ids: Any = None) -> None:
        chosen = {"env_ids": env_ids, "body_ids": body_ids}
        self._write_both(body_states, chosen, "body", "body_com_pose_w", "body_com_vel_w")

    def _write_body_link_state(self, body_states: Any, env_ids: Any = None, body_ids: Any = None) -> None:
        chosen = {"env_ids": env_ids, "body_ids": body_ids}
        self._write_both(body_states, chosen, "body", "body_link_pose_w", "body_link_vel_w")

    write_body_pose_to_sim_index, write_body_pose_to_sim_mask = state_writers(
        "body_link_pose_w", "body_poses", items="body", doc=_LINK_POSE
    )
    write_body_link_pose_to_sim_index, write_body_link_pose_to_sim_mask = state_writers(
        "body_link_pose_w", "body_poses", items="body", doc=_LINK_POSE
    )
    write_body_com_pose_to_sim_index, write_body_com_pose_to_sim_mask = state_writers(
        "body_com_pose_w", "body_poses", items="body", doc=_COM_POSE
    )
    write_body_velocity_to_sim_index, write_body_velocity_to_sim_mask = state_writers(
        "body_com_vel_w", "body_velocities", items="body", doc=_COM_VELOCITY
    )
    write_body_com_velocity_to_sim_index, write_body_com_velocity_to_sim_mask = state_writers(
        "body_com_vel_w", "body_velocities", items="body", doc=_COM_VELOCITY
    )
    write_body_link_velocity_to_sim_index, write_body_link_velocity_to_sim_mask = state_writers(
        "body_link_vel_w", "body_velocities", items="body", doc=_LINK_VELOCITY
    )
    write_body_pose_to_sim = deprecated_writer(
        "write_body_pose_to_sim_index", "body_poses", "env_ids", "body_ids"
    )
    write_body_link_pose_to_sim = deprecated_writer(
        "write_body_link_pose_to_sim_index", "body_poses", "env_ids", "body_ids"
    )
    write_body_com_pose_to_sim = deprecated_writer(
        "write_body_com_pose_to_sim_index", "body_poses", "env_ids", "body_ids"
    )
    write_body_velocity_to_sim = deprecated_writer(
        "write_body_velocity_to_sim_index", "body_velocities", "env_ids", "body_ids"
    )
    write_body_com_velocity_to_sim = deprecated_writer(
        "write_body_com_velocity_to_sim_index", "body_velocities", "env_ids", "body_ids"
    )
    write_body_link_velocity_to_sim = deprecated_writer(
        "write_body_link_velocity_to_sim_index", "body_velocities", "env_ids", "body_ids"
    )
    write_body_state_to_sim = deprecated_writer(
        "_write_body_state",
        "body_states",
        "env_ids",
        "body_ids",
        advice="write_body_link_pose_to_sim_index and write_body_com_velocity_to_sim_index",
    )
    write_body_com_state_to_sim = deprecated_writer(
        "_write_body_com_state",
        "body_states",
        "env_ids",
        "body_ids",
        advice="write_body_com_pose_to_sim_index and write_body_com_velocity_to_sim_index",
    )
    write_body_link_state_to_sim = deprecated_writer(
        "_write_body_link_state",
        "body_states",
        "env_ids",
        "body_ids",
        advice="write_body_link_pose_to_sim_index and write_body_link_velocity_to_sim_index",
    )

    # Names of Isaac Lab 2.
    write_object_pose_to_sim = object_writer("write_body_pose_to_sim_index", "object_pose", "body_poses")
    write_object_link_pose_to_sim = object_writer(
        "write_body_link_pose_to_sim_index", "object_pose", "body_poses"
    )
    write_object_com_pose_to_sim = object_writer(
        "write_body_com_pose_to_sim_index", "object_pose", "body_poses"
    )
    write_object_velocity_to_sim = object_writer(
        "write_body_velocity_to_sim_index", "object_velocity", "body_velocities"
    )
    write_object_com_velocity_to_sim = object_writer(
        "write_body_com_velocity_to_sim_index", "object_velocity", "body_velocities"
    )
    write_object_link_velocity_to_sim = object_writer(
        "write_body_link_velocity_to_sim_index", "object_velocity", "body_velocities"
    )
    write_object_state_to_sim = object_writer("_write_body_state", "object_state", "body_states")
    write_object_com_state_to_sim = object_writer("_write_body_com_state", "object_state", "body_states")
    write_object_link_state_to_sim = object_writer("_write_body_link_state", "object_state", "body_states")


def _deprecated(name: str, target: str) -> None:
    warnings.warn(
        f"RigidObjectCollection.{name} is deprecated; use {target}", DeprecationWarning, stacklevel=3
    )
