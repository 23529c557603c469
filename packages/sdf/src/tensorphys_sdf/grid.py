"""Grids of signed distances: layout, filling on the device, reading back."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import build as kernels
from tensorphys_sdf.errors import ParameterError
from tensorphys_sdf.mesh import Array
from tensorphys_sdf.parameters import FieldParameters
from tensorphys_sdf.structs import SdfGrid

# Signed distances at points; the points come in rows of neighbours of the given length.
Evaluate = Callable[[Any, int], Any]

_CHUNK = 1 << 22  # points evaluated at once, 64 MB of positions and values
_PIECE = 1 << 16  # points that one thread evaluates at once
_INDEX_LIMIT = 2**31 - 1
_OPTIONAL = (
    ("brick", wp.int32),
    ("slack", wp.float32),
    ("fine8", wp.uint8),
    ("fine16", wp.uint32),
    ("fine32", wp.float32),
)


@dataclasses.dataclass(frozen=True)
class GridLayout:
    """Where the cells of a grid lie, in the frame of the shape.

    Attributes:
        origin: Position of the first coarse node, shape ``(3,)``.
        cell: Edge lengths of a coarse cell, shape ``(3,)``.
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
    # closer than three cells to a corner, interpolation errs by more than a few per cent
    room = max(parameters.margin * float(np.linalg.norm(extent)), 3.0 * fine)
    ring = blend
    if subgrid > 0:
        ring = max(ring, int(np.ceil(parameters.background * longest / cell)))
    # A tenth of a cell keeps a side that is a whole number of cells from gaining one by rounding.
    blocks = np.maximum(np.ceil((extent + 2.0 * room) / cell - 0.1).astype(np.int64), 1) + 2 * ring
    blocks = np.maximum(blocks, 2)
    if int(np.prod((blocks // 4 + 1) * 4)) > _INDEX_LIMIT:
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


def _floats(values: Any) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, dtype=np.float64)
    return float(x), float(y), float(z)


class Grid:
    """Signed distances on a grid, on one device.

    Attributes:
        layout: Where its cells lie.
        arrays: The stored arrays by name: ``coarse``, ``brick``, ``fine``, ``slack``.
        fine_offset: Distance of a stored 0 of a fine value.
        fine_scale: Distance of one stored unit.
        struct: What kernels take, :class:`~tensorphys_sdf.device.SdfGrid`.
    """

    def __init__(
        self, layout: GridLayout, arrays: dict[str, Any], fine_offset: float = 0.0, fine_scale: float = 1.0
    ) -> None:
        self.layout, self.arrays = layout, arrays
        self.fine_offset, self.fine_scale = fine_offset, fine_scale
        self.device = arrays["coarse"].device
        s = self.struct = SdfGrid()
        s.origin, s.cell = wp.vec3(*layout.origin), wp.vec3(*layout.cell)
        s.inv_cell = wp.vec3(*(1.0 / c for c in layout.cell))
        s.blocks = wp.vec3i(*layout.blocks)
        s.stride_y = (layout.blocks[2] // 4 + 1) * 64
        s.stride_x = (layout.blocks[1] // 4 + 1) * s.stride_y
        s.subgrid, s.bits, s.blend = layout.subgrid, layout.bits, layout.blend
        s.fine_offset, s.fine_scale = fine_offset, fine_scale
        s.coarse = arrays["coarse"]
        # Warp's tape visits every array of a struct, so that none may be missing
        for name, dtype in _OPTIONAL:
            setattr(s, name, wp.empty(0, dtype=dtype, device=self.device))
        if layout.subgrid:
            s.brick, s.slack = arrays["brick"], arrays["slack"]
            setattr(s, f"fine{layout.bits}", arrays["fine"])

    @property
    def brick_count(self) -> int:
        """Blocks that hold fine cells."""
        if not self.layout.subgrid:
            return 0
        s = self.layout.subgrid
        per_brick = (s + 1) ** 2 * (s if self.layout.bits == 16 else s + 1)
        return int(self.arrays["fine"].size // per_brick)

    @property
    def byte_count(self) -> int:
        """Device memory of the stored arrays [bytes]."""
        return sum(int(a.capacity) for a in self.arrays.values())

    def coarse_values(self) -> Array:
        """Values of the coarse nodes, float32, shape ``blocks + 1``."""
        shape = tuple(n + 1 for n in self.layout.blocks)
        out = wp.empty(shape, dtype=wp.float32, device=self.device)
        inputs = [self.struct.blocks, self.arrays["coarse"]]
        wp.launch(kernels.load_coarse, dim=shape, inputs=inputs, outputs=[out], device=self.device)
        values: Array = out.numpy()
        return values

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
    if size > _INDEX_LIMIT:
        raise ParameterError(f"values: {array.shape} nodes are more than 32-bit indices reach")
    coarse = wp.zeros(size, dtype=wp.float32, device=device)
    inputs = [wp.vec3i(*blocks), array]
    wp.launch(kernels.store_coarse, dim=array.shape, inputs=inputs, outputs=[coarse], device=device)
    layout = GridLayout(_floats(origin), _floats(step), blocks, 0, 32, blend)
    return Grid(layout, {"coarse": coarse})


def build_grid(
    evaluate: Evaluate,
    layout: GridLayout,
    parameters: FieldParameters,
    *,
    diagonal: float,
    device: Any,
    threads: int | None = None,
) -> Grid:
    """Fill a grid with the values of a function.

    Args:
        evaluate: Signed distances at points of the shape's frame.
        layout: Where the cells lie.
        parameters: Narrow band and tolerance.
        diagonal: Diagonal of the shape's bounds, of which the narrow band is a fraction.
        device: Warp device.
        threads: Threads that evaluate on the CPU; default one a core.

    Raises:
        ParameterError: The bricks need more values than 32-bit indices reach.
    """
    device = wp.get_device(device)
    workers = (threads or os.cpu_count() or 1) if device.is_cpu else 1
    base = [wp.vec3(*layout.origin), wp.vec3(*layout.cell), wp.vec3i(*layout.blocks)]
    shape = tuple(n + 1 for n in layout.blocks)

    def positions(kernel: Any, inputs: list[Any], row: int) -> Callable[[int, int], Any]:
        def make(first: int, count: int) -> Any:
            points = wp.empty(count, dtype=wp.vec3, device=device)
            wp.launch(kernel, dim=count, inputs=[*base, *inputs, first], outputs=[points], device=device)
            return evaluate(points, row)

        return make

    flat = _in_chunks(
        positions(kernels.coarse_points, [], shape[2]), int(np.prod(shape)), shape[2], device, workers
    )
    values = flat.reshape(shape)
    dense = store_dense(values, layout.origin, layout.cell, device=device, blend=layout.blend)
    if not layout.subgrid:
        return dense

    reach = parameters.narrow_band_thickness * diagonal + 2.0 * float(layout.fine_cell.max())
    choice = wp.empty(layout.blocks, dtype=wp.int32, device=device)
    inputs = [values, base[1], reach, parameters.tolerance]
    wp.launch(kernels.choose_blocks, dim=layout.blocks, inputs=inputs, outputs=[choice], device=device)
    picked = choice.numpy().reshape(-1)
    candidates = np.flatnonzero(picked & 1).astype(np.int32)
    ids = wp.array(candidates, dtype=wp.int32, device=device)
    centers = _in_chunks(positions(kernels.fine_points, [0, ids], 1), len(candidates), 1, device, workers)
    corner_sign = _sign_changes(values.numpy()).reshape(-1)[candidates]
    half_diagonal = 0.5 * float(np.linalg.norm(layout.cell))
    kept = candidates[(np.abs(centers.numpy()) <= reach + half_diagonal) | corner_sign]
    chosen = np.union1d(kept, np.flatnonzero(picked & 2)).astype(np.int32)
    return _fill_bricks(dense, layout, chosen, positions, device, workers)


def _sign_changes(values: Array) -> Array:
    """Blocks whose corners do not all lie on one side."""
    inside = (values < 0.0).astype(np.int8)
    for axis in range(3):
        n = inside.shape[axis] - 1
        inside = np.take(inside, range(n), axis) + np.take(inside, range(1, n + 1), axis)
    result: Array = (inside > 0) & (inside < 8)
    return result


def _in_chunks(evaluate: Callable[[int, int], Any], total: int, row: int, device: Any, workers: int) -> Any:
    """Evaluate ``total`` values, cut between rows; on the CPU the pieces are shared by threads.

    Launches release the interpreter lock. Each value depends on its own row alone, so that the result does not
    depend on the number of threads.
    """
    out = wp.empty(total, dtype=wp.float32, device=device)
    step = max((_PIECE if workers > 1 else _CHUNK) // row, 1) * row

    def fill(first: int) -> None:
        count = min(step, total - first)
        wp.copy(out, evaluate(first, count), dest_offset=first, count=count)

    starts = range(0, total, step)
    for first in starts[:1] if workers > 1 else starts:
        fill(first)  # the first piece compiles and loads what the threads launch
    if workers > 1 and len(starts) > 1:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(fill, starts[1:]))
    return out


def _fill_bricks(
    dense: Grid,
    layout: GridLayout,
    chosen: Array,
    positions: Callable[..., Callable[[int, int], Any]],
    device: Any,
    workers: int,
) -> Grid:
    s = layout.subgrid
    node_count = len(chosen) * (s + 1) ** 3
    if node_count > _INDEX_LIMIT:
        raise ParameterError(
            f"{len(chosen)} refined blocks need {node_count} values, more than 32-bit indices reach"
        )
    brick = np.full(int(np.prod(layout.blocks)), -1, dtype=np.int32)
    brick[chosen] = np.arange(len(chosen), dtype=np.int32)
    arrays = {
        "coarse": dense.arrays["coarse"],
        "brick": wp.array(brick, dtype=wp.int32, device=device),
        "slack": wp.zeros(len(brick), dtype=wp.float32, device=device),
        "fine": wp.empty(0, dtype=wp.float32, device=device),
    }
    ids = wp.array(chosen, dtype=wp.int32, device=device)
    values = _in_chunks(positions(kernels.fine_points, [s, ids], s + 1), node_count, s + 1, device, workers)
    unpacked = Grid(dataclasses.replace(layout, bits=32), arrays)
    wp.launch(
        kernels.stitch_bricks,
        dim=node_count,
        inputs=[unpacked.struct, ids],
        outputs=[values, arrays["slack"]],
        device=device,
    )
    if layout.bits == 32 or not len(chosen):
        arrays["fine"] = values
        return Grid(dataclasses.replace(layout, bits=32), arrays)
    host = values.numpy()
    low, top = float(host.min()), float(host.max())
    scale = max(top - low, 1e-30) / (2**layout.bits - 1)
    if layout.bits == 16:
        words = len(chosen) * (s + 1) ** 2 * s
        arrays["fine"] = wp.empty(words, dtype=wp.uint32, device=device)
        wp.launch(
            kernels.pack_16,
            dim=words,
            inputs=[values, s, low, scale],
            outputs=[arrays["fine"]],
            device=device,
        )
    else:
        arrays["fine"] = wp.empty(node_count, dtype=wp.uint8, device=device)
        wp.launch(
            kernels.pack_8,
            dim=node_count,
            inputs=[values, low, scale],
            outputs=[arrays["fine"]],
            device=device,
        )
    slack = arrays["slack"].numpy()
    slack[chosen] += 0.51 * scale
    arrays["slack"] = wp.array(slack, dtype=wp.float32, device=device)
    return Grid(layout, arrays, low, scale)
