"""Points beside shapes of all kinds, and beside surfaces that change their shape."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType
from tensorphys_contact.impulse_sums import add_impulse, take_sums


def _identity(count=1):
    return np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (count, 1))


def _model(kinds, sizes, poses, device, *, body=None, environments=1, environment=None, **geometry):
    count = len(kinds)
    columns = {
        "static_friction": np.full(count, 0.5),
        "dynamic_friction": np.linspace(0.3, 0.6, count),
        "restitution": np.zeros(count),
        "friction_combine": np.zeros(count, int),
        "restitution_combine": np.zeros(count, int),
    }
    bodies = np.full(count, -1) if body is None else np.asarray(body)
    body_count = int(bodies.max()) + 1
    return tc.build_model(
        shape_type=kinds,
        shape_body=bodies,
        shape_pose=poses,
        shape_size=sizes,
        shape_environment=np.zeros(count, int) if environment is None else environment,
        shape_material=np.arange(count),
        materials=tc.Materials(**columns),
        contact_offset=np.full(count, 0.01),
        rest_offset=np.zeros(count),
        pairs=np.zeros((0, 3), np.int32),
        environment_count=environments,
        body_environment=np.zeros(max(body_count, 0), int),
        environment_origin=np.zeros((environments, 3)),
        device=device,
        **geometry,
    )


def _ask(model, points, device, *, margin=10.0, rows=4, pose=None, environment=None, ignored=None, **fields):
    poses = wp.array(
        _identity(max(model.body_count, 1)) if pose is None else pose, dtype=wp.transform, device=device
    )
    tree = tc.create_query_tree(model, poses)
    shapes = tc.create_point_shapes(model, **fields)
    homes = np.zeros(len(points), int) if environment is None else environment
    contacts = tc.create_point_contacts(homes, rows, device)
    if ignored is not None:
        contacts.ignored_body.assign(np.asarray(ignored, np.int32))
    tc.collide_points(
        model,
        tree,
        shapes,
        poses,
        contacts,
        position=wp.array(np.asarray(points, np.float32), dtype=wp.vec3, device=device),
        margin=wp.full(len(points), margin, dtype=wp.float32, device=device),
    )
    return contacts


def _check_rows(contacts, points, expected, tolerance=2e-5):
    assert (contacts.count.numpy() == 1).all()
    distance = contacts.distance.numpy()[:, 0]
    np.testing.assert_allclose(distance, expected, atol=tolerance)
    normal, foot = contacts.normal.numpy()[:, 0], contacts.point.numpy()[:, 0]
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(foot + normal * distance[:, None], points, atol=tolerance)


@pytest.fixture
def points():
    return np.random.default_rng(7).uniform(-1.0, 1.0, (300, 3))


POSE = np.array([[0.1, -0.2, 0.15, 0.1, 0.3, -0.2, 0.927]])
POSE[0, 3:] /= np.linalg.norm(POSE[0, 3:])


def _local(points):
    x, y, z, w = POSE[0, 3:]
    axis = -np.array([x, y, z])
    v = points - POSE[0, :3]
    t = 2.0 * np.cross(axis, v)
    return v + w * t + np.cross(axis, t)


@pytest.mark.parametrize("on_body", [False, True])
def test_sphere_capsule_box(points, on_body, device):
    local = _local(points)
    along = np.clip(local[:, 2], -0.4, 0.4)
    q = np.abs(local) - [0.3, 0.2, 0.25]
    truths = {
        ShapeType.SPHERE: ([0.3, 0.0, 0.0], np.linalg.norm(local, axis=1) - 0.3),
        ShapeType.CAPSULE: (
            [0.2, 0.4, 0.0],
            np.linalg.norm(local - along[:, None] * [0, 0, 1], axis=1) - 0.2,
        ),
        ShapeType.BOX: (
            [0.3, 0.2, 0.25],
            np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0),
        ),
        ShapeType.PLANE: ([0.0, 0.0, 0.0], local[:, 2]),
    }
    for kind, (size, expected) in truths.items():
        if on_body and kind == ShapeType.PLANE:
            continue
        shape_pose = _identity() if on_body else POSE
        model = _model([int(kind)], [size], shape_pose, device, body=[0] if on_body else None)
        contacts = _ask(model, points, device, pose=POSE if on_body else None)
        _check_rows(contacts, points, expected)


@pytest.mark.parametrize("kind", ["hull", "mesh"])
def test_hull_and_mesh_of_a_box(points, kind, device):
    half = np.array([0.4, 0.3, 0.2])
    corners = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    q = np.abs(points) - half
    distance = np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)
    if kind == "hull":
        geometry = {"hulls": [tc.cook_hull(corners)], "shape_hull": [0]}
        code = ShapeType.CONVEX_HULL
    else:
        faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        triangles = [t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))]
        geometry = {"meshes": [tc.cook_mesh(corners, triangles)], "shape_mesh": [0]}
        code = ShapeType.TRIANGLE_MESH
    model = _model([int(code)], [[1.0, 1.0, 1.0]], _identity(), device, **geometry)
    near = np.abs(distance) > 1e-3
    contacts = _ask(model, points[near], device)
    _check_rows(contacts, points[near], distance[near], 1e-4)


def test_rows_are_sorted_bounded_and_repeat(device):
    kinds = [int(ShapeType.PLANE)] + [int(ShapeType.SPHERE)] * 5
    sizes = [[0.0, 0.0, 0.0]] + [[0.1, 0.0, 0.0]] * 5
    poses = _identity(6)
    poses[1:, 0] = [0.3, 0.2, -0.2, 0.5, 0.25]
    poses[1:, 2] = 0.1
    model = _model(kinds, sizes, poses, device)
    points = np.array([[0.0, 0.0, 0.05], [0.0, 0.0, np.nan], [9.0, 0.0, 0.2]])
    contacts = _ask(model, points, device, margin=0.3, rows=3)
    assert contacts.count.numpy().tolist() == [3, 0, 1]
    assert contacts.needed.numpy()[0] == 5
    distance = contacts.distance.numpy()[0]
    assert (np.diff(distance) >= 0.0).all()
    # equals by shape: the spheres at ±0.2 are as near as each other
    assert contacts.shape.numpy()[0].tolist() == [0, 2, 3]
    again = _ask(model, points, device, margin=0.3, rows=3)
    np.testing.assert_array_equal(again.distance.numpy()[0], distance)
    never = _ask(model, points, device, margin=-np.inf, rows=3)
    assert not never.count.numpy().any()


def test_environments_ignored_bodies_and_shapes_out_of_the_simulation(device):
    kinds, sizes = [int(ShapeType.SPHERE)] * 3, [[0.1, 0.0, 0.0]] * 3
    model = _model(
        kinds,
        sizes,
        _identity(3),
        device,
        body=[-1, 0, -1],
        environments=2,
        environment=[0, 0, 1],
    )
    points = np.full((3, 3), 0.1)
    contacts = _ask(model, points, device, environment=[0, 0, 1], ignored=[-1, 0, -1])
    assert contacts.count.numpy().tolist() == [2, 1, 1]
    assert contacts.shape.numpy()[1, 0] == 0 and contacts.shape.numpy()[2, 0] == 2
    offsets = model.contact_offset.numpy()
    offsets[0] = -1e30
    model.contact_offset.assign(offsets)
    assert _ask(model, points, device, environment=[0, 0, 1]).count.numpy().tolist() == [1, 1, 1]


def test_a_field_that_was_not_given_is_named(device):
    model = _model([int(ShapeType.SPHERE)], [[0.1, 0.0, 0.0]], _identity(), device)
    model.shape_type.assign(np.array([int(ShapeType.SDF)], np.int32))
    with pytest.raises(tc.ShapeError, match="shape 0 is a signed distance field"):
        tc.create_point_shapes(model)
    with pytest.raises(tc.ArrayError, match="rows"):
        tc.create_point_contacts([0], 0, device)


@wp.kernel
def _add_all(body: wp.array[wp.int32], value: wp.array[wp.vec3], sums: wp.array2d[wp.int64]):
    i = wp.tid()
    add_impulse(sums, body[i], value[i], wp.vec3(0.0, 0.0, value[i][0]))


def test_sums_do_not_depend_on_order(device):
    rng = np.random.default_rng(3)
    value = rng.normal(size=(1000, 3)).astype(np.float32) * np.float32(1e-3)
    body = rng.integers(0, 4, 1000).astype(np.int32)
    results = []
    for order in (np.arange(1000), rng.permutation(1000)):
        sums = wp.zeros((4, 6), dtype=wp.int64, device=device)
        out = wp.zeros(4, dtype=wp.spatial_vector, device=device)
        inputs = [wp.array(body[order], device=device), wp.array(value[order], dtype=wp.vec3, device=device)]
        wp.launch(_add_all, dim=1000, inputs=inputs, outputs=[sums], device=device)
        wp.launch(take_sums, dim=4, inputs=[], outputs=[sums, out], device=device)
        results.append(out.numpy())
        assert not sums.numpy().any()
    np.testing.assert_array_equal(*results)
    expected = np.stack([value[body == b].astype(float).sum(axis=0) for b in range(4)])
    np.testing.assert_allclose(results[0][:, :3], expected, atol=1e-7)


def test_obstacles_state_what_the_protocol_of_particles_asks(device):
    kinds, sizes = [int(ShapeType.PLANE), int(ShapeType.SPHERE)], [[0.0] * 3, [0.2, 0.0, 0.0]]
    model = _model(kinds, sizes, _identity(2), device, body=[-1, 0])
    pose = _identity()
    pose[0, 2] = 0.3
    poses = wp.array(pose, dtype=wp.transform, device=device)
    response = np.zeros((1, 6, 6))
    response[0] = np.diag([0.5, 0.5, 0.5, 2.0, 2.0, 2.0])
    obstacles = tc.PointObstacles(
        model,
        tc.create_query_tree(model, poses),
        tc.create_point_shapes(model),
        np.zeros(3, int),
        body_pose=poses,
        body_com=wp.array(pose[:, :3], dtype=wp.vec3, device=device),
        body_velocity=wp.array([[1.0, 0.0, 0.0, 0.0, 0.0, 3.0]], dtype=wp.spatial_vector, device=device),
        body_response=wp.array(response, dtype=wp.spatial_matrix, device=device),
    )
    points = np.array([[0.21, 0.0, 0.3], [0.0, 0.0, 0.52], [5.0, 0.0, 0.01]])
    obstacles.collide(
        wp.array(points, dtype=wp.vec3, device=device),
        wp.full(3, 0.05, dtype=wp.float32, device=device),
        wp.full(1, 1e-3, dtype=wp.float32, device=device),
    )
    assert obstacles.count.numpy().tolist() == [1, 1, 1]
    np.testing.assert_allclose(obstacles.velocity.numpy()[0, 0], [1.0, 0.6, 0.0], atol=1e-6)
    # two points share the mass of the sphere; the ground does not yield
    np.testing.assert_allclose(obstacles.response.numpy()[:, 0], [1.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(obstacles.friction.numpy()[:, 0], [0.6, 0.6, 0.3], atol=1e-6)
    push = np.zeros(obstacles.impulse.shape + (3,), np.float32)
    push[0, 0] = (-0.1, 0.0, 0.02)
    push[2, 0] = (0.0, 0.0, -9.0)
    obstacles.impulse.assign(push)
    obstacles.advance(wp.full(1, 1e-3, dtype=wp.float32, device=device))
    arm = np.array([0.2, 0.0, 0.0])
    expected = np.concatenate((push[0, 0], np.cross(arm, push[0, 0])))
    np.testing.assert_allclose(obstacles.body_impulse.numpy()[0], expected, atol=1e-7)


def _surfaces(device, *, meets_itself=False, apart=0.05):
    """A tetrahedron and a sheet of two triangles above it."""
    points = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, 1.5], [2, -1, 1.5], [2, 2, 1.5], [-1, 2, 1.5]],
        float,
    )
    triangles = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3], [4, 5, 6], [4, 6, 7]]
    surfaces = tc.SurfaceSet(
        triangles,
        [0, 0, 0, 0, 1, 1],
        point_owner=[0] * 4 + [1] * 4,
        point_environment=np.zeros(8, int),
        rest=points,
        solid=[True, False],
        meets_itself=[meets_itself, meets_itself],
        apart=[apart, apart],
        device=device,
    )
    return surfaces, points


def _collide(surfaces, points, margin, device):
    surfaces.collide(
        wp.array(points.astype(np.float32), dtype=wp.vec3, device=device),
        wp.full(len(points), margin, dtype=wp.float32, device=device),
    )
    return surfaces.triangle.numpy()


def test_points_find_triangles_of_other_surfaces(device):
    surfaces, points = _surfaces(device)
    triangle = _collide(surfaces, points, 0.6, device)
    assert triangle[3] in (4, 5) and (triangle[:3] == -1).all()
    assert surfaces.distance.numpy()[3] == pytest.approx(0.5, abs=1e-6)
    np.testing.assert_allclose(surfaces.normal.numpy()[3], [0.0, 0.0, -1.0], atol=1e-6)
    corners = points[surfaces.corner.numpy()[triangle[3]]]
    np.testing.assert_allclose(surfaces.weight.numpy()[3] @ corners, [0.0, 0.0, 1.5], atol=1e-5)


def test_points_inside_of_solids_are_at_negative_distance(device):
    surfaces, points = _surfaces(device)
    moved = points.copy()
    moved[4] = (0.2, 0.2, 0.05)
    triangle = _collide(surfaces, moved, 0.3, device)
    assert triangle[4] == 0
    assert surfaces.distance.numpy()[4] == pytest.approx(-0.05, abs=1e-6)
    np.testing.assert_allclose(surfaces.normal.numpy()[4], [0.0, 0.0, -1.0], atol=1e-6)
    # beside an edge the triangle that faces the point decides, whatever the order
    moved[4] = (-0.05, -0.001, 0.5)
    _collide(surfaces, moved, 0.3, device)
    assert surfaces.distance.numpy()[4] > 0.0


def test_a_surface_meets_itself_where_it_was_far_at_rest(device):
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [3, 0, 0], [4, 0, 0], [3, 1, 0]], float)
    for meets, wanted in ((True, 0), (False, -1)):
        surfaces = tc.SurfaceSet(
            [[0, 1, 2], [3, 4, 5]],
            [0, 0],
            point_owner=[0] * 6,
            point_environment=np.zeros(6, int),
            rest=points,
            solid=[False],
            meets_itself=[meets],
            apart=[1.0],
            device=device,
        )
        moved = points.copy()
        moved[3] = (0.2, 0.2, 0.1)
        assert _collide(surfaces, moved, 0.2, device)[3] == wanted
    with pytest.raises(tc.ArrayError, match="triangles"):
        tc.SurfaceSet(
            [[0, 1, 9]],
            [0],
            point_owner=[0] * 6,
            point_environment=np.zeros(6, int),
            rest=points,
            solid=[False],
            meets_itself=[False],
            apart=[1.0],
            device=device,
        )
