"""Fixed and spatial tendons of articulations."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from tensorphys.articulation_quantities import ArticulationQuantityView

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ArticulationTendonView"]


class ArticulationTendonView(ArticulationQuantityView):
    """Tendons of articulations, as many columns as the articulation has that has most of them."""

    @abstractmethod
    def _items(self, slots: str) -> int:
        """Columns of what an articulation has several of."""

    @property
    def max_fixed_tendons(self) -> int:
        """Fixed tendons of the articulation that has most."""
        return self._items("fixed_tendon")

    @property
    def max_spatial_tendons(self) -> int:
        """Spatial tendons of the articulation that has most."""
        return self._items("spatial_tendon")

    def get_fixed_tendon_stiffnesses(self) -> Any:
        """Stiffness of fixed tendons [N/m], shape [count, max_fixed_tendons]."""
        return self._get("fixed_tendon_stiffnesses")

    def get_fixed_tendon_dampings(self) -> Any:
        """Damping of fixed tendons [N s/m], shape [count, max_fixed_tendons]."""
        return self._get("fixed_tendon_dampings")

    def get_fixed_tendon_limit_stiffnesses(self) -> Any:
        """Stiffness of fixed tendons beyond their limits [N/m], shape [count, max_fixed_tendons]."""
        return self._get("fixed_tendon_limit_stiffnesses")

    def get_fixed_tendon_limits(self) -> Any:
        """Least and greatest length of fixed tendons [m], shape [count, max_fixed_tendons, 2]."""
        return self._get("fixed_tendon_limits")

    def get_fixed_tendon_rest_lengths(self) -> Any:
        """Rest length of fixed tendons [m], shape [count, max_fixed_tendons]."""
        return self._get("fixed_tendon_rest_lengths")

    def get_fixed_tendon_offsets(self) -> Any:
        """Offset of the length of fixed tendons [m], shape [count, max_fixed_tendons]."""
        return self._get("fixed_tendon_offsets")

    def set_fixed_tendon_properties(
        self,
        stiffnesses: Any,
        dampings: Any,
        limit_stiffnesses: Any,
        limits: Any,
        rest_lengths: Any,
        offsets: Any,
        indices: Any,
    ) -> None:
        """Set all properties of fixed tendons; they act from the next step on.

        Args:
            stiffnesses, dampings, limit_stiffnesses, rest_lengths, offsets: Shape [count, max_fixed_tendons].
            limits: Least and greatest length, shape [count, max_fixed_tendons, 2].
            indices: Rows.
        """
        names = ("stiffnesses", "dampings", "limit_stiffnesses", "limits", "rest_lengths", "offsets")
        values = (stiffnesses, dampings, limit_stiffnesses, limits, rest_lengths, offsets)
        self._set_together("fixed_tendon", dict(zip(names, values, strict=True)), indices)

    def get_spatial_tendon_stiffnesses(self) -> Any:
        """Stiffness of spatial tendons [N/m], shape [count, max_spatial_tendons]."""
        return self._get("spatial_tendon_stiffnesses")

    def get_spatial_tendon_dampings(self) -> Any:
        """Damping of spatial tendons [N s/m], shape [count, max_spatial_tendons]."""
        return self._get("spatial_tendon_dampings")

    def get_spatial_tendon_limit_stiffnesses(self) -> Any:
        """Stiffness of spatial tendons beyond their limits [N/m], shape [count, max_spatial_tendons]."""
        return self._get("spatial_tendon_limit_stiffnesses")

    def get_spatial_tendon_offsets(self) -> Any:
        """Offset of the length of spatial tendons [m], shape [count, max_spatial_tendons]."""
        return self._get("spatial_tendon_offsets")

    def set_spatial_tendon_properties(
        self, stiffnesses: Any, dampings: Any, limit_stiffnesses: Any, offsets: Any, indices: Any
    ) -> None:
        """Set all properties of spatial tendons; they act from the next step on.

        Args:
            stiffnesses, dampings, limit_stiffnesses, offsets: Shape [count, max_spatial_tendons].
            indices: Rows.
        """
        names = ("stiffnesses", "dampings", "limit_stiffnesses", "offsets")
        values = (stiffnesses, dampings, limit_stiffnesses, offsets)
        self._set_together("spatial_tendon", dict(zip(names, values, strict=True)), indices)

    def _set_together(self, kind: str, values: Mapping[str, Any], indices: Any) -> None:
        """Set several properties at once, or none where one of them does not fit."""
        what = f"set_{kind}_properties"
        self._rows(what)
        label = f"ArticulationView.{what}"
        named = {self._fields[f"{kind}_{name}"]: data for name, data in values.items()}
        self._transfer.scatter_all(named, indices, label)
