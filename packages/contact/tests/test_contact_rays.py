"""Ray casts: implicit functions in float64, trimesh, and all shapes one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType
from tensorphys_contact._reference import rotation_matrix

IDENTITY = [0, 0, 0, 0, 0, 0, 1]
CORNERS = np.array(list(itertools.product((-0.3, 0.2), repeat=3)))
HULL = tc.cook_hull(np.concatenate([CORNERS, [[0.0, 0.0, 0.5]]]))


def make_model(
    kind: list,
    size: list,
    device: str,
    *,
    environment: list | None = None,
    pose: list | None = None,
    meshes: list | None = None,
) -> tc.Model:
    count = len(kind)
    home = [0] * count if environment is None else environment
    body = np.where(np.array(home) >= 0, np.cumsum(np.array(home) >= 0) - 1, -1)
    return tc.build_model(
        shape_type=kind,
        shape_body=body,
        shape_pose=[IDENTITY] * count if pose is None else pose,
        shape_size=size,
        shape_environment=home,
        pairs=np.zeros((0, 2), int),
        environment_count=int(max(home)) + 1,
        shape_material=[0] * count,
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.01] * count,
        rest_offset=[0.0] * count,
        shape_hull=[0 if k == 4 else -1 for k in kind],
        hulls=[HULL],
        shape_mesh=[0 if k in (8, 9) else -1 for k in kind],
        meshes=meshes or [],
        device=device,
    )


def cast(
    model: tc.Model, poses: np.ndarray, rays: tuple, device: str, most: int = 0, **options: bool
) -> dict:
    """Hits of rays (environment, origin, direction, longest)."""
    body = wp.array(np.asarray(poses, np.float32).reshape(-1, 7), dtype=wp.transform, device=device)
    tree = tc.create_query_tree(model, body)
    count = len(rays[1])
    hits = tc.create_ray_hit_lists(count, most, device) if most else tc.create_ray_hits(count, device)
    tc.cast_rays(
        model,
        tree,
        body,
        hits,
        environment=wp.array(np.broadcast_to(rays[0], count).astype(np.int32), dtype=wp.int32, device=device),
        origin=wp.array(np.asarray(rays[1], np.float32), dtype=wp.vec3, device=device),
        direction=wp.array(np.asarray(rays[2], np.float32), dtype=wp.vec3, device=device),
        longest=wp.array(np.broadcast_to(rays[3], count).astype(np.float32), dtype=wp.float32, device=device),
        **options,
    )
    names = ("count", "shape", "distance", "normal", "triangle")
    return {name: getattr(hits, name).numpy() for name in names if hasattr(hits, name)}


def outside(kind: int, size: np.ndarray, p: np.ndarray) -> np.ndarray:
    """A function that is negative inside of a shape, float64; ``p`` [..., 3] in its frame."""
    across = np.linalg.norm(p[..., :2], axis=-1)
    z = p[..., 2]
    if kind == ShapeType.SPHERE:
        return np.linalg.norm(p, axis=-1) - size[0]
    if kind == ShapeType.CAPSULE:
        return np.hypot(across, np.maximum(np.abs(z) - size[1], 0.0)) - size[0]
    if kind == ShapeType.BOX:
        return (np.abs(p) - size).max(axis=-1)
    if kind == ShapeType.CONVEX_HULL:
        return (p @ HULL.face_plane[:, :3].T - HULL.face_plane[:, 3]).max(axis=-1)
    if kind == ShapeType.CYLINDER:
        return np.maximum(across - size[0], np.abs(z) - size[1])
    if kind == ShapeType.CONE:
        return np.maximum(across - size[0] * (size[1] - z) / (2 * size[1]), -z - size[1])
    return np.linalg.norm(p / size, axis=-1) - 1.0


@pytest.mark.parametrize("kind", range(1, 8))
def test_first_hit_is_where_the_shape_begins(kind: int, device: str) -> None:
    rng = np.random.default_rng(kind)
    size = np.array([0.3, 0.2, 0.4])
    q = rng.normal(size=4)
    pose = np.array([1.0, 2.0, -3.0, *(q / np.linalg.norm(q))])
    origin = pose[:3] + rng.normal(size=(600, 3)) * 0.6
    direction = pose[:3] + rng.uniform(-0.4, 0.4, (600, 3)) - origin
    direction[:100] = np.eye(3)[rng.integers(0, 3, 100)] @ rotation_matrix(pose[3:]).T
    model = make_model([kind], [size.tolist()], device)
    found = cast(model, pose, (0, origin, direction, 5.0), device)
    unit = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    turn = rotation_matrix(pose[3:])

    def value(t: np.ndarray) -> np.ndarray:
        points = origin[:, None] + unit[:, None] * t[..., None]
        return outside(kind, size, (points - pose[:3]) @ turn)

    steps = np.linspace(0.0, 5.0, 2001)
    samples = value(np.broadcast_to(steps, (600, 2001)))
    first = np.where((samples < -1e-5).any(axis=1), steps[np.argmax(samples < -1e-5, axis=1)], np.inf)
    grazing = np.abs(samples.min(axis=1)) < 2e-3
    hit = found["shape"] == 0
    assert np.array_equal(hit[~grazing], np.isfinite(first)[~grazing])
    assert hit.sum() > 150
    t = found["distance"].astype(float)
    assert np.isinf(t[~hit]).all()
    assert (t[hit] <= first[hit] + 1e-5).all()
    started_inside = value(np.zeros((600, 1)))[:, 0] < -1e-5
    assert (t[started_inside] == 0.0).all()
    on_surface = hit & ~started_inside & ~grazing
    at = value(np.where(hit, t, 0.0)[:, None])[on_surface, 0]
    assert np.abs(at).max() < 2e-5
    # The normal is that of the surface: the function rises along it, and the ray goes against it.
    normal = found["normal"].astype(float)
    assert np.abs(np.linalg.norm(normal[hit], axis=1) - 1.0).max() < 1e-5
    assert ((normal * unit).sum(axis=1)[on_surface] < 1e-4).all()
    h = 1e-5
    rise = np.stack(
        [
            outside(kind, size, (origin + unit * np.where(hit, t, 0.0)[:, None] + h * e - pose[:3]) @ turn)
            - outside(kind, size, (origin + unit * np.where(hit, t, 0.0)[:, None] - h * e - pose[:3]) @ turn)
            for e in np.eye(3)
        ],
        axis=1,
    )
    rise /= np.linalg.norm(rise, axis=1, keepdims=True)
    agree = (rise * normal).sum(axis=1)[on_surface]
    assert np.quantile(agree, 0.05) > 0.999  # edges have no normal


def test_rays_on_a_mesh_against_trimesh(device: str) -> None:
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=2)
    mesh = tc.cook_mesh(ball.vertices * [1.0, 0.7, 0.4], ball.faces)
    rng = np.random.default_rng(0)
    origin = rng.normal(size=(400, 3)) * 2.0
    direction = rng.uniform(-0.8, 0.8, (400, 3)) - origin
    found = cast(
        make_model([8], [[0, 0, 0]], device, meshes=[mesh]),
        np.array(IDENTITY),
        (0, origin, direction, 10.0),
        device,
    )
    peer = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
    unit = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    _triangle, ray, at = peer.ray.intersects_id(origin, unit, multiple_hits=True, return_locations=True)
    t = np.full(400, np.inf)
    np.minimum.at(t, ray, ((at - origin[ray]) * unit[ray]).sum(axis=1))
    assert np.isfinite(t).sum() > 150
    assert (np.isfinite(t) != (found["shape"] == 0)).sum() <= 1  # an edge may be missed by one of them
    both = np.isfinite(t) & (found["shape"] == 0)
    np.testing.assert_allclose(found["distance"][both], t[both], atol=1e-5)
    normal = peer.face_normals[found["triangle"][both]]
    np.testing.assert_allclose(found["normal"][both], normal, atol=1e-4)


def scatter(device: str) -> tuple[tc.Model, np.ndarray, np.random.Generator]:
    """Shapes of three environments over one plane and one box that all share."""
    rng = np.random.default_rng(8)
    kind = rng.integers(1, 8, 60)
    q = rng.normal(size=(60, 4))
    pose = np.concatenate([rng.uniform(-2, 2, (60, 3)), q / np.linalg.norm(q, axis=1)[:, None]], axis=1)
    model = make_model(
        [*kind, 3, 0],
        [*rng.uniform(0.1, 0.4, (60, 3)).tolist(), [0.5, 0.5, 0.5], [0, 0, 0]],
        device,
        environment=[*np.repeat(range(3), 20), -1, -1],
        pose=[IDENTITY] * 60 + [[1.0, 1.0, 1.0, 0, 0, 0, 1], [0, 0, -2.5, 0, 0, 0, 1]],
    )
    return model, pose, rng


def test_closest_any_and_all_agree(device: str) -> None:
    model, pose, rng = scatter(device)
    rays = (
        rng.integers(0, 3, 500),
        rng.uniform(-2.4, 2.4, (500, 3)),
        rng.normal(size=(500, 3)),
        6.0,
    )
    one = cast(model, pose, rays, device)
    some = cast(model, pose, rays, device, any_hit=True)
    every = cast(model, pose, rays, device, most=30)
    assert (one["shape"] >= 0).sum() > 100
    assert np.array_equal(one["shape"] >= 0, some["shape"] >= 0)
    assert np.array_equal(one["shape"], every["shape"][:, 0])
    assert np.array_equal(one["distance"], every["distance"][:, 0])
    assert np.array_equal(every["count"], (every["shape"] >= 0).sum(axis=1))
    used = every["shape"] >= 0
    home = model.shape_environment.numpy()[every["shape"]]
    assert ((home == rays[0][:, None]) | (home == -1))[used].all()
    ordered = np.where(np.isfinite(every["distance"]), every["distance"], 1e9)
    assert (np.diff(ordered, axis=1) >= 0.0).all()
    assert every["count"].max() >= 3
    few = cast(model, pose, rays, device, most=2)
    assert np.array_equal(few["count"], every["count"])
    assert np.array_equal(few["shape"], every["shape"][:, :2])


def test_a_tree_follows_its_bodies(device: str) -> None:
    model, pose, rng = scatter(device)
    moved = pose.copy()
    moved[:, :3] += rng.uniform(-1, 1, (60, 3))
    rays = (rng.integers(0, 3, 300), rng.uniform(-3, 3, (300, 3)), rng.normal(size=(300, 3)), 8.0)
    fresh = cast(model, moved, rays, device)
    for rebuild in (False, True):
        body = wp.array(pose.astype(np.float32), dtype=wp.transform, device=device)
        tree = tc.create_query_tree(model, body)
        body.assign(moved.astype(np.float32))
        tc.update_query_tree(tree, model, body, rebuild=rebuild)
        hits = tc.create_ray_hits(300, device)
        tc.cast_rays(
            model,
            tree,
            body,
            hits,
            environment=wp.array(rays[0].astype(np.int32), dtype=wp.int32, device=device),
            origin=wp.array(rays[1].astype(np.float32), dtype=wp.vec3, device=device),
            direction=wp.array(rays[2].astype(np.float32), dtype=wp.vec3, device=device),
            longest=wp.full(300, 8.0, dtype=wp.float32, device=device),
        )
        assert np.array_equal(hits.shape.numpy(), fresh["shape"])
        assert np.array_equal(hits.distance.numpy(), fresh["distance"])


def test_wrong_rays_are_named(device: str) -> None:
    model, pose, _rng = scatter(device)
    body = wp.array(pose.astype(np.float32), dtype=wp.transform, device=device)
    tree = tc.create_query_tree(model, body)
    with pytest.raises(tc.ArrayError, match="environment: expected"):
        tc.cast_rays(
            model,
            tree,
            body,
            tc.create_ray_hits(3, device),
            environment=wp.zeros(2, dtype=wp.int32, device=device),
            origin=wp.zeros(3, dtype=wp.vec3, device=device),
            direction=wp.zeros(3, dtype=wp.vec3, device=device),
            longest=wp.zeros(3, dtype=wp.float32, device=device),
        )
    with pytest.raises(tc.ArrayError, match="room for at least one"):
        tc.create_ray_hit_lists(3, 0, device)


def test_rays_on_a_height_field_against_trimesh(device: str) -> None:
    """From above and below, along the cells' edges too."""
    trimesh = pytest.importorskip("trimesh")
    rng = np.random.default_rng(4)
    field = tc.cook_height_field(rng.uniform(0.0, 0.5, (9, 7)), (0.25, 0.5))
    extent = field.vertices.max(axis=0)
    origin = np.column_stack([rng.uniform(0.01, extent[:2] - 0.01, (300, 2)), rng.choice([2.0, -2.0], 300)])
    aim = np.column_stack([rng.uniform(0.01, extent[:2] - 0.01, (300, 2)), np.full(300, 0.25)])
    aim[:100] = origin[:100] * [1, 1, 0]
    found = cast(
        make_model([9], [[0, 0, 0]], device, meshes=[field]),
        np.array(IDENTITY),
        (0, origin, aim - origin, 10.0),
        device,
    )
    peer = trimesh.Trimesh(field.vertices, field.triangles, process=False)
    unit = (aim - origin) / np.linalg.norm(aim - origin, axis=1, keepdims=True)
    _triangle, ray, at = peer.ray.intersects_id(origin, unit, multiple_hits=True, return_locations=True)
    t = np.full(300, np.inf)
    np.minimum.at(t, ray, ((at - origin[ray]) * unit[ray]).sum(axis=1))
    assert np.isfinite(t).sum() > 280
    both = np.isfinite(t) & (found["shape"] == 0)
    assert (np.isfinite(t) != (found["shape"] == 0)).sum() <= 1  # an edge may be missed by one of them
    np.testing.assert_allclose(found["distance"][both], t[both], atol=2e-6)


@pytest.mark.parametrize("kind", range(1, 8))
def test_rays_of_no_length_hit_only_what_they_start_in(kind: int, device: str) -> None:
    model = make_model([kind], [[0.3, 0.2, 0.4]], device)
    origin = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    found = cast(model, np.array(IDENTITY), (0, origin, [[1.0, 0, 0], [-1.0, 0, 0]], 0.0), device)
    assert found["shape"].tolist() == [0, -1]
    assert found["distance"][0] == 0.0
    assert np.isinf(found["distance"][1])


@pytest.mark.peers
def test_embree_hits_the_same_triangles(device: str) -> None:
    """A wavy surface of 20,000 triangles: hit or not, distance, and triangle but at edges, for 20,000 rays."""
    embree = pytest.importorskip("embreex.rtcore_scene")
    from embreex.mesh_construction import TriangleMesh

    x = np.arange(101)
    field = tc.cook_height_field(np.sin(x[:, None] * 0.2) * np.cos(x[None] * 0.17), (1.0, 1.0))
    model = make_model([9], [[0, 0, 0]], device, meshes=[field])
    rng = np.random.default_rng(0)
    count = 20_000
    origin = np.column_stack([rng.uniform(-5.0, 105.0, (count, 2)), np.full(count, 5.0)])
    direction = np.column_stack([rng.normal(size=(count, 2)), -np.ones(count)])
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    rays = (np.zeros(count, int), origin, direction, np.full(count, 200.0))
    found = cast(model, np.array([IDENTITY]), rays, device)
    scene = embree.EmbreeScene(robust=True)
    TriangleMesh(scene, field.vertices.astype(np.float32)[field.triangles])
    peer = scene.run(origin.astype(np.float32), direction.astype(np.float32), output=True)
    hit = found["shape"] >= 0
    assert 0.5 < hit.mean() < 0.95
    # Both are robust at inner edges; at the border of the surface rounding decides.
    border = (hit != (peer["primID"] >= 0)).sum()
    assert border <= 2
    both = hit & (peer["primID"] >= 0)
    np.testing.assert_allclose(found["distance"][both], peer["tfar"][both], atol=2e-5, rtol=2e-6)
    assert (found["triangle"][both] == peer["primID"][both]).mean() > 0.999
