"""The entry point: one simulation seen through one array library."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import warp as wp

from tensorphys.articulation_view import ArticulationView
from tensorphys.contact_pairs import pair_contacts
from tensorphys.contact_view import RigidContactView
from tensorphys.errors import ViewError
from tensorphys.kinds import ObjectType
from tensorphys.rigid_body_view import RigidBodyView
from tensorphys.selection import articulation_layout, rigid_body_layout, select
from tensorphys.soft_factories import SoftViewFactories
from tensorphys.subspaces import Subspaces
from tensorphys.view import TensorView

if TYPE_CHECKING:
    from tensorphys.core import Core
    from tensorphys.sdf_shape_view import SdfShapeView
    from tensorphys_engine import JointBreak, Simulation

__all__ = ["SimulationView"]

OnNoMatch = Literal["raise", "empty"]


class SimulationView(SoftViewFactories):
    """One simulation; made by :func:`tensorphys.create_simulation_view`, and maker of views of its objects.

    Attributes:
        simulation: The simulation behind the view, for what the tensor API does not say.
    """

    # Factories of other conventions make views of their own.
    _articulation_view: type[ArticulationView] = ArticulationView

    def __init__(self, core: Core) -> None:
        self._core = core
        self.simulation: Simulation = core.simulation
        self._subspaces = Subspaces(core)
        self._views: weakref.WeakSet[TensorView | RigidContactView] = weakref.WeakSet()

    # The simulation as a whole.

    @property
    def device(self) -> Any:
        """Device of the state arrays: ``"cpu"`` or ``"cuda:N"``, with torch a ``torch.device``."""
        return self._core.frontend.report_device(self._core.device)

    @property
    def device_ordinal(self) -> int:
        """Number of the CUDA device, -1 on the CPU."""
        device = wp.get_device(self._core.device)
        return -1 if device.is_cpu else int(device.ordinal)

    @property
    def cuda_context(self) -> int | None:
        """CUDA context of the simulation, ``None`` on the CPU."""
        device = wp.get_device(self._core.device)
        return None if device.is_cpu else int(device.context)

    @property
    def is_valid(self) -> bool:
        """Whether data may be read and written."""
        return self._core.valid

    def invalidate(self) -> None:
        """End the use of this view and of all views made from it; names and shapes can still be read."""
        self._core.valid = False

    def check(self) -> bool:
        """Whether this view and all views made from it are valid.

        Raises:
            DataError: On CUDA, when an earlier setter was given a pose that is none.
            IndexError: On CUDA, when it was given an index outside of its view.
            ContactOverflowError: Contacts did not fit their buffers and ``on_overflow`` is ``"raise"``.
        """
        if not self._core.valid:
            return False
        self.simulation.check_contacts()
        self.simulation.check_diverged()
        return all(view.check() for view in self._views if view._backend is not None)

    def step(self, dt: float) -> None:
        """Simulate.

        Args:
            dt: Time [s].
        """
        self._core.require_valid("SimulationView.step")
        with self._core.frontend.ordered_with_caller(self._core.device):
            self.simulation.step(float(dt))

    def set_gravity(self, gravity: Any) -> None:
        """Set gravity of all environments.

        Args:
            gravity: Vector [m/s²], world axes: three numbers, or an object with ``x``, ``y``, ``z``.

        Raises:
            TypeError: Anything else.
            StepError: A number is not finite.
        """
        self._core.require_valid("SimulationView.set_gravity")
        self.simulation.set_gravity(_vector(gravity))

    def get_gravity(self) -> tuple[float, float, float]:
        """Gravity [m/s²], world axes; that of the first environment if they differ."""
        self._core.require_valid("SimulationView.get_gravity")
        x, y, z = (self.simulation.gravity[0] + 0.0).tolist()  # no negative zeros
        return x, y, z

    def update_articulations_kinematic(self) -> None:
        """Bring link poses and velocities up to date; setters of this API have done so already.

        Call it after writing to the arrays of ``simulation.state`` by hand.
        """
        self._core.require_valid("SimulationView.update_articulations_kinematic")
        with self._core.frontend.ordered_with_caller(self._core.device):
            self.simulation.refresh()

    def initialize_kinematic_bodies(self) -> None:
        """Do nothing: kinematic bodies report their poses from the start."""
        self._core.require_valid("SimulationView.initialize_kinematic_bodies")

    def get_joint_breaks(self) -> list[JointBreak]:
        """Joints that broke since the last call, each once, with path, step and load (an extension).

        Joints outside of articulations break when their load is beyond ``physics:breakForce`` or ``breakTorque``.
        """
        self._core.require_valid("SimulationView.get_joint_breaks")
        return self.simulation.take_joint_breaks()

    def clear_forces(self) -> None:
        """Drop forces and torques applied since the last step; actuation forces of joints stay."""
        self._core.require_valid("SimulationView.clear_forces")
        with self._core.frontend.ordered_with_caller(self._core.device):
            self._core.array("control.link_force").zero_()
            self._core.array("control.link_torque").zero_()

    def flush(self) -> bool:
        """Do nothing and return True; deprecated in the known implementation: setters act at once."""
        self._core.require_valid("SimulationView.flush")
        self._core.warn("SimulationView.flush is deprecated and does nothing: setters act at once")
        return True

    def enable_warnings(self, enable: bool) -> None:
        """Whether rows and prims that are left out are logged as warnings."""
        self._core.warnings = bool(enable)

    def set_subspace_roots(self, pattern: str | Sequence[str]) -> None:
        """Have views that are made from now on report positions relative to the prims that a pattern matches.

        Only the translation that each prim has now counts. Poses below a root are given and taken relative to
        it; velocities, forces and the positions of forces are not affected. With the roots of the environments
        the values are those of the environment's own frame, bit for bit.

        Args:
            pattern: Pattern, or a list; ``"/"`` goes back to the world.

        Raises:
            NoMatchError: A pattern matches nothing.
            ViewError: The translation of a prim is not known.
        """
        self._core.require_valid("SimulationView.set_subspace_roots")
        self._subspaces.set(pattern)

    def get_object_type(self, path: str) -> ObjectType:
        """What the prim at a path is: link first, then articulation, joint, free body; else ``Invalid``."""
        from tensorphys_engine import Role

        self._core.require_valid("SimulationView.get_object_type")
        directory = self._core.catalog.directory
        node = directory.tree.find(path.rstrip("/") or "/")
        if node is None:
            return ObjectType.Invalid
        role = Role(int(directory.entities([node]).role[0]))
        for bit, kind in (
            (Role.ROOT_LINK, ObjectType.ArticulationRootLink),
            (Role.LINK, ObjectType.ArticulationLink),
            (Role.ARTICULATION, ObjectType.Articulation),
            (Role.JOINT, ObjectType.ArticulationJoint),
            (Role.FREE_BODY, ObjectType.RigidBody),
        ):
            if role & bit:
                return kind
        return ObjectType.Invalid

    # Views of objects.

    def create_articulation_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> ArticulationView:
        """View of articulations.

        Args:
            pattern: Prim path pattern, or a list; it matches prims with the articulation root schema, links or
                joints, and means the articulation that they belong to.
            on_no_match: ``"raise"``, or ``"empty"`` for a view whose ``_backend`` is ``None``; default
                ``"raise"`` (with ``conventions="runtime"``: ``"empty"``).

        Returns:
            The view; rows in the order of the patterns, then of the stage.

        Raises:
            PatternError: The text is no pattern.
            NoMatchError: It matches nothing.
            NotSuitableError: It matches prims, none of which belongs to an articulation.
        """
        self._core.require_valid("SimulationView.create_articulation_view")
        found = select(self._core, pattern, "articulation", self._no_match(on_no_match))
        if found is None:
            return self._keep(self._articulation_view(self._core, None, None))
        catalog = self._core.catalog
        subspaces = self._subspaces.of(catalog.paths(found.objects))
        layout = articulation_layout(catalog, found.objects, subspaces)
        return self._keep(self._articulation_view(self._core, found.objects, layout))

    def create_rigid_body_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> RigidBodyView:
        """View of rigid bodies.

        Args:
            pattern: Prim path pattern, or a list; it matches free and kinematic bodies, links, and prims with
                the articulation root schema, which mean their root link.
            on_no_match: As for ``create_articulation_view``.

        Returns:
            The view; rows in the order of the patterns, then of the stage.

        Raises:
            PatternError: The text is no pattern.
            NoMatchError: It matches nothing.
            NotSuitableError: It matches prims, none of which is a rigid body.
        """
        self._core.require_valid("SimulationView.create_rigid_body_view")
        found = select(self._core, pattern, "rigid body", self._no_match(on_no_match))
        if found is None:
            return self._keep(RigidBodyView(self._core, [], None))
        layout = rigid_body_layout(self._core.catalog, found, self._subspaces.of(found.paths))
        return self._keep(RigidBodyView(self._core, found.paths, layout))

    def create_rigid_contact_view(
        self,
        pattern: str | Sequence[str],
        filter_patterns: Sequence[str] | Sequence[Sequence[str]] | None = None,
        max_contact_data_count: int = 0,
        *,
        on_no_match: OnNoMatch | None = None,
    ) -> RigidContactView:
        """View of the contacts of sensors, and between each sensor and its filters.

        A sensor or filter is a rigid body, or a collider, static ones included. A filter pattern that matches as
        many prims as the sensor pattern gives one to each; one that matches a single prim gives it to all.

        Args:
            pattern: Prim path pattern of the sensors, or a list.
            filter_patterns: Patterns of the filters: a list for one sensor pattern; for a list of sensor patterns a
                list for each, all of one length. ``None`` or empty for no filters.
            max_contact_data_count: Room for single contact points, over all sensors and filters.
            on_no_match: As for ``create_articulation_view``; with ``"empty"`` a filter that does not fit is an empty
                column, and logged as an error.

        Returns:
            The view; sensors in the order of the patterns, then of the stage.

        Raises:
            PatternError: A text is no pattern.
            NoMatchError: A pattern matches nothing.
            NotSuitableError: A pattern matches neither rigid bodies nor colliders.
            PairingError: Sensors and filters do not fit together.
            ViewError: ``max_contact_data_count`` is no count.
        """
        self._core.require_valid("SimulationView.create_rigid_contact_view")
        room = int(max_contact_data_count)
        if not 0 <= room < 2**31:
            raise ViewError(
                "SimulationView.create_rigid_contact_view: max_contact_data_count must lie in 0..2147483647, "
                f"given {max_contact_data_count}"
            )
        filters = () if filter_patterns is None else filter_patterns
        pairs = pair_contacts(self._core, pattern, filters, self._no_match(on_no_match))
        return self._keep(RigidContactView(self._core, pairs, room))

    def create_sdf_shape_view(
        self, pattern: str, num_points: int, *, on_no_match: OnNoMatch | None = None
    ) -> SdfShapeView:
        """View of colliders with approximation ``sdf``; their fields are made here.

        Args:
            pattern: Prim path pattern of the colliders.
            num_points: Query points of each shape.
            on_no_match: As for ``create_articulation_view``.

        Returns:
            The view; rows in the order of the pattern, then of the stage.

        Raises:
            PatternError: The text is no pattern.
            NoMatchError: It matches nothing.
            NotSuitableError: It matches prims, none of which is such a collider.
            ViewError: ``num_points`` is negative or no whole number.
        """
        self._core.require_valid("SimulationView.create_sdf_shape_view")
        from tensorphys.sdf_shape_view import create_sdf_shape_view

        return self._keep(create_sdf_shape_view(self._core, pattern, num_points, self._no_match(on_no_match)))

    def _no_match(self, asked: OnNoMatch | None) -> OnNoMatch:
        if asked is None:
            return "empty" if self._core.conventions == "runtime" else "raise"
        if asked not in ("raise", "empty"):
            raise ViewError(f"on_no_match: expected 'raise' or 'empty', given {asked!r}")
        return asked

    def _keep(self, view: Any) -> Any:
        self._views.add(view)
        return view


def _vector(value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Three numbers of a sequence, or of an object with x, y and z."""
    if all(hasattr(value, name) for name in "xyz"):
        value = (value.x, value.y, value.z)
    try:
        vector = np.asarray([float(number) for number in value])
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"gravity: expected three numbers or an object with x, y, z, given {value!r}"
        ) from error
    if vector.shape != (3,):
        raise TypeError(f"gravity: expected three numbers or an object with x, y, z, given {value!r}")
    return vector
