"""Distances, depths and normals of convex pairs against coal, an independent library (extra ``peers``)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType
from tensorphys_contact._reference import rotation_matrix

coal = pytest.importorskip("coal")
pytestmark = pytest.mark.peers

COUNT, OFFSET = 100, 0.05
CONVEX = [kind for kind in ShapeType if kind in range(1, 8)]
PAIRS = [
    pair for pair in itertools.combinations_with_replacement(CONVEX, 2) if pair[1] >= ShapeType.CONVEX_HULL
]


def random_hulls(rng: np.random.Generator, count: int) -> list[tc.Hull]:
    """Hulls of a few random points, some of them long or flat."""
    return [
        tc.cook_hull(rng.uniform(-1, 1, (int(rng.integers(6, 30)), 3)) * rng.uniform(0.1, 0.5, 3))
        for _ in range(count)
    ]


def peer_shape(kind: ShapeType, size: np.ndarray, hull: tc.Hull | None) -> Any:
    if kind == ShapeType.CONVEX_HULL:
        assert hull is not None
        points = coal.StdVec_Vec3s()
        for p in hull.vertices.astype(np.float32).astype(np.float64):
            points.append(p)
        return coal.ConvexBase.convexHull(points, False, "Qt")
    r, h = float(size[0]), float(size[1])
    makers = {
        ShapeType.SPHERE: lambda: coal.Sphere(r),
        ShapeType.CAPSULE: lambda: coal.Capsule(r, 2 * h),
        ShapeType.BOX: lambda: coal.Box(*(2 * size.astype(float))),
        ShapeType.CYLINDER: lambda: coal.Cylinder(r, 2 * h),
        ShapeType.CONE: lambda: coal.Cone(r, 2 * h),
        ShapeType.ELLIPSOID: lambda: coal.Ellipsoid(*size.astype(float)),
    }
    return makers[kind]()


def peer_distance(shapes: list[Any], poses: np.ndarray) -> tuple[float, np.ndarray]:
    """Signed distance, and the normal from shape 1 to shape 0."""
    places = [
        coal.Transform3s(rotation_matrix(p[3:]), p[:3].astype(np.float64)) for p in poses.astype(np.float64)
    ]
    request, result = coal.DistanceRequest(True), coal.DistanceResult()
    request.gjk_tolerance = 1e-10
    request.epa_tolerance = 1e-10
    request.gjk_max_iterations = 1000
    request.epa_max_iterations = 1000
    distance = coal.distance(shapes[0], places[0], shapes[1], places[1], request, result)
    return float(distance), -np.asarray(result.normal).ravel()


def reach(kind: ShapeType, size: np.ndarray, hull: tc.Hull, pose: np.ndarray, d: np.ndarray) -> float:
    """Support function in float64."""
    local = rotation_matrix(pose[3:].astype(float)).T @ d
    r, h = float(size[0]), float(size[1])
    across = float(np.hypot(local[0], local[1]))
    value = {
        ShapeType.SPHERE: r,
        ShapeType.CAPSULE: r + h * abs(local[2]),
        ShapeType.BOX: float(np.abs(local) @ size),
        ShapeType.CONVEX_HULL: float((hull.vertices.astype(np.float32).astype(float) @ local).max()),
        ShapeType.CYLINDER: r * across + h * abs(local[2]),
        ShapeType.CONE: max(r * across - h * local[2], h * local[2]),
        ShapeType.ELLIPSOID: float(np.linalg.norm(size * local)),
    }[kind]
    return float(pose[:3].astype(float) @ d) + value


def scene(
    kinds: tuple[ShapeType, ShapeType], scale: float, place: float
) -> tuple[np.ndarray, np.ndarray, list[tc.Hull], np.random.Generator]:
    rng = np.random.default_rng(100 * kinds[0] + kinds[1])
    size = rng.uniform(0.1, 0.5, (COUNT, 2, 3)).astype(np.float32)
    hulls = random_hulls(rng, 2 * COUNT)
    size[:, 1] *= scale
    if scale != 1.0:
        hulls = [tc.cook_hull(h.vertices * (scale if k % 2 else 1.0)) for k, h in enumerate(hulls)]
    q = rng.normal(size=(COUNT, 2, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    direction = rng.normal(size=(COUNT, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    pose = np.zeros((COUNT, 2, 7), dtype=np.float32)
    pose[..., 3:] = q
    pose[:, 0, :3] = place
    pose[:, 1, :3] = place + direction * rng.uniform(0.0, 0.8 * scale, (COUNT, 1))
    return size, pose, hulls, rng


def solve(
    kinds: tuple[ShapeType, ShapeType], size: np.ndarray, pose: np.ndarray, hulls: list[tc.Hull], device: str
) -> tuple:
    """Deepest separation of each pair, its normal, and how far its anchors miss it."""
    is_hull = np.tile([kind == ShapeType.CONVEX_HULL for kind in kinds], COUNT)
    model = tc.build_model(
        shape_type=np.tile(kinds, COUNT),
        shape_body=np.arange(2 * COUNT),
        shape_pose=np.tile([0, 0, 0, 0, 0, 0, 1.0], (2 * COUNT, 1)),
        shape_size=size.reshape(-1, 3),
        shape_hull=np.where(is_hull, np.arange(2 * COUNT), -1),
        hulls=hulls,
        shape_environment=np.repeat(np.arange(COUNT), 2),
        pairs=np.arange(2 * COUNT).reshape(-1, 2),
        environment_count=COUNT,
        shape_material=np.zeros(2 * COUNT, dtype=int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * COUNT, OFFSET),
        rest_offset=np.zeros(2 * COUNT),
        device=device,
    )
    contacts = tc.create_contacts(model)
    tc.collide(model, wp.array(pose.reshape(-1, 7), dtype=wp.transform, device=device), contacts)
    start, count = contacts.slot_start.numpy(), contacts.count.numpy()
    separation, normal = contacts.separation.numpy(), contacts.normal.numpy()
    least, way = np.full(COUNT, np.inf), np.zeros((COUNT, 3))
    for k in range(COUNT):
        if count[k]:
            slot = start[k] + int(separation[start[k] : start[k] + count[k]].argmin())
            least[k], way[k] = separation[slot], normal[slot]
    return least, way, model.shape_radius.numpy().reshape(-1, 2)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p[0].name}-{p[1].name}")
def test_distance_and_normal_of_random_pairs(pair: tuple[ShapeType, ShapeType], device: str) -> None:
    size, pose, hulls, _rng = scene(pair, 1.0, 0.0)
    least, way, radius = solve(pair, size, pose, hulls, device)
    truth, normal, along = np.empty(COUNT), np.empty((COUNT, 3)), np.full(COUNT, np.inf)
    for k in range(COUNT):
        shapes = [peer_shape(kind, size[k, s], hulls[2 * k + s]) for s, kind in enumerate(pair)]
        truth[k], normal[k] = peer_distance(shapes, pose[k])
        if np.isfinite(least[k]):
            d = way[k].astype(float) / np.linalg.norm(way[k])
            along[k] = -sum(
                reach(kind, size[k, s], hulls[2 * k + s], pose[k, s], d * (2 * s - 1))
                for s, kind in enumerate(pair)
            )
    truth = np.maximum(truth, -1e3)  # its word for no answer is an infinite depth
    clear = np.abs(truth - 2 * OFFSET) > 1e-4
    assert np.array_equal(np.isfinite(least)[clear], (truth < 2 * OFFSET)[clear])
    near = np.isfinite(least) & (truth < 2 * OFFSET)
    assert near.sum() > 25
    allowed = 1e-4 * 2 * radius.min(axis=1) + 4 * np.spacing(np.float32(radius.max(axis=1)))
    least[~near] = truth[~near] = 0.0
    apart, deep = near & (truth > 0.0), near & (truth <= 0.0)
    assert np.abs((least - truth) / allowed)[apart].max() < 1.0
    # A deep contact separates along its own normal by as much as it says, which bounds the
    # truth from one side; coal, where it finds an answer, bounds it from the other.
    known = deep & np.isfinite(normal).all(axis=1) & (truth > -1e3)
    along[~near] = 0.0
    certified = np.abs(along - least) / allowed
    truth[~known] = least[~known] = 0.0
    deeper = (truth - least) / allowed
    assert np.quantile(certified[deep], 0.98) < 1.0
    assert np.quantile(deeper[known], 0.97) < 1.0
    assert (certified[deep] < 10.0).all()
    assert (deeper[known] < 200.0).all()


@pytest.mark.parametrize("scale", [1e-4, 1e-2])
@pytest.mark.parametrize("place", [0.0, 1e4])
@pytest.mark.parametrize("pair", [(3, 4), (4, 4), (4, 5)], ids=str)
def test_small_shapes_on_large_ones(pair: tuple[int, int], scale: float, place: float, device: str) -> None:
    """A small second shape sinks into the first, whose size is that of the float32 error."""
    kinds = (ShapeType(pair[0]), ShapeType(pair[1]))
    size, pose, hulls, rng = scene(kinds, scale, 0.0)
    for k in range(COUNT):
        # Onto the surface, in the exact frame of both.
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        at = [
            reach(kind, size[k, s], hulls[2 * k + s], pose[k, s] * [0, 0, 0, 1, 1, 1, 1], d * (1 - 2 * s))
            for s, kind in enumerate(kinds)
        ]
        pose[k, 0, :3] = 0.0
        pose[k, 1, :3] = d * (at[0] + 0.5 * at[1])
    if place:
        pose[..., :3] = np.round(pose[..., :3] * 64.0) / 64.0
        pose[..., :3] += place
    least, _way, radius = solve(kinds, size, pose, hulls, device)
    local = pose.copy()
    local[:, 1, :3] -= local[:, 0, :3]
    local[:, 0, :3] = 0.0
    truth = np.array(
        [
            peer_distance(
                [peer_shape(kind, size[k, s], hulls[2 * k + s]) for s, kind in enumerate(kinds)], local[k]
            )[0]
            for k in range(COUNT)
        ]
    )
    near = np.isfinite(least) & (truth < 2 * OFFSET) & (truth > -1e3)
    least[~near] = truth[~near] = 0.0
    assert near.sum() > 25
    allowed = 1e-4 * 2 * radius.min(axis=1) + 4 * np.spacing(np.float32(radius.max(axis=1)))
    assert np.quantile((np.abs(least - truth) / allowed)[near], 0.95) < 1.0
