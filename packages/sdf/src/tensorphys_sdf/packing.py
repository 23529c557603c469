"""Putting coarse values and bricks into the form in which sparse grids are stored."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import records
from tensorphys_sdf.grid import Grid, GridLayout, store_dense
from tensorphys_sdf.mesh import Array


@dataclasses.dataclass(frozen=True)
class Bricks:
    """Bricks of full precision.

    Attributes:
        chosen: Their blocks, int32.
        of_block: Brick of each block, -1 without, int32 on the device.
        values: Distances at their nodes, ``(subgrid + 1)^3`` each, float32 on the device.
        slack: Largest error of the node values of each block, float32 on the device.
    """

    chosen: Array
    of_block: Any
    values: Any
    slack: Any


def pack_grid(layout: GridLayout, coarse: Any, made: Bricks, exact: Array) -> Grid:
    """Make a sparse grid.

    Args:
        layout: Where its cells lie.
        coarse: Distances at the coarse nodes, shape ``blocks + 1``, on the device.
        made: Its bricks.
        exact: Blocks, of any order, in which the surface decides.
    """
    device = coarse.device
    asked, weights = _asked(layout, exact, device)
    blocks = int(np.prod(layout.blocks))
    aside = np.full(blocks, -1, dtype=np.int32)
    aside[asked] = blocks + np.arange(len(asked), dtype=np.int32)
    record = wp.zeros((blocks + len(asked), int(records.RECORD)), dtype=wp.int32, device=device)
    inputs = [coarse, made.of_block, wp.array(aside, dtype=wp.int32, device=device)]
    wp.launch(records.pack_records, dim=layout.blocks, inputs=inputs, outputs=[record], device=device)
    fine, offset, scale = _quads(layout, made)
    slack = made.slack
    if layout.bits < 32 and len(made.chosen):
        host = slack.numpy()
        host[made.chosen] += 0.51 * scale  # of rounding
        slack = wp.array(host, dtype=wp.float32, device=device)
    arrays = {"record": record.reshape(record.size), "fine": fine, "slack": slack, "exact": weights}
    return Grid(layout, arrays, offset, scale)


def _quads(layout: GridLayout, made: Bricks) -> tuple[Any, float, float]:
    """Words of all bricks, the distance of a stored 0, and that of one stored unit."""
    device, s = made.values.device, layout.subgrid
    quads = len(made.chosen) * (s + 1) * s * s
    words = wp.empty(quads * layout.bits // 8, dtype=wp.uint32, device=device)
    low, scale = 0.0, 1.0
    if layout.bits < 32 and quads:
        host = made.values.numpy()
        low = float(host.min())
        scale = max(float(host.max()) - low, 1e-30) / (2**layout.bits - 1)
    inputs = [made.values, s, layout.bits, low, scale]
    wp.launch(records.pack_quads, dim=quads, inputs=inputs, outputs=[words], device=device)
    return words, low, scale


def _asked(layout: GridLayout, blocks: Array, device: Any) -> tuple[Array, Any]:
    """Blocks in which the surface is asked, which are the given ones and those around them, and its weight at nodes."""
    if len(blocks) == 0:
        return np.empty(0, dtype=np.int64), wp.empty(0, dtype=wp.uint8, device=device)
    marked = np.zeros(layout.blocks, dtype=bool)
    marked.reshape(-1)[blocks] = True
    nodes = np.zeros(tuple(n + 1 for n in layout.blocks), dtype=np.float32)
    touched = np.zeros(layout.blocks, dtype=bool)
    corners = [np.s_[:-1], np.s_[1:]]
    cuts = [(a, b, c) for a in corners for b in corners for c in corners]
    for cut in cuts:
        nodes[cut] = np.maximum(nodes[cut], marked)
    for cut in cuts:
        touched |= nodes[cut] > 0.0
    weights = store_dense(nodes, layout.origin, layout.cell, device=device).arrays["coarse"].numpy()
    return np.flatnonzero(touched), wp.array(weights.astype(np.uint8), dtype=wp.uint8, device=device)
