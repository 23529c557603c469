"""The handle of one rigid body."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import UsdPhysics

from tensorphys_backend.errors import PrimPathError
from tensorphys_backend.handles import Handle, independent, to_wxyz, to_xyzw
from tensorphys_backend.world import host_array, to_numpy

__all__ = ["RigidBodyHandle"]

_ROW = np.zeros(1, np.int32)


class RigidBodyHandle(Handle):
    """One rigid body; arrays have one row, quaternions are ``w x y z``. Arrays are copies.

    While the simulation is stopped, poses are those of the stage; all else needs it to play.
    """

    def _make(self, factory: Any) -> Any:
        view = factory.create_rigid_body_view(self.prim_path)
        if view.count != 1:
            raise PrimPathError(f"{self.prim_path}: no rigid body of the simulation has this path")
        return view

    def get_world_poses(self) -> tuple[Any, Any]:
        """Position [m], shape [1, 3], and quaternion ``w x y z``, shape [1, 4]."""
        if self._owner.live_world is None:
            pose = host_array(self._owner.authored_pose(self.prim_path), self._owner.frontend_name)[None]
        else:
            pose = independent(self._bound.get_transforms())
        return pose[:, :3], to_wxyz(pose[:, 3:])

    def set_world_poses(self, positions: Any = None, orientations: Any = None) -> None:
        """Set the pose.

        Args:
            positions: [m], shape [1, 3]; None leaves it.
            orientations: Quaternion ``w x y z``, shape [1, 4]; None leaves it.
        """
        view = self._bound
        view.set_transforms(self._posed(view.get_transforms(), positions, orientations), _ROW)

    def get_linear_velocities(self) -> Any:
        """Velocity of the centre of mass [m/s], shape [1, 3]."""
        return independent(self._bound.get_velocities())[:, :3]

    def set_linear_velocities(self, velocities: Any) -> None:
        """Set the velocity of the centre of mass [m/s]."""
        self._set_velocity(slice(0, 3), velocities)

    def get_angular_velocities(self) -> Any:
        """Angular velocity [rad/s], world axes, shape [1, 3]."""
        return independent(self._bound.get_velocities())[:, 3:]

    def set_angular_velocities(self, velocities: Any) -> None:
        """Set the angular velocity [rad/s], world axes."""
        self._set_velocity(slice(3, 6), velocities)

    def _set_velocity(self, columns: slice, velocities: Any) -> None:
        view = self._bound
        values = independent(view.get_velocities())
        values[:, columns] = self._array(velocities, (1, 3))
        view.set_velocities(values, _ROW)

    def get_coms(self) -> tuple[Any, Any]:
        """Centre of mass [m], shape [1, 1, 3], and principal axes ``w x y z``, shape [1, 1, 4], in the body frame."""
        pose = independent(self._bound.get_coms()).reshape((1, 1, 7))
        return pose[..., :3], to_wxyz(pose[..., 3:])

    def set_coms(self, positions: Any = None, orientations: Any = None) -> None:
        """Set centre of mass [m] and principal axes ``w x y z`` in the body frame; None leaves one."""
        view = self._bound
        pose = independent(view.get_coms())
        if positions is not None:
            pose[..., :3] = self._array(positions, (*pose.shape[:-1], 3), host=True)
        if orientations is not None:
            pose[..., 3:] = to_xyzw(self._array(orientations, (*pose.shape[:-1], 4), host=True))
        view.set_coms(pose, _ROW)

    def get_masses(self) -> Any:
        """Mass [kg], shape [1]."""
        return independent(self._bound.get_masses()).reshape((1,))

    def set_masses(self, masses: Any) -> None:
        """Set the mass [kg]; the inertia scales with it."""
        view = self._bound
        now = to_numpy(view.get_masses()).reshape(-1)
        wanted = float(np.asarray(to_numpy(masses), float).reshape(-1)[0])
        inertia = to_numpy(view.get_inertias()) * (wanted / float(now[0]))
        view.set_masses(self._array([wanted], tuple(view.get_masses().shape), host=True), _ROW)
        view.set_inertias(self._array(inertia, tuple(inertia.shape), host=True), _ROW)

    def get_densities(self) -> Any:
        """Authored density [kg/m³], shape [1]; 0 where none is authored."""
        prim = self._owner.stage.GetPrimAtPath(self.prim_path)
        attribute = UsdPhysics.MassAPI(prim).GetDensityAttr()
        value = attribute.Get() if attribute else None
        return host_array([0.0 if value is None else value], self._owner.frontend_name)

    def set_densities(self, densities: Any) -> None:
        """Author the density [kg/m³]; it acts from the next flush or step on, unless a mass is authored."""
        prim = self._owner.stage.GetPrimAtPath(self.prim_path)
        value = float(np.asarray(to_numpy(densities), float).reshape(-1)[0])
        UsdPhysics.MassAPI.Apply(prim).CreateDensityAttr().Set(value)

    def enable_gravities(self) -> None:
        """Have gravity act on the body."""
        self._set_gravity(0)

    def disable_gravities(self) -> None:
        """Have gravity not act on the body."""
        self._set_gravity(1)

    def _set_gravity(self, flag: int) -> None:
        view = self._bound
        values = independent(view.get_disable_gravities())
        values[...] = flag
        view.set_disable_gravities(values, _ROW)
