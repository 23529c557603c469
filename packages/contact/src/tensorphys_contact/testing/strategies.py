"""Hypothesis strategies of poses and sizes, with bounds that float32 holds exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Vector = npt.NDArray[np.float64]


def _coordinates(reach: float) -> st.SearchStrategy[float]:
    return st.floats(-reach, reach, width=32, allow_subnormal=False)


def unit_quaternions() -> st.SearchStrategy[Vector]:
    """Rotations (x, y, z, w), among them the identity, quarter turns and tiny angles."""
    special = [
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)],
        [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)],
        [0.5, 0.5, 0.5, 0.5],
        [1.0e-4, 0.0, 0.0, 1.0],
    ]
    general = st.tuples(*[_coordinates(1.0)] * 4).filter(lambda q: sum(x * x for x in q) > 0.01)
    return st.one_of(st.sampled_from(special), general).map(
        lambda q: np.asarray(q, dtype=np.float64) / np.linalg.norm(q)
    )


def poses(reach: float = 1.0) -> st.SearchStrategy[Vector]:
    """Poses ``[x y z, qx qy qz qw]`` with coordinates within ``reach`` [length]."""
    return st.tuples(st.tuples(*[_coordinates(reach)] * 3), unit_quaternions()).map(
        lambda parts: np.concatenate([np.asarray(parts[0], dtype=np.float64), parts[1]])
    )


def _lengths() -> st.SearchStrategy[float]:
    return st.floats(0.0625, 0.5, width=32)


def sphere_sizes() -> st.SearchStrategy[Vector]:
    """Sizes (radius, 0, 0)."""
    return _lengths().map(lambda r: np.array([r, 0.0, 0.0]))


def capsule_sizes() -> st.SearchStrategy[Vector]:
    """Sizes (radius, half height, 0)."""
    return st.tuples(_lengths(), _lengths()).map(lambda s: np.array([*s, 0.0]))


def box_sizes() -> st.SearchStrategy[Vector]:
    """Half extents."""
    return st.tuples(_lengths(), _lengths(), _lengths()).map(np.array)
