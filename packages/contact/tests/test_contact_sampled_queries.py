"""Rays and query shapes against signed distance fields and sets of spheres."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
import tensorphys_sdf as ts
from tensorphys_contact import ShapeType as S

EYE = (0.0, 0.0, 0.0, 1.0)
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([t for a, b, c, d in SQUARES for t in ((a, b, c), (a, c, d))])
BALLS = [(-0.5, 0.0, 0.0, 0.4), (0.4, 0.1, 0.2, 0.3), (0.0, -0.6, 0.1, 0.2)]


def world(kinds: list[int], device: str) -> tuple[tc.Model, wp.array]:
    """Twins in two environments, scaled by two: a field and a box, or a set of spheres and single spheres."""
    poses = {0: (3.0, 0.5, -1.0, 0.0, 0.0, 0.6, 0.8)}
    columns: dict[str, Any] = {"shape_sdf": [], "shape_spheres": []}
    size, place = [], []
    for kind, index in kinds:
        size.append((2, 2, 2) if kind in (S.SDF, S.SPHERES) else (2 * BALLS[index][3], 0, 0))
        place.append((0, 0, 0, *EYE) if kind != S.SPHERE else (*2 * np.array(BALLS[index][:3]), *EYE))
        if kind == S.BOX:
            size[-1] = (2, 2, 2)
        columns["shape_sdf"].append(0 if kind == S.SDF else -1)
        columns["shape_spheres"].append(0 if kind == S.SPHERES else -1)
    count = len(kinds)
    parameters = ts.FieldParameters(resolution=8)
    model = tc.build_model(
        shape_type=[kind for kind, _ in kinds],
        shape_body=[0] * count,
        shape_pose=place,
        shape_size=size,
        shape_environment=[0] * count,
        pairs=np.zeros((0, 2), int),
        environment_count=1,
        shape_material=[0] * count,
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.0] * count,
        rest_offset=[0.0] * count,
        sdfs=[tc.cook_sdf(CORNERS, TRIANGLES, parameters=parameters, device=device)],
        sphere_sets=[tc.cook_spheres([b[:3] for b in BALLS], [b[3] for b in BALLS])],
        device=device,
        **columns,
    )
    return model, wp.array([poses[0]], dtype=wp.transform, device=device)


def array(data: Any, dtype: Any, device: str) -> Any:
    return wp.array(np.ascontiguousarray(data), dtype=dtype, device=device)


TWINS = [([(S.SDF, 0)], [(S.BOX, 0)]), ([(S.SPHERES, 0)], [(S.SPHERE, k) for k in range(3)])]


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_rays_hit_them_as_their_twins(one: list, other: list, device: str) -> None:
    rng = np.random.default_rng(1)
    count = 2000
    span = 4.0 if one[0][0] == S.SDF else 1.6
    origin = rng.uniform(-span, span, (count, 3)) + [3.0, 0.5, -1.0]
    target = rng.uniform(-0.5 * span, 0.5 * span, (count, 3)) + [3.0, 0.5, -1.0]
    arrays = {
        "environment": wp.zeros(count, dtype=wp.int32, device=device),
        "origin": array(origin.astype(np.float32), wp.vec3, device),
        "direction": array((target - origin).astype(np.float32), wp.vec3, device),
        "longest": wp.full(count, 20.0, dtype=wp.float32, device=device),
    }
    found = []
    for kinds in (one, other):
        model, pose = world(kinds, device)
        tree = tc.create_query_tree(model, pose)
        hits = tc.create_ray_hits(count, device)
        tc.cast_rays(model, tree, pose, hits, **arrays)
        found.append((hits.distance.numpy(), hits.normal.numpy(), hits.shape.numpy() >= 0))
    (distance, normal, hit), (expected, direction, wanted) = found
    assert 300 < wanted.sum() < count
    assert (hit != wanted).mean() < 2e-3  # rays along an edge
    both = hit & wanted
    assert (expected[both] == 0.0).sum() > 20
    np.testing.assert_allclose(distance[both], expected[both], atol=2e-4)
    assert np.mean((normal[both] * direction[both]).sum(axis=1) > 0.999) > 0.995


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_closest_points_overlaps_and_sweeps_are_those_of_their_twins(
    one: list, other: list, device: str
) -> None:
    rng = np.random.default_rng(2)
    count = 400
    span = 4.0 if one[0][0] == S.SDF else 1.6
    at = rng.uniform(-span, span, (count, 3)) + [3.0, 0.5, -1.0]
    shapes = tc.create_query_shapes(
        kind=[S.SPHERE] * count,
        size=np.column_stack([rng.uniform(0.05, 0.3, count), np.zeros((count, 2))]),
        pose=np.column_stack([at, np.tile(EYE, (count, 1))]),
        environment=np.zeros(count, int),
        device=device,
    )
    travel = array((np.array([3.0, 0.5, -1.0]) - at).astype(np.float32), wp.vec3, device)
    far = wp.full(count, 10.0, dtype=wp.float32, device=device)
    found = []
    for kinds in (one, other):
        model, pose = world(kinds, device)
        tree = tc.create_query_tree(model, pose)
        near, swept = tc.create_nearest_hits(count, device), tc.create_nearest_hits(count, device)
        lists = tc.create_ray_hit_lists(count, 4, device)
        tc.closest_points(model, tree, pose, shapes, near, limit=far)
        tc.sweep_shapes(model, tree, pose, shapes, swept, direction=travel, longest=far)
        tc.find_overlaps(model, tree, pose, shapes, lists)
        found.append(
            (near.distance.numpy(), near.normal.numpy(), swept.distance.numpy(), lists.count.numpy() > 0)
        )
    a, b = found
    assert 20 < b[3].sum() < count
    assert np.array_equal(a[3], b[3])
    apart = b[0] > 0.0
    np.testing.assert_allclose(a[0][apart], b[0][apart], atol=1e-4)
    np.testing.assert_allclose(a[0][~apart], b[0][~apart], atol=2e-4)
    finite = np.isfinite(b[2])
    assert np.array_equal(np.isfinite(a[2]), finite)
    np.testing.assert_allclose(a[2][finite], b[2][finite], atol=3e-4)
