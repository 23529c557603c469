"""What handles of single prims share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tensorphys_backend.errors import BackendError, StaleHandleError
from tensorphys_backend.world import World, to_numpy

if TYPE_CHECKING:
    from tensorphys import SimulationView

__all__ = ["Handle", "Owner", "independent", "to_wxyz", "to_xyzw"]


class Owner(Protocol):
    """What a handle reads of its backend; the backend implements it."""

    @property
    def stage(self) -> Any:
        """The stage."""

    @property
    def live_world(self) -> World | None:
        """The simulation, None while it is stopped."""

    @property
    def frontend_name(self) -> str:
        """Array library of handles."""

    def authored_pose(self, path: str) -> Any:
        """Authored pose of a prim, ``x y z qx qy qz qw``."""

    def current_view(self) -> SimulationView:
        """Factory of batch views of now."""

    def flush_changes(self) -> None:
        """Take over edits of the stage."""


def independent(array: Any) -> Any:
    """Copy of an array of a view, which the view will write no more."""
    return array.clone() if hasattr(array, "clone") else np.array(array)


def to_wxyz(quaternions: Any) -> Any:
    """Quaternions ``w x y z`` of quaternions ``x y z w``."""
    return quaternions[..., [3, 0, 1, 2]]


def to_xyzw(quaternions: Any) -> Any:
    """Quaternions ``x y z w`` of quaternions ``w x y z``."""
    return quaternions[..., [1, 2, 3, 0]]


class Handle(ABC):
    """One object of the simulation through a batch view of one row.

    A handle is bound by :meth:`initialize`, or on first use while the simulation plays. It is stale, and says so, once
    batch views were refreshed or invalidated, the simulation was stopped, or its prim has gone; :meth:`initialize` binds it
    anew.

    Args:
        owner: The backend.
        path: Prim path.
    """

    def __init__(self, owner: Owner, path: str) -> None:
        self._owner = owner
        self.prim_path = path
        self._view: Any = None

    def initialize(self, view: Any = None) -> None:
        """Bind to a factory of batch views.

        Args:
            view: The factory, ``backend.physics_sim_view``; None for that of now.

        Raises:
            PrimPathError: It has no such object.
            NotPlayingError: There is none.
        """
        self._view = None
        self._view = self._make(self._owner.current_view() if view is None else view)

    @abstractmethod
    def _make(self, factory: Any) -> Any:
        """Batch view of the one object."""

    def is_valid(self) -> bool:
        """Whether the prim is on the stage and active, or an instance that the simulation has."""
        prim = self._owner.stage.GetPrimAtPath(self.prim_path)
        world = self._owner.live_world
        return bool(prim.IsActive()) if prim else world is not None and self.prim_path in world.instances

    def is_physics_handle_valid(self) -> bool:
        """Whether the handle is bound to the simulation that plays."""
        return self._view is not None and self.is_valid() and bool(self._view.check())

    @property
    def _physics_view(self) -> Any:
        """The batch view of one row; None before the handle was bound."""
        return self._view

    @property
    def _bound(self) -> Any:
        """The batch view, bound on first use.

        Raises:
            StaleHandleError: The handle was bound to what is no more.
            NotPlayingError: There is no simulation.
        """
        if not self.is_valid():
            raise StaleHandleError(f"{self.prim_path}: the prim is no longer on the stage")
        if self._view is None:
            self.initialize()
        elif not self._view.check():
            raise StaleHandleError(
                f"{self.prim_path}: the handle was bound before views were refreshed or the simulation was stopped; "
                "call initialize(physics_sim_view)"
            )
        return self._view

    def _posed(self, pose: Any, positions: Any, orientations: Any) -> Any:
        """A pose of shape [1, 7] with another position, and quaternion ``w x y z``, where they are given."""
        pose = independent(pose)
        if positions is not None:
            pose[:, :3] = self._array(positions, (1, 3))
        if orientations is not None:
            pose[:, 3:] = to_xyzw(self._array(orientations, (1, 4)))
        return pose

    def _array(self, data: Any, shape: tuple[int, ...], *, host: bool = False) -> Any:
        world = self._owner.live_world
        if world is None:
            raise BackendError(f"{self.prim_path}: there is no simulation")
        values = to_numpy(data)
        if values.size != int(np.prod(shape)):
            raise ValueError(f"{self.prim_path}: expected {shape} numbers, given {values.shape}")
        return world.array(values, shape, host=host)
