"""The abstract interface of a pluggable physics engine.

Lengths are in metres, masses in kilograms, times in seconds, angles in radians. Unless another frame is named, all is in the
world frame. Batch views give quaternions as ``x y z w``, handles of single prims as ``w x y z``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["PhysicsBackend"]


class PhysicsBackend(ABC):
    """What a simulator asks of a physics engine; names and signatures are those of OmniGibson's ``PhysicsBackend``.

    Args:
        sim: The simulator that owns the backend; None for a backend that only prepares the process.
    """

    def __init__(self, sim: Any = None) -> None:
        self.sim = sim

    # Application and process.

    @classmethod
    def create_app(cls) -> Any:
        """Make the application that the engine needs, before there is a simulator or a backend.

        Returns:
            An object with at least ``update()`` and ``close()``.

        Raises:
            NotImplementedError: The engine says of no application.
        """
        raise NotImplementedError(f"{cls.__name__}.create_app: this backend makes no application")

    def assert_clean_start(self) -> None:  # noqa: B027
        """Raise if what an earlier simulator left in the process would break this one; called before all else."""

    def before_clear(self) -> None:  # noqa: B027
        """Called just before the simulator tears down what it owns."""

    def after_clear(self) -> None:  # noqa: B027
        """Called just after that, to undo :meth:`before_clear` and to release state of the engine."""

    def finalize(self) -> None:  # noqa: B027
        """Called once the simulator is gone, for what must outlive it."""

    def in_warmup(self) -> bool:
        """Whether the engine takes steps of its own, during which callers leave out their work by step."""
        return False

    @abstractmethod
    def add_ground_plane(self, prim_path: str, visible: bool = True, color: Any = None) -> Any:
        """Make a static ground through z = 0.

        Args:
            prim_path: Prim to make; its collider is ``<prim_path>/collisionPlane``.
            visible: Whether renderers show it.
            color: Red, green and blue from 0 to 1; None for the default.
        """

    def enable_extensions(self) -> None:  # noqa: B027
        """Set up the process, once, on a backend without a simulator."""

    def before_play(self, sim: Any) -> None:  # noqa: B027
        """Called on each transition from stopped to playing, before it."""

    # Life of the simulation.

    @abstractmethod
    def create_physics_context(self, physics_dt: float, rendering_dt: float, device: Any) -> Any:
        """Make what keeps play, pause, stop and time.

        Args:
            physics_dt: Length of a physics step [s].
            rendering_dt: Time between rendered frames [s], a multiple of ``physics_dt``.
            device: ``"cpu"`` or ``"cuda:N"``.
        """

    @abstractmethod
    def stop_step_callbacks(self) -> None:
        """Forget the functions of :meth:`start_step_callbacks`; without any nothing happens."""

    @abstractmethod
    def start_step_callbacks(self, pre_step_fn: Any, post_step_fn: Any, joint_break_fn: Any) -> None:
        """Have functions called.

        Args:
            pre_step_fn, post_step_fn: Called without arguments before and after each physics step.
            joint_break_fn: Called with each raw event; see :meth:`is_joint_break_event`.
        """

    @abstractmethod
    def apply_engine_settings(
        self,
        gravity: float,
        enable_ccd: bool,
        use_gpu_dynamics: bool,
        gpu_pairs_capacity: int,
        gpu_aggr_pairs_capacity: int,
        gpu_max_particle_contacts: int,
        gpu_max_rigid_contact_count: int,
        gpu_max_rigid_patch_count: int,
    ) -> None:
        """Apply settings of the whole engine.

        Args:
            gravity: Magnitude, downwards [m/s²].
            enable_ccd: Whether bodies that ask for it are kept from passing through others.
            use_gpu_dynamics: Whether the solver runs on the GPU, for engines that choose it apart from the device.
            gpu_pairs_capacity, gpu_aggr_pairs_capacity, gpu_max_particle_contacts: Sizes of buffers of engines that
                need them in advance.
            gpu_max_rigid_contact_count, gpu_max_rigid_patch_count: Likewise.
        """

    @abstractmethod
    def get_physics_context(self) -> Any:
        """The object that :meth:`create_physics_context` made."""

    @property
    @abstractmethod
    def stage(self) -> Any:
        """The USD stage that is simulated."""

    @property
    @abstractmethod
    def current_time(self) -> float:
        """Simulated time since play [s]."""

    @property
    @abstractmethod
    def current_time_step_index(self) -> int:
        """Physics steps since play."""

    @property
    @abstractmethod
    def initial_physics_dt(self) -> float:
        """Physics step that the context was made with [s]."""

    @property
    @abstractmethod
    def initial_rendering_dt(self) -> float:
        """Rendering step that the context was made with [s]."""

    @abstractmethod
    def is_playing(self) -> bool:
        """Whether steps advance time: neither paused nor stopped."""

    @abstractmethod
    def is_stopped(self) -> bool:
        """Whether the simulation is stopped; when paused it is neither stopped nor playing."""

    @abstractmethod
    def get_physics_dt(self) -> float:
        """Length of a physics step [s]."""

    @abstractmethod
    def get_rendering_dt(self) -> float:
        """Time between rendered frames [s]."""

    @abstractmethod
    def set_simulation_dt(self, physics_dt: float | None = None, rendering_dt: float | None = None) -> None:
        """Set step lengths [s]; None leaves one as it is."""

    @abstractmethod
    def get_device(self) -> Any:
        """Device of the simulation, ``"cpu"`` or ``"cuda:N"``."""

    @abstractmethod
    def set_device(self, device: Any) -> None:
        """Set the device; it holds from the next play."""

    @abstractmethod
    def play(self) -> None:
        """Start from stopped, or go on from paused."""

    @abstractmethod
    def pause(self) -> None:
        """Keep time and state until the next play."""

    @abstractmethod
    def stop(self) -> None:
        """Go back to the start: time and step count are zero, and the state is that of the stage."""

    @abstractmethod
    def render(self) -> None:
        """Bring renderers up to date without advancing time."""

    @abstractmethod
    def step(self, render: bool) -> None:
        """Advance by the physics steps of one rendered frame and render, or without rendering by one physics step."""

    @abstractmethod
    def step_physics_once(self, current_time: float) -> None:
        """Advance by one physics step, for loops that settle a scene.

        Args:
            current_time: Time at the start of the step as the caller counts it [s].
        """

    # Batch views.

    @property
    @abstractmethod
    def physics_sim_view(self) -> Any:
        """The factory of batch views: ``create_articulation_view(pattern)``, ``create_rigid_body_view(pattern)`` and
        ``create_rigid_contact_view(pattern, filter_patterns, max_contact_data_count)``."""

    @abstractmethod
    def refresh_physics_sim_view(self) -> Any:
        """End the use of all batch views and make a new factory, after prims came or went."""

    @abstractmethod
    def invalidate_physics_sim_view(self) -> None:
        """End the use of all batch views; without any nothing happens."""

    @abstractmethod
    def flush_changes(self) -> None:
        """Have changes of the stage reach the engine without a step."""

    @abstractmethod
    def sync_to_render_layer(self) -> None:
        """Make poses of the engine visible to renderers and to reads of transforms."""

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

    def apply_rigid_body_schemas(self, prim: Any) -> None:  # noqa: B027
        """Author what the engine needs on a rigid body."""

    def apply_collision_schemas(self, prim: Any) -> None:  # noqa: B027
        """Author what the engine needs on a collider."""

    def configure_collision_approximation(self, prim: Any, approximation_type: str) -> None:  # noqa: B027
        """Author what the engine needs for an approximation.

        Args:
            prim: A collider.
            approximation_type: ``"convexHull"``, ``"convexDecomposition"``, ``"meshSimplification"``, ``"sdf"``,
                ``"none"``, ...
        """

    def apply_joint_schemas(self, prim: Any) -> None:  # noqa: B027
        """Author what the engine needs on a joint."""

    def apply_articulation_schemas(self, prim: Any, self_collisions: bool = False) -> None:  # noqa: B027
        """Author what the engine needs on the root of an articulation.

        Args:
            prim: The root.
            self_collisions: Whether its links collide with each other.
        """

    def strip_articulation_schemas(self, prim: Any) -> None:  # noqa: B027
        """Take off what :meth:`apply_articulation_schemas` authored; the generic schema is the caller's."""

    def enable_contact_reporting(self, prim: Any) -> None:  # noqa: B027
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
