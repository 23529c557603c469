"""What can be written to the tendons of articulations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import warp as wp

from tensorphys_assets._kernels.rows import subtract_from
from tensorphys_assets.asset import DataAsset
from tensorphys_assets.dtypes import as_numbers
from tensorphys_assets.writers import deprecated_writer, name_writers, property_writers

__all__ = ["TendonWriters"]

_FIXED = ("stiffness", "damping", "limit_stiffness", "pos_limits", "rest_length", "offset")
_SPATIAL = ("stiffness", "damping", "limit_stiffness", "offset")


@name_writers
class TendonWriters(DataAsset):
    """Writers of tendons: properties are kept until they are written together; targets go with the next step."""

    set_fixed_tendon_stiffness_index, set_fixed_tendon_stiffness_mask = property_writers(
        "fixed_tendon_stiffness",
        "stiffness",
        items="fixed_tendon",
        hook="_set_tendon",
        doc="Stiffness [N/m] of fixed tendons; it acts once properties are written.",
    )
    set_fixed_tendon_stiffness = deprecated_writer(
        "set_fixed_tendon_stiffness_index", "stiffness", "fixed_tendon_ids", "env_ids"
    )
    set_fixed_tendon_damping_index, set_fixed_tendon_damping_mask = property_writers(
        "fixed_tendon_damping",
        "damping",
        items="fixed_tendon",
        hook="_set_tendon",
        doc="Damping [N s/m] of fixed tendons; it acts once properties are written.",
    )
    set_fixed_tendon_damping = deprecated_writer(
        "set_fixed_tendon_damping_index", "damping", "fixed_tendon_ids", "env_ids"
    )
    set_fixed_tendon_limit_stiffness_index, set_fixed_tendon_limit_stiffness_mask = property_writers(
        "fixed_tendon_limit_stiffness",
        "limit_stiffness",
        items="fixed_tendon",
        hook="_set_tendon",
        doc="Stiffness [N/m] of fixed tendons beyond their limits; it acts once properties are written.",
    )
    set_fixed_tendon_limit_stiffness = deprecated_writer(
        "set_fixed_tendon_limit_stiffness_index", "limit_stiffness", "fixed_tendon_ids", "env_ids"
    )
    set_fixed_tendon_position_limit_index, set_fixed_tendon_position_limit_mask = property_writers(
        "fixed_tendon_pos_limits",
        "limit",
        items="fixed_tendon",
        scalar=False,
        hook="_set_tendon",
        doc="Least and greatest length [m] of fixed tendons; it acts once properties are written.",
    )
    set_fixed_tendon_position_limit = deprecated_writer(
        "set_fixed_tendon_position_limit_index", "limit", "fixed_tendon_ids", "env_ids"
    )
    set_fixed_tendon_rest_length_index, set_fixed_tendon_rest_length_mask = property_writers(
        "fixed_tendon_rest_length",
        "rest_length",
        items="fixed_tendon",
        hook="_set_tendon",
        doc="Rest length [m] of fixed tendons; it acts once properties are written.",
    )
    set_fixed_tendon_rest_length = deprecated_writer(
        "set_fixed_tendon_rest_length_index", "rest_length", "fixed_tendon_ids", "env_ids"
    )
    set_fixed_tendon_offset_index, set_fixed_tendon_offset_mask = property_writers(
        "fixed_tendon_offset",
        "offset",
        items="fixed_tendon",
        hook="_set_tendon",
        doc="Offset [m] of the length of fixed tendons; it acts once properties are written.",
    )
    set_fixed_tendon_offset = deprecated_writer(
        "set_fixed_tendon_offset_index", "offset", "fixed_tendon_ids", "env_ids"
    )
    set_spatial_tendon_stiffness_index, set_spatial_tendon_stiffness_mask = property_writers(
        "spatial_tendon_stiffness",
        "stiffness",
        items="spatial_tendon",
        hook="_set_tendon",
        doc="Stiffness [N/m] of spatial tendons; it acts once properties are written.",
    )
    set_spatial_tendon_stiffness = deprecated_writer(
        "set_spatial_tendon_stiffness_index", "stiffness", "spatial_tendon_ids", "env_ids"
    )
    set_spatial_tendon_damping_index, set_spatial_tendon_damping_mask = property_writers(
        "spatial_tendon_damping",
        "damping",
        items="spatial_tendon",
        hook="_set_tendon",
        doc="Damping [N s/m] of spatial tendons; it acts once properties are written.",
    )
    set_spatial_tendon_damping = deprecated_writer(
        "set_spatial_tendon_damping_index", "damping", "spatial_tendon_ids", "env_ids"
    )
    set_spatial_tendon_limit_stiffness_index, set_spatial_tendon_limit_stiffness_mask = property_writers(
        "spatial_tendon_limit_stiffness",
        "limit_stiffness",
        items="spatial_tendon",
        hook="_set_tendon",
        doc="Stiffness [N/m] of spatial tendons beyond their limits; it acts once properties are written.",
    )
    set_spatial_tendon_limit_stiffness = deprecated_writer(
        "set_spatial_tendon_limit_stiffness_index", "limit_stiffness", "spatial_tendon_ids", "env_ids"
    )
    set_spatial_tendon_offset_index, set_spatial_tendon_offset_mask = property_writers(
        "spatial_tendon_offset",
        "offset",
        items="spatial_tendon",
        hook="_set_tendon",
        doc="Offset [m] of the length of spatial tendons; it acts once properties are written.",
    )
    set_spatial_tendon_offset = deprecated_writer(
        "set_spatial_tendon_offset_index", "offset", "spatial_tendon_ids", "env_ids"
    )
    set_fixed_tendon_limit = deprecated_writer(
        "set_fixed_tendon_position_limit_index", "limit", "fixed_tendon_ids", "env_ids"
    )
    set_fixed_tendon_position_target_index, set_fixed_tendon_position_target_mask = property_writers(
        "fixed_tendon_offset",
        "target",
        items="fixed_tendon",
        scalar=False,
        hook="_set_tendon_target",
        doc="Set the wanted lengths [m] of fixed tendons; they go with the next ``write_data_to_sim``.",
    )

    def write_fixed_tendon_properties_to_sim_index(
        self, *, fixed_tendon_ids: Any = None, env_ids: Any = None
    ) -> None:
        """Hand the kept properties of fixed tendons to the simulation.

        Args:
            fixed_tendon_ids: Tendons; the engine takes all of an instance together, so that it tells nothing.
            env_ids: Instances, ``None`` for all.
        """
        self._write_tendons("fixed", _FIXED, {"env_ids": env_ids})

    def write_fixed_tendon_properties_to_sim_mask(
        self, *, fixed_tendon_mask: Any = None, env_mask: Any = None
    ) -> None:
        """Hand the kept properties of fixed tendons to the simulation; see the method with indices."""
        self._write_tendons("fixed", _FIXED, {"env_mask": env_mask})

    def write_spatial_tendon_properties_to_sim_index(
        self, *, spatial_tendon_ids: Any = None, env_ids: Any = None
    ) -> None:
        """Hand the kept properties of spatial tendons to the simulation.

        Args:
            spatial_tendon_ids: Tendons; the engine takes all of an instance together, so that it tells nothing.
            env_ids: Instances, ``None`` for all.
        """
        self._write_tendons("spatial", _SPATIAL, {"env_ids": env_ids})

    def write_spatial_tendon_properties_to_sim_mask(
        self, *, spatial_tendon_mask: Any = None, env_mask: Any = None
    ) -> None:
        """Hand the kept properties of spatial tendons to the simulation; see the method with indices."""
        self._write_tendons("spatial", _SPATIAL, {"env_mask": env_mask})

    write_fixed_tendon_properties_to_sim = deprecated_writer(
        "write_fixed_tendon_properties_to_sim_index", "fixed_tendon_ids", "env_ids", first=0
    )
    write_spatial_tendon_properties_to_sim = deprecated_writer(
        "write_spatial_tendon_properties_to_sim_index", "spatial_tendon_ids", "env_ids", first=0
    )

    def _set_tendon(
        self, quantity: str, value: Any, selectors: Mapping[str, Any], items: str, what: str
    ) -> None:
        """Keep a property; nothing goes to the simulation."""
        self._write_property(quantity, value, selectors, items, what)

    def _set_tendon_target(
        self, quantity: str, value: Any, selectors: Mapping[str, Any], items: str, what: str
    ) -> None:
        """Keep a target as the offset with which the tendon rests at that length."""
        self._require(what)
        rows, chosen = self._choose(selectors, items)
        assert chosen is not None
        offsets = self._data.numbers(quantity)
        self._check_payload(value, wp.float32, rows, chosen, (), what)
        scratch = wp.zeros_like(offsets)
        self._store(scratch, value, rows, chosen, what)
        wp.launch(
            subtract_from,
            offsets.shape,
            [self._data.numbers("fixed_tendon_rest_length")],
            [scratch],
            device=self._device,
        )
        self._store(offsets, scratch, rows, chosen, what, full=True)
        self._data.invalidate((quantity,))
        self.__dict__["_tendon_targets_pending"] = True

    def _flush_tendon_targets(self) -> None:
        if self.__dict__.pop("_tendon_targets_pending", False):
            self._write_tendons("fixed", _FIXED, {})

    def _write_tendons(self, kind: str, names: tuple[str, ...], selectors: Mapping[str, Any]) -> None:
        self._require(f"write_{kind}_tendon_properties_to_sim")
        if self._axes[f"{kind}_tendon"].count == 0:
            return
        rows, _ = self._choose(selectors, "")
        setter = getattr(self._view, f"set_{kind}_tendon_properties")
        arrays = []
        for name in names:
            array: wp.array = self._data.array(f"{kind}_tendon_{name}")
            arrays.append(as_numbers(array, (array.size * getattr(array.dtype, "_length_", 1),)))
        setter(*arrays, rows.rows)
