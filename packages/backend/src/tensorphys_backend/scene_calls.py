"""The part of the backend that answers queries of the scene, reads cloth and decodes events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from pxr import UsdGeom

from tensorphys_backend.cloth import author_stiffness, authored_stiffness
from tensorphys_backend.errors import ForeignEventError, PrimPathError
from tensorphys_backend.events import JointBreakEvent
from tensorphys_backend.interface import PhysicsBackend
from tensorphys_backend.live import LiveStage
from tensorphys_backend.paths import decode_path
from tensorphys_backend.probes import mesh_of_prim, probe_of_prim
from tensorphys_contact import create_mesh_query

__all__ = ["SceneCalls"]

ReportFunction = Callable[[Any], bool]


class SceneCalls(PhysicsBackend):
    """Scene queries, cloth and events; see ``PhysicsBackend``."""

    @property
    @abstractmethod
    def live(self) -> LiveStage:
        """The stage and its simulation."""

    # Queries. The names of parameters are those of the interface.

    def raycast_closest(
        self,
        origin: Any,
        dir: Any,  # noqa: A002
        distance: float,
        bothSides: bool = False,
    ) -> dict[str, Any]:
        """Nearest hit of a ray; see ``PhysicsBackend``.

        A hit has three more fields: ``faceIndex``, the triangle of a mesh, else -1; ``material``, the path of the physics
        material, empty where none is bound; ``protoIndex``, the instance of a point instancer, else 0xFFFFFFFF.

        Args:
            origin: Start [m].
            dir: Direction.
            distance: Longest distance [m].
            bothSides: Whether the back sides of triangle meshes are hit, too; those of double-sided meshes always are.

        Raises:
            NotPlayingError: The simulation is stopped.
            QueryError: Numbers that are no ray.
        """
        return self.live.queries.closest([origin], [dir], [distance], bothSides)[0]

    def raycast_closest_batch(
        self, origins: Sequence[Any], dirs: Sequence[Any], distances: Sequence[float]
    ) -> list[dict[str, Any]]:
        """Nearest hits of many rays in one launch; see ``PhysicsBackend`` and :meth:`raycast_closest`."""
        return self.live.queries.closest(origins, dirs, distances, False)

    def raycast_all(
        self,
        origin: Any,
        dir: Any,  # noqa: A002
        distance: float,
        reportFn: ReportFunction,
        bothSides: bool = False,
    ) -> bool:
        """Report the hit with each collider, nearest first, until ``reportFn`` returns False.

        Args:
            origin: Start [m].
            dir: Direction.
            distance: Longest distance [m].
            reportFn: Called with a :class:`RayHit`.
            bothSides: As of :meth:`raycast_closest`.

        Returns:
            Whether anything was hit.
        """
        return self.live.queries.all_hits(origin, dir, distance, reportFn, bothSides)

    def overlap_sphere(
        self, radius: float, pos: Any, reportFn: ReportFunction | None, anyHit: bool = False
    ) -> int:
        """Report what a sphere overlaps, until ``reportFn`` returns False or, with ``anyHit``, once.

        Args:
            radius: [m].
            pos: Centre [m].
            reportFn: Called with an :class:`OverlapHit`.
            anyHit: Whether one is enough.

        Returns:
            Number of hits.
        """
        return self.live.queries.sphere(radius, pos, reportFn, anyHit)

    def overlap_box(
        self,
        halfExtent: Any,
        pos: Any,
        rot: Any,
        reportFn: ReportFunction | None,
        anyHit: bool = False,
    ) -> int:
        """Report what a box overlaps, exactly; see :meth:`overlap_sphere`.

        Args:
            halfExtent: Half extents [m].
            pos: Centre [m].
            rot: Quaternion ``x y z w``.
            reportFn, anyHit: As of :meth:`overlap_sphere`.

        Returns:
            Number of hits.
        """
        return self.live.queries.box(halfExtent, pos, rot, reportFn, anyHit)

    def overlap_mesh(
        self, meshPath0: Any, meshPath1: Any, reportFn: ReportFunction | None, anyHit: bool = False
    ) -> int:
        """Report what a prim overlaps: a collider, itself included, or a mesh, cube or round shape that is none.

        Meshes ask by their triangles and, where they are closed, by their inside.

        Args:
            meshPath0, meshPath1: Its path by :func:`tensorphys_backend.encode_path`; or the path and anything.
            reportFn, anyHit: As of :meth:`overlap_sphere`.

        Returns:
            Number of hits.

        Raises:
            PrimPathError: No prim of the stage is meant.
            QueryError: It is none of these, or a plane, which is endless.
        """
        live = self.live
        queries, colliders = live.queries, live.colliders
        path = decode_path(self.stage, meshPath0, meshPath1)
        if colliders.has(path):
            asked, own = colliders.ask(path)
            return queries.overlaps(asked, reportFn, anyHit, own)
        transform, prim = live.poses.world(path), self.stage.GetPrimAtPath(path)
        if prim.IsA(UsdGeom.Mesh):
            mesh, pose = mesh_of_prim(prim, transform)
            device = live.require("overlap_mesh").simulation.device
            return queries.overlaps([create_mesh_query(mesh, pose, device=device)], reportFn, anyHit)
        return queries.overlaps([queries.shape(*probe_of_prim(prim, transform))], reportFn, anyHit)

    def overlap_shape(
        self, meshPath0: Any, meshPath1: Any, reportFn: ReportFunction | None, anyHit: bool = False
    ) -> int:
        """Report what a prim overlaps; the same as :meth:`overlap_mesh`."""
        return self.overlap_mesh(meshPath0, meshPath1, reportFn, anyHit)

    def overlap_sphere_any(self, radius: float, pos: Any) -> bool:
        """Whether a sphere overlaps anything."""
        return self.live.queries.sphere(radius, pos, None, True) > 0

    # Cloth.

    def get_cloth_particle_positions(self, prim_path: str, idxs: Any = None) -> Any:
        """Positions of particles [m], world frame, float32, shape [N, 3], or of those in ``idxs``.

        Raises:
            NotPlayingError: The simulation is stopped.
            PrimPathError: No simulated cloth is there.
        """
        return self.live.cloth.read(prim_path, "positions", idxs)

    def set_cloth_particle_positions(self, prim_path: str, positions: Any, idxs: Any = None) -> None:
        """Set positions of particles [m], world frame; velocities stay. Errors as of the getter."""
        self.live.cloth.write(prim_path, "positions", positions, idxs)

    def get_cloth_particle_velocities(self, prim_path: str) -> Any:
        """Velocities of particles [m/s], world axes, float32, shape [N, 3]; errors as of the positions."""
        return self.live.cloth.read(prim_path, "velocities")

    def set_cloth_particle_velocities(self, prim_path: str, velocities: Any) -> None:
        """Set velocities of particles [m/s], world axes; errors as of the positions."""
        self.live.cloth.write(prim_path, "velocities", velocities)

    def get_cloth_stiffness(self, prim_path: str) -> dict[str, float]:
        """Springs made from the mesh of a cloth: ``bend``, ``shear``, ``stretch`` [N/m], ``damping`` [N s/m].

        Raises:
            PrimPathError: The stage has no such prim.
        """
        return authored_stiffness(self._cloth_prim(prim_path))

    def set_cloth_stiffness(
        self,
        prim_path: str,
        bend: float | None = None,
        damping: float | None = None,
        shear: float | None = None,
        stretch: float | None = None,
    ) -> None:
        """Author springs of a cloth; while the simulation plays they act from the next step on.

        Raises:
            PrimPathError: The stage has no such prim.
            ValueError: A value is negative or not finite.
            BackendError: The springs of the cloth are authored one by one.
        """
        values = {"bend": bend, "damping": damping, "shear": shear, "stretch": stretch}
        author_stiffness(self._cloth_prim(prim_path), values)
        self.live.flush()

    def _cloth_prim(self, path: str) -> Any:
        prim = self.stage.GetPrimAtPath(path)
        if not prim:
            raise PrimPathError(f"{path}: the stage has no such prim")
        return prim

    # Events.

    def is_joint_break_event(self, event: Any) -> bool:
        """Whether this backend delivered an event, and it says that a joint broke."""
        return isinstance(event, JointBreakEvent) and event.source is self

    def decode_joint_break_event(self, event: Any) -> str:
        """Prim path of the joint that broke.

        Raises:
            ForeignEventError: This backend did not deliver the event.
        """
        if not self.is_joint_break_event(event):
            raise ForeignEventError(f"decode_joint_break_event: not delivered by this backend: {event!r}")
        return str(event.joint_path)
