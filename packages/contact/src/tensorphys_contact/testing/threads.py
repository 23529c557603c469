"""Meshes of screw threads: a bolt and a nut that fit each other, for tests and benchmarks."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Triangles = npt.NDArray[np.int64]

FLANK_SLOPE = float(np.tan(np.radians(60.0)))
"""Axial run of a flank times this is its radial rise: 60° between two flanks, as metric threads have."""


def thread_profile(pitch: float, major_radius: float, depth: float, count: int = 4) -> tuple[Points, Points]:
    """One pitch of a profile: crest, falling flank, root, rising flank.

    Args:
        pitch: Axial rise of a turn [length].
        major_radius: Radius of the crest [length].
        depth: Radial depth of the root below the crest [length].
        count: Segments of each of the four parts.

    Returns:
        Axial places from 0 to below the pitch, and radii there.
    """
    run = depth / FLANK_SLOPE
    flat = 0.5 * pitch - run
    places = np.cumsum([0.0, flat, run, flat, run])
    radii = [major_radius, major_radius, major_radius - depth, major_radius - depth, major_radius]
    parts = [np.linspace(a, b, count, endpoint=False) for a, b in itertools.pairwise(places)]
    z = np.concatenate(parts)
    return z, np.interp(z, places, radii)


def _tube(
    z: Points, radius: Points, pitch: float, turns: int, around: int
) -> tuple[Points, Triangles, Triangles, Triangles]:
    """Helical tube with outward triangles, and its lower and upper rims, both counter-clockwise from above."""
    step = len(z)
    height = np.concatenate([z + k * pitch for k in range(turns)] + [[z[0] + turns * pitch]])
    size = np.append(np.tile(radius, turns), radius[0])
    angle = np.arange(around) * (2.0 * np.pi / around)
    a, h = np.meshgrid(angle, height, indexing="ij")
    points = np.stack([size * np.cos(a), size * np.sin(a), h + pitch * a / (2.0 * np.pi)], axis=-1)
    rows = len(height)
    index = np.arange(around * rows).reshape(around, rows)
    triangles = []
    for i in range(around):
        own, ahead = index[i], index[(i + 1) % around]
        if i == around - 1:
            # A turn on, the rows of the first column stand one pitch higher.
            own, ahead = own[: rows - step], ahead[step:]
        triangles.append(np.stack([own[:-1], ahead[:-1], ahead[1:]], axis=1))
        triangles.append(np.stack([own[:-1], ahead[1:], own[1:]], axis=1))
    lower = np.concatenate([index[:, 0], index[0, step:0:-1]])
    upper = np.concatenate([index[:, -1], index[-1, rows - 2 : rows - step - 2 : -1]])
    return points.reshape(-1, 3), np.concatenate(triangles), lower, upper


def bolt_mesh(
    *, pitch: float, major_radius: float, depth: float, turns: int, around: int = 64, count: int = 4
) -> tuple[Points, Triangles]:
    """A threaded rod along Z from its lower end near 0 up; closed, outward.

    Args:
        pitch, major_radius, depth, count: See :func:`thread_profile`.
        turns: Turns of the thread.
        around: Columns of vertices.

    Returns:
        Points [length], shape [count, 3], and triangles.
    """
    z, radius = thread_profile(pitch, major_radius, depth, count)
    points, triangles, lower, upper = _tube(z, radius, pitch, turns, around)
    middle = [[0.0, 0.0, 0.5 * pitch], [0.0, 0.0, (turns + 0.5) * pitch]]
    n = len(points)
    ends = [
        np.stack([np.full(len(lower), n), np.roll(lower, -1), lower], axis=1),
        np.stack([np.full(len(upper), n + 1), upper, np.roll(upper, -1)], axis=1),
    ]
    return np.concatenate([points, middle]), np.concatenate([triangles, *ends])


def nut_mesh(
    *,
    pitch: float,
    major_radius: float,
    depth: float,
    outer_radius: float,
    turns: int,
    around: int = 64,
    count: int = 4,
) -> tuple[Points, Triangles]:
    """A round nut with a thread inside; closed, outward. Its radii are those of the hole.

    With radii larger than those of a bolt by a clearance it fits that bolt as it stands, or lifted by whole pitches.

    Args:
        outer_radius: Radius of the outside [length].
        pitch, major_radius, depth, turns, around, count: As for :func:`bolt_mesh`.

    Returns:
        Points [length], shape [count, 3], and triangles.
    """
    z, radius = thread_profile(pitch, major_radius, depth, count)
    inside, hole, lower_in, upper_in = _tube(z, radius, pitch, turns, around)
    outside, wall, lower_out, upper_out = _tube(z, np.full(len(z), outer_radius), pitch, turns, around)
    n = len(inside)

    def ring(first: Triangles, second: Triangles) -> Triangles:
        """Band between two rims, its front where the first is to the left of the way along it."""
        a, b = first, second
        c, d = np.roll(second, -1), np.roll(first, -1)
        return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])

    return (
        np.concatenate([inside, outside]),
        np.concatenate(
            [hole[:, ::-1], wall + n, ring(upper_in, upper_out + n), ring(lower_out + n, lower_in)]
        ),
    )
