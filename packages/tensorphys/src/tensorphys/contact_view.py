"""Contact forces as batches."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from tensorphys.contact_reports import ContactReports
from tensorphys.contact_sensors import number_sensors, shape_colliders
from tensorphys.errors import ContactDataOverflowError, ContactDataOverflowWarning, DataError, ViewError

if TYPE_CHECKING:
    from tensorphys.contact_pairs import ContactPairs
    from tensorphys.core import Core

__all__ = ["RigidContactView"]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


class RigidContactView:
    """Contacts of sensors, and between each sensor and its filters, during the last step.

    Made by ``SimulationView.create_rigid_contact_view``. A sensor or filter is a rigid body with all its
    colliders, or one collider. Forces are impulses over the whole step divided by ``dt``, act on the sensor, and
    are in world axes; normals point from the second body of a contact to the first. Contacts that came near
    without touching are not reported.

    Getters own their arrays and hand out the same ones on every call, filled anew. Contact points are ordered by
    sensor, then by filter, then as the solver has them. Friction is in ``get_friction_data`` alone.

    Attributes:
        _backend: ``None`` when the patterns of the view matched nothing, as in the known implementation.
    """

    def __init__(self, core: Core, pairs: ContactPairs | None, max_contact_data_count: int) -> None:
        self._core = core
        self._pairs = pairs
        self._max_contact_data_count = max_contact_data_count
        self._backend: ContactReports | None = None
        self._told = 0
        if pairs is not None:
            shape_link = core.array("contact_model.shape_body").numpy()
            numbers = number_sensors(core.catalog, pairs, shape_link, core.device)
            self._backend = ContactReports(core, numbers, max_contact_data_count)

    # What the view is of.

    @property
    def sensor_count(self) -> int:
        """Number of sensors."""
        return self._backend.sensor_count if self._backend else 0

    @property
    def filter_count(self) -> int:
        """Number of filters of each sensor."""
        return self._backend.filter_count if self._backend else 0

    @property
    def max_contact_data_count(self) -> int:
        """Rows of the contact buffers."""
        return self._max_contact_data_count

    @property
    def sensor_paths(self) -> list[str]:
        """Path of each sensor."""
        return self._pairs.sensor_paths if self._pairs else []

    @property
    def filter_paths(self) -> list[list[str]]:
        """Path of each filter of each sensor; empty where a column could not be paired."""
        return self._pairs.filter_paths if self._pairs else []

    @property
    def sensor_names(self) -> list[str]:
        """Last part of the path of each sensor."""
        return [_name(path) for path in self.sensor_paths]

    @property
    def filter_names(self) -> list[list[str]]:
        """Last part of the path of each filter of each sensor."""
        return [[_name(path) for path in row] for row in self.filter_paths]

    # What happened.

    def get_net_contact_forces(self, dt: float) -> Any:
        """Normal contact force on each sensor by everything that it touches [N], shape [sensor_count, 3].

        Args:
            dt: Length of the step [s].

        Raises:
            ViewError: ``dt`` is not a positive number.
        """
        return self._get("net_contact_forces", dt)[0]

    def get_contact_force_matrix(self, dt: float) -> Any:
        """Normal contact force on each sensor by each of its filters [N], shape [sensor_count, filter_count, 3].

        Args:
            dt: Length of the step [s].

        Raises:
            ViewError: The view has no filters, or ``dt`` is not a positive number.
        """
        self._require("get_contact_force_matrix", filters=True)
        return self._get("contact_force_matrix", dt)[0]

    def get_net_friction_contact_forces(self, dt: float) -> Any:
        """Friction force on each sensor by everything that it touches but deformables [N], shape [sensor_count, 3].

        Args:
            dt: Length of the step [s].

        Raises:
            ViewError: ``dt`` is not a positive number.
        """
        return self._get("net_friction_contact_forces", dt)[0]

    def get_friction_contact_force_matrix(self, dt: float) -> Any:
        """Friction force on each sensor by each of its filters [N], shape [sensor_count, filter_count, 3].

        Args:
            dt: Length of the step [s].

        Raises:
            ViewError: The view has no filters, or ``dt`` is not a positive number.
        """
        self._require("get_friction_contact_force_matrix", filters=True)
        return self._get("friction_contact_force_matrix", dt)[0]

    def get_contact_data(self, dt: float) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Contact points between sensors and filters.

        Force times normal is the force on the sensor, and sums over the points of a sensor and filter to the
        entry of the force matrix. Rows beyond those in use are zero.

        Args:
            dt: Length of the step [s].

        Returns:
            Normal forces [N], shape [max_contact_data_count, 1]; points in the world [m], [.., 3]; normals,
            [.., 3]; separations [m], negative where shapes penetrate, [.., 1]; number of points and first row of
            each sensor and filter, [sensor_count, filter_count].

        Raises:
            ViewError: The view has no filters or no buffers, or ``dt`` is not a positive number.
            ContactDataOverflowError: The points do not fit and ``on_overflow`` is ``"raise"``; on CUDA raised by
                ``check()``.
        """
        self._require("get_contact_data", filters=True, data=True)
        force, point, normal, separation, count, start = self._get("contact_data", dt)
        return force, point, normal, separation, count, start

    def get_friction_data(self, dt: float) -> tuple[Any, Any, Any, Any]:
        """Friction forces on sensors by filters, at the points of ``get_contact_data``.

        Args:
            dt: Length of the step [s].

        Returns:
            Friction forces [N], shape [max_contact_data_count, 3]; points in the world [m], [.., 3]; number of
            points and first row of each sensor and filter, the arrays of ``get_contact_data``.

        Raises:
            ViewError: As for ``get_contact_data``.
            ContactDataOverflowError: Likewise.
        """
        self._require("get_friction_data", filters=True, data=True)
        force, point, count, start = self._get("friction_data", dt)
        return force, point, count, start

    def get_raw_contact_data(self, dt: float) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        """Contact points of sensors with anything, filters or not.

        Args:
            dt: Length of the step [s].

        Returns:
            Normal forces, points, normals and separations as from ``get_contact_data``; number of points and first
            row of each sensor, shape [sensor_count]; a number for what each point is with, 0 in unused rows,
            [max_contact_data_count], see ``get_other_actor_paths_from_ids``.

        Raises:
            ViewError: The view has no buffers, or ``dt`` is not a positive number.
            ContactDataOverflowError: As for ``get_contact_data``.
        """
        self._require("get_raw_contact_data", data=True)
        force, point, normal, separation, count, start, other = self._get("raw_contact_data", dt)
        return force, point, normal, separation, count, start, other

    def get_other_actor_paths_from_ids(self, other_actor_ids: Any) -> list[str]:
        """Paths of rigid bodies, and of colliders that never move, from the numbers of raw contact data.

        Args:
            other_actor_ids: Numbers, in an array of any library or in a sequence; those on a device are waited for.

        Returns:
            A path for each; ``""`` for 0.

        Raises:
            DataError: A number stands for nothing.
        """
        self._require("get_other_actor_paths_from_ids")
        host = other_actor_ids.cpu() if hasattr(other_actor_ids, "cpu") else other_actor_ids
        host = host.numpy() if hasattr(host, "numpy") else host
        ids = np.asarray(host).reshape(-1).astype(np.int64)
        known, row = np.unique(ids, return_inverse=True)
        paths = [self._path(int(number)) for number in known]
        return [paths[index] for index in row.reshape(-1).tolist()]

    def check(self) -> bool:
        """Whether the objects of this view still exist in the simulation.

        Returns:
            False after the simulation view was invalidated, or when the view matched nothing.

        Raises:
            ContactDataOverflowError: Contact points did not fit and ``on_overflow`` is ``"raise"``.
        """
        if not self._core.valid or self._backend is None:
            return False
        self._report_overflow(self._backend)
        return True

    def _require(self, what: str, *, filters: bool = False, data: bool = False) -> ContactReports:
        name = f"RigidContactView.{what}"
        self._core.require_valid(name)
        if self._backend is None:
            raise ViewError(f"{name}: the patterns of this view matched nothing")
        if filters and not self.filter_count:
            raise ViewError(f"{name}: this view has no filters; create it with filter_patterns")
        if data and not self._max_contact_data_count:
            raise ViewError(
                f"{name}: this view has no room for contact points; create it with max_contact_data_count > 0"
            )
        return self._backend

    def _get(self, getter: str, dt: float) -> tuple[Any, ...]:
        backend = self._require(f"get_{getter}")
        step = float(dt)
        if not (math.isfinite(step) and step > 0.0):
            raise ViewError(
                f"RigidContactView.get_{getter}: dt must be a positive number of seconds, given {dt}"
            )
        arrays = backend.get(getter, step)
        if self._core.on_host and not wp.get_device(self._core.device).is_capturing:
            self._report_overflow(backend)
        return arrays

    def _report_overflow(self, backend: ContactReports) -> None:
        """Raise or warn where contact points did not fit; a warning comes when more are needed than ever before."""
        needed = max(backend.needed("filtered"), backend.needed("raw"))
        if needed <= max(self._max_contact_data_count, self._told):
            return
        text = (
            f"contact data of {self.sensor_paths[0]} and {self.sensor_count - 1} other sensors: "
            f"max_contact_data_count is {self._max_contact_data_count}, needed are {needed}; "
            "the points that come first by sensor and filter were kept, forces and matrix are complete"
        )
        if self._core.simulation.on_overflow == "raise":
            backend.forget_needed()
            raise ContactDataOverflowError(text)
        self._told = needed
        warnings.warn(text, ContactDataOverflowWarning, stacklevel=4)

    @cached_property
    def _colliders(self) -> set[int]:
        return set(shape_colliders(self._core.catalog).tolist())

    def _path(self, number: int) -> str:
        if number == 0:
            return ""
        directory, links = self._core.catalog.directory, len(self._core.catalog.link_articulation)
        if 0 < number <= links:
            return directory.link_path(number - 1)
        shape = number - 1 - links
        if number < 0 or shape not in self._colliders:
            raise DataError(
                f"RigidContactView.get_other_actor_paths_from_ids: {number} is no number of this simulation"
            )
        return directory.shape_paths[shape]
