"""Depth and normal of every pair of convex shapes against float64 enclosures and coal (extra ``peers``).

``bench/accuracy.py`` prints the same with more pairs; its table is in ``docs/verification.md``.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorphys_contact import ShapeType
from tensorphys_contact.testing.pair_scenes import (
    REGIMES,
    angle_between,
    pair_errors,
    random_pairs,
)
from tensorphys_contact.testing.truth import Solid, enclosed_depth, enclosed_distance, peer_separation

pytest.importorskip("coal")
pytestmark = pytest.mark.peers

COUNT = 16
CONVEX = [kind for kind in ShapeType if 1 <= kind <= 7]
PAIRS = list(itertools.combinations_with_replacement(CONVEX, 2))


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p[0].name}-{p[1].name}")
def test_depth_and_normal(pair: tuple[ShapeType, ShapeType], regime: str, device: str) -> None:
    """Errors are measured in what is allowed: 1e-4 of the smaller size and four spacings of the larger."""
    found = pair_errors(random_pairs(pair, regime, COUNT), device)
    assert found.count >= COUNT // 2
    assert found.missed == 0
    assert found.depth < 1.0
    assert found.normal < 1.0


def test_enclosures_hold_the_closed_forms_of_spheres() -> None:
    """The truth itself: two balls, and a ball in the middle of a cube's side."""
    eye = [0.0, 0.0, 0.0, 1.0]
    ball = Solid(ShapeType.SPHERE, np.array([0.5, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, *eye]))
    other = Solid(ShapeType.SPHERE, np.array([0.25, 0.0, 0.0]), np.array([0.0, 0.6, 0.0, *eye]))
    deep = enclosed_depth(ball, other, 1e-9)
    assert deep.least <= -0.15 <= deep.most
    assert deep.most - deep.least < 1e-8
    assert angle_between(deep.normal, np.array([0.0, -1.0, 0.0])) < 1e-4
    far = Solid(ShapeType.SPHERE, np.array([0.25, 0.0, 0.0]), np.array([0.0, 0.0, 0.8, *eye]))
    apart = enclosed_distance(ball, far, 1e-10, [0.3, 0.1, -1.0])
    assert apart.least <= 0.05 + 1e-12
    assert apart.most >= 0.05 - 1e-12
    assert apart.most - apart.least <= 1e-10
    box = Solid(ShapeType.BOX, np.ones(3), np.array([0.7, 0.1, 0.2, *eye]))
    within = enclosed_depth(ball, box, 1e-9)
    assert within.least <= -0.8 <= within.most
    distance, normal = peer_separation(ball, box)
    assert abs(distance + 0.8) < 1e-6
    assert angle_between(within.normal, normal) < 1e-3
