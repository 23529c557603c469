"""Rigid objects: one free body an instance."""

from __future__ import annotations

from typing import Any

from tensorphys_assets.errors import PrimError
from tensorphys_assets.lab import complete, lab_class
from tensorphys_assets.rigid_object_data import RigidObjectData
from tensorphys_assets.root_asset import RootAsset
from tensorphys_assets.scene import AssetScene, glob_of
from tensorphys_assets.selection import Axis
from tensorphys_assets.view_data import EngineAccess
from tensorphys_assets.wrench import WrenchComposer
from tensorphys_assets.writers import name_writers

__all__ = ["RigidObject"]

_Lab: Any = lab_class("isaaclab.assets.rigid_object.base_rigid_object", "BaseRigidObject") or object


@complete
@name_writers
class RigidObject(RootAsset, _Lab):
    """A rigid body in each environment, free or kinematic."""

    __backend_name__ = "tensorphys"
    _data: RigidObjectData

    def _initialize(self, scene: AssetScene) -> None:
        import tensorphys

        pattern = glob_of(self.cfg.prim_path)
        try:
            view = scene.view.create_rigid_body_view(pattern)
        except (tensorphys.NoMatchError, tensorphys.NotSuitableError) as error:
            raise PrimError(
                f"{self.cfg.prim_path}: Expected 1 prims with a rigid body, found 0: {error}"
            ) from error
        assert view._backend is not None
        catalog = scene.view._core.catalog
        links = catalog.link_count[view._backend.layout.articulations]
        if (links > 1).any() or not (view._backend.layout.slots["root_pose"] >= 0).all():
            raise PrimError(f"{self.cfg.prim_path}: the body is a link of an articulation; use Articulation")
        self._view = view
        self._device = scene.device
        name = view.prim_paths[0].rpartition("/")[2]
        self._axes = {"env": Axis(view.count, self._device, "env"), "body": Axis(1, self._device, "body")}
        engine = EngineAccess(view, scene.simulation, scene.environments_of(view))
        self._data = RigidObjectData(engine, view.count, [name])
        self._pushes = {
            "root_link_pose_w": lambda rows: view.set_transforms(
                self._numbers("root_link_pose_w"), rows.rows
            ),
            "root_com_vel_w": lambda rows: view.set_velocities(self._numbers("root_com_vel_w"), rows.rows),
            **self._body_pushes(view),
        }
        self._is_initialized = True
        self._set_defaults()
        self._instantaneous = WrenchComposer(self)
        self._permanent = WrenchComposer(self)
        self.update(0.0)
        self._data.is_primed = True

    def _prim_paths(self) -> list[str]:
        return list(self._view.prim_paths)
