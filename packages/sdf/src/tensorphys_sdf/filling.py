"""Filling a grid with the values of a function: coarse nodes, the choice of blocks, bricks."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import bricks, cells
from tensorphys_sdf._kernels import build as kernels
from tensorphys_sdf.errors import ParameterError
from tensorphys_sdf.grid import INDEX_LIMIT, Grid, GridLayout, store_dense
from tensorphys_sdf.mesh import Array
from tensorphys_sdf.packing import Bricks, pack_grid
from tensorphys_sdf.parameters import FieldParameters

# Signed distances at points; the points come in rows of neighbours of the given length.
Evaluate = Callable[[Any, int], Any]

_CHUNK = 1 << 22  # points evaluated at once, 64 MB of positions and values
_PIECE = 1 << 16  # points that one thread evaluates at once
_INSIDE = 4.0  # tolerance inside of the shape, of that outside
_ASK = 1.4  # tolerance of fine cells beyond the box, of that of coarse ones
# Where cells are looked at: the middle of each and of its eighths; and of its faces and edges.
_EIGHTHS = np.array([(a, b, c) for a in (0.25, 0.75) for b in (0.25, 0.75) for c in (0.25, 0.75)])
_MIDDLE = np.full((1, 3), 0.5)
_BORDER = np.array(
    [
        (a, b, c)
        for a in (0.0, 0.5, 1.0)
        for b in (0.0, 0.5, 1.0)
        for c in (0.0, 0.5, 1.0)
        if 0 < (a == 0.5) + (b == 0.5) + (c == 0.5) < 3
    ]
)
_DOUBT = 0.4  # of the tolerance: an error above which cells are looked at again


@dataclasses.dataclass(frozen=True)
class FillBricks:
    """A way to fill bricks that is faster than point by point.

    Both take ``[origin, cell, blocks, subgrid, brick of each block, block of each brick, first brick to fill]``, the
    number of bricks to fill, and the array of values. Nodes of several bricks are made once and copied between the
    two.

    Attributes:
        distances: Writes values at the nodes that belong to the bricks.
        signs: Gives them their sign, where that needs the neighbours.
    """

    distances: Callable[[list[Any], int, Any], None]
    signs: Callable[[list[Any], int, Any], None]


@dataclasses.dataclass(frozen=True)
class Guard:
    """Where the relative error of distances is bounded: beyond a box around the shape.

    Attributes:
        lower: Lower corner of the box.
        upper: Upper corner of the box.
    """

    lower: Array
    upper: Array


class _Filler:
    """One filling of a grid."""

    def __init__(
        self,
        evaluate: Evaluate,
        layout: GridLayout,
        parameters: FieldParameters,
        guard: Guard,
        device: Any,
        threads: int | None,
        fill: FillBricks | None,
    ) -> None:
        self.evaluate, self.layout, self.parameters, self.guard = evaluate, layout, parameters, guard
        self.device = device
        self.workers = (threads or os.cpu_count() or 1) if device.is_cpu else 1
        self.fill = fill
        self.base = [wp.vec3(*layout.origin), wp.vec3(*layout.cell), wp.vec3i(*layout.blocks)]

    def at_nodes(self, kernel: Any, inputs: list[Any], total: int, row: int) -> Any:
        """Values at the points that a kernel makes from the number of a node."""

        def make(first: int, count: int) -> Any:
            points = wp.empty(count, dtype=wp.vec3, device=self.device)
            given = [*self.base, *inputs, first]
            wp.launch(kernel, dim=count, inputs=given, outputs=[points], device=self.device)
            return self.evaluate(points, row)

        return in_chunks(make, total, row, self.device, self.workers)

    def coarse(self) -> Any:
        """Values of the coarse nodes, shape ``blocks + 1``."""
        shape = tuple(n + 1 for n in self.layout.blocks)
        return self.at_nodes(kernels.coarse_points, [], int(np.prod(shape)), shape[2]).reshape(shape)

    def choose(self, values: Any, diagonal: float) -> Array:
        """Blocks that get a brick: those that the narrow band crosses, and those that are too coarse without."""
        layout, parameters = self.layout, self.parameters
        reach = parameters.narrow_band_thickness * diagonal + 2.0 * float(layout.fine_cell.max())
        choice = wp.empty(layout.blocks, dtype=wp.int32, device=self.device)
        inside = _INSIDE * parameters.tolerance
        wp.launch(
            cells.choose_blocks,
            dim=layout.blocks,
            inputs=[values.reshape((1, *values.shape)), self.base[1], reach, parameters.tolerance, inside],
            outputs=[choice],
            device=self.device,
        )
        picked = choice.numpy().reshape(-1)
        candidates = np.flatnonzero(picked & 1).astype(np.int32)
        ids = wp.array(candidates, dtype=wp.int32, device=self.device)
        centers = self.at_nodes(kernels.fine_points, [0, ids], len(candidates), 1).numpy()
        half_diagonal = 0.5 * float(np.linalg.norm(layout.cell))
        nodes = values.numpy()
        crossed = _sign_changes(nodes).reshape(-1)[candidates]
        kept = candidates[(np.abs(centers) <= reach + half_diagonal) | crossed]

        suspects = np.setdiff1d(np.flatnonzero(picked & 2), kept)
        block = np.stack(np.unravel_index(suspects, layout.blocks), axis=1)
        outside = nodes.reshape(-1)[np.ravel_multi_index(tuple(block.T), nodes.shape)] > 0.0
        limit = np.where(outside, parameters.tolerance, inside)
        first = np.broadcast_to(np.concatenate([_MIDDLE, _EIGHTHS]), (len(block), 9, 3))
        place = (np.array([layout.origin]), np.array(layout.cell))
        bad = self.too_coarse(nodes[None], np.zeros(len(block), int), block, first, _BORDER, place, limit)
        return np.union1d(kept, suspects[bad]).astype(np.int32)

    def too_coarse(
        self,
        nodes: Array,
        brick: Array,
        cell: Array,
        first: Array,
        second: Array,
        place: tuple[Array, Array],
        limit: Any,
    ) -> Array:
        """Cells that err by more than a limit at the points of ``first``, or in doubt at those of ``second``."""
        error = self.errors(nodes, brick, cell, first, place)
        doubt = np.flatnonzero((error > _DOUBT * limit) & (error <= limit))
        again = np.broadcast_to(second, (len(doubt), *second.shape))
        error[doubt] = np.maximum(error[doubt], self.errors(nodes, brick[doubt], cell[doubt], again, place))
        result: Array = error > limit
        return result

    def errors(
        self, nodes: Array, brick: Array, cell: Array, fractions: Array, place: tuple[Array, Array]
    ) -> Array:
        """Largest relative errors of interpolation in cells.

        Args:
            nodes: Values at the nodes of bricks, shape ``(bricks, nx, ny, nz)``.
            brick: Brick of each cell, shape ``(N,)``.
            cell: Its place there, shape ``(N, 3)``.
            fractions: Where to look in it, shape ``(N, K, 3)``.
            place: First node of each brick and edge lengths of the cells.

        Returns:
            Relative to the true distance, shape ``(N,)``.
        """
        if len(brick) == 0:
            return np.zeros(0)
        x, y, z = cell.T
        v = np.stack(
            [nodes[brick, x + a, y + b, z + c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], axis=1
        )[:, None]
        f = fractions
        for axis in range(3):  # halves the corners: first those that differ in x, then y, then z
            half = v.shape[2] // 2
            v = v[..., :half] + (v[..., half:] - v[..., :half]) * f[..., axis, None]
        points = (place[0][brick] + cell * place[1])[:, None] + f * place[1]
        given = wp.array(points.reshape(-1, 3), dtype=wp.vec3, device=self.device)
        row = f.shape[1]
        truth = in_chunks(
            lambda first, count: self.evaluate(given[first : first + count], row),
            len(given),
            row,
            self.device,
            self.workers,
        ).numpy()
        truth = truth.reshape(len(brick), row)
        result: Array = (np.abs(v[..., 0] - truth) / np.maximum(np.abs(truth), 1e-30)).max(axis=1)
        return result

    def fine(self, dense: Grid, chosen: Array) -> Bricks:
        """Values of bricks, which go over into coarse data at their faces."""
        layout, s = self.layout, self.layout.subgrid
        count = len(chosen)
        word_count = count * (s + 1) ** 3 * max(layout.bits // 8, 1)
        if word_count > INDEX_LIMIT:
            raise ParameterError(
                f"{count} refined blocks need {word_count} words, more than 32-bit indices reach"
            )
        brick = np.full(int(np.prod(layout.blocks)), -1, dtype=np.int32)
        brick[chosen] = np.arange(count, dtype=np.int32)
        ids = wp.array(chosen, dtype=wp.int32, device=self.device)
        bricks_of = wp.array(brick, dtype=wp.int32, device=self.device)
        slack = wp.zeros(len(brick), dtype=wp.float32, device=self.device)
        node_count = count * (s + 1) ** 3
        if self.fill is None:
            values = self.at_nodes(kernels.fine_points, [s, ids], node_count, s + 1)
        else:
            values = self.filled(self.fill, bricks_of, ids)
        wp.launch(
            kernels.stitch_bricks,
            dim=node_count,
            inputs=[dense.struct, bricks_of, s, ids],
            outputs=[values, slack],
            device=self.device,
        )
        return Bricks(chosen, bricks_of, values, slack)

    def filled(self, fill: FillBricks, bricks_of: Any, ids: Any) -> Any:
        """Values at the nodes of all bricks by a faster way."""
        s, count = self.layout.subgrid, len(ids)
        values = wp.empty(count * (s + 1) ** 3, dtype=wp.float32, device=self.device)
        piece = max(_PIECE // (s + 1) ** 3, 1)
        place = [*self.base, s, bricks_of, ids]

        def share(given: list[Any], number: int, out: Any) -> None:
            wp.launch(bricks.share_nodes, dim=number, inputs=given[2:], outputs=[out], device=self.device)

        for step in (fill.distances, share, fill.signs):

            def work(first: int, step: Any = step) -> None:
                step([*place, first], min(piece, count - first), values)

            _shared_out(work, range(0, count, piece), self.workers)
        return values

    def exact_blocks(self, made: Bricks) -> Array:
        """Bricks beyond the guarded box that err by more than the tolerance all the same."""
        layout, s, chosen = self.layout, self.layout.subgrid, made.chosen
        fine = layout.fine_cell
        block = np.stack(np.unravel_index(chosen, layout.blocks), axis=1)
        corners = np.array(layout.origin) + block * np.array(layout.cell)
        lower, upper = self.guard.lower + 0.5 * fine, self.guard.upper - 0.5 * fine
        outer = np.flatnonzero(np.any((corners < lower) | (corners + layout.cell > upper), axis=1))
        if len(outer) == 0 or self.parameters.tolerance == 0.0:
            return np.empty(0, dtype=np.int64)
        nodes = made.values.numpy().reshape(len(chosen), s + 1, s + 1, s + 1)[outer]
        shape = (len(outer), s, s, s)
        fractions = wp.empty(shape, dtype=wp.vec3, device=self.device)
        limit = _ASK * self.parameters.tolerance
        inputs = [
            wp.array(nodes, dtype=wp.float32, device=self.device),
            wp.array(corners[outer], dtype=wp.vec3, device=self.device),
            *(wp.vec3(*v) for v in (fine, lower, upper)),
            limit,
        ]
        wp.launch(cells.suspect_cells, dim=shape, inputs=inputs, outputs=[fractions], device=self.device)
        worst = fractions.numpy().reshape(-1, 3)
        suspects = np.flatnonzero(worst[:, 0])
        brick, *cell = np.unravel_index(suspects, shape)
        looked = np.stack([worst[suspects], np.full((len(suspects), 3), 0.5)], axis=1)
        place = (corners[outer], fine)
        second = np.concatenate([_EIGHTHS, _BORDER])
        bad = self.too_coarse(nodes, brick, np.stack(cell, axis=1), looked, second, place, limit)
        result: Array = np.unique(chosen[outer[brick[bad]]])
        return result


def build_grid(
    evaluate: Evaluate,
    layout: GridLayout,
    parameters: FieldParameters,
    guard: Guard,
    *,
    diagonal: float,
    device: Any,
    threads: int | None = None,
    fill: FillBricks | None = None,
) -> Grid:
    """Fill a grid with the values of a function.

    Args:
        evaluate: Signed distances at points of the shape's frame.
        layout: Where the cells lie.
        parameters: Narrow band and tolerance.
        guard: Beyond this box, blocks that err by more than the tolerance are refined, and where that does not
            suffice marked to be asked of the surface.
        diagonal: Diagonal of the shape's bounds, of which the narrow band is a fraction.
        device: Warp device.
        threads: Threads that evaluate on the CPU; default one a core.
        fill: A faster way to fill bricks.

    Raises:
        ParameterError: The bricks need more values than 32-bit indices reach.
    """
    filler = _Filler(evaluate, layout, parameters, guard, wp.get_device(device), threads, fill)
    values = filler.coarse()
    dense = store_dense(values, layout.origin, layout.cell, device=device, blend=layout.blend)
    if not layout.subgrid:
        return dense
    made = filler.fine(dense, filler.choose(values, diagonal))
    return pack_grid(layout, values, made, filler.exact_blocks(made))


def _sign_changes(values: Array) -> Array:
    """Blocks whose corners do not all lie on one side."""
    inside = (values < 0.0).astype(np.int8)
    for axis in range(3):
        n = inside.shape[axis] - 1
        inside = np.take(inside, range(n), axis) + np.take(inside, range(1, n + 1), axis)
    result: Array = (inside > 0) & (inside < 8)
    return result


def in_chunks(evaluate: Callable[[int, int], Any], total: int, row: int, device: Any, workers: int) -> Any:
    """Evaluate ``total`` values, cut between rows; on the CPU the pieces are shared by threads.

    Launches release the interpreter lock. Each value depends on its own row alone, so that the result does not
    depend on the number of threads.
    """
    out = wp.empty(total, dtype=wp.float32, device=device)
    step = max((_PIECE if workers > 1 else _CHUNK) // row, 1) * row

    def fill(first: int) -> None:
        count = min(step, total - first)
        wp.copy(out, evaluate(first, count), dest_offset=first, count=count)

    _shared_out(fill, range(0, total, step), workers)
    return out


def _shared_out(work: Callable[[int], None], starts: range, workers: int) -> None:
    for first in starts[:1] if workers > 1 else starts:
        work(first)  # the first piece compiles and loads what the threads launch
    if workers > 1 and len(starts) > 1:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, starts[1:]))
