"""The abstract interface of a pluggable physics engine.

Lengths are in metres, masses in kilograms, times in seconds, angles in radians. Unless another frame is named, all is in the
world frame. Batch views give quaternions as ``x y z w``, handles of single prims as ``w x y z``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from tensorphys_backend.life_interface import SimulationLife

__all__ = ["PhysicsBackend"]


class PhysicsBackend(SimulationLife):
    """What a simulator asks of a physics engine; names and signatures are those of OmniGibson's ``PhysicsBackend``.

    The life of the simulation is in :class:`SimulationLife`; here is what it has to do with its objects.

    Args:
        sim: The simulator that owns the backend; None for a backend that only prepares the process.
    """

    # Inputs of many articulations.

    @abstractmethod
    def set_dof_position_targets(self, view: Any, data: Any, indices: Any, cast: bool = False) -> None:
        """Set position targets of drives [m or rad].

        Args:
            view: A batch articulation view.
            data: Targets of all rows, float32, padded with zeros, shape [count, max_dofs].
            indices: Rows to write, uint32.
            cast: Whether the arrays may be of other types or not contiguous, and are converted.
        """

    @abstractmethod
    def set_dof_velocity_targets(self, view: Any, data: Any, indices: Any, cast: bool = False) -> None:
        """Set velocity targets of drives [m/s or rad/s]; arguments as of :meth:`set_dof_position_targets`."""

    @abstractmethod
    def set_dof_actuation_forces(self, view: Any, data: Any, indices: Any, cast: bool = False) -> None:
        """Set actuation forces [N or N m]; arguments as of :meth:`set_dof_position_targets`."""

    # Transforms.

    @abstractmethod
    def get_world_transform_with_scale(self, prim_path: str) -> Any:
        """Pose of a prim as it is now, with its scale: ``Gf.Matrix4d`` that acts on row vectors."""

    @abstractmethod
    def get_local_transform_with_scale(self, prim_path: str) -> Any:
        """Pose of a prim in its parent prim as it is now, with its scale: ``Gf.Matrix4d`` that acts on row vectors."""

    # Schemas that an engine needs beside those of UsdPhysics.

    def apply_rigid_body_schemas(self, prim: Any) -> None:
        """Author what the engine needs on a rigid body."""

    def apply_collision_schemas(self, prim: Any) -> None:
        """Author what the engine needs on a collider."""

    def configure_collision_approximation(self, prim: Any, approximation_type: str) -> None:
        """Author what the engine needs for an approximation.

        Args:
            prim: A collider.
            approximation_type: ``"convexHull"``, ``"convexDecomposition"``, ``"meshSimplification"``, ``"sdf"``,
                ``"none"``, ...
        """

    def apply_joint_schemas(self, prim: Any) -> None:
        """Author what the engine needs on a joint."""

    def apply_articulation_schemas(self, prim: Any, self_collisions: bool = False) -> None:
        """Author what the engine needs on the root of an articulation.

        Args:
            prim: The root.
            self_collisions: Whether its links collide with each other.
        """

    def strip_articulation_schemas(self, prim: Any) -> None:
        """Take off what :meth:`apply_articulation_schemas` authored; the generic schema is the caller's."""

    def enable_contact_reporting(self, prim: Any) -> None:
        """Have contacts of a body reported, where that must be asked for."""

    def contact_reporting_enabled(self, prim: Any, visual_only: bool) -> bool:
        """Whether contacts of a prim are reported.

        Args:
            prim: A body.
            visual_only: Whether it has no colliders.
        """
        return not visual_only

    def get_collision_api(self, prim: Any) -> Any:
        """What callers write settings of a collider through, or None."""
        return None

    def is_mimic_joint(self, prim: Any) -> bool:
        """Whether a joint follows another one, so that it cannot be controlled."""
        return False

    # Handles of single prims.

    @abstractmethod
    def create_articulation_view(self, prim_path: str) -> Any:
        """Handle of the articulation with its root at a path; quaternions ``w x y z``."""

    @abstractmethod
    def create_rigid_body_view(self, prim_path: str) -> Any:
        """Handle of the rigid body at a path; quaternions ``w x y z``."""

    # Sleep and forces.

    @abstractmethod
    def is_asleep(self, prim_path: str) -> bool:
        """Whether a body sleeps."""

    @abstractmethod
    def wake(self, prim_path: str) -> None:
        """Wake a body."""

    @abstractmethod
    def sleep(self, prim_path: str) -> None:
        """Have a body sleep where it is, at zero velocity, until something wakes it."""

    @abstractmethod
    def apply_force_at_pos(self, prim_path: str, force: Any, pos: Any) -> None:
        """Push a body for one physics step, and wake it.

        Args:
            prim_path: The body.
            force: Force [N], shape [3].
            pos: Where it acts [m], shape [3].
        """

    @abstractmethod
    def apply_torque(self, prim_path: str, torque: Any) -> None:
        """Turn a body for one physics step, and wake it.

        Args:
            prim_path: The body.
            torque: Torque [N m], shape [3].
        """

    # Scene queries.

    @abstractmethod
    def raycast_closest(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Nearest hit of a ray.

        Args:
            *args: ``origin`` [m] and unit ``dir``, 3-sequences, and ``distance`` [m], by place or by name.
            **kwargs: The same, and ``bothSides``.

        Returns:
            ``{"hit": False}``, or with ``hit`` True: ``position``, ``normal``, ``distance``, and the prim paths
            ``collision`` and ``rigidBody``.
        """

    def raycast_closest_batch(
        self, origins: Sequence[Any], dirs: Sequence[Any], distances: Sequence[float]
    ) -> list[dict[str, Any]]:
        """Nearest hits of many rays, as of :meth:`raycast_closest`, in the order of the rays.

        Args:
            origins, dirs: 3-sequences, one a ray.
            distances: Longest distance of each ray [m].
        """
        return [
            self.raycast_closest(origin=origin, dir=direction, distance=distance)
            for origin, direction, distance in zip(origins, dirs, distances)  # noqa: B905
        ]

    @abstractmethod
    def raycast_all(self, *args: Any, **kwargs: Any) -> Any:
        """Report all hits of a ray: ``(origin, dir, distance, reportFn)``, until ``reportFn(hit)`` returns False."""

    @abstractmethod
    def overlap_sphere(self, *args: Any, **kwargs: Any) -> int:
        """Report what a sphere overlaps: ``(radius, pos, reportFn, anyHit=False)``; returns the number of hits."""

    @abstractmethod
    def overlap_box(self, *args: Any, **kwargs: Any) -> int:
        """Report what a box overlaps: ``(halfExtent, pos, rot xyzw, reportFn, anyHit=False)``; returns the number."""

    @abstractmethod
    def overlap_mesh(self, *args: Any, **kwargs: Any) -> int:
        """Report what a mesh of the stage overlaps: ``(meshPath0, meshPath1, reportFn, anyHit=False)``."""

    @abstractmethod
    def overlap_shape(self, *args: Any, **kwargs: Any) -> int:
        """Report what a shape of the stage overlaps: ``(meshPath0, meshPath1, reportFn, anyHit=False)``."""

    @abstractmethod
    def overlap_sphere_any(self, radius: float, pos: Any) -> bool:
        """Whether a sphere overlaps anything."""

    # Cloth; world frame.

    @abstractmethod
    def get_cloth_particle_positions(self, prim_path: str, idxs: Any = None) -> Any:
        """Positions of particles [m], float32, shape [N, 3], or of those in ``idxs``."""

    @abstractmethod
    def set_cloth_particle_positions(self, prim_path: str, positions: Any, idxs: Any = None) -> None:
        """Set positions of particles [m], or of those in ``idxs``."""

    @abstractmethod
    def get_cloth_particle_velocities(self, prim_path: str) -> Any:
        """Velocities of particles [m/s], float32, shape [N, 3]."""

    @abstractmethod
    def set_cloth_particle_velocities(self, prim_path: str, velocities: Any) -> None:
        """Set velocities of particles [m/s], shape [N, 3]."""

    @abstractmethod
    def get_cloth_stiffness(self, prim_path: str) -> dict[str, float]:
        """Springs of a cloth: ``bend``, ``shear`` and ``stretch`` [N/m], ``damping`` [N s/m]."""

    @abstractmethod
    def set_cloth_stiffness(
        self,
        prim_path: str,
        bend: float | None = None,
        damping: float | None = None,
        shear: float | None = None,
        stretch: float | None = None,
    ) -> None:
        """Set springs of a cloth; None leaves a value as it is."""

    # Events.

    @abstractmethod
    def is_joint_break_event(self, event: Any) -> bool:
        """Whether an event that the backend delivered says that a joint broke."""

    @abstractmethod
    def decode_joint_break_event(self, event: Any) -> str:
        """Prim path of the joint that broke."""
