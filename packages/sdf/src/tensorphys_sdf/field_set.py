"""Many fields, of any resolutions, queried in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import batch
from tensorphys_sdf.errors import ArrayError, ParameterError
from tensorphys_sdf.field import SignedDistanceField
from tensorphys_sdf.structs import SdfGrid, SdfSurface

_RIM_THREADS = 1 << 16


class FieldSet:
    """Rows of points, each row in the frame of one of several fields.

    Attributes:
        fields: The distinct fields.
        row_count: Rows of a query.
        device: Warp device of all fields.
    """

    def __init__(
        self, fields: Sequence[SignedDistanceField], field_of_row: Any = None, *, device: Any = None
    ) -> None:
        """Put fields together.

        Args:
            fields: Fields on one device.
            field_of_row: Which field each row of points belongs to, shape ``(row_count,)``; by default row i
                belongs to field i.
            device: Warp device; needed only when there are no fields.

        Raises:
            ParameterError: Fields on different devices, or a row of no field.
        """
        self.fields = tuple(fields)
        self.device = self.fields[0].device if self.fields else wp.get_device(device)
        if any(field.device != self.device for field in self.fields):
            raise ParameterError("fields: all must be on one device")
        rows = np.arange(len(self.fields)) if field_of_row is None else np.asarray(field_of_row).reshape(-1)
        if len(rows) and (rows.min() < 0 or rows.max() >= len(self.fields)):
            raise ParameterError(
                f"field_of_row: expected 0 to {len(self.fields) - 1}, got {rows.min()} to {rows.max()}"
            )
        self.row_count = len(rows)
        self._rows = wp.array(rows.astype(np.int32), dtype=wp.int32, device=self.device)
        grids = [field.grid.struct for field in self.fields]
        surfaces = [field.surface_struct for field in self.fields]
        self._grids = wp.array(grids, dtype=SdfGrid, device=self.device) if grids else None
        self._surfaces = wp.array(surfaces, dtype=SdfSurface, device=self.device) if grids else None
        self._scratch: dict[int, tuple[Any, Any]] = {}

    def distance_and_gradient(
        self, points: Any, *, unit: bool = False, gradient_first: bool = False, out: Any = None
    ) -> Any:
        """Signed distance and gradient of every point in the field of its row.

        Args:
            points: Positions in the frames of the shapes, shape ``(row_count, point_count, 3)``, or a Warp array
                ``(row_count, point_count)`` of ``vec3``.
            unit: Normalise the gradients (zero stays zero).
            gradient_first: Return ``[gx, gy, gz, distance]`` instead.
            out: Warp array of ``vec4`` to write into, shape ``(row_count, point_count)``.

        Returns:
            ``[distance, gx, gy, gz]``, shape ``(row_count, point_count, 4)``; for Warp points a Warp array of
            ``vec4``.

        Raises:
            ArrayError: An array has the wrong type, shape or device.
        """
        given = points
        if not isinstance(points, wp.array):
            array = np.asarray(points, dtype=np.float32)
            if array.ndim != 3 or array.shape[2] != 3:
                raise ArrayError(
                    f"points: expected shape ({self.row_count}, point_count, 3), got {array.shape}"
                )
            points = wp.array(array, dtype=wp.vec3, device=self.device)
        if points.dtype != wp.vec3 or points.ndim != 2 or points.shape[0] != self.row_count:
            raise ArrayError(
                f"points: expected ({self.row_count}, point_count) of vec3, got {points.shape} of {points.dtype}"
            )
        if points.device != self.device:
            raise ArrayError(f"points: on {points.device}, the fields are on {self.device}")
        if out is None:
            out = wp.empty(points.shape, dtype=wp.vec4, device=self.device)
        elif out.dtype != wp.vec4 or out.shape != points.shape or out.device != self.device:
            raise ArrayError(f"out: expected {points.shape} of vec4 on {self.device}")
        count = points.shape[0] * points.shape[1]
        if count:
            self._query(points, count, int(unit) + 2 * int(gradient_first), out)
        return out if given is points else out.numpy()

    def _query(self, points: Any, count: int, form: int, out: Any) -> None:
        if count not in self._scratch:
            # kept, so that a repeated query allocates nothing
            self._scratch[count] = (
                wp.zeros(1, dtype=wp.int32, device=self.device),
                wp.empty(count, dtype=wp.int32, device=self.device),
            )
        rim_count, rim = self._scratch[count]
        rim_count.zero_()
        wp.launch(
            batch.sample_rows,
            dim=points.shape,
            inputs=[self._grids, self._rows, points, form],
            outputs=[out, rim_count, rim],
            device=self.device,
        )
        stride = min(count, _RIM_THREADS) if self.device.is_cuda else 1
        wp.launch(
            batch.finish_rows,
            dim=stride,
            inputs=[self._grids, self._surfaces, self._rows, points, form, rim_count, rim, stride],
            outputs=[out],
            device=self.device,
        )
