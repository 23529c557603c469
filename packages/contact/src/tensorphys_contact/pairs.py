"""Candidate pairs: which shapes of an environment may touch. NumPy, vectorised."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .errors import PairError

IntArray = npt.NDArray[np.integer]
Int32Array = npt.NDArray[np.int32]


def candidate_pairs(
    shape_body: npt.ArrayLike,
    shape_environment: npt.ArrayLike,
    *,
    filtered_pairs: npt.ArrayLike | None = None,
    filtered_body_pairs: npt.ArrayLike | None = None,
) -> Int32Array:
    """List all pairs of shapes of one environment that may touch.

    Left out are pairs on one body, pairs of two static shapes, and filtered pairs.
    Shared static shapes meet the shapes of every environment.

    Args:
        shape_body: Flat body of each shape, −1 static, shape [shape_count].
        shape_environment: Environment of each shape, ascending, −1 for static
            shapes of all environments, which come last, shape [shape_count].
        filtered_pairs: Shape pairs that never touch, any order, shape [count, 2].
        filtered_body_pairs: Body pairs that never touch, shape [count, 2].

    Returns:
        Flat shape pairs, lower index first, sorted by environment, then by the
        two shapes, shape [pair_count, 2].

    Raises:
        PairError: the environments are not ascending with −1 last, or a shared
            shape moves.
    """
    body = np.asarray(shape_body, dtype=np.int64)
    environment = np.asarray(shape_environment, dtype=np.int64)
    if body.shape != environment.shape or body.ndim != 1:
        raise PairError(f"expected two equally long vectors, given {body.shape}, {environment.shape}")
    own = int((environment >= 0).sum())
    if (environment[own:] >= 0).any() or (np.diff(environment[:own]) < 0).any():
        raise PairError("shapes must be sorted by environment, with shared shapes (-1) last")
    if (body[own:] >= 0).any():
        raise PairError(f"shared shape {own + int(np.argmax(body[own:] >= 0))} has a moving body")
    shared = np.arange(own, len(body))
    count = int(environment[own - 1]) + 1 if own else 0
    start = np.searchsorted(environment[:own], np.arange(count + 1))
    blocks = []
    for size in np.unique(np.diff(start)):
        chosen = np.flatnonzero(np.diff(start) == size)
        first, second = np.triu_indices(size, k=1)
        local = np.concatenate(
            [
                np.stack([first, second], axis=1),
                np.stack(
                    np.meshgrid(np.arange(size), size + np.arange(len(shared)), indexing="ij"), axis=-1
                ).reshape(-1, 2),
            ]
        )
        block = local[None] + start[chosen][:, None, None]
        is_shared = local[:, 1] >= size
        block[:, is_shared, 1] = (local[is_shared, 1] - size + own)[None]
        blocks.append(block.reshape(-1, 2))
    pairs: npt.NDArray[np.int64] = np.concatenate(blocks) if blocks else np.zeros((0, 2), dtype=np.int64)
    body0, body1 = body[pairs[:, 0]], body[pairs[:, 1]]
    pairs = pairs[(body0 != body1) & ((body0 >= 0) | (body1 >= 0))]
    if filtered_pairs is not None:
        pairs = pairs[~_contains(filtered_pairs, pairs, len(body))]
    if filtered_body_pairs is not None:
        highest = int(body.max(initial=0)) + 1
        pairs = pairs[~_contains(filtered_body_pairs, np.sort(body[pairs], axis=1), highest)]
    order = np.lexsort((pairs[:, 1], pairs[:, 0], environment[pairs[:, 0]]))
    result: Int32Array = pairs[order].astype(np.int32)
    return result


def replicate_pairs(
    template_pairs: npt.ArrayLike,
    shape_count_per_environment: int,
    environment_count: int,
    *,
    shared_shape_count: int = 0,
) -> Int32Array:
    """Repeat the pairs of one environment for equal environments.

    Args:
        template_pairs: Pairs of environment 0, shape [count, 2]; an index from
            ``shape_count_per_environment`` on names a shared static shape.
        shape_count_per_environment: Shapes that each environment owns.
        environment_count: Number of environments.
        shared_shape_count: Number of shared static shapes.

    Returns:
        Flat pairs sorted by environment, shape [environment_count * count, 2];
        shared shapes come after the shapes of all environments.

    Raises:
        PairError: an index outside of the template.
    """
    template = np.sort(np.asarray(template_pairs, dtype=np.int64).reshape(-1, 2), axis=1)
    limit = shape_count_per_environment + shared_shape_count
    if template.size and (template.min() < 0 or template.max() >= limit):
        raise PairError(f"template pairs must lie in 0..{limit - 1}, given up to {template.max()}")
    step = np.arange(environment_count, dtype=np.int64) * shape_count_per_environment
    to_shared = (environment_count - 1) * shape_count_per_environment
    flat = template[None] + np.where(template < shape_count_per_environment, step[:, None, None], to_shared)
    return flat.reshape(-1, 2).astype(np.int32)


def _contains(wanted: npt.ArrayLike, pairs: npt.NDArray[np.int64], base: int) -> npt.NDArray[np.bool_]:
    """Tell which pairs (lower index first) are among the wanted ones."""
    table = np.sort(np.asarray(wanted, dtype=np.int64).reshape(-1, 2), axis=1)
    low, high = table[:, 0], table[:, 1]
    inside = (low >= -1) & (high < base)
    # The low index may be −1 (a static body), hence the shift by one.
    codes = (low[inside] + 1) * (base + 1) + high[inside]
    return np.isin((pairs[:, 0] + 1) * (base + 1) + pairs[:, 1], codes)
