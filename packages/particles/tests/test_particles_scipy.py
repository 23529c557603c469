"""Neighbours against the k-d tree of SciPy."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_particles import _reference

spatial = pytest.importorskip("scipy.spatial")


@pytest.mark.peers
@pytest.mark.parametrize("extent", [0.1, 1.0, 50.0])
def test_densities_count_the_neighbours_of_a_tree(device, make_scene, fluid_system, extent) -> None:
    # Clusters far apart share cells of the grid, which wraps around.
    rng = np.random.default_rng(2)
    d = 0.0625
    reach = 2.0 * d / 1.188
    centres = rng.uniform(-extent, extent, (150, 3))
    points = (centres[:, None] + rng.normal(scale=0.05, size=(150, 6, 3))).reshape(-1, 3).astype(np.float32)
    scene = make_scene(fluid_system(points, d, max_neighborhood=900), device=device)
    pairs = spatial.cKDTree(points.astype(float)).query_pairs(reach, output_type="ndarray")
    distance = np.linalg.norm(points[pairs[:, 0]].astype(float) - points[pairs[:, 1]], axis=1)
    weight = np.repeat((1.0 - distance / reach) ** 3, 2)
    expected = np.bincount(pairs.ravel(), weights=weight, minlength=len(points)) / _reference.lattice_sum(
        d, reach
    )
    np.testing.assert_allclose(scene.densities(), expected, rtol=2e-4, atol=1e-4)
    scene.solver.check_overflow()
