"""Against trimesh on meshes that trimesh makes."""

from __future__ import annotations

import numpy as np
import pytest

import tensorphys_sdf as ts

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("rtree")
pytestmark = pytest.mark.peers

MESHES = {
    "annulus": lambda: trimesh.creation.annulus(0.4, 1.0, 0.5, sections=48),
    "capsule": lambda: trimesh.creation.capsule(1.5, 0.5, count=[24, 24]),
    "icosphere": lambda: trimesh.creation.icosphere(3),
    "cone": lambda: trimesh.creation.cone(0.7, 1.5, sections=40),
    "torus": lambda: trimesh.creation.torus(1.0, 0.3, major_sections=48, minor_sections=24),
    "gear": lambda: trimesh.creation.extrude_triangulation(*_star(), 0.4),
}


def _star() -> tuple[np.ndarray, np.ndarray]:
    angle = np.arange(24) * (2.0 * np.pi / 24)
    radius = np.where(np.arange(24) % 2 == 0, 1.0, 0.7)
    rim = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    i = np.arange(24)
    return np.concatenate([rim, [[0.0, 0.0]]]), np.stack([np.full(24, 24), i, (i + 1) % 24], axis=1)


@pytest.mark.parametrize("name", MESHES)
def test_distance_and_sign(device: str, name: str) -> None:
    mesh = MESHES[name]()
    assert mesh.is_watertight
    field = ts.field_from_mesh(
        mesh.vertices, mesh.faces, parameters=ts.FieldParameters(resolution=48), device=device
    )
    assert field.surface.report.closed and field.surface.report.turned_count == 0
    low, high = mesh.bounds
    diagonal = float(np.linalg.norm(high - low))
    rng = np.random.default_rng(0)
    wide = rng.uniform(low - 0.3 * diagonal, high + 0.3 * diagonal, (1500, 3))
    on, _ = trimesh.sample.sample_surface(mesh, 500, seed=0)
    p = np.concatenate([wide, on + rng.uniform(-0.005, 0.005, on.shape) * diagonal]).astype(np.float32)
    truth = -trimesh.proximity.signed_distance(mesh, p)
    _, size, _ = trimesh.proximity.closest_point(mesh, p)
    exact = field.distance(p, mode="exact")
    np.testing.assert_allclose(np.abs(exact), size, atol=3e-6)
    clear = size > 1e-5
    assert np.mean(np.sign(exact[clear]) == np.sign(truth[clear])) >= 0.999
    cell = float(field.grid.layout.fine_cell[0])
    error = np.abs(np.abs(field.distance(p)) - size)[1500:] / cell
    assert error.mean() < 0.1 and error.max() < 1.0
