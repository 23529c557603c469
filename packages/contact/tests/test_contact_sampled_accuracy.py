"""Signed distance fields and sets of spheres against float64 truth (extra ``peers``)."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
import tensorphys_sdf as ts
from tensorphys_contact import ShapeType as S
from tensorphys_contact.shapes import CONVEX_SHAPES, MESH_SHAPES
from tensorphys_contact.testing.mesh_scenes import least_distance
from tensorphys_contact.testing.pair_scenes import angle_between
from tensorphys_contact.testing.truth import (
    Solid,
    Truth,
    enclosed_depth,
    enclosed_distance,
    peer_separation,
    reach_along,
)

pytest.importorskip("coal")
pytestmark = pytest.mark.peers

COUNT = 40
OFFSET = 0.02
EYE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
HALF = np.array([0.25, 0.1875, 0.125])
CELLS = 48
CELL = 0.5 / CELLS
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([t for a, b, c, d in SQUARES for t in ((a, b, c), (a, c, d))])
HULL = tc.cook_hull(np.random.default_rng(5).uniform(-0.2, 0.2, (14, 3)))
SPHERES = np.array([[-0.15, 0.0, 0.0, 0.125], [0.1, 0.0625, 0.0, 0.1875], [0.0, 0.0, 0.25, 0.0625]])
SIZES = {
    S.SPHERE: (0.15, 0, 0),
    S.CAPSULE: (0.1, 0.15, 0),
    S.BOX: (0.15, 0.1, 0.2),
    S.CYLINDER: (0.15, 0.12, 0),
    S.CONE: (0.15, 0.15, 0),
    S.ELLIPSOID: (0.2, 0.12, 0.15),
}


@functools.cache
def field(device: str) -> Any:
    parameters = ts.FieldParameters(resolution=CELLS)
    return tc.cook_sdf(HALF * CORNERS, TRIANGLES, parameters=parameters, device=device)


@functools.cache
def surface(kind: S) -> tc.TriangleMesh:
    if kind == S.HEIGHT_FIELD:
        rough = np.random.default_rng(6).uniform(0.0, 0.15, (7, 7))
        grid = tc.cook_height_field(rough, (0.2, 0.2))
        return tc.cook_mesh(grid.vertices - [0.6, 0.6, 0.0], grid.triangles)
    return tc.cook_mesh(HALF * CORNERS, TRIANGLES)


def deepest(kinds: tuple[S, S], poses: np.ndarray, device: str) -> tuple[np.ndarray, np.ndarray]:
    """Least separation of each pair and its normal, infinite without contact."""
    count = len(poses)
    pick = lambda *some: np.tile([0 if k in some else -1 for k in kinds], count)  # noqa: E731
    meshes = [surface(k) for k in kinds if k in MESH_SHAPES]
    sizes = [(1, 1, 1) if k >= S.SDF else SIZES.get(k, (0, 0, 0)) for k in kinds]
    model = tc.build_model(
        shape_type=np.tile(kinds, count),
        shape_body=np.arange(2 * count),
        shape_pose=np.tile(EYE, (2 * count, 1)),
        shape_size=np.tile(sizes, (count, 1)),
        shape_environment=np.repeat(np.arange(count), 2),
        pairs=np.arange(2 * count).reshape(-1, 2),
        environment_count=count,
        shape_material=np.zeros(2 * count, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * count, 0.5 * OFFSET),
        rest_offset=np.zeros(2 * count),
        shape_hull=pick(S.CONVEX_HULL),
        hulls=[HULL],
        shape_mesh=pick(*MESH_SHAPES),
        meshes=meshes,
        shape_sdf=pick(S.SDF),
        sdfs=[field(device)],
        shape_spheres=pick(S.SPHERES),
        sphere_sets=[tc.cook_spheres(SPHERES[:, :3], SPHERES[:, 3])],
        device=device,
    )
    contacts = tc.create_contacts(model)
    pose = wp.array(poses.astype(np.float32).reshape(-1, 7), dtype=wp.transform, device=device)
    tc.collide(model, pose, contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    separation, normal = contacts.separation.numpy(), contacts.normal.numpy()
    least, way = np.full(count, np.inf), np.zeros((count, 3))
    for k in np.flatnonzero(used):
        slot = start[k] + int(separation[start[k] : start[k] + used[k]].argmin())
        least[k], way[k] = separation[slot], normal[slot]
    return least, way


def solids(kind: S, pose: np.ndarray) -> list[Solid]:
    """Convex parts of a shape in float64."""
    if kind == S.SPHERES:
        turn = Solid(S.SPHERE, np.zeros(3), pose)
        return [
            Solid(
                S.SPHERE, np.array([r, 0, 0]), np.array([*(pose[:3] + turn.rotation @ [x, y, z]), 0, 0, 0, 1])
            )
            for x, y, z, r in SPHERES.astype(np.float32).astype(np.float64)
        ]
    if kind == S.SDF:
        return [Solid(S.BOX, HALF, pose)]
    size = np.array(SIZES.get(kind, (0, 0, 0)), np.float32).astype(np.float64)
    return [Solid(kind, size, pose, HULL if kind == S.CONVEX_HULL else None)]


def truth_of(kinds: tuple[S, S], poses: np.ndarray) -> Truth:
    """Signed distance of the nearest parts; of a surface with two sides only that of what is apart from it."""
    found = []
    if kinds[0] in MESH_SHAPES:
        for part in solids(kinds[1], poses[1]):
            truth, _triangle = least_distance(part, surface(kinds[0]), poses[0])
            found.append(Truth(truth.least, truth.most, -truth.normal))
    else:
        for a, b in itertools.product(solids(kinds[0], poses[0]), solids(kinds[1], poses[1])):
            distance, normal = peer_separation(a, b)
            truth = Truth(distance, distance, normal)
            if not distance > 0.0:
                truth = enclosed_depth(a, b, 1e-8)
                if truth.least > 0.0:
                    truth = enclosed_distance(a, b, 1e-9, truth.normal)
            found.append(truth)
    return min(found, key=lambda t: t.most)


def near_poses(kinds: tuple[S, S], seed: int, low: float, high: float) -> np.ndarray:
    """Random turns, the second shape let down on the first until its distance lies between two values."""
    rng = np.random.default_rng([seed, *kinds])
    poses = np.zeros((COUNT, 2, 7))
    poses[..., 3:] = rng.normal(size=(COUNT, 2, 4))
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    for k in range(COUNT):
        n = rng.normal(size=3)
        if kinds[0] == S.HEIGHT_FIELD:
            poses[k, 0, 3:] = EYE[3:]
            n = np.array([0.0, 0.0, 1.0])
        n /= np.linalg.norm(n)
        poses[k, 1, :3] = 1.5 * n + rng.uniform(-0.05, 0.05, 3)
        wanted = rng.uniform(low, high)
        for _step in range(25):
            way = truth_of(kinds, poses[k]).most - wanted
            poses[k, 1, :3] -= n * way
            if abs(way) < 1e-4:
                break
    return poses.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("kind", [*CONVEX_SHAPES, S.SPHERES], ids=lambda k: k.name)
@pytest.mark.parametrize(("low", "high"), [(0.002, 0.018), (-0.03, -0.001)], ids=["apart", "sunk"])
def test_spheres_of_a_set(kind: S, low: float, high: float, device: str) -> None:
    """Within 1e-4 of the smallest sphere and rounding, in depth and normal."""
    kinds = (kind, S.SPHERES)
    poses = near_poses(kinds, 1, low, high)
    least, way = deepest(kinds, poses, device)
    allowed = 1e-4 * 0.125 + 4e-7
    checked = 0
    for k in range(COUNT):
        truth = truth_of(kinds, poses[k])
        assert abs(least[k] - truth.most) < allowed
        parts = [
            reach_along(a, b, way[k])
            for a in solids(kinds[0], poses[k, 0])
            for b in solids(kinds[1], poses[k, 1])
        ]
        if truth.most > 1e-3 or kind in (S.SPHERE, S.CAPSULE, S.SPHERES):
            # Another sphere may be as near.
            assert (
                angle_between(way[k], truth.normal) < 1e-3
                or min(abs(p - truth.most) for p in parts) < allowed
            )
            checked += 1
    assert checked > 20 or low < 0.0


@pytest.mark.parametrize("kind", MESH_SHAPES, ids=lambda k: k.name)
def test_spheres_of_a_set_beside_surfaces(kind: S, device: str) -> None:
    kinds = (kind, S.SPHERES)
    poses = near_poses(kinds, 2, 0.002, 0.018)
    least, _way = deepest(kinds, poses, device)
    truth = [truth_of(kinds, pose).most for pose in poses]
    np.testing.assert_allclose(least, truth, atol=1e-4 * 0.125 + 4e-7)


@pytest.mark.parametrize("kind", [*CONVEX_SHAPES, S.SPHERES, *MESH_SHAPES], ids=lambda k: k.name)
def test_fields(kind: S, device: str) -> None:
    """Within 0.35 cells of the closed box that the field was made from."""
    kinds = (kind, S.SDF) if kind != S.SPHERES else (S.SDF, S.SPHERES)
    poses = near_poses(kinds, 3, 0.002, 0.018)
    least, _way = deepest(kinds, poses, device)
    truth = np.array([truth_of(kinds, pose).most for pose in poses])
    np.testing.assert_allclose(least, truth, atol=0.35 * CELL)
    assert np.median(np.abs(least - truth)) < 0.05 * CELL
