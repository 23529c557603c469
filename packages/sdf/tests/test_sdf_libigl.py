"""Against libigl: distances, winding numbers and signs of whole, damaged and overlapping meshes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tensorphys_sdf as ts
from tensorphys_sdf.testing import damaged_mesh, join_meshes, knot_mesh, slotted_mesh, torus_mesh

igl = pytest.importorskip("igl")
pytestmark = pytest.mark.peers

MESHES = {
    "torus": lambda: torus_mesh(bumps=0.1, around=20, along=40),
    "knot": lambda: knot_mesh(around=12, along=96),
    "slot": lambda: slotted_mesh(),
}


def random_points(vertices: np.ndarray, count: int) -> np.ndarray:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    room = 0.2 * float((high - low).max())
    return np.random.default_rng(0).uniform(low - room, high + room, (count, 3)).astype(np.float32)


@pytest.mark.parametrize("name", MESHES)
def test_distance_and_closest_points(device: str, name: str) -> None:
    vertices, triangles = MESHES[name]()
    field = ts.field_from_mesh(
        vertices, triangles, parameters=ts.FieldParameters(resolution=64), device=device
    )
    p = random_points(vertices, 20_000)
    at = p.astype(np.float64)
    square, _, closest = igl.point_mesh_squared_distance(at, vertices, np.asarray(triangles, dtype=np.int64))
    # igl.signed_distance scales the distance by 1 - 2 w, which is no distance where a mesh overlaps itself
    truth = np.sqrt(square) * np.where(igl.winding_number(vertices, triangles, at) > 0.5, -1.0, 1.0)
    np.testing.assert_allclose(field.distance(p, mode="exact"), truth, atol=5e-6)
    np.testing.assert_allclose(np.linalg.norm(p - field.closest_point(p), axis=1), np.abs(truth), atol=5e-6)
    apart = np.linalg.norm(field.closest_point(p) - closest, axis=1)
    assert np.mean(apart < 1e-4) > 0.999  # two points may be equally near
    cell = float(field.grid.layout.fine_cell[0])
    band = np.abs(truth) < 0.01 * np.linalg.norm(np.ptp(vertices, axis=0))
    error = np.abs(field.distance(p) - truth)[band] / cell
    assert band.sum() > 300 and error.mean() < 0.1 and error.max() < 1.0


@pytest.mark.parametrize("name", MESHES)
def test_signs_of_whole_and_damaged_copies(device: str, name: str) -> None:
    whole = MESHES[name]()
    p = random_points(whole[0], 20_000)
    at = p.astype(np.float64)
    truth = igl.winding_number(whole[0], whole[1], at) > 0.5
    assert np.mean((ts.Surface(*whole, device=device).winding_number(p) > 0.5) == truth) >= 0.9999
    (vertices, triangles), gone = damaged_mesh(whole, removed=0.05, flipped=0.05, doubled=0.1, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ts.SdfWarning)
        damaged = ts.Surface(vertices, triangles, device=device)
    near = (
        igl.point_mesh_squared_distance(at, whole[0], np.asarray(gone, dtype=np.int64))[0]
        if len(gone)
        else 9.0
    )
    judged = near > (2.0 / 32.0 * np.ptp(whole[0], axis=0).max()) ** 2
    same = (damaged.winding_number(p) > 0.5) == truth
    assert np.mean(same[judged]) >= 0.999
    # the number itself is that of the repaired triangles
    np.testing.assert_allclose(
        damaged.winding_number(p, accuracy=8.0),
        igl.winding_number(damaged.vertices, damaged.triangles, at),
        atol=0.02,
    )


def test_overlapping_copies(device: str) -> None:
    vertices, triangles = MESHES["torus"]()
    shift = np.array([0.2, 0.1, 0.05])
    both = join_meshes((vertices, triangles), (vertices + shift, triangles))
    p = random_points(both[0], 20_000)
    at = p.astype(np.float64)
    truth = (igl.winding_number(vertices, triangles, at) > 0.5) | (
        igl.winding_number(vertices + shift, triangles, at) > 0.5
    )
    assert np.mean((ts.Surface(*both, device=device).winding_number(p) > 0.5) == truth) >= 0.9999
