"""Which environments solve their contacts at once, and the arrays for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels import newton, skyline
from tensorphys_dynamics.model import Model

# Values of the matrix of one environment and of all, beyond which contacts are swept.
ENVIRONMENT_VALUES = 1 << 18
TOTAL_VALUES = 1 << 28


def skyline_capacity(model: Model, least: int) -> np.ndarray:
    """Values that the matrix of each environment may use, int64; 0 where contacts are swept.

    Contacts are solved at once where bodies can touch each other: in environments of at least two articulations that
    move, or of one where something else may press on it.
    """
    velocity = model.articulation_velocity_start.numpy()
    environment = model.articulation_environment.numpy()
    counts = np.diff(velocity).astype(np.int64)
    moving = np.bincount(environment, weights=counts > 0, minlength=model.environment_count)
    total = np.bincount(environment, weights=counts, minlength=model.environment_count).astype(np.int64)
    values = np.where(moving >= least, np.minimum(total * (total + 1) // 2, ENVIRONMENT_VALUES), 0)
    return values if values.sum() <= TOTAL_VALUES else np.zeros_like(values)


def create_skyline(
    model: Model, slots: int, large: npt.NDArray[np.int32], least: int
) -> tuple[skyline.Skyline, newton.NewtonData, bool]:
    """Allocate the matrix and the scratch of the solve, and tell whether any environment uses them.

    Args:
        model: Constants.
        slots: Contact slots, 0 where no contacts are solved here.
        large: 1 for environments that are solved in parallel; their capacity becomes -1.
        least: Articulations that move, from which on contacts are solved at once.
    """
    capacity = skyline_capacity(model, least) if slots else np.zeros(model.environment_count, np.int64)
    capacity = np.where(large == 1, 0, capacity)
    needed = bool(capacity.any())
    device = model.device
    z = skyline.Skyline()
    start = np.concatenate(([0], np.cumsum(capacity)))
    z.value_start = wp.array(start.astype(np.int32), dtype=wp.int32, device=device)
    marked = np.where(large == 1, -1, capacity)
    z.capacity = wp.array(marked.astype(np.int32), dtype=wp.int32, device=device)
    z.used = wp.zeros(model.environment_count, dtype=wp.int32, device=device)
    z.value = wp.zeros(int(start[-1]), dtype=wp.float32, device=device)
    velocities = model.velocity_count if needed else 0
    articulations = model.articulation_count if needed else 0
    for name in ("place", "first", "row"):
        setattr(z, name, wp.zeros(velocities, dtype=wp.int32, device=device))
    for name in ("degree", "neighbour_start", "rank", "queue"):
        setattr(z, name, wp.zeros(articulations, dtype=wp.int32, device=device))
    contacts = slots if needed else 0
    z.neighbour = wp.zeros(2 * contacts, dtype=wp.int32, device=device)
    x = newton.NewtonData()
    for name in ("base", "start", "velocity", "change"):
        setattr(x, name, wp.zeros(contacts, dtype=wp.vec3, device=device))
    for name in ("target", "lift"):
        setattr(x, name, wp.zeros(contacts, dtype=wp.float32, device=device))
    x.sliding = wp.zeros(contacts, dtype=wp.int32, device=device)
    x.step = wp.zeros(velocities, dtype=wp.float32, device=device)
    x.before = wp.zeros(velocities, dtype=wp.float32, device=device)
    return z, x, needed
