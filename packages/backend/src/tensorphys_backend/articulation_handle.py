"""The handle of one articulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_backend.errors import NotPlayingError, PrimPathError
from tensorphys_backend.handles import Handle, independent, to_wxyz
from tensorphys_backend.world import to_numpy

__all__ = ["AppliedActions", "ArticulationHandle"]

_ROW = np.zeros(1, np.int32)
_POSITION_ITERATIONS = "physxArticulation:solverPositionIterationCount"
_VELOCITY_ITERATIONS = "physxArticulation:solverVelocityIterationCount"
_MOST_ITERATIONS = 255


@dataclass(frozen=True)
class AppliedActions:
    """Inputs of an articulation, each of shape [1, dofs].

    Attributes:
        joint_positions: Position targets [m or rad].
        joint_velocities: Velocity targets [m/s or rad/s].
        joint_efforts: Actuation forces [N or N m].
    """

    joint_positions: Any
    joint_velocities: Any
    joint_efforts: Any


class ArticulationHandle(Handle):
    """One articulation; arrays have one row, quaternions are ``w x y z``.

    The path may be that of the prim with the root schema, of a link or of a joint. ``joint_indices`` are degrees of freedom,
    None for all. Arrays are copies.
    """

    def _make(self, factory: Any) -> Any:
        view = factory.create_articulation_view(self.prim_path)
        if view.count != 1:
            raise PrimPathError(f"{self.prim_path}: no articulation of the simulation has this prim")
        return view

    # Layout.

    @property
    def has_dof_metadata(self) -> bool:
        """Whether joints and degrees of freedom are known: while the simulation plays or is paused."""
        return self._owner.live_world is not None and self.is_valid()

    @property
    def _info(self) -> Any:
        world = self._owner.live_world
        if world is None:
            raise NotPlayingError(f"{self.prim_path}: joints are known once the simulation plays")
        number = world.body(self.prim_path).articulation
        info = world.simulation.articulation_info(number)
        if info is None:
            raise PrimPathError(f"{self.prim_path}: the prim is a free body, not an articulation")
        return info

    @property
    def num_dof(self) -> int:
        """Degrees of freedom."""
        return len(self._info.labels.dof_names)

    @property
    def dof_names(self) -> list[str]:
        """Names of the degrees of freedom."""
        return list(self._info.labels.dof_names)

    @property
    def joint_count(self) -> int:
        """Joints of the tree, fixed ones included."""
        return len(self._info.labels.joint_names)

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints."""
        return list(self._info.labels.joint_names)

    @property
    def joint_dof_counts(self) -> list[int]:
        """Degrees of freedom of each joint."""
        owners = self._info.labels.dof_joints
        counts: npt.NDArray[np.int64] = np.bincount(owners, minlength=self.joint_count)
        return [int(count) for count in counts]

    @property
    def joint_dof_offsets(self) -> list[int]:
        """First degree of freedom of each joint; of a fixed joint where its own would stand."""
        counts = self.joint_dof_counts
        return [sum(counts[:joint]) for joint in range(len(counts))]

    def dof_path(self, index: int, articulation_index: int = 0) -> str:
        """Path of the joint of a degree of freedom.

        Args:
            index: Degree of freedom.
            articulation_index: 0; a handle has one articulation.

        Raises:
            IndexError: There is none.
        """
        if articulation_index != 0 or not 0 <= index < self.num_dof:
            raise IndexError(
                f"{self.prim_path}: expected a degree of freedom from 0 to {self.num_dof - 1} of articulation 0, "
                f"given {index} of {articulation_index}"
            )
        info = self._info
        return str(info.prefix + info.labels.joint_paths[int(info.labels.dof_joints[index])])

    def dof_index_of_path(self, path: str) -> int:
        """First degree of freedom of the joint at a path.

        Raises:
            PrimPathError: No joint that moves has it.
        """
        for index in range(self.num_dof):
            if self.dof_path(index) == path:
                return index
        raise PrimPathError(f"{path}: no degree of freedom of {self.prim_path} has this joint")

    def get_dof_is_rotational(self) -> list[bool]:
        """Whether each degree of freedom is a rotation."""
        return [bool(value) for value in self._info.labels.dof_rotational]

    # State.

    def get_world_poses(self) -> tuple[Any, Any]:
        """Position [m], shape [1, 3], and quaternion ``w x y z``, shape [1, 4], of the root link."""
        pose = independent(self._bound.get_root_transforms())
        return pose[:, :3], to_wxyz(pose[:, 3:])

    def set_world_poses(self, positions: Any = None, orientations: Any = None) -> None:
        """Set the pose of the root link.

        Args:
            positions: [m], shape [1, 3]; None leaves it.
            orientations: Quaternion ``w x y z``, shape [1, 4]; None leaves it.
        """
        view = self._bound
        view.set_root_transforms(self._posed(view.get_root_transforms(), positions, orientations), _ROW)

    def get_velocities(self) -> Any:
        """Linear velocity of the root's centre of mass and angular velocity [m/s, rad/s], shape [1, 6]."""
        return independent(self._bound.get_root_velocities())

    def set_velocities(self, velocities: Any) -> None:
        """Set what :meth:`get_velocities` gives; fixed bases have none."""
        self._bound.set_root_velocities(self._array(velocities, (1, 6)), _ROW)

    def get_joint_positions(self, joint_indices: Any = None) -> Any:
        """Joint positions [m or rad], shape [1, n]."""
        return self._read("dof_positions", joint_indices)

    def set_joint_positions(self, positions: Any, joint_indices: Any = None) -> None:
        """Set joint positions [m or rad]."""
        self._write("dof_positions", positions, joint_indices)

    def get_joint_velocities(self, joint_indices: Any = None) -> Any:
        """Joint velocities [m/s or rad/s], shape [1, n]."""
        return self._read("dof_velocities", joint_indices)

    def set_joint_velocities(self, velocities: Any, joint_indices: Any = None) -> None:
        """Set joint velocities [m/s or rad/s]."""
        self._write("dof_velocities", velocities, joint_indices)

    def get_joint_efforts(self, joint_indices: Any = None) -> Any:
        """Actuation forces as they were set [N or N m], shape [1, n]."""
        return self._read("dof_actuation_forces", joint_indices)

    def set_joint_efforts(self, efforts: Any, joint_indices: Any = None) -> None:
        """Set actuation forces [N or N m]; they act until they are set again."""
        self._write("dof_actuation_forces", efforts, joint_indices)

    def get_measured_joint_efforts(self, joint_indices: Any = None) -> Any:
        """Load of each joint along its degree of freedom in the last step [N or N m], shape [1, n]."""
        return self._read("dof_projected_joint_forces", joint_indices)

    def get_joint_position_targets(self, joint_indices: Any = None) -> Any:
        """Position targets [m or rad], shape [1, n]."""
        return self._read("dof_position_targets", joint_indices)

    def set_joint_position_targets(self, positions: Any, joint_indices: Any = None) -> None:
        """Set position targets [m or rad]."""
        self._write("dof_position_targets", positions, joint_indices)

    def get_joint_velocity_targets(self, joint_indices: Any = None) -> Any:
        """Velocity targets [m/s or rad/s], shape [1, n]."""
        return self._read("dof_velocity_targets", joint_indices)

    def set_joint_velocity_targets(self, velocities: Any, joint_indices: Any = None) -> None:
        """Set velocity targets [m/s or rad/s]."""
        self._write("dof_velocity_targets", velocities, joint_indices)

    def get_applied_actions(self) -> AppliedActions:
        """All inputs."""
        return AppliedActions(
            self.get_joint_position_targets(), self.get_joint_velocity_targets(), self.get_joint_efforts()
        )

    # Properties of joints, on the CPU.

    def get_gains(self, joint_indices: Any = None) -> tuple[Any, Any]:
        """Stiffness and damping of the drives [N/m or N m/rad, times s], each of shape [1, n]."""
        return self._read("dof_stiffnesses", joint_indices), self._read("dof_dampings", joint_indices)

    def set_gains(self, kps: Any = None, kds: Any = None, joint_indices: Any = None) -> None:
        """Set stiffness and damping of drives; None leaves one."""
        if kps is not None:
            self._write("dof_stiffnesses", kps, joint_indices, host=True)
        if kds is not None:
            self._write("dof_dampings", kds, joint_indices, host=True)

    def get_max_efforts(self, joint_indices: Any = None) -> Any:
        """Largest forces of the drives [N or N m], shape [1, n]."""
        return self._read("dof_max_forces", joint_indices)

    def set_max_efforts(self, values: Any, joint_indices: Any = None) -> None:
        """Set the largest forces of drives [N or N m]."""
        self._write("dof_max_forces", values, joint_indices, host=True)

    def get_joint_max_velocities(self, joint_indices: Any = None) -> Any:
        """Speed limits [m/s or rad/s], shape [1, n]."""
        return self._read("dof_max_velocities", joint_indices)

    def set_max_joint_velocities(self, values: Any, joint_indices: Any = None) -> None:
        """Set speed limits [m/s or rad/s]."""
        self._write("dof_max_velocities", values, joint_indices, host=True)

    def get_friction_coefficients(self, joint_indices: Any = None) -> Any:
        """Friction by the load that a joint transmits, shape [1, n]."""
        return self._read("dof_friction_coefficients", joint_indices)

    def set_friction_coefficients(self, values: Any, joint_indices: Any = None) -> None:
        """Set friction coefficients."""
        self._write("dof_friction_coefficients", values, joint_indices, host=True)

    def get_armatures(self, joint_indices: Any = None) -> Any:
        """Inertia added to each degree of freedom [kg or kg m²], shape [1, n]."""
        return self._read("dof_armatures", joint_indices)

    def set_armatures(self, values: Any, joint_indices: Any = None) -> None:
        """Set the inertia added to degrees of freedom."""
        self._write("dof_armatures", values, joint_indices, host=True)

    def get_joint_limits(self, joint_indices: Any = None) -> Any:
        """Lower and upper limits [m or rad], shape [1, n, 2]."""
        return self._read("dof_limits", joint_indices)

    def set_joint_limits(self, values: Any, joint_indices: Any = None) -> None:
        """Set limits [m or rad]; where none was authored none can be set."""
        self._write("dof_limits", values, joint_indices, host=True)

    # Dynamics, at the present state.

    def get_coriolis_and_centrifugal_forces(self) -> Any:
        """Forces that counteract velocity products [N or N m], shape [1, n], a floating root's six first."""
        return independent(self._bound.get_coriolis_and_centrifugal_compensation_forces())

    def get_generalized_gravity_forces(self) -> Any:
        """Forces that counteract gravity [N or N m], shape [1, n], a floating root's six first."""
        return independent(self._bound.get_gravity_compensation_forces())

    def get_mass_matrices(self) -> Any:
        """Generalized mass matrix, shape [1, n, n], a floating root's six first."""
        return independent(self._bound.get_generalized_mass_matrices())

    def get_jacobians(self) -> Any:
        """Jacobians of the links, as ``ArticulationView.get_jacobians`` has them, with one row."""
        return independent(self._bound.get_jacobians())

    # Iterations of the solver. The largest count of all articulations and bodies is that of the whole simulation.

    def get_solver_position_iteration_counts(self) -> npt.NDArray[np.int32]:
        """Substeps of a step that the articulation asks for, shape [1]; those of the simulation where it asks for none."""
        return self._iterations(_POSITION_ITERATIONS, self._simulation.substeps)

    def set_solver_position_iteration_counts(self, counts: Any) -> None:
        """Author the substeps of a step that the articulation asks for; the simulation takes the most that is asked for.

        Raises:
            ValueError: The count is not from 1 to 255.
        """
        self._ask_iterations(_POSITION_ITERATIONS, counts, 1)

    def get_solver_velocity_iteration_counts(self) -> npt.NDArray[np.int32]:
        """Velocity passes of a substep that the articulation asks for, as :meth:`get_solver_position_iteration_counts`."""
        return self._iterations(_VELOCITY_ITERATIONS, self._simulation.velocity_passes)

    def set_solver_velocity_iteration_counts(self, counts: Any) -> None:
        """Author the velocity passes that the articulation asks for; the solver makes one at least.

        Raises:
            ValueError: The count is not from 0 to 255.
        """
        self._ask_iterations(_VELOCITY_ITERATIONS, counts, 0)

    def _iterations(self, name: str, otherwise: int) -> npt.NDArray[np.int32]:
        value = self._owner.stage.GetPrimAtPath(self._info.path).GetAttribute(name).Get()
        return np.array([otherwise if value is None else value], np.int32)

    def _ask_iterations(self, name: str, counts: Any, least: int) -> None:
        count = int(np.asarray(to_numpy(counts)).reshape(-1)[0])
        if not least <= count <= _MOST_ITERATIONS:
            raise ValueError(
                f"{self.prim_path}: expected {least} to {_MOST_ITERATIONS} iterations, given {count}"
            )
        prim = self._owner.stage.GetPrimAtPath(self._info.path)
        prim.CreateAttribute(name, Sdf.ValueTypeNames.Int, False).Set(count)
        self._owner.flush_changes()

    @property
    def _simulation(self) -> Any:
        world = self._owner.live_world
        if world is None:
            raise NotPlayingError(f"{self.prim_path}: iterations are known once the simulation plays")
        return world.simulation

    def _read(self, name: str, columns: Any) -> Any:
        values = independent(getattr(self._bound, f"get_{name}")())
        return values if columns is None else values[:, self._columns(columns)]

    def _write(self, name: str, data: Any, columns: Any, *, host: bool = False) -> None:
        view = self._bound
        values = independent(getattr(view, f"get_{name}")())
        if columns is None:
            values = self._array(data, tuple(values.shape), host=host)
        else:
            chosen = self._columns(columns)
            values[:, chosen] = self._array(data, (1, len(chosen), *values.shape[2:]), host=host)
        getattr(view, f"set_{name}")(values, _ROW)

    def _columns(self, columns: Any) -> list[int]:
        chosen = [int(value) for value in to_numpy(columns).reshape(-1)]
        if any(not 0 <= value < self.num_dof for value in chosen):
            raise IndexError(
                f"{self.prim_path}: degrees of freedom are 0 to {self.num_dof - 1}, given {chosen}"
            )
        return chosen
