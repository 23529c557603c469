"""Many fields in plain arrays, for kernels of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import records
from tensorphys_sdf._kernels import table as kernels
from tensorphys_sdf.errors import ArrayError, ParameterError
from tensorphys_sdf.field import SignedDistanceField
from tensorphys_sdf.mesh import Array

_INDEX_LIMIT = 2**31 - 1
_WORDS = 4  # that one load reads


class FieldTable:
    """The grids of many fields in five arrays, which kernels read by
    :func:`tensorphys_sdf.device.table_distance_gradient`.

    No struct crosses a package border: a kernel of another package takes the five arrays as they are, in the
    order of :attr:`arrays`, and a field by its number.

    Attributes:
        reals: float32 ``(field_count, 9)``: origin, inverse cell, offset and scale of fine values, error bound.
        counts: int32 ``(field_count, 8)``: blocks, fine cells a block, bits, and where the field begins in
            ``coarse``, ``record`` (in records) and ``fine``.
        coarse: Distances at the nodes of dense grids, float32.
        record: Eight words for each block of sparse grids, int32.
        fine: Values of bricks, uint32.
        device: Warp device.
    """

    def __init__(self, fields: Sequence[SignedDistanceField], *, device: Any = None) -> None:
        """Copy the grids of fields together.

        Args:
            fields: Fields on one device; a field may stand in several rows, and is copied once.
            device: Warp device; needed only when there are no fields.

        Raises:
            ParameterError: Fields on different devices, or more values than 32-bit indices reach.
        """
        self.device = fields[0].device if fields else wp.get_device(device)
        if any(field.device != self.device for field in fields):
            raise ParameterError("fields: all must be on one device")
        reals = np.zeros((len(fields), kernels.REALS), dtype=np.float32)
        counts = np.zeros((len(fields), kernels.COUNTS), dtype=np.int32)
        parts: tuple[list[Array], list[Array], list[Array]] = ([], [], [])
        first = [0, 0, 0]
        known: dict[int, int] = {}
        for row, field in enumerate(fields):
            if id(field) in known:
                reals[row], counts[row] = reals[known[id(field)]], counts[known[id(field)]]
                continue
            known[id(field)] = row
            grid, layout = field.grid, field.grid.layout
            reals[row, 0:3], reals[row, 3:6] = layout.origin, 1.0 / np.array(layout.cell)
            reals[row, 6:9] = grid.fine_offset, grid.fine_scale, field.error_bound
            counts[row, :3] = layout.blocks
            counts[row, 3:5] = layout.subgrid, layout.bits
            counts[row, 5:] = first[0], first[1] // int(records.RECORD), first[2]
            for k, name in enumerate(("coarse", "record", "fine")):
                if name in grid.arrays:
                    own = grid.arrays[name].numpy().reshape(-1)
                    # loads of several words must not straddle what one reads at once
                    own = np.pad(own, (0, -len(own) % _WORDS))
                    parts[k].append(own)
                    first[k] += len(own)
            if max(first) > _INDEX_LIMIT:
                raise ParameterError(f"fields: {max(first)} values are more than 32-bit indices reach")
        self.reals = wp.array(reals, dtype=wp.float32, device=self.device)
        self.counts = wp.array(counts, dtype=wp.int32, device=self.device)
        self.coarse = wp.array(_joined(parts[0], np.float32), dtype=wp.float32, device=self.device)
        self.record = wp.array(_joined(parts[1], np.int32), dtype=wp.int32, device=self.device)
        self.fine = wp.array(_joined(parts[2], np.uint32), dtype=wp.uint32, device=self.device)

    @property
    def arrays(self) -> list[Any]:
        """``[reals, counts, coarse, record, fine]``, the first arguments of the device functions."""
        return [self.reals, self.counts, self.coarse, self.record, self.fine]

    @property
    def field_count(self) -> int:
        """Rows of the table."""
        return int(self.counts.shape[0])

    def distance_and_gradient(self, fields: Any, points: Any) -> Array:
        """What kernels find: ``[distance, gx, gy, gz]`` at points of the frames of the shapes.

        Args:
            fields: Row of each point, shape ``(N,)``.
            points: Positions, shape ``(N, 3)``.

        Returns:
            float32, shape ``(N, 4)``.

        Raises:
            ArrayError: A shape is wrong, or a row is not in the table.
        """
        p = np.ascontiguousarray(points, dtype=np.float32)
        rows = np.ascontiguousarray(fields, dtype=np.int32)
        if p.ndim != 2 or p.shape[1] != 3 or rows.shape != p.shape[:1]:
            raise ArrayError(f"points: expected (N, 3) and N rows, got {p.shape} and {rows.shape}")
        if len(rows) and (rows.min() < 0 or rows.max() >= self.field_count):
            raise ArrayError(
                f"fields: expected 0 to {self.field_count - 1}, got {rows.min()} to {rows.max()}"
            )
        out = wp.empty(len(p), dtype=wp.vec4, device=self.device)
        inputs = [
            *self.arrays,
            wp.array(rows, dtype=wp.int32, device=self.device),
            wp.array(p, dtype=wp.vec3, device=self.device),
        ]
        wp.launch(kernels.sample_table, dim=len(p), inputs=inputs, outputs=[out], device=self.device)
        result: Array = out.numpy()
        return result


def _joined(parts: list[Array], dtype: Any) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
