"""Slow float64 twins of the density constraint and of springs, written from their formulas, for tests."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


def lattice_sum(spacing: float, reach: float) -> float:
    """Σ (1 - r / reach)³ over the neighbours of a point of a cubic lattice that are within reach."""
    cells = int(reach / spacing) + 1
    steps = range(-cells, cells + 1)
    radii = [
        spacing * float(np.linalg.norm(step)) for step in itertools.product(steps, repeat=3) if any(step)
    ]
    return sum((1.0 - r / reach) ** 3 for r in radii if r < reach)


def densities(points: FloatArray, spacing: float, reach: float) -> FloatArray:
    """Number density of each point over that of the lattice, ``[n]``."""
    d = points[:, None] - points[None]
    q = np.linalg.norm(d, axis=2) / reach
    f = np.where(q < 1.0, (1.0 - np.minimum(q, 1.0)) ** 3, 0.0)
    np.fill_diagonal(f, 0.0)
    return f.sum(axis=1) / lattice_sum(spacing, reach)


def density_correction(
    points: FloatArray, inverse_mass: FloatArray, spacing: float, reach: float, relaxation: float
) -> FloatArray:
    """Moves of one Jacobi pass over the density constraints C_i = ρ_i / ρ_0 - 1 ≤ 0 [length], ``[n, 3]``.

    With ∇_k C_i the derivative by point k, λ_i = -C_i / Σ_k w_k |∇_k C_i|² where C_i > 0, and the move of point k is
    the relaxed w_k Σ_i λ_i ∇_k C_i [Macklin & Müller 2013, eq. 8 and 9, with masses].
    """
    n = len(points)
    full = lattice_sum(spacing, reach)
    gradient = np.zeros((n, n, 3))
    for i in range(n):
        for j in range(n):
            d = points[i] - points[j]
            r = float(np.linalg.norm(d))
            if i != j and 0.0 < r < reach:
                slope = -3.0 * (1.0 - r / reach) ** 2 / (reach * full) * d / r
                gradient[i, i] += slope
                gradient[i, j] -= slope
    excess = np.maximum(densities(points, spacing, reach) - 1.0, 0.0)
    response = np.einsum("k,ikc,ikc->i", inverse_mass, gradient, gradient)
    multiplier = np.where(response > 0.0, -excess / np.where(response > 0.0, response, 1.0), 0.0)
    return relaxation * inverse_mass[:, None] * np.einsum("i,ikc->kc", multiplier, gradient)


def spring_pass(
    start: FloatArray,
    move: FloatArray,
    inverse_mass: FloatArray,
    ends: IntArray,
    rest_length: FloatArray,
    stiffness: FloatArray,
    damping: FloatArray,
    time: float,
) -> FloatArray:
    """Moves after one Gauss–Seidel pass over the springs in the given order [length], ``[n, 3]``.

    Δλ = -(C + α̃ λ + γ ∇C·Δx) / ((1 + γ) w + α̃) with α̃ = 1 / (k h²), γ = c / (k h), λ = 0 before the pass
    [Macklin, Müller & Chentanez 2016, eq. 26].
    """
    moves = move.copy()
    for spring, (a, b) in enumerate(ends.tolist()):
        d = start[a] + moves[a] - start[b] - moves[b]
        length = float(np.linalg.norm(d))
        w = inverse_mass[a] + inverse_mass[b]
        if w == 0.0 or length == 0.0:
            continue
        n = d / length
        soft = 1.0 / (stiffness[spring] * time * time)
        gamma = damping[spring] / (stiffness[spring] * time)
        error = length - rest_length[spring] + gamma * float(n @ (moves[a] - moves[b]))
        change = -error / ((1.0 + gamma) * w + soft)
        moves[a] += inverse_mass[a] * change * n
        moves[b] -= inverse_mass[b] * change * n
    return moves
