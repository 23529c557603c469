"""Regular samples of volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tensorphys_particles.errors import ModelError


def sample_box(lower: Sequence[float], upper: Sequence[float], spacing: float) -> npt.NDArray[np.float64]:
    """Cubic lattice that fills a box: the distance of points to the faces is half a spacing.

    The number of points along an edge is its length over the spacing, rounded; where the edge is no multiple of
    the spacing the lattice is centred in it. One particle so stands for spacing³ of volume, and a fluid of such
    particles starts at its rest density.

    Args:
        lower, upper: Corners of the box [length].
        spacing: Distance of neighbours [length], twice the rest offset.

    Returns:
        Points, float64 ``[n, 3]``, the last coordinate running fastest.

    Raises:
        ModelError: The box is empty or the spacing not positive.
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if not spacing > 0.0:
        raise ModelError(f"spacing: expected a positive length, got {spacing}")
    counts = np.rint((high - low) / spacing).astype(int)
    if low.shape != (3,) or high.shape != (3,) or (counts < 1).any():
        raise ModelError(f"box from {lower} to {upper}: holds no particle at a spacing of {spacing}")
    start = 0.5 * (low + high - (counts - 1) * spacing)
    axes = [start[k] + spacing * np.arange(counts[k]) for k in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
