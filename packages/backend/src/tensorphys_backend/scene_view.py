"""The factory of batch views that callers of the backend get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tensorphys import RigidContactView, SimulationView
from tensorphys_backend.mixed_articulations import MixedArticulationView
from tensorphys_engine import Role

__all__ = ["SceneView"]


class SceneView(SimulationView):
    """A :class:`tensorphys.SimulationView` whose contact views have the dynamic bodies of a scene as sensors.

    Its articulation views are :class:`MixedArticulationView`.
    """

    _articulation_view = MixedArticulationView

    def create_rigid_contact_view(
        self,
        pattern: str | Sequence[str],
        filter_patterns: Sequence[str] | Sequence[Sequence[str]] | None = None,
        max_contact_data_count: int = 0,
        *,
        on_no_match: Literal["raise", "empty"] | None = None,
    ) -> RigidContactView:
        """View of contacts; see ``SimulationView.create_rigid_contact_view``.

        With one sensor pattern, sensors are exactly the dynamic bodies that it matches, reported in ``sensor_paths``:
        kinematic bodies and static colliders are left out. With a list of patterns they are what it says.

        Args:
            pattern: Prim path pattern of the sensors, or a list.
            filter_patterns: Patterns of the filters, one a column.
            max_contact_data_count: Room for single contact points.
            on_no_match: As there.
        """
        chosen: str | Sequence[str] = pattern
        filters: Any = filter_patterns
        if isinstance(pattern, str):
            bodies = super().create_rigid_body_view(pattern, on_no_match=on_no_match)
            moving = [path for path in bodies.prim_paths if not self._is_kinematic(path)]
            if moving:
                chosen = moving
                filters = None if filter_patterns is None else [list(filter_patterns)] * len(moving)
        return super().create_rigid_contact_view(
            chosen, filters, max_contact_data_count, on_no_match=on_no_match
        )

    def _is_kinematic(self, path: str) -> bool:
        return bool(self.simulation.lookup(path).role & Role.KINEMATIC)
