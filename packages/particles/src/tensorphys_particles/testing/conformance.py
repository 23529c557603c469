"""Battery for anything that wants to be an obstacle."""

from __future__ import annotations

import numpy as np
import warp as wp

from tensorphys_particles.model import ParticleModel
from tensorphys_particles.protocols import Obstacles


def check_obstacles(model: ParticleModel, obstacles: Obstacles, *, margin: float) -> None:
    """Check the rows that obstacles write for the start of a model.

    Args:
        model: Particles, some of them within `margin` of the obstacles.
        obstacles: What is checked; it is asked for rows three times.
        margin: Distance from which particles want rows [length].

    Raises:
        AssertionError: Something is not as :class:`tensorphys_particles.Obstacles` says; the message says what.
    """
    count, device = model.particle_count, model.device
    positions = wp.clone(model.initial_positions)
    time = wp.full(1, 1e-3, dtype=wp.float32, device=device)
    names = ("count", "normal", "point", "velocity", "friction", "response", "impulse")
    arrays = {name: getattr(obstacles, name) for name in names}

    def rows(distance: float) -> dict[str, np.ndarray]:
        wanted = wp.full(count, distance, dtype=wp.float32, device=device)
        obstacles.collide(positions, wanted, time)
        for name in names:
            assert getattr(obstacles, name) is arrays[name], f"{name}: the array was replaced"
        return {name: arrays[name].numpy().copy() for name in names}

    first = rows(margin)
    capacity = first["normal"].shape[1]
    numbers = first["count"]
    assert (numbers >= 0).all() and (numbers <= capacity).all(), f"count: beyond 0 … {capacity}"
    assert numbers.any(), "count: no particle has a row; the battery needs some"
    filled = np.arange(capacity)[None] < numbers[:, None]
    normal, point = first["normal"][filled], first["point"][filled]
    np.testing.assert_allclose(
        np.linalg.norm(normal, axis=1), 1.0, atol=1e-5, err_msg="normal: not a unit vector"
    )
    places = np.repeat(positions.numpy()[:, None], capacity, axis=1)[filled]
    beside = places - point
    distance = np.einsum("ij,ij->i", beside, normal)
    assert (distance <= margin * (1.0 + 1e-4) + 1e-6).all(), "point: further away than the margin"
    across = np.linalg.norm(beside - distance[:, None] * normal, axis=1)
    size = 1.0 + np.abs(places).max()
    assert across.max() < 1e-5 * size, "point: not below the particle along the normal"
    assert (first["response"][filled] >= 0.0).all(), "response: negative"
    assert np.isfinite(first["friction"][filled]).all(), "friction: not finite"
    assert np.isfinite(first["velocity"][filled]).all(), "velocity: not finite"

    again = rows(margin)
    for name in set(names) - {"impulse"}:
        here = filled if first[name].ndim > 1 else np.ones(count, dtype=bool)
        np.testing.assert_array_equal(
            again[name][here], first[name][here], err_msg=f"{name}: does not repeat"
        )
    never = rows(-np.inf)
    assert not never["count"].any(), "count: rows for a margin of -inf"
