"""Convex shapes against triangle meshes and height fields, by float64 truth over all triangles (extra ``peers``).

``bench/accuracy.py --surfaces`` prints the same with more pairs; its table is in ``docs/verification.md``.
"""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_contact import ShapeType
from tensorphys_contact.shapes import CONVEX_SHAPES, MESH_SHAPES
from tensorphys_contact.testing.mesh_scenes import (
    MESH_REGIMES,
    hull_of_triangle,
    mesh_errors,
    random_mesh_pairs,
)
from tensorphys_contact.testing.truth import Solid, enclosed_distance, peer_separation

pytest.importorskip("coal")
pytestmark = pytest.mark.peers

COUNT = 5
HULL, LARGE = 100, 160
CELLS = [(surface, regime) for surface in MESH_SHAPES for regime in MESH_REGIMES]


@pytest.mark.parametrize(("surface", "regime"), CELLS, ids=lambda x: getattr(x, "name", x))
@pytest.mark.parametrize("kind", CONVEX_SHAPES, ids=lambda k: k.name)
def test_depth_and_normal(kind: ShapeType, surface: ShapeType, regime: str, device: str) -> None:
    """Errors in what is allowed: apart from rough surfaces, sunk into closed meshes, and into a flat field across its
    edges."""
    found, _deeper = mesh_errors(random_mesh_pairs(kind, surface, regime, COUNT), device)
    assert found.missed == 0
    assert found.count >= COUNT - 1
    assert found.depth < 1.0
    assert found.normal < 1.0


@pytest.mark.parametrize("regime", ["touching", "sunk", "deep"])
@pytest.mark.parametrize("kind", CONVEX_SHAPES, ids=lambda k: k.name)
def test_closed_meshes_with_a_hull_of_many_corners(kind: ShapeType, regime: str, device: str) -> None:
    """The least way out of the whole mesh, however deep."""
    found, _ = mesh_errors(random_mesh_pairs(kind, ShapeType.TRIANGLE_MESH, regime, 4, corners=HULL), device)
    assert found.missed == 0
    assert found.count == 4
    assert found.depth < 1.0
    assert found.normal < 1.0


@pytest.mark.parametrize("regime", ["apart", "touching"])
@pytest.mark.parametrize("kind", CONVEX_SHAPES, ids=lambda k: k.name)
def test_meshes_of_many_corners(kind: ShapeType, regime: str, device: str) -> None:
    """The same where the triangles of a closed mesh are looked at, and not its hull."""
    scene = random_mesh_pairs(kind, ShapeType.TRIANGLE_MESH, regime, 3, corners=LARGE)
    found, _deeper = mesh_errors(scene, device)
    assert found.missed == 0
    assert found.depth < 1.0
    assert found.normal < 1.0


@pytest.mark.parametrize("kind", CONVEX_SHAPES, ids=lambda k: k.name)
def test_sunk_into_a_mesh_of_many_corners(kind: ShapeType, device: str) -> None:
    """As deep as in the hull of the mesh; where several faces are near the least way out, one of them may tell more."""
    scene = random_mesh_pairs(kind, ShapeType.TRIANGLE_MESH, "sunk", 16, corners=LARGE)
    found, deeper = mesh_errors(scene, device)
    assert found.missed == 0
    assert found.count == 16
    assert np.median(np.abs(deeper)) < 0.1
    # At most 0.2 % of the smaller shape, and never less deep than it is.
    assert deeper.max() < (1.0 if kind == ShapeType.SPHERE else 20.0)
    assert deeper.min() > -1.0
    assert (np.abs(deeper) > 1.0).sum() <= 2


def test_truth_of_a_triangle() -> None:
    """The two libraries that the truth is taken from agree about a ball beside a triangle's edge."""
    corner = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    eye = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    triangle = Solid(ShapeType.CONVEX_HULL, np.zeros(3), eye, hull_of_triangle(corner))
    ball = Solid(ShapeType.SPHERE, np.array([0.1, 0.0, 0.0]), np.array([0.5, -0.3, 0.4, 0.0, 0.0, 0.0, 1.0]))
    distance, normal = peer_separation(ball, triangle)
    enclosed = enclosed_distance(ball, triangle, 1e-10, [0.0, 0.0, 1.0])
    for value in (distance, enclosed.least, enclosed.most):
        assert value == pytest.approx(0.4, abs=1e-8)
    np.testing.assert_allclose(normal, [0.0, -0.6, 0.8], atol=1e-5)
    np.testing.assert_allclose(enclosed.normal, [0.0, -0.6, 0.8], atol=1e-5)
