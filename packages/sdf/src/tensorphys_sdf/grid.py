"""Grids of signed distances: layout, storage, reading back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import build as kernels
from tensorphys_sdf._kernels import records
from tensorphys_sdf.errors import ParameterError
from tensorphys_sdf.mesh import Array
from tensorphys_sdf.parameters import FieldParameters
from tensorphys_sdf.structs import SdfGrid

INDEX_LIMIT = 2**31 - 1
_ARRAYS = (
    ("coarse", wp.float32),
    ("record", wp.int32),
    ("fine", wp.uint32),
    ("slack", wp.float32),
    ("exact", wp.uint8),
)


@dataclasses.dataclass(frozen=True)
class GridLayout:
    """Where the cells of a grid lie, in the frame of the shape.

    Attributes:
        origin: Position of the first coarse node, shape ``(3,)``.
        cell: Edge lengths of a coarse cell, shape ``(3,)``; equal with bricks.
        blocks: Coarse cells per axis.
        subgrid: Fine cells per coarse cell and axis; 0 without bricks.
        bits: Bits of a fine value.
        blend: Layers of coarse cells at the rim in which the exact distance takes over.
    """

    origin: tuple[float, float, float]
    cell: tuple[float, float, float]
    blocks: tuple[int, int, int]
    subgrid: int
    bits: int
    blend: int

    @property
    def fine_cell(self) -> Array:
        """Edge lengths of the finest cell, shape ``(3,)``."""
        return np.array(self.cell) / max(self.subgrid, 1)

    @property
    def lower(self) -> Array:
        """Lower corner of the grid, shape ``(3,)``."""
        return np.array(self.origin)

    @property
    def upper(self) -> Array:
        """Upper corner of the grid, shape ``(3,)``."""
        return np.array(self.origin) + np.array(self.cell) * np.array(self.blocks)


def plan_layout(lower: Array, upper: Array, parameters: FieldParameters, *, blend: int) -> GridLayout:
    """Lay a grid around the bounds of a shape.

    Raises:
        ParameterError: The bounds are empty, or the grid has more nodes than 32-bit indices reach.
    """
    extent = np.asarray(upper, dtype=np.float64) - np.asarray(lower, dtype=np.float64)
    longest = float(extent.max())
    if not (np.isfinite(extent).all() and longest > 0.0 and extent.min() >= 0.0):
        raise ParameterError(f"bounds: expected lower < upper, got {lower} and {upper}")
    fine = longest / parameters.resolution
    subgrid = min(parameters.subgrid_resolution, parameters.resolution)
    cell = fine * max(subgrid, 1)
    room = shape_room(lower, upper, parameters)
    ring = blend
    if subgrid > 0:
        ring = max(ring, int(np.ceil(parameters.background * longest / cell)))
    # A tenth of a cell keeps a side that is a whole number of cells from gaining one by rounding.
    blocks = np.maximum(np.ceil((extent + 2.0 * room) / cell - 0.1).astype(np.int64), 1) + 2 * ring
    blocks = np.maximum(blocks, 2)
    # nodes in tiles of a dense grid, words of records of a sparse one, where the surface may be asked in all blocks
    words = 2 * int(records.RECORD) * int(np.prod(blocks)) if subgrid else 0
    if max(int(np.prod((blocks // 4 + 1) * 4)), words) > INDEX_LIMIT:
        raise ParameterError(
            f"resolution {parameters.resolution}: a grid of {tuple(blocks)} blocks is too large"
        )
    origin = 0.5 * (np.asarray(lower) + np.asarray(upper)) - 0.5 * cell * blocks
    return GridLayout(
        _floats(origin),
        (cell, cell, cell),
        (int(blocks[0]), int(blocks[1]), int(blocks[2])),
        subgrid,
        parameters.bits_per_subgrid_pixel if subgrid else 32,
        blend,
    )


def shape_room(lower: Array, upper: Array, parameters: FieldParameters) -> float:
    """Width around the bounds of a shape that still counts as its grid; beyond, the relative error is bounded.

    It is the margin, and three fine cells at least: closer to a corner interpolation errs by more than a few per cent.
    """
    extent = np.asarray(upper, dtype=np.float64) - np.asarray(lower, dtype=np.float64)
    fine = float(extent.max()) / parameters.resolution
    return max(parameters.margin * float(np.linalg.norm(extent)), 3.0 * fine)


def _floats(values: Any) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, dtype=np.float64)
    return float(x), float(y), float(z)


class Grid:
    """Signed distances on a grid, on one device.

    Attributes:
        layout: Where its cells lie.
        arrays: The stored arrays by name: ``coarse`` of a dense grid; ``record``, ``fine``, ``slack`` and ``exact``
            of a sparse one.
        fine_offset: Distance of a stored 0 of a fine value.
        fine_scale: Distance of one stored unit.
        struct: What kernels take, :class:`~tensorphys_sdf.device.SdfGrid`.

    Raises:
        ParameterError: Bricks of cells that are no cubes.
    """

    def __init__(
        self, layout: GridLayout, arrays: dict[str, Any], fine_offset: float = 0.0, fine_scale: float = 1.0
    ) -> None:
        if layout.subgrid and len(set(layout.cell)) > 1:
            raise ParameterError(f"cell: those of a sparse grid are cubes, got {layout.cell}")
        self.layout, self.arrays = layout, arrays
        self.fine_offset, self.fine_scale = fine_offset, fine_scale
        self.device = next(iter(arrays.values())).device
        s = self.struct = SdfGrid()
        s.origin, s.cell = wp.vec3(*layout.origin), wp.vec3(*layout.cell)
        s.inv_cell = wp.vec3(*(1.0 / c for c in layout.cell))
        s.blocks = wp.vec3i(*layout.blocks)
        s.stride_y = (layout.blocks[2] // 4 + 1) * 64
        s.stride_x = (layout.blocks[1] // 4 + 1) * s.stride_y
        s.subgrid, s.bits, s.blend = layout.subgrid, layout.bits, layout.blend
        s.fine_offset, s.fine_scale = fine_offset, fine_scale
        # Warp's tape visits every array of a struct, so that none may be missing
        for name, dtype in _ARRAYS:
            array = arrays.get(name)
            setattr(s, name, wp.empty(0, dtype=dtype, device=self.device) if array is None else array)

    @property
    def brick_count(self) -> int:
        """Blocks that hold fine cells."""
        if not self.layout.subgrid:
            return 0
        s = self.layout.subgrid
        return int(self.arrays["fine"].size // ((s + 1) * s * s * self.layout.bits // 8))

    def bricks(self) -> tuple[Array, Array]:
        """What the blocks of a sparse grid hold.

        Returns:
            The brick of each block, -1 without, int32, and whether the surface is asked there, shapes ``blocks``.

        Raises:
            ParameterError: The grid is dense.
        """
        if not self.layout.subgrid:
            raise ParameterError("the grid is dense: it has no bricks")
        record = self.arrays["record"].numpy().reshape(-1, int(records.RECORD))
        own = record[: int(np.prod(self.layout.blocks))]
        asked = own[:, 0] == int(records.ASK)
        data = record[np.where(asked, own[:, 1], np.arange(len(own)))]
        brick = np.where(data[:, 0] == int(records.BRICK), data[:, 1], -1)
        return brick.reshape(self.layout.blocks), asked.reshape(self.layout.blocks)

    @property
    def byte_count(self) -> int:
        """Device memory of the stored arrays [bytes]."""
        return sum(int(a.capacity) for a in self.arrays.values())

    def error_bound(self) -> float:
        """Bound of the error of sampled distances inside of the grid, for true distances."""
        half_diagonal = 0.5 * float(np.linalg.norm(self.layout.cell))
        if not self.layout.subgrid:
            return half_diagonal
        fine = half_diagonal / self.layout.subgrid + float(self.arrays["slack"].numpy().max(initial=0.0))
        return max(half_diagonal, fine)


def store_dense(values: Any, origin: Any, spacing: Any, *, device: Any, blend: int = 0) -> Grid:
    """Make a dense grid of node values.

    Args:
        values: Values at the nodes, shape ``(nx, ny, nz)``: a NumPy array, or float32 on the device.
        origin: Position of node ``(0, 0, 0)``.
        spacing: Distance of the nodes: one number or three.
        device: Warp device.
        blend: Layers of cells at the rim in which the exact distance takes over.

    Raises:
        ParameterError: An axis has fewer than two nodes, or the spacing is not positive.
    """
    device = wp.get_device(device)
    array = values
    if not isinstance(values, wp.array):
        array = wp.array(np.ascontiguousarray(values, dtype=np.float32), dtype=wp.float32, device=device)
    step = np.broadcast_to(np.asarray(spacing, dtype=np.float64), (3,))
    if array.ndim != 3 or min(array.shape) < 2:
        raise ParameterError(f"values: expected three axes of at least two nodes, got shape {array.shape}")
    if not (np.isfinite(step).all() and (step > 0.0).all()):
        raise ParameterError(f"spacing: expected positive numbers, got {spacing}")
    blocks = (int(array.shape[0]) - 1, int(array.shape[1]) - 1, int(array.shape[2]) - 1)
    size = int(np.prod([(n // 4 + 1) * 4 for n in blocks]))
    if size > INDEX_LIMIT:
        raise ParameterError(f"values: {array.shape} nodes are more than 32-bit indices reach")
    coarse = wp.zeros(size, dtype=wp.float32, device=device)
    inputs = [wp.vec3i(*blocks), array]
    wp.launch(kernels.store_coarse, dim=array.shape, inputs=inputs, outputs=[coarse], device=device)
    layout = GridLayout(_floats(origin), _floats(step), blocks, 0, 32, blend)
    return Grid(layout, {"coarse": coarse})
