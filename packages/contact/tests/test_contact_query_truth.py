"""Queries against independent truth in float64: coal for closest points, overlaps and sweeps, trimesh for meshes, and
rays that graze the farthest points of every kind of shape. Needs the extra ``peers``.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("coal")
pytest.importorskip("scipy")

import tensorphys_contact as tc
import tensorphys_sdf as ts
from tensorphys_contact import ShapeType as S
from tensorphys_contact.testing.truth import Solid, peer_separation, reach_along

CORNERS = np.array(list(itertools.product((-0.3, 0.2), repeat=3)))
HULL = tc.cook_hull(np.concatenate([CORNERS, [[0.0, 0.0, 0.5]]]))
UNIT = [0.0, 0.0, 0.0, 1.0]
KINDS = (S.SPHERE, S.CAPSULE, S.BOX, S.CONVEX_HULL, S.CYLINDER, S.CONE, S.ELLIPSOID)
ASKED = 24
SPACING = float(np.finfo(np.float32).eps)
Vector = npt.NDArray[np.float64]


def solids(rng: np.random.Generator, kinds: list[int], spread: float) -> list[Solid]:
    """Shapes at random poses, with numbers that float32 holds."""
    result = []
    for kind in kinds:
        q = rng.normal(size=4)
        pose = np.concatenate([rng.uniform(-spread, spread, 3), q / np.linalg.norm(q)]).astype(np.float32)
        size = rng.uniform(0.05, 0.4, 3).astype(np.float32)
        if kind == S.SPHERE:
            size[1:] = 0.0
        wide = pose.astype(np.float64)
        wide[3:] /= np.linalg.norm(wide[3:])
        hull = HULL if kind == S.CONVEX_HULL else None
        result.append(Solid(S(kind), size.astype(np.float64), wide, hull))
    return result


def world_of(shapes: list[Solid], device: str) -> tuple[tc.Model, Any, Any]:
    count = len(shapes)
    model = tc.build_model(
        shape_type=[s.kind for s in shapes],
        shape_body=np.arange(count),
        shape_pose=[[0, 0, 0, *UNIT]] * count,
        shape_size=[s.size for s in shapes],
        shape_environment=[0] * count,
        pairs=np.zeros((0, 2), int),
        environment_count=1,
        shape_material=[0] * count,
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.0] * count,
        rest_offset=[0.0] * count,
        shape_hull=[0 if s.kind == S.CONVEX_HULL else -1 for s in shapes],
        hulls=[HULL],
        device=device,
    )
    pose = wp.array(np.array([s.pose for s in shapes], np.float32), dtype=wp.transform, device=device)
    return model, pose, tc.create_query_tree(model, pose)


def questions(asked: list[Solid], shapes: list[Solid], device: str) -> Any:
    hull = next(i for i, s in enumerate(shapes) if s.kind == S.CONVEX_HULL)
    return tc.create_query_shapes(
        kind=[a.kind for a in asked],
        size=[a.size for a in asked],
        pose=[a.pose for a in asked],
        environment=[0] * len(asked),
        hull=[hull if a.kind == S.CONVEX_HULL else -1 for a in asked],
        device=device,
    )


def scene(seed: int, spread: float = 1.0) -> tuple[list[Solid], list[Solid]]:
    """One shape of each kind, and shapes of all kinds that ask."""
    rng = np.random.default_rng(seed)
    return solids(rng, list(KINDS), spread), solids(rng, [KINDS[i % 7] for i in range(ASKED)], spread)


def tolerance(a: Solid, b: Solid) -> float:
    """1e-4 of the smaller one and four spacings of the larger one."""
    sizes = [float(np.abs(s.farthest(np.eye(3)) - s.pose[:3]).max()) for s in (a, b)]
    return 1e-4 * max(min(sizes), 0.05) + 4.0 * SPACING * max(*sizes, float(np.abs(a.pose[:3]).max()))


def is_separation(value: float, normal: Vector, asked: Solid, shape: Solid) -> None:
    """A separation is right where its direction has that reach and coal finds no shorter way out or between."""
    allowed = tolerance(asked, shape)
    peer, _ = peer_separation(asked, shape)
    assert reach_along(asked, shape, normal) == pytest.approx(value, abs=allowed)
    if np.isfinite(peer):
        assert value >= peer - allowed
        # Depths of coal are upper bounds: its polytope may stop before the least one.
        assert value <= peer + allowed or value < 0.0


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31))
def test_closest_points_are_those_of_coal(seed: int) -> None:
    shapes, asked = scene(seed)
    model, pose, tree = world_of(shapes, "cpu")
    hits = tc.create_nearest_hits(ASKED, "cpu")
    far = wp.full(ASKED, 10.0, dtype=wp.float32, device="cpu")
    tc.closest_points(model, tree, pose, questions(asked, shapes, "cpu"), hits, limit=far)
    found, distance = hits.shape.numpy(), hits.distance.numpy().astype(float)
    normal, point = hits.normal.numpy().astype(float), hits.point.numpy().astype(float)
    for i, query in enumerate(asked):
        shape = shapes[found[i]]
        is_separation(distance[i], normal[i], query, shape)
        n = normal[i][None]
        allowed = tolerance(query, shape)
        # The point is a farthest one of the shape, and that of the query shape lies across the gap.
        assert ((shape.farthest(n) - point[i]) * n).sum() == pytest.approx(0.0, abs=allowed)
        across = point[i] + distance[i] * normal[i]
        assert ((query.farthest(-n) - across) * n).sum() == pytest.approx(0.0, abs=allowed)
        nearest = min(peer_separation(query, s)[0] for s in shapes)
        if nearest > 0.0:
            assert distance[i] == pytest.approx(nearest, abs=allowed)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31))
def test_overlaps_are_those_of_coal(seed: int) -> None:
    shapes, asked = scene(seed, 0.6)
    model, pose, tree = world_of(shapes, "cpu")
    lists = tc.create_ray_hit_lists(ASKED, len(shapes), "cpu")
    tc.find_overlaps(model, tree, pose, questions(asked, shapes, "cpu"), lists)
    count, shape = lists.count.numpy(), lists.shape.numpy()
    distance, normal = lists.distance.numpy().astype(float), lists.normal.numpy().astype(float)
    total = 0
    for i, query in enumerate(asked):
        listed = shape[i, : count[i]].tolist()
        assert (np.diff(distance[i, : count[i]]) >= 0.0).all()
        for s, other in enumerate(shapes):
            peer, _ = peer_separation(query, other)
            if abs(peer) > tolerance(query, other):
                assert (s in listed) == (peer < 0.0)
        for k, s in enumerate(listed):
            is_separation(distance[i, k], normal[i, k], query, shapes[s])
        total += len(listed)
    assert total > 10


def first_touch(asked: Solid, shape: Solid, direction: Vector, longest: float) -> tuple[float, float]:
    """Way until two convex shapes touch by conservative advancement over the distances of coal, and cosine there."""
    at = 0.0
    closing = 1.0
    for _ in range(200):
        pose = asked.pose.copy()
        pose[:3] += at * direction
        gap, normal = peer_separation(Solid(asked.kind, asked.size, pose, asked.hull), shape)
        if gap <= 1e-9:
            return at, closing
        closing = -float(normal @ direction)
        if closing <= 1e-9 or at > longest:
            return np.inf, closing
        at += gap / closing
    return at, closing


@settings(max_examples=8)
@given(seed=st.integers(0, 2**31))
def test_sweeps_stop_where_coal_says(seed: int) -> None:
    shapes, asked = scene(seed)
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(ASKED, 3)).astype(np.float32)
    model, pose, tree = world_of(shapes, "cpu")
    hits = tc.create_nearest_hits(ASKED, "cpu")
    tc.sweep_shapes(
        model,
        tree,
        pose,
        questions(asked, shapes, "cpu"),
        hits,
        direction=wp.array(direction, dtype=wp.vec3, device="cpu"),
        longest=wp.full(ASKED, 3.0, dtype=wp.float32, device="cpu"),
    )
    found, distance = hits.shape.numpy(), hits.distance.numpy().astype(float)
    for i, query in enumerate(asked):
        unit = direction[i].astype(float) / np.linalg.norm(direction[i].astype(float))
        ways = [first_touch(query, shape, unit, 3.0) for shape in shapes]
        nearest = min(range(len(shapes)), key=lambda s: ways[s][0])
        way, closing = ways[nearest]
        if closing < 0.05:
            continue  # Where it all but passes, a rounding decides.
        if way > 3.0:
            # What it found then was a shape that coal lets it graze.
            assert found[i] < 0 or ways[found[i]][1] < 0.05
            continue
        assert found[i] >= 0
        assert distance[i] == pytest.approx(way, abs=4.0 * tolerance(query, shapes[nearest]) / closing)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31))
def test_distances_of_points_are_those_of_coal_and_trimesh(seed: int) -> None:
    trimesh = pytest.importorskip("trimesh")
    rng = np.random.default_rng(seed)
    shapes = solids(rng, list(KINDS), 1.0)
    model, pose, tree = world_of(shapes, "cpu")
    at = rng.uniform(-1.5, 1.5, (ASKED, 3)).astype(np.float32)
    points = [Solid(S.SPHERE, np.zeros(3), np.array([*p.astype(float), *UNIT])) for p in at]
    hits = tc.create_nearest_hits(ASKED, "cpu")
    far = wp.full(ASKED, 10.0, dtype=wp.float32, device="cpu")
    tc.closest_points(model, tree, pose, questions(points, shapes, "cpu"), hits, limit=far)
    for i, point in enumerate(points):
        value = float(hits.distance.numpy()[i])
        is_separation(value, hits.normal.numpy()[i].astype(float), point, shapes[hits.shape.numpy()[i]])
    torus = trimesh.creation.torus(0.6, 0.25, major_sections=24, minor_sections=12)
    surface = tc.cook_mesh(torus.vertices, torus.faces)
    model, pose, tree = surface_world(surface, "cpu")
    tc.closest_points(model, tree, pose, questions_of_points(at), hits, limit=far)
    peer = trimesh.Trimesh(surface.vertices, surface.triangles, process=False)
    _, expected, _ = trimesh.proximity.closest_point_naive(peer, at.astype(float))
    np.testing.assert_allclose(np.abs(hits.distance.numpy()), expected, atol=2e-5)


def questions_of_points(at: Any) -> Any:
    count = len(at)
    return tc.create_query_shapes(
        kind=[S.SPHERE] * count,
        size=np.zeros((count, 3)),
        pose=np.column_stack([at, np.tile(UNIT, (count, 1))]),
        environment=np.zeros(count, int),
        device="cpu",
    )


def surface_world(geometry: Any, device: str, kind: int = S.TRIANGLE_MESH) -> tuple[tc.Model, Any, Any]:
    """One static shape that is no convex one: a mesh, a field or a set of spheres."""
    columns: dict[str, Any] = {
        S.SDF: {"shape_sdf": [0], "sdfs": [geometry]},
        S.SPHERES: {"shape_spheres": [0], "sphere_sets": [geometry]},
    }.get(S(kind), {"shape_mesh": [0], "meshes": [geometry]})
    model = tc.build_model(
        shape_type=[kind],
        shape_body=[0],
        shape_pose=[[0, 0, 0, *UNIT]],
        shape_size=[[1, 1, 1]],
        shape_environment=[0],
        pairs=np.zeros((0, 2), int),
        environment_count=1,
        shape_material=[0],
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.0],
        rest_offset=[0.0],
        device=device,
        **columns,
    )
    pose = wp.array(np.array([[0, 0, 0, *UNIT]], np.float32), dtype=wp.transform, device=device)
    return model, pose, tc.create_query_tree(model, pose)


def cast(world: tuple[tc.Model, Any, Any], origin: Vector, direction: Vector) -> tuple[Any, Any, Any, Any]:
    model, pose, tree = world
    count = len(origin)
    hits = tc.create_ray_hits(count, model.device)
    tc.cast_rays(
        model,
        tree,
        pose,
        hits,
        environment=wp.zeros(count, dtype=wp.int32, device=model.device),
        origin=wp.array(origin.astype(np.float32), dtype=wp.vec3, device=model.device),
        direction=wp.array(direction.astype(np.float32), dtype=wp.vec3, device=model.device),
        longest=wp.full(count, 20.0, dtype=wp.float32, device=model.device),
    )
    return hits.shape.numpy(), hits.distance.numpy().astype(float), hits.normal.numpy(), hits.triangle.numpy()


def grazing(
    rng: np.random.Generator, count: int, farthest: Any, inner: Vector | None, lean: float = -1.0
) -> tuple[Vector, ...]:
    """Rays across the farthest points along random directions, 1e-4 above the plane there, and as much inward of them.

    Args:
        inner: A point inside; None where the surface is round.
        lean: Where positive, directions lean little from +Z, for a surface that is open below.
    """
    n = rng.normal(size=(count, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    if lean > 0.0:
        n = np.array([0.0, 0.0, 1.0]) + 0.3 * n
        n /= np.linalg.norm(n, axis=1)[:, None]
    d = np.cross(n, rng.normal(size=(count, 3)))
    d /= np.linalg.norm(d, axis=1)[:, None]
    at = farthest(n)
    inward = -n if inner is None else inner - at
    inward = inward / np.linalg.norm(inward, axis=1)[:, None]
    return at + 1e-4 * n - 3.0 * d, at + 1e-4 * inward - 3.0 * d, d


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31), kind=st.sampled_from(KINDS))
def test_rays_that_graze_a_convex_shape(seed: int, kind: int) -> None:
    """A ray above the plane across a farthest point misses, one below it hits."""
    rng = np.random.default_rng(seed)
    shape = solids(rng, [kind], 0.5)[0]
    world = world_of([shape], "cpu")
    above, below, d = grazing(rng, 64, shape.farthest, shape.pose[:3])
    assert (cast(world, above, d)[0] == -1).all()
    found, distance, normal, _ = cast(world, below, d)
    assert (found == 0).all()
    at = below + distance[:, None] * d
    # The hit lies on the shape: in no direction beyond its farthest point.
    n = normal.astype(float)
    beyond = ((shape.farthest(n) - at) * n).sum(axis=1)
    assert (np.abs(beyond) < 2e-5).all()


def ball_mesh() -> Any:
    trimesh = pytest.importorskip("trimesh")
    return trimesh.creation.icosphere(subdivisions=2, radius=0.5)


@settings(max_examples=6)
@given(seed=st.integers(0, 2**31))
@pytest.mark.parametrize("kind", [S.TRIANGLE_MESH, S.HEIGHT_FIELD, S.SDF, S.SPHERES])
def test_rays_that_graze_other_shapes(kind: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lean: float = -1.0
    inner: Vector | None = np.zeros(3)
    if kind == S.SPHERES:
        centre = rng.uniform(-0.5, 0.5, (5, 3)).astype(np.float32)
        radius = rng.uniform(0.1, 0.4, 5).astype(np.float32)
        geometry: Any = tc.cook_spheres(centre, radius)
        inner = None

        def farthest(n: Vector) -> Vector:
            ends = centre[None] + radius[None, :, None] * n[:, None]
            return ends[np.arange(len(n)), (ends * n[:, None]).sum(axis=2).argmax(axis=1)]
    else:
        ball = ball_mesh()
        if kind == S.HEIGHT_FIELD:
            lean = 0.5
            x = np.linspace(-1.0, 1.0, 9)
            geometry = tc.cook_height_field(1.0 - x[:, None] ** 2 - x[None] ** 2, (0.25, 0.25))
            vertex = geometry.vertices
        elif kind == S.SDF:
            geometry = cube_field()
            vertex = 0.4 * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        else:
            geometry = tc.cook_mesh(ball.vertices, ball.faces)
            vertex = geometry.vertices
        vertex = vertex.astype(np.float32).astype(float)

        def farthest(n: Vector) -> Vector:
            return vertex[(n @ vertex.T).argmax(axis=1)]

    world = surface_world(geometry, "cpu", kind)
    above, below, d = grazing(rng, 64, farthest, inner, lean)
    assert (cast(world, above, d)[0] == -1).all()
    assert (cast(world, below, d)[0] == 0).all()


_FIELD: list[Any] = []


def cube_field() -> Any:
    """A cube of 0.8 as a signed distance field; cooked once."""
    if not _FIELD:
        square = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        triangles = np.array([t for a, b, c, e in square for t in ((a, b, c), (a, c, e))])
        corners = 0.4 * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        _FIELD.append(
            tc.cook_sdf(corners, triangles, parameters=ts.FieldParameters(resolution=8), device="cpu")
        )
    return _FIELD[0]


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31))
def test_rays_through_a_torus_are_those_of_trimesh(seed: int) -> None:
    """Distance, triangle and normal on a surface with a hole, from outside, inside and through the hole."""
    trimesh = pytest.importorskip("trimesh")
    rng = np.random.default_rng(seed)
    torus = trimesh.creation.torus(0.6, 0.25, major_sections=24, minor_sections=12)
    surface = tc.cook_mesh(torus.vertices, torus.faces)
    peer = trimesh.Trimesh(surface.vertices, surface.triangles, process=False)
    origin = rng.uniform(-1.0, 1.0, (100, 3)).astype(np.float32).astype(float)
    unit = rng.normal(size=(100, 3))
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    _, ray, at = peer.ray.intersects_id(origin, unit, multiple_hits=True, return_locations=True)
    expected = np.full(100, np.inf)
    np.minimum.at(expected, ray, ((at - origin[ray]) * unit[ray]).sum(axis=1))
    found, distance, normal, triangle = cast(surface_world(surface, "cpu"), origin, unit)
    hit = found == 0
    # An edge may be missed by the peer.
    assert (np.isfinite(expected) & ~hit).sum() == 0
    assert (hit & ~np.isfinite(expected)).sum() <= 1
    both = hit & np.isfinite(expected)
    # A ray along a face meets it late by its rounding over the cosine.
    cosine = np.abs((peer.face_normals[triangle] * unit).sum(axis=1))[both]
    assert (np.abs(distance[both] - expected[both]) * np.maximum(cosine, 1e-2) < 2e-6).all()
    facing = np.abs((normal[both] * peer.face_normals[triangle[both]]).sum(axis=1))
    np.testing.assert_allclose(facing, 1.0, atol=1e-5)
