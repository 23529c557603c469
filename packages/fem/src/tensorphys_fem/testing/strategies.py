"""Hypothesis strategies of deformations and materials."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tensorphys_fem.material import Elasticity, Material


def rotations() -> st.SearchStrategy[Any]:
    """Rotation matrices, float64 ``(3, 3)``."""
    part = st.floats(-1.0, 1.0)
    return st.tuples(part, part, part, part).filter(lambda q: np.dot(q, q) > 0.01).map(_matrix)


def deformations(
    smallest: float = 0.3, largest: float = 2.5, *, inverted: bool = False
) -> st.SearchStrategy[Any]:
    """Deformation gradients with stretches in a range, float64 ``(3, 3)``; `inverted` mirrors some of them."""
    stretch = st.floats(smallest, largest)
    sign = st.sampled_from((1.0, -1.0)) if inverted else st.just(1.0)
    return st.builds(
        lambda left, a, b, c, s, right: left @ np.diag((a, b, s * c)) @ right,
        rotations(),
        stretch,
        stretch,
        stretch,
        sign,
        rotations(),
    )


def materials(*, largest_poisson: float = 0.49) -> st.SearchStrategy[Material]:
    """Materials of all laws, from 1e3 to 1e9 Pa."""
    return st.builds(
        lambda exponent, poisson, law: Material(10.0**exponent, poisson, elasticity=law),
        st.floats(3.0, 9.0),
        st.floats(0.0, largest_poisson),
        st.sampled_from(Elasticity),
    )


def _matrix(quaternion: tuple[float, float, float, float]) -> Any:
    x, y, z, w = np.asarray(quaternion) / np.linalg.norm(quaternion)
    return np.array(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        )
    )
