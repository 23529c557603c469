"""Triangle meshes that ask what they overlap, against separating axes in float64; rays that pass back sides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

IDENTITY = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
SIGNS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
BOX_FACES = [
    [0, 1, 3],
    [0, 3, 2],
    [4, 6, 7],
    [4, 7, 5],
    [0, 4, 5],
    [0, 5, 1],
    [2, 3, 7],
    [2, 7, 6],
    [0, 2, 6],
]
BOX_FACES += [[0, 6, 4], [1, 5, 7], [1, 7, 3]]


def box_mesh(half: float, center: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> tc.TriangleMesh:
    return tc.cook_mesh(SIGNS * half + np.array(center), BOX_FACES)


def triangle_soup(rng: np.random.Generator, count: int, reach: float) -> np.ndarray:
    return rng.uniform(-reach, reach, (count, 1, 3)) + rng.uniform(-0.5, 0.5, (count, 3, 3))


def model_of(
    kind: list[int], size: list, pose: list, device: str, meshes: list | None = None
) -> tuple[tc.Model, tc.QueryTree, wp.array]:
    count = len(kind)
    numbers = iter(range(count))
    model = tc.build_model(
        shape_type=kind,
        shape_body=list(range(count)),
        shape_pose=[IDENTITY] * count,
        shape_size=size,
        shape_environment=[0] * count,
        pairs=np.zeros((0, 2), int),
        environment_count=1,
        shape_material=[0] * count,
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.01] * count,
        rest_offset=[0.0] * count,
        shape_mesh=[next(numbers) if k == ShapeType.TRIANGLE_MESH else -1 for k in kind],
        meshes=meshes or [],
        device=device,
    )
    body = wp.array(np.asarray(pose, np.float32), dtype=wp.transform, device=device)
    return model, tc.create_query_tree(model, body), body


def marks_of(query: tc.QueryShapes | tc.MeshQuery, world: tuple, device: str) -> list[int]:
    model, tree, body = world
    marks = wp.zeros(model.shape_count, dtype=wp.int32, device=device)
    tc.mark_overlaps(model, tree, body, query, marks)
    return [int(value) for value in marks.numpy()]


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """Largest gap of two sets of corners along the normals of their faces and the cross products of their edges."""
    axes = []
    edges = [c - np.roll(c, 1, axis=0) if len(c) == 3 else np.eye(3) for c in (a, b)]
    for own, others in (edges, edges[::-1]):
        normal = np.cross(own[0], own[1])[None] if len(own) == 3 and own is not None else own
        axes += [normal, *(np.cross(own, other) for other in others)]
        # A flat shape is also bounded across its edges, in its plane.
        axes.append(np.cross(own, normal))
        axes.append(own)
    directions = np.concatenate(axes)
    length = np.linalg.norm(directions, axis=1)
    directions = directions[length > 1e-9] / length[length > 1e-9, None]
    x, y = a @ directions.T, b @ directions.T
    return float(np.maximum(y.min(0) - x.max(0), x.min(0) - y.max(0)).max())


def test_single_triangles_overlap_boxes_as_separating_axes_say(device: str) -> None:
    rng = np.random.default_rng(3)
    places = rng.uniform(-0.7, 0.7, (60, 3))
    half = rng.uniform(0.05, 0.3, (60, 3))
    pose = [[*place, 0.0, 0.0, 0.0, 1.0] for place in places]
    world = model_of([int(ShapeType.BOX)] * 60, half.tolist(), pose, device)
    decided = [0, 0]
    for triangle in triangle_soup(rng, 40, 0.8):
        corners = np.float32(triangle).astype(float)
        query = tc.create_mesh_query(tc.cook_mesh(corners, [[0, 1, 2]]), IDENTITY, device=device)
        assert query.solid is None
        for mark, place, size in zip(marks_of(query, world, device), places, half, strict=True):
            away = gap(corners, SIGNS * size + place)
            if abs(away) > 1e-5:
                assert mark == int(away < 0.0)
                decided[mark] += 1
    assert min(decided) > 100


def test_meshes_overlap_triangle_meshes_as_separating_axes_say(device: str) -> None:
    rng = np.random.default_rng(4)
    soups = [np.float32(triangle_soup(rng, 3, 0.6)).astype(float) for _ in range(24)]
    shift = np.float32(rng.uniform(-0.4, 0.4, (24, 3)))
    meshes = [tc.cook_mesh(soup.reshape(-1, 3), np.arange(9).reshape(3, 3)) for soup in soups]
    pose = [[*place, 0.0, 0.0, 0.0, 1.0] for place in shift]
    world = model_of([int(ShapeType.TRIANGLE_MESH)] * 24, [[0, 0, 0]] * 24, pose, device, meshes)
    decided = [0, 0]
    for soup in soups[:12]:
        mesh = tc.cook_mesh(soup.reshape(-1, 3), np.arange(9).reshape(3, 3))
        marks = marks_of(tc.create_mesh_query(mesh, IDENTITY, device=device), world, device)
        for mark, other, place in zip(marks, soups, shift, strict=True):
            away = min(gap(a, b + place) for a in soup for b in other)
            if abs(away) > 1e-5:
                assert mark == int(away < 0.0)
                decided[mark] += 1
    assert min(decided) > 30


def test_a_closed_mesh_overlaps_what_lies_inside_and_an_open_one_does_not(device: str) -> None:
    kind = [int(ShapeType.SPHERE), int(ShapeType.BOX), int(ShapeType.TRIANGLE_MESH), int(ShapeType.SPHERE)]
    pose = [[x, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0] for x in (-0.3, 0.3, 0.0, 2.0)]
    world = model_of(kind, [[0.1] * 3] * 4, pose, device, [box_mesh(0.05)] * 3)
    around = [0.0, 2.0, 3.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    mesh = box_mesh(1.0)
    assert tc.is_closed(mesh)
    assert marks_of(tc.create_mesh_query(mesh, around, device=device), world, device) == [1, 1, 1, 0]
    hollow = tc.create_mesh_query(mesh, around, solid=False, device=device)
    assert marks_of(hollow, world, device) == [0, 0, 0, 0]
    lid_off = tc.cook_mesh(mesh.vertices, mesh.triangles[:-2])
    inside_out = tc.cook_mesh(mesh.vertices, mesh.triangles[:, ::-1])
    assert not tc.is_closed(lid_off) and tc.is_closed(inside_out)
    assert marks_of(tc.create_mesh_query(inside_out, around, device=device), world, device) == [1, 1, 1, 0]
    assert marks_of(tc.create_mesh_query(lid_off, around, device=device), world, device) == [0, 0, 0, 0]
    model, tree, body = world
    with pytest.raises(tc.ArrayError, match="marks"):
        tc.mark_overlaps(model, tree, body, hollow, wp.zeros(2, dtype=wp.int32, device=device))
    with pytest.raises(tc.ShapeError, match="corner starts"):
        tc.create_query_shapes(
            kind=[4],
            size=[[1, 0, 0]],
            pose=[IDENTITY],
            environment=[0],
            corner=[[0, 0, 0]],
            corner_start=[0, 2],
        )


def test_rays_pass_the_back_sides_of_one_sided_meshes(device: str) -> None:
    # A box in a box: from inside of the inner one, both walls show their back sides to the ray.
    meshes = [box_mesh(0.5), box_mesh(1.0)]
    pose = [IDENTITY, IDENTITY]
    model, tree, body = model_of([8, 8], [[0, 0, 0]] * 2, pose, device, meshes)
    origin = np.array([[0.1, 0.2, 0.0], [0.1, 0.2, 3.0], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], np.float32)
    way = np.array([[0, 0, 1], [0, 0, -1], [0, 0, 1], [0, 0, -1]], np.float32)
    rays = {
        "environment": wp.zeros(4, dtype=wp.int32, device=device),
        "origin": wp.array(origin, dtype=wp.vec3, device=device),
        "direction": wp.array(way, dtype=wp.vec3, device=device),
        "longest": wp.full(4, 10.0, dtype=wp.float32, device=device),
    }
    hits = tc.create_ray_hits(4, device)
    tc.cast_rays(model, tree, body, hits, **rays)
    assert hits.shape.numpy().tolist() == [0, 1, 1, 0]
    np.testing.assert_allclose(hits.distance.numpy(), [0.5, 2.0, 0.3, 0.2], atol=1e-6)
    both = wp.array([1, 1], dtype=wp.int32, device=device)
    tc.cast_rays(model, tree, body, hits, one_sided=both, **rays)
    assert hits.shape.numpy().tolist() == [-1, 1, -1, 0]
    np.testing.assert_allclose(hits.distance.numpy(), [np.inf, 2.0, np.inf, 0.2], atol=1e-6)
    np.testing.assert_allclose(hits.normal.numpy()[[1, 3]], [[0, 0, 1]] * 2, atol=1e-6)
    outer = wp.array([0, 1], dtype=wp.int32, device=device)
    tc.cast_rays(model, tree, body, hits, one_sided=outer, **rays)
    assert hits.shape.numpy().tolist() == [0, 1, -1, 0]
    lists = tc.create_ray_hit_lists(4, 4, device)
    tc.cast_rays(model, tree, body, lists, one_sided=both, **rays)
    assert lists.count.numpy().tolist() == [0, 2, 0, 1]
    triangle = lists.triangle.numpy()
    for place, mesh in ((0, meshes[1]), (1, meshes[0])):
        corners = mesh.vertices[mesh.triangles[triangle[1, place]]]
        assert np.ptp(corners[:, 2]) == 0.0 and corners[0, 2] > 0.0
    assert (triangle[0] == -1).all()
    # Back sides before a front side in one mesh: the far wall of a box turned inside out.
    inverted = tc.cook_mesh(meshes[1].vertices, meshes[1].triangles[:, ::-1])
    model, tree, body = model_of([8], [[0, 0, 0]], [IDENTITY], device, [inverted])
    one = wp.array([1], dtype=wp.int32, device=device)
    tc.cast_rays(model, tree, body, hits, one_sided=one, **rays)
    np.testing.assert_allclose(hits.distance.numpy(), [1.0, 4.0, 0.3, 1.7], atol=1e-5)
    with pytest.raises(tc.ArrayError, match="one_sided"):
        tc.cast_rays(model, tree, body, hits, one_sided=both, **rays)
