"""Triangle meshes and height fields: cooking, contacts on flat floors, edges, hollows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

EYE = (0.0, 0.0, 0.0, 1.0)
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE_TRIANGLES = np.array([t for a, b, c, d in SQUARES for t in ((a, b, c), (a, c, d))])
CUBE = tc.cook_mesh(CORNERS, CUBE_TRIANGLES)
HULL = tc.cook_hull(CORNERS * 0.2)
SIZES = {
    1: (0.2, 0, 0),
    2: (0.1, 0.2, 0),
    3: (0.2, 0.2, 0.2),
    4: (0, 0, 0),
    5: (0.2, 0.2, 0),
    6: (0.2, 0.2, 0),
    7: (0.2, 0.2, 0.2),
}


def floor(cells: int = 8, cell: float = 0.25) -> tc.TriangleMesh:
    half = 0.5 * cells * cell
    field = tc.cook_height_field(np.zeros((cells + 1, cells + 1)), (cell, cell))
    return tc.cook_mesh(field.vertices - [half, half, 0.0], field.triangles)


def contacts_on(
    mesh: tc.TriangleMesh,
    kind: int,
    poses: np.ndarray,
    device: str,
    size: tuple | None = None,
    code: int = 8,
    offset: float = 0.005,
) -> list[dict]:
    """Contacts of one convex shape with a static mesh, in one environment for each pose."""
    count = len(poses)
    model = tc.build_model(
        shape_type=[kind] * count + [code],
        shape_body=[*range(count), -1],
        shape_pose=[[0, 0, 0, *EYE]] * (count + 1),
        shape_size=[SIZES[kind] if size is None else size] * count + [(0, 0, 0)],
        shape_environment=[*range(count), -1],
        pairs=[[k, count] for k in range(count)],
        environment_count=count,
        shape_material=np.zeros(count + 1, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(count + 1, offset),
        rest_offset=np.zeros(count + 1),
        shape_hull=[0 if kind == 4 else -1] * count + [-1],
        hulls=[HULL],
        shape_mesh=[-1] * count + [0],
        meshes=[mesh],
        device=device,
    )
    contacts = tc.create_contacts(model)
    tc.collide(model, wp.array(np.asarray(poses, np.float32), dtype=wp.transform, device=device), contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    names = ("separation", "normal", "anchor0", "anchor1", "key")
    data = {n: getattr(contacts, n).numpy() for n in names}
    return [{n: data[n][s : s + c] for n in names} for s, c in zip(start[:-1], used, strict=True)]


def test_cooking_cleans_a_mesh() -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 0], [2, 0, 0]], float)
    mesh = tc.cook_mesh(points, [[0, 1, 2], [3, 5, 1], [1, 4, 2], [0, 3, 1]])
    assert len(mesh.vertices) == 4
    assert len(mesh.triangles) == 2
    assert sorted(mesh.fold.ravel().round(6)) == [0.0, 0.0] + [round(np.pi / 2, 6)] * 4
    flipped = tc.cook_mesh(points, [[0, 1, 2]], flip=True)
    a, b, c = flipped.vertices[flipped.triangles[0]]
    assert np.cross(b - a, c - a)[2] < 0.0


def test_folds_of_a_cube_and_of_its_inside() -> None:
    assert sorted(set(CUBE.fold.ravel().round(6))) == [0.0, round(np.pi / 2, 6)]
    assert not tc.cook_mesh(CORNERS, CUBE_INSIDE).fold.any()


CUBE_INSIDE = [t for a, b, c, d in SQUARES for t in ((c, b, a), (d, c, a))]


@pytest.mark.parametrize(
    ("points", "triangles", "words"),
    [
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], "no triangle has an area"),
        ([[0, 0, 0], [1, 0, 0]], [[0, 1, 2]], r"outside of 0\.\.1"),
        ([[0, 0, np.nan], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], "not finite"),
        ([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], "expected points and triangles"),
    ],
)
def test_bad_meshes_are_named(points: list, triangles: list, words: str) -> None:
    with pytest.raises(tc.MeshError, match=words):
        tc.cook_mesh(points, triangles)


def test_bad_height_fields_are_named() -> None:
    with pytest.raises(tc.MeshError, match="2 rows"):
        tc.cook_height_field(np.zeros((1, 5)), (1.0, 1.0))
    with pytest.raises(tc.MeshError, match="positive"):
        tc.cook_height_field(np.zeros((3, 5)), (1.0, 0.0))


@pytest.mark.parametrize("kind", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("code", [8, 9])
def test_inner_edges_are_not_felt(kind: int, code: int, device: str) -> None:
    """Anywhere on a flat triangulated floor a shape finds the plane and nothing else."""
    rng = np.random.default_rng(kind)
    poses = np.zeros((200, 7))
    poses[:, :2] = rng.uniform(-0.6, 0.6, (200, 2))
    # On edges and corners of the floor, too.
    poses[:50, :2] = np.round(poses[:50, :2] / 0.25) * 0.25
    poses[50:100, 0] = np.round(poses[50:100, 0] / 0.25) * 0.25
    turn = rng.uniform(-np.pi, np.pi, 200)
    poses[:, 5], poses[:, 6] = np.sin(0.5 * turn), np.cos(0.5 * turn)
    low = {1: 0.2, 2: 0.3}.get(kind, 0.2)
    depth = rng.uniform(-0.004, 0.004, 200)
    poses[:, 2] = low - depth
    for found, deep, pose in zip(
        contacts_on(floor(), kind, poses, device, code=code), depth, poses, strict=True
    ):
        assert len(found["key"]) >= (3 if kind in (3, 4, 5, 6) else 1)
        np.testing.assert_allclose(found["normal"], np.tile([0, 0, 1.0], (len(found["key"]), 1)), atol=1e-6)
        np.testing.assert_allclose(found["separation"], -deep, atol=2e-6)
        assert (np.abs(found["anchor1"][:, :2] - pose[:2]) < 0.3).all()
        assert (np.diff(found["key"]) > 0).all()


def test_a_box_stands_on_its_own_corners(device: str) -> None:
    (found,) = contacts_on(floor(), 3, np.array([[0.06, 0.03, 0.199, *EYE]]), device)
    corners = {tuple(float(x) for x in (p[:2] * 1000).round()) for p in found["anchor0"]}
    assert {(x, y) for x in (-200, 200) for y in (-200, 200)} <= corners


@pytest.mark.parametrize("kind", [1, 2, 3, 4, 5, 6, 7])
def test_a_cube_of_triangles_is_a_box(kind: int, device: str) -> None:
    """Distances outside of a convex mesh are those of the box with the same corners."""
    rng = np.random.default_rng(kind + 20)
    poses = np.zeros((300, 7))
    d = rng.normal(size=(300, 3))
    poses[:, :3] = d / np.abs(d).max(axis=1, keepdims=True) * rng.uniform(1.05, 1.4, (300, 1))
    q = rng.normal(size=(300, 4))
    poses[:, 3:] = q / np.linalg.norm(q, axis=1, keepdims=True)
    meshed = contacts_on(CUBE, kind, poses, device, offset=0.05)
    boxed = box_contacts(kind, poses, device)
    both = 0
    for a, b in zip(meshed, boxed, strict=True):
        least = b["separation"].min() if len(b["key"]) else np.inf
        if least > 0.0999 or least < -0.01:
            continue  # near the offset, or so deep that a triangle is not the whole box
        both += 1
        assert len(a["key"]) > 0
        assert a["separation"].min() == pytest.approx(least, abs=1e-4)
    assert both > 30


def box_contacts(kind: int, poses: np.ndarray, device: str) -> list[dict]:
    count = len(poses)
    model = tc.build_model(
        shape_type=[kind] * count + [ShapeType.BOX],
        shape_body=[*range(count), -1],
        shape_pose=[[0, 0, 0, *EYE]] * (count + 1),
        shape_size=[SIZES[kind]] * count + [(1, 1, 1)],
        shape_environment=[*range(count), -1],
        pairs=[[k, count] for k in range(count)],
        environment_count=count,
        shape_material=np.zeros(count + 1, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(count + 1, 0.05),
        rest_offset=np.zeros(count + 1),
        shape_hull=[0 if kind == 4 else -1] * count + [-1],
        hulls=[HULL],
        device=device,
    )
    contacts = tc.create_contacts(model)
    tc.collide(model, wp.array(np.asarray(poses, np.float32), dtype=wp.transform, device=device), contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    data = {n: getattr(contacts, n).numpy() for n in ("separation", "key")}
    return [{n: data[n][s : s + c] for n in data} for s, c in zip(start[:-1], used, strict=True)]


def test_a_ball_in_a_valley_touches_both_sides(device: str) -> None:
    heights = np.abs(np.arange(5) - 2.0)[:, None] * np.ones((1, 5))
    valley = tc.cook_height_field(heights, (1.0, 1.0))
    height = 0.2 * np.sqrt(2.0) - 0.001
    (found,) = contacts_on(valley, 1, np.array([[2.0, 2.1, height, *EYE]]), device)
    normals = {tuple(float(x) for x in (n * 1000).round()) for n in found["normal"]}
    assert normals == {(707.0, 0.0, 707.0), (-707.0, 0.0, 707.0)}
    np.testing.assert_allclose(found["separation"], -0.001 * np.sqrt(0.5), atol=2e-6)


def test_behind_a_surface_is_no_contact(device: str) -> None:
    (found,) = contacts_on(floor(), 1, np.array([[0.1, 0.1, -0.3, *EYE]]), device)
    assert len(found["key"]) == 0


def angular_block() -> tc.TriangleMesh:
    """A closed block, L-shaped from above, with its top at z = 0."""
    squares = [(0, 0), (1, 0), (0, 1)]
    rim = [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2), (0, 1)]
    points, triangles = [], []

    def quad(*corner: tuple[float, float, float]) -> None:
        k = len(points)
        points.extend(corner)
        triangles.extend([(k, k + 1, k + 2), (k, k + 2, k + 3)])

    for x, y in squares:
        quad((x, y, 0), (x + 1, y, 0), (x + 1, y + 1, 0), (x, y + 1, 0))
        quad((x, y + 1, -1), (x + 1, y + 1, -1), (x + 1, y, -1), (x, y, -1))
    for a, b in zip(rim, rim[1:] + rim[:1], strict=True):
        quad((*a, -1), (*b, -1), (*b, 0), (*a, 0))
    return tc.cook_mesh(points, triangles)


@pytest.mark.parametrize("kind", range(1, 8))
def test_pressed_into_a_face_of_a_block_that_is_not_convex(device: str, kind: int) -> None:
    """Wherever one face is by far the nearest way out, the depth is that of the lowest point under it."""
    block = angular_block()
    assert (block.neighbour >= 0).all()
    rng = np.random.default_rng(kind)
    count = 24
    lowest = 0.3 if kind == 2 else 0.2
    depth = rng.uniform(0.005, 0.06, count)
    place = np.array([[0.55, 0.55], [1.4, 0.5], [0.5, 1.4]])[np.arange(count) % 3]
    half = rng.uniform(0.0, np.pi, count)
    poses = np.zeros((count, 7))
    poses[:, :2] = place + rng.uniform(-0.1, 0.1, (count, 2))
    poses[:, 2] = lowest - depth
    poses[:, 5], poses[:, 6] = np.sin(half), np.cos(half)
    for found, sunk in zip(contacts_on(block, kind, poses, device), depth, strict=True):
        assert found["separation"].min() == pytest.approx(-sunk, abs=2e-6)
        at = found["separation"].argmin()
        np.testing.assert_allclose(found["normal"][at], [0.0, 0.0, 1.0], atol=1e-4)


def test_which_meshes_are_hulls() -> None:
    """Only closed convex ones, with few corners."""
    from tensorphys_contact.hulls import hull_of_mesh

    def of(mesh: tc.TriangleMesh) -> object:
        return hull_of_mesh(mesh.vertices, mesh.triangles, mesh.neighbour)

    assert of(CUBE) is not None
    assert of(angular_block()) is None
    assert of(tc.cook_mesh(CORNERS, CUBE_TRIANGLES[:-1])) is None
    assert of(tc.cook_mesh(CORNERS, CUBE_TRIANGLES, flip=True)) is None
    two = np.concatenate([CORNERS, CORNERS + [3.0, 0.0, 0.0]])
    assert of(tc.cook_mesh(two, np.concatenate([CUBE_TRIANGLES, CUBE_TRIANGLES + 8]))) is None
    angle = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ends = np.concatenate([np.column_stack([ring, np.full(40, z)]) for z in (-1.0, 1.0)])
    drum = [(0, k + 1, k) for k in range(1, 39)] + [(40, 40 + k, 41 + k) for k in range(1, 39)]
    drum += [
        t for k in range(40) for t in ((k, (k + 1) % 40, 40 + k), ((k + 1) % 40, 40 + (k + 1) % 40, 40 + k))
    ]
    many = tc.cook_mesh(ends, drum)
    assert (many.neighbour >= 0).all()
    assert of(many) is None
