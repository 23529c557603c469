"""Rigid bodies as batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tensorphys.body_properties import BodyPropertyView
from tensorphys.fields import RIGID_BODY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorphys.core import Core
    from tensorphys.fields import Field
    from tensorphys.rows import Layout

__all__ = ["RigidBodyView"]


class RigidBodyView(BodyPropertyView):
    """Rigid bodies, one row each: free ones, kinematic ones and links of articulations.

    Made by ``SimulationView.create_rigid_body_view``. Poses are ``[x y z qx qy qz qw]`` of the body frame, in
    the world or in the subspace of the row. Velocities are ``[linear, angular]`` in world axes, linear at the
    centre of mass. ``indices=None`` means all rows.
    """

    _fields: ClassVar[Mapping[str, Field]] = RIGID_BODY_FIELDS

    def __init__(self, core: Core, paths: list[str], layout: Layout | None) -> None:
        super().__init__(core, layout)
        self._matched = paths

    @property
    def prim_paths(self) -> list[str]:
        """Path that the pattern matched, of each row."""
        return self._matched

    # State.

    def get_transforms(self) -> Any:
        """Pose of each body, shape [count, 7]."""
        return self._get("transforms")

    def set_transforms(self, data: Any, indices: Any) -> None:
        """Set poses. Links that are no roots follow their joints: their rows are left out with a warning."""
        self._warn_left_out("set_transforms", ("root_pose",), "follow their joints")
        self._set("transforms", data, indices)

    def get_velocities(self) -> Any:
        """Velocity of each body, shape [count, 6]."""
        return self._get("velocities")

    def set_velocities(self, data: Any, indices: Any) -> None:
        """Set velocities; a kinematic body goes on with its until it is given another one.

        Links that are no roots, and roots of fixed bases, have no velocity of their own: their rows are left
        out with a warning.
        """
        self._warn_left_out(
            "set_velocities", ("root_velocity", "root_prescribed"), "have no velocity of their own"
        )
        self._set("velocities", data, indices)

    def get_accelerations(self) -> Any:
        """Acceleration of each body in the last step, mean over it, shape [count, 6].

        Layout as of velocities; gravity is in it: a falling body has that of gravity. Zero before the first step,
        and for objects whose state was set since the last one.
        """
        return self._get("accelerations")

    def set_kinematic_targets(self, data: Any, indices: Any) -> None:
        """Have kinematic bodies reach poses at the end of the next step, shape [count, 7].

        They move there at constant speed, push what is in their way, and then rest. Rows of other bodies are left out
        with a warning.
        """
        self._warn_left_out("set_kinematic_targets", ("root_prescribed",), "are not kinematic")
        self._set("kinematic_targets", data, indices)

    def get_disable_simulations(self) -> Any:
        """1 where a body is out of the simulation, uint8, shape [count, 1]."""
        return self._get("disable_simulations")

    def set_disable_simulations(self, data: Any, indices: Any) -> None:
        """Take bodies out of the simulation (1) or back in (0); one that is out stands still and touches nothing.

        Links of articulations stay in: their rows are left out with a warning.
        """
        self._set("disable_simulations", data, indices)

    # Inputs.

    def apply_forces(self, data: Any, indices: Any, is_global: bool = True) -> bool:
        """Apply forces [N], shape [count, 3], as ``apply_forces_and_torques_at_position`` without positions."""
        self._rows("apply_forces")
        self._transfer.apply(data, None, None, indices, is_global, "RigidBodyView.apply_forces")
        return True

    def apply_forces_and_torques_at_position(
        self, force_data: Any, torque_data: Any, position_data: Any, indices: Any, is_global: bool
    ) -> bool:
        """Apply forces and torques during the next step; calls before it add up. Kinematic bodies feel none.

        Args:
            force_data: Forces [N], shape [count, 3], or ``None``.
            torque_data: Torques [N m], likewise.
            position_data: Points where the forces act [m], likewise; ``None`` for the origin of each body frame
                (with ``conventions="runtime"``: its centre of mass).
            indices: Rows.
            is_global: Whether all is in world axes, and positions in the world (subspaces do not count);
                otherwise in the frame of each body.

        Returns:
            True.

        Raises:
            ViewError: Neither forces nor torques are given, or positions without forces.
        """
        self._rows("apply_forces_and_torques_at_position")
        what = "RigidBodyView.apply_forces_and_torques_at_position"
        self._transfer.apply(force_data, torque_data, position_data, indices, is_global, what)
        return True
