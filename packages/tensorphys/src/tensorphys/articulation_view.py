"""Articulations as batches."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tensorphys.articulation_tendons import ArticulationTendonView
from tensorphys.errors import ViewError
from tensorphys.fields import ARTICULATION_FIELDS
from tensorphys.kinds import DofMotion
from tensorphys.metatype import ArticulationMetatype, dof_paths_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorphys.core import Core
    from tensorphys.fields import Field
    from tensorphys.rows import IntArray, Layout
    from tensorphys_engine import ArticulationInfo

__all__ = ["ArticulationView"]


class ArticulationView(ArticulationTendonView):
    """Articulations, one row each; made by ``SimulationView.create_articulation_view``.

    Arrays have the widths of the largest articulation; what a smaller one lacks stays zero. Poses are
    ``[x y z qx qy qz qw]`` of the link frame, in the world or in the subspace of the row. Velocities are
    ``[linear, angular]`` in world axes, linear at the centre of mass. ``indices=None`` means all rows.
    """

    _fields: ClassVar[Mapping[str, Field]] = ARTICULATION_FIELDS

    def __init__(self, core: Core, articulations: IntArray | None, layout: Layout | None) -> None:
        super().__init__(core, layout)
        self._articulations = np.zeros(0, np.int32) if articulations is None else articulations

    # What the view holds.

    @cached_property
    def _kinds(self) -> tuple[list[ArticulationInfo], IntArray]:
        """Names and paths of the first articulation of each kind, and the kind of each row."""
        first, kind = self._core.catalog.kinds(self._articulations)
        return [self._core.catalog.info(int(a)) for a in first], kind

    @cached_property
    def _metatypes(self) -> list[ArticulationMetatype]:
        """Metatype of each kind, in the order of first rows."""
        return [self._core.catalog.metatype(info.articulation) for info in self._kinds[0]]

    @property
    def is_homogeneous(self) -> bool:
        """Whether all rows have the same tree, names, joint types, joint orientations and kind of base."""
        return len(self._metatypes) > 0 and all(kind == self._metatypes[0] for kind in self._metatypes[1:])

    @property
    def shared_metatype(self) -> ArticulationMetatype | None:
        """Metatype of all rows, ``None`` unless the view is homogeneous."""
        return self._metatypes[0] if self.is_homogeneous else None

    def get_metatype(self, arti_idx: int) -> ArticulationMetatype:
        """Metatype of a row.

        Args:
            arti_idx: Row.

        Raises:
            ViewError: There is no such row.
        """
        if not 0 <= arti_idx < self.count:
            raise ViewError(
                f"ArticulationView.get_metatype: expected a row from 0 to {self.count - 1}, given {arti_idx}"
            )
        return self._metatypes[int(self._kinds[1][arti_idx])]

    @property
    def max_links(self) -> int:
        """Links of the largest articulation."""
        return max((kind.link_count for kind in self._metatypes), default=0)

    @property
    def max_dofs(self) -> int:
        """Degrees of freedom of the articulation that has most."""
        return max((kind.dof_count for kind in self._metatypes), default=0)

    @property
    def prim_paths(self) -> list[str]:
        """Path of the prim with the root schema of each row, whatever prim the pattern matched."""
        return self._paths["prim"]

    @property
    def link_paths(self) -> list[list[str]]:
        """Path of each link of each row."""
        return self._paths["link"]

    @property
    def dof_paths(self) -> list[list[str]]:
        """Path of the joint of each degree of freedom of each row.

        The path of a joint with several is followed by the number of the axis, as in ``joint:2`` for Z; with
        ``conventions="runtime"`` it is the path alone.
        """
        return self._paths["dof"]

    @cached_property
    def _paths(self) -> dict[str, Any]:
        numbered = self._core.conventions == "documentation"
        labels = [info.labels for info in self._kinds[0]]
        return {
            "prim": self._core.catalog.paths(self._articulations),
            "link": self._spread([list(kind.link_paths) for kind in labels]),
            "dof": self._spread([dof_paths_of(kind, numbered=numbered) for kind in labels]),
        }

    def _spread(self, relative: list[list[str]]) -> list[list[str]]:
        """Paths of each row from those of each kind."""
        pairs = zip(self._core.catalog.prefixes(self._articulations), self._kinds[1].tolist(), strict=True)
        return [[prefix + path for path in relative[kind]] for prefix, kind in pairs]

    def _items(self, slots: str) -> int:
        return 0 if self._backend is None else int(self._backend.layout.slots[slots].shape[1])

    # State.

    def get_root_transforms(self) -> Any:
        """Pose of each root link, shape [count, 7]."""
        return self._get("root_transforms")

    def set_root_transforms(self, data: Any, indices: Any) -> None:
        """Set the pose of root links; the joint positions stay and the other links follow at once."""
        self._set("root_transforms", data, indices)

    def get_root_velocities(self) -> Any:
        """Velocity of each root link, shape [count, 6]."""
        return self._get("root_velocities")

    def set_root_velocities(self, data: Any, indices: Any) -> None:
        """Set the velocity of root links; fixed bases have none, their rows are left out with a warning."""
        self._warn_left_out("set_root_velocities", ("root_velocity",), "have a fixed base")
        self._set("root_velocities", data, indices)

    def get_link_transforms(self) -> Any:
        """Pose of each link, shape [count, max_links, 7]."""
        return self._get("link_transforms")

    def get_link_velocities(self) -> Any:
        """Velocity of each link, shape [count, max_links, 6]."""
        return self._get("link_velocities")

    def get_dof_positions(self) -> Any:
        """Joint positions [m or rad], shape [count, max_dofs]."""
        return self._get("dof_positions")

    def set_dof_positions(self, data: Any, indices: Any) -> None:
        """Set joint positions; link poses follow at once."""
        self._set("dof_positions", data, indices)

    def get_dof_velocities(self) -> Any:
        """Joint velocities [m/s or rad/s], shape [count, max_dofs]."""
        return self._get("dof_velocities")

    def set_dof_velocities(self, data: Any, indices: Any) -> None:
        """Set joint velocities; link velocities follow at once."""
        self._set("dof_velocities", data, indices)

    # Inputs.

    def get_dof_position_targets(self) -> Any:
        """Position targets of the drives [m or rad], shape [count, max_dofs]."""
        return self._get("dof_position_targets")

    def set_dof_position_targets(self, data: Any, indices: Any) -> None:
        """Set position targets of the drives."""
        self._set("dof_position_targets", data, indices)

    def get_dof_velocity_targets(self) -> Any:
        """Velocity targets of the drives [m/s or rad/s], shape [count, max_dofs]."""
        return self._get("dof_velocity_targets")

    def set_dof_velocity_targets(self, data: Any, indices: Any) -> None:
        """Set velocity targets of the drives."""
        self._set("dof_velocity_targets", data, indices)

    def get_dof_actuation_forces(self) -> Any:
        """Actuation forces [N or N m] as they were set, shape [count, max_dofs]."""
        return self._get("dof_actuation_forces")

    def set_dof_actuation_forces(self, data: Any, indices: Any) -> None:
        """Set actuation forces; they act beside the drives in every step until they are set again."""
        self._set("dof_actuation_forces", data, indices)

    def apply_forces_and_torques_at_position(
        self, force_data: Any, torque_data: Any, position_data: Any, indices: Any, is_global: bool
    ) -> bool:
        """Apply forces and torques to links during the next step; calls before it add up.

        Args:
            force_data: Forces [N], shape [count, max_links, 3], or ``None``.
            torque_data: Torques [N m], likewise.
            position_data: Points where the forces act [m], likewise; ``None`` for the origin of each link frame
                (with ``conventions="runtime"``: its centre of mass).
            indices: Rows.
            is_global: Whether all is in world axes, and positions in the world (subspaces do not count);
                otherwise in the frame of each link.

        Returns:
            True.

        Raises:
            ViewError: Neither forces nor torques are given, or positions without forces.
        """
        self._rows("apply_forces_and_torques_at_position")
        what = "ArticulationView.apply_forces_and_torques_at_position"
        self._transfer.apply(force_data, torque_data, position_data, indices, is_global, what)
        return True

    # Properties of joints; always CPU arrays.

    def get_dof_types(self) -> Any:
        """``DofType`` of each degree of freedom, uint8, shape [count, max_dofs]."""
        self._rows("get_dof_types")
        values, host = self._properties.buffer(self._fields["dof_types"])
        host[...] = 0
        for number, kind in enumerate(self._metatypes):
            host[self._kinds[1] == number, : kind.dof_count] = kind.dof_types
        return values

    def get_dof_motions(self) -> Any:
        """``DofMotion`` of each degree of freedom, uint8, shape [count, max_dofs]."""
        slots = self._rows("get_dof_motions").layout.slots["dof"]
        values, host = self._properties.buffer(self._fields["dof_motions"])
        limited = np.where(self._core.catalog.dof_limited, int(DofMotion.Limited), int(DofMotion.Free))
        if slots.size:
            host[...] = np.where(slots >= 0, limited[slots], 0)
        return values

    def get_drive_types(self) -> Any:
        """``DofDriveType`` of each degree of freedom, uint8, shape [count, max_dofs]."""
        return self._get("drive_types")

    def get_dof_limits(self) -> Any:
        """Lower and upper limits [m or rad], ±3.4e38 where there is none, shape [count, max_dofs, 2]."""
        return self._get("dof_limits")

    def set_dof_limits(self, data: Any, indices: Any) -> None:
        """Set limits; a degree of freedom that was built without limits keeps none, with a warning."""
        self._set("dof_limits", data, indices)

    def get_dof_stiffnesses(self) -> Any:
        """Stiffness of the drives [N/m or N m/rad], shape [count, max_dofs]."""
        return self._get("dof_stiffnesses")

    def set_dof_stiffnesses(self, data: Any, indices: Any) -> None:
        """Set the stiffness of drives; where there is no drive it has no effect."""
        self._set("dof_stiffnesses", data, indices)

    def get_dof_dampings(self) -> Any:
        """Damping of the drives [N s/m or N m s/rad], shape [count, max_dofs]."""
        return self._get("dof_dampings")

    def set_dof_dampings(self, data: Any, indices: Any) -> None:
        """Set the damping of drives; where there is no drive it has no effect."""
        self._set("dof_dampings", data, indices)

    def get_dof_max_forces(self) -> Any:
        """Largest force of the drives [N or N m], 3.4e38 where unbounded, shape [count, max_dofs]."""
        return self._get("dof_max_forces")

    def set_dof_max_forces(self, data: Any, indices: Any) -> None:
        """Set the largest force of drives."""
        self._set("dof_max_forces", data, indices)

    def get_dof_max_velocities(self) -> Any:
        """Speed limits [m/s or rad/s], 3.4e38 where there is none, shape [count, max_dofs]."""
        return self._get("dof_max_velocities")

    def set_dof_max_velocities(self, data: Any, indices: Any) -> None:
        """Set speed limits."""
        self._set("dof_max_velocities", data, indices)

    def get_dof_armatures(self) -> Any:
        """Inertia added to each degree of freedom [kg or kg m²], shape [count, max_dofs]."""
        return self._get("dof_armatures")

    def set_dof_armatures(self, data: Any, indices: Any) -> None:
        """Set the inertia added to degrees of freedom."""
        self._set("dof_armatures", data, indices)

    def get_dof_friction_coefficients(self) -> Any:
        """Friction per ‖force‖ + ‖torque‖ that the joint transmits, shape [count, max_dofs]."""
        return self._get("dof_friction_coefficients")

    def set_dof_friction_coefficients(self, data: Any, indices: Any) -> None:
        """Set friction coefficients; where static or viscous friction is not zero they have no effect."""
        self._set("dof_friction_coefficients", data, indices)

    def get_dof_friction_properties(self) -> Any:
        """Static and dynamic friction [N or N m] and viscous friction [N s/m or N m s/rad], [count, max_dofs, 3]."""
        return self._get("dof_friction_properties")

    def set_dof_friction_properties(self, data: Any, indices: Any) -> None:
        """Set friction: what holds a joint at rest, what it slides against, and what is added to that per speed."""
        self._set("dof_friction_properties", data, indices)

    def get_dof_drive_model_properties(self) -> Any:
        """Speed-effort gradient, largest actuator speed and velocity-dependent resistance, [count, max_dofs, 3].

        They bound the effort E of drive and actuation together: abs E ≤ max force − resistance · abs v, and
        abs v ≤ largest speed − gradient · abs E.
        """
        return self._get("dof_drive_model_properties")

    def set_dof_drive_model_properties(self, data: Any, indices: Any) -> None:
        """Set performance envelopes; degrees of freedom that were built without one keep none, with a warning."""
        self._set("dof_drive_model_properties", data, indices)
