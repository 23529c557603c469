"""Closest points, overlaps and sweeps: against `collide`, a float64 reference and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType
from tensorphys_contact._reference import signed_distance

IDENTITY = [0, 0, 0, 0, 0, 0, 1]
FIELD = tc.cook_height_field(np.zeros((5, 5)), (0.5, 0.5))


def world(device: str) -> tuple[tc.Model, np.ndarray, np.ndarray, np.ndarray]:
    """Two environments of spheres, capsules and boxes; a shared height field far below."""
    rng = np.random.default_rng(1)
    kind = rng.integers(1, 4, 24)
    size = rng.uniform(0.1, 0.3, (24, 3)).astype(np.float32)
    q = rng.normal(size=(24, 4))
    pose = np.concatenate([rng.uniform(-1, 1, (24, 3)), q / np.linalg.norm(q, axis=1)[:, None]], axis=1)
    model = tc.build_model(
        shape_type=[*kind, ShapeType.HEIGHT_FIELD],
        shape_body=[*range(24), -1],
        shape_pose=[IDENTITY] * 24 + [[-1, -1, -4, 0, 0, 0, 1]],
        shape_size=[*size.tolist(), [0, 0, 0]],
        shape_environment=[*np.repeat([0, 1], 12), -1],
        pairs=np.zeros((0, 2), int),
        environment_count=2,
        shape_material=[0] * 25,
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.01] * 25,
        rest_offset=[0.0] * 25,
        shape_mesh=[-1] * 24 + [0],
        meshes=[FIELD],
        device=device,
    )
    return model, kind, size, pose.astype(np.float32)


def asked(
    rng: np.random.Generator, count: int, device: str
) -> tuple[tc.QueryShapes, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    kind = rng.integers(1, 4, count)
    size = rng.uniform(0.05, 0.2, (count, 3)).astype(np.float32)
    size[kind == 1, 1:] = 0.0
    q = rng.normal(size=(count, 4))
    pose = np.concatenate([rng.uniform(-1, 1, (count, 3)), q / np.linalg.norm(q, axis=1)[:, None]], axis=1)
    pose = pose.astype(np.float32)
    home = rng.integers(0, 2, count)
    return (
        tc.create_query_shapes(kind=kind, size=size, pose=pose, environment=home, device=device),
        kind,
        size,
        pose,
        home,
    )


def distances(
    kind: np.ndarray,
    size: np.ndarray,
    pose: np.ndarray,
    kinds: np.ndarray,
    sizes: np.ndarray,
    poses: np.ndarray,
    home: np.ndarray,
) -> np.ndarray:
    """Signed distance of every query to every shape of its environment, infinite to others."""
    table = np.full((len(kinds), len(kind)), np.inf)
    for i in range(len(kinds)):
        for s in range(12 * home[i], 12 * home[i] + 12):
            table[i, s] = signed_distance(kind[s], size[s], pose[s], kinds[i], sizes[i], poses[i])
    return table


def test_closest_points_and_overlaps_of_random_shapes(device: str) -> None:
    model, kind, size, pose = world(device)
    shapes, kinds, sizes, poses, home = asked(np.random.default_rng(2), 60, device)
    truth = distances(kind, size, pose, kinds, sizes, poses, home)
    body = wp.array(pose, dtype=wp.transform, device=device)
    tree = tc.create_query_tree(model, body)
    hits = tc.create_nearest_hits(60, device)
    tc.closest_points(
        model, tree, body, shapes, hits, limit=wp.full(60, 1.0, dtype=wp.float32, device=device)
    )
    least = truth.min(axis=1)
    found = least < 1.0
    assert (hits.shape.numpy() >= 0).tolist() == found.tolist()
    distance = hits.distance.numpy()
    np.testing.assert_allclose(distance[found], least[found], atol=3e-5)
    # Where shapes are apart, the two points are as far from each other as they say.
    apart = found & (least > 1e-3)
    assert apart.sum() > 5
    for i in np.flatnonzero(apart):
        point = hits.point.numpy()[i] + hits.normal.numpy()[i] * distance[i]
        dot = [*point, 0, 0, 0, 1]
        on_query = signed_distance(1, [1e-9, 0, 0], dot, kinds[i], sizes[i], poses[i])
        assert abs(on_query) < 2e-4
    lists = tc.create_ray_hit_lists(60, 12, device)
    tc.find_overlaps(model, tree, body, shapes, lists)
    touching = truth < 0.0
    clear = (np.abs(truth) > 1e-5).all(axis=1)
    assert lists.count.numpy()[clear].tolist() == touching.sum(axis=1)[clear].tolist()
    for i in np.flatnonzero(clear):
        count = int(lists.count.numpy()[i])
        assert set(lists.shape.numpy()[i, :count].tolist()) == set(np.flatnonzero(touching[i]).tolist())
        assert (np.diff(lists.distance.numpy()[i, :count]) >= 0.0).all()


def test_sweeps_stop_where_shapes_touch(device: str) -> None:
    model, kind, size, pose = world(device)
    rng = np.random.default_rng(3)
    shapes, kinds, sizes, poses, home = asked(rng, 60, device)
    start = distances(kind, size, pose, kinds, sizes, poses, home).min(axis=1)
    direction = rng.normal(size=(60, 3)).astype(np.float32)
    unit = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    body = wp.array(pose, dtype=wp.transform, device=device)
    tree = tc.create_query_tree(model, body)
    hits = tc.create_nearest_hits(60, device)
    tc.sweep_shapes(
        model,
        tree,
        body,
        shapes,
        hits,
        direction=wp.array(direction, dtype=wp.vec3, device=device),
        longest=wp.full(60, 1.5, dtype=wp.float32, device=device),
    )
    shape, along = hits.shape.numpy(), hits.distance.numpy()
    assert (along[start < -1e-4] == 0.0).all()
    free = np.flatnonzero(start > 1e-3)
    assert len(free) > 10
    moved = poses.copy()
    moved[:, :3] += unit * np.where(shape >= 0, along, 1.5)[:, None]
    end = distances(kind, size, pose, kinds, sizes, moved, home).min(axis=1)
    hit = [i for i in free if 0 <= shape[i] < 24]
    assert len(hit) > 5
    np.testing.assert_allclose(end[hit], 0.0, atol=5e-5)
    # Nothing is met on the way.
    for share in (0.25, 0.5, 0.75, 0.99):
        moved[:, :3] = poses[:, :3] + unit * share * np.where(shape >= 0, along, 1.5)[:, None]
        way = distances(kind, size, pose, kinds, sizes, moved, home).min(axis=1)
        assert (way[free] > -5e-5).all()


def test_a_ball_is_swept_and_measured_against_a_height_field(device: str) -> None:
    model, _kind, _size, pose = world(device)
    body = wp.array(pose, dtype=wp.transform, device=device)
    tree = tc.create_query_tree(model, body)
    ball = tc.create_query_shapes(
        kind=[1, 1],
        size=[[0.1, 0, 0], [0.0, 0, 0]],
        pose=[[0.1, 0.2, -3.0, 0, 0, 0, 1]] * 2,
        environment=[0, 1],
        device=device,
    )
    hits = tc.create_nearest_hits(2, device)
    down = wp.array([[0, 0, -2.0], [0.3, 0, -1.0]], dtype=wp.vec3, device=device)
    tc.sweep_shapes(
        model,
        tree,
        body,
        ball,
        hits,
        direction=down,
        longest=wp.full(2, 5.0, dtype=wp.float32, device=device),
    )
    assert hits.shape.numpy().tolist() == [24, 24]
    np.testing.assert_allclose(hits.distance.numpy(), [0.9, np.hypot(0.3, 1.0)], atol=2e-5)
    np.testing.assert_allclose(hits.normal.numpy(), [[0, 0, 1]] * 2, atol=1e-5)
    tc.closest_points(model, tree, body, ball, hits, limit=wp.full(2, 1.5, dtype=wp.float32, device=device))
    np.testing.assert_allclose(hits.distance.numpy(), [0.9, 1.0], atol=1e-6)
    np.testing.assert_allclose(hits.point.numpy(), [[0.1, 0.2, -4.0]] * 2, atol=1e-5)


def test_wrong_query_shapes_are_named(device: str) -> None:
    base = {"pose": [IDENTITY], "environment": [0], "device": device}
    with pytest.raises(tc.ShapeError, match="not convex"):
        tc.create_query_shapes(kind=[0], size=[[0, 0, 0]], **base)
    with pytest.raises(tc.ShapeError, match="hull without a shape"):
        tc.create_query_shapes(kind=[4], size=[[0, 0, 0]], **base)
    with pytest.raises(tc.ShapeError, match="expected 1 sizes"):
        tc.create_query_shapes(kind=[1], size=[[0, 0]], **base)
