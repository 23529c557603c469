"""How finely a field is stored."""

from __future__ import annotations

import dataclasses
import math

from tensorphys_sdf.errors import ParameterError


@dataclasses.dataclass(frozen=True)
class FieldParameters:
    """Resolution and extent of a stored field; the defaults are those of the USD attributes of the same names.

    Attributes:
        resolution: Fine cells along the longest side of the shape (sdfResolution).
        subgrid_resolution: Fine cells per block and axis of the narrow band; 0 stores a dense grid
            (sdfSubgridResolution).
        bits_per_subgrid_pixel: 8, 16 or 32 bits a fine value (sdfBitsPerSubgridPixel).
        narrow_band_thickness: Distance from the surface that is covered by fine cells, as a fraction of the
            diagonal of the bounding box (sdfNarrowBandThickness).
        margin: Room around the bounding box, the same fraction (sdfMargin).
        background: Further room around the shape that is covered by coarse blocks, as a fraction of its longest
            side. A dense grid has none.
        tolerance: Error of the distance outside of the shape, as a fraction of the distance. Coarse blocks that would
            be worse are refined (inside, those four times as bad); where fine cells would be worse too, beyond the
            shape's box and margin, the surface itself is asked. 0 refines the narrow band alone.
    """

    resolution: int = 256
    subgrid_resolution: int = 6
    bits_per_subgrid_pixel: int = 16
    narrow_band_thickness: float = 0.01
    margin: float = 0.01
    background: float = 0.25
    tolerance: float = 0.03

    def __post_init__(self) -> None:
        if not 2 <= self.resolution <= 2048:
            raise ParameterError(f"resolution: expected 2 to 2048 cells, got {self.resolution}")
        if not 0 <= self.subgrid_resolution <= 64:
            raise ParameterError(f"subgrid_resolution: expected 0 to 64, got {self.subgrid_resolution}")
        if self.bits_per_subgrid_pixel not in (8, 16, 32):
            raise ParameterError(
                f"bits_per_subgrid_pixel: expected 8, 16 or 32, got {self.bits_per_subgrid_pixel}"
            )
        for name in ("narrow_band_thickness", "margin", "background", "tolerance"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ParameterError(f"{name}: expected a finite number of at least 0, got {value}")
