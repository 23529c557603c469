"""Watertight meshes made by formula, and damage done to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Mesh = tuple[Array, Array]


def box_mesh(half: Sequence[float] = (1.0, 1.0, 1.0), *, cuts: int = 1) -> Mesh:
    """Box of the given half lengths with ``cuts`` squares along each edge; vertices are shared."""
    quads = []
    for axis in range(3):
        for side in (0, cuts):
            a, b = np.meshgrid(np.arange(cuts), np.arange(cuts), indexing="ij")
            corners = []
            for da, db in ((0, 0), (1, 0), (1, 1), (0, 1)):
                p = np.empty((cuts * cuts, 3), dtype=np.int64)
                p[:, axis] = side
                p[:, (axis + 1) % 3], p[:, (axis + 2) % 3] = (a + da).ravel(), (b + db).ravel()
                corners.append(p)
            quads.append(np.stack(corners if side else corners[::-1], axis=1))
    nodes, index = np.unique(np.concatenate(quads).reshape(-1, 3), axis=0, return_inverse=True)
    q = index.reshape(-1, 4)
    triangles = np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])
    return (nodes * (2.0 / cuts) - 1.0) * np.asarray(half, dtype=np.float64), triangles


def slotted_mesh(slot: float = 0.3) -> Mesh:
    """Letter U: a plate 2 x 2 x 0.8 with a slot of the given width, open at the top, 1.6 deep."""
    s = 0.5 * slot
    outline = np.array([(-1, -1), (1, -1), (1, 1), (s, 1), (s, -0.6), (-s, -0.6), (-s, 1), (-1, 1)])
    face = np.array([(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)])
    n = len(outline)
    i, j = np.arange(n), (np.arange(n) + 1) % n
    vertices = np.concatenate([np.c_[outline, np.full(n, z)] for z in (-0.4, 0.4)])
    sides = np.concatenate([np.stack([i, j, j + n], axis=1), np.stack([i, j + n, i + n], axis=1)])
    return vertices, np.concatenate([face[:, ::-1], face + n, sides])


def sphere_mesh(radius: float = 1.0, *, cuts: int = 16) -> Mesh:
    """Sphere: a cut box blown up."""
    vertices, triangles = box_mesh(cuts=cuts)
    vertices = np.tan(vertices * (np.pi / 4.0))
    return radius * vertices / np.linalg.norm(vertices, axis=1, keepdims=True), triangles


def tube_mesh(
    curve: Callable[[Array], Array], radius: Callable[[Array, Array], Array], *, around: int, along: int
) -> Mesh:
    """Closed tube about a closed curve.

    Args:
        curve: Positions ``(N, 3)`` of parameters in [0, 2 pi), closed.
        radius: Radius at the parameter of the curve and the angle about it.
        around: Segments around the tube.
        along: Segments along the curve.
    """
    s = np.arange(along) * (2.0 * np.pi / along)
    center, step = curve(s), 1e-4
    tangent = curve(s + step) - curve(s - step)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    first = np.cross(tangent, np.array([0.0, 0.0, 1.0]))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(tangent, first)
    angle = np.arange(around) * (2.0 * np.pi / around)
    ring = np.cos(angle)[None, :, None] * first[:, None] + np.sin(angle)[None, :, None] * second[:, None]
    vertices = center[:, None] + radius(s[:, None], angle[None, :])[..., None] * ring
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    corner = [
        ((i + a) % along * around + (j + b) % around).ravel() for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))
    ]
    q = np.stack(corner, axis=1)
    triangles = np.concatenate([q[:, [0, 2, 1]], q[:, [0, 3, 2]]])
    return vertices.reshape(-1, 3), triangles


def torus_mesh(
    major: float = 1.0, minor: float = 0.35, *, around: int = 32, along: int = 64, bumps: float = 0.0
) -> Mesh:
    """Torus about z, with bumps of the given relative height."""
    return tube_mesh(
        lambda s: major * np.stack([np.cos(s), np.sin(s), 0.0 * s], axis=1),
        lambda s, a: minor * (1.0 + bumps * np.sin(9.0 * s) * np.cos(5.0 * a)),
        around=around,
        along=along,
    )


def knot_mesh(radius: float = 0.25, *, around: int = 24, along: int = 192) -> Mesh:
    """Tube about a trefoil knot: closed, without symmetry planes, with narrow gaps."""
    return tube_mesh(
        lambda s: (
            np.stack(
                [
                    np.sin(s) + 2.0 * np.sin(2.0 * s),
                    np.cos(s) - 2.0 * np.cos(2.0 * s),
                    -1.2 * np.sin(3.0 * s),
                ],
                axis=1,
            )
            / 3.0
        ),
        lambda s, a: radius + 0.0 * (s + a),
        around=around,
        along=along,
    )


def join_meshes(*meshes: Mesh) -> Mesh:
    """All triangles of some meshes in one; vertices are not merged."""
    offsets = np.cumsum([0, *[len(v) for v, _ in meshes]])
    vertices = np.concatenate([v for v, _ in meshes])
    return vertices, np.concatenate([f + offset for (_, f), offset in zip(meshes, offsets[:-1], strict=True)])


def damaged_mesh(
    mesh: Mesh, *, removed: float = 0.0, flipped: float = 0.0, doubled: float = 0.0, seed: int = 0
) -> tuple[Mesh, Array]:
    """A copy with some of its triangles removed, turned and given twice.

    Args:
        mesh: Vertices and triangles.
        removed: Fraction of the triangles to leave out.
        flipped: Fraction to turn.
        doubled: Fraction to repeat, after turning.
        seed: Of the choice.

    Returns:
        The damaged mesh, and the triangles that are missing, ``(R, 3)``.
    """
    vertices, triangles = mesh
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(triangles))
    cut = round(removed * len(triangles))
    gone, kept = triangles[order[:cut]], triangles[order[cut:]].copy()
    turn = rng.choice(len(kept), round(flipped * len(triangles)), replace=False)
    kept[turn] = kept[turn][:, ::-1]
    again = kept[rng.choice(len(kept), round(doubled * len(triangles)), replace=False)]
    return (vertices, np.concatenate([kept, again])), gone
