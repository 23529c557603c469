"""Cooking of convex hulls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorphys_contact as tc

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def check_polyhedron(hull: tc.Hull) -> None:
    """Euler's formula, outward counter-clockwise faces, all vertices inside all planes."""
    assert len(hull.vertices) - len(hull.edges) + hull.face_count == 2
    extent = np.ptp(hull.vertices, axis=0).max()
    heights = hull.vertices @ hull.face_plane[:, :3].T - hull.face_plane[:, 3]
    assert heights.max() < 1e-6 * extent
    np.testing.assert_allclose(np.linalg.norm(hull.face_plane[:, :3], axis=1), 1.0, atol=1e-12)
    seen = set()
    for index in range(hull.face_count):
        loop = hull.face(index)
        p = hull.vertices[loop]
        area_vector = 0.5 * np.cross(p, np.roll(p, -1, axis=0)).sum(axis=0)
        assert area_vector @ hull.face_plane[index, :3] > 0.0
        assert loop[0] == loop.min()
        seen |= set(zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True))
    assert {(b, a) for a, b in seen} == seen
    assert {tuple(e) for e in hull.edges.tolist()} == {(min(e), max(e)) for e in seen}


def test_cube_with_points_on_faces_and_edges_has_six_quadrilaterals() -> None:
    extra = np.array([[0, 0, 1], [0, 1, 1], [0.5, -0.25, -1], [0, 0, 0], [1, 1, 0.1]])
    hull = tc.cook_hull(np.concatenate([CUBE, extra]) * 0.25 + [7.0, -3.0, 2.0])
    assert len(hull.vertices) == 8
    assert hull.face_count == 6
    assert len(hull.edges) == 12
    assert np.diff(hull.face_start).tolist() == [4] * 6
    np.testing.assert_allclose(hull.center, [7.0, -3.0, 2.0])
    assert hull.radius == pytest.approx(0.25 * np.sqrt(3))
    check_polyhedron(hull)


def test_prism_has_polygonal_caps() -> None:
    angle = np.linspace(0, 2 * np.pi, 9, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    hull = tc.cook_hull(np.concatenate([np.column_stack([ring, np.full(9, z)]) for z in (0.0, 1.0)]))
    assert sorted(np.diff(hull.face_start).tolist()) == [4] * 9 + [9, 9]
    check_polyhedron(hull)


@given(
    seed=st.integers(0, 2**16),
    count=st.integers(4, 200),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    grid=st.booleans(),
)
def test_random_points(seed: int, count: int, scale: float, grid: bool) -> None:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    if grid:
        points = np.concatenate([np.round(points), CUBE])
    hull = tc.cook_hull(points * scale)
    assert len(hull.vertices) <= 64
    check_polyhedron(hull)
    again = tc.cook_hull(points * scale)
    assert np.array_equal(hull.vertices, again.vertices)
    assert np.array_equal(hull.face_vertex, again.face_vertex)


def test_vertex_limit_thins_a_sphere_but_keeps_its_extent() -> None:
    points = np.random.default_rng(1).normal(size=(2000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    hull = tc.cook_hull(points, vertex_limit=32)
    assert len(hull.vertices) == 32
    np.testing.assert_allclose(np.ptp(hull.vertices, axis=0), np.ptp(points, axis=0))
    check_polyhedron(hull)
    assert {tuple(v) for v in hull.vertices.round(9)} <= {tuple(v) for v in points.round(9)}


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.zeros((3, 3)), "at least 4 points"),
        (np.zeros((5, 2)), "at least 4 points"),
        (np.ones((8, 3)), "coincide"),
        (CUBE * [1, 1, 0], "one plane"),
        (CUBE * [1, 0, 0], "one plane"),
        (np.where(CUBE > 0, np.nan, CUBE), "not finite"),
    ],
)
def test_degenerate_input_is_named(points: np.ndarray, words: str) -> None:
    with pytest.raises(tc.HullError, match=words):
        tc.cook_hull(points)


def test_vertex_limit_below_four_is_refused() -> None:
    with pytest.raises(tc.HullError, match="vertex_limit"):
        tc.cook_hull(CUBE, vertex_limit=3)
