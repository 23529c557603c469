"""Springs of cloths: given, or made from a mesh, and their order of solution."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import numpy.typing as npt

from tensorphys_particles.errors import MeshError

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class SpringSet:
    """Springs between the particles of one cloth.

    Attributes:
        indices: Two particles of the cloth, int32 ``[s, 2]``.
        rest_lengths: [length], ``[s]``.
        stiffnesses: [force/length], ``[s]``; infinite is allowed, 0 leaves the damping.
        dampings: [force·time/length], ``[s]``.
    """

    indices: IntArray
    rest_lengths: FloatArray
    stiffnesses: FloatArray
    dampings: FloatArray

    def __post_init__(self) -> None:
        """Bring everything to arrays of one length, and check the values."""
        indices = np.ascontiguousarray(np.asarray(self.indices, dtype=np.int32).reshape(-1, 2))
        object.__setattr__(self, "indices", indices)
        count = len(indices)
        for name in ("rest_lengths", "stiffnesses", "dampings"):
            given = np.asarray(getattr(self, name), dtype=np.float64)
            if given.ndim > 1 or given.size not in (1, count):
                raise MeshError(f"{name}: expected a number or {count} of them, got shape {given.shape}")
            values = np.broadcast_to(given.reshape(-1), (count,)).copy() if count else np.zeros(0)
            if np.isnan(values).any() or (values < 0.0).any():
                raise MeshError(
                    f"{name}: spring {int(np.argmax(~(values >= 0.0)))} is negative or not a number"
                )
            object.__setattr__(self, name, values)
        if count and (indices[:, 0] == indices[:, 1]).any():
            bad = int(np.argmax(indices[:, 0] == indices[:, 1]))
            raise MeshError(f"spring {bad} joins particle {indices[bad, 0]} to itself")

    @property
    def count(self) -> int:
        """Number of springs."""
        return len(self.indices)


def rest_lengths(points: npt.ArrayLike, indices: npt.ArrayLike) -> FloatArray:
    """Distance of the two ends of each spring [length], float64 ``[s]``."""
    places = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    ends = np.asarray(indices, dtype=np.int64).reshape(-1, 2)
    return np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1)


def make_springs(
    points: npt.ArrayLike,
    triangles: npt.ArrayLike,
    *,
    stretch_stiffness: float = 1.5,
    shear_stiffness: float = 1.5,
    bend_stiffness: float = 1.5,
    damping: float = 10.0,
) -> SpringSet:
    """Springs of a triangle mesh in its rest shape.

    Every edge carries a spring, and every pair of triangles one between the corners off their common edge. Where
    the common edge is the longest of both triangles it is the diagonal of a quadrilateral: then both springs
    resist shear; elsewhere the edge resists stretch and the other bending.

    Args:
        points: Rest places [length], ``[n, 3]``.
        triangles: Corners, ``[t, 3]``.
        stretch_stiffness, shear_stiffness, bend_stiffness: [force/length]; springs of stiffness 0 are left out.
        damping: Of all springs [force·time/length].

    Returns:
        Springs in the order stretch, shear, bend, each sorted by its particles.

    Raises:
        MeshError: A triangle names a particle that is not there.
    """
    places, corners = _checked_mesh(points, triangles)
    edge_of: dict[tuple[int, int], list[int]] = {}
    for triangle, (a, b, c) in enumerate(corners.tolist()):
        for first, second in ((a, b), (b, c), (c, a)):
            edge_of.setdefault((min(first, second), max(first, second)), []).append(triangle)
    longest = _longest_edges(places, corners)
    kinds: dict[str, set[tuple[int, int]]] = {"stretch": set(), "shear": set(), "bend": set()}
    across: dict[tuple[int, int], str] = {}
    for edge, owners in edge_of.items():
        diagonal = len(owners) == 2 and all(longest[t] == edge for t in owners)
        kinds["shear" if diagonal else "stretch"].add(edge)
        for first, second in itertools.pairwise(owners):
            pair = sorted(int(sum(corners[t]) - edge[0] - edge[1]) for t in (first, second))
            if pair[0] != pair[1]:
                across.setdefault((pair[0], pair[1]), "shear" if diagonal else "bend")
    for pair_key, kind in across.items():
        if pair_key not in edge_of:
            kinds[kind].add(pair_key)
    wanted = {"stretch": stretch_stiffness, "shear": shear_stiffness, "bend": bend_stiffness}
    ends: list[tuple[int, int]] = []
    stiffnesses: list[float] = []
    for kind, stiffness in wanted.items():
        chosen = sorted(kinds[kind]) if stiffness > 0.0 else []
        ends += chosen
        stiffnesses += [stiffness] * len(chosen)
    return SpringSet(
        indices=np.asarray(ends, dtype=np.int32).reshape(-1, 2),
        rest_lengths=rest_lengths(places, ends) if ends else np.zeros(0),
        stiffnesses=np.asarray(stiffnesses),
        dampings=np.full(len(ends), damping),
    )


def make_grid_springs(
    points: npt.ArrayLike,
    shape: tuple[int, int],
    *,
    stretch_stiffness: float = 1.5,
    shear_stiffness: float = 1.5,
    bend_stiffness: float = 1.5,
    damping: float = 10.0,
) -> SpringSet:
    """Springs of a rectangular grid: along its lines, along both diagonals, and over every second particle.

    Args:
        points: Rest places, row by row [length], ``[rows · columns, 3]``.
        shape: Rows and columns.
        stretch_stiffness, shear_stiffness, bend_stiffness: [force/length]; springs of stiffness 0 are left out.
        damping: Of all springs [force·time/length].
    """
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    families = (
        (stretch_stiffness, ((0, 1), (1, 0))),
        (shear_stiffness, ((1, 1), (1, -1))),
        (bend_stiffness, ((0, 2), (2, 0))),
    )
    ends, stiffnesses = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
    for stiffness, steps in families:
        for down, right in steps if stiffness > 0.0 else ():
            first = number[: shape[0] - down, max(0, -right) : shape[1] - max(0, right)]
            second = number[down:, max(0, right) : shape[1] - max(0, -right)]
            ends.append(np.column_stack((first.ravel(), second.ravel())))
            stiffnesses.append(np.full(first.size, stiffness))
    indices = np.concatenate(ends)
    return SpringSet(
        indices=indices.astype(np.int32),
        rest_lengths=rest_lengths(points, indices),
        stiffnesses=np.concatenate(stiffnesses),
        dampings=np.full(len(indices), damping),
    )


def color_springs(indices: IntArray, particle_count: int) -> IntArray:
    """Colour of each spring, so that no two springs of a colour share a particle, int32 ``[s]``.

    Greedy in the given order: the lowest colour that is free at both ends. It needs fewer than twice the largest
    number of springs at a particle.
    """
    used = [0] * particle_count
    colors = np.zeros(len(indices), dtype=np.int32)
    for spring, (first, second) in enumerate(indices.tolist()):
        taken = used[first] | used[second]
        free = ~taken & (taken + 1)
        colors[spring] = free.bit_length() - 1
        used[first] |= free
        used[second] |= free
    return colors


def _checked_mesh(points: npt.ArrayLike, triangles: npt.ArrayLike) -> tuple[FloatArray, IntArray]:
    places = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    corners = np.asarray(triangles, dtype=np.int32).reshape(-1, 3)
    if not np.isfinite(places).all():
        raise MeshError(f"point {int(np.argmax(~np.isfinite(places).all(axis=1)))} is not finite")
    wrong = ((corners < 0) | (corners >= len(places))).any(axis=1)
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise MeshError(
            f"triangle {bad} names {corners[bad].tolist()}, expected particles below {len(places)}"
        )
    return places, corners


def _longest_edges(places: FloatArray, corners: IntArray) -> list[tuple[int, int]]:
    """Longest edge of each triangle; of equal ones none, so that equilateral triangles have no diagonal."""
    result = []
    for corner in corners.tolist():
        edges = [(corner[k], corner[(k + 1) % 3]) for k in range(3)]
        lengths = [float(np.linalg.norm(places[a] - places[b])) for a, b in edges]
        order = sorted(range(3), key=lambda k: lengths[k])
        a, b = edges[order[2]]
        clear = lengths[order[2]] > 1.001 * lengths[order[1]]
        result.append((min(a, b), max(a, b)) if clear else (-1, -1))
    return result
