"""Loads, matrices, forces and mass centres of articulations, evaluated when they are asked for."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import warp as wp

from tensorphys._kernels.gather import gather_points, gather_rows, gather_values
from tensorphys.body_properties import BodyPropertyView
from tensorphys.errors import ViewError
from tensorphys.fields import ARTICULATION_QUANTITIES
from tensorphys.transfer import as_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorphys.core import Core
    from tensorphys.fields import Quantity
    from tensorphys.rows import IntArray, Rows
    from tensorphys_arrays import Buffer

__all__ = ["ArticulationQuantityView"]


class _Reader:
    """Evaluates quantities for the rows of a view.

    Args:
        core: What all views share.
        rows: Rows of the view.
        articulations: Articulation of each row, shape [count].

    Attributes:
        quantities: Quantities of the different articulations of the view.
        floating: Whether each row has a floating base.
    """

    def __init__(self, core: Core, rows: Rows, articulations: IntArray) -> None:
        different, place = np.unique(articulations, return_inverse=True)
        self._core, self._rows = core, rows
        self.quantities = core.quantities(different)
        self.floating = core.catalog.floating[articulations]
        self._place = wp.array(place.astype(np.int32).reshape(-1), dtype=wp.int32, device=core.device)
        self._buffers: dict[str, Buffer] = {}

    def _buffer(self, name: str, shape: tuple[int, ...]) -> Buffer:
        if name not in self._buffers:
            self._buffers[name] = self._core.frontend.allocate(shape, wp.float32, self._core.device)
        return self._buffers[name]

    def read(self, quantity: Quantity, shape: tuple[int, ...], **options: bool) -> Any:
        """Evaluate a quantity and return the view's array of it, the same object on each call.

        Args:
            quantity: Row of the table.
            shape: Shape of one row of the view.
            options: Arguments of the method that evaluates it.
        """
        core, count = self._core, self._rows.count
        buffer = self._buffer(quantity.name, (count, *shape))
        size = math.prod(shape)
        if size == 0:
            return buffer.array
        # whose sums a step takes; contact buffers that grow make a new one
        self.quantities.solver = core.simulation.solver
        with core.frontend.ordered_with_caller(core.device):
            core.settle()
            values = getattr(self.quantities, quantity.source)(**options)
            if quantity.slots:
                target = buffer.warp.reshape((count, size, 1))
                inputs = [as_numbers(values), self._rows.slots[quantity.slots]]
                wp.launch(gather_values, target.shape, inputs, [target], device=core.device)
            elif quantity.is_position and not options.get("local_frame"):
                inputs = [values, self._place, *self._rows.world_offset]
                wp.launch(gather_points, count, inputs, [buffer.warp], device=core.device)
            else:
                target = buffer.warp.reshape((count, size))
                inputs = [as_numbers(values).reshape((-1, size)), self._place]
                wp.launch(gather_rows, target.shape, inputs, [target], device=core.device)
        return buffer.array


class ArticulationQuantityView(BodyPropertyView):
    """What articulations say about their motion: the part of ``ArticulationView`` that is evaluated on request.

    Generalized velocities, forces and accelerations stand in the order of degrees of freedom; where a base floats,
    six numbers of the root stand before them: linear at its centre of mass, then angular, world axes. Degrees of
    freedom have the sign of the joints of the stage in matrices, too.
    """

    _quantities: ClassVar[Mapping[str, Quantity]] = ARTICULATION_QUANTITIES
    _articulations: IntArray

    @property
    @abstractmethod
    def is_homogeneous(self) -> bool:
        """Whether all rows are of one kind."""

    @property
    @abstractmethod
    def max_links(self) -> int:
        """Links of the largest articulation."""

    @property
    @abstractmethod
    def max_dofs(self) -> int:
        """Degrees of freedom of the articulation that has most."""

    @cached_property
    def _reader(self) -> _Reader:
        return _Reader(self._core, self._rows("quantities"), self._articulations)

    def _read(self, name: str, shape: tuple[int, ...], **options: bool) -> Any:
        self._rows(f"get_{name}")
        return self._reader.read(self._quantities[name], shape, **options)

    def _root_count(self, what: str) -> int:
        """Generalized velocities of the root, the same in all rows.

        Raises:
            ViewError: Rows are of different kinds.
        """
        self._rows(what)
        if not self.is_homogeneous:
            raise ViewError(
                f"ArticulationView.{what}: expected a view of articulations of one kind, given "
                f"{self.count} rows of several; make a view of each kind"
            )
        return 6 if self._reader.floating[0] else 0

    def _force_count(self, what: str) -> int:
        self._rows(what)
        return self.max_dofs + (6 if self._reader.floating.any() else 0)

    @property
    def _armature(self) -> bool:
        return self._core.conventions == "documentation"

    def _deprecated(self, name: str, other: str) -> None:
        if name not in self._warned:
            self._warned.add(name)
            self._core.warn("ArticulationView.%s is deprecated; see %s", name, other)

    # What the last step did, as means over it. Zero before the first one, and where the state was set since.

    def get_link_accelerations(self) -> Any:
        """Acceleration of each link in the last step, shape [count, max_links, 6].

        Layout as of velocities; gravity is in it: a falling link has that of gravity.
        """
        return self._get("link_accelerations")

    def get_link_incoming_joint_force(self) -> Any:
        """Force [N] and torque [N m] that each joint gave in the last step, shape [count, max_links, 6].

        They act on body 1 of the joint, which is the child unless the joint is flipped, at the origin and in the
        axes of the joint frame at body 1. Drives, actuation, limits and friction of the joint are in them; mass
        times acceleration of a link is the sum of its joints, contacts, gravity and what was applied. Zero for
        roots.
        """
        return self._get("link_incoming_joint_force")

    def get_dof_projected_joint_forces(self) -> Any:
        """Part of the joint's load along each free axis [N or N m], shape [count, max_dofs].

        It is what drives, actuation, limits and friction of the joint give together, less what its armature takes.
        """
        return self._get("dof_projected_joint_forces")

    # Jacobians and mass matrices.

    @property
    def jacobian_shape(self) -> tuple[int, int]:
        """Rows and columns of a Jacobian: six rows a link, the fixed root left out; a column a generalized velocity.

        Raises:
            ViewError: Rows are of different kinds.
        """
        root = self._root_count("jacobian_shape")
        return (self.max_links - (root == 0)) * 6, self.max_dofs + root

    def get_jacobians(self) -> Any:
        """Velocities of links per generalized velocity, shape [count, jacobian_shape[0] // 6, 6, jacobian_shape[1]].

        The six are the linear velocity of the link's centre of mass and the angular velocity, world axes. A fixed
        root has no row: link k stands in row k − 1.

        Raises:
            ViewError: Rows are of different kinds.
        """
        rows, columns = self.jacobian_shape
        floating = columns > self.max_dofs
        return self._read("jacobians", (rows // 6, 6, columns), root=floating)

    @property
    def generalized_mass_matrix_shape(self) -> tuple[int, int]:
        """Rows and columns of a generalized mass matrix.

        Raises:
            ViewError: Rows are of different kinds.
        """
        size = self.max_dofs + self._root_count("generalized_mass_matrix_shape")
        return size, size

    def get_generalized_mass_matrices(self) -> Any:
        """Matrices from generalized accelerations to generalized forces, shape [count, size, size].

        The armature stands on the diagonal; with ``conventions="runtime"`` it does not.

        Raises:
            ViewError: Rows are of different kinds.
        """
        return self._read(
            "generalized_mass_matrices", self.generalized_mass_matrix_shape, armature=self._armature
        )

    @property
    def mass_matrix_shape(self) -> tuple[int, int]:
        """Rows and columns of the matrices of ``get_mass_matrices``; deprecated.

        Raises:
            ViewError: Rows are of different kinds.
        """
        self._root_count("mass_matrix_shape")
        return self.max_dofs, self.max_dofs

    def get_mass_matrices(self) -> Any:
        """Mass matrices of the joints alone, a floating base giving way, shape [count, max_dofs, max_dofs].

        Deprecated, see ``get_generalized_mass_matrices``.

        Raises:
            ViewError: Rows are of different kinds.
        """
        self._deprecated("get_mass_matrices", "get_generalized_mass_matrices")
        return self._read("mass_matrices", self.mass_matrix_shape, armature=self._armature)

    # Compensation forces.

    def get_gravity_compensation_forces(self) -> Any:
        """Generalized forces that hold the links against gravity [N, N m], shape [count, dofs or 6 + dofs].

        Six numbers of the root stand first as soon as one base of the view floats, zero in rows with a fixed one.
        """
        what = "gravity_compensation_forces"
        return self._read(what, (self._force_count(f"get_{what}"),))

    def get_coriolis_and_centrifugal_compensation_forces(self) -> Any:
        """Generalized forces that cancel Coriolis and centrifugal effects, shape as of gravity compensation."""
        what = "coriolis_and_centrifugal_compensation_forces"
        return self._read(what, (self._force_count(f"get_{what}"),))

    def get_generalized_gravity_forces(self) -> Any:
        """Joint forces that hold the joints against gravity [N, N m], shape [count, max_dofs].

        No force acts on a floating base, which falls. Deprecated, see ``get_gravity_compensation_forces``.
        """
        self._deprecated("get_generalized_gravity_forces", "get_gravity_compensation_forces")
        return self._read("generalized_gravity_forces", (self.max_dofs,))

    def get_coriolis_and_centrifugal_forces(self) -> Any:
        """Joint forces that cancel Coriolis and centrifugal effects, shape [count, max_dofs].

        No force acts on a floating base. Deprecated, see ``get_coriolis_and_centrifugal_compensation_forces``.
        """
        name = "get_coriolis_and_centrifugal_forces"
        self._deprecated(name, "get_coriolis_and_centrifugal_compensation_forces")
        return self._read("coriolis_and_centrifugal_forces", (self.max_dofs,))

    # Mass centre and momentum.

    def get_articulation_mass_center(self, local_frame: bool = False) -> Any:
        """Centre of mass of each articulation [m], shape [count, 3].

        Args:
            local_frame: Whether it is given in the frame of the root link, else in the world; subspaces do not
                count.
        """
        return self._read("articulation_mass_center", (3,), local_frame=bool(local_frame))

    def get_articulation_centroidal_momentum(self) -> Any:
        """Centroidal momentum matrix A, and dA/dt v in the last column, shape [count, 6, max_dofs + 7].

        A v is the momentum [linear, angular about the centre of mass of the articulation], world axes.

        Raises:
            ViewError: The base of a row is fixed.
        """
        what = "articulation_centroidal_momentum"
        self._rows(f"get_{what}")
        fixed = np.flatnonzero(~self._reader.floating)
        if fixed.size:
            raise ViewError(
                f"ArticulationView.get_{what}: expected floating bases, but that of {fixed.size} rows is fixed "
                f"(first: {self.prim_paths[int(fixed[0])]})"
            )
        return self._read(what, (6, self.max_dofs + 7))
