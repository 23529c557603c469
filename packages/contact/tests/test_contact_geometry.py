"""Closed forms of each pair of shapes."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

import tensorphys_contact as tc
from tensorphys_contact import ShapeType
from tensorphys_contact.testing import PipelineResult, PipelineScene, run_pipeline

EYE = (0.0, 0.0, 0.0, 1.0)
UNIT_BOX = (ShapeType.BOX, (1.0, 1.0, 1.0))


def turn(axis: int, angle: float) -> tuple[float, float, float, float]:
    q = [0.0, 0.0, 0.0, float(np.cos(angle / 2))]
    q[axis] = float(np.sin(angle / 2))
    return q[0], q[1], q[2], q[3]


def touch(
    first: tuple[int, tuple[float, ...]],
    pose0: tuple[float, ...],
    second: tuple[int, tuple[float, ...]],
    pose1: tuple[float, ...],
    device: str,
    offset: float = 0.01,
) -> tuple[PipelineResult, np.ndarray, np.ndarray]:
    """Contacts of two bodies, and the anchors in the environment frame."""
    scene = PipelineScene(
        shape_type=[first[0], second[0]],
        shape_size=[first[1], second[1]],
        pose=[pose0, pose1],
        static=[False, False],
        environment=[0, 0],
        contact_offset=offset,
    )
    found = run_pipeline(scene, device)
    return found, *found.world_points(scene)


@pytest.mark.parametrize(
    ("first", "place0", "second", "place1", "depth", "axis"),
    [
        (UNIT_BOX, (0, 0, 0), UNIT_BOX, (1.9999, 0, 0), 1e-4, (1, 0, 0)),
        (UNIT_BOX, (1.9999, 0, 0), UNIT_BOX, (0, 0, 0), 1e-4, (-1, 0, 0)),
        (UNIT_BOX, (0, 0, 0), (ShapeType.SPHERE, (1, 0, 0)), (1.9, 0, 0), 0.1, (1, 0, 0)),
        ((ShapeType.SPHERE, (1, 0, 0)), (1.9, 0, 0), UNIT_BOX, (0, 0, 0), 0.1, (-1, 0, 0)),
        (UNIT_BOX, (0, 0, 0), UNIT_BOX, (2.01, 0, 0), -0.01, (1, 0, 0)),
        ((ShapeType.SPHERE, (0.5, 0, 0)), (0, 0, 0), (ShapeType.SPHERE, (0.5, 0, 0)), (0, 0, 0.98), 0.02, (0, 0, 1)),
        (UNIT_BOX, (0, 0, 0), (ShapeType.CAPSULE, (0.25, 0.5, 0)), (1.2, 0, 0), 0.05, (1, 0, 0)),
        ((ShapeType.CAPSULE, (0.25, 0.5, 0)), (0, 1.2, 0), UNIT_BOX, (0, 0, 0), 0.05, (0, -1, 0)),
        ((ShapeType.CAPSULE, (0.25, 0.5, 0)), (0, 0, 0), (ShapeType.SPHERE, (0.25, 0, 0)), (0, 0, 0.99), 0.01, (0, 0, 1)),
    ],
)  # fmt: skip
def test_one_normal_direction_for_all_pairs(
    first: tuple, place0: tuple, second: tuple, place1: tuple, depth: float, axis: tuple, device: str
) -> None:
    """Depth, sign and direction agree for all pairs, and swapping the shapes flips them."""
    found, p0, p1 = touch(first, (*place0, *EYE), second, (*place1, *EYE), device)
    np.testing.assert_allclose(found.separation, -depth, atol=1e-6)
    np.testing.assert_allclose(found.normal, np.tile(-np.array(axis), (len(found.normal), 1)), atol=1e-6)
    np.testing.assert_allclose(p0 - p1, found.normal * found.separation[:, None], atol=1e-6)


def test_faces_of_two_cubes_touch_in_four_corners(device: str) -> None:
    _, p0, p1 = touch(UNIT_BOX, (0, 0, 0, *EYE), UNIT_BOX, (1.9999, 0, 0, *EYE), device)
    corners = {(y, z) for y in (-1.0, 1.0) for z in (-1.0, 1.0)}
    assert {(float(p[1].round(6)), float(p[2].round(6))) for p in p0} == corners
    assert (p0[:, 0] >= 0.9999 - 1e-6).all()
    assert (p1[:, 0] <= 1.0 + 1e-6).all()


@pytest.mark.parametrize("order", [0, 1])
def test_a_turned_cube_on_a_cube_keeps_a_square_of_the_octagon(order: int, device: str) -> None:
    below, above = (0.0, 0.0, 0.0, *EYE), (0.0, 0.0, 1.99, *turn(2, np.pi / 4))
    poses = (below, above) if order == 0 else (above, below)
    found, p0, _ = touch(UNIT_BOX, poses[0], UNIT_BOX, poses[1], device)
    assert len(found.separation) == 4
    np.testing.assert_allclose(found.separation, -0.01, atol=1e-6)
    radius = np.linalg.norm(p0[:, :2], axis=1)
    np.testing.assert_allclose(radius, np.hypot(1.0, np.sqrt(2.0) - 1.0), atol=1e-5)
    np.testing.assert_allclose(p0[:, :2].sum(axis=0), 0.0, atol=1e-5)


def test_crossed_edges_of_boxes_give_one_contact(device: str) -> None:
    """Two long beams, each balanced on an edge, cross at right angles."""
    beam = (ShapeType.BOX, (1.0, 0.1, 0.1))
    half = np.sqrt(2.0) * 0.1
    q = np.array(turn(0, np.pi / 4))
    z = np.array(turn(2, np.pi / 2))
    # z ⊗ q, written out: both turn the beam.
    crossed = (*(z[3] * q[:3] + q[3] * z[:3] + np.cross(z[:3], q[:3])), z[3] * q[3] - z[:3] @ q[:3])
    found, p0, _ = touch(beam, (0, 0, 0, *q), beam, (0.2, 0.3, 2 * half - 0.003, *crossed), device)
    assert len(found.separation) == 1
    np.testing.assert_allclose(found.separation, [-0.003], atol=1e-6)
    np.testing.assert_allclose(found.normal, [[0, 0, -1]], atol=1e-6)
    np.testing.assert_allclose(p0, [[0.2, 0.0, half]], atol=1e-6)


def test_boxes_apart_at_two_corners(device: str) -> None:
    """Neither box reaches over a face of the other: the nearest features are corners."""
    gap = np.array([0.004, 0.003, 0.012])
    found, p0, p1 = touch(UNIT_BOX, (0, 0, 0, *EYE), UNIT_BOX, (*(2 + gap), *EYE), device)
    np.testing.assert_allclose(found.separation, [0.013], atol=2e-6)
    np.testing.assert_allclose(found.normal, [-gap / 0.013], atol=2e-4)
    np.testing.assert_allclose(p0, [[1, 1, 1]], atol=1e-6)
    np.testing.assert_allclose(p1, [1 + gap], atol=1e-6)


@pytest.mark.parametrize("s", [1.0, 10.0, 25.0, 50.0, 100.0])
@pytest.mark.parametrize("place", [(0.0, 0.0), (0.7, -0.6)])
def test_small_box_on_a_large_box(s: float, place: tuple[float, float], device: str) -> None:
    """The result is as exact as the float32 spacing of the larger extent allows."""
    x, y = place[0] * s, place[1] * s
    large, small = (ShapeType.BOX, (s, s, 0.25)), (ShapeType.BOX, (0.1, 0.1, 0.1))
    found, p0, p1 = touch(large, (0, 0, 0.25, *EYE), small, (x, y, 0.599, *turn(2, 0.3)), device)
    tolerance = 1e-6 * 0.1 + 4 * float(np.spacing(np.float32(s)))
    assert len(found.separation) == 4
    np.testing.assert_allclose(found.separation, -0.001, atol=1e-7 + 4 * np.spacing(np.float32(0.6)))
    np.testing.assert_allclose(found.normal, np.tile([0, 0, -1.0], (4, 1)), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(p1[:, :2] - [x, y], axis=1), np.sqrt(0.02), atol=tolerance)
    np.testing.assert_allclose(p0[:, 2], 0.5, atol=1e-6)


@pytest.mark.parametrize("shift", [0.0, 100.0, 4096.0])
def test_accuracy_does_not_depend_on_the_distance_from_the_origin(shift: float, device: str) -> None:
    box = (ShapeType.BOX, (0.125, 0.125, 0.125))
    q = turn(1, 0.4)
    base, _, _ = touch(box, (0, 0, 0, *q), box, (0, 0, 0.25, *q), device)
    far, _, _ = touch(box, (shift, shift, 0, *q), box, (shift, shift, 0.25, *q), device)
    for name in ("separation", "normal", "anchor0", "anchor1", "key"):
        assert np.array_equal(getattr(base, name), getattr(far, name))


@pytest.mark.parametrize(("angle", "count"), [(0.0, 2), (1e-5, 2), (-1e-5, 2), (0.2, 1)])
def test_capsule_on_a_box_face(angle: float, count: int, device: str) -> None:
    capsule = (ShapeType.CAPSULE, (0.1, 0.5, 0.0))
    lying = turn(1, np.pi / 2 + angle)
    found, p0, _ = touch(
        UNIT_BOX, (0, 0, 0, *EYE), capsule, (0, 0, 1.099 + 0.5 * abs(np.sin(angle)), *lying), device, 0.005
    )
    assert len(found.separation) == count
    assert abs(found.separation.min() + 0.001) < 2e-6
    np.testing.assert_allclose(np.abs(p0[:, 0]), 0.5 * np.cos(angle), atol=2e-4)
    # The lower end carries the same feature whether or not the other end touches.
    assert found.key.tolist() == ([0, 1] if count == 2 else [1])


def test_capsule_hanging_over_a_face(device: str) -> None:
    """Only the part over the face is supported, from the edge to the inner end."""
    capsule = (ShapeType.CAPSULE, (0.1, 0.5, 0.0))
    found, p0, _ = touch(UNIT_BOX, (0, 0, 0, *EYE), capsule, (0.8, 0, 1.1, *turn(1, np.pi / 2)), device)
    np.testing.assert_allclose(np.sort(p0[:, 0]), [0.3, 1.0], atol=1e-6)
    np.testing.assert_allclose(found.separation, 0.0, atol=1e-6)


def test_capsule_along_a_box_edge(device: str) -> None:
    capsule = (ShapeType.CAPSULE, (0.1, 0.5, 0.0))
    place = 1.0 + 0.099 * np.sqrt(0.5)
    found, p0, _ = touch(UNIT_BOX, (0, 0, 0, *EYE), capsule, (place, place, 0, *EYE), device)
    np.testing.assert_allclose(found.separation, -0.001, atol=1e-6)
    np.testing.assert_allclose(found.normal, np.tile([-np.sqrt(0.5), -np.sqrt(0.5), 0], (2, 1)), atol=1e-5)
    np.testing.assert_allclose(np.sort(p0[:, 2]), [-0.5, 0.5], atol=1e-6)


def test_capsule_through_a_box_is_pushed_out_of_the_nearest_face(device: str) -> None:
    capsule = (ShapeType.CAPSULE, (0.1, 0.5, 0.0))
    found, _, p1 = touch(UNIT_BOX, (0, 0, 0, *EYE), capsule, (0.9, 0, 0.6, *EYE), device)
    np.testing.assert_allclose(found.separation, -0.2, atol=1e-6)
    np.testing.assert_allclose(found.normal, np.tile([-1.0, 0, 0], (2, 1)), atol=1e-6)
    np.testing.assert_allclose(np.sort(p1[:, 2]), [0.1, 1.0], atol=1e-6)


def test_sphere_inside_a_box_leaves_through_the_nearest_face(device: str) -> None:
    found, p0, p1 = touch(
        UNIT_BOX, (0, 0, 0, *EYE), (ShapeType.SPHERE, (0.25, 0, 0)), (0, -0.75, 0.5, *EYE), device
    )
    np.testing.assert_allclose(found.separation, [-0.5], atol=1e-6)
    np.testing.assert_allclose(found.normal, [[0, 1, 0]], atol=1e-6)
    np.testing.assert_allclose(p0, [[0, -1, 0.5]], atol=1e-6)
    np.testing.assert_allclose(p1, [[0, -0.5, 0.5]], atol=1e-6)


@pytest.mark.parametrize(("angle", "count"), [(0.0, 2), (1e-4, 2), (0.5, 1), (np.pi / 2, 1)])
def test_capsules_side_by_side_and_crossed(angle: float, count: int, device: str) -> None:
    capsule = (ShapeType.CAPSULE, (0.1, 0.5, 0.0))
    found, _, _ = touch(capsule, (0, 0, 0, *EYE), capsule, (0.195, 0, 0, *turn(0, angle)), device)
    assert len(found.separation) == count
    assert abs(found.separation.min() + 0.005) < 1e-6
    np.testing.assert_allclose(found.normal[0], [-1, 0, 0], atol=1e-3)


def test_coincident_centres_have_a_finite_normal(device: str) -> None:
    capsule, sphere = (ShapeType.CAPSULE, (0.1, 0.5, 0.0)), (ShapeType.SPHERE, (0.1, 0.0, 0.0))
    for first, second in ((capsule, capsule), (capsule, sphere), (sphere, sphere)):
        found, _, _ = touch(first, (1, 1, 1, *EYE), second, (1, 1, 1, *EYE), device)
        np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-6)
        np.testing.assert_allclose(found.separation, -0.2, atol=1e-6)


def plane_contacts(kind: int, size: tuple, pose: tuple, device: str, hull: tc.Hull | None = None) -> dict:
    """Contacts of one body on the plane z = 0."""
    model = tc.build_model(
        shape_type=[kind, ShapeType.PLANE],
        shape_body=[0, -1],
        shape_pose=[[0, 0, 0, *EYE]] * 2,
        shape_size=[size, (0, 0, 0)],
        shape_environment=[0, 0],
        pairs=[[0, 1]],
        environment_count=1,
        shape_material=[0, 0],
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.01, 0.01],
        rest_offset=[0.0, 0.0],
        shape_hull=[0 if hull else -1, -1],
        hulls=[hull] if hull else [],
        device=device,
    )
    contacts = tc.create_contacts(model)
    tc.collide(model, wp.array([pose], dtype=wp.transform, device=device), contacts)
    count = int(contacts.count.numpy()[0])
    names = ("separation", "normal", "anchor0", "anchor1", "key")
    return {name: getattr(contacts, name).numpy()[:count] for name in names}


@pytest.mark.parametrize(("tilt", "count"), [(0.0, 4), (0.001, 4), (0.3, 2), (np.pi / 4, 2)])
def test_box_on_a_plane(tilt: float, count: int, device: str) -> None:
    half = np.array([0.2, 0.3, 0.1])
    height = 0.3 * np.sin(tilt) + 0.1 * np.cos(tilt) - 0.002
    found = plane_contacts(ShapeType.BOX, tuple(half), (0, 0, height, *turn(0, tilt)), device)
    assert len(found["key"]) == count
    np.testing.assert_allclose(found["separation"].min(), -0.002, atol=1e-6)
    np.testing.assert_allclose(np.abs(found["anchor0"]), np.tile(half, (count, 1)), atol=1e-6)
    np.testing.assert_allclose(found["anchor1"][:, 2], 0.0, atol=1e-7)


def test_capsule_on_a_plane(device: str) -> None:
    lying = plane_contacts(ShapeType.CAPSULE, (0.1, 0.4, 0), (0, 0, 0.099, *turn(1, np.pi / 2)), device)
    np.testing.assert_allclose(lying["separation"], -0.001, atol=1e-6)
    np.testing.assert_allclose(np.sort(lying["anchor1"][:, 0]), [-0.4, 0.4], atol=1e-6)
    standing = plane_contacts(ShapeType.CAPSULE, (0.1, 0.4, 0), (0, 0, 0.499, *EYE), device)
    np.testing.assert_allclose(standing["separation"], [-0.001], atol=1e-6)


def test_cylinder_lies_on_a_line_and_stands_on_three_points(device: str) -> None:
    lying = plane_contacts(ShapeType.CYLINDER, (0.1, 0.4, 0), (0, 0, 0.099, *turn(1, np.pi / 2)), device)
    np.testing.assert_allclose(lying["separation"], [-0.001] * 2, atol=1e-6)
    standing = plane_contacts(ShapeType.CYLINDER, (0.1, 0.4, 0), (0, 0, 0.399, *EYE), device)
    np.testing.assert_allclose(standing["separation"], [-0.001] * 3, atol=1e-6)


@given(tilt=st.floats(0.0, np.pi), spin=st.floats(0.0, 6.25), depth=st.floats(-0.005, 0.03125))
def test_cylinder_depth_is_that_of_its_deepest_rim_point(tilt: float, spin: float, depth: float) -> None:
    """Closed form: the reach of a cylinder along n is h |n·a| + r |n × a|."""
    radius, half = 0.25, 0.5
    reach = half * abs(np.cos(tilt)) + radius * np.sin(tilt)
    a, b = turn(0, tilt), turn(2, spin)
    q = (a[0] * b[3], -a[0] * b[2], a[3] * b[2], a[3] * b[3])
    found = plane_contacts(ShapeType.CYLINDER, (radius, half, 0), (0, 0, reach - depth, *q), "cpu")
    # a cylinder that leans less than STANDING may be deeper beside its fixed points by twice r times it
    assert found["separation"].min() == pytest.approx(
        -depth, abs=2e-6 + 2e-4 * radius * (np.sin(tilt) < 1.1e-4)
    )
    assert (found["separation"] >= -depth - 2e-6).all()


def test_hull_of_a_cylinder_on_a_plane_keeps_four_spread_corners(device: str) -> None:
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 0.5
    points = np.concatenate([np.column_stack([ring, np.full(12, z)]) for z in (-0.2, 0.2)])
    hull = tc.cook_hull(points)
    found = plane_contacts(ShapeType.CONVEX_HULL, (0, 0, 0), (0, 0, 0.199, *EYE), device, hull)
    np.testing.assert_allclose(found["separation"], -0.001, atol=1e-6)
    corners = found["anchor0"][:, :2]
    assert len(corners) == 4
    order = np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))
    x, y = corners[order].T
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    assert area > 0.45  # the largest inscribed quadrilateral has 0.5


def test_hull_deepest_vertex_is_always_kept(device: str) -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(40, 3))
    hull = tc.cook_hull(points / np.linalg.norm(points, axis=1)[:, None])
    for _ in range(20):
        q = rng.normal(size=4)
        q /= np.linalg.norm(q)
        w = hull.vertices + 2 * np.cross(q[:3], np.cross(q[:3], hull.vertices) + q[3] * hull.vertices)
        height = -float(w[:, 2].min()) - 0.05
        found = plane_contacts(ShapeType.CONVEX_HULL, (0, 0, 0), (0, 0, height, *q), device, hull)
        np.testing.assert_allclose(found["separation"].min(), -0.05, atol=2e-5)
        assert (np.diff(found["key"]) > 0).all()


def test_features_do_not_change_under_a_small_motion(device: str) -> None:
    """Equal boxes stacked with rounding noise keep their keys."""
    rng = np.random.default_rng(5)
    cube = (ShapeType.BOX, (0.25, 0.25, 0.25))
    expected = None
    for _ in range(50):
        shift = rng.normal(size=3) * 1e-6
        q = np.append(rng.normal(size=3) * 1e-6, 1.0)
        found, _, _ = touch(cube, (0, 0, 0, *EYE), cube, (*(shift + [0, 0, 0.4999]), *q), device)
        expected = found.key.tolist() if expected is None else expected
        assert found.key.tolist() == expected
        assert len(expected) == 4
